/* hang.h - who hung: the rows of all ranks' dumps become causes (docs/hang.md).
 *
 *   1. Ranks, groups, and how far each member of a group is; files from before are told apart (world.c, states.c).
 *   2. Who waits for whom: one node a rank and one an operation, so that edges grow with members and not with their
 *      square (waits.c).
 *   3. Components that nobody leaves are causes (components.c, causes.c); what everybody has reached and does not end is
 *      looked at by itself (stuck.c).
 *   4. Ranks that call different things (mismatch.c).
 *
 * Everything follows from the rows, in the order of ranks: how they were read does not matter. */
#pragma once

#include <assay/hang.h>

#include "trial/flight_row.h"

enum { ASSAY_HANG_AGE_MOST = 3600 }; /* seconds, where no rule says otherwise: the default of max_age_seconds */

/* A rank's clock, beside that of the first row. */
typedef struct assay_hang_clock {
    int64_t rank;
    double ahead;         /* seconds */
    uint32_t collectives; /* that say so; 0 for the first row */
} assay_hang_clock;

/* How far clocks are apart, of those rows for which collectives say it, in the order of rows, the first of them with them: by the
 * median over collectives that all ranks end together (clocks.c). *out is the caller's, NULL where nothing is known of a
 * second one. 0 or ASSAY_ENOMEM. */
int assay_hang_clocks(const assay_flight_row *row, size_t rows, assay_hang_clock **out, size_t *count);
/* The same of a trial's dumps. */
int assay_trial_dump_clocks(const struct assay_trial *trial, assay_hang_clock **out, size_t *count);

/* Finds causes in the rows, which it changes and does not keep; they outlive the result. 0 or ASSAY_ENOMEM. */
int assay_hang_find_in(assay_flight_row *row, size_t rows, double max_age, assay_hang **out, assay_error *err);
