/* result_pack.c - see result_pack.h. Lists are packed after the numbers that say how long they are. */
#include "tensor/result_pack.h"

#include <string.h>

#include "base/fields.h"

enum { WORD = 8 };

/* ---- packing ---- */

static void put_words(assay_buf *out, const uint64_t *word, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        assay_put_u64(out, word[i]);
}

static void put_doubles(assay_buf *out, const double *value, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        assay_put_f64(out, value[i]);
}

/* Results without a list. */
static const assay_field change_fields[] = {ASSAY_FIELD(assay_result, of.change.found),
                                            ASSAY_FIELD(assay_result, of.change.step),
                                            ASSAY_FIELD(assay_result, of.change.same_shape),
                                            ASSAY_FIELD(assay_result, of.change.same_dtype),
                                            ASSAY_FIELD(assay_result, of.change.close),
                                            ASSAY_FIELD(assay_result, of.change.apart),
                                            ASSAY_FIELD(assay_result, of.change.largest),
                                            ASSAY_FIELD(assay_result, of.change.squares),
                                            ASSAY_FIELD(assay_result, of.change.reference_squares),
                                            {0}};
static const assay_field moments_fields[] = {
    ASSAY_FIELD(assay_result, of.moments.found), ASSAY_FIELD(assay_result, of.moments.beyond),
    ASSAY_FIELD(assay_result, of.moments.index), ASSAY_FIELD(assay_result, of.moments.largest),
    ASSAY_FIELD(assay_result, of.moments.limit), {0}};
static const assay_field digest_fields[] = {ASSAY_FIELD(assay_result, of.digest), {0}};
static const assay_field first_bad_fields[] = {
    ASSAY_FIELD(assay_result, of.first_bad.index), ASSAY_FIELD(assay_result, of.first_bad.value), {0}};
static const assay_field negative_fields[] = {ASSAY_FIELD(assay_result, of.negative.count),
                                              ASSAY_FIELD(assay_result, of.negative.index),
                                              ASSAY_FIELD(assay_result, of.negative.smallest),
                                              {0}};
static const assay_field zero_runs_fields[] = {ASSAY_FIELD(assay_result, of.zero_runs.runs),
                                               ASSAY_FIELD(assay_result, of.zero_runs.elements),
                                               ASSAY_FIELD(assay_result, of.zero_runs.index),
                                               ASSAY_FIELD(assay_result, of.zero_runs.length),
                                               {0}};

/* The table of a kind; NULL for those with lists, which are packed by hand because they lie in the step's arena. */
static const assay_field *fields_of(unsigned kind)
{
    static const assay_field *const tables[ASSAY_MEASURE_KINDS] = {
        [ASSAY_MEASURE_CHANGE] = change_fields,     [ASSAY_MEASURE_MOMENTS] = moments_fields,
        [ASSAY_MEASURE_DIGEST] = digest_fields,     [ASSAY_MEASURE_FIRST_BAD] = first_bad_fields,
        [ASSAY_MEASURE_NEGATIVE] = negative_fields, [ASSAY_MEASURE_ZERO_RUNS] = zero_runs_fields};
    return kind < ASSAY_MEASURE_KINDS ? tables[kind] : NULL;
}

static void put_channels(assay_buf *out, const assay_channels *c)
{
    const uint64_t numbers[] = {c->images, c->elements, c->channels};
    put_words(out, numbers, 3);
    put_doubles(out, c->sum, c->channels);
    put_doubles(out, c->squares, c->channels);
}

/* Sums and squares follow one another, as the measure takes them. */
static void put_sketch(assay_buf *out, const assay_sketch *s)
{
    const uint64_t numbers[] = {s->rows, s->columns, s->groups, s->before ? 1 : 0};
    put_words(out, numbers, 4);
    assay_put_i64(out, s->step);
    put_doubles(out, s->sum, (s->before ? 4 : 2) * s->groups * s->columns);
}

static void put_function(assay_buf *out, const assay_function *f)
{
    assay_put_u8(out, f->found);
    put_doubles(out, (const double[]){f->scale, f->unlikely}, 2);
    for (int i = 0; f->found && i < ASSAY_FUNCTIONS; i++) {
        const assay_function_fit *fit = &f->fit[i];
        const double figures[] = {fit->apart, fit->bound, fit->largest};
        assay_put_u64(out, fit->broken);
        assay_put_u64(out, fit->index);
        put_doubles(out, figures, 3);
    }
}

static void put_texts(assay_buf *out, const assay_texts *t)
{
    assay_put_u64(out, t->count);
    for (uint64_t i = 0; i < t->count; i++)
        assay_put_text(out, t->text[i]);
}

static void put_images(assay_buf *out, const assay_images *i)
{
    const uint64_t numbers[] = {i->images, i->channels, i->height, i->width};
    put_words(out, numbers, 4);
    put_doubles(out, i->value, i->images * i->channels * i->height * i->width);
}

static uint64_t counts_of(const assay_measure *measure)
{
    return (uint64_t)measure->numbers * (measure->kind == ASSAY_MEASURE_BELOW ? 2 : 1);
}

void assay_result_pack(const assay_measure *measure, const assay_result *result, assay_buf *out)
{
    const assay_field *fields = fields_of(measure->kind);
    if (fields) {
        assay_fields_pack(fields, result, out);
        return;
    }
    switch ((assay_measure_kind)measure->kind) {
    case ASSAY_MEASURE_UNITS:
        assay_put_u64(out, result->of.units.samples);
        assay_put_u64(out, result->of.units.units);
        put_words(out, result->of.units.inside, result->of.units.units);
        break;
    case ASSAY_MEASURE_EQUALS:
    case ASSAY_MEASURE_BELOW:
        put_words(out, result->of.counts.count, counts_of(measure));
        break;
    case ASSAY_MEASURE_CHANNELS:
        put_channels(out, &result->of.channels);
        break;
    case ASSAY_MEASURE_QUANTILES:
        assay_put_u64(out, result->of.quantiles.used);
        put_doubles(out, result->of.quantiles.value, measure->numbers);
        break;
    case ASSAY_MEASURE_CLASSES:
        assay_put_u64(out, result->of.classes.count);
        for (uint64_t i = 0; i < result->of.classes.count; i++)
            assay_put_i64(out, result->of.classes.value[i]);
        break;
    case ASSAY_MEASURE_VALUES:
        assay_put_u64(out, result->of.values.count);
        put_doubles(out, result->of.values.value, result->of.values.count);
        break;
    case ASSAY_MEASURE_TEXTS:
        put_texts(out, &result->of.texts);
        break;
    case ASSAY_MEASURE_IMAGES:
        put_images(out, &result->of.images);
        break;
    case ASSAY_MEASURE_ROWS:
        assay_put_u64(out, result->of.rows.count);
        put_words(out, result->of.rows.digest, result->of.rows.count);
        break;
    case ASSAY_MEASURE_SKETCH:
        put_sketch(out, &result->of.sketch);
        break;
    case ASSAY_MEASURE_FUNCTION:
        put_function(out, &result->of.function);
        break;
    default: /* no list, or no kind */
        break;
    }
}

/* ---- unpacking ---- */

typedef struct reader {
    assay_cursor *in;
    assay_arena *arena;
    bool full; /* the arena has no room */
} reader;

/* Room for a list of words that are still to be read; NULL when there are not so many bytes left, or no room. */
static void *room_for(reader *r, uint64_t count)
{
    if (count > assay_cursor_left(r->in) / WORD)
        r->in->failed = true;
    if (r->in->failed)
        return NULL;
    void *room = assay_arena_take(r->arena, (size_t)count * WORD);
    r->full |= !room;
    return room;
}

static const uint64_t *get_words(reader *r, uint64_t count)
{
    uint64_t *word = room_for(r, count);
    for (uint64_t i = 0; word && i < count; i++)
        word[i] = assay_get_u64(r->in);
    return word;
}

static const double *get_doubles(reader *r, uint64_t count)
{
    double *value = room_for(r, count);
    for (uint64_t i = 0; value && i < count; i++)
        value[i] = assay_get_f64(r->in);
    return value;
}

static const int64_t *get_classes(reader *r, uint64_t count)
{
    int64_t *value = room_for(r, count);
    for (uint64_t i = 0; value && i < count; i++)
        value[i] = assay_get_i64(r->in);
    return value;
}

static assay_channels get_channels(reader *r)
{
    assay_channels c = {.images = assay_get_u64(r->in)};
    c.elements = assay_get_u64(r->in);
    c.channels = assay_get_u64(r->in);
    if (c.channels > UINT64_MAX / 2)
        r->in->failed = true;
    c.sum = get_doubles(r, 2 * c.channels); /* the squares follow; one piece, as the measure takes it */
    c.squares = c.sum ? c.sum + c.channels : NULL;
    return c;
}

static assay_texts get_texts(reader *r)
{
    enum { PACKED_TEXT = 4 };
    assay_texts t = {.count = assay_get_count(r->in, PACKED_TEXT)};
    if (r->in->failed)
        return t;
    const char **text = assay_arena_take(r->arena, (size_t)t.count * sizeof *text);
    r->full |= !text;
    for (uint64_t i = 0; i < t.count && !r->full && !r->in->failed; i++) {
        size_t length;
        const char *bytes = assay_get_text(r->in, &length);
        char *copy = r->in->failed ? NULL : assay_arena_take(r->arena, length + 1);
        r->full |= !r->in->failed && !copy;
        if (copy) {
            memcpy(copy, bytes, length);
            copy[length] = '\0';
        }
        text[i] = copy;
    }
    t.text = text;
    return t;
}

static assay_images get_images(reader *r)
{
    assay_images i = {.images = assay_get_u64(r->in)};
    i.channels = assay_get_u64(r->in);
    i.height = assay_get_u64(r->in);
    i.width = assay_get_u64(r->in);
    uint64_t pixels;
    if (__builtin_mul_overflow(i.images, i.channels, &pixels) || __builtin_mul_overflow(pixels, i.height, &pixels) ||
        __builtin_mul_overflow(pixels, i.width, &pixels))
        r->in->failed = true;
    else
        i.value = get_doubles(r, pixels);
    return i;
}

static assay_sketch get_sketch(reader *r)
{
    assay_sketch s = {.rows = assay_get_u64(r->in)};
    s.columns = assay_get_u64(r->in);
    s.groups = assay_get_u64(r->in);
    const uint64_t before = assay_get_u64(r->in);
    s.step = assay_get_i64(r->in);
    uint64_t cells, all;
    if (before > 1 || __builtin_mul_overflow(s.groups, s.columns, &cells) ||
        __builtin_mul_overflow(cells, before ? 4 : 2, &all)) {
        r->in->failed = true;
        return s;
    }
    s.sum = get_doubles(r, all);
    s.squares = s.sum ? s.sum + cells : NULL;
    s.before = s.sum && before ? s.sum + 2 * cells : NULL;
    s.squares_before = s.sum && before ? s.sum + 3 * cells : NULL;
    return s;
}

static assay_function get_function(reader *r)
{
    assay_function f = {.found = assay_get_u8(r->in) != 0};
    f.scale = assay_get_f64(r->in);
    f.unlikely = assay_get_f64(r->in);
    assay_function_fit *fit =
        f.found && !r->in->failed ? assay_arena_take(r->arena, ASSAY_FUNCTIONS * sizeof *fit) : NULL;
    r->full |= f.found && !r->in->failed && !fit;
    for (int i = 0; fit && i < ASSAY_FUNCTIONS; i++) {
        fit[i].broken = assay_get_u64(r->in);
        fit[i].index = assay_get_u64(r->in);
        fit[i].apart = assay_get_f64(r->in);
        fit[i].bound = assay_get_f64(r->in);
        fit[i].largest = assay_get_f64(r->in);
    }
    f.fit = fit;
    return f;
}

static void get_result(reader *r, const assay_measure *measure, assay_result *result)
{
    const assay_field *fields = fields_of(measure->kind);
    if (fields) {
        (void)assay_fields_unpack(fields, r->in, result); /* the cursor says whether it went well */
        return;
    }
    switch ((assay_measure_kind)measure->kind) {
    case ASSAY_MEASURE_UNITS:
        result->of.units.samples = assay_get_u64(r->in);
        result->of.units.units = assay_get_u64(r->in);
        result->of.units.inside = get_words(r, result->of.units.units);
        break;
    case ASSAY_MEASURE_EQUALS:
    case ASSAY_MEASURE_BELOW:
        result->of.counts.count = get_words(r, counts_of(measure));
        break;
    case ASSAY_MEASURE_CHANNELS:
        result->of.channels = get_channels(r);
        break;
    case ASSAY_MEASURE_QUANTILES:
        result->of.quantiles.used = assay_get_u64(r->in);
        result->of.quantiles.value = get_doubles(r, measure->numbers);
        break;
    case ASSAY_MEASURE_CLASSES:
        result->of.classes.count = assay_get_u64(r->in);
        result->of.classes.value = get_classes(r, result->of.classes.count);
        break;
    case ASSAY_MEASURE_VALUES:
        result->of.values.count = assay_get_u64(r->in);
        result->of.values.value = get_doubles(r, result->of.values.count);
        break;
    case ASSAY_MEASURE_TEXTS:
        result->of.texts = get_texts(r);
        break;
    case ASSAY_MEASURE_IMAGES:
        result->of.images = get_images(r);
        break;
    case ASSAY_MEASURE_ROWS:
        result->of.rows.count = assay_get_u64(r->in);
        result->of.rows.digest = get_words(r, result->of.rows.count);
        break;
    case ASSAY_MEASURE_SKETCH:
        result->of.sketch = get_sketch(r);
        break;
    case ASSAY_MEASURE_FUNCTION:
        result->of.function = get_function(r);
        break;
    default:
        break;
    }
}

int assay_result_unpack(assay_cursor *in, const assay_measure *measure, assay_arena *arena, assay_result *result,
                        assay_error *err)
{
    reader r = {in, arena, false};
    assay_result read;
    memset(&read, 0, sizeof read);
    read.kind = measure->kind;
    get_result(&r, measure, &read);
    if (in->failed)
        return assay_fail(err, ASSAY_EFORMAT, "the packed result of a measure is damaged");
    if (r.full)
        return assay_fail(err, ASSAY_EBUDGET, "there is no room for the result of a measure");
    *result = read;
    return ASSAY_OK;
}
