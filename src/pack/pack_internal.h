/* pack_internal.h - the parts of packing one trial. Inside pack only. */
#pragma once

#include "engine/source/source.h"
#include "pack/file_list.h"
#include "pack/pack.h"

typedef struct assay_packing { /* one trial under way */
    assay_comm *comm;
    assay_hdf5_file *file;
    const char *group; /* "/trials/NAME" */
    assay_source *source;
    assay_file_list list;
    uint64_t *order; /* files that are not empty in natural order of their names: how their bytes lie */
    uint64_t ordered;
    bool compress, follow_links;
    assay_buf sums;                                                         /* sums.c */
    uint64_t rows[ASSAY_PACKED_TABLE_COUNT], row[ASSAY_PACKED_TABLE_COUNT]; /* of the tables so far, and their size */
} assay_packing;

/* Writes a whole data set of plain items or rows that every rank has: each its share. Collective. */
int assay_pack_put(assay_packing *p, const char *name, const assay_hdf5_layout *layout, const void *rows,
                   assay_error *err);

/* bytes.c: the contents of the files, and their checksums. Collective. */
int assay_pack_bytes(assay_packing *p, assay_error *err);
/* index.c: what the index says, as tables. *records gets the number of entries. Collective. */
int assay_pack_index(assay_packing *p, uint64_t *records, assay_error *err);
/* index.c: how many files lack records that the index has; sizes are looked at, and no contents. Collective. */
int assay_pack_check(assay_packing *p, uint64_t *losses, assay_error *err);

/* records.c: how many records are not what their own checksums, names and steps say; *first gets what is wrong with one of
 * them. Of stores that a server holds none is read. Collective. */
int assay_pack_check_records(assay_packing *p, uint64_t *damaged, assay_error *first, assay_error *err);

/* sums.c: notes the checksums of the rows [first, first + count) of a table, which this rank writes. */
void assay_pack_sum(assay_packing *p, const char *name, const assay_hdf5_layout *layout, uint64_t first, uint64_t count,
                    const void *rows);
/* Writes the table of all these checksums, once all tables are written. Collective. */
int assay_pack_sums(assay_packing *p, assay_error *err);

/* A job of trials only. The list and its texts are borrowed. */
assay_job assay_pack_job(assay_job_trial *trials, size_t count);
