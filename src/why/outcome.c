/* outcome.c - how the jobs of trials failed, as their outputs say it, for who runs rules over the trials. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "report/text/layout.h"
#include "why/internal.h"

enum { NAMED = 3 };

/* Lists places of some kinds, the first by their names: "stderr.log, stdout.log and 2 more". How many there are. */
static uint64_t put_places(const assay_why *why, bool outputs, assay_buf *out)
{
    uint64_t count = 0;
    for (size_t i = 0; i < why->places.list.count; i++) {
        const why_place *p = &why->places.list.list[i];
        if (p->kind == WHY_SLURM || (p->kind == WHY_OUTPUT) != outputs || !p->path[0])
            continue;
        if (count++ >= NAMED)
            continue;
        assay_put_format(out, count > 1 ? ", " : "");
        assay_put_bytes(out, p->path, strlen(p->path));
        if (!outputs)
            assay_put_format(out, " (%s)", why_kind_name(p->kind));
    }
    if (count > NAMED)
        assay_put_format(out, " and %" PRIu64 " more", count - NAMED);
    return count;
}

/* What was looked at, and what lies there that was not, or that this trial may not cover. */
static char *describe(const assay_why *why, const assay_trial_outcome *trial)
{
    assay_buf text = ASSAY_BUF(1 << 20), others = ASSAY_BUF(1 << 20);
    const bool opened = trial->status == ASSAY_OK;
    assay_put_format(&text, "Looked at: %" PRIu64 " output%s of the job (", why->outputs, assay_plural(why->outputs));
    put_places(why, true, &text);
    assay_put_format(&text, opened ? ") and the trial itself." : "). No trial was read.");
    if (put_places(why, false, &others) > 0) {
        assay_put_format(&text, opened ? " Below it lie also " : " Not looked at: ");
        assay_put_bytes(&text, others.data, others.size);
        assay_put_format(&text, opened ? ", which may not be part of it." : ".");
    }
    if (why->problem.count > 0)
        assay_put_format(&text, " Not readable: %s.", why->problem.list[0]);
    assay_put_format(&text, " `assay why %s` looks at all of it together.", why->directory);
    assay_put_u8(&text, 0);
    char *made = assay_buf_status(&text) == ASSAY_OK ? assay_copy_text((const char *)text.data) : NULL;
    assay_buf_release(&text);
    assay_buf_release(&others);
    return made;
}

static int take_end(const assay_why *why, assay_trial_outcome *trial)
{
    /* what last words may mean is an answer to who asks why, and no verdict on a job that may have gone well */
    if (!why->failed || why->by_words)
        return ASSAY_OK;
    trial->job_end = assay_copy_text(why->answer);
    trial->job_seen = describe(why, trial);
    return trial->job_end && trial->job_seen ? ASSAY_OK : ASSAY_ENOMEM;
}

/* On rank 0: the trials to ask about, by number and path. */
static int list_jobs(const assay_outcome *outcome, assay_buf *out)
{
    for (size_t i = 0; i < outcome->trial_count; i++) {
        const assay_trial_outcome *trial = &outcome->trials[i];
        const char *path = trial->trial->path;
        if (trial->status == ASSAY_OK ? !why_may_have_outputs(path) : !assay_why_is_job(path))
            continue;
        assay_put_u64(out, i);
        assay_put_text(out, path);
    }
    return assay_buf_status(out);
}

int assay_why_outcome(assay_comm *comm, assay_outcome *outcome, const assay_engine_options *engine, assay_error *err)
{
    const bool first = assay_comm_rank(comm) == 0;
    const assay_why_options options = {.memory = engine->memory, .outputs_only = true};
    assay_buf jobs = ASSAY_BUF(SIZE_MAX / 4);
    int status = assay_comm_agree(comm, first ? list_jobs(outcome, &jobs) : ASSAY_OK, err);
    ASSAY_THEN(status, assay_comm_broadcast(comm, &jobs));
    assay_cursor in = assay_cursor_over(jobs.data, jobs.size);
    while (status == ASSAY_OK && assay_cursor_left(&in) > 0) {
        const uint64_t number = assay_get_u64(&in);
        char *path = assay_get_copy(&in);
        assay_why *why = NULL;
        status = assay_comm_agree(
            comm, path ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "out of memory for the outputs of jobs"), err);
        ASSAY_THEN(status, assay_why_run(comm, path, &options, &why, err));
        if (status == ASSAY_EJOB || status == ASSAY_ENOTFOUND) /* a job.json of somebody else; gone */
            status = ASSAY_OK;
        int taken = why && first ? take_end(why, &outcome->trials[number]) : ASSAY_OK;
        if (taken != ASSAY_OK)
            assay_fail(err, taken, "%s: out of memory for the outputs of its job", path);
        ASSAY_THEN(status, assay_comm_agree(comm, taken, err));
        assay_why_free(why);
        free(path);
    }
    assay_buf_release(&jobs);
    return status;
}
