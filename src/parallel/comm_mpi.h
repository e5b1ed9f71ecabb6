/* comm_mpi.h - the MPI handle behind an assay_comm, for the collective HDF5 writer. Only in builds with MPI. */
#ifndef ASSAY_PARALLEL_COMM_MPI_H
#define ASSAY_PARALLEL_COMM_MPI_H

#include <mpi.h>

#include "parallel/comm.h"

/* Still the communicator's own: neither freed nor kept. Not collective. */
MPI_Comm assay_comm_handle(const assay_comm *comm);

#endif
