/* order.c - see order.h. After Floyd and Rivest 1975: select within brackets that a sample gives. */
#include "tensor/order.h"

#include <math.h>
#include <string.h>

enum {
    DEVIATIONS = 5, /* of a rank's place in the sample, on each side of it */
    PLACES = 8,     /* and so many more: they count where q is 0 or 1 */
    TIES = 4,       /* of these, places that a bracket may lose to what equals its ends */
    MOST_MISSES = 4,
    LEAST_SAMPLE = 512,
    VECTOR = 16,      /* values that a kernel may write behind the last */
    BLOCK = 2048,     /* elements that all brackets look at while they are in the first cache */
    AS_THEY_ARE = 32, /* blocks, before it is tried again whether most elements are between two brackets */
    ORDER_SORTED = ORDER_SAMPLE,
    INSERTED = 48, /* fewer than that are inserted one by one */
    RADIX = 11,
    RADIX_SIZE = 1 << RADIX
};

static uint64_t floor_rank(uint64_t used, double share)
{
    double below = floor((double)(used - 1) * share);
    return below >= (double)(used - 1) ? used - 1 : (uint64_t)below;
}

/* A hash of i without a pattern (the finaliser of splitmix64: Steele, Lea and Flood 2014). */
static uint64_t mix(uint64_t i)
{
    uint64_t z = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t assay_order_place(uint64_t n, uint64_t count, uint64_t i, uint64_t hash)
{
    uint64_t length = n / count, longer = n % count, first = i * length + (i < longer ? i : longer);
    return first + (uint64_t)((unsigned __int128)mix(i ^ hash) * (length + (i < longer)) >> 64);
}

/* Elements that a bracket may have: an eighth of all n, and half of those that were inside another bracket, of which
 * a smaller sample is taken. */
static size_t outer_room(uint64_t n)
{
    return (size_t)(n / 8) + 2 * BLOCK;
}

static size_t inner_room(uint64_t n)
{
    return (size_t)(n / 2) + BLOCK;
}

static size_t inner_sample(uint64_t n)
{
    size_t share = (size_t)(n / 64);
    return share < LEAST_SAMPLE ? LEAST_SAMPLE : share < ORDER_SAMPLE ? share : ORDER_SAMPLE;
}

/* Values that one search may collect, brackets within brackets included. */
static size_t free_values(uint64_t n)
{
    size_t room = outer_room(n), values = room + VECTOR;
    for (; room > ORDER_SORTED; values += room + VECTOR)
        room = inner_room(room);
    return values;
}

#define VALUE       float
#define BITS        uint32_t
#define NAMED(name) name##_32
#define INSIDE      inside32
#define SPLIT       split32
#define WITHIN      within32
#define OUTSIDE     outside32
#define NEXT        nextafterf
#include "tensor/order.inc"

#define VALUE       double
#define BITS        uint64_t
#define NAMED(name) name##_64
#define INSIDE      inside64
#define SPLIT       split64
#define WITHIN      within64
#define OUTSIDE     outside64
#define NEXT        nextafter
#include "tensor/order.inc"

size_t assay_order_scratch(uint64_t n, uint32_t shares, bool wide)
{
    return n <= ORDER_SORTED ? 0 : shares * free_values(n) * (wide ? sizeof(double) : sizeof(float));
}

uint64_t assay_order_find(const measure_kernels *kernels, void *x, bool wide, uint64_t n, const double *share,
                          uint32_t shares, void *scratch, double *at, uint64_t *looked)
{
    uint64_t seen = 0, used;
    if (n <= ORDER_SORTED)
        used = wide ? find_directly_64(x, n, share, shares, at) : find_directly_32(x, n, share, shares, at);
    else
        used = wide ? find_all_64(kernels, x, n, share, shares, scratch, at, &seen)
                    : find_all_32(kernels, x, n, share, shares, scratch, at, &seen);
    if (looked)
        *looked += n <= ORDER_SORTED ? n : seen;
    return used;
}
