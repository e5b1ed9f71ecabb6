/* html_curves.c - the course of the tensors that findings name, from the curves that the engine takes of every trial
 * (curves.h). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <assay/trial.h>

#include "base/fault.h"
#include "base/search.h"
#include "report/compare/comparison.h"
#include "report/html/html.h"
#include "report/model/curves.h"

enum { TENSORS_OF_TRIAL = 12, TEXT = 600, FIGURES = 3, SMALL_CHART = 14000, HISTOGRAMS_OF_TRIAL = 4 };

/* The lines of one chart: what they point to is their own. */
typedef struct lines {
    doc_series series[DOC_SERIES];
    char name[DOC_SERIES][TEXT];
    size_t count;
    int status;
} lines;

/* x and y of a series are const for the chart, and owned here. */
static void release_lines(lines *l)
{
    for (size_t s = 0; s < l->count; s++) {
        free((double *)(uintptr_t)l->series[s].x);
        free((double *)(uintptr_t)l->series[s].y);
    }
    l->count = 0;
}

/* Adds an empty line of `count` points; *x and *y get its places. False when there is no room or no memory for it. */
static bool add_line(lines *l, size_t count, int style, const char *name, double **x, double **y)
{
    if (l->count == DOC_SERIES)
        return false;
    *x = assay_alloc_zeroed(count, sizeof **x);
    *y = assay_alloc_zeroed(count, sizeof **y);
    if (!*x || !*y) {
        free(*x);
        free(*y);
        l->status = ASSAY_ENOMEM;
        return false;
    }
    snprintf(l->name[l->count], sizeof l->name[l->count], "%s", name);
    l->series[l->count] = (doc_series){.name = l->name[l->count], .x = *x, .y = *y, .count = count, .style = style};
    l->count++;
    return true;
}

/* A mode has the same colour in every chart. */
static int mode_style(int mode)
{
    return (mode + DOC_STYLES - ASSAY_MODE_TRAIN) % DOC_STYLES;
}

/* Makes the curves of trial t; false when there are none to draw. To be released when true. */
static bool make_curves(html_page *page, size_t t, assay_curves *out)
{
    if (!html_read(&page->outcome->trials[t]))
        return false;
    int status = assay_curves_make(page->outcome, t, out);
    html_fail(page, status);
    return status == ASSAY_OK;
}

/* ---- tensors in findings ---- */

/* A tensor that findings name, with the steps at which they do. */
typedef struct suspect {
    uint32_t tensor;
    int64_t first;
} suspect;

ASSAY_ORDER_BY(by_first, suspect, first, tensor)

/* Calls for every kept finding of the trial's rules that names a tensor, and those that name none. */
static void each_finding(const html_page *page, const assay_trial_outcome *trial,
                         void (*each)(void *context, const assay_finding *finding), void *context)
{
    for (size_t i = 0; i < page->outcome->job->rule_count; i++) {
        report_rule rule = report_rule_of(page->outcome, trial, i, false);
        for (size_t k = 0; rule.findings && k < rule.findings->kept; k++)
            each(context, &rule.findings->list[k]);
    }
}

typedef struct suspect_list {
    suspect *list; /* [tensors of the trial]; first INT64_MAX: not named */
    uint32_t count;
} suspect_list;

static void note_suspect(void *context, const assay_finding *f)
{
    suspect_list *s = context;
    if (f->tensor < s->count && f->step < s->list[f->tensor].first)
        s->list[f->tensor].first = f->step;
}

/* Finds the suspects of a trial, the earliest first; the caller frees the list. Returns their number. */
static size_t find_suspects(html_page *page, const assay_trial_outcome *trial, suspect **out)
{
    suspect_list s = {.count = assay_trial_tensors(trial->info)};
    size_t count = 0;
    s.list = assay_alloc_zeroed(s.count, sizeof *s.list);
    *out = s.list;
    if (!s.list) {
        html_fail(page, ASSAY_ENOMEM);
        return 0;
    }
    for (uint32_t i = 0; i < s.count; i++)
        s.list[i] = (suspect){i, INT64_MAX};
    each_finding(page, trial, note_suspect, &s);
    qsort(s.list, s.count, sizeof *s.list, by_first);
    while (count < s.count && s.list[count].first != INT64_MAX)
        count++;
    return count;
}

typedef struct step_list {
    double *step; /* [room] */
    size_t count, room;
    uint32_t tensor;
} step_list;

/* More marks than columns would cover one another. */
static void note_step(void *context, const assay_finding *f)
{
    step_list *s = context;
    if (f->tensor == s->tensor && s->count < s->room)
        s->step[s->count++] = (double)f->step;
}

static double figure_of(const assay_tensor_point *p, int figure)
{
    return figure == 0 ? p->norm : figure == 1 ? p->magnitude : 100 * p->zeros;
}

/* Puts norm, magnitude and zeros of one tensor beside one another, and its elements where they can be read (`again`
 * may be NULL). */
static void put_tensor(html_page *page, const assay_trial_outcome *trial, const assay_curves *curves, uint32_t tensor,
                       size_t room, assay_recording *again)
{
    static const char *const titles[FIGURES] = {"Norm", "Mean magnitude", "Zeros"};
    static const char *const units[FIGURES] = {"L2 norm", "mean of |x|", "% of the elements"};
    double room_for_steps[4 * HTML_COLUMNS];
    step_list steps = {
        .step = room_for_steps, .room = sizeof room_for_steps / sizeof *room_for_steps, .tensor = tensor};
    each_finding(page, trial, note_step, &steps);
    qsort(steps.step, steps.count, sizeof *steps.step, assay_order_f64);
    html_put(page, "<article class=\"card\"><h4>");
    html_name(page, assay_trial_tensor(trial->info, tensor));
    html_put(page, "</h4><div class=\"charts three\">\n");
    for (int figure = 0; figure < FIGURES; figure++) {
        lines l = {.count = 0};
        for (int mode = ASSAY_MODE_TRAIN; mode < ASSAY_MODES; mode++) {
            const assay_tensor_curve *curve = assay_curves_tensor(curves, tensor, mode);
            double *x, *y;
            if (!curve || !add_line(&l, curve->count, mode_style(mode), assay_mode_name(mode), &x, &y))
                continue;
            for (size_t i = 0; i < curve->count; i++) {
                x[i] = (double)curve->point[i].step;
                y[i] = figure_of(&curve->point[i], figure);
            }
        }
        html_fail(page, l.status);
        chart_put_lines(&(doc_chart){.title = titles[figure],
                                     .x_label = "global step",
                                     .y_label = units[figure],
                                     .series = l.series,
                                     .count = l.count,
                                     .mark = steps.step,
                                     .marks = steps.count,
                                     .mark_word = "finding"},
                        room / FIGURES, page->out);
        release_lines(&l);
    }
    html_put(page, "</div>");
    html_histogram h;
    const assay_tensor_curve *curve = assay_curves_tensor(curves, tensor, ASSAY_MODE_TRAIN);
    if (again && curve && html_read_elements(page, again, assay_trial_tensor(trial->info, tensor), curve, &h)) {
        html_put_histogram(page, &h);
        free(h.step);
    }
    html_put(page, "</article>\n");
}

static bool drawn(const assay_curves *curves, uint32_t tensor)
{
    for (int mode = 0; mode < ASSAY_MODES; mode++) {
        if (assay_curves_tensor(curves, tensor, mode))
            return true;
    }
    return false;
}

/* `again` reads the trial once more, which takes long, so only the first tensors have histograms. */
static void put_trial_tensors(html_page *page, size_t t, const assay_curves *curves, const suspect *list, size_t count)
{
    const assay_trial_outcome *trial = &page->outcome->trials[t];
    size_t i = 0, done = 0;
    assay_recording *again = html_read_again(page, trial);
    html_trial_begin(page, t, NULL);
    for (; i < count && done < TENSORS_OF_TRIAL; i++) {
        size_t left = page->end > page->out->size ? page->end - page->out->size : 0;
        if (left < FIGURES * CHART_LEAST)
            break;
        if (!drawn(curves, list[i].tensor))
            continue;
        size_t share = left / (TENSORS_OF_TRIAL - done);
        share = share < FIGURES * CHART_LEAST ? FIGURES * CHART_LEAST : share;
        put_tensor(page, trial, curves, list[i].tensor, share < FIGURES * SMALL_CHART ? share : FIGURES * SMALL_CHART,
                   done < HISTOGRAMS_OF_TRIAL ? again : NULL);
        done++;
    }
    html_more(page, count - i, "tensors with findings");
    html_trial_end(page);
    assay_recording_close(again);
}

/* One trial's curves are in memory at a time. */
void html_tensors(html_page *page)
{
    const assay_outcome *outcome = page->outcome;
    size_t end = 0, left = 0;
    bool open = false;
    for (size_t t = 0; t < outcome->trial_count; t++) {
        assay_curves curves;
        suspect *list = NULL;
        if (open && page->out->size >= end) {
            left++;
            continue;
        }
        if (html_is_usual(page, t) || !make_curves(page, t, &curves))
            continue;
        size_t count = curves.tensor_count > 0 ? find_suspects(page, &outcome->trials[t], &list) : 0;
        if (count > 0 && !open) {
            html_section(page, "tensors", "Tensors in findings", HTML_BUDGET_TENSORS);
            html_put(page, "<p class=\"note\">All workers together; the tensor with the earliest finding first. Bars "
                           "at the lower edge stand at the steps of its findings.</p>\n");
            end = page->end;
            open = true;
        }
        if (count > 0) {
            page->end = html_share(page, end, t, outcome->trial_count);
            put_trial_tensors(page, t, &curves, list, count);
        }
        free(list);
        assay_curves_release(&curves);
    }
    if (!open)
        return;
    html_more(page, left, "trials");
    html_section_end(page);
}
