/* compare_tensors.c - compares the tensors of each trial with those of the baseline, at the mode steps that both have.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "report/compare/compare_internal.h"

const char *assay_first_difference_word(assay_first_difference parting)
{
    static const char *const words[] = {"", "dtype", "shape", "value"};
    return words[parting];
}

/* How far two numbers are apart, relative to `scale`; equal ones, infinite or NaN too, are not. */
static double distance(double a, double b, double scale)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    double d = fabs(a - b) / scale;
    return isfinite(a) && isfinite(b) && scale > 0 ? d : INFINITY;
}

static double larger(double a, double b)
{
    return fmax(fabs(a), fabs(b));
}

typedef struct gap {
    const char *what;
    double own, other, difference;
} gap;

/* The figure that differs most at a step. */
static gap gap_of(const assay_tensor_point *a, const assay_tensor_point *b)
{
    const double share_a = a->elements > 0 ? a->nonfinite / a->elements : 0,
                 share_b = b->elements > 0 ? b->nonfinite / b->elements : 0;
    const gap gaps[] = {
        {"norm", a->norm, b->norm, distance(a->norm, b->norm, larger(a->norm, b->norm))},
        {"mean", a->mean, b->mean, distance(a->mean, b->mean, larger(a->magnitude, b->magnitude))},
        {"magnitude", a->magnitude, b->magnitude,
         distance(a->magnitude, b->magnitude, larger(a->magnitude, b->magnitude))},
        {"zeros", a->zeros, b->zeros, distance(a->zeros, b->zeros, 1)},
        {"nonfinite", a->nonfinite, b->nonfinite, distance(share_a, share_b, 1)},
    };
    gap most = gaps[0];
    for (size_t i = 1; i < sizeof gaps / sizeof *gaps; i++)
        if (gaps[i].difference > most.difference)
            most = gaps[i];
    return most;
}

static void part(assay_compared_tensor *t, assay_first_difference parting, const assay_tensor_point *at, const gap *g)
{
    if (t->parting != ASSAY_PARTS_NOT)
        return;
    t->parting = parting;
    t->step = at->step;
    t->mode_step = at->mode_step;
    t->what = g->what;
    t->own = g->own;
    t->other = g->other;
    t->difference = g->difference;
}

static void compare_points(const assay_tensor_point *a, const assay_tensor_point *b, double tolerance,
                           assay_compared_tensor *t)
{
    gap g = gap_of(a, b);
    if (a->dtype != b->dtype)
        part(t, ASSAY_PARTS_DTYPE, a, &(gap){"dtype", a->dtype, b->dtype, INFINITY});
    if (a->shape != b->shape)
        part(t, ASSAY_PARTS_SHAPE, a, &(gap){"shape", (double)a->shape, (double)b->shape, INFINITY});
    if (g.difference > tolerance && a->mode_step == 0 && t->mode != ASSAY_MODE_EVAL && t->mode != ASSAY_MODE_PREDICT)
        t->from_start = true;
    if (g.difference > tolerance && !t->from_start)
        part(t, ASSAY_PARTS_VALUE, a, &g);
    if (g.difference > t->most || t->common == 0) {
        t->most = g.difference;
        t->most_mode_step = a->mode_step;
    }
    t->common++;
    t->last_norm = a->norm;
    t->last_other_norm = b->norm;
}

/* What differs before the first step of a training differs in its evaluations: `from_start` says that it does. */
static assay_compared_tensor compare_curves(const assay_tensor_curve *a, const assay_tensor_curve *b, double tolerance,
                                            bool from_start)
{
    assay_compared_tensor t = {.tensor = a->tensor, .mode = a->mode, .from_start = from_start};
    for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
        if (a->point[i].mode_step < b->point[k].mode_step)
            i++;
        else if (a->point[i].mode_step > b->point[k].mode_step)
            k++;
        else
            compare_points(&a->point[i++], &b->point[k++], tolerance, &t);
    }
    return t;
}

/* Both trials' tensors are numbered in byte order of their names. */
static int order_of(const assay_trial *trial, const assay_tensor_curve *a, const assay_trial *base,
                    const assay_tensor_curve *b)
{
    int order = strcmp(assay_trial_tensor(trial, a->tensor), assay_trial_tensor(base, b->tensor));
    return order ? order : (a->mode > b->mode) - (a->mode < b->mode);
}

/* By the step at which they part, dtype and shape before values; `tensor` is in order of names. */
ASSAY_ORDER_BY(by_step, assay_compared_tensor, step, parting, tensor, mode)

/* True when the trial has the tensor in that mode, though none of the steps looked at does, or it is left out. */
static bool has_tensor(const assay_trial *trial, const char *name, int mode)
{
    const uint32_t tensor = assay_trial_find_tensor(trial, name);
    return tensor != ASSAY_NO_TENSOR && assay_trial_tensor_modes(trial, tensor) >> mode & 1;
}

static bool shares(const assay_trial *other, const assay_trial *trial, const assay_tensor_curve *curve)
{
    return has_tensor(other, assay_trial_tensor(trial, curve->tensor), curve->mode);
}

static int compare_trial(assay_comparison *c, size_t trial, const assay_curves *own, const assay_curves *base)
{
    assay_compared_trial *t = &c->trial[trial];
    const assay_trial *info = c->outcome->trials[trial].info, *base_info = c->outcome->trials[c->baseline].info;
    assay_compared_tensor *list = assay_alloc(own->tensor_count * sizeof *list);
    bool started = false;
    uint32_t started_tensor = 0;
    ASSAY_HAVE(list);
    for (size_t i = 0, k = 0; i < own->tensor_count || k < base->tensor_count;) {
        int order = i == own->tensor_count    ? 1
                    : k == base->tensor_count ? -1
                                              : order_of(info, &own->tensors[i], base_info, &base->tensors[k]);
        if (order == 0) {
            bool trained = started && started_tensor == own->tensors[i].tensor; /* TRAIN comes before other modes */
            assay_compared_tensor one = compare_curves(&own->tensors[i], &base->tensors[k], c->tolerance, trained);
            started = one.from_start;
            started_tensor = one.tensor;
            t->compared += one.common > 0;
            t->disjoint += one.common == 0;
            t->from_start += one.from_start;
            if (one.parting != ASSAY_PARTS_NOT)
                list[t->parted++] = one;
        }
        if (order != 0) {
            bool both = order < 0 ? base_info && shares(base_info, info, &own->tensors[i])
                                  : shares(info, base_info, &base->tensors[k]);
            t->disjoint += both;
            t->only_own += !both && order < 0;
            t->only_baseline += !both && order > 0;
        }
        i += order <= 0;
        k += order >= 0;
    }
    qsort(list, t->parted, sizeof *list, by_step);
    t->tensors = t->parted < ASSAY_COMPARED_TENSORS ? t->parted : ASSAY_COMPARED_TENSORS;
    assay_compared_tensor *kept = assay_realloc_array(list, t->tensors ? t->tensors : 1, sizeof *kept);
    t->tensor = kept ? kept : list;
    return ASSAY_OK;
}

/* What was not looked at: nobody shall take it for equal. */
static void name_bounds(assay_comparison *c, size_t trial, const assay_curves *curves)
{
    assay_compared_trial *t = &c->trial[trial];
    const assay_trial *info = c->outcome->trials[trial].info;
    uint32_t tensors = assay_trial_tensors(info) - (uint32_t)curves->tensors_left_out;
    size_t at = 0;
    t->left_out = curves->tensors_left_out;
    for (int m = 0; m < ASSAY_MODES; m++) {
        t->every[m] = curves->every[m];
        t->losses_every[m] = curves->losses_every[m];
    }
    for (uint32_t id = 0; id < tensors; id++) {
        while (at < curves->tensor_count && curves->tensors[at].tensor < id)
            at++;
        bool seen = at < curves->tensor_count && curves->tensors[at].tensor == id;
        t->unseen += !seen && assay_trial_tensor_modes(info, id) != 0;
    }
}

int compare_tensors(assay_comparison *c)
{
    assay_curves base, own;
    int status = assay_curves_of_tensors(c->outcome, c->baseline, &base);
    for (size_t t = 0; status == ASSAY_OK && t < c->trials; t++) {
        if (c->outcome->trials[t].status != ASSAY_OK || c->outcome->job->implicit_count == 0)
            continue;
        status = assay_curves_of_tensors(c->outcome, t, &own);
        if (status == ASSAY_OK)
            name_bounds(c, t, &own);
        if (status == ASSAY_OK && t != c->baseline)
            status = compare_trial(c, t, &own, &base);
        assay_curves_release(&own);
    }
    assay_curves_release(&base);
    return status;
}
