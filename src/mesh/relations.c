/* relations.c - see relations.h. */
#include "mesh/relations.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"

typedef struct keyed {
    uint64_t key;
    uint32_t worker;
} keyed;

ASSAY_ORDER_BY(compare_keyed, keyed, key, worker)

/* Finds for each worker the lowest one that agrees with it on all axes of the mesh but those that are left out (a bit
 * each). NULL without memory. */
static uint32_t *lowest_alike(const assay_topology *t, uint32_t mesh, unsigned left_out)
{
    const uint32_t workers = t->workers;
    keyed *list = assay_alloc(((size_t)workers + 1) * sizeof *list);
    uint32_t *lowest = assay_alloc(((size_t)workers + 1) * sizeof *lowest), first = 0;
    for (uint32_t w = 0; list && lowest && w < workers; w++) {
        list[w] = (keyed){0, w};
        for (uint32_t a = 0; a < t->mesh[mesh].axes; a++)
            if (!(left_out >> a & 1))
                list[w].key = list[w].key * t->mesh[mesh].axis[a].size + assay_topology_at(t, w, mesh, a);
    }
    if (!list || !lowest) {
        free(list);
        free(lowest);
        return NULL;
    }
    qsort(list, workers, sizeof *list, compare_keyed);
    for (uint32_t i = 0; i < workers; i++) {
        if (i == 0 || list[i].key != list[i - 1].key)
            first = list[i].worker;
        lowest[list[i].worker] = first;
    }
    free(list);
    return lowest;
}

/* Finds the axes of the kinds, a bit each. */
static unsigned axes_of_kinds(const assay_relation_class *c, uint32_t axes, unsigned kinds)
{
    unsigned found = 0;
    for (uint32_t a = 0; a < axes; a++)
        found |= (kinds >> c->kind[a] & 1) << a;
    return found;
}

static assay_relation_class class_like(const assay_topology *t, const assay_layout *layout)
{
    assay_relation_class c = {.mesh = layout->mesh, .split = assay_layout_is_split(layout, t)};
    uint64_t copies = 1;
    for (uint32_t a = 0; a < t->mesh[layout->mesh].axes; a++) {
        const assay_axis_kind kind = assay_layout_kind(layout, t, a);
        c.kind[a] = (uint8_t)kind;
        c.sum = c.sum || kind == ASSAY_AXIS_SUM;
        c.unknown = c.unknown || kind == ASSAY_AXIS_UNKNOWN || kind == ASSAY_AXIS_PEERS;
        if (kind == ASSAY_AXIS_REPLICATE || kind == ASSAY_AXIS_OWN)
            copies *= t->mesh[layout->mesh].axis[a].size;
    }
    c.single = c.split && copies == 1;
    return c;
}

/* Finds the number of the class of a layout, added when it is new; ASSAY_NO_ID without memory. */
static uint32_t class_of(assay_relations *r, const assay_topology *t, const assay_layout *layout)
{
    assay_relation_class c = class_like(t, layout);
    /* Tensors are many and their classes few: the kinds of the axes tell everything else that a class has. */
    for (uint32_t i = 0; i < r->count; i++)
        if (r->list[i].mesh == c.mesh && memcmp(r->list[i].kind, c.kind, sizeof c.kind) == 0)
            return i;
    assay_relation_class *grown = assay_realloc_array(r->list, (size_t)r->count + 1, sizeof *grown);
    if (!grown)
        return ASSAY_NO_ID;
    r->list = grown;
    const uint32_t axes = t->mesh[c.mesh].axes;
    const unsigned copies = 1u << ASSAY_AXIS_REPLICATE;
    c.replicas = lowest_alike(t, c.mesh, axes_of_kinds(&c, axes, copies));
    c.peers = lowest_alike(t, c.mesh, axes_of_kinds(&c, axes, copies | 1u << ASSAY_AXIS_PEERS));
    c.relatives = lowest_alike(t, c.mesh, axes_of_kinds(&c, axes, 1u << ASSAY_AXIS_OWN));
    c.copy = lowest_alike(t, c.mesh, axes_of_kinds(&c, axes, 1u << ASSAY_AXIS_SPLIT | 1u << ASSAY_AXIS_FLAT));
    grown[r->count++] = c;
    return c.replicas && c.peers && c.relatives && c.copy ? r->count - 1 : ASSAY_NO_ID;
}

/* Finds the innermost axis of the first mesh, as a bit; axes of one place lay nobody out. */
static unsigned innermost_axis(const assay_topology *t)
{
    uint32_t a = t->mesh[0].axes;
    while (a > 0 && t->mesh[0].axis[a - 1].size == 1)
        a--;
    return a > 0 ? 1u << (a - 1) : 0;
}

int assay_relations_new(const assay_topology *t, const assay_layouts *layouts, const assay_dict *names,
                        assay_relations **out)
{
    assay_relations *r = assay_alloc_zeroed(1, sizeof *r);
    ASSAY_HAVE(r);
    r->tensors = assay_dict_count(names);
    r->workers = t->workers;
    r->class_of = assay_alloc_zeroed((size_t)r->tensors + 1, sizeof *r->class_of);
    r->group = lowest_alike(t, 0, innermost_axis(t));
    bool have = r->class_of && r->group;
    for (uint32_t i = 0; i < r->tensors && have; i++) {
        size_t length;
        const char *name = assay_dict_name(names, i, &length);
        const uint32_t id = assay_dict_find(layouts->names, name, length);
        const assay_layout nothing = {0};
        r->class_of[i] = class_of(r, t, id == ASSAY_NO_ID ? &nothing : &layouts->list[id]);
        have = r->class_of[i] != ASSAY_NO_ID;
    }
    if (!have) {
        assay_relations_free(r);
        return ASSAY_ENOMEM;
    }
    *out = r;
    return ASSAY_OK;
}

void assay_relations_free(assay_relations *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; i < r->count; i++) {
        free(r->list[i].replicas);
        free(r->list[i].peers);
        free(r->list[i].relatives);
        free(r->list[i].copy);
    }
    free(r->list);
    free(r->group);
    free(r->class_of);
    free(r);
}

static void put_numbers(const uint32_t *list, uint32_t count, assay_buf *out)
{
    for (uint32_t i = 0; i < count; i++)
        assay_put_u32(out, list[i]);
}

void assay_relations_pack(const assay_relations *r, assay_buf *out)
{
    assay_put_u8(out, r != NULL);
    if (!r)
        return;
    assay_put_u32(out, r->count);
    for (uint32_t i = 0; i < r->count; i++) {
        const assay_relation_class *c = &r->list[i];
        assay_put_u8(out, (uint8_t)(c->split | c->sum << 1 | c->unknown << 2 | c->single << 3));
        assay_put_u32(out, c->mesh);
        assay_put_bytes(out, c->kind, sizeof c->kind);
        put_numbers(c->replicas, r->workers, out);
        put_numbers(c->peers, r->workers, out);
        put_numbers(c->relatives, r->workers, out);
        put_numbers(c->copy, r->workers, out);
    }
    put_numbers(r->class_of, r->tensors, out);
    put_numbers(r->group, r->workers, out);
}

/* Reads so many numbers below `end`; NULL without memory, or where one is not, which *sound says. */
static uint32_t *get_numbers(assay_cursor *in, uint32_t count, uint32_t end, bool *sound)
{
    *sound = *sound && assay_cursor_left(in) / 4 >= count;
    uint32_t *list = *sound ? assay_alloc(((size_t)count + 1) * sizeof *list) : NULL;
    for (uint32_t i = 0; list && i < count; i++) {
        list[i] = assay_get_u32(in);
        *sound = *sound && list[i] < end;
    }
    return list;
}

/* Bytes come from another rank: what is an index is checked against its list. */
static int get_class(assay_cursor *in, uint32_t workers, assay_relation_class *c)
{
    bool sound = true;
    const uint8_t flags = assay_get_u8(in);
    *c = (assay_relation_class){.split = flags & 1, .sum = flags & 2, .unknown = flags & 4, .single = flags & 8};
    c->mesh = assay_get_u32(in);
    const uint8_t *kind = assay_get_bytes(in, sizeof c->kind);
    if (kind)
        memcpy(c->kind, kind, sizeof c->kind);
    c->replicas = get_numbers(in, workers, workers, &sound);
    c->peers = get_numbers(in, workers, workers, &sound);
    c->relatives = get_numbers(in, workers, workers, &sound);
    c->copy = get_numbers(in, workers, workers, &sound);
    const bool have = c->replicas && c->peers && c->relatives && c->copy;
    return !sound || in->failed ? ASSAY_EFORMAT : have ? ASSAY_OK : ASSAY_ENOMEM;
}

int assay_relations_unpack(assay_cursor *in, uint32_t tensors, uint32_t workers, assay_relations **out)
{
    if (assay_get_u8(in) == 0)
        return in->failed ? ASSAY_EFORMAT : ASSAY_OK;
    assay_relations *r = assay_alloc_zeroed(1, sizeof *r);
    const uint32_t count = (uint32_t)assay_get_u32(in);
    ASSAY_HAVE(r);
    *r = (assay_relations){.tensors = tensors, .workers = workers};
    int status = in->failed || count > assay_cursor_left(in) ? ASSAY_EFORMAT : ASSAY_OK;
    r->list = status == ASSAY_OK ? assay_alloc_zeroed((size_t)count + 1, sizeof *r->list) : NULL;
    if (status == ASSAY_OK && !r->list)
        status = ASSAY_ENOMEM;
    for (; r->count < count && status == ASSAY_OK; r->count++)
        status = get_class(in, workers, &r->list[r->count]);
    bool sound = status == ASSAY_OK;
    r->class_of = get_numbers(in, tensors, count, &sound);
    r->group = get_numbers(in, workers, workers, &sound);
    if (status == ASSAY_OK && !sound)
        status = ASSAY_EFORMAT;
    if (status == ASSAY_OK && !(r->class_of && r->group))
        status = ASSAY_ENOMEM;
    if (status == ASSAY_OK)
        *out = r;
    else
        assay_relations_free(r);
    return status;
}
