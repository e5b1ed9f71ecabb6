/* onsets.c - when each tensor of each worker was first bad, and last good before that.
 *
 * The list is in order of (tensor, worker), in which a step's tensors come as well: the place of one is mostly the one
 * behind that of the last. Joining is a merge. An onset of earlier steps stands; of later ones only the counts are
 * added. */
#include "rule/common_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

struct assay_onsets {
    assay_onset *list;
    uint64_t count, room;
    uint64_t guess; /* where the next one is likely to be */
};

assay_onsets *assay_onsets_new(void)
{
    return assay_alloc_zeroed(1, sizeof(assay_onsets));
}

void assay_onsets_free(assay_onsets *onsets)
{
    if (onsets)
        free(onsets->list);
    free(onsets);
}

uint64_t assay_onsets_count(const assay_onsets *onsets)
{
    return onsets->count;
}

const assay_onset *assay_onsets_get(const assay_onsets *onsets, uint64_t i)
{
    return &onsets->list[i];
}

static int compare_places(const assay_onset *o, uint32_t tensor, uint32_t worker)
{
    if (o->tensor != tensor)
        return o->tensor < tensor ? -1 : 1;
    return (o->worker > worker) - (o->worker < worker);
}

/* The first onset that does not come before (tensor, worker). */
static uint64_t find_place(const assay_onsets *onsets, uint32_t tensor, uint32_t worker)
{
    uint64_t low = 0, high = onsets->count, guess = onsets->guess;
    if (guess < high && compare_places(&onsets->list[guess], tensor, worker) == 0)
        return guess;
    if (high == 0 || compare_places(&onsets->list[high - 1], tensor, worker) < 0)
        return high;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (compare_places(&onsets->list[middle], tensor, worker) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int make_room(assay_onsets *onsets, uint64_t count)
{
    if (count <= onsets->room)
        return ASSAY_OK;
    uint64_t room = onsets->room * 2 > count ? onsets->room * 2 : count < 16 ? 16 : count;
    assay_onset *list = assay_realloc_array(onsets->list, room, sizeof *list);
    if (!list)
        return ASSAY_ENOMEM;
    onsets->list = list;
    onsets->room = room;
    return ASSAY_OK;
}

int assay_onsets_add(assay_onsets *onsets, const assay_step_view *view, uint32_t tensor, uint32_t worker,
                     const assay_judgement *judgement)
{
    uint64_t at = find_place(onsets, tensor, worker);
    if (at == onsets->count || compare_places(&onsets->list[at], tensor, worker) != 0) {
        if (make_room(onsets, onsets->count + 1) != ASSAY_OK)
            return ASSAY_ENOMEM;
        memmove(&onsets->list[at + 1], &onsets->list[at], (onsets->count - at) * sizeof *onsets->list);
        onsets->list[at] =
            (assay_onset){.tensor = tensor, .worker = worker, .last_good = ASSAY_NO_STEP, .first_bad = ASSAY_NO_STEP};
        onsets->count++;
    }
    assay_onset *o = &onsets->list[at];
    onsets->guess = at + 1;
    o->tested[view->mode >= 0 && view->mode < ASSAY_MODES ? view->mode : ASSAY_MODE_NONE]++;
    o->bad += judgement->bad;
    o->whole += judgement->bad && judgement->whole;
    if (o->first_bad == ASSAY_NO_STEP && !judgement->bad)
        o->last_good = view->step;
    if (o->first_bad == ASSAY_NO_STEP && judgement->bad) {
        o->first_bad = view->step;
        memcpy(o->detail, judgement->detail, sizeof o->detail);
        o->kind = judgement->kind;
    }
    return ASSAY_OK;
}

/* Of one tensor and worker: what later steps add. */
static void join_onset(assay_onset *earlier, const assay_onset *later)
{
    assay_onset o = *earlier;
    if (o.first_bad == ASSAY_NO_STEP) {
        o = *later;
        o.last_good = later->last_good == ASSAY_NO_STEP ? earlier->last_good : later->last_good;
    }
    for (int m = 0; m < ASSAY_MODES; m++)
        o.tested[m] = earlier->tested[m] + later->tested[m];
    o.bad = earlier->bad + later->bad;
    o.whole = earlier->whole + later->whole;
    *earlier = o;
}

int assay_onsets_join(assay_onsets *earlier, const assay_onsets *later)
{
    uint64_t a = 0, b = 0, n = 0;
    assay_onset *list = later->count ? assay_alloc((earlier->count + later->count) * sizeof *list) : NULL;
    if (later->count == 0)
        return ASSAY_OK;
    if (!list)
        return ASSAY_ENOMEM;
    while (a < earlier->count || b < later->count) {
        const assay_onset *x = a < earlier->count ? &earlier->list[a] : NULL;
        const assay_onset *y = b < later->count ? &later->list[b] : NULL;
        int order = !x ? 1 : !y ? -1 : compare_places(x, y->tensor, y->worker);
        list[n] = order <= 0 ? *x : *y;
        if (order == 0)
            join_onset(&list[n], y);
        a += order <= 0;
        b += order >= 0;
        n++;
    }
    free(earlier->list);
    *earlier = (assay_onsets){.list = list, .count = n, .room = earlier->count + later->count};
    return ASSAY_OK;
}

enum { PACKED_ONSET = 4 + 4 + 4 * ASSAY_MODES + 8 + 8 + 8 + 8 + 2 * 8 + 4 };

void assay_onsets_pack(const assay_onsets *onsets, assay_buf *out)
{
    assay_put_u64(out, onsets->count);
    for (uint64_t i = 0; i < onsets->count; i++) {
        const assay_onset *o = &onsets->list[i];
        assay_put_u32(out, o->tensor);
        assay_put_u32(out, o->worker);
        for (int m = 0; m < ASSAY_MODES; m++)
            assay_put_u32(out, o->tested[m]);
        assay_put_u64(out, o->bad);
        assay_put_u64(out, o->whole);
        assay_put_i64(out, o->last_good);
        assay_put_i64(out, o->first_bad);
        assay_put_f64(out, o->detail[0]);
        assay_put_f64(out, o->detail[1]);
        assay_put_u32(out, o->kind);
    }
}

static int unpack_onset(assay_cursor *in, const assay_onset *before, assay_onset *o)
{
    uint64_t tested = 0;
    o->tensor = assay_get_u32(in);
    o->worker = assay_get_u32(in);
    for (int m = 0; m < ASSAY_MODES; m++)
        tested += o->tested[m] = assay_get_u32(in);
    o->bad = assay_get_u64(in);
    o->whole = assay_get_u64(in);
    o->last_good = assay_get_i64(in);
    o->first_bad = assay_get_i64(in);
    o->detail[0] = assay_get_f64(in);
    o->detail[1] = assay_get_f64(in);
    o->kind = assay_get_u32(in);
    bool sound =
        !in->failed && o->whole <= o->bad && o->bad <= tested && (o->bad > 0) == (o->first_bad != ASSAY_NO_STEP);
    return sound && (!before || compare_places(before, o->tensor, o->worker) < 0) ? ASSAY_OK : ASSAY_EFORMAT;
}

int assay_onsets_unpack(assay_cursor *in, assay_onsets **out, assay_error *err)
{
    assay_onsets *onsets = assay_onsets_new();
    uint64_t count = assay_get_count(in, PACKED_ONSET);
    int status = !onsets ? ASSAY_ENOMEM : in->failed ? ASSAY_EFORMAT : make_room(onsets, count);
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i++) {
        status = unpack_onset(in, i ? &onsets->list[i - 1] : NULL, &onsets->list[i]);
        onsets->count = i + 1;
    }
    if (status != ASSAY_OK) {
        assay_onsets_free(onsets);
        return assay_fail(err, status, status == ASSAY_ENOMEM ? "out of memory" : "damaged onsets in a packed state");
    }
    *out = onsets;
    return ASSAY_OK;
}
