/* budget.c - see budget.h. */
#include "engine/budget.h"

#include <stdlib.h>

#include "base/fault.h"
#include "base/heap.h"
#include "base/log.h"

enum {
    PROGRAM = 28 << 20, /* what the program, MPI and libraries hold, and the windows of open files */
    WINDOWS = 8 << 20   /* of these, what comes after planning */
};

/* What the index of a trial takes, by structures and look-ups of trial/index.h, trial/names.h and mapper.h. */
static uint64_t index_bytes(const assay_source *source, const assay_source_plan *plan, uint64_t records, uint64_t parts)
{
    enum { LOOK_BACK = 8, A_NAME = 16 + 8 + 1 + 4, LOOK_UPS = 4 + 4 };
    const assay_trial *info = source->info;
    uint64_t names = assay_dict_count(info->tensors), bytes = assay_dict_bytes(info->tensors) + names * A_NAME;
    bytes += records * sizeof(assay_entry) + parts * sizeof(assay_part) + source->files * sizeof(assay_index_name);
    bytes += info->step_count * (sizeof *info->steps + sizeof *info->mode_rank);
    bytes += source->listing.collections.count * names / 8;
    if (plan)
        bytes += names * LOOK_UPS;
    return bytes + (plan && plan->looks_back ? records * LOOK_BACK : 0);
}

static int add_up_index(assay_comm *comm, const assay_plan *plan, const assay_sources *sources, uint64_t *sum)
{
    uint64_t *count = assay_alloc_zeroed(2 * (size_t)sources->count, sizeof *count);
    int status = assay_comm_agree(comm, count ? ASSAY_OK : ASSAY_ENOMEM, NULL);
    for (uint32_t s = 0; count && s < sources->count; s++) {
        count[2 * s] = sources->list[s].segment.entry_count;
        count[2 * s + 1] = sources->list[s].segment.count;
    }
    if (status == ASSAY_OK)
        status = assay_comm_sum(comm, count, (int)(2 * sources->count));
    *sum = 0;
    for (uint32_t s = 0; status == ASSAY_OK && s < sources->count; s++)
        *sum += index_bytes(&sources->list[s], s < plan->source_count ? &plan->sources[s] : NULL, count[2 * s], count[2 * s + 1]);
    for (uint32_t p = 0; status == ASSAY_OK && p < plan->pair_count; p++)
        *sum += count[2 * plan->pairs[p].other] * sizeof(assay_entry) + count[2 * plan->pairs[p].other + 1] * sizeof(assay_part);
    free(count);
    return status;
}

int assay_budget_deal_out(assay_comm *comm, const assay_plan *plan, const assay_sources *sources, size_t memory,
                          assay_budget *out)
{
    *out = (assay_budget){0};
    int status = add_up_index(comm, plan, sources, &out->index);
    uint64_t held = out->index + PROGRAM, left = held < memory ? memory - held : 0, most = memory - memory / 4;
    left = left < most ? left : most;
    out->step = left > memory / 4 ? (size_t)left : memory / 4;
    return status;
}

size_t assay_budget_keep(const assay_budget *budget, size_t memory, size_t more)
{
    size_t held = assay_heap_resident() + more + WINDOWS + budget->step, left = held < memory ? memory - held : 0;
    return left < memory / 4 ? left : memory / 4;
}

int assay_budget_warn(assay_comm *comm, const assay_budget *budget, size_t memory)
{
    uint64_t held = assay_heap_resident() + WINDOWS;
    int status = assay_comm_max(comm, &held, 1);
    const double mebi = 1 << 20;
    if (status == ASSAY_OK && held + budget->step > memory)
        assay_log_warn("--memory %.0f MiB is little for this trial: the program and the index take %.0f MiB of a rank, and the "
                       "tensors of a step may take %.0f MiB; use more ranks, or --memory %.0fMiB",
                       (double)memory / mebi, (double)held / mebi, (double)budget->step / mebi,
                       ((double)held + (double)budget->step) / mebi + 1);
    return status;
}
