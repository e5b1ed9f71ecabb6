/* launcher.c - variables by which launchers tell a process its rank. With a launcher that is missing here, each process
 * would run alone: list too many rather than too few. */
#include "parallel/launcher.h"

#include <stdio.h>
#include <stdlib.h>

enum { RANK_ROOM = 24 };

/* Those of a rank come first. */
static const char *const NAMES[] = {
    "OMPI_COMM_WORLD_RANK", /* Open MPI */
    "PMIX_RANK",            /* PMIx: Open MPI 5, prte, srun --mpi=pmix */
    "PMI_RANK",             /* PMI-1 and PMI-2: MPICH, Intel MPI, srun --mpi=pmi2, Flux */
    "PALS_RANKID",          /* HPE Cray */
    "MV2_COMM_WORLD_RANK",  /* MVAPICH2 */
    "MPIRUN_RANK",          /* MVAPICH */
    "JSM_NAMESPACE_RANK",   /* jsrun */
    "FLUX_TASK_RANK",
};
/* Without ranks in them, or of a launcher that sets no rank: they say only that there is one. */
static const char *const OTHERS[] = {
    "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE", "PMI_SIZE",      "PMI_FD", "PMI_PORT", "PMI_CONTROL_PORT", "PMI_JOBID",
    "MPI_LOCALRANKID",      "ALPS_APP_PE",    "SLURM_STEP_ID", /* a step of srun; a batch script is none, though it has
                                                                  the other SLURM_ variables */
    "SLURM_STEPID",
};
enum { NAME_COUNT = sizeof NAMES / sizeof *NAMES, OTHER_COUNT = sizeof OTHERS / sizeof *OTHERS };

static const char *value_of(const char *name)
{
    const char *value = getenv(name);
    /* An empty variable is as good as none: batch scripts clear them so. */
    return value && *value ? value : NULL;
}

bool assay_launched(void)
{
    bool found = false;
    for (int i = 0; i < NAME_COUNT; i++)
        found = found || value_of(NAMES[i]);
    for (int i = 0; i < OTHER_COUNT; i++)
        found = found || value_of(OTHERS[i]);
    return found;
}

/* The environment may change later, when a hook of a scheduler runs: what was found first stays. */
const char *assay_launched_rank(void)
{
    static char rank[RANK_ROOM];
    static bool looked;
    for (int i = 0; !looked && !rank[0] && i < NAME_COUNT; i++) {
        const char *said = value_of(NAMES[i]);
        snprintf(rank, sizeof rank, "%s", said ? said : "");
    }
    looked = true;
    return rank[0] ? rank : NULL;
}
