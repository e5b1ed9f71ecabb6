/* spool.h - items of one size, in the order they came: in memory up to a limit, then in an unnamed file. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include <assay/pack.h>
#include <assay/status.h>

typedef struct assay_spool {
    size_t item; /* bytes */
    uint64_t count;
    assay_buf recent; /* those that are not in the file */
    FILE *file;       /* NULL: none so far */
    uint64_t in_file;
} assay_spool;

/* An empty spool of items of so many bytes, and its end: its temporary file goes. */
void assay_spool_init(assay_spool *spool, size_t item);
void assay_spool_release(assay_spool *spool);
/* Appends an item. ASSAY_ENOMEM, or ASSAY_EIO when the temporary directory is full. */
int assay_spool_add(assay_spool *spool, const void *item, assay_error *err);
/* Copies the items [first, first + count), which exist. ASSAY_EIO. */
int assay_spool_read(assay_spool *spool, uint64_t first, uint64_t count, void *items, assay_error *err);
