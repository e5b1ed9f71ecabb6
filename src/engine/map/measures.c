/* measures.c - see measures.h. */
#include "engine/map/measures.h"

#include <assay/module.h>
#include <math.h>
#include <string.h>

#include "base/fault.h"
#include "engine/map/record_work.h"
#include "engine/map/reference.h"

/* ---- units ---- */

/* The earlier records are read again beside this one: nothing is kept between steps, and the
 * first steps of a chunk need no special case. */

enum { PAGE = 64 }; /* places looked up at once: a window has ten to a hundred records */

static int feed_content(assay_reader *reader, size_t element, assay_meter *meter, assay_error *err)
{
    for (;;) {
        const uint8_t *piece;
        size_t size;
        int status = assay_reader_content(reader, 0, &piece, &size, err);
        if (status != ASSAY_OK || size == 0)
            return status;
        ASSAY_TRY(status = assay_meter_feed(meter, piece, NULL, size / element, err));
    }
}

/* The unit counts of one earlier record, without a window. 1: it has no elements. Half of what is left may be lent for
 * quantiles, so that only the other half is granted: as if the record needed twice as much. */
static int count_units(const assay_record_work *w, const assay_measure *measure, assay_place place,
                       assay_result *result, assay_error *err)
{
    assay_file_pool *pool = w->pool;
    assay_open_file *file = &pool->window;
    assay_measure single = *measure;
    assay_record record;
    assay_meter_needs needs;
    assay_meter *meter;
    single.window = 1; /* else the meter would wait for the records before this one, too */
    int status = assay_file_pool_open(pool, file, pool->source->source, place.part, place.entry->file, err);
    ASSAY_THEN(status, assay_reader_entry(file->reader, place.part, place.entry, pool->source->source->info->tensors,
                                          pool->value_budget, &record, err));
    ASSAY_TRY(status);
    pool->bytes_read += record.length;
    assay_shape shape = {record.dtype, record.dims, record.shape, record.elements};
    ASSAY_TRY(status = assay_meter_new_within(&single, &shape, NULL, assay_record_work_left(w) / 2, SIZE_MAX,
                                              w->step->arena, &needs, &meter, err));
    assay_step_work_note(w->step, w->work + 2 * (needs.held + needs.work));
    (void)assay_step_work_charge(w->step, needs.held);
    status = feed_content(file->reader, assay_dtype_size(record.dtype), meter, err);
    if (status == ASSAY_OK)
        return assay_meter_end(meter, result, err);
    assay_meter_drop(meter);
    return status;
}

/* Walks the earlier records of the tensor and worker, newest first. This rank was sent as many as the window reaches;
 * where some of them have no elements, those before them are looked up. */
typedef struct earlier_records {
    assay_place page[PAGE];
    size_t count, at;
    size_t looked_at, sent; /* records: so far, and those that this rank has without a gap */
    int64_t step;           /* of the one that was given last */
} earlier_records;

/* 1 and *out, 0 when there is none, or a status. */
static int next_earlier(const assay_record_work *w, earlier_records *e, assay_place *out)
{
    assay_file_pool *pool = w->pool;
    if (e->at == e->count) {
        e->count =
            assay_record_history_before(pool->history, w->entry->tensor, w->part->worker, e->step, e->page, PAGE);
        e->at = 0;
    }
    bool is_sent = e->at < e->count && (e->looked_at < e->sent || !e->page[e->at].part->before);
    int found = is_sent;
    if (is_sent) {
        *out = e->page[e->at++];
    } else if (e->looked_at >= e->sent) {
        if (!pool->lookback_index && !(pool->lookback_index = assay_lookback_index_new(pool->source->source)))
            return ASSAY_ENOMEM;
        found = assay_lookback_index_before(pool->lookback_index, w->entry->tensor, w->part->worker, e->step, out);
        e->at = e->count = 0;
    }
    if (found > 0) {
        e->step = out->part->step;
        e->looked_at++;
    }
    return found;
}

/* Pools the unit counts of the saved steps before into `result`, as far as the measure's window reaches. 0, or why
 * there is no result; ASSAY_ENOMEM ends the run. */
static int assay_units_pool(const assay_record_work *w, const assay_measure *measure, assay_result *result,
                            assay_error *err)
{
    earlier_records e = {.step = w->part->step, .sent = measure->window - 1};
    for (size_t left = measure->window - 1; left > 0;) {
        assay_place place;
        assay_result earlier;
        int found = next_earlier(w, &e, &place);
        if (found <= 0)
            return found;
        int status = count_units(w, measure, place, &earlier, err);
        if (status < 0)
            return status;
        if (status > 0) /* no elements: no saved step of the tensor */
            continue;
        assay_meter_pool(result, &earlier);
        left--;
    }
    return ASSAY_OK;
}

/* ---- measures ---- */

/* A measure of the record. */
typedef struct assay_active_measure {
    uint32_t number;    /* the engine's */
    assay_meter *meter; /* NULL: given up, or done */
    assay_reference reference;
    bool found;      /* there is a reference */
    bool itself;     /* it is the record: what that comes to, the statistics say */
    bool pulls;      /* the reference has the same shape: its elements are fed alongside */
    uint32_t leader; /* measures with one reference pull it together: the first of them */
} active_measure;

static const assay_measure *measure_of(const assay_measures *g, const active_measure *active)
{
    return &g->record->step->source->plan->measures[active->number];
}

/* Room for the measures of one record, kept from one to the next. */
static int reserve_list(assay_step_work *step, uint32_t measures)
{
    if (measures <= step->active_room)
        return ASSAY_OK;
    active_measure *grown = assay_realloc_array(step->active, measures, sizeof *grown);
    ASSAY_HAVE(grown);
    step->active = grown;
    step->active_room = measures;
    return ASSAY_OK;
}

/* What it means that a measure is not taken: not applicable (1) and no reference are no loss; the rest is named. */
static int give_up(const assay_measures *g, int status, const assay_error *err)
{
    const assay_record_work *w = g->record;
    if (status == ASSAY_ENOMEM) /* another rank may have memory, and would test what this one did not */
        return status;
    if (status < 0)
        assay_step_work_problem(w->step, w->part, w->entry->file, ASSAY_OF_COMPARISON, assay_problem_kind_of(status),
                                (int64_t)w->entry->offset, err->text);
    return ASSAY_OK;
}

/* The first measure of the list that pulls the same reference; `k` itself when there is none. */
static uint32_t find_leader(const active_measure *list, uint32_t k)
{
    for (uint32_t j = 0; j < k; j++)
        if (list[j].pulls && !list[j].itself && list[j].leader == j && list[j].reference.file == list[k].reference.file)
            return j;
    return k;
}

/* A window goes back to the record that is open in the file: it is cached while it is read, when it is worth that. */
static void cache_oldest(const assay_measures *g, assay_open_file *file)
{
    const assay_record_work *w = g->record;
    uint8_t *to =
        assay_reference_cache_oldest(w->pool->reference_cache, assay_record_work_key(w), file->entry, &file->record);
    if (!to)
        return;
    assay_reader_put_at(file->reader, to);
    file->fills_cache = true;
}

uint8_t *assay_measures_place(const assay_measures *g)
{
    uint8_t *place = NULL;
    for (uint32_t k = 0; k < g->count && !place; k++)
        place = g->list[k].meter ? assay_meter_place(g->list[k].meter) : NULL;
    return place;
}

/* Does the trial have a step behind the one under way? */
static bool has_later_step(const assay_measures *g)
{
    const assay_step_work *step = g->record->step;
    const assay_trial *trial = step->source->source->info;
    return trial->step_count > 0 && step->step->step < trial->steps[trial->step_count - 1].step;
}

bool assay_measures_is_looked_back_at(const assay_measures *g)
{
    for (uint32_t k = 0; k < g->count; k++) {
        const assay_measure *measure = measure_of(g, &g->list[k]);
        if ((measure->kind != ASSAY_MEASURE_CHANGE && !assay_measure_looks_back(measure)) ||
            assay_reference_keeps_sums(measure))
            continue;
        bool before = (measure->reference == ASSAY_REFERENCE_SAVED_BEFORE && measure->steps == 1) ||
                      measure->reference == ASSAY_REFERENCE_OLDEST_WITHIN;
        if (before && !g->record->step->range && has_later_step(g) && !assay_reference_passes_by(g->record, measure))
            return true;
        if (measure->reference == ASSAY_REFERENCE_FIRST_WORKER && g->list[k].reference.place.entry == g->record->entry)
            return true;
    }
    return false;
}

bool assay_measures_is_passed_by(const assay_measures *g)
{
    for (uint32_t k = 0; k < g->count; k++) {
        const assay_measure *measure = measure_of(g, &g->list[k]);
        if (measure->steps == 1 && assay_reference_passes_by(g->record, measure))
            return true;
    }
    return false;
}

/* ---- starting ---- */

/* Decay rates that the job does not give are those that the trial's optimizer was saved with. */
static void set_betas(const assay_trial *trial, assay_measure *measure)
{
    double said[2];
    assay_trial_betas(trial, said);
    for (int i = 0; i < 2; i++)
        if (isnan(measure->number[i]))
            measure->number[i] = said[i];
}

/* What the module of an input or output is, where the trial says it; NULL: it does not. */
static const char *module_of(const assay_measures *g)
{
    const assay_trial *trial = g->record->pool->source->source->info;
    return assay_trial_module_of(trial, assay_trial_tensor(trial, g->record->entry->tensor));
}

/* Has nobody to look at rows of a tensor of so many axes of such a module? */
static bool is_without_rows(int kind, int dims)
{
    return dims >= SKETCH_OF_IMAGES && (kind == ASSAY_MODULE_CONVOLUTION || kind == ASSAY_MODULE_NORM_CHANNELS ||
                                        kind == ASSAY_MODULE_POOLING || kind == ASSAY_MODULE_FUNCTION);
}

/* Is it of norms, or of rows of images that come in? What has modules of its own leaves both to these. */
static bool is_of_single_modules(const assay_measure *measure, bool input, int dims)
{
    if (measure->kind == ASSAY_MEASURE_CHANNELS)
        return measure->form == ASSAY_CHANNELS_NORMALISED;
    return measure->kind == ASSAY_MEASURE_SKETCH &&
           (measure->form == ASSAY_SKETCH_NORMALISED ||
            (measure->form == ASSAY_SKETCH_ROWS && input && dims >= SKETCH_OF_IMAGES));
}

/* Does a measure say anything of what such a module is given or makes? */
static bool is_of_kind(const assay_measure *measure, int kind, int dims)
{
    if (kind == ASSAY_MODULE_UNKNOWN)
        return true;
    if (measure->kind == ASSAY_MEASURE_FUNCTION)
        return kind == ASSAY_MODULE_FUNCTION;
    if (measure->kind == ASSAY_MEASURE_CHANNELS && measure->form == ASSAY_CHANNELS_NORMALISED)
        return kind == ASSAY_MODULE_NORM_CHANNELS;
    if (measure->kind == ASSAY_MEASURE_SKETCH && measure->form == ASSAY_SKETCH_NORMALISED)
        return kind == ASSAY_MODULE_NORM_ROWS || kind == ASSAY_MODULE_NORM_ROOT;
    if (measure->kind == ASSAY_MEASURE_SKETCH && measure->form == ASSAY_SKETCH_IMAGES)
        return kind == ASSAY_MODULE_CONVOLUTION || kind == ASSAY_MODULE_NORM_CHANNELS;
    if (measure->kind == ASSAY_MEASURE_SKETCH && measure->form == ASSAY_SKETCH_ROWS)
        return !is_without_rows(kind, dims);
    return true;
}

/* Rows are normalised as their module does it. */
static void set_norm(const char *module, assay_measure *measure)
{
    static const char *const names[] = {"eps", "epsilon", "variance_epsilon"};
    const bool root = assay_module_kind_of(module) == ASSAY_MODULE_NORM_ROOT;
    double e = root ? 1e-6 : measure->number[2];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (assay_module_number(module, names[i], 0, &e))
            break;
    measure->number[2] = root ? -fabs(e) : fabs(e);
}

/* Makes the meter; refused if the step has no room for what it needs. `budget` is for all that it could use. */
static int start_meter(const assay_measures *g, active_measure *active, const assay_shape *shape,
                       const assay_shape *reference, size_t budget, assay_error *err)
{
    assay_record_work *w = g->record;
    assay_meter_needs needs;
    size_t most = assay_record_work_left(w);
    assay_measure measure = *measure_of(g, active);
    if (measure.kind == ASSAY_MEASURE_MOMENTS)
        set_betas(w->pool->source->source->info, &measure);
    if (measure.kind == ASSAY_MEASURE_SKETCH && measure.form == ASSAY_SKETCH_NORMALISED)
        set_norm(module_of(g), &measure);
    ASSAY_TRY(
        assay_meter_new_within(&measure, shape, reference, most, budget, w->step->arena, &needs, &active->meter, err));
    w->work += needs.work;
    (void)assay_step_work_charge(w->step, needs.held); /* it fits: the budget was asked before */
    assay_step_work_note(w->step, w->work);
    return ASSAY_OK;
}

/* Starts comparison k. */
static int start_comparison(const assay_measures *g, uint32_t k, const assay_shape *shape, assay_error *err)
{
    active_measure *active = &g->list[k];
    const assay_measure *measure = measure_of(g, active);
    int found = assay_reference_find(g->record, measure, &active->reference, err);
    if (found < 0)
        return found;
    assay_open_file *file = active->reference.file;
    assay_shape reference = {0};
    if (found && active->reference.sums) {
        ASSAY_TRY(start_meter(g, active, shape, shape, SIZE_MAX, err));
        assay_meter_put_before(active->meter, active->reference.sums);
        return ASSAY_OK;
    }
    if (found)
        reference = (assay_shape){file->record.dtype, file->record.dims, file->record.shape, file->record.elements};
    ASSAY_TRY(start_meter(g, active, shape, found ? &reference : NULL, SIZE_MAX, err));
    active->pulls =
        found && reference.dims == shape->dims &&
        (shape->dims == 0 || memcmp(reference.dim, shape->dim, (size_t)shape->dims * sizeof *shape->dim) == 0);
    active->found = found;
    active->itself = active->pulls && measure->kind == ASSAY_MEASURE_CHANGE && file->from == ASSAY_FROM_ITSELF;
    active->leader = active->pulls && !active->itself ? find_leader(g->list, k) : k;
    if (active->pulls && measure->reference == ASSAY_REFERENCE_OLDEST_WITHIN)
        cache_oldest(g, file);
    return ASSAY_OK;
}

/* Starts the measures that are quantiles, within `budget` bytes each, or all others. */
static int start_measures(const assay_measures *g, const assay_shape *shape, bool quantiles, size_t budget)
{
    for (uint32_t k = 0; k < g->count; k++) {
        const assay_measure *measure = measure_of(g, &g->list[k]);
        assay_error err = {""};
        if ((measure->kind == ASSAY_MEASURE_QUANTILES) != quantiles)
            continue;
        int status = assay_measure_compares(measure) ? start_comparison(g, k, shape, &err)
                                                     : start_meter(g, &g->list[k], shape, NULL, budget, &err);
        if (status != ASSAY_OK && (status = give_up(g, status, &err)) != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

/* Quantiles are faster with more memory, so they start last and share what the arena has left when all others have what
 * they need. They use no more than half of that (measure_quantiles.c); the rest is for windows (see below). */
static int start_quantiles(const assay_measures *g, const assay_shape *shape, uint32_t count)
{
    enum { LEAST = 16 << 10 }; /* more than a meter of quantiles needs */
    size_t share = assay_arena_left(g->record->step->arena) / count;
    return start_measures(g, shape, true, share > LEAST ? share : LEAST);
}

int assay_measures_start(assay_measures *g, const assay_shape *shape)
{
    assay_record_work *w = g->record;
    uint32_t quantiles = 0;
    if (reserve_list(w->step, w->demand->measures) != ASSAY_OK)
        return ASSAY_ENOMEM;
    g->list = w->step->active;
    g->count = 0;
    const int kind = assay_module_kind_of(module_of(g));
    const assay_trial *trial = w->pool->source->source->info;
    const char *name = assay_trial_tensor(trial, w->entry->tensor);
    const bool composite = kind == ASSAY_MODULE_UNKNOWN && assay_trial_is_composite(trial, name);
    const bool input = composite && strstr(name, "_input_");
    for (uint32_t k = 0; k < w->demand->measures; k++) {
        g->list[g->count] = (active_measure){.number = w->demand->measure[k], .leader = g->count};
        const assay_measure *measure = measure_of(g, &g->list[g->count]);
        quantiles += measure->kind == ASSAY_MEASURE_QUANTILES;
        g->count +=
            is_of_kind(measure, kind, shape->dims) && !(composite && is_of_single_modules(measure, input, shape->dims));
    }
    w->pool->tensor++;
    assay_reference_cache_next(w->pool->reference_cache);
    /* Quantiles last: they take what room is left, and would leave none for a measure behind them. */
    int status = start_measures(g, shape, false, SIZE_MAX);
    return status == ASSAY_OK && quantiles > 0 ? start_quantiles(g, shape, quantiles) : status;
}

/* ---- feeding ---- */

/* The next bytes of a reference, `size` at most and as many as there are in one piece; `piece` are those of the record
 * itself. */
static int pull_reference(const assay_measures *g, assay_open_file *file, const uint8_t *piece, size_t most,
                          const uint8_t **pulled, size_t *size, assay_error *err)
{
    *size = most;
    if (file->from == ASSAY_FROM_FILE) {
        if (file->consumed == 0) {
            g->record->pool->bytes_read += file->record.length;
            assay_reader_expect(file->reader, file->record.offset, file->record.offset + file->record.length);
        }
        int status = assay_reader_content(file->reader, most, pulled, size, err);
        if (status == ASSAY_OK && *size == 0)
            status = assay_fail(err, ASSAY_EFORMAT, "the reference tensor ends early");
        ASSAY_TRY(status);
    } else {
        *pulled = file->from == ASSAY_FROM_ITSELF ? piece : file->bytes + file->consumed;
    }
    file->consumed += *size;
    return ASSAY_OK;
}

/* After the last piece of a reference: is it known to be sound? */
static int end_reference(const assay_measures *g, assay_open_file *file, assay_error *err)
{
    const uint8_t *rest;
    size_t size;
    if (file->from != ASSAY_FROM_FILE)
        return ASSAY_OK;
    int status = assay_reader_content(file->reader, 0, &rest, &size, err);
    if (status == ASSAY_OK && file->fills_cache)
        assay_reference_cache_filled(g->record->pool->reference_cache, assay_record_work_key(g->record), file->entry,
                                     &file->record);
    file->fills_cache = false;
    return status;
}

/* Feeds a piece to the comparisons that list[leader] leads: where there are several, block by block, so that all but
 * the first find the reference in a cache. */
static int feed_led(const assay_measures *g, uint32_t leader, const uint8_t *piece, const uint8_t *pulled,
                    uint64_t elements, size_t element, assay_error *err)
{
    enum { BLOCK = 8192 }; /* elements; a multiple of what sums are taken of */
    const active_measure *list = g->list;
    const size_t other = assay_dtype_size(list[leader].reference.file->record.dtype);
    uint32_t led = 0;
    int status = ASSAY_OK;
    for (uint32_t k = leader; k < g->count; k++)
        led += list[k].meter && list[k].pulls && list[k].leader == leader;
    for (uint64_t at = 0, some; status == ASSAY_OK && at < elements; at += some) {
        some = led > 1 && elements - at > BLOCK ? BLOCK : elements - at;
        for (uint32_t k = leader; status == ASSAY_OK && k < g->count; k++)
            if (list[k].meter && list[k].pulls && list[k].leader == leader)
                status = assay_meter_feed(list[k].meter, piece + at * element, pulled + at * other, some, err);
    }
    return status;
}

/* Feeds a piece to those comparisons, pulling the same elements of their reference. A failure is everyone's of them. */
static int feed_comparisons(const assay_measures *g, uint32_t leader, const uint8_t *piece, uint64_t elements,
                            size_t element, assay_error *err)
{
    assay_open_file *file = g->list[leader].reference.file;
    size_t other = assay_dtype_size(file->record.dtype);
    while (elements > 0) {
        const uint8_t *pulled;
        size_t size;
        int status = pull_reference(g, file, piece, (size_t)elements * other, &pulled, &size, err);
        uint64_t got = size / other;
        ASSAY_THEN(status, feed_led(g, leader, piece, pulled, got, element, err));
        ASSAY_TRY(status);
        piece += got * element;
        elements -= got;
    }
    return ASSAY_OK;
}

/* Drops a meter and those of the comparisons that it leads. */
static void drop_led(const assay_measures *g, uint32_t leader)
{
    for (uint32_t k = leader; k < g->count; k++) {
        active_measure *active = &g->list[k];
        if (active->meter && (k == leader || (active->pulls && active->leader == leader))) {
            assay_meter_drop(active->meter);
            active->meter = NULL;
        }
    }
}

int assay_measures_feed(const assay_measures *g, const uint8_t *piece, uint64_t elements, size_t element, bool finite)
{
    active_measure *list = g->list;
    for (uint32_t k = 0; k < g->count; k++) {
        active_measure *active = &list[k];
        assay_error err = {""};
        if (!active->meter || active->itself || (active->pulls && active->leader != k) ||
            (finite && assay_meter_pass_finite(active->meter, elements)))
            continue;
        int status = active->pulls ? feed_comparisons(g, k, piece, elements, element, &err)
                                   : assay_meter_feed(active->meter, piece, NULL, elements, &err);
        if (status != ASSAY_OK) {
            drop_led(g, k);
            if ((status = give_up(g, status, &err)) != ASSAY_OK)
                return status;
        }
    }
    return ASSAY_OK;
}

/* ---- ending ---- */

void assay_measures_drop(const assay_measures *g)
{
    for (uint32_t k = 0; k < g->count; k++)
        drop_led(g, k);
}

/* Keeps the sums of a sketch for the next step, which then need not see the content again. */
static void keep_sums(const assay_measures *g, const assay_measure *measure, const assay_sketch *sketch)
{
    assay_record_work *w = g->record;
    const assay_reference_key key = assay_reference_sums_key(w, measure);
    bool apart = false;
    if (w->step->range || !has_later_step(g) || assay_reference_passes_by(w, measure))
        return;
    assay_record sums;
    assay_record_copy(&sums, w->record);
    sums.dtype = ASSAY_FLOAT64;
    sums.elements = 2 * sketch->groups * sketch->columns; /* squares lie behind sums */
    uint8_t *to = assay_reference_cache_begin(w->pool->reference_cache, key, &sums, false, &apart);
    if (!to)
        return;
    memcpy(to, sketch->sum, (size_t)sums.elements * sizeof *sketch->sum);
    assay_reference_cache_end(w->pool->reference_cache, key, w->entry, &sums);
}

/* Ends a meter; what it is of itself needs none. */
static int end_meter(const assay_measures *g, active_measure *active, const assay_stats *stats, assay_result *result,
                     assay_error *err)
{
    int status = ASSAY_OK;
    if (active->itself) {
        memset(result, 0, sizeof *result);
        result->kind = ASSAY_MEASURE_CHANGE;
        assay_change_of_itself(measure_of(g, active), stats, &result->of.change);
        assay_meter_drop(active->meter);
        return ASSAY_OK;
    }
    if (active->pulls)
        status = end_reference(g, g->list[active->leader].reference.file, err);
    if (status == ASSAY_OK)
        return assay_meter_end(active->meter, result, err);
    assay_meter_drop(active->meter);
    return status;
}

int assay_measures_end(const assay_measures *g, const assay_stats *stats, bool *again)
{
    *again = false;
    for (uint32_t k = 0; k < g->count; k++) {
        active_measure *active = &g->list[k];
        assay_error err = {""};
        assay_result result;
        if (!active->meter)
            continue;
        int status = end_meter(g, active, stats, &result, &err);
        if (status == 1) {
            *again = true;
            continue;
        }
        active->meter = NULL;
        const assay_measure *measure = measure_of(g, active);
        if (status == ASSAY_OK && measure->kind == ASSAY_MEASURE_UNITS && measure->window > 1)
            status = assay_units_pool(g->record, measure, &result, &err);
        if (status == ASSAY_OK && measure->kind == ASSAY_MEASURE_CHANGE && result.of.change.found)
            result.of.change.step = active->reference.place.part->step;
        if (status == ASSAY_OK && measure->kind == ASSAY_MEASURE_SKETCH && result.of.sketch.before)
            result.of.sketch.step = active->reference.place.part->step;
        if (status == ASSAY_OK && assay_reference_keeps_sums(measure))
            keep_sums(g, measure, &result.of.sketch);
        if (status == ASSAY_OK)
            assay_record_work_put(g->record, active->number, &result);
        if ((status = give_up(g, status, &err)) != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

/* ---- what another worker's record came to ---- */

/* Has the result the kind and the shape of the record under way? A leader has its piece and the whole tensor, too. */
static bool is_alike(const assay_record_work *w, const assay_tensor_result *result)
{
    const assay_tensor_view *view = &result->view;
    return result->kinds >> w->entry->kind & 1 && view->dtype == w->record->dtype && view->dims == w->record->dims &&
           (view->dims == 0 || memcmp(view->shape, w->record->shape, (size_t)view->dims * sizeof *view->shape) == 0);
}

/* The result of that tensor and worker at the step under way. The records of a worker come in the order of those of the
 * one before, so that the next one is most often it. */
static const assay_tensor_result *find_result(const assay_record_work *w, uint32_t worker)
{
    enum { TRIES = 64 };
    const assay_step_work *step = w->step;
    size_t at = w->pool->twin_at;
    for (size_t i = 0; i < TRIES && i < step->count; i++, at++) {
        at = at < step->count ? at : 0;
        const assay_tensor_view *view = &step->results[at]->view;
        if (view->tensor == w->entry->tensor && view->worker == worker && is_alike(w, step->results[at])) {
            w->pool->twin_at = at + 1;
            return step->results[at];
        }
    }
    return NULL;
}

/* Does the measure come to what it came to for `first`, whose record has the same content? Comparisons with the step
 * before do, where that was so there as well. */
static bool is_shared(const assay_measures *g, const active_measure *active, const assay_tensor_view *first)
{
    const assay_record_work *w = g->record;
    const assay_measure *measure = measure_of(g, active);
    const assay_result *result = first->results ? first->results[first->place[active->number]] : NULL;
    if (!active->meter || !result)
        return false;
    if (!assay_measure_compares(measure))
        return measure->kind != ASSAY_MEASURE_UNITS || measure->window <= 1;
    if (measure->kind != ASSAY_MEASURE_CHANGE)
        return false;
    const assay_change *change = &result->of.change;
    if (measure->reference == ASSAY_REFERENCE_FIRST_WORKER)
        return active->pulls;
    if (measure->reference != ASSAY_REFERENCE_SAVED_BEFORE || measure->steps != 1)
        return false;
    return active->found ? change->found && active->pulls && change->step == active->reference.place.part->step &&
                               assay_reference_cache_is_twin(w->pool->reference_cache, assay_record_work_key(w),
                                                             active->reference.place.entry, first->worker)
                         : !change->found;
}

const assay_tensor_result *assay_measures_twin(const assay_measures *g, const uint8_t **content)
{
    enum { LEAST = 512 << 10 }; /* bytes: finding out takes what a few of these do */
    const assay_record_work *w = g->record;
    const active_measure *to_first = NULL;
    if (w->record->content_bytes < LEAST || assay_store_waits(w->pool->source->source->store))
        return NULL; /* the reference before is not kept then, and opening its file would be waited for */
    for (uint32_t k = 0; k < g->count && !to_first; k++) {
        const assay_measure *measure = measure_of(g, &g->list[k]);
        if (measure->kind == ASSAY_MEASURE_CHANGE && measure->reference == ASSAY_REFERENCE_FIRST_WORKER &&
            g->list[k].pulls && g->list[k].reference.file->from == ASSAY_FROM_CACHE &&
            g->list[k].reference.file->record.dtype == w->record->dtype)
            to_first = &g->list[k];
    }
    const assay_place place = to_first ? to_first->reference.place : (assay_place){NULL, NULL};
    if (!to_first || place.part->mode != w->part->mode)
        return NULL;
    const assay_tensor_result *first = find_result(w, place.part->worker);
    if (!first || !first->view.stats)
        return NULL;
    for (uint32_t k = 0; k < g->count; k++)
        if (!is_shared(g, &g->list[k], &first->view))
            return NULL;
    *content = to_first->reference.file->bytes;
    return first;
}

void assay_measures_take_over(const assay_measures *g, const assay_tensor_result *first)
{
    const assay_record_work *w = g->record;
    for (uint32_t k = 0; k < g->count; k++) {
        active_measure *active = &g->list[k];
        assay_meter_drop(active->meter);
        active->meter = NULL;
        assay_record_work_put(g->record, active->number, first->view.results[first->view.place[active->number]]);
    }
    assay_reference_cache_set_twin(w->pool->reference_cache, assay_record_work_key(w), w->entry, first->view.worker,
                                   assay_measures_is_passed_by(g));
}
