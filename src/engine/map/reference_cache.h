/* reference_cache.h - keeps contents of tensors that later steps are compared with, within a budget. What is kept need
 * not be read and checked again, nor its file opened. For each (tensor, worker) the cache holds the newest content, and
 * the one that comparisons within a window last referred to; of small ones also those between the two, which the window
 * will refer to as it moves on. Where a step is passed by (an evaluation, among comparisons of TRAIN steps alone and
 * others), also the newest one before it, if both fit. When the budget is used up, the cache keeps what it has:
 * tensors come in the same order at every step, so replacing one by another would lose both.
 *
 * The cache saves time and changes no result. */
#pragma once

#include "trial/reader.h"
#include "trial/index.h"

typedef struct assay_reference_cache assay_reference_cache;

typedef struct assay_reference_key {
    uint32_t tensor, worker;
    uint32_t sketch; /* 0: the content; else what the measure of this number less one made of it, with its shape */
} assay_reference_key;

typedef struct assay_cached_reference {
    const assay_entry *entry; /* NULL: nothing that can be used */
    int dtype, dims;          /* of the record */
    uint64_t elements;
    uint8_t *bytes;       /* the elements, [size]; owned */
    const int64_t *shape; /* [dims], behind them */
    size_t size, room;    /* of the elements; of the memory for them and the shape */
    uint64_t used;        /* the tensor under way that it was last used for */
} assay_cached_reference;

/* Never holds more than `budget` bytes; NULL without memory. */
assay_reference_cache *assay_reference_cache_new(size_t budget);
void assay_reference_cache_free(assay_reference_cache *kept);
/* Releases everything: before another trial's entries come. */
void assay_reference_cache_clear(assay_reference_cache *kept);

/* Begins the next tensor. Contents that were found for a tensor stay unchanged until then, except as
 * assay_reference_cache_begin() says. */
void assay_reference_cache_next(assay_reference_cache *kept);

/* The content of an entry of that tensor and worker; NULL when it is not kept. */
const assay_cached_reference *assay_reference_cache_find(assay_reference_cache *kept, assay_reference_key key,
                                                         const assay_entry *entry);

/* Releases what is kept of that tensor and worker. The memory is reused. */
void assay_reference_cache_evict(assay_reference_cache *kept, assay_reference_key key);

/* Says that a window refers back to `entry`, whose record is `record`. If that is not kept and the window referred to
 * it before, it is worth keeping: returns a buffer for its bytes while they are read, for
 * assay_reference_cache_filled(). Otherwise NULL. */
uint8_t *assay_reference_cache_oldest(assay_reference_cache *kept, assay_reference_key key, const assay_entry *entry,
                                      const assay_record *record);
/* The bytes are complete, and the record was sound. */
void assay_reference_cache_filled(assay_reference_cache *kept, assay_reference_key key, const assay_entry *entry,
                                  const assay_record *record);

/* A buffer for the content of the record being measured, or NULL if there is no room. `passed_by`: some comparisons
 * will never refer to it, but to the newest content that is not passed by. *apart, in: must the buffer not alias a
 * reference that was found for this tensor? Out: whether it does not. If it may alias, the caller copies each piece
 * only after comparing it. */
uint8_t *assay_reference_cache_begin(assay_reference_cache *kept, assay_reference_key key, const assay_record *record,
                                     bool passed_by, bool *apart);
/* The bytes are complete, and the record was sound. Without this call they are never found. */
void assay_reference_cache_end(assay_reference_cache *kept, assay_reference_key key, const assay_entry *entry,
                               const assay_record *record);

/* Instead of a content: the record of that entry has the same one as that worker's record of its step. What was
 * kept of that tensor and worker before is released. Known of the newest record, and as above of the one before it. */
void assay_reference_cache_set_twin(assay_reference_cache *kept, assay_reference_key key, const assay_entry *entry,
                                    uint32_t worker, bool passed_by);
bool assay_reference_cache_is_twin(const assay_reference_cache *kept, assay_reference_key key, const assay_entry *entry,
                                   uint32_t worker);
