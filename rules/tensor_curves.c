/* tensor_curves.c - the aggregation tensor_curves: norm, mean, magnitude and zeros of every tensor by step.
 *
 * One row per tensor and step, all workers together (shared/curves.h); the shapes are in the counter. Steps of a mode,
 * tensors and rows are bounded. The bounds depend only on the trial's steps and tensors, so the rows are the same
 * however the trial is read. The engine adds this aggregation to jobs whose tensors are drawn or compared. */
#include <math.h>

#include "curve_walk.h"
#include "figures.h"
#include "modes.h"
#include "selection.h"

static const assay_param_def params[] = {
    SELECTION_PARAMS,
    ASSAY_CHOICE_PARAM("mode", NULL, MODE_CHOICES, "Only steps of this mode; by default all."),
    ASSAY_INT_PARAM("steps", "512", 2, 1e9, "At most this many steps of a mode, evenly spaced."),
    ASSAY_INT_PARAM("tensors", "2000", 1, 1e9, "At most this many tensors, the first in byte order of their names."),
    ASSAY_INT_PARAM("rows", "262144", 1, 1e9,
                    "Rows in all; if they do not suffice, steps are left out first, then tensors."),
    ASSAY_BOOL_PARAM(
        "saved", "false",
        "Also tensors of which only statistics were saved, with l1, l2, mean and abs_mean among them; their zeros are not known."),
    {0},
};

static assay_curve_bounds bounds_of(const assay_rule *rule)
{
    return assay_curve_bounds_of(rule->trial, (uint64_t)assay_param_int(rule->params, "steps"),
                                 (uint64_t)assay_param_int(rule->params, "tensors"),
                                 (uint64_t)assay_param_int(rule->params, "rows"));
}

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int slot =
        assay_need_slot(need,
                        &(assay_slot){.collections = "collection_names",
                                      .regexes = "tensor_regex",
                                      .kinds = 1u << ASSAY_RAW | (assay_param_bool(given, "saved") ? FIGURES_KINDS : 0),
                                      .modes = chosen_modes(given),
                                      .first_steps = assay_param_int(given, "steps"),
                                      .flags = ASSAY_SLOT_NO_STRINGS | ASSAY_SLOT_SPREAD},
                        err);
    const assay_rows rows = {
        .width = ASSAY_CURVE_WIDTH, .pooled = true, .most = (uint64_t)assay_param_int(given, "rows")};
    return slot < 0 ? slot : assay_need_rows(need, slot, &rows, err);
}

/* A number below 2^52, so that a double has it exactly: FNV-1a over the axes. */
static int64_t shape_number(const assay_tensor_view *item)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (int axis = 0; axis < item->dims; axis++)
        for (int byte = 0; byte < 8; byte++)
            hash = (hash ^ ((uint64_t)item->shape[axis] >> (8 * byte) & 0xff)) * 0x100000001b3u;
    return (int64_t)((hash ^ hash >> 52) & 0xfffffffffffffu);
}

static int note_shape(assay_counter *shapes, const assay_tensor_view *item, int64_t number)
{
    int status = ASSAY_OK;
    for (int axis = 0; status == ASSAY_OK && axis < item->dims; axis++)
        status = assay_counter_add(shapes, number,
                                   (int64_t)axis << ASSAY_SHAPE_BITS | (item->shape[axis] & ASSAY_SHAPE_LENGTHS), 1);
    return status;
}

/* What the workers of one tensor have together. */
typedef struct sums {
    double elements, workers, squares, sum, magnitudes, zeros, nonfinite;
} sums;

static void add_values(const assay_stats *stats, sums *of)
{
    of->workers++;
    of->elements += (double)stats->count;
    of->squares += stats->squares;
    of->sum += stats->sum;
    of->magnitudes += stats->magnitudes;
    of->zeros += (double)stats->zeros;
    of->nonfinite += (double)(stats->nan + stats->pos_inf + stats->neg_inf);
}

/* Where a statistic is not finite, some element was not, and how many there are is not known. */
static void add_saved(const assay_tensor_view *item, sums *of)
{
    const double known = figures_elements(item), elements = known >= 1 ? known : 1;
    of->workers++;
    of->elements += elements;
    of->squares += item->reduction[ASSAY_L2] * item->reduction[ASSAY_L2];
    of->sum += item->reduction[ASSAY_MEAN] * elements;
    of->magnitudes += item->reduction[ASSAY_ABS_MEAN] * elements;
    of->zeros = (double)NAN;
    of->nonfinite += !isfinite(item->reduction[ASSAY_L2]);
}

/* items[0 .. count) are one tensor's, by worker. */
static int add_row(const assay_rule *rule, assay_common_state *s, const assay_step_view *view,
                   const assay_tensor_view *const *items, uint32_t count)
{
    const assay_tensor_view *one = NULL;
    const bool saved = assay_param_bool(rule->params, "saved");
    sums of = {0};
    for (uint32_t i = 0; i < count; i++) {
        if (assay_view_has_values(items[i]))
            add_values(items[i]->stats, &of);
        else if (saved && has_figures_alone(items[i]))
            add_saved(items[i], &of);
        else
            continue;
        one = one ? one : items[i];
    }
    if (!one)
        return ASSAY_OK;
    int64_t shape = shape_number(one);
    const double row[ASSAY_CURVE_WIDTH] = {
        [ASSAY_CURVE_ELEMENTS] = of.elements,
        [ASSAY_CURVE_WORKERS] = of.workers,
        [ASSAY_CURVE_NORM] = sqrt(of.squares / of.workers),
        [ASSAY_CURVE_MEAN] = of.sum / of.elements,
        [ASSAY_CURVE_MAGNITUDE] = of.magnitudes / of.elements,
        [ASSAY_CURVE_ZEROS] = of.zeros / of.elements,
        [ASSAY_CURVE_NONFINITE] = of.nonfinite,
        [ASSAY_CURVE_DTYPE] = one->dtype,
        [ASSAY_CURVE_SHAPE] = (double)shape,
    };
    int status = note_shape(s->counter, one, shape);
    return status == ASSAY_OK ? assay_series_add(s->series, view->step, one->tensor, ASSAY_ALL_WORKERS, row) : status;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    const assay_slot_view *slot = &view->slot[0];
    const assay_curve_bounds b = bounds_of(rule);
    int mode = view->mode >= 0 && view->mode < ASSAY_MODES ? view->mode : ASSAY_MODE_NONE, status = ASSAY_OK;
    uint64_t rank = assay_trial_mode_rank(rule->trial, assay_trial_find_step(rule->trial, view->step));
    if (!assay_spread_takes(rank, assay_trial_mode_steps(rule->trial, mode), b.stride[mode]))
        return ASSAY_OK;
    for (uint32_t i = 0, n; status == ASSAY_OK && i < slot->count && slot->items[i]->tensor < b.tensors; i += n) {
        for (n = 1; i + n < slot->count && slot->items[i + n]->tensor == slot->items[i]->tensor; n++)
            ;
        status = add_row(rule, state, view, slot->items + i, n);
    }
    return status;
}

static void put_curve(const curve_walk *w, const assay_counter *shapes, assay_buf *json, assay_buf *text)
{
    double nonfinite = 0;
    for (uint64_t i = 0; i < w->count; i++)
        nonfinite += curve_value(w, i, ASSAY_CURVE_NONFINITE);
    const int dtype = assay_curve_int(curve_value(w, 0, ASSAY_CURVE_DTYPE));
    if (dtype < 0) { /* statistics alone do not tell */
        assay_put_format(json, ", \"dtype\": null, \"shape\": null");
    } else {
        assay_put_format(json, ", \"dtype\": \"%s\", \"shape\": ", assay_dtype_name(dtype));
        assay_shape_put(shapes, assay_curve_whole(curve_value(w, 0, ASSAY_CURVE_SHAPE)), json);
    }
    assay_put_format(json, ", \"nonfinite\": %.0f", nonfinite);
    curve_put_values(w, "norm", ASSAY_CURVE_NORM, json);
    curve_put_values(w, "mean", ASSAY_CURVE_MEAN, json);
    curve_put_values(w, "magnitude", ASSAY_CURVE_MAGNITUDE, json);
    curve_put_values(w, "zeros", ASSAY_CURVE_ZEROS, json);
    assay_put_format(json, "}");
    assay_put_format(text, "  %s, %s: %" PRIu64 " step%s, norm %.6g to %.6g, zeros %.1f %% to %.1f %%\n",
                     assay_trial_tensor(w->trial, w->tensor), assay_mode_name(w->mode), w->count,
                     assay_plural(w->count), curve_value(w, 0, ASSAY_CURVE_NORM),
                     curve_value(w, w->count - 1, ASSAY_CURVE_NORM), 100 * curve_value(w, 0, ASSAY_CURVE_ZEROS),
                     100 * curve_value(w, w->count - 1, ASSAY_CURVE_ZEROS));
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    curve_walk walk;
    assay_buf *json = assay_verdict_json(verdict), *text = assay_verdict_text(verdict);
    const assay_curve_bounds b = bounds_of(rule);
    int status = curve_walk_begin(&walk, rule, state);
    bool first = true;
    assay_put_format(json, "\"curves\": [");
    while (status == ASSAY_OK && curve_walk_next(&walk)) {
        curve_put_head(&walk, first, json);
        put_curve(&walk, ((const assay_common_state *)state)->counter, json, text);
        first = false;
    }
    assay_put_format(json, "]");
    curve_walk_end(&walk);
    curve_put_strides(rule->trial, b.stride, verdict);
    uint64_t tensors = assay_trial_tensors(rule->trial);
    assay_put_format(json, ", \"tensors_left_out\": %" PRIu64, tensors - b.tensors);
    if (b.tensors < tensors)
        assay_put_format(text, "  only the first %" PRIu64 " of %" PRIu64 " tensors, up to %s\n", b.tensors, tensors,
                         assay_trial_tensor(rule->trial, (uint32_t)b.tensors - 1));
    return status;
}

const assay_rule_ops assay_rule_tensor_curves = {
    ASSAY_RULE_HEAD,
    .name = "tensor_curves",
    .summary = "Norm, mean, magnitude and zeros of every tensor by step and mode, over all workers.",
    .params = params,
    .traits = ASSAY_RULE_AGGREGATION | ASSAY_RULE_POOLS,
    .series_width = ASSAY_CURVE_WIDTH,
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
