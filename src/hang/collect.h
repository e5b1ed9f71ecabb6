/* collect.h - the dumps of a trial: what ranks read of them is joined (docs/hang.md).
 *
 * Each rank folds some files into rows; rows of neighbouring ranks are appended, so that rank 0 has all of them in the
 * order of the files, whoever read them. */
#pragma once

#include "base/vec.h"
#include "hang/hang.h"
#include "trial/events.h"

struct assay_problems;

/* What is wrong with a file. */
typedef struct assay_hang_problem {
    uint32_t file; /* its number in the trial's list */
    bool loss;     /* of what the file has something is missing */
    char *text;    /* owned */
} assay_hang_problem;

typedef struct assay_hang_files {
    ASSAY_VEC(assay_flight_row) row; /* by rank when all are joined, each rank once */
    ASSAY_VEC(assay_hang_problem) problem;
    uint64_t passed_over; /* files that are no dumps */
    uint64_t bytes;       /* read */
} assay_hang_files;

/* Frees all but the struct; NULL is ignored. */
void assay_hang_files_release(assay_hang_files *files);

/* Reads a file, which has that number in the trial's list. 0 or ASSAY_ENOMEM. */
int assay_hang_files_read(assay_hang_files *files, assay_store *store, const assay_event_file *file, uint32_t number,
                          assay_error *err);
/* Appends what was read of later files. For assay_rank_reduce() (parallel/rank_reduce.h). 0, ASSAY_ENOMEM, or
 * ASSAY_EINTERNAL for bytes that are none of assay_hang_files_pack(). */
int assay_hang_files_pack(const assay_hang_files *files, assay_buf *out);
int assay_hang_files_join(assay_hang_files *earlier, assay_cursor *later, assay_error *err);
/* Puts rows in the order of ranks; of two files of one rank the first counts, and the other is a problem. 0 or
 * ASSAY_ENOMEM. */
int assay_hang_files_finish(assay_hang_files *files, const assay_event_files *list);
/* Adds what was wrong with the files, and the ranks that left none or an older one. 0 or ASSAY_ENOMEM. */
int assay_hang_files_name_problems(assay_hang_files *files, const assay_event_files *list,
                                   struct assay_problems *problems);
