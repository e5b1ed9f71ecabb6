/* diff.h - two trials tensor by tensor: which names both have, and how their elements differ, whatever the layouts.
 *
 * How it works:
 *   1. The ranks open both trials together (share.c): each reads the index of a part of each, and gets that of the others.
 *   2. Each pairs all tensors (pairs.c): the same step, worker and name, or as name maps say. Trials of one step each
 *      are paired whatever its number, and so are those of one worker each. Where one of them has a topology, tensors
 *      are paired as a whole, whoever has their pieces.
 *   3. The pairs are in the order in which the first trial saved them; each rank compares a stretch of about as many
 *      bytes (diff.c), and sends rank 0 what it found.
 *   4. A file that two ranks opened must have had one size (share.c): they may see other files, or it changed. */
#pragma once

#include "diff/figures.h"
#include "diff/name_map.h"
#include "parallel/progress.h"
#include "source/trial_files.h"

typedef enum assay_diff_state {
    ASSAY_DIFF_COMPARED, /* the figures say how */
    ASSAY_DIFF_SHAPE,    /* the shapes differ */
    ASSAY_DIFF_UNREAD    /* one of them cannot be read; the text says why */
} assay_diff_state;

typedef struct assay_diff_pair {
    assay_place a, b;            /* records; entry NULL: promised by an index, and not there */
    const assay_name_map *map;   /* NULL: the names are the same */
    const char *name_a, *name_b; /* of the trials' dictionaries */
    int64_t step;                /* of the first trial */
    uint32_t worker;             /* likewise; of several that have one copy together the lowest */
    uint32_t other_worker;       /* of the second trial */
    bool apart;  /* several workers have it, and nothing says whether these are pieces or copies of one tensor */
    bool unlike; /* likewise, and the topology says that they have addends, or other data by design */
    assay_diff_state state;
    int dtype_a, dtype_b, dims_a, dims_b;
    int64_t shape_a[ASSAY_MAX_DIMS], shape_b[ASSAY_MAX_DIMS]; /* of b the part that is meant */
    assay_diff_figures figures;
    uint32_t unread_of; /* where it cannot be read: 1 of the first trial, 2 of the second one, 0 of neither alone */
    char *text;         /* owned */
} assay_diff_pair;

/* A name of one trial that the other has not. */
typedef struct assay_diff_single {
    const char *name;
    int64_t step;
} assay_diff_single;

typedef struct assay_diff_singles {
    assay_diff_single *list;
    size_t count, room;
} assay_diff_singles;

typedef struct assay_diff {
    assay_trial_files a, b;
    assay_diff_pair *pair;
    size_t pairs, room;
    assay_diff_singles only_a, only_b;
    int64_t *steps_a, *steps_b; /* that the other trial has not */
    size_t steps_only_a, steps_only_b, steps;
    uint64_t bytes; /* of elements that were compared, of both trials */
} assay_diff;

typedef struct assay_diff_options {
    const assay_name_map *map;
    size_t maps;
    assay_diff_tolerance tolerance;
    int64_t from, to;     /* steps [from, to) of the first trial */
    const char *topology; /* of trials of several workers, a path or its JSON; NULL: what they have themselves */
    size_t memory;        /* bytes that a tensor may take of which a part is compared, or the transposed one */
    double progress;      /* as of assay_progress_new() */
} assay_diff_options;

/* Compares; the figures are on rank 0. Release either way. ASSAY_EUSAGE where nothing can be paired, and as
 * assay_trial_open(). Collective. */
int assay_diff_run(assay_comm *comm, const char *a, const char *b, const assay_diff_options *options, assay_diff *out,
                   assay_error *err);
void assay_diff_release(assay_diff *diff);

/* ---- inside diff ---- */

/* Opens a trial as assay_trial_open_laid_out() does; a topology is passed over where there is one worker. Collective.
 * (share.c) */
int assay_diff_open(assay_comm *comm, const char *location, const char *topology, assay_trial_files *out,
                    assay_error *err);
/* Has every file that ranks have opened of both trials one size? `status` is how this rank fared until then. ASSAY_EIO
 * with the file. Collective. (share.c) */
int assay_diff_check_files(assay_comm *comm, const assay_diff *diff, int status, assay_error *err);
/* Pairs the tensors of both trials, which are open. 0 or ASSAY_ENOMEM. (pairs.c) */
int assay_diff_pair_up(assay_diff *diff, const assay_diff_options *options, assay_error *err);
/* Both trials' records as one process reads them. */
typedef struct assay_diff_reading {
    assay_trial_reader a, b;
    assay_differ differ;
    const assay_diff_options *options;
    assay_progress *progress;
} assay_diff_reading;
