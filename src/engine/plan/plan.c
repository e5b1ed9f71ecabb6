/* plan.c - the plan as a whole: select.c and chunks.c make its two halves; queries and release are here. */
#include "engine/plan/plan.h"

#include <stdlib.h>

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
    status = assay_plan_divide_tensors(comm, out, sources, err);
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
