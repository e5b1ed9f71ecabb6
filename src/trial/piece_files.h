/* piece_files.h - the files of a record in pieces. Several stay open, because the pieces of a tensor that is split
 * along its last dimension take turns at every row. Inside trial only. */
#ifndef ASSAY_TRIAL_PIECE_FILES_H
#define ASSAY_TRIAL_PIECE_FILES_H

#include "store/storage.h"

enum { ASSAY_PIECE_FILES = 16 };

typedef struct assay_piece_file {
    assay_store_file *file; /* NULL: none */
    const char *name;       /* borrowed, until they are closed */
    uint64_t used;
} assay_piece_file;

typedef struct assay_piece_files { /* zero it first */
    assay_piece_file list[ASSAY_PIECE_FILES];
    uint64_t turn;
} assay_piece_files;

/* Reads exactly [at, at + size) of a file of the trial. `name` must stay until they are closed. ASSAY_EFORMAT when the
 * file ends before, ASSAY_ENOTFOUND, ASSAY_EIO, ASSAY_ENOMEM. */
int assay_piece_files_read(assay_piece_files *files, assay_store *store, const char *name, uint64_t at, void *bytes,
                           size_t size, assay_error *err);
/* Closes them all. */
void assay_piece_files_close(assay_piece_files *files);

#endif
