/* file_pool.c - see file_pool.h. */
#include "engine/map/file_pool.h"

#include <stdlib.h>

int assay_file_pool_init(assay_file_pool *pool, const assay_map_source *source, assay_progress *progress,
                         size_t value_budget, size_t cache_budget)
{
    *pool = (assay_file_pool){.source = source, .progress = progress, .value_budget = value_budget};
    pool->main = &pool->files[0];
    pool->reference_cache = assay_reference_cache_new(cache_budget);
    return pool->reference_cache ? ASSAY_OK : ASSAY_ENOMEM;
}

static void close_file(assay_open_file *file)
{
    if (file->reader)
        assay_reader_close(file->reader);
}

void assay_file_pool_release(assay_file_pool *pool)
{
    assay_file_pool_leave(pool);
    for (int i = 0; i < ASSAY_OPEN_FILES; i++)
        close_file(&pool->files[i]);
    for (int i = 0; i < ASSAY_OPEN_REFERENCES; i++)
        close_file(&pool->references[i]);
    close_file(&pool->window);
    assay_reference_cache_free(pool->reference_cache);
    *pool = (assay_file_pool){0};
}

int assay_file_pool_enter(assay_file_pool *pool)
{
    const assay_map_source *source = pool->source;
    if (!source->wanted->looks_back)
        return ASSAY_OK;
    return assay_record_history_new(&source->source->shard, source->wanted->looks_back,
                                    assay_dict_count(source->source->info->tensors), &pool->history);
}

/* The source's parts may go, and others may come to lie where one of them lay: no open file may be taken for that
 * one's. */
static void forget_parts(assay_file_pool *pool)
{
    for (int i = 0; i < ASSAY_OPEN_FILES; i++)
        pool->files[i].part = NULL;
    for (int i = 0; i < ASSAY_OPEN_REFERENCES; i++)
        pool->references[i].part = NULL;
    pool->window.part = NULL;
    assay_lookback_index_free(pool->lookback_index);
    pool->lookback_index = NULL;
}

void assay_file_pool_leave(assay_file_pool *pool)
{
    assay_record_history_free(pool->history);
    pool->history = NULL;
    assay_step_lookup_release(&pool->first_worker.lookup);
    assay_step_lookup_release(&pool->own.lookup);
    assay_step_workers_release(&pool->workers);
    for (uint32_t p = 0; pool->others && p < pool->source->plan->pair_count * ASSAY_OPEN_FILES; p++)
        assay_step_lookup_release(&pool->others[p].lookup);
    free(pool->others);
    pool->others = NULL;
    pool->first_worker.of = NULL;
    pool->own.of = NULL;
    forget_parts(pool);
    if (pool->reference_cache)
        assay_reference_cache_clear(pool->reference_cache);
}

/* Decoded values may take a quarter of the memory, so of all files only the main one holds any. */
void assay_file_pool_turn_to(assay_file_pool *pool, assay_open_file *file)
{
    if (pool->main != file && pool->main->reader)
        assay_reader_let_go(pool->main->reader);
    pool->main = file;
}

assay_open_file *assay_file_pool_find(assay_file_pool *pool, const assay_part *part, uint32_t number)
{
    for (int i = 0; i < ASSAY_OPEN_FILES; i++)
        if (pool->files[i].part == part && assay_part_same_file(part, pool->files[i].number, number))
            return &pool->files[i];
    return NULL;
}

int assay_file_pool_open(assay_file_pool *pool, assay_open_file *file, const assay_source *source,
                         const assay_part *part, uint32_t number, assay_error *err)
{
    if (file->part == part && file->number == number)
        return ASSAY_OK;
    file->part = NULL;
    ASSAY_TRY(assay_reader_open(&file->reader, source->store, &source->catalog, part, number, err));
    pool->files_opened++;
    file->part = part;
    file->number = number;
    return ASSAY_OK;
}
