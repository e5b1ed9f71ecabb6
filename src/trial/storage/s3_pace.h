/* s3_pace.h - how many pieces of large objects to have under way. Inside storage only.
 *
 * A few are enough where the reader or the line is what holds things up: more of them only take more memory, out of the
 * caches, and more processor time. Many are needed where each connection gives little. Which it is, is measured: twice
 * as many are tried, and kept where the pieces then come a quarter faster. */
#ifndef ASSAY_STORAGE_S3_PACE_H
#define ASSAY_STORAGE_S3_PACE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct s3_pace {
    uint64_t width; /* pieces to have under way; 0 before s3_pace_start() */
    uint64_t count; /* pieces since the width was set */
    double since;   /* when the measured ones began */
    double rate;    /* pieces a second at half the width; 0: that was not tried just now */
    bool rest;      /* the width stays for a while */
} s3_pace;

/* With the fewest. */
void s3_pace_start(s3_pace *pace);
/* A piece in a row was taken, at `now` seconds: sets the width, which is doubled to `most` at most. */
void s3_pace_take(s3_pace *pace, double now, uint64_t most);
/* The row is interrupted: what is being measured begins anew. */
void s3_pace_break(s3_pace *pace);

#endif
