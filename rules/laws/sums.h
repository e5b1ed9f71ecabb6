/* sums.h - which tensors sum up to which (LawViolated, sums.c). */
#pragma once

#include "laws/law.h"

/* Judges the rows of LAW_SUMS among those of a series. ASSAY_ENOMEM. */
int sums_judge(const assay_rule *rule, const assay_series *series, assay_verdict *verdict);
