/* need.h - the needs of a configured rule, as the engine reads them. The rule's setup fills them through assay/rule.h.
 */
#pragma once

#include <assay/rule.h>

#include "base/regex.h"
#include "rule/trial_info.h"

typedef struct assay_slot_need {
    char **collection; /* owned */
    size_t collections;
    assay_regex **regex; /* owned */
    char **pattern;      /* their texts */
    size_t regexes;
    char *name;     /* owned, NULL: none */
    uint32_t kinds; /* never 0 */
    uint32_t modes, flags;
    int64_t first_steps; /* 0: all */
    bool keeps_rows;
    assay_rows rows; /* when it does */
} assay_slot_need;

typedef struct assay_time_need { /* as of assay_need_timeline() */
    int64_t scan, from, to;
} assay_time_need;

struct assay_need {
    const assay_params *params; /* borrowed */
    assay_slot_need *slots;
    uint32_t slot_count;
    assay_measure *measures;
    uint32_t *measure_slot; /* the slot that each measure belongs to */
    uint32_t measure_count;
    char *other_trial;      /* owned, NULL: none */
    assay_time_need *times; /* what it will ask of the timeline */
    uint32_t time_count;
};

/* Does pattern i find the name of a tensor or, with ASSAY_SLOT_TYPES, the one that the type of its module gives it? As
 * assay_regex_search(). */
int assay_slot_pattern_finds(const assay_slot_need *slot, size_t i, const assay_trial *trial, const char *name,
                             size_t length);
/* An empty need; borrows the parameters. NULL without memory. Free with assay_need_free(); NULL is
 * ignored. */
assay_need *assay_need_new(const assay_params *params);
void assay_need_free(assay_need *need);
