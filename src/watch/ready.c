/* ready.c - which steps of a watched trial are evaluated.
 *
 * Steps are those of all workers (trial/align.h), whatever each of them counts.
 *
 * A step is complete when every worker that is expected has written it. One that is not waits for `lag` seconds from
 * the last change of its files; then it is evaluated with the workers that are there, and those that are not count as
 * late: no step waits for them until they have written the newest one. A step that was evaluated stays so; what comes
 * to it later changes it. */
#include <stdlib.h>

#include "base/fault.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/search.h"
#include "trial/align.h"
#include "watch/scan.h"

typedef struct step_state {
    uint64_t absent; /* workers that are waited for */
    size_t ready;    /* parts */
    bool taken;
    double since;
} step_state;

/* A unit in the order of the steps of all. */
typedef struct ordered_unit {
    int64_t step;
    size_t unit; /* number in the catalog */
    uint32_t worker;
} ordered_unit;

ASSAY_ORDER_BY(compare_units, ordered_unit, step, worker, unit)

/* Numbers the units whose index can be used; the others keep the number that their worker gave them, moved as its last
 * one. */
static int align(const watched_source *source, ordered_unit *list, size_t count)
{
    assay_worker_step *rows = assay_alloc_zeroed(count, sizeof *rows);
    assay_step_shifts shifts = {0};
    size_t known = 0;
    for (size_t i = 0; rows && i < count; i++) {
        const assay_shard *shard = &source->part[i]->shard;
        if (shard->count > 0) {
            rows[known] = assay_part_worker_step(&shard->parts[0]);
            rows[known++].worker = list[i].worker; /* workers that came since have moved the numbers */
        }
    }
    int status = rows ? assay_steps_align(rows, known, &shifts) : ASSAY_ENOMEM;
    for (size_t i = 0; status == ASSAY_OK && i < count; i++)
        list[i].step = assay_step_of_all(&shifts, list[i].worker, list[i].step, source->part[list[i].unit]->mode);
    if (status == ASSAY_OK)
        qsort(list, count, sizeof *list, compare_units);
    assay_step_shifts_release(&shifts);
    free(rows);
    return status;
}

/* All units in order; NULL without memory. The caller frees it. */
static ordered_unit *order_units(const watched_source *source)
{
    const assay_catalog *catalog = &source->catalog;
    assay_step_check check = {0};
    bool alike = true;
    ordered_unit *list = assay_alloc_zeroed(catalog->unit_count, sizeof *list);
    for (size_t i = 0; list && source->listed && i < catalog->unit_count; i++) {
        const assay_shard *shard = &source->part[i]->shard;
        list[i] = (ordered_unit){catalog->units[i].step, i, catalog->units[i].worker};
        alike = alike && (shard->count == 0 ||
                          assay_step_check_next(&check, list[i].step, shard->parts[0].mode, shard->parts[0].mode_step));
    }
    if (list && !alike && align(source, list, catalog->unit_count) != ASSAY_OK) {
        free(list);
        list = NULL;
    }
    return list;
}

/* By worker, the modes in which it has written a step: bit 1 << mode. NULL without memory. The caller frees it. */
static uint8_t *modes_of_workers(const watched_source *source)
{
    const assay_catalog *catalog = &source->catalog;
    uint8_t *modes = assay_alloc_zeroed(catalog->workers, 1);
    for (size_t i = 0; modes && source->listed && i < catalog->unit_count; i++)
        if (source->part[i]->shard.count > 0)
            modes[catalog->units[i].worker] |= (uint8_t)(1u << source->part[i]->shard.parts[0].mode);
    return modes;
}

/* The units of one step: [first, end) of the list. */
typedef struct step_units {
    const ordered_unit *list;
    const uint8_t *modes; /* of the workers */
    size_t first, end;
    int mode; /* of the step, ASSAY_MODE_NONE: not known yet */
} step_units;

static int mode_of(const watched_source *source, const ordered_unit *list, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        if (source->part[list[i].unit]->shard.count > 0)
            return source->part[list[i].unit]->shard.parts[0].mode;
    return ASSAY_MODE_NONE;
}

/* Often one worker alone evaluates: the others are not waited for. */
static bool is_expected(const step_units *step, uint32_t worker)
{
    return step->mode == ASSAY_MODE_NONE || step->modes[worker] == 0 || (step->modes[worker] >> step->mode & 1);
}

/* What the next worker has of the step, of all formats; *i goes on behind it. */
typedef struct worker_state {
    size_t parts, ready;
    bool taken;
    double since;
} worker_state;

static worker_state worker_of(const watched_source *source, const step_units *step, size_t *i, uint32_t worker)
{
    worker_state state = {0};
    for (; *i < step->end && step->list[*i].worker == worker; ++*i) {
        const watched_part *part = source->part[step->list[*i].unit];
        state.parts++;
        state.ready += part->ready;
        state.taken = state.taken || part->taken;
        state.since = part->since > state.since ? part->since : state.since;
    }
    return state;
}

static bool is_written(const worker_state *state)
{
    return state->parts > 0 && state->ready == state->parts;
}

static step_state state_of(const watched_source *source, const step_units *step)
{
    const assay_catalog *catalog = &source->catalog;
    step_state state = {0};
    size_t i = step->first;
    for (uint32_t w = 0; w < catalog->workers; w++) {
        const worker_state worker = worker_of(source, step, &i, w);
        state.absent += is_expected(step, w) && !source->late[w] && !is_written(&worker);
        state.ready += worker.ready;
        state.taken = state.taken || worker.taken;
        state.since = worker.since > state.since ? worker.since : state.since;
    }
    if (!source->unnamed_late)
        state.absent += catalog->expected_workers - catalog->workers;
    if (!source->collections_late)
        state.absent += catalog->collections.num_workers == 0;
    return state;
}

/* Nobody waits for those any more who have not written the step. */
static void give_up_on_absent(watched_source *source, const char *name, const step_units *step)
{
    const assay_catalog *catalog = &source->catalog;
    size_t i = step->first;
    for (uint32_t w = 0; w < catalog->workers; w++) {
        const worker_state worker = worker_of(source, step, &i, w);
        if (!is_expected(step, w) || source->late[w] || is_written(&worker))
            continue;
        source->late[w] = 1;
        assay_log_warn(
            "%s: %s has not written step %lld: it is evaluated without, and steps do not wait for this worker until "
            "it has caught up",
            name, catalog->worker[w], (long long)step->list[step->first].step);
    }
    if (catalog->expected_workers > catalog->workers && !source->unnamed_late)
        assay_log_warn("%s: %u of %u workers wrote nothing so far: steps do not wait for them", name,
                       catalog->expected_workers - catalog->workers, catalog->expected_workers);
    source->unnamed_late = source->unnamed_late || catalog->expected_workers > catalog->workers;
    source->collections_late = source->collections_late || catalog->collections.num_workers == 0;
}

/* A late worker that has written the newest step is waited for again. */
static void welcome_back(watched_source *source, const ordered_unit *list)
{
    const assay_catalog *catalog = &source->catalog;
    for (size_t i = catalog->unit_count; i-- > 0 && list[i].step == list[catalog->unit_count - 1].step;)
        if (source->part[list[i].unit]->ready)
            source->late[list[i].worker] = 0;
    if (catalog->expected_workers == catalog->workers)
        source->unnamed_late = false;
    if (catalog->collections.num_workers > 0)
        source->collections_late = false;
}

/* A hash of all that an evaluation would see. */
static uint64_t view_of(const watched_source *source)
{
    const uint64_t whole[] = {source->facts, source->events};
    uint64_t view = source->listed ? assay_hash_bytes(whole, sizeof whole) : 0;
    for (size_t i = 0; source->listed && i < source->catalog.unit_count; i++) {
        const watched_part *part = source->part[i];
        if (!watched_part_seen(part))
            continue;
        const uint64_t numbers[] = {view,
                                    (uint64_t)part->step,
                                    source->catalog.units[i].worker,
                                    part->index.size,
                                    (uint64_t)part->index.time,
                                    part->index.node,
                                    part->event.size,
                                    (uint64_t)part->event.time,
                                    part->event.node};
        view = assay_hash_bytes(numbers, sizeof numbers);
    }
    return view;
}

int assay_watched_judge(watched_source *source, const char *name, double now, double lag, watched_steps *out)
{
    const size_t count = source->listed ? source->catalog.unit_count : 0;
    *out = (watched_steps){0};
    ordered_unit *list = order_units(source);
    uint8_t *modes = modes_of_workers(source);
    if (!list || !modes) {
        free(list);
        free(modes);
        return ASSAY_ENOMEM;
    }
    if (count > 0)
        welcome_back(source, list);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && list[end].step == list[first].step;)
            end++;
        const step_units step = {list, modes, first, end, mode_of(source, list, first, end)};
        step_state state = state_of(source, &step);
        bool tired = now - state.since >= lag;
        if (!state.taken && state.absent > 0 && tired && state.ready > 0)
            give_up_on_absent(source, name, &step);
        state.taken = state.taken || (state.ready > 0 && (state.absent == 0 || tired));
        for (size_t i = first; i < end; i++) {
            watched_part *part = source->part[list[i].unit];
            part->taken = state.taken;
            out->pending = out->pending || (!part->ready && !tired);
        }
        out->pending = out->pending || (state.absent > 0 && !tired);
        out->complete += state.taken;
        out->waiting += !state.taken;
    }
    source->view = view_of(source);
    free(list);
    free(modes);
    return ASSAY_OK;
}
