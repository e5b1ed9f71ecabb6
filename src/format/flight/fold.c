/* fold.c - makes the row of a dump (trial/flight_row.h).
 *
 *   1. Entries of one group, kind and number are one operation; where a group's numbers fall, what it had before is
 *      forgotten.
 *   2. Of each group the newest completed operations and those under way are kept, and what was recorded around the
 *      first one under way.
 *   3. pg_status is paired with the groups' names where that can be proved. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/path.h"
#include "base/search.h"
#include "format/flight/flight.h"

enum { NONE = UINT32_MAX };

typedef struct recorded { /* one operation */
    int64_t number;
    uint32_t group;       /* into dump.config */
    uint32_t first, last; /* entries */
    uint32_t count;
    uint32_t before; /* the group's operation before, of the same kind; NONE */
    bool is_p2p, forgotten;
} recorded;

typedef struct fold {
    const assay_flight_dump *d;
    assay_flight_row *row;
    uint32_t *config_of; /* by text: its group; NONE */
    uint32_t *described; /* by text: how many groups have it as description */
    uint32_t *next;      /* by entry: the next one of its operation */
    recorded *op;        /* in the order of their first entries */
    uint32_t ops;
    uint32_t *latest[2]; /* by group: its latest collective, point-to-point operation */
    assay_dict *signatures, *stacks;
    size_t signature_room, stack_room;
    uint32_t effort; /* that may still be spent on what was recorded around operations */
    bool no_memory;
} fold;

/* Each group under way may ask for all others, and a small file may have many: an operation looked at, or compared with
 * one that is known, costs 1, and what is kept of it as much as LOOKS. A job's dump asks for a few millions at most. */
enum { EFFORT = 1 << 24, LOOKS = 256 };

static bool spend(fold *f, uint32_t effort)
{
    const bool enough = f->effort >= effort;
    f->effort = enough ? f->effort - effort : 0;
    return enough;
}

static char *copy_text(fold *f, uint32_t text)
{
    char *copy = text == ASSAY_NO_ID ? NULL : assay_copy_text(assay_dict_name(f->d->texts, text, NULL));
    f->no_memory = f->no_memory || (!copy && text != ASSAY_NO_ID);
    return copy;
}

static void *add(fold *f, void *list, uint32_t *count, size_t *room, size_t size)
{
    size_t n = *count;
    void *item = assay_vec_add(list, &n, room, size);
    *count = (uint32_t)n;
    f->no_memory = f->no_memory || !item;
    return item;
}

/* ---- operations ---- */

/* The operation's name, direction and positions, out of "nccl:send 0->1". */
typedef struct called {
    assay_flight_text operation;
    bool sends, receives;
    int64_t from, to; /* positions; -1 */
} called;

static called call_of(const fold *f, uint32_t name)
{
    size_t length = 0;
    const char *text = assay_dict_name(f->d->texts, name, &length), *end = text + length;
    const char *colon = memchr(text, ':', length);
    const char *p = colon ? colon + 1 : text;
    called c = {.operation.bytes = p, .from = -1, .to = -1};
    while (p < end && *p != ' ')
        p++;
    c.operation.length = (size_t)(p - c.operation.bytes);
    c.sends = assay_flight_is(c.operation, "send");
    c.receives = assay_flight_is(c.operation, "recv");
    while (p < end && *p == ' ')
        p++;
    const char *arrow = p;
    while (arrow < end && *arrow != '-' && *arrow != '<')
        arrow++;
    if (end - arrow >= 2) {
        const bool left = arrow[0] == '<' && arrow[1] == '-';
        int64_t a = -1, b = -1;
        if ((left || (arrow[0] == '-' && arrow[1] == '>')) &&
            assay_flight_digits((assay_flight_text){p, (size_t)(arrow - p)}, &a) &&
            assay_flight_digits((assay_flight_text){arrow + 2, (size_t)(end - arrow - 2)}, &b)) {
            c.from = left ? b : a;
            c.to = left ? a : b;
        }
    }
    return c;
}

static bool ends_coalesced(assay_flight_text operation)
{
    return assay_path_ends_n(operation.bytes, operation.length, "coalesced");
}

static uint32_t config_of(const fold *f, uint32_t text)
{
    return text < assay_dict_count(f->d->texts) ? f->config_of[text] : NONE;
}

static void forget(fold *f, uint32_t group)
{
    for (int kind = 0; kind < 2; kind++) {
        for (uint32_t i = f->latest[kind][group]; i != NONE && !f->op[i].forgotten; i = f->op[i].before)
            f->op[i].forgotten = true;
        f->latest[kind][group] = NONE;
    }
}

static void find_operations(fold *f)
{
    const assay_flight_dump *d = f->d;
    for (uint32_t i = 0; i < d->entry.count; i++) {
        const assay_flight_entry *e = &d->entry.list[i];
        const uint32_t group = config_of(f, e->group);
        const int64_t number = e->is_p2p ? e->p2p : e->collective;
        f->next[i] = NONE;
        if (group == NONE) {
            f->row->unread++;
            continue;
        }
        f->row->entries++;
        uint32_t *latest = &f->latest[e->is_p2p][group];
        if (*latest != NONE && number == f->op[*latest].number) {
            recorded *o = &f->op[*latest];
            f->next[o->last] = i;
            o->last = i;
            o->count++;
            continue;
        }
        if (*latest != NONE && number < f->op[*latest].number)
            forget(f, group);
        f->op[f->ops] = (recorded){.number = number,
                                   .group = group,
                                   .first = i,
                                   .last = i,
                                   .count = 1,
                                   .before = *latest,
                                   .is_p2p = e->is_p2p};
        *latest = f->ops++;
    }
}

static bool is_finished(const fold *f, const recorded *o)
{
    return f->d->entry.list[o->last].state == ASSAY_FLIGHT_COMPLETED;
}

static assay_flight_text name_of(const fold *f, const recorded *o)
{
    return call_of(f, f->d->entry.list[o->last].name).operation;
}

/* ---- signatures and stacks ---- */

static char *join_types(fold *f, const uint8_t *ids, uint32_t count)
{
    assay_buf text = ASSAY_BUF(SIZE_MAX);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = 0;
        memcpy(&id, ids + i * sizeof id, sizeof id);
        assay_put_format(&text, "%s%s", i ? "," : "", assay_dict_name(f->d->texts, id, NULL));
    }
    assay_put_u8(&text, 0);
    if (assay_buf_status(&text) == ASSAY_OK)
        return (char *)text.data;
    assay_buf_release(&text);
    f->no_memory = true;
    return NULL;
}

/* Takes a part apart, of which container/flight_dump.c wrote the key. */
static void put_part(fold *f, uint32_t id, assay_flight_part *out)
{
    size_t length = 0;
    const uint8_t *key = (const uint8_t *)assay_dict_name(f->d->parts, id, &length);
    const uint8_t *sizes[2];
    uint32_t operation = 0, counts[2][2];
    memcpy(&operation, key, sizeof operation);
    key += sizeof operation;
    *out = (assay_flight_part){.name = copy_text(f, operation)};
    for (int side = 0; side < 2; side++) {
        memcpy(counts[side], key, sizeof counts[side]);
        sizes[side] = key + sizeof counts[side];
        key = sizes[side] + counts[side][0] * sizeof(int64_t);
        char *types = join_types(f, key, counts[side][1]);
        *(side ? &out->output_types : &out->input_types) = types;
        key += counts[side][1] * sizeof(uint32_t);
    }
    out->inputs = counts[0][0];
    out->sizes = assay_alloc(((size_t)counts[0][0] + counts[1][0] + 1) * sizeof *out->sizes);
    f->no_memory = f->no_memory || !out->sizes;
    if (!out->sizes)
        return;
    out->size_count = counts[0][0] + counts[1][0];
    memcpy(out->sizes, sizes[0], counts[0][0] * sizeof *out->sizes);
    memcpy(out->sizes + counts[0][0], sizes[1], counts[1][0] * sizeof *out->sizes);
}

/* An end of a region without sizes says nothing about what was called. */
static bool is_compared(const fold *f, uint32_t entry)
{
    size_t length = 0;
    const uint8_t *key = (const uint8_t *)assay_dict_name(f->d->parts, f->d->entry.list[entry].part, &length);
    uint32_t sizes = 0;
    memcpy(&sizes, key + sizeof(uint32_t), sizeof sizes);
    return sizes > 0 || !ends_coalesced(call_of(f, f->d->entry.list[entry].name).operation);
}

static uint32_t put_signature(fold *f, const recorded *o)
{
    const assay_flight_dump *d = f->d;
    assay_buf key = ASSAY_BUF(SIZE_MAX);
    assay_put_u32(&key, d->entry.list[o->last].name);
    for (uint32_t i = o->first; i != NONE; i = f->next[i])
        if (is_compared(f, i))
            assay_put_u32(&key, d->entry.list[i].part);
    const uint32_t known = assay_dict_count(f->signatures);
    const uint32_t id = assay_buf_status(&key) == ASSAY_OK
                            ? assay_dict_add(f->signatures, (const char *)key.data, key.size)
                            : ASSAY_NO_ID;
    assay_buf_release(&key);
    f->no_memory = f->no_memory || id == ASSAY_NO_ID;
    if (id == ASSAY_NO_ID || id < known)
        return id;
    assay_flight_row *row = f->row;
    assay_flight_signature *s = add(f, &row->signature, &row->signatures, &f->signature_room, sizeof *s);
    if (!s)
        return id;
    const assay_flight_text name = name_of(f, o);
    s->name = assay_flight_copy(name);
    f->no_memory = f->no_memory || !s->name;
    size_t room = 0;
    for (uint32_t i = o->first; i != NONE; i = f->next[i]) {
        if (!is_compared(f, i))
            continue;
        assay_flight_part *part = add(f, &s->part, &s->parts, &room, sizeof *part);
        if (part)
            put_part(f, d->entry.list[i].part, part);
    }
    return id;
}

static uint32_t put_stack(fold *f, uint32_t stack)
{
    if (stack == ASSAY_NO_ID)
        return ASSAY_FLIGHT_NO_STACK;
    const uint32_t known = assay_dict_count(f->stacks);
    const uint32_t id = assay_dict_add(f->stacks, (const char *)&stack, sizeof stack);
    f->no_memory = f->no_memory || id == ASSAY_NO_ID;
    if (id == ASSAY_NO_ID || id < known)
        return id == ASSAY_NO_ID ? ASSAY_FLIGHT_NO_STACK : id;
    assay_flight_row *row = f->row;
    assay_flight_stack *s = add(f, &row->stack, &row->stacks, &f->stack_room, sizeof *s);
    if (s)
        s->frames = assay_copy_text(assay_dict_name(f->d->stacks, stack, NULL));
    f->no_memory = f->no_memory || (s && !s->frames);
    return id;
}

static bool is_batch(const fold *f, const recorded *o)
{
    return o->is_p2p && (o->count > 1 || ends_coalesced(name_of(f, o)));
}

static bool is_open(const fold *f, const recorded *o)
{
    return o->count > 1 && !ends_coalesced(name_of(f, o));
}

static void put_item(fold *f, const recorded *o, bool with_stack, assay_flight_item *to)
{
    const assay_flight_entry *last = &f->d->entry.list[o->last];
    /* The ring may have lost the first calls of the oldest region: it is not compared, as an open one. */
    const bool cut = o->first == 0 && o->count > 1 && !f->row->full;
    *to = (assay_flight_item){.number = o->number,
                              .place = o->first,
                              .signature = put_signature(f, o),
                              .stack =
                                  with_stack ? put_stack(f, f->d->entry.list[o->first].stack) : ASSAY_FLIGHT_NO_STACK,
                              .state = last->state,
                              .open = is_open(f, o) || (cut && last->state == ASSAY_FLIGHT_COMPLETED),
                              .batch = is_batch(f, o),
                              .completed = last->state == ASSAY_FLIGHT_COMPLETED ? last->completed : 0};
}

/* ---- groups ---- */

typedef struct listed { /* a group's operations of one kind, in order */
    const uint32_t *op;
    uint32_t count;
} listed;

/* The ranks of a group in ascending order: as they stand, or sorted into *copy, which the caller frees. */
static const uint32_t *ascending(fold *f, const assay_flight_config *config, uint32_t **copy)
{
    const uint32_t *rank = f->d->ranks.list + config->first;
    uint32_t i = 1;
    *copy = NULL;
    while (i < config->count && rank[i - 1] < rank[i])
        i++;
    if (i >= config->count)
        return rank;
    *copy = assay_alloc(config->count * sizeof **copy);
    f->no_memory = f->no_memory || !*copy;
    if (*copy) {
        memcpy(*copy, rank, config->count * sizeof **copy);
        qsort(*copy, config->count, sizeof **copy, assay_order_u32);
    }
    return *copy;
}

static void put_members(fold *f, const assay_flight_config *config, assay_flight_group *g)
{
    uint32_t *copy = NULL;
    const uint32_t *rank = ascending(f, config, &copy);
    size_t room = 0;
    for (uint32_t i = 0; i < config->count && rank; i++) {
        assay_flight_run *last = g->runs ? &g->run[g->runs - 1] : NULL;
        if (i > 0 && rank[i] == rank[i - 1])
            continue;
        if (last && last->count == 1 && rank[i] > last->first) {
            last->stride = rank[i] - last->first;
            last->count = 2;
        } else if (last && last->first + (uint64_t)last->stride * last->count == rank[i]) {
            last->count++;
        } else if ((last = add(f, &g->run, &g->runs, &room, sizeof *last)) != NULL) {
            *last = (assay_flight_run){rank[i], 1, 1};
        }
    }
    free(copy);
}

/* What was recorded around the first collective under way. */
static void put_surroundings(fold *f, const recorded *o, assay_flight_group *g)
{
    enum { LOOK_BACK = 1 << 16, OPERATIONS_MOST = 256 };
    const uint32_t from = o->before == NONE ? 0 : f->op[o->before].first;
    size_t room = 0, before_room = 0;
    g->follows = o->before != NONE;
    const uint32_t at = (uint32_t)(o - f->op);
    const uint32_t least = at > LOOK_BACK ? at - LOOK_BACK : 0;
    for (uint32_t i = at; g->follows && i-- > 0 && f->op[i].first > from;) {
        const recorded *other = &f->op[i];
        if (other->forgotten)
            continue;
        if (i < least || g->sinces == OPERATIONS_MOST || !spend(f, 1 + g->sinces)) {
            g->follows = false; /* too much for a comparison: the numbers of other groups are left */
            break;
        }
        const assay_flight_text name = name_of(f, other);
        const char *description = assay_dict_name(f->d->texts, f->d->config.list[other->group].description, NULL);
        uint32_t k = 0;
        while (k < g->sinces &&
               (strcmp(g->since[k].description, description) != 0 || !assay_flight_is(name, g->since[k].operation)))
            k++;
        if (k == g->sinces && !spend(f, LOOKS)) {
            g->follows = false;
            break;
        }
        assay_flight_count *c = k < g->sinces ? &g->since[k] : add(f, &g->since, &g->sinces, &room, sizeof *c);
        if (!c)
            return;
        if (k + 1 == g->sinces && c->count == 0) {
            c->description = assay_copy_text(description);
            c->operation = assay_flight_copy(name);
            if (!c->description || !c->operation) {
                f->no_memory = true;
                return;
            }
        }
        c->count++;
    }
    bool *seen = assay_alloc_zeroed(f->d->config.count + 1, sizeof *seen);
    f->no_memory = f->no_memory || !seen;
    size_t left = f->d->config.count;
    for (uint32_t i = at; seen && left > 0 && i-- > least && spend(f, 1);) {
        const recorded *other = &f->op[i];
        if (other->forgotten || other->is_p2p || other->group == o->group || seen[other->group])
            continue;
        seen[other->group] = true;
        left--;
        const uint32_t description = f->d->config.list[other->group].description;
        assay_flight_count *c = f->described[description] == 1 && spend(f, LOOKS)
                                    ? add(f, &g->before, &g->befores, &before_room, sizeof *c)
                                    : NULL;
        if (!c)
            continue;
        c->description = copy_text(f, description);
        c->count = other->number;
    }
    free(seen);
}

static bool awaits_end(const fold *f, const assay_flight_group *g, const recorded *o)
{
    return !is_finished(f, o) && !(g->has_status && !g->any_p2p && o->number <= g->status_completed);
}

static void put_collectives(fold *f, listed list, assay_flight_group *g)
{
    uint32_t finished = 0, unfinished = 0, n = 0, u = 0, a = 0;
    size_t room = 0;
    bool first = true;
    for (uint32_t i = 0; i < list.count; i++) {
        const recorded *o = &f->op[list.op[i]];
        finished += is_finished(f, o);
        unfinished += !is_finished(f, o);
        g->recorded = o->number > g->recorded ? o->number : g->recorded;
    }
    for (uint32_t i = 0; i < list.count; i++) {
        const recorded *o = &f->op[list.op[i]];
        bool kept = false;
        if (is_finished(f, o)) {
            kept = n++ + ASSAY_FLIGHT_COMPLETED_KEPT >= finished;
        } else {
            const bool waits = awaits_end(f, g, o);
            kept = u < ASSAY_FLIGHT_UNFINISHED_KEPT || u + ASSAY_FLIGHT_UNFINISHED_KEPT >= unfinished ||
                   (waits && a < ASSAY_FLIGHT_UNFINISHED_KEPT);
            u++;
            a += waits;
        }
        assay_flight_item *item = kept ? add(f, &g->item, &g->items, &room, sizeof *item) : NULL;
        if (item)
            put_item(f, o, !is_finished(f, o), item);
        if (awaits_end(f, g, o) && first) {
            put_surroundings(f, o, g);
            first = false;
        }
    }
    f->row->pending += unfinished;
}

static assay_flight_peer *peer_of(fold *f, assay_flight_group *g, uint32_t rank, size_t *room)
{
    uint32_t i = 0;
    while (i < g->peers && g->peer[i].peer != rank)
        i++;
    if (i < g->peers)
        return &g->peer[i];
    assay_flight_peer *peer = add(f, &g->peer, &g->peers, room, sizeof *peer);
    if (peer)
        peer->peer = rank;
    return peer;
}

static void put_p2p(fold *f, listed list, const assay_flight_config *config, assay_flight_group *g)
{
    size_t room = 0, half_room = 0, peer_room = 0;
    for (uint32_t i = 0; i < list.count; i++) {
        const recorded *o = &f->op[list.op[i]];
        const bool finished = is_finished(f, o);
        uint32_t item = NONE;
        g->batches = g->batches || ends_coalesced(name_of(f, o));
        f->row->pending += !finished;
        for (uint32_t e = o->first; e != NONE; e = f->next[e]) {
            const called c = call_of(f, f->d->entry.list[e].name);
            const int64_t position = c.sends ? c.to : c.from;
            if ((!c.sends && !c.receives) || position < 0 || position >= config->count)
                continue; /* the end of a batch, or a peer that does not exist */
            assay_flight_peer *peer = peer_of(f, g, f->d->ranks.list[config->first + position], &peer_room);
            if (!peer)
                return;
            const uint32_t index = c.sends ? peer->sends++ : peer->recvs++;
            uint32_t under_way = 0;
            for (uint32_t k = g->halves; !finished && k-- > 0 && under_way < ASSAY_FLIGHT_UNFINISHED_KEPT;)
                under_way += g->half[k].peer == peer->peer && g->half[k].sends == c.sends;
            if (finished || under_way >= ASSAY_FLIGHT_UNFINISHED_KEPT)
                continue;
            if (item == NONE) {
                item = g->p2ps;
                assay_flight_item *to = add(f, &g->p2p, &g->p2ps, &room, sizeof *to);
                if (!to)
                    return;
                put_item(f, o, true, to);
            }
            assay_flight_half *half = add(f, &g->half, &g->halves, &half_room, sizeof *half);
            if (half)
                *half = (assay_flight_half){peer->peer, index, item, c.sends};
        }
    }
}

/* ---- status ---- */

ASSAY_ORDER_BY(compare_status, assay_flight_status, pg_id)

typedef struct numbered { /* a group whose name is a decimal number */
    int64_t name;
    uint32_t config;
} numbered;

ASSAY_ORDER_BY(compare_numbered, numbered, name)

static uint32_t status_at(const assay_flight_status *list, uint32_t count, int64_t id)
{
    uint32_t low = 0;
    ASSAY_SEARCH(low, count, list[low].pg_id < id);
    return low < count && list[low].pg_id == id ? low : NONE;
}

/* What the entries prove: paired[status] = group. An id with entries of two groups proves nothing. */
static void pair_by_entries(const fold *f, const assay_flight_status *list, uint32_t count, uint32_t *paired)
{
    bool *twice = assay_alloc_zeroed(count + (size_t)1, sizeof *twice);
    for (size_t i = 0; i < f->d->entry.count && twice; i++) {
        const assay_flight_entry *e = &f->d->entry.list[i];
        const uint32_t group = config_of(f, e->group), s = e->has_pg_id ? status_at(list, count, e->pg_id) : NONE;
        if (group == NONE || s == NONE)
            continue;
        twice[s] = twice[s] || (paired[s] != NONE && paired[s] != group);
        paired[s] = group;
    }
    for (uint32_t s = 0; s < count; s++)
        paired[s] = !twice || twice[s] ? NONE : paired[s];
    free(twice);
}

/* In ascending order of ids and of names, if that contradicts no entry. */
static void pair_by_order(const fold *f, uint32_t count, const numbered *name, uint32_t *paired)
{
    bool fits = f->d->config.count == count;
    for (uint32_t s = 0; s < count && fits; s++)
        fits = paired[s] == NONE || paired[s] == name[s].config;
    for (uint32_t s = 0; s < count && fits; s++)
        paired[s] = name[s].config;
}

static void put_status(fold *f, assay_flight_group *group_of_config)
{
    const assay_flight_dump *d = f->d;
    const uint32_t count = (uint32_t)d->status.count;
    assay_flight_status *list = assay_alloc((count + (size_t)1) * sizeof *list);
    uint32_t *paired = assay_alloc((count + (size_t)1) * sizeof *paired);
    numbered *name = assay_alloc((d->config.count + 1) * sizeof *name);
    bool decimal = true;
    f->no_memory = f->no_memory || !list || !paired || !name;
    if (list && paired && name) {
        if (count > 0)
            memcpy(list, d->status.list, count * sizeof *list);
        qsort(list, count, sizeof *list, compare_status);
        memset(paired, 0xff, count * sizeof *paired);
        pair_by_entries(f, list, count, paired);
        for (uint32_t i = 0; i < d->config.count; i++) {
            size_t length = 0;
            const char *text = assay_dict_name(d->texts, d->config.list[i].name, &length);
            decimal = decimal && length > 0 && text[0] != '-' &&
                      assay_flight_digits((assay_flight_text){text, length}, &name[i].name);
            name[i].config = i;
        }
        if (decimal) {
            qsort(name, d->config.count, sizeof *name, compare_numbered);
            pair_by_order(f, count, name, paired);
        }
        for (uint32_t s = 0; s < count; s++) {
            if (paired[s] == NONE)
                continue;
            assay_flight_group *g = &group_of_config[paired[s]];
            g->has_status = true;
            g->status_enqueued = list[s].enqueued;
            g->status_completed = list[s].completed;
        }
    }
    free(list);
    free(paired);
    free(name);
}

/* ---- the row ---- */

static int compare_groups(const void *a, const void *b)
{
    return strcmp(((const assay_flight_group *)a)->name, ((const assay_flight_group *)b)->name);
}

/* The groups' operations of both kinds, each list in order: `lists` has two for a group. */
static uint32_t *list_operations(fold *f, listed *lists)
{
    const uint32_t groups = (uint32_t)f->d->config.count;
    uint32_t *order = assay_alloc((f->ops + (size_t)1) * sizeof *order);
    uint32_t from = 0;
    f->no_memory = f->no_memory || !order;
    for (uint32_t i = 0; i < f->ops && order; i++)
        if (!f->op[i].forgotten)
            lists[2 * f->op[i].group + f->op[i].is_p2p].count++;
    for (uint32_t i = 0; i < 2 * groups && order; i++) {
        lists[i].op = order + from;
        from += lists[i].count;
        lists[i].count = 0;
    }
    for (uint32_t i = 0; i < f->ops && order; i++) {
        listed *list = &lists[2 * f->op[i].group + f->op[i].is_p2p];
        if (!f->op[i].forgotten)
            ((uint32_t *)list->op)[list->count++] = i;
    }
    return order;
}

static void put_last(fold *f)
{
    const assay_flight_dump *d = f->d;
    assay_flight_row *row = f->row;
    for (size_t i = d->entry.count; i-- > 0 && !row->any;) {
        const assay_flight_entry *e = &d->entry.list[i];
        const uint32_t group = config_of(f, e->group);
        if (group == NONE)
            continue;
        const assay_flight_text name = call_of(f, e->name).operation;
        row->any = true;
        row->last_group = group;
        row->last_number = e->is_p2p ? e->p2p : e->collective;
        row->last_operation = assay_flight_copy(name);
        f->no_memory = f->no_memory || !row->last_operation;
        row->last_state = e->state;
        row->last_stack = put_stack(f, e->stack);
    }
}

static void put_groups(fold *f)
{
    const assay_flight_dump *d = f->d;
    assay_flight_row *row = f->row;
    listed *lists = assay_alloc_zeroed(2 * d->config.count + 1, sizeof *lists);
    uint32_t *order = lists ? list_operations(f, lists) : NULL;
    row->group = assay_alloc_zeroed(d->config.count + 1, sizeof *row->group);
    f->no_memory = f->no_memory || !lists || !row->group;
    for (uint32_t i = 0; i < d->config.count && !f->no_memory; i++) {
        assay_flight_group *g = &row->group[row->groups++];
        g->name = copy_text(f, d->config.list[i].name);
        g->description = copy_text(f, d->config.list[i].description);
        g->recorded = -1;
        g->status_enqueued = g->status_completed = -1;
        g->collectives = lists[2 * i].count > 0;
        g->any_p2p = lists[2 * i + 1].count > 0;
        put_members(f, &d->config.list[i], g);
    }
    if (!f->no_memory)
        put_status(f, row->group);
    for (uint32_t i = 0; i < d->config.count && !f->no_memory; i++) {
        put_collectives(f, lists[2 * i], &row->group[i]);
        put_p2p(f, lists[2 * i + 1], &d->config.list[i], &row->group[i]);
    }
    free(lists);
    free(order);
}

static bool prepare(fold *f)
{
    const assay_flight_dump *d = f->d;
    const size_t texts = assay_dict_count(d->texts), groups = d->config.count, entries = d->entry.count;
    f->config_of = assay_alloc((texts + 1) * sizeof *f->config_of);
    f->described = assay_alloc_zeroed(texts + 1, sizeof *f->described);
    f->next = assay_alloc((entries + 1) * sizeof *f->next);
    f->op = assay_alloc((entries + 1) * sizeof *f->op);
    for (int kind = 0; kind < 2; kind++)
        if ((f->latest[kind] = assay_alloc((groups + 1) * sizeof *f->latest[kind])) != NULL)
            memset(f->latest[kind], 0xff, groups * sizeof *f->latest[kind]);
    f->signatures = assay_dict_new();
    f->stacks = assay_dict_new();
    if (!f->config_of || !f->described || !f->next || !f->op || !f->latest[0] || !f->latest[1] || !f->signatures ||
        !f->stacks)
        return false;
    memset(f->config_of, 0xff, texts * sizeof *f->config_of);
    for (uint32_t i = 0; i < groups; i++) {
        f->config_of[d->config.list[i].name] = i;
        f->described[d->config.list[i].description]++;
    }
    return true;
}

int assay_flight_fold(const assay_flight_dump *d, assay_flight_row *row)
{
    fold f = {.d = d, .row = row, .effort = EFFORT};
    *row = (assay_flight_row){
        .full = d->full && d->unread == 0, .starts_known = d->starts_known, .unread = d->unread, .newest = d->newest};
    if (prepare(&f)) {
        find_operations(&f);
        row->full = row->full && row->unread == 0;
        for (size_t i = 0; i < d->entry.count; i++)
            row->any_completed = row->any_completed || d->entry.list[i].state == ASSAY_FLIGHT_COMPLETED;
        row->version = copy_text(&f, d->version);
        put_last(&f);
        put_groups(&f);
    } else {
        f.no_memory = true;
    }
    if (!f.no_memory) { /* groups by name, and the last operation's group with them */
        char *last = row->any ? row->group[row->last_group].name : NULL;
        qsort(row->group, row->groups, sizeof *row->group, compare_groups);
        for (uint32_t i = 0; i < row->groups && row->any; i++)
            if (row->group[i].name == last)
                row->last_group = i;
    }
    free(f.config_of);
    free(f.described);
    free(f.next);
    free(f.op);
    free(f.latest[0]);
    free(f.latest[1]);
    assay_dict_free(f.signatures);
    assay_dict_free(f.stacks);
    return f.no_memory ? ASSAY_ENOMEM : ASSAY_OK;
}
