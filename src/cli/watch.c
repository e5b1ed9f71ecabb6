/* watch.c - assay watch: follows the trials of a job while they are written, prints findings as they come, and ends
 * with the report of an ordinary run.
 *
 * Rank 0 looks at the trials and calls the others; between two looks all ranks sleep. */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

#include "base/activity.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/run.h"
#include "cli/run_operands.h"
#include "cli/watch_tell.h"
#include "engine/engine.h"
#include "parallel/interrupt.h"
#include "report/model/report_model.h"
#include "report/report.h"
#include "report/text/layout.h"
#include "s3/s3.h"
#include "watch/watch.h"

/* ---- watch ---- */

typedef struct watch_options {
    run_options run; /* first: the shared rows of the table count on it */
    double every, idle, lag, report_every;
    int until; /* as run.fail_on */
    bool findings;
    const char *metrics;
} watch_options;

/* Between two reports of what is known so far, where a page is among the forms: somebody looks at it. */
static const double PAGE_SECONDS = 60;

#define FIELD(name) offsetof(watch_options, name)
static const assay_setting OPTIONS[] = {
    RUN_SHARED_OPTIONS,
    {"every", ASSAY_SETTING_REAL, FIELD(every), "SECONDS", "Seconds between two looks at the trials.", .least = 0.01,
     .most = 1e9, .initial = "1"},
    {"lag", ASSAY_SETTING_REAL, FIELD(lag), "SECONDS",
     "How long a step waits for workers that have not written it. It is then evaluated without them, and again when "
     "they come.",
     .initial = "60"},
    {"idle", ASSAY_SETTING_REAL, FIELD(idle), "SECONDS", "End when nothing has been written for this long; 0: never.",
     .initial = "3600"},
    {"until-finding", ASSAY_SETTING_WORD, FIELD(until), "LEVEL",
     "End at the first finding of a rule of at least this severity, and exit with 1: never, info, warning, error.",
     "never|info|warning|error", .initial = "never"},
    {"findings", ASSAY_SETTING_SWITCH, FIELD(findings), NULL,
     "Print every finding, as columns between tabs for programs, in place of a line for each cause."},
    {"report-every", ASSAY_SETTING_REAL, FIELD(report_every), "SECONDS",
     "Write the report of what is known so far every so many seconds, too; 0: only at the end. Default: 60 with "
     "--reports html, else 0."},
    {"metrics", ASSAY_SETTING_TEXT, FIELD(metrics), "FILE",
     "Keep a file for the textfile collector of Prometheus' node_exporter: steps, seconds since the last change, findings "
     "by severity."},
    {0}};

typedef struct follower {
    const cli_context *context;
    const watch_options *options;
    const assay_job *job;
    assay_watch *watch;
    watch_findings *findings; /* NULL: not asked for */
    watch_causes *causes;     /* NULL: findings are asked for */
    assay_buf counts;         /* of findings, for the file of --metrics */
    double last_change, last_report, report_every;
    uint64_t evaluations, bytes_read, steps, waiting;
    double woke;    /* when the work under way began: a look, and the evaluation that it led to */
    bool looked;    /* at least once */
    bool evaluated; /* since the last look */
    bool severe;    /* a rule of the severity of --until-finding has findings */
} follower;

/* ---- metrics ---- */

/* A value of a label, as Prometheus' text format has it. */
static void put_label(const char *text, assay_buf *out)
{
    for (; *text; text++) {
        if (*text == '\n')
            assay_put_format(out, "\\n");
        else
            assay_put_format(out, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
    }
}

/* How many findings rules of each severity have. */
static void count_findings(const assay_outcome *outcome, assay_buf *out)
{
    assay_buf_clear(out);
    for (size_t t = 0; t < outcome->trial_count; t++) {
        uint64_t count[ASSAY_ERROR + 1] = {0};
        for (size_t i = 0; i < outcome->job->rule_count; i++) {
            const report_rule rule = report_rule_of(outcome, &outcome->trials[t], i, false);
            count[rule.severity] += rule.findings ? rule.findings->total : 0;
        }
        for (int s = ASSAY_INFO; s <= ASSAY_ERROR; s++) {
            assay_put_format(out, "assay_watch_findings{trial=\"");
            put_label(outcome->trials[t].trial->name, out);
            assay_put_format(out, "\",severity=\"%s\"} %" PRIu64 "\n", assay_severity_name((assay_severity)s),
                             count[s]);
        }
    }
}

static void put_gauge(const char *name, const char *help, double value, assay_buf *out)
{
    assay_put_format(out, "# HELP %s %s\n# TYPE %s gauge\n%s %.15g\n", name, help, name, name, value);
}

/* A collector may read the file at any time: it is whole or the one before. */
static int write_metrics(const follower *f, double now, assay_error *err)
{
    assay_buf text = ASSAY_BUF(ASSAY_REPORT_CEILING);
    if (!f->options->metrics)
        return ASSAY_OK;
    put_gauge("assay_watch_steps", "Steps that are complete and evaluated.", (double)f->steps, &text);
    put_gauge("assay_watch_steps_waiting", "Steps that wait for files.", (double)f->waiting, &text);
    put_gauge("assay_watch_seconds_since_change", "Seconds since something was written.", now - f->last_change, &text);
    assay_put_format(&text, "# HELP assay_watch_findings Findings so far.\n# TYPE assay_watch_findings gauge\n");
    assay_put_bytes(&text, (const char *)f->counts.data, f->counts.size);
    int status = assay_buf_status(&text);
    status = status == ASSAY_OK ? assay_file_write(f->options->metrics, text.data, text.size, err)
                                : assay_fail(err, status, "%s: out of memory", f->options->metrics);
    assay_buf_release(&text);
    return status;
}

/* A look and an evaluation take time that grows with the trial. A watch that worked whenever a step came would take as
 * much in all as the square of the steps; one that rests for so many times as long as it worked takes no more than a
 * share of the time that the training takes. */
/* A look that took long is followed by a rest of three times as long: a watch beside a training takes no more than a
 * quarter of the storage's time. */
static const double REST = 3;

/* Rank 0: sleeps until the next look. */
static int rest(follower *f, bool *signalled, assay_error *err)
{
    const double worked = assay_clock_seconds() - f->woke, every = f->evaluated ? 0 : f->options->every;
    const double seconds = REST * worked > every ? REST * worked : every;
    int status = f->looked && !f->severe && !*signalled ? assay_watch_sleep(f->watch, seconds, signalled) : ASSAY_OK;
    f->woke = assay_clock_seconds();
    f->evaluated = false;
    return status == ASSAY_OK ? status : assay_fail(err, status, "MPI failed while the ranks waited");
}

/* Rank 0, after the first look: what is waited for, where there is nothing to evaluate. */
static void note_waiting(const follower *f)
{
    const char *missing = NULL;
    for (size_t i = 0; i < f->job->trial_count && !missing; i++)
        missing = assay_watch_reason(f->watch, i);
    if (missing)
        assay_log_note("%s; it is waited for%s", missing[0] ? missing : "a trial cannot be read so far",
                       f->options->idle > 0 ? ", as long as --idle says" : "");
    else if (f->steps == 0)
        assay_log_note("no step is complete so far: the first one is waited for");
}

/* Rank 0: looks until there is something to do for all. */
static int look(follower *f, assay_watch_call *call, assay_error *err)
{
    for (;;) {
        assay_watch_sight sight;
        bool signalled = assay_interrupt_wished();
        int status = rest(f, &signalled, err);
        const double now = f->woke;
        uint64_t lists = assay_s3_count().lists;
        ASSAY_THEN(status, assay_watch_look(f->watch, now, &sight, err));
        ASSAY_TRY(status);
        if (!f->looked && assay_s3_count().lists > lists)
            assay_log_note(
                "looking at S3 every %g seconds is at most about %.0f requests an hour; --every changes that",
                f->options->every, 3600 / f->options->every * (double)(assay_s3_count().lists - lists));
        if (sight.changed)
            f->last_change = now;
        f->steps = sight.steps;
        f->waiting = sight.waiting;
        if (!f->looked)
            note_waiting(f);
        f->looked = true;
        ASSAY_TRY(status = write_metrics(f, now, err));
        bool idle = f->options->idle > 0 && now - f->last_change >= f->options->idle;
        *call = sight.ended || idle || f->severe || signalled ? ASSAY_WATCH_FINISH : ASSAY_WATCH_EVALUATE;
        if (idle && !sight.ended)
            assay_log_note("nothing was written for %g s: the report covers what is there", f->options->idle);
        if (*call == ASSAY_WATCH_FINISH || sight.due)
            return ASSAY_OK;
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

/* On rank 0: what an evaluation came to that was not known before. */
static int tell(void *context, const assay_outcome *outcome, assay_error *err)
{
    follower *f = context;
    for (size_t t = 0; t < outcome->trial_count; t++)
        for (size_t i = 0; i < outcome->job->rule_count; i++) {
            const report_rule rule = report_rule_of(outcome, &outcome->trials[t], i, false);
            f->severe = f->severe || (f->options->until != RUN_FAIL_NEVER && rule.findings &&
                                      rule.findings->total > 0 && (int)rule.severity >= f->options->until - 1);
        }
    if (f->options->metrics)
        count_findings(outcome, &f->counts);
    int status =
        f->findings ? watch_findings_tell(f->findings, outcome, err) : watch_causes_tell(f->causes, outcome, err);
    return status == ASSAY_OK ? write_metrics(f, assay_clock_seconds(), err) : status;
}

/* On rank 0: the report of what is known so far, when it is time for one. */
static int report_so_far(follower *f, const assay_outcome *outcome, assay_error *err)
{
    const double now = assay_clock_seconds();
    if (f->report_every <= 0 || (f->last_report > 0 && now - f->last_report < f->report_every))
        return ASSAY_OK;
    f->last_report = now;
    return run_report_so_far(f->context, &f->options->run, f->job, outcome, err);
}

/* Collective. */
static int evaluate(follower *f, assay_error *err)
{
    assay_outcome outcome = {0};
    assay_engine_options engine = run_engine_options(&f->options->run, f->job);
    engine.progress = 0;
    engine.view = assay_watch_view(f->watch);
    int status = assay_engine_run(f->context->comm, f->job, &engine, &outcome, err);
    ASSAY_TRY(status);
    if (assay_comm_rank(f->context->comm) == 0) {
        status = tell(f, &outcome, err);
        ASSAY_THEN(status, report_so_far(f, &outcome, err));
    }
    if (status == ASSAY_OK)
        run_actions_seen(&f->options->run.actions, &outcome);
    f->evaluations++;
    f->evaluated = true;
    f->bytes_read += outcome.run.bytes_read;
    assay_outcome_release(&outcome);
    return assay_comm_agree(f->context->comm, status, err);
}

static void note_figures(const follower *f)
{
    assay_buf size = ASSAY_BUF(64);
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
    ASSAY_THEN(status, assay_watch_close(f->watch));
    assay_interrupt_listen_once(); /* one that is under way to this rank is answered by the report, too */
    if (status == ASSAY_OK && f->evaluations > 0)
        note_figures(f);
    return status;
}

static int watch_job(const cli_context *context, watch_options *options, const assay_job *job, const assay_buf *text)
{
    assay_error err = {""};
    follower f = {.context = context, .options = options, .job = job, .report_every = options->report_every};
    if (f.report_every < 0)
        f.report_every = job->formats & 1u << ASSAY_FORM_HTML ? PAGE_SECONDS : 0;
    assay_buf_init(&f.counts, ASSAY_REPORT_CEILING);
    f.findings = options->findings ? watch_findings_new() : NULL;
    f.causes = options->findings ? NULL : watch_causes_new(options->run.json);
    int status = f.findings || f.causes ? ASSAY_OK : ASSAY_ENOMEM;
    int made = assay_watch_new(context->comm, job, options->lag, &f.watch);
    status = assay_comm_agree(context->comm, status == ASSAY_OK ? made : status, &err);
    ASSAY_THEN(status, follow(&f, &err));
    assay_watch_free(f.watch);
    options->run.witness = (run_witness){&f, tell};
    int code = status == ASSAY_OK ? run_job(context, &options->run, job, text) : cli_fail(status, &err);
    watch_findings_free(f.findings);
    watch_causes_free(f.causes);
    assay_buf_release(&f.counts);
    return code;
}

static int watch(const cli_context *context, int argc, char **argv)
{
    static const char *operand[RUN_OPERANDS_MOST];
    const char *path = NULL;
    size_t operands = 0;
    assay_error err = {""};
    assay_job job = {0};
    assay_buf text = ASSAY_BUF(CLI_JOB_CEILING);
    watch_options options = {.run = RUN_DEFAULTS, .report_every = -1};
    assay_activity_show(false); /* it reads on and on, and says itself what comes */
    int status = cli_options_parse(&cli_watch, argc, argv, &options, operand, &operands, &err);
    options.run.lines = true;
    ASSAY_THEN(status, run_choose_form("watch", &options.run, &err));
    if (status == ASSAY_OK && options.findings && options.run.json)
        status = assay_fail(&err, ASSAY_EUSAGE, "watch: --findings and --json exclude each other");
    status = run_take_operands(context, status, operand, operands, &options.run, &path, &err);
    if (options.run.fail_on == RUN_FAIL_NEVER)
        options.run.fail_on = options.until;
    status = run_load_job(context, status, path, &options.run, &text, &job, &err);
    int code = status == ASSAY_OK ? watch_job(context, &options, &job, &text) : cli_fail(status, &err);
    run_end(context->comm, &options.run, &job, code);
    assay_buf_release(&text);
    assay_job_release(&job);
    cli_options_release(&cli_watch, &options);
    return code;
}

const cli_command cli_watch = {"watch",
                               "[JOB] [TRIAL...]",
                               "Follows the trials of a job, or those given here, while they are written, prints "
                               "what goes wrong as it comes, and ends with the report. Without a job file it uses the "
                               "built-in rules.",
                               OPTIONS,
                               0,
                               RUN_OPERANDS_MOST,
                               RUN_TAKES,
                               watch};
