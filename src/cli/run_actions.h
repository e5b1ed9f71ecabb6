/* run_actions.h - runs the actions of a job, for the commands that make a report. */
#pragma once

#include "action/actions.h"

typedef struct run_actions {
    bool none, show; /* of the command line */
    bool dry_run;
    assay_actions *actions; /* rank 0's; NULL: nothing to do */
} run_actions;

#define RUN_NO_ACTIONS_HELP   "Run none of the job's actions."
#define RUN_SHOW_ACTIONS_HELP "Only print on standard error what the job's actions would do and send."

/* Rank 0 parses the job's actions and fetches their secrets, before any work; `directory` is the report's. A failure is
 * everyone's. Collective. */
int run_actions_begin(run_actions *run, assay_comm *comm, const assay_job *job, const char *directory, bool dry_run,
                      assay_error *err);
/* Runs what is due on findings, as often as there is a new outcome. For rank 0; nothing elsewhere. Not collective. */
void run_actions_seen(const run_actions *run, const assay_outcome *outcome);
/* Runs what is due on findings and at the end, when the run has ended with that exit code and the report is written;
 * after a failure nothing, and a dry run lists the actions on standard output. The exit code stands, whatever comes of
 * the actions. For rank 0; nothing elsewhere. Not collective. */
void run_actions_end(const run_actions *run, const assay_report *report, int code);
void run_actions_release(run_actions *run);
