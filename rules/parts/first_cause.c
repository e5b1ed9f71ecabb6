/* first_cause.c - see first_cause.h. */
#include "parts/first_cause.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER, ELEMENT, VALUE }; /* values of a row; ELEMENT is -1 without one */
enum { STAGES_MOST = 32, NAMES_MOST = 8, TEXT_ROOM = 1 << 16 };

int first_cause_add(assay_series *series, const assay_step_view *view, const assay_tensor_view *item, uint32_t worker,
                    const assay_first_bad *bad)
{
    bool known = bad && bad->index != UINT64_MAX;
    double row[FIRST_CAUSE_WIDTH] = {item->order, known ? (double)bad->index : -1, known ? bad->value : 0};
    return assay_series_add(series, view->step, item->tensor, worker, row);
}

/* The first time that a tensor of a worker was bad. */
typedef struct onset {
    int64_t step;
    double order, element, value;
    uint32_t worker, tensor;
} onset;

static int compare_onsets(const void *a, const void *b)
{
    const onset *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->order < y->order || x->order > y->order)
        return x->order < y->order ? -1 : 1;
    if (x->worker != y->worker)
        return x->worker < y->worker ? -1 : 1;
    return (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

/* How far the fault has come by the end of a step. */
typedef struct stage {
    int64_t step;
    uint64_t tensors;  /* bad so far, whatever the worker */
    uint32_t workers;  /* likewise */
    uint32_t from, to; /* the workers new at this step: arrival[from .. to) */
} stage;

typedef struct spread {
    const assay_rule *rule;
    onset *onset; /* ascending */
    uint64_t count;
    stage stage[STAGES_MOST];
    uint32_t stages;
    uint32_t *arrival;     /* [workers] in the order in which they were first bad */
    bool *worker, *tensor; /* bad so far */
} spread;

/* Keeps the first row of each (tensor, worker), from the rule's first step on. */
static int collect(spread *s, const assay_series *series)
{
    uint64_t count = assay_series_count(series), *order = assay_series_by_tensor(series);
    uint32_t workers = assay_trial_workers(s->rule->trial), tensors = assay_trial_tensors(s->rule->trial);
    s->onset = calloc(count + 1, sizeof *s->onset);
    s->arrival = calloc((size_t)workers + 1, sizeof *s->arrival);
    s->worker = calloc((size_t)workers + 1, sizeof *s->worker);
    s->tensor = calloc((size_t)tensors + 1, sizeof *s->tensor);
    bool ready = order && s->onset && s->arrival && s->worker && s->tensor;
    for (uint64_t i = 0; ready && i < count; i++) {
        assay_row row = assay_series_row(series, order[i]);
        const onset *last = s->count ? &s->onset[s->count - 1] : NULL;
        bool known = last && last->tensor == row.tensor && last->worker == row.worker;
        bool named = row.tensor < tensors && (row.worker < workers || row.worker == ASSAY_ALL_WORKERS);
        if (row.step >= s->rule->start_step && named && !known)
            s->onset[s->count++] =
                (onset){row.step, row.value[ORDER], row.value[ELEMENT], row.value[VALUE], row.worker, row.tensor};
    }
    free(order);
    if (ready)
        qsort(s->onset, s->count, sizeof *s->onset, compare_onsets);
    return ready ? ASSAY_OK : ASSAY_ENOMEM;
}

/* One stage for each step at which the fault came further; the last one takes in what is beyond STAGES_MOST. */
static void find_stages(spread *s)
{
    stage now = {0};
    uint32_t workers = assay_trial_workers(s->rule->trial);
    for (uint64_t i = 0; i < s->count; i++) {
        const onset *o = &s->onset[i];
        if (i > 0 && o->step != now.step && s->stages < STAGES_MOST - 1) {
            s->stage[s->stages++] = now;
            now.from = now.to;
        }
        now.step = o->step;
        now.tensors += !s->tensor[o->tensor];
        s->tensor[o->tensor] = true;
        if (o->worker < workers && !s->worker[o->worker]) {
            s->worker[o->worker] = true;
            s->arrival[now.to++] = o->worker;
            now.workers++;
        }
    }
    s->stage[s->stages++] = now;
}

/* Bytes of a tensor's name that name its layer: without "gradient/" before, and what the layer's tensor is behind. */
static size_t layer_of(const char **name)
{
    static const char *const tails[] = {".weight", ".bias", "_input_", "_output_", ":"};
    if (strncmp(*name, "gradient", 8) == 0 && strchr(*name, '/'))
        *name = strchr(*name, '/') + 1;
    size_t length = strlen(*name);
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        const char *at = strstr(*name, tails[i]);
        if (at && at > *name && (size_t)(at - *name) < length)
            length = (size_t)(at - *name);
    }
    return length;
}

static bool is_backward(const spread *s, uint32_t tensor)
{
    return assay_trial_in_collection(s->rule->trial, "gradients", tensor) ||
           strncmp(assay_trial_tensor(s->rule->trial, tensor), "gradient", 8) == 0;
}

static void put_plain(assay_buf *out, const char *text)
{
    assay_put_bytes(out, text, strlen(text));
}

/* "worker_1, worker_2", or how many they are. */
static void put_worker_names(const spread *s, const stage *t, assay_buf *out)
{
    if (t->to - t->from > NAMES_MOST) {
        assay_put_format(out, "%" PRIu32 " more workers", t->to - t->from);
        return;
    }
    for (uint32_t w = t->from; w < t->to; w++) {
        put_plain(out, w > t->from ? ", " : "");
        put_plain(out, assay_trial_worker(s->rule->trial, s->arrival[w]));
    }
}

/* "layer act2 on worker_3 at step 40, all workers at step 50". */
static void put_sentence(const spread *s, assay_buf *out)
{
    const onset *first = &s->onset[0];
    const char *name = assay_trial_tensor(s->rule->trial, first->tensor);
    size_t length = layer_of(&name);
    uint32_t workers = assay_trial_workers(s->rule->trial);
    bool pooled = first->worker == ASSAY_ALL_WORKERS;
    put_plain(out, "layer ");
    assay_put_bytes(out, name, length);
    if (!pooled) {
        put_plain(out, " on ");
        put_plain(out, assay_trial_worker(s->rule->trial, first->worker));
    }
    assay_put_format(out, " at step %" PRId64, first->step);
    for (uint32_t i = 0; i < s->stages; i++) {
        const stage *t = &s->stage[i];
        bool all = t->workers == workers, more = i > 0 ? t->to > t->from : t->workers > 1;
        if (workers < 2 || pooled || !more)
            continue;
        put_plain(out, ", ");
        if (all)
            put_plain(out, "all workers");
        else
            put_worker_names(s, t, out);
        assay_put_format(out, " at step %" PRId64, t->step);
    }
    const stage *last = &s->stage[s->stages - 1];
    if (last->tensors > 1)
        assay_put_format(out, "; %" PRIu64 " tensors by step %" PRId64, last->tensors, last->step);
}

/* As one word of a shell. */
static void put_quoted(assay_buf *out, const char *text)
{
    put_plain(out, "'");
    for (; *text; text++) {
        if (*text == '\'')
            put_plain(out, "'\\''");
        else
            assay_put_bytes(out, text, 1);
    }
    put_plain(out, "'");
}

static void put_command(const spread *s, assay_buf *out)
{
    const onset *first = &s->onset[0];
    put_plain(out, "assay show ");
    put_quoted(out, assay_trial_path(s->rule->trial));
    put_plain(out, " ");
    put_quoted(out, assay_trial_tensor(s->rule->trial, first->tensor));
    assay_put_format(out, " --step %" PRId64, first->step);
    if (first->worker != ASSAY_ALL_WORKERS) {
        put_plain(out, " --worker ");
        put_plain(out, assay_trial_worker(s->rule->trial, first->worker));
    }
}

static void put_json_text(const spread *s, void (*put)(const spread *, assay_buf *), assay_buf *out)
{
    assay_buf text;
    assay_buf_init(&text, TEXT_ROOM);
    put(s, &text);
    assay_json_put_text_n(out, text.data ? (const char *)text.data : "", text.size);
    assay_buf_release(&text);
}

static void put_stages(const spread *s, assay_buf *out)
{
    uint32_t workers = assay_trial_workers(s->rule->trial);
    for (uint32_t i = 0; i < s->stages; i++) {
        const stage *t = &s->stage[i];
        assay_put_format(out,
                         "%s{\"step\": %" PRId64 ", \"tensors\": %" PRIu64 ", \"workers\": %" PRIu32
                         ", \"all_workers\": %s, \"new_workers\": [",
                         i ? ", " : "", t->step, t->tensors, t->workers,
                         t->workers == workers || s->onset[0].worker == ASSAY_ALL_WORKERS ? "true" : "false");
        for (uint32_t w = t->from; w < t->to; w++) {
            put_plain(out, w > t->from ? ", " : "");
            assay_json_put_text(out, assay_trial_worker(s->rule->trial, s->arrival[w]));
        }
        put_plain(out, "]}");
    }
}

static void put_json(const spread *s, assay_buf *out)
{
    const onset *first = &s->onset[0];
    const char *name = assay_trial_tensor(s->rule->trial, first->tensor), *layer = name;
    size_t length = layer_of(&layer);
    const assay_step_info *info = assay_trial_step(s->rule->trial, assay_trial_find_step(s->rule->trial, first->step));
    assay_put_format(out,
                     "%s\"first_cause\": {\"step\": %" PRId64 ", \"mode\": \"%s\", \"mode_step\": %" PRId64
                     ", \"phase\": \"%s\", \"layer\": ",
                     out->size ? ", " : "", first->step, assay_mode_name(info ? info->mode : ASSAY_MODE_NONE),
                     info ? info->mode_step : -1, is_backward(s, first->tensor) ? "backward" : "forward");
    assay_json_put_text_n(out, layer, length);
    put_plain(out, ", \"tensor\": ");
    assay_json_put_text(out, name);
    put_plain(out, ", \"worker\": ");
    assay_json_put_text(out,
                        first->worker == ASSAY_ALL_WORKERS ? "*" : assay_trial_worker(s->rule->trial, first->worker));
    put_plain(out, ", \"element\": ");
    if (first->element >= 0) {
        assay_put_format(out, "%.0f, \"value\": ", first->element);
        assay_json_put_number(out, first->value);
    } else {
        put_plain(out, "null");
    }
    put_plain(out, ",\n     \"text\": ");
    put_json_text(s, put_sentence, out);
    put_plain(out, ",\n     \"spread\": [");
    put_stages(s, out);
    put_plain(out, "],\n     \"show\": ");
    put_json_text(s, put_command, out);
    put_plain(out, "}");
}

static void put_text(const spread *s, assay_buf *out)
{
    const onset *first = &s->onset[0];
    put_plain(out, "First cause: ");
    put_sentence(s, out);
    assay_put_format(out, "\nIt began in the %s pass, in ", is_backward(s, first->tensor) ? "backward" : "forward");
    put_plain(out, assay_trial_tensor(s->rule->trial, first->tensor));
    if (first->element >= 0) {
        const char *sign = first->value < 0 ? "-" : "";
        assay_put_format(out, ", element %.0f (%s%s)", first->element, sign, isnan(first->value) ? "nan" : "inf");
    }
    put_plain(out, "\nTo see it: ");
    put_command(s, out);
    put_plain(out, "\n");
}

int first_cause_put(const assay_rule *rule, const assay_series *series, assay_verdict *verdict, assay_error *err)
{
    spread s = {.rule = rule};
    int status = assay_series_count(series) ? collect(&s, series) : ASSAY_OK;
    if (status == ASSAY_OK && s.count > 0) {
        find_stages(&s);
        put_json(&s, assay_verdict_json(verdict));
        put_text(&s, assay_verdict_text(verdict));
    }
    free(s.onset);
    free(s.arrival);
    free(s.worker);
    free(s.tensor);
    return status == ASSAY_OK ? ASSAY_OK : assay_fail(err, status, "out of memory");
}

int first_cause_finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    return first_cause_put(rule, ((const assay_common_state *)state)->series, verdict, err);
}
