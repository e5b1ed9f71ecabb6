/* result_pack.h - packed results of measures, for a rank that measures what another one maps. */
#pragma once

#include <assay/measure.h>
#include <assay/pack.h>
#include <assay/status.h>

#include "base/arena.h"

/* Appends the result of a measure, all bits of its numbers included. */
void assay_result_pack(const assay_measure *measure, const assay_result *result, assay_buf *out);

/* Reads the result of a measure; what it points to is taken from the arena. ASSAY_EFORMAT when the bytes are none,
 * ASSAY_EBUDGET when the arena has no room. */
int assay_result_unpack(assay_cursor *in, const assay_measure *measure, assay_arena *arena, assay_result *result,
                        assay_error *err);
