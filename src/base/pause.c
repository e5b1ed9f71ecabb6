/* pause.c - see pause.h. */
#include "base/pause.h"

#include <sched.h>
#include <time.h>

#include "base/clock.h"

/* AWAKE: a message of another rank on the same host comes within that time, and a sleep would be longer. LONGEST:
 * nobody waits longer than that for news that are there. SHARE: a sleep adds an eighth to the wait at most. */
static const double AWAKE = 50e-6, LONGEST = 200e-6; /* seconds */
static const double SHARE = 1.0 / 8;

void assay_pause_take(assay_pause *pause)
{
    const double time = assay_clock_seconds();
    if (pause->since == 0)
        pause->since = time;
    const double waited = time - pause->since, sleep = waited * SHARE < LONGEST ? waited * SHARE : LONGEST;
    if (waited < AWAKE)
        sched_yield();
    else
        nanosleep(&(struct timespec){0, (long)(1e9 * sleep)}, NULL);
}
