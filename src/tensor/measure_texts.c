/* measure_texts.c - TEXTS: the strings of a string tensor, copied into the arena. */
#include <string.h>

#include "tensor/measure.h"

static int no_room(const assay_arena *arena, size_t size, assay_error *err)
{
    if (size > assay_arena_left(arena))
        return assay_fail(err, ASSAY_EBUDGET,
                          "the strings of this tensor need %zu more bytes, and %zu are left: raise --memory", size,
                          assay_arena_left(arena));
    return assay_fail(err, ASSAY_ENOMEM, "no memory for the strings of a tensor");
}

size_t assay_texts_cost(uint64_t count, uint64_t bytes)
{
    size_t each = sizeof(const char *) + assay_arena_piece_cost(1), all; /* its end, and rounding */
    size_t large = bytes / 16;                                           /* of strings with a block of their own */
    if (__builtin_mul_overflow(count, each, &all) || __builtin_add_overflow(all, bytes, &all) ||
        __builtin_add_overflow(all, large + assay_arena_loan_cost(0), &all))
        return SIZE_MAX;
    return all;
}

int assay_texts_new(assay_arena *arena, uint64_t count, assay_result *result, assay_error *err)
{
    size_t size;
    if (__builtin_mul_overflow(count, sizeof(const char *), &size))
        size = SIZE_MAX;
    const char **text = assay_arena_take(arena, size);
    if (!text)
        return no_room(arena, size, err);
    for (uint64_t i = 0; i < count; i++)
        text[i] = "";
    memset(result, 0, sizeof *result);
    result->kind = ASSAY_MEASURE_TEXTS;
    result->of.texts = (assay_texts){.count = count, .text = text};
    return ASSAY_OK;
}

int assay_texts_set(assay_arena *arena, assay_result *result, uint64_t i, const char *bytes, size_t length,
                    assay_error *err)
{
    if (i >= result->of.texts.count)
        return assay_fail(err, ASSAY_EINTERNAL, "string %llu of a tensor that has %llu", (unsigned long long)i,
                          (unsigned long long)result->of.texts.count);
    char *copy = length < SIZE_MAX ? assay_arena_take(arena, length + 1) : NULL;
    if (!copy)
        return no_room(arena, length, err);
    if (length > 0)
        memcpy(copy, bytes, length);
    copy[length] = '\0';
    const char **text = (const char **)result->of.texts.text; /* the arena's, const for rules only */
    text[i] = copy;
    return ASSAY_OK;
}
