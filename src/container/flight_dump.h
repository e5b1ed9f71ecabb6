/* flight_dump.h - one dump of a flight recorder while it is read. 
 *
 * Readers of pickles and of JSON hand over groups, status and entries in any order; assay_flight_fold() makes a row of them
 * (trial/flight_row.h). Entries are kept with numbers in place of texts, some 70 bytes each. */
#pragma once

#include "base/dict.h"
#include "base/keys.h"
#include "base/vec.h"
#include "container/pickle.h"
#include "store/storage.h"

typedef enum assay_flight_state {
    ASSAY_FLIGHT_SCHEDULED,
    ASSAY_FLIGHT_STARTED,
    ASSAY_FLIGHT_COMPLETED
} assay_flight_state;

enum {
    ASSAY_FLIGHT_FRAMES_KEPT = 8, /* of a stack, innermost first */
    ASSAY_FLIGHT_FILE_MOST = 1 << 30,
    ASSAY_FLIGHT_TENSORS_MOST = 4096, /* of an entry */
    ASSAY_FLIGHT_SIZES_MOST = 64,     /* of a tensor */
    ASSAY_FLIGHT_RANKS_MOST = 1 << 24 /* of all groups of a dump */
};

typedef struct assay_flight_text { /* not terminated; NULL: there is none */
    const char *bytes;
    size_t length;
} assay_flight_text;

typedef enum assay_flight_number {
    ASSAY_FLIGHT_RECORD_ID,
    ASSAY_FLIGHT_PG_ID,
    ASSAY_FLIGHT_COLLECTIVE,
    ASSAY_FLIGHT_P2P,
    ASSAY_FLIGHT_OP_ID,
    ASSAY_FLIGHT_CREATED,
    ASSAY_FLIGHT_NUMBERS
} assay_flight_number;

/* What a reader found in one entry. Texts are valid until the next one. */
typedef struct assay_flight_found {
    bool unreadable;
    bool has[ASSAY_FLIGHT_NUMBERS], bad[ASSAY_FLIGHT_NUMBERS]; /* bad: it is there, and no whole number */
    int64_t number[ASSAY_FLIGHT_NUMBERS];
    assay_flight_text group, name, state;
    bool has_p2p, is_p2p, start_known;
    bool has_sizes[2];
    ASSAY_VEC(int64_t) sizes[2];  /* of inputs, of outputs: as in assay_flight_part */
    ASSAY_VEC(uint32_t) types[2]; /* in assay_flight_dump.texts */
    uint32_t stack;               /* in assay_flight_dump.stacks; ASSAY_NO_ID: none */
    int64_t completed;            /* as in assay_flight_entry */
    assay_keys keys;
} assay_flight_found;

typedef struct assay_flight_entry {
    int64_t collective, p2p, pg_id;
    int64_t completed; /* when the rank saw that it was, in nanoseconds since 1970 by its clock; 0: not known */
    uint32_t group, name, part, stack; /* in assay_flight_dump.texts, .texts, .parts, .stacks */
    uint32_t next;                     /* the next entry of its region; ASSAY_NO_ID: none */
    uint8_t state;
    bool is_p2p, has_pg_id;
} assay_flight_entry;

/* What entries of one form have in common, so that another one needs its numbers alone. */
typedef struct assay_flight_alike {
    assay_flight_entry entry;
    uint32_t dimension, dimensions; /* into assay_flight_dump.dimension */
} assay_flight_alike;

typedef struct assay_flight_config {
    uint32_t name, description; /* in assay_flight_dump.texts */
    uint32_t first, count;      /* in assay_flight_dump.ranks */
} assay_flight_config;

typedef struct assay_flight_status {
    int64_t pg_id, enqueued, completed;
} assay_flight_status;

typedef struct assay_flight_dump {
    assay_dict *texts, *parts, *stacks;
    ASSAY_VEC(assay_flight_config) config;
    ASSAY_VEC(uint32_t) ranks;
    ASSAY_VEC(assay_flight_status) status;
    ASSAY_VEC(assay_flight_entry) entry;
    ASSAY_VEC(uint8_t) key; /* of the part under way */
    ASSAY_VEC(assay_flight_alike) alike;
    ASSAY_VEC(uint32_t) dimension; /* where the sizes of such an entry stand in the key of its part */
    assay_flight_found found;      /* the entry under way */
    assay_key_memory keys;
    bool has_version, has_config;
    uint32_t version; /* in texts */
    bool full, starts_known;
    uint64_t seen, unread; /* entries */
    int64_t newest;
    const char *wrong; /* what damages the whole file, a constant; NULL: nothing */
    uint64_t wrong_at; /* the offset; of what a reader found in JSON */
    bool no_memory;
} assay_flight_dump;

/* 0 or ASSAY_ENOMEM; release in any case. */
int assay_flight_dump_init(assay_flight_dump *d);
void assay_flight_dump_release(assay_flight_dump *d);

/* All of these return false once something damages the file, or there is no memory, and leave it in the dump.
 * A key that comes twice begins again what it had. */
bool assay_flight_wrong(assay_flight_dump *d, const char *what);
bool assay_flight_no_memory(assay_flight_dump *d);
void assay_flight_begin_groups(assay_flight_dump *d);
bool assay_flight_add_group(assay_flight_dump *d, assay_flight_text name, assay_flight_text description,
                            assay_flight_text ranks);
void assay_flight_begin_status(assay_flight_dump *d);
bool assay_flight_add_status(assay_flight_dump *d, assay_flight_status status);
void assay_flight_begin_entries(assay_flight_dump *d);
/* Begins an entry in d->found, which the reader fills; then ends it. */
void assay_flight_begin_entry(assay_flight_dump *d);
bool assay_flight_end_entry(assay_flight_dump *d);
/* Keeps what entries like the one that was ended last have in common, under the next number from 0, and its sizes, in
 * the order of sides that `first` begins. False: there are none like it, or no memory. */
bool assay_flight_keep_alike(assay_flight_dump *d, int first);
/* Ends an entry like that one; has, bad, number and start_known of d->found are its own, and so are its sizes: NULL for
 * the same ones. */
bool assay_flight_end_alike(assay_flight_dump *d, uint32_t alike, const assay_pickle_number *size);
/* Adds the dimensions of one tensor, or a type, to inputs (0) or outputs (1). */
bool assay_flight_add_sizes(assay_flight_dump *d, int side, const int64_t *size, size_t count);
bool assay_flight_add_type(assay_flight_dump *d, int side, assay_flight_text type);

/* The objects of a dump whose keys are accounted for. Readers note each key; at the end, a key that is a known one but for
 * a flipped bit damages the file, or of an entry (noted in d->found.keys) the entry alone. */
typedef enum assay_flight_object {
    ASSAY_FLIGHT_TOP,
    ASSAY_FLIGHT_GROUP,
    ASSAY_FLIGHT_STATUS,
    ASSAY_FLIGHT_ENTRY
} assay_flight_object;
assay_keys assay_flight_keys(assay_flight_dump *d, assay_flight_object object);
bool assay_flight_check_keys(assay_flight_dump *d, const assay_keys *keys);

/* Texts: is it this word; a whole number in digits; a copy that the caller frees, NULL without memory. */
bool assay_flight_is(assay_flight_text text, const char *word);
bool assay_flight_digits(assay_flight_text text, int64_t *value);
char *assay_flight_copy(assay_flight_text text);
/* The number behind which a value stands ("record_id", ...); ASSAY_FLIGHT_NUMBERS: none. */
assay_flight_number assay_flight_number_of(assay_flight_text key);
bool assay_flight_take_version(assay_flight_dump *d, assay_flight_text version);

/* ---- files ---- */

/* What the first bytes of a file (64 are enough) say that it is. */
typedef enum assay_flight_kind { ASSAY_FLIGHT_NEITHER, ASSAY_FLIGHT_PICKLE, ASSAY_FLIGHT_JSON } assay_flight_kind;
assay_flight_kind assay_flight_kind_of(const void *bytes, size_t size);

/* Reads a file, whose kind is known, into an initialised dump. 0; ASSAY_EFORMAT: it is damaged or no dump, and the
 * message says what and at which offset; ASSAY_EIO, ASSAY_ENOMEM. Adds what was read to *bytes. */
int assay_flight_read(assay_store *store, const char *path, assay_flight_dump *d, uint64_t *bytes, assay_error *err);
