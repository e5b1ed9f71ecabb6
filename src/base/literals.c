/* literals.c - see literals.h. */
#include "base/literals.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"

enum { LOOK = 4, STRIDE_MOST = 8, BITS = 17, BUCKET_BITS = 12 };

typedef struct window { /* four bytes of a text */
    uint32_t key, number, offset;
} window;

struct assay_literals {
    uint64_t set[(1 << BITS) / 64];
    size_t stride, count, windows, longest;
    char **text;
    size_t *length, *first;                  /* of each text; where its first window is */
    window *window;                          /* by bucket */
    uint32_t bucket[(1 << BUCKET_BITS) + 1]; /* where the windows of each begin: the upper bits of the hash */
};

static uint32_t load(const char *bytes)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static uint32_t hash(uint32_t word)
{
    return (uint32_t)(word * 2654435761u) >> (32 - BITS);
}

static uint32_t bucket_of(uint32_t word)
{
    return hash(word) >> (BITS - BUCKET_BITS);
}

/* How rare a byte is in logs, roughly: capitals and signs are rarer than letters, digits and blanks. */
static int rarity(char c)
{
    if (c == ' ' || (c >= '0' && c <= '9') || c == '.' || c == ':')
        return 0;
    if (c >= 'a' && c <= 'z')
        return strchr("etaonirslc", c) ? 1 : 3;
    return 6;
}

/* Where the rarest `size` bytes of a text begin. */
static size_t rarest(const char *text, size_t length, size_t size)
{
    size_t best = 0;
    int most = -1;
    for (size_t at = 0; at + size <= length; at++) {
        int sum = 0;
        for (size_t i = 0; i < size; i++)
            sum += rarity(text[at + i]);
        if (sum > most) {
            most = sum;
            best = at;
        }
    }
    return best;
}

static int order_windows(const void *a, const void *b)
{
    const window *x = a, *y = b;
    int order = ASSAY_ORDER(bucket_of(x->key), bucket_of(y->key));
    order = order ? order : ASSAY_ORDER(x->key, y->key);
    return order ? order : ASSAY_ORDER(x->number, y->number);
}

void assay_literals_free(assay_literals *l)
{
    if (!l)
        return;
    for (size_t i = 0; l->text && i < l->count; i++)
        free(l->text[i]);
    free(l->text);
    free(l->length);
    free(l->first);
    free(l->window);
    free(l);
}

static bool fill(assay_literals *l, const char *const *text)
{
    size_t shortest = SIZE_MAX;
    for (size_t i = 0; i < l->count; i++) {
        l->length[i] = strlen(text[i]);
        l->text[i] = assay_copy_text(text[i]);
        if (!l->text[i])
            return false;
        shortest = l->length[i] < shortest ? l->length[i] : shortest;
        l->longest = l->length[i] > l->longest ? l->length[i] : l->longest;
    }
    if (l->count > 0 && shortest < ASSAY_LITERAL_LEAST)
        return false;
    l->stride = l->count == 0 ? 1 : shortest - (LOOK - 1) < STRIDE_MOST ? shortest - (LOOK - 1) : STRIDE_MOST;
    l->window = assay_alloc_zeroed(l->count * l->stride + 1, sizeof *l->window);
    if (!l->window)
        return false;
    for (size_t i = 0; i < l->count; i++) {
        const size_t from = rarest(text[i], l->length[i], l->stride + LOOK - 1);
        l->first[i] = from;
        for (size_t k = 0; k < l->stride; k++) {
            const uint32_t key = load(text[i] + from + k), bit = hash(key);
            l->window[l->windows++] = (window){key, (uint32_t)i, (uint32_t)(from + k)};
            l->set[bit / 64] |= UINT64_C(1) << bit % 64;
        }
    }
    qsort(l->window, l->windows, sizeof *l->window, order_windows);
    for (uint32_t w = 0, b = 0; b <= 1 << BUCKET_BITS; b++) {
        while (w < l->windows && bucket_of(l->window[w].key) < b)
            w++;
        l->bucket[b] = w;
    }
    return true;
}

assay_literals *assay_literals_new(const char *const *text, size_t count)
{
    assay_literals *l = assay_alloc_zeroed(1, sizeof *l);
    if (!l)
        return NULL;
    l->count = count;
    l->text = assay_alloc_zeroed(count + 1, sizeof *l->text);
    l->length = assay_alloc_zeroed(count + 1, sizeof *l->length);
    l->first = assay_alloc_zeroed(count + 1, sizeof *l->first);
    if (!l->text || !l->length || !l->first || !fill(l, text)) {
        assay_literals_free(l);
        return NULL;
    }
    return l;
}

size_t assay_literals_longest(const assay_literals *l)
{
    return l->longest;
}

static bool is_set(const assay_literals *l, const char *at)
{
    const uint32_t bit = hash(load(at));
    return l->set[bit / 64] >> bit % 64 & 1;
}

/* The place of a text one of whose windows lies at `place`, inside [low, size). */
static size_t text_at(const assay_literals *l, const char *bytes, size_t low, size_t place, size_t size)
{
    const uint32_t key = load(bytes + place), bucket = bucket_of(key);
    for (uint32_t w = l->bucket[bucket]; w < l->bucket[bucket + 1]; w++) {
        const window *one = &l->window[w];
        if (one->key != key || one->offset > place - low)
            continue;
        const size_t from = place - one->offset, length = l->length[one->number];
        if (length <= size - from && memcmp(bytes + from, l->text[one->number], length) == 0)
            return from;
    }
    return SIZE_MAX;
}

size_t assay_literals_find(const assay_literals *l, const char *bytes, size_t at, size_t size)
{
    const size_t stride = l->stride, low = at;
    if (l->count == 0 || size < LOOK)
        return SIZE_MAX;
    const size_t end = size - (LOOK - 1);
    for (; at + 3 * stride < end; at += 4 * stride) {
        const unsigned hits = (unsigned)is_set(l, bytes + at) | (unsigned)is_set(l, bytes + at + stride) << 1 |
                              (unsigned)is_set(l, bytes + at + 2 * stride) << 2 |
                              (unsigned)is_set(l, bytes + at + 3 * stride) << 3;
        for (size_t k = 0; hits >> k; k++) {
            const size_t found = hits >> k & 1 ? text_at(l, bytes, low, at + k * stride, size) : SIZE_MAX;
            if (found != SIZE_MAX)
                return found;
        }
    }
    for (; at < end; at += stride) {
        const size_t found = is_set(l, bytes + at) ? text_at(l, bytes, low, at, size) : SIZE_MAX;
        if (found != SIZE_MAX)
            return found;
    }
    return SIZE_MAX;
}

void assay_literals_all(const assay_literals *l, const char *bytes, size_t size, assay_literal_visit *visit,
                        void *context)
{
    for (size_t at = 0; at + LOOK <= size; at++) {
        if (!is_set(l, bytes + at))
            continue;
        const uint32_t key = load(bytes + at), bucket = bucket_of(key);
        for (uint32_t w = l->bucket[bucket]; w < l->bucket[bucket + 1]; w++) {
            const window *one = &l->window[w]; /* of the windows of a text the first stands for it */
            if (one->key != key || one->offset != l->first[one->number] || one->offset > at)
                continue;
            const size_t from = at - one->offset, length = l->length[one->number];
            if (length <= size - from && memcmp(bytes + from, l->text[one->number], length) == 0)
                visit(context, one->number, from);
        }
    }
}
