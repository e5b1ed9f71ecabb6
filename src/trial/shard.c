/* shard.c - the container of index contents, and its form between ranks. */
#include "trial/shard.h"

#include <assay/rule.h>
#include <assay/tensor.h>

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

enum { PACKED_ENTRY = 8 + 8 + 4 + 1, PACKED_PART = 8 + 8 + 4 + 1 + 1 + 1 + 8 + 8 + 8, PACKED_SHAPE = 4 + 4 };

void assay_shard_init(assay_shard *s)
{
    *s = (assay_shard){0};
}

void assay_shard_release(assay_shard *s)
{
    for (size_t i = 0; i < s->count; i++)
        assay_part_release(s, &s->parts[i]);
    free(s->parts);
    free(s->entries);
    free(s->shapes);
    *s = (assay_shard){0};
}

void assay_shard_drop_shapes(assay_shard *s)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->parts[i].shapes)
            free(s->shapes[s->parts[i].first_shape].dim);
        s->parts[i].first_shape = s->parts[i].shapes = 0;
    }
    free(s->shapes);
    s->shapes = NULL;
    s->shape_count = s->shape_room = 0;
}

void assay_part_release(const assay_shard *s, assay_part *part)
{
    free(part->event);
    if (part->shapes)
        free(s->shapes[part->first_shape].dim);
}

/* Makes room for `more` items behind `count`. */
static bool grow(void **list, size_t count, size_t *room, size_t more, size_t item_size)
{
    if (more <= *room - count)
        return true;
    size_t wanted = 0;
    if (__builtin_add_overflow(count, more, &wanted) || wanted > UINT32_MAX) /* parts count them in 32 bits */
        return false;
    if (wanted < *room + *room / 2)
        wanted = *room + *room / 2;
    void *grown = assay_realloc_array(*list, wanted, item_size);
    if (!grown)
        return false;
    *list = grown;
    *room = wanted;
    return true;
}

int assay_shard_reserve(assay_shard *s, size_t parts, size_t entries, size_t shapes)
{
    void *p = s->parts, *e = s->entries, *h = s->shapes;
    bool have = grow(&p, s->count, &s->room, parts, sizeof *s->parts);
    s->parts = p;
    have = have && grow(&e, s->entry_count, &s->entry_room, entries, sizeof *s->entries);
    s->entries = e;
    have = have && grow(&h, s->shape_count, &s->shape_room, shapes, sizeof *s->shapes);
    s->shapes = h;
    return have ? ASSAY_OK : ASSAY_ENOMEM;
}

int assay_entry_compare(const void *a, const void *b)
{
    const assay_entry *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->tensor != y->tensor)
        return x->tensor < y->tensor ? -1 : 1;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

/* Entries at one place are in an order that their numbers make. */
static void order_again(assay_entry *entry, size_t count)
{
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && entry[next].offset == entry[first].offset; next++)
            continue;
        if (next - first > 1)
            qsort(entry + first, next - first, sizeof *entry, assay_entry_compare);
    }
}

void assay_shard_renumber(assay_shard *s, const uint32_t *new_id)
{
    for (size_t i = 0; i < s->entry_count; i++)
        s->entries[i].tensor = new_id[s->entries[i].tensor];
    for (size_t p = 0; p < s->count; p++)
        order_again(s->entries + s->parts[p].first, s->parts[p].count);
    for (size_t i = 0; i < s->shape_count; i++)
        s->shapes[i].tensor = new_id[s->shapes[i].tensor];
}

void assay_shard_keep(assay_shard *s, size_t first, size_t count)
{
    size_t entries = 0, entry = count ? s->parts[first].first : 0;
    for (size_t i = 0; i < s->count; i++)
        if (i < first || i >= first + count)
            assay_part_release(s, &s->parts[i]);
    if (count > 0 && first > 0)
        memmove(s->parts, s->parts + first, count * sizeof *s->parts);
    s->count = count;
    for (size_t i = 0; i < count; i++) {
        s->parts[i].first = (uint32_t)(s->parts[i].first - entry);
        entries += s->parts[i].count;
    }
    if (entries > 0 && entry > 0)
        memmove(s->entries, s->entries + entry, entries * sizeof *s->entries);
    s->entry_count = entries;
}

static void reverse(assay_part *from, assay_part *end)
{
    for (; from + 1 < end; from++) {
        assay_part part = *--end;
        *end = *from;
        *from = part;
    }
}

void assay_shard_turn(assay_shard *s, size_t first)
{
    if (first == 0 || first == s->count)
        return;
    reverse(s->parts, s->parts + first);
    reverse(s->parts + first, s->parts + s->count);
    reverse(s->parts, s->parts + s->count);
}

size_t assay_shard_find(const assay_shard *s, int64_t step)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->parts[middle].step < step)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const assay_entry *assay_part_raw(const assay_shard *s, const assay_part *part, uint32_t tensor)
{
    for (size_t e = part->first; e < part->first + part->count; e++)
        if (s->entries[e].tensor == tensor && s->entries[e].kind == ASSAY_RAW)
            return &s->entries[e];
    return NULL;
}

static void put_part(const assay_shard *s, const assay_part *part, assay_buf *out)
{
    assay_put_i64(out, part->step);
    assay_put_i64(out, part->mode_step);
    assay_put_u32(out, part->worker);
    assay_put_u8(out, part->mode);
    assay_put_u8(out, part->before);
    assay_put_u8(out, part->event != NULL);
    if (part->event)
        assay_put_text(out, part->event);
    assay_put_u64(out, part->count);
    for (size_t i = 0; i < part->count; i++) {
        const assay_entry *e = &s->entries[part->first + i];
        assay_put_u64(out, e->offset);
        assay_put_u64(out, e->length);
        assay_put_u32(out, e->tensor);
        assay_put_u8(out, e->kind);
    }
    uint64_t dims = 0;
    for (size_t i = 0; i < part->shapes; i++)
        dims += s->shapes[part->first_shape + i].dims;
    assay_put_u64(out, dims);
    assay_put_u64(out, part->shapes);
    for (size_t i = 0; i < part->shapes; i++) {
        const assay_shape_entry *h = &s->shapes[part->first_shape + i];
        assay_put_u32(out, h->tensor);
        assay_put_u32(out, h->dims);
        for (uint32_t k = 0; k < h->dims; k++)
            assay_put_i64(out, h->dim[k]);
    }
}

void assay_shard_pack(const assay_shard *s, size_t first, size_t count, assay_buf *out)
{
    assay_put_u64(out, count);
    for (size_t i = 0; i < count; i++)
        put_part(s, &s->parts[first + i], out);
}

static int get_entries(assay_cursor *in, assay_shard *s, assay_part *part)
{
    uint64_t count = assay_get_count(in, PACKED_ENTRY);
    if (assay_shard_reserve(s, 0, count, 0) != ASSAY_OK)
        return ASSAY_ENOMEM;
    part->first = (uint32_t)s->entry_count;
    for (uint64_t i = 0; i < count; i++) {
        assay_entry e = {.offset = assay_get_u64(in)};
        e.length = assay_get_u64(in);
        e.tensor = assay_get_u32(in);
        e.kind = assay_get_u8(in);
        if (e.kind >= ASSAY_KINDS)
            return ASSAY_EFORMAT;
        s->entries[part->first + i] = e;
    }
    part->count = (uint32_t)count;
    s->entry_count += count;
    return in->failed ? ASSAY_EFORMAT : ASSAY_OK;
}

/* All dimensions of a part lie in one block, which its first shape owns. */
static int get_shapes(assay_cursor *in, assay_shard *s, assay_part *part)
{
    uint64_t dims = assay_get_count(in, sizeof(int64_t)), count = assay_get_count(in, PACKED_SHAPE);
    part->first_shape = (uint32_t)s->shape_count;
    if (count == 0)
        return in->failed || dims > 0 ? ASSAY_EFORMAT : ASSAY_OK;
    int64_t *dim = assay_alloc_zeroed(dims, sizeof *dim), *block = dim;
    if (!block || assay_shard_reserve(s, 0, 0, count) != ASSAY_OK) {
        free(block);
        return ASSAY_ENOMEM;
    }
    bool sound = true;
    for (uint64_t i = 0; i < count && sound; i++) {
        assay_shape_entry h = {.tensor = assay_get_u32(in), .dim = dim};
        h.dims = assay_get_u32(in);
        sound = !in->failed && h.dims <= ASSAY_MAX_DIMS && h.dims <= dims;
        dims -= sound ? h.dims : 0;
        for (uint32_t k = 0; k < h.dims && sound; k++)
            *dim++ = assay_get_i64(in);
        s->shapes[part->first_shape + i] = h;
    }
    if (!sound || in->failed || dims > 0) {
        free(block);
        return ASSAY_EFORMAT;
    }
    part->shapes = (uint32_t)count;
    s->shape_count += count;
    return ASSAY_OK;
}

static int get_part(assay_cursor *in, assay_shard *s)
{
    assay_part part = {.step = assay_get_i64(in)};
    part.mode_step = assay_get_i64(in);
    part.worker = assay_get_u32(in);
    part.mode = assay_get_u8(in);
    part.before = assay_get_u8(in) != 0;
    int status = ASSAY_OK;
    if (assay_get_u8(in)) {
        size_t length = 0;
        const char *event = assay_get_text(in, &length);
        part.event = assay_copy_bytes_as_text(event, length);
        status = part.event ? ASSAY_OK : ASSAY_ENOMEM;
    }
    if (status == ASSAY_OK)
        status = assay_shard_reserve(s, 1, 0, 0);
    if (status == ASSAY_OK)
        status = get_entries(in, s, &part);
    if (status == ASSAY_OK)
        status = get_shapes(in, s, &part);
    if (status == ASSAY_OK)
        s->parts[s->count++] = part;
    else
        free(part.event);
    return status;
}

int assay_shard_unpack(assay_cursor *in, assay_shard *s, assay_error *err)
{
    const size_t parts = s->count, entries = s->entry_count, shapes = s->shape_count;
    uint64_t count = assay_get_count(in, PACKED_PART);
    int status = in->failed ? ASSAY_EFORMAT : ASSAY_OK;
    for (uint64_t i = 0; i < count && status == ASSAY_OK; i++)
        status = get_part(in, s);
    if (status == ASSAY_OK)
        return ASSAY_OK;
    while (s->count > parts)
        assay_part_release(s, &s->parts[--s->count]);
    s->entry_count = entries;
    s->shape_count = shapes;
    return assay_fail(err, status,
                      status == ASSAY_ENOMEM ? "out of memory for the index of a trial"
                                             : "a packed part of a trial's index is damaged");
}
