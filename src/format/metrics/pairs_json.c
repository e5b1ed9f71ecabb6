/* pairs_json.c - the names and numbers of a line that is one JSON object. */
#include <string.h>

#include "format/metrics/pairs.h"

/* The name of a member, in the pairs' texts behind the name of what it is in; NULL: there is no more room. */
static const char *put_name(metrics_pairs *pairs, const metrics_pair *in, const char *key, size_t length, size_t *size)
{
    char *to = pairs->texts + pairs->used;
    *size = in->length + (in->length > 0) + length;
    if (*size > METRICS_PAIR_NAME_MOST || *size > sizeof pairs->texts - pairs->used)
        return NULL;
    memcpy(to, in->name, in->length);
    if (in->length > 0)
        to[in->length] = '.';
    memcpy(to + *size - length, key, length);
    pairs->used += *size;
    return to;
}

static bool is_mode_key(const char *key, size_t length)
{
    static const char *const keys[] = {"mode", "split", "phase", "stage", "_type"};
    return metrics_is_among(keys, sizeof keys / sizeof *keys, key, length);
}

/* What samples have, and rows of a log have not. */
static bool is_data_key(const char *key, size_t length)
{
    static const char *const keys[] = {"text",    "prompt",  "response",    "completion", "question",
                                       "answer",  "content", "input",       "output",     "messages",
                                       "caption", "url",     "instruction", "tokens",     "id",
                                       "uid",     "image",   "label",       "target",     "input_ids"};
    return metrics_is_among(keys, sizeof keys / sizeof *keys, key, length);
}

static bool take_object(metrics_pairs *pairs, assay_pull *pull, const metrics_pair *in, unsigned depth);

static bool take_member(metrics_pairs *pairs, assay_pull *pull, const metrics_pair *in, unsigned depth)
{
    metrics_pair pair = {.of = -1, .set = true};
    const char *key = NULL;
    size_t length = 0;
    if (!assay_pull_key(pull, &key, &length))
        return false;
    const bool mode = depth == 0 && is_mode_key(key, length), data = depth == 0 && is_data_key(key, length);
    pair.name = put_name(pairs, in, key, length, &pair.length);
    const char first = assay_pull_peek(pull);
    if (first == '{' && pair.name && depth < 8)
        return take_object(pairs, pull, &pair, depth + 1);
    if (first == '"' && mode) {
        if (!assay_pull_string(pull, &key, &length))
            return false;
        pairs->mode = metrics_mode_of(key, length);
        return true;
    }
    pairs->data = pairs->data || (data && (first == '"' || first == '['));
    if (first == '{' || first == '[') {
        metrics_json other = {.pull = pull};
        return metrics_json_skip(&other);
    }
    const metrics_scalar is = metrics_json_scalar(pull, &pair.value);
    if (is == METRICS_NUMBER && pair.name && first != 't' && first != 'f')
        metrics_pairs_add(pairs, &pair);
    else if (is == METRICS_NUMBER)
        pairs->left += !pair.name;
    return is != METRICS_DAMAGED;
}

/* "Loss/G/loss": {"num": 32, "mean": 3.5, "std": 0.9}: of the pairs from `first` on, which are of one object, the mean has the
 * object's name, and what says how it came about is no figure. */
static void keep_mean(metrics_pairs *pairs, const metrics_pair *in, size_t first)
{
    static const char *const means[] = {"mean"}, *const spreads[] = {"std", "num", "count"};
    size_t mean = SIZE_MAX, others = 0;
    for (size_t i = first; i < pairs->count; i++) {
        const char *own = pairs->list[i].name + in->length + 1;
        const size_t length = pairs->list[i].length - in->length - 1;
        mean = metrics_is_among(means, 1, own, length) ? i : mean;
        others += metrics_is_among(spreads, sizeof spreads / sizeof *spreads, own, length);
    }
    if (mean == SIZE_MAX || others == 0 || others + 1 != pairs->count - first)
        return;
    pairs->list[first] = pairs->list[mean];
    pairs->list[first].length = in->length;
    pairs->count = first + 1;
    pairs->left += others;
}

static bool take_object(metrics_pairs *pairs, assay_pull *pull, const metrics_pair *in, unsigned depth)
{
    const size_t before = pairs->count;
    for (bool more = assay_pull_open(pull, '{', '}'); more; more = assay_pull_more(pull, '}'))
        if (!take_member(pairs, pull, in, depth))
            return false;
    if (in->length > 0)
        keep_mean(pairs, in, before);
    return pull->fault == NULL;
}

bool metrics_pairs_take_json(metrics_pairs *pairs, assay_pull *pull, const char *line, size_t length)
{
    const metrics_pair whole = {.name = ""};
    metrics_pairs_clear(pairs);
    pairs->object = true;
    assay_pull_start(pull, line, length);
    return assay_pull_peek(pull) == '{' && take_object(pairs, pull, &whole, 0) && assay_pull_end(pull);
}
