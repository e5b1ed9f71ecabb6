/* partition.c - deals the chunks out to the ranks by their cost.
 *
 * Of the whole cost, laid out in the order of chunks, each rank has an equal stretch. A chunk goes to the rank that its
 * middle lies with. A chunk is as large as it is because of its last step; where that alone is much and lies across the
 * ends of stretches, the chunk belongs to the lowest of the ranks concerned, and the others help: each measures those
 * of the step's records whose middle lies in its stretch. The step is the last thing of the lowest rank and the first
 * of the others, so that no rank helps twice and none that helps has to wait. */
#include "engine/plan/plan.h"

#include <stdlib.h>

#include "base/fault.h"

enum {
    LEAST_SHARED = 1 << 18, /* a step that costs less is measured in less time than it takes to speak of it */
    SHARED_OF_RANK = 64 /* what a rank has too much may be so small a part of its stretch that it is not worth sharing:
                         * who shares a step reads what its tensors are compared with again */
};

typedef struct dealer {
    const assay_plan *plan;
    int ranks;
    double stretch; /* of each rank */
    double at;      /* where the next chunk begins */
    uint64_t chunk;
    int rank; /* the last that has got something */
} dealer;

/* The ranks that work on a chunk: it belongs to the first. */
typedef struct hand {
    int first, last;
} hand;

static double cost_left(const assay_chunk *chunk)
{
    return chunk->done ? 0 : (double)chunk->cost;
}

static dealer deal(const assay_plan *plan, int ranks)
{
    double total = 0;
    for (uint64_t c = 0; c < plan->chunk_count; c++)
        total += cost_left(&plan->chunks[c]);
    return (dealer){.plan = plan, .ranks = ranks, .stretch = total / ranks};
}

/* What the rank would have too much that got all of a chunk on the stretches of these ranks. */
static double too_much(const dealer *d, hand h, double start, double end)
{
    double first = d->stretch * (h.first + 1) - start, last = end - d->stretch * h.last;
    return h.last - h.first > 1 ? end - start : first < last ? first : last;
}

static bool is_worth_sharing(const dealer *d, const assay_chunk *chunk, double spared)
{
    return !d->plan->by_step && !chunk->done && chunk->last_cost >= LEAST_SHARED &&
           (double)chunk->last_cost * SHARED_OF_RANK >= d->stretch && spared * SHARED_OF_RANK >= d->stretch;
}

static hand deal_chunk(dealer *d)
{
    const assay_chunk *chunk = &d->plan->chunks[d->chunk++];
    double start = d->at, cost = cost_left(chunk), end = start + cost;
    hand h = {d->rank, d->rank};
    d->at = end;
    while (h.first + 1 < d->ranks && d->stretch * (h.first + 1) <= start)
        h.first++;
    for (h.last = h.first; h.last + 1 < d->ranks && d->stretch * (h.last + 1) < end;)
        h.last++;
    bool shared =
        is_worth_sharing(d, chunk, too_much(d, h, start, end)) && d->stretch * h.last > end - (double)chunk->last_cost;
    if (!shared) {
        for (h.last = d->rank; h.last + 1 < d->ranks && start + cost / 2 > d->stretch * (h.last + 1);)
            h.last++;
        h.first = h.last;
    }
    d->rank = h.last;
    return h;
}

/* What rank r of a hand has of a chunk that begins at `start`, at most: the record on either of its borders may be its
 * own, and what lies before the last step is not shared. */
static double part_of(const dealer *d, hand h, int r, const assay_chunk *chunk, double start)
{
    double cost = cost_left(chunk), half = (double)chunk->largest / 2, step = cost - (double)chunk->last_cost;
    double from = d->stretch * r - start - half, to = d->stretch * (r + 1) - start + half;
    from = r == h.first ? 0 : from > step ? from : step;
    to = r == h.last || to > cost ? cost : to > step ? to : step;
    return to - from;
}

double assay_plan_imbalance(const assay_plan *plan, int ranks)
{
    dealer d = deal(plan, ranks);
    double own = 0, most = 0;
    int rank = 0;
    while (d.chunk < plan->chunk_count) {
        const assay_chunk *chunk = &plan->chunks[d.chunk];
        double start = d.at;
        hand h = deal_chunk(&d);
        for (int r = h.first; r <= h.last; r++) {
            own = (r == rank ? own : 0) + part_of(&d, h, r, chunk, start);
            rank = r;
            most = own > most ? own : most;
        }
    }
    return d.stretch > 0 ? most / d.stretch - 1 : 0;
}

int assay_plan_partition(assay_plan *plan, int ranks)
{
    free(plan->rank_chunk);
    free(plan->helps);
    plan->rank_chunk = assay_alloc(((size_t)ranks + 1) * sizeof *plan->rank_chunk);
    plan->helps = assay_alloc((size_t)ranks * sizeof *plan->helps);
    if (!plan->rank_chunk || !plan->helps)
        return ASSAY_ENOMEM;
    int next = 0; /* the first rank whose first chunk has not come yet */
    for (int r = 0; r < ranks; r++)
        plan->helps[r] = ASSAY_NO_CHUNK;
    for (dealer d = deal(plan, ranks); d.chunk < plan->chunk_count;) {
        uint64_t c = d.chunk;
        hand h = deal_chunk(&d);
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
    dealer d = deal(plan, ranks);
    while (d.chunk < chunk)
        d.at += cost_left(&plan->chunks[d.chunk++]);
    int first = assay_plan_owner(plan, ranks, chunk), last = first;
    while (last + 1 < ranks && plan->helps[last + 1] == chunk)
        last++;
    double begin = d.at + cost_left(&plan->chunks[chunk]) - (double)plan->chunks[chunk].last_cost;
    return (assay_share){.chunk = chunk, .first = first, .last = last, .begin = begin, .stretch = d.stretch};
}

int assay_share_rank(const assay_share *share, double middle)
{
    double rank = (share->begin + middle) / share->stretch;
    return rank <= share->first ? share->first : rank >= share->last ? share->last : (int)rank;
}
