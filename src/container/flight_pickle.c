/* flight_pickle.c - reads the nodes of a pickled dump. */
#include "container/flight_internal.h"

#include <stdlib.h>

/* Texts point into p->bytes: they are valid as long as the pickle, when streamed only during the call. */
static assay_flight_text text_at(const assay_pickle *p, uint32_t node)
{
    if (node == ASSAY_PICKLE_NOTHING || p->node[node].kind != ASSAY_PICKLE_TEXT)
        return (assay_flight_text){0};
    return (assay_flight_text){(const char *)p->bytes + p->node[node].a, (size_t)p->node[node].size};
}

static bool is_list(const assay_pickle *p, uint32_t node)
{
    return p->node[node].kind == ASSAY_PICKLE_LIST || p->node[node].kind == ASSAY_PICKLE_TUPLE;
}

static bool is_text(const assay_pickle *p, uint32_t node)
{
    return p->node[node].kind == ASSAY_PICKLE_TEXT;
}

/* ---- an entry ---- */

static void take_names(assay_flight_found *f, const assay_pickle *p, uint32_t node)
{
    const uint32_t first = is_list(p, node) ? assay_pickle_at(p, node, 0) : ASSAY_PICKLE_NOTHING;
    const uint32_t second = is_list(p, node) ? assay_pickle_at(p, node, 1) : ASSAY_PICKLE_NOTHING;
    f->group = text_at(p, second).bytes ? text_at(p, first) : (assay_flight_text){0};
}

/* [[16, 64], [8]] */
static bool take_sizes(assay_flight_dump *d, const assay_pickle *p, int side, uint32_t node)
{
    size_t tensors = 0;
    d->found.sizes[side].count = 0;
    if (!is_list(p, node))
        return true;
    for (uint32_t i = p->node[node].first; i != ASSAY_PICKLE_NOTHING; i = p->item[i].next) {
        const uint32_t tensor = p->item[i].value;
        int64_t size[ASSAY_FLIGHT_SIZES_MOST];
        size_t count = 0;
        if (++tensors > ASSAY_FLIGHT_TENSORS_MOST)
            return assay_flight_wrong(d, "an entry has more than 4096 tensors");
        if (!is_list(p, tensor))
            continue;
        for (uint32_t k = p->node[tensor].first; k != ASSAY_PICKLE_NOTHING; k = p->item[k].next) {
            const assay_pickle_node *n = &p->node[p->item[k].value];
            if (count == ASSAY_FLIGHT_SIZES_MOST)
                return assay_flight_wrong(d, "a tensor has more than 64 sizes");
            size[count++] = n->kind == ASSAY_PICKLE_INT ? n->integer : -1;
        }
        if (!assay_flight_add_sizes(d, side, size, count))
            return false;
    }
    return true;
}

static bool take_types(assay_flight_dump *d, const assay_pickle *p, int side, uint32_t node)
{
    size_t types = 0;
    d->found.types[side].count = 0;
    if (!is_list(p, node))
        return true;
    for (uint32_t i = p->node[node].first; i != ASSAY_PICKLE_NOTHING; i = p->item[i].next) {
        if (++types > ASSAY_FLIGHT_TENSORS_MOST)
            return assay_flight_wrong(d, "an entry has more than 4096 types");
        if (is_text(p, p->item[i].value) && !assay_flight_add_type(d, side, text_at(p, p->item[i].value)))
            return false;
    }
    return true;
}

/* One frame: "function file:line". */
static void put_frame(assay_buf *out, const assay_pickle *p, uint32_t frame)
{
    const assay_flight_text name = text_at(p, assay_pickle_get(p, frame, "name")),
                            file = text_at(p, assay_pickle_get(p, frame, "filename"));
    const uint32_t line = assay_pickle_get(p, frame, "line");
    assay_put_bytes(out, name.bytes ? name.bytes : "", name.bytes ? name.length : 0);
    assay_put_u8(out, ' ');
    assay_put_bytes(out, file.bytes ? file.bytes : "", file.bytes ? file.length : 0);
    if (line != ASSAY_PICKLE_NOTHING && p->node[line].kind == ASSAY_PICKLE_INT)
        assay_put_format(out, ":%lld", (long long)p->node[line].integer);
    assay_put_u8(out, '\n');
}

static bool take_frames(assay_flight_dump *d, const assay_pickle *p, uint32_t node)
{
    /* Eight frames of some hundred bytes each; a longer stack is cut by the buffer's ceiling, which is no failure. */
    enum { TEXT_MOST = 8 << 10 };
    assay_buf text;
    size_t frames = 0;
    if (!is_list(p, node) || p->node[node].first == ASSAY_PICKLE_NOTHING)
        return true;
    assay_buf_init(&text, TEXT_MOST);
    for (uint32_t i = p->node[node].first; i != ASSAY_PICKLE_NOTHING && frames < ASSAY_FLIGHT_FRAMES_KEPT;
         i = p->item[i].next, frames++)
        if (p->node[p->item[i].value].kind == ASSAY_PICKLE_DICT)
            put_frame(&text, p, p->item[i].value);
    const int status = assay_buf_status(&text);
    if (status != ASSAY_ENOMEM)
        d->found.stack = assay_dict_add(d->stacks, (const char *)text.data, text.size);
    assay_buf_release(&text);
    return status == ASSAY_ENOMEM || d->found.stack == ASSAY_NO_ID ? assay_flight_no_memory(d) : true;
}

static bool take_value(assay_flight_dump *d, const assay_pickle *p, assay_flight_text key, uint32_t value)
{
    assay_flight_found *f = &d->found;
    const assay_pickle_node *n = &p->node[value];
    const assay_flight_number number = assay_flight_number_of(key);
    assay_keys_find_flipped(&f->keys, key.bytes, key.length);
    if (number < ASSAY_FLIGHT_NUMBERS) {
        f->has[number] = n->kind == ASSAY_PICKLE_INT;
        f->number[number] = f->has[number] ? n->integer : 0;
        f->bad[number] = !f->has[number] && n->kind != ASSAY_PICKLE_NONE;
    } else if (assay_flight_is(key, "process_group")) {
        take_names(f, p, value);
    } else if (assay_flight_is(key, "profiling_name")) {
        f->name = text_at(p, value);
    } else if (assay_flight_is(key, "state")) {
        f->state = text_at(p, value);
    } else if (assay_flight_is(key, "is_p2p")) {
        f->has_p2p = n->kind == ASSAY_PICKLE_BOOL;
        f->is_p2p = f->has_p2p && n->integer;
    } else if (assay_flight_is(key, "time_discovered_started_ns")) {
        f->start_known = n->kind == ASSAY_PICKLE_INT && n->integer != 0;
    } else if (assay_flight_is(key, "time_discovered_completed_ns")) {
        f->completed = n->kind == ASSAY_PICKLE_INT ? n->integer : 0;
    } else if (assay_flight_is(key, "input_sizes")) {
        return take_sizes(d, p, 0, value);
    } else if (assay_flight_is(key, "output_sizes")) {
        return take_sizes(d, p, 1, value);
    } else if (assay_flight_is(key, "input_dtypes")) {
        return take_types(d, p, 0, value);
    } else if (assay_flight_is(key, "output_dtypes")) {
        return take_types(d, p, 1, value);
    } else if (assay_flight_is(key, "frames")) {
        return take_frames(d, p, value);
    }
    return true;
}

static bool take_entry(assay_flight_dump *d, const assay_pickle *p, uint32_t entry)
{
    assay_flight_begin_entry(d);
    d->found.unreadable = p->node[entry].kind != ASSAY_PICKLE_DICT;
    for (uint32_t i = d->found.unreadable ? ASSAY_PICKLE_NOTHING : p->node[entry].first; i != ASSAY_PICKLE_NOTHING;
         i = p->item[i].next)
        if (is_text(p, p->item[i].key) && !take_value(d, p, text_at(p, p->item[i].key), p->item[i].value))
            return false;
    return assay_flight_end_entry(d);
}

/* ---- the rest ---- */

/* Notes the keys of a map. */
static bool check_keys(assay_flight_dump *d, const assay_pickle *p, uint32_t map, assay_flight_object object)
{
    assay_keys keys = assay_flight_keys(d, object);
    for (uint32_t i = p->node[map].first; i != ASSAY_PICKLE_NOTHING; i = p->item[i].next)
        if (is_text(p, p->item[i].key)) {
            const assay_flight_text key = text_at(p, p->item[i].key);
            assay_keys_find_flipped(&keys, key.bytes, key.length);
        }
    return assay_flight_check_keys(d, &keys);
}

/* The ranks of a group: a text, or a list of numbers as the text that it would be. The text is freed by the caller;
 * JSON has ranks as text as well, so one reader serves both. */
static assay_flight_text ranks_at(const assay_pickle *p, uint32_t node, assay_buf *text)
{
    if (node == ASSAY_PICKLE_NOTHING || !is_list(p, node))
        return text_at(p, node);
    assay_buf_clear(text);
    assay_put_u8(text, '[');
    for (uint32_t i = p->node[node].first; i != ASSAY_PICKLE_NOTHING; i = p->item[i].next) {
        const assay_pickle_node *n = &p->node[p->item[i].value];
        assay_put_format(text, "%s%lld", text->size > 1 ? "," : "",
                         n->kind == ASSAY_PICKLE_INT ? (long long)n->integer : -1LL);
    }
    assay_put_u8(text, ']');
    return (assay_flight_text){(const char *)text->data, text->size};
}

static bool take_group(assay_flight_dump *d, const assay_pickle *p, uint32_t name, uint32_t group, assay_buf *text)
{
    if (!is_text(p, name) || p->node[group].kind != ASSAY_PICKLE_DICT)
        return assay_flight_wrong(d, "a group of pg_config is not a map");
    if (!check_keys(d, p, group, ASSAY_FLIGHT_GROUP))
        return false;
    const assay_flight_text ranks = ranks_at(p, assay_pickle_get(p, group, "ranks"), text);
    return (assay_buf_status(text) == ASSAY_OK || assay_flight_no_memory(d)) &&
           assay_flight_add_group(d, text_at(p, name), text_at(p, assay_pickle_get(p, group, "desc")), ranks);
}

static bool take_groups(assay_flight_dump *d, const assay_pickle *p, uint32_t groups)
{
    assay_buf text;
    bool sound = true;
    assay_buf_init(&text, SIZE_MAX);
    assay_flight_begin_groups(d);
    for (uint32_t i = p->node[groups].first; i != ASSAY_PICKLE_NOTHING && sound; i = p->item[i].next)
        sound = take_group(d, p, p->item[i].key, p->item[i].value, &text);
    assay_buf_release(&text);
    return sound;
}

static bool whole(const assay_pickle *p, uint32_t status, const char *key, int64_t *value)
{
    const uint32_t node = assay_pickle_get(p, status, key);
    if (node == ASSAY_PICKLE_NOTHING)
        return false;
    if (p->node[node].kind == ASSAY_PICKLE_INT)
        *value = p->node[node].integer;
    return p->node[node].kind == ASSAY_PICKLE_INT || assay_flight_digits(text_at(p, node), value);
}

static bool take_status(assay_flight_dump *d, const assay_pickle *p, uint32_t list)
{
    assay_flight_begin_status(d);
    if (list == ASSAY_PICKLE_NOTHING || p->node[list].kind != ASSAY_PICKLE_DICT)
        return true;
    for (uint32_t i = p->node[list].first; i != ASSAY_PICKLE_NOTHING; i = p->item[i].next) {
        assay_flight_status s = {0};
        if (p->node[p->item[i].value].kind == ASSAY_PICKLE_DICT &&
            !check_keys(d, p, p->item[i].value, ASSAY_FLIGHT_STATUS))
            return false;
        if (is_text(p, p->item[i].key) && assay_flight_digits(text_at(p, p->item[i].key), &s.pg_id) &&
            whole(p, p->item[i].value, "last_enqueued_collective", &s.enqueued) &&
            whole(p, p->item[i].value, "last_completed_collective", &s.completed) && !assay_flight_add_status(d, s))
            return false;
    }
    return true;
}

/* entries_taken: the stream has handed the entries out already, and their list is empty. */
static bool take_root(assay_flight_dump *d, const assay_pickle *p, bool entries_taken)
{
    const uint32_t version = assay_pickle_get(p, p->root, "version"),
                   groups = assay_pickle_get(p, p->root, "pg_config"),
                   entries = assay_pickle_get(p, p->root, "entries");
    if (p->node[p->root].kind != ASSAY_PICKLE_DICT)
        return true;
    if (!check_keys(d, p, p->root, ASSAY_FLIGHT_TOP))
        return false;
    if (version != ASSAY_PICKLE_NOTHING && !assay_flight_take_version(d, text_at(p, version)))
        return false;
    if (groups != ASSAY_PICKLE_NOTHING && p->node[groups].kind == ASSAY_PICKLE_DICT && !take_groups(d, p, groups))
        return false;
    if (!take_status(d, p, assay_pickle_get(p, p->root, "pg_status")))
        return false;
    if (entries == ASSAY_PICKLE_NOTHING || entries_taken)
        return true;
    if (!is_list(p, entries))
        return assay_flight_wrong(d, "entries is no list");
    assay_flight_begin_entries(d);
    for (uint32_t i = p->node[entries].first; i != ASSAY_PICKLE_NOTHING; i = p->item[i].next)
        if (!take_entry(d, p, p->item[i].value))
            return false;
    return true;
}

bool assay_flight_take_pickle(assay_flight_dump *d, const assay_pickle *p)
{
    return take_root(d, p, false);
}

/* What the streaming reader hands back to the callbacks below. */
typedef struct feeding {
    assay_flight_file *file;
    assay_flight_dump *d;
    ASSAY_VEC(uint32_t) form; /* by name: which of d->alike; ASSAY_NO_ID */
} feeding;

static int feed_more(void *context, size_t used, size_t least, const uint8_t **window, size_t *size, assay_error *err)
{
    assay_flight_file *f = ((feeding *)context)->file;
    (void)err; /* the file has the same */
    f->at += used;
    if (!assay_flight_more(f, least))
        return f->status;
    *window = (const uint8_t *)f->window + f->at;
    *size = f->size - f->at;
    return ASSAY_OK;
}

static void feed_begin(void *context)
{
    assay_flight_begin_entries(((feeding *)context)->d);
}

/* Numbers that differ from entry to entry: those of assay_flight_number first. */
static const char *const numbers[] = {
    "record_id",   "pg_id",           "collective_seq_id",          "p2p_seq_id",
    "op_id",       "time_created_ns", "time_discovered_started_ns", "time_discovered_completed_ns",
    "duration_ms", "timeout_ms"};
static const char *const lists[] = {"input_sizes", "output_sizes"};
enum { STARTED = ASSAY_FLIGHT_NUMBERS, COMPLETED, NUMBERS = sizeof numbers / sizeof *numbers };

/* Which sizes come first in an entry. Numbers of lists come in the order of the file, the key of a part has inputs
 * first. */
static int first_side(const assay_pickle *p, uint32_t entry)
{
    for (uint32_t i = p->node[entry].first; i != ASSAY_PICKLE_NOTHING; i = p->item[i].next)
        for (int side = 0; side < 2; side++)
            if (assay_pickle_is_text(p, p->item[i].key, lists[side]))
                return side;
    return 0;
}

/* Reads the entry as any other, and then learns its form, so that the next ones like it need their numbers alone. */
static bool feed_item(void *context, const assay_pickle *p, uint32_t node, uint32_t *form, unsigned nested)
{
    feeding *f = context;
    if (!take_entry(f->d, p, node))
        return false;
    if (!form)
        return true;
    /* assay_flight_keep_alike() adds one at this place, or none. */
    const uint32_t alike = (uint32_t)f->d->alike.count;
    uint32_t *to = NULL;
    while (f->form.count <= *form) {
        if (!(to = ASSAY_VEC_ADD(&f->form)))
            return assay_flight_no_memory(f->d);
        *to = ASSAY_NO_ID;
    }
    if (!assay_flight_keep_alike(f->d, first_side(p, node)) ||
        (nested > 0 && nested != f->d->alike.list[alike].dimensions)) {
        *form = ASSAY_PICKLE_NOTHING; /* sizes that are no numbers, or shared: it is read as it stands */
        return !f->d->no_memory;
    }
    if (nested == 0)
        f->d->alike.list[alike].dimensions = 0;
    f->form.list[*form] = alike;
    return true;
}

static bool feed_again(void *context, uint32_t form, const assay_pickle_number *number)
{
    feeding *f = context;
    assay_flight_found *found = &f->d->found;
    const assay_flight_alike *alike = &f->d->alike.list[f->form.list[form]];
    /* The first ASSAY_FLIGHT_NUMBERS of numbers[] are in the order of assay_flight_number. */
    for (int i = 0; i < ASSAY_FLIGHT_NUMBERS; i++) {
        found->has[i] = number[i].kind == ASSAY_PICKLE_INT;
        found->number[i] = found->has[i] ? number[i].integer : 0;
        found->bad[i] = !found->has[i] && number[i].kind != ASSAY_PICKLE_NONE;
    }
    found->start_known = number[STARTED].kind == ASSAY_PICKLE_INT && number[STARTED].integer != 0;
    found->completed = number[COMPLETED].kind == ASSAY_PICKLE_INT ? number[COMPLETED].integer : 0;
    return assay_flight_end_alike(f->d, f->form.list[form], alike->dimensions > 0 ? number + NUMBERS : NULL);
}

bool assay_flight_read_pickle(assay_flight_dump *d, assay_flight_file *file)
{
    /* So much of nodes and texts at once; entries are dropped as they are read, so that a longer file needs no more. */
    enum { MEMORY = 256 << 20 };
    feeding context = {.file = file, .d = d};
    const assay_pickle_feed feed = {.context = &context,
                                    .memory = MEMORY,
                                    .more = feed_more,
                                    .key = "entries",
                                    .begin = feed_begin,
                                    .item = feed_item,
                                    .again = feed_again,
                                    .numbers = numbers,
                                    .number_count = NUMBERS,
                                    .lists = lists,
                                    .list_count = sizeof lists / sizeof *lists};
    assay_pickle p = {0};
    bool handed = false;
    int status = assay_pickle_stream(&feed, &p, &handed, file->err);
    const bool good = status == ASSAY_OK && take_root(d, &p, handed);
    /* What the dump itself found wrong has a better message than "the callback refused". */
    if (status != ASSAY_OK && !d->wrong && !d->no_memory)
        file->status = status;
    assay_pickle_release(&p);
    free(context.form.list);
    return good;
}
