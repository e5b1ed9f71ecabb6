/* dataset.h - rows of a one-dimensional data set. */
#pragma once

#include "store/hdf5/file.h"

typedef struct assay_h5_column { /* whole numbers, little-endian */
    const char *name;
    size_t offset, size;
    bool is_signed;
} assay_h5_column;

/* What the rows have to be: `size` bytes, with these columns; without any (count 0) one number without a sign. */
typedef struct assay_h5_row {
    const assay_h5_column *columns;
    unsigned count;
    size_t size;
} assay_h5_row;

typedef enum assay_h5_layout {
    ASSAY_H5_CONTIGUOUS, /* also in chunks that lie one behind the other */
    ASSAY_H5_ONE_CHUNK,  /* compressed */
    ASSAY_H5_CHUNKS      /* wherever a list says */
} assay_h5_layout;

typedef struct assay_h5_dataset {
    const assay_h5 *file;
    uint64_t rows;
    size_t row;
    assay_h5_layout layout;
    uint64_t address;      /* of the rows, the chunk, or the list */
    uint64_t chunk;        /* rows in one */
    uint64_t bytes;        /* ONE_CHUNK: as it is stored */
    bool shuffled, packed; /* filters */
    uint32_t left_out;     /* ONE_CHUNK: filters that were not applied, a bit each */
} assay_h5_dataset;

enum { ASSAY_H5_CHUNK_MOST = 4 << 20 /* bytes of a chunk that has to be unpacked */ };

/* Reads what the header says, and holds it against what the rows have to be. Rows that would lie in other files, that
 * are made of other data sets or have been through other filters are refused. Then reading up to all rows takes no more
 * bytes of the file than it has, unless they are packed. */
int assay_h5_dataset_open(const assay_h5 *file, uint64_t header, const char *name, const assay_h5_row *row,
                          assay_h5_dataset *out, assay_error *err);
/* Reads the rows [first, first + count), which exist, as they lie in the file. `name` is for messages. */
int assay_h5_dataset_read(const assay_h5_dataset *d, const char *name, uint64_t first, uint64_t count, void *rows,
                          assay_error *err);
