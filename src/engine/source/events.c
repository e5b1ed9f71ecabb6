/* events.c - the timelines of the job's trials (timeline/collect.h):
 *   1. each rank reads some event files in a row, about as many bytes as the others
 *   2. what they collected is joined on rank 0, in rank order
 *   3. rank 0 makes the timeline; where samples can only be told apart with all units, everybody reads once more */
#include <stdlib.h>

#include "base/fault.h"
#include "base/heap.h"
#include "base/log.h"
#include "engine/source/source.h"
#include "hang/collect.h"
#include "parallel/rank_reduce.h"

enum { COST_OF_A_FILE = 64 << 10 /* opening one takes as long as reading so many bytes */ };

static int find_want(const assay_job *job, assay_timeline_want *want)
{
    int status = ASSAY_OK;
    want->cell_size = ASSAY_TIMELINE_MINUTE;
    for (uint32_t i = 0; i < assay_job_instances(job); i++) {
        const assay_need *need = assay_job_instance(job, i)->need;
        for (uint32_t k = 0; need && k < need->time_count && status == ASSAY_OK; k++)
            status = assay_timeline_want_add(want, need->times[k].scan, need->times[k].from, need->times[k].to);
    }
    return status;
}

static uint64_t cost_of(const assay_event_file *file)
{
    return file->size + COST_OF_A_FILE;
}

/* What takes the files of some kinds. */
typedef struct taker {
    unsigned kinds; /* bit 1 << kind */
    void *collector;
    int (*read)(void *collector, assay_store *store, const assay_event_file *file, uint32_t number, assay_error *err);
} taker;

enum { TRACES = 1 << ASSAY_EVENTS_TRACE, DUMPS = 1 << ASSAY_EVENTS_DUMP };

static int take_in_time(void *collector, assay_store *store, const assay_event_file *file, uint32_t number,
                        assay_error *err)
{
    return assay_collector_read(collector, store, file, number, err);
}

static int take_trace(void *collector, assay_store *store, const assay_event_file *file, uint32_t number,
                      assay_error *err)
{
    return assay_trace_collector_read(collector, store, file, number, err);
}

static int take_dump(void *collector, assay_store *store, const assay_event_file *file, uint32_t number,
                     assay_error *err)
{
    return assay_hang_files_read(collector, store, file, number, err);
}

/* Reads the files of this rank's share: those whose middle lies in it, when all of their kinds are laid end to end. */
static int read_share(const assay_source *source, int rank, int ranks, const taker *to, uint64_t *files,
                      assay_error *err)
{
    const assay_event_files *list = &source->catalog.events;
    double total = 0, before = 0;
    int status = ASSAY_OK;
    for (size_t i = 0; i < list->count; i++)
        total += to->kinds & 1u << list->list[i].kind ? (double)cost_of(&list->list[i]) : 0;
    for (size_t i = 0; i < list->count && status == ASSAY_OK; i++) {
        if (!(to->kinds & 1u << list->list[i].kind))
            continue;
        const double middle = before + 0.5 * (double)cost_of(&list->list[i]);
        before += (double)cost_of(&list->list[i]);
        if ((int)(middle / total * ranks) != rank)
            continue;
        ++*files;
        status = to->read(to->collector, source->store, &list->list[i], (uint32_t)i, err);
    }
    return status;
}

static int pack(const void *mine, assay_buf *out)
{
    return assay_collector_pack(mine, out);
}

static int join(void *mine, assay_cursor *later, assay_error *err)
{
    return assay_collector_join(mine, later, err);
}

/* One reading of a trial's event files by all ranks. Rank 0 gets *out, unless all have to read *again. */
static int collect(assay_comm *comm, const assay_source *source, const assay_timeline_want *want, bool exact,
                   uint64_t *bytes, uint64_t *files, assay_timeline_data **out, bool *again, assay_error *err)
{
    static const assay_joiner joiner = {pack, join};
    const int rank = assay_comm_rank(comm);
    assay_collector *c = assay_collector_new(want, exact);
    const taker to = {~(unsigned)ASSAY_EVENTS_OF_RANKS, c, take_in_time};
    int status = c ? read_share(source, rank, assay_comm_size(comm), &to, files, err) : ASSAY_ENOMEM;
    if (c)
        *bytes += assay_collector_bytes_read(c);
    if (status == ASSAY_ENOMEM && !err->text[0])
        assay_fail(err, status, "out of memory on rank %d while event files were read", rank);
    status = assay_comm_agree(comm, c ? ASSAY_OK : status, err); /* the reduction wants a collector on each rank */
    ASSAY_THEN(status, assay_rank_reduce(comm, &joiner, c, status, err));
    if (status == ASSAY_OK && rank == 0)
        status = assay_collector_finish(c, &source->catalog.events, out, again);
    if (status == ASSAY_ENOMEM && !err->text[0])
        assay_fail(err, status, "out of memory while the timeline of %s was made", source->name);
    assay_collector_free(c);
    status = assay_comm_agree(comm, status, err);
    uint64_t word = *again;
    ASSAY_THEN(status, assay_comm_max(comm, &word, 1));
    *again = word != 0;
    return status;
}

static int pack_traces(const void *mine, assay_buf *out)
{
    return assay_trace_collector_pack(mine, out);
}

static int join_traces(void *mine, assay_cursor *later, assay_error *err)
{
    return assay_trace_collector_join(mine, later, err);
}

/* One reading of a trial's traces by all ranks. Rank 0 gets *out. */
static int collect_traces(assay_comm *comm, const assay_source *source, uint64_t *bytes, uint64_t *files,
                          assay_trace_data **out, assay_error *err)
{
    static const assay_joiner joiner = {pack_traces, join_traces};
    const int rank = assay_comm_rank(comm);
    assay_trace_collector *c = assay_trace_collector_new();
    const taker to = {TRACES, c, take_trace};
    int status = c ? read_share(source, rank, assay_comm_size(comm), &to, files, err) : ASSAY_ENOMEM;
    if (c)
        *bytes += assay_trace_collector_bytes_read(c);
    if (status == ASSAY_ENOMEM && !err->text[0])
        assay_fail(err, status, "out of memory on rank %d while traces were read", rank);
    status = assay_comm_agree(comm, c ? ASSAY_OK : status, err); /* the reduction wants a collector on each rank */
    ASSAY_THEN(status, assay_rank_reduce(comm, &joiner, c, status, err));
    if (status == ASSAY_OK && rank == 0)
        status = assay_trace_finish(c, &source->catalog.events, out);
    if (status == ASSAY_ENOMEM && !err->text[0])
        assay_fail(err, status, "out of memory while the traces of %s were set side by side", source->name);
    assay_trace_collector_free(c);
    return assay_comm_agree(comm, status, err);
}

/* What the traces of a trial come to, on rank 0. */
static int read_traces(assay_comm *comm, assay_source *source, uint64_t *bytes, uint64_t *files, assay_error *err)
{
    assay_trace_data *traces = NULL;
    int status = collect_traces(comm, source, bytes, files, &traces, err);
    if (status == ASSAY_OK && traces) {
        source->info->traces = traces;
        status = assay_trace_name_problems(traces, &source->catalog.events, &source->problems);
    }
    return assay_comm_agree(comm, status, err);
}

static int pack_dumps(const void *mine, assay_buf *out)
{
    return assay_hang_files_pack(mine, out);
}

static int join_dumps(void *mine, assay_cursor *later, assay_error *err)
{
    return assay_hang_files_join(mine, later, err);
}

/* Reads a trial's dumps by all ranks. Rank 0 gets what they come to. */
static int collect_dumps(assay_comm *comm, assay_source *source, uint64_t *bytes, uint64_t *files, assay_error *err)
{
    static const assay_joiner joiner = {pack_dumps, join_dumps};
    const int rank = assay_comm_rank(comm);
    assay_hang_files *dumps = assay_alloc_zeroed(1, sizeof *dumps);
    const taker to = {DUMPS, dumps, take_dump};
    int status = dumps ? read_share(source, rank, assay_comm_size(comm), &to, files, err) : ASSAY_ENOMEM;
    *bytes += dumps ? dumps->bytes : 0;
    if (status == ASSAY_ENOMEM && !err->text[0])
        assay_fail(err, status, "out of memory on rank %d while dumps were read", rank);
    const int read =
        assay_comm_agree(comm, dumps ? ASSAY_OK : ASSAY_ENOMEM, err); /* the reduction wants a list on each */
    status = read == ASSAY_OK ? assay_rank_reduce(comm, &joiner, dumps, status, err) : read;
    if (status == ASSAY_OK && rank == 0)
        status = assay_hang_files_finish(dumps, &source->catalog.events);
    if (status == ASSAY_OK && rank == 0) {
        status = assay_hang_files_name_problems(dumps, &source->catalog.events, &source->problems);
        source->info->dumps = dumps;
        dumps = NULL;
    }
    if (status == ASSAY_ENOMEM && !err->text[0])
        assay_fail(err, status, "out of memory while the dumps of %s were compared", source->name);
    assay_hang_files_release(dumps);
    free(dumps);
    return assay_comm_agree(comm, status, err);
}

/* All that is kept of profiler data is on rank 0 in the end, and grows with it. */
static void warn_of_memory(const assay_sources *sources, size_t memory)
{
    const double mebi = 1 << 20;
    const size_t resident = assay_heap_resident();
    bool any = false;
    for (uint32_t i = 0; i < sources->job_trials; i++)
        any = any || (sources->list[i].info && (sources->list[i].info->timeline || sources->list[i].info->traces));
    if (any && resident > memory)
        assay_log_warn("profiler data need %.0f MiB on every rank; --memory is %.0f MiB", (double)resident / mebi,
                       (double)memory / mebi);
}

int assay_sources_read_events(assay_comm *comm, assay_sources *sources, const assay_job *job, size_t memory,
                              uint64_t *bytes, uint64_t *files, assay_error *err)
{
    assay_timeline_want want = {0};
    assay_error unseen = {{0}};
    err = err ? err : &unseen;
    int status = assay_comm_agree(comm, find_want(job, &want), err);
    for (uint32_t i = 0; i < sources->job_trials && status == ASSAY_OK; i++) {
        assay_source *source = &sources->list[i];
        assay_timeline_data *timeline = NULL;
        bool again = false;
        if (source->status != ASSAY_OK || source->catalog.events.count == 0)
            continue;
        const unsigned kinds = assay_event_files_kinds(&source->catalog.events);
        if (kinds & TRACES)
            status = read_traces(comm, source, bytes, files, err);
        if (status == ASSAY_OK && (kinds & DUMPS))
            status = collect_dumps(comm, source, bytes, files, err);
        if (status != ASSAY_OK || !(kinds & ~(unsigned)ASSAY_EVENTS_OF_RANKS))
            continue;
        status = collect(comm, source, &want, false, bytes, files, &timeline, &again, err);
        if (status == ASSAY_OK && again) {
            again = false;
            status = collect(comm, source, &want, true, bytes, files, &timeline, &again, err);
        }
        if (status == ASSAY_OK && timeline) {
            source->info->timeline = timeline;
            status = assay_timeline_name_problems(timeline, &source->catalog.events, &source->problems);
        }
        status = assay_comm_agree(comm, status, err);
    }
    assay_timeline_want_release(&want);
    if (status == ASSAY_OK && assay_comm_rank(comm) == 0)
        warn_of_memory(sources, memory);
    return status;
}
