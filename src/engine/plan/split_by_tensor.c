/* split_by_tensor.c - decides whether the ranks divide the tensors among them instead of the steps.
 *
 * A rank that has some of the steps reads again what its first steps are compared with. With few steps a rank that is
 * a tenth of all reading and more. So such a trial is measured by tensor: each rank measures its own tensors at every
 * step, and sends the results, some hundred bytes a record, to the rank that has the step and maps it.
 *
 * How it works:
 *   1. Tensors of a worker, or of all workers where workers are compared, form a group. The ranks add up what each
 *      group costs at all steps.
 *   2. The groups are cut into one stretch a rank, in order: then a rank opens the files of few workers. Where that is
 *      too uneven, each group goes to the rank that has least so far, the most expensive groups first.
 *   3. The division is used if it leaves the busiest rank less than dividing the steps would. */
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
static const double READ_AGAIN = 1.0 / 2; /* of what a step costs, at the border of a rank */

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

/* What the division by steps costs its busiest rank beyond its share, the reading at its border included. */
static double loss_by_step(const assay_plan *plan, int ranks, uint64_t steps)
{
    return assay_plan_imbalance(plan, ranks) + READ_AGAIN * ranks / (double)steps;
}

/* Sums over the whole plan; false where another division cannot help. */
static bool may_help(const assay_plan *plan, int ranks, uint64_t *steps)
{
    uint64_t bytes = 0, records = 0;
    bool looks_back = false;
    *steps = 0;
    for (uint64_t c = 0; c < plan->chunk_count; c++) {
        *steps += plan->chunks[c].steps;
        bytes += plan->chunks[c].bytes;
        records += plan->chunks[c].records;
    }
    for (uint32_t s = 0; s < plan->source_count; s++)
        looks_back |= plan->sources[s].looks_back != NULL;
    return ranks > 1 && looks_back && plan->pair_count == 0 && *steps <= (uint64_t)MOST_STEPS * (uint64_t)ranks &&
           bytes / LEAST_RECORD >= records;
}

static uint32_t groups_of(const assay_source *source, bool workers_apart)
{
    return assay_dict_count(source->info->tensors) * (workers_apart ? source->catalog.workers : 1);
}

/* Adds what this rank's part of the trials says of each group. */
static int add_up_groups(const assay_plan *plan, const assay_sources *sources, bool workers_apart, uint64_t *cost)
{
    int status = ASSAY_OK;
    for (uint32_t s = 0; status == ASSAY_OK && s < plan->source_count; s++) {
        const assay_shard *shard = &sources->list[s].shard;
        const uint32_t stride = workers_apart ? assay_dict_count(sources->list[s].info->tensors) : 0;
        assay_demand demand;
        status = assay_demand_init(&demand, plan, s);
        for (size_t p = 0; status == ASSAY_OK && p < shard->count; p++) {
            const assay_part *part = &shard->parts[p];
            for (size_t e = part->first; e < part->first + part->count; e++) {
                const assay_entry *entry = &shard->entries[e];
                cost[(size_t)part->worker * stride + entry->tensor] +=
                    assay_record_cost(assay_demand_of(&demand, part, part->mode, entry), entry);
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

int assay_plan_divide_tensors(assay_comm *comm, assay_plan *plan, const assay_sources *sources, assay_error *err)
{
    const int ranks = assay_comm_size(comm);
    const bool workers_apart = !compares_workers(plan);
    uint64_t steps, groups = 0;
    for (uint32_t s = 0; s < plan->source_count; s++)
        groups += groups_of(&sources->list[s], workers_apart);
    if (!may_help(plan, ranks, &steps) || groups > MOST_GROUPS)
        return ASSAY_OK;
    uint64_t *cost = assay_alloc_zeroed(groups, sizeof *cost);
    int32_t *rank_of = assay_alloc_zeroed(groups, sizeof *rank_of);
    double excess = 0;
    int status = cost && rank_of ? add_up_groups(plan, sources, workers_apart, cost) : ASSAY_ENOMEM;
    status = assay_comm_agree(comm, status, err);
    ASSAY_THEN(status, assay_comm_sum(comm, cost, (int)groups));
    int divided = status == ASSAY_OK ? divide(cost, (uint32_t)groups, ranks, rank_of, &excess) : ASSAY_OK;
    if (status == ASSAY_OK && divided == ASSAY_OK && excess < loss_by_step(plan, ranks, steps)) {
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
