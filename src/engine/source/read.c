/* read.c - reads the index of all trials, each rank a contiguous share of their units, and tells everyone the steps and
 * tensors:
 *   1. parse the share into a shard with its own dictionary, per trial, tell the others what was learned of files by
 *      listing them, and put the tensors together of which workers have pieces (logical.c)
 *   2. join names, modes, steps and problems of all ranks on rank 0, in rank order (rank_reduce.h)
 *   3. if workers count their steps differently, give them a common order (trial/align.h)
 *   4. sort the names, check the steps, broadcast both
 *   5. renumber the own shard by the common dictionary
 * The names of the own share come first among those that are joined with them, with the same numbers, so they need no
 * copy. */
#include "engine/source/summary.h"

#include <stdlib.h>

#include "base/fault.h"
#include "parallel/rank_reduce.h"
#include "engine/source/run_view.h"
#include "engine/source/saved_order.h"
#include "trial/trial_format.h"

static int summarize_shard(summary *s, uint32_t workers, assay_shard *shard, bool verbatim)
{
    s->modes = assay_alloc_zeroed(assay_dict_count(s->names), 1);
    s->saved = saved_order_of(shard, assay_dict_count(s->names));
    s->worker_modes = assay_alloc_zeroed(workers, 1);
    s->workers = s->worker_modes ? workers : 0;
    ASSAY_HAVE(s->modes && s->saved && s->worker_modes);
    for (size_t p = 0; p < shard->count; p++) {
        const assay_part *part = &shard->parts[p];
        for (size_t e = part->first; e < part->first + part->count; e++)
            if (shard->entries[e].kind == ASSAY_RAW)
                s->modes[shard->entries[e].tensor] |= (uint8_t)(1u << part->mode);
        if (part->worker < workers)
            s->worker_modes[part->worker] |= (uint8_t)(1u << part->mode);
        assay_step_info step = {part->step, part->mode_step, part->mode};
        if (assay_summary_add_step(s, &step) != ASSAY_OK)
            return ASSAY_ENOMEM;
    }
    if (!verbatim)
        assay_shard_drop_shapes(shard);
    s->claims = shard->claims;
    shard->claims = (assay_manifest){0};
    return ASSAY_OK;
}

/* Reads this rank's share of all trials' units, whose names come first in its listings. */
static int read_share(assay_sources *sources, summaries *all, int rank, int ranks)
{
    uint64_t base = 0, first, end;
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < sources->count; i++) {
        assay_source *source = &sources->list[i];
        assay_sources_share(sources, i, base, rank, ranks, &first, &end);
        base += source->units;
        if (first < end && sources->view)
            status = sources->view->read_index(sources->view->context, i, all->list[i].names, &source->shard);
        else if (first < end)
            status = assay_index_read(source->store, &source->catalog, source->catalog.units, (size_t)(end - first),
                                      &(assay_index_sink){all->list[i].names, &source->shard, &all->list[i].problems});
    }
    return status;
}

/* A file that one rank listed may be another rank's to read, which has to notice as well when it is another one by
 * then. Ranks whose share failed take part. */
static int share_learned(assay_comm *comm, assay_sources *sources, assay_error *err)
{
    const int size = assay_comm_size(comm);
    bool any = false;
    assay_buf mine = ASSAY_BUF(SIZE_MAX), all = ASSAY_BUF(SIZE_MAX);
    for (uint32_t i = 0; i < sources->count && size > 1 && !sources->view; i++)
        any = (sources->list[i].store && assay_store_pack_learned(sources->list[i].store, &mine)) || any;
    uint64_t *starts = any ? assay_alloc(((size_t)size + 1) * sizeof *starts) : NULL;
    int status = any ? assay_comm_agree(comm, starts ? assay_buf_status(&mine) : ASSAY_ENOMEM, err) : ASSAY_OK;
    if (status == ASSAY_OK && any)
        status = assay_comm_gather_all(comm, &mine, &all, starts);
    assay_cursor in = assay_cursor_over(all.data, all.size);
    while (status == ASSAY_OK && assay_cursor_left(&in) > 0)
        for (uint32_t i = 0; status == ASSAY_OK && i < sources->count; i++)
            if (sources->list[i].store)
                status = assay_store_unpack_learned(sources->list[i].store, &in);
    free(starts);
    assay_buf_release(&mine);
    assay_buf_release(&all);
    return status;
}

static int summarize(assay_sources *sources, summaries *all)
{
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < sources->count; i++) {
        assay_source *source = &sources->list[i];
        status = summarize_shard(&all->list[i], source->catalog.workers, &source->shard, sources->verbatim);
        ASSAY_THEN(status, all->list[i].problems.status);
    }
    return status;
}

/* A step has one mode and mode step. Where workers count alike, only parts of several formats may differ: the first one
 * decides. */
static void drop_second_words(summary *s)
{
    size_t kept = 0;
    for (size_t k = 0; k < s->step_count; k++)
        if (kept == 0 || s->steps[kept - 1].step != s->steps[k].step)
            s->steps[kept++] = s->steps[k];
    s->step_count = kept;
}

/* On rank 0: brings the names into byte order; what they have goes with them, positions in place of predecessors. */
static int sort_names(summary *s)
{
    uint32_t count = assay_dict_count(s->names);
    s->new_id = assay_alloc(count * sizeof *s->new_id);
    uint8_t *modes = assay_alloc_zeroed(count, 1);
    uint32_t *position = saved_order_positions(s->saved, count);
    int status = s->new_id && modes && position ? assay_dict_sort(s->names, s->new_id) : ASSAY_ENOMEM;
    for (uint32_t i = 0; status == ASSAY_OK && i < count; i++) {
        modes[s->new_id[i]] = s->modes[i];
        s->saved[s->new_id[i]] = position[i];
    }
    free(position);
    if (status != ASSAY_OK) {
        free(modes);
        return status;
    }
    free(s->modes);
    s->modes = modes;
    assay_manifest_renumber(&s->claims, s->new_id);
    assay_manifest_sort(&s->claims);
    return ASSAY_OK;
}

/* On the other ranks: what the own names became in the common dictionary, which has them all. */
static int find_names(summary *own, const assay_dict *common)
{
    uint32_t count = assay_dict_count(own->names);
    own->new_id = assay_alloc(count * sizeof *own->new_id);
    ASSAY_HAVE(own->new_id);
    for (uint32_t i = 0; i < count; i++) {
        size_t length;
        const char *name = assay_dict_name(own->names, i, &length);
        own->new_id[i] = assay_dict_find(common, name, length);
    }
    return ASSAY_OK;
}

/* Moves a joined summary into the source's trial info. Problems are rank 0's to keep. */
static int make_info(assay_source *source, summary *s, bool keep_problems)
{
    assay_trial *info = assay_alloc_zeroed(1, sizeof *info);
    ASSAY_HAVE(info);
    source->info = info;
    info->name = assay_copy_text(source->name);
    info->path = assay_copy_text(source->path);
    info->catalog = &source->catalog;
    info->tensors = s->names;
    info->tensor_modes = s->modes;
    info->position = s->saved;
    assay_step_info *fitting = /* many trials keep them until the report is written */
        s->step_count > 0 ? assay_realloc_array(s->steps, s->step_count, sizeof *s->steps) : NULL;
    info->steps = fitting ? fitting : s->steps;
    info->step_count = s->step_count;
    info->worker_modes = s->worker_modes;
    info->shifts = s->shifts;
    info->claims = s->claims;
    s->names = NULL;
    s->modes = NULL;
    s->saved = NULL;
    s->steps = NULL;
    s->worker_modes = NULL;
    s->shifts = (assay_step_shifts){0};
    s->claims = (assay_manifest){0};
    assay_problems unkept;
    assay_problems_init(&unkept);
    int status = info->name && info->path ? ASSAY_OK : ASSAY_ENOMEM;
    if (status == ASSAY_OK && keep_problems)
        status = assay_problems_append(&source->problems, &source->catalog.problems);
    if (status == ASSAY_OK && keep_problems)
        status = assay_problems_append(&source->problems, &s->problems);
    if (status == ASSAY_OK && source->catalog.topology && source->layouts.names)
        status = assay_relations_new(source->catalog.topology, &source->layouts, info->tensors, &info->relations);
    ASSAY_THEN(status, assay_trial_info_finish(info, keep_problems ? &source->problems : &unkept));
    assay_problems_release(&unkept);
    return status;
}

/* Where parts of several formats disagree on a step, the first one decides. */
static void settle_steps(assay_shard *shard, const assay_trial *info)
{
    uint64_t position = UINT64_MAX;
    for (size_t p = 0; p < shard->count; p++) {
        assay_part *part = &shard->parts[p];
        if (p == 0 || part->step != shard->parts[p - 1].step)
            position = assay_trial_find_step_at(info, position + 1, part->step);
        part->mode = info->steps[position].mode;
        part->mode_step = info->steps[position].mode_step;
    }
}

/* On rank 0: names in order, steps checked. */
static int conclude(summaries *joined)
{
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < joined->count; i++) {
        status = sort_names(&joined->list[i]);
        drop_second_words(&joined->list[i]);
        ASSAY_THEN(status, assay_summary_check_steps(&joined->list[i]));
    }
    return status;
}

/* Rank 0's summaries to the others, which replace theirs by them. Their own shards' numbers are looked up before. */
static int broadcast_summaries(assay_comm *comm, summaries *joined, assay_error *err)
{
    bool first = assay_comm_rank(comm) == 0;
    summaries common = {0};
    assay_buf bytes = ASSAY_BUF(SIZE_MAX);
    int status = assay_comm_agree(comm, first ? assay_summaries_pack(joined, &bytes) : ASSAY_OK, err);
    ASSAY_THEN(status, assay_comm_broadcast(comm, &bytes));
    if (status == ASSAY_OK && !first) {
        assay_cursor in = assay_cursor_over(bytes.data, bytes.size);
        status = assay_summaries_init(&common, joined->count);
        ASSAY_THEN(status, assay_summaries_join(&common, &in, err));
        for (uint32_t i = 0; status == ASSAY_OK && i < common.count; i++)
            status = find_names(&joined->list[i], common.list[i].names);
        for (uint32_t i = 0; status == ASSAY_OK && i < common.count; i++) {
            common.list[i].new_id = joined->list[i].new_id;
            joined->list[i].new_id = NULL;
        }
        assay_summaries_release(status == ASSAY_OK ? joined : &common);
        *joined = status == ASSAY_OK ? common : *joined;
    }
    assay_buf_release(&bytes);
    return status;
}

/* Rank 0's joined summaries to everyone, and into the sources. */
static int share_summaries(assay_comm *comm, assay_sources *sources, summaries *joined, assay_error *err)
{
    bool first = assay_comm_rank(comm) == 0;
    int status = assay_sources_align(comm, sources, joined, err);
    ASSAY_THEN(status, assay_comm_agree(comm, first ? conclude(joined) : ASSAY_OK, err));
    if (status == ASSAY_OK && assay_comm_size(comm) > 1)
        status = broadcast_summaries(comm, joined, err);
    for (uint32_t i = 0; status == ASSAY_OK && i < sources->count; i++) {
        assay_source *source = &sources->list[i];
        assay_shard_renumber(&source->shard, joined->list[i].new_id);
        status = make_info(source, &joined->list[i], first);
        if (status == ASSAY_OK && !sources->verbatim)
            settle_steps(&source->shard, source->info);
        if (!first && !sources->verbatim) { /* read, and not needed any more */
            free(source->catalog.units);
            source->catalog.units = NULL;
            source->catalog.unit_count = 0;
        }
    }
    return assay_comm_agree(comm, status, err);
}

int assay_sources_read(assay_comm *comm, assay_sources *sources, assay_error *err)
{
    int rank = assay_comm_rank(comm);
    summaries all = {0};
    int status = assay_summaries_init(&all, sources->count);
    ASSAY_THEN(status, read_share(sources, &all, rank, assay_comm_size(comm)));
    const int learned = share_learned(comm, sources, err);
    status = status == ASSAY_OK ? learned : status;
    if (!sources->verbatim)
        status = assay_sources_form(comm, sources, &all, status, err);
    ASSAY_THEN(status, summarize(sources, &all));
    if (status == ASSAY_ENOMEM)
        assay_fail(err, status, "out of memory on rank %d while reading the index", rank);
    static const assay_joiner joiner = {assay_summaries_pack, assay_summaries_join};
    status = assay_rank_reduce(comm, &joiner, &all, status, err);
    ASSAY_THEN(status, share_summaries(comm, sources, &all, err));
    assay_summaries_release(&all);
    for (uint32_t i = 0; i < sources->count && !sources->verbatim && !sources->view; i++) {
        assay_catalog *catalog = &sources->list[i].catalog;
        for (uint32_t k = 0; k < catalog->format_count; k++)
            if (assay_format_of(catalog->formats[k])->indexed)
                assay_format_of(catalog->formats[k])->indexed(catalog);
    }
    return status;
}
