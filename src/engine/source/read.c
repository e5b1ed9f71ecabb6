/* read.c - reads the index files of all trials, each rank a contiguous share of them, and tells everyone what
 * steps and tensors there are:
 *   1. parse the share into a shard and a dictionary of its own, per trial
 *   2. join names, modes, steps and problems of all ranks on rank 0, in rank order (tree.h)
 *   3. sort the names, check the steps, broadcast both
 *   4. renumber the own shard by the common dictionary
 * The names of the own share are the first of those that join them, with the same numbers: no copy of them is needed.
 */
#include "engine/source/source.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "parallel/rank_reduce.h"
#include "engine/run_view.h"
#include "engine/source/saved_order.h"

/* What one trial's index files showed, of some contiguous part of them. */
typedef struct summary {
    assay_dict *names;
    uint32_t *new_id; /* rank 0, after sorting: [names before it] */
    uint8_t *modes;   /* [names]: modes in which a tensor was saved raw */
    uint32_t *saved;  /* [names]: predecessors (saved_order.h); once the names are sorted: positions */
    assay_step_info *steps;
    size_t step_count, step_room;
    assay_problems problems;
} summary;

typedef struct summaries {
    summary *list;
    uint32_t count;
} summaries;

static void release_summaries(summaries *s)
{
    for (uint32_t i = 0; s->list && i < s->count; i++) {
        assay_dict_free(s->list[i].names);
        free(s->list[i].new_id);
        free(s->list[i].modes);
        free(s->list[i].saved);
        free(s->list[i].steps);
        assay_problems_release(&s->list[i].problems);
    }
    free(s->list);
}

static int init_summaries(summaries *s, uint32_t count)
{
    s->count = count;
    s->list = assay_alloc_zeroed(count, sizeof *s->list);
    if (!s->list)
        return ASSAY_ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        assay_problems_init(&s->list[i].problems);
        s->list[i].names = assay_dict_new();
        if (!s->list[i].names)
            return ASSAY_ENOMEM;
    }
    return ASSAY_OK;
}

/* Adds what a worker says of a step behind what is there, unless another one has said the same. */
static int add_step(summary *s, const assay_step_info *step)
{
    for (size_t k = s->step_count; k > 0 && s->steps[k - 1].step == step->step; k--)
        if (s->steps[k - 1].mode == step->mode && s->steps[k - 1].mode_step == step->mode_step)
            return ASSAY_OK;
    if (s->step_count == s->step_room) {
        size_t room = s->step_room ? s->step_room * 2 : 256;
        assay_step_info *grown = assay_realloc_array(s->steps, room, sizeof *grown);
        if (!grown)
            return ASSAY_ENOMEM;
        s->steps = grown;
        s->step_room = room;
    }
    s->steps[s->step_count++] = *step;
    return ASSAY_OK;
}

static int summarize_shard(summary *s, assay_shard *shard, bool verbatim)
{
    s->modes = assay_alloc_zeroed(assay_dict_count(s->names), 1);
    s->saved = saved_order_of(shard, assay_dict_count(s->names));
    if (!s->modes || !s->saved)
        return ASSAY_ENOMEM;
    for (size_t p = 0; p < shard->count; p++) {
        const assay_part *part = &shard->parts[p];
        for (size_t e = part->first; e < part->first + part->count; e++)
            if (shard->entries[e].kind == ASSAY_RAW)
                s->modes[shard->entries[e].tensor] |= (uint8_t)(1u << part->mode);
        assay_step_info step = {part->step, part->mode_step, part->mode};
        if (add_step(s, &step) != ASSAY_OK)
            return ASSAY_ENOMEM;
    }
    if (!verbatim)
        assay_shard_drop_shapes(shard);
    return ASSAY_OK;
}

static int pack_summaries(const void *mine, assay_buf *out)
{
    const summaries *all = mine;
    for (uint32_t i = 0; i < all->count; i++) {
        const summary *s = &all->list[i];
        assay_dict_pack(s->names, out);
        assay_put_bytes(out, s->modes, assay_dict_count(s->names));
        for (uint32_t n = 0; n < assay_dict_count(s->names); n++)
            assay_put_u32(out, s->saved[n]);
        assay_put_u64(out, s->step_count);
        for (size_t k = 0; k < s->step_count; k++) {
            assay_put_i64(out, s->steps[k].step);
            assay_put_i64(out, s->steps[k].mode_step);
            assay_put_u8(out, (uint8_t)s->steps[k].mode);
        }
        assay_problems_pack(&s->problems, out);
    }
    return assay_buf_status(out);
}

/* Takes over the later names' modes and predecessors; `id` are their numbers here, the first `known` were here before.
 */
static int join_saved(summary *s, const uint32_t *id, uint64_t count, uint32_t known, const uint8_t *modes,
                      assay_cursor *later)
{
    for (uint64_t i = 0; i < count; i++) {
        uint32_t before = assay_get_u32(later);
        s->modes[id[i]] = (uint8_t)((id[i] < known ? s->modes[id[i]] : 0) | modes[i]);
        if (later->failed || (before != SAVED_FIRST && before != SAVED_NEVER && before > count))
            return ASSAY_EINTERNAL;
        if (before != SAVED_FIRST && before != SAVED_NEVER)
            before = id[before - 1] + 1;
        if (id[i] >= known || s->saved[id[i]] == SAVED_NEVER)
            s->saved[id[i]] = before;
    }
    return ASSAY_OK;
}

/* Names in the form of assay_dict_pack(), then their modes and predecessors. */
static int join_names(summary *s, assay_cursor *later)
{
    size_t length;
    uint32_t known = assay_dict_count(s->names);
    uint64_t count = assay_get_count(later, 4);
    assay_cursor name = *later;
    for (uint64_t i = 0; i < count; i++)
        assay_get_text(later, &length);
    const uint8_t *modes = assay_get_bytes(later, count);
    if (later->failed)
        return ASSAY_EINTERNAL;
    uint8_t *grown = assay_realloc_array(s->modes, (size_t)known + count, 1);
    s->modes = grown ? grown : s->modes;
    uint32_t *saved = assay_realloc_array(s->saved, (size_t)known + count, sizeof *saved);
    s->saved = saved ? saved : s->saved;
    uint32_t *id = assay_alloc(count * sizeof *id);
    int status = grown && saved && id ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i++) {
        const char *text = assay_get_text(&name, &length);
        id[i] = assay_dict_add(s->names, text, length);
        status = id[i] == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
    }
    if (status == ASSAY_OK)
        status = join_saved(s, id, count, known, modes, later);
    free(id);
    return status;
}

static int join_steps(summary *s, assay_cursor *later)
{
    uint64_t count = assay_get_count(later, 17);
    for (uint64_t k = 0; k < count; k++) {
        assay_step_info step;
        step.step = assay_get_i64(later);
        step.mode_step = assay_get_i64(later);
        step.mode = assay_get_u8(later);
        if (add_step(s, &step) != ASSAY_OK)
            return ASSAY_ENOMEM;
    }
    return ASSAY_OK;
}

static int join_problems(assay_problems *problems, assay_cursor *later, assay_error *err)
{
    assay_problems more;
    assay_problems_init(&more);
    int status = assay_problems_unpack(later, &more, err);
    if (status == ASSAY_OK)
        status = assay_problems_append(problems, &more);
    assay_problems_release(&more);
    return status;
}

static int join_summaries(void *mine, assay_cursor *later, assay_error *err)
{
    summaries *all = mine;
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < all->count; i++) {
        status = join_names(&all->list[i], later);
        if (status == ASSAY_OK)
            status = join_steps(&all->list[i], later);
        if (status == ASSAY_OK)
            status = join_problems(&all->list[i].problems, later, err);
    }
    if (status == ASSAY_OK && assay_cursor_bad(later))
        return assay_fail(err, ASSAY_EINTERNAL, "steps and tensors did not survive their way between ranks");
    return status;
}

/* Reads this rank's share of all trials' index files, whose names come first in its listings. */
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
                                      all->list[i].names, &source->shard, &all->list[i].problems);
        if (status == ASSAY_OK)
            status = summarize_shard(&all->list[i], &source->shard, sources->verbatim);
        if (status == ASSAY_OK)
            status = all->list[i].problems.status;
    }
    return status;
}

static int compare_mode_steps(const void *a, const void *b)
{
    const assay_step_info *x = a, *y = b;
    if (x->mode != y->mode)
        return x->mode < y->mode ? -1 : 1;
    if (x->mode_step != y->mode_step)
        return x->mode_step < y->mode_step ? -1 : 1;
    return (x->step > y->step) - (x->step < y->step);
}

/* The mode is the same or a later one, and there the mode step is a later one. */
static bool goes_on(const assay_step_info *a, const assay_step_info *b)
{
    return a->mode < b->mode || (a->mode == b->mode && a->mode_step < b->mode_step);
}

/* A step has one mode: of what workers say of it the first is used, and the rest is named. Not before all have said it,
 * for which of them meet on a rank depends on how many there are. */
static void decide_on_steps(summary *s)
{
    size_t kept = 0;
    for (size_t k = 0; k < s->step_count; k++) {
        const assay_step_info *first = kept > 0 ? &s->steps[kept - 1] : NULL, *step = &s->steps[k];
        if (first && first->step == step->step)
            assay_problems_add(&s->problems, ASSAY_PROBLEM_DUPLICATE, step->step, "", -1,
                               "workers disagree on step %lld: %s step %lld and %s step %lld; the first is used",
                               (long long)step->step, assay_mode_name(first->mode), (long long)first->mode_step,
                               assay_mode_name(step->mode), (long long)step->mode_step);
        else
            s->steps[kept++] = *step;
    }
    s->step_count = kept;
}

/* Each (mode, mode step) belongs to one global step; one that comes twice is named, and both steps are evaluated. */
static int check_steps(summary *s)
{
    size_t ascending = 1; /* nearly always all of them: nothing to be sorted, and no memory for it */
    while (ascending < s->step_count && goes_on(&s->steps[ascending - 1], &s->steps[ascending]))
        ascending++;
    if (ascending >= s->step_count)
        return s->problems.status;
    assay_step_info *sorted = assay_alloc(s->step_count * sizeof *sorted);
    if (!sorted)
        return ASSAY_ENOMEM;
    if (s->step_count > 0)
        memcpy(sorted, s->steps, s->step_count * sizeof *sorted);
    qsort(sorted, s->step_count, sizeof *sorted, compare_mode_steps);
    for (size_t i = 1; i < s->step_count; i++)
        if (sorted[i].mode == sorted[i - 1].mode && sorted[i].mode_step == sorted[i - 1].mode_step)
            assay_problems_add(&s->problems, ASSAY_PROBLEM_DUPLICATE, sorted[i].step, "", -1,
                               "%s step %lld is both global step %lld and global step %lld; both are evaluated",
                               assay_mode_name(sorted[i].mode), (long long)sorted[i].mode_step,
                               (long long)sorted[i - 1].step, (long long)sorted[i].step);
    free(sorted);
    return s->problems.status;
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
    return ASSAY_OK;
}

/* On the other ranks: what the own names became in the common dictionary, which has them all. */
static int find_names(summary *own, const assay_dict *common)
{
    uint32_t count = assay_dict_count(own->names);
    own->new_id = assay_alloc(count * sizeof *own->new_id);
    if (!own->new_id)
        return ASSAY_ENOMEM;
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
    if (!info)
        return ASSAY_ENOMEM;
    source->info = info;
    info->name = assay_copy_text(source->name);
    info->path = assay_copy_text(source->path);
    info->catalog = &source->catalog;
    info->tensors = s->names;
    info->tensor_modes = s->modes;
    info->position = s->saved;
    info->steps = s->steps;
    info->step_count = s->step_count;
    s->names = NULL;
    s->modes = NULL;
    s->saved = NULL;
    s->steps = NULL;
    assay_problems unkept;
    assay_problems_init(&unkept);
    int status = info->name && info->path ? ASSAY_OK : ASSAY_ENOMEM;
    if (status == ASSAY_OK && keep_problems)
        status = assay_problems_append(&source->problems, &source->catalog.problems);
    if (status == ASSAY_OK && keep_problems)
        status = assay_problems_append(&source->problems, &s->problems);
    if (status == ASSAY_OK)
        status = assay_trial_info_finish(info, keep_problems ? &source->problems : &unkept);
    assay_problems_release(&unkept);
    return status;
}

/* Where workers disagree on a step, the first one's word goes for the records of all. */
static void settle_steps(assay_shard *shard, const assay_trial *info)
{
    uint64_t position = UINT64_MAX;
    for (size_t p = 0; p < shard->count; p++) {
        assay_part *part = &shard->parts[p];
        if (p == 0 || part->step != shard->parts[p - 1].step)
            position = assay_trial_find_step(info, part->step);
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
        decide_on_steps(&joined->list[i]);
        if (status == ASSAY_OK)
            status = check_steps(&joined->list[i]);
    }
    return status;
}

/* Rank 0's summaries to the others, which replace theirs by them. Their own shards' numbers are looked up before. */
static int broadcast_summaries(assay_comm *comm, summaries *joined, assay_error *err)
{
    bool first = assay_comm_rank(comm) == 0;
    summaries common = {0};
    assay_buf bytes;
    assay_buf_init(&bytes, SIZE_MAX);
    int status = assay_comm_agree(comm, first ? pack_summaries(joined, &bytes) : ASSAY_OK, err);
    if (status == ASSAY_OK)
        status = assay_comm_broadcast(comm, &bytes);
    if (status == ASSAY_OK && !first) {
        assay_cursor in = assay_cursor_over(bytes.data, bytes.size);
        status = init_summaries(&common, joined->count);
        if (status == ASSAY_OK)
            status = join_summaries(&common, &in, err);
        for (uint32_t i = 0; status == ASSAY_OK && i < common.count; i++)
            status = find_names(&joined->list[i], common.list[i].names);
        for (uint32_t i = 0; status == ASSAY_OK && i < common.count; i++) {
            common.list[i].new_id = joined->list[i].new_id;
            joined->list[i].new_id = NULL;
        }
        release_summaries(status == ASSAY_OK ? joined : &common);
        *joined = status == ASSAY_OK ? common : *joined;
    }
    assay_buf_release(&bytes);
    return status;
}

/* Rank 0's joined summaries to everyone, and into the sources. */
static int share_summaries(assay_comm *comm, assay_sources *sources, summaries *joined, assay_error *err)
{
    bool first = assay_comm_rank(comm) == 0;
    int status = assay_comm_agree(comm, first ? conclude(joined) : ASSAY_OK, err);
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
    int status = init_summaries(&all, sources->count);
    if (status == ASSAY_OK)
        status = read_share(sources, &all, rank, assay_comm_size(comm));
    if (status == ASSAY_ENOMEM)
        assay_fail(err, status, "out of memory on rank %d while reading index files", rank);
    static const assay_joiner joiner = {pack_summaries, join_summaries};
    status = assay_rank_reduce(comm, &joiner, &all, status, err);
    if (status == ASSAY_OK)
        status = share_summaries(comm, sources, &all, err);
    release_summaries(&all);
    return status;
}
