/* run_actions.c - see run_actions.h. */
#include "cli/run_actions.h"

#include "base/log.h"
#include "cli/cli.h"

int run_actions_begin(run_actions *run, assay_comm *comm, const assay_job *job, const char *directory, bool dry_run,
                      assay_error *err)
{
    int status = ASSAY_OK;
    run->dry_run = dry_run;
    if (assay_comm_rank(comm) == 0) {
        status = assay_actions_parse(job, &run->actions, err);
        if (run->none && (status == ASSAY_OK || status == ASSAY_EUNSUPPORTED)) {
            run_actions_release(run);
            status = ASSAY_OK;
        }
        ASSAY_THEN(status, assay_actions_prepare(run->actions, directory,
                                                 run->show ? ASSAY_ACTIONS_SHOW : ASSAY_ACTIONS_DO, err));
    }
    return assay_comm_agree(comm, status, err);
}

void run_actions_seen(const run_actions *run, const assay_outcome *outcome)
{
    if (!run->dry_run)
        assay_actions_findings(run->actions, outcome);
}

void run_actions_end(const run_actions *run, const assay_report *report, int code)
{
    assay_buf list;
    bool reported = code == CLI_DONE || code == CLI_FINDINGS || code == CLI_LOSSES;
    if (!run->actions)
        return;
    if (!reported) {
        assay_log_warn("no action was run: there is no complete report");
    } else if (!run->dry_run) {
        assay_actions_findings(run->actions, report->outcome);
        assay_actions_end(run->actions, report, code);
    } else {
        assay_buf_init(&list, 1 << 20);
        (void)assay_actions_put_list(run->actions, &list);
        (void)cli_finish(&list, code);
    }
}

void run_actions_release(run_actions *run)
{
    assay_actions_free(run->actions);
    run->actions = NULL;
}
