/* curves.c - see curves.h. */
#include "report/model/curves.h"

#include "rules/shared/curves.h"
#include <inttypes.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/vec.h"
#include "rule/trial_info.h"

/* The rows of one implicit aggregation, in order of (tensor, mode, step). `series` is `own` or one of the outcome's:
 * the outcome may have put them into a file, from which they are fetched. */
typedef struct row_list {
    const assay_trial *trial;
    const assay_series *series;   /* NULL: there are none */
    assay_series *own;            /* what was fetched of them; owned */
    uint64_t *order;              /* owned */
    const assay_step_info **step; /* of each row in that order; NULL: nobody knows it; owned */
    uint64_t count;
    ASSAY_VEC(uint64_t) first; /* where each curve begins in that order; owned */
} row_list;

static const assay_common_state *state_of(const assay_trial_outcome *trial, size_t number)
{
    const assay_implicit_outcome *of = trial->implicit ? &trial->implicit[number] : NULL;
    return of && of->status == ASSAY_OK ? of->state : NULL;
}

static int mode_of(const assay_step_info *step)
{
    return step ? step->mode : 0;
}

/* A row while those of its tensor are ordered. */
typedef struct moved {
    uint64_t row;
    const assay_step_info *step;
} moved;

/* Orders the rows [first, end) of one tensor by mode, steps within it as they are: each mode is a curve. A walk for
 * each mode that occurs keeps the steps' order. 0 or ASSAY_ENOMEM. */
static int order_by_mode(row_list *list, uint64_t first, uint64_t end, moved *scratch)
{
    uint64_t at = first, of_mode[ASSAY_MODES] = {0}, position = UINT64_MAX;
    for (uint64_t i = first; i < end; i++) {
        const int64_t step = assay_series_row(list->series, list->order[i]).step;
        position = assay_trial_find_step_at(list->trial, position + 1, step); /* mostly they come one after the other */
        scratch[i] = (moved){list->order[i], assay_trial_step(list->trial, position)};
        of_mode[mode_of(scratch[i].step)]++;
    }
    for (int mode = 0; mode < ASSAY_MODES; mode++) {
        uint64_t *begin = of_mode[mode] > 0 ? ASSAY_VEC_ADD(&list->first) : NULL;
        if (of_mode[mode] == 0)
            continue;
        ASSAY_HAVE(begin);
        *begin = at;
        for (uint64_t i = first; i < end; i++) {
            if (mode_of(scratch[i].step) != mode)
                continue;
            list->step[at] = scratch[i].step;
            list->order[at++] = scratch[i].row;
        }
    }
    return ASSAY_OK;
}

static int list_rows(const assay_outcome *outcome, const assay_trial_outcome *trial, size_t number, row_list *out)
{
    *out = (row_list){.trial = trial->info};
    int status = assay_outcome_rows(outcome, &trial->implicit[number], &out->series, &out->own);
    if (status != ASSAY_OK || !out->series || assay_series_count(out->series) == 0)
        return status;
    out->count = assay_series_count(out->series);
    out->order = assay_series_by_tensor(out->series);
    out->step = assay_alloc_zeroed(out->count, sizeof(const assay_step_info *));
    moved *scratch = assay_alloc_zeroed(out->count, sizeof *scratch);
    bool made = out->order && out->step && scratch;
    for (uint64_t first = 0, end; made && first < out->count; first = end) {
        uint32_t tensor = assay_series_row(out->series, out->order[first]).tensor;
        for (end = first; end < out->count && assay_series_row(out->series, out->order[end]).tensor == tensor; end++)
            ;
        made = order_by_mode(out, first, end, scratch) == ASSAY_OK;
    }
    free(scratch);
    return made ? ASSAY_OK : ASSAY_ENOMEM;
}

static void release_rows(row_list *list)
{
    assay_series_free(list->own);
    free(list->order);
    free((void *)list->step);
    free(list->first.list);
}

/* Where a curve ends. */
static uint64_t end_of(const row_list *list, size_t curve)
{
    return curve + 1 < list->first.count ? list->first.list[curve + 1] : list->count;
}

static uint32_t tensor_of(const row_list *list, size_t curve)
{
    return assay_series_row(list->series, list->order[list->first.list[curve]]).tensor;
}

/* Curves point into loss_points, which has its size from the start and does not move. */
static int make_losses(const row_list *list, assay_curves *out)
{
    out->losses = assay_alloc_zeroed(list->first.count, sizeof *out->losses);
    out->loss_points = assay_alloc_zeroed(list->count, sizeof *out->loss_points);
    ASSAY_HAVE(out->losses && out->loss_points);
    out->loss_count = list->first.count;
    for (size_t k = 0; k < list->first.count; k++) {
        const uint64_t first = list->first.list[k], end = end_of(list, k);
        out->losses[k] = (assay_loss_curve){tensor_of(list, k), mode_of(list->step[first]), &out->loss_points[first],
                                            (size_t)(end - first)};
        for (uint64_t i = first; i < end; i++) {
            const assay_row row = assay_series_row(list->series, list->order[i]);
            const assay_step_info *step = list->step[i];
            out->loss_points[i] =
                (assay_loss_point){row.step, step ? step->mode_step : row.step, row.value[ASSAY_LOSS_VALUE]};
        }
    }
    return ASSAY_OK;
}

static assay_tensor_point tensor_point(const assay_row *row, const assay_step_info *step)
{
    return (assay_tensor_point){.step = row->step,
                                .mode_step = step ? step->mode_step : row->step,
                                .elements = row->value[ASSAY_CURVE_ELEMENTS],
                                .norm = row->value[ASSAY_CURVE_NORM],
                                .mean = row->value[ASSAY_CURVE_MEAN],
                                .magnitude = row->value[ASSAY_CURVE_MAGNITUDE],
                                .zeros = row->value[ASSAY_CURVE_ZEROS],
                                .nonfinite = row->value[ASSAY_CURVE_NONFINITE],
                                .workers = (uint32_t)assay_curve_whole(row->value[ASSAY_CURVE_WORKERS]),
                                .dtype = assay_curve_int(row->value[ASSAY_CURVE_DTYPE]),
                                .shape = assay_curve_whole(row->value[ASSAY_CURVE_SHAPE])};
}

static int make_tensors(const row_list *list, assay_curves *out)
{
    out->tensors = assay_alloc_zeroed(list->first.count, sizeof *out->tensors);
    out->tensor_points = assay_alloc_zeroed(list->count, sizeof *out->tensor_points);
    ASSAY_HAVE(out->tensors && out->tensor_points);
    out->tensor_count = list->first.count;
    for (size_t k = 0; k < list->first.count; k++) {
        const uint64_t first = list->first.list[k], end = end_of(list, k);
        out->tensors[k] = (assay_tensor_curve){tensor_of(list, k), mode_of(list->step[first]),
                                               &out->tensor_points[first], (size_t)(end - first)};
        for (uint64_t i = first; i < end; i++) {
            const assay_row row = assay_series_row(list->series, list->order[i]);
            out->tensor_points[i] = tensor_point(&row, list->step[i]);
        }
    }
    return ASSAY_OK;
}

/* Sets the same bounds as the aggregations took, by the same functions: how many steps and tensors were left out is
 * not in their rows. */
static void set_bounds(const assay_outcome *outcome, const assay_trial *trial, assay_curves *out)
{
    const assay_job *job = outcome->job;
    const assay_params *losses = job->implicit[ASSAY_IMPLICIT_LOSSES]->params;
    const assay_params *tensors = job->implicit[ASSAY_IMPLICIT_TENSORS]->params;
    assay_curve_bounds bounds = assay_curve_bounds_of(trial, (uint64_t)assay_param_int(tensors, "steps"),
                                                      (uint64_t)assay_param_int(tensors, "tensors"),
                                                      (uint64_t)assay_param_int(tensors, "rows"));
    out->tensors_left_out = assay_trial_tensors(trial) - bounds.tensors;
    for (int m = 0; m < ASSAY_MODES; m++) {
        out->every[m] = bounds.stride[m];
        out->losses_every[m] =
            assay_spread_stride(assay_trial_mode_steps(trial, m), (uint64_t)assay_param_int(losses, "steps"));
    }
}

enum { LOSSES = 1, TENSORS = 2 };

/* Called by each form of a report that draws curves. A trial without an outcome has no curves, which is no failure. */
static int make(const assay_outcome *outcome, size_t trial, int parts, assay_curves *out)
{
    const assay_trial_outcome *t = &outcome->trials[trial];
    row_list losses = {0}, tensors = {0};
    *out = (assay_curves){0};
    for (int m = 0; m < ASSAY_MODES; m++)
        out->every[m] = out->losses_every[m] = 1;
    if (t->status != ASSAY_OK || !t->info || outcome->job->implicit_count == 0 || !t->implicit)
        return ASSAY_OK;
    const assay_common_state *tensor_state = state_of(t, ASSAY_IMPLICIT_TENSORS);
    set_bounds(outcome, t->info, out);
    out->shapes = tensor_state ? tensor_state->counter : NULL;
    int status = ASSAY_OK;
    if (parts & LOSSES) {
        status = list_rows(outcome, t, ASSAY_IMPLICIT_LOSSES, &losses);
        ASSAY_THEN(status, make_losses(&losses, out));
    }
    if (parts & TENSORS) {
        ASSAY_THEN(status, list_rows(outcome, t, ASSAY_IMPLICIT_TENSORS, &tensors));
        ASSAY_THEN(status, make_tensors(&tensors, out));
    }
    release_rows(&losses);
    release_rows(&tensors);
    if (status != ASSAY_OK)
        assay_curves_release(out);
    return status;
}

int assay_curves_make(const assay_outcome *outcome, size_t trial, assay_curves *out)
{
    return make(outcome, trial, LOSSES | TENSORS, out);
}

int assay_curves_of_losses(const assay_outcome *outcome, size_t trial, assay_curves *out)
{
    return make(outcome, trial, LOSSES, out);
}

int assay_curves_of_tensors(const assay_outcome *outcome, size_t trial, assay_curves *out)
{
    return make(outcome, trial, TENSORS, out);
}

bool assay_curves_have_losses(const assay_outcome *outcome, size_t trial)
{
    const assay_trial_outcome *t = &outcome->trials[trial];
    const assay_common_state *state = t->status == ASSAY_OK && t->info ? state_of(t, ASSAY_IMPLICIT_LOSSES) : NULL;
    return outcome->job->implicit_count > 0 && state &&
           (t->implicit[ASSAY_IMPLICIT_LOSSES].rows_size > 0 ||
            (state->series && assay_series_count(state->series) > 0));
}

void assay_curves_release(assay_curves *curves)
{
    free(curves->losses);
    free(curves->tensors);
    free(curves->loss_points);
    free(curves->tensor_points);
    *curves = (assay_curves){0};
}

static int order_of(uint32_t tensor, int mode, uint32_t other_tensor, int other_mode)
{
    if (tensor != other_tensor)
        return tensor < other_tensor ? -1 : 1;
    return (mode > other_mode) - (mode < other_mode);
}

static int by_loss(const void *wanted, const void *there)
{
    const assay_loss_curve *a = wanted, *b = there;
    return order_of(a->tensor, a->mode, b->tensor, b->mode);
}

static int by_tensor(const void *wanted, const void *there)
{
    const assay_tensor_curve *a = wanted, *b = there;
    return order_of(a->tensor, a->mode, b->tensor, b->mode);
}

const assay_loss_curve *assay_curves_loss(const assay_curves *curves, uint32_t tensor, int mode)
{
    const assay_loss_curve key = {.tensor = tensor, .mode = mode};
    return curves->losses ? bsearch(&key, curves->losses, curves->loss_count, sizeof key, by_loss) : NULL;
}

const assay_tensor_curve *assay_curves_tensor(const assay_curves *curves, uint32_t tensor, int mode)
{
    const assay_tensor_curve key = {.tensor = tensor, .mode = mode};
    return curves->tensors ? bsearch(&key, curves->tensors, curves->tensor_count, sizeof key, by_tensor) : NULL;
}

void assay_curves_put_shape(const assay_curves *curves, int64_t shape, assay_buf *out)
{
    assay_shape_put(curves->shapes, shape, out);
}
