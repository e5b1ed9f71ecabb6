/* run_checkpoint.h - the checkpoint options of `assay run`, and what they do before and after the engine. */
#pragma once

#include "engine/engine.h"

typedef struct run_checkpoint {
    const char *file; /* NULL: the run writes none */
    double minutes;   /* between two of them; 0: only when asked to stop */
    bool resume;
    char job_digest[65];
} run_checkpoint;

#define RUN_CHECKPOINT_HELP                                                                                            \
    "On SIGUSR1 or SIGTERM write the results so far to this file, and exit with 75. It is removed once the report is " \
    "written."
#define RUN_CHECKPOINT_EVERY_HELP "Also write the checkpoint every so many minutes, and continue."
#define RUN_RESUME_HELP                                                                                                \
    "Continue from the checkpoint, at any number of ranks; start from the beginning if there is none."
