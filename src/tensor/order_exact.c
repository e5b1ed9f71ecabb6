/* order_exact.c - see order_exact.h. Both work on keys: unsigned numbers in the order of the floats, +0 next to -0. */
#include "tensor/order_exact.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum {
    INSERTED = 48 /* fewer than that are inserted one by one */,
    RADIX = 11,
    RADIX_PASSES = 3,
    RADIX_SIZE = 1 << RADIX
};

/* IEEE 754 numbers are ordered as their bits are, the negative ones the other way round. */
static inline uint32_t key_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits ^ ((uint32_t)((int32_t)bits >> 31) | UINT32_C(1) << 31);
}

static inline float value_of(uint32_t key)
{
    uint32_t bits = key ^ (key >> 31 ? UINT32_C(1) << 31 : UINT32_MAX);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void insert_all(float *x, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        float moving = x[i];
        size_t j = i;
        for (; j > 0 && moving < x[j - 1]; j--)
            x[j] = x[j - 1];
        x[j] = moving;
    }
}

/* Moves the keys of `from` to `to` by their digit number `pass`, keeping the order of equal ones. */
static void move_by_digit(const uint32_t *from, uint32_t *to, size_t n, int pass)
{
    uint16_t place[RADIX_SIZE] = {0};
    for (size_t i = 0; i < n; i++)
        place[from[i] >> pass * RADIX & (RADIX_SIZE - 1)]++;
    for (size_t d = 0, first = 0; d < RADIX_SIZE; d++) {
        size_t count = place[d];
        place[d] = (uint16_t)first;
        first += count;
    }
    for (size_t i = 0; i < n; i++)
        to[place[from[i] >> pass * RADIX & (RADIX_SIZE - 1)]++] = from[i];
}

void assay_sort_few(float *x, size_t n)
{
    uint32_t key[ORDER_SORTED], moved[ORDER_SORTED];
    if (n < INSERTED) {
        insert_all(x, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        key[i] = key_of(x[i]);
    for (int pass = 0; pass < RADIX_PASSES; pass++)
        move_by_digit(pass % 2 ? moved : key, pass % 2 ? key : moved, n, pass);
    for (size_t i = 0; i < n; i++)
        x[i] = value_of(moved[i]);
}

/* What a key's upper half counts as: ORDER_DIGITS for those of NaN, which lie beyond both infinities. */
static inline uint32_t digit_of(uint32_t key)
{
    const uint32_t least = UINT32_C(0x007fffff), greatest = UINT32_C(0xff800000);
    return key - least <= greatest - least ? key >> 16 : ORDER_DIGITS;
}

void assay_digits_count(const float *x, uint64_t n, uint64_t *digits)
{
    memset(digits, 0, ORDER_COUNTS * sizeof *digits);
    for (uint64_t i = 0; i < n; i++)
        digits[digit_of(key_of(x[i]))]++;
}

/* The digit that has the element of rank *r, which becomes its rank among those of the digit. */
static uint32_t digit_at(const uint64_t *count, uint64_t *r)
{
    uint32_t digit = 0;
    for (; digit < ORDER_DIGITS - 1 && *r >= count[digit]; digit++)
        *r -= count[digit];
    return digit;
}

/* Ranks r and next of those whose upper half is `upper`, by counting their lower half. */
static void find_in_digit(const float *x, uint64_t n, uint32_t upper, uint64_t r, uint64_t next, uint64_t *table,
                          float at[2])
{
    memset(table, 0, ORDER_DIGITS * sizeof *table);
    for (uint64_t i = 0; i < n; i++) {
        uint32_t key = key_of(x[i]);
        if (digit_of(key) == upper)
            table[key & (ORDER_DIGITS - 1)]++;
    }
    at[0] = value_of(upper << 16 | digit_at(table, &r));
    at[1] = value_of(upper << 16 | digit_at(table, &next));
}

/* The last one of a digit, and the first one of a later digit. */
static void find_between(const float *x, uint64_t n, uint32_t earlier, uint32_t later, float at[2])
{
    uint32_t last = 0, first = UINT32_MAX;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t key = key_of(x[i]), digit = digit_of(key);
        last = digit == earlier && key > last ? key : last;
        first = digit == later && key < first ? key : first;
    }
    at[0] = value_of(last);
    at[1] = value_of(first);
}

void assay_digits_find(const float *x, uint64_t n, const uint64_t *digits, uint64_t r, uint64_t next, uint64_t *table,
                       float at[2])
{
    uint32_t upper = digit_at(digits, &r), upper_next = digit_at(digits, &next);
    if (upper == upper_next)
        find_in_digit(x, n, upper, r, next, table, at);
    else
        find_between(x, n, upper, upper_next, at);
}
