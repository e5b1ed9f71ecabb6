/* finishing.h - the end of a run whose ranks wait for each other within HDF5: while a file is finished, a rank whose
 * write fails does not come back from there. */
#pragma once

#include "parallel/comm.h"

/* Watches calls of files that MPI opens from now on. Not collective. */
void assay_finishing_watch(void);

/* HDF5 begins to write all that it holds back of a file. Where a rank fails, or nothing comes back within ten minutes,
 * the file (`temporary`) is removed and all ranks end with exit code 4, after a message that names `path`. Nothing is
 * done where there is one rank. Not collective. */
void assay_finishing_begin(assay_comm *comm, const char *path, const char *temporary);
void assay_finishing_end(void);

/* Does so at once: the others wait for this rank, which failed. Not collective. */
_Noreturn void assay_finishing_give_up(assay_comm *comm, const char *temporary, const assay_error *why);
