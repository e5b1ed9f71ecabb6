/* layout.c - what a topology makes of the tensors of a trial. */
#include "mesh/layout.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* A number of 15 digits and what is added to it fit an int64_t; names of layers have two or three. */
enum { NUMBERS_MOST = 8, DIGITS_MOST = 15 };

/* What entries say of a recorded name, whichever worker has it. */
typedef struct recorded {
    assay_layout layout;
    uint32_t entry[NUMBERS_MOST]; /* those that renumber it */
    uint32_t entries;
} recorded;

int assay_layouts_init(assay_layouts *l)
{
    *l = (assay_layouts){.names = assay_dict_new(), .recorded = assay_dict_new()};
    return l->names && l->recorded ? ASSAY_OK : ASSAY_ENOMEM;
}

void assay_layouts_release(assay_layouts *l)
{
    assay_dict_free(l->names);
    assay_dict_free(l->recorded);
    free(l->list);
    free(l->said);
    *l = (assay_layouts){0};
}

static bool begins(const char *text, size_t length, const char *with)
{
    return length >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

/* Skips digits and a point in front of what goes on without '/': the number of one of several optimizers. */
static size_t skip_optimizer(const char *text, size_t length)
{
    size_t digits = 0;
    while (digits < length && text[digits] >= '0' && text[digits] <= '9')
        digits++;
    return digits > 0 && digits + 1 < length && text[digits] == '.' && text[digits + 1] != '/' ? digits + 1 : 0;
}

void assay_parameter_of(const char *name, size_t length, size_t *from, size_t *parameter_length)
{
    /* The states of optimizers, moving averages and gradients have names that begin so. */
    static const char OPTIMIZER[] = "optimizer/", EMA[] = "ema/", GRADIENT[] = "gradient/";
    size_t begin = 0, end = length;
    if (begins(name, length, OPTIMIZER)) {
        while (end > 0 && name[end - 1] != '/')
            end--;
        begin = sizeof OPTIMIZER - 1;
        if (end > begin) {
            end--;
            begin += skip_optimizer(name + begin, end - begin);
        } else {
            begin = 0;
            end = length;
        }
    } else if (begins(name, length, EMA)) {
        begin = sizeof EMA - 1;
    } else if (begins(name, length, GRADIENT)) {
        begin = sizeof GRADIENT - 1;
    }
    *from = begin;
    *parameter_length = end - begin;
}

/* Lays what was said along the axes of another mesh, by their names. Axes that the other one lacks are forgotten. */
static void turn_mesh(const assay_topology *t, assay_layout *layout, uint32_t mesh)
{
    assay_layout turned = {.mesh = mesh};
    for (uint32_t a = 0; a < t->mesh[layout->mesh].axes; a++) {
        const uint32_t to = assay_mesh_axis(&t->mesh[mesh], t->mesh[layout->mesh].axis[a].name);
        if (to < t->mesh[mesh].axes)
            turned.rule[to] = layout->rule[a];
    }
    *layout = turned;
}

/* Adds what an entry says; it wins over what was said before. */
static void add_entry(const assay_topology *t, const assay_topology_entry *e, recorded *said)
{
    if (e->has_mesh && e->mesh != said->layout.mesh)
        turn_mesh(t, &said->layout, e->mesh);
    for (uint32_t a = 0; a < t->mesh[e->mesh].axes; a++) {
        const uint32_t to = assay_mesh_axis(&t->mesh[said->layout.mesh], t->mesh[e->mesh].axis[a].name);
        if (t->rule[e->first_rule + a].kind != ASSAY_AXIS_UNSAID && to < t->mesh[said->layout.mesh].axes)
            said->layout.rule[to] = 1 + e->first_rule + a;
    }
    if (e->numbers > 0 && said->entries < NUMBERS_MOST)
        said->entry[said->entries++] = (uint32_t)(e - t->entry);
}

/* Tells whether an entry speaks of a tensor: of a gradient and of an optimizer's state by the parameter's name or by
 * their own. */
static int entry_matches(const assay_topology_entry *e, const char *name, size_t length)
{
    size_t from, size;
    assay_parameter_of(name, length, &from, &size);
    int found = assay_regex_search(e->match, name + from, size);
    if (found == 0 && size != length)
        found = assay_regex_search(e->match, name, length);
    return found;
}

/* Finds the number of a recorded name; ASSAY_NO_ID without memory. A pattern that gives up on a name does not match
 * it. Patterns are asked once for each name, not for each worker that has it. */
static uint32_t look_up(assay_layouts *l, const assay_topology *t, const char *name, size_t length)
{
    const uint32_t count = assay_dict_count(l->recorded), id = assay_dict_add(l->recorded, name, length);
    if (id == ASSAY_NO_ID || id < count)
        return id;
    if (!assay_vec_reserve(&l->said, &l->said_room, id + 1, sizeof(recorded)))
        return ASSAY_NO_ID;
    recorded *said = (recorded *)l->said + id;
    *said = (recorded){0};
    for (uint32_t e = 0; e < t->entries; e++) {
        const int found = entry_matches(&t->entry[e], name, length);
        if (found == ASSAY_ENOMEM)
            return ASSAY_NO_ID;
        if (found != 1)
            continue;
        add_entry(t, &t->entry[e], said);
        if (!t->entry[e].next)
            break;
    }
    for (uint32_t a = 0; a < ASSAY_MESH_AXES; a++)
        said->layout.seen[a] = ASSAY_SEEN_NOWHERE;
    return id;
}

/* ---- numbers in names ---- */

typedef struct replacement {
    size_t from, end;
    int64_t number;
} replacement;

/* Adds what a number grows by at a worker; false when it becomes too large. */
static bool grow(const assay_topology *t, const assay_topology_entry *e, const assay_renumbering *r, uint32_t worker,
                 int64_t *number)
{
    for (uint32_t a = 0; a < t->mesh[e->mesh].axes; a++) {
        const uint32_t at = assay_topology_at(t, worker, e->mesh, a);
        int64_t more = 0;
        if (r->axis[a].count > 0 &&
            (__builtin_mul_overflow(r->axis[a].add[r->axis[a].list ? at : 0], r->axis[a].list ? 1 : at, &more) ||
             __builtin_add_overflow(*number, more, number)))
            return false;
    }
    return true;
}

/* The numbers in a parameter's name, while those that a worker counts by itself become those of the whole. */
typedef struct renaming {
    const assay_topology *t;
    uint32_t worker;
    const char *parameter;
    size_t length;
    replacement list[2 * NUMBERS_MOST]; /* in order of places, which do not overlap */
    uint32_t count;
} renaming;

/* Adds what an entry makes of one number, unless the group of its pattern has none. ASSAY_EFORMAT, ASSAY_ENOMEM. */
static int add_replacement(renaming *n, const assay_topology_entry *e, const assay_renumbering *r, assay_error *err)
{
    static const char too_large[] = "one is too large";
    size_t from, end;
    int found = assay_regex_group(e->match, n->parameter, n->length, r->group, &from, &end);
    int64_t number = 0;
    if (found != 1 || from == end)
        return found == ASSAY_ENOMEM ? found : ASSAY_OK;
    for (size_t i = from; i < end; i++) {
        if (n->parameter[i] < '0' || n->parameter[i] > '9')
            return ASSAY_OK;
        number = number * 10 + (n->parameter[i] - '0');
        /* Checked before the next digit could overflow. */
        if (end - from > DIGITS_MOST)
            return assay_fail(err, ASSAY_EFORMAT, "%s", too_large);
    }
    replacement *list = n->list;
    /* Several entries may add to one number: then what they add is summed. */
    uint32_t at = n->count;
    while (at > 0 && list[at - 1].from >= from)
        at--;
    const bool same = at < n->count && list[at].from == from && list[at].end == end;
    if (!same && ((at < n->count && list[at].from < end) || (at > 0 && list[at - 1].end > from)))
        return assay_fail(err, ASSAY_EFORMAT, "two groups of patterns have some digits in common, and not all");
    if (!same) {
        memmove(list + at + 1, list + at, (n->count - at) * sizeof *list);
        list[at] = (replacement){from, end, number};
        n->count++;
    }
    return grow(n->t, e, r, n->worker, &list[at].number) ? ASSAY_OK : assay_fail(err, ASSAY_EFORMAT, "%s", too_large);
}

/* Puts the name that a tensor has without its worker's numbering. */
static int put_name(renaming *n, const recorded *said, const char *name, size_t length, assay_buf *out,
                    assay_error *err)
{
    const assay_topology *t = n->t;
    size_t from, done = 0;
    assay_parameter_of(name, length, &from, &n->length);
    n->parameter = name + from;
    for (uint32_t i = 0; i < said->entries; i++) {
        const assay_topology_entry *e = &t->entry[said->entry[i]];
        for (uint32_t k = 0; k < e->numbers && n->count < 2 * NUMBERS_MOST - 1; k++)
            ASSAY_TRY(add_replacement(n, e, &e->number[k], err));
    }
    for (uint32_t i = 0; i < n->count; i++) {
        assay_put_bytes(out, name + done, from + n->list[i].from - done);
        assay_put_format(out, "%" PRId64, n->list[i].number);
        done = from + n->list[i].end;
    }
    assay_put_bytes(out, name + done, length - done);
    return assay_buf_status(out);
}

/* ---- tensors ---- */

/* Finds the layout under a name, added when it is new; NULL without memory. The list may move with it. */
static assay_layout *layout_of(assay_layouts *l, const char *name, size_t length, const assay_layout *first,
                               uint32_t *id)
{
    const uint32_t count = assay_dict_count(l->names);
    *id = assay_dict_add(l->names, name, length);
    if (*id == ASSAY_NO_ID)
        return NULL;
    if (!assay_vec_reserve(&l->list, &l->room, *id + 1, sizeof *l->list))
        return NULL;
    if (*id == count)
        l->list[*id] = *first;
    return &l->list[*id];
}

/* One place stays itself, two different ones are "often". */
static uint32_t see(uint32_t seen, uint32_t at)
{
    return seen == ASSAY_SEEN_NOWHERE || seen == at ? at : at == ASSAY_SEEN_NOWHERE ? seen : ASSAY_SEEN_OFTEN;
}

uint32_t assay_layouts_meet(assay_layouts *l, const assay_topology *t, uint32_t worker, const char *name, size_t length,
                            assay_buf *own, int *status, assay_error *err)
{
    const uint32_t number = look_up(l, t, name, length);
    uint32_t id = ASSAY_NO_ID;
    *status = ASSAY_ENOMEM;
    assay_buf_clear(own);
    if (number == ASSAY_NO_ID)
        return ASSAY_NO_ID;
    const recorded *said = (const recorded *)l->said + number;
    renaming n = {.t = t, .worker = worker};
    *status = put_name(&n, said, name, length, own, err);
    if (*status != ASSAY_OK)
        return ASSAY_NO_ID;
    assay_layout *layout = layout_of(l, (const char *)own->data, own->size, &said->layout, &id);
    if (!layout) {
        *status = ASSAY_ENOMEM;
        return ASSAY_NO_ID;
    }
    for (uint32_t a = 0; a < t->mesh[layout->mesh].axes; a++)
        layout->seen[a] = see(layout->seen[a], assay_topology_at(t, worker, layout->mesh, a));
    return id;
}

void assay_layouts_pack(const assay_layouts *l, assay_buf *out)
{
    const uint32_t count = assay_dict_count(l->names);
    assay_dict_pack(l->names, out);
    for (uint32_t i = 0; i < count; i++) {
        assay_put_u32(out, l->list[i].mesh);
        for (uint32_t a = 0; a < ASSAY_MESH_AXES; a++) {
            assay_put_u32(out, l->list[i].rule[a]);
            assay_put_u32(out, l->list[i].seen[a]);
        }
    }
}

/* Bytes come from another rank: each number is checked before it is an index. */
int assay_layouts_join(assay_layouts *l, assay_cursor *later, const assay_topology *t)
{
    const uint64_t count = assay_get_count(later, 4);
    assay_cursor names = *later;
    size_t length;
    for (uint64_t i = 0; i < count; i++)
        (void)assay_get_text(later, &length);
    for (uint64_t i = 0; i < count; i++) {
        const char *name = assay_get_text(&names, &length);
        assay_layout layout = {.mesh = assay_get_u32(later)};
        uint32_t id;
        for (uint32_t a = 0; a < ASSAY_MESH_AXES; a++) {
            layout.rule[a] = assay_get_u32(later);
            layout.seen[a] = assay_get_u32(later);
            if (layout.rule[a] > t->rules)
                return ASSAY_EFORMAT;
        }
        if (later->failed || names.failed || layout.mesh >= t->meshes)
            return ASSAY_EFORMAT;
        assay_layout *mine = layout_of(l, name, length, &layout, &id);
        ASSAY_HAVE(mine);
        for (uint32_t a = 0; a < ASSAY_MESH_AXES; a++)
            mine->seen[a] = see(mine->seen[a], layout.seen[a]);
    }
    return later->failed ? ASSAY_EFORMAT : ASSAY_OK;
}

const assay_axis_rule *assay_layout_rule(const assay_layout *layout, const assay_topology *t, uint32_t axis)
{
    return layout->rule[axis] > 0 ? &t->rule[layout->rule[axis] - 1] : NULL;
}

assay_axis_kind assay_layout_kind(const assay_layout *layout, const assay_topology *t, uint32_t axis)
{
    const assay_axis_rule *rule = assay_layout_rule(layout, t, axis);
    if (t->mesh[layout->mesh].axis[axis].size == 1)
        return ASSAY_AXIS_SOLE;
    if (rule)
        return rule->kind;
    return layout->seen[axis] == ASSAY_SEEN_OFTEN ? ASSAY_AXIS_UNKNOWN : ASSAY_AXIS_SOLE;
}

bool assay_layout_is_split(const assay_layout *layout, const assay_topology *t)
{
    bool split = false;
    for (uint32_t a = 0; a < t->mesh[layout->mesh].axes; a++) {
        const assay_axis_kind kind = assay_layout_kind(layout, t, a);
        if (kind == ASSAY_AXIS_UNKNOWN || kind == ASSAY_AXIS_PEERS || kind == ASSAY_AXIS_SUM)
            return false;
        split = split || kind == ASSAY_AXIS_SPLIT || kind == ASSAY_AXIS_FLAT;
    }
    return split;
}

bool assay_layout_agree(const assay_layout *layout, const assay_topology *t, uint32_t a, uint32_t b, unsigned kinds)
{
    for (uint32_t i = 0; i < t->mesh[layout->mesh].axes; i++)
        if (!(kinds >> assay_layout_kind(layout, t, i) & 1) &&
            assay_topology_at(t, a, layout->mesh, i) != assay_topology_at(t, b, layout->mesh, i))
            return false;
    return true;
}
