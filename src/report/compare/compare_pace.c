/* compare_pace.c - how fast the trials' trainings were and how busy their machines, of those with profiler data. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "report/compare/compare_internal.h"
#include "report/model/profile.h"

/* Durations of the steps of one mode over all workers. */
static int find_durations(const assay_timeline *line, const char *mode, assay_compared_pace *pace)
{
    double sum = 0, *list = assay_alloc((line->steps + 1) * sizeof *list);
    if (!list)
        return ASSAY_ENOMEM;
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

/* The mean over the machines of the mean of each. */
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

int compare_paces(assay_comparison *c)
{
    int status = ASSAY_OK;
    for (size_t t = 0; t < c->trials && status == ASSAY_OK; t++)
        status = find_pace(c, t);
    return status;
}
