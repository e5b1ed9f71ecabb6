/* not_finite.h - what no law is tested of, since it has NaN or infinities (LawViolated, not_finite.c). */
#pragma once

#include "laws/law.h"

/* Adds a row for each tensor of a step that has some; no law reads it. */
law_map law_not_finite;
/* Says how many such rows a series has, and which is the first. */
void not_finite_say(const assay_rule *rule, const assay_series *series, assay_verdict *verdict);
