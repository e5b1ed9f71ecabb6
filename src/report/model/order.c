/* order.c - in which order a report goes through trials and the rules of each: what says most comes first. */
#include <stdlib.h>

#include "base/fault.h"
#include "base/search.h"
#include "report/model/report_model.h"

typedef struct place {
    size_t rule;
    int rank, severity;
    int64_t step; /* of the first finding */
} place;

/* By assay_verdict_status. */
static const int RANK[] = {
    [ASSAY_ISSUES_FOUND] = 0, [ASSAY_RULE_ERROR] = 1, [ASSAY_NO_DATA] = 2, [ASSAY_NO_ISSUES_FOUND] = 3};

static int by_weight(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank - y->rank;
    if (x->severity != y->severity)
        return y->severity - x->severity;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return (x->rule > y->rule) - (x->rule < y->rule);
}

/* Called once for each trial and form. Equal ones stay in the order of the job, so reports are the same each time. */
int report_order_rules(const assay_outcome *outcome, const assay_trial_outcome *trial, size_t **order)
{
    size_t count = outcome->job->rule_count;
    place *places = assay_alloc_zeroed(count + 1, sizeof *places);
    *order = assay_alloc_zeroed(count + 1, sizeof **order);
    int status = places && *order ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; status == ASSAY_OK && i < count; i++) {
        const report_rule rule = report_rule_of(outcome, trial, i, false);
        const assay_finding *first = report_first(&rule);
        places[i] = (place){i, RANK[rule.status], (int)rule.severity, first ? first->step : INT64_MAX};
    }
    if (status == ASSAY_OK && count > 0)
        qsort(places, count, sizeof *places, by_weight);
    for (size_t i = 0; status == ASSAY_OK && i < count; i++)
        (*order)[i] = places[i].rule;
    free(places);
    if (status != ASSAY_OK) {
        free(*order);
        *order = NULL;
    }
    return status;
}

typedef struct standing {
    size_t trial;
    int severity; /* of the severest rule that found something; -1: none did */
} standing;

static int by_severity(const void *a, const void *b)
{
    const standing *x = a, *y = b;
    const int order = ASSAY_ORDER(y->severity, x->severity);
    return order ? order : ASSAY_ORDER(x->trial, y->trial);
}

int report_order_trials(const assay_outcome *outcome, size_t **order)
{
    const size_t count = outcome->trial_count;
    standing *all = assay_alloc_zeroed(count + 1, sizeof *all);
    *order = all ? assay_alloc_zeroed(count + 1, sizeof **order) : NULL;
    for (size_t t = 0; *order && t < count; t++) {
        all[t] = (standing){t, -1};
        for (size_t i = 0; outcome->trials[t].status == ASSAY_OK && i < outcome->job->rule_count; i++) {
            const report_rule rule = report_rule_of(outcome, &outcome->trials[t], i, false);
            const int severity = rule.status == ASSAY_ISSUES_FOUND ? (int)rule.severity : -1;
            all[t].severity = severity > all[t].severity ? severity : all[t].severity;
        }
    }
    if (*order && count > 1)
        qsort(all, count, sizeof *all, by_severity);
    for (size_t t = 0; *order && t < count; t++)
        (*order)[t] = all[t].trial;
    free(all);
    return *order ? ASSAY_OK : ASSAY_ENOMEM;
}
