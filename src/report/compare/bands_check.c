/* bands_check.c - trials against the bands of good runs: what leaves them, and where first. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "report/compare/bands.h"

/* The band at a mode step within its range. */
static void band_at(const assay_band *band, int64_t at, double *low, double *high)
{
    size_t first = 0, last = band->steps - 1;
    while (last - first > 1) {
        size_t middle = first + (last - first) / 2;
        if (band->step[middle] <= at)
            first = middle;
        else
            last = middle;
    }
    double span = (double)(band->step[last] - band->step[first]);
    double part = span > 0 ? (double)(at - band->step[first]) / span : 0;
    const double *a = band->quantile + first * ASSAY_BAND_QUANTILES, *b = band->quantile + last * ASSAY_BAND_QUANTILES;
    double bottom = assay_band_between(a[1], b[1], part), middle = assay_band_between(a[2], b[2], part),
           top = assay_band_between(a[3], b[3], part);
    double least = ASSAY_BAND_MARGIN * (band->figure == ASSAY_BAND_ZEROS ? 1 : fabs(middle));
    double width = fmax(top - bottom, least);
    *low = bottom - width;
    *high = top + width;
}

static void look(assay_departure *d, int64_t step, int64_t mode_step, double value)
{
    double low, high;
    if (mode_step < d->band->step[0] || mode_step > d->band->step[d->band->steps - 1])
        return;
    band_at(d->band, mode_step, &low, &high);
    d->compared++;
    if (value >= low && value <= high) /* false for NaN */
        return;
    if (d->out++ > 0)
        return;
    d->step = step;
    d->mode_step = mode_step;
    d->value = value;
    d->low = low;
    d->high = high;
}

/* The number of a tensor by its name; UINT32_MAX: none. Names are in byte order. */
static uint32_t find_tensor(const assay_trial *info, const char *name)
{
    uint32_t low = 0, high = assay_trial_tensors(info);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(assay_trial_tensor(info, middle), name);
        if (order == 0)
            return middle;
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return UINT32_MAX;
}

static assay_departure hold_against(const assay_band *band, const assay_trial *info, const assay_curves *curves)
{
    assay_departure d = {.band = band, .tensor = find_tensor(info, band->tensor)};
    if (d.tensor == UINT32_MAX)
        return d;
    if (band->figure == ASSAY_BAND_LOSS) {
        const assay_loss_curve *curve = assay_curves_loss(curves, d.tensor, band->mode);
        for (size_t i = 0; curve && i < curve->count; i++)
            look(&d, curve->point[i].step, curve->point[i].mode_step, curve->point[i].value);
    } else {
        const assay_tensor_curve *curve = assay_curves_tensor(curves, d.tensor, band->mode);
        for (size_t i = 0; curve && i < curve->count; i++)
            look(&d, curve->point[i].step, curve->point[i].mode_step, assay_band_value(&curve->point[i], band->figure));
    }
    return d;
}

static int by_step(const void *a, const void *b)
{
    const assay_departure *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return (x->band > y->band) - (x->band < y->band);
}

static int check_trial(const assay_bands *bands, const assay_outcome *outcome, size_t trial, assay_departures *out)
{
    assay_curves curves;
    int status = assay_curves_make(outcome, trial, &curves);
    out->list = status == ASSAY_OK ? assay_alloc(bands->count * sizeof *out->list) : NULL;
    if (!out->list)
        status = ASSAY_ENOMEM;
    for (size_t i = 0; status == ASSAY_OK && outcome->trials[trial].info && i < bands->count; i++) {
        assay_departure d = hold_against(&bands->band[i], outcome->trials[trial].info, &curves);
        out->curves += d.compared > 0;
        if (d.out > 0)
            out->list[out->total++] = d;
    }
    assay_curves_release(&curves);
    if (status != ASSAY_OK)
        return status;
    qsort(out->list, out->total, sizeof *out->list, by_step);
    out->count = out->total < ASSAY_BAND_DEPARTURES ? out->total : ASSAY_BAND_DEPARTURES;
    assay_departure *kept = assay_realloc_array(out->list, out->count ? out->count : 1, sizeof *kept);
    out->list = kept ? kept : out->list;
    return ASSAY_OK;
}

int assay_bands_check(const assay_bands *bands, const assay_outcome *outcome, assay_band_report **out)
{
    *out = NULL;
    assay_band_report *r = assay_alloc_zeroed(1, sizeof *r);
    if (!r)
        return ASSAY_ENOMEM;
    r->bands = bands;
    r->outcome = outcome;
    r->trial = assay_alloc_zeroed(outcome->trial_count, sizeof *r->trial);
    int status = r->trial ? ASSAY_OK : ASSAY_ENOMEM;
    for (; status == ASSAY_OK && r->trials < outcome->trial_count; r->trials++)
        status = check_trial(bands, outcome, r->trials, &r->trial[r->trials]);
    if (status != ASSAY_OK) {
        assay_band_report_free(r);
        return status;
    }
    *out = r;
    return ASSAY_OK;
}

void assay_band_report_free(assay_band_report *report)
{
    if (!report)
        return;
    for (size_t t = 0; report->trial && t < report->trials; t++)
        free(report->trial[t].list);
    free(report->trial);
    free(report);
}

bool assay_band_report_fires(const assay_band_report *report)
{
    for (size_t t = 0; t < report->trials; t++)
        if (report->trial[t].total > 0)
            return true;
    return false;
}
