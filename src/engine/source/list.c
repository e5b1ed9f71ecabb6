/* list.c - finds the trials of a job, and lists them:
 *   1. rank i mod ranks lists trial i
 *   2. everyone gets the heads of all: workers, collections, problems, the number of units
 *   3. each rank gets the units that it will read; rank 0 gets all of them, and looks for missing ones */
#include "engine/source/source.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "engine/source/asked.h"
#include "engine/source/run_view.h"
#include "topology/attach.h"

static uint32_t find_source(const assay_sources *s, const char *trial)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (strcmp(s->list[i].name, trial) == 0)
            return i;
    for (uint32_t i = 0; i < s->count; i++)
        if (strcmp(s->list[i].path, trial) == 0)
            return i;
    return ASSAY_NO_ID;
}

static int add_source(assay_sources *s, const char *path, const char *name, assay_trial_options *options)
{
    assay_source *source = &s->list[s->count++];
    source->path = assay_copy_text(path);
    source->name = assay_copy_text(name);
    source->options = assay_trial_options_share(options);
    assay_shard_init(&source->shard);
    assay_problems_init(&source->problems);
    return source->path && source->name ? ASSAY_OK : ASSAY_ENOMEM;
}

int assay_sources_init(assay_sources *s, const assay_job *job)
{
    size_t instances = assay_job_instances(job);
    *s = (assay_sources){.job_trials = (uint32_t)job->trial_count};
    s->list = assay_alloc_zeroed(job->trial_count + instances, sizeof *s->list);
    s->other = assay_alloc(instances * sizeof *s->other);
    int status = s->list && s->other ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; status == ASSAY_OK && i < job->trial_count; i++)
        status = add_source(s, job->trials[i].path, job->trials[i].name, job->trials[i].options);
    for (size_t i = 0; status == ASSAY_OK && i < instances; i++) {
        const assay_instance *instance = assay_job_instance(job, i);
        const char *other = instance->need ? instance->need->other_trial : NULL;
        s->other[i] = other ? find_source(s, other) : ASSAY_NO_ID;
        if (other && s->other[i] == ASSAY_NO_ID) {
            s->other[i] = s->count;
            status = add_source(s, other, other, NULL);
        }
    }
    return status;
}

void assay_sources_release(assay_sources *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        assay_source *source = &s->list[i];
        assay_shard_release(&source->shard);
        assay_problems_release(&source->problems);
        assay_trial_info_free(source->info);
        assay_catalog_release(&source->catalog);
        free(source->listed);
        free(source->step_end);
        assay_layouts_release(&source->layouts);
        assay_store_close(source->store);
        assay_trial_options_release(source->options);
        free(source->path);
        free(source->name);
    }
    free(s->list);
    free(s->other);
    *s = (assay_sources){0};
}

/* Where a topology puts pieces of several workers together, a step has to be read by one rank: the number of units up
 * to the end of each step. */
static void pack_step_ends(const assay_catalog *catalog, assay_buf *out)
{
    uint64_t steps = 0;
    const size_t at = out->size;
    assay_put_u64(out, 0);
    for (size_t i = 0; catalog->topology && i < catalog->unit_count; i++)
        if (i + 1 == catalog->unit_count || catalog->units[i + 1].step != catalog->units[i].step) {
            assay_put_u64(out, i + 1);
            steps++;
        }
    if (assay_buf_status(out) == ASSAY_OK)
        assay_buf_set_u64(out, at, steps);
}

static int unpack_step_ends(assay_cursor *in, assay_source *source)
{
    source->steps = assay_get_count(in, sizeof(uint64_t));
    source->step_end = assay_alloc(source->steps * sizeof *source->step_end);
    for (uint64_t i = 0; source->step_end && i < source->steps; i++)
        source->step_end[i] = assay_get_u64(in);
    return source->step_end ? ASSAY_OK : ASSAY_ENOMEM;
}

static int open_place(assay_sources *s, const assay_source *source, assay_store **out, assay_error *err)
{
    const char *location = assay_trial_root(source->options, source->path);
    return s->places ? assay_open_places_open(s->places, location, out, err) : assay_store_open(location, out, err);
}

/* Lists one trial and packs what came of it, but for its units. The store stays the source's. */
static int list_source(assay_sources *s, uint32_t number, assay_buf *out)
{
    assay_source *source = &s->list[number];
    assay_catalog catalog = {0};
    assay_error error = {""};
    assay_store *store = NULL;
    assay_trial_options *options = assay_trial_options_copy(source->options);
    ASSAY_HAVE(options);
    options->asks = s->asked ? assay_asked_has : NULL;
    options->asks_context = s->asked;
    int status = open_place(s, source, &store, &error);
    ASSAY_THEN(status, assay_catalog_read(store, options, &catalog, &error));
    if (status == ASSAY_OK && !s->verbatim)
        status =
            assay_topology_attach(store, source->options ? source->options->topology : NULL, NULL, &catalog, &error);
    assay_put_u32(out, number);
    assay_put_i64(out, status);
    assay_put_text(out, error.text);
    if (status == ASSAY_OK) {
        pack_step_ends(&catalog, out);
        source->listed = catalog.units;
        assay_put_u64(out, catalog.unit_count);
        catalog.units = NULL;
        catalog.unit_count = 0;
        assay_catalog_pack(&catalog, out);
        assay_store_pack_listed(store, out);
        source->store = store;
        store = NULL;
    }
    assay_catalog_release(&catalog);
    assay_trial_options_release(options);
    assay_store_close(store);
    return status == ASSAY_ENOMEM ? status : assay_buf_status(out);
}

static int unpack_sources(assay_sources *s, const assay_buf *all, assay_error *err)
{
    assay_cursor in = assay_cursor_over(all->data, all->size);
    while (assay_cursor_left(&in) > 0) {
        uint32_t number = assay_get_u32(&in);
        int status = (int)assay_get_i64(&in);
        size_t length;
        const char *text = assay_get_text(&in, &length);
        if (in.failed || number >= s->count)
            return assay_fail(err, ASSAY_EINTERNAL, "the listing of a trial was damaged on its way between ranks");
        assay_source *source = &s->list[number];
        source->status = status;
        if (status != ASSAY_OK) {
            if (status == ASSAY_EJOB) /* its topology is wrong: without it the answers would be, too */
                return assay_fail(err, status, "%.*s", (int)length, text);
            assay_fail(&source->error, status, "%.*s", (int)length, text);
            continue;
        }
        int rc = s->view ? ASSAY_OK : unpack_step_ends(&in, source);
        source->units = assay_get_u64(&in);
        ASSAY_THEN(rc, assay_catalog_unpack(&in, &source->catalog, err));
        source->catalog.options = source->options;
        if (rc == ASSAY_OK && !source->store)
            rc = open_place(s, source, &source->store, err);
        if (rc == ASSAY_OK && !s->view)
            rc = assay_store_unpack_listed(source->store, &in);
        ASSAY_TRY(rc);
    }
    return ASSAY_OK;
}

/* Which units of all trials, in one numbering, a rank reads: [*from, *to). */
static void share_of_all(const assay_sources *s, int rank, int ranks, uint64_t *from, uint64_t *to)
{
    uint64_t total = 0, r = (uint64_t)rank, size = (uint64_t)ranks;
    for (uint32_t i = 0; i < s->count; i++)
        total += s->list[i].units;
    *from = total / size * r + total % size * r / size;
    *to = total / size * (r + 1) + total % size * (r + 1) / size;
    if (s->view) { /* rank 0 has read them all */
        *from = 0;
        *to = r == 0 ? total : 0;
    }
}

/* `number` units, or so many more that the last step is whole. */
static uint64_t whole_steps(const assay_source *source, uint64_t number)
{
    uint64_t low = 0;
    ASSAY_SEARCH(low, source->steps, source->step_end[low] < number);
    return number == 0 || low == source->steps ? number : source->step_end[low];
}

void assay_sources_share(const assay_sources *s, uint32_t source, uint64_t base, int rank, int ranks, uint64_t *first,
                         uint64_t *end)
{
    uint64_t from, to, count = s->list[source].units;
    share_of_all(s, rank, ranks, &from, &to);
    *first = from > base ? from - base : 0;
    *end = to > base ? to - base : 0;
    *first = *first < count ? *first : count;
    *end = *end < count ? *end : count;
    *first = whole_steps(&s->list[source], *first);
    *end = whole_steps(&s->list[source], *end);
}

/* The files of a trial whose names a rank gets: those that it reads, and on rank 0 all. */
static void files_of_rank(const assay_sources *s, uint32_t source, uint64_t base, int rank, int ranks, uint64_t *first,
                          uint64_t *end)
{
    assay_sources_share(s, source, base, rank, ranks, first, end);
    if (rank == 0)
        *end = s->list[source].units;
}

/* Packs the files that the other ranks get of the trials that this one has listed, and keeps its own. */
static void deal_out_files(assay_sources *s, int rank, int ranks, assay_buf *to)
{
    uint64_t base = 0, first, end;
    for (uint32_t i = 0; i < s->count; base += s->list[i++].units) {
        assay_source *source = &s->list[i];
        for (int r = 0; source->listed && r < ranks; r++) {
            files_of_rank(s, i, base, r, ranks, &first, &end);
            if (r == rank || first == end)
                continue;
            assay_put_u32(&to[r], i);
            assay_units_pack(source->listed + first, end - first, &to[r]);
        }
        if (!source->listed)
            continue;
        files_of_rank(s, i, base, rank, ranks, &first, &end);
        memmove(source->listed, source->listed + first, (end - first) * sizeof *source->listed);
        assay_unit *own = assay_realloc_array(source->listed, end - first, sizeof *own);
        free(source->catalog.units); /* an empty list, as it came with the rest */
        source->catalog.units = own ? own : source->listed;
        source->catalog.unit_count = end - first;
        source->listed = NULL;
    }
}

static int unpack_files(assay_sources *s, const assay_buf *all, assay_error *err)
{
    assay_cursor in = assay_cursor_over(all->data, all->size);
    int status = ASSAY_OK;
    while (status == ASSAY_OK && assay_cursor_left(&in) > 0) {
        uint32_t number = assay_get_u32(&in);
        status = number < s->count ? assay_units_unpack(&in, &s->list[number].catalog) : ASSAY_EFORMAT;
    }
    if (status == ASSAY_EFORMAT)
        return assay_fail(err, ASSAY_EINTERNAL, "the units were damaged on their way between ranks");
    return status;
}

/* Brings the units from the ranks that have listed them to those that will read them. */
static int share_files(assay_comm *comm, assay_sources *s, uint64_t *starts, assay_error *err)
{
    int rank = assay_comm_rank(comm), size = assay_comm_size(comm), status = ASSAY_OK;
    assay_buf in, *to = assay_alloc_zeroed((size_t)size, sizeof *to);
    assay_buf_init(&in, SIZE_MAX);
    for (int r = 0; to && r < size; r++)
        assay_buf_init(&to[r], SIZE_MAX);
    if (to)
        deal_out_files(s, rank, size, to);
    status = to ? ASSAY_OK : ASSAY_ENOMEM;
    for (int r = 0; to && r < size; r++)
        status = status == ASSAY_OK ? assay_buf_status(&to[r]) : status;
    status = assay_comm_agree(comm, status, err);
    if (status == ASSAY_OK && size > 1)
        status = assay_comm_exchange(comm, to, &in, starts);
    for (int r = 0; to && r < size; r++)
        assay_buf_release(&to[r]);
    free(to);
    ASSAY_THEN(status, assay_comm_agree(comm, unpack_files(s, &in, err), err));
    assay_buf_release(&in);
    return status;
}

int assay_sources_list(assay_comm *comm, assay_sources *s, assay_error *err)
{
    int rank = assay_comm_rank(comm), size = assay_comm_size(comm), status = ASSAY_OK;
    assay_buf mine = ASSAY_BUF(SIZE_MAX), all = ASSAY_BUF(SIZE_MAX);
    uint64_t *starts = assay_alloc(((size_t)size + 1) * sizeof *starts);
    if (!starts)
        status = ASSAY_ENOMEM;
    if (s->view && rank == 0 && status == ASSAY_OK)
        status = s->view->list(s->view->context, s, &mine);
    for (uint32_t i = (uint32_t)rank; !s->view && status == ASSAY_OK && i < s->count; i += (uint32_t)size)
        status = list_source(s, i, &mine);
    if (status == ASSAY_ENOMEM)
        assay_fail(err, status, "out of memory on rank %d while listing a trial", rank);
    status = assay_comm_agree(comm, status, err);
    if (size > 1) {
        ASSAY_THEN(status, assay_comm_gather_all(comm, &mine, &all, starts));
    } else { /* logs go along with their values: they need not be there twice */
        all = mine;
        mine = ASSAY_BUF(SIZE_MAX);
    }
    ASSAY_THEN(status, assay_comm_agree(comm, unpack_sources(s, &all, err), err));
    ASSAY_THEN(status, share_files(comm, s, starts, err));
    free(starts);
    assay_buf_release(&mine);
    assay_buf_release(&all);
    return status;
}
