/* logged_pairs.h - losses of a log, a pair of training and validation at a time: a mean over unlike losses compares
 * nothing (Overfit, Overtraining).
 *
 * How it works: map adds a row for each loss and step (logged_pairs_add()); finalize hands the rows of one pair after
 * the other to the rule's own walk, which counts at first. The first pair that fires makes the findings, the others
 * datapoints. */
#pragma once

#include <assay/rule.h>

#include <stdlib.h>

enum { PAIRS_JUDGED = 16 };
enum { PAIR_MODE, PAIR_LOSS, PAIR_WIDTH }; /* values of a row */

/* Adds the losses of the step in view: of each tensor the mean over its workers. */
static inline int logged_pairs_add(const assay_rule *rule, assay_series *series, const assay_step_view *view)
{
    const assay_slot_view *slot = &view->slot[0];
    int status = ASSAY_OK;
    if (view->mode != ASSAY_MODE_TRAIN && view->mode != ASSAY_MODE_EVAL)
        return ASSAY_OK;
    for (uint32_t i = 0, next; status == ASSAY_OK && i < slot->count; i = next) {
        const uint32_t tensor = slot->items[i]->tensor;
        double sum = 0;
        uint64_t workers = 0;
        for (next = i; next < slot->count && slot->items[next]->tensor == tensor; next++) {
            if (!assay_view_has_values(slot->items[next]))
                continue;
            sum += assay_stats_mean(slot->items[next]->stats);
            workers++;
        }
        if (workers == 0 || !(assay_trial_logged(rule->trial, tensor) & ASSAY_LOGGED_LOSS))
            continue;
        const double row[PAIR_WIDTH] = {view->mode, sum / (double)workers};
        status = assay_series_add(series, view->step, tensor, ASSAY_ALL_WORKERS, row);
    }
    return status;
}

/* Walks the rows of one pair. Findings name `tensor`; with `verdict` NULL they are counted alone: *tested and *fired. */
typedef int logged_pairs_walk(const assay_rule *rule, const assay_series *rows, uint32_t tensor, assay_verdict *verdict,
                              uint64_t *tested, uint64_t *fired);

static inline assay_series *logged_pairs_rows(const assay_series *all, assay_loss_pair pair)
{
    assay_series *rows = assay_series_new(PAIR_WIDTH);
    int status = rows ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t i = 0; status == ASSAY_OK && i < assay_series_count(all); i++) {
        const assay_row row = assay_series_row(all, i);
        const int mode = (int)row.value[PAIR_MODE];
        if ((row.tensor == pair.train && mode == ASSAY_MODE_TRAIN) ||
            (row.tensor == pair.eval && mode == ASSAY_MODE_EVAL))
            status = assay_series_add(rows, row.step, row.tensor, row.worker, row.value);
    }
    if (status == ASSAY_OK)
        return rows;
    assay_series_free(rows);
    return NULL;
}

/* For finalize. 0 or ASSAY_ENOMEM. */
static inline int logged_pairs_judge(const assay_rule *rule, const assay_series *all, logged_pairs_walk *walk,
                                     assay_verdict *verdict)
{
    const uint64_t pairs = assay_trial_loss_pairs(rule->trial);
    bool found = false;
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < pairs && i < PAIRS_JUDGED; i++) {
        const assay_loss_pair pair = assay_trial_loss_pair(rule->trial, i);
        uint64_t tested = 0, fired = 0;
        assay_series *rows = logged_pairs_rows(all, pair);
        status = rows ? walk(rule, rows, pair.eval, NULL, &tested, &fired) : ASSAY_ENOMEM;
        if (status == ASSAY_OK && fired > 0 && !found)
            status = walk(rule, rows, pair.eval, verdict, &tested, &fired);
        else if (status == ASSAY_OK)
            assay_findings_datapoints(assay_verdict_findings(verdict), tested);
        found = found || fired > 0;
        if (rows)
            assay_series_free(rows);
    }
    if (pairs == 0)
        assay_verdict_no_data(verdict, "the log has no loss of EVAL that belongs to one of TRAIN.");
    else if (pairs > PAIRS_JUDGED)
        assay_verdict_message(verdict, "%d of the log's pairs of losses are judged.", (int)PAIRS_JUDGED);
    return status;
}
