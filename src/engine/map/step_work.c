/* step_work.c - see step_work.h. */
#include "engine/map/step_work.h"

#include <stdlib.h>

#include "base/fault.h"

int assay_step_work_init(assay_step_work *work, const assay_map_source *source, size_t budget)
{
    *work = (assay_step_work){.source = source};
    work->arena = assay_arena_new(0);
    ASSAY_HAVE(work->arena);
    assay_step_work_limit(work, budget);
    return ASSAY_OK;
}

void assay_step_work_release(assay_step_work *work)
{
    assay_arena_free(work->arena);
    free(work->result_of);
    free(work->active);
    *work = (assay_step_work){0};
}

int assay_step_work_enter(assay_step_work *work)
{
    free(work->result_of);
    work->result_of =
        assay_alloc_zeroed(assay_dict_count(work->source->source->info->tensors), sizeof *work->result_of);
    return work->result_of ? ASSAY_OK : ASSAY_ENOMEM;
}

static void forget_results(assay_step_work *work)
{
    work->results = NULL;
    work->charge = (assay_step_charge){0, 0};
    work->count = work->room = work->first_result = 0;
    work->unopened = NULL;
    work->refused = false;
}

void assay_step_work_clear(assay_step_work *work)
{
    assay_arena_clear(work->arena);
    forget_results(work);
}

void assay_step_work_limit(assay_step_work *work, size_t budget)
{
    assay_arena_clear_to(work->arena, assay_arena_ceiling_for(budget));
    forget_results(work);
    work->budget = budget;
}

/* What the lists of a step take, whatever is in them: of all results, and for each use. */
static size_t lists_cost(const assay_step_work *work)
{
    const assay_plan *plan = work->source->plan;
    return assay_arena_piece_cost(work->room * sizeof *work->results) +
           assay_arena_piece_cost(plan->use_count * sizeof(assay_slot_view)) +
           assay_arena_piece_cost(plan->use_count * sizeof(size_t)) + plan->use_count * assay_arena_loan_cost(0);
}

int assay_step_work_begin(assay_step_work *work, const assay_step_info *step)
{
    const assay_shard *shard = &work->source->source->shard;
    assay_step_work_clear(work);
    work->step = step;
    work->first_part = assay_shard_find_at(shard, work->next_part, step->step);
    for (work->next_part = work->first_part;
         work->next_part < shard->count && shard->parts[work->next_part].step == step->step; work->next_part++)
        work->room += shard->parts[work->next_part].count;
    if (!assay_step_work_charge(work, lists_cost(work))) { /* then everything is refused */
        work->charge.held = work->budget;
        return ASSAY_OK;
    }
    work->results = assay_arena_take(work->arena, work->room * sizeof *work->results);
    return work->results ? ASSAY_OK : ASSAY_ENOMEM;
}

void assay_step_work_note(assay_step_work *work, size_t bytes)
{
    size_t now = work->charge.held + bytes;
    work->charge.peak = now > work->charge.peak ? now : work->charge.peak;
}

bool assay_step_work_charge(assay_step_work *work, size_t bytes)
{
    if (bytes > assay_step_work_left(work))
        return false;
    work->charge.held += bytes;
    assay_step_work_note(work, 0);
    return true;
}

bool assay_step_work_admit(assay_step_work *work, assay_step_charge charge)
{
    if (charge.peak > assay_step_work_left(work) || charge.held > charge.peak)
        return false;
    assay_step_work_note(work, charge.peak);
    work->charge.held += charge.held;
    return true;
}

/* What one more result costs in itself, before anything is known of its tensor. */
static size_t result_cost(const assay_step_work *work, uint32_t tensor)
{
    return assay_arena_piece_cost(sizeof(assay_tensor_result)) +
           assay_map_source_class(work->source, tensor)->lists * sizeof(assay_tensor_view *);
}

assay_tensor_result *assay_step_work_add(assay_step_work *work, uint32_t tensor, uint32_t worker)
{
    assay_tensor_result *result =
        work->count < work->room ? assay_arena_take_zeroed(work->arena, 1, sizeof *result) : NULL;
    if (!result)
        return NULL;
    result->view.tensor = tensor;
    result->view.worker = worker;
    result->view.name = assay_dict_name(work->source->source->info->tensors, tensor, NULL);
    result->view.dtype = -1;
    work->results[work->count++] = result;
    return result;
}

int assay_step_work_result(assay_step_work *work, const assay_part *part, uint32_t tensor, assay_tensor_result **out,
                           assay_error *err)
{
    size_t at = work->result_of[tensor]; /* of an earlier part, or of nothing, it may be anything */
    if (at >= work->first_result && at < work->count && work->results[at]->view.tensor == tensor) {
        *out = work->results[at];
        return ASSAY_OK;
    }
    if (!assay_step_work_charge(work, result_cost(work, tensor)))
        return assay_step_work_over_budget(err);
    work->result_of[tensor] = (uint32_t)work->count;
    *out = assay_step_work_add(work, tensor, part->worker);
    return *out ? ASSAY_OK : ASSAY_ENOMEM;
}

void assay_step_work_problem(assay_step_work *work, const assay_part *part, uint32_t file, uint32_t tensor, int kind,
                             int64_t offset, const char *text)
{
    char room[ASSAY_PATH_ROOM] = "";
    const char *path = assay_part_file(&work->source->source->catalog, part, file, room);
    work->refused |= kind == ASSAY_PROBLEM_BUDGET;
    assay_problems_add(&work->partial->problems, kind, part->step, path ? path : room, offset, "%s", text);
    assay_problems_set_tensor(&work->partial->problems, tensor);
}

int assay_problem_kind_of(int status)
{
    return status == ASSAY_EIO       ? ASSAY_PROBLEM_READ
           : status == ASSAY_EBUDGET ? ASSAY_PROBLEM_BUDGET
                                     : ASSAY_PROBLEM_RECORD;
}

int assay_step_work_over_budget(assay_error *err)
{
    return assay_fail(err, ASSAY_EBUDGET,
                      "the tensors of the step need more memory than the budget allows: raise --memory");
}

void assay_step_work_unreadable(assay_step_work *work, const assay_part *part, const assay_entry *entry)
{
    const assay_map_source *source = work->source;
    const assay_use_class *class = assay_map_source_class(source, entry->tensor);
    uint32_t last = ASSAY_NO_ID;
    for (uint32_t u = 0; u < class->uses; u++) {
        uint32_t instance = source->plan->uses[class->use[u]].instance;
        if (instance != last && assay_scope_wants(&source->wanted->scope[class->use[u]], part->step, work->step->mode,
                                                  part->worker, entry->kind)) {
            work->partial->rule[instance].unreadable++;
            last = instance;
        }
    }
}

size_t assay_step_work_first(const assay_step_work *work, const assay_part *part)
{
    size_t p = (size_t)(part - work->source->source->shard.parts);
    if (!work->range || part->step != work->step->step || p > work->range->first_part)
        return part->first;
    return p == work->range->first_part ? work->range->first : part->first + part->count;
}

size_t assay_step_work_end(const assay_step_work *work, const assay_part *part)
{
    size_t p = (size_t)(part - work->source->source->shard.parts);
    if (!work->range || part->step != work->step->step || p < work->range->end_part)
        return part->first + part->count;
    return p == work->range->end_part ? work->range->end : part->first;
}
