/* watch.c - a watch as a whole: made, asked, released. */
#include "watch/watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "watch/scan.h"

int assay_watch_new(assay_comm *comm, const assay_job *job, double lag, assay_watch **out)
{
    assay_watch *watch = assay_alloc_zeroed(1, sizeof *watch);
    *out = watch;
    if (!watch)
        return ASSAY_ENOMEM;
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
