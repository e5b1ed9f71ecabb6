/* waits.c - who waits for whom.
 *
 * Ranks that stand at the same collective wait for the same others: they are listed once, in a hang_stop. In
 * point-to-point operations a rank waits for its peers. */
#include <stdlib.h>

#include "base/search.h"
#include "hang/internal.h"

static void add(hang_list *list, uint32_t rank)
{
    list->rank[list->count++] = rank;
}

/* ---- collectives ---- */

/* Is there a known rank that shares a group with it and stands at an operation of a group without it? Then nobody needs
 * it to explain that this rank stands. */
static bool has_alibi(const hang_world *w, uint32_t unknown)
{
    const hang_rank *u = &w->rank[unknown];
    for (uint32_t s = 0; s < w->stops; s++) {
        if (hang_member_of(w, w->stop[s].group, unknown))
            continue;
        for (uint32_t i = 0; i < w->stop[s].standing.count; i++)
            for (uint32_t k = 0; k < u->memberships; k++)
                if (hang_member_of(w, w->member[w->membership[u->membership + k]].group, w->stop[s].standing.rank[i]))
                    return true;
    }
    for (uint32_t r = 0; r < w->ranks; r++) {
        const hang_front *front = &w->rank[r].front;
        if (front->member == HANG_NONE || !front->p2p || hang_member_of(w, w->member[front->member].group, unknown))
            continue;
        for (uint32_t k = 0; k < u->memberships; k++)
            if (hang_member_of(w, w->member[w->membership[u->membership + k]].group, r))
                return true;
    }
    return false;
}

/* A member that has called the operation and not finished it: does it stand at an earlier place? */
static bool stands_before(const hang_world *w, const hang_member *m, int64_t number)
{
    const hang_rank *r = &w->rank[m->rank];
    const assay_flight_item *item = hang_item(m, number);
    if (r->known == HANG_DEVICE)
        return true;
    return r->front.member != HANG_NONE && (!item || r->front.place < item->place);
}

/* A rank without a dump is asked for an explanation only where no known rank gives one: it may be that its dump was
 * merely lost. */
static void look_at_stop(hang_world *w, hang_stop *s, const bool *alibi)
{
    const hang_group *g = &w->group[s->group];
    s->not_called.rank = hang_take(w, g->members, sizeof(uint32_t));
    s->before.rank = hang_take(w, g->members, sizeof(uint32_t));
    s->unknown.rank = hang_take(w, g->members, sizeof(uint32_t));
    if (w->no_memory)
        return;
    for (uint32_t i = g->member; i < g->member + g->members; i++) {
        const hang_member *m = &w->member[i];
        if (!hang_has_file(&w->rank[m->rank]))
            continue;
        if (m->enqueued < s->number)
            add(&s->not_called, m->rank);
        else if (m->done < s->number && stands_before(w, m, s->number))
            add(&s->before, m->rank);
    }
    for (uint32_t i = g->member; i < g->member + g->members; i++) {
        const uint32_t r = w->member[i].rank;
        if (!hang_has_file(&w->rank[r]) && (s->not_called.count == 0 || (w->rank[r].known == HANG_ABSENT && !alibi[r])))
            add(&s->unknown, r);
    }
}

typedef struct standing {
    uint32_t group, rank;
    int64_t number;
} standing;

ASSAY_ORDER_BY(compare_standing, standing, group, number, rank)

/* Sorted by group and number, ranks that stand at one operation lie side by side: each run of them is a stop, whose
 * list points into the one array of ranks. */
static void find_stops(hang_world *w)
{
    standing *list = hang_take(w, w->ranks, sizeof *list);
    uint32_t *ranks = hang_take(w, w->ranks, sizeof *ranks);
    uint32_t count = 0;
    w->stop = hang_take(w, w->ranks, sizeof *w->stop);
    for (uint32_t r = 0; r < w->ranks && !w->no_memory; r++) {
        const hang_front *front = &w->rank[r].front;
        if (front->member != HANG_NONE && !front->p2p)
            list[count++] = (standing){w->member[front->member].group, r, w->member[front->member].first};
    }
    if (w->no_memory)
        return;
    qsort(list, count, sizeof *list, compare_standing);
    for (uint32_t i = 0; i < count; i++) {
        hang_stop *s = w->stops ? &w->stop[w->stops - 1] : NULL;
        if (!s || s->group != list[i].group || s->number != list[i].number) {
            s = &w->stop[w->stops++];
            *s = (hang_stop){.group = list[i].group, .number = list[i].number, .standing.rank = ranks + i};
        }
        add(&s->standing, list[i].rank);
        w->rank[list[i].rank].front.stop = w->stops - 1;
    }
}

/* ---- point-to-point operations ---- */

static uint32_t rank_index(const hang_world *w, const hang_member *m, uint32_t peer)
{
    const hang_group *g = &w->group[m->group];
    uint32_t low = g->member;
    ASSAY_SEARCH(low, g->member + g->members, w->rank[w->member[low].rank].number < peer);
    return low < g->member + g->members && w->rank[w->member[low].rank].number == peer ? low : HANG_NONE;
}

/* Half number k of what is under way with a peer in one direction. */
static const assay_flight_half *nth_half(const assay_flight_group *g, uint32_t peer, bool sends, uint32_t k)
{
    for (uint32_t i = 0; i < g->halves; i++)
        if (g->half[i].peer == peer && g->half[i].sends == sends &&
            g->p2p[g->half[i].item].state != ASSAY_FLIGHT_COMPLETED && k-- == 0)
            return &g->half[i];
    return NULL;
}

static const assay_flight_half *half_of_index(const assay_flight_group *g, uint32_t peer, bool sends, uint32_t index)
{
    for (uint32_t i = 0; i < g->halves; i++)
        if (g->half[i].peer == peer && g->half[i].sends == sends && g->half[i].index == index)
            return &g->half[i];
    return NULL;
}

static uint32_t calls_with(const assay_flight_group *g, uint32_t peer, bool sends)
{
    for (uint32_t i = 0; i < g->peers; i++)
        if (g->peer[i].peer == peer)
            return sends ? g->peer[i].sends : g->peer[i].recvs;
    return 0;
}

hang_other hang_find_other(const hang_world *w, const hang_member *m, uint32_t half, const assay_flight_half **other)
{
    const assay_flight_half *h = &m->of->half[half];
    const uint32_t at = rank_index(w, m, h->peer), own = (uint32_t)w->rank[m->rank].number;
    const hang_rank *peer = at == HANG_NONE ? NULL : &w->rank[w->member[at].rank];
    *other = NULL;
    if (!peer || !hang_has_file(peer))
        return HANG_OTHER_UNKNOWN;
    const assay_flight_group *of = w->member[at].of;
    if (!of)
        return HANG_OTHER_MISSING;
    if (w->rank[m->rank].row->full && peer->row->full) {
        if (calls_with(of, own, !h->sends) <= h->index)
            return HANG_OTHER_MISSING;
        *other = half_of_index(of, own, !h->sends, h->index);
        return *other && of->p2p[(*other)->item].state != ASSAY_FLIGHT_COMPLETED ? HANG_OTHER_THERE
                                                                                 : HANG_OTHER_FINISHED;
    }
    uint32_t k = 0;
    for (uint32_t i = 0; i < half; i++)
        k += m->of->half[i].peer == h->peer && m->of->half[i].sends == h->sends &&
             m->of->p2p[m->of->half[i].item].state != ASSAY_FLIGHT_COMPLETED;
    *other = nth_half(of, own, !h->sends, k);
    return *other ? HANG_OTHER_THERE : HANG_OTHER_MISSING;
}

static void wait_for(hang_world *w, hang_wait wait)
{
    hang_wait *to = ASSAY_VEC_ADD(&w->wait);
    w->no_memory = w->no_memory || !to;
    if (to)
        *to = wait;
}

/* Whom a rank waits for in one half of an operation: at its front, or in a single send before it. */
static void look_at_half(hang_world *w, uint32_t member, uint32_t half, bool single_send)
{
    const hang_member *m = &w->member[member];
    const assay_flight_half *h = &m->of->half[half], *other = NULL;
    const uint32_t at = rank_index(w, m, h->peer);
    const hang_other found = hang_find_other(w, m, half, &other);
    if (at == HANG_NONE || w->member[at].rank == m->rank)
        return;
    const hang_rank *peer = &w->rank[w->member[at].rank];
    const bool before = found == HANG_OTHER_THERE &&
                        (peer->known == HANG_DEVICE || (peer->front.member != HANG_NONE &&
                                                        peer->front.place < w->member[at].of->p2p[other->item].place));
    hang_wait wait = {m->rank, w->member[at].rank, h->item, member, 0};
    if (found == HANG_OTHER_UNKNOWN)
        wait.kind = single_send ? 0 : 'U';
    else if (found == HANG_OTHER_MISSING)
        wait.kind = single_send ? 'S' : 'N';
    else if (before)
        wait.kind = single_send ? 'S' : 'B';
    if (wait.kind)
        wait_for(w, wait);
}

/* A rank waits at its front, and for each single send that it called before: a send of its own ends only when the
 * other half is called. Sends of a batch end together with the batch. */
static void look_at_rank(hang_world *w, uint32_t rank)
{
    const hang_rank *r = &w->rank[rank];
    for (uint32_t i = 0; i < r->memberships; i++) {
        const uint32_t member = w->membership[r->membership + i];
        const assay_flight_group *g = w->member[member].of;
        for (uint32_t h = 0; g && h < g->halves; h++) {
            const assay_flight_item *item = &g->p2p[g->half[h].item];
            if (item->state == ASSAY_FLIGHT_COMPLETED)
                continue;
            const bool front = r->front.member == member && r->front.p2p && r->front.item == g->half[h].item;
            if (front)
                look_at_half(w, member, h, false);
            else if (g->half[h].sends && !item->batch && (r->front.member == HANG_NONE || item->place < r->front.place))
                look_at_half(w, member, h, true);
        }
    }
}

/* ---- awaited ---- */

/* Somebody has an unfinished operation that the rank has not called. */
static void find_awaited(hang_world *w)
{
    for (uint32_t g = 0; g < w->groups; g++) {
        int64_t most = -1;
        const uint32_t from = w->group[g].member, to = from + w->group[g].members;
        for (uint32_t m = from; m < to; m++) {
            const hang_member *member = &w->member[m];
            if (!member->of || w->rank[member->rank].known != HANG_KNOWN)
                continue;
            if (member->first != HANG_NO_NUMBER && member->of->items > 0) {
                const int64_t last = member->of->item[member->of->items - 1].number;
                most = last > most ? last : most;
            }
            for (uint32_t h = 0; h < member->of->halves; h++) {
                const assay_flight_item *item = &member->of->p2p[member->of->half[h].item];
                const assay_flight_half *other = NULL;
                const uint32_t at = rank_index(w, member, member->of->half[h].peer);
                if (item->state != ASSAY_FLIGHT_COMPLETED && at != HANG_NONE &&
                    (item->batch || !member->of->half[h].sends) &&
                    hang_find_other(w, member, h, &other) == HANG_OTHER_MISSING)
                    w->rank[w->member[at].rank].awaited = true;
            }
        }
        for (uint32_t m = from; m < to; m++)
            if (w->member[m].enqueued < most)
                w->rank[w->member[m].rank].awaited = true;
    }
}

void hang_find_waits(hang_world *w)
{
    bool *alibi = hang_take(w, w->ranks, sizeof *alibi);
    if (!w->no_memory)
        find_stops(w);
    for (uint32_t r = 0; r < w->ranks && !w->no_memory; r++)
        alibi[r] = w->rank[r].known == HANG_ABSENT && has_alibi(w, r);
    for (uint32_t s = 0; s < w->stops && !w->no_memory; s++)
        look_at_stop(w, &w->stop[s], alibi);
    for (uint32_t r = 0; r < w->ranks && !w->no_memory; r++)
        if (w->rank[r].known == HANG_KNOWN)
            look_at_rank(w, r);
    if (!w->no_memory)
        find_awaited(w);
}
