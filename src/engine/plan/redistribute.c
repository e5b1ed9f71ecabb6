/* redistribute.c - brings every index entry to the rank that has its chunk, and to those that help with its step; to
 * all ranks where each measures its own tensors.
 *
 *   1. each rank packs the parts of its share that belong to others; parts of a compared trial go where the same step
 * of the comparing trial is. Most parts stay where they are
 *   2. after one exchange each rank has the parts of its chunks
 *   3. for rules that look back, each rank in turn passes on what later ranks may refer to (assay_shard_tail), of all
 * trials at once */
#include "engine/plan/plan.h"

#include <stdlib.h>

#include "base/fault.h"

/* A message holds runs: source number, or PAIR + pair number; then one packed shard. */
enum { PAIR = 1 << 30 };

typedef struct outbox {
    assay_buf *to; /* [ranks] */
    int ranks, rank;
} outbox;

/* The ranks that need the parts of a step: from `first` to `last`, nobody when that is less. */
typedef struct receivers {
    int first, last;
} receivers;

static receivers receivers_of(const assay_plan *plan, const assay_sources *sources, uint32_t source, int64_t step,
                              int ranks)
{
    uint64_t position = assay_trial_find_step(sources->list[source].info, step);
    if (position == UINT64_MAX)
        return (receivers){0, -1};
    if (plan->by_tensor)
        return (receivers){0, ranks - 1};
    uint64_t number = assay_plan_chunk_of(plan, source, position);
    const assay_chunk *chunk = &plan->chunks[number];
    int first = assay_plan_owner(plan, ranks, number), last = first;
    while (position + 1 == chunk->first_step + chunk->steps && last + 1 < ranks && plan->helps[last + 1] == number)
        last++;
    return (receivers){first, last};
}

typedef struct range {
    size_t first, count;
} range;

/* Behind the parts from `first` on that go to the same ranks. */
static size_t run_end(const assay_plan *plan, const assay_sources *sources, uint32_t source, const assay_shard *shard,
                      size_t first, receivers to, int ranks)
{
    size_t next = first + 1;
    for (; next < shard->count; next++) {
        if (shard->parts[next].step == shard->parts[next - 1].step)
            continue;
        receivers other = receivers_of(plan, sources, source, shard->parts[next].step, ranks);
        if (other.first != to.first || other.last != to.last)
            break;
    }
    return next;
}

/* Packs the parts of a shard in runs that go to the same ranks. Steps that `source` does not have go nowhere. With
 * `own`, those of this rank, which are neighbours, are told there and not packed for it. */
static void pack_runs(const assay_plan *plan, const assay_sources *sources, outbox *box, uint32_t label,
                      uint32_t source, const assay_shard *shard, range *own)
{
    for (size_t first = 0, next; first < shard->count; first = next) {
        receivers to = receivers_of(plan, sources, source, shard->parts[first].step, box->ranks);
        next = run_end(plan, sources, source, shard, first, to, box->ranks);
        for (int r = to.first; r <= to.last; r++) {
            if (own && r == box->rank) {
                own->first = own->count > 0 ? own->first : first;
                own->count = next - own->first;
                continue;
            }
            assay_put_u32(&box->to[r], label);
            assay_shard_pack(shard, first, next - first, &box->to[r]);
        }
    }
}

/* Packs what others have, then lets go of it. */
static int pack_all(const assay_plan *plan, const assay_sources *sources, outbox *box)
{
    for (uint32_t p = 0; p < plan->pair_count; p++)
        pack_runs(plan, sources, box, PAIR + p, plan->pairs[p].source, &sources->list[plan->pairs[p].other].shard,
                  NULL);
    for (uint32_t s = 0; s < sources->count; s++) {
        assay_shard *shard = &sources->list[s].shard;
        range own = {0, 0};
        if (s < plan->source_count)
            pack_runs(plan, sources, box, s, s, shard, &own);
        if (own.count > 0)
            assay_shard_keep(shard, own.first, own.count);
        else
            assay_shard_release(shard);
    }
    int status = ASSAY_OK;
    for (int r = 0; r < box->ranks; r++)
        status = status == ASSAY_OK ? assay_buf_status(&box->to[r]) : status;
    return status;
}

/* Adds what came from other ranks behind what is there. */
static int unpack_all(assay_plan *plan, assay_sources *sources, const uint8_t *bytes, uint64_t size, assay_error *err)
{
    assay_cursor cursor = assay_cursor_over(bytes, size);
    int status = ASSAY_OK;
    while (status == ASSAY_OK && assay_cursor_left(&cursor) > 0) {
        uint32_t label = assay_get_u32(&cursor);
        if (label < plan->source_count)
            status = assay_shard_unpack(&cursor, &sources->list[label].shard, err);
        else if (label >= PAIR && label - PAIR < plan->pair_count)
            status = assay_shard_unpack(&cursor, &plan->pairs[label - PAIR].shard, err);
        else
            status = assay_fail(err, ASSAY_EINTERNAL, "index entries were damaged on their way between ranks");
    }
    return status;
}

/* What the ranks before this one sent comes in front of the own parts, what those behind it sent comes after them. */
static int unpack_in_order(assay_plan *plan, assay_sources *sources, const assay_buf *in, uint64_t own,
                           assay_error *err)
{
    size_t *kept = assay_alloc_zeroed(plan->source_count, sizeof *kept);
    ASSAY_HAVE(kept);
    for (uint32_t s = 0; s < plan->source_count; s++)
        kept[s] = sources->list[s].shard.count;
    int status = unpack_all(plan, sources, in->data, own, err);
    for (uint32_t s = 0; s < plan->source_count; s++)
        assay_shard_turn(&sources->list[s].shard, kept[s]);
    if (status == ASSAY_OK && in->size > own)
        status = unpack_all(plan, sources, in->data + own, in->size - own, err);
    free(kept);
    return status;
}

/* Shares of workers that count their steps differently overlap. */
static int sort_shards(assay_plan *plan, assay_sources *sources)
{
    int status = ASSAY_OK;
    for (uint32_t s = 0; status == ASSAY_OK && s < plan->source_count; s++)
        status = assay_shard_sort(&sources->list[s].shard);
    for (uint32_t p = 0; status == ASSAY_OK && p < plan->pair_count; p++)
        status = assay_shard_sort(&plan->pairs[p].shard);
    return status;
}

static int exchange_shards(assay_comm *comm, assay_plan *plan, assay_sources *sources, assay_error *err)
{
    outbox box = {.ranks = assay_comm_size(comm), .rank = assay_comm_rank(comm)};
    box.to = assay_alloc_zeroed((size_t)box.ranks, sizeof *box.to);
    uint64_t *starts = assay_alloc(((size_t)box.ranks + 1) * sizeof *starts);
    assay_buf in = ASSAY_BUF(SIZE_MAX);
    int status = box.to && starts ? ASSAY_OK : ASSAY_ENOMEM;
    for (int r = 0; box.to && r < box.ranks; r++)
        assay_buf_init(&box.to[r], SIZE_MAX);
    ASSAY_THEN(status, pack_all(plan, sources, &box));
    status = assay_comm_agree(comm, status, err);
    ASSAY_THEN(status, assay_comm_exchange(comm, box.to, &in, starts));
    for (int r = 0; box.to && r < box.ranks; r++)
        assay_buf_release(&box.to[r]);
    ASSAY_THEN(status, assay_comm_agree(comm, unpack_in_order(plan, sources, &in, starts[box.rank], err), err));
    ASSAY_THEN(status, assay_comm_agree(comm, sort_shards(plan, sources), err));
    assay_buf_release(&in);
    free(starts);
    free(box.to);
    return status;
}

/* The position of the first step of a source that a rank works on; behind its last when there is none. */
static uint64_t first_position(const assay_plan *plan, const assay_trial *info, uint32_t source, int rank)
{
    const assay_source_plan *s = &plan->sources[source];
    bool helps = plan->helps[rank] != ASSAY_NO_CHUNK;
    uint64_t number = helps ? plan->helps[rank] : plan->rank_chunk[rank];
    if (number < s->first_chunk)
        return 0;
    if (number >= s->first_chunk + s->chunks)
        return info->step_count;
    const assay_chunk *chunk = &plan->chunks[number];
    return helps ? chunk->first_step + chunk->steps - 1 : chunk->first_step;
}

/* The first global step that a rank may refer to through a window when its work begins at `position`: `window` global
 * steps back or `window` TRAIN steps back, whichever is further. Mode steps may restart, so the oldest TRAIN step of
 * all that follow counts. A worker may lack the steps at the window's edge, so its reference can be older still. */
static int64_t window_start(const assay_plan *plan, const assay_trial *info, uint32_t source, uint64_t position)
{
    const assay_source_plan *s = &plan->sources[source];
    if (s->window == 0 || position >= info->step_count)
        return INT64_MAX;
    int64_t since = info->steps[position].step - s->window, oldest = INT64_MAX;
    for (uint64_t k = position; k < info->step_count; k++)
        if (info->steps[k].mode == ASSAY_MODE_TRAIN && info->steps[k].mode_step < oldest)
            oldest = info->steps[k].mode_step;
    uint64_t k = 0;
    while (k < position && (info->steps[k].mode != ASSAY_MODE_TRAIN || info->steps[k].mode_step < oldest - s->window))
        k++;
    return info->steps[k].step < since ? info->steps[k].step : since;
}

/* Packs what steps from a position on may refer to and lies before them. */
static int pack_tail(const assay_plan *plan, const assay_source *source, uint32_t number, uint64_t position,
                     assay_buf *out)
{
    const assay_source_plan *s = &plan->sources[number];
    int64_t since = window_start(plan, source->info, number, position);
    assay_shard ahead = source->shard, tail;
    assay_shard_init(&tail);
    if (position < source->info->step_count)
        ahead.count = assay_shard_find(&ahead, source->info->steps[position].step);
    int status =
        assay_shard_tail(&ahead, s->looks_back, assay_dict_count(source->info->tensors), s->back, since, &tail);
    if (status == ASSAY_OK)
        assay_shard_pack(&tail, 0, tail.count, out);
    assay_shard_release(&tail);
    return status == ASSAY_OK ? assay_buf_status(out) : status;
}

static bool passes_on(const assay_plan *plan, uint32_t source)
{
    return plan->sources[source].looks_back && !plan->by_tensor;
}

/* Rank after rank: receive, put in front of the own parts, pass on the tails of all sources in one message, since each
 * one waits for the ranks before. A rank that fails passes on nothing, and the failure is agreed behind. */
static int pass_on(assay_comm *comm, assay_plan *plan, assay_sources *sources, assay_error *err)
{
    int rank = assay_comm_rank(comm), last = assay_comm_size(comm) - 1, status = ASSAY_OK, rc;
    assay_buf before = ASSAY_BUF(SIZE_MAX), after = ASSAY_BUF(SIZE_MAX);
    if (rank > 0) {
        status = assay_comm_receive(comm, rank - 1, &before);
        ASSAY_THEN(status, assay_buf_status(&before));
        ASSAY_THEN(status, unpack_in_order(plan, sources, &before, before.size, err));
    }
    for (uint32_t s = 0; rank < last && status == ASSAY_OK && s < plan->source_count; s++) {
        if (!passes_on(plan, s))
            continue;
        assay_put_u32(&after, s);
        /* What they do not have lies before the step that the next rank begins with, which is this rank's as well
         * when they share it. */
        status =
            pack_tail(plan, &sources->list[s], s, first_position(plan, sources->list[s].info, s, rank + 1), &after);
    }
    if (rank < last) {
        if (status != ASSAY_OK)
            assay_buf_clear(&after);
        rc = assay_comm_send(comm, rank + 1, &after);
        status = status == ASSAY_OK ? rc : status;
    }
    assay_buf_release(&before);
    assay_buf_release(&after);
    return assay_comm_agree(comm, status, err);
}

int assay_plan_redistribute(assay_comm *comm, assay_plan *plan, assay_sources *sources, assay_error *err)
{
    bool stays = assay_comm_size(comm) == 1 && plan->pair_count == 0; /* everything is where it belongs */
    bool any = false;
    for (uint32_t s = 0; s < plan->source_count; s++)
        any = any || passes_on(plan, s);
    int status = stays ? ASSAY_OK : exchange_shards(comm, plan, sources, err);
    return status == ASSAY_OK && any ? pass_on(comm, plan, sources, err) : status;
}

/* ---- steps that move to another rank ---- */

int assay_plan_pack_steps(const assay_plan *plan, const assay_sources *sources, uint64_t first_chunk,
                          uint64_t end_chunk, assay_buf *out)
{
    const assay_chunk *first = &plan->chunks[first_chunk], *last = &plan->chunks[end_chunk - 1];
    const assay_source *source = &sources->list[first->source];
    uint64_t position = first->first_step, end = last->first_step + last->steps;
    int status = ASSAY_OK;
    if (plan->sources[first->source].looks_back)
        status = pack_tail(plan, source, first->source, position, out);
    size_t from = assay_shard_find(&source->shard, source->info->steps[position].step), to = source->shard.count;
    if (end < source->info->step_count)
        to = assay_shard_find(&source->shard, source->info->steps[end].step);
    assay_shard_pack(&source->shard, from, to - from, out);
    return status == ASSAY_OK ? assay_buf_status(out) : status;
}

int assay_plan_unpack_steps(assay_shard *shard, const assay_buf *bytes, assay_error *err)
{
    assay_cursor in = assay_cursor_over(bytes->data, bytes->size);
    int status = ASSAY_OK;
    assay_shard_release(shard);
    assay_shard_init(shard);
    while (status == ASSAY_OK && assay_cursor_left(&in) > 0)
        status = assay_shard_unpack(&in, shard, err);
    return status;
}
