/* zero.c - see zero.h.
 *
 * A parameter becomes a list of runs: so many elements from there on in that file. Nothing is copied here. */
#include "format/checkpoint/zero.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"

typedef struct parameter {
    uint32_t group;
    size_t first_dim; /* in `dims` */
    int dims;
    uint64_t elements;
} parameter;

typedef struct flat { /* what a rank has of a group under a key */
    uint32_t key, group, rank;
    uint32_t file;
    uint64_t offset, length, elements;
    uint32_t crc;
    unsigned flags;
    int dtype;
    bool single; /* without dimensions */
    bool plain;  /* in C order, stored */
} flat;

typedef struct span { /* flats in a row */
    const flat *flat;
    size_t count;
} span;

struct assay_zero {
    assay_contents *c;
    assay_dict *names; /* by parameter */
    assay_dict *keys;
    parameter *parameter;
    size_t room;
    int64_t *dim;
    size_t dims, dim_room;
    flat *flat;
    size_t flats, flat_room;
    uint32_t *partitions; /* by group; 0: as many as ranks */
    size_t partition_room;
    assay_ckpt_piece *run; /* of the parameter under way */
    size_t runs, run_room;
    const char *path;
    bool masters;
};

/* Room for one more, in doubling steps. NULL without memory. */
static void *grow(void *list, size_t count, size_t *room, size_t size)
{
    if (list && count < *room)
        return list;
    const size_t more = *room ? 2 * *room : 64;
    void *grown = assay_realloc_array(list, more, size);
    if (grown)
        *room = more;
    return grown;
}

assay_zero *assay_zero_new(assay_contents *c)
{
    assay_zero *z = assay_alloc_zeroed(1, sizeof *z);
    if (!z)
        return NULL;
    z->c = c;
    z->names = assay_dict_new();
    z->keys = assay_dict_new();
    if (z->names && z->keys)
        return z;
    assay_zero_free(z);
    return NULL;
}

void assay_zero_free(assay_zero *z)
{
    if (!z)
        return;
    assay_dict_free(z->names);
    assay_dict_free(z->keys);
    free(z->parameter);
    free(z->dim);
    free(z->flat);
    free(z->partitions);
    free(z->run);
    free(z);
}

uint32_t assay_zero_parameters(const assay_zero *z)
{
    return assay_dict_count(z->names);
}

int assay_zero_add_parameter(assay_zero *z, uint32_t group, const char *name, size_t length, const int64_t *shape,
                             int dims)
{
    const uint32_t count = assay_dict_count(z->names);
    int64_t elements = 1;
    for (int i = 0; i < dims; i++)
        if (__builtin_mul_overflow(elements, shape[i], &elements))
            return ASSAY_EFORMAT;
    parameter *grown = grow(z->parameter, count, &z->room, sizeof *grown);
    ASSAY_HAVE(grown);
    z->parameter = grown;
    const size_t first = z->dims;
    for (int i = 0; i < dims; i++) {
        int64_t *dim = grow(z->dim, z->dims, &z->dim_room, sizeof *dim);
        ASSAY_HAVE(dim);
        z->dim = dim;
        z->dim[z->dims++] = shape[i];
    }
    const uint32_t id = assay_dict_add(z->names, name, length);
    if (id == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    if (id < count)
        return ASSAY_EFORMAT; /* in two groups, or twice in one */
    z->parameter[id] = (parameter){group, first, dims, (uint64_t)elements};
    return ASSAY_OK;
}

int assay_zero_add_flat(assay_zero *z, assay_zero_part of, const char *key, size_t key_length,
                        const assay_ckpt_place *place, const assay_ckpt_stretch *at)
{
    flat *grown = grow(z->flat, z->flats, &z->flat_room, sizeof *grown);
    const uint32_t id = grown ? assay_dict_add(z->keys, key, key_length) : ASSAY_NO_ID;
    if (grown)
        z->flat = grown;
    if (id == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    z->flat[z->flats++] =
        (flat){.key = id,
               .group = of.group,
               .rank = of.rank,
               .file = at->file,
               .offset = at->offset,
               .length = at->length,
               .elements = place->dims ? (uint64_t)place->shape[0] : 1,
               .crc = place->crc,
               .flags = place->flags,
               .dtype = place->dtype,
               .single = place->dims == 0,
               .plain = place->form == ASSAY_CKPT_RANGE && !(place->flags & (ASSAY_CKPT_DEFLATED | ASSAY_CKPT_PACKED))};
    return ASSAY_OK;
}

int assay_zero_set_partitions(assay_zero *z, uint32_t group, uint32_t partitions)
{
    if (group >= z->partition_room) {
        const size_t room = 2 * (size_t)group + 16;
        uint32_t *grown = assay_realloc_array(z->partitions, room, sizeof *grown);
        ASSAY_HAVE(grown);
        memset(grown + z->partition_room, 0, (room - z->partition_room) * sizeof *grown);
        z->partitions = grown;
        z->partition_room = room;
    }
    z->partitions[group] = partitions;
    return ASSAY_OK;
}

/* ---- one parameter ---- */

/* Writes the name of what is kept of a parameter under a key: optimizer/NAME/KEY, or its own. True: its own. */
static bool put_name(const assay_zero *z, uint32_t id, uint32_t key, assay_buf *text)
{
    static const char MASTER[] = "fp32";
    size_t length = 0, key_length = 0;
    const char *name = assay_dict_name(z->names, id, &length), *kept = assay_dict_name(z->keys, key, &key_length);
    const bool master = z->masters && key_length == sizeof MASTER - 1 && memcmp(kept, MASTER, key_length) == 0 &&
                        !assay_contents_holds(z->c, name, length);
    const bool own = master || key_length == 0;
    if (!own)
        assay_put_format(text, "optimizer/");
    assay_put_bytes(text, name, length);
    if (!own) {
        assay_put_u8(text, '/');
        assay_put_bytes(text, kept, key_length);
    }
    return own;
}

static int promise(assay_zero *z, uint32_t first, uint32_t end, uint32_t key)
{
    int status = ASSAY_OK;
    for (uint32_t id = first; id < end && status == ASSAY_OK; id++) {
        assay_buf text = ASSAY_BUF(SIZE_MAX);
        const bool own = put_name(z, id, key, &text);
        status = assay_buf_status(&text);
        if (status == ASSAY_OK)
            assay_contents_promise(z->c, own ? ASSAY_CKPT_MODEL : ASSAY_CKPT_OPTIMIZER, (const char *)text.data,
                                   text.size);
        assay_buf_release(&text);
    }
    return status == ASSAY_OK ? z->c->status : status;
}

/* Adds a parameter's tensor, whose elements are the runs; those of `first` are of its kind. */
static int add_tensor(assay_zero *z, uint32_t id, const flat *first)
{
    const parameter *p = &z->parameter[id];
    const size_t element = assay_dtype_size(first->dtype);
    assay_ckpt_place place = {.form = z->runs > 1 ? ASSAY_CKPT_RUNS : ASSAY_CKPT_RANGE,
                              .flags = first->flags & ~(unsigned)ASSAY_CKPT_CHECKED,
                              .dtype = first->dtype,
                              .dims = p->dims,
                              .pieces = (uint32_t)z->runs};
    uint32_t file = first->file;
    uint64_t offset = first->offset, bytes = 0;
    if (first->single) {
        place.dims = 0;
        place.form = ASSAY_CKPT_RANGE;
        place.flags = first->flags;
        place.crc = first->crc;
        bytes = first->length;
    } else if (z->runs > 0) {
        file = z->run[0].file;
        offset = z->run[0].offset;
        bytes = (uint64_t)z->run[0].size[0] * element;
    }
    for (int i = 0; i < place.dims; i++)
        place.shape[i] = z->dim[p->first_dim + (size_t)i];
    assay_buf text = ASSAY_BUF(SIZE_MAX);
    const bool own = put_name(z, id, first->key, &text);
    const int status = assay_buf_status(&text);
    const assay_ckpt_found found = {.role = own ? ASSAY_CKPT_MODEL : ASSAY_CKPT_OPTIMIZER,
                                    .name = (const char *)text.data,
                                    .name_length = text.size,
                                    .at = {file, offset, bytes},
                                    .place = &place,
                                    .pieces = z->run};
    if (status == ASSAY_OK)
        assay_contents_add(z->c, &found);
    assay_buf_release(&text);
    return status == ASSAY_OK ? z->c->status : status;
}

/* Appends the elements [at, at + count) of flats that lie behind one another to the runs; `have` counts those there
 * are. */
static int add_runs(assay_zero *z, span s, uint64_t at, uint64_t count, uint64_t *have)
{
    for (size_t i = 0; i < s.count && count > 0; i++) {
        const flat *f = &s.flat[i];
        if (at >= f->elements) {
            at -= f->elements;
            continue;
        }
        const uint64_t take = f->elements - at < count ? f->elements - at : count;
        assay_ckpt_piece *grown = grow(z->run, z->runs, &z->run_room, sizeof *grown);
        ASSAY_HAVE(grown);
        z->run = grown;
        z->run[z->runs] = (assay_ckpt_piece){.file = f->file, .offset = f->offset + at * assay_dtype_size(f->dtype)};
        z->run[z->runs].first[0] = (int64_t)*have;
        z->run[z->runs++].size[0] = (int64_t)take;
        *have += take;
        count -= take;
        at = 0;
    }
    return ASSAY_OK;
}

/* ---- groups ---- */

ASSAY_ORDER_BY(compare_flats, flat, key, rank, group)

static int compare_by_group(const void *a, const void *b)
{
    const flat *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return compare_flats(a, b);
}

static uint64_t count_elements(span s)
{
    uint64_t all = 0;
    for (size_t i = 0; i < s.count; i++)
        all += s.flat[i].elements;
    return all;
}

/* The parameters of a group: [*first, *end). */
static void find_group(const assay_zero *z, uint32_t group, bool all, uint32_t *first, uint32_t *end)
{
    const uint32_t count = assay_dict_count(z->names);
    *first = 0;
    while (!all && *first < count && z->parameter[*first].group < group)
        ++*first;
    *end = *first;
    while (*end < count && (all || z->parameter[*end].group == group))
        ++*end;
}

static uint64_t ceiling(uint64_t n, uint64_t by)
{
    return n / by + (n % by != 0);
}

static void refuse(const assay_zero *z, const flat *f, int kind, const char *why)
{
    size_t length = 0;
    const char *key = assay_dict_name(z->keys, f->key, &length);
    assay_problems_add(z->c->problems, kind, z->c->step, z->path, -1, "%s: %s of group %u %s; it is not evaluated",
                       z->path, length ? key : "what is frozen", f->group, why);
}

/* Can the partitions be put together at all? A problem says why not. */
static bool is_joinable(const assay_zero *z, span s)
{
    for (size_t i = 0; i < s.count; i++) {
        if (!s.flat[i].plain) {
            refuse(z, s.flat, ASSAY_PROBLEM_UNSUPPORTED, "has partitions that do not lie in C order");
            return false;
        }
        if (s.flat[i].dtype != s.flat[0].dtype || s.flat[i].single != s.flat[0].single ||
            ((s.flat[i].flags ^ s.flat[0].flags) & ~(unsigned)ASSAY_CKPT_CHECKED)) {
            refuse(z, s.flat, ASSAY_PROBLEM_INCOMPLETE_TENSOR, "has partitions of several kinds");
            return false;
        }
    }
    return true;
}

/* What ranks have of a number that belongs to every parameter of the group. */
static int add_single(assay_zero *z, span s, uint32_t first, uint32_t end)
{
    int status = ASSAY_OK;
    z->runs = 0;
    for (uint32_t id = first; id < end && status == ASSAY_OK; id++)
        status = add_tensor(z, id, s.flat);
    return status;
}

/* Stages 1 and 2: the parameters lie in a row in the partitions of all ranks together. */
static int add_by_group(assay_zero *z, span s, uint32_t first, uint32_t end, uint32_t ranks)
{
    uint64_t need = 0, at = 0;
    const uint64_t have = count_elements(s);
    size_t key_length = 0;
    assay_dict_name(z->keys, s.flat->key, &key_length);
    const bool padded = key_length > 0; /* of what is frozen nothing is said about padding */
    for (uint32_t id = first; id < end; id++)
        need += z->parameter[id].elements;
    if (have < need || (padded && ceiling(have, 2 * (uint64_t)ranks) != ceiling(need, 2 * (uint64_t)ranks))) {
        refuse(z, s.flat, ASSAY_PROBLEM_INCOMPLETE_TENSOR, "has not as many elements as its parameters");
        return promise(z, first, end, s.flat->key);
    }
    int status = ASSAY_OK;
    for (uint32_t id = first; id < end && status == ASSAY_OK; id++) {
        uint64_t taken = 0;
        z->runs = 0;
        status = add_runs(z, s, at, z->parameter[id].elements, &taken);
        at += z->parameter[id].elements;
        ASSAY_THEN(status, add_tensor(z, id, s.flat));
    }
    return status;
}

/* The flats of a rank among those of all; ranks are in order. */
static span of_rank(span s, uint32_t rank)
{
    while (s.count > 0 && s.flat[0].rank < rank) {
        s.flat++;
        s.count--;
    }
    for (size_t i = 0; i < s.count; i++)
        if (s.flat[i].rank != rank)
            s.count = i;
    return s;
}

/* Stage 3: every rank has a stretch of each parameter. */
static int add_by_parameter(assay_zero *z, span s, uint32_t first, uint32_t end, uint32_t ranks)
{
    uint64_t need = 0, at = 0;
    span *rank = assay_alloc_zeroed(ranks, sizeof *rank);
    ASSAY_HAVE(rank);
    for (uint32_t id = first; id < end; id++)
        need += ceiling(z->parameter[id].elements, ranks);
    bool whole = true;
    for (uint32_t r = 0; r < ranks; r++) {
        rank[r] = of_rank(r ? (span){rank[r - 1].flat + rank[r - 1].count,
                                     (size_t)(s.flat + s.count - rank[r - 1].flat) - rank[r - 1].count}
                            : s,
                          r);
        whole = whole && count_elements(rank[r]) == need;
    }
    if (!whole)
        refuse(z, s.flat, ASSAY_PROBLEM_INCOMPLETE_TENSOR, "has not as many elements as its parameters");
    int status = whole ? ASSAY_OK : promise(z, first, end, s.flat->key);
    for (uint32_t id = first; id < end && whole && status == ASSAY_OK; id++) {
        const uint64_t elements = z->parameter[id].elements, each = ceiling(elements, ranks);
        uint64_t taken = 0;
        z->runs = 0;
        for (uint32_t r = 0; r < ranks && status == ASSAY_OK && taken < elements; r++)
            status = add_runs(z, rank[r], at, each < elements - taken ? each : elements - taken, &taken);
        at += each;
        ASSAY_THEN(status, add_tensor(z, id, s.flat));
    }
    free(rank);
    return status;
}

int assay_zero_promise(assay_zero *z, bool masters)
{
    int status = ASSAY_OK;
    z->masters = masters;
    for (uint32_t key = 0; key < assay_dict_count(z->keys) && status == ASSAY_OK; key++)
        status = promise(z, 0, assay_dict_count(z->names), key);
    return status;
}

int assay_zero_finish(assay_zero *z, assay_zero_cut cut, uint32_t ranks, bool masters, const char *path)
{
    uint32_t groups = 0, known = 0, first = 0, end = 0;
    int status = ASSAY_OK;
    z->path = path;
    z->masters = masters;
    for (size_t i = 0; i < z->flats; i++)
        groups = z->flat[i].group >= groups ? z->flat[i].group + 1 : groups;
    for (uint32_t i = 0; i < assay_dict_count(z->names); i++)
        known = z->parameter[i].group >= known ? z->parameter[i].group + 1 : known;
    /* Of other numbers of groups, the flats are laid behind one another first. */
    const bool all = cut == ASSAY_ZERO_BY_PARAMETER && groups != known;
    if (z->flats > 0)
        qsort(z->flat, z->flats, sizeof *z->flat, all ? compare_flats : compare_by_group);
    for (size_t i = 0, next = 0; i < z->flats && status == ASSAY_OK; i = next) {
        while (next < z->flats && z->flat[next].key == z->flat[i].key &&
               (all || z->flat[next].group == z->flat[i].group))
            next++;
        const span s = {&z->flat[i], next - i};
        const uint32_t own = s.flat->group < z->partition_room ? z->partitions[s.flat->group] : 0;
        const uint32_t partitions = own > 0 && own < ranks ? own : ranks;
        find_group(z, s.flat->group, all, &first, &end);
        if (first == end)
            refuse(z, s.flat, ASSAY_PROBLEM_INCOMPLETE_TENSOR, "has no parameters in param_shapes");
        else if (!is_joinable(z, s))
            status = promise(z, first, end, s.flat->key);
        else
            status = s.flat->single               ? add_single(z, s, first, end)
                     : cut == ASSAY_ZERO_BY_GROUP ? add_by_group(z, s, first, end, partitions)
                                                  : add_by_parameter(z, s, first, end, partitions);
    }
    return status;
}
