/* index_cache.h - index rows that a storage keeps in tables, ready to use: saves reading the index of units. */
#pragma once

#include "store/storage.h"

typedef struct assay_cached_entry {
    uint64_t offset, length; /* of the record in its file */
    uint32_t tensor;         /* number in this storage */
    uint32_t kind;           /* ASSAY_RAW or a reduction */
} assay_cached_entry;

typedef struct assay_cached_part {
    int64_t mode_step;
    int mode;
    const assay_cached_entry *entries; /* in order of offset; valid until the next call on this storage */
    size_t count;
} assay_cached_part;

/* What a storage with such tables provides. Workers are numbers in natural order of their names. */
typedef struct assay_index_cache {
    bool (*has)(const assay_store *store, int64_t step, uint32_t worker);
    /* ASSAY_EIO, ASSAY_EFORMAT, ASSAY_ENOMEM. */
    int (*part)(assay_store *store, int64_t step, uint32_t worker, assay_cached_part *out, assay_error *err);
    /* The name of a tensor, not terminated; NULL when there is no such number. */
    const char *(*tensor)(const assay_store *store, uint32_t tensor, size_t *length);
} assay_index_cache;

/* NULL for storages that have none. */
const assay_index_cache *assay_store_index_cache(const assay_store *store);
