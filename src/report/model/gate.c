/* gate.c - what makes a report fail: findings, rules that could not be tested, and reasons not to call a trial good. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/model/report_model.h"

/* By a rule's name in the job, or by its kind. */
static bool is_allowed(const assay_gate *gate, const assay_instance *instance)
{
    if (gate->allow_no_data || instance->optional)
        return true;
    for (size_t i = 0; i < gate->allowed_count; i++) {
        bool kind = instance->ops && strcmp(gate->allowed[i], instance->ops->name) == 0;
        if (kind || strcmp(gate->allowed[i], instance->name) == 0)
            return true;
    }
    return false;
}

/* ASSAY_RULE_ERROR stops a gate too: what could not be tested is not known to be good. */
bool report_gate_stops(const assay_gate *gate, const report_rule *rule)
{
    if (!gate->on || rule->severity < gate->least)
        return false;
    switch (rule->status) {
    case ASSAY_ISSUES_FOUND:
    case ASSAY_RULE_ERROR:
        return true;
    case ASSAY_NO_ISSUES_FOUND:
        return rule->untested > 0 && !is_allowed(gate, rule->instance);
    case ASSAY_NO_DATA:
        return !is_allowed(gate, rule->instance);
    default:
        return false;
    }
}

bool report_trial_tested(const assay_outcome *outcome, const assay_trial_outcome *trial)
{
    for (size_t i = 0; i < outcome->job->rule_count; i++) {
        int status = report_rule_of(outcome, trial, i, false).status;
        if (status == ASSAY_ISSUES_FOUND || status == ASSAY_NO_ISSUES_FOUND)
            return true;
    }
    return outcome->job->rule_count == 0;
}

uint64_t report_unjudged(const assay_outcome *outcome, const assay_trial_outcome *trial)
{
    for (size_t i = 0; i < outcome->job->rule_count; i++) {
        const report_rule rule = report_rule_of(outcome, trial, i, false);
        if (strcmp(report_kind(&rule), "ExplodingTensor") == 0 && report_datapoints(&rule) > 0)
            return 0;
    }
    return outcome->job->rule_count > 0 ? trial->not_finite : 0;
}

void report_put_unjudged(const assay_outcome *outcome, const assay_trial_outcome *trial, assay_buf *out)
{
    const uint64_t count = report_unjudged(outcome, trial);
    if (count > 0)
        assay_put_format(out,
                         ", but %" PRIu64 " tensor%s that %s read %s NaN or infinities, and no rule of the job looks "
                         "for them (ExplodingTensor does)",
                         count, assay_plural(count), count == 1 ? "was" : "were", count == 1 ? "has" : "have");
}

bool report_nothing_tested(const assay_report *report)
{
    const assay_outcome *outcome = report->outcome;
    for (size_t t = 0; t < outcome->trial_count; t++)
        if (report_trial_tested(outcome, &outcome->trials[t]))
            return false;
    return true;
}

/* Tells whether a trial takes nothing of a set of which it takes what it has data for: it has to take something. */
static bool is_left_out(const assay_gate *gate, const assay_outcome *outcome, const assay_trial_outcome *trial)
{
    return gate->on && !gate->allow_no_data && outcome->job->rule_count > 0 && outcome->job->rules[0]->optional &&
           !report_trial_tested(outcome, trial);
}

bool report_is_little(const assay_gate *gate, const assay_trial_outcome *trial)
{
    static const double LEAST = 1; /* of a gate for which nobody said another */
    const double least = !isnan(gate->least_coverage) ? gate->least_coverage : gate->on ? LEAST : 0;
    return trial->status == ASSAY_OK && report_coverage(trial) < least;
}

/* Tells whether something stands against calling the trial good. Who asks for a gate asks whether nothing is wrong:
 * where the first line does not say so, the gate does not, either. A checkpoint that is not complete is one without
 * data. Memory that was refused does not open the gate. */
static bool is_reserved(const assay_gate *gate, const assay_outcome *outcome, const assay_trial_outcome *trial)
{
    report_reservation reserved;
    if (!gate->on || trial->status != ASSAY_OK)
        return false;
    return report_reservation_of(outcome, trial, &reserved) != ASSAY_OK ||
           (reserved != REPORT_UNRESERVED && !(reserved == REPORT_INCOMPLETE && gate->allow_no_data));
}

/* Asked of each trial; report_gate_stops() is of each rule. */
bool report_trial_stops(const assay_report *report, const assay_trial_outcome *trial)
{
    return report_is_little(&report->gate, trial) || is_reserved(&report->gate, report->outcome, trial) ||
           is_left_out(&report->gate, report->outcome, trial);
}

const char *report_incomplete(const assay_trial_outcome *trial)
{
    for (size_t i = 0; i < trial->problems.kept; i++)
        if (trial->problems.list[i].kind == ASSAY_PROBLEM_UNFINISHED)
            return trial->problems.list[i].file;
    return NULL;
}

bool report_job_failed(const assay_report *report)
{
    for (size_t t = 0; t < report->outcome->trial_count; t++)
        if (report->outcome->trials[t].job_end)
            return true;
    return false;
}

bool report_is_stopped(const assay_report *report)
{
    const assay_outcome *outcome = report->outcome;
    for (size_t t = 0; t < outcome->trial_count; t++) {
        if (report_trial_stops(report, &outcome->trials[t]))
            return true;
        for (size_t i = 0; i < outcome->job->rule_count; i++) {
            const report_rule rule = report_rule_of(outcome, &outcome->trials[t], i, false);
            if (report_gate_stops(&report->gate, &rule))
                return true;
        }
    }
    return false;
}
