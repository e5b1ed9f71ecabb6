/* sizes.c - how much each trial has. */
#include "report/model/report_model.h"
#include "report/sections/sections.h"

static const doc_column COLUMNS[] = {{"trial", DOC_OF_NAMES, NULL, DOC_CUT_LAST},
                                     {"workers", DOC_OF_COUNTS, NULL, DOC_KEEP},
                                     {"steps", DOC_OF_COUNTS, NULL, DOC_KEEP}};

void section_sizes(const assay_report *report, doc *d)
{
    const assay_outcome *outcome = report->outcome;
    doc_section(d, "sizes", "How much each trial has");
    doc_table(d, &(doc_table_def){"sizes", "trials", COLUMNS, sizeof COLUMNS / sizeof *COLUMNS, false});
    for (size_t t = 0; t < outcome->trial_count; t++) {
        if (!outcome->trials[t].info) /* it could not be opened */
            continue;
        doc_row(d, DOC_PLAIN);
        doc_cell_name(d, outcome->trials[t].trial->name);
        doc_cell_count(d, outcome->trials[t].catalog.workers);
        doc_cell_count(d, assay_trial_steps(outcome->trials[t].info));
    }
    doc_end(d);
}
