/* watch.c - assay watch: follows the trials of a job while they are written, prints findings as they come, and ends
 * with the report of an ordinary run.
 *
 * Rank 0 looks at the trials and calls the others; between two looks all ranks sleep. */
#include <signal.h>
#include <string.h>

#include "base/activity.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/run.h"
#include "cli/run_operands.h"
#include "cli/watch_findings.h"
#include "parallel/interrupt.h"
#include "report/text/layout.h"
#include "s3/s3.h"
#include "watch/watch.h"

typedef struct watch_options {
    run_options run; /* first: the shared rows of the table count on it */
    double every, idle, lag;
    int until; /* as run.fail_on */
} watch_options;

#define FIELD(name) offsetof(watch_options, name)
static const assay_setting OPTIONS[] = {
    RUN_SHARED_OPTIONS,
    {"every", ASSAY_SETTING_REAL, FIELD(every), "SECONDS", "Seconds between two looks at the trials. Default: 1."},
    {"lag", ASSAY_SETTING_REAL, FIELD(lag), "SECONDS",
     "How long a step waits for workers that have not written it. It is then evaluated without them, and again when "
     "they come. Default: 60."},
    {"idle", ASSAY_SETTING_REAL, FIELD(idle), "SECONDS",
     "End when nothing has been written for this long; 0: never. Default: 3600."},
    {"until-finding", ASSAY_SETTING_WORD, FIELD(until), "LEVEL",
     "End at the first finding of a rule of at least this severity, and exit with 1: never, info, warning, error. "
     "Default: never.",
     "never|info|warning|error"},
    {0}};

typedef struct follower {
    const cli_context *context;
    const watch_options *options;
    const assay_job *job;
    assay_watch *watch;
    watch_findings findings; /* rank 0 */
    double last_change;
    uint64_t evaluations, bytes_read, steps;
    bool looked; /* at least once */
} follower;

/* Rank 0: looks until there is something to do for all. */
static int look(follower *f, assay_watch_call *call, assay_error *err)
{
    for (;;) {
        assay_watch_sight sight;
        bool signalled = assay_interrupt_wished();
        double now = assay_clock_seconds();
        uint64_t lists = assay_s3_count().lists;
        int status = assay_watch_look(f->watch, now, &sight, err);
        if (status != ASSAY_OK)
            return status;
        if (!f->looked && assay_s3_count().lists > lists)
            assay_log_note(
                "looking at S3 every %g seconds is at most about %.0f requests an hour; --every changes that",
                f->options->every, 3600 / f->options->every * (double)(assay_s3_count().lists - lists));
        f->looked = true;
        if (sight.changed)
            f->last_change = now;
        f->steps = sight.steps;
        bool idle = f->options->idle > 0 && now - f->last_change >= f->options->idle;
        bool found = f->options->until != RUN_FAIL_NEVER && f->findings.severe > 0;
        *call = sight.ended || idle || found || signalled ? ASSAY_WATCH_FINISH : ASSAY_WATCH_EVALUATE;
        if (idle && !sight.ended)
            assay_log_note("nothing was written for %g s: the report covers what is there", f->options->idle);
        if (*call == ASSAY_WATCH_FINISH || sight.due)
            return ASSAY_OK;
        status = assay_watch_sleep(f->watch, f->options->every, &signalled);
        if (status != ASSAY_OK)
            return assay_fail(err, status, "MPI failed while the ranks waited");
        if (signalled) {
            *call = ASSAY_WATCH_FINISH;
            return ASSAY_OK;
        }
    }
}

/* What all ranks do next. Rank 0's failure is everyone's. Collective. */
static int agree_on_call(follower *f, assay_watch_call *call, assay_error *err)
{
    int status;
    if (assay_comm_rank(f->context->comm) == 0) {
        status = look(f, call, err);
        *call = status == ASSAY_OK ? *call : ASSAY_WATCH_FAIL;
        int told = assay_watch_tell(f->watch, *call);
        status = status == ASSAY_OK ? told : status;
    } else {
        status = assay_watch_hear(f->watch, call);
    }
    return assay_comm_agree(f->context->comm, status, err);
}

static int see(void *context, const assay_outcome *outcome, assay_error *err)
{
    return watch_findings_tell(context, outcome, err);
}

/* Collective. */
static int evaluate(follower *f, assay_error *err)
{
    assay_outcome outcome = {0};
    assay_engine_options engine = run_engine_options(&f->options->run, f->job);
    engine.progress = 0;
    engine.view = assay_watch_view(f->watch);
    int status = assay_engine_run(f->context->comm, f->job, &engine, &outcome, err);
    if (status != ASSAY_OK)
        return status;
    if (assay_comm_rank(f->context->comm) == 0)
        status = watch_findings_tell(&f->findings, &outcome, err);
    if (status == ASSAY_OK)
        run_actions_seen(&f->options->run.actions, &outcome);
    f->evaluations++;
    f->bytes_read += outcome.run.bytes_read;
    assay_outcome_release(&outcome);
    return assay_comm_agree(f->context->comm, status, err);
}

static void note_figures(const follower *f)
{
    assay_buf size;
    assay_buf_init(&size, 64);
    assay_text_put_bytes(&size, f->bytes_read);
    assay_log_note("watched: %llu step%s in %llu evaluation%s, which read %.*s of records; the report reads them once "
                   "more",
                   (unsigned long long)f->steps, assay_plural(f->steps), (unsigned long long)f->evaluations,
                   assay_plural(f->evaluations), (int)size.size, size.data ? (const char *)size.data : "");
    assay_buf_release(&size);
}

/* Until it is time for the report. Collective. */
static int follow(follower *f, assay_error *err)
{
    assay_watch_call call = ASSAY_WATCH_EVALUATE;
    int status = ASSAY_OK;
    f->last_change = assay_clock_seconds();
    assay_interrupt_listen();
    assay_interrupt_listen_to(SIGINT);
    while (status == ASSAY_OK && call == ASSAY_WATCH_EVALUATE) {
        status = agree_on_call(f, &call, err);
        if (status == ASSAY_OK && call == ASSAY_WATCH_EVALUATE)
            status = evaluate(f, err);
    }
    if (status == ASSAY_OK)
        status = assay_watch_close(f->watch);
    assay_interrupt_listen_once(); /* one that is under way to this rank is answered by the report, too */
    if (status == ASSAY_OK && f->evaluations > 0)
        note_figures(f);
    return status;
}

static int watch_job(const cli_context *context, watch_options *options, const assay_job *job, const assay_buf *text)
{
    assay_error err = {""};
    follower f = {.context = context, .options = options, .job = job};
    int status = watch_findings_init(&f.findings, options->until - 1);
    int made = assay_watch_new(context->comm, job, options->lag, &f.watch);
    status = assay_comm_agree(context->comm, status == ASSAY_OK ? made : status, &err);
    if (status == ASSAY_OK)
        status = follow(&f, &err);
    assay_watch_free(f.watch);
    options->run.witness = (run_witness){&f.findings, see};
    int code = status == ASSAY_OK ? run_job(context, &options->run, job, text) : cli_fail(status, &err);
    watch_findings_release(&f.findings);
    return code;
}

static int watch(const cli_context *context, int argc, char **argv)
{
    static const char *operand[RUN_OPERANDS_MOST];
    const char *path = NULL;
    size_t operands = 0;
    assay_error err = {""};
    assay_job job = {0};
    assay_buf text;
    assay_buf_init(&text, CLI_JOB_CEILING);
    watch_options options = {.run = RUN_DEFAULTS, .every = 1, .idle = 3600, .lag = 60};
    assay_activity_show(false); /* it reads on and on, and says itself what comes */
    int status = cli_options_parse(&cli_watch, argc, argv, &options, operand, &operands, &err);
    if (status == ASSAY_OK && options.every < 0.01)
        status = assay_fail(&err, ASSAY_EUSAGE, "watch: --every: at least 0.01 seconds");
    status = run_take_operands(context, status, operand, operands, &options.run, &path, &err);
    if (options.run.fail_on == RUN_FAIL_NEVER)
        options.run.fail_on = options.until;
    status = run_load_job(context, status, path, &options.run, &text, &job, &err);
    int code = status == ASSAY_OK ? watch_job(context, &options, &job, &text) : cli_fail(status, &err);
    run_actions_release(&options.run.actions);
    assay_buf_release(&text);
    assay_job_release(&job);
    cli_options_release(&cli_watch, &options);
    return code;
}

const cli_command cli_watch = {"watch",
                               "[JOB] [TRIAL...]",
                               "Follows the trials of a job, or those given here, while they are written, prints "
                               "findings as they come, and ends with the report. Without a job file it uses the "
                               "built-in rules.",
                               OPTIONS,
                               0,
                               RUN_OPERANDS_MOST,
                               true,
                               watch,
                               true};
