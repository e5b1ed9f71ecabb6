/* index.h - which tensor lies where. A shard holds the rows of some (step, worker) pairs.
 *
 * Every rank reads the index of its share of units into a shard with a dictionary of its own; the dictionaries are
 * merged into one in byte order, the shards renumbered and exchanged so that each rank has the entries of its own
 * chunks, with the entries before them that look-back needs (parts marked `before`). 24 bytes an entry, 56 a part. */
#pragma once

#include "trial/catalog.h"
#include "trial/manifest.h"

enum { ASSAY_FILES_MOST = 1 << 24, ASSAY_PATH_ROOM = 4096 };

typedef struct assay_entry {
    uint64_t offset;    /* of the record in its file; of one put together of others: assay_entry_order() */
    uint64_t length;    /* of the whole record, frame included */
    uint32_t tensor;    /* dictionary id of the tensor's own name */
    uint32_t kind : 8;  /* ASSAY_RAW or a reduction (assay/rule.h) */
    uint32_t file : 24; /* among those of its part */
} assay_entry;

typedef struct assay_shape_entry { /* the shape of a tensor that was not itself saved */
    uint32_t tensor;
    uint32_t dims;
    int64_t *dim; /* owned by the shard */
} assay_shape_entry;

/* A file of a part. A note is what the index says of one record of it beyond its place: dtype and shape, strides, how
 * it is compressed, its pieces in other files of the part, or the value itself. Only its format reads it. A record with
 * a note has a file number of its own, unless the format keeps records in notes (trial_format.h, in_notes); records of
 * one file without notes may share a number. Numbers ascend with the places of the records, file by file. */
typedef struct assay_file {
    const char *name;
    const uint8_t *note; /* NULL: none */
    uint32_t note_size;
} assay_file;

/* The files of a part by their numbers. Several parts may share a list; it never changes. */
typedef struct assay_files {
    uint32_t refs, count;
    uint32_t number; /* while a run of parts is packed: which of its lists this is */
    assay_file file[];
} assay_files;
/* Copies names and notes; equal names in a row are stored once. NULL without memory. */
assay_files *assay_files_new(const assay_file *list, uint32_t count);
/* Of one file, whose name need not be terminated. */
assay_files *assay_files_new_one(const char *name, size_t length);
assay_files *assay_files_share(assay_files *files); /* NULL: NULL */
/* Gives one share back: the last one frees the list. NULL is nothing. */
void assay_files_release(assay_files *files);

typedef struct assay_part { /* one unit: one step of one worker */
    int64_t step, mode_step;
    int64_t own_step;      /* the step as its worker counts (align.h): for the names of files */
    assay_files *files;    /* NULL: those that its format usually has; owned by the shard */
    uint32_t first, count; /* its entries, sorted by (file, offset) */
    uint32_t first_shape, shapes;
    uint32_t worker;
    uint8_t mode; /* assay_mode of assay/rule.h */
    uint8_t format;
    bool before; /* held for look-back only, belongs to an earlier rank's chunks */
} assay_part;

/* The name of a part's file, in `room` unless the part lists it; NULL when it is too long. */
const char *assay_part_file(const assay_catalog *catalog, const assay_part *part, uint32_t file,
                            char room[ASSAY_PATH_ROOM]);
/* Do two numbers name the same file? */
static inline bool assay_part_same_file(const assay_part *part, uint32_t a, uint32_t b)
{
    const assay_files *files = part->files;
    return a == b || (files && a < files->count && b < files->count && files->file[a].name == files->file[b].name);
}

typedef struct assay_shard {
    assay_part *parts; /* sorted by (step, worker) */
    size_t count, room;
    assay_entry *entries;
    size_t entry_count, entry_room;
    assay_shape_entry *shapes;
    size_t shape_count, shape_room;
    assay_manifest claims; /* of the index that was read; they stay with the rank that read it */
} assay_shard;

/* The place of an entry in the order in which its part was saved. Entries are sorted by their places, so that is their
 * number; records that are put together of others have no place of their own, and their offset is the order. */
static inline uint32_t assay_entry_order(const assay_shard *shard, const assay_part *part, const assay_entry *entry)
{
    return part->format == ASSAY_FORMAT_ASSEMBLED ? (uint32_t)entry->offset
                                                  : (uint32_t)(entry - &shard->entries[part->first]);
}

/* An empty shard, and its end: frees all parts, entries and shapes. */
void assay_shard_init(assay_shard *s);
void assay_shard_release(assay_shard *s);

/* Where an index is read into; all borrowed. */
typedef struct assay_index_sink {
    assay_dict *tensors; /* takes the names, in order of occurrence */
    assay_shard *shard;
    assay_problems *problems; /* what is damaged, or missing */
} assay_index_sink;

/* Reads the index of so many units, in order, and appends a part for each that can be used. Returns 0 or ASSAY_ENOMEM. */
int assay_index_read(assay_store *store, const assay_catalog *catalog, const assay_unit *units, size_t count,
                     const assay_index_sink *into);

/* True for a part whose rows fit the tables of store/index_cache.h: nothing else is known of it. */
bool assay_part_fits_cache(const assay_part *part);

/* Frees the shapes: an evaluation takes them from the records. */
void assay_shard_drop_shapes(assay_shard *s);

/* Gives the tensors the numbers new_id[old id] of the merged dictionary, and sorts entries at one place by them. */
void assay_shard_renumber(assay_shard *s, const uint32_t *new_id);

/* Adds to `to`, in order of occurrence, the names of `from` that entries, shapes and claims of the shard have.
 * (*new_id)[number in from] is theirs there, or ASSAY_NO_ID; the caller frees it. 0 or ASSAY_ENOMEM. */
int assay_shard_used_names(const assay_shard *s, const assay_dict *from, assay_dict *to, uint32_t **new_id);

/* Packs the parts [first, first + count) with their entries; unpack appends them behind what `s` holds. */
void assay_shard_pack(const assay_shard *s, size_t first, size_t count, assay_buf *out);
int assay_shard_unpack(assay_cursor *in, assay_shard *s, assay_error *err);

/* Frees all parts except [first, first + count), and their entries. */
void assay_shard_keep(assay_shard *s, size_t first, size_t count);
/* Moves the parts [first, count) to the front of the others; entries stay where they are. */
void assay_shard_turn(assay_shard *s, size_t first);

/* Sorts the parts by (step, worker), and their entries alike; does nothing when they are sorted. 0 or ASSAY_ENOMEM. */
int assay_shard_sort(assay_shard *s);

/* The first part with step >= `step` (count when there is none). */
size_t assay_shard_find(const assay_shard *s, int64_t step);
/* The same, at once where `guess` is right. */
static inline size_t assay_shard_find_at(const assay_shard *s, size_t guess, int64_t step)
{
    const bool right =
        guess < s->count && s->parts[guess].step == step && (guess == 0 || s->parts[guess - 1].step < step);
    return right ? guess : assay_shard_find(s, step);
}
/* Bytes of a part's files up to the end of the last record in each; at least 1. O(1) for a part of one file. */
uint64_t assay_part_span(const assay_shard *s, const assay_part *part);
/* The raw record of a tensor in a part, NULL when it has none. O(records of the part). */
const assay_entry *assay_part_raw(const assay_shard *s, const assay_part *part, uint32_t tensor);

/* The entries that steps behind the shard may look back to, as a new shard whose parts are marked `before`. For every
 * (tensor, worker) with wanted[tensor] these are its last `back` raw entries, its last `back` ones of TRAIN steps, and
 * all of steps >= `since`. tail(A ++ B) == tail(tail(A) ++ B): tails can be combined over ranks. Returns 0 or
 * ASSAY_ENOMEM. */
int assay_shard_tail(const assay_shard *s, const uint8_t *wanted, uint32_t tensors, uint32_t back, int64_t since,
                     assay_shard *out);

/* Where the raw records of each (tensor, worker) are, in order of steps: the look-up that look-back uses. */
typedef struct assay_record_history assay_record_history;
int assay_record_history_new(const assay_shard *s, const uint8_t *wanted, uint32_t tensors, assay_record_history **out);
void assay_record_history_free(assay_record_history *h);
typedef struct assay_place {
    const assay_part *part;
    const assay_entry *entry;
} assay_place;
/* The raw records of (tensor, worker) at steps < `step`, newest first: fills up to `most` places, returns how many. */
size_t assay_record_history_before(const assay_record_history *h, uint32_t tensor, uint32_t worker, int64_t step,
                                   assay_place *places, size_t most);
