/* report_model.c - see report_model.h. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "report/model/diagnosis.h"
#include "report/model/report_model.h"
#include "report/report.h"

/* Every form of a report reads rules through this, so that a trial that could not be opened, a rule that never ran
 * and a verdict look alike. */
report_rule report_rule_undiagnosed(const assay_outcome *outcome, const assay_trial_outcome *trial, size_t i,
                                    bool aggregation)
{
    static const char unread[] = "The trial could not be opened.";
    const assay_rule_outcome *list = aggregation ? trial->aggregations : trial->rules;
    if (trial->status != ASSAY_OK || !list) {
        const assay_instance *instance = aggregation ? outcome->job->aggregations[i] : outcome->job->rules[i];
        return (report_rule){instance,          NULL, ASSAY_RULE_ERROR,  NULL, NULL, unread,
                             sizeof unread - 1, 0,    instance->severity};
    }
    const assay_verdict *v = &list[i].verdict;
    report_rule rule = {list[i].instance,
                        v->findings,
                        v->status,
                        &v->json,
                        &v->text,
                        (const char *)v->message.data,
                        v->message.size,
                        v->status == ASSAY_NO_DATA ? 0 : v->untested,
                        list[i].instance->severity};
    if (rule.instance->status != ASSAY_OK) { /* it never ran: its own error is the message */
        rule.status = ASSAY_RULE_ERROR;
        rule.message = rule.instance->error.text;
        rule.message_size = strlen(rule.message);
    }
    return rule;
}

report_rule report_rule_of(const assay_outcome *outcome, const assay_trial_outcome *trial, size_t i, bool aggregation)
{
    report_rule rule = report_rule_undiagnosed(outcome, trial, i, aggregation);
    if (!aggregation)
        rule.severity = report_severity_of(outcome, trial, &rule);
    return rule;
}

const char *report_kind(const report_rule *rule)
{
    return rule->instance->ops ? rule->instance->ops->name : rule->instance->rule_name;
}

/* Members stand without braces in a verdict. ASSAY_OK and NULL where there are none; the caller deletes *members. */
int report_members(const report_rule *rule, cJSON **members)
{
    assay_buf object = ASSAY_BUF(ASSAY_REPORT_CEILING);
    *members = NULL;
    if (!rule->json || rule->json->size == 0)
        return ASSAY_OK;
    assay_put_u8(&object, '{');
    assay_put_bytes(&object, rule->json->data, rule->json->size);
    assay_put_u8(&object, '}');
    int status = assay_buf_status(&object);
    ASSAY_THEN(status, assay_json_parse("aggregation", object.data, object.size, members, NULL));
    assay_buf_release(&object);
    return status;
}

bool report_counts_nothing(const report_rule *rule)
{
    cJSON *members = NULL;
    bool none = report_members(rule, &members) == ASSAY_OK && members &&
                cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(members, "samples")) == 0;
    cJSON_Delete(members);
    return none;
}

bool report_is_in_time(const report_rule *rule)
{
    return rule->instance->ops && (rule->instance->ops->traits & ASSAY_RULE_TIMELINE);
}

bool report_is_in_traces(const report_rule *rule)
{
    return rule->instance->ops && (rule->instance->ops->traits & ASSAY_RULE_TRACES);
}

/* Tells whether the rule looks at dumps of flight recorders. Then it is in time as well, and its findings have
 * neither step nor time. */
static bool report_is_in_dumps(const report_rule *rule)
{
    return rule->instance->ops && (rule->instance->ops->traits & ASSAY_RULE_DUMPS);
}

const char *report_steps_in_words(const assay_trial_outcome *trial)
{
    if (trial->catalog.format_count == 0 && trial->catalog.events.count > 0)
        return assay_event_files_kinds(&trial->catalog.events) == 1u << ASSAY_EVENTS_TRACE
                   ? "The trial has traces and no tensors."
               : assay_event_files_kinds(&trial->catalog.events) == 1u << ASSAY_EVENTS_DUMP
                   ? "The trial has dumps of flight recorders and no tensors."
                   : "The trial has profiler data and no tensors.";
    if (report_put_holes(trial->info, NULL))
        return "Every worker wrote each step that any wrote.";
    return assay_trial_steps(trial->info) > 0 ? "Every worker wrote every step." : "No worker wrote any step.";
}

/* A rule of a set that looks at something which the trial has none of: a report leaves it out, as its lack of data is
 * no news. */
bool report_is_beside(const assay_trial_outcome *trial, const report_rule *rule)
{
    const unsigned events = assay_event_files_kinds(&trial->catalog.events);
    const unsigned traces = 1u << ASSAY_EVENTS_TRACE, dumps = 1u << ASSAY_EVENTS_DUMP;
    const unsigned of_ranks = report_is_in_dumps(rule) ? dumps : ~(traces | dumps);
    const unsigned wanted = report_is_in_traces(rule) ? traces : of_ranks;
    const bool has = report_is_in_time(rule) ? (events & wanted) != 0 : trial->catalog.format_count > 0;
    return rule->status == ASSAY_NO_DATA && rule->instance->optional && !has;
}

uint64_t report_datapoints(const report_rule *rule)
{
    return rule->findings ? rule->findings->datapoints : 0;
}

uint64_t report_findings_total(const report_rule *rule)
{
    return rule->findings ? rule->findings->total : 0;
}

const assay_finding *report_first(const report_rule *rule)
{
    return rule->findings && rule->findings->kept > 0 ? &rule->findings->list[0] : NULL;
}

const char *report_finding_tensor(const assay_trial *info, const assay_finding *finding)
{
    if (finding->time)
        return finding->time->unit;
    return finding->tensor < assay_trial_tensors(info) ? assay_trial_tensor(info, finding->tensor) : "";
}

const char *report_finding_worker(const assay_trial *info, const assay_finding *finding)
{
    if (finding->time)
        return finding->time->worker;
    return finding->worker < assay_trial_workers(info) ? assay_trial_worker(info, finding->worker) : "*";
}

const char *report_finding_test(const report_rule *rule, const assay_finding *finding)
{
    const char *const *tests = rule->instance->ops ? rule->instance->ops->tests : NULL;
    for (uint32_t i = 0; tests && tests[i]; i++) {
        if (i == finding->test)
            return tests[i];
    }
    return NULL;
}

const assay_step_info *report_finding_step(const assay_trial *info, const assay_finding *finding)
{
    uint64_t at = finding->time ? UINT64_MAX : assay_trial_find_step(info, finding->step);
    return at == UINT64_MAX ? NULL : assay_trial_step(info, at);
}

const char *report_time(int64_t time, char room[REPORT_WHEN_ROOM])
{
    enum { SECOND = 1000000 };
    /* Rounds down, also before 1970. */
    const time_t second = (time_t)(time / SECOND - (time % SECOND < 0));
    struct tm parts;
    if (!gmtime_r(&second, &parts) || strftime(room, REPORT_WHEN_ROOM, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
        snprintf(room, REPORT_WHEN_ROOM, "%" PRId64 " us", time);
    return room;
}

const char *report_finding_when(const assay_finding *finding, char room[REPORT_WHEN_ROOM])
{
    if (finding->time && finding->time->slice != ASSAY_NO_TIME)
        return report_time(finding->step, room);
    if (finding->step == ASSAY_NO_TIME)
        return "all";
    snprintf(room, REPORT_WHEN_ROOM, "%" PRId64, finding->step);
    return room;
}

const char *report_finding_when_in_words(const assay_finding *finding, char room[REPORT_WHEN_ROOM])
{
    if (finding->time && finding->time->slice != ASSAY_NO_TIME)
        return report_time(finding->step, room);
    if (finding->step == ASSAY_NO_TIME)
        return "all steps";
    snprintf(room, REPORT_WHEN_ROOM, "step %" PRId64, finding->step);
    return room;
}

void report_put_found(const assay_trial *info, const report_rule *rule, size_t most, assay_buf *out)
{
    const assay_findings *found = rule->findings;
    char first[REPORT_WHEN_ROOM], last[REPORT_WHEN_ROOM];
    if (!report_is_in_time(rule)) {
        assay_put_format(out, "at step%s ", assay_plural(found->step_count));
        report_put_steps(info, found->steps, found->step_count, most, out);
    } else if (report_is_in_traces(rule)) {
        const bool steps = found->step_count > 0 && found->steps[0] != ASSAY_NO_TIME;
        assay_put_format(out, steps ? "at %zu step%s" : "over the whole traces", found->step_count,
                         assay_plural(found->step_count));
    } else if (report_is_in_dumps(rule)) {
        assay_put_format(out, "in the dumps");
    } else if (found->step_count > 0) {
        report_time(found->steps[0], first);
        report_time(found->steps[found->step_count - 1], last);
        assay_put_format(out, "at %zu time%s, %s%s%s", found->step_count, assay_plural(found->step_count), first,
                         found->step_count > 1 ? " to " : "", found->step_count > 1 ? last : "");
    }
}

void report_count_modes(const assay_trial *info, report_mode mode[ASSAY_MODES])
{
    for (int m = 0; m < ASSAY_MODES; m++)
        mode[m] = (report_mode){0, 0, 0};
    for (uint64_t i = 0; i < assay_trial_steps(info); i++) {
        const assay_step_info *step = assay_trial_step(info, i);
        report_mode *m = &mode[step->mode];
        const int64_t number = assay_trial_is_log(info) ? step->mode_step : step->step;
        if (m->steps++ == 0)
            m->first = number;
        m->last = number;
    }
}

/* Neighbours among the saved steps stand as a range, whatever their distance; at most `most` pieces. */
void report_put_steps(const assay_trial *info, const int64_t *step, size_t count, size_t most, assay_buf *out)
{
    size_t shown = 0;
    for (size_t i = 0; i < count; shown++) {
        if (shown == most) {
            assay_put_format(out, " and %zu more step%s", count - i, assay_plural(count - i));
            return;
        }
        size_t run = 1;
        uint64_t at = assay_trial_find_step(info, step[i]);
        while (i + run < count && at != UINT64_MAX && assay_trial_find_step(info, step[i + run]) == at + run)
            run++;
        assay_put_bytes(out, ", ", i ? 2 : 0);
        assay_put_format(out, "%" PRId64, step[i]);
        if (run > 1)
            assay_put_format(out, "-%" PRId64 " (%zu steps)", step[i + run - 1], run);
        i += run;
    }
}
