/* clock.h - time for measuring: only differences mean something. */
#pragma once

/* Seconds of a clock that never goes back. */
double assay_clock_seconds(void);

/* Seconds of processor time of this process, all its threads together, in its own code and in the system's. */
double assay_clock_processor(void);
