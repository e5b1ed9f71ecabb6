/* slurm_answer.h - reads the output of Slurm's commands. What it does not understand is reported, and never taken for
 * the end of a job. All texts are terminated. Inside action only. */
#pragma once

#include "action/slurm.h"

/* sbatch --parsable: the first line up to its end or a ';' (behind it stands the cluster). False when that is no id;
 * then job is untouched. */
bool slurm_answer_submitted(const char *text, char job[ASSAY_SLURM_ID]);

/* scontrol -o show job: the fields JobState and ExitCode. `job` is for the message. ASSAY_EIO without a state, or with
 * one that no Slurm is known to have. */
int slurm_answer_shown(const char *line, const char *job, assay_slurm_job *out, assay_error *err);

/* sacct -P -o State,ExitCode: "CANCELLED by 0|0:15". Errors likewise. */
int slurm_answer_accounted(const char *line, const char *job, assay_slurm_job *out, assay_error *err);

/* squeue --format=%A and sacct -o JobID: the largest number among the lines, when it is larger than that in `job`; else
 * `job` stays as it is. */
void slurm_answer_newest(const char *lines, char job[ASSAY_SLURM_ID]);

/* The same lines one by one: job gets the digits that the first one begins with, "" when there are none. Returns the
 * next line, or the end. */
const char *slurm_answer_next(const char *lines, char job[ASSAY_SLURM_ID]);
