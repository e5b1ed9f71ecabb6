/* launcher.h - did a launcher start this process as one of several? The environment tells. */
#pragma once

#include <stdbool.h>

/* Did mpirun, mpiexec, srun or the like start this process? Ask before MPI is started, which may set the same
 * variables. */
bool assay_launched(void);
/* The rank that the launcher gave it, as text; NULL where it gave none. The first call's answer stays. */
const char *assay_launched_rank(void);
