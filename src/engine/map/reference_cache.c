/* reference_cache.c - see reference_cache.h. A hash table of (tensor, worker) with linear probing; slots are never
 * removed one by one. */
#include "engine/map/reference_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/hash.h"
#include "base/heap.h"

typedef struct slot {
    bool taken;
    assay_reference_key key;
    assay_cached_reference newest, oldest;
    assay_cached_reference before;  /* the newest that is not passed by, where `newest` is */
    bool is_passed_by;              /* the newest one, or the one under way */
    const assay_entry *asked;       /* what the window went back to last */
    assay_cached_reference *recent; /* [recent_count] small contents between the oldest and the newest, in order */
    uint32_t recent_count, recent_room;
    struct {
        const assay_entry *entry;
        uint32_t worker; /* whose record has the same content */
    } twin[2];           /* the newest, and one that is not passed by */
} slot;

/* Memory that nobody uses now. To take it from the system and to give it back costs more than to fill it. */
typedef struct spare {
    uint8_t *bytes;
    size_t room;
} spare;

enum {
    FIRST_ROOM = 64,
    SPARES = 8,
    SMALL =
        16 << 10, /* bytes of a content that a moving window will find: to keep it costs less than to open its file */
    MOST_RECENT = 64, /* of a tensor */
    OF_RECENT = 4     /* the part of the budget that all of them may take */
};

struct assay_reference_cache {
    size_t budget, held; /* bytes, those of the table and of the spares included */
    size_t recent;       /* of these, those of recent contents */
    spare spares[SPARES];
    assay_cached_reference coming; /* of the record under way, when it is put apart from what it is compared with */
    bool is_coming;
    slot *slots;
    size_t room, count; /* room: a power of two, or 0 */
    uint64_t now;
};

assay_reference_cache *assay_reference_cache_new(size_t budget)
{
    assay_reference_cache *k = assay_alloc_zeroed(1, sizeof *k);
    if (k)
        k->budget = budget;
    return k;
}

static size_t content_size(const assay_record *record)
{
    return (size_t)record->elements * assay_dtype_size(record->dtype);
}

static size_t shape_at(size_t size)
{
    return (size + sizeof(int64_t) - 1) / sizeof(int64_t) * sizeof(int64_t);
}

/* Bytes of a content and its shape. */
static size_t whole_size(size_t size, int dims)
{
    return shape_at(size) + (size_t)dims * sizeof(int64_t);
}

void assay_reference_cache_clear(assay_reference_cache *k)
{
    for (size_t i = 0; i < k->room; i++) {
        assay_heap_give_large(k->slots[i].newest.bytes, k->slots[i].newest.room);
        assay_heap_give_large(k->slots[i].oldest.bytes, k->slots[i].oldest.room);
        assay_heap_give_large(k->slots[i].before.bytes, k->slots[i].before.room);
        for (uint32_t r = 0; r < k->slots[i].recent_count; r++)
            assay_heap_give_large(k->slots[i].recent[r].bytes, k->slots[i].recent[r].room);
        free(k->slots[i].recent);
    }
    for (int i = 0; i < SPARES; i++)
        assay_heap_give_large(k->spares[i].bytes, k->spares[i].room);
    assay_heap_give_large(k->coming.bytes, k->coming.room);
    free(k->slots);
    *k = (assay_reference_cache){.budget = k->budget, .now = k->now};
}

void assay_reference_cache_free(assay_reference_cache *k)
{
    if (!k)
        return;
    assay_reference_cache_clear(k);
    free(k);
}

void assay_reference_cache_next(assay_reference_cache *k)
{
    k->now++;
}

/* The slot of a key, or the free one where it belongs. There is always a free one. */
static slot *place_of(slot *slots, size_t room, assay_reference_key key)
{
    size_t at = (size_t)assay_hash_bytes(&key, sizeof key) & (room - 1);
    while (slots[at].taken && (slots[at].key.tensor != key.tensor || slots[at].key.worker != key.worker ||
                               slots[at].key.sketch != key.sketch))
        at = (at + 1) & (room - 1);
    return &slots[at];
}

static slot *find_slot(const assay_reference_cache *k, assay_reference_key key)
{
    slot *s = k->room > 0 ? place_of(k->slots, k->room, key) : NULL;
    return s && s->taken ? s : NULL;
}

static bool has_left(const assay_reference_cache *k, size_t size)
{
    return k->budget - k->held >= size;
}

static bool grow(assay_reference_cache *k)
{
    size_t room = k->room ? 2 * k->room : FIRST_ROOM;
    if (!has_left(k, room * sizeof(slot)))
        return false;
    slot *grown = assay_alloc_zeroed(room, sizeof *grown);
    if (!grown)
        return false;
    for (size_t i = 0; i < k->room; i++)
        if (k->slots[i].taken)
            *place_of(grown, room, k->slots[i].key) = k->slots[i];
    free(k->slots);
    k->held += (room - k->room) * sizeof(slot);
    k->slots = grown;
    k->room = room;
    return true;
}

/* The slot of a key, made when there is none and the budget lets it; else NULL. */
static slot *slot_for(assay_reference_cache *k, assay_reference_key key)
{
    slot *s = find_slot(k, key);
    if (s)
        return s;
    if (2 * (k->count + 1) > k->room && !grow(k))
        return NULL;
    s = place_of(k->slots, k->room, key);
    *s = (slot){.taken = true, .key = key};
    k->count++;
    return s;
}

/* ---- memory for contents ---- */

static void free_spare(assay_reference_cache *k, spare *s)
{
    if (s->bytes)
        k->held -= assay_heap_cost_of_large(s->room);
    assay_heap_give_large(s->bytes, s->room);
    *s = (spare){0};
}

/* The smallest spare with so much room, or NULL; one that is more than twice as large is left for those who need it. */
static spare *find_spare(assay_reference_cache *k, size_t size)
{
    spare *best = NULL;
    for (int i = 0; i < SPARES; i++) {
        spare *s = &k->spares[i];
        if (s->room >= size && s->room / 2 <= size && (!best || s->room < best->room))
            best = s;
    }
    return best;
}

/* Memory for a content: a spare, or new memory within the budget, for which spares give way. NULL: there is none. */
static spare take_room(assay_reference_cache *k, size_t size)
{
    spare *fits = find_spare(k, size), taken = {NULL, size};
    if (fits) {
        taken = *fits;
        *fits = (spare){0};
        return taken;
    }
    for (int i = 0; i < SPARES && !has_left(k, assay_heap_cost_of_large(size)); i++)
        free_spare(k, &k->spares[i]);
    if (has_left(k, assay_heap_cost_of_large(size)))
        taken.bytes = assay_heap_take_large(size);
    k->held += taken.bytes ? assay_heap_cost_of_large(size) : 0;
    return taken;
}

/* Gives up a content; its memory becomes a spare in place of the smallest one. */
static void drop(assay_reference_cache *k, assay_cached_reference *content)
{
    spare given = {content->bytes, content->room}, *least = &k->spares[0];
    *content = (assay_cached_reference){0};
    for (int i = 1; i < SPARES; i++)
        least = k->spares[i].room < least->room ? &k->spares[i] : least;
    if (least->room < given.room) {
        spare smaller = *least;
        *least = given;
        given = smaller;
    }
    free_spare(k, &given);
}

static bool fits(const assay_cached_reference *content, const assay_record *record)
{
    return content->bytes && content->size == content_size(record) && content->dims == record->dims;
}

/* Makes a content ready to take that of a record; what it had is lost. False when the budget or memory does not let it.
 */
static bool make_room(assay_reference_cache *k, assay_cached_reference *content, const assay_record *record)
{
    if (!fits(content, record)) {
        size_t size = content_size(record);
        drop(k, content);
        spare memory = take_room(k, whole_size(size, record->dims));
        if (!memory.bytes)
            return false;
        content->bytes = memory.bytes;
        content->room = memory.room;
        content->shape = (const int64_t *)(void *)(content->bytes + shape_at(size));
        content->size = size;
        content->dims = record->dims;
    }
    content->entry = NULL;
    content->used = k->now;
    return true;
}

static void set(assay_cached_reference *content, const assay_entry *entry, const assay_record *record)
{
    content->entry = entry;
    content->dtype = record->dtype;
    content->elements = record->elements;
    memcpy(content->bytes + shape_at(content->size), record->shape, (size_t)content->dims * sizeof(int64_t));
}

/* ---- small contents that a window will find when it moves on ---- */

static assay_cached_reference *find_recent(const slot *s, const assay_entry *entry)
{
    for (uint32_t r = 0; r < s->recent_count; r++)
        if (s->recent[r].entry == entry)
            return &s->recent[r];
    return NULL;
}

static void forget_recent(assay_reference_cache *k, slot *s, uint32_t count)
{
    for (uint32_t r = 0; r < count; r++) {
        k->recent -= s->recent[r].room;
        drop(k, &s->recent[r]);
    }
    s->recent_count -= count;
    if (s->recent_count > 0)
        memmove(s->recent, s->recent + count, s->recent_count * sizeof *s->recent);
}

static bool reserve_recent(assay_reference_cache *k, slot *s)
{
    if (s->recent_count < s->recent_room)
        return true;
    uint32_t room = s->recent_room ? 2 * s->recent_room : 8;
    size_t more = (room - s->recent_room) * sizeof *s->recent;
    assay_cached_reference *grown = has_left(k, more) ? assay_realloc_array(s->recent, room, sizeof *grown) : NULL;
    if (!grown)
        return false;
    s->recent = grown;
    s->recent_room = room;
    k->held += more;
    return true;
}

/* The window has moved on: drops what lies before its place, and keeps the newest content, for which another one is
 * about to come. */
static void move_recent(assay_reference_cache *k, slot *s)
{
    const assay_cached_reference *place = find_recent(s, s->asked);
    uint32_t passed = 0;
    while (place && passed < place - s->recent && s->recent[passed].used != k->now)
        passed++;
    if (passed > 0)
        forget_recent(k, s, passed);
    if (!s->asked || !s->newest.entry || s->newest.entry == s->asked || s->newest.room > SMALL ||
        s->recent_count == MOST_RECENT || k->recent + s->newest.room > k->budget / OF_RECENT || !reserve_recent(k, s))
        return;
    k->recent += s->newest.room;
    s->recent[s->recent_count++] = s->newest;
    s->newest = (assay_cached_reference){0};
}

const assay_cached_reference *assay_reference_cache_find(assay_reference_cache *k, assay_reference_key key,
                                                         const assay_entry *entry)
{
    slot *s = find_slot(k, key);
    assay_cached_reference *found = !s                         ? NULL
                                    : s->newest.entry == entry ? &s->newest
                                    : s->oldest.entry == entry ? &s->oldest
                                    : s->before.entry == entry ? &s->before
                                                               : find_recent(s, entry);
    if (found)
        found->used = k->now;
    return found;
}

void assay_reference_cache_evict(assay_reference_cache *k, assay_reference_key key)
{
    slot *s = find_slot(k, key);
    if (!s)
        return;
    drop(k, &s->newest);
    drop(k, &s->oldest);
    drop(k, &s->before);
    forget_recent(k, s, s->recent_count);
}

uint8_t *assay_reference_cache_oldest(assay_reference_cache *k, assay_reference_key key, const assay_entry *entry,
                                      const assay_record *record)
{
    slot *s = slot_for(k, key);
    if (!s)
        return NULL;
    bool again = s->asked == entry;
    s->asked = entry;
    if (!again || s->newest.entry == entry || s->oldest.entry == entry || s->oldest.used == k->now ||
        find_recent(s, entry) || !make_room(k, &s->oldest, record))
        return NULL;
    return s->oldest.bytes;
}

void assay_reference_cache_filled(assay_reference_cache *k, assay_reference_key key, const assay_entry *entry,
                                  const assay_record *record)
{
    slot *s = find_slot(k, key);
    if (s)
        set(&s->oldest, entry, record);
}

/* Puts the content of the record under way elsewhere than the newest one, if nothing else has to give way to it. */
static bool begin_apart(assay_reference_cache *k, const assay_record *record)
{
    size_t size = whole_size(content_size(record), record->dims);
    if (!fits(&k->coming, record) && !find_spare(k, size) && !has_left(k, assay_heap_cost_of_large(size)))
        return false;
    return make_room(k, &k->coming, record);
}

/* There is room for one content only, and `before` has it: the record under way takes it over. */
static uint8_t *begin_over_before(assay_reference_cache *k, slot *s, const assay_record *record, bool *apart)
{
    if (s->before.used == k->now && !fits(&s->before, record))
        return NULL;
    s->newest = s->before;
    s->before = (assay_cached_reference){0};
    *apart = s->newest.used != k->now;
    return make_room(k, &s->newest, record) ? s->newest.bytes : NULL;
}

uint8_t *assay_reference_cache_begin(assay_reference_cache *k, assay_reference_key key, const assay_record *record,
                                     bool passed_by, bool *apart)
{
    slot *s = slot_for(k, key);
    k->is_coming = false;
    if (!s)
        return NULL;
    if (s->oldest.bytes && s->oldest.used != k->now && s->oldest.entry != s->asked)
        drop(k, &s->oldest);
    if (s->newest.entry && s->newest.entry == s->asked && s->oldest.used != k->now) {
        drop(k, &s->oldest);
        s->oldest = s->newest;
        s->newest = (assay_cached_reference){0};
    }
    if (s->before.entry && s->before.entry == s->asked && s->oldest.used != k->now) { /* behind the evaluation, too */
        drop(k, &s->oldest);
        s->oldest = s->before;
        s->before = (assay_cached_reference){0};
    }
    move_recent(k, s);
    if (s->before.used != k->now && (!passed_by || !s->is_passed_by))
        drop(k, &s->before);
    if (passed_by && !s->is_passed_by && s->newest.entry && !s->before.bytes) {
        s->before = s->newest;
        s->newest = (assay_cached_reference){0};
    }
    s->is_passed_by = passed_by;
    k->is_coming = *apart && s->newest.used == k->now && begin_apart(k, record);
    *apart = k->is_coming || s->newest.used != k->now;
    if (k->is_coming)
        return k->coming.bytes;
    if (s->newest.used == k->now && !fits(&s->newest, record))
        return NULL;
    return make_room(k, &s->newest, record) ? s->newest.bytes : begin_over_before(k, s, record, apart);
}

void assay_reference_cache_end(assay_reference_cache *k, assay_reference_key key, const assay_entry *entry,
                               const assay_record *record)
{
    slot *s = find_slot(k, key);
    if (!s)
        return;
    if (k->is_coming) {
        drop(k, &s->newest);
        s->newest = k->coming;
        k->coming = (assay_cached_reference){0};
        k->is_coming = false;
    }
    if (!s->is_passed_by)
        drop(k, &s->before);
    set(&s->newest, entry, record);
}

void assay_reference_cache_set_twin(assay_reference_cache *k, assay_reference_key key, const assay_entry *entry,
                                    uint32_t worker, bool passed_by)
{
    slot *s = slot_for(k, key);
    if (!s)
        return;
    assay_reference_cache_evict(k, key);
    s->twin[0].entry = entry;
    s->twin[0].worker = worker;
    if (!passed_by)
        s->twin[1] = s->twin[0];
}

bool assay_reference_cache_is_twin(const assay_reference_cache *k, assay_reference_key key, const assay_entry *entry,
                                   uint32_t worker)
{
    const slot *s = find_slot(k, key);
    bool is = false;
    for (size_t i = 0; s && entry && i < sizeof s->twin / sizeof *s->twin; i++)
        is = is || (s->twin[i].entry == entry && s->twin[i].worker == worker);
    return is;
}
