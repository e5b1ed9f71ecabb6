/* others.c - see others.h. Values are put into words; objects keep the name of their class, which is never
 * instantiated. */
#include "format/checkpoint/others.h"

#include <inttypes.h>
#include <stdio.h>

#include "format/checkpoint/checkpoint.h"
#include "format/checkpoint/files.h"
#include "format/checkpoint/walk.h"

enum { TEXT_MOST = 60, ITEMS_MOST = 8 };

static bool is_plain(const assay_pickle *p, uint32_t node)
{
    return p->node[node].kind <= ASSAY_PICKLE_BYTES;
}

/* A list of plain values, such as the numbers of parameters. */
static bool is_plain_list(const assay_pickle *p, uint32_t node)
{
    bool plain = assay_walk_is_list(p, node) && p->node[node].first != ASSAY_PICKLE_NOTHING;
    for (uint32_t i = plain ? p->node[node].first : ASSAY_PICKLE_NOTHING; plain && i != ASSAY_PICKLE_NOTHING;
         i = p->item[i].next)
        plain = is_plain(p, p->item[i].value);
    return plain;
}

static void put_text(const assay_pickle *p, const assay_pickle_node *n, assay_buf *out)
{
    const size_t size = n->size < TEXT_MOST ? (size_t)n->size : TEXT_MOST;
    assay_put_bytes(out, p->bytes + n->a, size);
    if (size < n->size)
        assay_put_format(out, "...");
}

static void put_plain(const assay_pickle *p, uint32_t node, assay_buf *out)
{
    const assay_pickle_node *n = &p->node[node];
    switch (n->kind) {
    case ASSAY_PICKLE_NONE:
        assay_put_format(out, "None");
        break;
    case ASSAY_PICKLE_BOOL:
        assay_put_format(out, "%s", n->integer ? "True" : "False");
        break;
    case ASSAY_PICKLE_INT:
        assay_put_format(out, "%" PRId64, n->integer);
        break;
    case ASSAY_PICKLE_FLOAT:
        assay_json_put_number(out, n->number);
        break;
    case ASSAY_PICKLE_TEXT:
        put_text(p, n, out);
        break;
    case ASSAY_PICKLE_BYTES:
        assay_put_format(out, "%" PRIu64 " bytes", n->size);
        break;
    default: /* an integer of more than 64 bits */
        assay_put_format(out, "-");
    }
}

static void put_list(const assay_pickle *p, uint32_t node, assay_buf *out)
{
    uint32_t count = 0;
    for (uint32_t i = p->node[node].first; i != ASSAY_PICKLE_NOTHING; i = p->item[i].next, count++) {
        if (count < ITEMS_MOST) {
            assay_put_format(out, "%s", count ? ", " : "");
            put_plain(p, p->item[i].value, out);
        }
    }
    if (count > ITEMS_MOST)
        assay_put_format(out, ", ... (%" PRIu32 ")", count);
}

/* "argparse.Namespace" for what is called or made; its arguments stay unread. */
static void put_class(const assay_pickle *p, uint32_t node, assay_buf *out)
{
    const assay_pickle_node *n = &p->node[node];
    if (n->kind == ASSAY_PICKLE_CALL || n->kind == ASSAY_PICKLE_OBJECT)
        n = n->a == ASSAY_PICKLE_NOTHING ? n : &p->node[n->a];
    if (n->kind == ASSAY_PICKLE_GLOBAL) {
        assay_put_bytes(out, p->bytes + n->a, n->b);
        assay_put_u8(out, '.');
        assay_put_bytes(out, p->bytes + n->c, (size_t)n->size);
    } else {
        assay_put_u8(out, '-');
    }
}

void assay_ckpt_put_class(const assay_pickle *p, uint32_t node, char *out, size_t room)
{
    assay_buf text = ASSAY_BUF(room - 1);
    put_class(p, node, &text);
    const bool fits = assay_buf_status(&text) == ASSAY_OK && text.data[0] != '-';
    snprintf(out, room, "%.*s", fits ? (int)text.size : 0, fits ? (const char *)text.data : "");
    assay_buf_release(&text);
}

static const char *kind_name(const assay_pickle *p, uint32_t node)
{
    static const char *const names[] = {
        [ASSAY_PICKLE_NONE] = "none",   [ASSAY_PICKLE_BOOL] = "bool",     [ASSAY_PICKLE_INT] = "int",
        [ASSAY_PICKLE_HUGE] = "int",    [ASSAY_PICKLE_FLOAT] = "float",   [ASSAY_PICKLE_TEXT] = "text",
        [ASSAY_PICKLE_BYTES] = "bytes", [ASSAY_PICKLE_LIST] = "list",     [ASSAY_PICKLE_TUPLE] = "tuple",
        [ASSAY_PICKLE_SET] = "set",     [ASSAY_PICKLE_DICT] = "dict",     [ASSAY_PICKLE_GLOBAL] = "name",
        [ASSAY_PICKLE_CALL] = "object", [ASSAY_PICKLE_OBJECT] = "object", [ASSAY_PICKLE_PERSISTENT] = "storage"};
    return names[p->node[node].kind];
}

static void tell(const assay_contents *c, const assay_other *other)
{
    assay_ckpt_others *o = c->others;
    if (o->status == ASSAY_OK && o->visit)
        o->status = o->visit(o->context, other);
}

bool assay_ckpt_note_other(const assay_contents *c, const assay_pickle *p, uint32_t node, const char *path,
                           size_t length)
{
    if (!c->others || node == ASSAY_PICKLE_NOTHING || length == 0)
        return false;
    const bool list = is_plain_list(p, node);
    if (!list && (assay_walk_is_dict(p, node) || assay_walk_is_list(p, node)))
        return false;
    assay_buf value = ASSAY_BUF(SIZE_MAX);
    if (list)
        put_list(p, node, &value);
    else if (is_plain(p, node))
        put_plain(p, node, &value);
    else
        put_class(p, node, &value);
    if (assay_buf_status(&value) != ASSAY_OK)
        c->others->status = ASSAY_ENOMEM;
    else
        tell(c, &(assay_other){.step = c->step,
                               .path = path,
                               .length = length,
                               .kind = kind_name(p, node),
                               .value = (const char *)value.data,
                               .value_length = value.size});
    assay_buf_release(&value);
    return true;
}

void assay_ckpt_note_bytes(const assay_contents *c, const char *path, size_t length)
{
    if (c->others)
        tell(c, &(assay_other){
                    .step = c->step, .path = path, .length = length, .kind = "bytes", .value = "-", .value_length = 1});
}

void assay_ckpt_note_archive(const assay_contents *c, const char *path, uint64_t offset, uint64_t length)
{
    assay_ckpt_others *o = c->others;
    if (o && o->archive && o->status == ASSAY_OK)
        o->status = o->archive(o->context, path, offset, length);
}

/* Reads the index of a unit once more, for those who want to know what is no tensor. */
static int read_again(assay_store *store, const assay_catalog *catalog, const assay_unit *unit,
                      assay_ckpt_others *others)
{
    assay_problems unheard; /* whoever reads the index names them */
    assay_contents c;
    int64_t step = 0;
    const char *path = assay_checkpoint_place(catalog->places[unit->format], unit->place, &step);
    if (!path)
        return ASSAY_OK;
    assay_problems_init(&unheard);
    int status = assay_contents_init(&c, store, unit->step, path, &unheard);
    c.options = catalog->options;
    c.others = others;
    c.places = catalog->places[unit->format];
    c.place = unit->place;
    ASSAY_THEN(status, assay_ckpt_read_step(&c, path, catalog->worker_key[unit->worker]));
    assay_contents_release(&c);
    assay_ckpt_unheard(store, &unheard);
    return status == ASSAY_OK ? others->status : status;
}

int assay_checkpoint_others(assay_store *store, const assay_catalog *catalog, const assay_unit *unit,
                            assay_other_visit *visit, void *context)
{
    assay_ckpt_others others = {.visit = visit, .context = context};
    return read_again(store, catalog, unit, &others);
}

int assay_checkpoint_archives(assay_store *store, const assay_catalog *catalog, const assay_unit *unit,
                              assay_archive_visit *visit, void *context)
{
    assay_ckpt_others others = {.archive = visit, .context = context};
    return read_again(store, catalog, unit, &others);
}
