/* loss.c - the course of the loss: of one trial a line for each mode, of several the odd ones over the band of the others
 * or, where there are too few to tell, one over another. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/search.h"
#include "report/compare/comparison.h"
#include "report/compare/grid.h"
#include "report/model/curves.h"
#include "report/sections/sections.h"

/* GRID_STEPS is what a chart can tell apart. MOST_PALE: so many of the runs behind the odd ones are drawn each by
 * itself; the chart says of how many. */
enum { LOSSES_OF_TRIAL = 3, TITLE = 300, GRID_CHARTS = 6, GRID_STEPS = 256, MOST_PALE = 200, MARKS = 512 };

/* ---- lines of curves ---- */

typedef struct lines {
    doc_series series[DOC_SERIES];
    size_t count;
    int status;
} lines;

static void release_lines(lines *l)
{
    for (size_t s = 0; s < l->count; s++)
        free((double *)(uintptr_t)l->series[s].x); /* y lies behind it */
    l->count = 0;
}

static int mode_style(int mode)
{
    return (mode + DOC_STYLES - ASSAY_MODE_TRAIN) % DOC_STYLES;
}

static void add_loss(lines *l, const assay_loss_curve *curve, int style, const char *name, bool by_mode_step)
{
    double *x = l->count < DOC_SERIES ? assay_alloc_zeroed(2 * curve->count, sizeof *x) : NULL;
    if (!x) {
        l->status = l->count < DOC_SERIES ? ASSAY_ENOMEM : l->status;
        return;
    }
    double *y = x + curve->count;
    for (size_t i = 0; i < curve->count; i++) {
        x[i] = (double)(by_mode_step ? curve->point[i].mode_step : curve->point[i].step);
        y[i] = curve->point[i].value;
    }
    l->series[l->count++] = (doc_series){name, x, y, curve->count, style};
}

/* "EVAL: lowest 0.42 at step 150, last 0.61, which is 45 % above it." */
static void describe_loss(const assay_loss_curve *curve, assay_buf *out)
{
    size_t best = 0;
    double last = curve->point[curve->count - 1].value;
    for (size_t i = 1; i < curve->count; i++) {
        if (curve->point[i].value < curve->point[best].value || !isfinite(curve->point[best].value))
            best = i;
    }
    double least = curve->point[best].value;
    if (!isfinite(least)) {
        assay_put_format(out, "%s: no finite value. ", assay_mode_name(curve->mode));
        return;
    }
    assay_put_format(out, "%s: lowest %.4g at step %" PRId64 ", last %.4g", assay_mode_name(curve->mode), least,
                     curve->point[best].step, last);
    if (least > 0 && last > least * 1.005 && isfinite(last))
        assay_put_format(out, ", which is %.3g\u202f%% above it", 100 * (last / least - 1));
    assay_put_format(out, ". ");
}

/* The first steps of rules that fired: short bars below the loss. */
static size_t find_marks(const assay_report *report, size_t t, double mark[MARKS])
{
    size_t count = 0;
    for (size_t i = 0; i < report->outcome->job->rule_count && count < MARKS; i++) {
        const report_rule rule = report_rule_of(report->outcome, &report->outcome->trials[t], i, false);
        const assay_finding *first = report_first(&rule);
        if (first && !first->time && rule.status == ASSAY_ISSUES_FOUND)
            mark[count++] = (double)first->step;
    }
    for (size_t i = 1; i < count; i++) /* few: one a rule */
        for (size_t k = i; k > 0 && mark[k] < mark[k - 1]; k--) {
            const double swap = mark[k];
            mark[k] = mark[k - 1];
            mark[k - 1] = swap;
        }
    return count;
}

/* One loss tensor of a trial: a line a mode over the global steps. Returns the first curve behind it. */
static size_t put_loss(const assay_report *report, size_t t, const assay_curves *curves, size_t from, doc *d)
{
    const uint32_t tensor = curves->losses[from].tensor;
    size_t to = from;
    lines l = {.count = 0};
    double mark[MARKS];
    assay_buf remark = ASSAY_BUF(4096);
    for (; to < curves->loss_count && curves->losses[to].tensor == tensor; to++) {
        const assay_loss_curve *curve = &curves->losses[to];
        add_loss(&l, curve, mode_style(curve->mode), assay_mode_name(curve->mode), false);
        describe_loss(curve, &remark);
        if (curves->losses_every[curve->mode] > 1)
            assay_put_format(&remark, "Of %s every %" PRIu64 "th saved step was taken. ", assay_mode_name(curve->mode),
                             curves->losses_every[curve->mode]);
    }
    assay_put_u8(&remark, '\0');
    doc_fail(d, l.status);
    doc_put_chart(d, NULL,
                  &(doc_chart){.kind = DOC_LINES,
                               .title = assay_trial_tensor(report->outcome->trials[t].info, tensor),
                               .x_label = "global step",
                               .y_label = "loss",
                               .remark = assay_buf_status(&remark) == ASSAY_OK ? (const char *)remark.data : NULL,
                               .series = l.series,
                               .count = l.count,
                               .mark = mark,
                               .marks = find_marks(report, t, mark),
                               .mark_word = "a rule fires first"});
    release_lines(&l);
    assay_buf_release(&remark);
    return to;
}

static void put_trial(const assay_report *report, size_t t, doc *d)
{
    assay_curves curves;
    const int status = assay_curves_make(report->outcome, t, &curves);
    doc_fail(d, status);
    if (status != ASSAY_OK)
        return;
    for (size_t from = 0, done = 0; from < curves.loss_count && done < LOSSES_OF_TRIAL; done++)
        from = put_loss(report, t, &curves, from, d);
    sections_put_beside_loss(&report->outcome->trials[t], &curves, d);
    assay_curves_release(&curves);
}

/* ---- few trials: one over another ---- */

/* The chart of one mode: each trial's first loss over the steps of that mode. */
static void put_overlay(const assay_outcome *outcome, const assay_curves *curves, size_t trials, int mode, doc *d)
{
    lines l = {.count = 0};
    char title[TITLE];
    for (size_t t = 0; t < trials; t++)
        for (size_t i = 0; i < curves[t].loss_count; i++) {
            if (curves[t].losses[i].mode != mode)
                continue;
            add_loss(&l, &curves[t].losses[i], (int)t, outcome->trials[t].trial->name, true);
            break;
        }
    snprintf(title, sizeof title, "All trials, %s", assay_mode_name(mode));
    if (l.count > 1)
        doc_put_chart(d, NULL,
                      &(doc_chart){.kind = DOC_LINES,
                                   .title = title,
                                   .x_label = "step of the mode",
                                   .y_label = "loss",
                                   .series = l.series,
                                   .count = l.count});
    doc_fail(d, l.status);
    release_lines(&l);
}

/* A chart a mode of the first trials, as many as a chart has styles of lines. Their curves are read once for all modes. */
static void put_overlays(const assay_outcome *outcome, doc *d)
{
    assay_curves curves[DOC_SERIES];
    const size_t trials = outcome->trial_count < DOC_SERIES ? outcome->trial_count : DOC_SERIES;
    size_t made = 0;
    int status = ASSAY_OK;
    for (; made < trials && status == ASSAY_OK; made += status == ASSAY_OK)
        status = assay_curves_of_losses(outcome, made, &curves[made]);
    for (int mode = ASSAY_MODE_TRAIN; mode < ASSAY_MODES && status == ASSAY_OK; mode++)
        put_overlay(outcome, curves, trials, mode, d);
    if (outcome->trial_count > trials) {
        doc_note(d);
        doc_put(d, "These are the first %zu of %zu trials.", trials, outcome->trial_count);
    }
    while (made > 0)
        assay_curves_release(&curves[--made]);
    doc_fail(d, status);
}

/* ---- many trials: the odd ones over the band of the others ---- */

typedef struct overlay {
    const assay_comparison *c;
    doc *d;
    size_t charts;
    double *sorted; /* [trials] */
} overlay;

/* The 0.05, 0.5 and 0.95 quantiles at each step over the trials that are not odd; returns at how many steps there are
 * some. */
static size_t take_band(overlay *o, const assay_grid *grid, double *x, double *low, double *middle, double *high)
{
    size_t count = 0;
    for (size_t i = 0; i < grid->steps; i++) {
        size_t n = 0;
        for (size_t t = 0; t < grid->trials; t++)
            if (!o->c->trial[t].odd && isfinite(grid->value[i * grid->trials + t]))
                o->sorted[n++] = grid->value[i * grid->trials + t];
        if (n == 0)
            continue;
        qsort(o->sorted, n, sizeof *o->sorted, assay_order_f64);
        x[count] = (double)grid->step[i];
        low[count] = assay_quantile(o->sorted, n, n, 0.05);
        middle[count] = assay_quantile(o->sorted, n, n, 0.5);
        high[count++] = assay_quantile(o->sorted, n, n, 0.95);
    }
    return count;
}

/* The values of one trial; returns how many. */
static size_t take_line(const assay_grid *grid, size_t trial, double *x, double *y)
{
    size_t count = 0;
    for (size_t i = 0; i < grid->steps; i++) {
        if (isnan(grid->value[i * grid->trials + trial]))
            continue;
        x[count] = (double)grid->step[i];
        y[count++] = grid->value[i * grid->trials + trial];
    }
    return count;
}

/* The line of every trial that is odd (or not), at most `most`, each in its 2 * steps numbers of `room`. */
static size_t take_lines(const overlay *o, const assay_grid *grid, bool odd, size_t most, double *room,
                         doc_series *series)
{
    size_t count = 0;
    for (size_t t = 0; t < o->c->trials && count < most; t++) {
        double *x = room + 2 * grid->steps * count, *y = x + grid->steps;
        const size_t points = o->c->trial[t].odd == odd ? take_line(grid, t, x, y) : 0;
        if (points > 0) {
            series[count] = (doc_series){o->c->outcome->trials[t].trial->name, x, y, points, (int)count};
            count++;
        }
    }
    return count;
}

static int put_grid(void *context, const assay_grid *grid)
{
    overlay *o = context;
    doc_series series[DOC_SERIES], pale[MOST_PALE];
    char title[TITLE], word[TITLE];
    const size_t n = grid->steps, others = o->c->trials - o->c->odd;
    if (n < 2 || o->charts == GRID_CHARTS)
        return ASSAY_OK;
    double *room = assay_alloc((4 + 2 * DOC_SERIES + 2 * MOST_PALE) * n * sizeof *room);
    ASSAY_HAVE(room);
    double *x = room, *low = room + n, *middle = room + 2 * n, *high = room + 3 * n, *lines_room = room + 4 * n;
    const size_t pales = take_lines(o, grid, false, MOST_PALE, lines_room + 2 * DOC_SERIES * n, pale);
    const size_t count = take_band(o, grid, x, low, middle, high);
    const doc_band band = {"the others: 90 % of them, and the median", x, low, high, count};
    series[0] = (doc_series){"median of the others", x, middle, count, DOC_STYLES - 1};
    const size_t drawn = 1 + take_lines(o, grid, true, DOC_SERIES - 1, lines_room, series + 1);
    if (pales < others)
        snprintf(word, sizeof word, "%zu of the %zu others, each by itself", pales, others);
    else
        snprintf(word, sizeof word, "the others, each by itself");
    snprintf(title, sizeof title, "%.200s, %s", grid->tensor, assay_mode_name(grid->mode));
    doc_put_chart(o->d, NULL,
                  &(doc_chart){.kind = DOC_LINES,
                               .title = title,
                               .x_label = "step of the mode",
                               .y_label = "loss",
                               .band = count > 0 ? &band : NULL,
                               .series = series,
                               .count = drawn,
                               .pale = pale,
                               .pales = pales,
                               .pale_word = word});
    o->charts++;
    free(room);
    return ASSAY_OK;
}

static void put_odd(const assay_report *report, doc *d)
{
    const assay_comparison *c = report->comparison;
    overlay o = {c, d, 0, assay_alloc((c->trials + 1) * sizeof *o.sorted)};
    int status = ASSAY_OK;
    assay_grids *grids = assay_grids_new(report->outcome, true, &status);
    ASSAY_THEN(status, o.sorted ? assay_grids_walk(grids, ASSAY_BAND_LOSS, GRID_STEPS, put_grid, &o) : ASSAY_ENOMEM);
    assay_grids_free(grids);
    if (c->odd >= DOC_SERIES) {
        doc_note(d);
        doc_put(d, "Of %zu trials that are unlike the others the first %d are drawn.", c->odd, DOC_SERIES - 1);
    }
    doc_fail(d, status);
    free(o.sorted);
}

static bool has_loss(const assay_report *report, size_t t)
{
    return sections_read(&report->outcome->trials[t]) && assay_curves_have_losses(report->outcome, t);
}

/* Drawn on the page alone: text has the figures where a job asks for them (loss_curve). */
void section_loss(const assay_report *report, doc *d)
{
    const assay_outcome *outcome = report->outcome;
    size_t with = 0;
    for (size_t t = 0; t < outcome->trial_count && doc_can_be(d, DOC_HTML); t++)
        with += has_loss(report, t);
    if (with == 0)
        return;
    doc_only(d, DOC_HTML);
    doc_section(d, "loss", "Loss");
    if (report->comparison && report->comparison->judged)
        put_odd(report, d);
    else if (outcome->trial_count > 1)
        put_overlays(outcome, d);
    for (size_t t = 0; t < outcome->trial_count; t++) {
        if (!sections_shows(report, t) || !has_loss(report, t))
            continue;
        if (outcome->trial_count > 1) {
            doc_details(d, NULL);
            doc_put_name(d, outcome->trials[t].trial->name);
        }
        put_trial(report, t, d);
        sections_end_trial(report, d);
    }
    doc_end(d);
}
