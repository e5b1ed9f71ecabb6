/* lacking.h - files that a checkpoint lacks and those around it have. Inside this folder only. */
#pragma once

#include "verify/judge.h"

/* Looks at each checkpoint that is asked for. A file that its neighbours have and it has not is a problem where the file
 * keeps state, and two neighbours at least have it or a framework always writes it, and a note otherwise. What a problem
 * names already is left out. Notes, too, where checkpoints are gone from the middle of a regular series, and where the
 * file is by which a framework finds the newest one. ASSAY_OK, ASSAY_ENOMEM, or as assay_unit_places(). */
int assay_verify_lacking(const assay_trial_files *trial, const assay_verify_options *options, assay_problems *problems,
                         assay_verify_remarks *remarks);
