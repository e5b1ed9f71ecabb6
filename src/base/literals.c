/* literals.c - see literals.h. */
#include "base/literals.h"

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
    size_t stride, count, windows;
    char **text;
    size_t *length;                          /* of each text */
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
    if (!l->text || !l->length || !fill(l, text)) {
        assay_literals_free(l);
        return NULL;
    }
    return l;
}

static bool is_set(const assay_literals *l, uint32_t word)
{
    const uint32_t bit = hash(word);
    return l->set[bit / 64] >> bit % 64 & 1;
}

/* Of the windows at a place, those that are left: the place of a text in [s->low, size). */
static bool find_there(const assay_literals *l, const char *bytes, size_t size, uint32_t word, assay_literal_search *s)
{
    while (s->window < l->bucket[bucket_of(word) + 1]) {
        const window *one = &l->window[s->window++];
        if (one->key != word || one->offset > (int64_t)(s->place - s->low))
            continue;
        const size_t from = (size_t)((int64_t)s->place - one->offset), length = l->length[one->number];
        if (length <= size - from && bytes[from] == l->text[one->number][0] && /* mostly it is another: "errors" */
            memcmp(bytes + from, l->text[one->number], length) == 0) {
            s->number = one->number;
            s->at = from;
            return true;
        }
    }
    return false;
}

/* The next place whose word may be a window; at or behind `end`: there is none. */
static size_t next_place(const assay_literals *l, const char *bytes, size_t at, size_t end)
{
    const size_t stride = l->stride;
    for (; at + 3 * stride < end; at += 4 * stride) {
        const unsigned hits = (unsigned)is_set(l, load(bytes + at)) |
                              (unsigned)is_set(l, load(bytes + at + stride)) << 1 |
                              (unsigned)is_set(l, load(bytes + at + 2 * stride)) << 2 |
                              (unsigned)is_set(l, load(bytes + at + 3 * stride)) << 3;
        if (hits)
            return at + (size_t)__builtin_ctz(hits) * stride;
    }
    while (at < end && !is_set(l, load(bytes + at)))
        at += stride;
    return at;
}

bool assay_literals_next(const assay_literals *l, const char *bytes, size_t size, assay_literal_search *s)
{
    char last[LOOK] = "";
    const size_t end = size < LOOK ? 0 : size - (LOOK - 1);
    while (l->count > 0 && s->place < end) {
        if (!s->entered) {
            s->place = next_place(l, bytes, s->place, end);
            if (s->place >= end)
                break;
            s->window = l->bucket[bucket_of(load(bytes + s->place))];
            s->entered = true;
        }
        if (find_there(l, bytes, size, load(bytes + s->place), s))
            return true;
        s->entered = false;
        s->place += l->stride;
    }
    if (l->count == 0 || end == 0 || s->place != end)
        return false;
    memcpy(last, bytes + end, LOOK - 1); /* a text at the very end has nothing beside it */
    if (!s->entered)
        s->window = l->bucket[bucket_of(load(last))];
    s->entered = true;
    return find_there(l, bytes, size, load(last), s);
}
