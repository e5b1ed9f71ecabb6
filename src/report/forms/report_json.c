/* report_json.c - report.json: a fixed order of keys, one finding per line, "run" as the last line. */
#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "report/forms/forms.h"
#include "report/sections/sections.h"

/* The JSON text `null` for what is not there. */
static void put_null(assay_buf *out)
{
    assay_put_bytes(out, "null", 4);
}

static void put_key(assay_buf *out, const char *key)
{
    assay_put_format(out, ", \"%s\": ", key);
}

/* What stands between the items of a list that has one item a line. */
static void put_item_start(assay_buf *out, size_t i, const char *indent)
{
    assay_put_format(out, "%s\n%s", i ? "," : "", indent);
}

/* The value of a finding, its threshold, and what the value is. */
static void put_value(const assay_trial *info, const report_rule *rule, const assay_finding *f, assay_buf *out)
{
    assay_buf unit;
    put_key(out, "value");
    assay_json_put_number(out, f->value);
    put_key(out, "threshold");
    assay_json_put_number(out, f->threshold);
    if (!report_has_unit(rule, f))
        return;
    assay_buf_init(&unit, ASSAY_REPORT_CEILING);
    report_put_unit(info, rule, f, false, &unit);
    put_key(out, "value_unit");
    assay_json_put_text_n(out, (const char *)unit.data, unit.size);
    if (assay_buf_status(&unit) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&unit);
    assay_buf_release(&unit);
}

/* Of a rule that looks at time: a place in time instead of step and tensor. */
static void put_finding_in_time(const assay_trial *info, const report_rule *rule, const assay_finding *f,
                                assay_buf *out)
{
    const assay_time_place *place = f->time;
    const char *const keys[] = {"worker", "unit", "worker2", "unit2"}, *const texts[] = {place->worker, place->unit,
                                                                                         place->worker2, place->unit2};
    const char *test = report_finding_test(rule, f);
    const bool in_steps = place->slice == ASSAY_NO_TIME;
    if (!in_steps)
        assay_put_format(out, "{\"slice\": %" PRId64 ", \"time_us\": %" PRId64, place->slice, f->step);
    else if (f->step == ASSAY_NO_TIME)
        assay_put_format(out, "{\"step\": null");
    else
        assay_put_format(out, "{\"step\": %" PRId64, f->step);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (!texts[i] || (in_steps && !*texts[i]))
            continue;
        put_key(out, keys[i]);
        assay_json_put_text(out, texts[i]);
    }
    put_value(info, rule, f, out);
    if (test) {
        put_key(out, "test");
        assay_json_put_text(out, test);
    }
    if (place->extra)
        assay_put_bytes(out, place->extra, strlen(place->extra));
    assay_put_u8(out, '}');
}

void report_put_finding(const assay_trial *info, const report_rule *rule, const assay_finding *f, assay_buf *out)
{
    if (f->time) {
        put_finding_in_time(info, rule, f, out);
        return;
    }
    const assay_step_info *step = report_finding_step(info, f);
    const char *test = report_finding_test(rule, f);
    assay_put_format(out, "{\"step\": %" PRId64 ", \"mode\": ", f->step);
    assay_json_put_text(out, step ? assay_mode_name(step->mode) : "");
    assay_put_format(out, ", \"mode_step\": %" PRId64 ", \"worker\": ", step ? step->mode_step : -1);
    assay_json_put_text(out, report_finding_worker(info, f));
    put_key(out, "tensor");
    assay_json_put_text(out, report_finding_tensor(info, f));
    put_value(info, rule, f, out);
    if (test) {
        put_key(out, "test");
        assay_json_put_text(out, test);
    }
    for (uint32_t c = 0; c < f->cell_count; c++)
        assay_put_format(out, "%s[%" PRId64 ", %" PRId64 "]%s", c ? ", " : ", \"cells\": [", f->cells[2 * c],
                         f->cells[2 * c + 1], c + 1 == f->cell_count ? "]" : "");
    if (f->note) {
        put_key(out, "note");
        assay_json_put_text(out, f->note);
    }
    assay_step_time at;
    if (report_find_hardware(info, f, &at)) {
        put_key(out, "hardware");
        report_put_hardware_json(&at, out);
    }
    assay_put_u8(out, '}');
}

/* The slow step or stall before the findings began, where there was one. */
static void put_slow_before(const assay_trial *info, const report_rule *rule, assay_buf *out)
{
    assay_slow_step slow;
    if (!report_find_slow_before(info, rule, &slow))
        return;
    assay_put_format(out, ",\n    \"slow_before\": ");
    report_put_slow_json(&slow, out);
}

static void put_findings(const assay_trial *info, const report_rule *rule, assay_buf *out)
{
    const assay_findings *found = rule->findings;
    const assay_finding *first = report_first(rule);
    const bool in_time = report_is_in_time(rule);
    assay_put_format(out, ",\n    \"datapoints\": %" PRIu64 ", \"findings_total\": %" PRIu64, report_datapoints(rule),
                     report_findings_total(rule));
    assay_put_format(out, in_time ? "" : ", \"steps\": [");
    for (size_t i = 0; found && !in_time && i < found->step_count; i++)
        assay_put_format(out, "%s%" PRId64, i ? ", " : "", found->steps[i]);
    assay_put_format(out, in_time ? ",\n    \"first\": " : "],\n    \"first\": ");
    if (first)
        report_put_finding(info, rule, first, out);
    else
        put_null(out);
    assay_put_format(out, ",\n    \"findings\": [");
    for (size_t i = 0; found && i < found->kept; i++) {
        put_item_start(out, i, "     ");
        report_put_finding(info, rule, &found->list[i], out);
    }
    assay_put_u8(out, ']');
}

/* Members that the rule gave itself: JSON text without the braces. */
static void put_extra(const report_rule *rule, const char *before, assay_buf *out)
{
    if (!rule->json || rule->json->size == 0)
        return;
    assay_put_format(out, "%s", before);
    assay_put_bytes(out, rule->json->data, rule->json->size);
}

/* What to try, in order, where the rule says so and has fired. */
static void put_remedies(const report_rule *rule, assay_buf *out)
{
    const assay_rule_ops *ops = rule->instance->ops;
    if (rule->status != ASSAY_ISSUES_FOUND || !ops->remedies)
        return;
    assay_put_format(out, ",\n    \"remedies\": [");
    for (size_t i = 0; ops->remedies[i]; i++) {
        put_item_start(out, i, "     ");
        assay_json_put_text(out, ops->remedies[i]);
    }
    assay_put_u8(out, ']');
}

static void put_rule(const assay_trial_outcome *trial, const report_rule *rule, assay_buf *out)
{
    const assay_instance *instance = rule->instance;
    assay_put_format(out, "{\"name\": ");
    assay_json_put_text(out, instance->name);
    put_key(out, "rule");
    assay_json_put_text(out, report_kind(rule));
    put_key(out, "status");
    assay_json_put_text(out, assay_verdict_status_name(rule->status));
    put_key(out, "severity");
    assay_json_put_text(out, assay_severity_name(instance->severity));
    put_key(out, "parameters");
    if (instance->params)
        assay_instance_put_parameters(instance, out);
    else
        put_null(out);
    put_findings(trial->info, rule, out);
    put_slow_before(trial->info, rule, out);
    assay_put_format(out, ",\n    \"message\": ");
    assay_json_put_text_n(out, rule->message ? rule->message : "", rule->message_size);
    assay_put_format(out, ",\n    \"recommendation\": ");
    if (rule->status == ASSAY_ISSUES_FOUND && instance->ops->advice)
        assay_json_put_text(out, instance->ops->advice);
    else
        put_null(out);
    put_remedies(rule, out);
    put_extra(rule, ",\n    ", out);
    assay_put_u8(out, '}');
}

static void put_aggregation(const report_rule *rule, assay_buf *out)
{
    const assay_instance *instance = rule->instance;
    assay_put_format(out, "{\"name\": ");
    assay_json_put_text(out, instance->name);
    put_key(out, "kind");
    assay_json_put_text(out, report_kind(rule));
    if (rule->status == ASSAY_RULE_ERROR) {
        put_key(out, "error");
        assay_json_put_text_n(out, rule->message ? rule->message : "", rule->message_size);
    }
    put_extra(rule, ", ", out);
    assay_put_u8(out, '}');
}

static void put_modes(const assay_trial *info, assay_buf *out)
{
    report_mode mode[ASSAY_MODES];
    bool any = false;
    assay_put_format(out, ",\n   \"modes\": {");
    if (info)
        report_count_modes(info, mode);
    for (int m = 0; info && m < ASSAY_MODES; m++) {
        if (mode[m].steps == 0)
            continue;
        assay_put_format(out, "%s\"%s\": {\"steps\": %" PRIu64 ", \"first\": %" PRId64 ", \"last\": %" PRId64 "}",
                         any ? ", " : "", assay_mode_name(m), mode[m].steps, mode[m].first, mode[m].last);
        any = true;
    }
    assay_put_u8(out, '}');
}

static void put_incomplete(const assay_trial_outcome *trial, const assay_worker_names *names, assay_buf *out)
{
    char room[ASSAY_WORKER_ROOM];
    assay_put_format(out, ",\n   \"incomplete\": [");
    for (size_t i = 0; i < trial->incomplete_count; i++) {
        const assay_incomplete *step = &trial->incomplete[i];
        put_item_start(out, i, "    ");
        assay_put_format(out, "{\"step\": %" PRId64 ", \"missing_workers\": [", step->step);
        for (uint32_t w = 0; w < step->missing_count; w++) {
            assay_put_bytes(out, ", ", w ? 2 : 0);
            assay_json_put_text(out, assay_worker_name(names, step->missing[w], room));
        }
        assay_put_u8(out, ']');
        if (step->unnamed > 0)
            assay_put_format(out, ", \"more_missing\": %" PRIu32, step->unnamed);
        assay_put_u8(out, '}');
    }
    assay_put_u8(out, ']');
}

static void put_problem(const char *kind, const char *file, int64_t offset, int64_t step, const char *text,
                        assay_buf *out)
{
    assay_put_format(out, "{\"kind\": ");
    assay_json_put_text(out, kind);
    put_key(out, "file");
    assay_json_put_text(out, file ? file : "");
    put_key(out, "offset");
    if (offset >= 0)
        assay_put_format(out, "%" PRId64, offset);
    else
        put_null(out);
    put_key(out, "step");
    if (step >= 0)
        assay_put_format(out, "%" PRId64, step);
    else
        put_null(out);
    put_key(out, "text");
    assay_json_put_text(out, text);
    assay_put_u8(out, '}');
}

static void put_problems(const assay_trial_outcome *trial, assay_buf *out)
{
    const assay_problems *list = &trial->problems;
    bool unread = trial->status != ASSAY_OK;
    assay_put_format(out, ",\n   \"problems_total\": %" PRIu64 ",\n   \"problems\": [", list->total + unread);
    if (unread) {
        put_item_start(out, 0, "    ");
        put_problem(assay_problem_word(ASSAY_PROBLEM_READ), "", -1, -1, trial->error.text, out);
    }
    for (size_t i = 0; i < list->kept; i++) {
        const assay_problem *p = &list->list[i];
        put_item_start(out, i + unread, "    ");
        put_problem(assay_problem_word(p->kind), p->file, p->offset, p->step, p->text, out);
    }
    assay_put_u8(out, ']');
}

/* What the run says of itself; nothing where it says nothing. */
static void put_facts(const assay_run_facts *facts, assay_buf *out)
{
    bool any = false;
    if (facts->files == 0)
        return;
    assay_put_format(out, ",\n   \"facts\": {");
    for (size_t i = 0; i < facts->count; i++) {
        assay_put_format(out, i ? ", " : "");
        assay_json_put_text(out, facts->list[i].name);
        assay_put_format(out, ": ");
        assay_json_put_text(out, facts->list[i].value);
    }
    assay_put_u8(out, '}');
    if (facts->run_workers == 0)
        return;
    assay_put_format(out, ",\n   \"recorded\": {\"workers\": %" PRIu64 ", \"of\": %" PRIu64 ", \"modes\": {",
                     facts->recorded_workers, facts->run_workers);
    for (int m = ASSAY_MODE_TRAIN; m < ASSAY_MODES; m++) {
        const assay_run_recorded *r = &facts->recorded[m];
        if (r->of == 0)
            continue;
        assay_put_format(out, "%s\"%s\": {\"steps\": %" PRIu64 ", \"of\": %" PRIu64 ", \"every\": %" PRIu64 "}",
                         any ? ", " : "", assay_mode_name(m), r->steps, r->of, r->every);
        any = true;
    }
    assay_put_format(out, "}}");
}

/* What was met in a log of metrics; nothing of other trials. */
static void put_log(const assay_log_facts *log, assay_buf *out)
{
    if (!log->kind)
        return;
    assay_put_format(out, ",\n   \"metrics\": {\"kind\": ");
    assay_json_put_text(out, log->kind);
    assay_put_format(out, ", \"files\": %" PRIu64 ", \"also\": ", log->files);
    assay_json_put_text(out, log->also);
    assay_put_format(out, ", \"running\": %s, \"counts\": {", log->running ? "true" : "false");
    for (size_t i = 0; i < log->count; i++) {
        assay_put_format(out, i ? ", " : "");
        assay_json_put_text(out, log->counts[i].what);
        assay_put_format(out, ": %" PRIu64, log->counts[i].count);
    }
    assay_put_format(out, "}, \"superseded\": [");
    for (size_t i = 0; i < log->range_count; i++) {
        assay_put_format(out, "%s{\"worker\": ", i ? ", " : "");
        assay_json_put_text(out, log->ranges[i].worker);
        assay_put_format(out, ", \"first\": %" PRId64 ", \"last\": %" PRId64 ", \"values\": %" PRIu64 "}",
                         log->ranges[i].first, log->ranges[i].last, log->ranges[i].values);
    }
    assay_put_format(out, "]");
    if (*log->unknown) {
        put_key(out, "first_unknown");
        assay_json_put_text(out, log->unknown);
    }
    assay_put_u8(out, '}');
}

static int put_trial(const assay_outcome *outcome, const assay_trial_outcome *trial, const assay_worker_names *names,
                     assay_buf *out)
{
    const assay_trial *info = trial->info;
    assay_put_format(out, "{\"name\": ");
    assay_json_put_text(out, trial->trial->name);
    put_key(out, "path");
    assay_json_put_text(out, trial->trial->path);
    put_key(out, "workers");
    for (uint32_t w = 0; w < trial->catalog.workers; w++) {
        assay_put_bytes(out, w ? ", " : "[", w ? 2 : 1);
        assay_json_put_text(out, trial->catalog.worker[w]);
    }
    assay_put_format(out, trial->catalog.workers ? "]" : "[]");
    put_modes(info, out);
    assay_put_format(out, ",\n   \"steps\": %" PRIu64 ", \"tensors\": %" PRIu32 ", \"ended\": %s",
                     info ? assay_trial_steps(info) : 0, info ? assay_trial_tensors(info) : 0,
                     trial->catalog.ended ? "true" : "false");
    put_facts(&trial->catalog.facts, out);
    put_log(&trial->catalog.log, out);
    put_incomplete(trial, names, out);
    put_problems(trial, out);
    const int status = report_put_profile_json(outcome, trial, out);
    report_put_traces_json(trial, out);
    assay_put_format(out, ",\n   \"rules\": [");
    for (size_t i = 0; i < outcome->job->rule_count; i++) {
        report_rule rule = report_rule_of(outcome, trial, i, false);
        put_item_start(out, i, "    ");
        put_rule(trial, &rule, out);
    }
    assay_put_format(out, "],\n   \"aggregations\": [");
    for (size_t i = 0; i < outcome->job->aggregation_count; i++) {
        report_rule rule = report_rule_of(outcome, trial, i, true);
        put_item_start(out, i, "    ");
        put_aggregation(&rule, out);
    }
    assay_put_bytes(out, "]}", 2);
    return status;
}

int assay_report_put_body(const assay_report *report, assay_buf *out)
{
    const assay_outcome *outcome = report->outcome;
    assay_buf verdict;
    assay_buf_init(&verdict, ASSAY_REPORT_CEILING);
    report_put_verdict(report, &verdict);
    assay_put_format(out, "{\"schema\": \"assay-report/1\",\n \"verdict\": ");
    assay_json_put_text_n(out, (const char *)verdict.data, verdict.size);
    assay_put_format(out, ",\n \"trials\": [");
    if (assay_buf_status(&verdict) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&verdict);
    assay_buf_release(&verdict);
    for (size_t i = 0; i < outcome->trial_count; i++) {
        assay_worker_names names;
        int status = assay_worker_names_init(&names, &outcome->trials[i].catalog);
        if (status != ASSAY_OK)
            return status;
        put_item_start(out, i, "  ");
        status = put_trial(outcome, &outcome->trials[i], &names, out);
        assay_worker_names_release(&names);
        if (status != ASSAY_OK)
            return status;
    }
    assay_put_format(out, "],\n");
    if (report->comparison)
        report_put_comparison_json(report->comparison, out);
    if (report->bands)
        report_put_bands_json(report->bands, out);
    return assay_buf_status(out);
}

void assay_report_put_run(const assay_outcome *outcome, const assay_report_origin *origin, assay_buf *out)
{
    const assay_run_figures *run = &outcome->run;
    const assay_plan_figures *plan = &outcome->plan;
    uint64_t unsummed = 0;
    for (size_t t = 0; t < outcome->trial_count; t++)
        unsummed += outcome->trials[t].unsummed;
    assay_put_format(out, " \"run\": {\"version\": ");
    assay_json_put_text(out, origin->version);
    put_key(out, "command");
    assay_json_put_text(out, origin->command);
    const char *const facts[][2] = {{"mpi", origin->library},
                                    {"date", origin->date},
                                    {"host", origin->host},
                                    {"user", origin->user},
                                    {"slurm_job", origin->slurm_job}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        if (!facts[i][1][0])
            continue;
        put_key(out, facts[i][0]);
        assay_json_put_text(out, facts[i][1]);
    }
    assay_put_format(
        out,
        ", \"ranks\": %d, \"nodes\": %d, \"chunks\": %" PRIu64 ", \"records\": %" PRIu64 ", \"records_read\": %" PRIu64
        ", \"bytes_read\": %" PRIu64 ", \"files_opened\": %" PRIu64 ", \"steps_shared\": %" PRIu64
        ", \"steps_moved\": %" PRIu64 ", \"messages\": %" PRIu64 ", \"message_bytes\": %" PRIu64
        ", \"bytes_without_checksum\": %" PRIu64 ", \"peak_memory\": %" PRIu64,
        run->ranks, run->nodes, plan->chunks, plan->records, run->records_read, run->bytes_read, run->files_opened,
        run->steps_shared, run->steps_moved, run->messages, run->message_bytes, unsummed, run->peak_memory);
    if (run->s3.gets + run->s3.lists > 0)
        assay_put_format(out,
                         ", \"s3\": {\"gets\": %" PRIu64 ", \"lists\": %" PRIu64 ", \"repeated\": %" PRIu64
                         ", \"bytes\": %" PRIu64 "}",
                         run->s3.gets, run->s3.lists, run->s3.repeated, run->s3.bytes);
    const struct {
        const char *key;
        double value;
    } figures[] = {{"imbalance", plan->imbalance},
                   {"seconds", run->seconds},
                   {"seconds_listing", run->seconds_listing},
                   {"seconds_reading", run->seconds_reading},
                   {"seconds_combining", run->seconds_combining},
                   {"processor_seconds", run->processor},
                   {"processor_seconds_reading", run->processor_reading},
                   {"processor_seconds_busiest", run->processor_busiest}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        put_key(out, figures[i].key);
        assay_json_put_number(out, figures[i].value);
    }
    assay_put_format(out, "}}\n");
}

int assay_report_digest(const assay_report *report, char hex[65], assay_error *err)
{
    assay_buf body;
    assay_sha256 hash;
    assay_buf_init(&body, ASSAY_REPORT_CEILING);
    int status = assay_report_put_body(report, &body);
    if (status == ASSAY_OK) {
        assay_sha256_init(&hash);
        assay_sha256_add(&hash, body.data, body.size);
        assay_sha256_hex(&hash, hex);
    } else {
        assay_fail(err, status, "digest of the report: %s", assay_status_text(status));
    }
    assay_buf_release(&body);
    return status;
}
