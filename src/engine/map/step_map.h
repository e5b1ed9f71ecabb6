/* step_map.h - gives the results of a step to the rules. */
#ifndef ASSAY_ENGINE_MAP_STEP_MAP_H
#define ASSAY_ENGINE_MAP_STEP_MAP_H

#include "engine/map/step_work.h"

/* Maps the step's results by every rule that wants some of them into the states of work->partial. `observer` (NULL:
 * none) is shown them first; *observed: why it ended the run. 0, ASSAY_ENOMEM or what the observer says. */
int assay_step_map(assay_step_work *work, const assay_observer *observer, assay_error *observed);

#endif
