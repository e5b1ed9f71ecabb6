/* pause.h - waiting for another process by looking again and again, without keeping a processor busy. */
#pragma once

/* One wait; {0} before its first look. */
typedef struct assay_pause {
    double since;
} assay_pause;

/* Between two looks: lets others have the processor, and sleeps once the wait has become longer than a few messages
 * take. A sleep is an eighth of the wait so far and at most a fifth of a millisecond, so that what is waited for is
 * noticed soon. */
void assay_pause_take(assay_pause *pause);
