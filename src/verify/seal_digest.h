/* seal_digest.h - digests of many files, each read once, in shares of all ranks. Inside this folder only. */
#pragma once

#include "parallel/comm.h"

typedef struct assay_seal_range { /* bytes of a file: a tensor's */
    char *name;                   /* owned */
    uint64_t offset, bytes;
    uint32_t crc; /* CRC-32C */
} assay_seal_range;

typedef struct assay_seal_file {
    char *path; /* below the root; owned */
    uint64_t bytes;
    char sha256[65];
    char *failure; /* why it could not be read; owned; NULL: it was */
    assay_seal_range *list;
    size_t count, room; /* in order, none over another */
} assay_seal_file;

typedef struct assay_seal_files {
    assay_seal_file *list;
    size_t count, room;
} assay_seal_files;

/* Fills in sizes and digests of the files, which rank 0 lists and others leave empty, below `root`. Collective.
 * ASSAY_EIO where the root cannot be opened, ASSAY_ENOMEM, ASSAY_EMPI. */
int assay_seal_digest(assay_comm *comm, const char *root, assay_seal_files *files, assay_error *err);
/* Removes all but the first `count`. */
void assay_seal_files_cut(assay_seal_files *files, size_t count);
void assay_seal_files_release(assay_seal_files *files);
