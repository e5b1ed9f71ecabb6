/* sketch.c - what the laws of computation need of a tensor, as the analysis itself sums it up (measure_sketch.c,
 * measure_function.c). */
#include <assay/hook.h>
#include <assay/measure.h>
#include <string.h>

#include "base/arena.h"
#include "tensor/measure.h"

enum { MOST_MEMORY = 1 << 26 };

/* Measures a tensor of two axes that is complete, with one of the same shape or NULL. */
static int measured(const assay_measure *measure, const assay_shape *shape, const void *x, const assay_shape *other,
                    const void *y, assay_arena *arena, assay_result *result)
{
    assay_meter *meter = NULL;
    int status = assay_meter_new(measure, shape, y ? other : NULL, MOST_MEMORY, arena, &meter, NULL);
    ASSAY_THEN(status, assay_meter_feed(meter, x, y, shape->elements, NULL));
    ASSAY_THEN(status, assay_meter_end(meter, result, NULL));
    return status;
}

static assay_measure measure_of(int form, int groups, double e)
{
    return (assay_measure){.kind = ASSAY_MEASURE_SKETCH,
                           .form = (uint32_t)form,
                           .axis = 1,
                           .numbers = ASSAY_SKETCH_NUMBERS,
                           .number = {groups, 0x1p16, e},
                           .reference = ASSAY_REFERENCE_SECOND_MOMENT};
}

/* As assay_hook_sketch() says. */
static int sketch(assay_measure measure, int dtype, const void *x, const void *y, uint64_t rows, uint64_t columns,
                  double *out)
{
    const int64_t dim[] = {(int64_t)rows, (int64_t)columns};
    const assay_shape shape = {.dtype = dtype, .dims = 2, .dim = dim, .elements = rows * columns};
    assay_result result;
    assay_arena *arena = assay_arena_new(MOST_MEMORY);
    ASSAY_HAVE(arena);
    int status = measured(&measure, &shape, x, &shape, y, arena, &result);
    if (status == ASSAY_OK) {
        const assay_sketch *s = &result.of.sketch;
        const size_t cells = (size_t)(s->groups * s->columns), size = cells * sizeof *out;
        memcpy(out, s->sum, size);
        memcpy(out + cells, s->squares, size);
        if (s->before) {
            memcpy(out + 2 * cells, s->before, size);
            memcpy(out + 3 * cells, s->squares_before, size);
        }
        status = (int)s->groups;
    }
    assay_arena_free(arena);
    return status > 0 ? status : -1;
}

int assay_hook_sketch(int form, int dtype, const void *x, const void *y, uint64_t rows, uint64_t columns, int groups,
                      double *out)
{
    return sketch(measure_of(form, groups, 1e-8), dtype, x, y, rows, columns, out);
}

int assay_hook_sketch_normalised(int dtype, const void *x, uint64_t rows, uint64_t columns, int groups, double e,
                                 double *out)
{
    return sketch(measure_of(ASSAY_SKETCH_NORMALISED, groups, e), dtype, x, NULL, rows, columns, out);
}

int assay_hook_sketch_columns(int dtype, const void *x, uint64_t rows, uint64_t columns, int groups, double *out)
{
    const uint64_t found = columns < (uint64_t)groups ? columns : (uint64_t)groups;
    const int status = assay_sketch_columns(dtype, x, rows, columns, found, out, out + found * rows);
    return status == ASSAY_OK ? (int)found : -1;
}

int assay_hook_function(int dtype, const void *y, int input_dtype, const void *x, uint64_t elements, double *out)
{
    const int64_t dim[] = {1, (int64_t)elements};
    const assay_shape shape = {.dtype = dtype, .dims = 2, .dim = dim, .elements = elements};
    const assay_shape input = {.dtype = input_dtype, .dims = 2, .dim = dim, .elements = elements};
    const assay_measure measure = {.kind = ASSAY_MEASURE_FUNCTION, .reference = ASSAY_REFERENCE_INPUT};
    assay_result result;
    assay_arena *arena = assay_arena_new(MOST_MEMORY);
    ASSAY_HAVE(arena);
    int status = measured(&measure, &shape, y, &input, x, arena, &result);
    const assay_function *function = &result.of.function;
    if (status == ASSAY_OK && !function->found)
        status = ASSAY_ENOTFOUND;
    for (int f = 0; status == ASSAY_OK && f < ASSAY_FUNCTIONS; f++) {
        const assay_function_fit *fit = &function->fit[f];
        double *of = out + (ptrdiff_t)ASSAY_HOOK_FIT * f;
        of[0] = fit->broken == UINT64_MAX ? -1 : (double)fit->broken;
        of[1] = fit->index == UINT64_MAX ? 0 : (double)fit->index;
        of[2] = fit->apart;
        of[3] = fit->bound;
        of[4] = fit->largest;
    }
    if (status == ASSAY_OK)
        out[(ptrdiff_t)ASSAY_HOOK_FIT * ASSAY_FUNCTIONS] = function->unlikely;
    assay_arena_free(arena);
    return status == ASSAY_OK ? ASSAY_FUNCTIONS : -1;
}
