/* index.h - the contents of index files: which tensor lies where. A shard holds those of some (step, worker) pairs.
 *
 * Every rank parses the index files of its share into a shard with a dictionary of its own; the dictionaries are
 * merged into one in byte order, the shards renumbered and exchanged so that each rank has the entries of its own
 * chunks, with the entries before them that look-back needs (parts marked `before`). 24 bytes an entry, 48 a part. */
#ifndef ASSAY_TRIAL_INDEX_H
#define ASSAY_TRIAL_INDEX_H

#include "trial/catalog.h"

typedef struct assay_entry {
    uint64_t offset; /* of the record (header, payload, footer) in the event file */
    uint64_t length; /* of the whole record */
    uint32_t tensor; /* dictionary id of the tensor's own name */
    uint8_t kind;    /* ASSAY_RAW or a reduction (assay/rule.h) */
} assay_entry;

typedef struct assay_shape_entry { /* from shape_payload: the shape of a tensor that was not itself saved */
    uint32_t tensor;
    uint32_t dims;
    int64_t *dim; /* owned by the shard */
} assay_shape_entry;

typedef struct assay_part { /* one index file: one step of one worker */
    int64_t step, mode_step;
    char *event;           /* event file, NULL: the usual name; owned by the shard */
    uint32_t first, count; /* its entries, sorted by offset */
    uint32_t first_shape, shapes;
    uint32_t worker;
    uint8_t mode; /* assay_mode of assay/rule.h */
    bool before;  /* held for look-back only, belongs to an earlier rank's chunks */
} assay_part;

typedef struct assay_shard {
    assay_part *parts; /* sorted by (step, worker) */
    size_t count, room;
    assay_entry *entries;
    size_t entry_count, entry_room;
    assay_shape_entry *shapes;
    size_t shape_count, shape_room;
} assay_shard;

void assay_shard_init(assay_shard *s);
void assay_shard_release(assay_shard *s);

/* Parses one index file and appends its part (parts must be added in order). Names go into `dict` in order of
 * occurrence; `shape_payload` keeps shapes of tensors. A file that cannot be used becomes a problem and gives no part;
 * a single bad entry (negative, huge, overflowing range; no name) becomes a problem and the others count. An entry
 * listed twice is a problem and counts once. event_file_name may not leave the trial. Returns 0 or ASSAY_ENOMEM. Not
 * collective. */
int assay_index_parse(const assay_catalog *catalog, const assay_unit *name, const void *text, size_t size,
                      assay_dict *dict, assay_shard *shard, assay_problems *problems);

/* Reads and parses the index files [first, first + count) of the listing. A file that cannot be read is a problem.
 * Returns 0 or ASSAY_ENOMEM. Not collective. */
int assay_index_read(assay_store *store, const assay_catalog *catalog, size_t first, size_t count, assay_dict *dict,
                     assay_shard *shard, assay_problems *problems);

/* Lets go of the shapes, which an evaluation takes from the records. */
void assay_shard_drop_shapes(assay_shard *s);

/* new_id[old id], after the dictionaries were merged; entries at one place are put in the order of these. */
void assay_shard_renumber(assay_shard *s, const uint32_t *new_id);

/* Packs the parts [first, first + count) with their entries; unpack appends them behind what `s` holds. */
void assay_shard_pack(const assay_shard *s, size_t first, size_t count, assay_buf *out);
int assay_shard_unpack(assay_cursor *in, assay_shard *s, assay_error *err);

/* Lets go of all parts but [first, first + count); their entries give room to others. Not collective. */
void assay_shard_keep(assay_shard *s, size_t first, size_t count);
/* Moves the parts [first, count) to the front of the others; entries stay where they are. Not collective. */
void assay_shard_turn(assay_shard *s, size_t first);

/* The first part with step >= `step` (count when there is none). */
size_t assay_shard_find(const assay_shard *s, int64_t step);
/* The raw record of a tensor in a part, NULL when it has none. O(records of the part). */
const assay_entry *assay_part_raw(const assay_shard *s, const assay_part *part, uint32_t tensor);

/* What look-back from behind the shard may need, as a new shard whose parts are marked `before`: of every (tensor,
 * worker) with wanted[tensor] the raw entries among its last `back` ones, among its last `back` ones of TRAIN steps,
 * and those of parts of step >= `since`. tail(A ++ B) == tail(tail(A) ++ B), so that tails can be combined over ranks.
 * Returns 0 or ASSAY_ENOMEM. */
int assay_shard_tail(const assay_shard *s, const uint8_t *wanted, uint32_t tensors, uint32_t back, int64_t since,
                     assay_shard *out);

/* Where the raw records of each (tensor, worker) are, in order of steps: the look-up that look-back uses. */
typedef struct assay_history assay_history;
int assay_history_new(const assay_shard *s, const uint8_t *wanted, uint32_t tensors, assay_history **out);
void assay_history_free(assay_history *h);
typedef struct assay_place {
    const assay_part *part;
    const assay_entry *entry;
} assay_place;
/* The raw records of (tensor, worker) at steps < `step`, newest first: fills up to `most` places, returns how many. */
size_t assay_history_before(const assay_history *h, uint32_t tensor, uint32_t worker, int64_t step, assay_place *places,
                            size_t most);

#endif
