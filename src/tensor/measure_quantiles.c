/* measure_quantiles.c - QUANTILES: exact, by counting digits.
 *
 * 1. Every element becomes a key, an unsigned number in the same order; NaN are left out.
 * 2. The first pass counts the keys by their first digit. That gives the first digit of the key at every wanted rank.
 * 3. Each further pass counts, for the prefixes known so far, the next digit of the keys that begin so.
 * Keys are kept if half the budget holds them, so that the content passes by once; else it is asked for again. What is
 * counted is the same, so are the quantiles. Where half the budget holds the elements and what a search among them
 * takes, nothing is counted: order.h finds the same quantiles much sooner. */
#include <math.h>
#include <string.h>

#include "base/search.h"
#include "tensor/measure_kind.h"
#include "tensor/order.h"

enum {
    SHORT_TENSOR = 65536, /* elements: longer ones are worth the large tables */
    SMALL_DIGIT = 8,      /* bits */
    LARGE_DIGIT = 16,
    MOST_RANKS = 2 * ASSAY_MEASURE_NUMBERS,
    MOST_TABLES_KEPT = 8
};

typedef struct quantile_rank {
    uint64_t rest; /* keys before the wanted one among those that begin with prefix */
    uint64_t prefix;
    unsigned level; /* digits of prefix */
} quantile_rank;

typedef struct quantiles_state {
    bool single; /* every element is a float: keys have 32 bits */
    unsigned digit, levels;
    bool counted; /* the first pass is done */
    uint64_t used;
    uint32_t ranks;
    quantile_rank rank[MOST_RANKS]; /* of number k: 2 k and 2 k + 1 */
    uint32_t tables;                /* there is room for */
    unsigned level;                 /* of the pass under way */
    uint32_t active;
    uint64_t prefix[MOST_RANKS]; /* of the tables in use, ascending */
    uint64_t *count;             /* [tables << digit] */
    void *keys;                  /* [used], NULL: they pass by again */
    void *elements; /* [elements], not NULL: they are kept for order.h, as floats if single, else as doubles */
    void *scratch;  /* of order.h */
    double value[MOST_RANKS]; /* at the ranks, that order.h found */
} quantiles_state;

static bool is_single(int dtype)
{
    switch (dtype) {
    case ASSAY_FLOAT32:
    case ASSAY_FLOAT16:
    case ASSAY_BFLOAT16:
    case ASSAY_FLOAT8_E5M2:
    case ASSAY_FLOAT8_E4M3FN:
    case ASSAY_FLOAT8_E4M3FNUZ:
    case ASSAY_FLOAT8_E5M2FNUZ:
    case ASSAY_FLOAT8_E8M0FNU:
    case ASSAY_FLOAT6_E2M3FN:
    case ASSAY_FLOAT6_E3M2FN:
    case ASSAY_FLOAT4_E2M1FN:
    case ASSAY_BOOL:
    case ASSAY_INT8:
    case ASSAY_UINT8:
    case ASSAY_INT16:
    case ASSAY_UINT16:
        return true;
    default:
        return false;
    }
}

/* IEEE 754 numbers are ordered as their bits are, the negative ones the other way round. */
static uint64_t key_of(const quantiles_state *s, double x)
{
    double value = x + 0.0; /* one zero */
    if (s->single) {
        float narrow = (float)value;
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        return bits >> 31 ? ~bits : bits | UINT32_C(1) << 31;
    }
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double value_of(const quantiles_state *s, uint64_t key)
{
    if (s->single) {
        uint32_t bits = key >> 31 ? (uint32_t)key ^ UINT32_C(1) << 31 : ~(uint32_t)key;
        float narrow;
        memcpy(&narrow, &bits, sizeof narrow);
        return (double)narrow;
    }
    uint64_t bits = key >> 63 ? key ^ UINT64_C(1) << 63 : ~key;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t tables_within(size_t room, size_t table, uint32_t ranks)
{
    size_t fit = room / table, most = ranks > 1 ? ranks : 1;
    return (uint32_t)(fit < 1 ? 1 : fit < most ? fit : most);
}

static int start(assay_meter *m, assay_error *err)
{
    quantiles_state *s = meter_state(m);
    for (uint32_t k = 0; k < m->measure.numbers; k++) {
        if (!(m->measure.number[k] >= 0 && m->measure.number[k] <= 1))
            return assay_fail(err, ASSAY_EPARAM, "a quantile must be from 0 to 1, not %g", m->measure.number[k]);
    }
    s->single = is_single(m->dtype);
    s->ranks = 2 * m->measure.numbers;
    size_t kept = m->measure.numbers * sizeof(double), half = m->budget / 2, large = sizeof(uint64_t) << LARGE_DIGIT;
    size_t keys = meter_bytes(m->elements, s->single ? sizeof(uint32_t) : sizeof(uint64_t));
    s->digit = m->elements <= SHORT_TENSOR || meter_sum(kept, large) > half ? SMALL_DIGIT : LARGE_DIGIT;
    s->levels = (s->single ? 32 : 64) / s->digit;
    size_t table = sizeof(uint64_t) << s->digit, one = meter_sum(kept, table);
    bool keeps = meter_sum(one, keys) <= half;
    size_t room = half > one ? half - kept - (keeps ? keys : 0) : 0;
    s->tables = tables_within(room, table, s->ranks);
    if (keeps && s->tables > MOST_TABLES_KEPT)
        s->tables = MOST_TABLES_KEPT;
    s->active = 1; /* of the first pass: the empty prefix */
    uint32_t searched = m->measure.numbers < ORDER_MOST ? m->measure.numbers : ORDER_MOST; /* at a time */
    size_t elements = meter_sum(keys, 15) / 16 * 16;                                       /* scratch is aligned */
    size_t search = meter_sum(elements, assay_order_scratch(m->elements, searched, !s->single));
    bool whole = searched > 0 && meter_sum(kept, search) <= half;
    size_t counted = s->tables * table + (keeps ? keys : 0);
    ASSAY_TRY(meter_take(m, kept, whole ? search : counted, sizeof(uint64_t) << SMALL_DIGIT, err));
    s->elements = whole ? m->borrowed : NULL;
    s->scratch = whole ? (uint8_t *)m->borrowed + elements : NULL;
    m->place = whole && (m->dtype == ASSAY_FLOAT32 || m->dtype == ASSAY_FLOAT64) ? m->borrowed : NULL;
    s->count = whole ? NULL : m->borrowed;
    s->keys = keeps && !whole ? s->count + ((size_t)s->tables << s->digit) : NULL;
    if (!whole)
        memset(s->count, 0, table);
    return ASSAY_OK;
}

/* The number of the table for keys that begin with `begin`, or s->active. */
static uint32_t table_of(const quantiles_state *s, uint64_t begin)
{
    uint32_t low = 0;
    ASSAY_SEARCH(low, s->active, s->prefix[low] < begin);
    return low < s->active && s->prefix[low] == begin ? low : s->active;
}

static void count_keys(quantiles_state *s, const uint64_t *key, size_t n)
{
    unsigned shift = (s->levels - 1 - s->level) * s->digit;
    const uint64_t mask = (UINT64_C(1) << s->digit) - 1;
    if (s->level == 0) {
        for (size_t i = 0; i < n; i++)
            s->count[key[i] >> shift]++;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t digits = key[i] >> shift;
        uint32_t table = table_of(s, digits >> s->digit);
        if (table < s->active)
            s->count[(size_t)table << s->digit | (digits & mask)]++;
    }
}

static void keep_keys(quantiles_state *s, const uint64_t *key, size_t n)
{
    for (size_t i = 0; i < n && s->single; i++)
        ((uint32_t *)s->keys)[s->used + i] = (uint32_t)key[i];
    if (!s->single)
        memcpy((uint64_t *)s->keys + s->used, key, n * sizeof *key);
}

static void keep_elements(const quantiles_state *s, uint64_t position, const double *x, size_t n)
{
    for (size_t i = 0; i < n && s->single; i++)
        ((float *)s->elements)[position + i] = (float)x[i];
    if (!s->single)
        memcpy((double *)s->elements + position, x, n * sizeof *x);
}

static void feed(assay_meter *m, const double *x, size_t n)
{
    quantiles_state *s = meter_state(m);
    uint64_t key[METER_BLOCK];
    size_t used = 0;
    if (s->elements) {
        keep_elements(s, m->position, x, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        key[used] = key_of(s, x[i]);
        used += !isnan(x[i]);
    }
    count_keys(s, key, used);
    if (s->counted)
        return;
    if (s->keys)
        keep_keys(s, key, used);
    s->used += used;
}

/* Floats of the upper half of their bits. */
static void widen_bfloat16(float *to, const uint8_t *bytes, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        uint16_t upper;
        memcpy(&upper, bytes + i * sizeof upper, sizeof upper);
        uint32_t bits = (uint32_t)upper << 16;
        memcpy(to + i, &bits, sizeof bits);
    }
}

static bool feed_raw(assay_meter *m, const meter_piece *piece)
{
    const quantiles_state *s = meter_state(m);
    if (s->elements && m->dtype == ASSAY_BFLOAT16) {
        widen_bfloat16((float *)s->elements + m->position, piece->bytes, piece->elements);
        return true;
    }
    if (!m->place)
        return false;
    const size_t element = assay_dtype_size(m->dtype);
    uint8_t *to = m->place + m->position * element;
    if (to != piece->bytes)
        memcpy(to, piece->bytes, (size_t)piece->elements * element);
    return true;
}

static void count_kept(quantiles_state *s)
{
    uint64_t key[METER_BLOCK];
    for (uint64_t from = 0; from < s->used; from += METER_BLOCK) {
        size_t n = s->used - from < METER_BLOCK ? (size_t)(s->used - from) : METER_BLOCK;
        for (size_t i = 0; i < n && s->single; i++)
            key[i] = ((const uint32_t *)s->keys)[from + i];
        count_keys(s, s->single ? key : (const uint64_t *)s->keys + from, n);
    }
}

/* Ranks floor(h) and the one after it, for h = (n - 1) q. */
static void set_ranks(assay_meter *m)
{
    quantiles_state *s = meter_state(m);
    uint64_t last = s->used - 1;
    for (uint32_t k = 0; k < m->measure.numbers; k++) {
        double below = floor((double)last * m->measure.number[k]);
        uint64_t rank = below >= (double)last ? last : (uint64_t)below;
        s->rank[2 * k].rest = rank;
        s->rank[2 * k + 1].rest = rank < last ? rank + 1 : last;
    }
}

/* Adds the digit that the pass found to the ranks it was for. False: the content was another one than before. */
static bool advance(quantiles_state *s)
{
    for (uint32_t r = 0; r < s->ranks; r++) {
        quantile_rank *rank = &s->rank[r];
        uint32_t table = rank->level == s->level ? table_of(s, rank->prefix) : s->active;
        if (table == s->active)
            continue;
        const uint64_t *count = s->count + ((size_t)table << s->digit);
        uint64_t digit = 0, digits = UINT64_C(1) << s->digit;
        for (; digit < digits && rank->rest >= count[digit]; digit++)
            rank->rest -= count[digit];
        if (digit == digits)
            return false;
        rank->prefix = rank->prefix << s->digit | digit;
        rank->level++;
    }
    return true;
}

static void insert_prefix(quantiles_state *s, uint64_t prefix)
{
    uint32_t at = s->active++;
    for (; at > 0 && s->prefix[at - 1] > prefix; at--)
        s->prefix[at] = s->prefix[at - 1];
    s->prefix[at] = prefix;
}

/* Chooses the prefixes of the next pass: as many as there are tables. False: every rank has its key. */
static bool next_pass(quantiles_state *s)
{
    s->level = s->levels;
    for (uint32_t r = 0; r < s->ranks; r++)
        s->level = s->rank[r].level < s->level ? s->rank[r].level : s->level;
    s->active = 0;
    for (uint32_t r = 0; r < s->ranks && s->level < s->levels && s->active < s->tables; r++) {
        if (s->rank[r].level == s->level && table_of(s, s->rank[r].prefix) == s->active)
            insert_prefix(s, s->rank[r].prefix);
    }
    memset(s->count, 0, ((size_t)s->active << s->digit) * sizeof *s->count);
    return s->active > 0;
}

/* Between two order statistics, from the nearer one, as numpy does; infinities by their weights. */
static double between(double a, double b, double share)
{
    if (share == 0 || a == b)
        return a;
    if (isinf(a) || isinf(b))
        return a * (1 - share) + b * share;
    return share < 0.5 ? a + (b - a) * share : b - (b - a) * (1 - share);
}

static void set_values(assay_meter *m)
{
    const quantiles_state *s = meter_state(m);
    double *value = m->kept;
    for (uint32_t k = 0; k < m->measure.numbers; k++) {
        double h = s->used > 0 ? (double)(s->used - 1) * m->measure.number[k] : 0;
        double a = s->elements ? s->value[2 * k] : value_of(s, s->rank[2 * k].prefix);
        double b = s->elements ? s->value[2 * k + 1] : value_of(s, s->rank[2 * k + 1].prefix);
        double between_them = between(a, b, h - floor(h));
        value[k] = s->used > 0 && !isnan(between_them) ? between_them : (double)NAN;
    }
}

/* Finds the values at the ranks among the elements that are kept. */
static void search_elements(assay_meter *m)
{
    quantiles_state *s = meter_state(m);
    for (uint32_t k = 0; k < m->measure.numbers; k += ORDER_MOST) {
        uint32_t left = m->measure.numbers - k, some = left < ORDER_MOST ? left : ORDER_MOST;
        s->used = assay_order_find(m->kernels, s->elements, !s->single, m->elements, m->measure.number + k, some,
                                   s->scratch, s->value + 2 * k, NULL);
    }
}

static int end(assay_meter *m, assay_result *result, assay_error *err)
{
    quantiles_state *s = meter_state(m);
    if (s->elements)
        search_elements(m);
    else if (!s->counted && s->used > 0)
        set_ranks(m);
    s->counted = true;
    while (s->used > 0 && !s->elements) {
        if (!advance(s))
            return assay_fail(err, ASSAY_EFORMAT,
                              "the tensor changed while it was read: analyse the trial when it is complete");
        if (!next_pass(s))
            break;
        if (!s->keys)
            return 1;
        count_kept(s);
    }
    set_values(m);
    result->of.quantiles = (assay_quantiles){.used = s->used, .value = m->kept};
    return ASSAY_OK;
}

const meter_kind meter_quantiles = {sizeof(quantiles_state), start, feed_raw, feed, end};
