/* loss_curve.c - the aggregation loss_curve: each loss by step and mode.
 *
 * One row per loss tensor and step: the mean over the workers of the mean of their elements. The engine adds this
 * aggregation to jobs whose losses are drawn or compared. */
#include <math.h>

#include "curve_walk.h"
#include "losses.h"
#include "modes.h"

static const assay_param_def params[] = {
    ASSAY_LIST_PARAM("collection_names", "losses", "Collections of tensors to test, in addition to tensor_regex."),
    ASSAY_REGEX_PARAM("tensor_regex", NULL,
                      "Patterns (re.search) for names of tensors to test, in addition to collection_names."),
    ASSAY_CHOICE_PARAM("mode", NULL, MODE_CHOICES, "Only steps of this mode; by default all."),
    ASSAY_INT_PARAM("steps", "100000", 2, 1e9, "At most this many steps of a mode, evenly spaced."),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int slot = assay_need_slot(need,
                               &(assay_slot){.collections = "collection_names",
                                             .regexes = "tensor_regex",
                                             .modes = chosen_modes(given),
                                             .first_steps = assay_param_int(given, "steps"),
                                             .flags = ASSAY_SLOT_NO_STRINGS | ASSAY_SLOT_SPREAD},
                               err);
    return slot < 0 ? slot : assay_need_rows(need, slot, &(assay_rows){.width = ASSAY_LOSS_WIDTH, .pooled = true}, err);
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    int status = ASSAY_OK;
    for (uint32_t i = 0, n; status == ASSAY_OK && i < view->slot[0].count; i += n) {
        const assay_tensor_view *const *item = view->slot[0].items + i;
        double row[ASSAY_LOSS_WIDTH];
        for (n = 1; i + n < view->slot[0].count && item[n]->tensor == item[0]->tensor; n++)
            ;
        if (step_loss(&(assay_slot_view){item, n}, NULL, &row[ASSAY_LOSS_VALUE]))
            status = assay_series_add(s->series, view->step, item[0]->tensor, ASSAY_ALL_WORKERS, row);
    }
    return status;
}

static bool is_better(double loss, double best)
{
    return loss < best || (isnan(best) && !isnan(loss));
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    curve_walk walk;
    assay_buf *json = assay_verdict_json(verdict), *text = assay_verdict_text(verdict);
    int status = curve_walk_begin(&walk, rule, state);
    bool first = true;
    assay_put_format(json, "\"losses\": [");
    while (status == ASSAY_OK && curve_walk_next(&walk)) {
        uint64_t best = 0;
        for (uint64_t i = 1; i < walk.count; i++)
            best = is_better(curve_value(&walk, i, ASSAY_LOSS_VALUE), curve_value(&walk, best, ASSAY_LOSS_VALUE))
                       ? i
                       : best;
        curve_put_head(&walk, first, json);
        curve_put_values(&walk, "values", ASSAY_LOSS_VALUE, json);
        assay_put_format(json, "}");
        assay_put_format(text, "  %s, %s: %" PRIu64 " step%s, best %.6g at step %" PRId64 ", last %.6g\n",
                         assay_trial_tensor(rule->trial, walk.tensor), assay_mode_name(walk.mode), walk.count,
                         assay_plural(walk.count), curve_value(&walk, best, ASSAY_LOSS_VALUE),
                         assay_series_row(walk.series, walk.row[best]).step,
                         curve_value(&walk, walk.count - 1, ASSAY_LOSS_VALUE));
        first = false;
    }
    assay_put_format(json, "]");
    curve_walk_end(&walk);
    curve_put_steps(rule, verdict);
    return status;
}

const assay_rule_ops assay_rule_loss_curve = {
    ASSAY_RULE_HEAD,
    .name = "loss_curve",
    .summary = "Each loss by step and mode, over all workers.",
    .params = params,
    .traits = ASSAY_RULE_AGGREGATION | ASSAY_RULE_POOLS,
    .series_width = ASSAY_LOSS_WIDTH,
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
