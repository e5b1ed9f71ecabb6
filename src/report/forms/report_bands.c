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

static void put_departure(const assay_departure *d, assay_buf *out)
{
    assay_put_format(out, "{\"figure\": \"%s\", \"tensor\": ", assay_band_word(d->band->figure));
    assay_json_put_text(out, d->band->tensor);
    assay_put_format(out, ", \"step\": %" PRId64 ", \"mode\": \"%s\", \"mode_step\": %" PRId64, d->step,
                     assay_mode_name(d->band->mode), d->mode_step);
    put_number("value", d->value, out);
    put_number("low", d->low, out);
    put_number("high", d->high, out);
    assay_put_format(out, ", \"steps_outside\": %zu, \"steps_compared\": %zu}", d->out, d->compared);
}

void report_put_bands_json(const assay_band_report *report, assay_buf *out)
{
    assay_put_format(out, " \"bands\": {\"learned_from\": %zu, \"severity\": \"warning\", \"trials\": [",
                     report->bands->trials);
    for (size_t t = 0; t < report->trials; t++) {
        const assay_departures *d = &report->trial[t];
        assay_put_format(out, "%s\n   {\"name\": ", t ? "," : "");
        assay_json_put_text(out, report->outcome->trials[t].trial->name);
        assay_put_format(out, ", \"compared\": %zu, \"outside\": %zu, \"first\": [", d->curves, d->total);
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
    assay_table table;
    assay_table_init(&table, "lerrrrr", heads);
    for (size_t i = 0; i < d->count && i < LINES_SHOWN; i++) {
        const assay_departure *one = &d->list[i];
        assay_table_cell(&table, assay_band_word(one->band->figure));
        assay_table_cell(&table, one->band->tensor);
        assay_table_format(&table, "%s %" PRId64, assay_mode_name(one->band->mode), one->mode_step);
        assay_table_number(&table, one->value);
        assay_table_number(&table, one->low);
        assay_table_number(&table, one->high);
        assay_table_format(&table, "%zu of %zu", one->out, one->compared);
    }
    assay_table_put(&table, 2, draw, out);
    assay_table_release(&table);
    if (d->total > LINES_SHOWN)
        assay_put_format(out, "  ... and %zu more\n", d->total - LINES_SHOWN);
}

void report_put_bands_text(const assay_band_report *report, const assay_draw *draw, assay_buf *out)
{
    assay_report_put_heading(out, "Against the bands of good runs");
    for (size_t t = 0; t < report->trials && t < TRIALS_SHOWN; t++) {
        const assay_departures *d = &report->trial[t];
        const char *name = report->outcome->trials[t].trial->name;
        assay_text_put_clean(out, name, strlen(name));
        if (d->curves == 0)
            assay_put_format(out, ": nothing in it has a band, which is no pass\n");
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
