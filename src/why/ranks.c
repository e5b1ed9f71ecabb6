/* ranks.c - events and outputs by their rank, so that nothing that is asked of each event looks at all others. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/search.h"
#include "why/combine.h"

enum { LOOKED_MOST = 512 /* events of a rank at the end of a file */ };

ASSAY_ORDER_BY(by_rank, why_member, rank, item)

static bool has_number(const why_numbers *n, int64_t number)
{
    return n->count > 0 && bsearch(&number, n->list, n->count, sizeof number, assay_order_i64);
}

static bool add_number(why_numbers *n, int64_t number)
{
    int64_t *added = ASSAY_VEC_ADD(n);
    if (added)
        *added = number;
    return added;
}

/* Who says that it came to its end. */
static bool take_finished(const assay_why *why, why_ranks *r)
{
    bool made = true;
    for (size_t f = 0; f < why->file.count && made; f++) {
        const assay_log_file *file = &why->file.list[f];
        const why_place *place = &why->places.list.list[file->file];
        bool any = false;
        for (size_t k = 0; k < file->rank.count && made; k++) {
            const assay_log_rank *row = &file->rank.list[k];
            if (!row->finished)
                continue;
            any = true;
            made = add_number(&r->finished, why_rank_of_row(place, row));
        }
        if (any)
            made = made && add_number(&r->finished_files, (int64_t)f) && add_number(&r->finished_places, place->rank);
    }
    why_numbers *const all[] = {&r->finished, &r->finished_files, &r->finished_places};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->count > 1)
            qsort(all[i]->list, all[i]->count, sizeof *all[i]->list, assay_order_i64);
    return made;
}

static why_group *group_of(why_ranks *r, int64_t rank)
{
    size_t low = 0, high = r->group.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (r->group.list[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->group.count && r->group.list[low].rank == rank ? &r->group.list[low] : NULL;
}

/* Whom a launcher stopped: the ranks that an event names. False without memory. */
static bool take_stopped(why_ranks *r, const why_item *i)
{
    why_link named = {.time = NAN};
    const bool made = why_add_item(&named, i);
    for (size_t k = 0; k < named.rank.count; k++) {
        why_group *group = group_of(r, named.rank.list[k]);
        if (group)
            group->stopped = true;
    }
    free(named.rank.list);
    free(named.node.list);
    return made;
}

bool why_ranks_make(why_scene *s)
{
    why_ranks *r = &s->by_rank;
    const size_t count = s->item.count;
    r->member = assay_alloc_zeroed(count + 1, sizeof *r->member);
    if (!r->member || !take_finished(s->why, r))
        return false;
    for (size_t k = 0; k < count; k++)
        r->member[k] = (why_member){s->item.list[k].rank, k, 0};
    if (count > 1)
        qsort(r->member, count, sizeof *r->member, by_rank);
    for (size_t k = 0; k < count; k++) {
        why_group *group = r->group.count > 0 ? &r->group.list[r->group.count - 1] : NULL;
        if (!group || group->rank != r->member[k].rank) {
            group = ASSAY_VEC_ADD(&r->group);
            if (!group)
                return false;
            *group = (why_group){.rank = r->member[k].rank, .first = k, .least = INT_MAX};
        }
        group->count++;
        s->item.list[r->member[k].item].group = r->group.count - 1;
    }
    for (size_t k = count; k-- > 0;) {
        why_item *i = &s->item.list[r->member[k].item];
        const why_member *next = k + 1 < count ? &r->member[k + 1] : NULL;
        const bool same = next && next->rank == i->rank && s->item.list[next->item].file == i->file;
        const why_item *other = same ? &s->item.list[next->item] : NULL;
        r->member[k].end = same ? next->end : k + 1;
        i->inside = i->event->inside && !(other && other->event->chained && !other->inside);
        if (i->event->ending == ASSAY_ENDING_launcher && i->event->code > 0 && i->rank >= 0)
            r->group.list[i->group].ended = true;
        r->group.list[i->group].crashes += why_is_crash_of_own(i->event) && i->event->role != ASSAY_LOG_NOISE;
    }
    size_t ended = SIZE_MAX,
           stopped = SIZE_MAX; /* the last files that say how somebody ended, and that ranks were stopped then */
    for (size_t k = 0; k < count; k++) {
        why_item *i = &s->item.list[k];
        const assay_log_event *e = i->event;
        const bool stops =
            e->scope == ASSAY_LOG_JOB && e->ending == ASSAY_ENDING_signal && (i->rank >= 0 || e->ranks[0]);
        i->late = stops && i->file == stopped;
        if (stops && e->role == ASSAY_LOG_CONSEQUENCE) {
            stopped = i->file;
            if (!take_stopped(r, i))
                return false;
        }
        const bool first = i->file != ended && e->ending == ASSAY_ENDING_signal && e->role == ASSAY_LOG_EITHER;
        if (first && i->rank >= 0 && !e->ranks[0] && (e->scope == ASSAY_LOG_JOB || e->code == 9))
            r->group.list[i->group].killed = true;
        if (e->ending == ASSAY_ENDING_launcher || (e->scope == ASSAY_LOG_JOB && e->role != ASSAY_LOG_NOISE))
            ended = i->file;
    }
    return true;
}

void why_ranks_release(why_ranks *r)
{
    free(r->member);
    free(r->group.list);
    free(r->finished.list);
    free(r->finished_files.list);
    free(r->finished_places.list);
}

bool why_has_finished(const why_scene *s, const why_item *i)
{
    const why_ranks *r = &s->by_rank;
    if (i->rank >= 0)
        return has_number(&r->finished, i->rank);
    return has_number(&r->finished_files, (int64_t)i->file) ||
           has_number(&r->finished_places, s->why->places.list.list[i->event->file].rank);
}

/* May a crash, or a kill, of the process follow from it? */
static bool is_before_crash(assay_ending ending)
{
    return ending == ASSAY_ENDING_crash || ending == ASSAY_ENDING_gpu_fault || ending == ASSAY_ENDING_gpu_code ||
           ending == ASSAY_ENDING_device_assert || ending == ASSAY_ENDING_shared_memory ||
           ending == ASSAY_ENDING_host_memory || ending == ASSAY_ENDING_limits;
}

bool why_dies_later(const why_scene *s, const why_item *i)
{
    const why_ranks *r = &s->by_rank;
    const why_group *group = &r->group.list[i->group];
    const size_t number = (size_t)(i - s->item.list);
    const bool raised = i->event->in_traceback;
    if (i->rank >= 0 && group->stopped && (!raised || i->inside) && !is_before_crash(i->event->ending))
        return true; /* its launcher ended it */
    if (i->rank < 0 || (!raised && i->event->role != ASSAY_LOG_CAUSE))
        return false;
    if (group->killed && !is_before_crash(i->event->ending))
        return true;
    if ((raised || !is_before_crash(i->event->ending)) &&
        group->crashes > (why_is_crash_of_own(i->event) && i->event->role != ASSAY_LOG_NOISE))
        return true;
    size_t low = group->first, high = group->first + group->count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (r->member[middle].item <= number)
            low = middle;
        else
            high = middle;
    }
    const size_t end = r->member[low].end;
    for (size_t k = end; k-- > low + 1 && end - k <= LOOKED_MOST;) { /* the last ones say how it ended */
        const why_item *other = &s->item.list[r->member[k].item];
        const assay_log_event *o = other->event;
        if (o->role == ASSAY_LOG_NOISE || o->line <= i->event->last_line)
            continue;
        const bool lost = o->ending == ASSAY_ENDING_network && o->role == ASSAY_LOG_CONSEQUENCE;
        if (o->ending == ASSAY_ENDING_collective_timeout || (lost && i->inside) ||
            (o->in_traceback && !o->chained && (raised || lost) && !why_is_alike(other, i)))
            return true;
    }
    return false;
}

/* ---- how far the ranks of an output came ---- */

ASSAY_ORDER_BY(by_place, why_step_at, at)

ASSAY_ORDER_BY(by_row, why_row, rank)

bool why_progress_take(const why_scene *s, size_t file, why_progress *p)
{
    const assay_log_file *log = &s->why->file.list[file];
    if (p->made && p->file == file)
        return true;
    p->made = true;
    p->file = file;
    p->step.count = p->row.count = 0;
    p->third_at = 0;
    if (!ASSAY_VEC_RESERVE(&p->step, log->rank.count) || !ASSAY_VEC_RESERVE(&p->row, log->rank.count))
        return false;
    for (size_t k = 0; k < log->rank.count; k++) {
        const assay_log_rank *row = &log->rank.list[k];
        p->step.list[p->step.count++] = (why_step_at){row->last_step_at, row->last_step};
        p->row.list[p->row.count++] = (why_row){row->rank, row};
        p->third_at = row->step_at[2] > p->third_at ? row->step_at[2] : p->third_at;
    }
    if (p->step.count > 1) {
        qsort(p->step.list, p->step.count, sizeof *p->step.list, by_place);
        qsort(p->row.list, p->row.count, sizeof *p->row.list, by_row);
    }
    for (size_t k = p->step.count; k-- > 1;)
        if (p->step.list[k - 1].most < p->step.list[k].most)
            p->step.list[k - 1].most = p->step.list[k].most;
    return true;
}

int64_t why_progress_behind(const why_progress *p, uint64_t at)
{
    size_t low = 0, high = p->step.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (p->step.list[middle].at > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low < p->step.count ? p->step.list[low].most : -1;
}

const assay_log_rank *why_progress_of(const why_progress *p, int64_t rank)
{
    const why_row wanted = {rank, NULL};
    if (p->row.count == 1)
        return p->row.list[0].log;
    const why_row *found = p->row.count > 0 ? bsearch(&wanted, p->row.list, p->row.count, sizeof wanted, by_row) : NULL;
    return found ? found->log : NULL;
}

void why_progress_release(why_progress *p)
{
    free(p->step.list);
    free(p->row.list);
}
