/* rows.c - what was saved of a tensor, a row for each step and worker.
 *
 * 1. One pass over the index puts every record into a table by tensor; those of one tensor stay in the order of their
 *    parts, which is that of (step, worker).
 * 2. When a tensor is asked for, its records of one part become a row: the tensor itself and its saved reductions, in
 * order of their kinds. If only its shape was saved, that is a row, too. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "recording/recording.h"

/* Tells whether it is the shape of a tensor that has no record in the part. `last` is the part in which each tensor
 * had one. */
static bool shape_counts(const assay_shape_entry *shape, const size_t *last, size_t stamp)
{
    return last[shape->tensor] != stamp && shape->dims <= ASSAY_MAX_DIMS;
}

/* Counts the items of each tensor behind its place in `first`, or puts them there and moves the place on. Called
 * twice: both walks must count the same. */
static void walk_index(const assay_trial_files *files, size_t *first, size_t *last, recording_item *items)
{
    const assay_shard *s = &files->shard;
    for (size_t p = 0; p < s->count; p++) {
        const assay_part *part = &s->parts[p];
        for (size_t i = part->first; i < part->first + part->count; i++) {
            const assay_entry *entry = &s->entries[i];
            if (entry->kind == ASSAY_PIECE) /* the whole has a row of its own */
                continue;
            last[entry->tensor] = p + 1;
            if (items)
                items[first[entry->tensor]] = (recording_item){part, entry, NULL};
            first[entry->tensor]++;
        }
        for (size_t i = part->first_shape; i < part->first_shape + part->shapes; i++) {
            const assay_shape_entry *shape = &s->shapes[i];
            if (!shape_counts(shape, last, p + 1))
                continue;
            last[shape->tensor] = p + 1;
            if (items)
                items[first[shape->tensor]] = (recording_item){part, NULL, shape};
            first[shape->tensor]++;
        }
    }
}

/* Made when the first tensor is asked for: whoever reads steps and workers alone does not pay for it. */
static int make_items(assay_recording *r)
{
    const uint32_t tensors = assay_dict_count(r->files.tensors);
    size_t *first = assay_alloc_zeroed((size_t)tensors + 1, sizeof *first);
    size_t *last = assay_alloc_zeroed((size_t)tensors + 1, sizeof *last);
    recording_rows *rows = assay_alloc_zeroed(tensors, sizeof *rows);
    recording_item *items = NULL;
    if (first && last && rows) {
        walk_index(&r->files, first, last, NULL);
        size_t sum = 0;
        for (uint32_t t = 0; t <= tensors; t++) {
            size_t count = first[t];
            first[t] = sum;
            sum += count;
        }
        items = assay_alloc_zeroed(sum, sizeof *items);
    }
    if (!items) {
        free(first);
        free(last);
        free(rows);
        return ASSAY_ENOMEM;
    }
    memset(last, 0, tensors * sizeof *last);
    walk_index(&r->files, first, last, items);
    memmove(first + 1, first, tensors * sizeof *first); /* each place went on to the next tensor's */
    first[0] = 0;
    free(last);
    r->first = first;
    r->rows = rows;
    r->items = items;
    return ASSAY_OK;
}

/* Shapes have no entry, and there is one in a row at most. */
static int compare_kinds(const void *a, const void *b)
{
    const assay_entry *x = ((const recording_item *)a)->entry, *y = ((const recording_item *)b)->entry;
    return x && y ? (x->kind > y->kind) - (x->kind < y->kind) : 0;
}

static int make_rows(recording_item *items, size_t count, recording_rows *rows)
{
    size_t most = 0;
    for (size_t i = 0; i < count; i++)
        most += i == 0 || items[i].part != items[i - 1].part;
    rows->saved = assay_alloc_zeroed(most, sizeof *rows->saved);
    rows->first = assay_alloc_zeroed(most + 1, sizeof *rows->first);
    if (!rows->saved || !rows->first) {
        free(rows->saved);
        free(rows->first);
        *rows = (recording_rows){0};
        return ASSAY_ENOMEM;
    }
    for (size_t from = 0, to; from < count; from = to) {
        const assay_part *part = items[from].part;
        assay_saved *saved = &rows->saved[rows->count];
        *saved =
            (assay_saved){.step = part->step, .mode_step = part->mode_step, .worker = part->worker, .mode = part->mode};
        for (to = from; to < count && items[to].part == part; to++)
            saved->kinds |= items[to].entry ? 1u << items[to].entry->kind : 0;
        qsort(items + from, to - from, sizeof *items, compare_kinds);
        rows->first[rows->count++] = from;
    }
    rows->first[rows->count] = count;
    rows->made = true;
    return ASSAY_OK;
}

/* Finds the rows of a tensor, made if they are not. 0 or ASSAY_ENOMEM. The lock likewise. */
static int recording_rows_of(assay_recording *r, uint32_t tensor, const recording_rows **out, assay_error *err)
{
    if (tensor >= assay_dict_count(r->files.tensors))
        return assay_fail(err, ASSAY_EUSAGE, "%s: there is no tensor of number %lu", assay_recording_location(r),
                          (unsigned long)tensor);
    int status = r->items ? ASSAY_OK : make_items(r);
    recording_rows *rows = status == ASSAY_OK ? &r->rows[tensor] : NULL;
    if (rows && !rows->made)
        status = make_rows(r->items + r->first[tensor], r->first[tensor + 1] - r->first[tensor], rows);
    if (status != ASSAY_OK)
        return assay_fail(err, status, "%s: out of memory for the list of its records", assay_recording_location(r));
    *out = rows;
    return ASSAY_OK;
}

int recording_row(assay_recording *r, uint32_t tensor, size_t row, const recording_item **items, size_t *count,
                  assay_error *err)
{
    const recording_rows *rows = NULL;
    ASSAY_TRY(recording_rows_of(r, tensor, &rows, err));
    if (row >= rows->count)
        return assay_fail(err, ASSAY_EUSAGE, "%s: tensor \"%.200s\" has %zu rows, none of number %zu",
                          assay_recording_location(r), assay_recording_tensor(r, tensor, NULL), rows->count, row);
    *items = r->items + r->first[tensor] + rows->first[row];
    *count = rows->first[row + 1] - rows->first[row];
    return ASSAY_OK;
}

const recording_item *recording_item_of(const recording_item *items, size_t count, int kind)
{
    for (size_t i = 0; i < count; i++)
        if (items[i].entry && items[i].entry->kind == (unsigned)kind)
            return &items[i];
    return NULL;
}

const assay_shape_entry *recording_shape(const assay_recording *r, uint32_t tensor, const recording_item *items)
{
    const assay_part *part = items->part;
    const assay_shape_entry *shapes = r->files.shard.shapes;
    for (size_t i = part->first_shape; i < part->first_shape + part->shapes; i++)
        if (shapes[i].tensor == tensor && shapes[i].dims <= ASSAY_MAX_DIMS)
            return &shapes[i];
    return NULL;
}

/* The rows stay as long as the recording, so they may be read without the lock. */
int assay_recording_saved(assay_recording *r, uint32_t tensor, const assay_saved **rows, size_t *count,
                          assay_error *err)
{
    const recording_rows *made = NULL;
    pthread_mutex_lock(&r->lock);
    int status = recording_rows_of(r, tensor, &made, err);
    pthread_mutex_unlock(&r->lock);
    ASSAY_TRY(status);
    *rows = made->saved;
    *count = made->count;
    return ASSAY_OK;
}
