/* group_files.h - finds process groups in files that lie at a training: dumps of PyTorch's flight recorder (pickled, or
 * JSON) and Kineto traces (JSON, packed by gzip or not). Nothing else of these files is looked at. */
#pragma once

#include "store/storage.h"
#include "mesh/groups.h"

enum {
    ASSAY_GROUP_FILE_MOST = 1 << 30,   /* bytes of a dump */
    ASSAY_GROUP_TRACE_MOST = 64 << 20, /* bytes of a trace's text that are looked at, from its beginning on */
    ASSAY_GROUP_FILES_MOST = 1 << 16   /* files that are looked at */
};

typedef struct assay_group_files {
    uint32_t dumps, traces; /* that name groups */
    uint32_t damaged;       /* looked like one, and could not be read */
    char first[256];        /* of the damaged ones, why */
} assay_group_files;

typedef enum assay_group_file { ASSAY_GROUPS_NONE, ASSAY_GROUPS_DUMP, ASSAY_GROUPS_TRACE } assay_group_file;

/* Adds the groups that one file names. `whole` is false when the text goes on: what is missing is no fault then. Sets
 * *kind. 0; ASSAY_EFORMAT: damaged, and only what came before that counts; ASSAY_ENOMEM. */
int assay_groups_read(assay_groups *groups, const void *bytes, size_t size, bool whole, assay_group_file *kind,
                      assay_error *err);
/* Adds those of all files in a directory of the store and in its folders, one level deep, that have such names. Counts
 * go up in `found`. 0 or ASSAY_ENOMEM. */
int assay_groups_find(assay_store *store, const char *directory, assay_groups *groups, assay_group_files *found);
