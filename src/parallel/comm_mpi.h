/* comm_mpi.h - the MPI handle behind an assay_comm, for the collective HDF5 writer. Only in builds with MPI. */
#pragma once

#include <mpi.h>

#include "parallel/comm.h"

/* The handle is still the communicator's own: neither freed nor kept. Starts MPI where there is one rank that had no
 * need of it so far. ASSAY_EMPI, ASSAY_ENOMEM. Collective. */
int assay_comm_handle(assay_comm *comm, MPI_Comm *out, assay_error *err);

/* Waits until all ranks are here, at most so many seconds (0: for ever). False when they did not come: for a rank that
 * failed within a library that keeps the others waiting for it. Collective. */
bool assay_comm_meet(assay_comm *comm, double seconds);
/* Ends all ranks at once with an exit code. Not collective. */
_Noreturn void assay_comm_abort(assay_comm *comm, int code);
