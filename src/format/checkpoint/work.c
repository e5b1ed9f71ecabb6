/* work.c - leaves tensors out that take far more work than the checkpoint has bytes (trial/read_budget.h): views that repeat
 * elements, many views of one storage that is deflated, many pieces at one place. */
#include <stdlib.h>

#include "base/heap.h"
#include "base/vec.h"
#include "format/checkpoint/contents.h"
#include "trial/read_budget.h"

typedef struct range { /* of a file */
    uint32_t file;
    uint64_t from, to;
} range;

typedef struct ranges {
    range *list;
    size_t count, room;
} ranges;

/* A range right behind the last one makes that longer: most files have their tensors so. */
static int add_range(ranges *r, uint32_t file, uint64_t offset, uint64_t length)
{
    range *last = r->count > 0 ? &r->list[r->count - 1] : NULL;
    if (last && last->file == file && last->to == offset) {
        last->to = offset + length;
        return ASSAY_OK;
    }
    if (!assay_vec_reserve(&r->list, &r->room, r->count + 1, sizeof *r->list))
        return ASSAY_ENOMEM;
    r->list[r->count++] = (range){file, offset, offset + length};
    return ASSAY_OK;
}

static int compare_ranges(const void *a, const void *b)
{
    const range *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

/* Bytes that the ranges lie in, each counted once. */
static uint64_t covered(ranges *r)
{
    uint64_t bytes = 0, end = 0;
    bool sorted = true; /* most files list their tensors in order */
    for (size_t i = 1; i < r->count && sorted; i++)
        sorted = compare_ranges(&r->list[i - 1], &r->list[i]) <= 0;
    if (!sorted)
        qsort(r->list, r->count, sizeof *r->list, compare_ranges);
    for (size_t i = 0; i < r->count; i++) {
        const range *at = &r->list[i];
        if (i == 0 || at->file != at[-1].file)
            end = 0;
        if (at->to > end)
            bytes += at->to - (at->from > end ? at->from : end);
        end = at->to > end ? at->to : end;
    }
    return bytes;
}

/* Elements times their size, as far as 64 bits count. */
static uint64_t bytes_of(const int64_t *size, int dims, int dtype)
{
    uint64_t bytes = assay_dtype_size(dtype);
    for (int i = 0; i < dims; i++)
        if (__builtin_mul_overflow(bytes, (uint64_t)size[i], &bytes))
            return UINT64_MAX;
    return bytes;
}

/* The bytes that pass by when a tensor is read; adds where they lie. */
static int measure(const assay_contents *c, const assay_ckpt_tensor *t, ranges *r, uint64_t *work)
{
    assay_ckpt_place place;
    assay_cursor note = assay_cursor_over(c->notes.data + t->note, t->note_size);
    int status = add_range(r, t->file, t->offset, t->length);
    *work = t->length;
    if (assay_ckpt_note_is_plain(c->notes.data + t->note))
        return status;
    if (!assay_ckpt_note_get(&note, &place)) /* decoding it says so */
        return status;
    const uint64_t made = place.form == ASSAY_CKPT_NPY ? 0 : bytes_of(place.shape, place.dims, place.dtype);
    *work = made > *work ? made : *work;
    if (place.flags & ASSAY_CKPT_DEFLATED && place.inflated > *work)
        *work = place.inflated;
    for (uint32_t i = 0; status == ASSAY_OK && i < place.pieces; i++) {
        assay_ckpt_piece piece;
        if (assay_ckpt_note_piece(&note, &place, &piece))
            status = add_range(r, piece.file, piece.offset,
                               bytes_of(piece.size, place.form == ASSAY_CKPT_RUNS ? 1 : place.dims, place.dtype));
    }
    return status;
}

/* Leaves out what goes beyond the budget, in the order in which the tensors were added. */
static void leave_out(assay_contents *c, const uint64_t *work, uint64_t granted)
{
    uint64_t sum = 0, left = 0;
    const char *first = NULL;
    for (size_t i = 0; i < c->count; i++) {
        if (c->tensor[i].state != ASSAY_CKPT_HELD)
            continue;
        if (work[i] <= granted - sum) {
            sum += work[i];
            continue;
        }
        first = first ? first : assay_dict_name(c->names, c->tensor[i].name, NULL);
        c->tensor[i].state = ASSAY_CKPT_PROMISED;
        left++;
    }
    if (left > 0)
        assay_problems_add(
            c->problems, ASSAY_PROBLEM_WORK, c->step, c->directory, -1,
            "%llu tensor%s of the step, %s%s, would take far more work than the files have bytes (views "
            "that repeat elements, or many that share one place; %llu bytes may pass by): not evaluated; "
            "save such tensors as copies",
            (unsigned long long)left, assay_plural(left), left > 1 ? "first " : "", first, (unsigned long long)granted);
}

int assay_contents_limit_work(assay_contents *c)
{
    ranges r = {0};
    uint64_t *work = assay_heap_alloc_large(c->count * sizeof *work);
    int status = work ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; status == ASSAY_OK && i < c->count; i++)
        if (c->tensor[i].state == ASSAY_CKPT_HELD)
            status = measure(c, &c->tensor[i], &r, &work[i]);
    if (status == ASSAY_OK)
        leave_out(c, work, assay_read_budget(covered(&r) + c->notes.size, c->count));
    free(work);
    free(r.list);
    return status;
}
