/* dropout.c - the output of a dropout is 0 or its input times 1 / (1 - p), element by element.
 *
 * p is not asked for: most elements that are not 0 say the factor. Where each element is dropped by itself, the mask is
 * tested too: how many are dropped, how many of these behind another, and how many in a row, is no less likely than
 * e^-UNLIKELY. Dropout of channels or samples keeps the second form alone. The bounds are those of measure_function.c. */
#include "laws/law.h"

int law_add_dropout(const law_step *step, const assay_tensor_view *item, double elements,
                    const assay_function *function)
{
    static const double UNLIKELY = 30;
    const assay_function_fit *each = &function->fit[ASSAY_FUNCTION_DROPOUT];
    if (each->broken == UINT64_MAX)
        return ASSAY_OK;
    assay_function_fit mask = *each;
    if (function->unlikely > UNLIKELY && each->broken == 0) {
        mask = (assay_function_fit){.index = UINT64_MAX,
                                    .apart = function->unlikely,
                                    .bound = UNLIKELY,
                                    .largest = function->unlikely / UNLIKELY};
    }
    int status = law_add_fit(step, item, elements, LAW_DROPOUT, DROPOUT_INDEPENDENT, &mask);
    ASSAY_THEN(status, law_add_fit(step, item, elements, LAW_DROPOUT, DROPOUT_ELEMENTS, each));
    return status;
}

int law_dropout(const law_step *step)
{
    const assay_slot_view *outputs = &step->view->slot[LAW_OUTPUTS];
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < outputs->count; i++) {
        const assay_tensor_view *item = outputs->items[i];
        const assay_function *function = law_function(step, item);
        status = function ? law_add_dropout(step, item, (double)item->stats->count, function) : ASSAY_OK;
    }
    return status;
}
