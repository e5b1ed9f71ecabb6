/* embedding.c - the output of an embedding is the rows of its weight that the input says, number by number. */
#include <math.h>

#include "laws/law.h"

static const assay_values *values_of(const law_step *step, uint32_t tensor, uint32_t worker)
{
    const assay_tensor_view *item = law_item(step, LAW_EMBEDDINGS, tensor, worker);
    const assay_result *result =
        item && assay_view_has_values(item) ? assay_view_result(step->view, OF_EMBEDDING, item) : NULL;
    return result ? &result->of.values : NULL;
}

static int test_pass(const law_step *step, const assay_tensor_view *weight, uint32_t input, uint32_t output,
                     uint32_t bias)
{
    const assay_values *x = values_of(step, input, weight->worker), *y = values_of(step, output, weight->worker),
                       *w = values_of(step, weight->tensor, weight->worker);
    const uint64_t columns = (uint64_t)weight->shape[1];
    double row[LAW_WIDTH] = {[LAW_OF] = LAW_EMBEDDING};
    if (!x || !y || !w || columns == 0 || y->count != x->count * columns)
        return ASSAY_OK;
    for (uint64_t i = 0; i < x->count; i++) {
        bool is_off = false;
        if (!(x->value[i] >= 0 && x->value[i] < (double)weight->shape[0]) || x->value[i] != floor(x->value[i]))
            return ASSAY_OK; /* no row's number: not this law's input */
        for (uint64_t c = 0; c < columns; c++) {
            const double want = w->value[(uint64_t)x->value[i] * columns + c];
            const double apart = fabs(y->value[i * columns + c] - want), bound = fabs(want) * 0x1p-52 + 0x1p-149;
            if (!isfinite(want) || !isfinite(y->value[i * columns + c]))
                return ASSAY_OK;
            if (apart <= bound)
                continue;
            is_off = true;
            row[LAW_COLUMNS_OFF]++;
            if (!(apart > row[LAW_APART]))
                continue;
            row[LAW_RATIO] = apart / bound;
            row[LAW_APART] = apart;
            row[LAW_BOUND] = bound;
            row[LAW_ROW] = (double)i;
            row[LAW_COLUMN] = (double)c;
        }
        row[LAW_ROWS_OFF] += is_off;
    }
    row[LAW_ROW_END] = row[LAW_ROW] + 1;
    row[LAW_COLUMN_END] = row[LAW_COLUMN] + 1;
    row[LAW_ROWS] = (double)x->count;
    row[LAW_COLUMNS] = (double)y->count;
    return assay_series_add(step->series, step->view->step, output, weight->worker, row);
}

int law_embedding(const law_step *step)
{
    const assay_slot_view *items = &step->view->slot[LAW_EMBEDDINGS];
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < items->count; i++)
        status = items->items[i]->dims == 2 ? law_passes(step, items->items[i], test_pass) : ASSAY_OK;
    return status;
}
