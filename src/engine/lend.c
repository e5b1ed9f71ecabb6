/* lend.c - see lend.h. */
#include "engine/lend.h"

#include <stdlib.h>

#include "base/fault.h"

static const assay_rule *rules_of(const assay_mapper *m)
{
    return m->rules + (size_t)m->source * m->plan->instances;
}

static assay_item_form form_of(const assay_mapper *m)
{
    const assay_source *source = &m->sources->list[m->source];
    return (assay_item_form){.measures = m->plan->measures,
                             .measure_count = m->plan->measure_count,
                             .plan = &m->plan->sources[m->source],
                             .tensors = assay_dict_count(source->info->tensors),
                             .workers = source->listing.workers};
}

/* ---- which records are whose ---- */

typedef struct range {
    const assay_share *share;
    int rank;
    size_t *last;      /* [tensors] the last entry of a tensor in the part */
    double at;         /* cost of the step so far */
    assay_stretch found;
} range;

static uint64_t cost_of(assay_mapper *m, const assay_part *part, const assay_entry *entry)
{
    return assay_record_cost(assay_wants_of(&m->wants, part, part->mode, entry->tensor), entry);
}

/* Entries of one tensor stay together, with all that lie between them. */
static void find_in_part(assay_mapper *m, const assay_segment *segment, size_t p, range *r)
{
    const assay_part *part = &segment->parts[p];
    double group = ASSAY_COST_OF_FILE;
    size_t begin = SIZE_MAX, reach = 0;
    assay_wants_next(&m->wants);
    for (size_t e = part->first; e < part->first + part->count; e++)
        if (cost_of(m, part, &segment->entries[e]) > 0)
            r->last[segment->entries[e].tensor] = e;
    for (size_t e = part->first; e < part->first + part->count; e++) {
        const assay_entry *entry = &segment->entries[e];
        uint64_t cost = cost_of(m, part, entry);
        if (cost == 0)
            continue;
        begin = begin < e ? begin : e;
        reach = reach > r->last[entry->tensor] ? reach : r->last[entry->tensor];
        group += (double)cost;
        if (e < reach)
            continue;
        if (assay_share_rank(r->share, r->at + group / 2) == r->rank) {
            if (r->found.first_part > r->found.end_part) {
                r->found.first_part = p;
                r->found.first = begin;
            }
            r->found.end_part = p;
            r->found.end = e + 1;
        }
        r->at += group;
        group = 0;
        begin = SIZE_MAX;
    }
}

/* Reads what a rank has of the step. */
static int read_share(assay_mapper *m, const assay_share *share, int rank)
{
    const assay_source *source = &m->sources->list[m->source];
    const assay_segment *segment = &source->segment;
    range r = {.share = share, .rank = rank, .found = {.first_part = SIZE_MAX}};
    r.last = assay_alloc(assay_dict_count(source->info->tensors) * sizeof *r.last);
    if (!r.last)
        return ASSAY_ENOMEM;
    size_t p = assay_segment_find(segment, m->step->step);
    for (; p < segment->count && segment->parts[p].step == m->step->step; p++)
        find_in_part(m, segment, p, &r);
    free(r.last);
    m->stretch = &r.found;
    m->alone = false;
    int status = assay_mapper_read_step(m);
    m->stretch = NULL;
    return status == ASSAY_OK ? m->node->problems.status : status;
}

/* ---- memory ---- */

/* Bytes that a part of the step takes. */
typedef struct needs {
    uint64_t held; /* by its results, and by the lists of them that rules are given */
    uint64_t most; /* by one record while it is measured */
} needs;

static needs needs_of(const assay_mapper *m)
{
    const assay_source_plan *plan = &m->plan->sources[m->source];
    uint64_t uses = 0;
    for (size_t i = 0; i < m->item_count; i++)
        uses += plan->classes[plan->tensor_class[m->items[i]->view.tensor]].uses;
    return (needs){assay_arena_used(m->arena) + uses * sizeof(void *), assay_arena_most(m->arena)};
}

static needs both(needs a, needs b)
{
    return (needs){a.held + b.held, a.most > b.most ? a.most : b.most};
}

/* Would one rank refuse nothing? Its arena wastes at most a block, and less than it holds; and each measure that is faster
 * with more memory takes at most half of what is left (measure_quantiles.c). */
static bool is_sure_to_fit(const assay_mapper *m, needs n)
{
    uint64_t ceiling = assay_arena_ceiling(m->arena), left = ceiling - ceiling / ASSAY_ARENA_BLOCKS;
    if (n.held > left / 2)
        return false;
    left = (left - 2 * n.held) / 2;
    for (uint32_t k = 0; k < m->plan->measure_count; k++)
        left /= m->plan->measures[k].kind == ASSAY_MEASURE_QUANTILES ? 2 : 1;
    return n.most <= left;
}

/* ---- the rank that helps ---- */

static void put_part(const assay_mapper *m, assay_buf *out)
{
    assay_item_form form = form_of(m);
    needs n = needs_of(m);
    assay_put_u64(out, n.held);
    assay_put_u64(out, n.most);
    if (assay_node_pack(m->node, rules_of(m), out) != ASSAY_OK)
        out->status = ASSAY_ENOMEM;
    assay_put_u64(out, m->item_count);
    for (size_t i = 0; i < m->item_count; i++)
        assay_item_pack(m->items[i], &form, out);
}

int assay_lend_help(assay_mapper *m, const assay_share *share, int rank, assay_buf *out, assay_error *err)
{
    const assay_chunk *chunk = &m->plan->chunks[share->chunk];
    assay_node node;
    int status = assay_mapper_enter(m, chunk->source), made = assay_node_init(&node, m->plan->instances);
    m->node = &node;
    m->step = &m->sources->list[chunk->source].info->steps[chunk->first_step + chunk->steps - 1];
    status = status == ASSAY_OK ? made : status;
    if (status == ASSAY_OK)
        status = read_share(m, share, rank);
    if (status == ASSAY_OK && !m->alone && is_sure_to_fit(m, needs_of(m)))
        put_part(m, out);
    if (assay_buf_status(out) != ASSAY_OK || out->size > ASSAY_COMM_POST_MOST)
        assay_buf_clear(out);
    assay_node_release(&node, rules_of(m));
    m->node = NULL;
    return status == ASSAY_ENOMEM ? assay_mapper_no_memory(m, err) : status;
}

/* ---- the rank that has the step ---- */

static int get_node(assay_mapper *m, assay_cursor *in, assay_error *err)
{
    assay_node node;
    int status = assay_node_init(&node, m->plan->instances);
    if (status == ASSAY_OK)
        status = assay_node_unpack(in, &node, rules_of(m), err);
    if (status == ASSAY_OK)
        status = assay_node_combine(m->node, &node, rules_of(m));
    assay_node_release(&node, rules_of(m));
    return status;
}

static int get_items(assay_mapper *m, assay_cursor *in, assay_error *err)
{
    enum { LEAST_ITEM = 4 * 4 + 8 + 1 + 1 + 4 + 1 };
    assay_item_form form = form_of(m);
    uint64_t count = assay_get_count(in, LEAST_ITEM);
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i++) {
        assay_item *item = assay_mapper_new_item(m, 0, 0);
        if (!item)
            return ASSAY_EBUDGET;
        status = assay_item_unpack(in, &form, m->arena, item, err);
        if (status == ASSAY_OK)
            item->view.name = assay_dict_name(m->sources->list[m->source].info->tensors, item->view.tensor, NULL);
    }
    return status == ASSAY_OK && assay_cursor_bad(in) ? ASSAY_EFORMAT : status;
}

/* Receives the next part and adds it to what is there; m->alone is set when it cannot be used, and no more is added. */
static int join(assay_mapper *m, needs *sum, assay_error *err)
{
    assay_buf bytes;
    assay_buf_init(&bytes, SIZE_MAX);
    int status = m->lender->receive(m->lender->context, &bytes);
    if (status == ASSAY_OK)
        status = assay_buf_status(&bytes);
    assay_cursor in = assay_cursor_over(bytes.data, bytes.size);
    if (status == ASSAY_OK && !m->alone) {
        needs n = {.held = assay_get_u64(&in)};
        n.most = assay_get_u64(&in);
        *sum = both(*sum, n);
        m->alone = bytes.size == 0 || !is_sure_to_fit(m, *sum);
    }
    if (status == ASSAY_OK && !m->alone)
        status = get_node(m, &in, err);
    if (status == ASSAY_OK && !m->alone)
        status = get_items(m, &in, err);
    assay_buf_release(&bytes);
    m->alone |= status == ASSAY_EBUDGET;
    if (status == ASSAY_EFORMAT)
        return assay_fail(err, ASSAY_EINTERNAL, "what a rank measured for another one did not survive its way");
    return status == ASSAY_EBUDGET ? ASSAY_OK : status;
}

int assay_lend_gather(assay_mapper *m, assay_error *err)
{
    const assay_share *share = &m->lender->share;
    assay_node *whole = m->node, measured;
    int status = assay_node_init(&measured, m->plan->instances);
    m->node = &measured;
    if (status == ASSAY_OK)
        status = read_share(m, share, share->first);
    enum { ROUNDING = 16 }; /* of the list of each use */
    needs sum = {m->plan->use_count * (sizeof(assay_slot_view) + sizeof(size_t) + ROUNDING), 0};
    sum = both(sum, needs_of(m));
    for (int r = share->first + 1; status == ASSAY_OK && r <= share->last; r++)
        status = join(m, &sum, err);
    m->node = whole;
    if (status == ASSAY_OK && m->alone)
        status = assay_mapper_read_step(m);
    else if (status == ASSAY_OK)
        status = assay_node_combine(whole, &measured, rules_of(m));
    m->steps_shared += status == ASSAY_OK && !m->alone;
    assay_node_release(&measured, rules_of(m));
    return status;
}
