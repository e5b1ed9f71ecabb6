/* run_checkpoint.h - the checkpoint options of `assay run`, and what they do before and after the engine. */
#ifndef ASSAY_CLI_RUN_CHECKPOINT_H
#define ASSAY_CLI_RUN_CHECKPOINT_H

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

/* Checks the options, tells the engine of them, and from then on takes signals as wishes to stop. `text` is the job
 * file's. ASSAY_EUSAGE when options contradict each other. The same on every rank. */
int run_checkpoint_begin(run_checkpoint *checkpoint, const assay_job *job, const assay_buf *text,
                         assay_engine_options *engine, assay_error *err);
/* Says why there is no outcome; the exit code. The same on every rank. */
int run_checkpoint_fail(int status, const assay_error *err);
/* On rank 0, when the run has ended with that exit code: a checkpoint that has served its purpose is removed. */
void run_checkpoint_end(const run_checkpoint *checkpoint, int code);

#endif
