/* rows.c - rows of an output that sum up to 1: those of a softmax, and of attention.
 *
 * The columns of a sketch sum up to the signs of its rows. Each element was rounded in its type, and by what computed it. */
#include <math.h>

#include "laws/law.h"

static int test_output(const law_step *step, const assay_tensor_view *item)
{
    enum { ARITHMETIC = 16 };
    const assay_sketch *s = law_sketch(step, OF_OUTPUT, item);
    const double rounding = law_rounding(item->dtype);
    double row[LAW_WIDTH] = {[LAW_OF] = LAW_ROWS_ONE, [LAW_COLUMNS] = 1, [LAW_COLUMN_END] = 1};
    if (!s || s->columns < 2 || rounding == 0)
        return ASSAY_OK;
    for (uint64_t g = 0; g < s->groups; g++) {
        const uint64_t first = assay_sketch_first_row(g, s->rows, s->groups),
                       end = assay_sketch_first_row(g + 1, s->rows, s->groups);
        double sum = 0, squares = 0;
        for (uint64_t c = 0; c < s->columns; c++) {
            sum += s->sum[g * s->columns + c];
            squares += s->squares[g * s->columns + c];
        }
        const double apart = fabs(sum - law_signs(first, end));
        const double bound = 6 * rounding * sqrt(squares) + ARITHMETIC * 0x1p-24 * sqrt((double)(end - first));
        row[LAW_ROWS_OFF] += apart > bound;
        if (!(apart / bound > row[LAW_RATIO]))
            continue;
        row[LAW_RATIO] = apart / bound;
        row[LAW_APART] = apart;
        row[LAW_BOUND] = bound;
        row[LAW_ROW] = (double)first;
        row[LAW_ROW_END] = (double)end;
    }
    row[LAW_ROWS] = (double)s->groups;
    row[LAW_COLUMNS_OFF] = row[LAW_ROWS_OFF] > 0;
    return assay_series_add(step->series, step->view->step, item->tensor, item->worker, row);
}

int law_rows(const law_step *step)
{
    const assay_slot_view *outputs = &step->view->slot[LAW_OUTPUTS];
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < outputs->count; i++)
        status = test_output(step, outputs->items[i]);
    return status;
}
