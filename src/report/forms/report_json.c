/* report_json.c - report.json: a fixed order of keys, one finding per line, "run" as the last line. */
#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "report/forms/forms.h"
#include "report/model/diagnosis.h"
#include "report/sections/sections.h"

/* Opens an item of a list that has one item a line. */
static void begin_row(assay_jw *w, unsigned blanks)
{
    assay_jw_line(w, blanks);
    assay_jw_object(w, NULL);
}

static void begin_list(assay_jw *w, unsigned blanks, const char *key)
{
    assay_jw_line(w, blanks);
    assay_jw_array(w, key);
}

/* Puts a text that is left out where there is none. */
static void put_if_there(assay_jw *w, const char *key, const char *text)
{
    if (text && *text)
        assay_jw_text(w, key, text);
}

/* Puts a place in a file or a step; below 0 is null. */
static void put_place(assay_jw *w, const char *key, int64_t value)
{
    if (value >= 0)
        assay_jw_i64(w, key, value);
    else
        assay_jw_null(w, key);
}

/* Puts text that something else put into a buffer of its own, whose failure becomes ours. The buffer is released. */
static void put_built(assay_jw *w, const char *key, assay_buf *text)
{
    assay_jw_text_n(w, key, (const char *)text->data, text->size);
    if (assay_buf_status(text) != ASSAY_OK && w->out->status == ASSAY_OK)
        w->out->status = assay_buf_status(text);
    assay_buf_release(text);
}

/* Puts the value of a finding, its threshold, and what the value is. */
static void put_value(const assay_trial *info, const report_rule *rule, const assay_finding *f, assay_jw *w)
{
    assay_buf unit = ASSAY_BUF(ASSAY_REPORT_CEILING);
    ASSAY_JW(w, "value", f->value, "threshold", f->threshold);
    if (!report_has_unit(rule, f))
        return;
    report_put_unit(info, rule, f, false, &unit);
    put_built(w, "value_unit", &unit);
}

/* Puts a finding of a rule that looks at time: a place in time instead of step and tensor. */
static void put_finding_in_time(const assay_trial *info, const report_rule *rule, const assay_finding *f, assay_jw *w)
{
    const assay_time_place *place = f->time;
    const char *const keys[] = {"worker", "unit", "worker2", "unit2"}, *const texts[] = {place->worker, place->unit,
                                                                                         place->worker2, place->unit2};
    const bool in_steps = place->slice == ASSAY_NO_TIME;
    if (!in_steps) {
        ASSAY_JW(w, "slice", place->slice, "time_us", f->step);
    } else if (f->step == ASSAY_NO_TIME) {
        assay_jw_null(w, "step");
    } else {
        assay_jw_i64(w, "step", f->step);
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (texts[i] && (!in_steps || *texts[i]))
            assay_jw_text(w, keys[i], texts[i]);
    put_value(info, rule, f, w);
    put_if_there(w, "test", report_finding_test(rule, f));
    if (place->extra)
        assay_put_bytes(w->out, place->extra, strlen(place->extra));
}

static void put_finding_in_steps(const assay_trial *info, const report_rule *rule, const assay_finding *f, assay_jw *w)
{
    const assay_step_info *step = report_finding_step(info, f);
    assay_step_time at;
    ASSAY_JW(w, "step", f->step, "mode", step ? assay_mode_name(step->mode) : "", "mode_step",
             step ? step->mode_step : -1, "worker", report_finding_worker(info, f), "tensor",
             report_finding_tensor(info, f));
    put_value(info, rule, f, w);
    put_if_there(w, "test", report_finding_test(rule, f));
    if (f->cell_count > 0) {
        assay_jw_array(w, "cells");
        for (uint32_t c = 0; c < f->cell_count; c++)
            assay_jw_i64s(w, NULL, &f->cells[2 * c], 2);
        assay_jw_end(w);
    }
    put_if_there(w, "note", f->note);
    if (report_find_hardware(info, f, &at))
        report_put_hardware_json(&at, assay_jw_value(w, "hardware"));
}

/* Also the members of a message about a finding (src/action). */
void report_put_finding(const assay_trial *info, const report_rule *rule, const assay_finding *f, assay_buf *out)
{
    assay_jw w = assay_jw_over(out);
    assay_jw_object(&w, NULL);
    (f->time ? put_finding_in_time : put_finding_in_steps)(info, rule, f, &w);
    assay_jw_end(&w);
}

/* Puts the slow step or stall before the findings began, where there was one. */
static void put_slow_before(const assay_trial *info, const report_rule *rule, assay_jw *w)
{
    assay_slow_step slow;
    if (!report_find_slow_before(info, rule, &slow))
        return;
    assay_jw_line(w, 4);
    report_put_slow_json(&slow, assay_jw_value(w, "slow_before"));
}

static void put_findings(const assay_trial *info, const report_rule *rule, assay_jw *w)
{
    const assay_findings *found = rule->findings;
    const assay_finding *first = report_first(rule);
    assay_jw_line(w, 4);
    ASSAY_JW(w, "datapoints", report_datapoints(rule), "findings_total", report_findings_total(rule));
    if (!report_is_in_time(rule))
        assay_jw_i64s(w, "steps", found ? found->steps : NULL, found ? found->step_count : 0);
    assay_jw_line(w, 4);
    if (first)
        report_put_finding(info, rule, first, assay_jw_value(w, "first"));
    else
        assay_jw_null(w, "first");
    begin_list(w, 4, "findings");
    for (size_t i = 0; found && i < found->kept; i++) {
        assay_jw_line(w, 5);
        report_put_finding(info, rule, &found->list[i], assay_jw_value(w, NULL));
    }
    assay_jw_end(w);
}

/* Puts members that the rule gave itself: JSON text without the braces. assay_verdict_unpack() has checked those of a
 * foreign rule. */
static void put_extra(const report_rule *rule, const char *before, assay_buf *out)
{
    if (!rule->json || rule->json->size == 0)
        return;
    assay_put_format(out, "%s", before);
    assay_put_bytes(out, rule->json->data, rule->json->size);
}

/* Puts what to try, in order, where the rule says so and has fired. */
static void put_remedies(const report_rule *rule, assay_jw *w)
{
    const assay_rule_ops *ops = rule->instance->ops;
    if (rule->status != ASSAY_ISSUES_FOUND || !ops->remedies)
        return;
    begin_list(w, 4, "remedies");
    for (size_t i = 0; ops->remedies[i]; i++) {
        assay_jw_line(w, 5);
        assay_jw_text(w, NULL, ops->remedies[i]);
    }
    assay_jw_end(w);
}

static void put_rule(const assay_trial_outcome *trial, const report_rule *rule, assay_jw *w)
{
    const assay_instance *instance = rule->instance;
    begin_row(w, 4);
    ASSAY_JW(w, "name", instance->name, "rule", report_kind(rule), "status", assay_verdict_status_name(rule->status),
             "severity", assay_severity_name(rule->severity));
    if (instance->params)
        assay_instance_put_parameters(instance, assay_jw_value(w, "parameters"));
    else
        assay_jw_null(w, "parameters");
    put_findings(trial->info, rule, w);
    put_slow_before(trial->info, rule, w);
    assay_jw_line(w, 4);
    assay_jw_text_n(w, "message", rule->message ? rule->message : "", rule->message_size);
    assay_jw_line(w, 4);
    assay_jw_text(w, "recommendation", rule->status == ASSAY_ISSUES_FOUND ? instance->ops->advice : NULL);
    put_remedies(rule, w);
    put_extra(rule, ",\n    ", w->out);
    assay_jw_end(w);
}

static void put_aggregation(const report_rule *rule, assay_jw *w)
{
    begin_row(w, 4);
    ASSAY_JW(w, "name", rule->instance->name, "kind", report_kind(rule));
    if (rule->status == ASSAY_RULE_ERROR)
        assay_jw_text_n(w, "error", rule->message ? rule->message : "", rule->message_size);
    put_extra(rule, ", ", w->out);
    assay_jw_end(w);
}

static void put_modes(const assay_trial *info, assay_jw *w)
{
    report_mode mode[ASSAY_MODES];
    assay_jw_line(w, 3);
    assay_jw_object(w, "modes");
    if (info)
        report_count_modes(info, mode);
    for (int m = 0; info && m < ASSAY_MODES; m++) {
        if (mode[m].steps == 0)
            continue;
        ASSAY_JW_OBJECT(w, assay_mode_name(m), "steps", mode[m].steps, "first", mode[m].first, "last", mode[m].last);
    }
    assay_jw_end(w);
}

static void put_incomplete(const assay_trial_outcome *trial, const assay_worker_names *names, assay_jw *w)
{
    char room[ASSAY_WORKER_ROOM];
    begin_list(w, 3, "incomplete");
    for (size_t i = 0; i < trial->incomplete_count; i++) {
        const assay_incomplete *step = &trial->incomplete[i];
        begin_row(w, 4);
        assay_jw_i64(w, "step", step->step);
        assay_jw_array(w, "missing_workers");
        for (uint32_t k = 0; k < step->missing_count; k++)
            assay_jw_text(w, NULL, assay_worker_name(names, step->missing[k], room));
        assay_jw_end(w);
        if (step->unnamed > 0)
            assay_jw_u64(w, "more_missing", step->unnamed);
        assay_jw_end(w);
    }
    assay_jw_end(w);
}

static void put_problem(const assay_problem *p, assay_jw *w)
{
    begin_row(w, 4);
    ASSAY_JW(w, "kind", assay_problem_word(p->kind), "file", p->file ? p->file : "");
    put_place(w, "offset", p->offset);
    put_place(w, "step", p->step);
    assay_jw_text(w, "text", p->text);
    assay_jw_end(w);
}

/* A trial that could not be opened is a problem of its own. */
static void put_problems(const assay_trial_outcome *trial, assay_jw *w)
{
    const assay_problems *list = &trial->problems;
    bool unread = trial->status != ASSAY_OK;
    assay_jw_line(w, 3);
    assay_jw_u64(w, "problems_total", list->total + unread);
    begin_list(w, 3, "problems");
    if (unread)
        put_problem(
            &(assay_problem){.kind = ASSAY_PROBLEM_READ, .offset = -1, .step = -1, .text = (char *)trial->error.text},
            w);
    for (size_t i = 0; i < list->kept; i++)
        put_problem(&list->list[i], w);
    assay_jw_end(w);
}

/* Puts what the run says of itself; nothing where it says nothing. */
static void put_facts(const assay_run_facts *facts, assay_jw *w)
{
    if (facts->files == 0)
        return;
    assay_jw_line(w, 3);
    assay_jw_object(w, "facts");
    for (size_t i = 0; i < facts->count; i++)
        if (strncmp(facts->list[i].name, "module.", 7) != 0) /* for laws: nobody reads a thousand of them */
            assay_jw_text(w, facts->list[i].name, facts->list[i].value);
    assay_jw_end(w);
    if (facts->run_workers == 0)
        return;
    assay_jw_line(w, 3);
    assay_jw_object(w, "recorded");
    ASSAY_JW(w, "workers", facts->recorded_workers, "of", facts->run_workers);
    assay_jw_object(w, "modes");
    for (int m = ASSAY_MODE_TRAIN; m < ASSAY_MODES; m++) {
        const assay_run_recorded *r = &facts->recorded[m];
        if (r->of == 0)
            continue;
        ASSAY_JW_OBJECT(w, assay_mode_name(m), "steps", r->steps, "of", r->of, "every", r->every);
    }
    assay_jw_end(w);
    assay_jw_end(w);
}

static void put_names(const assay_log_names *names, const char *key, assay_jw *w)
{
    assay_jw_texts(w, key, (const char *const *)names->list, names->count);
}

/* Puts what the log is judged on. */
static void put_judged(const assay_log_judged *judged, assay_jw *w)
{
    assay_jw_line(w, 4);
    assay_jw_object(w, "judged");
    put_names(&judged->objective, "objective", w);
    assay_jw_array(w, "pairs");
    for (size_t i = 0; i + 1 < judged->pairs.count; i += 2) {
        assay_jw_array(w, NULL);
        assay_jw_text(w, NULL, judged->pairs.list[i]);
        assay_jw_text(w, NULL, judged->pairs.list[i + 1]);
        assay_jw_end(w);
    }
    assay_jw_end(w);
    assay_jw_array(w, "losses_not_finite");
    for (size_t i = 0; i < judged->bad_count; i++) {
        assay_jw_array(w, NULL);
        assay_jw_i64(w, NULL, judged->bad[i].step);
        assay_jw_text(w, NULL, assay_mode_name(judged->bad[i].mode));
        assay_jw_text(w, NULL, judged->bad[i].worker);
        assay_jw_text(w, NULL, judged->bad[i].tensor);
        assay_jw_end(w);
    }
    assay_jw_end(w);
    put_names(&judged->never, "never_finite", w);
    put_names(&judged->others, "others_not_finite", w);
    if (judged->losses == 0) {
        put_names(&judged->instead, "logged_instead", w);
        ASSAY_JW(w, "tags", judged->tags, "may_be_losses", judged->maybe);
    }
    ASSAY_JW(w, "values", judged->values, "losses", judged->losses, "steps", judged->steps);
    assay_jw_end(w);
}

static void put_counts(const assay_log_counts *counts, const char *name, assay_jw *w)
{
    assay_jw_object(w, name);
    for (size_t i = 0; i < counts->count; i++)
        assay_jw_u64(w, counts->list[i].what, counts->list[i].count);
    assay_jw_end(w);
}

/* Puts what was met in a log of metrics; nothing of other trials. */
static void put_log(const assay_log_facts *log, assay_jw *w)
{
    if (!log->kind)
        return;
    assay_jw_line(w, 3);
    assay_jw_object(w, "metrics");
    ASSAY_JW(w, "kind", log->kind, "files", log->files, "also", log->also, "running", log->running);
    put_counts(&log->counts, "counts", w);
    assay_jw_array(w, "superseded");
    for (size_t i = 0; i < log->range_count; i++) {
        const assay_log_range *range = &log->ranges[i];
        assay_jw_object(w, NULL);
        ASSAY_JW(w, "worker", range->worker, "first", range->first, "last", range->last, "values", range->values);
        if (*range->bad)
            ASSAY_JW(w, "not_finite", range->bad, "not_finite_step", range->bad_step);
        if (*range->loss)
            ASSAY_JW(w, "loss", range->loss, "loss_step", range->loss_step, "last_loss", range->last_loss);
        assay_jw_end(w);
    }
    assay_jw_end(w);
    if (*log->unknown)
        assay_jw_text(w, "first_unknown", log->unknown);
    put_judged(&log->judged, w);
    if (log->around.count > 0)
        put_counts(&log->around, "around", w);
    if (log->logged_nothing.count > 0)
        assay_jw_texts(w, "logged_nothing", (const char *const *)log->logged_nothing.list, log->logged_nothing.count);
    if (log->never_started.count > 0)
        assay_jw_texts(w, "never_started", (const char *const *)log->never_started.list, log->never_started.count);
    assay_jw_end(w);
}

static void put_cause(const assay_outcome *outcome, const report_diagnosis *diagnosis, const assay_cause *cause,
                      assay_jw *w)
{
    const assay_onset_span *began = &cause->began;
    begin_row(w, 4);
    ASSAY_JW(w, "cause", cause->name, "certainty", assay_certainty_name(cause->certainty), "wrong", cause->wrong,
             "sentence", cause->sentence);
    if (began->mode != ASSAY_MODE_NONE) { /* of what is told by time, the rules' findings have the times */
        assay_jw_object(w, "began");
        ASSAY_JW(w, "mode", assay_mode_name(began->mode), "from", began->from, "to", began->to, "step", began->step);
        assay_jw_end(w);
    }
    put_if_there(w, "tensor", cause->tensor);
    put_if_there(w, "workers", cause->workers);
    put_if_there(w, "advice", cause->advice);
    put_if_there(w, "record", cause->record);
    assay_jw_array(w, "explains");
    for (size_t i = 0; i < cause->explained; i++) {
        const assay_evidence *e = &diagnosis->evidence[cause->evidence[i]];
        bool again = false;
        /* One rule gives several pieces of evidence, and stands once. */
        for (size_t k = 0; k < i && !again; k++)
            again = diagnosis->evidence[cause->evidence[k]].rule == e->rule;
        if (!again)
            assay_jw_text(w, NULL, outcome->job->rules[e->rule]->name);
    }
    assay_jw_end(w);
    assay_jw_end(w);
}

/* Puts what explains the findings; the first cause leads the verdict. */
static int put_causes(const assay_outcome *outcome, const assay_trial_outcome *trial, assay_jw *w)
{
    report_diagnosis diagnosis;
    ASSAY_TRY(report_diagnose(outcome, trial, &diagnosis));
    if (diagnosis.is.causes > 0) {
        begin_list(w, 3, "causes");
        for (size_t i = 0; i < diagnosis.is.causes; i++)
            put_cause(outcome, &diagnosis, &diagnosis.is.cause[i], w);
        assay_jw_end(w);
    }
    report_diagnosis_release(&diagnosis);
    return ASSAY_OK;
}

static int put_trial(const assay_outcome *outcome, const assay_trial_outcome *trial, const assay_worker_names *names,
                     assay_jw *w)
{
    const assay_trial *info = trial->info;
    begin_row(w, 2);
    ASSAY_JW(w, "name", trial->trial->name, "path", trial->trial->path);
    assay_jw_texts(w, "workers", (const char *const *)trial->catalog.worker, trial->catalog.workers);
    put_modes(info, w);
    assay_jw_line(w, 3);
    ASSAY_JW(w, "steps", info ? assay_trial_steps(info) : 0, "tensors", info ? assay_trial_tensors(info) : 0, "ended",
             trial->catalog.ended);
    if (trial->job_end)
        ASSAY_JW_OBJECT(w, "job", "failed", trial->job_end, "looked_at", trial->job_seen);
    put_facts(&trial->catalog.facts, w);
    put_log(&trial->catalog.log, w);
    put_incomplete(trial, names, w);
    put_problems(trial, w);
    int status = put_causes(outcome, trial, w);
    ASSAY_THEN(status, report_put_profile_json(outcome, trial, w));
    report_put_traces_json(trial, w);
    begin_list(w, 3, "rules");
    for (size_t i = 0; i < outcome->job->rule_count; i++) {
        report_rule rule = report_rule_of(outcome, trial, i, false);
        put_rule(trial, &rule, w);
    }
    assay_jw_end(w);
    begin_list(w, 3, "aggregations");
    for (size_t i = 0; i < outcome->job->aggregation_count; i++) {
        report_rule rule = report_rule_of(outcome, trial, i, true);
        put_aggregation(&rule, w);
    }
    assay_jw_end(w);
    assay_jw_end(w);
    return status;
}

/* All but "run": the body is the same for any number of ranks, and so is its digest. `drain` takes what is there from
 * time to time, so the whole is never in memory. */
int assay_report_put_body(const assay_report *report, const assay_taker *drain, assay_buf *out)
{
    const assay_outcome *outcome = report->outcome;
    assay_jw w = assay_jw_over(out);
    w.drain = drain;
    assay_buf verdict = ASSAY_BUF(ASSAY_REPORT_CEILING);
    report_put_verdict(report, &verdict);
    assay_jw_object(&w, NULL);
    assay_jw_text(&w, "schema", "assay-report/1");
    assay_jw_line(&w, 1);
    put_built(&w, "verdict", &verdict);
    begin_list(&w, 1, "trials");
    for (size_t i = 0; i < outcome->trial_count; i++) {
        assay_worker_names names;
        ASSAY_TRY(assay_worker_names_init(&names, &outcome->trials[i].catalog));
        int status = put_trial(outcome, &outcome->trials[i], &names, &w);
        assay_worker_names_release(&names);
        ASSAY_TRY(status);
    }
    assay_jw_end(&w);
    if (report->comparison)
        report_put_comparison_json(report->comparison, &w);
    if (report->bands)
        report_put_bands_json(report->bands, &w);
    assay_put_format(out, ",\n"); /* the object is left open for assay_report_put_run() */
    return assay_buf_status(out);
}

/* What differs from run to run stands on the last line alone. */
void assay_report_put_run(const assay_outcome *outcome, const assay_report_origin *origin, assay_buf *out)
{
    const assay_run_figures *run = &outcome->run;
    const assay_plan_figures *plan = &outcome->plan;
    uint64_t unsummed = 0;
    for (size_t t = 0; t < outcome->trial_count; t++)
        unsummed += outcome->trials[t].unsummed;
    assay_put_u8(out, ' ');
    assay_jw w = assay_jw_members_of(out, false);
    assay_jw_object(&w, "run");
    ASSAY_JW(&w, "version", origin->version, "command", origin->command);
    const char *const facts[][2] = {{"mpi", origin->library},
                                    {"date", origin->date},
                                    {"host", origin->host},
                                    {"user", origin->user},
                                    {"slurm_job", origin->slurm_job}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (facts[i][1][0])
            assay_jw_text(&w, facts[i][0], facts[i][1]);
    ASSAY_JW(&w, "ranks", run->ranks, "nodes", run->nodes, "chunks", plan->chunks, "records", plan->records,
             "records_read", run->records_read, "bytes_read", run->bytes_read, "files_opened", run->files_opened,
             "steps_shared", run->steps_shared);
    ASSAY_JW(&w, "steps_moved", run->steps_moved, "messages", run->messages, "message_bytes", run->message_bytes,
             "bytes_without_checksum", unsummed, "peak_memory", run->peak_memory);
    if (run->s3.gets + run->s3.lists > 0) {
        ASSAY_JW_OBJECT(&w, "s3", "gets", run->s3.gets, "lists", run->s3.lists, "repeated", run->s3.repeated, "bytes",
                        run->s3.bytes);
    }
    ASSAY_JW(&w, "imbalance", plan->imbalance, "seconds", run->seconds, "seconds_listing", run->seconds_listing,
             "seconds_reading", run->seconds_reading, "seconds_combining", run->seconds_combining, "processor_seconds",
             run->processor, "processor_seconds_reading", run->processor_reading, "processor_seconds_busiest",
             run->processor_busiest);
    assay_jw_end(&w);
    assay_put_format(out, "}\n");
}

static int add_to_hash(void *context, const void *bytes, size_t size)
{
    assay_sha256_add(context, bytes, size);
    return ASSAY_OK;
}

/* Makes the body anew and keeps none of it. */
int assay_report_digest(const assay_report *report, char hex[65], assay_error *err)
{
    assay_buf body = ASSAY_BUF(ASSAY_REPORT_CEILING);
    assay_sha256 hash;
    assay_sha256_init(&hash);
    int status = assay_report_put_body(report, &(assay_taker){add_to_hash, &hash}, &body);
    if (status == ASSAY_OK) {
        assay_sha256_add(&hash, body.data, body.size);
        assay_sha256_hex(&hash, hex);
    } else {
        assay_fail(err, status, "digest of the report: %s", assay_status_text(status));
    }
    assay_buf_release(&body);
    return status;
}

/* ---- report.json ---- */

typedef struct making {
    const assay_report *report;
    const assay_report_origin *origin;
} making;

static int make_json(void *context, const assay_taker *to)
{
    const making *m = context;
    assay_buf text = ASSAY_BUF(ASSAY_REPORT_CEILING);
    int status = assay_report_put_body(m->report, to, &text);
    if (status == ASSAY_OK) {
        assay_report_put_run(m->report->outcome, m->origin, &text);
        status = assay_buf_status(&text);
    }
    ASSAY_THEN(status, to->take(to->context, text.data, text.size));
    assay_buf_release(&text);
    return status;
}

/* Writes report.json while it is made: of many trials it is large. */
static int write_json(const assay_report *report, const assay_report_origin *origin, assay_output *output,
                      assay_error *err)
{
    return assay_output_write_made(output, "report.json", &(assay_maker){make_json, &(making){report, origin}}, err);
}

const report_form report_form_json = {.write = write_json};
