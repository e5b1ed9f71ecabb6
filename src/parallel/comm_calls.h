/* comm_calls.h - the calls behind assay_comm that differ with and without MPI. Inside parallel only. */
#pragma once

#include "parallel/comm.h"

/* Each as the function of comm.h that is named after it. */
typedef struct assay_comm_calls {
    int (*agree)(assay_comm *comm, int status, assay_error *err);
    int (*broadcast)(assay_comm *comm, assay_buf *buf);
    int (*gather)(assay_comm *comm, int root, const assay_buf *mine, assay_buf *all, uint64_t *starts);
    int (*gather_all)(assay_comm *comm, const assay_buf *mine, assay_buf *all, uint64_t *starts);
    int (*exchange)(assay_comm *comm, const assay_buf *out, assay_buf *in, uint64_t *starts);
    int (*send)(assay_comm *comm, int to, const assay_buf *bytes);
    int (*receive)(assay_comm *comm, int from, assay_buf *in);
    int (*post)(assay_comm *comm, assay_post kind, int to, const assay_buf *bytes);
    int (*posted)(assay_comm *comm, assay_post kind);
    int (*receive_post)(assay_comm *comm, assay_post kind, int from, assay_buf *in);
    int (*sum)(assay_comm *comm, uint64_t *values, int count);
    int (*max)(assay_comm *comm, uint64_t *values, int count);
    int (*pulse)(assay_comm *comm, uint64_t value);
    int (*pulse_take)(assay_comm *comm, bool wait, int *from, uint64_t *value);
    int (*note)(assay_comm *comm, int to, uint64_t value);
    int (*note_take)(assay_comm *comm, uint64_t *value);
} assay_comm_calls;

struct assay_comm {
    const assay_comm_calls *calls;
    int rank, size, nodes;
    uint64_t messages, bytes;
    char library[64];
    void *mpi;                     /* of comm_mpi.c; NULL as long as MPI was not started */
    void (*end_mpi)(assay_comm *); /* set with mpi */
};

/* One rank. */
extern const assay_comm_calls assay_comm_serial;

/* Starts MPI and makes the communicator one of all ranks. In builds without MPI it stays one of one rank. Collective on
 * MPI_COMM_WORLD. */
int assay_comm_open_mpi(assay_comm *comm, int *argc, char ***argv, assay_error *err);
