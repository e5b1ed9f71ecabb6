/* slurm.h - Slurm through its commands: scancel, sbatch, and the state of a job by scontrol, squeue and sacct.
 *
 * It uses commands rather than Slurm's library because they exist wherever jobs can be submitted, in any version. */
#pragma once

#include <stdbool.h>

#include <assay/status.h>

enum { ASSAY_SLURM_ID = 32 }; /* room for a job's id and its terminator */

/* True for "123" and "123_4": what may be handed to a command as a job's id. */
bool assay_slurm_is_id(const char *job);

/* Cancels a job (scancel). One that has ended already is no failure. ASSAY_EUSAGE when it is no id; ASSAY_ENOTFOUND
 * without scancel; ASSAY_EIO with what scancel said, and for a job that Slurm does not know. */
int assay_slurm_cancel(const char *job, assay_error *err);

typedef struct assay_slurm_script {
    const char *script;             /* path of the batch script */
    const char *const *options;     /* of sbatch, such as "--job-name=x"; ends with NULL; NULL: none */
    const char *const *arguments;   /* of the script; ends with NULL; NULL: none */
    const char *const *environment; /* "NAME=VALUE" beside ours; ends with NULL; NULL: none */
    int keep;                       /* as assay_command's: open in sbatch, not in the job; 0: none */
} assay_slurm_script;

/* Submits a script (sbatch --parsable); job gets the new job's id. The new job sees our environment and `environment`,
 * unless the script's own --export says otherwise and `environment` is empty. *uncertain (may be NULL) tells after a
 * failure that sbatch was started and gave no answer in time: the job may be there. Errors as assay_slurm_cancel(). */
int assay_slurm_submit(const assay_slurm_script *script, char job[ASSAY_SLURM_ID], bool *uncertain, assay_error *err);

typedef enum assay_slurm_phase {
    ASSAY_SLURM_PENDING, /* waits, also for a requeue */
    ASSAY_SLURM_RUNNING, /* runs, is suspended or is completing */
    ASSAY_SLURM_ENDED,   /* will not run again */
    ASSAY_SLURM_UNKNOWN  /* Slurm does not know it (any more) */
} assay_slurm_phase;

typedef struct assay_slurm_job {
    assay_slurm_phase phase;
    char state[32];  /* Slurm's word: "RUNNING", "COMPLETED", "CANCELLED", ...; "" when unknown */
    int exit_status; /* of a job that has ended, where Slurm tells; else -1 */
    int exit_signal; /* likewise; 0: none */
    char log[512];   /* the file of its output, where scontrol tells and it fits; else "" */
} assay_slurm_job;

/* Lets a job run that was submitted with --hold (scontrol release); harmless for one that may run already. ASSAY_EIO
 * for a job that no longer waits, too. Errors as assay_slurm_cancel(). */
int assay_slurm_release(const char *job, assay_error *err);

/* What has become of a job: asked of scontrol, and of sacct for a job that scontrol has forgotten (UNKNOWN where there
 * is no accounting either, which is no failure). ASSAY_EIO also for a state that no Slurm is known to have. Errors as
 * assay_slurm_cancel(). */
int assay_slurm_state(const char *job, assay_slurm_job *out, assay_error *err);

/* The id of the newest job of this user that is called so, waiting, running or ended, or "" when there is none: after a
 * crash it tells whether the submission took place. Asked of squeue and of sacct, where there is accounting; else jobs
 * count for Slurm's MinJobAge. Errors as assay_slurm_cancel(). */
int assay_slurm_find(const char *name, char job[ASSAY_SLURM_ID], assay_error *err);

/* Cancels this user's waiting jobs that are called so, but for `keep`. Errors as assay_slurm_find(). */
int assay_slurm_cancel_waiting(const char *name, const char *keep, assay_error *err);
