/* process_view.c - see process_view.h.
 *
 *   step | slot, its tensors | slot, its tensors | ...      a slot whose list is an earlier one's has none of its own
 *   tensor: head, shape, statistics, saved reductions, results        each behind the other, aligned to 8 bytes
 *   result: number of the measure, the result itself, its list; pointers in it are set by the reader */
#include "rule/process_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

/* Heads are written as they lie in memory: both ends are the same program on the same machine. Totals let the reader
 * size its lists once, before it sets the first pointer. */
typedef struct step_head {
    int64_t step, mode_step;
    int32_t mode;
    uint32_t slots;
    uint64_t items, results, texts; /* in all */
} step_head;

typedef struct slot_head {
    uint32_t count;
    uint32_t same; /* number of the slot whose list it is: its own, or an earlier one */
} slot_head;

typedef struct tensor_head {
    uint32_t tensor, worker, order, reductions;
    int32_t dtype, dims;
    double wall_time;
    uint32_t has_stats, results;
} tensor_head;

typedef struct result_head {
    uint64_t measure, size; /* bytes of its list */
    assay_result result;
} result_head;

/* ---- writing ---- */

/* Counts on when there is no more room, so that `used` is how much a second try needs. */
typedef struct writer {
    uint8_t *to;
    size_t used, room;
} writer;

/* Doubles and 64-bit numbers of the lists are read where they lie. */
static size_t aligned(size_t size)
{
    return (size + 7) & ~(size_t)7;
}

/* Room for something, NULL when there is none left. */
static void *take(writer *w, size_t size)
{
    size_t at = w->used;
    w->used += aligned(size);
    return w->used <= w->room ? w->to + at : NULL;
}

static void put(writer *w, const void *from, size_t size)
{
    void *to = take(w, size);
    if (to && size > 0)
        memcpy(to, from, size);
}

static void put_texts(writer *w, const assay_texts *texts)
{
    for (uint64_t i = 0; i < texts->count; i++)
        put(w, texts->text[i], strlen(texts->text[i]) + 1);
}

/* The lists of a result, one behind the other; how many elements they have says the result, or the measure. */
static void put_lists(writer *w, const assay_measure *measure, const assay_result *r)
{
    switch (r->kind) {
    case ASSAY_MEASURE_UNITS:
        put(w, r->of.units.inside, r->of.units.units * sizeof *r->of.units.inside);
        break;
    case ASSAY_MEASURE_EQUALS:
        put(w, r->of.counts.count, measure->numbers * sizeof *r->of.counts.count);
        break;
    case ASSAY_MEASURE_BELOW:
        put(w, r->of.counts.count, (size_t)2 * measure->numbers * sizeof *r->of.counts.count);
        break;
    case ASSAY_MEASURE_CHANNELS:
        put(w, r->of.channels.sum, r->of.channels.channels * sizeof *r->of.channels.sum);
        put(w, r->of.channels.squares, r->of.channels.channels * sizeof *r->of.channels.squares);
        break;
    case ASSAY_MEASURE_QUANTILES:
        put(w, r->of.quantiles.value, measure->numbers * sizeof *r->of.quantiles.value);
        break;
    case ASSAY_MEASURE_CLASSES:
        put(w, r->of.classes.value, r->of.classes.count * sizeof *r->of.classes.value);
        break;
    case ASSAY_MEASURE_VALUES:
        put(w, r->of.values.value, r->of.values.count * sizeof *r->of.values.value);
        break;
    case ASSAY_MEASURE_IMAGES:
        put(w, r->of.images.value,
            r->of.images.images * r->of.images.channels * r->of.images.height * r->of.images.width *
                sizeof *r->of.images.value);
        break;
    case ASSAY_MEASURE_TEXTS:
        put_texts(w, &r->of.texts);
        break;
    default: /* figures without a list */
        break;
    }
}

/* Results stay in the order of measures; a measure that has none of this tensor leaves no gap, as each has its
 * number. */
static uint32_t put_results(writer *w, const assay_step_view *view, const assay_view_measures *measures,
                            const assay_tensor_view *item, step_head *step)
{
    uint32_t count = 0;
    for (uint32_t m = 0; m < measures->count; m++) {
        const assay_result *result = assay_view_result(view, (int)m, item);
        if (!result)
            continue;
        result_head *head = take(w, sizeof *head);
        size_t before = w->used;
        put_lists(w, &measures->list[m], result);
        if (head)
            *head = (result_head){.measure = m, .size = w->used - before, .result = *result};
        step->texts += result->kind == ASSAY_MEASURE_TEXTS ? result->of.texts.count : 0;
        count++;
    }
    step->results += count;
    return count;
}

static void put_tensor(writer *w, const assay_step_view *view, const assay_view_measures *measures,
                       const assay_tensor_view *item, step_head *step)
{
    tensor_head *head = take(w, sizeof *head);
    put(w, item->shape, (size_t)item->dims * sizeof *item->shape);
    if (item->stats)
        put(w, item->stats, sizeof *item->stats);
    if (item->reductions)
        put(w, item->reduction, ASSAY_KINDS * sizeof *item->reduction);
    uint32_t results = put_results(w, view, measures, item, step);
    if (head)
        *head = (tensor_head){.tensor = item->tensor,
                              .worker = item->worker,
                              .order = item->order,
                              .reductions = item->reductions,
                              .dtype = item->dtype,
                              .dims = item->dims,
                              .wall_time = item->wall_time,
                              .has_stats = item->stats != NULL,
                              .results = results};
    step->items++;
}

size_t assay_view_put(const assay_step_view *view, const assay_view_measures *measures, uint8_t *to, size_t room)
{
    writer w = {.to = to, .room = room};
    step_head step = {.step = view->step, .mode_step = view->mode_step, .mode = view->mode, .slots = view->slots};
    step_head *head = take(&w, sizeof *head);
    for (uint32_t s = 0; s < view->slots; s++) {
        slot_head slot = {.count = view->slot[s].count, .same = 0};
        /* Ends at s at the latest: a slot is its own first match. */
        while (view->slot[slot.same].items != view->slot[s].items || view->slot[slot.same].count != slot.count)
            slot.same++;
        put(&w, &slot, sizeof slot);
        for (uint32_t i = 0; slot.same == s && i < slot.count; i++)
            put_tensor(&w, view, measures, view->slot[s].items[i], &step);
    }
    if (head)
        *head = step;
    return w.used;
}

/* ---- reading ---- */

/* The bytes are assay's own and not the rule's, which sees them read-only: no lengths are checked. */
static const void *next(const uint8_t **from, size_t size)
{
    const void *at = *from;
    *from += aligned(size);
    return at;
}

/* `list` points to a pointer of any type, so it is copied in and out. Room grows by half: steps of a run are much
 * alike. */
static bool grow(void *list, size_t *room, size_t count, size_t size)
{
    void *grown = NULL;
    if (count <= *room)
        return true;
    memcpy(&grown, list, sizeof grown);
    if (!(grown = assay_realloc_array(grown, count + count / 2, size)))
        return false;
    memcpy(list, &grown, sizeof grown);
    *room = count + count / 2;
    return true;
}

static bool grow_all(assay_view_lists *l, const step_head *step, size_t measures)
{
    size_t numbers = l->measures;
    if (!grow(&l->slot, &l->slots, step->slots + (size_t)1, sizeof *l->slot) ||
        !grow(&l->view, &l->views, step->items + 1, sizeof *l->view) ||
        !grow(&l->item, &l->items, step->items + 1, sizeof *l->item) ||
        !grow(&l->result, &l->results, (step->items + 1) * (measures + 1), sizeof *l->result) ||
        !grow(&l->result_of, &l->results_of, step->results + 1, sizeof *l->result_of) ||
        !grow(&l->text, &l->texts, step->texts + 1, sizeof *l->text) ||
        !grow(&l->number, &l->measures, measures + 1, sizeof *l->number))
        return false;
    /* Measure i of a view has the number i: the server's view has all measures, none is left out. */
    for (; numbers < l->measures; numbers++)
        l->number[numbers] = (uint32_t)numbers;
    return true;
}

/* Sets the pointers of a result to its lists. Returns how many texts it has. */
static size_t point_to_lists(assay_result *r, const uint8_t *lists, const char **text)
{
    switch (r->kind) {
    case ASSAY_MEASURE_UNITS:
        r->of.units.inside = (const uint64_t *)(const void *)lists;
        break;
    case ASSAY_MEASURE_EQUALS:
    case ASSAY_MEASURE_BELOW:
        r->of.counts.count = (const uint64_t *)(const void *)lists;
        break;
    case ASSAY_MEASURE_CHANNELS:
        r->of.channels.sum = (const double *)(const void *)lists;
        r->of.channels.squares = r->of.channels.sum + r->of.channels.channels;
        break;
    case ASSAY_MEASURE_QUANTILES:
        r->of.quantiles.value = (const double *)(const void *)lists;
        break;
    case ASSAY_MEASURE_CLASSES:
        r->of.classes.value = (const int64_t *)(const void *)lists;
        break;
    case ASSAY_MEASURE_VALUES:
        r->of.values.value = (const double *)(const void *)lists;
        break;
    case ASSAY_MEASURE_IMAGES:
        r->of.images.value = (const double *)(const void *)lists;
        break;
    case ASSAY_MEASURE_TEXTS:
        for (uint64_t i = 0; i < r->of.texts.count; i++) {
            text[i] = (const char *)lists;
            lists += aligned(strlen(text[i]) + 1);
        }
        r->of.texts.text = text;
        return r->of.texts.count;
    default: /* figures without a list */
        break;
    }
    return 0;
}

typedef struct reader {
    const uint8_t *from;
    const assay_trial *trial;
    const assay_view_measures *measures;
    assay_view_lists *lists;
    size_t items, results, texts; /* read so far */
} reader;

/* Column 0 of the results is left NULL, which a view gives to measures that nobody asked for; measure m is at 1 + m. */
static void get_tensor(reader *r)
{
    static const double none[ASSAY_KINDS];
    assay_view_lists *l = r->lists;
    const tensor_head *head = next(&r->from, sizeof *head);
    assay_tensor_view *view = &l->view[r->items];
    size_t width = r->measures->count + (size_t)1;
    const assay_result **of = l->result + r->items * width;
    *view = (assay_tensor_view){.tensor = head->tensor,
                                .worker = head->worker,
                                .order = head->order,
                                .name = assay_trial_tensor(r->trial, head->tensor),
                                .dtype = head->dtype,
                                .dims = head->dims,
                                .wall_time = head->wall_time,
                                .reductions = head->reductions,
                                .reduction = none,
                                .results = of,
                                .place = l->number + 1};
    view->shape = next(&r->from, (size_t)head->dims * sizeof *view->shape);
    if (head->has_stats)
        view->stats = next(&r->from, sizeof *view->stats);
    if (head->reductions)
        view->reduction = next(&r->from, ASSAY_KINDS * sizeof *view->reduction);
    memset(of, 0, width * sizeof(const assay_result *));
    for (uint32_t i = 0; i < head->results; i++) {
        const result_head *result = next(&r->from, sizeof *result);
        assay_result *own = &l->result_of[r->results++];
        *own = result->result;
        r->texts += point_to_lists(own, next(&r->from, result->size), l->text + r->texts);
        of[1 + result->measure] = own;
    }
    l->item[r->items++] = view;
}

int assay_view_get(const uint8_t *from, const assay_trial *trial, const assay_view_measures *measures,
                   assay_view_lists *lists, assay_step_view *out)
{
    reader r = {.from = from, .trial = trial, .measures = measures, .lists = lists};
    const step_head *step = next(&r.from, sizeof *step);
    ASSAY_HAVE(grow_all(lists, step, measures->count + (size_t)1));
    for (uint32_t s = 0; s < step->slots; s++) {
        const slot_head *slot = next(&r.from, sizeof *slot);
        if (slot->same < s) {
            lists->slot[s] = lists->slot[slot->same];
            continue;
        }
        lists->slot[s] = (assay_slot_view){.items = lists->item + r.items, .count = slot->count};
        for (uint32_t i = 0; i < slot->count; i++)
            get_tensor(&r);
    }
    *out = (assay_step_view){.step = step->step,
                             .mode_step = step->mode_step,
                             .mode = step->mode,
                             .slots = step->slots,
                             .slot = lists->slot,
                             .measure = lists->number};
    return ASSAY_OK;
}

void assay_view_lists_release(assay_view_lists *lists)
{
    free(lists->slot);
    free(lists->view);
    free(lists->item);
    free(lists->result);
    free(lists->result_of);
    free(lists->text);
    free(lists->number);
    *lists = (assay_view_lists){0};
}
