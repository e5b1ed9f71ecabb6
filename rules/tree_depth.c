/* tree_depth.c - TreeDepth: boosted trees that are too deep. docs/rules/TreeDepth.md.
 *
 * For each worker: D = floor(log2(largest node number of trees/Node + 1)); fires when D > depth. XGBoost numbers nodes
 * as it creates them, so D is too low for unbalanced trees; with true_depth D is the length of the longest path from
 * the root along trees/Yes and trees/No. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "selection.h"

enum { NODE, YES, NO };              /* slots */
enum { NODES, YES_TEXTS, NO_TEXTS }; /* measures, with true_depth */
enum { MOST_NODES = 1 << 20 };

static const assay_param_def params[] = {
    ASSAY_REAL_PARAM("depth", "4", 0, 1e308, "The rule fires above this depth."),
    ASSAY_BOOL_PARAM("true_depth", "False",
                     "Follow the links between nodes instead of deriving the depth from the largest node number."),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    static const char *const name[] = {"trees/Node", "trees/Yes", "trees/No"};
    bool links = assay_param_bool(given, "true_depth");
    for (int i = NODE; i <= (links ? NO : NODE); i++) {
        int slot =
            assay_need_slot(need, &(assay_slot){.name = name[i], .flags = i == NODE ? ASSAY_SLOT_NO_STRINGS : 0}, err);
        assay_measure measure = {.kind = i == NODE ? ASSAY_MEASURE_VALUES : ASSAY_MEASURE_TEXTS};
        int status = slot < 0 || !links ? slot : assay_need_measure(need, slot, &measure, err);
        if (status < 0)
            return status;
    }
    return ASSAY_OK;
}

/* The strings of the worker's tensor in a slot, NULL unless there is one for each node. */
static const assay_texts *texts_of(const assay_step_view *view, int slot, int measure, uint32_t worker, uint64_t count)
{
    for (uint32_t i = 0; i < view->slot[slot].count; i++) {
        const assay_tensor_view *item = view->slot[slot].items[i];
        const assay_result *result = item->worker == worker ? assay_view_result(view, measure, item) : NULL;
        if (result && result->of.texts.count == count)
            return &result->of.texts;
    }
    return NULL;
}

/* The node number in "tree-node"; -1 for leaves, whose links are empty or "nan". */
static int64_t linked_node(const char *text)
{
    const char *dash = strrchr(text, '-');
    char *end;
    if (!dash || dash[1] < '0' || dash[1] > '9')
        return -1;
    long long node = strtoll(dash + 1, &end, 10);
    return *end == '\0' ? node : -1;
}

/* Sets the level of each row of the tree: children are found by their node numbers, level by level. */
static int walk_levels(const assay_values *nodes, const assay_texts *yes, const assay_texts *no, double *depth)
{
    uint64_t count = nodes->count;
    int64_t *row_of = malloc(count * sizeof *row_of); /* of a node number; each row is taken once, so that loops end */
    uint64_t *queue = malloc(count * sizeof *queue), *level = malloc(count * sizeof *level), taken = 0;
    int status = row_of && queue && level ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i++)
        row_of[i] = -1;
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i++)
        if (nodes->value[i] >= 0 && nodes->value[i] < (double)count)
            row_of[(uint64_t)nodes->value[i]] = (int64_t)i;
    if (status == ASSAY_OK && row_of[0] >= 0) {
        level[taken] = 0;
        queue[taken++] = (uint64_t)row_of[0];
        row_of[0] = -1;
    }
    for (uint64_t at = 0; status == ASSAY_OK && at < taken; at++) {
        int64_t child[] = {linked_node(yes->text[queue[at]]), linked_node(no->text[queue[at]])};
        *depth = (double)level[at];
        for (int k = 0; k < 2; k++)
            if (child[k] >= 0 && (uint64_t)child[k] < count && row_of[child[k]] >= 0) {
                level[taken] = level[at] + 1;
                queue[taken++] = (uint64_t)row_of[child[k]];
                row_of[child[k]] = -1;
            }
    }
    free(row_of);
    free(queue);
    free(level);
    return status;
}

/* NaN where the tree cannot be judged. */
static int depth_of(const assay_rule *rule, const assay_step_view *view, const assay_tensor_view *item, double *depth)
{
    *depth = NAN;
    if (!assay_param_bool(rule->params, "true_depth")) {
        double largest = assay_stats_max(item->stats);
        if (largest >= 0 && isfinite(largest))
            *depth = floor(log2(largest + 1));
        return ASSAY_OK;
    }
    const assay_result *nodes = assay_view_result(view, NODES, item);
    uint64_t count = nodes ? nodes->of.values.count : 0;
    const assay_texts *yes = count ? texts_of(view, YES, YES_TEXTS, item->worker, count) : NULL;
    const assay_texts *no = count ? texts_of(view, NO, NO_TEXTS, item->worker, count) : NULL;
    return yes && no && count <= MOST_NODES ? walk_levels(&nodes->of.values, yes, no, depth) : ASSAY_OK;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    double most = assay_param_real(rule->params, "depth"), depth;
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[NODE].count; i++) {
        const assay_tensor_view *item = view->slot[NODE].items[i];
        if (!assay_view_has_values(item))
            continue;
        status = depth_of(rule, view, item, &depth);
        if (status || isnan(depth))
            continue;
        assay_finding finding = finding_of(view, item, depth, most);
        status = assay_findings_test(s->findings, depth > most, &finding);
    }
    return status;
}

const assay_rule_ops assay_rule_tree_depth = {
    ASSAY_RULE_HEAD,
    .name = "TreeDepth",
    .summary = "Boosted trees that are deeper than a given depth.",
    .advice = "Deep trees fit single samples: lower max_depth or max_leaves, raise min_child_weight or gamma, and "
              "compare the validation metric before and after.",
    .params = params,
    .value_units = ASSAY_TEXTS("level(s)"),
    .sentences = ASSAY_TEXTS("a tree was too deep at {when}"),
    .setup = setup,
    .map = map,
    ASSAY_COMMON_STATE,
};
