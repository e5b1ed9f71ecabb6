/* nights.c - trials themselves as the nights of a history: what their rules found, and their figures against a band.
 *
 * The band of a figure at a run comes from the runs before it that were inside of theirs, at most WINDOW of them: the
 * median, and LIMIT times the deviation around it (as compare_outliers.c has it, of logarithms where all are positive),
 * but never less than MARGIN of the median, or its last digits would count. A run outside does not widen the band, so
 * that a figure that moved stays outside until it is back. A loss that is lower than the others' is no fault. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "report/history/history.h"
#include "report/model/curves.h"
#include "report/model/report_model.h"

/* Of fewer than LEAST runs a median and a deviation say nothing. WINDOW forgets what a training was long ago, so that
 * a figure may drift with code and data, run by run within its band. NAME_ROOM holds the name of a tensor of usual
 * length; a longer one is cut and two that differ behind it would be one figure. */
enum { WINDOW = 50, LEAST = 5, NAME_ROOM = 700 };
static const double LIMIT = 6, MARGIN = 0.05;

/* ---- taking runs ---- */

static history_mark mark_of(int status)
{
    switch (status) {
    case ASSAY_ISSUES_FOUND:
        return HISTORY_FOUND;
    case ASSAY_NO_ISSUES_FOUND:
        return HISTORY_QUIET;
    case ASSAY_NO_DATA:
        return HISTORY_NO_DATA;
    default:
        return HISTORY_ERROR;
    }
}

/* A trial that could not be opened has its rules too, with the status Error. */
static int take_rules(assay_report_history *h, const assay_outcome *outcome, const assay_trial_outcome *trial)
{
    for (size_t i = 0; i < outcome->job->rule_count; i++) {
        const report_rule rule = report_rule_of(outcome, trial, i, false);
        if (assay_history_put_mark(h, rule.instance->name, rule.severity, mark_of(rule.status)) != ASSAY_OK)
            return ASSAY_ENOMEM;
    }
    return ASSAY_OK;
}

/* Takes the last value of each loss. */
static int take_losses(assay_report_history *h, const assay_outcome *outcome, size_t number)
{
    const assay_trial_outcome *trial = &outcome->trials[number];
    assay_curves curves;
    int status = assay_curves_of_losses(outcome, number, &curves);
    ASSAY_TRY(status);
    for (size_t i = 0; i < curves.loss_count && status == ASSAY_OK; i++) {
        char name[NAME_ROOM];
        const assay_loss_curve *loss = &curves.losses[i];
        snprintf(name, sizeof name, "last loss of %s, %s", assay_trial_tensor(trial->info, loss->tensor),
                 assay_mode_name(loss->mode));
        status = assay_history_put_figure(h, name, loss->point[loss->count - 1].value);
    }
    assay_curves_release(&curves);
    return status;
}

/* A trial that could not be read counts as a report, so that a night that failed is seen; its verdict is the text of
 * the failure. */
int assay_history_add_trial(assay_report_history *h, const assay_outcome *outcome, size_t number, assay_error *err)
{
    const assay_trial_outcome *trial = &outcome->trials[number];
    const char *started = trial->status == ASSAY_OK ? assay_run_fact_of(&trial->catalog.facts, "started") : NULL;
    assay_buf verdict = ASSAY_BUF(SIZE_MAX);
    if (trial->status == ASSAY_OK)
        report_put_trial_verdict(outcome, trial, &verdict);
    else
        assay_put_bytes(&verdict, trial->error.text, strlen(trial->error.text));
    assay_put_u8(&verdict, '\0');
    int status = assay_buf_status(&verdict);
    ASSAY_THEN(status,
               assay_history_begin(h, trial->trial->path, (const char *)verdict.data, trial->trial->name, started));
    ASSAY_THEN(status, take_rules(h, outcome, trial));
    if (status == ASSAY_OK && trial->status == ASSAY_OK)
        status = take_losses(h, outcome, number);
    if (status == ASSAY_OK)
        h->reports++;
    assay_buf_release(&verdict);
    return status == ASSAY_OK ? status : assay_fail(err, status, "%s: out of memory", trial->trial->path);
}

/* ---- bands ---- */

static double median_of(double *x, size_t n)
{
    qsort(x, n, sizeof *x, assay_order_f64);
    return n % 2 ? x[n / 2] : x[n / 2 - 1] / 2 + x[n / 2] / 2;
}

/* Makes the band of some figures, all finite: what is above it is outside. In logarithms a factor counts the same at
 * every size of loss, and 0.6745 and 1.2533 make both deviations those of a normal distribution. */
static history_band band_of(const double *inside, size_t n)
{
    double x[WINDOW], sum = 0;
    bool positive = true;
    history_band band = {.low = INFINITY, .high = INFINITY, .runs = n};
    if (n == 0)
        return band;
    for (size_t i = 0; i < n; i++) {
        positive = positive && inside[i] > 0;
        band.low = fmin(band.low, inside[i]);
    }
    for (size_t i = 0; i < n; i++)
        x[i] = positive ? log(inside[i]) : inside[i];
    const double middle = median_of(x, n);
    for (size_t i = 0; i < n; i++) {
        x[i] = fabs(x[i] - middle);
        sum += x[i];
    }
    const double deviation = median_of(x, n);
    /* More than half of the figures may be equal: then the mean deviation stands in for the median of them. */
    const double scale = deviation > 0 ? deviation / 0.6745 : 1.2533 * sum / (double)n;
    const double width = fmax(LIMIT * scale, MARGIN * (positive ? 1 : fabs(middle)));
    band.high = positive ? exp(middle + width) : middle + width;
    return band;
}

/* Judges a figure run by run, in order of time; its marks become those of a rule. Called after sorting, so `number`
 * finds the figure's value. */
static int judge(assay_report_history *h, history_figure *figure)
{
    double inside[WINDOW];
    size_t count = 0, next = 0;
    history_rule *rule = assay_history_rule(h, figure->name);
    ASSAY_HAVE(rule);
    rule->severity = ASSAY_WARNING;
    rule->figure = figure;
    for (size_t i = 0; i < h->reports; i++) {
        const size_t at = h->report[i].number;
        rule->mark[at] = HISTORY_NO_DATA;
        if (!figure->there[at])
            continue;
        const double value = figure->value[at];
        const history_band band = band_of(inside, count < WINDOW ? count : WINDOW);
        const bool judged = count >= LEAST;
        const bool outside = !isfinite(value) || (judged && value > band.high);
        figure->outside += outside;
        if (judged || outside)
            rule->mark[at] = outside ? HISTORY_FOUND : HISTORY_QUIET;
        if (judged)
            figure->band = band;
        figure->newest = value;
        if (outside)
            continue;
        inside[next] = value;
        next = (next + 1) % WINDOW;
        count++;
    }
    return ASSAY_OK;
}

/* Figures are not added any more: rules point into their list. */
int assay_history_judge(assay_report_history *h)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < h->figures && status == ASSAY_OK; i++)
        status = judge(h, &h->figure[i]);
    return status;
}
