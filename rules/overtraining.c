/* overtraining.c - Overtraining: neither the training nor the validation loss improves any more.
 * docs/rules/Overtraining.md.
 *
 * For each mode: a loss below best - delta is the new best and resets the wait to 0, any other adds 1. Fires when both
 * modes have waited as long as their patience, and for least_share of their losses so far. value = wait of EVAL; one
 * datapoint per step once both modes have had a loss. Of a log, each loss of training is held against its own of
 * validation (logged_pairs.h). */
#include <math.h>

#include "logged_pairs.h"
#include "losses.h"
#include "too_few.h"

enum { MODE = PAIR_MODE, LOSS = PAIR_LOSS, WIDTH = PAIR_WIDTH }; /* values of a row */

static const assay_param_def params[] = {
    ASSAY_INT_PARAM("patience_train", "5", 1, 0x1p31,
                    "TRAIN steps without improvement after which the training loss counts as stalled."),
    ASSAY_INT_PARAM("patience_validation", "10", 1, 0x1p31,
                    "EVAL steps without improvement after which the validation loss counts as stalled."),
    ASSAY_REAL_PARAM("delta", "0.01", 0, 1e308,
                     "How far below the best loss a loss must be to count as an improvement."),
    ASSAY_REAL_PARAM("least_share", "0", 0, 1, "Share of its losses so far for which each mode must also have waited."),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int slot = assay_need_slot(need,
                               &(assay_slot){.collection = "losses",
                                             .modes = 1u << ASSAY_MODE_TRAIN | 1u << ASSAY_MODE_EVAL,
                                             .flags = ASSAY_SLOT_NO_STRINGS},
                               err);
    return slot < 0 ? slot : ASSAY_OK;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    double row[WIDTH] = {view->mode, 0};
    if (assay_trial_is_log(rule->trial))
        return logged_pairs_add(rule, s->series, view);
    if (!step_loss(&view->slot[0], NULL, &row[LOSS]))
        return ASSAY_OK;
    return assay_series_add(s->series, view->step, ASSAY_NO_TENSOR, ASSAY_ALL_WORKERS, row);
}

typedef struct progress {
    double best;
    int64_t wait, losses;
    bool seen;
} progress;

static bool has_stalled(const progress *p, int64_t patience, double least_share)
{
    return p->wait >= patience && (double)p->wait >= least_share * (double)p->losses;
}

/* A finding at each step at which both have stalled: of `tensor`, or of no tensor in particular. */
static int walk(const assay_rule *rule, const assay_series *series, uint32_t tensor, assay_verdict *verdict,
                uint64_t *tested, uint64_t *fired)
{
    progress train = {.best = INFINITY}, eval = {.best = INFINITY};
    int64_t patience_train = assay_param_int(rule->params, "patience_train");
    int64_t patience_eval = assay_param_int(rule->params, "patience_validation");
    double delta = assay_param_real(rule->params, "delta"), share = assay_param_real(rule->params, "least_share");
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < assay_series_count(series); i++) {
        assay_row row = assay_series_row(series, i);
        progress *p = row.value[MODE] == ASSAY_MODE_TRAIN ? &train : &eval;
        bool better = row.value[LOSS] < p->best - delta;
        p->best = better ? row.value[LOSS] : p->best;
        p->wait = better ? 0 : p->wait + 1;
        p->losses++;
        p->seen = true;
        if (!train.seen || !eval.seen)
            continue;
        assay_finding finding = {.step = row.step,
                                 .tensor = tensor,
                                 .worker = ASSAY_ALL_WORKERS,
                                 .value = (double)eval.wait,
                                 .threshold = (double)patience_eval};
        bool stalled = has_stalled(&train, patience_train, share) && has_stalled(&eval, patience_eval, share);
        ++*tested;
        *fired += stalled;
        if (verdict)
            status = assay_findings_test(assay_verdict_findings(verdict), stalled, &finding);
    }
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_series *series = ((const assay_common_state *)state)->series;
    uint64_t tested = 0, fired = 0;
    const int status = assay_trial_is_log(rule->trial) ? logged_pairs_judge(rule, series, walk, verdict)
                                                       : walk(rule, series, ASSAY_NO_TENSOR, verdict, &tested, &fired);
    return status == ASSAY_OK ? ASSAY_OK : assay_fail(err, status, "out of memory");
}

/* Is there nothing to hold a loss against? */
static bool reason(const assay_rule *rule, unsigned modes, assay_buf *out)
{
    return reason_no_evaluation(rule, out);
}

const assay_rule_ops assay_rule_overtraining = {
    ASSAY_RULE_HEAD,
    .name = "Overtraining",
    .summary = "Neither the training loss nor the validation loss has improved for a while.",
    .advice = "Further steps cost and gain nothing: keep the checkpoint of the best validation loss and stop, or lower "
              "the learning "
              "rate; early stopping with the patience given here would have ended the training at the first finding.",
    .params = params,
    .traits = ASSAY_RULE_POOLS,
    .series_width = WIDTH,
    .value_units = ASSAY_TEXTS("validation step(s) without a new best"),
    .sentences = ASSAY_TEXTS("the losses did not improve any more at {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
    .reason = reason,
};
