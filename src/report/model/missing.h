/* missing.h - what would have to be recorded for the rules that had no data, in the words of who sets up a recording. */
#pragma once

#include "report/model/report_model.h"

/* Why a rule of a built-in set had nothing to test. Beyond REPORT_MISSES: what the rule's message says and no more. */
typedef enum report_missing {
    REPORT_NEEDS_ACTIVATIONS,
    REPORT_NEEDS_EVAL,
    REPORT_NEEDS_GRADIENTS,
    REPORT_NEEDS_LABELS,
    REPORT_NEEDS_LOSSES,
    REPORT_NEEDS_OPTIMIZER,
    REPORT_NEEDS_TREES,
    REPORT_NEEDS_VALUES,
    REPORT_NEEDS_WEIGHTS,
    REPORT_NEEDS_TENSORS, /* others */
    REPORT_RECORDED,      /* so many of them are something to record */
    REPORT_NEEDS_WORKERS = REPORT_RECORDED,
    REPORT_NEEDS_CHECKPOINTS,
    REPORT_NEEDS_STEPS,
    REPORT_NEEDS_OTHER,
    REPORT_MISSES
} report_missing;

/* The reason by the message of a rule without data. */
report_missing report_find_missing(const report_rule *rule);
/* "activations"; of those from REPORT_RECORDED on a clause: "compare workers, and one alone recorded". */
const char *report_missing_words(report_missing missing, bool one);
