/* job_end.c - how the jobs of the trials failed, as their outputs say, and what was looked at for that. */
#include <string.h>

#include "report/sections/sections.h"

void section_job_end(const assay_report *report, doc *d)
{
    const assay_outcome *outcome = report->outcome;
    if (!report_job_failed(report))
        return;
    doc_section(d, "job-end", "How the job ended");
    for (size_t t = 0; t < outcome->trial_count; t++) {
        const assay_trial_outcome *trial = &outcome->trials[t];
        if (!trial->job_end)
            continue;
        doc_paragraph(d);
        if (outcome->trial_count > 1) {
            doc_put_name(d, trial->trial->name);
            doc_put(d, ": ");
        }
        doc_put_text(d, trial->job_end, strlen(trial->job_end));
        doc_note(d);
        doc_put_text(d, trial->job_seen, strlen(trial->job_seen));
        if (trial->status != ASSAY_OK) {
            doc_put(d, " ");
            doc_put_text(d, trial->error.text, strlen(trial->error.text));
            doc_put(d, ".");
        }
    }
    doc_end(d);
}
