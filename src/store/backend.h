/* backend.h - what a kind of storage provides. Inside trial only. */
#pragma once

#include <stdbool.h>

#include "store/index_cache.h"
#include "store/listings.h"
#include "store/storage.h"

typedef struct assay_store_ops assay_store_ops;

/* What the stores have in common that were opened beside each other; it goes with the last of them. */
typedef struct assay_store_place {
    unsigned stores;
    assay_listings listings;
    assay_dict *listed;  /* storage.c; owned */
    uint64_t asked, yes; /* assay_store_ask_root(): a bit a question */
} assay_store_place;

struct assay_store {
    const assay_store_ops *ops;
    char *location;           /* as it was given; owned */
    void *root;               /* the backend's; the same for all stores of the place */
    assay_store_place *place; /* shared with them */
    char *unlisted;           /* assay_store_listed_whole(); owned */
    char *outside;            /* assay_store_outside(); owned */
    bool several;             /* such links */
    assay_dict *notes;        /* assay_store_note(): path, NUL, text; owned */
    uint32_t notes_taken;
    assay_dict *opened; /* assay_store_keep_sizes(); NULL: sizes are not kept; owned */
    bool is_file;       /* assay_store_is_file() */
    bool no_memory;     /* assay_store_lacked_memory() */
    void *kept;         /* assay_store_kept(); owned */
    void (*release)(void *kept);
};

struct assay_store_file {
    const assay_store_ops *ops;
    uint64_t size;
    char *path; /* for messages; owned */
    void *handle;
    int number; /* for backends that have one */
};

/* The calls of storage.h for one backend. `place` is the location without its scheme. A backend that this build lacks
 * has no open. Failing opens leave nothing behind. */
struct assay_store_ops {
    const char *scheme; /* "file://" */
    int (*open)(assay_store *store, const char *place, assay_error *err);
    void (*close)(assay_store *store);
    int (*list)(assay_store *store, const char *directory, assay_names *out, assay_error *err);
    /* 1 with *size when there is a file of that name, 0 when there is something else; ASSAY_ENOTFOUND or 0 when there
     * is nothing. */
    int (*size_of)(assay_store *store, const char *path, uint64_t *size, assay_error *err);
    int (*open_file)(assay_store *store, const char *path, assay_store_file *file, assay_error *err);
    void (*close_file)(assay_store_file *file);
    int (*read_at)(assay_store_file *file, uint64_t offset, void *bytes, size_t size, size_t *got, assay_error *err);
    int (*stamp)(assay_store *store, const char *path, assay_store_stamp *out,
                 assay_error *err); /* NULL: never changes */
    /* NULL: listing is no matter of how much is there. */
    int (*follow)(assay_store *store, assay_store *before, const char *const *from, size_t count);
    /* All or none: of storages that fetch what comes next. */
    bool (*waits)(const assay_store *store);
    void (*depth)(const assay_store *store, size_t *files, uint64_t *bytes);
    void (*ahead)(assay_store *store, const char *path, uint64_t offset, uint64_t size);
    void (*list_ahead)(assay_store *store, const char *directory); /* NULL: listing does not wait */
    /* Both or neither: of storages that know more of files than their names. */
    void (*pack)(const assay_store *store, assay_buf *out);
    int (*unpack)(assay_store *store, assay_cursor *in);
    bool (*leads_out)(assay_store *store, const char *path); /* NULL: never */
    /* Of the links in a directory that was listed: see assay_store_outside(). NULL: there are no links. */
    const char *(*outside)(const assay_store *store, const char *directory, bool *several);
    bool listed_whole; /* a directory that cannot be listed fails the trial: see assay_store_listed_whole() */
    bool contradicts;  /* it may list a name and not find it: see storage.c */
    bool summed;       /* read_at() compares checksums */
    bool (*is_unsummed)(const assay_store *store); /* NULL: false */
    uint64_t (*behind)(const assay_store *store);  /* NULL: 0 */
    const assay_index_cache *index_cache; /* of storages that keep rows of the index in tables; NULL elsewhere */
};

extern const assay_store_ops assay_store_posix;
extern const assay_store_ops assay_store_s3;
extern const assay_store_ops assay_store_hdf5;
extern const assay_store_ops assay_store_s3_hdf5; /* a packed trial that is an object in S3 */

/* True when the place is an HDF5 file, or one with the name of a trial in it behind: "run.h5", "runs.h5/resnet-17".
 * Then *length is that of the file's part. */
bool assay_is_hdf5_place(const char *place, size_t *length);
/* The same of a place in S3, by its name alone: what ends in ".h5" behind the bucket. */
bool assay_s3_is_hdf5_place(const char *place, size_t *length);

/* Makes *out of `count` terminated names that lie one behind the other in `text`: sorted, in one block. Returns 0 or
 * ASSAY_ENOMEM. */
int assay_names_from_text(const char *text, size_t size, size_t count, assay_names *out);
