/* collections_json.h - the workers' collections files (docs/format.md). Inside this folder, and for tests. */
#pragma once

#include "trial/collections.h"
#include "base/dict.h"

/* What the files read so far say of a collection; files are counted from 1. */
typedef struct assay_collection_seen {
    uint64_t patterns;    /* a sum over the patterns in the first file that has it */
    uint32_t first, last; /* files that have it */
} assay_collection_seen;

typedef struct assay_collections_reader { /* zero it but for `collections` */
    assay_collections *collections;       /* borrowed; what the files are merged into */
    uint32_t files;                       /* that were read */
    uint32_t first_workers;               /* num_workers of the first file that has it */
    char *first;                          /* the first file's name */
    assay_dict *names;
    assay_collection_seen *seen; /* [names] */
} assay_collections_reader;

/* Merges one worker's file into the collections. What is wrong in it becomes a problem that names `file`; what is right
 * counts. Workers write the same names, patterns and number of workers: where a file differs from the first one, a
 * remark says so. Returns 0 or ASSAY_ENOMEM. */
int assay_collections_read(assay_collections_reader *reader, const char *file, const void *text, size_t size,
                           assay_problems *problems);
void assay_collections_reader_release(assay_collections_reader *reader);
