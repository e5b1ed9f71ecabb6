/* packed.h - the tables of a packed trial (docs/packed.md) in memory: checked once, then looked up in. Inside trial,
 * and for what writes and reads them: the rows are what lies in the file. */
#pragma once

#include <stdbool.h>

#include "store/index_cache.h"
#include "store/storage.h"

enum {
    ASSAY_PACKED_VERSION = 2,
    ASSAY_PACKED_SUMMED = 2,        /* the first version whose tables have checksums */
    ASSAY_PACKED_BLOCK = 1 << 20,   /* bytes a chunk, and a checksum */
    ASSAY_PACKED_SUM_ROWS = 1 << 16 /* of a table of rows, a checksum; of one of bytes ASSAY_PACKED_BLOCK */
};

/* The tables that `table_checksums` covers, in its order. X(member, name) */
#define ASSAY_PACKED_TABLES(X)                                                                                         \
    X(FILES, "files")                                                                                                  \
    X(NAMES, "names")                                                                                                  \
    X(SUMS, "checksums")                                                                                               \
    X(PARTS, "parts")                                                                                                  \
    X(ENTRIES, "entries")                                                                                              \
    X(TENSORS, "tensors")                                                                                              \
    X(TENSOR_NAMES, "tensor_names")
#define ASSAY_PACKED_SUMS_NAME "table_checksums"
typedef enum assay_packed_table {
#define ASSAY_PACKED_TABLE_ENUM(member, name) ASSAY_PACKED_##member,
    ASSAY_PACKED_TABLES(ASSAY_PACKED_TABLE_ENUM)
#undef ASSAY_PACKED_TABLE_ENUM
        ASSAY_PACKED_TABLE_COUNT
} assay_packed_table;

/* How many rows of a table one checksum covers, and how many checksums a table has. */
static inline uint64_t assay_packed_sum_rows(size_t row)
{
    return row == 1 ? ASSAY_PACKED_BLOCK : ASSAY_PACKED_SUM_ROWS;
}
static inline uint64_t assay_packed_sum_count(uint64_t rows, size_t row)
{
    return rows / assay_packed_sum_rows(row) + (rows % assay_packed_sum_rows(row) != 0);
}
#define ASSAY_PACKED_FORMAT "assay-packed-trials"

typedef enum assay_packed_kind {
    ASSAY_PACKED_FILE,
    ASSAY_PACKED_DIRECTORY, /* an empty one */
    ASSAY_PACKED_UNREADABLE /* it was there when the trial was packed, and could not be read */
} assay_packed_kind;

typedef struct assay_packed_file { /* a row of `files`, in byte order of the names */
    uint64_t name_at;              /* in `names` */
    uint32_t name_length;
    uint32_t kind;
    uint64_t at, size; /* in `bytes`; of an unreadable file in `names`: why */
} assay_packed_file;

typedef struct assay_packed_part { /* a row of `parts`, in order of (step, worker) */
    int64_t step, mode_step;
    uint32_t worker; /* into `workers` order: natural order of the names */
    uint32_t mode;
    uint64_t first_entry, entries;
} assay_packed_part;

typedef assay_cached_entry assay_packed_entry; /* a row of `entries`; `tensor` is a row of `tensors` */

typedef struct assay_packed_tensor { /* a row of `tensors` */
    uint64_t name_at;                /* in `tensor_names` */
    uint64_t name_length;
} assay_packed_tensor;

typedef struct assay_packed {
    assay_packed_file *files;
    uint64_t file_count;
    char *names;
    uint64_t name_bytes;
    assay_packed_part *parts;
    uint64_t part_count;
    assay_packed_tensor *tensors;
    uint64_t tensor_count;
    char *tensor_names;
    uint64_t tensor_name_bytes;
    uint64_t bytes, entries; /* lengths of the datasets that stay on disk */
    uint32_t *sums;          /* CRC-32C of each block of `bytes` */
    uint64_t sum_count;
} assay_packed;

/* Frees the tables. */
void assay_packed_release(assay_packed *packed);
/* Checks every range and order in tables as they came from a file, so that look-ups need not. ASSAY_EFORMAT names the
 * table, the row and what is wrong; `where` is the file's name. */
int assay_packed_check(const assay_packed *packed, const char *where, assay_error *err);
/* The row of a file, or NULL. O(log n). */
const assay_packed_file *assay_packed_find(const assay_packed *packed, const char *path);
/* The names in a directory; ASSAY_ENOTFOUND when there is none, ASSAY_EIO for a file. */
int assay_packed_list(const assay_packed *packed, const char *directory, assay_names *out, assay_error *err);
/* Is the path a directory that has something in it, or an empty one? */
bool assay_packed_is_directory(const assay_packed *packed, const char *path);
/* The row of a step of a worker, or NULL. O(log n). */
const assay_packed_part *assay_packed_find_part(const assay_packed *packed, int64_t step, uint32_t worker);
