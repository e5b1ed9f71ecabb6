/* torch.c - the tensors of one torch zip.
 *
 * The root of its pickle is a dictionary that trainings fill as they like. The keys that most use for the model, the
 * optimizer and moving averages are known (keys.h); everything else is state. */
#include "format/checkpoint/torch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/heap.h"
#include "container/inflate.h"
#include "format/checkpoint/keys.h"
#include "format/checkpoint/megatron.h"
#include "format/checkpoint/optimizer.h"
#include "format/checkpoint/others.h"
#include "format/checkpoint/walk.h"

enum { PICKLE_MOST = 1 << 30, DESCENTS_MOST = 8 };

static const char *const wrappers[] = {"state", "app", "checkpoint"};

/* Most storages have one tensor: it goes into `seen` when there is another. */
typedef struct first_use {
    uint32_t node;   /* the first one's, + 1; 0: there is none; SEEN: it is in `seen` */
    uint32_t tensor; /* in assay_contents */
} first_use;

enum { SEEN = UINT32_MAX };

/* A file while its tensors are gathered. */
typedef struct gathering {
    assay_torch *torch;
    assay_ckpt_role role; /* of what is walked now */
    assay_buf path, same;
    assay_dict *seen;                 /* of model tensors: what names of one tensor have in common */
    assay_dict *firsts;               /* by number in `seen`: the first name */
    struct first_use *use;            /* by entry: the first model tensor that lies in it */
    const assay_torch_choice *choice; /* NULL: everything */
    int status;
} gathering;

/* ---- tensors ---- */

static void add_alias(const gathering *g, uint32_t id, const char *path, size_t length)
{
    size_t size = 0;
    const char *first = assay_dict_name(g->firsts, id, &size);
    assay_contents_alias(g->torch->file->to, path, length, first, size);
}

static bool has_no_elements(const assay_ckpt_place *place)
{
    for (int i = 0; i < place->dims; i++)
        if (place->shape[i] == 0)
            return true;
    return false;
}

/* The number of the tensor among those that differ; `known` such are there before. */
static uint32_t see(gathering *g, const assay_torch_range *range, const assay_ckpt_place *place)
{
    assay_buf_clear(&g->same);
    assay_put_u64(&g->same, range->first_byte);
    assay_put_i64(&g->same, range->first);
    for (int i = 0; i < place->dims; i++) {
        assay_put_i64(&g->same, place->shape[i]);
        assay_put_i64(&g->same, place->stride[i]);
    }
    return assay_buf_status(&g->same) == ASSAY_OK ? assay_dict_add(g->seen, (const char *)g->same.data, g->same.size)
                                                  : ASSAY_NO_ID;
}

/* Puts the first tensor of a storage into `seen`. */
static void see_first(gathering *g, first_use *use)
{
    assay_ckpt_place place;
    assay_torch_range range;
    size_t length = 0;
    const char *name = assay_dict_name(g->torch->file->to->names, use->tensor, &length);
    if (assay_torch_tensor(g->torch, use->node - 1, &place, &range, NULL) != 1)
        return;
    if (see(g, &range, &place) == ASSAY_NO_ID || assay_dict_add(g->firsts, name, length) == ASSAY_NO_ID)
        g->status = ASSAY_ENOMEM;
    use->node = SEEN;
}

/* A second name of the same elements is no second tensor: true, and it is an alias now. */
static bool is_alias(gathering *g, const assay_torch_range *range, const assay_ckpt_place *place, const char *path,
                     size_t length)
{
    first_use *use = &g->use[range->entry];
    if (use->node == 0)
        return false;
    if (use->node != SEEN)
        see_first(g, use);
    const uint32_t known = assay_dict_count(g->seen), id = see(g, range, place);
    if (id == ASSAY_NO_ID || (id == known && assay_dict_add(g->firsts, path, length) == ASSAY_NO_ID))
        g->status = ASSAY_ENOMEM;
    else if (id < known)
        add_alias(g, id, path, length);
    return id < known || g->status != ASSAY_OK;
}

/* Adds the tensor that the node makes, under the path. */
static bool add_tensor(void *context, uint32_t node, const char *path, size_t length)
{
    gathering *g = context;
    assay_ckpt_file *f = g->torch->file;
    assay_ckpt_place place;
    assay_torch_range range;
    assay_error what;
    what.text[0] = '\0';
    assay_dict_expect(f->to->names, path, length);
    const int found = assay_torch_tensor(g->torch, node, &place, &range, &what);
    if (found == ASSAY_EFORMAT)
        assay_ckpt_problem(f, ASSAY_PROBLEM_RECORD, -1, "%.*s: %s", (int)length, path, what.text);
    if (found == ASSAY_EFORMAT)
        assay_contents_promise(f->to, g->role, path, length);
    if (found == 0)
        return assay_ckpt_note_other(f->to, &g->torch->pickle, node, path, length);
    if (found != 1)
        return found != 0;
    if (g->choice && has_no_elements(&place))
        return true;
    const bool first = g->role == ASSAY_CKPT_MODEL && !assay_contents_holds(f->to, path, length);
    if (first && is_alias(g, &range, &place, path, length))
        return true;
    const assay_ckpt_stretch at = {f->number, range.offset, range.length};
    const uint32_t added = assay_contents_add(f->to, &(assay_ckpt_found){g->role, path, length, at, &place, NULL});
    if (first && added != ASSAY_NO_ID && g->use[range.entry].node == 0)
        g->use[range.entry] = (first_use){node + 1, added};
    return true;
}

/* Adds the tensors below a node, under names that begin with `prefix`. */
static void add_below(gathering *g, assay_ckpt_role role, uint32_t node, const char *prefix)
{
    if (g->status != ASSAY_OK)
        return;
    g->role = role;
    assay_buf_clear(&g->path);
    assay_put_bytes(&g->path, prefix, strlen(prefix));
    const int walked = assay_walk(&g->torch->pickle, node, &g->path, add_tensor, g);
    if (walked == 1)
        assay_ckpt_problem(g->torch->file, ASSAY_PROBLEM_RECORD, -1,
                           "something has a name of more than %d bytes, all its keys together; it is not evaluated",
                           ASSAY_WALK_PATH_MOST);
    g->status = walked < 0 ? walked : g->status;
}

void assay_torch_add(void *context, uint32_t node, const char *prefix)
{
    add_below(context, ASSAY_CKPT_OPTIMIZER, node, prefix);
}

static bool note_tensor(void *context, uint32_t node, const char *path, size_t length)
{
    (void)path;
    (void)length;
    gathering *g = context;
    assay_ckpt_place place;
    assay_torch_range range;
    if (g->role != ASSAY_CKPT_ROLES && assay_torch_tensor(g->torch, node, &place, &range, NULL) == 0)
        return false;
    g->role = ASSAY_CKPT_ROLES; /* found one */
    return true;
}

static bool has_tensor(gathering *g, uint32_t node)
{
    g->role = ASSAY_CKPT_MODEL;
    assay_buf_clear(&g->path);
    if (g->status == ASSAY_OK && assay_walk(&g->torch->pickle, node, &g->path, note_tensor, g) < 0)
        g->status = ASSAY_ENOMEM;
    return g->role == ASSAY_CKPT_ROLES;
}

/* ---- the root ---- */

/* May it be a model: its tensors by name, or the module itself? */
static bool is_model(const assay_pickle *p, uint32_t node)
{
    return assay_walk_is_dict(p, node) || assay_walk_is_module(p, node);
}

/* How many of the dictionary's keys are a model with a tensor. */
static size_t count_models(gathering *g, uint32_t node)
{
    const assay_pickle *p = &g->torch->pickle;
    size_t count = 0;
    if (!assay_walk_is_dict(p, node))
        return 0;
    for (uint32_t i = p->node[node].first; i != ASSAY_PICKLE_NOTHING; i = p->item[i].next)
        count += assay_key_kind_of_node(p, p->item[i].key) == ASSAY_KEY_MODEL && is_model(p, p->item[i].value) &&
                 has_tensor(g, p->item[i].value);
    return count;
}

static bool has_optimizer(gathering *g, uint32_t node)
{
    const assay_pickle *p = &g->torch->pickle;
    for (uint32_t i = p->node[node].first; i != ASSAY_PICKLE_NOTHING; i = p->item[i].next)
        if (assay_key_kind_of_node(p, p->item[i].key) == ASSAY_KEY_OPTIMIZER &&
            (assay_walk_is_dict(p, p->item[i].value) || assay_walk_is_list(p, p->item[i].value)))
            return true;
    return false;
}

/* Goes down from a root that only wraps what has the model. */
static uint32_t unwrap_root(gathering *g, uint32_t root)
{
    const assay_pickle *p = &g->torch->pickle;
    for (int depth = 0; depth < DESCENTS_MOST && count_models(g, root) == 0; depth++) {
        uint32_t below = ASSAY_PICKLE_NOTHING;
        for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers && below == ASSAY_PICKLE_NOTHING; i++) {
            below = assay_pickle_get(p, root, wrappers[i]);
            below = count_models(g, below) > 0 ? below : ASSAY_PICKLE_NOTHING;
        }
        if (below == ASSAY_PICKLE_NOTHING)
            return root;
        root = below;
    }
    return root;
}

static void add_keyed(gathering *g, uint32_t key, uint32_t value, bool single)
{
    const assay_pickle *p = &g->torch->pickle;
    const bool is_dict = assay_walk_is_dict(p, value);
    const assay_key_kind kind = assay_key_kind_of_node(p, key);
    assay_buf prefix;
    if (kind == ASSAY_KEY_OPTIMIZER && (is_dict || assay_walk_is_list(p, value))) {
        g->status = assay_optimizer_add(g->torch, value, g);
        return;
    }
    const bool model = kind == ASSAY_KEY_MODEL && is_model(p, value);
    assay_buf_init(&prefix, SIZE_MAX);
    if (kind == ASSAY_KEY_AVERAGE)
        assay_put_format(&prefix, "ema/");
    else if (!model)
        assay_put_format(&prefix, "state/");
    if (kind != ASSAY_KEY_AVERAGE && !(model && single))
        assay_walk_put_key(p, key, &prefix);
    assay_put_u8(&prefix, '\0');
    if (assay_buf_status(&prefix) == ASSAY_OK)
        add_below(g, model ? ASSAY_CKPT_MODEL : ASSAY_CKPT_STATE, value, (const char *)prefix.data);
    else
        g->status = ASSAY_ENOMEM;
    assay_buf_release(&prefix);
}

static void add_root(gathering *g)
{
    const assay_pickle *p = &g->torch->pickle;
    const uint32_t root = unwrap_root(g, p->root);
    const bool object = p->node[root].kind == ASSAY_PICKLE_OBJECT || p->node[root].kind == ASSAY_PICKLE_CALL;
    if (object && !is_model(p, root))
        assay_ckpt_put_class(p, root, g->torch->file->to->object, sizeof g->torch->file->to->object);
    const size_t count = count_models(g, root);
    if (!is_model(p, root) && !assay_walk_is_list(p, root)) { /* a tensor by itself */
        add_below(g, ASSAY_CKPT_MODEL, root, "tensor");
        return;
    }
    if (!assay_walk_is_dict(p, root) || (count == 0 && !has_optimizer(g, root))) {
        add_below(g, ASSAY_CKPT_MODEL, root, "");
        return;
    }
    for (uint32_t i = p->node[root].first; i != ASSAY_PICKLE_NOTHING && g->status == ASSAY_OK; i = p->item[i].next)
        add_keyed(g, p->item[i].key, p->item[i].value, count == 1);
}

/* Is it a key of the root that somebody else reads? */
static bool is_left_out(const assay_pickle *p, const assay_torch_choice *choice, uint32_t key)
{
    for (const char *const *left = choice->left_out; left && *left; left++)
        if (assay_pickle_is_text(p, key, *left))
            return true;
    return false;
}

static void add_choice(gathering *g)
{
    const assay_pickle *p = &g->torch->pickle;
    if (g->choice->prefix) {
        add_below(g, g->torch->file->role, p->root, g->choice->prefix);
        return;
    }
    if (!assay_walk_is_dict(p, p->root))
        return;
    for (uint32_t i = p->node[p->root].first; i != ASSAY_PICKLE_NOTHING && g->status == ASSAY_OK; i = p->item[i].next)
        if (!is_left_out(p, g->choice, p->item[i].key))
            add_keyed(g, p->item[i].key, p->item[i].value, true);
}

static void add_state(gathering *g)
{
    const char *path = g->torch->file->path, *slash = strrchr(path, '/'), *stem = slash ? slash + 1 : path;
    const char *point = strrchr(stem, '.');
    assay_buf prefix = ASSAY_BUF(SIZE_MAX);
    assay_put_format(&prefix, "state/%.*s", point ? (int)(point - stem) : (int)strlen(stem), stem);
    assay_put_u8(&prefix, '\0');
    if (assay_buf_status(&prefix) == ASSAY_OK)
        add_below(g, ASSAY_CKPT_STATE, g->torch->pickle.root, (const char *)prefix.data);
    else
        g->status = ASSAY_ENOMEM;
    assay_buf_release(&prefix);
}

/* ---- the file ---- */

static int damaged(const assay_torch *t, const char *what)
{
    assay_ckpt_problem(t->file, ASSAY_PROBLEM_HEADER, -1, "%s", what);
    return ASSAY_EFORMAT;
}

static const char DATA[] = "data.pkl", CONSTANTS[] = "constants.pkl";

/* Finds ROOT/NAME, of which a torch file has one. How many there are. */
static size_t find_root(assay_torch *t, const char *wanted, uint32_t *pickle)
{
    const assay_dict *names = t->file->zip.names;
    size_t found = 0;
    for (uint32_t i = 0; i < assay_dict_count(names); i++) {
        size_t length = 0;
        const char *name = assay_dict_name(names, i, &length), *slash = memchr(name, '/', length);
        const char *below = slash ? slash + 1 : name;
        const size_t size = length - (size_t)(below - name);
        if (size != strlen(wanted) || memcmp(below, wanted, size) != 0)
            continue;
        found++;
        *pickle = i;
        t->root = name;
        t->root_length = slash ? (size_t)(slash - name) : 0;
    }
    return found;
}

/* The bytes of an entry, which the caller frees; a problem says what is wrong. */
static int read_entry(const assay_torch *t, uint32_t number, uint64_t most, uint8_t **out)
{
    const assay_zip_entry *e = &t->file->zip.entry[number];
    assay_error err = {{0}};
    if (e->size > most || e->compressed > most)
        return damaged(t, "its pickle has more than 1 GiB");
    const assay_packed_source source = {assay_ckpt_read, t->file, t->file->path};
    const assay_packed_range range = {e->data, e->compressed, e->size, (assay_zip_method)e->method};
    int status = assay_inflate_whole(&source, &range, out, &err);
    if (status == ASSAY_OK && e->crc != 0 && assay_crc32(0, *out, (size_t)e->size) != e->crc) {
        free(*out);
        *out = NULL;
        status =
            assay_fail(&err, ASSAY_EFORMAT,
                       "%s: offset %llu: %s is not what the zip file's directory has the CRC-32 of: the bytes were "
                       "changed after they were written",
                       t->file->path, (unsigned long long)e->data, assay_dict_name(t->file->zip.names, number, NULL));
    }
    if (status == ASSAY_EFORMAT || status == ASSAY_EIO || status == ASSAY_EBUDGET)
        assay_problems_add(t->file->to->problems,
                           status == ASSAY_EIO       ? ASSAY_PROBLEM_READ
                           : status == ASSAY_EBUDGET ? ASSAY_PROBLEM_UNSUPPORTED
                                                     : ASSAY_PROBLEM_HEADER,
                           t->file->to->step, t->file->path, (int64_t)e->data, "%s", err.text);
    return status == ASSAY_EBUDGET ? ASSAY_EFORMAT : status;
}

static int read_byte_order(assay_torch *t)
{
    char name[512];
    uint8_t *text = NULL;
    const int length = snprintf(name, sizeof name, "%.*s/byteorder", (int)t->root_length, t->root);
    const size_t skip = t->root_length ? 0 : 1;
    const uint32_t number = length > 0 && (size_t)length < sizeof name
                                ? assay_dict_find(t->file->zip.names, name + skip, (size_t)length - skip)
                                : ASSAY_NO_ID;
    if (number == ASSAY_NO_ID)
        return ASSAY_OK;
    const uint64_t size = t->file->zip.entry[number].size;
    ASSAY_TRY(read_entry(t, number, 4096, &text));
    t->swapped = size == 3 && memcmp(text, "big", 3) == 0;
    const bool little = size == 6 && memcmp(text, "little", 6) == 0;
    free(text);
    return t->swapped || little ? ASSAY_OK : damaged(t, "its byte order is neither little nor big");
}

static int read_pickle(assay_torch *t, uint32_t number)
{
    assay_error err = {{0}};
    int status = ASSAY_EFORMAT;
    if (t->file->zip.entry[number].size > assay_pickle_memory()) /* refused before it is inflated */
        assay_ckpt_problem(t->file, ASSAY_PROBLEM_UNSUPPORTED, -1,
                           "its data.pkl has %llu bytes, more than half of --memory; give more",
                           (unsigned long long)t->file->zip.entry[number].size);
    else
        status = read_entry(t, number, PICKLE_MOST, &t->pickled);
    if (status != ASSAY_OK)
        return status;
    status = assay_pickle_read(t->pickled, (size_t)t->file->zip.entry[number].size, &t->pickle, &err);
    if (status == ASSAY_EFORMAT) /* what takes too much memory is not damaged */
        assay_ckpt_problem(t->file, strstr(err.text, "--memory") ? ASSAY_PROBLEM_UNSUPPORTED : ASSAY_PROBLEM_PICKLE, -1,
                           "its data.pkl: %s", err.text);
    return status;
}

static int open_pickle(assay_torch *t)
{
    uint32_t number = 0;
    const size_t found = find_root(t, DATA, &number);
    if (found != 1)
        return damaged(t, found ? "the zip file has more than one data.pkl"
                                : "the zip file has no data.pkl, which every torch file has");
    int status = read_byte_order(t);
    ASSAY_THEN(status, read_pickle(t, number));
    return status == ASSAY_OK ? assay_torch_number_storages(t) : status;
}

static void release_pickle(assay_torch *t)
{
    assay_pickle_release(&t->pickle);
    free(t->pickled);
    free(t->storage);
}

/* Most files have a tensor an entry, whose name is a part of the pickle. */
static int make_room(const assay_torch *t, size_t tensors)
{
    enum { OF_NAME = 3 };
    assay_contents *c = t->file->to;
    int status = assay_contents_reserve(c, tensors);
    return status == ASSAY_OK ? assay_dict_reserve(c->names, tensors, t->pickle.size / OF_NAME) : status;
}

static int gather(assay_torch *t, const assay_torch_choice *choice)
{
    gathering g = {.torch = t, .seen = assay_dict_new(), .firsts = assay_dict_new(), .choice = choice};
    assay_buf_init(&g.path, SIZE_MAX);
    assay_buf_init(&g.same, SIZE_MAX);
    const size_t entries = assay_dict_count(t->file->zip.names);
    g.use = assay_heap_alloc_large(entries * sizeof *g.use);
    g.status = g.seen && g.firsts && g.use ? make_room(t, entries) : ASSAY_ENOMEM;
    if (g.use)
        memset(g.use, 0, entries * sizeof *g.use);
    if (g.status == ASSAY_OK && choice)
        add_choice(&g);
    else if (g.status == ASSAY_OK && t->file->role == ASSAY_CKPT_STATE)
        add_state(&g);
    else if (g.status == ASSAY_OK && t->file->role == ASSAY_CKPT_OPTIMIZER)
        g.status = assay_optimizer_add(t, t->pickle.root, &g);
    else if (g.status == ASSAY_OK)
        add_root(&g);
    assay_dict_free(g.seen);
    assay_dict_free(g.firsts);
    free(g.use);
    assay_buf_release(&g.path);
    assay_buf_release(&g.same);
    return g.status == ASSAY_OK ? t->file->to->status : g.status;
}

int assay_torch_add_chosen(assay_torch *t, const assay_torch_choice *choice)
{
    return gather(t, choice);
}

/* Names a file that says another step than its neighbours, or than the name that Megatron-LM or DeepSpeed gave the
 * directory. */
static void check_step(assay_torch *t)
{
    static const char *const keys[] = {"global_steps", "iteration"}, *const names[] = {"global_step", "iter_"};
    assay_contents *c = t->file->to;
    const assay_pickle *p = &t->pickle;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const uint32_t node =
            assay_walk_is_dict(p, p->root) ? assay_pickle_get(p, p->root, keys[i]) : ASSAY_PICKLE_NOTHING;
        if (node == ASSAY_PICKLE_NOTHING || p->node[node].kind != ASSAY_PICKLE_INT || p->node[node].integer < 0 ||
            p->node[node].integer == INT64_MAX)
            continue;
        const int64_t said = p->node[node].integer;
        const bool named = strncmp(c->directory, names[i], strlen(names[i])) == 0;
        const int64_t wanted = named ? c->step : c->said_step > 0 ? c->said_step - 1 : said;
        if (said != wanted)
            assay_ckpt_problem(t->file, ASSAY_PROBLEM_INDEX_MISMATCH, -1,
                               "its %s is %lld, that of %s %lld: files of two steps lie in the checkpoint", keys[i],
                               (long long)said, named ? "the directory's name" : "its neighbours", (long long)wanted);
        c->said_step = c->said_step > 0 ? c->said_step : said + 1;
        return;
    }
}

/* Of a TorchScript file: the tensors that its program has as constants, a tuple in a pickle of its own. */
static int add_constants(const assay_torch *script)
{
    static const assay_torch_choice CHOICE = {.prefix = "constants"};
    assay_torch t = {.file = script->file, .data = "/constants/", .swapped = script->swapped};
    uint32_t number = 0;
    if (find_root(&t, CONSTANTS, &number) != 1)
        return ASSAY_OK;
    int status = read_pickle(&t, number);
    ASSAY_THEN(status, assay_torch_number_storages(&t));
    ASSAY_THEN(status, gather(&t, &CHOICE));
    release_pickle(&t);
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}

static int add(assay_torch *t)
{
    assay_ckpt_file *f = t->file;
    check_step(t);
    if (!f->take)
        assay_megatron_check_rank(f, &t->pickle);
    f->to->in_order = true;
    int status = f->take ? f->take(t, f->context) : gather(t, NULL);
    if (status == ASSAY_OK && !f->take && f->role == ASSAY_CKPT_MODEL)
        status = add_constants(t);
    f->to->in_order = false;
    return status;
}

int assay_torch_add_opened(assay_torch *t)
{
    const int status = assay_torch_number_storages(t);
    return status == ASSAY_OK ? add(t) : status;
}

int assay_ckpt_add_torch(assay_ckpt_file *f)
{
    assay_torch t = {.file = f, .data = "/data/"};
    int status = open_pickle(&t);
    ASSAY_THEN(status, add(&t));
    release_pickle(&t);
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}

int assay_ckpt_add_torch_chosen(assay_ckpt_file *f, const assay_torch_choice *choice)
{
    assay_torch t = {.file = f, .data = "/data/"};
    int status = open_pickle(&t);
    ASSAY_THEN(status, gather(&t, choice));
    release_pickle(&t);
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}

int assay_torch_single(assay_ckpt_file *f, assay_ckpt_place *place, assay_torch_range *range, assay_error *err)
{
    assay_torch t = {.file = f, .data = "/data/"};
    int status = assay_zip_open(assay_ckpt_read, f, f->size, f->path, &f->zip, err);
    ASSAY_THEN(status, open_pickle(&t));
    if (status == ASSAY_OK) {
        const int found = assay_torch_tensor(&t, t.pickle.root, place, range, err);
        status = found < 0 ? found : found == 1 ? ASSAY_OK : assay_fail(err, ASSAY_EFORMAT, "there is no tensor");
    }
    release_pickle(&t);
    assay_zip_release(&f->zip);
    return status;
}
