/* result.c - what callers see: causes with their evidence, mismatches, who waits for whom. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "hang/internal.h"

/* A list of waiters shows who waits; the number of all is beside it. */
enum { WAITERS_KEPT = 16 };

typedef struct result { /* what assay_hang_free() gets */
    assay_hang hang;    /* first */
    hang_world world;
} result;

/* ---- lists of ranks ---- */

static assay_hang_ranks keep_ranks(hang_world *w, const bool *marked)
{
    assay_hang_ranks out = {0};
    for (uint32_t r = 0; r < w->ranks; r++)
        out.count += marked[r];
    int64_t *list = hang_take(w, out.count, sizeof *list);
    out.rank = list;
    for (uint32_t r = 0, n = 0; r < w->ranks && list; r++)
        if (marked[r])
            list[n++] = w->rank[r].number;
    return out;
}

static assay_hang_ranks keep_list(hang_world *w, const hang_list *from)
{
    int64_t *list = hang_take(w, from->count, sizeof *list);
    for (uint32_t i = 0; i < from->count && list; i++)
        list[i] = w->rank[from->rank[i]].number;
    return (assay_hang_ranks){list, list ? from->count : 0};
}

/* Tells whether a member of a group is in a state, when asked about a number. */
typedef bool member_test(const hang_world *w, const hang_member *m, int64_t number);

static bool is_member(const hang_world *w, const hang_member *m, int64_t number)
{
    (void)w, (void)m, (void)number;
    return true;
}

static bool has_arrived(const hang_world *w, const hang_member *m, int64_t number)
{
    return hang_has_file(&w->rank[m->rank]) && m->enqueued >= number && m->first <= number;
}

static bool has_not_arrived(const hang_world *w, const hang_member *m, int64_t number)
{
    return hang_has_file(&w->rank[m->rank]) && !has_arrived(w, m, number);
}

static bool has_finished(const hang_world *w, const hang_member *m, int64_t number)
{
    return hang_has_file(&w->rank[m->rank]) && m->enqueued >= number && m->first > number;
}

static bool has_no_file(const hang_world *w, const hang_member *m, int64_t number)
{
    (void)number;
    return !hang_has_file(&w->rank[m->rank]);
}

static assay_hang_ranks members_that(hang_world *w, uint32_t group, int64_t number, member_test *test)
{
    const hang_group *g = &w->group[group];
    int64_t *list = hang_take(w, g->members, sizeof *list);
    size_t count = 0;
    for (uint32_t m = g->member; m < g->member + g->members && list; m++)
        if (test(w, &w->member[m], number))
            list[count++] = w->rank[w->member[m].rank].number;
    return (assay_hang_ranks){list, count};
}

/* ---- operations ---- */

static const char *stack_of(const hang_world *w, uint32_t rank, uint32_t stack)
{
    const assay_flight_row *row = w->rank[rank].row;
    return row && stack < row->stacks && row->stack[stack].frames ? row->stack[stack].frames : "";
}

static void put_signature(hang_world *w, const hang_signature *s, assay_hang_operation *out)
{
    const assay_flight_part *part = s->of->parts > 0 ? &s->of->part[0] : NULL;
    out->operation = s->of->name ? s->of->name : "";
    out->dtypes = "";
    if (!part)
        return;
    const uint32_t inputs = part->inputs < part->size_count ? part->inputs : part->size_count;
    out->input_sizes = part->sizes;
    out->input_count = inputs;
    out->output_sizes = part->sizes + inputs;
    out->output_count = part->size_count - inputs;
    assay_buf types = ASSAY_BUF(SIZE_MAX);
    size_t length = 0;
    const char *all = assay_dict_name(w->texts, s->types, &length), *end = memchr(all, '\n', length);
    assay_put_bytes(&types, all, end ? (size_t)(end - all) : length);
    out->dtypes = hang_keep_text(w, &types);
}

/* Finds the item that shows a number: the rank's own, else that of the first who stands there. */
static const hang_member *shown_by(const hang_world *w, uint32_t group, int64_t number, uint32_t rank)
{
    const hang_group *g = &w->group[group];
    const hang_member *own = rank == HANG_NONE ? NULL : hang_member_of(w, group, rank), *any = NULL;
    if (own && hang_item(own, number))
        return own;
    for (uint32_t m = g->member; m < g->member + g->members; m++) {
        const hang_member *member = &w->member[m];
        if (!hang_item(member, number))
            continue;
        if (has_arrived(w, member, number))
            return member;
        any = any ? any : member;
    }
    return any;
}

/* Puts who has come to a collective, and who has not: the same lists for all who ask, as of ten thousand ranks each
 * may be a cause at one stop. */
static void put_members(hang_world *w, uint32_t group, int64_t number, assay_hang_operation *out)
{
    const hang_group *g = &w->group[group];
    const int64_t key[2] = {group, number};
    const uint32_t known = assay_dict_count(w->asked), id = assay_dict_add(w->asked, (const char *)key, sizeof key);
    if (id < known) {
        *out = w->asked_about.list[id];
        return;
    }
    *out = (assay_hang_operation){.group = g->name,
                                  .description = g->description,
                                  .operation = "",
                                  .number = number,
                                  .members = members_that(w, group, number, is_member),
                                  .arrived = members_that(w, group, number, has_arrived),
                                  .not_arrived = members_that(w, group, number, has_not_arrived),
                                  .finished = members_that(w, group, number, has_finished),
                                  .no_file = members_that(w, group, number, has_no_file),
                                  .dtypes = "",
                                  .frames = ""};
    assay_hang_operation *to = id == ASSAY_NO_ID ? NULL : ASSAY_VEC_ADD(&w->asked_about);
    w->no_memory = w->no_memory || !to;
    if (to)
        *to = *out;
}

static void put_collective(hang_world *w, uint32_t group, int64_t number, uint32_t rank, assay_hang_operation *out)
{
    put_members(w, group, number, out);
    const hang_member *shown = shown_by(w, group, number, rank);
    if (!shown)
        return;
    const assay_flight_item *item = hang_item(shown, number);
    put_signature(w, hang_signature_of(w, shown, item), out);
    out->frames = stack_of(w, shown->rank, item->stack);
}

static void put_wait(hang_world *w, const hang_wait *wait, assay_hang_operation *out)
{
    const hang_member *m = &w->member[wait->member];
    const hang_group *g = &w->group[m->group];
    const assay_flight_item *item = &m->of->p2p[wait->item];
    *out = (assay_hang_operation){.group = g->name,
                                  .description = g->description,
                                  .number = item->number,
                                  .p2p = true,
                                  .members = members_that(w, m->group, 0, is_member)};
    put_signature(w, hang_signature_of(w, m, item), out);
    out->frames = stack_of(w, m->rank, item->stack);
}

/* Puts, of a rank that is awaited though nobody stands there, the first operation that it has not called. */
static bool put_awaiting(hang_world *w, uint32_t rank, assay_hang_operation *out)
{
    const hang_rank *r = &w->rank[rank];
    for (uint32_t i = 0; i < r->memberships; i++) {
        const hang_member *own = &w->member[w->membership[r->membership + i]];
        const hang_group *g = &w->group[own->group];
        for (uint32_t m = g->member; m < g->member + g->members; m++) {
            const assay_flight_group *of = w->member[m].of;
            if (!of || w->rank[w->member[m].rank].known != HANG_KNOWN)
                continue;
            for (uint32_t k = 0; k < of->items; k++)
                if (of->item[k].state != ASSAY_FLIGHT_COMPLETED && of->item[k].number > own->enqueued) {
                    put_collective(w, own->group, of->item[k].number, rank, out);
                    return true;
                }
        }
    }
    return false;
}

/* ---- who waits ---- */

typedef struct waiters {
    uint32_t *first, *stop; /* [ranks + 1]: the stops that a rank keeps from ending */
    uint32_t *come, *from;  /* [ranks + 1]: who waits for it in point-to-point operations */
    uint32_t *queue;
    bool *seen, *looked; /* by rank, by stop */
} waiters;

/* Called twice: counts, then fills. '=' is a pair that was added for evidence alone. */
static void count_targets(hang_world *w, waiters *t, bool fill)
{
    for (uint32_t i = 0; i < w->stops; i++) {
        const hang_list *lists[] = {&w->stop[i].not_called, &w->stop[i].before, &w->stop[i].unknown};
        for (int k = 0; k < 3; k++)
            for (uint32_t n = 0; n < lists[k]->count; n++) {
                uint32_t *at = &t->first[lists[k]->rank[n] + (fill ? 1 : 2)];
                if (fill)
                    t->stop[*at] = i;
                ++*at;
            }
    }
    for (size_t i = 0; i < w->wait.count; i++) {
        const hang_wait *e = &w->wait.list[i];
        if (e->kind == '=')
            continue;
        uint32_t *at = &t->come[e->to + (fill ? 1 : 2)];
        if (fill)
            t->from[*at] = e->from;
        ++*at;
    }
}

/* Lists by rank in one array each: counts are kept two places behind their rank, so that the sums are where filling
 * begins, and filling moves them to where the list of a rank begins. */
static void find_waiters(hang_world *w, waiters *t)
{
    t->first = hang_take(w, w->ranks + (size_t)3, sizeof *t->first);
    t->come = hang_take(w, w->ranks + (size_t)3, sizeof *t->come);
    t->queue = hang_take(w, w->ranks, sizeof *t->queue);
    t->seen = hang_take(w, w->ranks, sizeof *t->seen);
    t->looked = hang_take(w, w->stops, sizeof *t->looked);
    if (w->no_memory)
        return;
    count_targets(w, t, false);
    for (uint32_t r = 2; r < w->ranks + 2; r++) {
        t->first[r] += t->first[r - 1];
        t->come[r] += t->come[r - 1];
    }
    t->stop = hang_take(w, t->first[w->ranks + 1], sizeof *t->stop);
    t->from = hang_take(w, t->come[w->ranks + 1], sizeof *t->from);
    if (!w->no_memory)
        count_targets(w, t, true);
}

/* Visits those that wait for a rank directly, again where they do in several ways. */
static uint32_t push_waiters(const hang_world *w, waiters *t, uint32_t rank, uint32_t end)
{
    for (uint32_t k = t->first[rank]; k < t->first[rank + 1]; k++) {
        if (t->looked[t->stop[k]])
            continue;
        t->looked[t->stop[k]] = true;
        const hang_list *standing = &w->stop[t->stop[k]].standing;
        for (uint32_t i = 0; i < standing->count; i++)
            if (!t->seen[standing->rank[i]]) {
                t->seen[standing->rank[i]] = true;
                t->queue[end++] = standing->rank[i];
            }
    }
    for (uint32_t k = t->come[rank]; k < t->come[rank + 1]; k++)
        if (!t->seen[t->from[k]]) {
            t->seen[t->from[k]] = true;
            t->queue[end++] = t->from[k];
        }
    return end;
}

/* Starts with those that wait for some ranks directly; the ranks themselves are none of them, but for a single one,
 * which may wait for itself around a cycle. */
static uint32_t start_waiters(const hang_world *w, waiters *t, const hang_list *of)
{
    uint32_t end = 0;
    memset(t->seen, 0, w->ranks * sizeof *t->seen);
    memset(t->looked, 0, w->stops * sizeof *t->looked);
    for (uint32_t i = 0; i < of->count; i++)
        t->seen[of->rank[i]] = of->count > 1;
    for (uint32_t i = 0; i < of->count; i++)
        end = push_waiters(w, t, of->rank[i], end);
    return end;
}

/* Keeps the lowest of some ranks, ascending; there may be a list of many for each of many causes. */
static size_t keep_lowest(const hang_world *w, const uint32_t *from, uint32_t count, int64_t *list)
{
    size_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        const int64_t number = w->rank[from[i]].number;
        if (kept == WAITERS_KEPT && number > list[kept - 1])
            continue;
        size_t to = kept < WAITERS_KEPT ? kept++ : kept - 1;
        for (; to > 0 && list[to - 1] > number; to--)
            list[to] = list[to - 1];
        list[to] = number;
    }
    return kept;
}

/* Puts who waits for a rank, or for all who stand where it does: directly by name, in all as a number. */
static void put_waiters(hang_world *w, waiters *t, const hang_cause *of, assay_hang_cause *out)
{
    const hang_list single = {(uint32_t *)&of->rank, 1};
    const hang_list *all = of->members.count > 0 ? &of->members : &single;
    const uint32_t direct = start_waiters(w, t, of->rank == HANG_NONE ? all : &single);
    int64_t *list = hang_take(w, direct < WAITERS_KEPT ? direct : WAITERS_KEPT, sizeof *list);
    if (!list)
        return;
    out->waiters = direct;
    out->waited_for_by = (assay_hang_ranks){list, keep_lowest(w, t->queue, direct, list)};
    uint32_t end = start_waiters(w, t, all);
    for (uint32_t i = 0; i < end; i++)
        end = push_waiters(w, t, t->queue[i], end);
    for (uint32_t i = 0; i < end; i++)
        out->waiting += all != &single || w->rank[of->rank].component != w->rank[t->queue[i]].component;
}

/* ---- causes ---- */

static const char *state_name(uint8_t state)
{
    static const char *const names[] = {"scheduled", "started", "completed"};
    return names[state];
}

static void put_last(const hang_world *w, uint32_t rank, assay_hang_cause *out)
{
    const assay_flight_row *row = w->rank[rank].row;
    if (!row || !row->any || row->last_group >= row->groups)
        return;
    const assay_flight_group *g = &row->group[row->last_group];
    out->last.group = g->name;
    out->last.description = g->description;
    out->last.operation = row->last_operation;
    out->last.number = row->last_number;
    out->last.state = state_name(row->last_state);
    out->last.frames = stack_of(w, rank, row->last_stack);
}

/* Lists members whose host has called less than others of the group, where they are fewer than half. */
static assay_hang_ranks hosts_behind(hang_world *w, uint32_t group)
{
    const hang_group *g = &w->group[group];
    int64_t most = -1, *list = hang_take(w, g->members, sizeof *list);
    size_t count = 0;
    for (uint32_t m = g->member; m < g->member + g->members; m++)
        most = w->member[m].enqueued > most ? w->member[m].enqueued : most;
    for (uint32_t m = g->member; m < g->member + g->members && list; m++)
        if (w->member[m].enqueued < most)
            list[count++] = w->rank[w->member[m].rank].number;
    return (assay_hang_ranks){list, 2 * count < g->members ? count : 0};
}

static void put_cause(hang_world *w, waiters *t, const hang_cause *from, assay_hang_cause *out)
{
    const uint32_t rank = from->rank;
    *out = (assay_hang_cause){.test = from->test,
                              .rank = rank == HANG_NONE ? -1 : w->rank[rank].number,
                              .finished_by = -1,
                              .finished_number = -1};
    put_waiters(w, t, from, out);
    if (rank == HANG_NONE)
        out->members = keep_list(w, &from->members);
    else
        put_last(w, rank, out);
    if (from->stop != HANG_NONE) {
        put_collective(w, w->stop[from->stop].group, w->stop[from->stop].number, rank, &out->operation);
        if (from->test == ASSAY_HANG_GROUP)
            out->behind = hosts_behind(w, w->stop[from->stop].group);
    } else if (from->wait != HANG_NONE) {
        put_wait(w, &w->wait.list[from->wait], &out->operation);
    } else if (from->test == ASSAY_HANG_DEVICE) {
        const hang_member *m = &w->member[w->rank[rank].device_member];
        put_collective(w, m->group, m->first, rank, &out->operation);
        out->finished_by = w->rank[rank].finished_by;
        out->finished_number = w->rank[rank].finished_number;
    } else {
        put_awaiting(w, rank, &out->operation);
    }
    out->text = hang_cause_text(w, out, NULL, NULL);
}

/* Who keeps most ranks waiting comes first; then by name of the test and by rank, so that the order is the same each
 * time. */
static int compare_causes(const void *a, const void *b)
{
    const assay_hang_cause *x = a, *y = b;
    int order = ASSAY_ORDER(y->waiting, x->waiting);
    order = order ? order : strcmp(assay_hang_test_name(x->test), assay_hang_test_name(y->test));
    const int64_t i = x->rank < 0 && x->members.count ? x->members.rank[0] : x->rank,
                  k = y->rank < 0 && y->members.count ? y->members.rank[0] : y->rank;
    return order ? order : ASSAY_ORDER(i, k);
}

/* Names all ranks in the first cause, which is what a reader sees first: of several, it names those of all. */
static void name_all_in_first(hang_world *w, const assay_hang *out, assay_hang_cause *list)
{
    bool *named = hang_take(w, w->ranks, sizeof *named);
    for (size_t i = 0; i < w->cause.count && named; i++)
        if (!w->cause.list[i].dropped && w->cause.list[i].rank != HANG_NONE)
            named[w->cause.list[i].rank] = true;
    if (w->no_memory)
        return;
    const assay_hang_ranks all = keep_ranks(w, named);
    const bool few = list[0].test == ASSAY_HANG_ABSENT && out->no_file.count > out->ranks.count;
    size_t shown = 0; /* where most have no dump, one that has says more than one that is only missing */
    while (few && shown + 1 < out->causes && list[shown].test == ASSAY_HANG_ABSENT)
        shown++;
    shown = list[shown].test == ASSAY_HANG_ABSENT ? 0 : shown;
    if (!w->no_memory && (few || all.count > 1))
        list[0].text = hang_cause_text(w, &list[shown], few ? NULL : &all, few ? out : NULL);
}

/* Marks causes at an operation that an earlier one has: the first one lists all its ranks. Of ten thousand ranks,
 * thousands may be causes. */
static void shorten_repeated(hang_world *w, assay_hang_cause *list, size_t count)
{
    assay_dict *seen = assay_dict_new();
    w->no_memory = w->no_memory || !seen;
    for (size_t i = 0; i < count && !w->no_memory; i++) {
        assay_hang_operation *o = &list[i].operation;
        const struct {
            const char *group;
            const int64_t *members;
            int64_t number, p2p;
        } key = {o->group, o->members.rank, o->number, o->p2p};
        const uint32_t known = assay_dict_count(seen), id = assay_dict_add(seen, (const char *)&key, sizeof key);
        w->no_memory = id == ASSAY_NO_ID;
        o->repeated = id < known;
    }
    assay_dict_free(seen);
}

static void put_causes(hang_world *w, assay_hang *out)
{
    waiters t = {0};
    assay_hang_cause *list = hang_take(w, w->cause.count, sizeof *list);
    find_waiters(w, &t);
    for (size_t i = 0; i < w->cause.count && !w->no_memory; i++)
        if (!w->cause.list[i].dropped)
            put_cause(w, &t, &w->cause.list[i], &list[out->causes++]);
    if (!w->no_memory)
        qsort(list, out->causes, sizeof *list, compare_causes);
    shorten_repeated(w, list, out->causes);
    if (!w->no_memory && out->causes > 0 && list[0].rank >= 0)
        name_all_in_first(w, out, list);
    out->cause = list;
}

/* ---- mismatches ---- */

static bool is_named(const uint32_t *named, uint32_t count, uint32_t rank)
{
    for (uint32_t i = 0; i < count; i++)
        if (named[i] == rank)
            return true;
    return false;
}

/* The others are quoted by the first of them that differs: all members may be named where no majority says which of
 * two calls is right. */
static void put_mismatch(hang_world *w, uint32_t group, int64_t number, const uint32_t *named, uint32_t count,
                         assay_hang_mismatch *out)
{
    const hang_group *g = &w->group[group];
    const hang_list list = {(uint32_t *)named, count};
    out->named = keep_list(w, &list);
    put_collective(w, group, number, named[0], &out->operation);
    const hang_member *first = hang_member_of(w, group, named[0]);
    out->theirs = hang_signature_text(w, hang_signature_of(w, first, hang_item(first, number)));
    out->others = "";
    for (uint32_t m = g->member; m < g->member + g->members; m++) {
        const assay_flight_item *item = hang_item(&w->member[m], number);
        if (!item || item->open || (count < g->members && is_named(named, count, w->member[m].rank)) ||
            w->member[m].rank == named[0])
            continue;
        const hang_signature *s = hang_signature_of(w, &w->member[m], item);
        if (s == hang_signature_of(w, first, hang_item(first, number)))
            continue;
        out->others = hang_signature_text(w, s);
        break;
    }
    out->text = hang_mismatch_text(w, out);
}

/* One mismatch a group: what follows the first is a consequence. */
static void put_mismatches(hang_world *w, assay_hang *out)
{
    assay_hang_mismatch *list = hang_take(w, w->groups, sizeof *list);
    for (uint32_t g = 0; g < w->groups && !w->no_memory; g++) {
        uint32_t *named = hang_take(w, w->group[g].members, sizeof *named), found = 0, shown = 0;
        for (uint32_t i = 0; i < w->group[g].names && found == 0 && named; i++) {
            const char *kind = NULL;
            const int64_t number = w->group[g].named[i].number;
            found = hang_compare(w, g, number, &kind, named, &shown);
            out->compared += shown >= 2;
            if (found > 0) {
                list[out->mismatches].kind = kind;
                put_mismatch(w, g, number, named, found, &list[out->mismatches++]);
            }
        }
    }
    out->mismatch = list;
}

/* ---- all ---- */

static void put_versions(hang_world *w, assay_hang *out)
{
    const char **list = hang_take(w, w->ranks, sizeof *list);
    size_t count = 0;
    for (uint32_t r = 0; r < w->ranks && list; r++)
        if (w->rank[r].row)
            list[count++] = w->rank[r].row->version ? w->rank[r].row->version : "";
    if (!list)
        return;
    qsort(list, count, sizeof *list, assay_order_texts);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(list[i], list[i - 1]) != 0)
            list[out->versions++] = list[i];
    out->version = list;
}

/* OF_A_RANK: edges are for a picture, in which nobody follows thousands. */
static void put_edges(hang_world *w, assay_hang *out)
{
    enum { OF_A_RANK = 16 };
    size_t room = w->wait.count;
    for (uint32_t s = 0; s < w->stops; s++)
        room += (size_t)w->stop[s].standing.count * OF_A_RANK;
    assay_hang_edge *list = hang_take(w, room, sizeof *list);
    size_t wait = 0;
    for (uint32_t r = 0; r < w->ranks && list; r++) {
        const hang_front *front = &w->rank[r].front;
        uint32_t count = 0;
        for (int k = 0; k < 3 && front->stop != HANG_NONE; k++) {
            const hang_stop *s = &w->stop[front->stop];
            const hang_list *to = k == 0 ? &s->not_called : k == 1 ? &s->before : &s->unknown;
            for (uint32_t i = 0; i < to->count && count < OF_A_RANK; i++, count++)
                list[out->edges++] = (assay_hang_edge){w->rank[r].number, w->rank[to->rank[i]].number, "NBU"[k]};
        }
        for (; wait < w->wait.count && w->wait.list[wait].from <= r; wait++)
            if (w->wait.list[wait].from == r && w->wait.list[wait].kind != '=')
                list[out->edges++] = (assay_hang_edge){w->rank[r].number, w->rank[w->wait.list[wait].to].number,
                                                       w->wait.list[wait].kind};
    }
    out->edge = list;
}

/* Puts what callers see, of a world that is known. Everything lies in the world's arena, or is borrowed from the
 * rows. */
static void put_result(hang_world *w, const assay_flight_row *row, size_t rows, assay_hang *out)
{
    bool *files = hang_take(w, w->ranks, sizeof *files), *none = hang_take(w, w->ranks, sizeof *none),
         *older = hang_take(w, w->ranks, sizeof *older);
    for (uint32_t r = 0; r < w->ranks && !w->no_memory; r++) {
        files[r] = w->rank[r].row != NULL;
        none[r] = w->rank[r].known == HANG_ABSENT;
        older[r] = w->rank[r].known == HANG_OLDER;
    }
    if (w->no_memory)
        return;
    out->files = rows;
    out->groups = w->groups;
    out->left_over = w->left_over;
    for (size_t i = 0; i < w->left_over.count; i++) /* and none of them has another file */
        for (uint32_t r = 0; r < w->ranks; r++)
            older[r] = older[r] || w->rank[r].number == w->left_over.rank[i];
    out->ranks = keep_ranks(w, files);
    out->no_file = keep_ranks(w, none);
    out->older = keep_ranks(w, older);
    /* Rows are not in the world where another file of the rank counts. */
    for (size_t i = 0; i < rows; i++) {
        const hang_rank *counts = NULL;
        for (uint32_t low = 0, high = w->ranks; low < high && !counts;) {
            const uint32_t middle = low + (high - low) / 2;
            if (w->rank[middle].number == row[i].rank)
                counts = &w->rank[middle];
            else if (w->rank[middle].number < row[i].rank)
                low = middle + 1;
            else
                high = middle;
        }
        out->unread += row[i].unread;
        if (counts && counts->row == &row[i]) {
            out->entries += row[i].entries;
            out->pending += row[i].pending;
        }
    }
    put_versions(w, out);
    put_causes(w, out);
    put_mismatches(w, out);
    put_edges(w, out);
}

/* Rows are changed (settle_member() in states.c), so they are not const. Each step is left out when memory ran out
 * before; *out is set on success only. */
int assay_hang_find_in(assay_flight_row *row, size_t rows, double max_age, assay_hang **out, assay_error *err)
{
    result *r = assay_alloc_zeroed(1, sizeof *r);
    *out = NULL;
    if (r) {
        r->world.arena = assay_arena_new(SIZE_MAX / 4);
        r->world.texts = assay_dict_new();
        r->world.asked = assay_dict_new();
        r->world.no_memory = !r->world.arena || !r->world.texts || !r->world.asked;
    }
    if (r && !r->world.no_memory)
        hang_build(&r->world, row, rows, max_age);
    if (r && !r->world.no_memory)
        hang_find_states(&r->world);
    if (r && !r->world.no_memory)
        hang_find_waits(&r->world);
    if (r && !r->world.no_memory)
        hang_find_causes(&r->world);
    if (r && !r->world.no_memory)
        put_result(&r->world, row, rows, &r->hang);
    if (!r || r->world.no_memory) {
        assay_hang_free(r ? &r->hang : NULL);
        return assay_fail(err, ASSAY_ENOMEM, "out of memory while the dumps of %zu ranks were compared", rows);
    }
    *out = &r->hang;
    return ASSAY_OK;
}

void assay_hang_free(assay_hang *hang)
{
    result *r = (result *)hang;
    if (!r)
        return;
    free(r->world.wait.list);
    free(r->world.cause.list);
    free(r->world.asked_about.list);
    assay_dict_free(r->world.texts);
    assay_dict_free(r->world.asked);
    assay_arena_free(r->world.arena);
    free(r);
}
