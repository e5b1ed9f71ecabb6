/* python_pack.h - what goes between the program and the process of a rule in Python, as bytes, beside what goes to
 * every rule's process (rule/process_pack.h): a trial, a step, and what the rule found at it.
 * src/python/assay/rule_process.py is the other end. */
#pragma once

#include <assay/rule.h>

enum { ASSAY_PYTHON_FINDINGS = 100000 }; /* that a rule may give of one step */

/* What a rule in Python is told of a trial: name, path, workers, tensors and steps. */
void assay_python_trial_pack(const assay_trial *trial, assay_buf *out);

/* A step: its numbers, whether steps come in order, one after the other, and of each tensor and worker of slot 0 the
 * figures that the one pass over it gave; where it was not saved raw, those that were saved in its place. `view`
 * without slots has no tensors. */
void assay_python_step_pack(const assay_step_view *view, bool in_order, assay_buf *out);

/* What the rule says of a step. */
typedef struct assay_python_answer {
    bool needs_order; /* it changed itself: its steps are to be evaluated in order; nothing else counts then */
} assay_python_answer;

/* Reads an answer, and adds its datapoints and findings at `step` to `findings`. ASSAY_EFORMAT with what cannot be: a
 * tensor or a worker that the trial does not have, too many findings, bytes that are missing or left over.
 * ASSAY_ENOMEM. */
int assay_python_answer_read(assay_cursor *in, const assay_trial *trial, int64_t step, assay_findings *findings,
                             assay_python_answer *out, assay_error *err);
