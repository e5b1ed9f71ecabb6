/* partition.c - divides the chunks among the ranks by cost: a weighted partition in one dimension.
 *
 * How it works:
 *   1. The costs of all chunks are lined up, and cut into one share per rank, all equally long.
 *   2. A chunk goes to the rank whose share contains its middle.
 *   3. That leaves large chunks, which are large because of their last step. If such a step crosses the end of a share,
 *      the chunk goes to the lowest of the ranks whose shares it touches, and the others help: each measures the
 *      records of the step whose middle lies in its share.
 *   4. The step is the last thing that the lowest rank does and the first that the others do. So no rank helps twice,
 *      and no helper waits. */
#include "engine/plan/plan.h"

#include <stdlib.h>

#include "base/fault.h"

enum {
    LEAST_SHARED = 1 << 18, /* a step that costs less is measured sooner than its results are sent */
    SHARED_OF_RANK = 64     /* an excess below 1/64 of a rank's share is not worth it: helpers read references again */
};

typedef struct partitioner {
    const assay_plan *plan;
    int ranks;
    double share; /* of each rank */
    double at;    /* where the next chunk begins */
    uint64_t chunk;
    int rank; /* the last that has got something */
} partitioner;

/* The ranks that work on a chunk: it belongs to the first. */
typedef struct chunk_ranks {
    int first, last;
} chunk_ranks;

static double cost_left(const assay_chunk *chunk)
{
    return chunk->done ? 0 : (double)chunk->cost;
}

static partitioner start_partition(const assay_plan *plan, int ranks)
{
    double total = 0;
    for (uint64_t c = 0; c < plan->chunk_count; c++)
        total += cost_left(&plan->chunks[c]);
    return (partitioner){.plan = plan, .ranks = ranks, .share = total / ranks};
}

/* Excess load if one of these ranks took the whole chunk. */
static double excess_load(const partitioner *d, chunk_ranks h, double start, double end)
{
    double first = d->share * (h.first + 1) - start, last = end - d->share * h.last;
    return h.last - h.first > 1 ? end - start : first < last ? first : last;
}

static bool is_worth_sharing(const partitioner *d, const assay_chunk *chunk, double spared)
{
    return !d->plan->by_step && !chunk->done && chunk->last_cost >= LEAST_SHARED &&
           (double)chunk->last_cost * SHARED_OF_RANK >= d->share && spared * SHARED_OF_RANK >= d->share;
}

static chunk_ranks place_chunk(partitioner *d)
{
    const assay_chunk *chunk = &d->plan->chunks[d->chunk++];
    double start = d->at, cost = cost_left(chunk), end = start + cost;
    chunk_ranks h = {d->rank, d->rank};
    d->at = end;
    while (h.first + 1 < d->ranks && d->share * (h.first + 1) <= start)
        h.first++;
    for (h.last = h.first; h.last + 1 < d->ranks && d->share * (h.last + 1) < end;)
        h.last++;
    bool shared =
        is_worth_sharing(d, chunk, excess_load(d, h, start, end)) && d->share * h.last > end - (double)chunk->last_cost;
    if (!shared) {
        for (h.last = d->rank; h.last + 1 < d->ranks && start + cost / 2 > d->share * (h.last + 1);)
            h.last++;
        h.first = h.last;
    }
    d->rank = h.last;
    return h;
}

/* What rank r of a chunk_ranks has of a chunk that begins at `start`, at most: the record on either of its borders may
 * be its own, and what lies before the last step is not shared. */
static double part_of(const partitioner *d, chunk_ranks h, int r, const assay_chunk *chunk, double start)
{
    double cost = cost_left(chunk), half = (double)chunk->largest / 2, step = cost - (double)chunk->last_cost;
    double from = d->share * r - start - half, to = d->share * (r + 1) - start + half;
    from = r == h.first ? 0 : from > step ? from : step;
    to = r == h.last || to > cost ? cost : to > step ? to : step;
    return to - from;
}

double assay_plan_imbalance(const assay_plan *plan, int ranks)
{
    partitioner d = start_partition(plan, ranks);
    double own = 0, most = 0;
    int rank = 0;
    while (d.chunk < plan->chunk_count) {
        const assay_chunk *chunk = &plan->chunks[d.chunk];
        double start = d.at;
        chunk_ranks h = place_chunk(&d);
        for (int r = h.first; r <= h.last; r++) {
            own = (r == rank ? own : 0) + part_of(&d, h, r, chunk, start);
            rank = r;
            most = own > most ? own : most;
        }
    }
    return d.share > 0 ? most / d.share - 1 : 0;
}

int assay_plan_partition(assay_plan *plan, int ranks)
{
    free(plan->rank_chunk);
    free(plan->helps);
    plan->rank_chunk = assay_alloc(((size_t)ranks + 1) * sizeof *plan->rank_chunk);
    plan->helps = assay_alloc((size_t)ranks * sizeof *plan->helps);
    ASSAY_HAVE(plan->rank_chunk && plan->helps);
    int next = 0; /* the first rank whose first chunk has not come yet */
    for (int r = 0; r < ranks; r++)
        plan->helps[r] = ASSAY_NO_CHUNK;
    for (partitioner d = start_partition(plan, ranks); d.chunk < plan->chunk_count;) {
        uint64_t c = d.chunk;
        chunk_ranks h = place_chunk(&d);
        for (; next <= h.first; next++)
            plan->rank_chunk[next] = c;
        for (int r = h.first + 1; r <= h.last; r++)
            plan->helps[r] = c;
    }
    for (; next <= ranks; next++)
        plan->rank_chunk[next] = plan->chunk_count;
    for (uint32_t s = 0; s < plan->source_count; s++) {
        uint64_t first = s > 0 ? plan->sources[s - 1].first_chunk + plan->sources[s - 1].chunks : 0, n = first;
        while (n < plan->chunk_count && plan->chunks[n].source == s)
            n++;
        plan->sources[s].first_chunk = first;
        plan->sources[s].chunks = n - first;
    }
    return ASSAY_OK;
}

uint64_t assay_plan_steps_shared(const assay_plan *plan, int ranks)
{
    uint64_t count = 0;
    for (int r = 1; r < ranks; r++)
        count += plan->helps[r] != ASSAY_NO_CHUNK && plan->helps[r] != plan->helps[r - 1];
    return count;
}

assay_share assay_plan_share(const assay_plan *plan, int ranks, uint64_t chunk)
{
    partitioner d = start_partition(plan, ranks);
    while (d.chunk < chunk)
        d.at += cost_left(&plan->chunks[d.chunk++]);
    int first = assay_plan_owner(plan, ranks, chunk), last = first;
    while (last + 1 < ranks && plan->helps[last + 1] == chunk)
        last++;
    double begin = d.at + cost_left(&plan->chunks[chunk]) - (double)plan->chunks[chunk].last_cost;
    return (assay_share){.chunk = chunk, .first = first, .last = last, .begin = begin, .stretch = d.share};
}

int assay_share_rank(const assay_share *share, double middle)
{
    double rank = (share->begin + middle) / share->stretch;
    return rank <= share->first ? share->first : rank >= share->last ? share->last : (int)rank;
}
