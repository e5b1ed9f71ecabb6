/* dict.c - the dictionary of names: one block of bytes, one of ids, one open-addressed table. */
#include "base/dict.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/hash.h"
#include "base/heap.h"

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
    uint32_t settled; /* so many names are in the table; those behind them were appended */
    uint32_t guess;   /* files list their names in one order: the id after the one asked for last comes next */
};

enum { FIRST_SLOTS = 64 };

/* A full table of names makes look-ups slow, an empty one wastes memory: it grows when it is half full (grow_slots). */
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

/* The slot of the name, or the free one where it belongs. Ends because at least half of the slots are free. */
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

/* Names are known to differ here: no comparison is needed, only the next free slot. */
static void fill_slots(assay_dict *d)
{
    memset(d->slots, 0, ((size_t)d->mask + 1) * sizeof *d->slots);
    for (uint32_t id = 0; id < d->settled; id++) {
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
        /* Doubling; the 256 spares a dictionary of few short names its first growths. */
        size_t room = 2 * d->byte_room + length + 256;
        char *bytes = assay_realloc_array(d->bytes, room, 1);
        assay_heap_want_large(bytes, room);
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
    dict_name *list = assay_heap_grow_large(d->names, 0, names * sizeof *list);
    if (list) {
        d->names = list;
        d->name_room = (uint32_t)names;
    }
    char *text = assay_heap_grow_large(d->bytes, 0, bytes + names + 1);
    if (text) {
        d->bytes = text;
        d->byte_room = bytes + names + 1;
    }
    uint32_t *table = list && text ? assay_heap_grow_large(d->slots, 0, slots * sizeof *table) : NULL;
    ASSAY_HAVE(table);
    memset(table, 0, slots * sizeof *table);
    d->slots = table;
    d->mask = (uint32_t)slots - 1;
    return ASSAY_OK;
}

/* An O(1) hand-over: what read the names of a whole file gives them to a trial that has none yet. */
bool assay_dict_take(assay_dict *d, assay_dict *from)
{
    if (d->count > 0)
        return false;
    const assay_dict empty = *d;
    *d = *from;
    *from = empty;
    return true;
}

/* Puts a name behind the others, for which there is room. */
static void put_name(assay_dict *d, const char *name, size_t length, uint32_t hash)
{
    d->names[d->count++] = (dict_name){d->size, (uint32_t)length, hash};
    if (length)
        memcpy(d->bytes + d->size, name, length);
    d->bytes[d->size + length] = '\0';
    d->size += length + 1;
}

uint32_t assay_dict_add(assay_dict *d, const char *name, size_t length)
{
    /* The guess may be the next of two files that list the same names in one order: then no hash is computed. */
    if (d->guess < d->count && is_name(d, d->guess, name, length))
        return d->guess++;
    if (length > UINT32_MAX)
        return ASSAY_NO_ID;
    uint64_t hash = assay_hash_bytes(name, length);
    uint32_t slot = find_slot(d, name, length, hash);
    if (!d->slots[slot]) {
        const uint32_t mask = d->mask;
        if (!reserve(d, length) || !grow_slots(d))
            return ASSAY_NO_ID;
        if (d->mask != mask)
            slot = find_slot(d, name, length, hash);
        put_name(d, name, length, (uint32_t)hash);
        d->slots[slot] = d->settled = d->count;
    }
    d->guess = d->slots[slot];
    return d->guess - 1;
}

/* Called by readers of the names of large checkpoints, which know that nearly all differ. */
uint32_t assay_dict_append(assay_dict *d, const char *name, size_t length)
{
    if (length > UINT32_MAX || d->count >= ASSAY_NO_ID - 1 || !reserve(d, length))
        return ASSAY_NO_ID;
    put_name(d, name, length, (uint32_t)assay_hash_bytes(name, length));
    return d->count - 1;
}

/* The table's slots lie anywhere in memory: those of the next names are asked for while one is looked at. */
bool assay_dict_settle(assay_dict *d, uint32_t *again)
{
    /* So many look-ups ahead a slot's memory is asked for: about what a fetch from memory takes, in look-ups. */
    enum { AHEAD = 16 };
    *again = ASSAY_NO_ID;
    while (d->count >= d->mask / 2)
        if (!grow_slots(d))
            return false;
    for (uint32_t id = d->settled; id < d->count; id++) {
        const dict_name *n = &d->names[id];
        if (id + AHEAD < d->count)
            __builtin_prefetch(&d->slots[n[AHEAD].hash & d->mask], 1);
        const uint32_t slot = find_slot(d, d->bytes + n->at, n->length, n->hash);
        if (d->slots[slot]) {
            *again = id;
            return true;
        }
        d->slots[slot] = d->settled = id + 1;
    }
    d->guess = 0;
    return true;
}

uint32_t assay_dict_find(const assay_dict *d, const char *name, size_t length)
{
    return d->slots[find_slot(d, name, length, assay_hash_bytes(name, length))] - 1; /* free: 0 - 1 is ASSAY_NO_ID */
}

void assay_dict_expect(const assay_dict *d, const char *name, size_t length)
{
    __builtin_prefetch(&d->slots[(uint32_t)assay_hash_bytes(name, length) & d->mask]);
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

/* ---- byte order ---- */

/* A name while names are sorted: eight bytes of it as one number, zeros behind its end. */
typedef struct sort_item {
    uint64_t key;
    uint32_t id;
} sort_item;

/* FEW: below that, an insertion sort is quicker than clearing 256 counters. */
enum { KEY_BYTES = 8, FEW = 24 };

/* Reads the keys at `depth`, up to which all names are alike; none is shorter. */
static void read_keys(const assay_dict *d, sort_item *items, size_t count, size_t depth)
{
    for (size_t i = 0; i < count; i++) {
        const dict_name *n = &d->names[items[i].id];
        const uint8_t *at = (const uint8_t *)d->bytes + n->at + depth;
        const size_t left = n->length - depth, size = left < KEY_BYTES ? left : KEY_BYTES;
        uint64_t key = 0;
        for (size_t k = 0; k < size; k++)
            key |= (uint64_t)at[k] << (56 - 8 * k);
        items[i].key = key;
    }
}

/* Is x before y? The names are alike up to `depth`, and keys are read there. */
static bool is_before(const assay_dict *d, const sort_item *x, const sort_item *y, size_t depth)
{
    if (x->key != y->key)
        return x->key < y->key;
    const dict_name *a = &d->names[x->id], *b = &d->names[y->id];
    const size_t common = (a->length < b->length ? a->length : b->length) - depth;
    const int order = memcmp(d->bytes + a->at + depth, d->bytes + b->at + depth, common);
    return order != 0 ? order < 0 : a->length < b->length;
}

static void sort_few(const assay_dict *d, sort_item *items, size_t count, size_t depth)
{
    /* Insertion moves as few as it can: names of a trial are often nearly in order already. */
    for (size_t i = 1; i < count; i++) {
        const sort_item item = items[i];
        size_t to = i;
        for (; to > 0 && is_before(d, &item, &items[to - 1], depth); to--)
            items[to] = items[to - 1];
        items[to] = item;
    }
}

/* Brings those names of equal keys that end within them to the front, the shorter first; returns how many they are.
 * They differ in length alone, so there are at most nine. */
static size_t take_ended(const assay_dict *d, sort_item *items, size_t count, size_t depth)
{
    size_t ended = 0;
    for (size_t i = 0; i < count; i++) {
        const sort_item item = items[i];
        if (d->names[item.id].length > depth + KEY_BYTES)
            continue;
        items[i] = items[ended];
        size_t to = ended++;
        for (; to > 0 && d->names[item.id].length < d->names[items[to - 1].id].length; to--)
            items[to] = items[to - 1];
        items[to] = item;
    }
    return ended;
}

/* Deals the items out by the byte of their keys that `shift` brings down; end[byte] is where its items end. */
static void deal_out(sort_item *items, sort_item *room, size_t count, unsigned shift, size_t end[256])
{
    size_t sum = 0;
    memset(end, 0, 256 * sizeof *end);
    for (size_t i = 0; i < count; i++)
        end[items[i].key >> shift & 255]++;
    for (size_t b = 0; b < 256; b++) {
        const size_t size = end[b];
        end[b] = sum;
        sum += size;
    }
    for (size_t i = 0; i < count; i++)
        room[end[items[i].key >> shift & 255]++] = items[i];
    memcpy(items, room, count * sizeof *items);
}

/* Sorts by the first byte that is not the same in all, then those that have it alike. The largest of these groups is
 * left for the next round, so that calls nest no deeper than the count can be halved. */
static void sort_items(const assay_dict *d, sort_item *items, sort_item *room, size_t count, size_t depth)
{
    while (count > FEW) {
        uint64_t differs = 0;
        for (size_t i = 1; i < count; i++)
            differs |= items[i].key ^ items[0].key;
        if (differs == 0) {
            const size_t ended = take_ended(d, items, count, depth);
            items += ended;
            count -= ended;
            depth += KEY_BYTES;
            read_keys(d, items, count, depth);
            continue;
        }
        size_t end[256], largest = 0, first = 0;
        deal_out(items, room, count, (unsigned)(56 - __builtin_clzll(differs) / 8 * 8), end);
        for (size_t b = 1; b < 256; b++)
            if (end[b] - end[b - 1] > end[largest] - (largest ? end[largest - 1] : 0))
                largest = b;
        for (size_t b = 0; b < 256; first = end[b++])
            if (b != largest && end[b] - first > 1)
                sort_items(d, items + first, room, end[b] - first, depth);
        first = largest ? end[largest - 1] : 0;
        count = end[largest] - first;
        items += first;
    }
    sort_few(d, items, count, depth);
}

int assay_dict_sort(assay_dict *d, uint32_t *new_id)
{
    /* One allocation for both: the second half is the room that deal_out() deals into. */
    sort_item *items = assay_heap_alloc_large(2 * (size_t)d->count * sizeof *items);
    dict_name *names = NULL;
    for (uint32_t id = 0; items && id < d->count; id++)
        items[id].id = id;
    if (items) {
        read_keys(d, items, d->count, 0);
        sort_items(d, items, items + d->count, d->count, 0);
        names = assay_heap_alloc_large(d->count * sizeof *names);
    }
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
