/* results.c - collects what the engine reads: one item per tensor, and what each step adds to an aggregation. */
#include "report/results/results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "report/results/results_internal.h"

/* Decides the table of an aggregation: pairs go to the tables of confusion matrices, all others to those of classes. */
bool results_counts_pairs(const assay_instance *aggregation)
{
    return aggregation->ops && strcmp(aggregation->ops->name, "confusion") == 0;
}

static results_where where(uint32_t trial, const assay_step_info *step)
{
    return (results_where){step->step, step->mode_step, trial, (uint32_t)step->mode};
}

static void take_statistics(const assay_stats *s, results_tensor *row)
{
    row->elements = s->count;
    row->nan = s->nan;
    row->pos_inf = s->pos_inf;
    row->neg_inf = s->neg_inf;
    row->zeros = s->zeros;
    row->min = assay_stats_min(s);
    row->max = assay_stats_max(s);
    row->mean = assay_stats_mean(s);
    row->std = assay_stats_std(s);
    row->variance = assay_stats_variance(s);
    row->sum = s->sum;
    row->l1 = assay_stats_l1(s);
    row->l2 = assay_stats_l2(s);
    row->abs_mean = assay_stats_abs_mean(s);
    row->abs_max = assay_stats_abs_max(s);
}

/* Takes figures that the training saved in place of the tensor. Kinds that it did not save stay NaN. */
static void take_reductions(const assay_tensor_view *view, results_tensor *row)
{
    const struct {
        int kind;
        double *to;
    } columns[] = {{ASSAY_MIN, &row->min},
                   {ASSAY_MAX, &row->max},
                   {ASSAY_MEAN, &row->mean},
                   {ASSAY_STD, &row->std},
                   {ASSAY_VARIANCE, &row->variance},
                   {ASSAY_SUM, &row->sum},
                   {ASSAY_L1, &row->l1},
                   {ASSAY_L2, &row->l2},
                   {ASSAY_ABS_MEAN, &row->abs_mean},
                   {ASSAY_ABS + ASSAY_MAX, &row->abs_max}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (view->reductions >> columns[i].kind & 1) {
            *columns[i].to = view->reduction[columns[i].kind];
            row->recorded = 1;
        }
    }
}

/* The engine shows tensors in order of trial, step, tensor and worker, and the ranks continue one another: so rows of
 * ranks one after the other are sorted. */
static int add_tensor(void *context, uint32_t trial, const assay_step_info *step, const assay_tensor_view *view,
                      assay_error *err)
{
    assay_results *r = context;
    results_tensor row = {.at = where(trial, step),
                          .worker = view->worker,
                          .tensor = view->tensor,
                          .dtype = view->dtype,
                          .wall_time = view->wall_time};
    row.min = row.max = row.mean = row.std = row.variance = row.sum = row.l1 = row.l2 = row.abs_mean = row.abs_max =
        NAN;
    if (view->stats)
        take_statistics(view->stats, &row);
    else
        take_reductions(view, &row);
    if (!view->stats && view->dtype >= 0) {
        row.elements = 1;
        for (int i = 0; i < view->dims; i++)
            row.elements *= (uint64_t)view->shape[i];
    }
    return assay_spool_add(&r->tensors, &row, err);
}

/* What a call adds to the totals is of this rank alone until results_join_totals. */
static int add_counts(void *context, uint32_t trial, uint32_t aggregation, const assay_step_info *step,
                      const assay_counter *counter, assay_error *err)
{
    assay_results *r = context;
    bool pairs = results_counts_pairs(r->job->aggregations[aggregation]);
    assay_counter *total = r->totals[trial * r->job->aggregation_count + aggregation];
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < assay_counter_size(counter); i++) {
        results_count row = {.at = where(trial, step), .aggregation = aggregation};
        assay_counter_get(counter, i, &row.label, &row.prediction, &row.count);
        status = assay_spool_add(pairs ? &r->cells : &r->classes, &row, err);
        if (status == ASSAY_OK && assay_counter_add(total, row.label, row.prediction, row.count) != ASSAY_OK)
            status = assay_fail(err, ASSAY_ENOMEM, "out of memory for counts of classes");
    }
    return status;
}

assay_results *assay_results_new(const assay_job *job)
{
    assay_results *r = assay_alloc_zeroed(1, sizeof *r);
    size_t totals = job->trial_count * job->aggregation_count;
    if (!r)
        return NULL;
    r->job = job;
    r->observer = (assay_observer){r, add_tensor, add_counts};
    assay_spool_init(&r->tensors, sizeof(results_tensor));
    assay_spool_init(&r->findings, sizeof(results_finding));
    assay_spool *const counts[] = {&r->classes, &r->cells, &r->class_totals, &r->cell_totals};
    for (size_t i = 0; i < 4; i++)
        assay_spool_init(counts[i], sizeof(results_count));
    r->totals = assay_alloc_zeroed(totals, sizeof(assay_counter *));
    bool made = r->totals != NULL;
    for (size_t i = 0; made && i < totals; i++)
        made = (r->totals[i] = assay_counter_new()) != NULL;
    if (!made) {
        assay_results_free(r);
        return NULL;
    }
    return r;
}

void assay_results_free(assay_results *r)
{
    if (!r)
        return;
    for (size_t i = 0; r->totals && i < r->job->trial_count * r->job->aggregation_count; i++)
        if (r->totals[i])
            assay_counter_free(r->totals[i]);
    free(r->totals);
    assay_spool *const spools[] = {&r->tensors,      &r->classes,     &r->cells,
                                   &r->class_totals, &r->cell_totals, &r->findings};
    for (size_t i = 0; i < sizeof spools / sizeof *spools; i++)
        assay_spool_release(spools[i]);
    free(r);
}

const assay_observer *assay_results_observer(const assay_results *results)
{
    return &results->observer;
}
