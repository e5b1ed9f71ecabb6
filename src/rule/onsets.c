/* onsets.c - when each tensor of each worker was first bad, and last good before that.
 *
 * The list is in order of (tensor, worker), in which a step's tensors come as well: the place of one is mostly the one
 * behind that of the last. Joining is a merge, in place. An onset of earlier steps stands; of later ones only the
 * counts are added.
 *
 * There may be as many rows as the trial has tensors, and most were never bad. What is known of a bad one lies in a
 * second list, in no order. */
#include "base/search.h"
#include "rule/common_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/fields.h"
#include "base/heap.h"

/* `bad` is a place in onsets->bad, plus one: rows are moved about, that list never is. */
typedef struct onset_row {
    uint32_t tensor, worker;
    uint32_t tested[ASSAY_MODES];
    uint32_t bad; /* its place in the list of bad ones + 1; 0: never bad */
    int64_t last_good;
} onset_row;

/* detail and kind are those of the first bad step; the counts are of all. */
typedef struct bad_onset {
    uint64_t bad, whole;
    int64_t first_bad;
    double detail[2];
    uint32_t kind;
} bad_onset;

struct assay_onsets {
    /* Grown as mappings (base/heap.h): there are as many rows as a large trial has tensors. */
    onset_row *list;
    bad_onset *bad;
    uint64_t count, room;
    uint64_t bad_count, bad_room;
    uint64_t guess; /* where the next one is likely to be */
};

size_t assay_onsets_bytes_each(void)
{
    return sizeof(onset_row);
}

assay_onsets *assay_onsets_new(void)
{
    return assay_alloc_zeroed(1, sizeof(assay_onsets));
}

void assay_onsets_free(assay_onsets *onsets)
{
    if (!onsets)
        return;
    assay_heap_drop_list(onsets->list, onsets->room * sizeof *onsets->list);
    assay_heap_drop_list(onsets->bad, onsets->bad_room * sizeof *onsets->bad);
    free(onsets);
}

uint64_t assay_onsets_count(const assay_onsets *onsets)
{
    return onsets->count;
}

assay_onset assay_onsets_get(const assay_onsets *onsets, uint64_t i)
{
    const onset_row *row = &onsets->list[i];
    assay_onset o = {
        .tensor = row->tensor, .worker = row->worker, .last_good = row->last_good, .first_bad = ASSAY_NO_STEP};
    memcpy(o.tested, row->tested, sizeof o.tested);
    if (row->bad > 0) {
        const bad_onset *bad = &onsets->bad[row->bad - 1];
        o.bad = bad->bad;
        o.whole = bad->whole;
        o.first_bad = bad->first_bad;
        memcpy(o.detail, bad->detail, sizeof o.detail);
        o.kind = bad->kind;
    }
    return o;
}

static int compare_places(const onset_row *o, uint32_t tensor, uint32_t worker)
{
    if (o->tensor != tensor)
        return o->tensor < tensor ? -1 : 1;
    return (o->worker > worker) - (o->worker < worker);
}

/* The first onset that does not come before (tensor, worker). The guess is right while tensors come in order, and a
 * search otherwise. */
static uint64_t find_place(const assay_onsets *onsets, uint32_t tensor, uint32_t worker)
{
    const uint64_t count = onsets->count, guess = onsets->guess;
    /* Behind the last one: a trial whose tensors come in order only ever appends. */
    uint64_t low = 0;
    if (guess < count && compare_places(&onsets->list[guess], tensor, worker) == 0)
        return guess;
    if (count == 0 || compare_places(&onsets->list[count - 1], tensor, worker) < 0)
        return count;
    ASSAY_SEARCH(low, count, compare_places(&onsets->list[low], tensor, worker) < 0);
    return low;
}

/* `list` with room for `count` items of `size` bytes; NULL: out of memory. */
static void *make_room(void *list, uint64_t *room, uint64_t count, size_t size)
{
    uint64_t more = *room * 2 > count ? *room * 2 : count < 16 ? 16 : count;
    if (list && count <= *room)
        return list;
    list = assay_heap_resize_list(list, *room * size, more * size);
    *room = list ? more : *room;
    return list;
}

static int make_rows(assay_onsets *onsets, uint64_t count)
{
    onset_row *list = make_room(onsets->list, &onsets->room, count, sizeof *list);
    onsets->list = list ? list : onsets->list;
    return list ? ASSAY_OK : ASSAY_ENOMEM;
}

/* A bad one of the row, which had none. */
static int add_bad(assay_onsets *onsets, onset_row *row, const bad_onset *added)
{
    bad_onset *bad = make_room(onsets->bad, &onsets->bad_room, onsets->bad_count + 1, sizeof *bad);
    ASSAY_HAVE(bad);
    onsets->bad = bad;
    onsets->bad[onsets->bad_count] = *added;
    row->bad = (uint32_t)++onsets->bad_count;
    return ASSAY_OK;
}

static int insert_row(assay_onsets *onsets, uint64_t at, uint32_t tensor, uint32_t worker)
{
    if (make_rows(onsets, onsets->count + 1) != ASSAY_OK)
        return ASSAY_ENOMEM;
    memmove(&onsets->list[at + 1], &onsets->list[at], (onsets->count - at) * sizeof *onsets->list);
    onsets->list[at] = (onset_row){.tensor = tensor, .worker = worker, .last_good = ASSAY_NO_STEP};
    onsets->count++;
    return ASSAY_OK;
}

int assay_onsets_add(assay_onsets *onsets, const assay_step_view *view, uint32_t tensor, uint32_t worker,
                     const assay_judgement *judgement)
{
    uint64_t at = find_place(onsets, tensor, worker);
    bool known = at < onsets->count && compare_places(&onsets->list[at], tensor, worker) == 0;
    if (!known && insert_row(onsets, at, tensor, worker) != ASSAY_OK)
        return ASSAY_ENOMEM;
    onset_row *row = &onsets->list[at];
    onsets->guess = at + 1;
    /* Modes are counted apart, because a rule may be told to judge one mode only. */
    row->tested[view->mode >= 0 && view->mode < ASSAY_MODES ? view->mode : ASSAY_MODE_NONE]++;
    if (!judgement->bad) {
        /* last_good stays once the tensor was bad: it is the last good step before the first bad one. */
        row->last_good = row->bad == 0 ? view->step : row->last_good;
        return ASSAY_OK;
    }
    bad_onset first = {.first_bad = view->step, .kind = judgement->kind};
    memcpy(first.detail, judgement->detail, sizeof first.detail);
    if (row->bad == 0 && add_bad(onsets, row, &first) != ASSAY_OK)
        return ASSAY_ENOMEM;
    bad_onset *bad = &onsets->bad[row->bad - 1];
    bad->bad++;
    bad->whole += judgement->whole;
    return ASSAY_OK;
}

/* Of one tensor and worker: what later steps add. `earlier` covers steps before those of `later`, as combine() has
 * it. */
static int join_row(assay_onsets *earlier, onset_row *row, const assay_onsets *later, const onset_row *other)
{
    for (int m = 0; m < ASSAY_MODES; m++)
        row->tested[m] += other->tested[m];
    if (row->bad == 0 && other->last_good != ASSAY_NO_STEP)
        row->last_good = other->last_good;
    if (other->bad == 0)
        return ASSAY_OK;
    const bad_onset *bad = &later->bad[other->bad - 1];
    if (row->bad == 0)
        return add_bad(earlier, row, bad);
    earlier->bad[row->bad - 1].bad += bad->bad;
    earlier->bad[row->bad - 1].whole += bad->whole;
    return ASSAY_OK;
}

/* Of a tensor and worker that earlier steps do not have. */
static int move_row(assay_onsets *earlier, onset_row *row, const assay_onsets *later, const onset_row *other)
{
    *row = *other;
    row->bad = 0;
    return other->bad ? add_bad(earlier, row, &later->bad[other->bad - 1]) : ASSAY_OK;
}

/* First count, so that the merge below has its room and goes backwards in place. */
static uint64_t count_new(const assay_onsets *earlier, const assay_onsets *later)
{
    uint64_t a = 0, added = 0;
    for (uint64_t b = 0; b < later->count; b++) {
        const onset_row *row = &later->list[b];
        while (a < earlier->count && compare_places(&earlier->list[a], row->tensor, row->worker) < 0)
            a++;
        added += a == earlier->count || compare_places(&earlier->list[a], row->tensor, row->worker) != 0;
    }
    return added;
}

int assay_onsets_join(assay_onsets *earlier, const assay_onsets *later)
{
    uint64_t added = count_new(earlier, later), a = earlier->count, b = later->count, at = a + added;
    if (added > 0 && make_rows(earlier, at) != ASSAY_OK)
        return ASSAY_ENOMEM;
    int status = ASSAY_OK;
    earlier->count = at;
    while (status == ASSAY_OK && b > 0) { /* from the end, where there is room */
        const onset_row *other = &later->list[b - 1];
        /* -1 where `earlier` is used up: the rest of `later` is moved. */
        int order = a > 0 ? compare_places(&earlier->list[a - 1], other->tensor, other->worker) : -1;
        onset_row *row = &earlier->list[--at];
        /* Moves the row to where it belongs; on itself that is left out. */
        if (order >= 0 && at != a - 1)
            *row = earlier->list[a - 1];
        if (order == 0)
            status = join_row(earlier, row, later, other);
        else if (order < 0)
            status = move_row(earlier, row, later, other);
        a -= order >= 0;
        b -= order <= 0;
    }
    return status;
}

static const assay_field row_fields[] = {ASSAY_FIELD(onset_row, tensor),
                                         ASSAY_FIELD(onset_row, worker),
                                         ASSAY_FIELD_ARRAY(onset_row, tested),
                                         ASSAY_FIELD(onset_row, last_good),
                                         {0}};
static const assay_field bad_fields[] = {ASSAY_FIELD(bad_onset, bad),       ASSAY_FIELD(bad_onset, whole),
                                         ASSAY_FIELD(bad_onset, first_bad), ASSAY_FIELD_ARRAY(bad_onset, detail),
                                         ASSAY_FIELD(bad_onset, kind),      {0}};

void assay_onsets_pack(const assay_onsets *onsets, assay_buf *out)
{
    assay_put_u64(out, onsets->count);
    for (uint64_t i = 0; i < onsets->count; i++) {
        const onset_row *row = &onsets->list[i];
        assay_fields_pack(row_fields, row, out);
        assay_put_u8(out, row->bad > 0);
        if (row->bad > 0)
            assay_fields_pack(bad_fields, &onsets->bad[row->bad - 1], out);
    }
}

/* What cannot be: more bad steps than tested ones, or a first bad step that is none. */
static int unpack_bad(assay_cursor *in, assay_onsets *onsets, onset_row *row, uint64_t tested)
{
    bad_onset bad;
    const bool sound = assay_fields_unpack(bad_fields, in, &bad) == ASSAY_OK && bad.whole <= bad.bad && bad.bad > 0 &&
                       bad.bad <= tested && bad.first_bad != ASSAY_NO_STEP;
    return sound ? add_bad(onsets, row, &bad) : ASSAY_EFORMAT;
}

static int unpack_row(assay_cursor *in, assay_onsets *onsets, const onset_row *before, onset_row *row)
{
    uint64_t tested = 0;
    const int status = assay_fields_unpack(row_fields, in, row);
    const uint8_t has_bad = assay_get_u8(in);
    row->bad = 0;
    if (status != ASSAY_OK || in->failed || has_bad > 1 ||
        (before && compare_places(before, row->tensor, row->worker) >= 0))
        return ASSAY_EFORMAT;
    for (int m = 0; m < ASSAY_MODES; m++)
        tested += row->tested[m];
    return has_bad ? unpack_bad(in, onsets, row, tested) : ASSAY_OK;
}

int assay_onsets_unpack(assay_cursor *in, assay_onsets **out, assay_error *err)
{
    assay_onsets *onsets = assay_onsets_new();
    uint64_t count = assay_get_count(in, assay_fields_least(row_fields) + 1);
    int status = !onsets ? ASSAY_ENOMEM : in->failed ? ASSAY_EFORMAT : ASSAY_OK;
    if (status == ASSAY_OK && count > 0)
        status = make_rows(onsets, count);
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i++) {
        status = unpack_row(in, onsets, i ? &onsets->list[i - 1] : NULL, &onsets->list[i]);
        onsets->count = i + 1;
    }
    if (status != ASSAY_OK) {
        assay_onsets_free(onsets);
        return assay_fail(err, status, status == ASSAY_ENOMEM ? "out of memory" : "damaged onsets in a packed state");
    }
    *out = onsets;
    return ASSAY_OK;
}
