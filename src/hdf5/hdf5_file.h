/* hdf5_file.h - an HDF5 file that all ranks write together, and that gets its name once it is complete.
 *
 * Every call is collective on the communicator, with the same arguments except the rows of assay_hdf5_write(), and
 * returns the same status on every rank. A rank that fails between two calls continues to the next call and passes its
 * status there. After a write that failed on any rank, the library is not called for that file again: it would try to
 * write the rest, on some ranks only. What it holds of the file stays allocated. Data sets are one-dimensional:
 * numbers, or rows of named columns. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parallel/comm.h"

typedef enum assay_column_kind {
    ASSAY_COLUMN_U8,
    ASSAY_COLUMN_U32,
    ASSAY_COLUMN_U64,
    ASSAY_COLUMN_I64,
    ASSAY_COLUMN_F64,
    ASSAY_COLUMN_TEXT /* UTF-8, padded with zeros to `size` bytes */
} assay_column_kind;

typedef struct assay_column {
    const char *name;
    int kind;
    size_t offset; /* in the row */
    size_t size;   /* TEXT: bytes */
} assay_column;

typedef struct assay_hdf5_hints { /* 0: the file system's own */
    size_t stripes;               /* storage targets that a striped file system spreads the file over */
    size_t stripe_size;           /* bytes */
} assay_hdf5_hints;

typedef struct assay_hdf5_file assay_hdf5_file;
typedef struct assay_hdf5_table assay_hdf5_table;

/* True when this build can write HDF5. Not collective. */
bool assay_hdf5_available(void);
/* "1.10.8", of the library that is loaded; NULL without one. Not collective. */
const char *assay_hdf5_version(void);
/* Opens the library, and has it never end by itself. To be called before MPI is started: a library that is opened later
 * ends within MPI_Finalize(), where it writes what a failed file has left, and crashes or waits for ever. Not
 * collective. */
void assay_hdf5_prepare(void);

/* Creates `path`.part, instead of one that is left there. ASSAY_EIO with the path; ASSAY_EUNSUPPORTED without HDF5. End
 * with assay_hdf5_finish() or assay_hdf5_abandon(). */
int assay_hdf5_create(assay_comm *comm, const char *path, const assay_hdf5_hints *hints, assay_hdf5_file **out,
                      assay_error *err);
/* The name that the file has until assay_hdf5_rename(). Not collective. */
const char *assay_hdf5_temporary(const assay_hdf5_file *file);

/* Creates a group; its parent exists. ASSAY_EIO. */
int assay_hdf5_group(assay_hdf5_file *file, const char *name, assay_error *err);

/* Adds a data set of `rows` rows of `row` bytes, in chunks of `chunk` rows. Without columns (count 0) items are plain,
 * of `kind`. Compressed ones are shuffled and deflated; the bytes of the file then depend on how rows are split into
 * writes. */
typedef struct assay_hdf5_layout {
    const assay_column *columns;
    size_t column_count;
    int kind;
    size_t row;
    uint64_t rows, chunk;
    bool compress;
} assay_hdf5_layout;
int assay_hdf5_table_new(assay_hdf5_file *file, const char *name, const assay_hdf5_layout *layout,
                         assay_hdf5_table **out, assay_error *err);
/* Each rank writes its rows [first, first + count), which may be none; any number of bytes. `status` and `err` are how
 * this rank fared since the last call: when a rank failed, nobody writes and all return that. Honours
 * ASSAY_FAULT_WRITE. */
int assay_hdf5_write(assay_hdf5_table *table, int status, uint64_t first, uint64_t count, const void *rows,
                     assay_error *err);
void assay_hdf5_table_close(assay_hdf5_table *table);

/* Attributes of a group or data set ("/" is the file). */
int assay_hdf5_put_text(assay_hdf5_file *file, const char *object, const char *name, const char *text,
                        assay_error *err);
int assay_hdf5_put_number(assay_hdf5_file *file, const char *object, const char *name, uint64_t value,
                          assay_error *err);

/* Marks the file as complete (attribute `complete`), writes everything and closes it; it keeps its temporary name. */
int assay_hdf5_finish(assay_hdf5_file *file, assay_error *err);
/* Gives a finished file its name and frees the object, also after a failure. */
int assay_hdf5_rename(assay_hdf5_file *file, assay_error *err);
/* Removes what there is, and frees the object; NULL is ignored. The library is not asked to close the file: it would
 * write what is left to be written first. */
void assay_hdf5_abandon(assay_hdf5_file *file);
