/* literals.c - see literals.h. */
#include "base/literals.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"

enum { LOOK = 4, STRIDE_MOST = 8, BITS = 17, BUCKET_BITS = 12, OPEN_MOST = 2048 };

typedef struct window { /* four bytes of a text, or three of it and one beside it */
    uint32_t key, number;
    int32_t offset; /* -1: it begins one byte before the text */
} window;

struct assay_literals {
    uint64_t set[(1 << BITS) / 64];
    size_t stride, count, windows, longest;
    char **text;
    size_t *length, *first;                  /* of each text; where its first window is */
    bool open;                               /* some windows reach over an end of their text */
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

static void add_window(assay_literals *l, uint32_t key, size_t number, int32_t offset)
{
    const uint32_t bit = hash(key);
    l->window[l->windows++] = (window){key, (uint32_t)number, offset};
    l->set[bit / 64] |= UINT64_C(1) << bit % 64;
}

/* Windows of three bytes of a text and any byte beside them: one for each byte that there is. */
static void add_open_windows(assay_literals *l, size_t number, const char *three, bool before)
{
    char bytes[LOOK];
    memcpy(bytes + before, three, LOOK - 1);
    for (int c = 0; c < 256; c++) {
        bytes[before ? 0 : LOOK - 1] = (char)c;
        add_window(l, load(bytes), number, before ? -1 : (int32_t)(l->length[number] - (LOOK - 1)));
    }
    l->open = true;
}

/* By how many windows a text is too short for a stride. */
static size_t lacks(size_t length, size_t stride)
{
    return length < stride + LOOK - 1 ? stride + LOOK - 1 - length : 0;
}

/* How many open windows a stride takes; SIZE_MAX: a text is too short for it. */
static size_t open_windows(const assay_literals *l, size_t stride)
{
    size_t sum = 0;
    for (size_t i = 0; i < l->count; i++) {
        if (lacks(l->length[i], stride) > 2)
            return SIZE_MAX;
        sum += 256 * lacks(l->length[i], stride);
    }
    return sum;
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
    l->stride = l->count == 0 ? 1 : STRIDE_MOST;
    while (l->stride > 1 && open_windows(l, l->stride) > OPEN_MOST) /* few short texts need not slow down the rest */
        l->stride--;
    l->window = assay_alloc_zeroed(l->count * l->stride + OPEN_MOST + 1, sizeof *l->window);
    if (!l->window)
        return false;
    for (size_t i = 0; i < l->count; i++) {
        const size_t lack = lacks(l->length[i], l->stride);
        const size_t from = rarest(text[i], l->length[i], l->stride - lack + LOOK - 1);
        l->first[i] = from;
        for (size_t k = 0; k < l->stride - lack; k++)
            add_window(l, load(text[i] + from + k), i, (int32_t)(from + k));
        if (lack > 0)
            add_open_windows(l, i, text[i] + l->length[i] - (LOOK - 1), false);
        if (lack > 1)
            add_open_windows(l, i, text[i], true);
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
static size_t text_at(const assay_literals *l, const char *bytes, size_t low, size_t place, size_t size, size_t *number)
{
    const uint32_t key = load(bytes + place), bucket = bucket_of(key);
    for (uint32_t w = l->bucket[bucket]; w < l->bucket[bucket + 1]; w++) {
        const window *one = &l->window[w];
        if (one->key != key || one->offset > (int64_t)(place - low))
            continue;
        const size_t from = (size_t)((int64_t)place - one->offset), length = l->length[one->number];
        if (length <= size - from && bytes[from] == l->text[one->number][0] && /* mostly it is another: "errors" */
            memcmp(bytes + from, l->text[one->number], length) == 0) {
            if (number)
                *number = one->number;
            return from;
        }
    }
    return SIZE_MAX;
}

size_t assay_literals_find(const assay_literals *l, const char *bytes, size_t at, size_t size, size_t *number)
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
            const size_t found = hits >> k & 1 ? text_at(l, bytes, low, at + k * stride, size, number) : SIZE_MAX;
            if (found != SIZE_MAX)
                return found;
        }
    }
    for (; at < end; at += stride) {
        const size_t found = is_set(l, bytes + at) ? text_at(l, bytes, low, at, size, number) : SIZE_MAX;
        if (found != SIZE_MAX)
            return found;
    }
    /* a text at the very end has nothing behind it for a window that reaches over its own end */
    for (at = end > low + stride ? end - stride : low; l->open && at < end; at++) {
        const size_t found = is_set(l, bytes + at) ? text_at(l, bytes, low, at, size, number) : SIZE_MAX;
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
            if (one->key != key || one->offset != (int64_t)l->first[one->number] || one->offset > (int64_t)at)
                continue;
            const size_t from = (size_t)((int64_t)at - one->offset), length = l->length[one->number];
            if (length <= size - from && memcmp(bytes + from, l->text[one->number], length) == 0)
                visit(context, one->number, from);
        }
    }
}
