/* recording.c - opens a trial: its workers and steps, what is missing and what is damaged. */
#include "recording/recording.h"

#include <stdlib.h>

#include "base/fault.h"
#include "base/search.h"

/* Collects global steps; the mode comes from the first unit of a step that could be used. A step that nobody could
 * read is one all the same. */
static int collect_steps(assay_recording *r)
{
    const assay_catalog *catalog = &r->files.catalog;
    const assay_shard *s = &r->files.shard;
    r->steps = assay_alloc_zeroed(catalog->unit_count, sizeof *r->steps);
    ASSAY_HAVE(r->steps);
    for (size_t i = 0; i < catalog->unit_count; i++) {
        int64_t step = catalog->units[i].step;
        if (i > 0 && catalog->units[i - 1].step == step)
            continue;
        assay_step_info *info = &r->steps[r->step_count++];
        *info = (assay_step_info){step, -1, ASSAY_MODE_NONE};
        size_t part = assay_shard_find(s, step);
        if (part < s->count && s->parts[part].step == step) {
            info->mode = s->parts[part].mode;
            info->mode_step = s->parts[part].mode_step;
        }
    }
    return ASSAY_OK;
}

/* Collects, by mode, which steps a worker writes: a worker that only evaluates lacks no step of training. */
static int collect_worker_modes(assay_recording *r)
{
    const assay_shard *s = &r->files.shard;
    r->worker_modes = assay_alloc_zeroed(r->files.catalog.workers, 1);
    for (size_t p = 0; r->worker_modes && p < s->count; p++)
        r->worker_modes[s->parts[p].worker] |= (uint8_t)(1u << s->parts[p].mode);
    return r->worker_modes ? ASSAY_OK : ASSAY_ENOMEM;
}

/* Workers that a trial expects and that wrote nothing have names as well, made like those of the others. */
static int name_absent(assay_recording *r)
{
    const assay_catalog *catalog = &r->files.catalog;
    const uint32_t named = assay_named_workers(catalog);
    ASSAY_TRY(assay_worker_names_init(&r->names, catalog));
    r->absent = assay_alloc_zeroed(named - catalog->workers, sizeof *r->absent);
    for (uint32_t w = catalog->workers; r->absent && w < named; w++)
        assay_worker_name(&r->names, w, r->absent[w - catalog->workers]);
    return r->absent ? ASSAY_OK : ASSAY_ENOMEM;
}

/* No rank of MPI takes part: a recording is read by one process. *out is set on success only. */
int assay_recording_open(const char *location, assay_recording **out, assay_error *err)
{
    assay_recording *r = assay_alloc_zeroed(1, sizeof *r);
    if (!r || pthread_mutex_init(&r->lock, NULL) != 0) {
        free(r);
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while opening it", location);
    }
    int status = assay_trial_open(location, &r->files, err);
    if (status != ASSAY_OK) {
        pthread_mutex_destroy(&r->lock);
        free(r);
        return status;
    }
    r->reader.trial = &r->files;
    status = collect_steps(r);
    ASSAY_THEN(status, collect_worker_modes(r));
    ASSAY_THEN(status, name_absent(r));
    ASSAY_THEN(status, assay_incomplete_find(&r->files.catalog, r->steps, r->step_count, r->worker_modes,
                                             &r->incomplete, &r->incomplete_count));
    ASSAY_THEN(status, recording_kept_init(&r->kept, r->files.shard.count));
    if (status != ASSAY_OK) {
        assay_recording_close(r);
        return assay_fail(err, status, "%s: out of memory for its steps", location);
    }
    *out = r;
    return ASSAY_OK;
}

void assay_recording_close(assay_recording *r)
{
    if (!r)
        return;
    for (uint32_t t = 0; r->rows && t < assay_dict_count(r->files.tensors); t++) {
        free(r->rows[t].saved);
        /* Any part may be missing: also called for a recording that was half opened. */
        free(r->rows[t].first);
    }
    free(r->rows);
    free(r->items);
    free(r->first);
    recording_kept_release(&r->kept, r->files.shard.count);
    assay_trial_reader_close(&r->reader);
    for (size_t i = 0; i < r->incomplete_count; i++)
        free(r->incomplete[i].missing);
    free(r->incomplete);
    free(r->worker_modes);
    free(r->steps);
    free(r->absent);
    assay_worker_names_release(&r->names);
    assay_trial_release(&r->files);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

const char *assay_recording_version(void)
{
    return ASSAY_VERSION;
}

const char *assay_recording_location(const assay_recording *r)
{
    return assay_store_location(r->files.store);
}

bool assay_recording_ended(const assay_recording *r)
{
    return r->files.catalog.ended;
}

uint32_t assay_recording_workers(const assay_recording *r)
{
    return r->files.catalog.workers;
}

uint32_t assay_recording_expected_workers(const assay_recording *r)
{
    return r->files.catalog.expected_workers;
}

uint32_t assay_recording_said_workers(const assay_recording *r)
{
    return r->files.catalog.collections.num_workers;
}

const char *assay_recording_worker(const assay_recording *r, uint32_t worker)
{
    const assay_catalog *catalog = &r->files.catalog;
    if (worker < catalog->workers)
        return catalog->worker[worker];
    return worker < assay_named_workers(catalog) ? r->absent[worker - catalog->workers] : "";
}

uint64_t assay_recording_steps(const assay_recording *r)
{
    return r->step_count;
}

const assay_step_info *assay_recording_step(const assay_recording *r, uint64_t i)
{
    return i < r->step_count ? &r->steps[i] : NULL;
}

size_t assay_recording_missing(const assay_recording *r, uint64_t i, const uint32_t **workers)
{
    size_t low = 0;
    ASSAY_SEARCH(low, i < r->step_count ? r->incomplete_count : 0, r->incomplete[low].step < r->steps[i].step);
    if (i >= r->step_count || low == r->incomplete_count || r->incomplete[low].step != r->steps[i].step)
        return 0;
    *workers = r->incomplete[low].missing;
    return r->incomplete[low].missing_count;
}

uint64_t assay_recording_problems(const assay_recording *r)
{
    return r->files.problems.total;
}

/* Fewer problems are kept than counted, so a number may have none. */
int assay_recording_problem(const assay_recording *r, uint64_t i, assay_recorded_problem *out)
{
    if (i >= r->files.problems.kept)
        return ASSAY_ENOTFOUND;
    const assay_problem *p = &r->files.problems.list[i];
    *out = (assay_recorded_problem){.kind = assay_problem_word(p->kind),
                                    .file = p->file ? p->file : "",
                                    .text = p->text,
                                    .step = p->step,
                                    .offset = p->offset,
                                    .is_loss = assay_problem_is_loss(p->kind)};
    return ASSAY_OK;
}
