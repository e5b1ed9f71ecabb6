/* compare_losses.c - each loss of all trials, aligned by mode step.
 *
 * Two passes over the trials, with one trial's curves in memory at a time: the first finds the common steps, the second
 * reads the values there. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "report/compare/compare_internal.h"

static assay_compared_loss *find_loss(const assay_comparison *c, const char *tensor, int mode)
{
    for (size_t i = 0; i < c->losses; i++)
        if (c->loss[i].mode == mode && strcmp(c->loss[i].tensor, tensor) == 0)
            return &c->loss[i];
    return NULL;
}

/* Adds a loss; NULL without memory. assay_comparison_free() releases what was added by then. */
static assay_compared_loss *add_loss(assay_comparison *c, const char *tensor, const assay_loss_curve *curve)
{
    assay_compared_loss *loss = &c->loss[c->losses++];
    *loss = (assay_compared_loss){.mode = curve->mode,
                                  .from = curve->point[0].mode_step,
                                  .to = curve->point[curve->count - 1].mode_step,
                                  .common = curve->count};
    loss->tensor = assay_copy_text(tensor);
    loss->figures = assay_alloc_zeroed(c->trials, sizeof *loss->figures);
    loss->step = assay_alloc(curve->count * sizeof *loss->step);
    if (!loss->tensor || !loss->figures || !loss->step)
        return NULL;
    for (size_t i = 0; i < curve->count; i++)
        loss->step[i] = curve->point[i].mode_step;
    return loss;
}

/* Keeps the mode steps that the curve has too. Both ascend. */
static void intersect(assay_compared_loss *loss, const assay_loss_curve *curve)
{
    size_t kept = 0, k = 0;
    for (size_t i = 0; i < loss->common; i++) {
        while (k < curve->count && curve->point[k].mode_step < loss->step[i])
            k++;
        if (k < curve->count && curve->point[k].mode_step == loss->step[i])
            loss->step[kept++] = loss->step[i];
    }
    loss->common = kept;
    int64_t from = curve->point[0].mode_step, to = curve->point[curve->count - 1].mode_step;
    loss->from = from > loss->from ? from : loss->from;
    loss->to = to < loss->to ? to : loss->to;
}

/* The best is the least; NaN is no best where there is a number. */
static assay_loss_figures figures_of(const assay_loss_curve *curve)
{
    const assay_loss_point *last = &curve->point[curve->count - 1], *best = &curve->point[0];
    for (size_t i = 1; i < curve->count; i++)
        if (curve->point[i].value < best->value || (isnan(best->value) && !isnan(curve->point[i].value)))
            best = &curve->point[i];
    return (assay_loss_figures){.points = curve->count,
                                .best = best->value,
                                .best_mode_step = best->mode_step,
                                .last = last->value,
                                .last_mode_step = last->mode_step,
                                .area = NAN};
}

static int align(assay_comparison *c, size_t trial, const assay_curves *curves)
{
    for (size_t i = 0; i < curves->loss_count; i++) {
        const assay_loss_curve *curve = &curves->losses[i];
        const char *name = assay_trial_tensor(c->outcome->trials[trial].info, curve->tensor);
        assay_compared_loss *loss = find_loss(c, name, curve->mode);
        if (loss) {
            intersect(loss, curve);
        } else if (c->losses == ASSAY_COMPARED_LOSSES) {
            c->losses_left_out++;
            continue;
        } else if (!(loss = add_loss(c, name, curve))) {
            return ASSAY_ENOMEM;
        }
        loss->trials++;
        loss->figures[trial] = figures_of(curve);
    }
    return ASSAY_OK;
}

/* Puts the value at a mode step between two points of the curve, on the line through them. */
static double between(const assay_loss_point *a, const assay_loss_point *b, int64_t at)
{
    double part = (double)(at - a->mode_step) / (double)(b->mode_step - a->mode_step);
    return a->value + part * (b->value - a->value);
}

/* Trapezoids; the ends are cut where all trials have the loss. */
static double area_of(const assay_loss_curve *curve, int64_t from, int64_t to)
{
    double area = 0;
    for (size_t i = 1; i < curve->count; i++) {
        const assay_loss_point *a = &curve->point[i - 1], *b = &curve->point[i];
        if (b->mode_step <= from || a->mode_step >= to || b->mode_step == a->mode_step)
            continue;
        int64_t left = a->mode_step < from ? from : a->mode_step, right = b->mode_step > to ? to : b->mode_step;
        double y0 = left == a->mode_step ? a->value : between(a, b, left);
        double y1 = right == b->mode_step ? b->value : between(a, b, right);
        area += (double)(right - left) * (y0 + y1) / 2;
    }
    return area;
}

static void take_values(const assay_comparison *c, size_t trial, const assay_curves *curves)
{
    for (size_t i = 0; i < curves->loss_count; i++) {
        const assay_loss_curve *curve = &curves->losses[i];
        assay_compared_loss *loss =
            find_loss(c, assay_trial_tensor(c->outcome->trials[trial].info, curve->tensor), curve->mode);
        if (!loss)
            continue;
        if (loss->from <= loss->to)
            loss->figures[trial].area = area_of(curve, loss->from, loss->to);
        size_t k = 0;
        for (size_t s = 0; s < loss->steps; s++) {
            while (k + 1 < curve->count && curve->point[k].mode_step < loss->step[s])
                k++;
            loss->value[trial * loss->steps + s] = curve->point[k].value;
        }
    }
}

/* Picks those of the common steps that are listed; in place, as what is picked comes no later. */
static int thin(assay_comparison *c, assay_compared_loss *loss)
{
    size_t stride = assay_spread_stride(loss->common, ASSAY_COMPARED_STEPS);
    for (size_t i = 0; i < loss->common; i++)
        if (assay_spread_takes(i, loss->common, stride))
            loss->step[loss->steps++] = loss->step[i];
    loss->value = assay_alloc(c->trials * loss->steps * sizeof *loss->value);
    for (size_t i = 0; loss->value && i < c->trials * loss->steps; i++)
        loss->value[i] = NAN;
    return loss->value ? ASSAY_OK : ASSAY_ENOMEM;
}

static int by_name(const void *a, const void *b)
{
    const assay_compared_loss *x = a, *y = b;
    int order = strcmp(x->tensor, y->tensor);
    return order ? order : (x->mode > y->mode) - (x->mode < y->mode);
}

/* Sorted between the two passes: find_loss() does not depend on the order. */
int compare_losses(assay_comparison *c)
{
    assay_curves curves;
    c->loss = assay_alloc_zeroed(ASSAY_COMPARED_LOSSES, sizeof *c->loss);
    int status = c->loss ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t t = 0; status == ASSAY_OK && t < c->trials; t++) {
        status = assay_curves_of_losses(c->outcome, t, &curves);
        ASSAY_THEN(status, align(c, t, &curves));
        assay_curves_release(&curves);
    }
    ASSAY_TRY(status);
    qsort(c->loss, c->losses, sizeof *c->loss, by_name);
    for (size_t i = 0; status == ASSAY_OK && i < c->losses; i++)
        status = thin(c, &c->loss[i]);
    for (size_t t = 0; status == ASSAY_OK && t < c->trials; t++) {
        status = assay_curves_of_losses(c->outcome, t, &curves);
        if (status == ASSAY_OK)
            take_values(c, t, &curves);
        assay_curves_release(&curves);
    }
    return status;
}
