/* group_files.h - finds process groups in files that lie at a training: dumps of PyTorch's flight recorder (pickled, or
 * JSON) and Kineto traces (JSON, packed by gzip or not). Nothing else of these files is looked at. */
#pragma once

#include "trial/catalog.h"
#include "mesh/groups.h"

enum {
    ASSAY_GROUP_FILE_MOST = 1 << 30,   /* bytes of a dump */
    ASSAY_GROUP_TRACE_MOST = 64 << 20, /* bytes of a trace's text that are looked at, from its beginning on */
    ASSAY_GROUP_OWN_MOST = 256 << 20,  /* bytes of all of them, where nobody asked for groups */
    ASSAY_GROUP_FILES_MOST = 1 << 16   /* files that are looked at */
};

typedef struct assay_group_files {
    assay_groups of_dumps, of_traces;
    uint32_t dumps, traces; /* that name groups */
    uint32_t damaged;       /* looked like one, and could not be read */
    uint32_t left_out;      /* were not looked at: ASSAY_GROUP_OWN_MOST was reached */
    char first[256];        /* of the damaged ones, why */
    uint64_t left;          /* bytes that may still be read */
    uint64_t seen;          /* a hash of the names, sizes and times of the files that were looked at last */
} assay_group_files;

int assay_group_files_init(assay_group_files *files); /* 0 or ASSAY_ENOMEM */
void assay_group_files_release(assay_group_files *files);

typedef enum assay_group_file { ASSAY_GROUPS_NONE, ASSAY_GROUPS_DUMP, ASSAY_GROUPS_TRACE } assay_group_file;

/* "16 flight-recorder dumps and 2 traces" */
void assay_group_files_describe(const assay_group_files *files, assay_buf *out);
/* Adds the groups that one file names. `whole` is false when the text goes on: what is missing is no fault then. Sets
 * *kind. 0; ASSAY_EFORMAT: damaged, and only what came before that counts; ASSAY_ENOMEM. */
int assay_groups_read(assay_group_files *files, const void *bytes, size_t size, bool whole, assay_group_file *kind,
                      assay_error *err);
/* Does a directory's name look as if it held dumps or traces? */
bool assay_groups_may_be_in(const char *directory);
/* Adds those of all files in a directory of the store and in its folders, one level deep, that have such names. 0 or
 * ASSAY_ENOMEM. */
int assay_groups_find(assay_store *store, const char *directory, assay_group_files *files);
/* Finds those of a trial: of its dumps and traces, and of those in its folders whose names look so. Does nothing where
 * these are the files that were looked at last. 0 or ASSAY_ENOMEM. */
int assay_groups_find_own(assay_store *store, const assay_catalog *catalog, assay_group_files *files);
