/* bands.c - what leaves the bands of good runs, each curve where it does first. */
#include <inttypes.h>

#include "report/compare/bands.h"
#include "report/sections/sections.h"

static const doc_column COLUMNS[] = {
    {"figure", DOC_OF_WORDS, NULL, DOC_KEEP},    {"tensor", DOC_OF_NAMES, NULL, DOC_CUT},
    {"mode step", DOC_OF_STEPS, NULL, DOC_KEEP}, {"value", DOC_OF_REALS, NULL, DOC_KEEP},
    {"from", DOC_OF_REALS, NULL, DOC_KEEP},      {"to", DOC_OF_REALS, NULL, DOC_KEEP},
    {"outside", DOC_OF_WORDS, NULL, DOC_KEEP}};

static void put_departure(doc *d, const assay_departure *one)
{
    static const char *const words[] = {"", "never changes", "missing", "ends early"};
    doc_row(d, DOC_BAD);
    doc_cell_words(d, assay_band_word(one->band->figure));
    doc_cell_name(d, one->band->tensor);
    doc_cell(d);
    doc_put(d, "%s", assay_mode_name(one->band->mode));
    if (one->kind == ASSAY_DEPARTS_MISSING) {
        doc_cell_none(d);
    } else {
        doc_put(d, " %" PRId64, one->mode_step);
        doc_cell_real(d, one->value);
    }
    if (one->kind == ASSAY_DEPARTS_VALUE) {
        doc_cell_real(d, one->low);
        doc_cell_real(d, one->high);
        doc_cell(d);
        doc_put(d, "%zu of %zu", one->out, one->compared);
        return;
    }
    doc_cell_none(d);
    doc_cell_none(d);
    doc_cell_words(d, words[one->kind]);
}

static void put_trial(doc *d, const assay_band_report *bands, size_t t)
{
    const assay_departures *found = &bands->trial[t];
    doc_paragraph(d);
    doc_put_name(d, bands->outcome->trials[t].trial->name);
    if (found->curves == 0)
        doc_put(d, ": nothing in it has a band, so nothing is known of it");
    else
        doc_put(d, ": %zu of %zu curves leave their band%s", found->total, found->curves,
                found->total ? ", first of all:" : "");
    if (found->total == 0)
        return;
    doc_table(d, &(doc_table_def){NULL, "curves", COLUMNS, sizeof COLUMNS / sizeof *COLUMNS, true});
    for (size_t i = 0; i < found->count; i++)
        put_departure(d, &found->list[i]);
    doc_left_out(d, found->total - found->count);
}

void section_bands(const assay_report *report, doc *d)
{
    const assay_band_report *bands = report->bands;
    if (!bands)
        return;
    doc_section(d, "bands", "Against the bands of good runs");
    if (bands->bands->trials < ASSAY_NOISE_RUNS) {
        doc_paragraph(d);
        doc_put(d, "Learned from %zu run%s: what chance does takes %d to learn.", bands->bands->trials,
                assay_plural(bands->bands->trials), ASSAY_NOISE_RUNS);
    }
    for (size_t t = 0; t < bands->trials; t++)
        put_trial(d, bands, t);
    doc_end(d);
}
