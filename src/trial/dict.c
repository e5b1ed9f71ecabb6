/* dict.c - the dictionary of names: one block of bytes, one of ids, one open-addressed table. */
#include "trial/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/hash.h"

typedef struct dict_name {
    size_t at; /* in bytes; a terminator follows the name */
    uint32_t length;
    uint32_t hash; /* lower half, whose lower bits the table takes */
} dict_name;

struct assay_dict {
    char *bytes;
    size_t size, byte_room;
    dict_name *names;
    uint32_t count, name_room;
    uint32_t *slots; /* id + 1, 0: free */
    uint32_t mask;
    uint32_t guess; /* files list their names in one order: the id after the one asked for last comes next */
};

enum { FIRST_SLOTS = 64 };

assay_dict *assay_dict_new(void)
{
    assay_dict *d = assay_alloc_zeroed(1, sizeof *d);
    if (!d)
        return NULL;
    d->slots = assay_alloc_zeroed(FIRST_SLOTS, sizeof *d->slots);
    if (!d->slots) {
        free(d);
        return NULL;
    }
    d->mask = FIRST_SLOTS - 1;
    return d;
}

void assay_dict_free(assay_dict *d)
{
    if (!d)
        return;
    free(d->bytes);
    free(d->names);
    free(d->slots);
    free(d);
}

static bool is_name(const assay_dict *d, uint32_t id, const char *name, size_t length)
{
    const dict_name *n = &d->names[id];
    return n->length == length && memcmp(d->bytes + n->at, name, length) == 0;
}

/* The slot of the name, or the free one where it belongs. */
static uint32_t find_slot(const assay_dict *d, const char *name, size_t length, uint64_t hash)
{
    uint32_t slot = (uint32_t)hash & d->mask;
    while (d->slots[slot]) {
        uint32_t id = d->slots[slot] - 1;
        if (d->names[id].hash == (uint32_t)hash && is_name(d, id, name, length))
            break;
        slot = (slot + 1) & d->mask;
    }
    return slot;
}

static void fill_slots(assay_dict *d)
{
    memset(d->slots, 0, ((size_t)d->mask + 1) * sizeof *d->slots);
    for (uint32_t id = 0; id < d->count; id++) {
        uint32_t slot = d->names[id].hash & d->mask;
        while (d->slots[slot])
            slot = (slot + 1) & d->mask;
        d->slots[slot] = id + 1;
    }
}

static bool grow_slots(assay_dict *d)
{
    if (d->count < d->mask / 2)
        return true;
    size_t slots = 2 * ((size_t)d->mask + 1);
    uint32_t *table = slots > UINT32_MAX ? NULL : assay_realloc_array(d->slots, slots, sizeof *table);
    if (!table)
        return false;
    d->slots = table;
    d->mask = (uint32_t)slots - 1;
    fill_slots(d);
    return true;
}

static bool reserve(assay_dict *d, size_t length)
{
    if (d->count == d->name_room) {
        uint32_t room = d->name_room < 16 ? 32 : 2 * d->name_room;
        dict_name *names = assay_realloc_array(d->names, room, sizeof *names);
        if (!names)
            return false;
        d->names = names;
        d->name_room = room;
    }
    if (length >= d->byte_room - d->size) {
        size_t room = 2 * d->byte_room + length + 256;
        char *bytes = assay_realloc_array(d->bytes, room, 1);
        if (!bytes)
            return false;
        d->bytes = bytes;
        d->byte_room = room;
    }
    return true;
}

int assay_dict_reserve(assay_dict *d, size_t names, size_t bytes)
{
    size_t slots = FIRST_SLOTS;
    while (slots / 2 <= names + 1)
        slots *= 2;
    if (d->count > 0 || slots > UINT32_MAX || bytes > SIZE_MAX - names)
        return ASSAY_OK; /* it grows as it can */
    dict_name *list = assay_realloc_array(d->names, names, sizeof *list);
    if (list) {
        d->names = list;
        d->name_room = (uint32_t)names;
    }
    char *text = assay_realloc_array(d->bytes, bytes + names + 1, 1);
    if (text) {
        d->bytes = text;
        d->byte_room = bytes + names + 1;
    }
    uint32_t *table = list && text ? assay_alloc_zeroed(slots, sizeof *table) : NULL;
    if (!table)
        return ASSAY_ENOMEM;
    free(d->slots);
    d->slots = table;
    d->mask = (uint32_t)slots - 1;
    return ASSAY_OK;
}

bool assay_dict_take(assay_dict *d, assay_dict *from)
{
    if (d->count > 0)
        return false;
    const assay_dict empty = *d;
    *d = *from;
    *from = empty;
    return true;
}

uint32_t assay_dict_add(assay_dict *d, const char *name, size_t length)
{
    if (d->guess < d->count && is_name(d, d->guess, name, length))
        return d->guess++;
    if (length > UINT32_MAX)
        return ASSAY_NO_ID;
    uint64_t hash = assay_hash_bytes(name, length);
    uint32_t slot = find_slot(d, name, length, hash);
    if (!d->slots[slot]) {
        if (!reserve(d, length) || !grow_slots(d))
            return ASSAY_NO_ID;
        slot = find_slot(d, name, length, hash); /* the table may have grown */
        d->names[d->count] = (dict_name){d->size, (uint32_t)length, (uint32_t)hash};
        if (length)
            memcpy(d->bytes + d->size, name, length);
        d->bytes[d->size + length] = '\0';
        d->size += length + 1;
        d->slots[slot] = ++d->count;
    }
    d->guess = d->slots[slot];
    return d->guess - 1;
}

uint32_t assay_dict_find(const assay_dict *d, const char *name, size_t length)
{
    return d->slots[find_slot(d, name, length, assay_hash_bytes(name, length))] - 1; /* free: 0 - 1 is ASSAY_NO_ID */
}

uint32_t assay_dict_count(const assay_dict *d)
{
    return d->count;
}

size_t assay_dict_bytes(const assay_dict *d)
{
    return d->size;
}

const char *assay_dict_text(const assay_dict *d)
{
    return d->size ? d->bytes : "";
}

const char *assay_dict_name(const assay_dict *d, uint32_t id, size_t *length)
{
    if (length)
        *length = d->names[id].length;
    return d->bytes + d->names[id].at;
}

typedef struct sort_item {
    const char *bytes;
    uint32_t length, id;
} sort_item;

static int compare_items(const void *a, const void *b)
{
    const sort_item *x = a, *y = b;
    uint32_t common = x->length < y->length ? x->length : y->length;
    int order = memcmp(x->bytes, y->bytes, common);
    if (order)
        return order;
    return (x->length > y->length) - (x->length < y->length);
}

int assay_dict_sort(assay_dict *d, uint32_t *new_id)
{
    sort_item *items = assay_alloc(d->count * sizeof *items);
    dict_name *names = NULL;
    for (uint32_t id = 0; items && id < d->count; id++)
        items[id] = (sort_item){d->bytes + d->names[id].at, d->names[id].length, id};
    if (items && d->count)
        qsort(items, d->count, sizeof *items, compare_items);
    if (items) /* not before: sorting takes memory of its own for a while */
        names = assay_alloc(d->count * sizeof *names);
    uint32_t *moved = new_id || !names ? new_id : assay_alloc(d->count * sizeof *moved);
    for (uint32_t id = 0; names && moved && id < d->count; id++) {
        names[id] = d->names[items[id].id];
        moved[items[id].id] = id;
    }
    free(items);
    if (!names || !moved) {
        free(names);
        return ASSAY_ENOMEM;
    }
    free(d->names);
    d->names = names;
    d->name_room = d->count;
    for (size_t slot = 0; slot <= d->mask; slot++) /* names stay in the slots of their hashes */
        if (d->slots[slot])
            d->slots[slot] = moved[d->slots[slot] - 1] + 1;
    d->guess = 0;
    if (!new_id)
        free(moved);
    return ASSAY_OK;
}

void assay_dict_pack(const assay_dict *d, assay_buf *out)
{
    assay_put_u64(out, d->count);
    for (uint32_t id = 0; id < d->count; id++) {
        assay_put_u32(out, d->names[id].length);
        assay_put_bytes(out, d->bytes + d->names[id].at, d->names[id].length);
    }
}
