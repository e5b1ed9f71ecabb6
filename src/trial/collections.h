/* collections.h - named groups of tensors: union over the workers' files; a tensor belongs when it is listed or an
 * include_regex matches its name (docs/format.md). */
#pragma once

#include "base/regex.h"
#include "trial/names.h"
#include "trial/problem.h"

typedef struct assay_collection {
    char *name;
    char **regex; /* as text, union over the workers, byte order; list and texts are one block */
    size_t regexes;
    char **tensor; /* listed names, likewise */
    size_t tensors;
} assay_collection;

typedef struct assay_collections {
    assay_collection *list; /* byte order of name */
    size_t count;
    uint32_t num_workers; /* how many workers the trial says that it has; 0: it does not say */
    char *file;           /* where the trial has them, for messages; NULL: it has none; owned */
} assay_collections;

/* The collection of that name, made when there is none; NULL without memory. Valid until another one is made. */
assay_collection *assay_collections_take(assay_collections *c, const char *name);
/* Adds a collection of the tensors whose names match a pattern, unless the name is taken. 0 or ASSAY_ENOMEM. */
int assay_collections_add_pattern(assay_collections *c, const char *name, const char *pattern);
/* Frees what the collections hold. Then as bytes, of a catalog or for other ranks, and back: ASSAY_EFORMAT for bytes
 * that are none, ASSAY_ENOMEM. */
void assay_collections_release(assay_collections *c);
void assay_collections_pack(const assay_collections *c, assay_buf *out);
int assay_collections_unpack(assay_cursor *in, assay_collections *c, assay_error *err);
const assay_collection *assay_collections_find(const assay_collections *c, const char *name);

/* A matcher has its regexes compiled and its names sorted; bad regexes are problems on creation. */
typedef struct assay_matcher assay_matcher;
int assay_matcher_new(const assay_collections *all, size_t number, assay_matcher **out, assay_problems *problems);
/* 1 when the tensor belongs to the collection, 0 when not, or ASSAY_ENOMEM. A regex that gives up on a name counts as
 * no match; the first such name is a problem, unless `problems` is NULL. */
int assay_matcher_has(assay_matcher *m, const char *tensor, size_t length, assay_problems *problems);
void assay_matcher_free(assay_matcher *m);
