/* literals.c - see literals.h. */
#include "base/literals.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"

/* LOOK: bytes of a window. STRIDE_MOST: at best every eighth place of a text is looked at. BITS: the set takes 256
 * KiB. OPEN_MOST: each short text adds 256 or 512 open windows, and with each one more places look like a text. */
enum { LOOK = 4, STRIDE_MOST = 8, BITS = 18, BUCKET_BITS = 12, OPEN_MOST = 3072 };

typedef struct window { /* four bytes of a text, or three of it and one beside it */
    uint32_t key, number;
    int32_t offset; /* -1: it begins one byte before the text */
} window;

struct assay_literals {
    /* By hash: is it that of a window? A byte each, since to take bits apart costs more than a cache. */
    uint8_t set[1 << BITS];
    size_t stride, count, windows;
    uint32_t factor; /* of the hash */
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

static const uint32_t FACTOR = 2654435761u;

static uint32_t hash(uint32_t factor, uint32_t word)
{
    /* Fibonacci hashing: the upper bits of the product are the mixed ones. */
    return (uint32_t)(word * factor) >> (32 - BITS);
}

/* By a hash of its own. */
static uint32_t bucket_of(uint32_t word)
{
    return hash(FACTOR, word) >> (BITS - BUCKET_BITS);
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

/* What trainings write all the time: windows that lie in these words would be met in each line. */
static const char COMMON[] =
    " step global_step micro_step training_step iteration epoch batch loss grad norm learning rate lr= tokens samples consumed "
    "elapsed time per second scale number of skipped nan iterations trainer training train data memory mem allocated MemAllocated "
    "[rank] rank: [INFO] - INFO - [DEBUG] [Rank 0] [logging.py:128:log_dist] [timer.py: /opt/conda/lib/python3.11/site-packages/ "
    "torch/utils/checkpoint.py warnings.warn( NCCL INFO Channel 00/0 : via 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1.0 | consumed e-05 "
    "via NET/IB/ GDRDMA P2P/CUMEM SHM/direct comm nranks busId Connected all rings trees Init COMPLETE process group using device "
    "default worker node host model parameters optimizer evaluating eval validation accuracy checkpoint saved saving loading "
    "loaded version distributed backend None True False microseconds running average steps_per_print mom=[[0.9 it/s] "
    "%|\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88#####     | [00:00<00:00,  1.00it/s] 00/1000 ";

/* Of a set by hash: the windows that lie in COMMON. */
static void mark_common(uint8_t *set)
{
    for (const char *at = COMMON; at + LOOK < COMMON + sizeof COMMON; at++)
        set[hash(FACTOR, load(at))] = 1;
}

/* Where `size` bytes of a text begin whose windows are seldom met. */
static size_t rarest(const uint8_t *common, const char *text, size_t length, size_t size)
{
    /* More than a window of four rare bytes is worth (4 * 6): a common window is taken only where there is no other. */
    enum { COST = 24 };
    size_t best = 0;
    int most = INT_MIN;
    for (size_t at = 0; at + size <= length; at++) {
        int sum = 0;
        for (size_t i = 0; i < size; i++)
            sum += rarity(text[at + i]);
        for (size_t i = 0; i + LOOK <= size; i++)
            sum -= common[hash(FACTOR, load(text + at + i))] ? COST : 0;
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
    l->window[l->windows++] = (window){key, (uint32_t)number, offset};
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

/* How many open windows a stride takes; SIZE_MAX: a text is too short for it. Each text needs `stride` windows in a row,
 * so that one of them lies at a place that is looked at; an open window at an end makes up for one that is missing. */
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

/* Takes the hash by which fewest of the windows in COMMON look like windows of texts. */
static void choose_hash(assay_literals *l)
{
    /* Odd multipliers of well-known hash functions; any of them is right, and the one that fits the texts is taken. */
    static const uint32_t factors[] = {2246822519u, 3266489917u, 668265263u,  374761393u, 1597334677u,
                                       2869860233u, 747796405u,  2891336453u, 3432918353u};
    unsigned least = UINT_MAX;
    uint32_t best = FACTOR;
    for (size_t f = 0; f <= sizeof factors / sizeof *factors; f++) {
        unsigned met = 0;
        l->factor = f < sizeof factors / sizeof *factors ? factors[f] : best; /* at the end the best one again */
        memset(l->set, 0, sizeof l->set);
        for (size_t w = 0; w < l->windows; w++)
            l->set[hash(l->factor, l->window[w].key)] = 1;
        for (const char *at = COMMON; at + LOOK < COMMON + sizeof COMMON; at++)
            met += l->set[hash(l->factor, load(at))];
        if (met < least) {
            least = met;
            best = l->factor;
        }
    }
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
    /* Shorter strides need fewer open windows, and look at more places. */
    while (l->stride > 1 && open_windows(l, l->stride) > OPEN_MOST) /* few short texts need not slow down the rest */
        l->stride--;
    l->window = assay_alloc_zeroed(l->count * l->stride + OPEN_MOST + 1, sizeof *l->window);
    uint8_t *common = assay_alloc_zeroed(1 << BITS, sizeof *common);
    if (!l->window || !common) {
        free(common);
        return false;
    }
    mark_common(common);
    for (size_t i = 0; i < l->count; i++) {
        const size_t lack = lacks(l->length[i], l->stride);
        const size_t from = rarest(common, text[i], l->length[i], l->stride - lack + LOOK - 1);
        for (size_t k = 0; k < l->stride - lack; k++)
            add_window(l, load(text[i] + from + k), i, (int32_t)(from + k));
        if (lack > 0)
            add_open_windows(l, i, text[i] + l->length[i] - (LOOK - 1), false);
        if (lack > 1)
            add_open_windows(l, i, text[i], true);
    }
    free(common);
    choose_hash(l);
    /* Of windows with one key, those of texts that were given first come first. */
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

static unsigned is_set(const assay_literals *l, const char *bytes)
{
    return l->set[hash(l->factor, load(bytes))];
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
    /* Eight places at once: their loads do not wait for each other. */
    for (; at + 7 * stride < end; at += 8 * stride) {
        const char *here = bytes + at, *there = here + 4 * stride;
        const unsigned first = is_set(l, here) | is_set(l, here + stride) << 1 | is_set(l, here + 2 * stride) << 2 |
                               is_set(l, here + 3 * stride) << 3,
                       second = is_set(l, there) | is_set(l, there + stride) << 1 | is_set(l, there + 2 * stride) << 2 |
                                is_set(l, there + 3 * stride) << 3;
        if (first | second)
            return at + (size_t)__builtin_ctz(first | second << 4) * stride;
    }
    while (at < end && !is_set(l, bytes + at))
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
            /* `entered` and `window` say how far the candidates of `place` were tried: a search goes on where it
             * stopped. */
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
