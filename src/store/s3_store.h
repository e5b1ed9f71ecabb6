/* s3_store.h - what the files of the S3 storage share. Inside storage only.
 *
 * A trial's root is a bucket and a prefix. What listings tell of objects is kept by the hashes of their names: sizes
 * are not asked for again, and an object that is another one than the listing said is noticed. */
#pragma once

#include "s3/s3.h"
#include "store/backend.h"

/* What is known of an object or a directory (then `count` is what lies in it, and etag a hash of all that). */
typedef struct s3_fact {
    uint64_t name; /* hash of the path within the trial; 0: this place of the table is free */
    uint64_t size, etag;
    int64_t time; /* nanoseconds since 1970 */
    bool is_directory;
    bool told; /* other ranks know it as well */
} s3_fact;

typedef struct s3_facts {
    s3_fact *list; /* [room] open addressing; owned */
    size_t count, room;
} s3_facts;

/* NULL when nothing is known. Directories have facts of their own, once they were listed. */
const s3_fact *s3_facts_find(const s3_facts *facts, const char *path, size_t length, bool is_directory);
/* Takes over what is known; ASSAY_ENOMEM. */
int s3_facts_set(s3_facts *facts, const s3_fact *fact);
uint64_t s3_fact_name(const char *path, size_t length, bool is_directory);
/* 0 for "". */
uint64_t s3_fact_etag(const char *etag);

/* A range that was asked for before its turn, or a whole small object that was read and may be opened again. */
typedef struct s3_asked {
    char *path; /* owned; NULL: none */
    uint64_t piece;
    assay_s3_get *get;
    size_t cost;
} s3_asked;

/* The last so many of them: the oldest gives way. Its lists are as long as they had to be so far. */
typedef struct s3_ring {
    s3_asked *list; /* [room] */
    uint64_t *name; /* [room] hashes of their paths, 0: none, which are looked through sooner than the paths */
    size_t room, most, next;
} s3_ring;

/* Names of a directory that was listed when its stamp was asked for, or whose listing is under way. */
typedef struct s3_directory {
    char *path;                /* owned */
    assay_s3_listing *listing; /* under way; NULL: names has it */
    assay_names names;
} s3_directory;

/* An object below a tree. */
typedef struct s3_leaf {
    size_t key; /* where its key begins in the tree's keys, terminated */
    uint64_t size, etag;
    int64_t time; /* seconds since 1970; INT64_MIN: not told */
} s3_leaf;

/* A directory that is listed with all that lies below it (s3_tree.c). What followed trees keep has no ceiling but that
 * of a listing: the next look needs it. The others keep half of a listing's memory together. */
typedef struct s3_tree {
    char *top;  /* its name, "" for the root; owned, as is all of it */
    char *from; /* the path before which nothing has changed since the last look; NULL: made within this look */
    assay_buf keys;
    s3_leaf *list; /* [count] in the order of keys */
    size_t count, room;
    size_t most;   /* bytes of keys and list that it may have */
    bool listed;   /* since the store was opened; else as it was at an earlier look */
    bool unsorted; /* the server does not give keys in their order */
} s3_tree;

/* Directories below one directory of the root that were listed one by one. */
typedef struct s3_deep {
    uint64_t top; /* hash of that one's name */
    unsigned count;
} s3_deep;
enum { S3_DEEP = 4 };

typedef struct s3_root {
    assay_s3_place place;
    char *
        only; /* the trial is this object alone, and the prefix that of its directory; NULL: it is all below the prefix */
    s3_facts facts;
    s3_tree *tree; /* [tree_count] */
    size_t tree_count;
    s3_deep deep[S3_DEEP]; /* of the last few that were listed below; the oldest gives way */
    size_t next_deep;
    bool one_by_one;         /* a whole tree could not be listed: no more are made within this look */
    bool warned;             /* of keys that lead out of the trial */
    bool doubtful;           /* something changed where nothing should have: trees are listed from their beginnings */
    s3_ring asked;           /* what was asked for ahead */
    s3_ring kept;            /* first pieces of objects that were read */
    s3_directory *directory; /* [directory_count] */
    size_t directory_count, directory_room;
    assay_buf key; /* of the object that is asked for, terminated */
} s3_root;

/* The key of a path within the trial; NULL without memory. Valid until the next one. */
const char *s3_root_key(s3_root *root, const char *path);

/* The tree that a path lies in, or is; NULL: none. */
s3_tree *s3_tree_of(s3_root *root, const char *path);
/* Adds a tree for a directory of the root, whose name has `length` bytes; ASSAY_ENOMEM. */
int s3_tree_add(s3_root *root, const char *top, size_t length);
/* Makes a tree of the root, which then is all that is ever listed, where few pages of a listing (ASSAY_S3_DEEP_FEW) have all its
 * objects. Else, and where that is too much for memory, there is none, and directories are listed alone. What else is wrong would
 * be with those, too. */
int s3_tree_of_few(s3_root *root, assay_error *err);
/* As s3_tree_of(), but a tree that was made within this look is listed, unless memory is short. Where that fails
 * (ASSAY_EBUDGET: it is too large) the tree goes, no more are made, and NULL says that the directory is listed alone.
 */
s3_tree *s3_tree_listed(s3_root *root, const char *path);
/* Visits what lies in a directory of a tree: paths within the trial, of so many bytes. That of a directory ends with
 * its '/', and its leaf tells nothing. What `visit` returns other than 0 ends it. */
typedef int s3_leaf_visit(void *context, const char *path, size_t length, const s3_leaf *leaf);
int s3_tree_visit(s3_root *root, s3_tree *tree, const char *directory, s3_leaf_visit *visit, void *context,
                  assay_error *err);
void s3_tree_release(s3_tree *tree);
/* As assay_store_share_listings(). */
void s3_share(bool share);

/* ---- the backend, of which s3_ops.c makes one call at a time ---- */

/* As the calls of assay_store_ops (backend.h) of these names. */
int s3_open(assay_store *store, const char *place, assay_error *err);
void s3_close(assay_store *store);
int s3_list(assay_store *store, const char *directory, assay_names *out, assay_error *err);
void s3_list_ahead(assay_store *store, const char *path);
int s3_size_of(assay_store *store, const char *path, uint64_t *size, assay_error *err);
int s3_stamp(assay_store *store, const char *path, assay_store_stamp *out, assay_error *err);
int s3_follow(assay_store *store, assay_store *before, const char *const *from, size_t count);
void s3_depth(const assay_store *store, size_t *files, uint64_t *bytes);
void s3_pack(const assay_store *store, assay_buf *out);
int s3_unpack(assay_store *store, assay_cursor *in);
int s3_open_file(assay_store *store, const char *path, assay_store_file *file, assay_error *err);
void s3_close_file(assay_store_file *file);
int s3_read_at(assay_store_file *file, uint64_t offset, void *bytes, size_t size, size_t *got, assay_error *err);
void s3_ahead(assay_store *store, const char *path, uint64_t offset, uint64_t size);
/* Ends all that was asked for ahead. */
void s3_forget_asked(s3_root *root);
