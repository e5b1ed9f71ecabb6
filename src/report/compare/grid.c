/* grid.c - see grid.h. A trial's curves are made once for all figures: making and sorting them takes longer than what is asked
 * of them. */
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

/* Figures that are taken of the same curves. */
typedef enum kind { OF_LOSSES, OF_GAPS, OF_TENSORS, OF_NUMBERS, KINDS } kind;

enum { TENSOR_FIGURES = ASSAY_BAND_ELEMENTS - ASSAY_BAND_NORM + 1 };

static kind kind_of(int figure)
{
    return figure == ASSAY_BAND_LOSS    ? OF_LOSSES
           : figure == ASSAY_BAND_GAP   ? OF_GAPS
           : figure == ASSAY_BAND_VALUE ? OF_NUMBERS
                                        : OF_TENSORS;
}

/* The curve of a tensor of one trial: `value` has each figure of the kind, one behind the other. */
typedef struct strand {
    const char *tensor; /* borrowed from the outcome */
    int mode;
    uint32_t trial;
    size_t count;
    int64_t *step;     /* [count] ascending mode steps */
    bool shares_steps; /* they are another strand's; else owned */
    double *value;     /* [figure * count + i]; owned */
} strand;

/* Steps of the strand that was added last, of a mode. */
typedef struct recent {
    int64_t *step;
    size_t count;
} recent;

/* The strands [first, end) are one tensor's in one mode. */
typedef struct group {
    size_t first, end;
    int64_t *step; /* [steps] all that they have, ascending; owned */
    size_t steps;
} group;

typedef struct list {
    ASSAY_VEC(strand) strand;
    ASSAY_VEC(group) group;
    recent recent[ASSAY_MODES]; /* most runs log at the steps of the run before */
} list;

struct assay_grids {
    size_t trials;
    list of[KINDS];
};

static bool can_be_written(const char *tensor)
{
    size_t length = strlen(tensor), size = 1;
    for (size_t at = 0; at < length && size > 0; at += size)
        size = assay_utf8_length(tensor + at, length - at);
    return size > 0;
}

/* A strand without its steps and values. NULL without memory. */
static strand *add(list *l, const char *tensor, int mode, uint32_t trial, size_t count, size_t figures)
{
    strand *s = ASSAY_VEC_ADD(&l->strand);
    if (!s)
        return NULL;
    *s = (strand){.tensor = tensor, .mode = mode, .trial = trial, .count = count};
    s->step = assay_realloc_array(NULL, count, sizeof *s->step);
    s->value = assay_realloc_array(NULL, count, figures * sizeof *s->value);
    return s->step && s->value ? s : NULL;
}

typedef struct placed {
    int64_t step;
    size_t at;
} placed;

ASSAY_ORDER_BY(by_step, placed, step, at)

/* Points come by global step, which nearly always is the order of mode steps, too. */
static int put_in_order(strand *s, size_t figures)
{
    bool sorted = true;
    for (size_t k = 1; k < s->count; k++)
        sorted = sorted && s->step[k - 1] <= s->step[k];
    if (sorted)
        return ASSAY_OK;
    placed *order = assay_alloc(s->count * sizeof *order);
    double *value = assay_alloc(s->count * sizeof *value);
    for (size_t k = 0; order && value && k < s->count; k++)
        order[k] = (placed){s->step[k], k};
    if (order && value)
        qsort(order, s->count, sizeof *order, by_step);
    for (size_t k = 0; order && value && k < s->count; k++)
        s->step[k] = order[k].step;
    for (size_t f = 0; order && value && f < figures; f++) {
        for (size_t k = 0; k < s->count; k++)
            value[k] = s->value[f * s->count + order[k].at];
        memcpy(s->value + f * s->count, value, s->count * sizeof *value);
    }
    const int status = order && value ? ASSAY_OK : ASSAY_ENOMEM;
    free(order);
    free(value);
    return status;
}

/* A strand whose points have been put. 0 or ASSAY_ENOMEM. */
static int finish(list *l, strand *s, size_t figures)
{
    recent *before = &l->recent[s->mode];
    ASSAY_TRY(put_in_order(s, figures));
    if (before->count == s->count && memcmp(before->step, s->step, s->count * sizeof *s->step) == 0) {
        free(s->step);
        s->step = before->step;
        s->shares_steps = true;
    } else {
        *before = (recent){s->step, s->count};
    }
    return ASSAY_OK;
}

static int add_losses(list *l, const char *tensor, int mode, uint32_t trial, const assay_loss_point *point,
                      size_t count)
{
    strand *s = count > 0 ? add(l, tensor, mode, trial, count, 1) : NULL;
    if (!s)
        return count > 0 ? ASSAY_ENOMEM : ASSAY_OK;
    for (size_t k = 0; k < count; k++) {
        s->step[k] = point[k].mode_step;
        s->value[k] = point[k].value;
    }
    return finish(l, s, 1);
}

static int add_gap(list *l, const assay_curves *curves, const assay_loss_curve *curve, const char *tensor,
                   uint32_t trial)
{
    if (curve->mode != ASSAY_MODE_EVAL)
        return ASSAY_OK;
    assay_loss_point *gap = assay_alloc(curve->count * sizeof *gap);
    int status = gap ? ASSAY_OK : ASSAY_ENOMEM;
    ASSAY_THEN(status, add_losses(l, tensor, curve->mode, trial, gap, assay_gap_of(curves, curve, gap)));
    free(gap);
    return status;
}

/* A number that was logged has a value, and neither a norm nor a share of zeros. */
static bool is_number(const assay_tensor_curve *curve)
{
    bool numbers = true;
    for (size_t k = 0; numbers && k < curve->count; k++)
        numbers = curve->point[k].elements == (double)curve->point[k].workers;
    return numbers;
}

static int add_tensor(assay_grids *g, const assay_curves *curves, const assay_tensor_curve *curve, const char *tensor,
                      uint32_t trial)
{
    const bool number = is_number(curve);
    const size_t figures = number ? 1 : TENSOR_FIGURES;
    if (number && assay_curves_loss(curves, curve->tensor, curve->mode)) /* losses have figures of their own */
        return ASSAY_OK;
    list *l = &g->of[number ? OF_NUMBERS : OF_TENSORS];
    strand *s = add(l, tensor, curve->mode, trial, curve->count, figures);
    ASSAY_HAVE(s);
    for (size_t k = 0; k < curve->count; k++) {
        s->step[k] = curve->point[k].mode_step;
        for (size_t f = 0; f < figures; f++)
            s->value[f * curve->count + k] =
                assay_band_value(&curve->point[k], number ? ASSAY_BAND_VALUE : ASSAY_BAND_NORM + (int)f);
    }
    return finish(l, s, figures);
}

static int collect_trial(assay_grids *g, const assay_trial *info, const assay_curves *curves, uint32_t trial)
{
    int status = ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && i < curves->loss_count; i++) {
        const assay_loss_curve *curve = &curves->losses[i];
        const char *tensor = assay_trial_tensor(info, curve->tensor);
        if (!can_be_written(tensor) || curve->mode == ASSAY_MODE_NONE)
            continue;
        status = add_losses(&g->of[OF_LOSSES], tensor, curve->mode, trial, curve->point, curve->count);
        ASSAY_THEN(status, add_gap(&g->of[OF_GAPS], curves, curve, tensor, trial));
    }
    for (size_t i = 0; status == ASSAY_OK && i < curves->tensor_count; i++) {
        const assay_tensor_curve *curve = &curves->tensors[i];
        const char *tensor = assay_trial_tensor(info, curve->tensor);
        if (can_be_written(tensor) && curve->mode != ASSAY_MODE_NONE)
            status = add_tensor(g, curves, curve, tensor, trial);
    }
    return status;
}

static int by_place(const void *a, const void *b)
{
    const strand *x = a, *y = b;
    int order = x->tensor == y->tensor ? 0 : strcmp(x->tensor, y->tensor);
    if (order == 0)
        order = (x->mode > y->mode) - (x->mode < y->mode);
    return order ? order : (x->trial > y->trial) - (x->trial < y->trial);
}

static bool has_same_steps(const strand *a, const strand *b)
{
    return a->count == b->count && (a->step == b->step || memcmp(a->step, b->step, a->count * sizeof *a->step) == 0);
}

/* All steps of the strands of a group: mostly those of its first. */
static int unite_steps(const strand *s, group *g)
{
    size_t all = 0, kept = 0;
    for (size_t i = g->first; i < g->end; i++)
        all += i > g->first && has_same_steps(&s[i - 1], &s[i]) ? 0 : s[i].count;
    ASSAY_HAVE(g->step = assay_alloc(all * sizeof *g->step));
    all = 0;
    for (size_t i = g->first; i < g->end; i++) {
        if (i > g->first && has_same_steps(&s[i - 1], &s[i]))
            continue;
        memcpy(g->step + all, s[i].step, s[i].count * sizeof *g->step);
        all += s[i].count;
    }
    assay_sort_runs(g->step, all, sizeof *g->step, assay_order_i64); /* those of each strand are sorted */
    for (size_t i = 0; i < all; i++)
        if (kept == 0 || g->step[i] != g->step[kept - 1])
            g->step[kept++] = g->step[i];
    g->steps = kept;
    return ASSAY_OK;
}

static int make_groups(list *l)
{
    const strand *s = l->strand.list;
    int status = ASSAY_OK;
    if (l->strand.count > 0)
        assay_sort_runs(l->strand.list, l->strand.count, sizeof *s, by_place); /* those of each trial are sorted */
    for (size_t i = 0, end; status == ASSAY_OK && i < l->strand.count; i = end) {
        for (end = i + 1; end < l->strand.count && s[i].mode == s[end].mode && strcmp(s[i].tensor, s[end].tensor) == 0;)
            end++;
        group *g = ASSAY_VEC_ADD(&l->group);
        ASSAY_HAVE(g);
        g->first = i;
        g->end = end;
        status = unite_steps(s, g);
    }
    return status;
}

assay_grids *assay_grids_new(const assay_outcome *outcome, bool losses_alone, int *status)
{
    assay_grids *g = assay_alloc_zeroed(1, sizeof *g);
    *status = g ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t t = 0; *status == ASSAY_OK && t < outcome->trial_count; t++) {
        assay_curves curves;
        *status = losses_alone ? assay_curves_of_losses(outcome, t, &curves) : assay_curves_make(outcome, t, &curves);
        ASSAY_THEN(*status, collect_trial(g, outcome->trials[t].info, &curves, (uint32_t)t));
        assay_curves_release(&curves);
    }
    for (int k = 0; *status == ASSAY_OK && k < KINDS; k++)
        *status = make_groups(&g->of[k]);
    if (*status != ASSAY_OK) {
        assay_grids_free(g);
        return NULL;
    }
    g->trials = outcome->trial_count;
    return g;
}

void assay_grids_free(assay_grids *grids)
{
    for (int k = 0; grids && k < KINDS; k++) {
        list *l = &grids->of[k];
        for (size_t i = 0; i < l->strand.count; i++) {
            if (!l->strand.list[i].shares_steps)
                free(l->strand.list[i].step);
            free(l->strand.list[i].value);
        }
        for (size_t i = 0; i < l->group.count; i++)
            free(l->group.list[i].step);
        free(l->strand.list);
        free(l->group.list);
    }
    free(grids);
}

size_t assay_grids_trials(const assay_grids *grids)
{
    return grids->trials;
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

/* How many of the strands' values are finite at each step of their group. */
static void count_finite(const list *l, const group *g, size_t figure, size_t *finite)
{
    memset(finite, 0, g->steps * sizeof *finite);
    for (size_t i = g->first; i < g->end; i++) {
        const strand *s = &l->strand.list[i];
        const double *value = s->value + figure * s->count;
        for (size_t k = 0, at = 0; k < s->count; k++) {
            while (g->step[at] < s->step[k])
                at++;
            finite[at] += isfinite(value[k]) != 0;
        }
    }
}

static const size_t NOWHERE = SIZE_MAX;

/* Chooses the grid's steps of those at which at least two values are finite: at most `most`. In place of how many are finite
 * a step gets its number in the grid, or NOWHERE. */
static void choose_steps(const group *g, size_t most, size_t *place, assay_grid *grid)
{
    size_t steps = 0, number = 0;
    for (size_t i = 0; i < g->steps; i++)
        steps += place[i] >= 2;
    const uint64_t stride = assay_spread_stride(steps, most);
    for (size_t i = 0; i < g->steps; i++) {
        const bool taken = place[i] >= 2 && assay_spread_takes(number++, steps, stride);
        place[i] = taken ? grid->steps : NOWHERE;
        if (taken)
            grid->step[grid->steps++] = g->step[i];
    }
}

static void put_values(const list *l, const group *g, size_t figure, const size_t *place, assay_grid *grid)
{
    for (size_t i = 0; i < grid->steps * grid->trials; i++)
        grid->value[i] = NAN;
    for (size_t i = g->first; i < g->end; i++) {
        const strand *s = &l->strand.list[i];
        const double *value = s->value + figure * s->count;
        grid->points[s->trial] += (uint32_t)s->count;
        for (size_t k = 0, at = 0; k < s->count; k++) {
            while (g->step[at] < s->step[k])
                at++;
            if (place[at] != NOWHERE)
                grid->value[place[at] * grid->trials + s->trial] = isfinite(value[k]) ? value[k] : INFINITY;
        }
    }
}

/* Its lists are the caller's to free. */
static int make_grid(const list *l, const group *g, size_t figure, size_t most, size_t *place, assay_grid *grid)
{
    grid->step = assay_alloc((g->steps ? g->steps : 1) * sizeof *grid->step);
    grid->points = assay_alloc_zeroed(grid->trials, sizeof *grid->points);
    ASSAY_HAVE(grid->step && grid->points);
    count_finite(l, g, figure, place);
    choose_steps(g, most, place, grid);
    ASSAY_HAVE(grid->value = assay_alloc((grid->steps * grid->trials + 1) * sizeof *grid->value));
    put_values(l, g, figure, place, grid);
    return grid->figure == ASSAY_BAND_VALUE ? look_at_numbers(grid) : ASSAY_OK;
}

int assay_grids_walk(const assay_grids *grids, int figure, size_t most, assay_grid_visit *visit, void *context)
{
    const list *l = &grids->of[kind_of(figure)];
    const size_t of_kind = kind_of(figure) == OF_TENSORS ? (size_t)(figure - ASSAY_BAND_NORM) : 0;
    size_t steps = 1;
    int status = ASSAY_OK;
    for (size_t i = 0; i < l->group.count; i++)
        steps = l->group.list[i].steps > steps ? l->group.list[i].steps : steps;
    size_t *place = assay_alloc(steps * sizeof *place);
    ASSAY_HAVE(place);
    for (size_t i = 0; status == ASSAY_OK && i < l->group.count; i++) {
        const group *g = &l->group.list[i];
        const strand *first = &l->strand.list[g->first];
        assay_grid grid = {.figure = figure, .mode = first->mode, .tensor = first->tensor, .trials = grids->trials};
        status = make_grid(l, g, of_kind, most, place, &grid);
        ASSAY_THEN(status, visit(context, &grid));
        free(grid.step);
        free(grid.points);
        free(grid.value);
    }
    free(place);
    return status;
}
