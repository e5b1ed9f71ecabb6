/* finishing.c - see finishing.h. */
#include "hdf5/finishing.h"

#include <signal.h>
#include <unistd.h>

#include "base/log.h"
#include "parallel/comm_mpi.h"

enum {
    LAST_PATIENCE = 600, /* seconds: more than any working disk needs */
    EXIT_CODE = 4        /* of a run that could not write: docs/design.md */
};

/* What is finished; comm NULL: nothing. */
static struct {
    assay_comm *comm;
    const char *path, *temporary;
} finishing;

void assay_finishing_give_up(assay_comm *comm, const char *temporary, const assay_error *why)
{
    assay_log_init(assay_comm_rank(comm));
    assay_log_quiet();
    assay_log_all_ranks(true); /* whichever rank it is, it speaks */
    assay_log_error("%s", why->text);
    unlink(temporary);
    assay_comm_abort(comm, EXIT_CODE);
}

/* MPI calls it on the rank whose call failed. Outside of finishing the failure is one of the call, which tells. */
static void on_file_error(MPI_File *file, int *code, ...)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    assay_error why;
    if (!finishing.comm)
        return;
    MPI_Error_string(*code, text, &length);
    assay_fail(&why, ASSAY_EIO, "%s: cannot write the end of the file (MPI says: %.200s); is the disk full?",
               finishing.path, text);
    assay_finishing_give_up(finishing.comm, finishing.temporary, &why);
}

/* A failure that MPI does not tell leaves ranks there for ever. */
static void on_time(int number)
{
    assay_error why;
    if (!finishing.comm)
        return;
    assay_fail(&why, ASSAY_EIO, "%s: writing the end of the file did not come back within %d s: is the disk full?",
               finishing.path, LAST_PATIENCE);
    assay_finishing_give_up(finishing.comm, finishing.temporary, &why);
}

void assay_finishing_watch(void)
{
    static MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    if (handler == MPI_ERRHANDLER_NULL && MPI_File_create_errhandler(on_file_error, &handler) != MPI_SUCCESS)
        return;
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
}

void assay_finishing_begin(assay_comm *comm, const char *path, const char *temporary)
{
    struct sigaction alarmed = {.sa_handler = on_time};
    if (assay_comm_size(comm) == 1)
        return;
    finishing.path = path;
    finishing.temporary = temporary;
    finishing.comm = comm;
    if (sigaction(SIGALRM, &alarmed, NULL) == 0)
        alarm(LAST_PATIENCE);
}

void assay_finishing_end(void)
{
    if (finishing.comm)
        alarm(0);
    finishing.comm = NULL;
}
