/* record_history.c - where the raw records of each (tensor, worker) are, and the tail of a shard that look-back needs.
 *
 * Items are brought into the order (tensor, worker, step) by two stable counting sorts, of the parts by worker and then
 * of their entries by tensor: linear in the entries, and the order of steps within is that of the parts. 8 bytes an
 * entry. */
#include <assay/rule.h>

#include <stdlib.h>

#include "base/fault.h"
#include "base/search.h"
#include "trial/shard.h"

typedef struct item { /* of the tensor whose items these are */
    uint32_t part, entry;
} item;

struct assay_record_history {
    const assay_shard *shard; /* borrowed */
    uint32_t tensors;
    uint32_t *first; /* [tensors + 1] into items */
    item *items;
    uint32_t count;
};

static bool is_wanted(const assay_entry *e, const uint8_t *wanted, uint32_t tensors)
{
    return e->kind == ASSAY_RAW && e->tensor < tensors && wanted[e->tensor];
}

/* Turns counts per key into the place of each key's first item. */
static void counts_to_places(uint32_t *counts, size_t keys)
{
    uint32_t sum = 0;
    for (size_t k = 0; k < keys; k++) {
        uint32_t count = counts[k];
        counts[k] = sum;
        sum += count;
    }
}

/* Workers are dense ids, but a shard that came from elsewhere may say anything. A packed shard that is damaged may
 * have numbers up to 2^32: unpacking bounds them for catalogs, not here. */
static size_t count_workers(const assay_shard *s)
{
    size_t workers = 0;
    for (size_t p = 0; p < s->count; p++)
        if (s->parts[p].worker >= workers)
            workers = (size_t)s->parts[p].worker + 1;
    return workers;
}

/* The numbers of the parts in order of (worker, part); NULL without memory. The caller frees it. */
static uint32_t *parts_by_worker(const assay_shard *s)
{
    size_t workers = count_workers(s);
    uint32_t *place = assay_alloc_zeroed(workers, sizeof *place), *sorted = assay_alloc(s->count * sizeof *sorted);
    for (size_t p = 0; place && sorted && p < s->count; p++)
        place[s->parts[p].worker]++;
    if (place && sorted) {
        counts_to_places(place, workers);
        for (size_t p = 0; p < s->count; p++)
            sorted[place[s->parts[p].worker]++] = (uint32_t)p;
    } else {
        free(sorted);
        sorted = NULL;
    }
    free(place);
    return sorted;
}

/* How many entries of each tensor are wanted, one further on than the tensor. "One further on" spares a second array:
 * place_items() uses the counts as places and leaves them as the final ones. */
static uint32_t count_wanted(const assay_shard *s, const uint8_t *wanted, uint32_t tensors, uint32_t *counts)
{
    uint32_t count = 0;
    for (size_t p = 0; p < s->count; p++)
        for (uint32_t i = 0; i < s->parts[p].count; i++) {
            const assay_entry *entry = &s->entries[s->parts[p].first + i];
            if (is_wanted(entry, wanted, tensors)) {
                counts[entry->tensor + 1]++;
                count++;
            }
        }
    return count;
}

/* The counts are one further on, so that placing the items moves each first to where it belongs. */
static void place_items(assay_record_history *h, const uint8_t *wanted, const uint32_t *part)
{
    const assay_shard *s = h->shard;
    counts_to_places(h->first + 1, (size_t)h->tensors + 1);
    for (size_t p = 0; p < s->count; p++)
        for (uint32_t i = 0; i < s->parts[part[p]].count; i++) {
            uint32_t entry = s->parts[part[p]].first + i;
            if (is_wanted(&s->entries[entry], wanted, h->tensors))
                h->items[h->first[s->entries[entry].tensor + 1]++] = (item){part[p], entry};
        }
}

int assay_record_history_new(const assay_shard *s, const uint8_t *wanted, uint32_t tensors, assay_record_history **out)
{
    assay_record_history *h = assay_alloc_zeroed(1, sizeof *h);
    ASSAY_HAVE(h);
    h->shard = s;
    h->tensors = tensors;
    h->first = assay_alloc_zeroed((size_t)tensors + 2, sizeof *h->first);
    uint32_t *part = parts_by_worker(s);
    if (h->first)
        h->count = count_wanted(s, wanted, tensors, h->first);
    h->items = assay_alloc(h->count * sizeof *h->items);
    bool have = h->first && h->items && part;
    if (have) {
        place_items(h, wanted, part);
        *out = h;
    } else {
        assay_record_history_free(h);
    }
    free(part);
    return have ? ASSAY_OK : ASSAY_ENOMEM;
}

void assay_record_history_free(assay_record_history *h)
{
    if (!h)
        return;
    free(h->first);
    free(h->items);
    free(h);
}

static bool is_before(const assay_part *part, uint32_t worker, int64_t step)
{
    return part->worker < worker || (part->worker == worker && part->step < step);
}

/* The first item of the tensor that is not before (worker, step). */
static size_t lower_bound(const assay_record_history *h, uint32_t tensor, uint32_t worker, int64_t step)
{
    const assay_part *parts = h->shard->parts;
    size_t low = h->first[tensor];
    ASSAY_SEARCH(low, h->first[tensor + 1], is_before(&parts[h->items[low].part], worker, step));
    return low;
}

/* Newest first: look-back asks for the few steps before one. */
size_t assay_record_history_before(const assay_record_history *h, uint32_t tensor, uint32_t worker, int64_t step,
                                   assay_place *places, size_t most)
{
    size_t found = 0;
    if (tensor >= h->tensors)
        return 0;
    size_t at = lower_bound(h, tensor, worker, step);
    for (; found < most && at > h->first[tensor]; at--) {
        const item *i = &h->items[at - 1];
        const assay_part *part = &h->shard->parts[i->part];
        if (part->worker != worker)
            break;
        places[found++] = (assay_place){part, &h->shard->entries[i->entry]};
    }
    return found;
}

/* Marks the entries that the tail keeps. The tail is what the next chunk's look-back may ask for: the last `back`
 * records of each tensor and worker, as many of TRAIN steps, since rules may compare those alone, and everything
 * since a step. */
static void mark_kept(const assay_record_history *h, uint32_t back, int64_t since, uint8_t *keep)
{
    for (uint32_t tensor = 0; tensor < h->tensors; tensor++) {
        size_t run = 0, train = 0; /* items behind this one of the same tensor and worker; those of TRAIN steps */
        uint32_t worker = 0;
        /* Backwards, so that `run` counts from the end. */
        for (size_t i = h->first[tensor + 1]; i-- > h->first[tensor];) {
            const assay_part *part = &h->shard->parts[h->items[i].part];
            bool another = i + 1 == h->first[tensor + 1] || part->worker != worker,
                 is_train = part->mode == ASSAY_MODE_TRAIN;
            run = another ? 0 : run + 1;
            train = another ? 0 : train;
            worker = part->worker;
            keep[h->items[i].entry] = run < back || (is_train && train < back) || part->step >= since;
            train += is_train;
        }
    }
}

static int copy_part(const assay_shard *s, const assay_part *part, const uint8_t *keep, assay_shard *out)
{
    assay_part copy = *part;
    copy.first = (uint32_t)out->entry_count;
    copy.first_shape = copy.shapes = copy.count = 0;
    copy.files = NULL;
    copy.before = true;
    for (size_t i = part->first; i < part->first + part->count; i++)
        copy.count += keep[i];
    if (copy.count == 0)
        return ASSAY_OK;
    if (assay_shard_reserve(out, 1, copy.count, 0) != ASSAY_OK)
        return ASSAY_ENOMEM;
    copy.files = assay_files_share(part->files);
    for (size_t i = part->first; i < part->first + part->count; i++)
        if (keep[i])
            out->entries[out->entry_count++] = s->entries[i];
    out->parts[out->count++] = copy;
    return ASSAY_OK;
}

/* The tail goes to the rank of the next chunk, packed; it names records, it has none of their contents. */
int assay_shard_tail(const assay_shard *s, const uint8_t *wanted, uint32_t tensors, uint32_t back, int64_t since,
                     assay_shard *out)
{
    assay_shard tail;
    assay_record_history *h = NULL;
    assay_shard_init(&tail);
    uint8_t *keep = assay_alloc_zeroed(s->entry_count, 1);
    int status = keep ? assay_record_history_new(s, wanted, tensors, &h) : ASSAY_ENOMEM;
    if (status == ASSAY_OK)
        mark_kept(h, back, since, keep);
    for (size_t p = 0; p < s->count && status == ASSAY_OK; p++)
        status = copy_part(s, &s->parts[p], keep, &tail);
    assay_record_history_free(h);
    free(keep);
    if (status == ASSAY_OK)
        *out = tail;
    else
        assay_shard_release(&tail);
    return status;
}
