/* report_bands.c - what leaves the bands of good runs, in report.json. */
#include "report/forms/forms.h"

void report_put_score(const char *key, const assay_score *score, assay_jw *w)
{
    assay_jw_object(w, key);
    assay_jw_number(w, "losses", score->losses);
    assay_jw_number(w, "gaps", score->gaps);
    assay_jw_number(w, "tensors", score->tensors);
    assay_jw_number(w, "tensor", score->tensor);
    assay_jw_end(w);
}

static void put_departure(const assay_departure *d, assay_jw *w)
{
    assay_jw_line(w, 5);
    assay_jw_object(w, NULL);
    assay_jw_text(w, "kind", assay_departure_word(d->kind));
    assay_jw_text(w, "figure", assay_band_word(d->band->figure));
    assay_jw_text(w, "tensor", d->band->tensor);
    assay_jw_text(w, "mode", assay_mode_name(d->band->mode));
    if (d->kind != ASSAY_DEPARTS_MISSING) {
        assay_jw_i64(w, "step", d->step);
        assay_jw_i64(w, "mode_step", d->mode_step);
        assay_jw_number(w, "value", d->value);
    }
    if (d->kind == ASSAY_DEPARTS_VALUE) {
        assay_jw_number(w, "low", d->low);
        assay_jw_number(w, "high", d->high);
        assay_jw_number(w, "score", d->score);
        assay_jw_number(w, "limit", d->limit);
        assay_jw_u64(w, "steps_outside", d->out);
        assay_jw_u64(w, "steps_compared", d->compared);
    }
    assay_jw_end(w);
}

void report_put_bands_json(const assay_band_report *report, assay_jw *w)
{
    const assay_noise *noise = &report->bands->noise;
    assay_jw_line(w, 1);
    assay_jw_object(w, "bands");
    assay_jw_u64(w, "learned_from", report->bands->trials);
    assay_jw_text(w, "severity", "warning");
    assay_jw_line(w, 2);
    assay_jw_object(w, "noise");
    assay_jw_u64(w, "points", noise->points);
    assay_jw_number(w, "share", noise->share);
    assay_jw_number(w, "margin", noise->margin);
    assay_jw_number(w, "factor", noise->factor);
    report_put_score("limit", &report->limit, w);
    assay_jw_end(w);
    assay_jw_line(w, 2);
    assay_jw_array(w, "trials");
    for (size_t t = 0; t < report->trials; t++) {
        const assay_departures *d = &report->trial[t];
        assay_jw_line(w, 3);
        assay_jw_object(w, NULL);
        assay_jw_text(w, "name", report->outcome->trials[t].trial->name);
        assay_jw_u64(w, "compared", d->curves);
        assay_jw_u64(w, "outside", d->total);
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
