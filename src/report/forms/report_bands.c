/* report_bands.c - what leaves the bands of good runs, in report.json. */
#include <inttypes.h>

#include "base/json.h"
#include "report/forms/forms.h"

static void put_number(const char *key, double value, assay_buf *out)
{
    assay_put_format(out, ", \"%s\": ", key);
    assay_json_put_number(out, value);
}

void report_put_score(const char *key, const assay_score *score, assay_buf *out)
{
    assay_put_format(out, ", \"%s\": {\"losses\": ", key);
    assay_json_put_number(out, score->losses);
    put_number("gaps", score->gaps, out);
    put_number("tensors", score->tensors, out);
    put_number("tensor", score->tensor, out);
    assay_put_u8(out, '}');
}

static void put_departure(const assay_departure *d, assay_buf *out)
{
    assay_put_format(out, "{\"kind\": \"%s\", \"figure\": \"%s\", \"tensor\": ", assay_departure_word(d->kind),
                     assay_band_word(d->band->figure));
    assay_json_put_text(out, d->band->tensor);
    assay_put_format(out, ", \"mode\": \"%s\"", assay_mode_name(d->band->mode));
    if (d->kind != ASSAY_DEPARTS_MISSING) {
        assay_put_format(out, ", \"step\": %" PRId64 ", \"mode_step\": %" PRId64, d->step, d->mode_step);
        put_number("value", d->value, out);
    }
    if (d->kind == ASSAY_DEPARTS_VALUE) {
        put_number("low", d->low, out);
        put_number("high", d->high, out);
        put_number("score", d->score, out);
        put_number("limit", d->limit, out);
        assay_put_format(out, ", \"steps_outside\": %zu, \"steps_compared\": %zu", d->out, d->compared);
    }
    assay_put_u8(out, '}');
}

void report_put_bands_json(const assay_band_report *report, assay_buf *out)
{
    const assay_noise *noise = &report->bands->noise;
    assay_put_format(out,
                     " \"bands\": {\"learned_from\": %zu, \"severity\": \"warning\",\n  \"noise\": {\"points\": %zu",
                     report->bands->trials, noise->points);
    put_number("share", noise->share, out);
    put_number("margin", noise->margin, out);
    put_number("factor", noise->factor, out);
    report_put_score("limit", &report->limit, out);
    assay_put_format(out, "},\n  \"trials\": [");
    for (size_t t = 0; t < report->trials; t++) {
        const assay_departures *d = &report->trial[t];
        assay_put_format(out, "%s\n   {\"name\": ", t ? "," : "");
        assay_json_put_text(out, report->outcome->trials[t].trial->name);
        assay_put_format(out, ", \"compared\": %zu, \"outside\": %zu", d->curves, d->total);
        report_put_score("score", &d->score, out);
        assay_put_format(out, ", \"first\": [");
        for (size_t i = 0; i < d->count; i++) {
            assay_put_format(out, "%s\n     ", i ? "," : "");
            put_departure(&d->list[i], out);
        }
        assay_put_format(out, "]}");
    }
    assay_put_format(out, "]},\n");
}
