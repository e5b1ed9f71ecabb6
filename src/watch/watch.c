/* watch.c - a watch as a whole: made, asked, released. */
#include "watch/watch.h"

#include <stdlib.h>

#include "base/fault.h"
#include "watch/scan.h"
#include "watch/watch_internal.h"

/* ---- run view ---- */

/* A watched trial as an evaluation sees it: the steps that are complete, as if nothing else were there. */

static int put_catalog(watched_source *source, assay_unit **files, assay_buf *out)
{
    assay_catalog head = source->catalog;
    *files = assay_alloc(head.unit_count * sizeof **files);
    ASSAY_HAVE(*files);
    head.units = NULL;
    head.unit_count = 0;
    uint64_t seen = 0;
    for (size_t i = 0; i < source->catalog.unit_count; i++)
        if (watched_part_seen(source->part[i]))
            (*files)[seen++] = source->catalog.units[i];
    assay_put_u64(out, seen);
    assay_catalog_pack(&head, out);
    return assay_buf_status(out);
}

/* The calls of assay_run_view; `context` is the assay_watch. */
static int assay_watch_put_catalogs(void *context, assay_sources *sources, assay_buf *out)
{
    assay_watch *watch = context;
    int status = ASSAY_OK;
    for (uint32_t s = 0; status == ASSAY_OK && s < watch->sources.count; s++) {
        watched_source *source = &watch->list[s];
        source->evaluated = source->view;
        assay_put_u32(out, s);
        assay_put_i64(out, source->listed ? ASSAY_OK : ASSAY_ENOTFOUND);
        assay_put_text(out, source->listed ? "" : "the trial is not there yet");
        if (source->listed)
            status = put_catalog(source, &sources->list[s].listed, out);
    }
    return status == ASSAY_OK ? assay_buf_status(out) : status;
}

/* From the numbers of all names that the source ever had to those that the evaluations see. */
static int renumber(watched_source *source, assay_shard *shard, assay_dict *to)
{
    uint32_t count = assay_dict_count(source->names);
    uint32_t *new_id = assay_alloc_zeroed(count, sizeof *new_id);
    uint8_t *wanted = assay_alloc_zeroed(count, 1);
    int status = new_id && wanted ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; status == ASSAY_OK && i < shard->entry_count; i++)
        wanted[shard->entries[i].tensor] = 1;
    for (size_t i = 0; status == ASSAY_OK && i < shard->shape_count; i++)
        wanted[shard->shapes[i].tensor] = 1;
    ASSAY_THEN(status, assay_watch_number(&source->numbers, source->names, wanted, to, new_id));
    if (status == ASSAY_OK)
        assay_shard_renumber(shard, new_id);
    free(new_id);
    free(wanted);
    return status;
}

static int assay_watch_read_index(void *context, uint32_t number, assay_dict *names, assay_shard *shard)
{
    assay_watch *watch = context;
    watched_source *source = &watch->list[number];
    assay_buf packed = ASSAY_BUF(SIZE_MAX);
    int status = ASSAY_OK;
    for (size_t i = 0; source->listed && status == ASSAY_OK && i < source->catalog.unit_count; i++) {
        if (!watched_part_seen(source->part[i]))
            continue;
        assay_buf_clear(&packed);
        assay_shard_pack(&source->part[i]->shard, 0, 1, &packed);
        assay_cursor in = assay_cursor_over(packed.data, packed.size);
        status = assay_buf_status(&packed);
        ASSAY_THEN(status, assay_shard_unpack(&in, shard, NULL));
        if (status == ASSAY_OK) /* workers that came since have moved the numbers */
            shard->parts[shard->count - 1].worker = source->catalog.units[i].worker;
    }
    assay_buf_release(&packed);
    return status == ASSAY_OK ? renumber(source, shard, names) : status;
}

/* ---- watch ---- */

int assay_watch_new(assay_comm *comm, const assay_job *job, double lag, assay_watch **out)
{
    assay_watch *watch = assay_alloc_zeroed(1, sizeof *watch);
    *out = watch;
    ASSAY_HAVE(watch);
    watch->comm = comm;
    watch->lag = lag;
    watch->view = (assay_run_view){.context = watch,
                                   .list = assay_watch_put_catalogs,
                                   .read_index = assay_watch_read_index,
                                   .layouts = assay_watch_layouts,
                                   .recall = assay_watch_recall,
                                   .keep = assay_watch_keep};
    if (assay_comm_rank(comm) > 0)
        return ASSAY_OK;
    int status = assay_sources_init(&watch->sources, job);
    watch->list = assay_alloc_zeroed(watch->sources.count, sizeof *watch->list);
    if (status == ASSAY_OK && !watch->list)
        status = ASSAY_ENOMEM;
    for (uint32_t s = 0; status == ASSAY_OK && s < watch->sources.count; s++) {
        const assay_source *source = &watch->sources.list[s];
        status = assay_watched_init(&watch->list[s], source->path, source->options ? source->options->topology : NULL);
        watch->list[s].root = assay_trial_root(source->options, source->path);
        watch->list[s].options = source->options;
    }
    return status;
}

void assay_watch_free(assay_watch *watch)
{
    if (!watch)
        return;
    for (uint32_t s = 0; watch->list && s < watch->sources.count; s++)
        assay_watched_release(&watch->list[s]);
    free(watch->list);
    free(watch->key);
    free(watch->found);
    assay_sources_release(&watch->sources);
    free(watch);
}

const assay_run_view *assay_watch_view(const assay_watch *watch)
{
    return &watch->view;
}

const char *assay_watch_reason(const assay_watch *watch, size_t trial)
{
    return watch->list[trial].listed ? NULL : watch->list[trial].reason;
}

int assay_watch_look(assay_watch *watch, double now, assay_watch_sight *sight, assay_error *err)
{
    int status = ASSAY_OK;
    *sight = (assay_watch_sight){.ended = true};
    for (uint32_t s = 0; status == ASSAY_OK && s < watch->sources.count; s++) {
        watched_source *source = &watch->list[s];
        status = assay_watched_look(source, now, &sight->changed, err);
        if (status != ASSAY_OK)
            break;
        watched_steps steps;
        status = assay_watched_judge(source, watch->sources.list[s].name, now, watch->lag, &steps);
        if (status != ASSAY_OK)
            return assay_fail(err, status, "out of memory while the steps of a trial were judged");
        sight->steps += steps.complete;
        sight->waiting += steps.waiting;
        sight->due = sight->due || source->view != source->evaluated;
        if (s < watch->sources.job_trials && (!source->listed || !source->catalog.ended || steps.pending))
            sight->ended = false;
    }
    return status;
}
