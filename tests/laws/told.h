/* told.h - a rule that is told of its parameters, the trial and the steps in bytes, as one in another process is. */
#ifndef ASSAY_TESTS_TOLD_H
#define ASSAY_TESTS_TOLD_H

#include "world.h"

/* The rule of a world, set up anew from its packed parameters, maps all steps as they come out of shared memory. *state
 * gets its packed state, *said its verdict, as it was packed on the way; both are released by the caller. False when
 * something failed, or its needs did not survive the way. */
bool told_all(const world *w, assay_buf *state, assay_verdict *said);

#endif
