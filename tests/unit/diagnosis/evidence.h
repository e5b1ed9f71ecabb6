/* evidence.h - made evidence for tests of the diagnosis. */
#pragma once

#include "unit.h"

#include <math.h>
#include <string.h>

#include <assay/rule.h>

#include "diagnosis/causes.h"

static const assay_course_facts NO_FACTS = {.loss = "", .loss_first = NAN, .loss_least = NAN, .loss_last = NAN};

/* Evidence of a rule, first at a TRAIN step, on a tensor of a role. */
static inline assay_evidence evidence_of(size_t rule, const char *kind, const char *test, int64_t step, int role)
{
    return (assay_evidence){.rule = rule,
                            .kind = kind,
                            .test = test,
                            .name = kind,
                            .severity = 1,
                            .role = role,
                            .order = (uint32_t)role,
                            .tensor = "fc.weight",
                            .workers = "",
                            .tensors = 1,
                            .alike = 3,
                            .began = {.mode = ASSAY_MODE_TRAIN, .from = step, .to = step, .step = step},
                            .note = "",
                            .sentence = "said by the rule"};
}

/* Of a rule that nobody asked for. */
static inline void begin_once(assay_evidence *e, const assay_onset_steps *onset)
{
    e->unasked = true;
    e->onset = onset;
    e->onsets = 1;
    e->listed_to = INT64_MAX;
}

static inline void diagnose(const assay_evidence *list, size_t count, const assay_course_facts *facts,
                            assay_diagnosis *out)
{
    CU_ASSERT_EQUAL_FATAL(assay_diagnose(list, count, facts, out), ASSAY_OK);
}
