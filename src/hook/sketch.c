/* sketch.c - what the laws of computation need of a tensor, as the analysis itself sums it up (measure_sketch.c). */
#include <assay/hook.h>
#include <assay/measure.h>
#include <string.h>

#include "base/arena.h"
#include "tensor/measure.h"

int assay_hook_sketch(int form, int dtype, const void *x, const void *y, uint64_t rows, uint64_t columns, int groups,
                      double *out)
{
    enum { MOST = 1 << 26 };
    const int64_t dim[] = {(int64_t)rows, (int64_t)columns};
    const assay_shape shape = {.dtype = dtype, .dims = 2, .dim = dim, .elements = rows * columns};
    assay_measure measure = {.kind = ASSAY_MEASURE_SKETCH,
                             .form = (uint32_t)form,
                             .axis = 1,
                             .numbers = ASSAY_SKETCH_NUMBERS,
                             .number = {groups, 0x1p16, 1e-8},
                             .reference = ASSAY_REFERENCE_SECOND_MOMENT};
    assay_meter *meter = NULL;
    assay_result result;
    assay_arena *arena = assay_arena_new(MOST);
    ASSAY_HAVE(arena);
    int status = assay_meter_new(&measure, &shape, y ? &shape : NULL, MOST, arena, &meter, NULL);
    ASSAY_THEN(status, assay_meter_feed(meter, x, y, shape.elements, NULL));
    ASSAY_THEN(status, assay_meter_end(meter, &result, NULL));
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
