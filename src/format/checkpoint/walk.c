/* walk.c - see walk.h. A stack of its own takes the place of calls, so that no nesting is too deep. */
#include "format/checkpoint/walk.h"

#include <assay/tensor.h>

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

typedef struct level { /* a container under way */
    uint32_t item;     /* the next one */
    uint32_t count;    /* of those that were visited */
    size_t path;       /* bytes of the container's own path */
    bool list;
} level;

typedef struct walker {
    const assay_pickle *p;
    level *level;
    size_t depth, room;
    uint8_t *seen; /* a bit a node */
    int status;
} walker;

bool assay_walk_is_dict(const assay_pickle *p, uint32_t node)
{
    if (node == ASSAY_PICKLE_NOTHING)
        return false;
    const assay_pickle_node *n = &p->node[node];
    if (n->kind == ASSAY_PICKLE_DICT)
        return true;
    return n->kind == ASSAY_PICKLE_CALL && (assay_pickle_is_global(p, n->a, "collections", "OrderedDict") ||
                                            assay_pickle_is_global(p, n->a, "collections", "defaultdict") ||
                                            assay_pickle_is_global(p, n->a, "collections", "Counter"));
}

bool assay_walk_is_list(const assay_pickle *p, uint32_t node)
{
    return node != ASSAY_PICKLE_NOTHING &&
           (p->node[node].kind == ASSAY_PICKLE_LIST || p->node[node].kind == ASSAY_PICKLE_TUPLE);
}

int assay_walk_numbers(const assay_pickle *p, uint32_t node, int64_t *out)
{
    int count = 0;
    if (node != ASSAY_PICKLE_NOTHING && p->node[node].kind == ASSAY_PICKLE_CALL &&
        assay_pickle_is_global(p, p->node[node].a, "torch", "Size"))
        node = assay_pickle_at(p, p->node[node].b, 0);
    if (!assay_walk_is_list(p, node))
        return -1;
    for (uint32_t i = p->node[node].first; i != ASSAY_PICKLE_NOTHING; i = p->item[i].next) {
        const assay_pickle_node *n = &p->node[p->item[i].value];
        if (n->kind != ASSAY_PICKLE_INT || n->integer < 0 || count == ASSAY_MAX_DIMS)
            return -1;
        out[count++] = n->integer;
    }
    return count;
}

enum { PART_MOST = 64 }; /* bytes of a text in a tuple */

/* "(blocks, 3)": the texts and numbers of a tuple. */
static void put_tuple(const assay_pickle *p, const assay_pickle_node *n, assay_buf *out)
{
    assay_put_u8(out, '(');
    for (uint32_t i = n->first, parts = 0; i != ASSAY_PICKLE_NOTHING && parts < ASSAY_MAX_DIMS; i = p->item[i].next) {
        const assay_pickle_node *part = &p->node[p->item[i].value];
        assay_put_format(out, "%s", parts++ ? ", " : "");
        if (part->kind == ASSAY_PICKLE_TEXT)
            assay_put_bytes(out, p->bytes + part->a, part->size < PART_MOST ? (size_t)part->size : PART_MOST);
        else if (part->kind == ASSAY_PICKLE_INT)
            assay_put_format(out, "%lld", (long long)part->integer);
        else
            assay_put_u8(out, '?');
    }
    assay_put_u8(out, ')');
}

void assay_walk_put_key(const assay_pickle *p, uint32_t key, assay_buf *out)
{
    const assay_pickle_node *n = key == ASSAY_PICKLE_NOTHING ? NULL : &p->node[key];
    if (n && n->kind == ASSAY_PICKLE_TEXT)
        assay_put_bytes(out, p->bytes + n->a, (size_t)n->size);
    else if (n && n->kind == ASSAY_PICKLE_INT)
        assay_put_format(out, "%lld", (long long)n->integer);
    else if (n && n->kind == ASSAY_PICKLE_NONE)
        assay_put_format(out, "None");
    else if (n && n->kind == ASSAY_PICKLE_BOOL)
        assay_put_format(out, "%s", n->integer ? "True" : "False");
    else if (n && n->kind == ASSAY_PICKLE_TUPLE)
        put_tuple(p, n, out);
    else
        assay_put_u8(out, '?');
}

/* A key whose words do not tell it from another: it gets its place. */
static bool needs_place(const assay_pickle *p, uint32_t key)
{
    const int kind = key == ASSAY_PICKLE_NOTHING ? ASSAY_PICKLE_DICT : (int)p->node[key].kind;
    return kind > ASSAY_PICKLE_INT && kind != ASSAY_PICKLE_TEXT && kind != ASSAY_PICKLE_TUPLE;
}

static const char *const MEMBERS[] = {"_modules", "_buffers", "_parameters"}; /* of a module; the last one first */

/* An object of a TorchScript file: its state has parameters, buffers and modules below by their names. */
static bool is_script(const assay_pickle *p, uint32_t node)
{
    static const char MODULE[] = "__torch__";
    if (p->node[node].kind != ASSAY_PICKLE_OBJECT || p->node[node].a == ASSAY_PICKLE_NOTHING)
        return false;
    const assay_pickle_node *class = &p->node[p->node[node].a];
    return class->kind == ASSAY_PICKLE_GLOBAL && class->b >= sizeof MODULE - 1 &&
           memcmp(p->bytes + class->a, MODULE, sizeof MODULE - 1) == 0 && assay_walk_is_dict(p, p->node[node].c);
}

bool assay_walk_is_module(const assay_pickle *p, uint32_t node)
{
    if (node == ASSAY_PICKLE_NOTHING ||
        (p->node[node].kind != ASSAY_PICKLE_OBJECT && p->node[node].kind != ASSAY_PICKLE_CALL))
        return false;
    if (is_script(p, node))
        return true;
    const uint32_t state = p->node[node].c;
    return assay_walk_is_dict(p, assay_pickle_get(p, state, "_modules")) &&
           assay_walk_is_dict(p, assay_pickle_get(p, state, "_parameters"));
}

static void begin_level(walker *w, uint32_t node, size_t path)
{
    const bool list = assay_walk_is_list(w->p, node);
    if ((!list && !assay_walk_is_dict(w->p, node)) || w->seen[node / 8] >> node % 8 & 1)
        return;
    w->seen[node / 8] |= (uint8_t)(1u << node % 8);
    if (w->depth == w->room) {
        const size_t room = w->room ? 2 * w->room : 64;
        level *grown = assay_realloc_array(w->level, room, sizeof *grown);
        if (!grown) {
            w->status = ASSAY_ENOMEM;
            return;
        }
        w->level = grown;
        w->room = room;
    }
    w->level[w->depth++] = (level){w->p->node[node].first, 0, path, list};
}

static bool is_too_long(const walker *w, const level *l, const assay_pickle_item *item)
{
    const assay_pickle_node *key = l->list || item->key == ASSAY_PICKLE_NOTHING ? NULL : &w->p->node[item->key];
    const uint64_t more = key && key->kind == ASSAY_PICKLE_TEXT ? key->size : 0;
    return more > ASSAY_WALK_PATH_MOST || l->path + more > ASSAY_WALK_PATH_MOST;
}

/* Begins with what the node holds, unless it was there before. */
static void enter(walker *w, uint32_t node, size_t path)
{
    if (!assay_walk_is_module(w->p, node)) {
        begin_level(w, node, path);
        return;
    }
    if (is_script(w->p, node))
        begin_level(w, w->p->node[node].c, path);
    for (size_t i = 0; i < sizeof MEMBERS / sizeof *MEMBERS && w->status == ASSAY_OK; i++)
        begin_level(w, assay_pickle_get(w->p, w->p->node[node].c, MEMBERS[i]), path);
}

/* The path of the item: the container's, a point, and the item's key or place. */
static void put_path(const walker *w, const level *l, const assay_pickle_item *item, assay_buf *path)
{
    path->size = l->path;
    if (path->size > 0 && path->data[path->size - 1] != '/' && path->data[path->size - 1] != '.')
        assay_put_u8(path, '.');
    if (l->list)
        assay_put_format(path, "%u", l->count);
    else
        assay_walk_put_key(w->p, item->key, path);
    if (!l->list && needs_place(w->p, item->key))
        assay_put_format(path, "%u", l->count);
}

int assay_walk(const assay_pickle *p, uint32_t node, assay_buf *path, assay_walk_visit *visit, void *context)
{
    walker w = {.p = p, .seen = assay_alloc_zeroed(p->nodes / 8 + 1, 1)};
    bool passed_over = false;
    w.status = w.seen ? ASSAY_OK : ASSAY_ENOMEM;
    if (w.seen && node != ASSAY_PICKLE_NOTHING && !visit(context, node, (const char *)path->data, path->size))
        enter(&w, node, path->size);
    while (w.depth > 0 && w.status == ASSAY_OK) {
        level *l = &w.level[w.depth - 1];
        if (l->item == ASSAY_PICKLE_NOTHING) {
            w.depth--;
            continue;
        }
        const assay_pickle_item item = p->item[l->item];
        const bool too_long = is_too_long(&w, l, &item);
        passed_over = passed_over || too_long;
        if (!too_long)
            put_path(&w, l, &item, path);
        l->item = item.next;
        l->count++;
        if (too_long)
            continue;
        w.status = assay_buf_status(path);
        if (w.status == ASSAY_OK && !visit(context, item.value, (const char *)path->data, path->size))
            enter(&w, item.value, path->size);
    }
    free(w.level);
    free(w.seen);
    return w.status == ASSAY_OK ? passed_over : w.status;
}
