/* stuck.c - operations that all members have reached, and that do not end. */
#include "hang/internal.h"

static const hang_cause of_nobody = {.rank = HANG_NONE, .stop = HANG_NONE, .wait = HANG_NONE};

static bool starts_known(const hang_world *w)
{
    for (uint32_t r = 0; r < w->ranks; r++)
        if (w->rank[r].known == HANG_KNOWN && !w->rank[r].row->starts_known)
            return false;
    return true;
}

static bool has_send_before(const hang_member *m, uint32_t place, const hang_world *w)
{
    const hang_rank *r = &w->rank[m->rank];
    for (uint32_t i = 0; i < r->memberships; i++) {
        const assay_flight_group *g = w->member[w->membership[r->membership + i]].of;
        for (uint32_t h = 0; g && h < g->halves; h++) {
            const assay_flight_item *item = &g->p2p[g->half[h].item];
            if (g->half[h].sends && !item->batch && item->state != ASSAY_FLIGHT_COMPLETED && item->place < place)
                return true;
        }
    }
    return false;
}

/* Tells whether an operation is held back: something before it is under way, or nobody has started it. It most likely
 * waits for another one. */
static bool is_held_back(const hang_world *w, const hang_stop *s)
{
    const hang_group *g = &w->group[s->group];
    bool started = false;
    for (uint32_t m = g->member; m < g->member + g->members; m++) {
        const assay_flight_item *item = hang_item(&w->member[m], s->number);
        if (w->rank[w->member[m].rank].is_short || (item && has_send_before(&w->member[m], item->place, w)))
            return true;
        started = started || (item && item->state != ASSAY_FLIGHT_SCHEDULED);
    }
    return starts_known(w) && !started;
}

/* Makes what is the same for all that are blamed for a stop: who stands there. */
static hang_cause cause_of(hang_world *w, uint32_t stop, const uint32_t *rank, uint32_t count)
{
    hang_cause cause = of_nobody;
    cause.test = ASSAY_HANG_GROUP;
    cause.stop = stop;
    cause.held_back = is_held_back(w, &w->stop[stop]);
    cause.members = (hang_list){hang_take(w, count, sizeof *rank), count};
    for (uint32_t i = 0; i < count && cause.members.rank; i++)
        cause.members.rank[i] = rank[i];
    return cause;
}

static void blame(hang_world *w, assay_hang_test test, hang_cause cause, const uint32_t *rank, uint32_t count)
{
    cause.test = test;
    for (uint32_t i = 0; i < count; i++) {
        cause.rank = rank[i];
        hang_add_cause(w, cause);
    }
}

/* ---- a pair in a point-to-point operation ---- */

/* Both sides are there, so the pair is stuck and nobody is missing; who has not started while the other has is the
 * one that computes. */
static void blame_pair(hang_world *w, uint32_t rank)
{
    const hang_front *front = &w->rank[rank].front;
    const hang_member *m = &w->member[front->member];
    for (uint32_t h = 0; h < m->of->halves; h++) {
        const assay_flight_half *other = NULL;
        if (m->of->half[h].item != front->item || hang_find_other(w, m, h, &other) != HANG_OTHER_THERE)
            continue;
        uint32_t peer = HANG_NONE;
        const hang_group *g = &w->group[m->group];
        for (uint32_t k = g->member; k < g->member + g->members; k++)
            if (w->rank[w->member[k].rank].number == m->of->half[h].peer)
                peer = w->member[k].rank;
        if (peer == HANG_NONE || w->rank[peer].known != HANG_KNOWN)
            continue;
        const hang_front *theirs = &w->rank[peer].front;
        const assay_flight_group *of = hang_member_of(w, m->group, peer)->of;
        const bool both = theirs->member != HANG_NONE && theirs->p2p && w->member[theirs->member].group == m->group &&
                          theirs->item == other->item;
        if (both && peer < rank)
            continue; /* named from there */
        const uint8_t states[2] = {m->of->p2p[front->item].state, of->p2p[other->item].state};
        const bool started[2] = {states[0] == ASSAY_FLIGHT_STARTED, states[1] == ASSAY_FLIGHT_STARTED};
        const uint32_t pair[2] = {rank, peer};
        hang_cause cause = of_nobody;
        cause.test = ASSAY_HANG_GROUP;
        cause.members.rank = hang_take(w, 2, sizeof(uint32_t));
        hang_wait *wait = ASSAY_VEC_ADD(&w->wait); /* for the evidence alone: components are found already */
        w->no_memory = w->no_memory || !wait;
        if (w->no_memory)
            return;
        *wait = (hang_wait){rank, peer, front->item, front->member, '='};
        cause.wait = (uint32_t)w->wait.count - 1;
        cause.members.count = 2;
        cause.members.rank[0] = rank < peer ? rank : peer;
        cause.members.rank[1] = rank < peer ? peer : rank;
        if (both && starts_known(w) && started[0] != started[1]) {
            cause.test = ASSAY_HANG_COMPUTE;
            cause.rank = pair[started[0]];
        } else {
            cause.held_back = !both || (starts_known(w) && !started[0] && !started[1]);
        }
        hang_add_cause(w, cause);
        return;
    }
}

/* ---- collectives ---- */

/* Finds members whose region is open, or which were counted before the call returned and are not counted as called. */
static uint32_t find_launching(const hang_world *w, const hang_group *g, int64_t number, uint32_t *rank)
{
    uint32_t count = 0;
    for (uint32_t m = g->member; m < g->member + g->members && !g->any_p2p; m++) {
        const assay_flight_group *of = w->member[m].of;
        const assay_flight_item *item = hang_item(&w->member[m], number);
        if ((item && item->open && item->state != ASSAY_FLIGHT_COMPLETED) ||
            (of && of->has_status && of->status_enqueued < number))
            rank[count++] = w->member[m].rank;
    }
    return count < g->members ? count : 0;
}

/* From the plainest reason on: one member alone has not finished, they call different things, some have not started,
 * some are in the call; else the group as a whole. */
static void blame_stop(hang_world *w, uint32_t stop)
{
    const hang_stop *s = &w->stop[stop];
    const hang_group *g = &w->group[s->group];
    uint32_t *rank = hang_take(w, g->members, sizeof *rank), *some = hang_take(w, g->members, sizeof *some);
    uint32_t count = 0, late = 0, shown = 0;
    const char *kind = NULL;
    for (uint32_t m = g->member; m < g->member + g->members && !w->no_memory; m++) {
        if (w->rank[w->member[m].rank].known != HANG_KNOWN)
            return; /* a device, or a file that is missing */
        if (w->member[m].done < s->number)
            rank[count++] = w->member[m].rank;
    }
    const hang_cause cause = cause_of(w, stop, rank, count);
    if (w->no_memory)
        return;
    if (count == 1) {
        blame(w, ASSAY_HANG_DEVICE, cause, rank, 1);
        return;
    }
    late = hang_compare(w, s->group, s->number, &kind, some, &shown);
    if (late > 0) {
        blame(w, ASSAY_HANG_MISMATCH, cause, some, late);
        return;
    }
    for (uint32_t i = 0; i < count && starts_known(w); i++) {
        const assay_flight_item *item = hang_item(hang_member_of(w, s->group, rank[i]), s->number);
        if (item && item->state == ASSAY_FLIGHT_SCHEDULED)
            some[late++] = rank[i];
    }
    if (late > 0 && late < count) {
        blame(w, ASSAY_HANG_COMPUTE, cause, some, late);
        return;
    }
    late = find_launching(w, g, s->number, some);
    if (late > 0)
        blame(w, ASSAY_HANG_LAUNCH, cause, some, late);
    else
        hang_add_cause(w, cause);
}

/* Once for each stop, whichever of its ranks comes first. */
void hang_find_stuck(hang_world *w, uint32_t rank)
{
    const hang_front *front = &w->rank[rank].front;
    if (front->p2p) {
        blame_pair(w, rank);
    } else if (!w->stop[front->stop].looked_at) {
        w->stop[front->stop].looked_at = true;
        blame_stop(w, front->stop);
    }
}
