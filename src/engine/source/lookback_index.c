/* lookback_index.c - see lookback_index.h. */
#include "engine/source/lookback_index.h"

#include <stdlib.h>

#include "base/fault.h"
#include "base/vec.h"

typedef struct reached { /* by one worker */
    uint64_t left;       /* positions of the steps that were not read yet: [0, left) */
    assay_shard *shards; /* of one step each, newest first */
    size_t count, room;
} reached;

struct assay_lookback_index {
    const assay_source *source;
    reached *of; /* [workers] */
};

/* The position of the first step that is this rank's own. */
static uint64_t own_position(const assay_source *source)
{
    const assay_shard *s = &source->shard;
    size_t p = 0;
    while (p < s->count && s->parts[p].before)
        p++;
    return p < s->count ? assay_trial_find_step(source->info, s->parts[p].step) : 0;
}

assay_lookback_index *assay_lookback_index_new(const assay_source *source)
{
    assay_lookback_index *f = assay_alloc_zeroed(1, sizeof *f);
    reached *of = assay_alloc_zeroed(source->catalog.workers, sizeof *of);
    if (!f || !of) {
        free(f);
        free(of);
        return NULL;
    }
    uint64_t own = own_position(source);
    for (uint32_t w = 0; w < source->catalog.workers; w++)
        of[w].left = own;
    *f = (assay_lookback_index){source, of};
    return f;
}

void assay_lookback_index_free(assay_lookback_index *f)
{
    for (uint32_t w = 0; f && w < f->source->catalog.workers; w++) {
        for (size_t i = 0; i < f->of[w].count; i++)
            assay_shard_release(&f->of[w].shards[i]);
        free(f->of[w].shards);
    }
    if (f)
        free(f->of);
    free(f);
}

/* Gives the tensors their common numbers, and brings the part to what all ranks agreed on. */
static int settle(const assay_source *source, const assay_dict *names, uint64_t position, assay_shard *shard)
{
    uint32_t count = assay_dict_count(names);
    uint32_t *new_id = assay_alloc(count * sizeof *new_id);
    ASSAY_HAVE(new_id);
    for (uint32_t i = 0; i < count; i++) {
        size_t length;
        const char *name = assay_dict_name(names, i, &length);
        new_id[i] = assay_dict_find(source->info->tensors, name, length);
    }
    assay_shard_drop_shapes(shard);
    assay_shard_renumber(shard, new_id);
    const assay_step_info *step = &source->info->steps[position];
    for (size_t p = 0; p < shard->count; p++) {
        assay_part *part = &shard->parts[p];
        part->step = step->step;
        part->mode = (uint8_t)step->mode;
        part->mode_step = step->mode_step;
    }
    free(new_id);
    return ASSAY_OK;
}

/* Reads the index of a step and worker; a shard without parts when there is none. */
static int read_step(const assay_source *source, uint64_t position, uint32_t worker, assay_shard *shard)
{
    const assay_catalog *catalog = &source->catalog;
    const assay_step_shifts *shifts = &source->info->shifts;
    assay_problems unnamed;
    assay_dict *names = assay_dict_new();
    assay_problems_init(&unnamed);
    int status = names ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint32_t i = 0; status == ASSAY_OK && i < catalog->format_count; i++) {
        const assay_step_info *step = &source->info->steps[position];
        const int64_t own = assay_step_own(shifts, worker, step->step);
        const assay_unit unit = assay_catalog_unit(catalog, own, step->mode, worker, i);
        if (assay_step_of_all(shifts, worker, own, unit.mode) == step->step) /* else it is of another step */
            status = assay_index_read(source->store, catalog, &unit, 1, &(assay_index_sink){names, shard, &unnamed});
    }
    ASSAY_THEN(status, settle(source, names, position, shard));
    assay_problems_release(&unnamed);
    assay_dict_free(names);
    return status;
}

/* Reads the next step back that the worker wrote. 1, 0 when there is none, or ASSAY_ENOMEM. */
static int read_more(assay_lookback_index *f, uint32_t worker)
{
    reached *w = &f->of[worker];
    while (w->left > 0) {
        assay_shard shard;
        assay_shard_init(&shard);
        ASSAY_HAVE(assay_vec_reserve(&w->shards, &w->room, w->count + 1, sizeof *w->shards));
        int status = read_step(f->source, --w->left, worker, &shard);
        if (status == ASSAY_OK && shard.count > 0) {
            w->shards[w->count++] = shard;
            return 1;
        }
        assay_shard_release(&shard);
        ASSAY_TRY(status);
    }
    return 0;
}

/* The raw record of a tensor in a shard of one step before `step`. */
static bool find_raw(const assay_shard *s, uint32_t tensor, int64_t step, assay_place *out)
{
    for (size_t p = 0; p < s->count && s->parts[p].step < step; p++) {
        const assay_entry *entry = assay_part_raw(s, &s->parts[p], tensor);
        if (entry) {
            *out = (assay_place){&s->parts[p], entry};
            return true;
        }
    }
    return false;
}

int assay_lookback_index_before(assay_lookback_index *f, uint32_t tensor, uint32_t worker, int64_t step,
                                assay_place *out)
{
    for (size_t i = 0;; i++) {
        int more = i < f->of[worker].count ? 1 : read_more(f, worker);
        if (more <= 0)
            return more;
        if (find_raw(&f->of[worker].shards[i], tensor, step, out))
            return 1;
    }
}
