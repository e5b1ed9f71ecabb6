/* comm.c - opens and closes a communicator, and dispatches its calls. */
#include "parallel/comm.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "parallel/comm_calls.h"
#include "parallel/launcher.h"

int assay_comm_open_world(int *argc, char ***argv, bool force_mpi, assay_comm **out, assay_error *err)
{
    /* calloc, not assay_alloc(): faults are armed with the rank, which is not known before this. */
    assay_comm *comm = calloc(1, sizeof *comm);
    if (!comm)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    *comm = (assay_comm){.calls = &assay_comm_serial, .size = 1, .nodes = 1, .library = "serial"};
    /* A process that a launcher started, or that asked for MPI; anything else never loads its runtime, which takes
     * longer than a small report. */
    int status = force_mpi || assay_launched() ? assay_comm_open_mpi(comm, argc, argv, err) : ASSAY_OK;
    if (status == ASSAY_OK)
        *out = comm;
    else
        assay_comm_close(comm);
    return status;
}

void assay_comm_close(assay_comm *comm)
{
    if (comm && comm->mpi)
        comm->end_mpi(comm);
    free(comm);
}

/* Written once before the handler is set. */
static volatile sig_atomic_t agreed;

static void leave(int number)
{
    _exit(agreed);
}

/* Open MPI 4.1 has been seen to abort in MPI_Finalize, on two ranks of one job at a time, while the thread of its client of
 * PMIx still runs: a report that was right ended with 134. */
void assay_comm_finish(assay_comm *comm, int code)
{
    static const int fatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE};
    const struct sigaction action = {.sa_handler = leave};
    fflush(NULL);
    agreed = code;
    /* _exit from a handler is safe, and the code that the ranks agreed on is what counts by now. */
    for (size_t i = 0; comm && comm->mpi && i < sizeof fatal / sizeof *fatal; i++)
        (void)sigaction(fatal[i], &action, NULL);
    assay_comm_close(comm);
}

int assay_comm_rank(const assay_comm *comm)
{
    return comm->rank;
}

int assay_comm_size(const assay_comm *comm)
{
    return comm->size;
}

int assay_comm_nodes(const assay_comm *comm)
{
    return comm->nodes;
}

const char *assay_comm_library(const assay_comm *comm)
{
    return comm->library;
}

void assay_comm_traffic(const assay_comm *comm, uint64_t *messages, uint64_t *bytes)
{
    *messages = comm->messages;
    *bytes = comm->bytes;
}

/* From here on one line each: comm_serial.c and comm_mpi.c do the work. */
int assay_comm_agree(assay_comm *comm, int status, assay_error *err)
{
    return comm->calls->agree(comm, status, err);
}

int assay_comm_broadcast(assay_comm *comm, assay_buf *buf)
{
    return comm->calls->broadcast(comm, buf);
}

int assay_comm_gather(assay_comm *comm, int root, const assay_buf *mine, assay_buf *all, uint64_t *starts)
{
    return comm->calls->gather(comm, root, mine, all, starts);
}

int assay_comm_gather_all(assay_comm *comm, const assay_buf *mine, assay_buf *all, uint64_t *starts)
{
    return comm->calls->gather_all(comm, mine, all, starts);
}

int assay_comm_exchange(assay_comm *comm, const assay_buf *out, assay_buf *in, uint64_t *starts)
{
    return comm->calls->exchange(comm, out, in, starts);
}

int assay_comm_send(assay_comm *comm, int to, const assay_buf *bytes)
{
    return comm->calls->send(comm, to, bytes);
}

int assay_comm_receive(assay_comm *comm, int from, assay_buf *in)
{
    return comm->calls->receive(comm, from, in);
}

int assay_comm_post(assay_comm *comm, assay_post kind, int to, const assay_buf *bytes)
{
    return comm->calls->post(comm, kind, to, bytes);
}

int assay_comm_posted(assay_comm *comm, assay_post kind)
{
    return comm->calls->posted(comm, kind);
}

int assay_comm_receive_post(assay_comm *comm, assay_post kind, int from, assay_buf *in)
{
    return comm->calls->receive_post(comm, kind, from, in);
}

int assay_comm_sum(assay_comm *comm, uint64_t *values, int count)
{
    return comm->calls->sum(comm, values, count);
}

int assay_comm_max(assay_comm *comm, uint64_t *values, int count)
{
    return comm->calls->max(comm, values, count);
}

int assay_comm_pulse(assay_comm *comm, uint64_t value)
{
    return comm->calls->pulse(comm, value);
}

int assay_comm_pulse_take(assay_comm *comm, bool wait, int *from, uint64_t *value)
{
    return comm->calls->pulse_take(comm, wait, from, value);
}

int assay_comm_note(assay_comm *comm, int to, uint64_t value)
{
    return comm->calls->note(comm, to, value);
}

int assay_comm_note_take(assay_comm *comm, uint64_t *value)
{
    return comm->calls->note_take(comm, value);
}
