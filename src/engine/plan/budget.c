/* budget.c - see budget.h. */
#include "engine/plan/budget.h"

#include <math.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/heap.h"
#include "base/log.h"
#include "rule/common_state.h"

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
    bytes += records * sizeof(assay_entry) + parts * sizeof(assay_part) + source->units * sizeof(assay_unit);
    bytes += info->step_count * (sizeof *info->steps + sizeof *info->mode_rank);
    bytes += source->catalog.collections.count * names / 8;
    if (plan)
        bytes += names * LOOK_UPS;
    if (source->catalog.topology)
        bytes += source->catalog.topology->bytes;
    return bytes + (plan && plan->looks_back ? records * LOOK_BACK : 0);
}

static const assay_slot_need *slot_of(const assay_plan *plan, uint32_t use)
{
    return &assay_job_instance(plan->job, plan->uses[use].instance)->need->slots[plan->uses[use].slot];
}

/* The uses for whose tensors rules keep rows. */
typedef struct keepers {
    uint32_t *use; /* ascending */
    uint32_t count;
    uint8_t *kind; /* [plan->use_count] the kind of record that has a row at the part under way, or NO_KIND */
} keepers;

enum { NO_KIND = UINT8_MAX };

/* Which uses keep rows of a part. A tensor with records of several kinds has one row, so only one of the kinds counts.
 */
static bool enter_part(const assay_source_plan *source, const assay_part *part, keepers *k)
{
    bool any = false;
    for (uint32_t i = 0; i < k->count; i++) {
        const assay_use_scope *scope = &source->scope[k->use[i]];
        int kind = scope->kinds ? __builtin_ctz(scope->kinds) : NO_KIND;
        bool here = kind != NO_KIND && assay_scope_wants(scope, part->step, part->mode, part->worker, kind);
        k->kind[k->use[i]] = here ? (uint8_t)kind : NO_KIND;
        any = any || here;
    }
    return any;
}

/* Adds the rows of this rank's part of a source to those of its uses. */
static void count_rows(const assay_source_plan *source, const assay_shard *shard, keepers *k, uint64_t *rows)
{
    for (size_t p = 0; p < shard->count; p++) {
        const assay_part *part = &shard->parts[p];
        if (!enter_part(source, part, k))
            continue;
        for (uint32_t i = 0; i < part->count; i++) {
            const assay_entry *entry = &shard->entries[part->first + i];
            const assay_use_class *class = &source->classes[source->tensor_class[entry->tensor]];
            for (uint32_t u = 0; u < class->uses; u++)
                rows[class->use[u]] += k->kind[class->use[u]] == entry->kind;
        }
    }
}

/* Chunks are joined in a tree: as many states as it has levels, and two more, are there at once. */
static uint64_t states_at_once(uint64_t steps)
{
    uint64_t states = 2;
    for (uint64_t left = steps; left > 1; left /= 2)
        states++;
    return states < steps ? states : steps;
}

/* What the onsets of a use take: of each of its tensors one in every state. */
static uint64_t onset_bytes(const assay_plan *plan, const assay_source *source, uint32_t s, uint32_t use)
{
    const assay_source_plan *dealt = &plan->sources[s];
    uint64_t tensors = 0, workers = slot_of(plan, use)->rows.pooled ? 1 : source->catalog.workers;
    for (uint32_t t = 0; t < assay_dict_count(source->info->tensors); t++) {
        const assay_use_class *class = &dealt->classes[dealt->tensor_class[t]];
        for (uint32_t u = 0; u < class->uses; u++)
            tensors += class->use[u] == use;
    }
    return tensors * workers * states_at_once(source->info->step_count) * assay_onsets_bytes_each();
}

static uint64_t row_bytes(const assay_rows *rows, uint64_t count, uint32_t workers)
{
    if (rows->compared && workers < 2)
        return 0;
    if (rows->pooled && workers > 1)
        count = (count + workers - 1) / workers;
    if (rows->most > 0 && count > rows->most)
        count = rows->most;
    return count * assay_series_row_bytes(rows->width);
}

/* What rules keep of all steps of all trials, by the rows that they said they would add. */
static int add_up_rows(assay_comm *comm, const assay_plan *plan, const assay_sources *sources, uint64_t *sum)
{
    uint32_t uses = plan->use_count, trials = plan->source_count;
    keepers k = {.use = assay_alloc(uses * sizeof *k.use), .kind = assay_alloc(uses)};
    uint64_t *rows = assay_alloc_zeroed((size_t)uses * trials, sizeof *rows);
    int status = assay_comm_agree(comm, k.use && k.kind && rows ? ASSAY_OK : ASSAY_ENOMEM, NULL);
    for (uint32_t u = 0; status == ASSAY_OK && u < uses; u++) {
        k.kind[u] = NO_KIND;
        if (slot_of(plan, u)->keeps_rows && !slot_of(plan, u)->rows.onsets)
            k.use[k.count++] = u;
    }
    for (uint32_t s = 0; status == ASSAY_OK && k.count > 0 && s < trials; s++)
        count_rows(&plan->sources[s], &sources->list[s].shard, &k, rows + (size_t)s * uses);
    if (status == ASSAY_OK && k.count > 0)
        status = assay_comm_sum(comm, rows, (int)(uses * trials));
    *sum = 0;
    for (uint32_t s = 0; status == ASSAY_OK && s < trials; s++)
        for (uint32_t u = 0; u < uses; u++)
            if (slot_of(plan, u)->keeps_rows && slot_of(plan, u)->rows.onsets)
                *sum += onset_bytes(plan, &sources->list[s], s, u);
    for (uint32_t s = 0; status == ASSAY_OK && s < trials; s++)
        for (uint32_t i = 0; i < k.count; i++)
            *sum += row_bytes(&slot_of(plan, k.use[i])->rows, rows[(size_t)s * uses + k.use[i]],
                              sources->list[s].catalog.workers);
    free(k.use);
    free(k.kind);
    free(rows);
    return status;
}

static int add_up_index(assay_comm *comm, const assay_plan *plan, const assay_sources *sources, uint64_t *sum)
{
    uint64_t *count = assay_alloc_zeroed(2 * (size_t)sources->count, sizeof *count);
    int status = assay_comm_agree(comm, count ? ASSAY_OK : ASSAY_ENOMEM, NULL);
    for (uint32_t s = 0; count && s < sources->count; s++) {
        count[2 * s] = sources->list[s].shard.entry_count;
        count[2 * s + 1] = sources->list[s].shard.count;
    }
    ASSAY_THEN(status, assay_comm_sum(comm, count, (int)(2 * sources->count)));
    *sum = 0;
    for (uint32_t s = 0; status == ASSAY_OK && s < sources->count; s++)
        *sum += index_bytes(&sources->list[s], s < plan->source_count ? &plan->sources[s] : NULL, count[2 * s],
                            count[2 * s + 1]);
    for (uint32_t p = 0; status == ASSAY_OK && p < plan->pair_count; p++)
        *sum += count[2 * plan->pairs[p].other] * sizeof(assay_entry) +
                count[2 * plan->pairs[p].other + 1] * sizeof(assay_part);
    free(count);
    return status;
}

/* What is set aside for the reference cache: a quarter of --memory, minus four times the index and the rows. Where
 * these are large there are many records, so most are small, and a step needs the memory for their results. */
static uint64_t kept_aside(uint64_t index_and_rows, size_t memory)
{
    enum { OF_INDEX = 4 };
    uint64_t most = memory / 4;
    return index_and_rows < most / OF_INDEX ? most - OF_INDEX * index_and_rows : 0;
}

int assay_budget_deal_out(assay_comm *comm, const assay_plan *plan, const assay_sources *sources, size_t memory,
                          assay_budget *out)
{
    *out = (assay_budget){0};
    uint64_t rows = 0;
    int status = add_up_index(comm, plan, sources, &out->index);
    ASSAY_THEN(status, add_up_rows(comm, plan, sources, &rows));
    out->rows = (size_t)(rows / (uint64_t)assay_comm_size(comm));
    uint64_t held = out->index + rows + PROGRAM, left = held < memory ? memory - held : 0, most = memory - memory / 4;
    uint64_t aside = kept_aside(out->index + rows, memory);
    left = left > aside ? left - aside : 0;
    left = left < most ? left : most;
    out->step = left > memory / 4 ? (size_t)left : memory / 4;
    return status;
}

size_t assay_budget_keep(const assay_budget *budget, size_t memory, size_t more)
{
    size_t held = assay_heap_resident() + more + WINDOWS + budget->rows + budget->step,
           left = held < memory ? memory - held : 0;
    return left < memory / 4 ? left : memory / 4;
}

int assay_budget_warn(assay_comm *comm, const assay_budget *budget, size_t memory)
{
    uint64_t held = assay_heap_resident() + WINDOWS + budget->rows;
    int status = assay_comm_max(comm, &held, 1);
    const double mebi = 1 << 20;
    if (status == ASSAY_OK && held + budget->step > memory)
        assay_log_warn(
            "--memory %.0f MiB is little for this trial: the program, the index and the rules' states take %.0f MiB of "
            "a rank, and the tensors of a step may take up to %.0f MiB; use more ranks, or --memory %.0fMiB",
            ceil((double)memory / mebi), (double)held / mebi, ceil((double)budget->step / mebi),
            ((double)held + (double)budget->step) / mebi + 1);
    return status;
}
