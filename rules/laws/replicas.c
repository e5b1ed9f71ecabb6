/* replicas.c - data-parallel workers have the same gradients behind their all-reduce, and the same weights.
 *
 * A worker is compared with one of those that most agree; where fewer than half of those that are there agree, with none. Reductions in
 * another order round differently: 8 u. */
#include <math.h>
#include <stdlib.h>

#include "laws/law.h"

/* Of two sketches of one tensor, the worst cell. False: they cannot be compared. */
static bool compare(const assay_sketch *s, const assay_sketch *of, int dtype, double row[LAW_WIDTH])
{
    row[LAW_RATIO] = row[LAW_APART] = row[LAW_COLUMNS_OFF] = 0;
    if (s->rows != of->rows || s->groups != of->groups)
        return false;
    for (uint64_t i = 0; i < s->groups; i++) {
        const double apart = fabs(s->sum[i] - of->sum[i]),
                     bound =
                         law_written(dtype, fmax(s->squares[i], of->squares[i]), (double)s->rows / (double)s->groups);
        row[LAW_COLUMNS_OFF] += apart > bound;
        if (!(apart / bound > row[LAW_RATIO]))
            continue;
        row[LAW_RATIO] = apart / bound;
        row[LAW_APART] = apart;
        row[LAW_BOUND] = bound;
        row[LAW_COLUMN] = (double)assay_sketch_first_row(i, s->rows, s->groups);
        row[LAW_COLUMN_END] = (double)assay_sketch_first_row(i + 1, s->rows, s->groups);
    }
    return true;
}

static int test_tensor(const law_step *step, int slot, int measure, uint32_t tensor, int dtype)
{
    const uint32_t workers = assay_trial_workers(step->rule->trial);
    uint32_t most = 0, with = 0, there = 0;
    double row[LAW_WIDTH] = {0};
    int status = ASSAY_OK;
    const assay_sketch **sketch = calloc(workers, sizeof *sketch);
    ASSAY_HAVE(sketch);
    for (uint32_t w = 0; w < workers; w++)
        there += (sketch[w] = law_sketch_now(step, measure, law_item(step, slot, tensor, w))) != NULL;
    for (uint32_t a = 0; there > 1 && a < workers && 2 * most < there; a++) {
        uint32_t agree = 0;
        for (uint32_t b = 0; sketch[a] && b < workers; b++)
            agree += sketch[b] && compare(sketch[b], sketch[a], dtype, row) && row[LAW_RATIO] <= 1;
        if (agree > most) {
            most = agree;
            with = a;
        }
    }
    const bool none = most < 2 || 2 * most < there;
    uint32_t another = with; /* with none that is right, `with` too is told by how far it is from one of the others */
    for (uint32_t w = 0; w < workers; w++)
        another = another == with && sketch[w] ? w : another;
    for (uint32_t w = 0; status == ASSAY_OK && most > 0 && w < workers; w++) {
        double out[LAW_WIDTH] = {0};
        if (!sketch[w] || !compare(sketch[w], sketch[none && w == with ? another : with], dtype, out))
            continue;
        if (none) /* nobody is right */
            out[LAW_RATIO] = INFINITY;
        out[LAW_OF] = LAW_REPLICAS;
        out[LAW_ROWS_OFF] = out[LAW_RATIO] > 1;
        out[LAW_ROWS] = out[LAW_ROW_END] = 1;
        out[LAW_COLUMNS] = (double)sketch[w]->groups;
        status = assay_series_add(step->series, step->view->step, tensor, w, out);
    }
    free(sketch);
    return status;
}

static int test_slot(const law_step *step, int slot, int measure)
{
    const assay_slot_view *items = &step->view->slot[slot];
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < items->count; i++) {
        const assay_tensor_view *item = items->items[i];
        bool is_first = law_rounding(item->dtype) > 0;
        for (uint32_t w = 0; is_first && w < item->worker; w++)
            is_first = !law_item(step, slot, item->tensor, w);
        if (is_first)
            status = test_tensor(step, slot, measure, item->tensor, item->dtype);
    }
    return status;
}

int law_replicas(const law_step *step)
{
    if (assay_trial_workers(step->rule->trial) < 2)
        return ASSAY_OK;
    ASSAY_TRY(test_slot(step, LAW_GRADIENTS, OF_GRADIENT));
    return test_slot(step, LAW_WEIGHTS, OF_UPDATE);
}
