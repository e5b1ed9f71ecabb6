/* archive.h - what lies in files: entries under a checksum, and pickles at any depth. Inside this folder only. */
#pragma once

#include "store/storage.h"
#include "verify/loading.h"

/* Bytes of a file that have a checksum: an entry of a zip file. */
typedef struct assay_entry_sum {
    uint64_t offset, stored, size; /* where they begin, bytes there, bytes once inflated */
    uint32_t crc;
    unsigned method;  /* assay_zip_method */
    const char *name; /* of the entry; until the visit returns */
} assay_entry_sum;

/* What is done with what is found. All return 0 or a status, which ends the walk. */
typedef struct assay_archive_visitor {
    void *context;
    int (*sum)(void *context, const assay_entry_sum *sum);
    /* A pickle that has more than names of data. `where` is the entry that it lies in, "" for the file itself. */
    int (*loading)(void *context, const char *where, const assay_loading *found);
    /* Something was not looked at, or only in part; `beside`: no loader of checkpoints reads it. */
    int (*unseen)(void *context, const char *where, const char *what, bool beside);
    uint64_t most; /* bytes that may be held in memory at once */
} assay_archive_visitor;

/* Looks at the bytes [offset, offset + length) of a file as a file by itself. What cannot be read as an archive is left
 * to those who name damage. ASSAY_OK, ASSAY_ENOMEM, ASSAY_EIO, or what a visit returned. */
int assay_archive_walk(assay_store_file *file, const char *path, uint64_t offset, uint64_t length,
                       const assay_archive_visitor *visitor, assay_error *err);
/* Looks for a pickle that runs code where no reader of the file looks: behind the end of its last zip file, or of an old
 * torch file anywhere near its end. Other bytes behind that end are told to unseen(). The same. */
int assay_archive_walk_tail(assay_store_file *file, const char *path, const assay_archive_visitor *visitor,
                            assay_error *err);
