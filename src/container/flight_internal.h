/* flight_internal.h - what the readers of dumps share. Inside flight_*.c only. */
#pragma once

#include "container/flight_dump.h"
#include "container/pickle.h"

/* A window that moves over a file. */
typedef struct assay_flight_file {
    assay_store_file *file; /* NULL: `bytes` */
    const uint8_t *bytes;
    size_t left, step; /* of `bytes`; how many come at once */
    char *window;      /* owned */
    size_t at, size, room;
    uint64_t offset; /* of the window in the file */
    uint64_t read;   /* bytes so far */
    bool ended;      /* the window has the file's end */
    bool in_entries; /* the reader of JSON stands before the list */
    int status;
    assay_error *err;
} assay_flight_file;

/* Moves the window to where it is read, and reads on until it has `size` bytes from there, or the file's end. False:
 * file->status says why. */
bool assay_flight_more(assay_flight_file *file, size_t size);

/* Both return false once the dump, or the file, says what is wrong. */
bool assay_flight_read_json(assay_flight_dump *d, assay_flight_file *file);
bool assay_flight_read_pickle(assay_flight_dump *d, assay_flight_file *file);

/* Reads from a file that is set up: assay_flight_read() after it was opened. */
int assay_flight_read_from(assay_flight_dump *d, assay_flight_file *file);
/* The same of a pickle whose nodes are all in memory: what tests hold streaming against. */
bool assay_flight_take_pickle(assay_flight_dump *d, const assay_pickle *p);
