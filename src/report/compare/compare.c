/* compare.c - the comparison as a whole: which rules fired where first, and which trials have the same findings. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "report/compare/compare_internal.h"
#include "report/compare/comparison.h"
#include "report/model/profile.h"

/* ---- compare pace ---- */

/* How fast the trials' trainings were and how busy their machines, of those with profiler data. */

/* Finds the durations of the steps of one mode over all workers. */
static int find_durations(const assay_timeline *line, const char *mode, assay_compared_pace *pace)
{
    double sum = 0, *list = assay_alloc((line->steps + 1) * sizeof *list);
    ASSAY_HAVE(list);
    for (uint64_t i = 0; i < line->steps; i++)
        if (strcmp(line->mode[line->step[i].mode], mode) == 0) {
            list[pace->steps] = (double)line->step[i].duration / 1e6;
            sum += list[pace->steps++];
        }
    if (pace->steps > 0) {
        const profile_spread spread = profile_spread_of(list, pace->steps, sum / (double)pace->steps);
        pace->mode = mode;
        pace->median = spread.p50;
        pace->p99 = spread.p99;
    }
    free(list);
    return ASSAY_OK;
}

/* Finds the mean over the machines of the mean of each; units of a machine are part of its own row. */
static double find_use(const profile *p, int metric)
{
    double sum = 0;
    size_t machines = 0;
    for (size_t i = 0; i < p->uses; i++) {
        if (p->use[i].metric != metric || p->use[i].unit[0])
            continue;
        sum += p->use[i].spread.mean;
        machines++;
    }
    return machines > 0 ? sum / (double)machines : NAN;
}

static int find_pace(assay_comparison *c, size_t t)
{
    assay_compared_pace *pace = &c->trial[t].pace;
    int status = ASSAY_OK;
    *pace = (assay_compared_pace){.median = NAN, .p99 = NAN, .between = NAN};
    for (int m = 0; m < ASSAY_METRICS; m++)
        pace->use[m] = NAN;
    profile *p = profile_new(&c->outcome->trials[t], &status);
    if (!p)
        return status;
    c->paces++;
    pace->between = p->others_share;
    if (p->modes > 0) /* TRAIN comes first */
        status = find_durations(p->line, p->mode[0].name, pace);
    for (int m = 0; m < ASSAY_METRICS; m++)
        pace->use[m] = find_use(p, m);
    profile_free(p);
    return status;
}

static int compare_paces(assay_comparison *c)
{
    int status = ASSAY_OK;
    for (size_t t = 0; t < c->trials && status == ASSAY_OK; t++)
        status = find_pace(c, t);
    return status;
}

/* ---- compare ---- */

static bool fires(const assay_comparison *c, size_t trial, size_t rule)
{
    return report_rule_of(c->outcome, &c->outcome->trials[trial], rule, false).status == ASSAY_ISSUES_FOUND;
}

static void find_first(assay_comparison *c, size_t trial)
{
    assay_compared_trial *t = &c->trial[trial];
    for (size_t r = 0; r < c->outcome->job->rule_count; r++) {
        report_rule rule = report_rule_of(c->outcome, &c->outcome->trials[trial], r, false);
        const assay_finding *first = report_first(&rule);
        t->rules_with_findings += rule.status == ASSAY_ISSUES_FOUND;
        if (!first || (t->first && first->step >= t->first->step))
            continue;
        t->first = first;
        t->first_rule = r;
    }
}

const char *assay_group_kind_word(assay_group_kind kind)
{
    static const char *const words[] = {"findings", "no findings", "no data", "unread"};
    return words[kind];
}

/* NO_DATA only where no rule had any: one that passed makes the trial clean. */
static assay_group_kind kind_of(const assay_comparison *c, size_t trial)
{
    const assay_trial_outcome *t = &c->outcome->trials[trial];
    bool evaluated = c->outcome->job->rule_count == 0;
    if (t->status != ASSAY_OK)
        return ASSAY_GROUP_UNREAD;
    if (c->trial[trial].rules_with_findings > 0)
        return ASSAY_GROUP_FINDINGS;
    for (size_t r = 0; r < c->outcome->job->rule_count; r++)
        evaluated = evaluated || report_rule_of(c->outcome, t, r, false).status == ASSAY_NO_ISSUES_FOUND;
    return evaluated ? ASSAY_GROUP_CLEAN : ASSAY_GROUP_NO_DATA;
}

/* Sets the kind of a trial's group, and bits of the rules that fired in it: equal keys are equal groups. */
static void set_key(const assay_comparison *c, size_t trial, uint8_t *key)
{
    key[0] = (uint8_t)kind_of(c, trial);
    for (size_t r = 0; r < c->outcome->job->rule_count; r++)
        if (key[0] == ASSAY_GROUP_FINDINGS && fires(c, trial, r))
            key[1 + r / 8] |= (uint8_t)(1u << r % 8);
}

typedef struct keyed {
    const uint8_t *key;
    size_t size, trial;
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    int order = memcmp(x->key, y->key, x->size);
    return order ? order : (x->trial > y->trial) - (x->trial < y->trial);
}

ASSAY_ORDER_BY(by_first_trial, assay_trial_group, trial[0])

static int fill_group(const assay_comparison *c, const keyed *member, size_t members, assay_trial_group *group)
{
    size_t rules = c->outcome->job->rule_count;
    group->trial = assay_alloc(members * sizeof *group->trial);
    group->rule = assay_alloc((rules + 1) * sizeof *group->rule);
    ASSAY_HAVE(group->trial && group->rule);
    group->kind = (assay_group_kind)member->key[0];
    for (size_t i = 0; i < members; i++)
        group->trial[group->trials++] = member[i].trial;
    for (size_t r = 0; r < rules; r++)
        if (member->key[1 + r / 8] >> r % 8 & 1)
            group->rule[group->rules++] = r;
    return ASSAY_OK;
}

/* Sorted by key, then by trial, so members of a group ascend. */
static int cut_groups(assay_comparison *c, keyed *list)
{
    int status = ASSAY_OK;
    qsort(list, c->trials, sizeof *list, by_key);
    for (size_t i = 0, end; i < c->trials && status == ASSAY_OK; i = end) {
        for (end = i + 1; end < c->trials && memcmp(list[i].key, list[end].key, list[i].size) == 0; end++)
            ;
        status = fill_group(c, &list[i], end - i, &c->group[c->groups++]);
    }
    ASSAY_TRY(status);
    qsort(c->group, c->groups, sizeof *c->group, by_first_trial);
    for (size_t g = 0; g < c->groups; g++)
        for (size_t i = 0; i < c->group[g].trials; i++)
            c->trial[c->group[g].trial[i]].group = g;
    return ASSAY_OK;
}

int compare_groups(assay_comparison *c)
{
    size_t size = 1 + (c->outcome->job->rule_count + 7) / 8;
    uint8_t *keys = assay_alloc_zeroed(c->trials, size);
    keyed *list = assay_alloc(c->trials * sizeof *list);
    c->group = assay_alloc_zeroed(c->trials, sizeof *c->group);
    int status = keys && list && c->group ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t t = 0; status == ASSAY_OK && t < c->trials; t++) {
        find_first(c, t);
        set_key(c, t, keys + t * size);
        list[t] = (keyed){keys + t * size, size, t};
    }
    ASSAY_THEN(status, cut_groups(c, list));
    free(keys);
    free(list);
    return status;
}

/* Compares the traces of two trials, of which the first is the one before. */
static int compare_traces(assay_comparison *c)
{
    const assay_trace_data *data[2] = {NULL, NULL};
    for (size_t t = 0; t < c->trials && c->trials == 2; t++)
        data[t] = c->outcome->trials[t].info ? assay_trial_traces(c->outcome->trials[t].info) : NULL;
    if (!data[0] || !data[1])
        return ASSAY_OK;
    c->traces = assay_alloc_zeroed(1, sizeof *c->traces);
    return c->traces ? assay_trace_compare(data[0], data[1], c->traces) : ASSAY_ENOMEM;
}

/* Makes the grids that outliers and odd ones are found by. They are large, so drop_grids() follows the last part that
 * needs them. */
static int make_grids(assay_comparison *c)
{
    int status = ASSAY_OK;
    if (c->trials >= ASSAY_OUTLIER_TRIALS)
        c->grids = assay_grids_new(c->outcome, false, &status);
    return status;
}

static int drop_grids(assay_comparison *c)
{
    assay_grids_free(c->grids);
    c->grids = NULL;
    return ASSAY_OK;
}

/* The order of parts matters: outliers need losses and classes, the odd ones need outliers, settings and the answer
 * need the odd ones. NULL with ASSAY_OK for a single trial. */
int assay_comparison_make(const assay_outcome *outcome, assay_comparison **out)
{
    static int (*const parts[])(assay_comparison *) = {
        compare_groups, compare_losses, compare_tensors,  compare_classes, make_grids,     compare_outliers,
        compare_odd,    drop_grids,     compare_settings, compare_paces,   compare_traces, compare_answer};
    *out = NULL;
    if (outcome->trial_count < 2)
        return ASSAY_OK;
    assay_comparison *c = assay_alloc_zeroed(1, sizeof *c);
    ASSAY_HAVE(c);
    c->outcome = outcome;
    c->trials = outcome->trial_count;
    c->baseline = outcome->job->baseline < c->trials ? outcome->job->baseline : 0;
    c->tolerance = outcome->job->tolerance;
    c->trial = assay_alloc_zeroed(c->trials, sizeof *c->trial);
    int status = c->trial ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; status == ASSAY_OK && i < sizeof parts / sizeof *parts; i++)
        status = parts[i](c);
    if (status != ASSAY_OK) {
        assay_comparison_free(c);
        return status;
    }
    *out = c;
    return ASSAY_OK;
}

static void release_trial(assay_compared_trial *trial)
{
    for (size_t i = 0; i < trial->reasons; i++)
        free(trial->reason[i]);
    free(trial->tensor);
}

void assay_comparison_free(assay_comparison *c)
{
    if (!c)
        return;
    for (size_t t = 0; c->trial && t < c->trials; t++)
        release_trial(&c->trial[t]);
    for (size_t g = 0; g < c->groups; g++) {
        free(c->group[g].rule);
        free(c->group[g].trial);
    }
    for (size_t i = 0; i < c->losses; i++) {
        free(c->loss[i].tensor);
        free(c->loss[i].figures);
        free(c->loss[i].step);
        free(c->loss[i].value);
    }
    for (size_t i = 0; i < c->class_lists; i++) {
        free(c->classes[i].class);
        free(c->classes[i].value);
        free(c->classes[i].samples);
        free(c->classes[i].figure);
    }
    for (size_t i = 0; i < c->outliers; i++)
        free(c->outlier[i].what);
    assay_grids_free(c->grids);
    for (size_t i = 0; i < c->settings; i++)
        free(c->setting[i].value);
    free(c->setting);
    for (size_t t = 0; c->batch && t < c->trials; t++)
        free(c->batch[t]);
    free(c->batch);
    free(c->answer);
    free(c->traces);
    free(c->trial);
    free(c->group);
    free(c->loss);
    free(c->classes);
    free(c->outlier);
    free(c);
}

bool compare_rule_has_no_data(const assay_comparison *c, size_t rule)
{
    for (size_t t = 0; t < c->trials; t++)
        if (report_rule_of(c->outcome, &c->outcome->trials[t], rule, false).status != ASSAY_NO_DATA)
            return false;
    return true;
}

bool compare_has_no_samples(const assay_comparison *c, const assay_compared_classes *list)
{
    bool counted = false;
    for (size_t t = 0; t < c->trials; t++)
        counted = counted || list->samples[t] > 0;
    return !counted && c->outcome->job->aggregations[list->aggregation]->optional;
}
