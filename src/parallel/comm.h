/* comm.h - the ranks. Behind it are comm_mpi.c, and comm_serial.c where there is one rank and no launcher, or no MPI.
 *
 * The contract (docs/mpi.md): between two collective calls nobody returns early. Work, keep the status, call
 * assay_comm_agree(), then all return alike. Messages may be larger than 2 GiB. Every function is collective on the
 * communicator unless it says otherwise, and fails with ASSAY_EMPI on every rank alike, or ASSAY_ENOMEM. */
#pragma once

#include <stdbool.h>

#include <assay/pack.h>
#include <assay/status.h>

typedef struct assay_comm assay_comm;

/* Opens a duplicate of MPI_COMM_WORLD; only main calls it. Where no launcher started this process (launcher.h), and
 * nobody forces it, there is one rank and MPI is not started, which would take most of the time of a short run. */
int assay_comm_open_world(int *argc, char ***argv, bool force_mpi, assay_comm **out, assay_error *err);
/* Closes it and ends MPI if it was started for it. */
void assay_comm_close(assay_comm *comm);
/* Likewise at the end of the program, whose exit code the ranks have agreed on: where MPI crashes while it ends, the
 * process ends with that code all the same. Flushes the streams before. */
void assay_comm_finish(assay_comm *comm, int code);

int assay_comm_rank(const assay_comm *comm);  /* not collective */
int assay_comm_size(const assay_comm *comm);  /* not collective */
int assay_comm_nodes(const assay_comm *comm); /* hosts; not collective, known since opening */
const char *assay_comm_mpi_version(void); /* of the MPI that is linked, started or not; NULL: none; not collective */
const char *assay_comm_library(const assay_comm *comm); /* "Open MPI 4.1.4"; "serial" without MPI; not collective */

/* The common fate: returns the status of the lowest rank that failed, on every rank, with that rank's text in *err;
 * ASSAY_OK when none did. */
int assay_comm_agree(assay_comm *comm, int status, assay_error *err);

/* Rank 0's buffer to everyone: replaces the others' contents. */
int assay_comm_broadcast(assay_comm *comm, assay_buf *buf);
/* Every rank's buffer to rank `root`, joined in rank order; starts[r] is where rank r's bytes begin, starts[size] the
 * end (room for size + 1, filled on the root only). */
int assay_comm_gather(assay_comm *comm, int root, const assay_buf *mine, assay_buf *all, uint64_t *starts);
/* Every rank's buffer to everyone. */
int assay_comm_gather_all(assay_comm *comm, const assay_buf *mine, assay_buf *all, uint64_t *starts);
/* out[r] goes to rank r; in gets what came, in rank order; starts as in gather, filled on every rank. */
int assay_comm_exchange(assay_comm *comm, const assay_buf *out, assay_buf *in, uint64_t *starts);

/* Not collective: point to point, used in matched pairs by the ordered reduction and the scan over ranks. The bytes are
 * appended to `in`, or lost when it cannot grow (its status tells); the message is consumed either way. */
int assay_comm_send(assay_comm *comm, int to, const assay_buf *bytes);
int assay_comm_receive(assay_comm *comm, int from, assay_buf *in);

/* A message that its sender does not wait for: it goes on with its work until the receiver has time. A rank may have
 * one such message of each kind on its way, of at most ASSAY_COMM_POST_MOST bytes, which stay untouched until
 * assay_comm_posted() says 1. posted, which never waits: 1 when nothing of the kind is on its way (any more), 0 when
 * something is, or ASSAY_EMPI. receive_post waits for the message of rank `from` and appends it as assay_comm_receive()
 * does; each has to be received. Other calls may come between. Not collective. */
enum { ASSAY_COMM_POST_MOST = 1 << 30 };
typedef enum assay_post {
    ASSAY_POST_SHARED, /* records of a step that the plan shares */
    ASSAY_POST_MOVED,  /* steps that moved */
    ASSAY_POSTS
} assay_post;
int assay_comm_post(assay_comm *comm, assay_post kind, int to, const assay_buf *bytes);
int assay_comm_posted(assay_comm *comm, assay_post kind);
int assay_comm_receive_post(assay_comm *comm, assay_post kind, int from, assay_buf *in);

/* Sums, and the largest, of `count` numbers over the ranks, to every rank. */
int assay_comm_sum(assay_comm *comm, uint64_t *values, int count);
int assay_comm_max(assay_comm *comm, uint64_t *values, int count);

/* Progress: a number from this rank (not 0) to rank 0, and on rank 0 the next such number of any rank. take returns 1
 * with *from and *value, 0 when there is none and `wait` is false, or ASSAY_EMPI. Every pulse must be taken. Not
 * collective. */
int assay_comm_pulse(assay_comm *comm, uint64_t value);
int assay_comm_pulse_take(assay_comm *comm, bool wait, int *from, uint64_t *value);

/* A word (not 0) from this rank to any other, and the next such word that came here. note_take returns 1 with *value, 0
 * when there is none, or ASSAY_EMPI; it never waits. Words of one rank arrive in order, and every one must be taken.
 * Not collective. */
int assay_comm_note(assay_comm *comm, int to, uint64_t value);
int assay_comm_note_take(assay_comm *comm, uint64_t *value);

/* Messages and bytes that this rank sent so far. Not collective. */
void assay_comm_traffic(const assay_comm *comm, uint64_t *messages, uint64_t *bytes);
