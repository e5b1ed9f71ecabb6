/* reference_cache.h - contents of tensors that later steps are compared with, as far as a budget goes: what is kept need not be read
 * and checked again, and its file not be opened. Of each (tensor, worker) the newest content stays, and the one that
 * comparisons within a window last went back to, until they are let go. When the budget is used up, what is there stays:
 * tensors come by in the same order at every step, so that giving up one for another would lose both.
 *
 * What is found here differs in nothing but the time that it takes; the results do not depend on it. */
#ifndef ASSAY_ENGINE_MAP_REFERENCE_CACHE_H
#define ASSAY_ENGINE_MAP_REFERENCE_CACHE_H

#include "trial/event.h"
#include "trial/index.h"

typedef struct assay_kept assay_kept;

typedef struct assay_kept_key {
    uint32_t tensor, worker;
} assay_kept_key;

typedef struct assay_kept_content {
    const assay_entry *entry; /* NULL: nothing that can be used */
    int dtype, dims;          /* of the record */
    uint64_t elements;
    uint8_t *bytes;       /* the elements, [size]; owned */
    const int64_t *shape; /* [dims], behind them */
    size_t size, room;    /* of the elements, and of what was taken for them and the shape */
    uint64_t used; /* the tensor under way that it was last used for */
} assay_kept_content;

/* Never holds more than `budget` bytes; NULL without memory. Not collective. */
assay_kept *assay_kept_new(size_t budget);
void assay_kept_free(assay_kept *kept);
/* Lets go of everything: before another trial's entries come. */
void assay_kept_clear(assay_kept *kept);

/* From now on it is the next tensor's turn. Contents that are found for a tensor stay as they are until the next one,
 * but for what assay_kept_begin() says. */
void assay_kept_next(assay_kept *kept);

/* The content of an entry of that tensor and worker; NULL when it is not kept. */
const assay_kept_content *assay_kept_find(assay_kept *kept, assay_kept_key key, const assay_entry *entry);

/* Lets go of what is kept of that tensor and worker. The memory is used for the next ones. */
void assay_kept_let_go(assay_kept *kept, assay_kept_key key);

/* Tells that a window goes back to `entry`, whose record is `record`. When that is not kept and the window went back to it before,
 * it is worth keeping: returns where its bytes are to be put while they are read, for assay_kept_filled(). Else NULL. */
uint8_t *assay_kept_oldest(assay_kept *kept, assay_kept_key key, const assay_entry *entry, const assay_record *record);
/* The bytes are there, and the record was sound. */
void assay_kept_filled(assay_kept *kept, assay_kept_key key, const assay_entry *entry, const assay_record *record);

/* Where the content of the record under way is to be put, or NULL when there is no room for it. *apart: is it to be a place
 * where nothing lies that was found for this very tensor? Set to whether it is: if it is not, whoever compares the two
 * contents puts a piece there after comparing it. */
uint8_t *assay_kept_begin(assay_kept *kept, assay_kept_key key, const assay_record *record, bool *apart);
/* The bytes are there, and the record was sound. Without this call they are never found. */
void assay_kept_end(assay_kept *kept, assay_kept_key key, const assay_entry *entry, const assay_record *record);

#endif
