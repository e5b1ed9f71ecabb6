/* optimizer.c - walks what torch's optimizers save:
 *
 *   {"state": {0: {"step": .., "exp_avg": ..}, 1: ..}, "param_groups": [{"params": [0, 1, ..], "lr": ..}, ..]} */
#include "format/checkpoint/optimizer.h"

#include "format/checkpoint/keys.h"
#include "format/checkpoint/walk.h"

enum { DESCENTS_MOST = 8 };

typedef struct saved { /* one optimizer */
    assay_torch *torch;
    const assay_pickle *p;
    void *context; /* of assay_torch_add() */
    uint32_t state, groups;
    uint32_t number; /* among those of a list */
    bool listed;
    int status;
} saved;

static void add_at(saved *s, assay_buf *name, uint32_t node)
{
    assay_put_u8(name, '\0');
    if (assay_buf_status(name) == ASSAY_OK)
        assay_torch_add(s->context, node, (const char *)name->data);
    else
        s->status = ASSAY_ENOMEM;
}

/* The name that a group has for one of its parameters; ASSAY_PICKLE_NOTHING without. */
static uint32_t find_name(const saved *s, int64_t number)
{
    const assay_pickle *p = s->p;
    if (!assay_walk_is_list(p, s->groups))
        return ASSAY_PICKLE_NOTHING;
    for (uint32_t g = p->node[s->groups].first; g != ASSAY_PICKLE_NOTHING; g = p->item[g].next) {
        const uint32_t numbers = assay_pickle_get(p, p->item[g].value, "params");
        const uint32_t names = assay_pickle_get(p, p->item[g].value, "param_names");
        if (!assay_walk_is_list(p, numbers) || !assay_walk_is_list(p, names))
            continue;
        uint32_t name = p->node[names].first;
        for (uint32_t i = p->node[numbers].first; i != ASSAY_PICKLE_NOTHING && name != ASSAY_PICKLE_NOTHING;
             i = p->item[i].next, name = p->item[name].next) {
            const assay_pickle_node *n = &p->node[p->item[i].value];
            if (n->kind == ASSAY_PICKLE_INT && n->integer == number &&
                p->node[p->item[name].value].kind == ASSAY_PICKLE_TEXT)
                return p->item[name].value;
        }
    }
    return ASSAY_PICKLE_NOTHING;
}

static void put_parameter(const saved *s, uint32_t key, assay_buf *out)
{
    if (s->listed)
        assay_put_format(out, "%u.", s->number);
    if (key != ASSAY_PICKLE_NOTHING && s->p->node[key].kind == ASSAY_PICKLE_INT) {
        const uint32_t name = find_name(s, s->p->node[key].integer);
        if (name == ASSAY_PICKLE_NOTHING)
            assay_put_u8(out, '#');
        key = name == ASSAY_PICKLE_NOTHING ? key : name;
    }
    assay_walk_put_key(s->p, key, out);
}

static void put_kept(const assay_pickle *p, uint32_t key, assay_buf *out)
{
    const assay_pickle_node *n = key == ASSAY_PICKLE_NOTHING ? NULL : &p->node[key];
    if (n && n->kind == ASSAY_PICKLE_TEXT)
        assay_keys_put_kept((const char *)p->bytes + n->a, (size_t)n->size, out);
    else
        assay_walk_put_key(p, key, out);
}

static void add_state(saved *s)
{
    const assay_pickle *p = s->p;
    assay_buf name = ASSAY_BUF(SIZE_MAX);
    for (uint32_t i = p->node[s->state].first; i != ASSAY_PICKLE_NOTHING; i = p->item[i].next) {
        const uint32_t kept = p->item[i].value;
        if (!assay_walk_is_dict(p, kept))
            continue;
        for (uint32_t k = p->node[kept].first; k != ASSAY_PICKLE_NOTHING; k = p->item[k].next) {
            assay_buf_clear(&name);
            assay_put_format(&name, "optimizer/");
            put_parameter(s, p->item[i].key, &name);
            assay_put_u8(&name, '/');
            put_kept(p, p->item[k].key, &name);
            add_at(s, &name, p->item[k].value);
        }
    }
    assay_buf_release(&name);
}

static void add_rest(saved *s, uint32_t node)
{
    const assay_pickle *p = s->p;
    assay_buf name = ASSAY_BUF(SIZE_MAX);
    for (uint32_t i = p->node[node].first; i != ASSAY_PICKLE_NOTHING; i = p->item[i].next) {
        if (p->item[i].value == s->state)
            continue;
        assay_buf_clear(&name);
        assay_put_format(&name, "state/optimizer.");
        if (s->listed)
            assay_put_format(&name, "%u.", s->number);
        assay_walk_put_key(p, p->item[i].key, &name);
        add_at(s, &name, p->item[i].value);
    }
    assay_buf_release(&name);
}

/* Adam's decay rates, where the group has them. */
static void note_betas(assay_contents *c, const assay_pickle *p, uint32_t group)
{
    const uint32_t betas = assay_pickle_get(p, group, "betas");
    double number[2];
    int count = 0;
    if (!assay_walk_is_list(p, betas))
        return;
    for (uint32_t i = p->node[betas].first; i != ASSAY_PICKLE_NOTHING; i = p->item[i].next, count++) {
        const assay_pickle_node *n = &p->node[p->item[i].value];
        if (count == 2 || n->kind != ASSAY_PICKLE_FLOAT)
            return;
        number[count] = n->number;
    }
    if (count == 2)
        assay_contents_set_betas(c, number[0], number[1]);
}

void assay_optimizer_note_betas(assay_contents *c, const assay_pickle *p, uint32_t groups)
{
    if (!assay_walk_is_list(p, groups))
        return;
    for (uint32_t g = p->node[groups].first; g != ASSAY_PICKLE_NOTHING; g = p->item[g].next)
        note_betas(c, p, p->item[g].value);
}

/* Hands the numbers of every group to the contents, for names.c. */
static void note_groups(saved *s)
{
    const assay_pickle *p = s->p;
    uint32_t group = 0;
    if (!assay_walk_is_list(p, s->groups))
        return;
    for (uint32_t g = p->node[s->groups].first; g != ASSAY_PICKLE_NOTHING; g = p->item[g].next, group++) {
        const uint32_t numbers = assay_pickle_get(p, p->item[g].value, "params");
        note_betas(s->torch->file->to, p, p->item[g].value);
        if (!assay_walk_is_list(p, numbers))
            continue;
        for (uint32_t i = p->node[numbers].first; i != ASSAY_PICKLE_NOTHING; i = p->item[i].next) {
            const assay_pickle_node *n = &p->node[p->item[i].value];
            if (n->kind == ASSAY_PICKLE_INT)
                assay_contents_add_number(s->torch->file->to,
                                          (assay_ckpt_number){s->number, group, n->integer, s->listed});
        }
    }
}

/* Goes down to the dictionary that has the state. */
static uint32_t find_state(const assay_pickle *p, uint32_t node)
{
    for (int i = 0; i < DESCENTS_MOST; i++) {
        if (!assay_walk_is_dict(p, node) || assay_pickle_get(p, node, "state") != ASSAY_PICKLE_NOTHING)
            return node;
        uint32_t below = assay_pickle_get(p, node, "optimizer"), first = p->node[node].first;
        if (below == ASSAY_PICKLE_NOTHING && first != ASSAY_PICKLE_NOTHING &&
            p->item[first].next == ASSAY_PICKLE_NOTHING)
            below = p->item[first].value;
        if (!assay_walk_is_dict(p, below))
            return node;
        node = below;
    }
    return node;
}

static int add_one(assay_torch *t, uint32_t node, uint32_t number, bool listed, void *context)
{
    const assay_pickle *p = &t->pickle;
    saved s = {.torch = t, .p = p, .context = context, .number = number, .listed = listed};
    node = find_state(p, node);
    if (!assay_walk_is_dict(p, node)) {
        assay_torch_add(context, node, "state/optimizer");
        return ASSAY_OK;
    }
    s.state = assay_pickle_get(p, node, "state");
    s.groups = assay_pickle_get(p, node, "param_groups");
    if (assay_walk_is_dict(p, s.state)) {
        note_groups(&s);
        add_state(&s);
    }
    add_rest(&s, node);
    return s.status;
}

int assay_optimizer_add(assay_torch *t, uint32_t node, void *context)
{
    const assay_pickle *p = &t->pickle;
    int status = ASSAY_OK;
    uint32_t number = 0;
    if (!assay_walk_is_list(p, node))
        return add_one(t, node, 0, false, context);
    const bool listed = p->node[node].first != p->node[node].last;
    for (uint32_t i = p->node[node].first; i != ASSAY_PICKLE_NOTHING && status == ASSAY_OK; i = p->item[i].next)
        status = add_one(t, p->item[i].value, number++, listed, context);
    return status;
}
