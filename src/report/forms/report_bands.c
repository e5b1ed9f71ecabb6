/* report_bands.c - what leaves the bands of good runs, in report.json. */
#include "report/forms/forms.h"

void report_put_score(const char *key, const assay_score *score, assay_jw *w)
{
    ASSAY_JW_OBJECT(w, key, "losses", score->losses, "gaps", score->gaps, "tensors", score->tensors, "tensor",
                    score->tensor);
}

static void put_departure(const assay_departure *d, assay_jw *w)
{
    assay_jw_line(w, 5);
    assay_jw_object(w, NULL);
    ASSAY_JW(w, "kind", assay_departure_word(d->kind), "figure", assay_band_word(d->band->figure), "tensor",
             d->band->tensor, "mode", assay_mode_name(d->band->mode));
    if (d->kind != ASSAY_DEPARTS_MISSING) {
        ASSAY_JW(w, "step", d->step, "mode_step", d->mode_step, "value", d->value);
    }
    if (d->kind == ASSAY_DEPARTS_VALUE) {
        ASSAY_JW(w, "low", d->low, "high", d->high, "score", d->score, "limit", d->limit, "steps_outside", d->out,
                 "steps_compared", d->compared);
    }
    assay_jw_end(w);
}

/* "severity" is the same for all bands, for readers that ask for one. */
void report_put_bands_json(const assay_band_report *report, assay_jw *w)
{
    const assay_noise *noise = &report->bands->noise;
    assay_jw_line(w, 1);
    assay_jw_object(w, "bands");
    ASSAY_JW(w, "learned_from", report->bands->trials, "severity", "warning");
    assay_jw_line(w, 2);
    assay_jw_object(w, "noise");
    ASSAY_JW(w, "points", noise->points, "share", noise->share, "margin", noise->margin, "factor", noise->factor);
    report_put_score("limit", &report->limit, w);
    assay_jw_end(w);
    assay_jw_line(w, 2);
    assay_jw_array(w, "trials");
    for (size_t t = 0; t < report->trials; t++) {
        const assay_departures *d = &report->trial[t];
        assay_jw_line(w, 3);
        assay_jw_object(w, NULL);
        ASSAY_JW(w, "name", report->outcome->trials[t].trial->name, "compared", d->curves, "outside", d->total);
        report_put_score("score", &d->score, w);
        assay_jw_array(w, "first");
        for (size_t i = 0; i < d->count; i++)
            put_departure(&d->list[i], w);
        assay_jw_end(w);
        assay_jw_end(w);
    }
    assay_jw_end(w);
    assay_jw_end(w);
}
