/* comm_no_mpi.c - builds without MPI have one rank. */
#include "parallel/comm_calls.h"

const char *assay_comm_mpi_version(void)
{
    return NULL;
}

/* Called for launched processes too: without MPI each of them is a world of its own. */
int assay_comm_open_mpi(assay_comm *comm, int *argc, char ***argv, assay_error *err)
{
    return ASSAY_OK;
}
