/* measure.c - common to all kinds: checks, memory, cutting into blocks of doubles. */
#include "tensor/measure.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "tensor/convert.h"
#include "tensor/measure_kind.h"

/* Texts have no kind here: they are taken from the record itself, and a meter is never made for them. */
static const meter_kind *const KINDS[ASSAY_MEASURE_KINDS] = {
    [ASSAY_MEASURE_UNITS] = &meter_units,         [ASSAY_MEASURE_EQUALS] = &meter_equals,
    [ASSAY_MEASURE_CHANNELS] = &meter_channels,   [ASSAY_MEASURE_QUANTILES] = &meter_quantiles,
    [ASSAY_MEASURE_CHANGE] = &meter_change,       [ASSAY_MEASURE_CLASSES] = &meter_classes,
    [ASSAY_MEASURE_VALUES] = &meter_values,       [ASSAY_MEASURE_DIGEST] = &meter_digest,
    [ASSAY_MEASURE_BELOW] = &meter_below,         [ASSAY_MEASURE_FIRST_BAD] = &meter_first_bad,
    [ASSAY_MEASURE_IMAGES] = &meter_images,       [ASSAY_MEASURE_NEGATIVE] = &meter_negative,
    [ASSAY_MEASURE_MOMENTS] = &meter_moments,     [ASSAY_MEASURE_ROWS] = &meter_rows,
    [ASSAY_MEASURE_SKETCH] = &meter_sketch,       [ASSAY_MEASURE_FUNCTION] = &meter_function,
    [ASSAY_MEASURE_ZERO_RUNS] = &meter_zero_runs,
};

/* As messages say them: they stand in "the measure 'rows' of this tensor needs ...". */
static const char *const NAMES[ASSAY_MEASURE_KINDS] = {
    [ASSAY_MEASURE_UNITS] = "units",
    [ASSAY_MEASURE_EQUALS] = "equal elements",
    [ASSAY_MEASURE_CHANNELS] = "channels",
    [ASSAY_MEASURE_QUANTILES] = "quantiles",
    [ASSAY_MEASURE_CHANGE] = "comparison",
    [ASSAY_MEASURE_CLASSES] = "class numbers",
    [ASSAY_MEASURE_VALUES] = "values",
    [ASSAY_MEASURE_TEXTS] = "texts",
    [ASSAY_MEASURE_DIGEST] = "digest",
    [ASSAY_MEASURE_BELOW] = "small and large elements",
    [ASSAY_MEASURE_FIRST_BAD] = "first element that is not finite",
    [ASSAY_MEASURE_IMAGES] = "images",
    [ASSAY_MEASURE_NEGATIVE] = "elements below 0",
    [ASSAY_MEASURE_MOMENTS] = "moments",
    [ASSAY_MEASURE_ROWS] = "rows",
    [ASSAY_MEASURE_SKETCH] = "sketch",
    [ASSAY_MEASURE_FUNCTION] = "function of the input",
    [ASSAY_MEASURE_ZERO_RUNS] = "runs of zeros",
};

/* The head of the meter, so that the state behind it is aligned for any type. */
enum { METER_HEAD = (sizeof(assay_meter) + 15) / 16 * 16 };

size_t assay_result_size(const assay_measure *measure)
{
    enum { HEAD = offsetof(assay_result, of) };
    /* Of most kinds a result is a fraction of the union, and a step may hold a million of them. A kind that is not listed
     * takes the whole union: that is safe for one that is added. */
    static const size_t sizes[ASSAY_MEASURE_KINDS] = {
        [ASSAY_MEASURE_UNITS] = HEAD + sizeof(assay_units),
        [ASSAY_MEASURE_EQUALS] = HEAD + sizeof(assay_counts),
        [ASSAY_MEASURE_CHANNELS] = HEAD + sizeof(assay_channels),
        [ASSAY_MEASURE_QUANTILES] = HEAD + sizeof(assay_quantiles),
        [ASSAY_MEASURE_CHANGE] = HEAD + sizeof(assay_change),
        [ASSAY_MEASURE_BELOW] = HEAD + sizeof(assay_counts),
        [ASSAY_MEASURE_FIRST_BAD] = HEAD + sizeof(assay_first_bad),
        [ASSAY_MEASURE_NEGATIVE] = HEAD + sizeof(assay_negative),
        [ASSAY_MEASURE_MOMENTS] = HEAD + sizeof(assay_moments),
        [ASSAY_MEASURE_SKETCH] = HEAD + sizeof(assay_sketch),
        [ASSAY_MEASURE_FUNCTION] = HEAD + sizeof(assay_function),
        [ASSAY_MEASURE_ZERO_RUNS] = HEAD + sizeof(assay_zero_runs),
    };
    return sizes[measure->kind] ? sizes[measure->kind] : sizeof(assay_result);
}

void *meter_state(assay_meter *meter)
{
    return (uint8_t *)meter + METER_HEAD;
}

size_t meter_bytes(uint64_t count, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

size_t meter_sum(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

static void print_size(char *text, size_t room, size_t bytes)
{
    static const char *const UNITS[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double size = (double)bytes;
    int unit = 0;
    for (; size >= 1024; unit++)
        size /= 1024;
    snprintf(text, room, unit > 0 ? "%.1f %s" : "%.0f %s", size, UNITS[unit]);
}

static int over_budget(const assay_measure *measure, size_t needed, size_t budget, assay_error *err)
{
    char needs[32], has[32];
    print_size(needs, sizeof needs, needed);
    print_size(has, sizeof has, budget);
    return assay_fail(err, ASSAY_EBUDGET, "the measure '%s' of this tensor needs %s, and %s are left: raise --memory",
                      NAMES[measure->kind], needs, has);
}

/* Is what the meter needs within its limit? Decided before any of it is taken. */
static int check_needs(assay_meter *meter, size_t kept, size_t needed, assay_error *err)
{
    size_t held = kept > 0 ? assay_arena_piece_cost(kept) : 0, work = needed > 0 ? assay_arena_loan_cost(needed) : 0;
    size_t left = meter->most - meter->needs.work;
    if (meter_sum(held, work) > left)
        return over_budget(&meter->measure, meter_sum(kept, needed), left, err);
    meter->needs.held += held;
    meter->needs.work += work;
    return ASSAY_OK;
}

int meter_take(assay_meter *meter, size_t kept, size_t borrowed, size_t needed, assay_error *err)
{
    if (meter_sum(kept, borrowed) > meter->budget)
        return over_budget(&meter->measure, meter_sum(kept, borrowed), meter->budget, err);
    /* Two limits: `most` is the step's room, and the same on every rank; what the arena has left depends on what it lent
     * before. The first decides, so that ranks give up the same measures. */
    ASSAY_TRY(check_needs(meter, kept, needed, err));
    if (kept > 0)
        meter->kept = assay_arena_take_zeroed(meter->arena, 1, kept);
    if (borrowed > 0 && (kept == 0 || meter->kept))
        meter->borrowed = assay_arena_borrow(meter->arena, borrowed);
    /* An arena refuses for two reasons, which are two messages: it is too small, or the system has no memory. */
    bool kept_missing = kept > 0 && !meter->kept, borrowed_missing = !kept_missing && borrowed > 0 && !meter->borrowed;
    size_t left = kept_missing ? assay_arena_left(meter->arena) : assay_arena_lendable(meter->arena);
    size_t missing = kept_missing ? kept : borrowed_missing ? borrowed : 0;
    if (missing > left)
        return over_budget(&meter->measure, missing, left, err);
    if (missing > 0)
        return assay_fail(err, ASSAY_ENOMEM, "no memory for the measure '%s'", NAMES[meter->measure.kind]);
    return ASSAY_OK;
}

const uint8_t *meter_floats(int dtype, const uint8_t *bytes, size_t n, float *room)
{
    double x[METER_BLOCK];
    if (dtype == ASSAY_FLOAT32)
        return bytes;
    if (dtype == ASSAY_BFLOAT16)
        assay_measure_kernels_of(assay_simd_level())->widen_bfloat16(room, bytes, n);
    /* Of float16 the exponent is another one than that of a float32, so that it goes by way of doubles. */
    for (size_t at = 0, some; dtype == ASSAY_FLOAT16 && at < n; at += some) {
        some = n - at < METER_BLOCK ? n - at : METER_BLOCK;
        assay_to_double(dtype, bytes + 2 * at, some, x);
        for (size_t i = 0; i < some; i++)
            room[at + i] = (float)x[i];
    }
    return (const uint8_t *)room;
}

/* Do the dimensions give the number of elements, without overflow? An empty tensor may have any other dimension, whose
 * product would overflow. */
static bool sound_shape(const assay_shape *shape)
{
    uint64_t product = 1;
    if (shape->dims < 0 || shape->dims > ASSAY_MAX_DIMS)
        return false;
    bool empty = false;
    for (int d = 0; d < shape->dims; d++)
        empty |= shape->dim[d] == 0;
    for (int d = 0; d < shape->dims; d++) {
        if (shape->dim[d] < 0 || (!empty && __builtin_mul_overflow(product, (uint64_t)shape->dim[d], &product)))
            return false;
    }
    return shape->elements == (empty ? 0 : product);
}

static bool same_shape(const assay_shape *a, const assay_shape *b)
{
    return a->dims == b->dims && (a->dims == 0 || memcmp(a->dim, b->dim, (size_t)a->dims * sizeof a->dim[0]) == 0);
}

/* Tensors of texts and empty ones are measured by nobody: no loss, and no message. */
static bool applies(const assay_measure *measure, const assay_shape *shape, const assay_shape *reference)
{
    return !assay_measure_is_text(measure) && assay_dtype_size(shape->dtype) > 0 && shape->elements > 0 &&
           (!reference || assay_dtype_size(reference->dtype) > 0);
}

/* Measures come from rules, which may be somebody else's: what a kind's functions rely on is checked here, once. */
static int check(const assay_measure *measure, const assay_shape *shape, const assay_shape *reference, assay_error *err)
{
    if (measure->kind >= ASSAY_MEASURE_KINDS)
        return assay_fail(err, ASSAY_EPARAM, "there is no measure of kind %u", (unsigned)measure->kind);
    if (measure->numbers > ASSAY_MEASURE_NUMBERS)
        return assay_fail(err, ASSAY_EPARAM, "the measure '%s' takes at most %d numbers, not %u", NAMES[measure->kind],
                          ASSAY_MEASURE_NUMBERS, (unsigned)measure->numbers);
    if ((measure->kind == ASSAY_MEASURE_UNITS && measure->form > ASSAY_UNIT_CHANNEL) ||
        (measure->kind == ASSAY_MEASURE_CLASSES && measure->form > ASSAY_CLASS_CODES) ||
        (measure->kind == ASSAY_MEASURE_IMAGES && measure->form > ASSAY_IMAGES_CHANNELS_LAST) ||
        (measure->kind == ASSAY_MEASURE_MOMENTS && measure->form > ASSAY_MOMENTS_BELOW) ||
        (measure->kind == ASSAY_MEASURE_SKETCH && measure->form > ASSAY_SKETCH_WHOLE))
        return assay_fail(err, ASSAY_EPARAM, "the measure '%s' has no form %u", NAMES[measure->kind],
                          (unsigned)measure->form);
    if (measure->kind == ASSAY_MEASURE_CLASSES && measure->axis != 0 && measure->axis != 1)
        return assay_fail(err, ASSAY_EPARAM, "the measure '%s' takes scores on axis 1 or the last, not on axis %d",
                          NAMES[measure->kind], (int)measure->axis);
    if (measure->kind == ASSAY_MEASURE_CHANGE && measure->figures > ASSAY_CHANGE_DISTANCE)
        return assay_fail(err, ASSAY_EPARAM, "the measure '%s' has no figures %u", NAMES[measure->kind],
                          (unsigned)measure->figures);
    if (measure->kind == ASSAY_MEASURE_SKETCH &&
        !(measure->numbers == ASSAY_SKETCH_NUMBERS && measure->number[0] >= 1 && measure->number[0] <= 0x1p16 &&
          measure->number[1] >= 1 && measure->number[1] <= 0x1p40))
        return assay_fail(err, ASSAY_EPARAM, "the measure '%s' needs the most groups and the most cells",
                          NAMES[measure->kind]);
    if (measure->kind == ASSAY_MEASURE_IMAGES &&
        !(measure->numbers == 1 && measure->number[0] >= 1 && measure->number[0] <= 0x1p20))
        return assay_fail(err, ASSAY_EPARAM, "the measure '%s' needs the most pixels of a side", NAMES[measure->kind]);
    if (!sound_shape(shape) || (reference && !sound_shape(reference)))
        return assay_fail(err, ASSAY_EFORMAT, "the tensor's shape and its number of elements disagree");
    return ASSAY_OK;
}

int assay_meter_new(const assay_measure *measure, const assay_shape *shape, const assay_shape *reference, size_t budget,
                    assay_arena *arena, assay_meter **out, assay_error *err)
{
    assay_meter_needs needs;
    return assay_meter_new_within(measure, shape, reference, SIZE_MAX, budget, arena, &needs, out, err);
}

int assay_meter_new_within(const assay_measure *measure, const assay_shape *shape, const assay_shape *reference,
                           size_t most, size_t budget, assay_arena *arena, assay_meter_needs *needs, assay_meter **out,
                           assay_error *err)
{
    ASSAY_TRY(check(measure, shape, reference, err));
    if (!applies(measure, shape, reference))
        return 1;
    const meter_kind *kind = KINDS[measure->kind];
    size_t own = METER_HEAD + kind->state, left = assay_arena_lendable(arena), cost = assay_arena_loan_cost(own);
    if (cost > most)
        return over_budget(measure, own, most, err);
    if (own > budget || own > left)
        return over_budget(measure, own, budget < left ? budget : left, err);
    assay_meter *meter = assay_arena_borrow(arena, own);
    if (!meter)
        return assay_fail(err, ASSAY_ENOMEM, "no memory for the measure '%s'", NAMES[measure->kind]);
    enum { DIMS_FROM = offsetof(assay_meter, dim), DIMS_END = DIMS_FROM + sizeof meter->dim };
    memset(meter, 0, DIMS_FROM); /* of the dimensions only those that there are count */
    memset((uint8_t *)meter + DIMS_END, 0, own - DIMS_END);
    /* The head is cleared in two parts; numbers of the measure beyond `numbers` stay 0. */
    meter->kind = kind;
    meter->kernels = assay_measure_kernels_of(assay_simd_level());
    memcpy(&meter->measure, measure, offsetof(assay_measure, number) + measure->numbers * sizeof *measure->number);
    meter->arena = arena;
    meter->budget = budget - own;
    meter->most = most;
    meter->needs.work = cost;
    meter->dtype = shape->dtype;
    meter->dims = shape->dims;
    if (shape->dims > 0)
        memcpy(meter->dim, shape->dim, (size_t)shape->dims * sizeof meter->dim[0]);
    meter->elements = shape->elements;
    meter->has_reference = reference != NULL;
    meter->same_shape = assay_measure_compares(measure) && reference && same_shape(shape, reference);
    meter->reference_dtype = reference ? reference->dtype : ASSAY_STRING;
    int status = kind->start ? kind->start(meter, err) : ASSAY_OK;
    if (status != ASSAY_OK) {
        assay_arena_return(arena, meter->borrowed);
        assay_arena_return(arena, meter);
        return status;
    }
    *needs = meter->needs;
    *out = meter;
    return ASSAY_OK;
}

int assay_meter_feed(assay_meter *meter, const void *bytes, const void *reference, uint64_t elements, assay_error *err)
{
    if (elements > meter->elements - meter->position)
        return assay_fail(err, ASSAY_EFORMAT, "the tensor has more elements than its shape says (%llu)",
                          (unsigned long long)meter->elements);
    meter_piece piece = {bytes, reference, elements};
    if (elements > 0 && meter->same_shape && !reference)
        return assay_fail(err, ASSAY_EINTERNAL, "a comparison was fed without its reference");
    /* Kinds that know the dtype as it is stored save the conversion; they decline the others. */
    if (elements > 0 && meter->kind->feed_raw && meter->kind->feed_raw(meter, &piece)) {
        meter->position += elements;
        return ASSAY_OK;
    }
    double x[METER_BLOCK];
    size_t size = assay_dtype_size(meter->dtype);
    while (elements > 0) {
        size_t n = elements < METER_BLOCK ? (size_t)elements : METER_BLOCK;
        assay_to_double(meter->dtype, piece.bytes, n, x);
        meter->kind->feed(meter, x, n);
        meter->position += n;
        piece.bytes += n * size;
        elements -= n;
    }
    return ASSAY_OK;
}

uint8_t *assay_meter_place(const assay_meter *meter)
{
    return meter->place;
}

bool assay_meter_pass_finite(assay_meter *meter, uint64_t elements)
{
    if (meter->measure.kind != ASSAY_MEASURE_FIRST_BAD || elements > meter->elements - meter->position)
        return false;
    meter->position += elements;
    return true;
}

int assay_meter_end(assay_meter *meter, assay_result *result, assay_error *err)
{
    int status;
    assay_result value;
    memset(&value, 0, sizeof value);
    value.kind = meter->measure.kind;
    /* A comparison of unlike shapes is fed nothing: that they differ is its result. */
    bool is_fed =
        !assay_measure_compares(&meter->measure) || meter->same_shape || meter->measure.kind == ASSAY_MEASURE_SKETCH;
    if (is_fed && meter->position < meter->elements)
        status = assay_fail(err, ASSAY_EFORMAT, "the tensor ends after %llu of the %llu elements that its shape says",
                            (unsigned long long)meter->position, (unsigned long long)meter->elements);
    else
        status = meter->kind->end(meter, &value, err);
    /* Quantiles may need the elements once more: the meter lives on, and its caller begins the content anew. */
    if (status == 1) {
        meter->position = 0;
        return 1;
    }
    if (status == ASSAY_OK)
        *result = value;
    assay_meter_drop(meter);
    return status;
}

void assay_meter_drop(assay_meter *meter)
{
    assay_arena_return(meter->arena, meter->borrowed);
    assay_arena_return(meter->arena, meter);
}
