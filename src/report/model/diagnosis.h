/* diagnosis.h - the diagnosis of a trial, made of what the rules of an outcome found. */
#pragma once

#include "diagnosis/diagnosis.h"
#include "engine/engine.h"

struct report_rule; /* report_model.h */

typedef struct report_diagnosis {
    assay_diagnosis is;       /* causes; numbers of evidence are places in `evidence` */
    assay_evidence *evidence; /* one for each test of each rule that found something, in order of (rule, test) */
    size_t count, room;
    char **text; /* what the evidence borrows; owned */
    size_t texts, text_room;
    bool kept; /* the outcome has it, for the next who asks; all above is borrowed */
} report_diagnosis;

/* Diagnoses a trial that could be opened; once for each outcome of an engine, whose trials have room to keep it. Names
 * are as the trial has them. Release with report_diagnosis_release(), before the outcome. ASSAY_OK or ASSAY_ENOMEM. */
int report_diagnose(const assay_outcome *outcome, const assay_trial_outcome *trial, report_diagnosis *out);
void report_diagnosis_release(report_diagnosis *diagnosis);
/* How severe what a rule found in the trial is: as the job says, and info where healthy trainings have it as well, nobody
 * asked for that rule, and no loss came to harm (diagnosis/diagnosis.h). Without memory it is as the job says. */
assay_severity report_severity_of(const assay_outcome *outcome, const assay_trial_outcome *trial,
                                  const struct report_rule *rule);
