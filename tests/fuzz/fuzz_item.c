/* Any bytes as a tensor that another rank has measured: refused, or an item that comes back from its own bytes as it
 * is. */
#include <stdlib.h>
#include <string.h>

#include "engine/map/tensor_result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One measure of each kind, with as many numbers as its number in the list. */
static assay_tensor_result_form form_of(assay_measure measures[ASSAY_MEASURE_KINDS])
{
    static uint32_t class_of[3], place[ASSAY_MEASURE_KINDS];
    static assay_use_class class = {.place = place, .measures = ASSAY_MEASURE_KINDS};
    static const assay_source_plan plan = {.tensor_class = class_of, .classes = &class, .class_count = 1};
    for (uint32_t k = 0; k < ASSAY_MEASURE_KINDS; k++)
        place[k] = k + 1;
    memset(measures, 0, ASSAY_MEASURE_KINDS * sizeof *measures);
    for (uint32_t k = 0; k < ASSAY_MEASURE_KINDS; k++)
        measures[k].kind = measures[k].numbers = k;
    return (assay_tensor_result_form){
        .measures = measures, .measure_count = ASSAY_MEASURE_KINDS, .tensors = 3, .workers = 2, .plan = &plan};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    assay_measure measures[ASSAY_MEASURE_KINDS];
    assay_tensor_result_form form = form_of(measures);
    assay_arena *arena = assay_arena_new((size_t)1 << 26);
    assay_tensor_result item;
    assay_error err = {""};
    assay_buf again;
    assay_cursor in = assay_cursor_over(data, size);
    memset(&item, 0, sizeof item);
    assay_buf_init(&again, SIZE_MAX);
    if (!arena)
        abort();
    int status = assay_tensor_result_unpack(&in, &form, arena, &item, &err);
    if (status != ASSAY_OK && err.text[0] == '\0')
        abort();
    if (status == ASSAY_OK)
        assay_tensor_result_pack(&item, &form, &again);
    /* Texts end at their first NUL, and results may come in any order: what was packed here comes back as it is. */
    assay_cursor second = assay_cursor_over(again.data, again.size);
    assay_buf third;
    assay_buf_init(&third, SIZE_MAX);
    if (status == ASSAY_OK) {
        memset(&item, 0, sizeof item);
        if (again.size > in.at || assay_tensor_result_unpack(&second, &form, arena, &item, &err) != ASSAY_OK ||
            assay_cursor_bad(&second))
            abort();
        assay_tensor_result_pack(&item, &form, &third);
        if (third.size != again.size || memcmp(third.data, again.data, again.size) != 0)
            abort();
    }
    assay_buf_release(&third);
    assay_buf_release(&again);
    assay_arena_free(arena);
    return 0;
}
