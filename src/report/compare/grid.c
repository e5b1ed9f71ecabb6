/* grid.c - see grid.h. The values of one figure are in memory at a time, sorted by tensor and step. */
#include "report/compare/grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/runs.h"
#include "base/search.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "report/compare/gap.h"

const char *assay_band_word(int figure)
{
    static const char *const words[ASSAY_BAND_FIGURES] = {"loss",  "gap",  "norm",     "magnitude",
                                                          "zeros", "mean", "elements", "value"};
    return words[figure];
}

double assay_band_value(const assay_tensor_point *point, int figure)
{
    switch (figure) {
    case ASSAY_BAND_NORM:
        return point->norm;
    case ASSAY_BAND_MAGNITUDE:
        return point->magnitude;
    case ASSAY_BAND_ZEROS:
        return point->zeros;
    case ASSAY_BAND_ELEMENTS:
        return point->elements;
    case ASSAY_BAND_VALUE:
        return point->mean;
    default:
        return point->magnitude > 0 ? point->mean / point->magnitude : isfinite(point->mean) ? 0 : point->mean;
    }
}

/* One figure of one tensor of one trial at one mode step. */
typedef struct sample {
    const char *tensor; /* borrowed from the outcome */
    int64_t mode_step;
    double value;
    int mode;
    uint32_t trial;
} sample;

typedef struct samples {
    sample *list;
    size_t count, room;
} samples;

static int add(samples *s, const sample *one)
{
    if (!assay_vec_reserve(&s->list, &s->room, s->count + 1, sizeof *s->list))
        return ASSAY_ENOMEM;
    s->list[s->count++] = *one;
    return ASSAY_OK;
}

static bool can_be_written(const char *tensor)
{
    size_t length = strlen(tensor), size = 1;
    for (size_t at = 0; at < length && size > 0; at += size)
        size = assay_utf8_length(tensor + at, length - at);
    return size > 0;
}

static int add_points(const assay_trial *info, const assay_loss_curve *curve, const assay_loss_point *point,
                      size_t count, uint32_t trial, samples *out)
{
    int status = ASSAY_OK;
    sample one = {.tensor = assay_trial_tensor(info, curve->tensor), .mode = curve->mode, .trial = trial};
    if (!can_be_written(one.tensor) || curve->mode == ASSAY_MODE_NONE)
        return ASSAY_OK;
    for (size_t k = 0; status == ASSAY_OK && k < count; k++) {
        one.mode_step = point[k].mode_step;
        one.value = point[k].value;
        status = add(out, &one);
    }
    return status;
}

static int collect_losses(const assay_trial *info, const assay_curves *curves, uint32_t trial, samples *out)
{
    int status = ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && i < curves->loss_count; i++) {
        const assay_loss_curve *curve = &curves->losses[i];
        status = add_points(info, curve, curve->point, curve->count, trial, out);
    }
    return status;
}

static int collect_gaps(const assay_trial *info, const assay_curves *curves, uint32_t trial, samples *out)
{
    int status = ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && i < curves->loss_count; i++) {
        const assay_loss_curve *curve = &curves->losses[i];
        assay_loss_point *gap = assay_alloc(curve->count * sizeof *gap);
        status = gap ? add_points(info, curve, gap, assay_gap_of(curves, curve, gap), trial, out) : ASSAY_ENOMEM;
        free(gap);
    }
    return status;
}

/* A number that was logged has a value, and neither a norm nor a share of zeros. Losses have figures of their own. */
static bool has_figure(const assay_curves *curves, const assay_tensor_curve *curve, int figure)
{
    bool numbers = true;
    for (size_t k = 0; numbers && k < curve->count; k++)
        numbers = curve->point[k].elements == (double)curve->point[k].workers;
    if (figure == ASSAY_BAND_VALUE)
        return numbers && !assay_curves_loss(curves, curve->tensor, curve->mode);
    return !numbers;
}

static int collect_tensors(const assay_trial *info, const assay_curves *curves, uint32_t trial, int figure,
                           samples *out)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < curves->tensor_count; i++) {
        const assay_tensor_curve *curve = &curves->tensors[i];
        sample one = {.tensor = assay_trial_tensor(info, curve->tensor), .mode = curve->mode, .trial = trial};
        bool wanted = can_be_written(one.tensor) && curve->mode != ASSAY_MODE_NONE && has_figure(curves, curve, figure);
        size_t count = wanted ? curve->count : 0;
        for (size_t k = 0; status == ASSAY_OK && k < count; k++) {
            one.mode_step = curve->point[k].mode_step;
            one.value = assay_band_value(&curve->point[k], figure);
            status = add(out, &one);
        }
    }
    return status;
}

static int collect(const assay_outcome *outcome, int figure, samples *out)
{
    int status = ASSAY_OK;
    for (size_t t = 0; status == ASSAY_OK && t < outcome->trial_count; t++) {
        const assay_trial *info = outcome->trials[t].info;
        const bool of_losses = figure == ASSAY_BAND_LOSS || figure == ASSAY_BAND_GAP;
        assay_curves curves;
        status = of_losses                    ? assay_curves_of_losses(outcome, t, &curves)
                 : figure == ASSAY_BAND_VALUE ? assay_curves_make(outcome, t, &curves)
                                              : assay_curves_of_tensors(outcome, t, &curves);
        ASSAY_THEN(status, figure == ASSAY_BAND_LOSS  ? collect_losses(info, &curves, (uint32_t)t, out)
                           : figure == ASSAY_BAND_GAP ? collect_gaps(info, &curves, (uint32_t)t, out)
                                                      : collect_tensors(info, &curves, (uint32_t)t, figure, out));
        assay_curves_release(&curves);
    }
    return status;
}

static int by_place(const void *a, const void *b)
{
    const sample *x = a, *y = b;
    int order = x->tensor == y->tensor ? 0 : strcmp(x->tensor, y->tensor);
    if (order)
        return order;
    if (x->mode != y->mode)
        return x->mode < y->mode ? -1 : 1;
    if (x->mode_step != y->mode_step)
        return x->mode_step < y->mode_step ? -1 : 1;
    return (x->trial > y->trial) - (x->trial < y->trial);
}

static bool same_curve(const sample *a, const sample *b)
{
    return a->mode == b->mode && strcmp(a->tensor, b->tensor) == 0;
}

static size_t end_of_step(const sample *s, size_t i, size_t count)
{
    size_t end = i + 1;
    while (end < count && s[end].mode_step == s[i].mode_step)
        end++;
    return end;
}

/* Where the mode steps begin at which at least two values are finite; returns how many. */
static size_t find_steps(const sample *s, size_t count, size_t *start)
{
    size_t steps = 0;
    for (size_t i = 0, end; i < count; i = end) {
        size_t finite = 0;
        end = end_of_step(s, i, count);
        for (size_t k = i; k < end; k++)
            finite += isfinite(s[k].value) != 0;
        if (finite >= 2)
            start[steps++] = i;
    }
    return steps;
}

static bool changes(const assay_grid *grid, size_t trial)
{
    double first = NAN;
    for (size_t i = 0; i < grid->steps; i++) {
        const double value = grid->value[i * grid->trials + trial];
        if (!isfinite(value))
            continue;
        if (isnan(first))
            first = value;
        if (value != first)
            return true;
    }
    return false;
}

static int look_at_numbers(assay_grid *grid)
{
    const size_t all = grid->steps * grid->trials;
    double *size = assay_alloc((all + 1) * sizeof *size);
    size_t n = 0, change = 0;
    bool whole = true;
    ASSAY_HAVE(size);
    for (size_t i = 0; i < all; i++) {
        if (!isfinite(grid->value[i]))
            continue;
        grid->number.passes_zero |= grid->value[i] < 0;
        whole = whole && grid->value[i] == floor(grid->value[i]);
        size[n++] = fabs(grid->value[i]);
    }
    for (size_t t = 0; whole && t < grid->trials; t++)
        change += changes(grid, t);
    qsort(size, n, sizeof *size, assay_order_f64);
    grid->number.level = n > 0 ? size[n / 2] : 0;
    grid->number.counts = 2 * change > grid->trials;
    free(size);
    return ASSAY_OK;
}

/* The grid of the samples [0, count) of one curve. Its lists are the caller's to free. */
static int make_grid(const sample *s, size_t count, size_t most, const size_t *start, size_t steps, assay_grid *grid)
{
    uint64_t stride = assay_spread_stride(steps, most);
    grid->step = assay_alloc((steps ? steps : 1) * sizeof *grid->step);
    grid->points = assay_alloc_zeroed(grid->trials, sizeof *grid->points);
    grid->steps = 0;
    for (size_t i = 0; grid->step && i < steps; i++)
        if (assay_spread_takes(i, steps, stride))
            grid->step[grid->steps++] = s[start[i]].mode_step;
    grid->value = assay_alloc((grid->steps * grid->trials + 1) * sizeof *grid->value);
    ASSAY_HAVE(grid->step && grid->value && grid->points);
    for (size_t i = 0; i < count; i++)
        grid->points[s[i].trial]++;
    for (size_t i = 0; i < grid->steps * grid->trials; i++)
        grid->value[i] = NAN;
    for (size_t i = 0, k = 0; i < steps; i++) {
        if (!assay_spread_takes(i, steps, stride))
            continue;
        const size_t end = end_of_step(s, start[i], count);
        for (size_t at = start[i]; at < end; at++)
            grid->value[k * grid->trials + s[at].trial] = isfinite(s[at].value) ? s[at].value : INFINITY;
        k++;
    }
    return grid->figure == ASSAY_BAND_VALUE ? look_at_numbers(grid) : ASSAY_OK;
}

int assay_grid_walk(const assay_outcome *outcome, int figure, size_t most, assay_grid_visit *visit, void *context)
{
    samples all = {0};
    size_t *start = NULL;
    int status = collect(outcome, figure, &all);
    if (status == ASSAY_OK && all.count > 0) {
        assay_sort_runs(all.list, all.count, sizeof *all.list, by_place); /* those of each trial are sorted */
        start = assay_alloc(all.count * sizeof *start);
        status = start ? ASSAY_OK : ASSAY_ENOMEM;
    }
    for (size_t i = 0, end; status == ASSAY_OK && i < all.count; i = end) {
        for (end = i + 1; end < all.count && same_curve(&all.list[i], &all.list[end]); end++)
            ;
        assay_grid grid = {
            .figure = figure, .mode = all.list[i].mode, .tensor = all.list[i].tensor, .trials = outcome->trial_count};
        size_t steps = find_steps(all.list + i, end - i, start);
        status = make_grid(all.list + i, end - i, most, start, steps, &grid);
        ASSAY_THEN(status, visit(context, &grid));
        free(grid.step);
        free(grid.points);
        free(grid.value);
    }
    free(all.list);
    free(start);
    return status;
}
