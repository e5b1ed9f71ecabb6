/* report_bands.c - what leaves the bands of good runs, in report.json and in the text report. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "report/forms/forms.h"
#include "report/text/layout.h"

enum { LINES_SHOWN = 10, TRIALS_SHOWN = 40 };

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

static void put_lines(const assay_departures *d, const assay_draw *draw, assay_buf *out)
{
    static const char *const heads[] = {"figure", "tensor", "mode step", "value", "from", "to", "outside"};
    static const char *const words[] = {"", "never changes", "missing", "ends early"};
    assay_table table;
    assay_table_init(&table, "lerrrrr", heads);
    for (size_t i = 0; i < d->count && i < LINES_SHOWN; i++) {
        const assay_departure *one = &d->list[i];
        assay_table_cell(&table, assay_band_word(one->band->figure));
        assay_table_cell(&table, one->band->tensor);
        if (one->kind == ASSAY_DEPARTS_MISSING)
            assay_table_cell(&table, assay_mode_name(one->band->mode));
        else
            assay_table_format(&table, "%s %" PRId64, assay_mode_name(one->band->mode), one->mode_step);
        if (one->kind == ASSAY_DEPARTS_MISSING)
            assay_table_cell(&table, "-");
        else
            assay_table_number(&table, one->value);
        if (one->kind == ASSAY_DEPARTS_VALUE) {
            assay_table_number(&table, one->low);
            assay_table_number(&table, one->high);
            assay_table_format(&table, "%zu of %zu", one->out, one->compared);
        } else {
            assay_table_cell(&table, "");
            assay_table_cell(&table, "");
            assay_table_cell(&table, words[one->kind]);
        }
    }
    assay_table_put(&table, 2, draw, out);
    assay_table_release(&table);
    if (d->total > LINES_SHOWN)
        assay_put_format(out, "  ... and %zu more\n", d->total - LINES_SHOWN);
}

void report_put_bands_text(const assay_band_report *report, const assay_draw *draw, assay_buf *out)
{
    assay_report_put_heading(out, "Against the bands of good runs");
    if (report->bands->trials < ASSAY_NOISE_RUNS)
        assay_put_format(out, "Learned from %zu run%s: what chance does takes %d to learn.\n", report->bands->trials,
                         assay_plural(report->bands->trials), ASSAY_NOISE_RUNS);
    for (size_t t = 0; t < report->trials && t < TRIALS_SHOWN; t++) {
        const assay_departures *d = &report->trial[t];
        const char *name = report->outcome->trials[t].trial->name;
        assay_text_put_clean(out, name, strlen(name));
        if (d->curves == 0)
            assay_put_format(out, ": nothing in it has a band, which is not a pass\n");
        else
            assay_put_format(out, ": %zu of %zu curves leave their band%s\n", d->total, d->curves,
                             d->total ? ", first of all:" : "");
        if (d->total > 0)
            put_lines(d, draw, out);
    }
    if (report->trials > TRIALS_SHOWN)
        assay_put_format(out, "... and %zu more trial%s; report.json has all of them.\n", report->trials - TRIALS_SHOWN,
                         assay_plural(report->trials - TRIALS_SHOWN));
}
