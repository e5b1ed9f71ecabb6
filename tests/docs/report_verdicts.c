/* report_verdicts.c - verdicts.txt: a line for each rule of each trial, with how many findings it has. */
#include <inttypes.h>
#include <string.h>

#include "report/forms/forms.h"
#include "report/text/layout.h"

static int put_verdicts(const assay_report *report, const assay_report_origin *origin, assay_buf *out)
{
    const assay_outcome *outcome = report->outcome;
    (void)origin;
    for (size_t t = 0; t < outcome->trial_count; t++)
        for (size_t i = 0; i < outcome->job->rule_count; i++) {
            report_rule rule = report_rule_of(outcome, &outcome->trials[t], i, false);
            assay_text_put_clean(out, rule.instance->name,
                                 strlen(rule.instance->name)); /* names are strangers' texts */
            assay_put_format(out, " %" PRIu64 "\n", report_findings_total(&rule));
        }
    return assay_buf_status(out);
}

const report_form report_form_verdicts = {.files = {{"verdicts.txt", put_verdicts}}};
