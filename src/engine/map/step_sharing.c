/* step_sharing.c - see step_sharing.h. */
#include "engine/map/step_sharing.h"

#include <stdlib.h>

#include "base/fault.h"
#include "engine/map/deferred.h"

/* ---- which records are whose ---- */

typedef struct range {
    const assay_share *share;
    int rank;
    size_t *last; /* [tensors] the last entry of a tensor in the part */
    double at;    /* cost of the step so far */
    assay_entry_range found;
} range;

static uint64_t cost_of(assay_mapper *m, const assay_part *part, const assay_entry *entry)
{
    return assay_record_cost(assay_demand_of(&m->wants, part, part->mode, entry->tensor), entry);
}

/* Entries of one tensor stay together, with all that lie between them. */
static void find_in_part(assay_mapper *m, const assay_shard *shard, size_t p, range *r)
{
    const assay_part *part = &shard->parts[p];
    double group = ASSAY_COST_OF_FILE;
    size_t begin = SIZE_MAX, reach = 0;
    assay_demand_next(&m->wants);
    for (size_t e = part->first; e < part->first + part->count; e++)
        if (cost_of(m, part, &shard->entries[e]) > 0)
            r->last[shard->entries[e].tensor] = e;
    for (size_t e = part->first; e < part->first + part->count; e++) {
        const assay_entry *entry = &shard->entries[e];
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
    const assay_shard *shard = &source->shard;
    range r = {.share = share, .rank = rank, .found = {.first_part = SIZE_MAX}};
    r.last = assay_alloc(assay_dict_count(source->info->tensors) * sizeof *r.last);
    if (!r.last)
        return ASSAY_ENOMEM;
    size_t p = assay_shard_find(shard, m->step->step);
    for (; p < shard->count && shard->parts[p].step == m->step->step; p++)
        find_in_part(m, shard, p, &r);
    free(r.last);
    m->stretch = &r.found;
    m->alone = false;
    int status = assay_mapper_read_step(m);
    m->stretch = NULL;
    return status == ASSAY_OK ? m->node->problems.status : status;
}

/* ---- the rank that helps ---- */

static void put_part(const assay_mapper *m, assay_buf *out)
{
    assay_tensor_result_form form = assay_deferred_form(m);
    assay_needs n = assay_deferred_needs(m);
    assay_put_u64(out, n.held);
    assay_put_u64(out, n.most);
    if (assay_partial_pack(m->node, assay_deferred_rules(m), out) != ASSAY_OK)
        out->status = ASSAY_ENOMEM;
    assay_put_u64(out, m->item_count);
    for (size_t i = 0; i < m->item_count; i++)
        assay_tensor_result_pack(m->items[i], &form, out);
}

int assay_step_sharing_help(assay_mapper *m, const assay_share *share, int rank, assay_buf *out, assay_error *err)
{
    const assay_chunk *chunk = &m->plan->chunks[share->chunk];
    assay_partial node;
    int status = assay_mapper_enter(m, chunk->source), made = assay_partial_init(&node, m->plan->instances);
    m->node = &node;
    m->step = &m->sources->list[chunk->source].info->steps[chunk->first_step + chunk->steps - 1];
    status = status == ASSAY_OK ? made : status;
    if (status == ASSAY_OK)
        status = read_share(m, share, rank);
    if (status == ASSAY_OK && !m->alone && assay_deferred_fits(m, assay_deferred_needs(m)))
        put_part(m, out);
    if (assay_buf_status(out) != ASSAY_OK || out->size > ASSAY_COMM_POST_MOST)
        assay_buf_clear(out);
    assay_partial_release(&node, assay_deferred_rules(m));
    m->node = NULL;
    return status == ASSAY_ENOMEM ? assay_mapper_no_memory(m, err) : status;
}

/* ---- the rank that has the step ---- */

static int get_node(assay_mapper *m, assay_cursor *in, assay_error *err)
{
    assay_partial node;
    int status = assay_partial_init(&node, m->plan->instances);
    if (status == ASSAY_OK)
        status = assay_partial_unpack(in, &node, assay_deferred_rules(m), err);
    if (status == ASSAY_OK)
        status = assay_partial_combine(m->node, &node, assay_deferred_rules(m));
    assay_partial_release(&node, assay_deferred_rules(m));
    return status;
}

static int get_items(assay_mapper *m, assay_cursor *in, assay_error *err)
{
    enum { LEAST_ITEM = 4 * 4 + 8 + 1 + 1 + 4 + 1 };
    assay_tensor_result_form form = assay_deferred_form(m);
    uint64_t count = assay_get_count(in, LEAST_ITEM);
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i++) {
        assay_tensor_result *item = assay_mapper_new_item(m, 0, 0);
        if (!item)
            return ASSAY_EBUDGET;
        status = assay_tensor_result_unpack(in, &form, m->arena, item, err);
        if (status == ASSAY_OK)
            item->view.name = assay_dict_name(m->sources->list[m->source].info->tensors, item->view.tensor, NULL);
    }
    return status == ASSAY_OK && assay_cursor_bad(in) ? ASSAY_EFORMAT : status;
}

/* Receives the next part and adds it to what is there; m->alone is set when it cannot be used, and no more is added. */
static int join(assay_mapper *m, assay_needs *sum, assay_error *err)
{
    assay_buf bytes;
    assay_buf_init(&bytes, SIZE_MAX);
    int status = m->lender->receive(m->lender->context, &bytes);
    if (status == ASSAY_OK)
        status = assay_buf_status(&bytes);
    assay_cursor in = assay_cursor_over(bytes.data, bytes.size);
    if (status == ASSAY_OK && !m->alone) {
        assay_needs n = {.held = assay_get_u64(&in)};
        n.most = assay_get_u64(&in);
        *sum = assay_deferred_both(*sum, n);
        m->alone = bytes.size == 0 || !assay_deferred_fits(m, *sum);
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

int assay_step_sharing_gather(assay_mapper *m, assay_error *err)
{
    const assay_share *share = &m->lender->share;
    assay_partial *whole = m->node, measured;
    int status = assay_partial_init(&measured, m->plan->instances);
    m->node = &measured;
    if (status == ASSAY_OK)
        status = read_share(m, share, share->first);
    assay_needs sum = assay_deferred_both(assay_deferred_least(m), assay_deferred_needs(m));
    for (int r = share->first + 1; status == ASSAY_OK && r <= share->last; r++)
        status = join(m, &sum, err);
    status = assay_deferred_settle(m, whole, &measured, status);
    m->steps_shared += status == ASSAY_OK && !m->alone;
    return status;
}
