/* asked.h - which tensors the rules of a job ask for. */
#ifndef ASSAY_ENGINE_SOURCE_ASKED_H
#define ASSAY_ENGINE_SOURCE_ASKED_H

#include "job/job.h"
#include "rule/need.h"
#include "rule/trial_info.h"

/* 1, 0 or ASSAY_ENOMEM. A pattern that gives up on a name counts as no match, and is named. */
int assay_slot_selects(const assay_slot_need *slot, const assay_trial *info, uint32_t tensor, assay_problems *problems);

/* What a job asks of logs, before any is listed: by the collections that logs have, which bring none. */
typedef struct assay_asked {
    const assay_job *job; /* borrowed */
    assay_catalog catalog;
    assay_trial *info; /* of the names that were asked for so far */
} assay_asked;
/* 0 or ASSAY_ENOMEM; release in any case. */
int assay_asked_init(assay_asked *asked, const assay_job *job);
void assay_asked_release(assay_asked *asked);
/* May a rule ask for a series of that name, of a log that does not know its workers? As assay_trial_options.asks. */
bool assay_asked_has(void *asked, const char *name, size_t length);

#endif
