/* s3_pace.h - how many pieces of large objects to have under way. Inside storage only.
 *
 * A few are enough where the reader, the processor or the line is what holds things up: more of them only take more
 * memory, out of the caches, and more processor time. Many are needed where each connection gives little. Which it is,
 * is measured: where the thread that receives sleeps most of the time, twice as many are tried, and kept if the pieces
 * then come a quarter faster. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct s3_pace {
    uint64_t width; /* pieces to have under way beside the one that is waited for; 0 before s3_pace_start() */
    uint64_t count; /* pieces since the width was set */
    double since;   /* when the measured ones began */
    double slept;   /* until then */
    double rate;    /* pieces a second at half the width; 0: that was not tried just now */
    uint64_t rest;  /* rounds until more are tried; 0: the last try was not in vain */
} s3_pace;

/* With the fewest. */
void s3_pace_start(s3_pace *pace);
/* A piece in a row was taken, at `now` seconds, until when the thread that receives slept for `slept` seconds in all:
 * sets the width, which is doubled to `most` at most. */
void s3_pace_take(s3_pace *pace, double now, double slept, uint64_t most);
/* The row is interrupted: what is being measured begins anew. */
void s3_pace_break(s3_pace *pace);
