/* flight.h - dumps of flight recorders as files of events. Inside this folder only. */
#pragma once

#include "container/flight_dump.h"
#include "trial/flight_row.h"

/* Makes the row of a dump. 0 or ASSAY_ENOMEM; release the row with assay_fields_release() in any case. */
int assay_flight_fold(const assay_flight_dump *d, assay_flight_row *row);
