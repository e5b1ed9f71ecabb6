/* watch.c - assay watch: follows the trials of a job while they are written, prints findings as they come, and ends
 * with the report of an ordinary run.
 *
 * Rank 0 looks at the trials and calls the others; between two looks all ranks sleep. */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/activity.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/run.h"
#include "cli/run_operands.h"
#include "cli/terminal.h"
#include "engine/engine.h"
#include "parallel/interrupt.h"
#include "report/model/report_model.h"
#include "report/report.h"
#include "report/text/draw.h"
#include "report/text/layout.h"
#include "report/text/workers.h"
#include "s3/s3.h"
#include "watch/watch.h"

/* ---- watch findings ---- */

/* The findings printed so far: each is printed once, and withdrawn if a later evaluation lacks it.
 */

typedef struct told_finding {
    uint32_t trial;
    const assay_instance *rule; /* borrowed */
    int64_t step;
    uint64_t evaluation; /* the last that had it */
    bool told;           /* and not taken back */
} told_finding;

typedef struct watch_findings {
    assay_dict *lines;  /* trial, step, rule, worker, tensor, test of each, as printed */
    told_finding *list; /* [lines] */
    size_t room;
    uint64_t evaluation;
    uint64_t severe; /* findings told so far of a severity of at least `least` */
    int least;       /* assay_severity */
    assay_draw style;
    const assay_draw *draw; /* NULL: no terminal, and columns between tabs for programs */
} watch_findings;

/* 0 or ASSAY_ENOMEM. */
static int watch_findings_init(watch_findings *findings, int least)
{
    *findings = (watch_findings){.lines = assay_dict_new(), .least = least};
    findings->draw = cli_draw_style(CLI_DRAW_AUTO, &findings->style);
    return findings->lines ? ASSAY_OK : ASSAY_ENOMEM;
}

static void watch_findings_release(watch_findings *findings)
{
    assay_dict_free(findings->lines);
    free(findings->list);
    *findings = (watch_findings){0};
}

/* Adds a column behind a tab; within a column a tab is \t. */
static void put_column(assay_buf *out, const char *text)
{
    assay_put_u8(out, '\t');
    assay_text_put_clean(out, text, strlen(text));
}

/* What makes a finding this one, in the order of the columns. The value is no part of it: a late worker may change it.
 * `who` stands in the column of the worker. */
static int put_line(const assay_trial_outcome *trial, const report_rule *rule, const assay_finding *finding,
                    const char *who, assay_buf *out)
{
    const char *test = report_finding_test(rule, finding);
    assay_buf_clear(out);
    put_column(out, trial->trial->name);
    assay_put_format(out, "\t%" PRId64, finding->step);
    put_column(out, rule->instance->name);
    put_column(out, who);
    put_column(out, report_finding_tensor(trial->info, finding));
    put_column(out, test ? test : "");
    return assay_buf_status(out);
}

/* The number of a finding, by its line. */
static int find(watch_findings *f, const assay_buf *line, uint32_t *id)
{
    uint32_t count = assay_dict_count(f->lines);
    *id = assay_dict_add(f->lines, (const char *)line->data, line->size);
    if (*id == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    if (*id < count)
        return ASSAY_OK;
    if (!assay_vec_reserve(&f->list, &f->room, *id + 1, sizeof *f->list))
        return ASSAY_ENOMEM;
    f->list[*id] = (told_finding){0};
    return ASSAY_OK;
}

/* New findings of one tensor at one step, by one test of a rule: one line, whatever the number of workers. */
typedef struct finding_group {
    const assay_finding *first;
    const uint32_t *worker; /* [count] ascending */
    size_t count;
} finding_group;

/* "error    runs/17, step 25: ExplodingTensor: 640 NaN elements, fc.weight, worker_0" */
static void put_for_people(const watch_findings *f, const assay_trial_outcome *trial, const report_rule *rule,
                           const finding_group *group, const char *who, assay_buf *out)
{
    const assay_severity severity = rule->instance->severity;
    const assay_draw_colour colour = severity == ASSAY_ERROR     ? ASSAY_DRAW_ALARM
                                     : severity == ASSAY_WARNING ? ASSAY_DRAW_BAD
                                                                 : ASSAY_DRAW_PLAIN;
    const char *test = report_finding_test(rule, group->first);
    char when[REPORT_WHEN_ROOM];
    const char *tensor = report_finding_tensor(trial->info, group->first);
    assay_buf line, lead;
    assay_buf_init(&line, ASSAY_REPORT_CEILING);
    assay_put_format(&line, "%s, %s: %s%s%s: ", trial->trial->name, report_finding_when_in_words(group->first, when),
                     rule->instance->name, test ? ", " : "", test ? test : "");
    report_put_value(trial->info, rule, group->first, &line);
    assay_put_format(&line, "%s%s", *tensor ? ", " : "", tensor);
    assay_put_format(&line, "%s%s", strcmp(who, "*") != 0 ? ", " : "", strcmp(who, "*") != 0 ? who : "");
    assay_buf_init(&lead, 256);
    assay_draw_begin(f->draw, colour, &lead);
    assay_put_format(&lead, "%-7s", assay_severity_name(severity));
    assay_draw_end(f->draw, colour, &lead);
    assay_put_format(&lead, "  ");
    assay_put_u8(&lead, '\0');
    assay_text_put_wrapped(out, f->draw, 9, assay_buf_status(&lead) == ASSAY_OK ? (const char *)lead.data : NULL,
                           (const char *)line.data, line.size);
    assay_buf_release(&lead);
    if (assay_buf_status(&line) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&line);
    assay_buf_release(&line);
}

/* The one place where findings become known. */
static int tell(watch_findings *f, const assay_trial_outcome *trial, const report_rule *rule,
                const finding_group *group, assay_buf *line, assay_buf *out)
{
    assay_worker_names names;
    assay_buf who;
    int status = assay_worker_names_init(&names, &trial->catalog);
    if (status != ASSAY_OK)
        return status;
    assay_buf_init(&who, ASSAY_REPORT_CEILING);
    if (group->count > 1)
        assay_worker_names_put(&names, group->worker, group->count, &who);
    else
        assay_put_format(&who, "%s", report_finding_worker(trial->info, group->first));
    assay_put_u8(&who, '\0');
    status = assay_buf_status(&who);
    if (status == ASSAY_OK)
        status = put_line(trial, rule, group->first, (const char *)who.data, line);
    if (f->draw) {
        put_for_people(f, trial, rule, group, (const char *)who.data, out);
    } else {
        assay_put_format(out, "finding");
        assay_put_bytes(out, line->data, line->size);
        assay_put_u8(out, '\t');
        assay_text_put_full(out, group->first->value);
        assay_put_format(out, "\t%s\t%zu\n", assay_severity_name(rule->instance->severity), group->count);
    }
    if ((int)rule->instance->severity >= f->least)
        f->severe += group->count;
    assay_buf_release(&who);
    assay_worker_names_release(&names);
    return status;
}

/* Notes that the outcome has the finding; *is_new where nobody was told of it. */
static int note_finding(watch_findings *f, const assay_outcome *outcome, uint32_t trial, size_t number, size_t i,
                        assay_buf *line, bool *is_new)
{
    const assay_trial_outcome *t = &outcome->trials[trial];
    const report_rule rule = report_rule_of(outcome, t, number, false);
    const assay_finding *finding = &rule.findings->list[i];
    uint32_t id = 0;
    int status = put_line(t, &rule, finding, report_finding_worker(t->info, finding), line);
    if (status == ASSAY_OK)
        status = find(f, line, &id);
    if (status != ASSAY_OK)
        return status;
    *is_new = !f->list[id].told;
    f->list[id] = (told_finding){trial, rule.instance, finding->step, f->evaluation, true};
    return ASSAY_OK;
}

/* Tells of list[from] and of the new findings behind it that share its line; they are new no more. */
static int tell_group(watch_findings *f, const assay_trial_outcome *trial, const report_rule *rule, size_t from,
                      bool *is_new, uint32_t *room, assay_buf *line, assay_buf *out)
{
    const assay_findings *findings = rule->findings;
    finding_group group = {&findings->list[from], room, 0};
    for (size_t i = from; i < findings->kept; i++) {
        const assay_finding *finding = &findings->list[i];
        if (finding->step != group.first->step || finding->tensor != group.first->tensor || (finding->time && i > from))
            break;
        if (!is_new[i] || finding->test != group.first->test)
            continue;
        is_new[i] = false;
        room[group.count++] = finding->worker;
    }
    return tell(f, trial, rule, &group, line, out);
}

static int tell_rule(watch_findings *f, const assay_outcome *outcome, uint32_t trial, size_t number, assay_buf *line,
                     assay_buf *out)
{
    const assay_trial_outcome *t = &outcome->trials[trial];
    const report_rule rule = report_rule_of(outcome, t, number, false);
    size_t kept = rule.findings ? rule.findings->kept : 0;
    uint32_t *room = assay_alloc_zeroed(kept + 1, sizeof *room);
    bool *is_new = assay_alloc_zeroed(kept + 1, sizeof *is_new);
    int status = room && is_new ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; status == ASSAY_OK && i < kept; i++)
        status = note_finding(f, outcome, trial, number, i, line, &is_new[i]);
    for (size_t i = 0; status == ASSAY_OK && i < kept; i++)
        if (is_new[i])
            status = tell_group(f, t, &rule, i, is_new, room, line, out);
    free(room);
    free(is_new);
    return status;
}

/* What a rule found in a trial; NULL: it is not among the rules that are reported. */
static const assay_findings *findings_of(const assay_outcome *outcome, const assay_trial_outcome *trial,
                                         const assay_instance *rule)
{
    for (size_t i = 0; i < outcome->job->rule_count; i++)
        if (trial->rules[i].instance == rule)
            return trial->rules[i].verdict.findings;
    return NULL;
}

/* A finding that is not in the outcome may only be behind the last one that the rule keeps in full. */
static bool is_gone(const watch_findings *f, const assay_outcome *outcome, const told_finding *told)
{
    const assay_trial_outcome *t = &outcome->trials[told->trial];
    if (!told->told || told->evaluation == f->evaluation || t->status != ASSAY_OK || !t->rules)
        return false;
    const assay_findings *findings = findings_of(outcome, t, told->rule);
    return !findings || findings->total == findings->kept || told->step < findings->list[findings->kept - 1].step;
}

/* The columns of a line, with blanks for tabs. */
static void put_withdrawn(const assay_draw *draw, const char *line, size_t length, assay_buf *out)
{
    assay_buf text;
    assay_buf_init(&text, ASSAY_REPORT_CEILING);
    for (size_t i = 0; i < length; i++)
        assay_put_u8(&text, line[i] == '\t' ? ' ' : (uint8_t)line[i]);
    assay_text_put_wrapped(out, draw, 9, "withdrawn", (const char *)text.data, text.size);
    if (assay_buf_status(&text) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&text);
    assay_buf_release(&text);
}

static void take_back(watch_findings *f, const assay_outcome *outcome, assay_buf *out)
{
    for (uint32_t id = 0; id < assay_dict_count(f->lines); id++) {
        if (!is_gone(f, outcome, &f->list[id]))
            continue;
        size_t length;
        const char *line = assay_dict_name(f->lines, id, &length);
        if (f->draw) {
            put_withdrawn(f->draw, line, length, out);
        } else {
            assay_put_format(out, "withdrawn");
            assay_put_bytes(out, line, length);
            assay_put_u8(out, '\n');
        }
        f->list[id].told = false;
    }
}

/* Prints a line on standard output for every finding of the outcome that was not told of yet, and for every one told of
 * that it has no more; docs/watch.md has the columns. On a terminal a line is for people. On rank 0. ASSAY_ENOMEM,
 * ASSAY_EIO. */
static int watch_findings_tell(watch_findings *f, const assay_outcome *outcome, assay_error *err)
{
    assay_buf line, out;
    assay_buf_init(&line, ASSAY_REPORT_CEILING);
    assay_buf_init(&out, ASSAY_REPORT_CEILING);
    f->evaluation++;
    int status = ASSAY_OK;
    for (uint32_t t = 0; t < outcome->trial_count; t++)
        for (size_t r = 0; outcome->trials[t].rules && status == ASSAY_OK && r < outcome->job->rule_count; r++)
            status = tell_rule(f, outcome, t, r, &line, &out);
    if (status == ASSAY_OK)
        take_back(f, outcome, &out);
    if (status == ASSAY_OK)
        status = cli_print_kept(&out, err);
    else
        assay_fail(err, status, "out of memory for the findings");
    assay_buf_release(&line);
    assay_buf_release(&out);
    return status;
}

/* ---- watch ---- */

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
    run_end(&options.run, code);
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
