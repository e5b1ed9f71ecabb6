/* index.c - reads the index of units: from the storage's tables where it has some, else as their format says. */
#include "trial/index.h"

#include <assay/rule.h>

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "trial/trial_format.h"
#include "store/index_cache.h"
#include "trial/shard.h"
#include "trial/read_budget.h"

/* ---- what a unit has named ---- */

static int grow_marks(assay_index_marks *m, size_t room)
{
    uint64_t *grown = assay_realloc_array(m->mark, room, sizeof *grown);
    ASSAY_HAVE(grown);
    memset(grown + m->room, 0, (room - m->room) * sizeof *grown);
    m->mark = grown;
    m->room = room;
    return ASSAY_OK;
}

int assay_index_marks_reserve(assay_index_marks *m, size_t tensors)
{
    return tensors > m->room ? grow_marks(m, tensors) : ASSAY_OK;
}

/* A mark is (serial << 32 | kinds): going to the next unit raises the serial instead of clearing all marks. */
int assay_index_marks_set(assay_index_marks *m, uint32_t tensor, int kind)
{
    /* By a quarter only: zeroing makes all of it resident. */
    if (tensor >= m->room && grow_marks(m, ((size_t)tensor + 64) / 4 * 5) != ASSAY_OK)
        return ASSAY_ENOMEM;
    uint64_t *mark = &m->mark[tensor], bit = (uint64_t)1 << kind;
    if (*mark >> 32 != m->serial)
        *mark = (uint64_t)m->serial << 32;
    if (*mark & bit)
        return 1;
    *mark |= bit;
    return 0;
}

void assay_index_marks_release(assay_index_marks *m)
{
    free(m->mark);
    *m = (assay_index_marks){0};
}

/* ---- from tables ---- */

/* The rows of a storage, and what was made of them so far. */
typedef struct cached {
    /* Untrusted: the tables of a packed file. */
    const assay_index_cache *cache; /* NULL: the storage has none */
    assay_store *store;
    assay_index_marks marks;
    uint32_t *id; /* by the storage's number of a tensor: that of the dictionary */
    size_t ids;
    assay_dict *dict;
    assay_shard *shard;
    assay_problems *problems;
} cached;

/* The id of a tensor that the storage has numbered. 1: it has no such number. */
static int number_tensor(cached *c, uint32_t number, uint32_t *tensor)
{
    size_t length = 0;
    const char *name = c->cache->tensor(c->store, number, &length);
    if (!name)
        return 1;
    if (number >= c->ids) {
        size_t room = ((size_t)number + 64) * 2;
        uint32_t *grown = assay_realloc_array(c->id, room, sizeof *grown);
        ASSAY_HAVE(grown);
        memset(grown + c->ids, 0xff, (room - c->ids) * sizeof *grown);
        c->id = grown;
        c->ids = room;
    }
    if (c->id[number] == ASSAY_NO_ID)
        c->id[number] = assay_dict_add(c->dict, name, length);
    *tensor = c->id[number];
    return *tensor == ASSAY_NO_ID ? ASSAY_ENOMEM : 0;
}

/* record_least and record_most: what the unit's format can be, so that a damaged length is not read at all. */
static bool is_wrong(const assay_cached_entry *row, const assay_trial_format *format)
{
    return row->offset > INT64_MAX || row->length < format->record_least || row->length > INT64_MAX - row->offset ||
           (format->record_most > 0 && row->length > format->record_most) || row->kind >= ASSAY_KINDS;
}

/* Adds a part of the tables. 1: a row is wrong. */
static int add_part(cached *c, const assay_unit *unit, const assay_cached_part *from)
{
    assay_shard *s = c->shard;
    const assay_trial_format *format = assay_format_of(unit->format);
    assay_part part = {.step = unit->step,
                       .worker = unit->worker,
                       .format = unit->format,
                       .mode_step = from->mode_step,
                       .mode = (uint8_t)from->mode,
                       .first = (uint32_t)s->entry_count,
                       .first_shape = (uint32_t)s->shape_count};
    int status =
        from->mode <= ASSAY_MODE_NONE || from->mode >= ASSAY_MODES ? 1 : assay_shard_reserve(s, 1, from->count, 0);
    assay_index_marks_next(&c->marks);
    for (; status == ASSAY_OK && part.count < from->count; part.count++) {
        const assay_cached_entry *row = &from->entries[part.count];
        assay_entry *to = &s->entries[part.first + part.count];
        /* Offsets have to ascend: everything behind this reads forward. */
        if (is_wrong(row, format) || (part.count > 0 && to[-1].offset > row->offset))
            return 1;
        *to = (assay_entry){.offset = row->offset, .length = row->length, .kind = row->kind & 0xff};
        status = number_tensor(c, row->tensor, &to->tensor);
        ASSAY_THEN(status, assay_index_marks_set(&c->marks, to->tensor, to->kind));
    }
    ASSAY_TRY(status);
    s->entry_count += part.count;
    s->parts[s->count++] = part;
    return ASSAY_OK;
}

/* Damage of one unit is named, and the others are read. */
static int read_cached(cached *c, const assay_catalog *catalog, const assay_unit *unit)
{
    assay_cached_part part;
    assay_error why = {{0}};
    char path[ASSAY_PATH_ROOM];
    int status = c->cache->part(c->store, unit->step, unit->worker, &part, &why);
    ASSAY_THEN(status, add_part(c, unit, &part));
    if (status == 1)
        assay_fail(&why, ASSAY_EFORMAT, "%s: the packed index is damaged at step %lld; pack the trial again",
                   assay_store_location(c->store), (long long)unit->step);
    if (status == ASSAY_OK || status == ASSAY_ENOMEM)
        return status;
    assay_unit_path(catalog, unit, path, sizeof path);
    assay_problems_add(c->problems, ASSAY_PROBLEM_INDEX, unit->step, path, -1,
                       "%s; this worker's step is not evaluated", why.text);
    return ASSAY_OK;
}

/* Packing asks this: what needs notes or shapes is not kept in tables. */
bool assay_part_fits_cache(const assay_part *part)
{
    return assay_format_of(part->format)->has_index_tables && !part->files && part->shapes == 0;
}

static bool has_cached(const cached *c, const assay_unit *unit)
{
    return c->cache && assay_format_of(unit->format)->has_index_tables &&
           c->cache->has(c->store, unit->step, unit->worker);
}

int assay_index_read(assay_store *store, const assay_catalog *catalog, const assay_unit *units, size_t count,
                     const assay_index_sink *into)
{
    assay_shard *shard = into->shard;
    cached c = {.cache = assay_store_index_cache(store),
                .store = store,
                .dict = into->tensors,
                .shard = shard,
                .problems = into->problems};
    int status = ASSAY_OK;
    const size_t before = shard->count;
    for (size_t i = 0, next; status == ASSAY_OK && i < count; i = next) {
        next = i + 1;
        if (has_cached(&c, &units[i])) {
            status = read_cached(&c, catalog, &units[i]);
            continue;
        }
        /* Runs of units of one format go to it at once: it may read one file for all of them. */
        while (next < count && units[next].format == units[i].format && !has_cached(&c, &units[next]))
            next++;
        status = assay_format_of(units[i].format)->index(store, catalog, units + i, next - i, into);
    }
    /* Until steps are aligned, a part's own step is its step. */
    for (size_t p = before; p < shard->count; p++)
        shard->parts[p].own_step = shard->parts[p].step;
    if (status == ASSAY_OK)
        assay_shard_limit_work(shard, before, store, catalog, into->problems);
    /* Formats name what a step lacks themselves; what one of them left is not lost. */
    assay_problems_take_notes(into->problems, store, -1, "what lies there may be missing from this analysis");
    assay_index_marks_release(&c.marks);
    free(c.id);
    return status;
}
