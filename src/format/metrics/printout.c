/* printout.c - what training programs print: lines of names and numbers with a step, as torchtitan, DeepSpeed, litgpt,
 * nanoGPT, fairseq, Keras, Hugging Face's trainer and many scripts have them. Each file is a run.
 *
 * How it works. A line is cut into pairs (pairs.h); one of them is its step, in this order: a global step or a number of
 * updates, an iteration, a step, a batch of an epoch ("[50/1251]"), an epoch. Where a step falls and the epoch rises,
 * steps are counted anew in each epoch: counting goes on from the last. A line of validation without a step of its own
 * stands at the last step of training; rows of a printed dictionary without one are counted. A line that has neither a
 * step nor a figure that trainings have is unknown. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fault.h"
#include "format/metrics/pairs.h"
#include "format/metrics/printed.h"

enum { NOT_KNOWN = -1 };

typedef enum step_kind { GLOBAL_STEP, ITERATION, STEP, BATCH, EPOCH, STEP_KINDS } step_kind;

typedef struct reader {
    metrics_log *log;
    assay_buf plain; /* a line without its colour codes */
    metrics_pairs pairs;
    int64_t raw, of, epoch; /* as the last line of training printed them; NOT_KNOWN: none did */
    int64_t offset;         /* of the epochs before, where each counts anew */
    int64_t last;           /* step of training */
    int64_t rows;           /* of printed dictionaries */
    int aside;              /* mode of the last line, where it was not one of training; else 0 */
    bool by_epoch;          /* a line said the epoch alone, and what follows belongs to it */
    bool proven;            /* a line came that nothing but a training prints */
    bool header;            /* the line before said a step and nothing else: what follows belongs to it */
} reader;

/* What a line says. */
typedef struct said {
    const metrics_pair *step[STEP_KINDS];
    int64_t value[STEP_KINDS];
    bool eval, predict, closing, figure, loss, epoch;
} said;

typedef struct wanted {
    const char *const *words;
    size_t count;
    bool found;
} wanted;

static void look_for(void *context, const char *word, size_t length)
{
    wanted *w = context;
    w->found = w->found || metrics_is_among(w->words, w->count, word, length);
}

static bool has_word(const char *name, size_t length, const char *const *words, size_t count)
{
    wanted w = {words, count, false};
    metrics_words(name, length, look_for, &w);
    return w.found;
}

/* Is it a figure that trainings print, and hardly anything else does? */
static bool is_figure(const metrics_pair *pair)
{
    static const char *const words[] = {"lr",   "acc",    "accuracy", "top1", "top5", "ppl",  "perplexity", "gnorm",
                                        "norm", "acc@1",  "acc@5",    "f1",   "auc",  "map",  "miou",       "bleu",
                                        "wer",  "reward", "mse",      "mae",  "rmse", "psnr", "ssim",       "return"};
    return metrics_is_loss(pair->name, pair->length) ||
           has_word(pair->name, pair->length, words, sizeof words / sizeof *words) ||
           (pair->length >= 13 && strncasecmp(pair->name, "learning", 8) == 0 &&
            strncasecmp(pair->name + pair->length - 4, "rate", 4) == 0);
}

/* Says nothing of the training. */
static bool is_no_tag(const metrics_pair *pair)
{
    static const char *const names[] = {"rank", "local_rank", "global_rank", "gpu", "node", "pid", "eta", "version"};
    return pair->length == 0 || metrics_is_among(names, sizeof names / sizeof *names, pair->name, pair->length);
}

static bool is_epoch(const metrics_pair *pair)
{
    static const char *const words[] = {"epoch", "epochs", "ep"};
    return metrics_pair_is_called(pair, words, sizeof words / sizeof *words);
}

/* Which kind of step a pair may be; STEP_KINDS: none. */
static step_kind kind_of_step(const metrics_pair *pair, int64_t *value)
{
    static const char *const updates[] = {"update", "updates", "num_updates"}, *const globals[] = {"step", "steps"},
                             *const iterations[] = {"iter", "iters", "iteration", "iterations", "it", "itr"},
                             *const batches[] = {"batch", "batches", "minibatch"};
#define CALLED(words) metrics_pair_is_called(pair, words, sizeof words / sizeof *words)
    static const char *const global[] = {"global"};
    if (!metrics_step_of(pair->value, value) || *value < 0)
        return STEP_KINDS;
    if (pair->length == 0)
        return pair->of > 0 ? BATCH : STEP_KINDS;
    if (CALLED(updates) || (CALLED(globals) && has_word(pair->name, pair->length, global, 1)))
        return GLOBAL_STEP;
    if (CALLED(iterations))
        return ITERATION;
    if (CALLED(globals))
        return STEP;
    if (CALLED(batches) || (pair->of > 0 && metrics_pair_is_mode(pair)))
        return BATCH;
    return is_epoch(pair) ? EPOCH : STEP_KINDS;
#undef CALLED
}

/* Does the name have a word for evaluation, or for prediction? */
static void note_mode(said *s, const metrics_pair *pair)
{
    static const char *const evals[] = {"validate", "validating", "evaluating"}, *const tests[] = {"testing"};
    char name[METRICS_PAIR_NAME_MOST];
    for (size_t i = 0; i < pair->length; i++)
        name[i] = pair->name[i] == '(' || pair->name[i] == ')' ? ' ' : pair->name[i];
    const int mode = metrics_mode_of(name, pair->length);
    s->eval = s->eval || mode == ASSAY_MODE_EVAL || has_word(name, pair->length, evals, sizeof evals / sizeof *evals);
    s->predict = s->predict || mode == ASSAY_MODE_PREDICT || has_word(name, pair->length, tests, 1);
}

static said look_at(const metrics_pairs *pairs)
{
    said s = {.eval = false};
    for (size_t i = 0; i < pairs->count; i++) {
        const metrics_pair *pair = &pairs->list[i];
        int64_t value = 0;
        const step_kind kind = kind_of_step(pair, &value);
        if (kind == BATCH && pair->of > 0 && i > 0 && !s.step[EPOCH] && metrics_pair_is_mode(pair - 1) &&
            pair[-1].of < 0 && metrics_step_of(pair[-1].value, &s.value[EPOCH])) /* "Train: 3 [50/1251]" */
            s.step[EPOCH] = pair - 1;
        s.epoch = s.epoch || is_epoch(pair);
        if (kind != STEP_KINDS && !s.step[kind]) {
            s.step[kind] = pair;
            s.value[kind] = value;
        }
        if (kind != STEP_KINDS && pair->length > 0)
            note_mode(&s, pair);
        s.figure = s.figure || is_figure(pair);
        s.loss = s.loss || metrics_is_loss(pair->name, pair->length);
        s.closing = s.closing || (pair->length == 13 && memcmp(pair->name, "train_runtime", 13) == 0);
    }
    if (s.step[EPOCH] && pairs->list[0].length > 0 && s.step[EPOCH] == &pairs->list[0])
        note_mode(&s, s.step[EPOCH]);
    return s;
}

/* The pair that numbers a line, STEP_KINDS: none does. */
static step_kind numbered_by(const said *s, bool object)
{
    for (int kind = 0; kind < STEP_KINDS; kind++) {
        if (!s->step[kind])
            continue;
        /* A bar of progress says how far its own work is; of an object the epoch is a figure beside others. */
        if (object && (kind == EPOCH || (kind == BATCH && s->step[kind]->length == 0)))
            continue;
        return (step_kind)kind;
    }
    return STEP_KINDS;
}

/* Rows of a validation have that name in front of each. */
static bool is_row_of_validation(const metrics_pairs *pairs)
{
    bool eval = false, train = false;
    for (size_t i = 0; i < pairs->count; i++) {
        const int mode = metrics_mode_of(pairs->list[i].name, pairs->list[i].length);
        eval = eval || mode != ASSAY_MODE_TRAIN;
        train = train || (mode == ASSAY_MODE_TRAIN && metrics_is_loss(pairs->list[i].name, pairs->list[i].length));
    }
    return eval && !train;
}

/* The step of a line of training whose own number is `raw`. */
static int64_t count_on(reader *r, step_kind kind, const said *s)
{
    const int64_t raw = s->value[kind], epoch = s->step[EPOCH] && kind != EPOCH ? s->value[EPOCH] : NOT_KNOWN;
    const bool anew = epoch > r->epoch && r->epoch != NOT_KNOWN && raw <= r->raw && r->raw != NOT_KNOWN;
    if (anew && r->offset < METRICS_STEP_END) /* what lies beyond is no step, however many epochs are told */
        r->offset += r->of > 0 ? r->of : r->raw;
    else if (epoch < r->epoch && epoch != NOT_KNOWN) /* it began again */
        r->offset = 0;
    r->raw = raw;
    r->of = kind == BATCH || kind == STEP || kind == ITERATION ? s->step[kind]->of : NOT_KNOWN;
    if (epoch != NOT_KNOWN)
        r->epoch = epoch;
    return r->last = r->offset + raw;
}

/* Keras says the epoch on a line of its own, and behind it, at the end of the bar, what it came to. */
static bool ends_epoch(const reader *r, const said *s)
{
    return r->by_epoch && s->step[BATCH] && s->step[BATCH]->length == 0 && !s->step[EPOCH];
}

/* The step that the line's values belong to; NOT_KNOWN: to none. */
static int64_t step_of(reader *r, const said *s, bool aside)
{
    const step_kind kind = numbered_by(s, r->pairs.object);
    if (ends_epoch(r, s))
        return s->value[BATCH] == s->step[BATCH]->of ? r->last : NOT_KNOWN;
    const int64_t last = r->proven || r->header ? r->last : NOT_KNOWN;
    if (aside && (kind == STEP_KINDS || kind == BATCH || (kind == EPOCH && r->epoch != NOT_KNOWN)))
        return last;
    if (kind != STEP_KINDS && aside)
        return s->value[kind] + r->offset;
    if (kind != STEP_KINDS)
        return count_on(r, kind, s);
    if (r->pairs.object && s->loss && s->epoch) {
        metrics_add(r->log, METRICS_STEPS_BY_ORDER);
        return r->last = ++r->rows;
    }
    return last;
}

static int put_pairs(reader *r, const said *s, int64_t step, int mode)
{
    const step_kind kind = numbered_by(s, r->pairs.object);
    int status = ASSAY_OK;
    for (size_t i = 0; i < r->pairs.count && status == ASSAY_OK; i++) {
        const metrics_pair *pair = &r->pairs.list[i];
        if (is_no_tag(pair) || (kind != STEP_KINDS && pair == s->step[kind]) ||
            (pair == s->step[BATCH] && pair->of >= 0))
            continue;
        const bool own = mode != ASSAY_MODE_GLOBAL && metrics_mode_of(pair->name, pair->length) != ASSAY_MODE_TRAIN;
        const bool epoch = pair == s->step[EPOCH];
        status = metrics_put(r->log, epoch ? "epoch" : pair->name, epoch ? 5 : pair->length, own && !epoch ? 0 : mode,
                             step, pair->value);
    }
    for (uint64_t i = 0; i < r->pairs.left; i++)
        metrics_add(r->log, METRICS_OTHER_VALUES);
    return status;
}

/* Programs print their own source, too. A line that numbers a loss is none. */
static bool is_code(const char *line, size_t length)
{
    static const char *const signs[] = {" == ", " += ",  " -= ",  " *= ", " /= ",   " ** ",
                                        "()",   "self.", "args.", "def ", "return "};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (memmem(line, length, signs[i], strlen(signs[i])))
            return true;
    return length > 0 && line[length - 1] == ':';
}

/* A line, or what a bar of progress wrote over itself. 1: nothing is known of it. */
static int take_part(reader *r, const char *line, size_t length)
{
    metrics_pairs_take(&r->pairs, line, length);
    const said s = look_at(&r->pairs);
    if (is_code(line, length) && !(s.loss && numbered_by(&s, false) < BATCH))
        return 1;
    const bool header = r->header;
    const bool validation = r->pairs.object && is_row_of_validation(&r->pairs);
    const bool aside = s.eval || s.predict || validation || s.closing;
    r->header = false;
    if (!s.figure) { /* "Epoch 3/10", "[step=10/100,epoch=0]": what follows belongs to it */
        const step_kind kind = r->pairs.object || aside ? STEP_KINDS : numbered_by(&s, false);
        if (kind == STEP_KINDS || kind == BATCH)
            return 1;
        r->by_epoch = kind == EPOCH;
        r->header = true;
        count_on(r, kind, &s);
        return 1;
    }
    r->header = header;
    const int64_t step = step_of(r, &s, aside);
    const step_kind kind = numbered_by(&s, r->pairs.object);
    if (step == NOT_KNOWN)
        return 1;
    if (aside || (kind != STEP_KINDS && !ends_epoch(r, &s)))
        r->aside = s.closing              ? ASSAY_MODE_GLOBAL
                   : s.eval || validation ? ASSAY_MODE_EVAL
                   : s.predict            ? ASSAY_MODE_PREDICT
                                          : 0;
    r->proven = r->proven || s.loss || (kind != BATCH && kind != EPOCH && kind != STEP_KINDS);
    return put_pairs(r, &s, step, r->aside);
}

/* "[rank3]:" before a line says who printed it. */
static int take_rank(reader *r, const char *line, size_t length)
{
    static const char word[] = "[rank";
    const char *p = line + sizeof word - 1, *end = line + length;
    char worker[32];
    int64_t rank = 0;
    if (length < sizeof word || memcmp(line, word, sizeof word - 1) != 0 || !metrics_take_digits(&p, end, &rank) ||
        p == end || *p != ']' || rank < 0)
        return ASSAY_OK;
    snprintf(worker, sizeof worker, "worker_%lld", (long long)rank);
    return metrics_set_worker(r->log, worker);
}

static int take(void *context, const char *line, size_t length)
{
    reader *r = context;
    int taken = 1;
    metrics_strip_colours(&r->plain, &line, &length);
    const char *end = line + length;
    ASSAY_TRY(take_rank(r, line, length));
    while (line < end) {
        const char *p = line;
        while (p < end && *p != '\r' && *p != '\b')
            p++;
        const int status = p > line ? take_part(r, line, (size_t)(p - line)) : 1;
        if (status < 0 || status > 1)
            return status;
        taken = status == ASSAY_OK ? ASSAY_OK : taken;
        line = p + 1;
    }
    return taken;
}

static reader *reader_new(metrics_log *log)
{
    reader *r = assay_alloc_zeroed(1, sizeof *r);
    if (!r)
        return NULL;
    r->log = log;
    r->raw = r->of = r->epoch = r->last = NOT_KNOWN;
    log->falls = true;
    assay_buf_init(&r->plain, SIZE_MAX);
    return r;
}

static void reader_free(reader *r)
{
    if (r)
        assay_buf_release(&r->plain);
    free(r);
}

/* Goes on until the first line that proves the file. */
static int take_proof(void *context, const char *line, size_t length)
{
    const int taken = take(context, line, length);
    return ((reader *)context)->proven ? METRICS_ENOUGH : taken;
}

static int proven(assay_store *store, const metrics_file *file, assay_error *err)
{
    assay_problems problems;
    metrics_log log;
    assay_problems_init(&problems);
    int status = metrics_log_init(&log, store, NULL, &problems);
    reader *r = status == ASSAY_OK ? reader_new(&log) : NULL;
    status = r ? metrics_read_lines(&log, file->path, take_proof, r, err) : ASSAY_ENOMEM;
    reader_free(r);
    metrics_log_release(&log);
    assay_problems_release(&problems);
    return status == METRICS_ENOUGH ? 1 : status;
}

/* Files of a directory may be ranks, attempts or other trainings: nobody knows, and no value is dropped. */
static int divide(metrics_place *p, assay_error *err)
{
    size_t files = 0;
    (void)err;
    for (size_t i = 0; i < p->count; i++)
        files += p->files[i].kind == METRICS_PRINTED;
    for (size_t i = 0; i < p->count; i++) {
        char name[ASSAY_PATH_ROOM];
        const char *path = p->files[i].path;
        if (p->files[i].kind != METRICS_PRINTED)
            continue;
        snprintf(name, sizeof name, "%s", files == 1 ? "." : path);
        metrics_run *run = metrics_place_run_of(p, path, name, NULL);
        if (!run || metrics_run_add_file(run, &p->files[i]) != ASSAY_OK)
            return ASSAY_ENOMEM;
    }
    return ASSAY_OK;
}

static int read(metrics_log *log, const metrics_place *place, const metrics_run *run, assay_error *err)
{
    (void)place;
    int status = ASSAY_OK;
    for (size_t i = 0; i < run->count && status == ASSAY_OK; i++) {
        reader *r = reader_new(log);
        log->part = (uint32_t)i;
        status = r ? metrics_read_lines(log, run->files[i]->path, take, r, err) : ASSAY_ENOMEM;
        reader_free(r);
    }
    return status;
}

const metrics_kind metrics_printout = {
    .name = "printed", .named = metrics_is_printed_name, .proven = proven, .divide = divide, .read = read};
