/* loss_spike.c - LossSpike: a loss that jumps far above its own past.
 *
 * For each tensor, worker and mode: x = mean of the tensor, compared with the steps before it as history.h says. A
 * value that is not finite is left out. value = x, threshold = the level before. */
#include <stdio.h>

#include "history.h"
#include "selection.h"
#include "too_few.h"

#define LINEAR_BELOW 1e-3 /* of the loss at the beginning */
#define NEEDED       " of one mode (min_history and one more)"

static const assay_param_def params[] = {
    ASSAY_LIST_PARAM("collection_names", "losses", "Collections of tensors to test, in addition to tensor_regex."),
    ASSAY_REGEX_PARAM("tensor_regex", NULL,
                      "Patterns (re.search) for names of tensors to test, in addition to collection_names."),
    HISTORY_PARAMS("7", "2", "0.3", "a loss"),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int slot = selection_slot(given, need, 0, true, err);
    return slot < 0 ? slot : assay_need_rows(need, slot, &(assay_rows){.width = HISTORY_WIDTH}, err);
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        const bool logged = assay_trial_logged(rule->trial, item->tensor) != 0;
        if (!assay_view_has_values(item) || (logged && view->mode != ASSAY_MODE_TRAIN && view->mode != ASSAY_MODE_EVAL))
            continue; /* of a log neither closing summaries nor predictions are courses */
        double row[HISTORY_WIDTH] = {assay_stats_mean(item->stats), view->mode};
        status = assay_series_add(((assay_common_state *)state)->series, view->step, item->tensor, item->worker, row);
    }
    return status;
}

typedef struct judge {
    const assay_rule *rule;
    assay_findings *findings;
} judge;

static int test(void *self, assay_row row, uint64_t number, const history_score *score, bool spike)
{
    const judge *j = self;
    if (row.step < j->rule->start_step)
        return ASSAY_OK;
    char note[64] = "";
    if (spike)
        snprintf(note, sizeof note, "robust z-score %.4g", score->z);
    assay_finding finding = {.step = row.step,
                             .tensor = row.tensor,
                             .worker = row.worker,
                             .value = row.value[HISTORY_VALUE],
                             .threshold = score->level,
                             .note = note};
    return assay_findings_test(j->findings, spike, &finding);
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    judge j = {.rule = rule, .findings = assay_verdict_findings(verdict)};
    const assay_series *series = ((const assay_common_state *)state)->series;
    int status = history_walk(rule->params, series, LINEAR_BELOW, true, test, &j, err);
    ASSAY_THEN(status, say_longest(rule, series, HISTORY_VALUE, history_least(rule->params) + 1, NEEDED, verdict));
    return status;
}

/* Has no mode a past as long as min_history? */
static bool reason(const assay_rule *rule, unsigned modes, assay_buf *out)
{
    return reason_few_steps(rule, ASSAY_MODE_NONE, history_least(rule->params) + 1, NEEDED, out);
}

const assay_rule_ops assay_rule_loss_spike = {
    ASSAY_RULE_HEAD,
    .name = "LossSpike",
    .summary = "Losses that jump far above what they were at the steps before.",
    .advice = "One batch or one update threw the training off: see what was special about the step named, and whether "
              "the loss came back.",
    .remedies = ASSAY_TEXTS(
        "Look at the batch of the step named: wrong labels, extreme inputs, an empty or padded sample.",
        "Clip gradients by norm, and lower the learning rate or lengthen its warm-up.",
        "Go back to a checkpoint before the spike and skip that batch, if the loss does not come down again.",
        "In half precision look at the loss scale at that step (HalfPrecisionRisk)."),
    .params = params,
    .traits = ASSAY_RULE_LOOKS_BACK,
    .series_width = HISTORY_WIDTH,
    .value_units = ASSAY_TEXTS("loss"),
    .sentences = ASSAY_TEXTS("{tensor}{of} jumped at {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
    .reason = reason,
};
