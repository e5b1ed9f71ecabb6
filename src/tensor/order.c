/* order.c - see order.h. After Floyd and Rivest 1975: select within brackets that a sample gives. */
#include "tensor/order.h"

#include <math.h>
#include <string.h>

enum {
    SAMPLE = 4096,
    MARGIN =
        64, /* places in the sample on each side: at least two standard deviations of a rank's place, four for tails */
    FEW = 2048, /* elements that are selected from directly; of more a bracket is kept first */
    FEW_SAMPLE = 512,
    FEW_MARGIN = 40, /* places in that sample: at least three and a half standard deviations */
    BLOCK = 2048     /* floats that are looked at by all brackets while they are in the first cache */
};

typedef struct bracket {
    float low, high;   /* the value is expected in [low, high] */
    uint64_t split[2]; /* elements < low and == low */
    uint64_t inner;    /* strictly inside */
    float *kept;       /* those inside; owned by the scratch */
    size_t room;
} bracket;

static size_t room_for(uint64_t n)
{
    return (size_t)(n / 8) + 2 * MARGIN + 16; /* 16: what a vector may write behind the last */
}

size_t assay_order_scratch(uint64_t n, uint32_t shares)
{
    return SAMPLE + shares * room_for(n);
}

static void swap(float *a, float *b)
{
    float t = *a;
    *a = *b;
    *b = t;
}

/* Moves the element of rank r to a[r], none larger before it and none smaller behind it (Hoare 1961, in three parts so
 * that equal elements cost nothing). Pivots are medians of three from changing places. No NaN. */
static void select_rank(float *a, size_t n, size_t r)
{
    uint64_t state = n;
    for (size_t low = 0, high = n; high - low > 1;) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        size_t span = high - low;
        float x = a[low + (size_t)(state >> 33) % span], y = a[low + span / 2],
              z = a[low + (size_t)(state >> 17) % span];
        float pivot = x < y ? (y < z ? y : x < z ? z : x) : (x < z ? x : y < z ? z : y);
        size_t less = low, more = high;
        for (size_t i = low; i < more;) {
            if (a[i] < pivot)
                swap(&a[less++], &a[i++]);
            else if (a[i] > pivot)
                swap(&a[i], &a[--more]);
            else
                i++;
        }
        if (r < less)
            high = less;
        else if (r >= more)
            low = more;
        else
            return;
    }
}

static uint64_t floor_rank(uint64_t used, double share)
{
    double below = floor((double)(used - 1) * share);
    return below >= (double)(used - 1) ? used - 1 : (uint64_t)below;
}

/* Every so many elements, NaN left out. Returns how many there are. */
static size_t take_sample(const float *x, uint64_t n, uint64_t stride, float *sample)
{
    size_t count = 0;
    for (uint64_t i = 0; i < n; i += stride) {
        sample[count] = x[i];
        count += !isnan(x[i]);
    }
    return count;
}

static void set_bracket(bracket *b, float *sample, size_t count, double share)
{
    size_t at = (size_t)floor_rank(count, share), first = at > MARGIN ? at - MARGIN : 0;
    size_t last = at + MARGIN + 1 < count ? at + MARGIN + 1 : count;
    b->low = -INFINITY;
    b->high = INFINITY;
    /* The second one is looked for on its side of the first, which comes to be the smaller side. */
    if (at < count / 2 && last < count)
        select_rank(sample, count, last);
    if (first > 0)
        select_rank(sample, at < count / 2 ? last : count, first);
    if (at >= count / 2 && last < count)
        select_rank(sample + first, count - first, last - first);
    if (first > 0)
        b->low = sample[first];
    if (last < count)
        b->high = sample[last];
}

/* Counts and collects a block's elements for one bracket. False: there are too many inside. */
static bool look_at(const measure_kernels *kernels, bracket *b, const float *x, size_t n)
{
    float above = nextafterf(b->low, INFINITY), under = nextafterf(b->high, -INFINITY);
    if (b->inner + n > b->room && b->inner + kernels->inside32((const uint8_t *)x, n, above, under) > b->room)
        return false;
    b->inner += kernels->split32(x, n, b->low, b->high, b->kept + b->inner, b->split);
    return true;
}

/* Keeps, of more than a few elements without NaN, those about rank *r, in front: so many that they hold ranks *r and *r
 * + 1. *r becomes the rank among them. Returns how many there are: all of them where the sample missed the rank. */
static size_t narrow(const measure_kernels *kernels, float *a, size_t n, size_t *r)
{
    while (n > FEW) {
        float sample[FEW_SAMPLE];
        size_t stride = n / FEW_SAMPLE, at = *r / stride, first = at > FEW_MARGIN ? at - FEW_MARGIN : 0;
        for (size_t i = 0; i < FEW_SAMPLE; i++)
            sample[i] = a[i * stride];
        float low = -INFINITY, high = INFINITY;
        if (first > 0 && first < FEW_SAMPLE) {
            select_rank(sample, FEW_SAMPLE, first);
            low = sample[first];
        }
        if (at + FEW_MARGIN < FEW_SAMPLE) {
            select_rank(sample, FEW_SAMPLE, at + FEW_MARGIN);
            high = sample[at + FEW_MARGIN];
        }
        const uint8_t *bytes = (const uint8_t *)a;
        size_t below = low > -INFINITY ? kernels->inside32(bytes, n, -INFINITY, nextafterf(low, -INFINITY)) : 0;
        size_t inside = kernels->inside32(bytes, n, low, high), last = *r + 1 < n ? *r + 1 : *r;
        if (*r < below || last >= below + inside || inside > n / 2)
            break;
        /* What is written ends where reading goes on at the latest. */
        n = kernels->collect32(a, n, low, high, a);
        *r -= below;
    }
    return n;
}

/* The element of rank r + 1 once a[r] is in its place: the smallest behind it. */
static float next_of(const float *a, size_t n, size_t r)
{
    float least = r + 1 < n ? a[r + 1] : a[r];
    for (size_t i = r + 1; i < n; i++)
        least = a[i] < least ? a[i] : least;
    return least;
}

/* The values of rank r and of the next one (r itself again for the last), or false when the bracket missed one. */
static bool values_at(const measure_kernels *kernels, bracket *b, const float *x, uint64_t n, uint64_t used, uint64_t r,
                      float at[2])
{
    uint64_t next = r + 1 < used ? r + 1 : r, inside = b->split[0] + b->split[1], behind = inside + b->inner;
    if (r < b->split[0])
        return false;
    if (next >= behind &&
        (b->high == b->low || next - behind >= kernels->inside32((const uint8_t *)x, (size_t)n, b->high, b->high)))
        return false;
    at[0] = r < inside ? b->low : b->high;
    at[1] = next < inside ? b->low : b->high;
    if (b->inner > 0 && next >= inside && r < behind) {
        size_t first = r >= inside ? (size_t)(r - inside) : 0,
               some = narrow(kernels, b->kept, (size_t)b->inner, &first);
        select_rank(b->kept, some, first);
        at[0] = r >= inside ? b->kept[first] : b->low;
        if (next < behind)
            at[1] = r < inside ? b->kept[first] : next == r ? at[0] : next_of(b->kept, some, first);
    }
    at[0] += 0.0f;
    at[1] += 0.0f;
    return true;
}

/* Few elements: all of them are the sample. */
static void find_directly(float *sample, size_t count, const double *share, uint32_t shares, float *at)
{
    for (uint32_t k = 0; k < shares; k++) {
        size_t r = (size_t)floor_rank(count, share[k]);
        select_rank(sample, count, r);
        at[2 * k] = sample[r] + 0.0f;
        at[2 * k + 1] = next_of(sample, count, r) + 0.0f;
    }
}

bool assay_order_find(const measure_kernels *kernels, const float *x, uint64_t n, const double *share, uint32_t shares,
                      float *scratch, uint64_t *used, float *at)
{
    bracket about[ORDER_MOST] = {{0}};
    uint64_t stride = n <= SAMPLE ? 1 : (n + SAMPLE - 1) / SAMPLE;
    size_t count = take_sample(x, n, stride, scratch);
    *used = stride == 1 ? count : 0;
    if (stride == 1 && count > 0)
        find_directly(scratch, count, share, shares, at);
    if (stride == 1)
        return true;
    if (count == 0) {
        *used = kernels->inside32((const uint8_t *)x, (size_t)n, -INFINITY, INFINITY);
        return *used == 0;
    }
    for (uint32_t k = 0; k < shares; k++) {
        set_bracket(&about[k], scratch, count, share[k]);
        about[k].kept = scratch + SAMPLE + k * room_for(n);
        about[k].room = room_for(n) - 16;
    }
    for (uint64_t i = 0; i < n; i += BLOCK) {
        size_t some = n - i < BLOCK ? (size_t)(n - i) : BLOCK;
        *used += kernels->inside32((const uint8_t *)(x + i), some, -INFINITY, INFINITY);
        for (uint32_t k = 0; k < shares; k++)
            if (!look_at(kernels, &about[k], x + i, some))
                return false;
    }
    for (uint32_t k = 0; k < shares; k++)
        if (!values_at(kernels, &about[k], x, n, *used, floor_rank(*used, share[k]), &at[2 * k]))
            return false;
    return true;
}
