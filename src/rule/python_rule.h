/* python_rule.h - rules in Python, which a job names by file and class: docs/python-rules.md.
 *
 * Each has ops like any other rule, which ask an interpreter (rule/rule_process.h), one on each rank for each
 * configured rule. The interpreter keeps nothing of a step: what it finds comes back at once, and the state of the
 * steps is a list of findings here. So an interpreter that is lost takes nothing with it, and a report is the same at
 * any number of ranks. A rule that keeps something from one step to the next says so by changing itself: then its steps
 * are evaluated one after the other when the trial is finalized, by one interpreter. */
#pragma once

#include <assay/rule.h>

/* The rule "FILE:CLASS", described by an interpreter that loads it; the same one for the same text, which lives as long
 * as the program. ASSAY_EPARAM with the reason: the text names no class, the file cannot be run, it has no such class,
 * the class is no rule or has the name of one of assay's own, python3 or numpy is missing; ASSAY_ENOMEM. */
int assay_python_rule_load(const char *place, const assay_rule_ops **out, assay_error *err);

/* The class of "FILE:CLASS"; the text itself where it names none. */
const char *assay_python_rule_class(const char *place);

/* "FILE:CLASS" of a rule in Python; NULL: it is none. */
const char *assay_python_rule_place(const assay_rule_ops *ops);
/* The SHA-256 of its file when it was loaded, in hexadecimal; NULL: it is none. */
const char *assay_python_rule_digest(const assay_rule_ops *ops);
