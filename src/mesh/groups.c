/* groups.c - see groups.h.
 *
 * 1. Groups of one name make an axis if all have as many members, and no rank is in two of them. A rank's place on it
 *    is its place in its group.
 * 2. Groups that hold whole groups of other axes, as Megatron-LM's data-parallel ones "with cp" do and the flattened ones
 *    of DeviceMesh, are several axes in one: what is left is the place among those of one place on the others.
 * 3. Axes are ordered by the distance of neighbours: the farthest is the outermost.
 * 4. Ranks that have equal places on all axes differ in something that no group tells: it becomes the axis "other".
 * 5. A rank that is missing from the groups of an axis gets the one place that is left for it. */
#include "mesh/groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "container/pickle.h"

enum {
    NOWHERE = UINT32_MAX,
    CANDIDATES = 24,
    FILL_MOST = 1 << 28 /* ranks that lack a place, times places: looking for theirs takes some tenths of a second */
};

int assay_groups_init(assay_groups *g)
{
    *g = (assay_groups){.seen = assay_dict_new()};
    return g->seen ? ASSAY_OK : ASSAY_ENOMEM;
}

void assay_groups_release(assay_groups *g)
{
    for (size_t i = 0; i < g->count; i++) {
        free(g->list[i].name);
        free(g->list[i].rank);
    }
    free(g->list);
    assay_dict_free(g->seen);
    *g = (assay_groups){0};
}

/* Tells whether no rank is there twice: 1, 0 or ASSAY_ENOMEM. */
static int are_different(const uint32_t *rank, size_t ranks)
{
    uint32_t *sorted = assay_alloc((ranks + 1) * sizeof *sorted);
    int different = 1;
    ASSAY_HAVE(sorted);
    memcpy(sorted, rank, ranks * sizeof *sorted);
    qsort(sorted, ranks, sizeof *sorted, assay_order_u32);
    for (size_t i = 1; i < ranks; i++)
        different = different && sorted[i] != sorted[i - 1];
    free(sorted);
    return different;
}

/* Notes a group; 1: it is new; 0: it was seen before. The ranks go first in the key, so a name cannot run into them. */
static int see(assay_groups *g, const char *name, size_t length, const uint32_t *rank, size_t ranks)
{
    assay_buf key = ASSAY_BUF(SIZE_MAX);
    assay_put_bytes(&key, rank, ranks * sizeof *rank);
    assay_put_bytes(&key, name, length);
    const uint32_t count = assay_dict_count(g->seen);
    const uint32_t id = assay_buf_status(&key) == ASSAY_OK ? assay_dict_add(g->seen, (const char *)key.data, key.size)
                                                           : (uint32_t)ASSAY_NO_ID;
    assay_buf_release(&key);
    return id == ASSAY_NO_ID ? ASSAY_ENOMEM : id == count;
}

/* Groups come from traces and dumps, whoever wrote them: their number, their ranks and their memory are bounded
 * before anything is kept. */
int assay_groups_add(assay_groups *g, const char *name, size_t length, const int64_t *rank, size_t ranks)
{
    if (ranks == 0 || ranks > ASSAY_GROUP_RANK_MOST || g->count >= ASSAY_GROUPS_MOST ||
        g->ranks + ranks > (uint64_t)100 * ASSAY_GROUPS_MOST ||
        2 * (g->ranks + ranks) * sizeof *g->list->rank + g->count * sizeof *g->list > assay_pickle_memory())
        return ASSAY_EFORMAT;
    assay_group one = {.rank = assay_alloc(ranks * sizeof *one.rank), .ranks = (uint32_t)ranks};
    int status = one.rank ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; i < ranks && status == ASSAY_OK; i++) {
        status = rank[i] >= 0 && rank[i] < ASSAY_GROUP_RANK_MOST ? ASSAY_OK : ASSAY_EFORMAT;
        one.rank[i] = status == ASSAY_OK ? (uint32_t)rank[i] : 0;
    }
    int answer = status == ASSAY_OK ? are_different(one.rank, ranks) : status;
    if (answer == 0)
        status = ASSAY_EFORMAT;
    if (answer == 1)
        answer = see(g, name, length, one.rank, ranks);
    if (answer == 1 && g->count == g->room) {
        const size_t room = g->room ? 2 * g->room : 64;
        assay_group *grown = assay_realloc_array(g->list, room, sizeof *grown);
        g->list = grown ? grown : g->list;
        g->room = grown ? room : g->room;
        answer = grown ? 1 : ASSAY_ENOMEM;
    }
    if (answer == 1 && !(one.name = assay_copy_bytes_as_text(name, length)))
        answer = ASSAY_ENOMEM;
    if (answer == 1) {
        g->list[g->count++] = one;
        g->ranks += ranks;
        return ASSAY_OK;
    }
    free(one.rank);
    return answer < 0 ? answer : status;
}

/* What does not fit is left out; memory alone is a failure. */
int assay_groups_add_all(assay_groups *g, const assay_groups *from)
{
    int64_t *rank = NULL;
    int status = ASSAY_OK;
    for (size_t i = 0; i < from->count && status != ASSAY_ENOMEM; i++) {
        const assay_group *one = &from->list[i];
        int64_t *grown = assay_realloc_array(rank, one->ranks, sizeof *grown);
        rank = grown ? grown : rank;
        for (uint32_t k = 0; grown && k < one->ranks; k++)
            grown[k] = one->rank[k];
        status = grown ? assay_groups_add(g, one->name, strlen(one->name), grown, one->ranks) : ASSAY_ENOMEM;
    }
    free(rank);
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}

/* ---- axes ---- */

/* Lists what the groups of Megatron-LM are for; the first of an axis counts. */
static const struct {
    const char *group, *axis;
    bool with_cp;
} MEGATRON[] = {
    {"TENSOR_MODEL_PARALLEL_GROUP", "tp", false},   {"PIPELINE_MODEL_PARALLEL_GROUP", "pp", false},
    {"CONTEXT_PARALLEL_GROUP", "cp", false},        {"DATA_PARALLEL_GROUP", "dp", false},
    {"DATA_PARALLEL_GROUP_WITH_CP", "dp", true},    {"EXPERT_MODEL_PARALLEL_GROUP", "ep", false},
    {"EXPERT_TENSOR_PARALLEL_GROUP", "etp", false}, {"EXPERT_DATA_PARALLEL_GROUP", "edp", false},
};
/* Names that say an axis themselves; DeviceMesh writes "mesh_" in front of its own. */
static const char *const PLAIN[] = {"tp",  "pp", "cp",   "dp",           "ep",       "etp",
                                    "edp", "sp", "fsdp", "dp_replicate", "dp_shard", "ddp"};

/* One kind of group. */
typedef struct candidate {
    char axis[ASSAY_GROUP_AXIS_NAME];
    const char *group; /* the groups' name */
    bool with_cp;
    uint32_t groups, size;  /* size 0: they are irregular */
    uint32_t *at;           /* [ranks] */
    const assay_group **of; /* [ranks] each one's group */
    double distance;        /* of neighbours */
    uint32_t inner;         /* a bit for each candidate whose groups lie within these */
} candidate;

typedef struct laying {
    const assay_groups *g;
    assay_rank_layout *out;
    assay_buf *why;
    candidate list[CANDIDATES];
    size_t count;
} laying;

/* Finds the axis that a name speaks of; false: of none. */
static bool name_axis(const char *name, char axis[ASSAY_GROUP_AXIS_NAME], bool *with_cp, bool *megatron)
{
    static const char MESH[] = "mesh_";
    *with_cp = *megatron = false;
    for (size_t i = 0; i < sizeof MEGATRON / sizeof *MEGATRON; i++)
        if (strcmp(name, MEGATRON[i].group) == 0) {
            snprintf(axis, ASSAY_GROUP_AXIS_NAME, "%s", MEGATRON[i].axis);
            *with_cp = MEGATRON[i].with_cp;
            return *megatron = true;
        }
    const bool of_mesh = strncmp(name, MESH, sizeof MESH - 1) == 0;
    const char *own = of_mesh ? name + sizeof MESH - 1 : name;
    bool plain = of_mesh;
    for (size_t i = 0; i < sizeof PLAIN / sizeof *PLAIN; i++)
        plain = plain || strcmp(own, PLAIN[i]) == 0;
    const size_t length = strlen(own);
    /* Names become those of a topology.json, so they have to be ones that it takes. */
    if (!plain || length == 0 || length >= ASSAY_GROUP_AXIS_NAME || own[0] < 'a' || own[0] > 'z' ||
        own[strspn(own, "abcdefghijklmnopqrstuvwxyz0123456789_")] != '\0')
        return false;
    snprintf(axis, ASSAY_GROUP_AXIS_NAME, "%s", own);
    return true;
}

static candidate *find_candidate(laying *l, const char *axis)
{
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->list[i].axis, axis) == 0)
            return &l->list[i];
    return NULL;
}

/* Finds the kinds of groups that speak of an axis, one an axis; what says it alone goes before what says it with cp. */
static int find_candidates(laying *l)
{
    for (size_t i = 0; i < l->g->count; i++) {
        char axis[ASSAY_GROUP_AXIS_NAME];
        bool with_cp, megatron;
        const char *name = l->g->list[i].name;
        if (!name_axis(name, axis, &with_cp, &megatron))
            continue;
        l->out->megatron = l->out->megatron || megatron;
        candidate *have = find_candidate(l, axis);
        if (!have && l->count < CANDIDATES) {
            have = &l->list[l->count++];
            snprintf(have->axis, sizeof have->axis, "%s", axis);
            have->group = name;
            have->with_cp = with_cp;
        } else if (have && have->with_cp && !with_cp) {
            have->group = name;
            have->with_cp = false;
        }
    }
    for (size_t i = 0; i < l->count; i++) {
        l->list[i].at = assay_alloc(((size_t)l->out->ranks + 1) * sizeof *l->list[i].at);
        l->list[i].of = assay_alloc_zeroed((size_t)l->out->ranks + 1, sizeof *l->list[i].of);
        ASSAY_HAVE(l->list[i].at && l->list[i].of);
    }
    return ASSAY_OK;
}

/* Lays the ranks out along one axis. */
static void measure(laying *l, candidate *c)
{
    /* What is said into `why` is for a person who wonders why a mesh is missing. */
    double distance = 0, neighbours = 0;
    bool regular = true;
    for (uint32_t r = 0; r < l->out->ranks; r++)
        c->at[r] = NOWHERE;
    for (size_t i = 0; i < l->g->count; i++) {
        const assay_group *group = &l->g->list[i];
        if (strcmp(group->name, c->group) != 0)
            continue;
        regular = regular && (c->groups == 0 || c->size == group->ranks);
        c->size = group->ranks;
        c->groups++;
        for (uint32_t k = 0; k < group->ranks; k++) {
            regular = regular && !c->of[group->rank[k]];
            c->of[group->rank[k]] = group;
            c->at[group->rank[k]] = k;
            if (k > 0) {
                distance += group->rank[k] > group->rank[k - 1] ? group->rank[k] - group->rank[k - 1]
                                                                : group->rank[k - 1] - group->rank[k];
                neighbours++;
            }
        }
    }
    c->distance = neighbours > 0 ? distance / neighbours : 0;
    assay_put_format(l->why, "%s: %u group%s \"%.100s\" ", c->axis, c->groups, assay_plural(c->groups), c->group);
    if (regular)
        assay_put_format(l->why, "of %u rank%s\n", c->size, assay_plural(c->size));
    else
        assay_put_format(l->why, "are irregular (not of one size, or a rank is in two): no axis\n");
    c->size = regular ? c->size : 0;
}

static bool is_in(const char *axis, const char *const *list)
{
    while (*list && strcmp(*list, axis) != 0)
        list++;
    return *list != NULL;
}

/* Tells whether every group of the one lies within a group of the other. */
static bool is_within(const laying *l, const candidate *inner, const candidate *outer)
{
    for (uint32_t r = 0; r < l->out->ranks; r++)
        if (inner->of[r] && inner->of[r]->ranks > 0 && outer->of[r] != outer->of[inner->of[r]->rank[0]])
            return false;
    return inner->groups > 0;
}

/* Tells whether an axis is on a mesh of its own. */
static bool is_expert(const candidate *c)
{
    static const char *const EXPERT_ONLY[] = {"ep", "etp", "edp", NULL};
    return is_in(c->axis, EXPERT_ONLY);
}

/* Puts smaller axes first, as inner ones. Of two names for the same groups the one that promises no copies counts:
 * DeviceMesh calls "dp" what may be "dp_shard" alone. */
static int compare_size(const void *a, const void *b)
{
    static const char *const COPIES[] = {"dp", "ddp", "dp_replicate", "cp", NULL};
    const candidate *x = *(const candidate *const *)a, *y = *(const candidate *const *)b;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    const bool x_copies = is_in(x->axis, COPIES), y_copies = is_in(y->axis, COPIES);
    return x_copies != y_copies ? (x_copies ? 1 : -1) : (x > y) - (x < y);
}

/* Notes the axes whose groups lie within those of this one; the places that they have there. */
static uint64_t find_inner(laying *l, candidate *c)
{
    uint64_t places = 1;
    for (uint32_t i = 0; i < l->count && c->size > 1; i++) {
        const candidate *one = &l->list[i];
        if (one->size < 2 || compare_size(&one, &c) >= 0 || is_expert(one) != is_expert(c) || !is_within(l, one, c))
            continue;
        /* CANDIDATES are fewer than its bits. */
        c->inner |= 1u << i;
        places = places > c->size ? places : places * one->size; /* too many are too many */
    }
    return places;
}

/* Finds the place of a rank on the inner axes together; NOWHERE: it lacks one of them. */
static uint32_t inner_place(const laying *l, const candidate *c, uint32_t rank)
{
    uint32_t place = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        if (!(c->inner >> i & 1))
            continue;
        if (l->list[i].at[rank] == NOWHERE)
            return NOWHERE;
        place = place * l->list[i].size + l->list[i].at[rank];
    }
    return place;
}

/* Takes axes out of groups that are several axes in one, as Megatron-LM's "with cp" and DeviceMesh's flattened ones. The
 * smaller ones were looked at before. */
static int part_from_inner(laying *l, candidate *c)
{
    const uint64_t places = find_inner(l, c);
    if (!c->inner)
        return ASSAY_OK;
    bool regular = c->size % places == 0;
    double distance = 0, neighbours = 0;
    /* `met` counts the ranks that were met at each inner place, `last` has the latest of them. */
    uint32_t *met = regular ? assay_alloc_zeroed(2 * places, sizeof *met) : NULL, *last = met ? met + places : NULL;
    if (regular && !met)
        return ASSAY_ENOMEM;
    for (size_t i = 0; i < l->g->count && regular; i++) {
        const assay_group *group = &l->g->list[i];
        if (strcmp(group->name, c->group) != 0)
            continue;
        memset(met, 0, places * sizeof *met);
        for (uint32_t k = 0; k < group->ranks; k++) {
            const uint32_t r = group->rank[k], inner = inner_place(l, c, r);
            c->at[r] = inner == NOWHERE ? NOWHERE : met[inner]++;
            if (inner == NOWHERE)
                continue;
            regular = regular && c->at[r] < c->size / places;
            if (c->at[r] > 0) {
                distance += r > last[inner] ? r - last[inner] : last[inner] - r;
                neighbours++;
            }
            last[inner] = r;
        }
    }
    free(met);
    c->distance = neighbours > 0 ? distance / neighbours : 0;
    c->size = regular ? c->size / (uint32_t)places : 0;
    const char *first = l->list[__builtin_ctz(c->inner)].axis;
    if (!regular)
        assay_put_format(l->why, "%s: these groups do not fit %s, which lies within them: no axis\n", c->axis, first);
    else if (c->size == 1)
        assay_put_format(l->why, "%s: these groups are those of other axes together: no axis\n", c->axis);
    else
        assay_put_format(l->why, "%s: %u of each of these groups for every place on %s\n", c->axis, c->size, first);
    c->size = c->size == 1 ? 0 : c->size;
    return ASSAY_OK;
}

/* ---- meshes ---- */

static int compare_distance(const void *a, const void *b)
{
    const candidate *const *x = a, *const *y = b;
    if ((*x)->distance != (*y)->distance)
        return (*x)->distance > (*y)->distance ? -1 : 1;
    return strcmp((*x)->axis, (*y)->axis);
}

static uint64_t place_on(const assay_rank_mesh *m, const uint32_t *at, uint32_t axes)
{
    uint64_t place = 0;
    for (uint32_t a = 0; a < axes; a++) {
        if (at[a] == NOWHERE)
            return UINT64_MAX;
        place = place * m->axis[a].size + at[a];
    }
    return place;
}

static uint64_t places_of(const assay_rank_mesh *m)
{
    uint64_t places = 1;
    /* A product beyond the most is not carried on, so it cannot overflow. */
    for (uint32_t a = 0; a < m->axes && places <= ASSAY_GROUP_RANK_MOST; a++)
        places *= m->axis[a].size;
    return places;
}

/* Numbers ranks that are at one place by a further axis, the outermost. */
static void put_other(assay_rank_mesh *m, uint32_t ranks, const uint32_t *number)
{
    memmove(m->axis + 1, m->axis, m->axes * sizeof *m->axis);
    snprintf(m->axis[0].name, sizeof m->axis[0].name, "other");
    m->axis[0].size = 0;
    for (uint32_t r = ranks; r-- > 0;) {
        uint32_t *to = m->at + (size_t)r * ASSAY_MESH_AXES;
        memmove(to + 1, to, m->axes * sizeof *to);
        to[0] = number[r];
        m->axis[0].size = number[r] != NOWHERE && number[r] >= m->axis[0].size ? number[r] + 1 : m->axis[0].size;
    }
    m->axes++;
}

/* Gives ranks without a place the one that is left for them. More than one that fits says nothing. */
static void fill_places(assay_rank_mesh *m, uint32_t ranks, bool *taken)
{
    /* Of many open ranks none is filled: each one looks at all places. */
    const uint64_t places = places_of(m);
    uint32_t open = 0;
    for (uint32_t r = 0; r < ranks; r++)
        open += place_on(m, m->at + (size_t)r * ASSAY_MESH_AXES, m->axes) == UINT64_MAX;
    for (uint32_t r = 0; r < ranks && open <= 1024; r++) {
        uint32_t *at = m->at + (size_t)r * ASSAY_MESH_AXES, found[ASSAY_MESH_AXES];
        uint32_t fits = 0;
        if (place_on(m, at, m->axes) != UINT64_MAX)
            continue;
        for (uint64_t p = 0; p < places && fits < 2; p++) {
            uint32_t own[ASSAY_MESH_AXES];
            bool agrees = !taken[p];
            uint64_t rest = p;
            for (uint32_t a = m->axes; a-- > 0; rest /= m->axis[a].size) {
                own[a] = (uint32_t)(rest % m->axis[a].size);
                agrees = agrees && (at[a] == NOWHERE || at[a] == own[a]);
            }
            fits += agrees;
            if (agrees)
                memcpy(found, own, sizeof found);
        }
        if (fits == 1) {
            memcpy(at, found, m->axes * sizeof *at);
            taken[place_on(m, at, m->axes)] = true;
        }
    }
}

/* Takes the axes that are in the list, or all others, into a mesh; returns how many there are to take from. */
static size_t take_axes(laying *l, assay_rank_mesh *m, const char *const *axes, bool inside, candidate **of)
{
    size_t count = 0;
    for (size_t i = 0; i < l->count; i++)
        if (l->list[i].size > 0 && is_in(l->list[i].axis, axes) == inside)
            of[count++] = &l->list[i];
    qsort(of, count, sizeof *of, compare_distance);
    for (; m->axes < count && m->axes < ASSAY_MESH_AXES - 1; m->axes++) { /* one is left for "other" */
        snprintf(m->axis[m->axes].name, sizeof m->axis[m->axes].name, "%s", of[m->axes]->axis);
        m->axis[m->axes].size = of[m->axes]->size;
        for (uint32_t r = 0; r < l->out->ranks; r++)
            m->at[(size_t)r * ASSAY_MESH_AXES + m->axes] = of[m->axes]->at[r];
    }
    return count;
}

static uint32_t find_root(uint32_t *above, uint32_t r)
{
    while (above[r] != r) {
        above[r] = above[above[r]];
        r = above[r];
    }
    return r;
}

/* Numbers the ranks that are on the mesh by what groups of its axes connect, from 0; how many such parts there are. 0
 * or ASSAY_ENOMEM. */
static int number_parts(const assay_rank_mesh *m, candidate *const *of, uint32_t ranks, uint32_t *number,
                        uint32_t *parts)
{
    uint32_t *above = assay_alloc(((size_t)ranks + 1) * sizeof *above);
    ASSAY_HAVE(above);
    for (uint32_t r = 0; r < ranks; r++) {
        above[r] = r;
        number[r] = NOWHERE;
    }
    for (uint32_t r = 0; r < ranks; r++)
        for (uint32_t a = 0; a < m->axes; a++)
            if (of[a]->of[r]) {
                const uint32_t x = find_root(above, r), y = find_root(above, of[a]->of[r]->rank[0]);
                above[x > y ? x : y] = x > y ? y : x; /* the root is the lowest rank */
            }
    for (uint32_t r = 0; r < ranks; r++) {
        const uint32_t root = find_root(above, r);
        if (place_on(m, m->at + (size_t)r * ASSAY_MESH_AXES, m->axes) == UINT64_MAX)
            continue;
        if (number[root] == NOWHERE)
            number[root] = (*parts)++;
        number[r] = number[root];
    }
    free(above);
    return ASSAY_OK;
}

/* Tells whether the members of each group differ along its own axis, and those that lie within it, alone. */
static bool lies_along(const laying *l, const assay_rank_mesh *m, candidate *const *of, uint32_t axes)
{
    const uint32_t before = m->axes - axes; /* "other" */
    for (uint32_t a = 0; a < axes; a++)
        for (uint32_t r = 0; r < l->out->ranks; r++) {
            const uint32_t first = of[a]->of[r] ? of[a]->of[r]->rank[0] : r;
            const uint32_t *x = m->at + (size_t)r * ASSAY_MESH_AXES, *y = m->at + (size_t)first * ASSAY_MESH_AXES;
            for (uint32_t b = 0; b < m->axes; b++) {
                const candidate *other = b >= before ? of[b - before] : NULL;
                const bool own = other && (other == of[a] || (of[a]->inner >> (other - l->list) & 1));
                if (!own && x[b] != y[b])
                    return false;
            }
        }
    return true;
}

/* Tells whether each rank has a place of its own, once those that lack one got what is left: 1, 0 or ASSAY_ENOMEM. */
static int settle_ranks(assay_rank_mesh *m, uint32_t ranks)
{
    if (places_of(m) != ranks)
        return 0;
    bool *taken = assay_alloc_zeroed((size_t)ranks + 1, sizeof *taken);
    int settled = 1;
    uint64_t missing = 0;
    ASSAY_HAVE(taken);
    for (uint32_t r = 0; r < ranks; r++) {
        const uint64_t place = place_on(m, m->at + (size_t)r * ASSAY_MESH_AXES, m->axes);
        settled = settled && (place == UINT64_MAX || !taken[place]);
        missing += place == UINT64_MAX;
        if (place != UINT64_MAX)
            taken[place] = true;
    }
    settled = settled && missing * ranks <= FILL_MOST;
    if (settled)
        fill_places(m, ranks, taken);
    for (uint32_t r = 0; r < ranks; r++)
        if (place_on(m, m->at + (size_t)r * ASSAY_MESH_AXES, m->axes) == UINT64_MAX)
            settled = 0;
    free(taken);
    return settled;
}

/* Makes a mesh of the axes that are in the list, or of all others, unless the ranks do not fit in. */
static int make_mesh(laying *l, const char *name, const char *const *axes, bool inside)
{
    const uint32_t ranks = l->out->ranks;
    assay_rank_mesh m = {.name = name, .at = assay_alloc((size_t)ranks * ASSAY_MESH_AXES * sizeof *m.at + 1)};
    candidate *of[CANDIDATES];
    uint32_t *number = assay_alloc(((size_t)ranks + 1) * sizeof *number), parts = 0;
    int status = m.at && number ? ASSAY_OK : ASSAY_ENOMEM;
    const size_t count = status == ASSAY_OK ? take_axes(l, &m, axes, inside, of) : 0;
    const uint32_t own = m.axes;
    const bool small = count > 0 && places_of(&m) <= ASSAY_GROUP_RANK_MOST;
    if (small)
        status = number_parts(&m, of, ranks, number, &parts);
    if (status == ASSAY_OK && parts > 1) {
        put_other(&m, ranks, number);
        assay_put_format(
            l->why, "other: %u ranks have the same place on these axes: what else they differ in, no group tells\n",
            parts);
    }
    int settled = status == ASSAY_OK && small ? settle_ranks(&m, ranks) : 0;
    if (settled == 1 && !lies_along(l, &m, of, own))
        settled = 0;
    status = settled < 0 ? settled : status;
    free(number);
    if (settled == 1)
        l->out->mesh[l->out->meshes++] = m;
    else
        free(m.at);
    if (status == ASSAY_OK && settled == 0 && count > 0)
        assay_put_format(l->why,
                         "mesh \"%s\": the groups do not lay the %u ranks out, each at a place of its own: no mesh\n",
                         name, ranks);
    return status;
}

/* Tells whether the groups speak of one world. "default_pg" has all ranks of a training. */
static bool is_one_world(const assay_groups *g, assay_buf *why)
{
    static const char ALL[] = "default_pg";
    const assay_group *world = NULL;
    for (size_t i = 0; i < g->count; i++) {
        const assay_group *one = &g->list[i];
        if (world && strcmp(one->name, ALL) == 0) {
            assay_put_format(why, "groups of all ranks: one has %u ranks, and one has %u: of several trainings\n",
                             world->ranks, one->ranks);
            return false;
        }
        world = strcmp(one->name, ALL) == 0 ? one : world;
    }
    uint32_t most = 0;
    for (uint32_t k = 0; world && k < world->ranks; k++)
        most = world->rank[k] > most ? world->rank[k] : most;
    for (size_t i = 0; world && i < g->count; i++)
        for (uint32_t k = 0; k < g->list[i].ranks; k++)
            if (g->list[i].rank[k] > most) {
                assay_put_format(why,
                                 "a group \"%.100s\" has rank %u, and the group of all ranks ends at %u: no mesh\n",
                                 g->list[i].name, g->list[i].rank[k], most);
                return false;
            }
    return true;
}

/* First each kind of group by itself, then the smaller before the larger ones, since these are taken apart by those.
 * Pipeline stages are on both meshes. */
int assay_groups_lay_out(const assay_groups *g, assay_rank_layout *out, assay_buf *why)
{
    static const char *const EXPERT[] = {"ep", "etp", "edp", "pp", NULL}, *const EXPERT_ONLY[] = {"ep", "etp", "edp",
                                                                                                  NULL};
    candidate *by_size[CANDIDATES];
    laying l = {.g = g, .out = out, .why = why};
    *out = (assay_rank_layout){0};
    if (!is_one_world(g, why))
        return assay_buf_status(why);
    for (size_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; k < g->list[i].ranks; k++)
            out->ranks = g->list[i].rank[k] >= out->ranks ? g->list[i].rank[k] + 1 : out->ranks;
    if (out->ranks / 2 > g->ranks) { /* what cannot become a mesh takes no memory either */
        assay_put_format(why, "most of the %u ranks are in no group: no mesh\n", out->ranks);
        return assay_buf_status(why);
    }
    int status = find_candidates(&l);
    bool experts = false;
    for (size_t i = 0; i < l.count && status == ASSAY_OK; i++) {
        measure(&l, &l.list[i]);
        by_size[i] = &l.list[i];
    }
    if (status == ASSAY_OK)
        qsort(by_size, l.count, sizeof *by_size, compare_size);
    for (size_t i = 0; i < l.count && status == ASSAY_OK; i++) {
        status = part_from_inner(&l, by_size[i]);
        experts = experts || (by_size[i]->size > 1 && is_expert(by_size[i]));
    }
    if (status == ASSAY_OK && l.count > 0)
        status = make_mesh(&l, "dense", EXPERT_ONLY, false);
    if (status == ASSAY_OK && experts)
        status = make_mesh(&l, "expert", EXPERT, true);
    for (size_t i = 0; i < l.count; i++) {
        free(l.list[i].at);
        free(l.list[i].of);
    }
    if (status != ASSAY_OK)
        assay_rank_layout_release(out);
    return status == ASSAY_OK ? assay_buf_status(why) : status;
}

void assay_rank_layout_release(assay_rank_layout *layout)
{
    for (uint32_t m = 0; m < layout->meshes; m++)
        free(layout->mesh[m].at);
    *layout = (assay_rank_layout){0};
}
