/* deepspeed.c - see deepspeed.h.
 *
 * Of each tensor-parallel rank:
 *   1. The model's tensors are in the files of the model, of layers and of experts. Where data-parallel ranks have a
 *      file each (stage 3), the lowest one's counts: parameters have no elements there, buffers are whole.
 *   2. The file of the model has the names and shapes of the optimizer's groups (param_shapes).
 *   3. Each data-parallel rank has a file of its partitions, which zero.c puts together. One that is missing makes all
 *      of them unreadable. */
#include "format/checkpoint/deepspeed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "format/checkpoint/files.h"
#include "format/checkpoint/keys.h"
#include "format/checkpoint/optimizer.h"
#include "format/checkpoint/torch.h"
#include "format/checkpoint/walk.h"
#include "format/checkpoint/zero.h"

/* ---- deepspeed universal ---- */

/* Universal checkpoints of DeepSpeed: zero/NAME/KEY.pt has what is kept of a parameter, whole.
 */

typedef struct named {
    const char *name;
    size_t length;
} named;

/* A tensor, or a dictionary that has it under "param". */
static int take_universal(assay_torch *t, void *context)
{
    const named *n = context;
    const assay_pickle *p = &t->pickle;
    const uint32_t below = assay_walk_is_dict(p, p->root) ? assay_pickle_get(p, p->root, "param") : p->root;
    assay_ckpt_place place;
    assay_torch_range range = {0};
    assay_error what = {{0}};
    const int found = assay_torch_tensor(t, below, &place, &range, &what);
    if (found == ASSAY_EFORMAT)
        assay_ckpt_problem(t->file, ASSAY_PROBLEM_RECORD, -1, "%s", what.text);
    const assay_ckpt_stretch at = {t->file->number, range.offset, range.length};
    if (found == 1)
        assay_contents_add(t->file->to,
                           &(assay_ckpt_found){ASSAY_CKPT_OPTIMIZER, n->name, n->length, at, &place, NULL});
    return found == ASSAY_ENOMEM ? found : t->file->to->status;
}

/* The files of one parameter; `zero` is the directory of all. */
static int read_parameter(assay_contents *c, const char *zero, const char *parameter)
{
    char directory[ASSAY_PATH_ROOM], path[ASSAY_PATH_ROOM];
    assay_names inside = {0};
    int status = ASSAY_OK;
    if (snprintf(directory, sizeof directory, "%s/%s", zero, parameter) >= (int)sizeof directory ||
        assay_store_list(c->store, directory, &inside, NULL) != ASSAY_OK)
        return ASSAY_OK; /* no directory: what belongs to no parameter */
    for (size_t i = 0; i < inside.count && status == ASSAY_OK; i++) {
        const char *file = inside.name[i];
        assay_buf name;
        if (assay_ckpt_kind_of(file) != ASSAY_CKPT_TORCH ||
            snprintf(path, sizeof path, "%s/%s", directory, file) >= (int)sizeof path)
            continue;
        assay_buf_init(&name, SIZE_MAX);
        assay_put_format(&name, "optimizer/%s/%.*s", parameter, (int)assay_ckpt_stem(file), file);
        status = assay_buf_status(&name);
        named n = {(const char *)name.data, name.size};
        ASSAY_THEN(status, assay_ckpt_read_torch(c, path, file, take_universal, &n));
        assay_buf_release(&name);
    }
    assay_names_release(&inside);
    return status;
}

/* Adds optimizer/NAME/KEY of the files zero/NAME/KEY.pt, where there are some. Likewise. */
static int assay_deepspeed_add_universal(assay_contents *c, const char *directory)
{
    char zero[ASSAY_PATH_ROOM];
    assay_names parameters = {0};
    int status = ASSAY_OK;
    if (snprintf(zero, sizeof zero, "%s%szero", directory, *directory ? "/" : "") >= (int)sizeof zero ||
        assay_store_list(c->store, zero, &parameters, NULL) != ASSAY_OK)
        return ASSAY_OK;
    for (size_t i = 0; i < parameters.count && status == ASSAY_OK; i++)
        status = read_parameter(c, zero, parameters.name[i]);
    assay_names_release(&parameters);
    return status;
}

/* ---- deepspeed ---- */

enum { PARTITIONS_MOST = 1 << 20 };

/* The checkpoint of one tensor-parallel rank while it is read. */
typedef struct saved {
    assay_contents *c;
    const char *directory;
    const assay_names *names;
    const char *model; /* its digits; "": the only one */
    bool model_aside;
    assay_zero *zero, *frozen;
    bool by_parameter;   /* stage 3 */
    bool first;          /* the file under way is the first of its kind */
    bool partitioned;    /* the files of the model have a D each */
    uint32_t partitions; /* that there should be */
    uint32_t rank;       /* D of the file under way */
    bool unread;         /* a file of partitions cannot be used */
} saved;

static bool path_of(const saved *s, const char *name, char out[ASSAY_PATH_ROOM])
{
    const int size = snprintf(out, ASSAY_PATH_ROOM, "%s%s%s", s->directory, *s->directory ? "/" : "", name);
    return size > 0 && size < ASSAY_PATH_ROOM;
}

/* Is it a file of this rank? */
static bool is_mine(const saved *s, const char *name, assay_deepspeed_kind kind, assay_deepspeed_name *out)
{
    *out = assay_deepspeed_name_of(name);
    return out->kind == kind && (*s->model == '\0' || (strlen(s->model) == out->model_length &&
                                                       memcmp(s->model, out->model, out->model_length) == 0));
}

/* ---- names and shapes ---- */

static int add_group(assay_zero *z, const assay_pickle *p, uint32_t group, uint32_t shapes)
{
    int status = ASSAY_OK;
    for (uint32_t i = p->node[shapes].first; i != ASSAY_PICKLE_NOTHING && status == ASSAY_OK; i = p->item[i].next) {
        int64_t shape[ASSAY_MAX_DIMS];
        const uint32_t key = p->item[i].key;
        const int dims = assay_walk_numbers(p, p->item[i].value, shape);
        if (dims < 0 || key == ASSAY_PICKLE_NOTHING || p->node[key].kind != ASSAY_PICKLE_TEXT)
            return ASSAY_EFORMAT;
        status = assay_zero_add_parameter(z, group, (const char *)p->bytes + p->node[key].a, (size_t)p->node[key].size,
                                          shape, dims);
    }
    return status;
}

/* A group is a dictionary; there may be a list of them, or one by itself. */
static int add_groups(assay_zero *z, const assay_pickle *p, uint32_t shapes)
{
    uint32_t group = 0;
    int status = ASSAY_OK;
    if (assay_walk_is_dict(p, shapes))
        return add_group(z, p, 0, shapes);
    if (!assay_walk_is_list(p, shapes))
        return ASSAY_OK;
    for (uint32_t i = p->node[shapes].first; i != ASSAY_PICKLE_NOTHING && status == ASSAY_OK; i = p->item[i].next) {
        if (assay_walk_is_dict(p, p->item[i].value))
            status = add_group(z, p, group++, p->item[i].value);
        else
            status = ASSAY_EFORMAT;
    }
    return status;
}

/* ---- tensors ---- */

/* A tensor in C order in one dimension. */
static void flatten(assay_ckpt_place *place)
{
    int64_t elements = 1;
    for (int i = 0; i < place->dims; i++)
        elements *= place->shape[i];
    place->dims = 1;
    place->shape[0] = elements;
}

/* Adds what a node makes as what this rank has of a group. Matrices are no partition of anything, and are left. */
static int add_flat(saved *s, assay_torch *t, assay_zero *z, uint32_t group, const char *key, size_t length,
                    uint32_t node)
{
    assay_ckpt_place place = {.dims = 0};
    assay_torch_range range = {0};
    assay_error what = {{0}};
    const int found = assay_torch_tensor(t, node, &place, &range, &what);
    if (found == ASSAY_EFORMAT) {
        assay_ckpt_problem(t->file, ASSAY_PROBLEM_RECORD, -1, "%.*s of group %u: %s", (int)length, key, group,
                           what.text);
        s->unread = true;
    }
    if (found == 1 && z == s->frozen)
        flatten(&place);
    const assay_ckpt_stretch at = {t->file->number, range.offset, range.length};
    if (found == 1 && place.dims <= 1)
        return assay_zero_add_flat(z, (assay_zero_part){s->rank, group}, key, length, &place, &at);
    return found == ASSAY_ENOMEM ? found : ASSAY_OK;
}

/* What is frozen: each parameter by itself, whole, or a piece of it in each file. */
static int take_frozen(saved *s, assay_torch *t)
{
    const assay_pickle *p = &t->pickle;
    const uint32_t shapes = assay_pickle_get(p, p->root, "frozen_param_shapes");
    const uint32_t fragments = assay_pickle_get(p, p->root, "frozen_param_fragments");
    int status = ASSAY_OK;
    uint32_t group = 0;
    if (!assay_walk_is_dict(p, shapes) || !assay_walk_is_dict(p, fragments))
        return ASSAY_OK;
    for (uint32_t i = p->node[shapes].first; i != ASSAY_PICKLE_NOTHING && status == ASSAY_OK; i = p->item[i].next) {
        const uint32_t key = p->item[i].key;
        int64_t shape[ASSAY_MAX_DIMS];
        if (key == ASSAY_PICKLE_NOTHING || p->node[key].kind != ASSAY_PICKLE_TEXT)
            continue;
        const char *name = (const char *)p->bytes + p->node[key].a;
        const size_t length = (size_t)p->node[key].size;
        const int dims = assay_walk_numbers(p, p->item[i].value, shape);
        if (dims < 0 || assay_contents_holds(s->c, name, length))
            continue;
        if (s->first)
            status = assay_zero_add_parameter(s->frozen, group, name, length, shape, dims);
        for (uint32_t k = p->node[fragments].first; k != ASSAY_PICKLE_NOTHING && status == ASSAY_OK;
             k = p->item[k].next)
            if (p->item[k].key != ASSAY_PICKLE_NOTHING && p->node[p->item[k].key].kind == ASSAY_PICKLE_TEXT &&
                p->node[p->item[k].key].size == length &&
                memcmp(p->bytes + p->node[p->item[k].key].a, name, length) == 0)
                status = add_flat(s, t, s->frozen, group, "", 0, p->item[k].value);
        group++;
    }
    return status;
}

static int take_model(assay_torch *t, void *context)
{
    static const char *const elsewhere[] = {"param_shapes", "frozen_param_shapes", "frozen_param_fragments",
                                            "shared_params", NULL};
    static const assay_torch_choice choice = {.left_out = elsewhere};
    saved *s = context;
    const assay_pickle *p = &t->pickle;
    int status = ASSAY_OK;
    if (s->first && !s->model_aside)
        status = assay_torch_add_chosen(t, &choice);
    if (s->first && status == ASSAY_OK)
        status = add_groups(s->zero, p, assay_pickle_get(p, p->root, "param_shapes"));
    if (status == ASSAY_OK && !s->model_aside)
        status = take_frozen(s, t);
    if (status == ASSAY_EFORMAT) {
        assay_ckpt_problem(t->file, ASSAY_PROBLEM_HEADER, -1, "its param_shapes are not names with shapes");
        s->unread = true;
    }
    s->first = false;
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}

typedef struct layer {
    char prefix[ASSAY_PATH_ROOM];
} layer;

static int take_part_of_model(assay_torch *t, void *context)
{
    const layer *l = context;
    const assay_torch_choice choice = {.prefix = l->prefix};
    return assay_torch_add_chosen(t, &choice);
}

/* ---- partitions ---- */

static uint32_t to_count(const assay_pickle *p, uint32_t node)
{
    int64_t most = 0;
    if (node != ASSAY_PICKLE_NOTHING && p->node[node].kind == ASSAY_PICKLE_INT)
        most = p->node[node].integer;
    else if (assay_walk_is_list(p, node))
        for (uint32_t i = p->node[node].first; i != ASSAY_PICKLE_NOTHING; i = p->item[i].next) {
            const assay_pickle_node *n = &p->node[p->item[i].value];
            if (n->kind == ASSAY_PICKLE_INT && n->integer > most)
                most = n->integer;
        }
    return most > 0 && most <= PARTITIONS_MOST ? (uint32_t)most : 0;
}

static int add_kept(saved *s, assay_torch *t, uint32_t group, uint32_t kept)
{
    const assay_pickle *p = &t->pickle;
    int status = ASSAY_OK;
    if (!assay_walk_is_dict(p, kept))
        return ASSAY_OK;
    for (uint32_t i = p->node[kept].first; i != ASSAY_PICKLE_NOTHING && status == ASSAY_OK; i = p->item[i].next) {
        const uint32_t key = p->item[i].key;
        if (key == ASSAY_PICKLE_NOTHING || p->node[key].kind != ASSAY_PICKLE_TEXT)
            continue;
        assay_buf name = ASSAY_BUF(SIZE_MAX);
        assay_keys_put_kept((const char *)p->bytes + p->node[key].a, (size_t)p->node[key].size, &name);
        status = assay_buf_status(&name);
        ASSAY_THEN(status, add_flat(s, t, s->zero, group, (const char *)name.data, name.size, p->item[i].value));
        assay_buf_release(&name);
    }
    return status;
}

/* {group: {KEY: tensor}}, or a list of such dictionaries. */
static int add_states(saved *s, assay_torch *t, uint32_t states)
{
    const assay_pickle *p = &t->pickle;
    const bool list = assay_walk_is_list(p, states);
    uint32_t group = 0;
    int status = ASSAY_OK;
    if (!list && !assay_walk_is_dict(p, states))
        return ASSAY_OK;
    for (uint32_t i = p->node[states].first; i != ASSAY_PICKLE_NOTHING && status == ASSAY_OK; i = p->item[i].next) {
        const uint32_t key = p->item[i].key;
        if (!list) {
            if (key == ASSAY_PICKLE_NOTHING || p->node[key].kind != ASSAY_PICKLE_INT || p->node[key].integer < 0 ||
                p->node[key].integer >= UINT32_MAX)
                continue;
            group = (uint32_t)p->node[key].integer;
        }
        status = add_kept(s, t, group, p->item[i].value);
        group++;
    }
    return status;
}

static int add_masters(saved *s, assay_torch *t, uint32_t list)
{
    const assay_pickle *p = &t->pickle;
    uint32_t group = 0;
    int status = ASSAY_OK;
    for (uint32_t i = p->node[list].first; i != ASSAY_PICKLE_NOTHING && status == ASSAY_OK; i = p->item[i].next)
        status = add_flat(s, t, s->zero, group++, "fp32", 4, p->item[i].value);
    return status;
}

static int note_partitions(saved *s, const assay_pickle *p, uint32_t groups)
{
    uint32_t group = 0;
    int status = ASSAY_OK;
    if (!assay_walk_is_list(p, groups))
        return ASSAY_OK;
    for (uint32_t i = p->node[groups].first; i != ASSAY_PICKLE_NOTHING && status == ASSAY_OK; i = p->item[i].next)
        status = assay_zero_set_partitions(s->zero, group++,
                                           to_count(p, assay_pickle_get(p, p->item[i].value, "partition_count")));
    return status;
}

static int take_partitions(assay_torch *t, void *context)
{
    saved *s = context;
    const assay_pickle *p = &t->pickle;
    const uint32_t all = assay_pickle_get(p, p->root, "optimizer_state_dict");
    const uint32_t whole = assay_pickle_get(p, all, "fp32_flat_groups");
    const uint32_t cut = assay_pickle_get(p, all, "single_partition_of_fp32_groups");
    const uint32_t base = assay_pickle_get(p, all, "base_optimizer_state");
    const bool by_parameter = assay_walk_is_list(p, whole);
    s->unread = s->unread || (!by_parameter && !assay_walk_is_list(p, cut));
    if (!by_parameter && !assay_walk_is_list(p, cut)) {
        assay_ckpt_problem(t->file, ASSAY_PROBLEM_UNSUPPORTED, -1,
                           "it has neither single_partition_of_fp32_groups (ZeRO 1 and 2) nor fp32_flat_groups (3)");
        return ASSAY_OK;
    }
    if (s->first) {
        s->partitions = to_count(p, assay_pickle_get(p, all, "partition_count"));
        s->by_parameter = by_parameter;
    }
    s->first = false;
    if (s->partitions > 0 && s->rank >= s->partitions)
        return ASSAY_OK;
    const uint32_t inner = assay_pickle_get(p, all, "optimizer_state_dict");
    assay_optimizer_note_betas(s->c, p, assay_pickle_get(p, by_parameter ? inner : base, "param_groups"));
    int status = add_masters(s, t, by_parameter ? whole : cut);
    if (status == ASSAY_OK && by_parameter)
        status = note_partitions(s, p, assay_pickle_get(p, all, "ds_zero_partition_groups"));
    ASSAY_THEN(status, add_states(s, t,
                                  by_parameter                  ? assay_pickle_get(p, inner, "state")
                                  : assay_walk_is_list(p, base) ? base
                                                                : assay_pickle_get(p, base, "state")));
    return status;
}

/* ---- files ---- */

/* Reads a file; *damaged when it cannot be used. */
static int read_file(saved *s, const char *name, assay_torch_take *take, void *context, bool *damaged)
{
    char path[ASSAY_PATH_ROOM];
    const uint64_t losses = s->c->problems->losses;
    if (!path_of(s, name, path))
        return ASSAY_OK;
    const int status = assay_ckpt_read_torch(s->c, path, name, take, context);
    *damaged = *damaged || s->c->problems->losses > losses;
    return status;
}

static int read_model(saved *s)
{
    int status = ASSAY_OK;
    bool ignored = false;
    s->first = true;
    for (size_t i = 0; i < s->names->count && status == ASSAY_OK; i++) {
        assay_deepspeed_name n;
        if (!is_mine(s, s->names->name[i], ASSAY_DEEPSPEED_MODEL, &n))
            continue;
        s->rank = n.rank;
        /* Of other ranks' files pieces of what is frozen are taken; the rest has to be sound: no rank resumes without.
         */
        if (s->first || n.partitioned)
            status = read_file(s, s->names->name[i], take_model, s, &ignored);
    }
    for (size_t i = 0; i < s->names->count && status == ASSAY_OK && !s->model_aside; i++) {
        assay_deepspeed_name n;
        layer l = {{0}};
        const char *name = s->names->name[i];
        if (is_mine(s, name, ASSAY_DEEPSPEED_LAYER, &n))
            snprintf(l.prefix, sizeof l.prefix, "%.*s.", (int)n.layer, name);
        else if (!is_mine(s, name, ASSAY_DEEPSPEED_EXPERT, &n))
            continue;
        status = read_file(s, name, take_part_of_model, &l, &ignored);
    }
    return status;
}

/* Names the partitions that should be there and are not. */
static int name_missing(saved *s, uint32_t there, const char *like)
{
    uint8_t *have = assay_alloc_zeroed((size_t)s->partitions + 1, 1);
    ASSAY_HAVE(have);
    for (size_t i = 0; i < s->names->count; i++) {
        assay_deepspeed_name n;
        if (is_mine(s, s->names->name[i], ASSAY_DEEPSPEED_OPTIMIZER, &n) && n.rank < s->partitions)
            have[n.rank] = 1;
    }
    const char *number = strstr(like, "zero_pp_rank_") + sizeof "zero_pp_rank_" - 1;
    for (uint32_t rank = 0; rank < s->partitions; rank++) {
        char name[512], path[ASSAY_PATH_ROOM];
        if (have[rank])
            continue;
        s->unread = true;
        snprintf(name, sizeof name, "%.*s%u%s", (int)(number - like), like, rank, strchr(number, '_'));
        if (path_of(s, name, path))
            assay_problems_add(
                s->c->problems, ASSAY_PROBLEM_MISSING_SHARD, s->c->step, path, -1,
                "%s is missing: the optimizer was saved in %u partitions, and %u are here; nothing of it "
                "is evaluated",
                path, s->partitions, there);
    }
    free(have);
    return ASSAY_OK;
}

static void name_extra(const saved *s)
{
    for (size_t i = 0; i < s->names->count; i++) {
        assay_deepspeed_name n;
        char path[ASSAY_PATH_ROOM];
        if (is_mine(s, s->names->name[i], ASSAY_DEEPSPEED_OPTIMIZER, &n) && n.rank >= s->partitions &&
            path_of(s, s->names->name[i], path))
            assay_problems_add(s->c->problems, ASSAY_PROBLEM_EXTRA_SHARD, s->c->step, path, -1,
                               "%s is not read: the optimizer was saved in %u partitions", path, s->partitions);
    }
}

static int read_partitions(saved *s)
{
    int status = ASSAY_OK;
    uint32_t there = 0;
    const char *like = NULL;
    s->first = true;
    for (size_t i = 0; i < s->names->count && status == ASSAY_OK; i++) {
        assay_deepspeed_name n;
        if (!is_mine(s, s->names->name[i], ASSAY_DEEPSPEED_OPTIMIZER, &n))
            continue;
        s->rank = n.rank;
        like = s->names->name[i];
        there++;
        status = read_file(s, like, take_partitions, s, &s->unread);
    }
    if (status != ASSAY_OK || there == 0)
        return status;
    if (s->partitions == 0)
        s->partitions = there;
    status = name_missing(s, there, like);
    name_extra(s);
    if (status == ASSAY_OK && s->unread)
        return assay_zero_promise(s->zero, s->by_parameter && !s->model_aside);
    ASSAY_THEN(status, assay_zero_finish(s->zero, s->by_parameter ? ASSAY_ZERO_BY_PARAMETER : ASSAY_ZERO_BY_GROUP,
                                         s->partitions, !s->model_aside, s->directory));
    return status;
}

int assay_ckpt_add_deepspeed(assay_contents *c, const char *directory, const assay_names *names, const char *model,
                             bool model_aside)
{
    saved s = {.c = c,
               .directory = directory,
               .names = names,
               .model = model,
               .model_aside = model_aside,
               .zero = assay_zero_new(c),
               .frozen = assay_zero_new(c)};
    int status = s.zero && s.frozen ? read_model(&s) : ASSAY_ENOMEM;
    if (status == ASSAY_OK && assay_zero_parameters(s.frozen) > 0)
        status = assay_zero_finish(s.frozen, ASSAY_ZERO_BY_GROUP, 1, false, directory);
    ASSAY_THEN(status, read_partitions(&s));
    ASSAY_THEN(status, assay_deepspeed_add_universal(c, directory));
    assay_zero_free(s.zero);
    assay_zero_free(s.frozen);
    return status == ASSAY_OK ? c->status : status;
}
