/* statistics.h - what data-parallel workers make of different data is distributed alike (LawViolated, statistics.c). */
#pragma once

#include "laws/law.h"

/* Judges the rows of LAW_STATISTICS among those of a series. */
int statistics_judge(const assay_rule *rule, const assay_series *series, assay_verdict *verdict);
