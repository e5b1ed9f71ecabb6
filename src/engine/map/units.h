/* units.h - unit counts over a window of saved steps. */
#ifndef ASSAY_ENGINE_MAP_UNITS_H
#define ASSAY_ENGINE_MAP_UNITS_H

#include "engine/map/record_work.h"

/* Pools the unit counts of the saved steps before into `result`, as far as the measure's window reaches. 0, or why
 * there is no result; ASSAY_ENOMEM ends the run. */
int assay_units_pool(const assay_record_work *w, const assay_measure *measure, assay_result *result, assay_error *err);

#endif
