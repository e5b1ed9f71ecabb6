/* not_finite.c - see not_finite.h. Rows are counted where all of them are known, and "nothing wrong" is no word on these. */
#include "laws/not_finite.h"

#include <inttypes.h>

#include "siblings.h"

/* One tensor can lie in several slots. */
static bool is_in_earlier(const law_step *step, int slot, const assay_tensor_view *item)
{
    for (int k = 0; k < slot; k++)
        if (item_in(&step->view->slot[k], item->tensor, item->worker))
            return true;
    return false;
}

int law_not_finite(const law_step *step)
{
    static const double row[LAW_WIDTH] = {[LAW_OF] = LAWS};
    int status = ASSAY_OK;
    for (int slot = 0; slot < LAW_SLOTS; slot++) {
        const assay_slot_view *in = &step->view->slot[slot];
        for (uint32_t i = 0; status == ASSAY_OK && i < in->count; i++)
            if (assay_view_has_values(in->items[i]) && !law_finite(in->items[i]) &&
                !is_in_earlier(step, slot, in->items[i]))
                status =
                    assay_series_add(step->series, step->view->step, in->items[i]->tensor, in->items[i]->worker, row);
    }
    return status;
}

void not_finite_say(const assay_rule *rule, const assay_series *series, assay_verdict *verdict)
{
    uint64_t count = 0;
    assay_row first = {0};
    for (uint64_t i = 0; i < assay_series_count(series); i++) {
        const assay_row row = assay_series_row(series, i);
        if (row.value[LAW_OF] != LAWS)
            continue;
        if (count++ == 0 || row.step < first.step ||
            (row.step == first.step &&
             (row.tensor < first.tensor || (row.tensor == first.tensor && row.worker < first.worker))))
            first = row;
    }
    if (count > 0)
        assay_verdict_message(verdict,
                              "Laws are not tested of %" PRIu64 " tensors with NaN or infinities, each step and worker "
                              "counted, first %s of %s at step %" PRId64 ".",
                              count, assay_trial_tensor(rule->trial, first.tensor),
                              assay_trial_worker(rule->trial, first.worker), first.step);
}
