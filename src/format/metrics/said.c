/* said.c - see said.h. */
#include "format/metrics/said.h"

#include <string.h>
#include <strings.h>

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

bool metrics_has_word(const char *name, size_t length, const char *const *words, size_t count)
{
    wanted w = {words, count, false};
    metrics_words(name, length, look_for, &w);
    return w.found;
}

/* Is it a figure that trainings print, and hardly anything else does? */
bool metrics_is_figure(const metrics_pair *pair)
{
    static const char *const words[] = {
        "lr",      "acc",   "accuracy", "top1",         "top5",    "ppl",    "perplexity", "gnorm", "norm",
        "acc@1",   "acc@5", "f1",       "auc",          "map",     "miou",   "bleu",       "wer",   "reward",
        "mse",     "mae",   "rmse",     "psnr",         "ssim",    "return", "l1",         "l2",    "logloss",
        "mape",    "rmsle", "ndcg",     "learn",        "xent",    "nll",    "cer",        "dice",  "auroc",
        "rewards", "kimg",  "cost",     "crossentropy", "smoothl1"};
    return metrics_is_loss(pair->name, pair->length) ||
           metrics_has_word(pair->name, pair->length, words, sizeof words / sizeof *words) ||
           (pair->length >= 13 && strncasecmp(pair->name, "learning", 8) == 0 &&
            strncasecmp(pair->name + pair->length - 4, "rate", 4) == 0);
}

/* Says nothing of the training. */
bool metrics_is_no_tag(const metrics_pair *pair)
{
    static const char *const names[] = {"rank", "local_rank", "global_rank", "gpu",      "node",
                                        "pid",  "eta",        "version",     "_runtime", "_timestamp"}; /* W&B's */
    const char *blank = memrchr(pair->name, ' ', pair->length);
    const size_t before = blank ? (size_t)(blank + 1 - pair->name) : 0;
    metrics_pair whole = *pair;
    int64_t step = 0;
    whole.share = false;
    const bool progress =
        pair->share && (metrics_pair_is_mode(pair) || metrics_kind_of_step(&whole, &step) != STEP_KINDS);
    return pair->length == 0 || metrics_pair_is_source(pair) || progress ||
           metrics_is_among(names, sizeof names / sizeof *names, pair->name + before, pair->length - before);
}

/* Of games an episode is what the epoch is of a set of data. */
static bool is_epoch(const metrics_pair *pair)
{
    static const char *const words[] = {"epoch", "epochs", "ep", "episode", "episodes"};
    return metrics_pair_is_called(pair, words, sizeof words / sizeof *words);
}

bool metrics_is_episode(const metrics_pair *pair)
{
    static const char *const words[] = {"episode", "episodes"};
    return metrics_pair_is_called(pair, words, sizeof words / sizeof *words);
}

/* Which kind of step a pair may be; STEP_KINDS: none. */
step_kind metrics_kind_of_step(const metrics_pair *pair, int64_t *value)
{
    static const char *const updates[] = {"update", "updates", "num_updates"},
                             *const globals[] = {"step", "steps", "tick"},
                             *const iterations[] = {"iter", "iters", "iteration", "iterations", "it", "itr"},
                             *const batches[] = {"batch", "batches", "minibatch"}, *const counters[] = {"i"};
#define CALLED(words) metrics_pair_is_called(pair, words, sizeof words / sizeof *words)
    static const char *const global[] = {"global"}, *const number[] = {"num"},
                             *const timesteps[] = {"total_timesteps", "total timesteps", "timesteps_total",
                                                   "num_timesteps", "timesteps"};
    const char *slash = memrchr(pair->name, '/', pair->length);
    const size_t path = slash ? (size_t)(slash + 1 - pair->name) : 0;
    static const char *const sections[] = {"time", "misc", "total", "diagnostics", "progress"};
    const bool in_section =
        path > 0 && metrics_is_among(sections, sizeof sections / sizeof *sections, pair->name, path - 1);
    if (!metrics_step_of(pair->value, value) || *value < 0)
        return STEP_KINDS;
    if (pair->share && pair->length > 0) /* "steps:  10%|#    | 10/100" */
        return STEP_KINDS;
    if (pair->length == 0)
        return pair->of > 0 && !pair->round ? BATCH : STEP_KINDS;
    if (metrics_is_among(timesteps, sizeof timesteps / sizeof *timesteps, pair->name + path, pair->length - path))
        return GLOBAL_STEP;
    if (in_section) { /* "time/iterations" */
        metrics_pair last = *pair;
        last.name += path;
        last.length -= path;
        return metrics_kind_of_step(&last, value);
    }
    if (CALLED(updates) &&
        metrics_has_word(pair->name, pair->length, number, 1)) /* "update" may be a share of the epoch */
        return UPDATES;
    static const char *const short_updates[] = {"up"}; /* "Ep. 1 : Up. 500 : Cost 2.5" */
    if (CALLED(updates) || (CALLED(short_updates) && pair->name[pair->length - 1] == '.') ||
        (CALLED(globals) && metrics_has_word(pair->name, pair->length, global, 1)))
        return GLOBAL_STEP;
    if (CALLED(iterations))
        return ITERATION;
    if (CALLED(globals))
        return STEP;
    if (CALLED(batches) || (pair->of > 0 && pair->set && CALLED(counters)) ||
        (pair->of > 0 && metrics_pair_is_mode(pair)))
        return BATCH;
    return is_epoch(pair) ? EPOCH : STEP_KINDS;
#undef CALLED
}

bool metrics_is_step(const metrics_pair *pair)
{
    int64_t value = 0;
    return pair->length > 0 && metrics_kind_of_step(pair, &value) != STEP_KINDS;
}

/* Does the name have a word for evaluation, or for prediction? */
static void note_mode(metrics_said *s, const metrics_pair *pair)
{
    static const char *const evals[] = {"validate", "validating", "evaluating", "cv"}, *const tests[] = {"testing"};
    char name[METRICS_PAIR_NAME_MOST];
    for (size_t i = 0; i < pair->length; i++)
        name[i] = pair->name[i] == '(' || pair->name[i] == ')' ? ' ' : pair->name[i];
    const int mode = metrics_mode_of(name, pair->length);
    s->eval =
        s->eval || mode == ASSAY_MODE_EVAL || metrics_has_word(name, pair->length, evals, sizeof evals / sizeof *evals);
    s->predict = s->predict || mode == ASSAY_MODE_PREDICT || metrics_has_word(name, pair->length, tests, 1);
}

metrics_said metrics_said_of(const metrics_pairs *pairs, bool numbered)
{
    metrics_said s = {.eval = pairs->mode == ASSAY_MODE_EVAL, .predict = pairs->mode == ASSAY_MODE_PREDICT};
    size_t tags = 0, evals = 0, predicts = 0; /* of pairs that are no steps: what was said before them */
    if (numbered && pairs->numbered.value >= 0) {
        s.step[NUMBERED] = &pairs->numbered;
        s.value[NUMBERED] = (int64_t)pairs->numbered.value;
    }
    for (size_t i = 0; i < pairs->count; i++) {
        const metrics_pair *pair = &pairs->list[i];
        int64_t value = 0;
        step_kind kind = metrics_kind_of_step(pair, &value);
        if (kind == EPOCH && pairs->object && metrics_is_episode(pair)) /* rows of games have each move of an episode */
            kind = STEP_KINDS;
        if (kind == BATCH && pair->length == 0 && pair->of > 0 && i < pairs->bar && !s.step[EPOCH])
            kind = EPOCH; /* "3/200:  50%|#####     | 2/4": the bar is one of the epoch's */
        if (kind == BATCH && pair->of > 0 && i > 0 && !s.step[EPOCH] && metrics_pair_is_mode(pair - 1) &&
            pair[-1].of < 0 && !pair[-1].share &&
            metrics_step_of(pair[-1].value, &s.value[EPOCH])) /* "Train: 3 [50/1251]" */
            s.step[EPOCH] = pair - 1;
        s.epoch = s.epoch || (is_epoch(pair) && !(pairs->object && metrics_is_episode(pair)));
        if (kind != STEP_KINDS && !s.step[kind]) {
            s.step[kind] = pair;
            s.value[kind] = value;
        }
        if (kind != STEP_KINDS && pair->length > 0)
            note_mode(&s, pair);
        s.figure = s.figure || metrics_is_figure(pair);
        s.loss = s.loss || metrics_is_loss(pair->name, pair->length);
        s.closing = s.closing || (pair->length == 13 && memcmp(pair->name, "train_runtime", 13) == 0);
        if (kind == STEP_KINDS && !metrics_is_no_tag(pair)) {
            evals += pair->mode == ASSAY_MODE_EVAL;
            predicts += pair->mode == ASSAY_MODE_PREDICT;
            tags++;
        }
    }
    s.eval = s.eval || (evals > 0 && evals + predicts == tags);
    s.predict = s.predict || (predicts > 0 && predicts == tags);
    /* "(epoch: 1, iters: 100, time: 0.3) G_A: 0.4": an iteration of an epoch is one of a training */
    const step_kind finer = s.step[ITERATION] ? ITERATION : STEP;
    s.figure = s.figure || (tags > 1 && !pairs->object && s.step[EPOCH] && s.step[EPOCH]->set && s.step[finer] &&
                            s.step[finer]->set);
    if (s.step[EPOCH] && pairs->list[0].length > 0 && s.step[EPOCH] == &pairs->list[0])
        note_mode(&s, s.step[EPOCH]);
    return s;
}

/* The pair that numbers a line, STEP_KINDS: none does. Of an object the epoch is but a figure. */
step_kind metrics_numbered_by(const metrics_said *s, bool object)
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

bool metrics_is_code(const char *line, size_t length)
{
    static const char *const signs[] = {" == ", " += ",  " -= ",  " *= ", " /= ",    " ** ",
                                        "()",   "self.", "args.", "def ", "return ", "Namespace("};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (memmem(line, length, signs[i], strlen(signs[i])))
            return true;
    const bool block = length > 1 && *line == '[' && line[length - 2] == ']'; /* "[batch=10/4800]:" */
    return length > 0 && line[length - 1] == ':' && !block;
}
