/* sort.c - numbers in ascending order, by digits from the lowest on (radix sort). Bits that all numbers share are
 * passed over; what is short, or finds no memory, is left to the C library. */
#include <stdlib.h>
#include <string.h>

#include <assay/timeline.h>

#include "base/fault.h"
#include "base/search.h"

/* SHORT: below that, clearing and summing the counters takes longer than qsort(). LONG: more digits a pass are worth
 * their larger table from here on. */
enum { SHORT = 64, LONG = 4096 /* from here on digits have 11 bits, below 8 */, MOST_BITS = 11 };

/* Sorts keys by their bits. Returns the list that has them, `keys` or `room`. */
static uint64_t *sort_keys(uint64_t *keys, uint64_t *room, size_t n)
{
    const unsigned bits = n < LONG ? 8 : MOST_BITS, mask = (1u << bits) - 1;
    size_t places[1 << MOST_BITS];
    uint64_t different = 0;
    for (size_t i = 1; i < n; i++)
        different |= keys[i] ^ keys[0];
    while (different) {
        /* Begins at the lowest bit that differs: equal low bits take no pass. */
        const unsigned shift = (unsigned)__builtin_ctzll(different);
        memset(places, 0, (mask + (size_t)1) * sizeof *places);
        for (size_t i = 0; i < n; i++)
            places[keys[i] >> shift & mask]++;
        size_t before = 0;
        for (unsigned digit = 0; digit <= mask; digit++) {
            const size_t count = places[digit];
            places[digit] = before;
            before += count;
        }
        for (size_t i = 0; i < n; i++)
            room[places[keys[i] >> shift & mask]++] = keys[i];
        uint64_t *sorted = room;
        room = keys;
        keys = sorted;
        different = shift + bits < 64 ? different >> (shift + bits) << (shift + bits) : 0;
    }
    return keys;
}

static const uint64_t TOP = UINT64_C(1) << 63;

/* Steps and offsets come sorted most often: one pass then, and no memory. */
void assay_sort_integers(int64_t *list, size_t n)
{
    bool ascending = true;
    for (size_t i = 1; i < n && ascending; i++)
        ascending = list[i - 1] <= list[i];
    if (ascending)
        return;
    uint64_t *keys = n < SHORT ? NULL : assay_alloc(2 * n * sizeof *keys);
    if (!keys) {
        qsort(list, n, sizeof *list, assay_order_i64);
        return;
    }
    for (size_t i = 0; i < n; i++)
        keys[i] = (uint64_t)list[i] ^ TOP;
    const uint64_t *sorted = sort_keys(keys, keys + n, n);
    for (size_t i = 0; i < n; i++)
        list[i] = (int64_t)(sorted[i] ^ TOP);
    free(keys);
}

/* Bits of doubles are in the order of the numbers, once the sign is turned, and all bits of negative ones. */
void assay_sort_reals(double *list, size_t n)
{
    uint64_t *keys = n < SHORT ? NULL : assay_alloc(2 * n * sizeof *keys);
    if (!keys) {
        if (n > 1)
            qsort(list, n, sizeof *list, assay_order_f64);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &list[i], sizeof bits);
        keys[i] = bits & TOP ? ~bits : bits ^ TOP;
    }
    const uint64_t *sorted = sort_keys(keys, keys + n, n);
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = sorted[i] & TOP ? sorted[i] ^ TOP : ~sorted[i];
        memcpy(&list[i], &bits, sizeof bits);
    }
    free(keys);
}
