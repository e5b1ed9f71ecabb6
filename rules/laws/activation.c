/* activation.c - the output of a module is a function of its input, element by element: y = f(x).
 *
 * Which function is not asked of the module's name, but of its numbers: the one that they are at nearly all steps. The
 * bound is that of measure_function.c. */
#include "laws/law.h"

/* Is there a function that all elements are? Then those that few of them are say nothing. */
static bool keeps_any(const assay_function *function)
{
    for (int f = 0; f < ASSAY_FUNCTIONS; f++)
        if (function->fit[f].broken == 0)
            return true;
    return false;
}

static bool keeps(const assay_function *function, int f)
{
    return function->fit[f].broken == 0 && function->fit[f].largest <= 1;
}

/* Where inputs are far from 0 a relu is what gelu and silu are: nobody can tell which one it is. */
static bool is_far_from_zero(const assay_function *function)
{
    return keeps(function, ASSAY_FUNCTION_RELU) &&
           (keeps(function, ASSAY_FUNCTION_GELU) || keeps(function, ASSAY_FUNCTION_GELU_TANH) ||
            keeps(function, ASSAY_FUNCTION_SILU));
}

int law_add_activation(const law_step *step, const assay_tensor_view *item, double elements,
                       const assay_function *function)
{
    const bool any = keeps_any(function);
    int status = ASSAY_OK;
    for (int f = 0; status == ASSAY_OK && !is_far_from_zero(function) && f < ASSAY_FUNCTION_DROPOUT; f++)
        if (!any || function->fit[f].broken != UINT64_MAX)
            status = law_add_fit(step, item, elements, LAW_ACTIVATION, f, &function->fit[f]);
    return status;
}

/* Is nearly all of the input 0? Nearly every function makes 0 of that: then no number says which one it is, and what a dropout
 * has left of the others looks like their copy. */
static bool is_sparse(const law_step *step, const assay_tensor_view *item)
{
    const uint32_t input = law_input(step, item->name);
    const assay_tensor_view *x = input == ASSAY_NO_TENSOR ? NULL : law_item(step, LAW_INPUTS, input, item->worker);
    return x && x->stats && 8 * (x->stats->count - x->stats->zeros) < x->stats->count;
}

int law_activation(const law_step *step)
{
    const assay_slot_view *outputs = &step->view->slot[LAW_OUTPUTS];
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < outputs->count; i++) {
        const assay_tensor_view *item = outputs->items[i];
        const assay_function *function = law_function(step, item);
        status = function && !is_sparse(step, item)
                     ? law_add_activation(step, item, (double)item->stats->count, function)
                     : ASSAY_OK;
    }
    return status;
}
