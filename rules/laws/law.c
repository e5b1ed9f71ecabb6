/* law.c - see law.h. */
#include "laws/law.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "siblings.h"
#include "updates.h"

const assay_tensor_view *law_item(const law_step *step, int slot, uint32_t tensor, uint32_t worker)
{
    return item_in(&step->view->slot[slot], tensor, worker);
}

uint32_t law_tensor(const law_step *step, const char *format, ...)
{
    char name[1024];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    return length >= 0 && (size_t)length < sizeof name ? assay_trial_find_tensor(step->rule->trial, name)
                                                       : ASSAY_NO_TENSOR;
}

uint32_t law_input(const law_step *step, const char *output)
{
    static const char OUTPUT[] = "_output_";
    const char *at = strstr(output, OUTPUT);
    return at ? law_tensor(step, "%.*s_input_%s", (int)(at - output), output, at + sizeof OUTPUT - 1) : ASSAY_NO_TENSOR;
}

bool law_finite(const assay_tensor_view *item)
{
    return item->stats->nan + item->stats->pos_inf + item->stats->neg_inf == 0;
}

static bool all_finite(const double *x, uint64_t n)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += fabs(x[i]);
    return isfinite(sum);
}

const assay_sketch *law_sketch_now(const law_step *step, int measure, const assay_tensor_view *item)
{
    const assay_result *result =
        item && assay_view_has_values(item) ? assay_view_result(step->view, measure, item) : NULL;
    const assay_sketch *s = result ? &result->of.sketch : NULL;
    /* of what is shorter than a double no sum of squares is beyond it; a row's scale may be none */
    const bool known = s && measure != OF_NORMALISED && s->columns > 1 && !s->before && item->dtype != ASSAY_FLOAT64 &&
                       law_rounding(item->dtype) > 0;
    return s && (known ? law_finite(item) : all_finite(s->squares, s->groups * s->columns)) ? s : NULL;
}

const assay_sketch *law_sketch(const law_step *step, int measure, const assay_tensor_view *item)
{
    const assay_sketch *s = law_sketch_now(step, measure, item);
    return s && s->before && !all_finite(s->squares_before, s->groups * s->columns) ? NULL : s;
}

bool law_stands(const assay_sketch *s)
{
    const size_t size = (size_t)(s->groups * s->columns) * sizeof *s->sum;
    return s->before && memcmp(s->sum, s->before, size) == 0 && memcmp(s->squares, s->squares_before, size) == 0;
}

const assay_function *law_function(const law_step *step, const assay_tensor_view *item)
{
    const assay_result *result =
        assay_view_has_values(item) && law_finite(item) ? assay_view_result(step->view, OF_FUNCTION, item) : NULL;
    return result && result->of.function.found ? &result->of.function : NULL;
}

int law_add_fit(const law_step *step, const assay_tensor_view *item, double elements, int law, int variant,
                const assay_function_fit *fit)
{
    double row[LAW_WIDTH] = {
        [LAW_OF] = law,           [LAW_VARIANT] = variant, [LAW_RATIO] = fit->largest, [LAW_APART] = fit->apart,
        [LAW_BOUND] = fit->bound, [LAW_ROWS] = 1,          [LAW_ROW_END] = 1};
    row[LAW_ROWS_OFF] = fit->broken > 0;
    row[LAW_COLUMNS_OFF] = (double)fit->broken;
    row[LAW_COLUMNS] = elements;
    row[LAW_COLUMN] = fit->index == UINT64_MAX ? 0 : (double)fit->index;
    row[LAW_COLUMN_END] = row[LAW_COLUMN] + 1;
    return assay_series_add(step->series, step->view->step, item->tensor, item->worker, row);
}

bool law_module(const law_step *step, const char *parameter, const char **module, size_t *length)
{
    const char *last = strrchr(parameter, '.');
    last = last ? last : strrchr(parameter, '_');
    for (const char *from = parameter; last && from && from < last;
         from = strchr(from, '_') ? strchr(from, '_') + 1 : NULL)
        if (law_tensor(step, "%.*s_output_0", (int)(last - from), from) != ASSAY_NO_TENSOR) {
            *module = from;
            *length = (size_t)(last - from);
            return true;
        }
    return false;
}

/* The passes of one module, with its bias, whose name begins with as many bytes of the weight's. */
static int passes_of(const law_step *step, const assay_tensor_view *weight, int root, const char *module, size_t size,
                     law_pass *pass)
{
    const uint32_t bias = law_tensor(step, "%.*s%.*s%cbias", root, weight->name, (int)size, module,
                                     weight->name[strlen(weight->name) - sizeof "weight"]);
    int status = ASSAY_OK;
    for (int n = 0; status == ASSAY_OK; n++) {
        const uint32_t input = law_tensor(step, "%.*s_input_%d", (int)size, module, n);
        const uint32_t output = law_tensor(step, "%.*s_output_%d", (int)size, module, n);
        if (input == ASSAY_NO_TENSOR || output == ASSAY_NO_TENSOR)
            break;
        status = pass(step, weight, input, output, bias);
    }
    return status;
}

int law_passes(const law_step *step, const assay_tensor_view *weight, law_pass *pass)
{
    static const char WEIGHT[] = "weight";
    const size_t length = strlen(weight->name), before = length - (sizeof WEIGHT - 1);
    const char *module;
    size_t size;
    int status = ASSAY_OK;
    if (length < sizeof WEIGHT || strcmp(weight->name + before, WEIGHT) != 0 ||
        !law_module(step, weight->name, &module, &size))
        return ASSAY_OK;
    const int root = (int)(module - weight->name);
    status = passes_of(step, weight, root, module, size, pass);
    const char *others = assay_trial_module(step->rule->trial, weight->name);
    for (others = others ? strchr(others, ' ') : NULL; status == ASSAY_OK && others;
         others = strchr(others + 1, ' ')) /* "shared head" */
        status = passes_of(step, weight, root, others + 1, strcspn(others + 1, " "), pass);
    return status;
}

int law_mode_at(const assay_trial *trial, int64_t step)
{
    const assay_step_info *info = assay_trial_step(trial, assay_trial_find_step(trial, step));
    return info ? info->mode : 0;
}

bool law_follows(const law_step *step, int64_t before, int64_t steps)
{
    const uint64_t at = assay_trial_find_step(step->rule->trial, before);
    const assay_step_info *info = at == UINT64_MAX ? NULL : assay_trial_step(step->rule->trial, at);
    return info && info->mode == step->view->mode && info->mode_step == step->view->mode_step - steps;
}

double law_signs(uint64_t from, uint64_t end)
{
    double sum = 0;
    for (uint64_t i = from, some; i < end; i += some) {
        const uint64_t first = i % 64, minus = assay_sketch_signs(i / 64) >> first;
        some = 64 - first < end - i ? 64 - first : end - i;
        sum += (double)some - 2 * __builtin_popcountll(some < 64 ? minus & ((1ULL << some) - 1) : minus);
    }
    return sum;
}

const assay_sketch *law_images(const law_step *step, int images, int rows, const assay_tensor_view *item)
{
    return law_sketch(step, item && item->dims < 3 ? rows : images, item);
}

double law_rounding(int dtype)
{
    return dtype == ASSAY_FLOAT64 ? 0x1p-50 : step_of_format(dtype) / 2;
}

double law_written(int dtype, double squares, double elements)
{
    const double least = dtype == ASSAY_FLOAT16 ? 0x1p-25 : 0x1p-150;
    return 8 * (law_rounding(dtype) * sqrt(squares) + least * sqrt(elements));
}
