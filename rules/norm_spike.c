/* norm_spike.c - NormSpike: a tensor's norm jumps, against its own past or against the other workers.
 *
 * x = Euclidean norm of the tensor. z = 0.6745 * (x - median) / MAD, MAD at least 1 % of the median.
 * history  over the `window` saved steps before, of the same tensor, worker and mode
 * workers  over the norms of all workers at the same step; needs min_workers of them
 * Fires when z > threshold and x > ratio * median, or x is not finite. value = z, threshold = the limit of z. A fault
 * that flips an exponent's bit multiplies a norm by powers of two, far beyond what a batch does. */
#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "workers.h"

enum { HISTORY, WORKERS };
static const char *const tests[] = {"history", "workers", NULL};

static const assay_param_def params[] = {
    REPLICA_PARAMS("gradients,weights,biases"),
    HISTORY_PARAMS("50", "30", "a norm"),
    {.name = "min_workers",
     .type = ASSAY_PARAM_INT,
     .initial = "4",
     .least = 3,
     .most = 1000000,
     .help = "Workers below which they are not compared with each other."},
    {0},
};

static const char *const remedies[] = {
    "If one worker alone spikes: test its node's device and memory (ECC counters, a burn-in), and run without it.",
    "If all workers spike at one step: look at that step's batch, clip gradients by norm and lower or warm up the "
    "learning rate.",
    "Go back to the last checkpoint before the step named: what came after it is built on the bad update.",
    NULL,
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    (void)data;
    int slot = selection_slot(given, need, 0, true, err);
    return slot < 0 ? slot : assay_need_rows(need, slot, &(assay_rows){.width = HISTORY_WIDTH}, err);
}

static int spike(const assay_rule *rule, assay_findings *findings, const assay_finding *where, double norm,
                 robust_score s)
{
    assay_finding finding = *where;
    char note[96];
    snprintf(note, sizeof note, "norm %.4g, median %.4g", norm, s.median);
    finding.value = s.z;
    finding.threshold = assay_param_real(rule->params, "threshold");
    finding.note = note;
    return assay_findings_test(findings, history_spike(rule->params, norm, s), &finding);
}

/* The norms of one tensor's workers, each against all of them. */
static int test_workers(const assay_rule *rule, assay_findings *findings, const assay_step_view *view,
                        const assay_tensor_view *const *items, uint32_t count)
{
    uint32_t workers = 0, finite = 0;
    int status = ASSAY_OK;
    for (uint32_t i = 0; i < count; i++)
        workers += assay_view_has_values(items[i]);
    if (view->step < rule->start_step || workers < (uint64_t)assay_param_int(rule->params, "min_workers"))
        return ASSAY_OK;
    double *norm = malloc(count * sizeof *norm);
    if (!norm)
        return ASSAY_ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        if (assay_view_has_values(items[i]) && isfinite(assay_stats_l2(items[i]->stats)))
            norm[finite++] = assay_stats_l2(items[i]->stats);
    robust_center center = robust_center_of(norm, finite, HISTORY_FLOOR);
    for (uint32_t i = 0; status == ASSAY_OK && finite > 1 && i < count; i++) {
        if (!assay_view_has_values(items[i]))
            continue;
        double x = assay_stats_l2(items[i]->stats);
        assay_finding where = finding_of(view, items[i], 0, 0);
        where.test = WORKERS;
        status = spike(rule, findings, &where, x, robust_score_of(x, center));
    }
    free(norm);
    return status;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    (void)err;
    assay_common_state *s = state;
    const assay_slot_view *slot = &view->slot[0];
    int status = ASSAY_OK;
    for (uint32_t i = 0, n; status == ASSAY_OK && i < slot->count; i += n) {
        n = same_tensor(slot, i);
        for (uint32_t k = i; status == ASSAY_OK && k < i + n; k++) {
            if (!assay_view_has_values(slot->items[k]))
                continue;
            double row[HISTORY_WIDTH] = {assay_stats_l2(slot->items[k]->stats), view->mode};
            status = assay_series_add(s->series, view->step, slot->items[k]->tensor, slot->items[k]->worker, row);
        }
        if (status == ASSAY_OK)
            status = test_workers(rule, s->findings, view, slot->items + i, n);
    }
    return status;
}

static int test_history(const assay_rule *rule, assay_verdict *verdict, assay_row row, robust_score score)
{
    assay_finding where = {.step = row.step, .tensor = row.tensor, .worker = row.worker, .test = HISTORY};
    return spike(rule, assay_verdict_findings(verdict), &where, row.value[HISTORY_VALUE], score);
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    return history_walk(rule, ((const assay_common_state *)state)->series, verdict, test_history, err);
}

const assay_rule_ops assay_rule_norm_spike = {
    .abi = ASSAY_RULE_ABI,
    .size = sizeof(assay_rule_ops),
    .name = "NormSpike",
    .summary = "Tensors whose norm jumps, against their own past or against the other workers.",
    .advice = "A jump on one worker alone is the signature of a silent hardware fault; one on all workers is a bad "
              "batch or an "
              "unstable learning rate.",
    .remedies = remedies,
    .params = params,
    .tests = tests,
    .traits = ASSAY_RULE_LOOKS_BACK,
    .series_width = HISTORY_WIDTH,
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
