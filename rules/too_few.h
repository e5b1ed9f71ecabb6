/* too_few.h - why a rule has nothing to test: steps or values that are not there. */
#pragma once

#include <assay/pack.h>
#include <assay/rule.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* The trial's steps of one of the modes (bits 1 << mode; 0: any), up to the end of the range that the rule looks at:
 * what is compared may lie before its beginning. */
static inline uint64_t steps_of_modes(const assay_rule *rule, uint32_t modes)
{
    uint64_t steps = 0;
    for (uint64_t i = 0; i < assay_trial_steps(rule->trial); i++) {
        const assay_step_info *info = assay_trial_step(rule->trial, i);
        steps += info->step < rule->end_step && (modes == 0 || modes >> info->mode & 1);
    }
    return steps;
}

/* For a rule's `reason`. Are there fewer than `needed` steps of the mode (ASSAY_MODE_NONE: of any)? Then says so, and
 * what they are needed for: "TRAIN has 2 steps; the rule needs 3 in a row (num_steps)." */
static inline bool reason_few_steps(const assay_rule *rule, int mode, uint64_t needed, const char *what, assay_buf *out)
{
    uint64_t steps = steps_of_modes(rule, mode == ASSAY_MODE_NONE ? 0 : 1u << mode);
    if (steps >= needed)
        return false;
    assay_put_format(out, "%s has %" PRIu64 " step%s; the rule needs %" PRIu64 "%s.",
                     mode == ASSAY_MODE_NONE ? "the trial" : assay_mode_name(mode), steps, steps == 1 ? "" : "s",
                     needed, what);
    return true;
}

/* For a rule's `reason`: the rule holds losses of TRAIN against those of EVAL. */
static inline bool reason_no_evaluation(const assay_rule *rule, assay_buf *out)
{
    uint64_t train = steps_of_modes(rule, 1u << ASSAY_MODE_TRAIN), eval = steps_of_modes(rule, 1u << ASSAY_MODE_EVAL);
    if ((train > 0) == (eval > 0))
        return false;
    assay_put_format(out, "TRAIN has %" PRIu64 " step%s and EVAL %" PRIu64 "; the rule needs losses of both.", train,
                     train == 1 ? "" : "s", eval);
    return true;
}

/* For the end of a rule that walks rows of tensors: no tensor of a worker has as many rows as it needs whose value
 * `column` is finite. Then says how many there are: "loss has 3 finite values, and no tensor more; the rule needs 6
 * (min_history)." 0 or ASSAY_ENOMEM. */
static inline int say_longest(const assay_rule *rule, const assay_series *series, int column, uint64_t needed,
                              const char *what, assay_verdict *verdict)
{
    uint64_t count = assay_series_count(series), longest = 0, run = 0, *order = assay_series_by_tensor(series);
    assay_row before = {0}, where = {0};
    if (count > 0 && !order)
        return ASSAY_ENOMEM;
    for (uint64_t i = 0; i < count; i++) {
        assay_row row = assay_series_row(series, order[i]);
        run = i > 0 && row.tensor == before.tensor && row.worker == before.worker ? run : 0;
        run += isfinite(row.value[column]) != 0;
        where = run > longest || i == 0 ? row : where;
        longest = run > longest ? run : longest;
        before = row;
    }
    if (count > 0 && longest < needed && where.tensor < assay_trial_tensors(rule->trial))
        assay_verdict_no_data(
            verdict, "%s has %" PRIu64 " finite value%s, and no tensor more; the rule needs %" PRIu64 "%s.",
            assay_trial_tensor(rule->trial, where.tensor), longest, longest == 1 ? "" : "s", needed, what);
    free(order);
    return ASSAY_OK;
}
