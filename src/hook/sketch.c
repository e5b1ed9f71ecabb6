/* sketch.c - what the laws of computation need of a tensor, as the analysis itself sums it up (measure_sketch.c,
 * measure_function.c). */
#include <assay/hook.h>
#include <assay/measure.h>
#include <string.h>

#include "base/arena.h"
#include "hook/sketch.h"
#include "tensor/measure.h"

enum { MOST_MEMORY = 1 << 26, AT_ONCE = 1 << 16 /* bytes, which the nearest caches hold while each part takes them */ };

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

/* Copies what a measure has found. Returns how many groups there are. */
static int take_sums(const assay_result *result, double *out)
{
    const assay_sketch *s = &result->of.sketch;
    const size_t cells = (size_t)(s->groups * s->columns), size = cells * sizeof *out;
    memcpy(out, s->sum, size);
    memcpy(out + cells, s->squares, size);
    if (s->before) {
        memcpy(out + 2 * cells, s->before, size);
        memcpy(out + 3 * cells, s->squares_before, size);
    }
    return (int)s->groups;
}

/* As assay_hook_sketch() says. */
static int sketch(assay_measure measure, const assay_hook_rows *of, double *out)
{
    const int64_t dim[] = {(int64_t)of->rows, (int64_t)of->columns};
    const assay_shape shape = {.dtype = of->dtype, .dims = 2, .dim = dim, .elements = of->rows * of->columns};
    assay_result result;
    assay_arena *arena = assay_arena_new(MOST_MEMORY);
    ASSAY_HAVE(arena);
    int status = measured(&measure, &shape, of->x, &shape, of->y, arena, &result);
    if (status == ASSAY_OK)
        status = take_sums(&result, out);
    assay_arena_free(arena);
    return status > 0 ? status : -1;
}

/* Of rows from one on, what each part that is of columns needs. */
static int sum_columns(const assay_hook_rows *of, uint64_t first, uint64_t count, const hook_sketch_part *part)
{
    const uint64_t groups = (uint64_t)part->groups;
    const assay_matrix some = {of->dtype, (const uint8_t *)of->x + first * of->columns * assay_dtype_size(of->dtype),
                               count, of->columns};
    return assay_sketch_columns(&some, groups, of->rows, part->out + first, part->out + groups * of->rows + first);
}

bool hook_sketch_together(const assay_hook_rows *of, const hook_sketch_part *parts, size_t count)
{
    enum { MOST_PARTS = 2 };
    const uint64_t rows = of->rows, columns = of->columns;
    const size_t row = (size_t)columns * assay_dtype_size(of->dtype);
    const uint64_t at_once = row == 0 || row >= AT_ONCE / 8 ? 8 : AT_ONCE / row / 8 * 8;
    assay_meter *meters[MOST_PARTS] = {NULL};
    assay_arena *arena = assay_arena_new(MOST_MEMORY);
    int status = arena && row > 0 && rows > 0 && count <= MOST_PARTS ? ASSAY_OK : -1;
    for (size_t k = 0; status == ASSAY_OK && k < count; k++) {
        const bool flat = parts[k].kind == HOOK_SKETCH_FLAT;
        const int64_t dim[] = {(int64_t)(flat ? rows * columns : rows), (int64_t)(flat ? 1 : columns)};
        const assay_shape shape = {.dtype = of->dtype, .dims = 2, .dim = dim, .elements = rows * columns};
        const assay_measure measure = measure_of(ASSAY_SKETCH_PLAIN, parts[k].groups, 1e-8);
        if (parts[k].kind != HOOK_SKETCH_COLUMNS)
            status = assay_meter_new(&measure, &shape, NULL, MOST_MEMORY, arena, &meters[k], NULL);
    }
    for (uint64_t at = 0, n; status == ASSAY_OK && at < rows; at += n) {
        n = rows - at < at_once ? rows - at : at_once;
        for (size_t k = 0; k < count; k++)
            ASSAY_THEN(status, meters[k] ? assay_meter_feed(meters[k], (const uint8_t *)of->x + at * row, NULL,
                                                            n * columns, NULL)
                                         : sum_columns(of, at, n, &parts[k]));
    }
    for (size_t k = 0; status == ASSAY_OK && k < count; k++) {
        assay_result result;
        if (meters[k])
            status = assay_meter_end(meters[k], &result, NULL);
        if (meters[k] && status == ASSAY_OK && take_sums(&result, parts[k].out) != parts[k].groups)
            status = -1;
    }
    assay_arena_free(arena);
    return status == ASSAY_OK;
}

int assay_hook_sketch(int form, const assay_hook_rows *of, int groups, double *out)
{
    return sketch(measure_of(form, groups, 1e-8), of, out);
}

int hook_sketch_normalised(const assay_hook_rows *of, int groups, double e, double *out)
{
    return sketch(measure_of(ASSAY_SKETCH_NORMALISED, groups, e), of, out);
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
