/* split_by_tensor.c - decides whether the ranks divide the tensors among them instead of the steps.
 *
 * A rank that has some of the steps reads again what its first steps are compared with. With few steps a rank that is
 * a tenth of all reading and more. So such a trial is measured by tensor: each rank measures its own tensors at every
 * step, and sends the results, about a hundredth of the bytes, to the rank that has the step and maps it.
 *
 * How it works:
 *   1. Tensors of a worker, or of all workers where workers are compared, form a group. The ranks add up what each
 *      group costs at all steps.
 *   2. The groups are cut into one stretch a rank, in order: then a rank opens the files of few workers. Where that is
 *      too uneven, each group goes to the rank that has least so far, the most expensive groups first.
 *   3. The division is used if it leaves the busiest rank less than dividing the steps would, and if there is room for
 *      the results of all steps: those that find none are measured again. */
#include "engine/plan/plan.h"

#include <stdlib.h>

#include "base/fault.h"
#include "engine/plan/demand.h"

enum {
    MOST_STEPS = 64,         /* of a rank: with more, what it reads again at its border is little */
    LEAST_RECORD = 64 << 10, /* mean bytes: sending the results of smaller ones costs more than it saves */
    MOST_GROUPS = 1 << 16,
};
static const double UNEVEN = 1.0 / 64;    /* of a rank's share */
static const double READ_AGAIN = 1.0 / 2; /* of what it cost to measure a tensor, once more as a reference */
static const double SENDING = 1.0 / 16;   /* of what it cost to measure a tensor: packing, sending, unpacking */

typedef struct group {
    uint64_t cost;
    uint32_t number;
} group;

static bool compares_workers(const assay_plan *plan)
{
    for (uint32_t k = 0; k < plan->measure_count; k++)
        if (plan->measures[k].kind == ASSAY_MEASURE_CHANGE &&
            plan->measures[k].reference == ASSAY_REFERENCE_FIRST_WORKER)
            return true;
    return false;
}

/* Sums over the whole plan. */
typedef struct work_sums {
    uint64_t steps, bytes, records, results;
    uint64_t cost, looking_back; /* of all records, and of those that are compared with earlier steps */
} work_sums;

static work_sums sum_up(const assay_plan *plan)
{
    work_sums sums = {0};
    for (uint64_t c = 0; c < plan->chunk_count; c++) {
        sums.steps += plan->chunks[c].steps;
        sums.bytes += plan->chunks[c].bytes;
        sums.records += plan->chunks[c].records;
        sums.results += plan->chunks[c].results;
    }
    return sums;
}

/* What the division by steps costs its busiest rank beyond its share: it begins with one step, or with a part of one,
 * whose references are another rank's. */
static double loss_by_step(const assay_plan *plan, int ranks, const work_sums *sums)
{
    const double border = sums->steps > (uint64_t)ranks ? ranks / (double)sums->steps : 1;
    const double back = sums->cost > 0 ? (double)sums->looking_back / (double)sums->cost : 0;
    return assay_plan_imbalance(plan, ranks) + READ_AGAIN * back * border;
}

/* What the division by tensors costs it, where that leaves it `excess` beyond its share. */
static double loss_by_tensor(double excess, int ranks)
{
    return excess + SENDING * (ranks - 1) / ranks;
}

/* False where another division cannot help. The mapper has about 1/64 of `memory` for the results that a rank sends. */
static bool may_help(const assay_plan *plan, int ranks, const work_sums *sums, size_t memory)
{
    bool looks_back = false;
    for (uint32_t s = 0; s < plan->source_count; s++)
        looks_back |= plan->sources[s].looks_back != NULL;
    return ranks > 1 && looks_back && plan->pair_count == 0 && sums->steps <= (uint64_t)MOST_STEPS * (uint64_t)ranks &&
           sums->bytes / LEAST_RECORD >= sums->records && sums->results / (uint64_t)ranks <= memory / 64;
}

static uint32_t groups_of(const assay_source *source, bool workers_apart)
{
    return assay_dict_count(source->info->tensors) * (workers_apart ? source->catalog.workers : 1);
}

/* Adds what this rank's part of the trials says of each group, and of all that looks back. */
static int add_up_groups(const assay_plan *plan, const assay_sources *sources, bool workers_apart, uint64_t *cost,
                         uint64_t *looking_back)
{
    int status = ASSAY_OK;
    for (uint32_t s = 0; status == ASSAY_OK && s < plan->source_count; s++) {
        const assay_shard *shard = &sources->list[s].shard;
        const uint32_t stride = workers_apart ? assay_dict_count(sources->list[s].info->tensors) : 0;
        const uint8_t *looks_back = plan->sources[s].looks_back;
        assay_demand demand;
        status = assay_demand_init(&demand, plan, s);
        for (size_t p = 0; status == ASSAY_OK && p < shard->count; p++) {
            const assay_part *part = &shard->parts[p];
            for (size_t e = part->first; e < part->first + part->count; e++) {
                const assay_entry *entry = &shard->entries[e];
                const uint64_t more = assay_record_cost(assay_demand_of(&demand, part, part->mode, entry), entry);
                cost[(size_t)part->worker * stride + entry->tensor] += more;
                *looking_back += looks_back && looks_back[entry->tensor] ? more : 0;
            }
        }
        assay_demand_release(&demand);
        cost += groups_of(&sources->list[s], workers_apart);
    }
    return status;
}

static int compare_costs(const void *a, const void *b)
{
    const group *x = a, *y = b;
    return x->cost != y->cost ? (x->cost < y->cost) - (x->cost > y->cost)
                              : (x->number > y->number) - (x->number < y->number);
}

static double busiest(const double *load, int ranks)
{
    double most = 0;
    for (int r = 0; r < ranks; r++)
        most = load[r] > most ? load[r] : most;
    return most;
}

static void cut_in_order(const uint64_t *cost, uint32_t groups, double share, int ranks, int32_t *rank_of, double *load)
{
    double at = 0;
    for (uint32_t g = 0; g < groups; g++) {
        double rank = (at + (double)cost[g] / 2) / share;
        rank_of[g] = rank < ranks ? (int32_t)rank : ranks - 1;
        load[rank_of[g]] += (double)cost[g];
        at += (double)cost[g];
    }
}

static int deal_out(const uint64_t *cost, uint32_t groups, int ranks, int32_t *rank_of, double *load)
{
    group *list = assay_alloc(groups * sizeof *list);
    ASSAY_HAVE(list);
    for (uint32_t g = 0; g < groups; g++)
        list[g] = (group){cost[g], g};
    qsort(list, groups, sizeof *list, compare_costs);
    for (int r = 0; r < ranks; r++)
        load[r] = 0;
    for (uint32_t g = 0; g < groups && list[g].cost > 0; g++) {
        int least = 0;
        for (int r = 1; r < ranks; r++)
            least = load[r] < load[least] ? r : least;
        rank_of[list[g].number] = least;
        load[least] += (double)list[g].cost;
    }
    free(list);
    return ASSAY_OK;
}

/* Divides the groups; *excess: what the busiest rank has beyond its share, as a part of it. */
static int divide(const uint64_t *cost, uint32_t groups, int ranks, int32_t *rank_of, double *excess)
{
    double total = 0, *load = assay_alloc_zeroed((size_t)ranks, sizeof *load);
    int status = load ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint32_t g = 0; g < groups; g++)
        total += (double)cost[g];
    const double share = total > 0 ? total / ranks : 1;
    if (status == ASSAY_OK)
        cut_in_order(cost, groups, share, ranks, rank_of, load);
    if (status == ASSAY_OK && busiest(load, ranks) > share * (1 + UNEVEN))
        status = deal_out(cost, groups, ranks, rank_of, load);
    if (status == ASSAY_OK)
        *excess = busiest(load, ranks) / share - 1;
    free(load);
    return status;
}

static int take_over(assay_plan *plan, const assay_sources *sources, bool workers_apart, const int32_t *rank_of)
{
    for (uint32_t s = 0; s < plan->source_count; s++) {
        assay_source_plan *to = &plan->sources[s];
        uint32_t groups = groups_of(&sources->list[s], workers_apart);
        to->rank_of = assay_alloc(((size_t)groups + 1) * sizeof *to->rank_of);
        ASSAY_HAVE(to->rank_of);
        to->rank_stride = workers_apart ? assay_dict_count(sources->list[s].info->tensors) : 0;
        for (uint32_t g = 0; g < groups; g++)
            to->rank_of[g] = *rank_of++;
    }
    return ASSAY_OK;
}

int assay_plan_divide_tensors(assay_comm *comm, assay_plan *plan, const assay_sources *sources, size_t memory,
                              assay_error *err)
{
    const int ranks = assay_comm_size(comm);
    const bool workers_apart = !compares_workers(plan);
    work_sums sums = sum_up(plan);
    uint64_t groups = 0;
    for (uint32_t s = 0; s < plan->source_count; s++)
        groups += groups_of(&sources->list[s], workers_apart);
    if (!may_help(plan, ranks, &sums, memory) || groups > MOST_GROUPS)
        return ASSAY_OK;
    uint64_t *cost = assay_alloc_zeroed(groups + 1, sizeof *cost); /* behind the groups: what looks back */
    int32_t *rank_of = assay_alloc_zeroed(groups, sizeof *rank_of);
    double excess = 0;
    int status = cost && rank_of ? add_up_groups(plan, sources, workers_apart, cost, cost + groups) : ASSAY_ENOMEM;
    status = assay_comm_agree(comm, status, err);
    ASSAY_THEN(status, assay_comm_sum(comm, cost, (int)groups + 1));
    int divided = status == ASSAY_OK ? divide(cost, (uint32_t)groups, ranks, rank_of, &excess) : ASSAY_OK;
    for (uint64_t g = 0; status == ASSAY_OK && g < groups; g++)
        sums.cost += cost[g];
    sums.looking_back = status == ASSAY_OK ? cost[groups] : 0;
    if (status == ASSAY_OK && divided == ASSAY_OK && loss_by_tensor(excess, ranks) < loss_by_step(plan, ranks, &sums)) {
        divided = take_over(plan, sources, workers_apart, rank_of);
        plan->by_tensor = true;
        plan->excess_by_tensor = excess;
        for (int r = 0; r < ranks; r++)
            plan->helps[r] = ASSAY_NO_CHUNK;
    }
    free(cost);
    free(rank_of);
    return assay_comm_agree(comm, status == ASSAY_OK ? divided : status, err);
}
