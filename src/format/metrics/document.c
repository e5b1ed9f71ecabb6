/* document.c - see document.h.
 *
 * A list of numbers is a series of the names that lead to it, joined by dots. Its steps are the list called step, iter or
 * epoch at the top of the file, if that is as long, else they are counted, 0, 1, 2, ... Members without a list are
 * settings and the like, and passed over. */
#include "format/metrics/document.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/vec.h"
#include "container/json_items.h"
#include "format/metrics/one_series.h"

enum { DEPTH_MOST = 4 };

typedef struct figure {
    double value;
    bool is; /* false: null, which has no value */
} figure;
typedef ASSAY_VEC(figure) numbers;

typedef struct document {
    metrics_log *log;
    assay_pull pull;
    numbers steps, list;
    uint64_t losses;
    char tag[METRICS_TAG_MOST + 1];
    int status;
    const char *export_tag; /* of the series that the file is, as its name says; NULL: it says nothing */
    size_t export_length;
    metrics_line_take *row; /* takes an element of a list */
    void *context;
} document;

bool metrics_may_be_document(assay_store *store, const char *path)
{
    char head[64];
    const size_t got = assay_store_read_head(store, path, head, sizeof head);
    size_t at = 0;
    while (at < got && strchr(" \t\r\n", head[at]))
        at++;
    return at < got && (head[at] == '{' || head[at] == '[');
}

/* Takes a list of numbers and nulls. False: it holds something else, or the text is no JSON. */
static bool take_list(document *d, assay_pull *pull, numbers *out)
{
    out->count = 0;
    for (bool more = assay_pull_open(pull, '[', ']'); more; more = assay_pull_more(pull, ']')) {
        double value = 0;
        const metrics_scalar scalar = metrics_json_scalar(pull, &value);
        if (scalar != METRICS_NUMBER && scalar != METRICS_NULL)
            return false;
        figure *next = ASSAY_VEC_ADD(out);
        if (!next) {
            d->status = ASSAY_ENOMEM;
            return false;
        }
        *next = (figure){value, scalar == METRICS_NUMBER};
    }
    return pull->fault == NULL;
}

/* Puts a series whose steps are the list before it, or are counted. */
static void put_series(document *d, const numbers *steps, const numbers *values, size_t length)
{
    const bool own = steps->count == values->count;
    const bool loss = metrics_is_loss(d->tag, length);
    for (size_t i = 0; i < values->count && d->status == ASSAY_OK; i++) {
        int64_t step = (int64_t)i;
        if (!values->list[i].is)
            continue;
        if (own && (!steps->list[i].is || !metrics_step_of(steps->list[i].value, &step) || step < 0)) {
            metrics_add(d->log, METRICS_BAD_STEPS);
            continue;
        }
        if (!own)
            metrics_add(d->log, METRICS_STEPS_BY_ORDER);
        d->losses += loss;
        d->status = metrics_put(d->log, d->tag, length, 0, step, values->list[i].value);
    }
}

/* Takes a member of an object, whose name has been read, and its value. False: no object of this form has it. */
typedef bool member(document *d, assay_pull *pull, const char *key, size_t length, numbers *steps, numbers *values);

/* "steps" and "values" of an object, as Sacred keeps a metric; what else it has is passed over. */
static bool take_list_of(document *d, assay_pull *pull, const char *key, size_t length, numbers *steps, numbers *values)
{
    metrics_json other = {.pull = pull};
    if (length == 5 && memcmp(key, "steps", 5) == 0)
        return take_list(d, pull, steps);
    return length == 6 && memcmp(key, "values", 6) == 0 ? take_list(d, pull, values) : metrics_json_skip(&other);
}

/* A value whose name is a whole number, its step, as pandas writes a column. */
static bool take_numbered(document *d, assay_pull *pull, const char *key, size_t length, numbers *steps,
                          numbers *values)
{
    const char *const end = key + length;
    int64_t number = 0;
    double value = 0;
    if (!metrics_take_digits(&key, end, &number) || key != end || number < 0)
        return false;
    const metrics_scalar scalar = metrics_json_scalar(pull, &value);
    if (scalar != METRICS_NUMBER && scalar != METRICS_NULL)
        return false;
    figure *step = ASSAY_VEC_ADD(steps), *own = step ? ASSAY_VEC_ADD(values) : NULL;
    if (!own) {
        d->status = ASSAY_ENOMEM;
        return false;
    }
    *step = (figure){(double)number, true};
    *own = (figure){value, scalar == METRICS_NUMBER};
    return true;
}

/* An object whose members are a series of `least` values or more. False: it is another one; nothing was put then. */
static bool take_series(document *d, const char *text, size_t size, size_t length, member *take, size_t least)
{
    numbers steps = {0}, values = {0};
    assay_pull pull = {0};
    bool sound = true;
    assay_pull_start(&pull, text, size);
    for (bool more = assay_pull_open(&pull, '{', '}'); more && sound; more = assay_pull_more(&pull, '}')) {
        const char *key = NULL;
        size_t key_length = 0;
        sound = assay_pull_key(&pull, &key, &key_length) && take(d, &pull, key, key_length, &steps, &values);
    }
    sound = sound && !pull.fault && values.count >= least && steps.count == values.count;
    if (sound)
        put_series(d, &steps, &values, length);
    assay_pull_release(&pull);
    free(steps.list);
    free(values.list);
    return sound;
}

/* A list is called by what it has many of: the name of one of "train_losses" is "train_loss". */
static size_t singular(const char *tag, size_t length)
{
    return length >= 6 && memcmp(tag + length - 5, "osses", 5) == 0 && (tag[length - 6] | 32) == 'l' ? length - 2
                                                                                                     : length;
}

/* Puts what a value holds, whose name is the tag's first bytes. */
static void take_value(document *d, const char *text, size_t size, size_t length, unsigned depth)
{
    assay_pull pull = {0};
    if (size > 0 && *text == '[') {
        assay_pull_start(&pull, text, size);
        if (take_list(d, &pull, &d->list) && d->list.count > 0)
            put_series(d, &d->steps, &d->list, singular(d->tag, length));
        else if (d->status == ASSAY_OK)
            metrics_add(d->log, METRICS_OTHER_VALUES);
        assay_pull_release(&pull);
        return;
    }
    if (size == 0 || *text != '{' || depth == DEPTH_MOST || take_series(d, text, size, length, take_list_of, 1) ||
        take_series(d, text, size, length, take_numbered, 2))
        return;
    assay_pull_start(&pull, text, size);
    for (bool more = assay_pull_open(&pull, '{', '}'); more && d->status == ASSAY_OK;
         more = assay_pull_more(&pull, '}')) {
        const char *key = NULL;
        size_t key_length = 0;
        metrics_json other = {.pull = &pull};
        if (!assay_pull_key(&pull, &key, &key_length))
            break;
        const bool fits = length + 1 + key_length < sizeof d->tag;
        if (fits) {
            d->tag[length] = '.';
            memcpy(d->tag + length + 1, key, key_length);
        }
        assay_pull_peek(&pull);
        const char *from = (const char *)pull.at;
        if (!metrics_json_skip(&other))
            break;
        if (fits)
            take_value(d, from, (size_t)((const char *)pull.at - from), length + 1 + key_length, depth + 1);
    }
    assay_pull_release(&pull);
}

/* Takes the values of the object or list at the top, one after the other; `take` returns a status, and stops with one that
 * is not 0. ASSAY_OK also where another kind of value stands there. */
static int each_item(document *d, const char *path, char bracket,
                     int (*take)(document *d, const char *key, const char *text, size_t size), assay_error *err)
{
    assay_json_items items = {0};
    const char *text = NULL;
    size_t size = 0;
    ASSAY_TRY(assay_json_items_open(d->log->store, path, &items, err));
    int status = assay_json_items_enter(&items, bracket, err), taken = ASSAY_OK;
    d->log->at = (metrics_spot){.path = path, .what = "entry"};
    while (status == 1 && taken == ASSAY_OK && (status = assay_json_items_next(&items, err)) == 1) {
        status = assay_json_items_take(&items, &text, &size, err);
        if (status != ASSAY_OK)
            break;
        status = 1;
        d->log->at.number++;
        d->log->at.offset = items.next - size;
        taken = take(d, (const char *)items.key.data, text, size);
    }
    assay_json_items_close(&items);
    return taken != ASSAY_OK ? taken : status < 0 ? status : ASSAY_OK;
}

bool metrics_is_whole_json(assay_store *store, const char *path)
{
    assay_json_items items = {0};
    const char *text = NULL;
    size_t size = 0;
    if (assay_json_items_open(store, path, &items, NULL) != ASSAY_OK)
        return true;
    const bool whole = assay_json_items_take(&items, &text, &size, NULL) != ASSAY_EFORMAT;
    assay_json_items_close(&items);
    return whole;
}

static bool is_of_steps(const char *key)
{
    static const char *const names[] = {"step", "steps", "global_step", "iter", "iteration", "epoch", "epochs"};
    return metrics_is_among(names, sizeof names / sizeof *names, key, strlen(key));
}

/* The first list of steps. */
static int find_steps(document *d, const char *key, const char *text, size_t size)
{
    if (d->steps.count == 0 && is_of_steps(key) && size > 0 && *text == '[') {
        assay_pull_start(&d->pull, text, size);
        if (!take_list(d, &d->pull, &d->steps))
            d->steps.count = 0;
    }
    return d->status;
}

static int take_member(document *d, const char *key, const char *text, size_t size)
{
    const size_t length = strlen(key);
    if (length <= METRICS_TAG_MOST && !(is_of_steps(key) && d->steps.count > 0)) {
        memcpy(d->tag, key, length);
        take_value(d, text, size, length, 0);
    }
    return d->status;
}

/* A time of the day, a step and a value, as a page of TensorBoard hands them out. 0, 1: it is none, or a status. */
static int take_export(document *d, const char *text, size_t size)
{
    int64_t step = 0;
    if (!d->export_tag || d->export_length > METRICS_TAG_MOST || size == 0 || *text != '[')
        return 1;
    assay_pull_start(&d->pull, text, size);
    if (!take_list(d, &d->pull, &d->list) || d->list.count != 3 || !d->list.list[0].is || !d->list.list[1].is ||
        !d->list.list[2].is || !metrics_step_of(d->list.list[1].value, &step) || step < 0)
        return d->status == ASSAY_OK ? 1 : d->status;
    d->losses++; /* the form and the file's name prove it, whichever figure it is */
    return metrics_put(d->log, d->export_tag, d->export_length, 0, step, d->list.list[2].value);
}

/* An element of the list at the top. */
static int take_row(document *d, const char *key, const char *text, size_t size)
{
    (void)key;
    int taken = take_export(d, text, size);
    if (taken == 1)
        taken = d->row(d->context, text, size);
    metrics_add(d->log, METRICS_ROWS);
    if (taken == 1)
        metrics_unknown(d->log, text, size);
    return taken == 1 ? ASSAY_OK : taken;
}

int metrics_document_read(metrics_log *log, const char *path, metrics_line_take *row, void *context, uint64_t *losses,
                          assay_error *err)
{
    document d = {.log = log, .row = row, .context = context};
    d.export_tag = metrics_export_tag(path, &d.export_length);
    assay_error why = {{0}};
    int status = each_item(&d, path, '[', take_row, &why);
    if (status == ASSAY_OK) { /* what stands before damage is taken all the same */
        status = each_item(&d, path, '{', find_steps, &why);
        status = status == ASSAY_OK || status == ASSAY_EFORMAT ? each_item(&d, path, '{', take_member, &why) : status;
    }
    *losses = d.losses;
    assay_pull_release(&d.pull);
    free(d.steps.list);
    free(d.list.list);
    if (status == ASSAY_EFORMAT) {
        assay_fail(err, status, "%s", why.text);
        return 0;
    }
    return status == ASSAY_OK ? 1 : status < 0 ? assay_fail(err, status, "%s", why.text) : status;
}
