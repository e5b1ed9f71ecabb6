/* states.c - how far each member of a group is, which files are older than what others show, and whose device stopped. */
#include "hang/internal.h"

/* As many numbers back as the reader keeps. */
enum { LOOK_BACK = ASSAY_FLIGHT_COMPLETED_KEPT };

/* What was left in a dump though it had ended: PyTorch drops finished operations late. */
static bool is_left_over(const hang_world *w, const hang_member *m, const assay_flight_item *item)
{
    const assay_flight_row *row = w->rank[m->rank].row;
    const hang_group *g = &w->group[m->group];
    if (row->any_completed)
        return false;
    return (g->batches && !item->batch) ||
           (!g->collectives && m->of->has_status && m->of->status_enqueued == m->of->status_completed);
}

/* Settles how far a member is. Dumps of what is under way only leave out the end of what has ended: what is left of
 * it is marked as completed. */
static void settle_member(hang_world *w, hang_member *m)
{
    const bool counted = m->of->has_status && !w->group[m->group].any_p2p;
    for (uint32_t i = 0; i < m->of->items && counted; i++)
        if (m->of->item[i].number <= m->of->status_completed)
            m->of->item[i].state = ASSAY_FLIGHT_COMPLETED;
    for (uint32_t i = 0; i < m->of->p2ps; i++)
        if (is_left_over(w, m, &m->of->p2p[i]))
            m->of->p2p[i].state = ASSAY_FLIGHT_COMPLETED;
    m->enqueued = m->of->recorded;
    if (counted && m->of->status_enqueued > m->enqueued)
        m->enqueued = m->of->status_enqueued;
    for (uint32_t i = 0; i < m->of->items && m->first == HANG_NO_NUMBER; i++)
        if (m->of->item[i].state != ASSAY_FLIGHT_COMPLETED) {
            m->first = m->of->item[i].number;
            m->first_item = i;
        }
    m->done = m->first == HANG_NO_NUMBER ? m->enqueued : m->first - 1;
    if (counted && m->of->status_completed > m->done)
        m->done = m->of->status_completed;
    int64_t seen = counted && m->of->status_completed > 0 ? m->of->status_completed : 0; /* completed, surely */
    for (uint32_t i = 0; i < m->of->items; i++)
        if (m->of->item[i].state == ASSAY_FLIGHT_COMPLETED && m->of->item[i].number < m->first)
            seen = m->of->item[i].number > seen ? m->of->item[i].number : seen;
    const bool is_short = counted && seen + 1 < (m->first == HANG_NO_NUMBER ? m->enqueued + 1 : m->first);
    if (is_short) /* what the ring has lost is under way */
        m->done = seen;
    w->rank[m->rank].is_short = w->rank[m->rank].is_short || is_short;
}

/* Finds the newest number up to `done` that is symmetric, or moves data between all; -1. */
static int64_t newest_joint(const hang_world *w, uint32_t group, int64_t done, bool all_to_all)
{
    for (int64_t number = done; number >= 0 && number > done - LOOK_BACK; number--) {
        const hang_signature *s = hang_name_of(w, group, number);
        if (s && (s->symmetric || (all_to_all && s->all_to_all)))
            return number;
    }
    return -1;
}

/* The largest of some numbers and the next one of another member. */
typedef struct two_largest {
    int64_t number[2];
    uint32_t member[2];
} two_largest;

static void offer(two_largest *t, int64_t number, uint32_t member)
{
    if (number > t->number[0]) {
        t->number[1] = t->number[0];
        t->member[1] = t->member[0];
        t->number[0] = number;
        t->member[0] = member;
    } else if (number > t->number[1]) {
        t->number[1] = number;
        t->member[1] = member;
    }
}

static const two_largest nothing = {{-1, -1}, {HANG_NONE, HANG_NONE}};

/* Marks members whose dump is from before what the others show: nobody can have finished a symmetric operation that
 * they had not called. */
static void find_older(hang_world *w)
{
    for (uint32_t g = 0; g < w->groups; g++) {
        const uint32_t from = w->group[g].member, to = from + w->group[g].members;
        two_largest finished = nothing;
        for (uint32_t m = from; m < to; m++)
            if (w->member[m].of)
                offer(&finished, newest_joint(w, g, w->member[m].done, false), m);
        for (uint32_t m = from; m < to; m++) {
            const int64_t others = finished.number[finished.member[0] == m];
            if (w->member[m].of && w->member[m].enqueued >= 0 && others > w->member[m].enqueued)
                w->rank[w->member[m].rank].known = HANG_OLDER;
        }
    }
}

/* ---- devices ---- */

static bool is_live(const hang_world *w, uint32_t m)
{
    return w->member[m].of && w->rank[w->member[m].rank].known == HANG_KNOWN;
}

static bool mark_device(hang_world *w, uint32_t m, uint32_t by, int64_t number)
{
    hang_rank *r = &w->rank[w->member[m].rank];
    r->known = HANG_DEVICE;
    r->device_member = m;
    r->finished_by = by == HANG_NONE ? -1 : w->rank[w->member[by].rank].number;
    r->finished_number = number;
    return true;
}

/* Looks for devices in one group; true when one was added. Each one found may show another, so callers come again. */
static bool find_devices_in(hang_world *w, uint32_t g)
{
    const uint32_t from = w->group[g].member, to = from + w->group[g].members;
    two_largest finished = nothing, least = {{-INT64_MAX, -INT64_MAX}, {HANG_NONE, HANG_NONE}};
    uint32_t others = 0, missing = 0;
    bool added = false;
    for (uint32_t m = from; m < to; m++) {
        const hang_known known = w->rank[w->member[m].rank].known;
        if (w->member[m].of && (known == HANG_KNOWN || known == HANG_DEVICE))
            offer(&finished, newest_joint(w, g, w->member[m].done, false), m);
        if (known == HANG_DEVICE)
            continue;
        missing += !is_live(w, m);
        others += is_live(w, m);
        if (is_live(w, m))
            offer(&least, -w->member[m].done, m);
    }
    for (uint32_t m = from; m < to && !added; m++) {
        const hang_member *r = &w->member[m];
        if (!is_live(w, m) || r->first == HANG_NO_NUMBER)
            continue;
        const int k = finished.member[0] == m;
        int64_t number = finished.number[k];
        uint32_t by = finished.member[k];
        const int64_t all = -least.number[least.member[0] == m];
        if (missing == 0 && others > 1) {
            const int64_t joint = newest_joint(w, g, all, true);
            if (joint > number) {
                number = joint;
                by = least.member[least.member[0] == m];
            }
        }
        if ((r->first < number && number <= r->enqueued) ||
            (r->first == number && missing == 0 && others > 2 && all >= number))
            added = mark_device(w, m, by, number);
    }
    return added;
}

/* Raises what a device has done: what the others have finished needed it, so it is as far. */
static void raise_device(hang_world *w, uint32_t rank)
{
    const hang_rank *r = &w->rank[rank];
    for (uint32_t i = 0; i < r->memberships; i++) {
        hang_member *m = &w->member[w->membership[r->membership + i]];
        const hang_group *g = &w->group[m->group];
        for (uint32_t k = g->member; k < g->member + g->members && m->of; k++)
            if (hang_has_file(&w->rank[w->member[k].rank]) && w->member[k].done > m->done)
                m->done = w->member[k].done < m->enqueued ? w->member[k].done : m->enqueued;
    }
}

static void find_devices(hang_world *w)
{
    bool added = true;
    while (added) {
        added = false;
        for (uint32_t g = 0; g < w->groups; g++)
            while (find_devices_in(w, g))
                added = true;
    }
    for (uint32_t r = 0; r < w->ranks; r++)
        if (w->rank[r].known == HANG_DEVICE)
            raise_device(w, r);
}

/* ---- fronts ---- */

/* A send of its own does not block: its rank goes on. */
static bool blocks(const assay_flight_group *g, uint32_t item)
{
    if (g->p2p[item].state == ASSAY_FLIGHT_COMPLETED)
        return false;
    for (uint32_t h = 0; h < g->halves && !g->p2p[item].batch; h++)
        if (g->half[h].item == item && g->half[h].sends)
            return false;
    return true;
}

/* The front is the first thing in program order that a rank has not finished, over all of its groups. */
static void find_front(hang_world *w, uint32_t rank)
{
    hang_rank *r = &w->rank[rank];
    for (uint32_t i = 0; i < r->memberships; i++) {
        const uint32_t member = w->membership[r->membership + i];
        const hang_member *m = &w->member[member];
        if (!m->of)
            continue;
        if (m->first != HANG_NO_NUMBER) {
            const uint32_t place = m->of->item[m->first_item].place;
            if (r->front.member == HANG_NONE || place < r->front.place)
                r->front = (hang_front){member, m->first_item, place, false, HANG_NONE};
        }
        for (uint32_t k = 0; k < m->of->p2ps; k++)
            if (blocks(m->of, k)) {
                if (r->front.member == HANG_NONE || m->of->p2p[k].place < r->front.place)
                    r->front = (hang_front){member, k, m->of->p2p[k].place, true, HANG_NONE};
                break;
            }
    }
}

/* Order: older files and devices are known before fronts are looked for, since neither has one. */
void hang_find_states(hang_world *w)
{
    for (uint32_t m = 0; m < w->members; m++)
        if (w->member[m].of)
            settle_member(w, &w->member[m]);
    find_older(w);
    find_devices(w);
    for (uint32_t r = 0; r < w->ranks; r++)
        if (w->rank[r].known == HANG_KNOWN)
            find_front(w, r);
}
