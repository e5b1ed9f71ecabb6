/* worker_loss.c - WorkerLoss: a worker whose losses lie apart from those of the other workers, step after step.
 * docs/rules/WorkerLoss.md.
 *
 * For each loss and mode, at steps at which LEAST_WORKERS workers or more have it, finite: d = loss of the worker less
 * the mean of the others'. Over all such steps, over the later half of them or over the last quarter a worker is apart where
 *
 *   |mean d| > share of the mean of the others' losses
 *   |mean d| > score standard errors of that mean, which come of how d varies from step to step
 *   |mean d| > spreads times as far as the others' own means lie from one another: workers of unlike data are all apart;
 *              of two others twice as many, for two may be close by chance
 *
 * It fires at the last row and those before, as far back as d is on that side by
 * half of mean d or more at three of four. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "selection.h"
#include "too_few.h"
#include "workers.h"

enum { MODE, LOSS, WIDTH }; /* values of a row */
enum { LEAST_WORKERS = 3, LEAST_EVAL = 3, PARTS = 3, NOTE_ROOM = 96 };
#define LEVEL 1e-3 /* of the others' loss: a standard deviation is this at least */

static const assay_param_def params[] = {
    {.name = "share",
     .type = ASSAY_PARAM_REAL,
     .initial = "0.2",
     .least = 0,
     .most = 1e308,
     .help = "How far from the others' losses a worker's lie, as a share of them."},
    {.name = "score",
     .type = ASSAY_PARAM_REAL,
     .initial = "8",
     .least = 1,
     .most = 1e308,
     .help = "And in standard errors of the mean distance."},
    ASSAY_INT_PARAM("spreads", "4", 1, 1000000,
                    "And in times that the other workers lie from one another; of two others twice as many."),
    ASSAY_INT_PARAM("num_steps", "8", 1, 1000000,
                    "Fewest saved steps of TRAIN of each worker; of EVAL three are enough."),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    ASSAY_TRY(refuse_one_worker(given, err));
    int slot = assay_need_slot(need, &(assay_slot){.collection = "losses", .flags = ASSAY_SLOT_NO_STRINGS}, err);
    return slot < 0 ? slot : assay_need_rows(need, slot, &(assay_rows){.width = WIDTH}, err);
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        if (!assay_view_has_values(item))
            continue;
        const double row[WIDTH] = {[MODE] = view->mode, [LOSS] = assay_stats_mean(item->stats)};
        if (isfinite(row[LOSS]))
            status =
                assay_series_add(((assay_common_state *)state)->series, view->step, item->tensor, item->worker, row);
    }
    return status;
}

/* What is known of each row: d, and the mean of the others; NaN: too few workers. */
typedef struct walk {
    const assay_rule *rule;
    const assay_series *series;
    const uint64_t *order; /* rows by tensor, worker, step */
    assay_findings *findings;
    double *away, *others;
    struct crew *crew; /* [workers] of one loss in one mode */
    uint32_t workers;
} walk;

static void set_distances(const walk *w)
{
    const uint64_t rows = assay_series_count(w->series);
    for (uint64_t from = 0, to; from < rows; from = to) {
        const assay_row first = assay_series_row(w->series, from);
        double sum = 0;
        for (to = from; to < rows && to - from < w->workers; to++) {
            const assay_row row = assay_series_row(w->series, to);
            if (row.step != first.step || row.tensor != first.tensor)
                break;
            sum += row.value[LOSS];
        }
        const double n = (double)(to - from);
        for (uint64_t i = from; i < to; i++) {
            const double own = assay_series_row(w->series, i).value[LOSS];
            w->others[i] = n < LEAST_WORKERS ? NAN : (sum - own) / (n - 1);
            w->away[i] = own - w->others[i];
        }
    }
}

/* A worker's rows of one loss and mode, [from, to) of the order: those of the mode that have a distance, from the
 * `skip`-th on. */
typedef struct window {
    uint64_t from, to, skip, count;
    int mode;
} window;

static bool is_in(const walk *w, uint64_t i, int mode)
{
    return assay_series_row(w->series, w->order[i]).value[MODE] == mode && isfinite(w->away[w->order[i]]);
}

static window window_of(const walk *w, uint64_t from, uint64_t to, int mode)
{
    window all = {.from = from, .to = to, .mode = mode};
    for (uint64_t i = from; i < to; i++)
        all.count += is_in(w, i, mode);
    return all;
}

typedef struct figures {
    double away, error, level, own;
} figures;

static figures figures_of(const walk *w, const window *of)
{
    figures f = {0};
    double squares = 0;
    const double n = (double)(of->count - of->skip);
    for (int pass = 0; pass < 2; pass++)
        for (uint64_t i = of->from, k = 0; i < of->to; i++) {
            if (!is_in(w, i, of->mode) || k++ < of->skip)
                continue;
            const double away = w->away[w->order[i]], others = w->others[w->order[i]];
            if (pass > 0) {
                squares += (away - f.away) * (away - f.away);
                continue;
            }
            f.away += away / n;
            f.level += others / n;
            f.own += (away + others) / n;
        }
    const double deviation = fmax(sqrt(squares / fmax(n - 1, 1)), LEVEL * fabs(f.level));
    f.error = deviation / sqrt(n);
    return f;
}

/* The rows of another worker behind those of this one, or from the first on, of the same tensor. */
static uint64_t end_of(const walk *w, uint64_t from)
{
    const uint64_t rows = assay_series_count(w->series);
    const assay_row first = assay_series_row(w->series, w->order[from]);
    uint64_t to = from + 1;
    for (; to < rows; to++) {
        const assay_row row = assay_series_row(w->series, w->order[to]);
        if (row.tensor != first.tensor || row.worker != first.worker)
            break;
    }
    return to;
}

/* What is known of one worker, over all its steps, their later half and their last quarter. */
typedef struct crew {
    window of[PARTS];
    figures is[PARTS];
} crew;

/* Is worker k of `count` apart from the others, of which none is shorter than `least`? */
static bool is_apart(const walk *w, uint32_t k, uint32_t count, int part, uint64_t least)
{
    const double score = assay_param_real(w->rule->params, "score"), share = assay_param_real(w->rule->params, "share"),
                 spreads = (double)assay_param_int(w->rule->params, "spreads");
    const figures *f = &w->crew[k].is[part];
    double lowest = INFINITY, highest = -INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        if (w->crew[i].of[part].count - w->crew[i].of[part].skip < least)
            return false;
        lowest = i == k ? lowest : fmin(lowest, w->crew[i].is[part].own);
        highest = i == k ? highest : fmax(highest, w->crew[i].is[part].own);
    }
    const double spread = (count == LEAST_WORKERS ? 2 : 1) * spreads * (highest - lowest);
    return count >= LEAST_WORKERS && fabs(f->away) > share * fabs(f->level) && fabs(f->away) > score * f->error &&
           fabs(f->away) > spread;
}

static int test_worker(const walk *w, const window *of, const figures *f, bool apart)
{
    uint64_t begin = of->to, near = 0, seen = 0;
    int status = ASSAY_OK;
    for (uint64_t i = of->to; apart && i-- > of->from;) {
        if (!is_in(w, i, of->mode))
            continue;
        const bool far = f->away > 0 ? 2 * w->away[w->order[i]] > f->away : 2 * w->away[w->order[i]] < f->away;
        seen++;
        near += !far;
        begin = far && 4 * near <= seen ? i : begin;
    }
    for (uint64_t i = of->from; status == ASSAY_OK && i < of->to; i++) {
        if (!is_in(w, i, of->mode))
            continue;
        const assay_row row = assay_series_row(w->series, w->order[i]);
        const bool fires = apart && i >= begin;
        char note[NOTE_ROOM] = "";
        if (fires)
            snprintf(note, sizeof note, "%.3g in the mean, the others' %.3g", f->own, f->level);
        const assay_finding finding = {.step = row.step,
                                       .tensor = row.tensor,
                                       .worker = row.worker,
                                       .value = fabs(f->away) / f->error,
                                       .threshold = assay_param_real(w->rule->params, "score"),
                                       .note = note};
        if (row.step >= w->rule->start_step)
            status = assay_findings_test(w->findings, fires, &finding);
    }
    return status;
}

/* The workers of one loss, rows [from, to) of the order, in one mode. */
static int test_loss(const walk *w, uint64_t from, uint64_t to, int mode)
{
    const uint64_t asked = (uint64_t)assay_param_int(w->rule->params, "num_steps"),
                   least = mode == ASSAY_MODE_EVAL && asked > LEAST_EVAL ? LEAST_EVAL : asked;
    uint32_t count = 0;
    int status = ASSAY_OK;
    for (uint64_t i = from, end; i < to && count < w->workers; i = end) {
        end = end_of(w, i);
        crew *c = &w->crew[count];
        for (int part = 0; part < PARTS; part++) {
            c->of[part] = window_of(w, i, end, mode);
            c->of[part].skip = c->of[part].count - (c->of[part].count >> part);
            if (c->of[part].count > c->of[part].skip)
                c->is[part] = figures_of(w, &c->of[part]);
        }
        count += c->of[0].count > 0;
    }
    for (uint32_t k = 0; status == ASSAY_OK && k < count; k++) {
        int part = 0;
        while (part < PARTS && !is_apart(w, k, count, part, least))
            part++;
        if (w->crew[k].of[0].count >= least)
            status = test_worker(w, &w->crew[k].of[0], &w->crew[k].is[part % PARTS], part < PARTS);
    }
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_series *series = ((const assay_common_state *)state)->series;
    const uint64_t rows = assay_series_count(series);
    uint64_t *order = assay_series_by_tensor(series);
    walk w = {rule, series, order, assay_verdict_findings(verdict), .workers = assay_trial_workers(rule->trial)};
    w.away = calloc(rows + 1, sizeof *w.away);
    w.others = calloc(rows + 1, sizeof *w.others);
    w.crew = calloc((size_t)w.workers + 1, sizeof *w.crew);
    int status = w.away && w.others && w.crew && (order || rows == 0) ? ASSAY_OK : ASSAY_ENOMEM;
    if (status == ASSAY_OK)
        set_distances(&w);
    for (uint64_t from = 0, to; status == ASSAY_OK && from < rows; from = to) {
        const uint32_t tensor = assay_series_row(series, order[from]).tensor;
        for (to = from; to < rows && assay_series_row(series, order[to]).tensor == tensor;)
            to++;
        for (int mode = ASSAY_MODE_TRAIN; status == ASSAY_OK && mode <= ASSAY_MODE_EVAL; mode++)
            status = test_loss(&w, from, to, mode);
    }
    free(order);
    free(w.away);
    free(w.others);
    free(w.crew);
    assay_verdict_no_data(
        verdict, "no loss was saved by three workers or more at enough steps (num_steps of TRAIN, three of EVAL).");
    return status == ASSAY_OK ? ASSAY_OK : assay_fail(err, status, "out of memory");
}

const assay_rule_ops assay_rule_worker_loss = {
    ASSAY_RULE_HEAD,
    .name = "WorkerLoss",
    .summary = "A worker whose losses lie apart from those of the other workers, step after step.",
    .advice = "Workers of one training see data of one kind with one network: a loss that is always another comes of "
              "labels, data or a mode that only this worker has.",
    .remedies =
        ASSAY_TEXTS("Compare the order of classes, the files and the normalisation on that worker with the others'.",
                    "In evaluation: does it call eval(), and has it the weights and running statistics of the others?",
                    "If each worker has data of its own kind on purpose, leave the rule out."),
    .params = params,
    .traits = ASSAY_RULE_LOOKS_BACK | ASSAY_RULE_NOT_LOGGED,
    .series_width = WIDTH,
    .value_units = ASSAY_TEXTS("standard errors"),
    .sentences = ASSAY_TEXTS("{tensor} of {worker} lies apart from those of the other workers at {when}{note}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
