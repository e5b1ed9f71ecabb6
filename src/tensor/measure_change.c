/* measure_change.c - CHANGE: element-wise comparison with a reference.
 *
 * Sums are taken as in the statistics (stats.h): blocks of BLOCK_GROUPS groups of 8 lanes, joined in a fixed tree,
 * added in order. (a - b)^2 is the IEEE one: an infinity or NaN in either makes the sums infinite or NaN.
 *
 * MOVED without tolerances asks whether elements differ, and for five digits of the sums. Blocks of floats are compared
 * in single precision for it, and once more in doubles where that does not do. Such a block begins and ends at the same
 * elements whatever the pieces are: one that comes in several is put together first. */
#include <math.h>
#include <string.h>

#include "tensor/convert.h"
#include "tensor/measure_kind.h"

enum {
    BLOCK_GROUPS = 512,
    SINGLE_BLOCK = 2048, /* elements */
    DECIDE_GROUPS = 128  /* as many are looked at before the question whether that decided it */
};

typedef struct change_state {
    change_limits limits;
    bool plain;                 /* the tolerances are finite and not negative */
    float near_rtol, near_atol; /* of near32 */
    bool special;               /* NaN or infinities were met in this block or the one before: they are expected */
    change_lanes lanes;         /* the open block */
    size_t groups;              /* of the open block */
    double a[MEASURE_LANES], b[MEASURE_LANES]; /* the last, incomplete group */
    size_t pending;
    double squares, reference_squares;
    bool decided; /* only `close` is wanted, and an element was not */
    bool single;  /* blocks are compared in single precision */
    size_t held;  /* elements of a block that is put together in m->borrowed: a's first, then b's */
} change_state;

/* A tolerance less the millionth that near32 wants, as a float that is no greater. */
static float near_tolerance(double tolerance)
{
    const float greatest = 0x1.fffffep+127F;
    double less = tolerance * (1 - 0x1p-20);
    float near = less < (double)greatest ? (float)less : greatest;
    return (double)near > less ? nextafterf(near, 0) : near;
}

static int start(assay_meter *m, assay_error *err)
{
    change_state *s = meter_state(m);
    s->limits = (change_limits){m->measure.rtol, m->measure.atol, m->measure.equal_nan ? -1 : 0};
    s->plain = s->limits.rtol >= 0 && s->limits.atol >= 0 && isfinite(s->limits.rtol) && isfinite(s->limits.atol);
    s->near_rtol = s->plain && s->limits.rtol > 0x1p-50 ? near_tolerance(s->limits.rtol) : 0;
    s->near_atol = s->plain ? near_tolerance(s->limits.atol) : 0;
    s->single = m->same_shape && m->measure.figures == ASSAY_CHANGE_MOVED && s->limits.rtol == 0 &&
                s->limits.atol == 0 && m->dtype == m->reference_dtype &&
                (m->dtype == ASSAY_FLOAT32 || m->dtype == ASSAY_BFLOAT16);
    const size_t block = s->single ? 2 * SINGLE_BLOCK * assay_dtype_size(m->dtype) : 0;
    return block > 0 ? meter_take(m, 0, block, block, err) : ASSAY_OK;
}

static bool is_finite(const change_lanes *lanes)
{
    double all = 0;
    for (int j = 0; j < MEASURE_LANES; j++)
        all += lanes->squares[j] + lanes->reference_squares[j];
    return isfinite(all);
}

static void close_block(change_state *s)
{
    s->special = s->special && !is_finite(&s->lanes);
    s->squares += meter_joined(s->lanes.squares);
    s->reference_squares += meter_joined(s->lanes.reference_squares);
    memset(s->lanes.squares, 0, sizeof s->lanes.squares);
    memset(s->lanes.reference_squares, 0, sizeof s->lanes.reference_squares);
    s->groups = 0;
}

/* Where nothing else is wanted: is an element known not to be close? */
static void decide(change_state *s)
{
    int64_t apart = 0;
    for (int j = 0; j < MEASURE_LANES; j++)
        apart |= s->lanes.apart[j];
    s->decided = apart != 0;
}

/* The loops for one element type: `equal` is `finite` without tolerances, `distance` and `moved` have no largest
 * difference, and `distance` leaves it to the squares what is apart. */
typedef struct change_ways {
    change_groups *finite, *any, *equal, *squares, *moved, *distance;
} change_ways;

/* The loop that does where all is finite. */
static change_groups *plain_way(assay_meter *m, const change_ways *ways)
{
    const change_state *s = meter_state(m);
    if (s->limits.rtol != 0 || s->limits.atol != 0)
        return ways->finite;
    return m->measure.figures == ASSAY_CHANGE_DISTANCE ? ways->distance
           : m->measure.figures == ASSAY_CHANGE_MOVED  ? ways->moved
                                                       : ways->equal;
}

/* What has a difference is apart: no square of one is too small for a double in the loops that leave it to this. */
static void mark_apart(change_lanes *lanes)
{
    for (int j = 0; j < MEASURE_LANES; j++)
        lanes->apart[j] |= lanes->squares[j] > 0;
}

/* NaN and infinities are rare: they are looked for in the sums, and then the groups are compared once more. Where there
 * are some, more are expected, until a block has none. */
static void add(assay_meter *m, const change_ways *ways, const uint8_t *a, const uint8_t *b, size_t groups)
{
    change_state *s = meter_state(m);
    if (m->measure.figures == ASSAY_CHANGE_SQUARES) {
        ways->squares(&s->lanes, &s->limits, a, b, groups);
        return;
    }
    change_lanes before = s->lanes;
    if (s->plain && !s->special) {
        change_groups *way = plain_way(m, ways);
        way(&s->lanes, &s->limits, a, b, groups);
        if (is_finite(&s->lanes)) {
            if (way == ways->squares)
                mark_apart(&s->lanes);
            return;
        }
        s->lanes = before;
        s->special = true;
    }
    ways->any(&s->lanes, &s->limits, a, b, groups);
}

static void add_doubles(assay_meter *m, const double *a, const double *b, size_t groups)
{
    const measure_kernels *k = m->kernels;
    const change_ways ways = {k->finite64, k->change64, k->equal64, k->squares64, k->moved64, k->moved64};
    add(m, &ways, (const uint8_t *)a, (const uint8_t *)b, groups);
}

/* The loops for elements as they are; false: there are none for them. */
static bool ways_of(const assay_meter *m, change_ways *ways)
{
    const measure_kernels *k = m->kernels;
    if (m->dtype != m->reference_dtype)
        return false;
    if (m->dtype == ASSAY_FLOAT32)
        *ways = (change_ways){k->finite32, k->change32, k->equal32, k->squares32, k->equal32, k->squares32};
    else if (m->dtype == ASSAY_BFLOAT16)
        *ways = (change_ways){k->finite_bfloat16,  k->change_bfloat16, k->equal_bfloat16,
                              k->squares_bfloat16, k->equal_bfloat16,  k->squares_bfloat16};
    else if (m->dtype == ASSAY_FLOAT16)
        *ways = (change_ways){k->finite_float16,  k->change_float16, k->equal_float16,
                              k->squares_float16, k->moved_float16,  k->squares_float16};
    else
        return false;
    return true;
}

/* Groups of one block. */
static void add_groups(assay_meter *m, const meter_piece *piece, size_t groups)
{
    change_ways ways;
    change_state *s = meter_state(m);
    if (m->dtype == m->reference_dtype && (m->dtype == ASSAY_INT8 || m->dtype == ASSAY_UINT8) && s->limits.rtol == 0 &&
        s->limits.atol == 0) {
        m->kernels->octets(&s->lanes, piece->bytes, piece->reference, groups * MEASURE_LANES, m->dtype == ASSAY_INT8);
        return;
    }
    if (ways_of(m, &ways)) {
        add(m, &ways, piece->bytes, piece->reference, groups);
        return;
    }
    double a[METER_BLOCK], b[METER_BLOCK];
    size_t size = assay_dtype_size(m->dtype), reference_size = assay_dtype_size(m->reference_dtype);
    const uint8_t *bytes = piece->bytes, *reference = piece->reference;
    while (groups > 0) {
        size_t take = groups < METER_BLOCK / MEASURE_LANES ? groups : METER_BLOCK / MEASURE_LANES,
               n = take * MEASURE_LANES;
        assay_to_double(m->dtype, bytes, n, a);
        assay_to_double(m->reference_dtype, reference, n, b);
        add_doubles(m, a, b, take);
        bytes += n * size;
        reference += n * reference_size;
        groups -= take;
    }
}

/* Where nothing but whether all are close is wanted: how many groups are close beyond doubt, which then count as
 * compared. */
static uint64_t near_groups(assay_meter *m, const meter_piece *piece, uint64_t groups)
{
    change_state *s = meter_state(m);
    if (!s->plain || m->dtype != ASSAY_FLOAT32 || m->reference_dtype != ASSAY_FLOAT32)
        return 0;
    return m->kernels->near32(piece->bytes, piece->reference, (size_t)groups * MEASURE_LANES, s->near_rtol,
                              s->near_atol, m->measure.equal_nan) /
           MEASURE_LANES;
}

/* Are the two sums all that has to be looked at, as long as they are finite? */
static bool wants_sums(assay_meter *m)
{
    const change_state *s = meter_state(m);
    return m->measure.figures == ASSAY_CHANGE_SQUARES ||
           (m->measure.figures == ASSAY_CHANGE_DISTANCE && s->limits.rtol == 0 && s->limits.atol == 0 && !s->special);
}

/* Where the sums alone are wanted, of floats, and no block is open: two blocks at once. */
static size_t add_two_blocks(assay_meter *m, const meter_piece *piece)
{
    enum { TWO_BLOCKS = 2 * BLOCK_GROUPS * MEASURE_LANES };
    change_state *s = meter_state(m);
    if (!wants_sums(m) || m->dtype != ASSAY_FLOAT32 || m->reference_dtype != ASSAY_FLOAT32 || s->groups > 0 ||
        piece->elements < TWO_BLOCKS)
        return 0;
    change_sums two[2];
    double sums[2][2], all = 0;
    m->kernels->two_squares32(two, piece->bytes, piece->reference, BLOCK_GROUPS);
    for (int i = 0; i < 2; i++) {
        sums[i][0] = meter_joined(two[i].squares);
        sums[i][1] = meter_joined(two[i].reference_squares);
        all += sums[i][0] + sums[i][1];
    }
    if (m->measure.figures == ASSAY_CHANGE_DISTANCE && !isfinite(all))
        return 0; /* block by block, which looks for NaN */
    for (int i = 0; i < 2; i++) {
        s->squares += sums[i][0];
        s->reference_squares += sums[i][1];
        s->lanes.apart[0] |= m->measure.figures == ASSAY_CHANGE_DISTANCE && sums[i][0] > 0;
    }
    return TWO_BLOCKS;
}

/* Elements into the incomplete group, up to its end. */
static size_t add_pending(assay_meter *m, const meter_piece *piece)
{
    change_state *s = meter_state(m);
    size_t room = MEASURE_LANES - s->pending, n = piece->elements < room ? (size_t)piece->elements : room;
    assay_to_double(m->dtype, piece->bytes, n, s->a + s->pending);
    assay_to_double(m->reference_dtype, piece->reference, n, s->b + s->pending);
    s->pending += n;
    if (s->pending == MEASURE_LANES) {
        add_doubles(m, s->a, s->b, 1);
        s->pending = 0;
        s->groups++;
    }
    return n;
}

static void feed_double(assay_meter *m, const meter_piece *whole)
{
    change_state *s = meter_state(m);
    meter_piece piece = *whole;
    size_t size = assay_dtype_size(m->dtype), reference_size = assay_dtype_size(m->reference_dtype);
    bool decides = m->measure.figures == ASSAY_CHANGE_CLOSE;
    while (m->same_shape && !s->decided && piece.elements > 0) {
        size_t n, room = BLOCK_GROUPS - s->groups;
        if (s->pending > 0 || piece.elements < MEASURE_LANES) {
            n = add_pending(m, &piece);
        } else if ((n = add_two_blocks(m, &piece)) == 0) {
            uint64_t groups = piece.elements / MEASURE_LANES, near = decides ? near_groups(m, &piece, groups) : 0;
            groups = near > 0 ? near : groups < room ? groups : room;
            groups = decides && near == 0 && groups > DECIDE_GROUPS ? DECIDE_GROUPS : groups;
            if (near == 0) {
                add_groups(m, &piece, (size_t)groups);
                s->groups += (size_t)groups;
            }
            n = (size_t)groups * MEASURE_LANES;
        }
        if (s->groups == BLOCK_GROUPS)
            close_block(s);
        if (decides)
            decide(s);
        piece.bytes += n * size;
        piece.reference += n * reference_size;
        piece.elements -= n;
    }
}

/* Are these the sums to five digits? Squares below the least float are lost, which are nothing beside larger sums. */
static bool is_enough(const change_single *got)
{
    const double least = 0x1p-100;
    return isfinite(got->squares + got->reference_squares) && (got->squares >= least || !got->differs) &&
           (got->reference_squares >= least || !got->reference_differs);
}

/* Compares a block in single precision if that does, else in doubles. Behind it there are zeros up to a multiple of
 * SINGLE_LANES. */
static void compare_block(assay_meter *m, const meter_piece *block)
{
    change_state *s = meter_state(m);
    single_block *compare = m->dtype == ASSAY_FLOAT32 ? m->kernels->single32 : m->kernels->single_bfloat16;
    const size_t n = ((size_t)block->elements + SINGLE_LANES - 1) / SINGLE_LANES * SINGLE_LANES;
    const change_single got = compare(block->bytes, block->reference, n);
    if (!is_enough(&got)) {
        feed_double(m, block);
        return;
    }
    s->squares += got.squares;
    s->reference_squares += got.reference_squares;
    s->lanes.apart[0] |= got.differs;
}

/* Compares the block that was put together. */
static void compare_held(assay_meter *m)
{
    change_state *s = meter_state(m);
    const size_t size = assay_dtype_size(m->dtype), used = s->held * size;
    const size_t padded = (s->held + SINGLE_LANES - 1) / SINGLE_LANES * SINGLE_LANES * size;
    uint8_t *a = m->borrowed, *b = a + SINGLE_BLOCK * size;
    memset(a + used, 0, padded - used);
    memset(b + used, 0, padded - used);
    const meter_piece block = {a, b, s->held};
    compare_block(m, &block);
    s->held = 0;
}

static void feed_single(assay_meter *m, const meter_piece *whole)
{
    change_state *s = meter_state(m);
    const size_t size = assay_dtype_size(m->dtype);
    meter_piece piece = *whole;
    while (piece.elements > 0) {
        const size_t room = SINGLE_BLOCK - s->held, n = piece.elements < room ? (size_t)piece.elements : room;
        if (n == SINGLE_BLOCK) {
            const meter_piece block = {piece.bytes, piece.reference, n};
            compare_block(m, &block);
        } else {
            uint8_t *a = (uint8_t *)m->borrowed + s->held * size;
            memcpy(a, piece.bytes, n * size);
            memcpy(a + SINGLE_BLOCK * size, piece.reference, n * size);
            s->held += n;
            if (s->held == SINGLE_BLOCK)
                compare_held(m);
        }
        piece.bytes += n * size;
        piece.reference += n * size;
        piece.elements -= n;
    }
}

static bool feed_raw(assay_meter *m, const meter_piece *piece)
{
    const change_state *s = meter_state(m);
    (s->single ? feed_single : feed_double)(m, piece);
    return true;
}

static void set_sums(assay_meter *m, assay_change *out)
{
    change_state *s = meter_state(m);
    double largest = 0;
    bool one_sided = false;
    if (s->held > 0)
        compare_held(m);
    if (s->pending > 0) { /* filled up with pairs of zeros, which change nothing */
        memset(s->a + s->pending, 0, (MEASURE_LANES - s->pending) * sizeof s->a[0]);
        memset(s->b + s->pending, 0, (MEASURE_LANES - s->pending) * sizeof s->b[0]);
        add_doubles(m, s->a, s->b, 1);
    }
    close_block(s);
    for (int j = 0; j < MEASURE_LANES; j++) {
        out->apart += (uint64_t)s->lanes.apart[j];
        one_sided |= s->lanes.one_nan[j] != 0;
        largest = s->lanes.largest[j] > largest ? s->lanes.largest[j] : largest;
    }
    out->close = out->apart == 0;
    out->largest = one_sided ? (double)NAN : largest;
    out->squares = meter_one_nan(s->squares);
    out->reference_squares = meter_one_nan(s->reference_squares);
}

static int end(assay_meter *m, assay_result *result, assay_error *err)
{
    assay_change *out = &result->of.change;
    out->found = m->has_reference;
    out->same_shape = m->same_shape;
    out->same_dtype = m->has_reference && m->dtype == m->reference_dtype;
    if (m->same_shape)
        set_sums(m, out);
    return ASSAY_OK;
}

void assay_change_of_itself(const assay_measure *measure, const assay_stats *stats, assay_change *out)
{
    const uint64_t infinities = stats->pos_inf + stats->neg_inf;
    *out = (assay_change){.found = true, .same_shape = true, .same_dtype = true};
    out->apart = measure->equal_nan ? 0 : stats->nan;
    out->close = out->apart == 0;
    out->squares = stats->nan + infinities > 0 ? (double)NAN : 0; /* as inf - inf is */
    out->reference_squares = stats->nan > 0 ? (double)NAN : infinities > 0 ? (double)INFINITY : stats->squares;
}

const meter_kind meter_change = {sizeof(change_state), start, feed_raw, NULL, end};
