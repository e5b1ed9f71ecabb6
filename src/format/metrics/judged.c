/* judged.c - what a log is judged on: the losses that have to fall, which loss of training belongs to which of
 * validation, and what was not finite.
 *
 * The base of a tag is what is left of its words without those that say when it was taken: "train/loss_step" and
 * "val_loss" have the base "loss". A loss whose base means all that is minimised is whole. Losses of parts of a sum
 * have to fall too where nothing is whole, but not those of players against each other, of policies and rewards. Where a
 * reward is logged, it is what has to rise, and no loss says whether it does. */
#include <assay/timeline.h>
#include <math.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/search.h"
#include "format/metrics/said.h"
#include "format/metrics/series.h"

static const char PREFIX[] = METRICS_PREFIX;
enum { PREFIX_LENGTH = sizeof PREFIX - 1, NAME_ROOM = PREFIX_LENGTH + METRICS_TAG_MOST + 1, PAIRS_MOST = 1024 };

/* A series of losses. */
typedef struct loss {
    const metrics_series *series;
    const char *tag, *worker;
    uint32_t base; /* equal ones have equal bases */
    bool whole, apart;
} loss;

typedef struct judging {
    const metrics_log *log;
    loss *losses;
    size_t count;
    assay_dict *bases;
    assay_log_judged *out;
    bool learned; /* there are losses of training or validation */
} judging;

/* ---- bases ---- */

typedef struct base_text {
    char text[METRICS_TAG_MOST + 1];
    size_t length;
    bool apart;
} base_text;

static bool is_of_time(const char *word, size_t length)
{
    static const char *const words[] = {"train", "training", "learn", "step", "epoch", "metrics"};
    return metrics_is_among(words, sizeof words / sizeof *words, word, length) || metrics_is_eval_word(word, length) ||
           metrics_is_predict_word(word, length);
}

/* Of players against each other, policies and rewards: such a loss need not fall. */
static bool need_not_fall(const char *word, size_t length)
{
    static const char *const words[] = {"generator",   "gen",   "g",      "discriminator", "disc",      "d",
                                        "critic",      "actor", "policy", "value",         "entropy",   "kl",
                                        "adversarial", "adv",   "reward", "aux",           "balancing", "balance"};
    return metrics_is_among(words, sizeof words / sizeof *words, word, length);
}

static void note_reward(void *context, const char *word, size_t length)
{
    bool *rewarded = context;
    *rewarded = *rewarded || metrics_is_reward_word(word, length);
}

static void add_word(void *context, const char *word, size_t length)
{
    base_text *base = context;
    base->apart = base->apart || need_not_fall(word, length);
    if (is_of_time(word, length) || length + (base->length > 0) > METRICS_TAG_MOST - base->length)
        return;
    if (base->length > 0)
        base->text[base->length++] = ' ';
    for (size_t i = 0; i < length; i++)
        base->text[base->length++] = word[i] >= 'A' && word[i] <= 'Z' ? (char)(word[i] - 'A' + 'a') : word[i];
}

static bool is_whole(const base_text *base)
{
    static const char *const bases[] = {"loss",     "total loss", "loss total",  "lm loss",
                                        "all loss", "loss all",   "overall loss"};
    return metrics_is_among(bases, sizeof bases / sizeof *bases, base->text, base->length);
}

static int add_loss(judging *j, const metrics_series *series, const char *tag, size_t length)
{
    base_text base = {.length = 0};
    metrics_words(tag, length, add_word, &base);
    loss *to = &j->losses[j->count++];
    *to = (loss){.series = series,
                 .tag = tag,
                 .worker = assay_dict_name(j->log->workers, series->worker, NULL),
                 .base = assay_dict_add(j->bases, base.text, base.length),
                 .whole = is_whole(&base),
                 .apart = base.apart};
    return to->base == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
}

/* ---- names ---- */

static int add_name(assay_log_names *names, const char *tag)
{
    char name[NAME_ROOM];
    const size_t length = strlen(tag);
    memcpy(name, PREFIX, PREFIX_LENGTH);
    memcpy(name + PREFIX_LENGTH, tag, length);
    return assay_log_names_add(names, name, PREFIX_LENGTH + length);
}

/* Sorts them; of equal ones one stays. */
static void settle_names(assay_log_names *names)
{
    size_t kept = 0;
    if (names->count > 1)
        qsort(names->list, names->count, sizeof *names->list, assay_order_texts);
    for (size_t i = 0; i < names->count; i++) {
        if (kept > 0 && strcmp(names->list[kept - 1], names->list[i]) == 0)
            free(names->list[i]);
        else
            names->list[kept++] = names->list[i];
    }
    names->count = kept;
}

/* ---- objective and pairs ---- */

static int find_objective(judging *j)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < j->count; i++)
        j->out->whole = j->out->whole || (j->losses[i].whole && j->losses[i].series->mode == ASSAY_MODE_TRAIN);
    for (size_t i = 0; i < j->count && status == ASSAY_OK; i++) {
        const loss *one = &j->losses[i];
        if (one->series->mode != ASSAY_MODE_TRAIN || (j->out->whole ? !one->whole : one->apart))
            continue;
        j->out->values += one->series->count;
        status = add_name(&j->out->objective, one->tag);
    }
    settle_names(&j->out->objective);
    return status;
}

static int compare_fellows(const void *a, const void *b)
{
    const loss *x = a, *y = b;
    int order = ASSAY_ORDER(x->series->worker, y->series->worker);
    order = order ? order : ASSAY_ORDER(x->base, y->base);
    order = order ? order : ASSAY_ORDER(x->series->mode, y->series->mode);
    return order ? order : strcmp(x->tag, y->tag);
}

static bool are_fellows(const loss *a, const loss *b)
{
    return a->series->worker == b->series->worker && a->base == b->base;
}

typedef struct pair {
    const char *train, *eval;
} pair;

static int compare_pairs(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    const int order = strcmp(x->train, y->train);
    return order ? order : strcmp(x->eval, y->eval);
}

/* Pairs the losses [from, to), which are fellows. */
static size_t pair_fellows(const judging *j, size_t from, size_t to, pair *pairs, size_t count)
{
    for (size_t i = from; i < to && j->losses[i].series->mode == ASSAY_MODE_TRAIN; i++)
        for (size_t k = i + 1; k < to && count < PAIRS_MOST; k++)
            if (j->losses[k].series->mode == ASSAY_MODE_EVAL)
                pairs[count++] = (pair){j->losses[i].tag, j->losses[k].tag};
    return count;
}

/* The only loss that has to fall belongs to the only loss of validation, whatever they are called. */
static size_t pair_only(const judging *j, pair *pairs)
{
    const char *eval = NULL;
    bool several = false;
    for (size_t i = 0; i < j->count; i++) {
        if (j->losses[i].series->mode != ASSAY_MODE_EVAL)
            continue;
        several = several || (eval && strcmp(eval, j->losses[i].tag) != 0);
        eval = j->losses[i].tag;
    }
    if (!eval || several || j->out->objective.count != 1)
        return 0;
    pairs[0] = (pair){j->out->objective.list[0] + PREFIX_LENGTH, eval};
    return 1;
}

static int find_pairs(judging *j)
{
    pair *pairs = assay_alloc_zeroed(PAIRS_MOST, sizeof *pairs);
    size_t count = 0;
    int status = pairs ? ASSAY_OK : ASSAY_ENOMEM;
    if (pairs && j->count > 1)
        qsort(j->losses, j->count, sizeof *j->losses, compare_fellows);
    for (size_t i = 0, next; pairs && i < j->count; i = next) {
        for (next = i + 1; next < j->count && are_fellows(&j->losses[i], &j->losses[next]); next++)
            ;
        count = pair_fellows(j, i, next, pairs, count);
    }
    if (pairs && count == 0)
        count = pair_only(j, pairs);
    if (count > 1)
        qsort(pairs, count, sizeof *pairs, compare_pairs);
    for (size_t i = 0; i < count && status == ASSAY_OK; i++) {
        if (i > 0 && compare_pairs(&pairs[i - 1], &pairs[i]) == 0)
            continue; /* of another worker */
        status = add_name(&j->out->pairs, pairs[i].train);
        ASSAY_THEN(status, add_name(&j->out->pairs, pairs[i].eval));
    }
    free(pairs);
    return status;
}

/* ---- what is not finite ---- */

/* How many values are not finite; *first gets the step of the first, unless nobody asks for the series: then it is no
 * loss. */
static size_t count_bad(const metrics_series *s, int64_t *first)
{
    size_t bad = 0;
    for (size_t i = 0; i < s->steps.count; i++)
        bad += s->steps.list[i].finite ? 0 : s->steps.list[i].count;
    for (size_t i = 0; i < s->count && !s->vectors && !s->thin; i++)
        if (!isfinite(s->values[i].number) && bad++ == 0)
            *first = s->values[i].step;
    return bad;
}

static int compare_bad(const void *a, const void *b)
{
    const assay_log_bad *x = a, *y = b;
    int order = ASSAY_ORDER(x->step, y->step);
    order = order ? order : ASSAY_ORDER(x->mode, y->mode);
    order = order ? order : strcmp(x->worker, y->worker);
    return order ? order : strcmp(x->tensor, y->tensor);
}

static int find_bad(const judging *j)
{
    char name[NAME_ROOM];
    int status = ASSAY_OK;
    for (size_t i = 0; i < j->log->count && status == ASSAY_OK; i++) {
        const metrics_series *s = &j->log->series[i];
        size_t length = 0;
        const char *tag = assay_dict_name(j->log->tags, s->tag, &length);
        const bool is_loss = metrics_is_loss(tag, length);
        int64_t first = 0;
        const size_t bad = count_bad(s, &first);
        if (bad == 0)
            continue;
        if (!is_loss || (bad == s->count && bad > 1)) {
            status = add_name(&j->out->others, tag);
            if (is_loss && status == ASSAY_OK)
                status = add_name(&j->out->never, tag);
            continue;
        }
        memcpy(name, PREFIX, PREFIX_LENGTH);
        memcpy(name + PREFIX_LENGTH, tag, length + 1);
        status = assay_log_judged_bad(j->out, first, s->mode, assay_dict_name(j->log->workers, s->worker, NULL), name);
    }
    settle_names(&j->out->others);
    settle_names(&j->out->never);
    if (j->out->bad_count > 1)
        qsort(j->out->bad, j->out->bad_count, sizeof *j->out->bad, compare_bad);
    return status;
}

/* ---- how much it is ---- */

static int compare_series(const void *a, const void *b)
{
    const loss *x = a, *y = b;
    const int order = ASSAY_ORDER(x->series->mode, y->series->mode);
    return order ? order : strcmp(x->tag, y->tag);
}

/* Losses of tests count where there are no others. */
static bool is_judged(const judging *j, const loss *one)
{
    return one->series->mode == ASSAY_MODE_TRAIN || one->series->mode == ASSAY_MODE_EVAL ||
           (!j->learned && one->series->mode == ASSAY_MODE_PREDICT);
}

static int count_losses(judging *j)
{
    size_t values = 0, at = 0;
    for (size_t i = 0; i < j->count; i++)
        j->learned =
            j->learned || j->losses[i].series->mode == ASSAY_MODE_TRAIN || j->losses[i].series->mode == ASSAY_MODE_EVAL;
    for (size_t i = 0; i < j->count; i++)
        values += is_judged(j, &j->losses[i]) ? j->losses[i].series->count : 0;
    int64_t *steps = assay_alloc_zeroed(values, sizeof *steps);
    ASSAY_HAVE(steps);
    if (j->count > 1)
        qsort(j->losses, j->count, sizeof *j->losses, compare_series);
    for (size_t i = 0; i < j->count; i++) {
        const metrics_series *s = j->losses[i].series;
        if (!is_judged(j, &j->losses[i]))
            continue;
        j->out->losses += i == 0 || compare_series(&j->losses[i - 1], &j->losses[i]) != 0;
        for (size_t k = 0; k < s->count; k++)
            steps[at++] = s->values[k].step;
    }
    assay_sort_integers(steps, values);
    for (size_t i = 0; i < values; i++)
        j->out->steps += i == 0 || steps[i] != steps[i - 1];
    free(steps);
    return ASSAY_OK;
}

/* What trainings minimise and do not call a loss, and errors. */
static bool may_be_loss(const char *tag, size_t length)
{
    static const char *const words[] = {
        "xent", "xe",  "ce",   "bce",      "nll",   "crossentropy", "entropy",   "elbo",    "cost",
        "mse",  "mae", "rmse", "err",      "error", "obj",          "objective", "logloss", "likelihood",
        "bpb",  "bpc", "l1",   "smoothl1", "kl",    "kld",          "huber",     "hinge",   "ctc"};
    /* "train l"; but "l" is the length of an episode in Gym's monitors, and "L.r." a rate. */
    if (length > 1 && tag[length - 1] == 'l' && memchr(" _/", tag[length - 2], 3))
        return true;
    return metrics_has_word(tag, length, words, sizeof words / sizeof *words);
}

/* Nobody is helped by hearing that there is no loss: what is logged is named instead. */
static int name_instead(judging *j)
{
    enum { NAMED = 3 };
    const uint32_t count = assay_dict_count(j->log->tags);
    const char **tags = assay_alloc_zeroed(count, sizeof *tags);
    bool *has = assay_alloc_zeroed(count, sizeof *has);
    int status = tags && has ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; i < j->log->count && status == ASSAY_OK; i++)
        has[j->log->series[i].tag] |= j->log->series[i].count > 0;
    for (uint32_t t = 0; t < count && status == ASSAY_OK; t++)
        if (has[t])
            tags[j->out->tags++] = assay_dict_name(j->log->tags, t, NULL);
    if (status == ASSAY_OK && j->out->tags > 1)
        qsort(tags, j->out->tags, sizeof *tags, assay_order_texts);
    for (int pass = 0; pass < 2 && status == ASSAY_OK; pass++)
        for (uint64_t t = 0; t < j->out->tags && status == ASSAY_OK; t++) {
            const bool maybe = may_be_loss(tags[t], strlen(tags[t]));
            j->out->maybe += pass == 0 && maybe;
            if (maybe == (pass == 0) && j->out->instead.count < NAMED)
                status = add_name(&j->out->instead, tags[t]);
        }
    free(tags);
    free(has);
    return status;
}

int metrics_judge(const metrics_log *log, assay_log_judged *out)
{
    judging j = {.log = log, .out = out, .bases = assay_dict_new()};
    j.losses = assay_alloc_zeroed(log->count, sizeof *j.losses);
    int status = j.bases && j.losses ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; i < log->count && status == ASSAY_OK; i++) {
        size_t length = 0;
        const char *tag = assay_dict_name(log->tags, log->series[i].tag, &length);
        const bool is_loss = metrics_is_loss(tag, length);
        if (!is_loss)
            metrics_words(tag, length, note_reward, &out->rewarded);
        else if (log->series[i].count > 0 && !log->series[i].vectors)
            status = add_loss(&j, &log->series[i], tag, length);
    }
    ASSAY_THEN(status, find_objective(&j));
    ASSAY_THEN(status, find_pairs(&j));
    ASSAY_THEN(status, find_bad(&j));
    ASSAY_THEN(status, count_losses(&j));
    if (status == ASSAY_OK && out->losses == 0)
        status = name_instead(&j);
    free(j.losses);
    if (j.bases)
        assay_dict_free(j.bases);
    return status;
}
