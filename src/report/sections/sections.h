/* sections.h - what a report says, section by section: each is built once, as blocks of a document (report/document), and
 * every form renders it. Inside report only.
 *
 * A section asks the model (report/model, report/compare) and adds nothing where it has nothing to say. It is one file
 * with section_NAME() and one line in sections.def. */
#pragma once

#include "diagnosis/diagnosis.h"
#include "report/document/document.h"
#include "report/model/curves.h"
#include "report/model/report_model.h"
#include "report/report.h"

#define X(name) void section_##name(const assay_report *report, doc *d);
#include "report/sections/sections.def"
#undef X

/* Makes the document of all sections as that form shows it (DOC_TEXT, DOC_HTML, ...), which the caller frees. ASSAY_ENOMEM, or
 * the first failure of a section. */
int report_make_document(const assay_report *report, unsigned form, doc **out);

/* Adds how the report was made: the one section that depends on the run. (run.c) */
void report_add_run(const assay_report *report, const assay_report_origin *origin, doc *d);

/* Appends what the report comes to, in one sentence without its full stop: the first line of every form. Names are as
 * they are. (headline.c) */
void report_put_verdict(const assay_report *report, assay_buf *out);

/* ---- parts of sections, which other forms take too ---- */

/* False for a trial that is like the others, where only those that are not are shown by themselves. */
bool sections_shows(const assay_report *report, size_t trial);
/* Around what is said of one trial: of several trials each has a part of its own, folded where they are many. */
void sections_begin_trial(const assay_report *report, doc *d, size_t trial);
void sections_end_trial(const assay_report *report, doc *d);
/* The id of the card of rule i of a trial: a permanent link. */
enum { SECTIONS_ID_ROOM = 96, SECTIONS_ID_NAME = 40 /* bytes of a rule's name */ };
const char *sections_card_id(const assay_report *report, size_t trial, size_t rule, char room[SECTIONS_ID_ROOM]);

/* The findings of a rule that fired: how many and since when, a picture, a table of at most `most` rows, what it says
 * itself. (evidence.c) */
enum { SECTIONS_ROWS_MOST = 500, SECTIONS_ROWS_LEAST = 10 };
void sections_put_evidence(const assay_trial_outcome *trial, const report_rule *rule, size_t most, doc *d);
/* What to do: about the cause that the findings lead to, if it is known (else NULL); the rule's own advice is about all
 * causes that it may have, and would send people after another one. (evidence.c) */
void sections_put_advice(const report_rule *rule, const assay_cause *cause, doc *d);
/* Charts of the learning rate and the norm of the gradients, where they were recorded. (beside_loss.c) */
void sections_put_beside_loss(const assay_trial_outcome *trial, const assay_curves *curves, doc *d);
/* Name, path, workers, steps and tensors; steps that some worker never wrote; damage. (trials.c, damage.c) */
void sections_put_head(const assay_trial_outcome *trial, doc *d);
void sections_put_completeness(const assay_trial_outcome *trial, doc *d);
void sections_put_problems(const assay_trial_outcome *trial, doc *d);
void sections_put_problems_of_list(const assay_trial_outcome *trial, doc *d); /* where not all records were read */
/* How many trials are like the others and have no report of their own; nothing where each has one. (trials.c) */
void sections_put_usual(const assay_report *report, doc *d);

/* A trial that could be opened. */
static inline bool sections_read(const assay_trial_outcome *trial)
{
    return trial->status == ASSAY_OK && trial->info;
}
