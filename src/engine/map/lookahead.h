/* lookahead.h - large tensors of the next steps, measured out of turn: while what they are compared with is at hand.
 *
 * A rank goes from step to step, so a tensor that is compared with the one before is compared with what was read a
 * whole step ago. To keep all of a step in memory takes as much of it, and for a large model there is not so much. So
 * when a large tensor was read whose content is kept, the same tensor of the next few steps is read at once, each
 * compared with the one before, and then nothing of them is kept; what was measured waits, packed, for the step's turn
 * (deferred.h). Contents are read once but at the borders of such strips, and what is held of them are two or three
 * contents.
 *
 * Only what was measured without any problem waits; else the record is read once more in its turn, which names the
 * problem. */
#ifndef ASSAY_ENGINE_MAP_LOOKAHEAD_H
#define ASSAY_ENGINE_MAP_LOOKAHEAD_H

#include "engine/map/mapper.h"

typedef struct assay_lookahead assay_lookahead;

/* What waits takes at most about `memory` bytes; measuring as much again, and what the step has left. NULL without
 * memory. */
assay_lookahead *assay_lookahead_new(size_t memory);
/* NULL is ignored. */
void assay_lookahead_free(assay_lookahead *a);

/* Begins with the mapper's source; what was measured of another one is forgotten. 0 or ASSAY_ENOMEM. */
int assay_lookahead_enter(assay_mapper *m);
void assay_lookahead_leave(assay_lookahead *a);

/* After a raw record of m->step was taken into `item`: measures the same tensor of the same worker in the next steps,
 * if that saves reading. They are steps of this rank's chunks before m->ahead_end. 0 or ASSAY_ENOMEM. */
int assay_lookahead_measure(assay_mapper *m, const assay_part *part, const assay_entry *entry,
                            const assay_record_demand *wanted, const assay_tensor_result *item);

/* Does what was measured of an entry of m->step wait? */
bool assay_lookahead_has(assay_mapper *m, const assay_entry *entry);
/* Adds it to the entry's item, which it fits; *taken tells whether there was any and memory for it. 0 or
 * ASSAY_EINTERNAL. */
int assay_lookahead_take(assay_mapper *m, const assay_entry *entry, assay_tensor_result *item, bool *taken);

/* Reads m->step as assay_mapper_read_step() does, with what was measured before its turn. 0, ASSAY_ENOMEM or
 * ASSAY_EINTERNAL. */
int assay_lookahead_read_step(assay_mapper *m);

#endif
