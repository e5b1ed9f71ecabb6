/* unzstd.h - Zstandard streams (RFC 8878), unpacked piece by piece. It has two bodies: with libzstd and without. Inside
 * trial, and for `assay --version`. */
#pragma once

#include <assay/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A stream says how far back its bytes may refer, and so how many have to be kept. 8 MiB is what the RFC wants every
 * reader to take; it is what levels up to 19 ask for. */
enum { ASSAY_UNZSTD_WINDOW_LOG = 23 };

typedef struct assay_unzstd assay_unzstd;

/* What is read from, and written to; both move on. */
typedef struct assay_unzstd_flow {
    const uint8_t *in;
    uint8_t *out;
    size_t in_size, out_size;
} assay_unzstd_flow;

/* The version of libzstd, or NULL in a build without it. */
const char *assay_unzstd_version(void);
/* Begins a stream. NULL without memory, or without libzstd. */
assay_unzstd *assay_unzstd_new(void);
void assay_unzstd_free(assay_unzstd *stream); /* NULL is ignored */
/* Unpacks until the input is used up or the room is full. Sets *whole: the input ended with the end of a frame, of
 * which nothing is left to hand out. ASSAY_EFORMAT: it is damaged; ASSAY_EBUDGET: it wants a larger window;
 * ASSAY_ENOMEM. */
int assay_unzstd_next(assay_unzstd *stream, assay_unzstd_flow *flow, bool *whole);
