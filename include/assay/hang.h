/* hang.h - who hung: what dumps of flight recorders say, as rules and reports see it (docs/hang.md).
 *
 * Ranks are those of the training. Everything that a result points to lives as long as the result. */
#ifndef ASSAY_HANG_H
#define ASSAY_HANG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/pack.h>
#include <assay/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct assay_hang_ranks {
    const int64_t *rank; /* ascending */
    size_t count;
} assay_hang_ranks;

/* An operation of a group, and where its members are. */
typedef struct assay_hang_operation {
    const char *group, *description, *operation;
    int64_t number;
    bool p2p;
    assay_hang_ranks members;
    /* Of a collective: who has called it and not finished it, who else has a file (not called it, or finished it), who
     * of those has finished it, and who has no file that counts. */
    assay_hang_ranks arrived, not_arrived, finished, no_file;
    const int64_t *input_sizes, *output_sizes; /* a count of dimensions, then each; -1: none */
    size_t input_count, output_count;          /* of these numbers */
    const char *dtypes;                        /* in byte order, with commas */
    const char *frames; /* "function file:line", a line each, innermost first; "": not recorded */
    bool repeated;      /* an earlier cause is of the same one */
} assay_hang_operation;

/* How a rank is the cause of a hang. */
typedef enum assay_hang_test {
    ASSAY_HANG_ABSENT,
    ASSAY_HANG_AHEAD,
    ASSAY_HANG_BEHIND,
    ASSAY_HANG_COMPUTE,
    ASSAY_HANG_DEADLOCK,
    ASSAY_HANG_DEVICE,
    ASSAY_HANG_GROUP,
    ASSAY_HANG_LAUNCH,
    ASSAY_HANG_MISMATCH,
    ASSAY_HANG_TESTS
} assay_hang_test;
/* "absent", "ahead", ... */
const char *assay_hang_test_name(assay_hang_test test);
/* What to do about it: one sentence. */
const char *assay_hang_remedy(assay_hang_test test);

typedef struct assay_hang_cause {
    assay_hang_test test;
    int64_t rank;                         /* -1: nobody can be named, the members of a group are meant */
    assay_hang_ranks members;             /* of such a group: those who have not finished */
    assay_hang_ranks behind;              /* of them, whose host has called less than others */
    uint64_t waiting;                     /* ranks that wait for it, directly or not */
    assay_hang_ranks waited_for_by;       /* directly: the first 16 */
    size_t waiters;                       /* directly: all */
    assay_hang_operation operation;       /* that does not end because of it */
    int64_t finished_by, finished_number; /* of a device: who has finished a later operation that needs it; -1 */
    /* What the rank recorded last; operation NULL: it has no file, or no entry in it. */
    struct {
        const char *group, *description, *operation, *state, *frames;
        int64_t number;
    } last;
    const char *text; /* one sentence */
} assay_hang_cause;

typedef struct assay_hang_mismatch {
    const char *kind; /* "operation", "dtype", "size", "total" */
    assay_hang_ranks named;
    assay_hang_operation operation; /* as the first of them called it */
    const char *theirs, *others;    /* what they called, and what most others called */
    const char *text;
} assay_hang_mismatch;

typedef struct assay_hang_edge { /* who waits for whom: the first 16 of each rank */
    int64_t from, to;
    char kind; /* 'N' has not called it, 'B' stands before it, 'U' has no file, 'S' takes no message of it */
} assay_hang_edge;

typedef struct assay_hang {
    size_t files;
    assay_hang_ranks ranks, no_file, older; /* with a file that counts; without; whose file is of an earlier time */
    assay_hang_ranks left_over;             /* whose file is of an earlier attempt: without one */
    const char *const *version;
    size_t versions, groups;
    uint64_t entries, unread, pending;
    const assay_hang_cause *cause;
    size_t causes;
    const assay_hang_mismatch *mismatch;
    size_t mismatches;
    uint64_t compared; /* operations that several ranks show */
    const assay_hang_edge *edge;
    size_t edges;
} assay_hang;

struct assay_trial;
/* Whether the trial has dumps, here and now: only rank 0 has what was read of them. */
bool assay_trial_has_dumps(const struct assay_trial *trial);
/* The file of a rank's dump, below the trial, and how many of its entries were read; NULL: there is none. */
const char *assay_trial_dump_of(const struct assay_trial *trial, int64_t rank, uint64_t *entries);
/* Finds out who hung. Files whose newest entry is more than `max_age` seconds before that of most others are left out.
 * *out is NULL for a trial without dumps. 0 or ASSAY_ENOMEM. Free with assay_hang_free(). */
int assay_hang_find(const struct assay_trial *trial, double max_age, assay_hang **out, assay_error *err);
void assay_hang_free(assay_hang *hang); /* NULL is ignored */

/* Appends the members of a cause, or of a mismatch, as a finding in JSON, each with ", " in front. */
void assay_hang_put_cause(const assay_hang_cause *cause, assay_buf *out);
void assay_hang_put_mismatch(const assay_hang_mismatch *mismatch, assay_buf *out);

#ifdef __cplusplus
}
#endif
#endif
