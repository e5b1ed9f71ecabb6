/* result_cache.c - the results of steps, kept from one evaluation to the next.
 *
 * A result is kept under a key: a hash of all that it depends on. These are the step's own files (size, time, number),
 * where rules look back also all files of the same worker before, where they compare also the other trial's files of
 * the step, and what is the same for all steps: the numbering of tensors, workers, collections, and which slots apply.
 * So a step is read again exactly when one of these changed. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/hash.h"
#include "base/search.h"
#include "engine/reduce/chunk_result.h"
#include "watch/watch_internal.h"

static const uint64_t NOWHERE = UINT64_MAX;

/* ---- keys ---- */

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    const uint64_t both[] = {hash, assay_hash_bytes(bytes, size)};
    return assay_hash_bytes(both, sizeof both);
}

static uint64_t mix_part(uint64_t hash, const watched_part *part, uint32_t worker)
{
    const uint64_t numbers[] = {worker,           part->index.size, (uint64_t)part->index.time,
                                part->index.node, part->event.size, (uint64_t)part->event.time,
                                part->event.node};
    return mix(hash, numbers, sizeof numbers);
}

/* Counts how often a tensor that was seen before has begun or ceased to be saved in mode TRAIN: a look-back that counts
 * mode steps goes by that. */
static int follow_train(watched_source *source, const assay_trial *info)
{
    uint32_t count = assay_dict_count(source->names);
    uint8_t *train = assay_realloc_array(source->train, count, 1);
    ASSAY_HAVE(train);
    source->train = train;
    if (count > source->train_known)
        memset(train + source->train_known, 0, count - source->train_known);
    source->train_known = count;
    for (uint32_t t = 0; t < source->numbers.count && t < assay_dict_count(info->tensors); t++) {
        uint32_t id = source->numbers.name[t];
        uint8_t now = (uint8_t)(1 + (info->tensor_modes[t] >> ASSAY_MODE_TRAIN & 1));
        if (id == ASSAY_NO_ID)
            continue;
        source->train_changes += train[id] != 0 && train[id] != now;
        train[id] = now;
    }
    return ASSAY_OK;
}

/* What the results of all steps depend on. */
static int common_key(const assay_plan *plan, const assay_source *seen, watched_source *source, uint32_t number,
                      uint64_t *key)
{
    const assay_source_plan *to = &plan->sources[number];
    int status = follow_train(source, seen->info);
    assay_buf text = ASSAY_BUF(SIZE_MAX);
    assay_put_u64(&text, source->numbers.generation);
    assay_put_u64(&text, to->window > 0 ? source->train_changes : 0);
    for (uint32_t w = 0; w < seen->catalog.workers; w++)
        assay_put_text(&text, seen->catalog.worker_key[w]);
    assay_collections_pack(&seen->catalog.collections, &text);
    if (seen->catalog.topology) {
        assay_put_text(&text, seen->catalog.topology->text);
        assay_layouts_pack(&source->layouts, &text);
    }
    for (uint32_t u = 0; u < plan->use_count; u++) {
        const assay_use_scope *scope = &to->scope[u];
        assay_put_u32(&text, scope->modes);
        assay_put_u32(&text, scope->kinds);
        assay_put_u32(&text, scope->worker);
        assay_put_u8(&text, scope->nowhere);
    }
    status = status == ASSAY_OK ? assay_buf_status(&text) : status;
    *key = assay_hash_bytes(text.data, text.size);
    assay_buf_release(&text);
    return status;
}

/* The first unit of a worker's own step, or where it would be. */
static size_t find_unit(const assay_catalog *catalog, int64_t own, uint32_t worker)
{
    size_t low = 0;
    ASSAY_SEARCH(low, catalog->unit_count,
                 catalog->units[low].step < own ||
                     (catalog->units[low].step == own && catalog->units[low].worker < worker));
    return low;
}

/* Goes over the parts that a worker has of a step of all (trial/align.h): of several formats, perhaps. `next` is 0 to
 * begin with. NULL: there is no further one. */
static watched_part *next_part_of_step(const watched_source *source, const assay_step_shifts *shifts, int64_t step,
                                       uint32_t worker, size_t *next)
{
    const assay_catalog *catalog = &source->catalog;
    const int64_t own = assay_step_own(shifts, worker, step);
    size_t i = *next > 0 ? *next : find_unit(catalog, own, worker);
    for (; i < catalog->unit_count && catalog->units[i].step == own && catalog->units[i].worker == worker; i++)
        if (assay_step_of_all(shifts, worker, own, catalog->units[i].mode) == step) {
            *next = i + 1;
            return source->part[i];
        }
    return NULL;
}

/* The files of a compared trial at the step. */
static uint64_t mix_other(uint64_t key, const watched_source *other, const assay_step_shifts *shifts, int64_t step)
{
    for (uint32_t w = 0; w < other->catalog.workers; w++) {
        const watched_part *part;
        for (size_t next = 0; (part = next_part_of_step(other, shifts, step, w, &next)) != NULL;)
            if (watched_part_seen(part))
                key = mix_part(key, part, w);
    }
    return key;
}

/* Which slots have begun and not ended at the step: one bit a use. */
static uint64_t mix_scopes(uint64_t key, const assay_plan *plan, uint32_t source, int64_t step)
{
    for (uint32_t u = 0; u < plan->use_count; u++) {
        const assay_use_scope *scope = &plan->sources[source].scope[u];
        key = key << 1 | key >> 63;
        key ^= step >= scope->from && step < scope->to;
    }
    return key;
}

/* A unit in the order of steps of all. */
typedef struct step_unit {
    int64_t step;
    size_t number; /* in the catalog */
    uint32_t worker;
} step_unit;

ASSAY_ORDER_BY(compare_step_units, step_unit, worker, step, number)

/* The units of a source by worker, in order of steps; first[w] is where a worker's begin. */
static int sort_by_worker(const assay_catalog *catalog, const assay_step_shifts *shifts, step_unit **units,
                          size_t **first)
{
    *units = assay_alloc_zeroed(catalog->unit_count, sizeof **units);
    *first = assay_alloc_zeroed((size_t)catalog->workers + 1, sizeof **first);
    ASSAY_HAVE(*units && *first);
    for (size_t i = 0; i < catalog->unit_count; i++) {
        const assay_unit *unit = &catalog->units[i];
        (*units)[i] = (step_unit){assay_step_of_all(shifts, unit->worker, unit->step, unit->mode), i, unit->worker};
        (*first)[unit->worker + 1]++;
    }
    for (uint32_t w = 0; w < catalog->workers; w++)
        (*first)[w + 1] += (*first)[w];
    if (catalog->unit_count > 0)
        qsort(*units, catalog->unit_count, sizeof **units, compare_step_units);
    return ASSAY_OK;
}

/* The keys of a source's chunks, which are one step each. */
static int make_keys(assay_watch *watch, const assay_plan *plan, const assay_sources *sources, uint32_t number)
{
    watched_source *source = &watch->list[number];
    const assay_source_plan *to = &plan->sources[number];
    const assay_step_shifts *shifts = &sources->list[number].info->shifts;
    const uint32_t workers = source->catalog.workers;
    uint64_t common = 0, *chain = assay_alloc_zeroed(workers, sizeof *chain);
    step_unit *units = NULL;
    size_t *first = NULL, *next = assay_alloc_zeroed(workers, sizeof *next);
    int status = chain && next ? sort_by_worker(&source->catalog, shifts, &units, &first) : ASSAY_ENOMEM;
    ASSAY_THEN(status, common_key(plan, &sources->list[number], source, number, &common));
    for (uint32_t w = 0; status == ASSAY_OK && w < workers; w++)
        next[w] = first[w];
    for (uint64_t c = to->first_chunk; status == ASSAY_OK && c < to->first_chunk + to->chunks; c++) {
        int64_t step = sources->list[number].info->steps[plan->chunks[c].first_step].step;
        uint64_t key = mix_scopes(common, plan, number, step);
        for (uint32_t w = 0; w < workers; w++)
            for (; next[w] < first[w + 1] && units[next[w]].step <= step; next[w]++) {
                const watched_part *part = source->part[units[next[w]].number];
                if (!watched_part_seen(part))
                    continue;
                chain[w] = mix_part(to->looks_back ? chain[w] : 0, part, w);
                key = mix(key, &chain[w], sizeof *chain);
            }
        for (uint32_t p = 0; p < plan->pair_count; p++)
            if (plan->pairs[p].source == number)
                key = mix_other(key, &watch->list[plan->pairs[p].other],
                                &sources->list[plan->pairs[p].other].info->shifts, step);
        watch->key[c] = key;
    }
    free(chain);
    free(units);
    free(first);
    free(next);
    return status;
}

/* ---- recall ---- */

static uint64_t find_kept(const watched_source *source, int64_t step, uint64_t key)
{
    size_t low = 0;
    ASSAY_SEARCH(low, source->kept_count, source->kept[low].step < step);
    return low < source->kept_count && source->kept[low].step == step && source->kept[low].key == key ? low : NOWHERE;
}

/* On rank 0: the nodes that are still right, as those of a checkpoint. */
static int find_all(assay_watch *watch, const assay_plan *plan, const assay_sources *sources, assay_restart *all)
{
    free(watch->key);
    free(watch->found);
    watch->key = assay_alloc_zeroed(plan->chunk_count, sizeof *watch->key);
    watch->found = assay_alloc_zeroed(plan->chunk_count, sizeof *watch->found);
    all->nodes = assay_alloc_zeroed(plan->chunk_count, sizeof *all->nodes);
    int status = watch->key && watch->found && all->nodes ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint32_t s = 0; status == ASSAY_OK && s < plan->source_count; s++)
        status = plan->sources[s].chunks > 0 ? make_keys(watch, plan, sources, s) : ASSAY_OK;
    for (uint64_t c = 0; status == ASSAY_OK && c < plan->chunk_count; c++) {
        uint32_t s = plan->chunks[c].source;
        const watched_source *source = &watch->list[s];
        watch->found[c] =
            find_kept(source, sources->list[s].info->steps[plan->chunks[c].first_step].step, watch->key[c]);
        if (watch->found[c] == NOWHERE)
            continue;
        const kept_node *kept = &source->kept[watch->found[c]];
        all->nodes[all->count++] = (assay_restart_node){
            .source = s, .index = c - plan->sources[s].first_chunk, .at = all->bytes.size, .size = kept->size};
        assay_put_bytes(&all->bytes, kept->packed, kept->size);
        status = assay_buf_status(&all->bytes);
    }
    return status;
}

int assay_watch_recall(void *context, const assay_sources *sources, assay_plan *plan, assay_restart *mine,
                       assay_error *err)
{
    assay_watch *watch = context;
    assay_restart all;
    assay_restart_init(&all);
    int status = assay_comm_rank(watch->comm) == 0 ? find_all(watch, plan, sources, &all) : ASSAY_OK;
    status = assay_comm_agree(watch->comm, status, err);
    ASSAY_THEN(status, assay_restart_hand_out(watch->comm, &all, plan, mine, err));
    assay_restart_release(&all);
    return status;
}

/* ---- keep ---- */

/* A step of which something could not be read is looked at until that has changed. */
static void suspect(watched_source *source, const assay_step_shifts *shifts, int64_t step, bool losses)
{
    for (uint32_t w = 0; w < source->catalog.workers; w++) {
        watched_part *part;
        for (size_t next = 0; (part = next_part_of_step(source, shifts, step, w, &next)) != NULL;) {
            part->suspect = losses;
            part->settled = part->settled && !losses;
        }
    }
}

/* The kept nodes of a source are replaced by those of its chunks: found ones stay, the next mapped ones come. */
static int replace_kept(assay_watch *watch, const assay_plan *plan, const assay_sources *sources, uint32_t number,
                        assay_cursor *in, assay_error *err)
{
    watched_source *source = &watch->list[number];
    const assay_source_plan *to = &plan->sources[number];
    kept_node *fresh = assay_alloc_zeroed(to->chunks, sizeof *fresh);
    int status = fresh ? ASSAY_OK : ASSAY_ENOMEM;
    size_t count = 0;
    for (uint64_t c = to->first_chunk; status == ASSAY_OK && c < to->first_chunk + to->chunks; c++) {
        kept_node *node = &fresh[count];
        if (watch->found[c] != NOWHERE) {
            *node = source->kept[watch->found[c]];
            source->kept[watch->found[c]].packed = NULL;
        } else {
            assay_chunk_result result;
            if (assay_chunk_result_get(in, &result) != ASSAY_OK || result.chunk != c)
                status =
                    assay_fail(err, ASSAY_EINTERNAL, "the result of chunk %llu was damaged on its way between ranks",
                               (unsigned long long)c);
            else if (!(node->packed =
                           (uint8_t *)assay_copy_bytes_as_text((const char *)result.packed, (size_t)result.size)))
                status = ASSAY_ENOMEM;
            else
                suspect(source, &sources->list[number].info->shifts,
                        sources->list[number].info->steps[plan->chunks[c].first_step].step, result.losses);
            node->size = node->packed ? result.size : 0;
            node->step = sources->list[number].info->steps[plan->chunks[c].first_step].step;
            node->key = watch->key[c];
        }
        count++;
    }
    for (size_t i = 0; i < source->kept_count; i++)
        free(source->kept[i].packed);
    free(source->kept);
    source->kept = fresh;
    source->kept_count = count;
    return status;
}

int assay_watch_keep(void *context, const assay_plan *plan, const assay_sources *sources, const assay_buf *mapped,
                     assay_error *err)
{
    assay_watch *watch = context;
    assay_buf all = ASSAY_BUF(SIZE_MAX);
    uint64_t *starts = assay_alloc_zeroed((size_t)assay_comm_size(watch->comm) + 1, sizeof *starts);
    int status = assay_comm_agree(watch->comm, starts ? ASSAY_OK : ASSAY_ENOMEM, err);
    ASSAY_THEN(status, assay_comm_gather(watch->comm, 0, mapped, &all, starts));
    assay_cursor in = assay_cursor_over(all.data, all.size);
    for (uint32_t s = 0; assay_comm_rank(watch->comm) == 0 && status == ASSAY_OK && s < plan->source_count; s++)
        status = replace_kept(watch, plan, sources, s, &in, err);
    assay_buf_release(&all);
    free(starts);
    return assay_comm_agree(watch->comm, status, err);
}
