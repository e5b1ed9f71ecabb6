/* history.c - where the raw records of each (tensor, worker) are, and the tail of a segment that look-back needs.
 *
 * Items are brought into the order (tensor, worker, step) by two stable counting sorts, by worker and then by tensor:
 * linear in the entries, and the order of steps within is that of the parts. */
#include <assay/rule.h>

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "trial/segment.h"

typedef struct item {
    uint32_t tensor, worker;
    size_t part, entry;
} item;

struct assay_history {
    const assay_segment *segment; /* borrowed */
    uint32_t tensors;
    size_t *first; /* [tensors + 1] into items */
    item *items;
    size_t count;
};

static bool is_wanted(const assay_entry *e, const uint8_t *wanted, uint32_t tensors)
{
    return e->kind == ASSAY_RAW && e->tensor < tensors && wanted[e->tensor];
}

/* Turns counts per key into the place of each key's first item. */
static void counts_to_places(size_t *counts, size_t keys)
{
    size_t sum = 0;
    for (size_t k = 0; k < keys; k++) {
        size_t count = counts[k];
        counts[k] = sum;
        sum += count;
    }
}

/* Fills items with the wanted entries in order of (worker, part); `place` has room for a place per worker. */
static void fill_by_worker(const assay_segment *s, const uint8_t *wanted, uint32_t tensors, size_t *place,
                           size_t workers, item *items)
{
    for (size_t p = 0; p < s->count; p++)
        for (size_t i = 0; i < s->parts[p].count; i++)
            place[s->parts[p].worker] += is_wanted(&s->entries[s->parts[p].first + i], wanted, tensors);
    counts_to_places(place, workers);
    for (size_t p = 0; p < s->count; p++) {
        const assay_part *part = &s->parts[p];
        for (size_t i = part->first; i < part->first + part->count; i++)
            if (is_wanted(&s->entries[i], wanted, tensors))
                items[place[part->worker]++] = (item){s->entries[i].tensor, part->worker, p, i};
    }
}

/* Workers are dense ids, but a segment that came from elsewhere may say anything. */
static bool count_workers(const assay_segment *s, size_t *workers)
{
    *workers = 0;
    for (size_t p = 0; p < s->count; p++)
        if (s->parts[p].worker >= *workers)
            *workers = (size_t)s->parts[p].worker + 1;
    return *workers <= SIZE_MAX / sizeof(size_t);
}

static size_t count_wanted(const assay_segment *s, const uint8_t *wanted, uint32_t tensors)
{
    size_t count = 0;
    for (size_t p = 0; p < s->count; p++)
        for (size_t i = 0; i < s->parts[p].count; i++)
            count += is_wanted(&s->entries[s->parts[p].first + i], wanted, tensors);
    return count;
}

int assay_history_new(const assay_segment *s, const uint8_t *wanted, uint32_t tensors, assay_history **out)
{
    size_t workers = 0;
    assay_history *h = assay_alloc_zeroed(1, sizeof *h);
    if (!h)
        return ASSAY_ENOMEM;
    bool have = count_workers(s, &workers);
    h->segment = s;
    h->tensors = tensors;
    h->count = count_wanted(s, wanted, tensors);
    h->first = assay_alloc_zeroed((size_t)tensors + 2, sizeof *h->first);
    h->items = assay_alloc_zeroed(h->count, sizeof *h->items);
    size_t *place = have ? assay_alloc_zeroed(workers, sizeof *place) : NULL;
    item *by_worker = assay_alloc_zeroed(h->count, sizeof *by_worker);
    have = h->first && h->items && place && by_worker;
    if (have) {
        fill_by_worker(s, wanted, tensors, place, workers, by_worker);
        /* One further on, so that placing the items moves each first to where it belongs. */
        for (size_t i = 0; i < h->count; i++)
            h->first[by_worker[i].tensor + 1]++;
        counts_to_places(h->first + 1, (size_t)tensors + 1);
        for (size_t i = 0; i < h->count; i++)
            h->items[h->first[by_worker[i].tensor + 1]++] = by_worker[i];
        *out = h;
    } else {
        assay_history_free(h);
    }
    free(place);
    free(by_worker);
    return have ? ASSAY_OK : ASSAY_ENOMEM;
}

void assay_history_free(assay_history *h)
{
    if (!h)
        return;
    free(h->first);
    free(h->items);
    free(h);
}

/* The first item of the tensor that is not before (worker, step). */
static size_t lower_bound(const assay_history *h, uint32_t tensor, uint32_t worker, int64_t step)
{
    size_t low = h->first[tensor], high = h->first[tensor + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const item *m = &h->items[middle];
        if (m->worker < worker || (m->worker == worker && h->segment->parts[m->part].step < step))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t assay_history_before(const assay_history *h, uint32_t tensor, uint32_t worker, int64_t step, assay_place *places,
                            size_t most)
{
    size_t found = 0;
    if (tensor >= h->tensors)
        return 0;
    size_t at = lower_bound(h, tensor, worker, step);
    while (found < most && at > h->first[tensor] && h->items[at - 1].worker == worker) {
        const item *i = &h->items[--at];
        places[found++] = (assay_place){&h->segment->parts[i->part], &h->segment->entries[i->entry]};
    }
    return found;
}

/* Marks the entries that the tail keeps. */
static void mark_kept(const assay_history *h, uint32_t back, int64_t since, uint8_t *keep)
{
    size_t run = 0; /* items behind this one of the same tensor and worker */
    for (size_t i = h->count; i-- > 0;) {
        const item *m = &h->items[i], *next = m + 1;
        bool same = i + 1 < h->count && next->tensor == m->tensor && next->worker == m->worker;
        run = same ? run + 1 : 0;
        keep[m->entry] = run < back || h->segment->parts[m->part].step >= since;
    }
}

static int copy_part(const assay_segment *s, const assay_part *part, const uint8_t *keep, assay_segment *out)
{
    assay_part copy = *part;
    copy.first = out->entry_count;
    copy.first_shape = copy.shapes = copy.count = 0;
    copy.event = NULL;
    copy.before = true;
    for (size_t i = part->first; i < part->first + part->count; i++)
        copy.count += keep[i];
    if (copy.count == 0)
        return ASSAY_OK;
    if (part->event)
        copy.event = assay_copy_text(part->event);
    if ((part->event && !copy.event) || assay_segment_reserve(out, 1, copy.count, 0) != ASSAY_OK) {
        free(copy.event);
        return ASSAY_ENOMEM;
    }
    for (size_t i = part->first; i < part->first + part->count; i++)
        if (keep[i])
            out->entries[out->entry_count++] = s->entries[i];
    out->parts[out->count++] = copy;
    return ASSAY_OK;
}

int assay_segment_tail(const assay_segment *s, const uint8_t *wanted, uint32_t tensors, uint32_t back, int64_t since,
                       assay_segment *out)
{
    assay_segment tail;
    assay_history *h = NULL;
    assay_segment_init(&tail);
    uint8_t *keep = assay_alloc_zeroed(s->entry_count, 1);
    int status = keep ? assay_history_new(s, wanted, tensors, &h) : ASSAY_ENOMEM;
    if (status == ASSAY_OK)
        mark_kept(h, back, since, keep);
    for (size_t p = 0; p < s->count && status == ASSAY_OK; p++)
        status = copy_part(s, &s->parts[p], keep, &tail);
    assay_history_free(h);
    free(keep);
    if (status == ASSAY_OK)
        *out = tail;
    else
        assay_segment_release(&tail);
    return status;
}
