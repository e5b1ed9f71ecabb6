/* activation.c - the output of a module is a function of its input, element by element: y = f(x).
 *
 * Which function is not asked of the module's name, but of its numbers: the one that they are at nearly all steps. The
 * bound is that of measure_function.c. */
#include "laws/law.h"

static int add_fit(const law_step *step, const assay_tensor_view *item, int function, const assay_function_fit *fit)
{
    double row[LAW_WIDTH] = {
        [LAW_OF] = LAW_ACTIVATION, [LAW_VARIANT] = function, [LAW_RATIO] = fit->largest, [LAW_APART] = fit->apart,
        [LAW_BOUND] = fit->bound,  [LAW_ROWS] = 1,           [LAW_ROW_END] = 1};
    row[LAW_ROWS_OFF] = fit->broken > 0;
    row[LAW_COLUMNS_OFF] = (double)fit->broken;
    row[LAW_COLUMNS] = (double)item->stats->count;
    row[LAW_COLUMN] = fit->index == UINT64_MAX ? 0 : (double)fit->index;
    row[LAW_COLUMN_END] = row[LAW_COLUMN] + 1;
    return assay_series_add(step->series, step->view->step, item->tensor, item->worker, row);
}

/* Is there a function that all elements are? Then those that few of them are say nothing. */
static bool keeps_any(const assay_function *function)
{
    for (int f = 0; f < ASSAY_FUNCTIONS; f++)
        if (function->fit[f].broken == 0)
            return true;
    return false;
}

int law_activation(const law_step *step)
{
    const assay_slot_view *outputs = &step->view->slot[LAW_OUTPUTS];
    int status = ASSAY_OK;
    for (uint32_t i = 0; i < outputs->count; i++) {
        const assay_tensor_view *item = outputs->items[i];
        const assay_result *result =
            assay_view_has_values(item) ? assay_view_result(step->view, OF_FUNCTION, item) : NULL;
        if (!result || !result->of.function.found)
            continue;
        const bool any = keeps_any(&result->of.function);
        for (int f = 0; status == ASSAY_OK && f < ASSAY_FUNCTIONS; f++)
            if (!any || result->of.function.fit[f].broken != UINT64_MAX)
                status = add_fit(step, item, f, &result->of.function.fit[f]);
    }
    return status;
}
