/* judge.c - which steps of a watched trial are evaluated.
 *
 * A step is complete when every worker that is expected has written it. One that is not waits for `lag` seconds from
 * the last change of its files; then it is evaluated with the workers that are there, and those that are not count as
 * late: no step waits for them until they have written the newest one. A step that was evaluated stays so; what comes
 * to it later changes it. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/log.h"
#include "watch/look.h"

typedef struct step_state {
    uint64_t absent; /* workers that are waited for */
    size_t ready;    /* parts */
    bool taken;
    double since;
} step_state;

/* Parts [first, end) are those of one step. */
static step_state state_of(const watched_source *source, size_t first, size_t end)
{
    const assay_catalog *catalog = &source->catalog;
    step_state state = {0};
    size_t i = first;
    for (uint32_t w = 0; w < catalog->workers; w++) {
        const watched_part *part = i < end && catalog->units[i].worker == w ? source->part[i++] : NULL;
        state.absent += !source->late[w] && !(part && part->ready);
        if (!part)
            continue;
        state.ready += part->ready;
        state.taken = state.taken || part->taken;
        state.since = part->since > state.since ? part->since : state.since;
    }
    if (!source->unnamed_late)
        state.absent += catalog->expected_workers - catalog->workers;
    if (!source->collections_late)
        state.absent += catalog->collections.num_workers == 0;
    return state;
}

/* Nobody waits for those any more who have not written the step. */
static void give_up_on_absent(watched_source *source, const char *name, size_t first, size_t end)
{
    const assay_catalog *catalog = &source->catalog;
    size_t i = first;
    for (uint32_t w = 0; w < catalog->workers; w++) {
        const watched_part *part = i < end && catalog->units[i].worker == w ? source->part[i++] : NULL;
        if (source->late[w] || (part && part->ready))
            continue;
        source->late[w] = 1;
        assay_log_warn(
            "%s: %s has not written step %lld: it is evaluated without, and steps do not wait for this worker until "
            "it has caught up",
            name, catalog->worker[w], (long long)source->part[first]->step);
    }
    if (catalog->expected_workers > catalog->workers && !source->unnamed_late)
        assay_log_warn("%s: %u of %u workers wrote nothing so far: steps do not wait for them", name,
                       catalog->expected_workers - catalog->workers, catalog->expected_workers);
    source->unnamed_late = source->unnamed_late || catalog->expected_workers > catalog->workers;
    source->collections_late = source->collections_late || catalog->collections.num_workers == 0;
}

/* A late worker that has written the newest step is waited for again. */
static void welcome_back(watched_source *source)
{
    const assay_catalog *catalog = &source->catalog;
    for (size_t i = catalog->unit_count;
         i-- > 0 && catalog->units[i].step == catalog->units[catalog->unit_count - 1].step;)
        if (source->part[i]->ready)
            source->late[catalog->units[i].worker] = 0;
    if (catalog->expected_workers == catalog->workers)
        source->unnamed_late = false;
    if (catalog->collections.num_workers > 0)
        source->collections_late = false;
}

/* A hash of all that an evaluation would see. */
static uint64_t view_of(const watched_source *source)
{
    uint64_t view = source->listed ? source->facts : 0;
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

watched_steps assay_watched_judge(watched_source *source, const char *name, double now, double lag)
{
    watched_steps steps = {0};
    const assay_catalog *catalog = &source->catalog;
    if (source->listed && catalog->unit_count > 0)
        welcome_back(source);
    for (size_t first = 0, end; source->listed && first < catalog->unit_count; first = end) {
        for (end = first + 1; end < catalog->unit_count && catalog->units[end].step == catalog->units[first].step;)
            end++;
        step_state state = state_of(source, first, end);
        bool tired = now - state.since >= lag;
        if (!state.taken && state.absent > 0 && tired && state.ready > 0)
            give_up_on_absent(source, name, first, end);
        state.taken = state.taken || (state.ready > 0 && (state.absent == 0 || tired));
        for (size_t i = first; i < end; i++) {
            source->part[i]->taken = state.taken;
            steps.pending = steps.pending || (!source->part[i]->ready && !tired);
        }
        steps.pending = steps.pending || (state.absent > 0 && !tired);
        steps.complete += state.taken;
        steps.waiting += !state.taken;
    }
    source->view = view_of(source);
    return steps;
}
