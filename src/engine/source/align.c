/* align.c - one order of steps for trials whose workers count their steps differently, or that have two modes at one
 * number (trial/align.h):
 *   1. from the joined steps, rank 0 finds these trials, and tells everyone
 *   2. for these, it gathers the steps of all parts, aligns them (trial/align.h) and sends each part's step back
 *   3. every rank brings its parts into the new order */
#include "engine/source/summary.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/fields.h"
#include "base/search.h"
#include "parallel/comm.h"

ASSAY_ORDER_BY(compare_mode_steps, assay_step_info, mode, mode_step, step)

/* A copy of the steps in the order of mode and mode step; *sorted stays NULL where mode steps ascend in each mode:
 * nearly always. 0 or ASSAY_ENOMEM. */
static int sort_by_mode(const summary *s, assay_step_info **sorted)
{
    assay_step_check check = {0};
    size_t alike = 0;
    *sorted = NULL;
    while (alike < s->step_count &&
           assay_step_check_next(&check, s->steps[alike].step, s->steps[alike].mode, s->steps[alike].mode_step))
        alike++;
    if (alike == s->step_count)
        return ASSAY_OK;
    *sorted = assay_alloc(s->step_count * sizeof **sorted);
    ASSAY_HAVE(*sorted);
    memcpy(*sorted, s->steps, s->step_count * sizeof **sorted);
    qsort(*sorted, s->step_count, sizeof **sorted, compare_mode_steps);
    return ASSAY_OK;
}

static bool same_mode_step(const assay_step_info *a, const assay_step_info *b)
{
    return a->mode == b->mode && a->mode_step == b->mode_step;
}

/* On rank 0: must steps be aligned? Then a step has two modes or mode steps, or one of these has two steps. */
static int find_disagreement(const summary *s, bool *found)
{
    assay_step_info *sorted;
    *found = false;
    for (size_t k = 1; k < s->step_count; k++)
        *found = *found || s->steps[k].step == s->steps[k - 1].step;
    int status = sort_by_mode(s, &sorted);
    for (size_t k = 1; sorted && k < s->step_count; k++)
        *found = *found || same_mode_step(&sorted[k - 1], &sorted[k]);
    free(sorted);
    return status;
}

/* Of a worker each (mode, mode step) belongs to one global step; one that comes twice is named, and both steps are
 * evaluated. */
int assay_summary_check_steps(summary *s)
{
    assay_step_info *sorted;
    int status = sort_by_mode(s, &sorted);
    for (size_t i = 1; sorted && i < s->step_count; i++)
        if (same_mode_step(&sorted[i - 1], &sorted[i]))
            assay_problems_add(&s->problems, ASSAY_PROBLEM_DUPLICATE, sorted[i].step, "", -1,
                               "%s step %lld is both global step %lld and global step %lld; both are evaluated",
                               assay_mode_name(sorted[i].mode), (long long)sorted[i].mode_step,
                               (long long)sorted[i - 1].step, (long long)sorted[i].step);
    free(sorted);
    return status == ASSAY_OK ? s->problems.status : status;
}

static const assay_field step_fields[] = {
    ASSAY_FIELD(assay_worker_step, own),     ASSAY_FIELD(assay_worker_step, mode_step),
    ASSAY_FIELD(assay_worker_step, worker),  ASSAY_FIELD(assay_worker_step, mode),
    ASSAY_FIELD(assay_worker_step, by_mode), {0}};

static void put_worker_steps(const assay_shard *shard, assay_buf *out)
{
    for (size_t p = 0; p < shard->count; p++) {
        const assay_worker_step row = assay_part_worker_step(&shard->parts[p]);
        assay_fields_pack(step_fields, &row, out);
    }
}

static int compare_aligned(const void *a, const void *b)
{
    const assay_worker_step *x = *(assay_worker_step *const *)a, *y = *(assay_worker_step *const *)b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->worker != y->worker)
        return x->worker < y->worker ? -1 : 1;
    return (x > y) - (x < y);
}

/* The steps of all workers, each once, as its lowest worker says. */
static int list_steps(summary *s, assay_worker_step *rows, size_t count)
{
    assay_worker_step **sorted = assay_alloc_zeroed(count, sizeof *sorted);
    ASSAY_HAVE(sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &rows[i];
    qsort(sorted, count, sizeof *sorted, compare_aligned);
    int status = ASSAY_OK;
    s->step_count = 0;
    for (size_t i = 0; status == ASSAY_OK && i < count; i++) {
        const assay_step_info step = {sorted[i]->step, sorted[i]->mode_step, sorted[i]->mode};
        if (i == 0 || sorted[i - 1]->step != step.step)
            status = assay_summary_add_step(s, &step);
    }
    free(sorted);
    return status;
}

/* On rank 0: from what all ranks say of their parts to the step of each, for its rank. */
static int align_rows(summary *s, const assay_buf *all, const uint64_t *starts, int ranks, assay_buf *to)
{
    const size_t packed = assay_fields_least(step_fields), count = all->size / packed;
    assay_cursor in = assay_cursor_over(all->data, all->size);
    assay_worker_step *rows = assay_alloc_zeroed(count, sizeof *rows);
    ASSAY_HAVE(rows);
    for (size_t i = 0; i < count; i++)
        (void)assay_fields_unpack(step_fields, &in, &rows[i]);
    int status = in.failed ? ASSAY_EINTERNAL : ASSAY_OK;
    ASSAY_THEN(status, assay_steps_align(rows, count, &s->shifts));
    ASSAY_THEN(status, list_steps(s, rows, count));
    for (int r = 0; r < ranks; r++)
        for (uint64_t i = starts[r] / packed; i < starts[r + 1] / packed; i++)
            assay_put_i64(&to[r], rows[i].step);
    for (int r = 0; status == ASSAY_OK && r < ranks; r++)
        status = assay_buf_status(&to[r]);
    free(rows);
    return status;
}

/* Takes the steps of the own parts, in their order. */
static int take_steps(assay_shard *shard, const assay_buf *steps)
{
    assay_cursor in = assay_cursor_over(steps->data, steps->size);
    for (size_t p = 0; p < shard->count; p++)
        shard->parts[p].step = assay_get_i64(&in);
    return in.failed ? ASSAY_EINTERNAL : assay_shard_sort(shard);
}

/* Gives the parts of a source the steps that all workers share. Collective. */
static int align_source(assay_comm *comm, assay_source *source, summary *s, assay_error *err)
{
    int ranks = assay_comm_size(comm);
    const bool first = assay_comm_rank(comm) == 0;
    const size_t steps = s->step_count;
    assay_buf mine, all, *to = assay_alloc_zeroed((size_t)ranks, sizeof *to);
    uint64_t *starts = assay_alloc_zeroed((size_t)ranks + 1, sizeof *starts);
    assay_buf_init(&mine, SIZE_MAX);
    assay_buf_init(&all, SIZE_MAX);
    for (int r = 0; to && r < ranks; r++)
        assay_buf_init(&to[r], SIZE_MAX);
    put_worker_steps(&source->shard, &mine);
    int status = assay_comm_agree(comm, to && starts ? assay_buf_status(&mine) : ASSAY_ENOMEM, err);
    ASSAY_THEN(status, assay_comm_gather(comm, 0, &mine, &all, starts));
    ASSAY_THEN(status, assay_comm_agree(comm, first ? align_rows(s, &all, starts, ranks, to) : ASSAY_OK, err));
    assay_buf_clear(&mine);
    ASSAY_THEN(status, assay_comm_exchange(comm, to, &mine, starts));
    ASSAY_THEN(status, assay_comm_agree(comm, take_steps(&source->shard, &mine), err));
    if (status == ASSAY_OK && first) {
        assay_catalog_align(&source->catalog, &s->shifts); /* by its units rank 0 tells which steps are complete */
        assay_align_name_apart(&source->catalog, steps, s->step_count, &s->claims, &s->problems);
    }
    for (int r = 0; to && r < ranks; r++)
        assay_buf_release(&to[r]);
    assay_buf_release(&all);
    assay_buf_release(&mine);
    free(starts);
    free(to);
    return status;
}

/* Aligns the sources whose steps disagree. Collective. */
int assay_sources_align(assay_comm *comm, assay_sources *sources, summaries *joined, assay_error *err)
{
    assay_buf which = ASSAY_BUF(SIZE_MAX);
    int status = ASSAY_OK;
    for (uint32_t i = 0; assay_comm_rank(comm) == 0 && status == ASSAY_OK && i < sources->count; i++) {
        const assay_catalog *catalog = &sources->list[i].catalog;
        bool differ = false;
        if (!sources->verbatim && (catalog->workers > 1 || assay_catalog_has_modes(catalog)))
            status = find_disagreement(&joined->list[i], &differ);
        assay_put_u8(&which, differ);
    }
    status = assay_comm_agree(comm, status == ASSAY_OK ? assay_buf_status(&which) : status, err);
    ASSAY_THEN(status, assay_comm_broadcast(comm, &which));
    for (uint32_t i = 0; status == ASSAY_OK && i < sources->count; i++)
        if (which.data[i])
            status = align_source(comm, &sources->list[i], &joined->list[i], err);
    assay_buf_release(&which);
    return status;
}
