/* plan.c - the plan as a whole: select.c says what is read; cutting it into chunks, queries and release are here. */
#include "engine/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "engine/plan/demand.h"
#include "parallel/rank_reduce.h"
#include "trial/reader.h"

/* ---- chunks ---- */

/* Cuts the steps of every trial into chunks of about equal cost.
 *
 *   1. every rank adds up, per step, the cost of its own units
 *   2. rank 0 joins the sums, cuts the chunks and broadcasts them
 *   3. every rank computes the same partition (partition.c)
 * Chunks do not depend on the number of ranks. TARGET_CHUNKS per trial are enough for hundreds of ranks, and no chunk
 * is so small that packing its results would cost more than reading it. */

enum {
    TARGET_CHUNKS = 2048,
    LEAST_COST = 1 << 18, /* a chunk is at least so much, in byte equivalents */
    ROW_MOST = 6 * 10     /* bytes of a packed row: six 64-bit varints */
};

typedef struct step_cost {
    uint64_t position, bytes, records, cost, results;
    uint64_t largest; /* of its records' costs */
} step_cost;

/* The costs of a trial's steps in order, delta-encoded as varints to keep a million steps small. A row holds the
 * distance to the step before and the costs. A step has a row from each rank that read some of its files. */
typedef struct cost_rows {
    assay_buf bytes;
    uint64_t last; /* position of the last row */
} cost_rows;

typedef struct costs {
    cost_rows *rows; /* [count] */
    uint32_t count;  /* trials */
} costs;

static int init_costs(costs *c, uint32_t count)
{
    *c = (costs){.rows = assay_alloc_zeroed(count, sizeof *c->rows), .count = count};
    for (uint32_t s = 0; c->rows && s < count; s++)
        assay_buf_init(&c->rows[s].bytes, SIZE_MAX);
    return c->rows ? ASSAY_OK : ASSAY_ENOMEM;
}

static void release_costs(costs *c)
{
    for (uint32_t s = 0; c->rows && s < c->count; s++)
        assay_buf_release(&c->rows[s].bytes);
    free(c->rows);
}

static size_t put_number(uint8_t *to, uint64_t value)
{
    size_t size = 0;
    for (; value >= 0x80; value >>= 7)
        to[size++] = (uint8_t)(value | 0x80);
    to[size++] = (uint8_t)value;
    return size;
}

static uint64_t get_number(assay_cursor *in)
{
    uint64_t value = 0;
    if (in->at < in->size && in->data[in->at] < 0x80) /* nearly all are */
        return in->data[in->at++];
    for (unsigned shift = 0; shift < 64; shift += 7) {
        in->failed = in->failed || in->at >= in->size;
        const uint8_t byte = in->failed ? 0 : in->data[in->at++];
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            break;
    }
    return value;
}

static void put_row(cost_rows *rows, const step_cost *row)
{
    uint8_t bytes[ROW_MOST];
    size_t size = put_number(bytes, row->position - rows->last);
    size += put_number(bytes + size, row->bytes);
    size += put_number(bytes + size, row->records);
    size += put_number(bytes + size, row->cost);
    size += put_number(bytes + size, row->results);
    size += put_number(bytes + size, row->largest);
    assay_put_bytes(&rows->bytes, bytes, size);
    rows->last = row->position;
}

/* The row behind the one at position `last`. */
static step_cost get_row(assay_cursor *in, uint64_t last)
{
    step_cost row = {.position = last + get_number(in)};
    row.bytes = get_number(in);
    row.records = get_number(in);
    row.cost = get_number(in);
    row.results = get_number(in);
    row.largest = get_number(in);
    return row;
}

static int pack_costs(const void *mine, assay_buf *out)
{
    const costs *c = mine;
    for (uint32_t s = 0; s < c->count; s++) {
        assay_put_u64(out, c->rows[s].last);
        assay_put_u64(out, c->rows[s].bytes.size);
        assay_put_bytes(out, c->rows[s].bytes.data, c->rows[s].bytes.size);
    }
    return assay_buf_status(out);
}

/* Puts the rows of two ranks into one order: of workers that count their steps differently shares overlap. */
static int merge_rows(cost_rows *rows, assay_cursor *later, const step_cost *first_later)
{
    assay_buf bytes = rows->bytes;
    assay_cursor earlier = assay_cursor_over(bytes.data, bytes.size);
    step_cost a = get_row(&earlier, 0), b = *first_later;
    bool has_a = true, has_b = true;
    assay_buf_init(&rows->bytes, SIZE_MAX);
    rows->last = 0;
    while (has_a || has_b) {
        if (has_a && (!has_b || a.position <= b.position)) {
            put_row(rows, &a);
            has_a = assay_cursor_left(&earlier) > 0;
            a = has_a ? get_row(&earlier, a.position) : a;
        } else {
            put_row(rows, &b);
            has_b = assay_cursor_left(later) > 0;
            b = has_b ? get_row(later, b.position) : b;
        }
    }
    assay_buf_release(&bytes);
    return assay_buf_status(&rows->bytes);
}

/* The later ranks' steps are nearly always later ones: then only the first delta changes. */
static int join_costs(void *mine, assay_cursor *later, assay_error *err)
{
    costs *c = mine;
    int status = ASSAY_OK;
    for (uint32_t s = 0; status == ASSAY_OK && s < c->count; s++) {
        uint64_t last = assay_get_u64(later), size = assay_get_count(later, 1);
        assay_cursor rows = assay_cursor_over(assay_get_bytes(later, size), size);
        if (size == 0)
            continue;
        step_cost first = get_row(&rows, 0);
        if (c->rows[s].bytes.size > 0 && first.position < c->rows[s].last) {
            status = merge_rows(&c->rows[s], &rows, &first);
            continue;
        }
        put_row(&c->rows[s], &first);
        assay_put_bytes(&c->rows[s].bytes, rows.data + rows.at, assay_cursor_left(&rows));
        c->rows[s].last = last;
        status = assay_buf_status(&c->rows[s].bytes);
    }
    if (status == ASSAY_OK && assay_cursor_bad(later))
        return assay_fail(err, ASSAY_EINTERNAL, "the cost of steps was damaged on its way between ranks");
    return status;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* What one unit asks for. A file is opened for it only where something of it is no number that the index has: steps of
 * logs have nothing else, and chunks of a few of them would cost more to join than to map. */
static step_cost part_cost(assay_demand *wants, const assay_shard *shard, const assay_part *part)
{
    step_cost cost = {0};
    bool opens = false;
    double number;
    for (size_t e = part->first; e < part->first + part->count; e++) {
        const assay_entry *entry = &shard->entries[e];
        const assay_record_demand *wanted = assay_demand_of(wants, part, part->mode, entry);
        uint64_t of_record = assay_record_cost(wanted, entry);
        if (of_record == 0)
            continue;
        cost.records++;
        cost.bytes += entry->length;
        cost.cost += of_record;
        cost.results += assay_record_results(wanted, entry);
        cost.largest = larger(cost.largest, of_record);
        opens = opens || !assay_part_number(part, entry, &number);
    }
    cost.cost += opens ? ASSAY_COST_OF_FILE : 0;
    return cost;
}

static int add_up_source(const assay_plan *plan, const assay_sources *sources, uint32_t source, cost_rows *rows)
{
    const assay_shard *shard = &sources->list[source].shard;
    assay_demand wants;
    int status = assay_demand_init(&wants, plan, source);
    uint64_t position = 0;
    for (size_t p = 0, next; status == ASSAY_OK && p < shard->count; p = next) {
        int64_t step = shard->parts[p].step;
        position = assay_trial_find_step_at(sources->list[source].info, position, step);
        step_cost sum = {.position = position++};
        for (next = p; next < shard->count && shard->parts[next].step == step; next++) {
            step_cost cost = part_cost(&wants, shard, &shard->parts[next]);
            sum.bytes += cost.bytes;
            sum.records += cost.records;
            sum.cost += cost.cost;
            sum.results += cost.results;
            sum.largest = larger(sum.largest, cost.largest);
        }
        put_row(rows, &sum);
        status = assay_buf_status(&rows->bytes);
    }
    assay_demand_release(&wants);
    return status;
}

static int add_up(const assay_plan *plan, const assay_sources *sources, costs *mine)
{
    int status = ASSAY_OK;
    for (uint32_t s = 0; status == ASSAY_OK && s < plan->source_count; s++)
        status = add_up_source(plan, sources, s, &mine->rows[s]);
    return status;
}

static int add_chunk(assay_plan *plan, uint64_t *room, const assay_chunk *chunk)
{
    if (plan->chunk_count == *room) {
        *room = *room ? *room * 2 : 256;
        assay_chunk *grown = assay_realloc_array(plan->chunks, *room, sizeof *grown);
        ASSAY_HAVE(grown);
        plan->chunks = grown;
    }
    plan->chunks[plan->chunk_count++] = *chunk;
    return ASSAY_OK;
}

static uint64_t total_cost(const cost_rows *rows)
{
    uint64_t total = 0;
    assay_cursor in = assay_cursor_over(rows->bytes.data, rows->bytes.size);
    while (assay_cursor_left(&in) > 0)
        total += get_row(&in, 0).cost;
    return total;
}

/* Cuts one trial. */
static int cut_source(assay_plan *plan, uint64_t *room, uint32_t source, const cost_rows *rows, uint64_t steps)
{
    uint64_t total = total_cost(rows);
    uint64_t target = total / TARGET_CHUNKS > LEAST_COST ? total / TARGET_CHUNKS : LEAST_COST;
    assay_chunk chunk = {.source = source};
    assay_cursor in = assay_cursor_over(rows->bytes.data, rows->bytes.size);
    bool more = assay_cursor_left(&in) > 0; /* `row` is one that was not added yet */
    step_cost row = more ? get_row(&in, 0) : (step_cost){0};
    for (uint64_t position = 0; position < steps; position++) {
        chunk.last_cost = chunk.largest = 0;
        while (more && row.position == position) {
            chunk.bytes += row.bytes;
            chunk.records += row.records;
            chunk.cost += row.cost;
            chunk.last_cost += row.cost;
            chunk.results += row.results;
            chunk.largest = larger(chunk.largest, row.largest);
            more = assay_cursor_left(&in) > 0;
            row = more ? get_row(&in, position) : row;
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
    for (uint32_t s = 0; s < plan->source_count; s++)
        if (cut_source(plan, &room, s, &all->rows[s], sources->list[s].info->step_count) != ASSAY_OK)
            return ASSAY_ENOMEM;
    return ASSAY_OK;
}

static int broadcast_chunks(assay_comm *comm, assay_plan *plan)
{
    assay_buf bytes = ASSAY_BUF(SIZE_MAX);
    if (assay_comm_rank(comm) == 0)
        assay_put_bytes(&bytes, plan->chunks, plan->chunk_count * sizeof *plan->chunks);
    int status = assay_comm_agree(comm, assay_buf_status(&bytes), NULL);
    ASSAY_THEN(status, assay_comm_broadcast(comm, &bytes));
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

static int assay_plan_cut(assay_comm *comm, assay_plan *plan, const assay_sources *sources, int status,
                          assay_error *err)
{
    costs all = {0};
    ASSAY_THEN(status, init_costs(&all, plan->source_count));
    ASSAY_THEN(status, add_up(plan, sources, &all));
    static const assay_joiner joiner = {pack_costs, join_costs};
    status = assay_rank_reduce(comm, &joiner, &all, status, err);
    if (status == ASSAY_OK && assay_comm_rank(comm) == 0)
        status = cut_all(plan, sources, &all);
    release_costs(&all);
    status = assay_comm_agree(comm, status, err);
    ASSAY_THEN(status, broadcast_chunks(comm, plan));
    ASSAY_THEN(status, assay_comm_agree(comm, assay_plan_partition(plan, assay_comm_size(comm)), err));
    return status;
}

/* ---- plan ---- */

int assay_plan_make(assay_comm *comm, const assay_job *job, assay_sources *sources, const assay_engine_options *options,
                    assay_plan *out, assay_error *err)
{
    *out = (assay_plan){.job = job, .instances = (uint32_t)assay_job_instances(job), .by_step = options->view != NULL};
    int status = assay_plan_select(out, sources, options, assay_comm_rank(comm) == 0);
    if (status == ASSAY_ENOMEM)
        assay_fail(err, status, "out of memory on rank %d while planning", assay_comm_rank(comm));
    status = assay_plan_cut(comm, out, sources, status, err);
    if (status != ASSAY_OK || options->view || options->checkpoint)
        return status;
    status = assay_plan_divide_tensors(comm, out, sources, options->memory, err);
    out->moves = assay_comm_size(comm) > 1 && out->pair_count == 0 && !out->by_tensor;
    return status;
}

static void release_source_plan(assay_source_plan *source)
{
    for (uint32_t c = 0; c < source->class_count; c++) {
        free(source->classes[c].use);
        free(source->classes[c].measure);
        free(source->classes[c].place);
    }
    free(source->classes);
    free(source->tensor_class);
    free(source->scope);
    free(source->same_use);
    free(source->looks_back);
    free(source->rank_of);
}

void assay_plan_release(assay_plan *plan)
{
    for (uint32_t s = 0; plan->sources && s < plan->source_count; s++)
        release_source_plan(&plan->sources[s]);
    for (uint32_t i = 0; plan->measure_number && i < plan->instances; i++)
        free(plan->measure_number[i]);
    for (uint32_t p = 0; p < plan->pair_count; p++) {
        assay_shard_release(&plan->pairs[p].shard);
        free(plan->pairs[p].tensor);
    }
    free(plan->pairs);
    free(plan->sources);
    free(plan->measure_number);
    free(plan->measures);
    free(plan->uses);
    free(plan->first_use);
    free(plan->chunks);
    free(plan->rank_chunk);
    free(plan->helps);
    *plan = (assay_plan){0};
}

bool assay_scope_spreads_to(const assay_use_scope *s, int64_t step, int mode)
{
    uint64_t steps = assay_trial_mode_steps(s->spread, mode);
    uint64_t rank = assay_trial_mode_rank(s->spread, assay_trial_find_step(s->spread, step));
    return assay_spread_takes(rank, steps, assay_spread_stride(steps, s->most));
}

void assay_spreads_init(assay_spreads *s, const assay_plan *plan, const assay_source_plan *source)
{
    *s = (assay_spreads){.mode = -1, .position = UINT64_MAX};
    for (uint32_t u = 0; u < plan->use_count; u++) {
        const assay_use_scope *scope = &source->scope[u];
        uint32_t k = 0;
        while (scope->spread && k < s->count && s->most[k] != scope->most)
            k++;
        if (!scope->spread || k < s->count)
            continue;
        if (s->count == ASSAY_SPREADS) {
            s->more = true;
            return;
        }
        s->trial = scope->spread;
        s->most[s->count] = scope->most;
        for (int mode = 0; mode < ASSAY_MODES; mode++)
            s->stride[s->count][mode] = assay_spread_stride(assay_trial_mode_steps(s->trial, mode), scope->most);
        s->count++;
    }
}

uint32_t assay_spreads_taken(assay_spreads *s, int64_t step, int mode)
{
    if (s->count == 0 || (step == s->step && mode == s->mode))
        return s->taken;
    s->position = assay_trial_find_step_at(s->trial, s->position + 1, step);
    s->step = step;
    s->mode = mode;
    s->taken = 0;
    const uint64_t rank = assay_trial_mode_rank(s->trial, s->position), steps = assay_trial_mode_steps(s->trial, mode);
    for (uint32_t k = 0; k < s->count; k++)
        s->taken |= (uint32_t)assay_spread_takes(rank, steps, s->stride[k][mode]) << k;
    return s->taken;
}

int assay_plan_owner(const assay_plan *plan, int ranks, uint64_t chunk)
{
    int low = 0,
        high = ranks; /* the last rank r with rank_chunk[r] <= chunk has it: idle ranks begin where the next does */
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (plan->rank_chunk[middle] <= chunk)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint64_t assay_plan_chunk_of(const assay_plan *plan, uint32_t source, uint64_t position)
{
    uint64_t low = plan->sources[source].first_chunk, high = low + plan->sources[source].chunks;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (plan->chunks[middle].first_step <= position)
            low = middle;
        else
            high = middle;
    }
    return low;
}
