/* step_map.h - gives the results of a step to the rules. */
#pragma once

#include "engine/map/step_work.h"

/* Maps the step's results by every rule that wants some of them into the states of work->partial. `observer` (NULL:
 * none) is shown them first; *observed: why it ended the run. *slots: what the uses were given, NULL: nothing; it is
 * good as long as the results are. 0, ASSAY_ENOMEM or what the observer says. */
int assay_step_map(assay_step_work *work, const assay_observer *observer, assay_error *observed,
                   assay_slot_view **slots);
/* The same once more of a step whose results are of the same tensors and workers, in the same scopes: in the places of
 * those that the slots were made of. */
int assay_step_map_again(assay_step_work *work, assay_slot_view *slots);
