/* abort_at_end.c - preloaded: the ranks of Open MPI that ASSAY_ABORT_RANK names ("all", or one) abort at their end, before
 * MPI_Finalize has told the launcher of it, or behind it (ASSAY_ABORT_BEHIND). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

int MPI_Finalize(void);

int MPI_Finalize(void)
{
    const char *own = getenv("OMPI_COMM_WORLD_RANK"), *who = getenv("ASSAY_ABORT_RANK");
    const int aborts = own && who && (strcmp(who, "all") == 0 || strcmp(who, own) == 0);
    int (*next)(void);
    *(void **)&next = dlsym(RTLD_NEXT, "MPI_Finalize");
    if (aborts && !getenv("ASSAY_ABORT_BEHIND"))
        abort();
    const int status = next();
    if (aborts)
        abort();
    return status;
}
