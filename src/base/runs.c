/* runs.c - see runs.h. Neighbouring runs are merged, two by two, until there is one. */
#include "base/runs.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

typedef int item_order(const void *, const void *);

/* Where the run ends that begins with item `at`. */
static size_t end_of_run(const uint8_t *list, size_t at, size_t count, size_t size, item_order *order)
{
    for (at++; at < count && order(list + (at - 1) * size, list + at * size) <= 0;)
        at++;
    return at < count ? at : count;
}

/* Merges [first, middle) and [middle, end) of one list into the same places of another one. */
static void merge(const uint8_t *from, uint8_t *to, size_t first, size_t middle, size_t end, size_t size,
                  item_order *order)
{
    size_t a = first, b = middle;
    for (size_t i = first; i < end; i++) {
        /* "<=": items that compare as equal keep their order. */
        const size_t taken = b == end || (a < middle && order(from + a * size, from + b * size) <= 0) ? a++ : b++;
        memcpy(to + i * size, from + taken * size, size);
    }
}

/* Merges runs two by two; how many there were. */
static size_t merge_pairs(const uint8_t *from, uint8_t *to, size_t count, size_t size, item_order *order)
{
    size_t runs = 0;
    for (size_t first = 0, middle, end; first < count; first = end) {
        middle = end_of_run(from, first, count, size, order);
        end = middle < count ? end_of_run(from, middle, count, size, order) : middle;
        merge(from, to, first, middle, end, size, order);
        runs += 1 + (middle < end);
    }
    return runs;
}

void assay_sort_runs(void *list, size_t count, size_t size, int (*order)(const void *, const void *))
{
    /* Sorted already: one pass, no memory. */
    if (count < 2 || end_of_run(list, 0, count, size, order) == count)
        return;
    /* Without memory the C library sorts, which may change the places of items that compare as equal. */
    uint8_t *room = count <= SIZE_MAX / size ? assay_alloc(count * size) : NULL;
    if (!room) {
        qsort(list, count, size, order);
        return;
    }
    uint8_t *from = list, *to = room;
    size_t runs;
    do {
        runs = merge_pairs(from, to, count, size, order);
        uint8_t *merged = to;
        to = from;
        from = merged;
    } while (runs > 2);
    if (from != list)
        memcpy(list, from, count * size);
    free(room);
}
