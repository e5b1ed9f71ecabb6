/* plan_chunks.c - cuts the steps of every trial into chunks of about equal cost and deals them out to the ranks.
 *
 *   1. every rank adds up what its own index files ask for, per step
 *   2. rank 0 joins the sums, cuts the chunks and broadcasts them
 *   3. every rank deals them out alike: contiguous ranges of chunks, by cost
 * A chunk is never cut by the number of ranks: TARGET_CHUNKS a trial are enough for hundreds of ranks, and no chunk is so
 * small that packing its results would cost more than reading it. */
#include "engine/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "engine/tree.h"
#include "engine/wants.h"

enum {
    TARGET_CHUNKS = 2048,
    LEAST_COST = 1 << 18,  /* a chunk is at least so much, in byte equivalents */
    COST_OF_RECORD = 4096, /* measured: a small record costs about as much as 4 KiB of a large one */
    COST_OF_FILE = 65536
};

typedef struct step_cost {
    uint32_t source;
    uint64_t position, bytes, records, cost;
} step_cost;

typedef struct costs {
    step_cost *list;
    size_t count, room;
} costs;

static int add_cost(costs *c, const step_cost *cost)
{
    if (c->count == c->room) {
        size_t room = c->room ? c->room * 2 : 256;
        step_cost *grown = assay_realloc_array(c->list, room, sizeof *grown);
        if (!grown)
            return ASSAY_ENOMEM;
        c->list = grown;
        c->room = room;
    }
    c->list[c->count++] = *cost;
    return ASSAY_OK;
}

static int pack_costs(const void *mine, assay_buf *out)
{
    const costs *c = mine;
    for (size_t i = 0; i < c->count; i++) {
        assay_put_u32(out, c->list[i].source);
        assay_put_u64(out, c->list[i].position);
        assay_put_u64(out, c->list[i].bytes);
        assay_put_u64(out, c->list[i].records);
        assay_put_u64(out, c->list[i].cost);
    }
    return assay_buf_status(out);
}

static int join_costs(void *mine, assay_cursor *later, assay_error *err)
{
    while (assay_cursor_left(later) > 0) {
        step_cost cost;
        cost.source = assay_get_u32(later);
        cost.position = assay_get_u64(later);
        cost.bytes = assay_get_u64(later);
        cost.records = assay_get_u64(later);
        cost.cost = assay_get_u64(later);
        if (later->failed)
            return assay_fail(err, ASSAY_EINTERNAL, "the cost of steps did not survive its way between ranks");
        if (add_cost(mine, &cost) != ASSAY_OK)
            return ASSAY_ENOMEM;
    }
    return ASSAY_OK;
}

/* What one index file asks for. */
static step_cost part_cost(assay_wants *wants, uint32_t source, const assay_segment *segment, const assay_part *part)
{
    step_cost cost = {.source = source};
    uint64_t parts = 0; /* of ASSAY_COST_UNIT */
    assay_wants_next(wants);
    for (size_t e = part->first; e < part->first + part->count; e++) {
        const assay_entry *entry = &segment->entries[e];
        const assay_wanted *wanted = assay_wants_of(wants, part, part->mode, entry->tensor);
        if (!(wanted->kinds >> entry->kind & 1))
            continue;
        cost.records++;
        cost.bytes += entry->length;
        parts += entry->length * wanted->byte_cost;
    }
    cost.cost = parts / ASSAY_COST_UNIT + cost.records * COST_OF_RECORD + (cost.records > 0 ? COST_OF_FILE : 0);
    return cost;
}

static int add_up_source(const assay_plan *plan, const assay_sources *sources, uint32_t source, costs *mine)
{
    const assay_segment *segment = &sources->list[source].segment;
    assay_wants wants;
    int status = assay_wants_init(&wants, plan, source);
    for (size_t p = 0; status == ASSAY_OK && p < segment->count; p++) {
        step_cost cost = part_cost(&wants, source, segment, &segment->parts[p]);
        cost.position = assay_trial_find_step(sources->list[source].info, segment->parts[p].step);
        step_cost *last = mine->count > 0 ? &mine->list[mine->count - 1] : NULL;
        if (last && last->source == source && last->position == cost.position) {
            last->bytes += cost.bytes;
            last->records += cost.records;
            last->cost += cost.cost;
        } else {
            status = add_cost(mine, &cost);
        }
    }
    assay_wants_release(&wants);
    return status;
}

static int add_up(const assay_plan *plan, const assay_sources *sources, costs *mine)
{
    int status = ASSAY_OK;
    for (uint32_t s = 0; status == ASSAY_OK && s < plan->source_count; s++)
        status = add_up_source(plan, sources, s, mine);
    return status;
}

static int add_chunk(assay_plan *plan, uint64_t *room, const assay_chunk *chunk)
{
    if (plan->chunk_count == *room) {
        *room = *room ? *room * 2 : 256;
        assay_chunk *grown = assay_realloc_array(plan->chunks, *room, sizeof *grown);
        if (!grown)
            return ASSAY_ENOMEM;
        plan->chunks = grown;
    }
    plan->chunks[plan->chunk_count++] = *chunk;
    return ASSAY_OK;
}

/* Cuts one trial: rows [first, last) of the costs are its own, in order of position; a step may have two rows, from the
 * two ranks that read its index files. */
static int cut_source(assay_plan *plan, uint64_t *room, uint32_t source, const step_cost *row, size_t rows, uint64_t steps)
{
    uint64_t total = 0;
    for (size_t i = 0; i < rows; i++)
        total += row[i].cost;
    uint64_t target = total / TARGET_CHUNKS > LEAST_COST ? total / TARGET_CHUNKS : LEAST_COST;
    assay_chunk chunk = {.source = source};
    size_t i = 0;
    for (uint64_t position = 0; position < steps; position++) {
        for (; i < rows && row[i].position == position; i++) {
            chunk.bytes += row[i].bytes;
            chunk.records += row[i].records;
            chunk.cost += row[i].cost;
        }
        chunk.steps++;
        if (chunk.cost < target && position + 1 < steps && !plan->by_step)
            continue;
        if (add_chunk(plan, room, &chunk) != ASSAY_OK)
            return ASSAY_ENOMEM;
        chunk = (assay_chunk){.source = source, .first_step = position + 1};
    }
    return ASSAY_OK;
}

static int cut_all(assay_plan *plan, const assay_sources *sources, const costs *all)
{
    uint64_t room = 0;
    size_t i = 0;
    for (uint32_t s = 0; s < plan->source_count; s++) {
        size_t first = i;
        while (i < all->count && all->list[i].source == s)
            i++;
        const step_cost *rows = i > first ? all->list + first : NULL; /* no list at all when nothing could be read */
        if (cut_source(plan, &room, s, rows, i - first, sources->list[s].info->step_count) != ASSAY_OK)
            return ASSAY_ENOMEM;
    }
    return ASSAY_OK;
}

/* The ranks read the index files of all trials in one numbering, so a trial's rows come in rank order, but a rank has rows
 * of several trials: sort by trial, then step. */
static int compare_costs(const void *a, const void *b)
{
    const step_cost *x = a, *y = b;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return (x->position > y->position) - (x->position < y->position);
}

static int broadcast_chunks(assay_comm *comm, assay_plan *plan)
{
    assay_buf bytes;
    assay_buf_init(&bytes, SIZE_MAX);
    if (assay_comm_rank(comm) == 0)
        assay_put_bytes(&bytes, plan->chunks, plan->chunk_count * sizeof *plan->chunks);
    int status = assay_comm_agree(comm, assay_buf_status(&bytes), NULL);
    if (status == ASSAY_OK)
        status = assay_comm_broadcast(comm, &bytes);
    if (status == ASSAY_OK && assay_comm_rank(comm) > 0) {
        plan->chunk_count = bytes.size / sizeof *plan->chunks;
        plan->chunks = assay_alloc(bytes.size);
        if (plan->chunks && bytes.size > 0)
            memcpy(plan->chunks, bytes.data, bytes.size);
        status = plan->chunks ? ASSAY_OK : ASSAY_ENOMEM;
    }
    assay_buf_release(&bytes);
    return assay_comm_agree(comm, status, NULL);
}

static double cost_left(const assay_chunk *chunk)
{
    return chunk->done ? 0 : (double)chunk->cost;
}

/* The first chunk behind those of rank r, whose own begin at `c` with `before` cost ahead of them, which moves along. */
static uint64_t share_end(const assay_plan *plan, double total, int ranks, int r, uint64_t c, double *before)
{
    double end = total / ranks * (r + 1);
    while (c < plan->chunk_count && *before + cost_left(&plan->chunks[c]) / 2 <= end)
        *before += cost_left(&plan->chunks[c++]);
    return c;
}

static double cost_of_all(const assay_plan *plan)
{
    double total = 0;
    for (uint64_t c = 0; c < plan->chunk_count; c++)
        total += cost_left(&plan->chunks[c]);
    return total;
}

double assay_plan_imbalance(const assay_plan *plan, int ranks)
{
    double total = cost_of_all(plan), before = 0, most = 0;
    uint64_t c = 0;
    for (int r = 0; r < ranks; r++) {
        double start = before;
        c = share_end(plan, total, ranks, r, c, &before);
        double own = (r + 1 < ranks ? before : total) - start;
        most = own > most ? own : most;
    }
    return total > 0 ? most / (total / ranks) - 1 : 0;
}

/* Rank r gets the chunks whose middle lies in its share of the whole cost; the last chunks may be nobody's middle. */
int assay_plan_deal_out(assay_plan *plan, int ranks)
{
    free(plan->rank_chunk);
    plan->rank_chunk = assay_alloc(((size_t)ranks + 1) * sizeof *plan->rank_chunk);
    if (!plan->rank_chunk)
        return ASSAY_ENOMEM;
    double total = cost_of_all(plan), before = 0;
    uint64_t c = 0;
    for (int r = 0; r < ranks; r++) {
        plan->rank_chunk[r] = c;
        c = share_end(plan, total, ranks, r, c, &before);
    }
    plan->rank_chunk[ranks - 1] = plan->rank_chunk[ranks - 1] < plan->chunk_count ? plan->rank_chunk[ranks - 1] : c;
    plan->rank_chunk[ranks] = plan->chunk_count;
    for (uint32_t s = 0; s < plan->source_count; s++) {
        uint64_t first = s > 0 ? plan->sources[s - 1].first_chunk + plan->sources[s - 1].chunks : 0, n = first;
        while (n < plan->chunk_count && plan->chunks[n].source == s)
            n++;
        plan->sources[s].first_chunk = first;
        plan->sources[s].chunks = n - first;
    }
    return ASSAY_OK;
}

int assay_plan_cut(assay_comm *comm, assay_plan *plan, const assay_sources *sources, int status, assay_error *err)
{
    costs all = {0};
    if (status == ASSAY_OK)
        status = add_up(plan, sources, &all);
    static const assay_joiner joiner = {pack_costs, join_costs};
    status = assay_tree_join(comm, &joiner, &all, status, err);
    if (status == ASSAY_OK && assay_comm_rank(comm) == 0) {
        if (all.count > 0)
            qsort(all.list, all.count, sizeof *all.list, compare_costs);
        status = cut_all(plan, sources, &all);
    }
    free(all.list);
    status = assay_comm_agree(comm, status, err);
    if (status == ASSAY_OK)
        status = broadcast_chunks(comm, plan);
    if (status == ASSAY_OK)
        status = assay_comm_agree(comm, assay_plan_deal_out(plan, assay_comm_size(comm)), err);
    return status;
}
