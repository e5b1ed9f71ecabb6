/* leveldb.h - the records of a LevelDB log as Weights & Biases writes its `.wandb` files: a head of seven bytes, then
 * blocks of 32 768 bytes, counted from the file's beginning, of chunks. A record is one chunk, or a first one, any
 * middle ones and a last one. */
#pragma once

#include <assay/pack.h>

#include "container/stream.h"

enum { ASSAY_LEVELDB_RECORD_MOST = 64 << 20, ASSAY_LEVELDB_HEAD = 7 };

typedef enum assay_leveldb_kind {
    ASSAY_LEVELDB_END,
    ASSAY_LEVELDB_RECORD,
    ASSAY_LEVELDB_DAMAGED,   /* a chunk, at `at`: the rest of its block was passed over */
    ASSAY_LEVELDB_TOO_LARGE, /* a record, which was passed over; `at` is its last chunk */
    ASSAY_LEVELDB_UNFINISHED /* the file ends within a chunk or a record */
} assay_leveldb_kind;

typedef struct assay_leveldb {
    assay_stream stream;
    uint64_t next;   /* of the chunk to look at; set it to ASSAY_LEVELDB_HEAD to begin */
    uint64_t at;     /* of the chunk that the last result is about */
    assay_buf whole; /* a record of several chunks; make it with the ceiling of a record */
    bool within;     /* a first chunk was read */
    bool too_large;
    const uint8_t *record; /* valid until the next call */
    size_t size;
} assay_leveldb;

/* Opens a file, whose head the caller knows to be right. Errors as assay_stream_open(). */
int assay_leveldb_open(assay_store *store, const char *path, assay_leveldb *out, assay_error *err);
void assay_leveldb_close(assay_leveldb *log);
/* The next record, or what stands in its place. ASSAY_EIO, ASSAY_ENOMEM. */
int assay_leveldb_next(assay_leveldb *log, assay_leveldb_kind *kind, assay_error *err);
