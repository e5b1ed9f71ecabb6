/* gap.h - ranks and files that other steps, or the rest of a step, show to be missing. Inside this folder only. */
#pragma once

#include "source/trial_files.h"

/* Adds a problem for each step of [from, to) of a trial whose ranks' numbers have one gap: the rank in it saved nothing
 * at any step, so that no step before tells of it. And one for each rank that saved its part at other steps, where at
 * those asked for one alone did. ASSAY_OK, ASSAY_ENOMEM. */
int assay_verify_gap(const assay_trial_files *trial, int64_t from, int64_t to, assay_problems *problems);
