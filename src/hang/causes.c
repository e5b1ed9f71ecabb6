/* causes.c - the ranks that nobody keeps waiting, and those of cycles that broke the order. */
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "hang/internal.h"

void hang_add_cause(hang_world *w, hang_cause cause)
{
    hang_cause *to = ASSAY_VEC_ADD(&w->cause);
    w->no_memory = w->no_memory || !to;
    if (to)
        *to = cause;
}

/* What reaches each rank, by kinds: bits. N: it has not called what others stand at; B: it stands before that; U:
 * nobody knows; S: somebody waits for its part of a point-to-point operation. */
enum { BY_N = 1, BY_B = 2, BY_U = 4, BY_S = 8 };

/* Made once for all components. `reached` counts waits of any rank, `inside` only those of the rank's own component. */
typedef struct search {
    hang_world *w;
    uint8_t *reached; /* from anybody */
    bool *leaves;     /* by component */
    uint32_t *size;   /* by component: ranks */
    uint32_t *order;  /* ranks by component */
    uint32_t *first;  /* [components + 1] into `order` */
    uint8_t *inside;  /* by rank: how it is reached from its own component */
    bool *strong;     /* by rank: it has edges but S inside of its component */
    uint32_t *votes;  /* by rank */
} search;

static uint8_t bit_of(char kind)
{
    return kind == 'N' ? BY_N : kind == 'B' ? BY_B : kind == 'U' ? BY_U : BY_S;
}

static bool stands_inside(const search *s, const hang_stop *stop, uint32_t component)
{
    for (uint32_t i = 0; i < stop->standing.count; i++)
        if (s->w->rank[stop->standing.rank[i]].component == component)
            return true;
    return false;
}

static void mark_targets(search *s, const hang_stop *stop, const hang_list *list, uint8_t bit)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const uint32_t to = list->rank[i], component = s->w->rank[to].component;
        s->reached[to] |= bit;
        if (s->size[component] > 1 && stands_inside(s, stop, component))
            s->inside[to] |= bit;
    }
}

/* Tells whether a rank of the list is in the component. */
static bool has_inside(const search *s, const hang_list *list, uint32_t component)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (s->w->rank[list->rank[i]].component == component)
            return true;
    return false;
}

/* Ranks of a stop mostly share one component, so has_inside() is asked again only where it changes. */
static void mark_all(search *s)
{
    hang_world *w = s->w;
    for (uint32_t i = 0; i < w->stops; i++) {
        const hang_stop *stop = &w->stop[i];
        mark_targets(s, stop, &stop->not_called, BY_N);
        mark_targets(s, stop, &stop->before, BY_B);
        mark_targets(s, stop, &stop->unknown, BY_U);
        uint32_t last = HANG_NONE;
        bool inside = false;
        for (uint32_t k = 0; k < stop->standing.count; k++) {
            hang_rank *r = &w->rank[stop->standing.rank[k]];
            if (s->size[r->component] < 2)
                continue;
            if (r->component != last)
                inside = has_inside(s, &stop->not_called, r->component) || has_inside(s, &stop->before, r->component) ||
                         has_inside(s, &stop->unknown, r->component);
            last = r->component;
            s->strong[stop->standing.rank[k]] = s->strong[stop->standing.rank[k]] || inside;
        }
    }
    for (size_t i = 0; i < w->wait.count; i++) {
        const hang_wait *e = &w->wait.list[i];
        s->reached[e->to] |= bit_of(e->kind);
        if (w->rank[e->from].component == w->rank[e->to].component) {
            s->inside[e->to] |= bit_of(e->kind);
            s->strong[e->from] = s->strong[e->from] || e->kind != 'S';
        }
    }
}

/* Counting sort; two places more than components, so that the second walk moves each place on to its end. */
static void order_ranks(search *s)
{
    hang_world *w = s->w;
    s->first = hang_take(w, w->components + (size_t)2, sizeof *s->first);
    s->order = hang_take(w, w->ranks, sizeof *s->order);
    if (w->no_memory)
        return;
    for (uint32_t r = 0; r < w->ranks; r++)
        s->first[w->rank[r].component + 2]++;
    for (uint32_t c = 2; c < w->components + 2; c++)
        s->first[c] += s->first[c - 1];
    for (uint32_t r = 0; r < w->ranks; r++)
        s->order[s->first[w->rank[r].component + 1]++] = r;
}

/* ---- the operation that waits ---- */

/* Says which of those that wait for a rank its evidence is taken from, in this order: of its own component, of N, U
 * and S edges, then of all. */
enum { OF_COMPONENT = 1, NOT_CALLED = 2 };

static bool is_asked(const search *s, uint32_t waiter, uint32_t rank, int asked)
{
    return !(asked & OF_COMPONENT) || s->w->rank[waiter].component == s->w->rank[rank].component;
}

/* Finds the first rank that waits for another, and where; with fewer conditions where none fits. */
static hang_cause with_waiter(const search *s, hang_cause cause, int asked)
{
    const hang_world *w = s->w;
    const bool called = !(asked & NOT_CALLED);
    uint32_t lowest = HANG_NONE;
    for (uint32_t i = 0; i < w->stops; i++) {
        const hang_stop *stop = &w->stop[i];
        const hang_list *lists[] = {&stop->not_called, &stop->unknown, &stop->before};
        for (int k = 0; k < (called ? 3 : 2); k++)
            for (uint32_t n = 0; n < lists[k]->count; n++) {
                uint32_t first = 0;
                while (lists[k]->rank[n] == cause.rank && first < stop->standing.count &&
                       !is_asked(s, stop->standing.rank[first], cause.rank, asked))
                    first++;
                if (lists[k]->rank[n] == cause.rank && first < stop->standing.count &&
                    stop->standing.rank[first] < lowest) {
                    lowest = stop->standing.rank[first];
                    cause.stop = i;
                }
            }
    }
    for (size_t i = 0; i < w->wait.count; i++) {
        const hang_wait *e = &w->wait.list[i];
        if (e->to == cause.rank && e->kind != '=' && (called || e->kind != 'B') && e->from < lowest &&
            is_asked(s, e->from, cause.rank, asked)) {
            lowest = e->from;
            cause.stop = HANG_NONE;
            cause.wait = (uint32_t)i;
        }
    }
    return lowest == HANG_NONE && asked > 0 ? with_waiter(s, cause, asked - 1) : cause;
}

/* A rank by itself is mostly waited for from outside, one of a cycle from inside. */
static void blame(search *s, assay_hang_test test, uint32_t rank)
{
    const hang_cause cause = {.test = test, .rank = rank, .stop = HANG_NONE, .wait = HANG_NONE};
    const bool alone = s->size[s->w->rank[rank].component] == 1;
    hang_add_cause(s->w, with_waiter(s, cause, alone ? NOT_CALLED : OF_COMPONENT | NOT_CALLED));
}

/* ---- order (5.4, 2c) ---- */

typedef enum likeness { NEITHER, LEVEL, LACKS } likeness;

static const assay_flight_count *find_count(const assay_flight_count *list, uint32_t count,
                                            const assay_flight_count *like)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(list[i].description, like->description) == 0 &&
            (!like->operation || strcmp(list[i].operation, like->operation) == 0))
            return &list[i];
    return NULL;
}

/* Tells whether `other` has recorded exactly one operation more since the one before: then the rank has most likely
 * left one out. */
static likeness compare_profiles(const assay_flight_group *own, const assay_flight_group *other)
{
    int64_t more = 0;
    for (uint32_t i = 0; i < other->sinces; i++) {
        const assay_flight_count *mine = find_count(own->since, own->sinces, &other->since[i]);
        const int64_t difference = other->since[i].count - (mine ? mine->count : 0);
        if (difference < 0)
            return NEITHER;
        more += difference;
    }
    for (uint32_t i = 0; i < own->sinces; i++)
        if (!find_count(other->since, other->sinces, &own->since[i]))
            return NEITHER;
    return more == 0 ? LEVEL : more == 1 ? LACKS : NEITHER;
}

static likeness compare_before(const assay_flight_group *own, const assay_flight_group *other)
{
    uint32_t common = 0, lower = 0;
    for (uint32_t i = 0; i < own->befores; i++) {
        const assay_flight_count *theirs = find_count(other->before, other->befores, &own->before[i]);
        if (!theirs)
            continue;
        common++;
        if (theirs->count == own->before[i].count)
            continue;
        if (theirs->count != own->before[i].count + 1)
            return NEITHER;
        lower++;
    }
    return common == 0 ? NEITHER : lower == 0 ? LEVEL : lower == 1 ? LACKS : NEITHER;
}

/* Two ways to tell: what came since a common operation, or counts of what came before. */
static likeness compare_members(const assay_flight_group *own, const assay_flight_group *other)
{
    return own->follows && other->follows ? compare_profiles(own, other) : compare_before(own, other);
}

static bool are_alike(const assay_flight_group *a, const assay_flight_group *b)
{
    if (a->follows != b->follows || a->sinces != b->sinces || a->befores != b->befores)
        return false;
    for (uint32_t i = 0; i < a->sinces; i++) {
        const assay_flight_count *other = find_count(b->since, b->sinces, &a->since[i]);
        if (!other || other->count != a->since[i].count)
            return false;
    }
    for (uint32_t i = 0; i < a->befores; i++) {
        const assay_flight_count *other = find_count(b->before, b->befores, &a->before[i]);
        if (!other || other->count != a->before[i].count)
            return false;
    }
    return true;
}

/* Classes instead of pairs: ranks of a large group are mostly alike. */
typedef struct alike { /* ranks at one stop that recorded the same around it */
    const assay_flight_group *as;
    uint32_t count;
} alike;

/* Marks the ranks at a stop that lack one operation which most others there have done. Ranks alike form a class, so
 * that classes are compared instead of pairs. */
static void find_lacking(search *s, uint32_t stop, bool *lacking)
{
    enum { CLASSES_MOST = 256 };
    hang_world *w = s->w;
    const hang_stop *at = &w->stop[stop];
    alike *class = hang_take(w, CLASSES_MOST, sizeof *class);
    uint32_t *class_of = hang_take(w, at->standing.count, sizeof *class_of);
    uint32_t classes = 0;
    for (uint32_t i = 0; i < at->standing.count && !w->no_memory; i++) {
        const assay_flight_group *g = w->member[w->rank[at->standing.rank[i]].front.member].of;
        uint32_t c = 0;
        while (c < classes && !are_alike(class[c].as, g))
            c++;
        if (c == CLASSES_MOST)
            return; /* nobody is like the others */
        classes += c == classes;
        class[c].as = g;
        class[c].count++;
        class_of[i] = c;
    }
    for (uint32_t c = 0; c < classes && !w->no_memory; c++) {
        uint32_t more = 0, level = class[c].count - 1;
        for (uint32_t k = 0; k < classes; k++) {
            const likeness found = k == c ? NEITHER : compare_members(class[c].as, class[k].as);
            more += found == LACKS ? class[k].count : 0;
            level += found == LEVEL ? class[k].count : 0;
        }
        for (uint32_t i = 0; i < at->standing.count && more >= 2 && more > level; i++)
            if (class_of[i] == c)
                lacking[at->standing.rank[i]] = true;
    }
}

/* ---- other operations ---- */

/* Marks the ranks at a stop that call something else there than most of those that show the number: they have left
 * the others' program. */
static void find_differing(search *s, uint32_t stop, bool *differing)
{
    hang_world *w = s->w;
    const hang_stop *at = &w->stop[stop];
    uint32_t *named = hang_take(w, w->group[at->group].members, sizeof *named), shown = 0;
    const char *kind = NULL;
    if (!named)
        return;
    const uint32_t count = hang_compare(w, at->group, at->number, &kind, named, &shown);
    for (uint32_t i = 0, k = 0; i < count && 2 * count < shown; i++) { /* both are in order of ranks */
        while (k < at->standing.count && at->standing.rank[k] < named[i])
            k++;
        if (k < at->standing.count && at->standing.rank[k] == named[i])
            differing[named[i]] = true;
    }
}

/* ---- components of several ranks ---- */

typedef struct component {
    search *s;
    uint32_t number, size;
    const uint32_t *rank;
} component;

/* Blames the ranks of a component that are marked; false where none is, or more than `most`. */
static bool blame_marked(const component *c, assay_hang_test test, const bool *marked, uint32_t most)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->size; i++)
        count += marked[c->rank[i]];
    if (count == 0 || count > most)
        return false;
    for (uint32_t i = 0; i < c->size; i++)
        if (marked[c->rank[i]])
            blame(c->s, test, c->rank[i]);
    return true;
}

/* The stop is where the rank stands, which says more than the first waiter's. */
static bool blame_at_stop(const component *c, const bool *marked, uint32_t most, const uint32_t *stop)
{
    const size_t before = c->s->w->cause.count;
    if (!blame_marked(c, ASSAY_HANG_DEADLOCK, marked, most))
        return false;
    for (size_t i = before; i < c->s->w->cause.count; i++) {
        hang_cause *cause = &c->s->w->cause.list[i];
        if (stop[cause->rank] != HANG_NONE) {
            cause->stop = stop[cause->rank];
            cause->wait = HANG_NONE;
        }
    }
    return true;
}

/* Tells whether the component is two ranks that wait for each other in point-to-point operations. */
static bool is_pair(const component *c)
{
    const hang_world *w = c->s->w;
    bool ways[2] = {false, false};
    for (size_t i = 0; i < w->wait.count && c->size == 2; i++) {
        ways[0] = ways[0] || (w->wait.list[i].from == c->rank[0] && w->wait.list[i].to == c->rank[1]);
        ways[1] = ways[1] || (w->wait.list[i].from == c->rank[1] && w->wait.list[i].to == c->rank[0]);
    }
    return ways[0] && ways[1];
}

/* At each stop the smaller side gets votes, by how much smaller it is: few ranks that are elsewhere than many are the
 * odd ones. */
static void vote(const component *c, uint32_t *stop_of)
{
    search *s = c->s;
    hang_world *w = s->w;
    for (uint32_t i = 0; i < w->stops; i++) {
        const hang_stop *stop = &w->stop[i];
        const hang_list *missing[] = {&stop->not_called, &stop->before};
        const uint32_t there = stop->standing.count, gone = missing[0]->count + missing[1]->count;
        if (there == gone || !stands_inside(s, stop, c->number) ||
            (!has_inside(s, missing[0], c->number) && !has_inside(s, missing[1], c->number)))
            continue;
        const uint32_t difference = there < gone ? gone - there : there - gone;
        for (int l = 0; l < 3; l++) {
            const hang_list *list = l == 0 ? &stop->standing : missing[l - 1];
            for (uint32_t k = 0; k < list->count && (there < gone) == (l == 0); k++)
                if (w->rank[list->rank[k]].component == c->number) {
                    s->votes[list->rank[k]] += difference;
                    if (stop_of[list->rank[k]] == HANG_NONE)
                        stop_of[list->rank[k]] = i;
                }
        }
    }
}

/* Finds something of ranks at the stops of a component. */
typedef void find_at_stop(search *s, uint32_t stop, bool *found);

static bool blame_found(const component *c, find_at_stop *find, bool *marked, uint32_t *stop)
{
    search *s = c->s;
    hang_world *w = s->w;
    bool *found = hang_take(w, w->ranks, sizeof *found);
    for (uint32_t i = 0; i < w->stops && found; i++)
        if (stands_inside(s, &w->stop[i], c->number))
            find(s, i, found);
    if (w->no_memory)
        return true;
    for (uint32_t i = 0; i < c->size; i++) {
        marked[c->rank[i]] = found[c->rank[i]];
        stop[c->rank[i]] = w->rank[c->rank[i]].front.stop;
    }
    return blame_at_stop(c, marked, c->size, stop);
}

/* Letters are those of the design (5.4): from the surest sign to none, the first that names somebody ends it. */
static void blame_cycle(const component *c)
{
    search *s = c->s;
    hang_world *w = s->w;
    bool *marked = hang_take(w, w->ranks, sizeof *marked);
    uint32_t *stop = hang_take(w, w->ranks, sizeof *stop);
    if (w->no_memory)
        return;
    memset(stop, 0xff, w->ranks * sizeof *stop);
    for (uint32_t i = 0; i < c->size; i++) /* a */
        marked[c->rank[i]] = !s->strong[c->rank[i]] && (s->inside[c->rank[i]] & BY_N);
    if (blame_marked(c, ASSAY_HANG_BEHIND, marked, c->size - 1))
        return;
    for (uint32_t i = 0; i < c->size; i++) /* b */
        marked[c->rank[i]] = true;
    if (is_pair(c)) {
        blame_marked(c, ASSAY_HANG_DEADLOCK, marked, c->size);
        return;
    }
    if (blame_found(c, find_differing, marked, stop) || blame_found(c, find_lacking, marked, stop)) /* c */
        return;
    for (uint32_t i = 0; i < c->size; i++) /* d */
        marked[c->rank[i]] = s->inside[c->rank[i]] & BY_N;
    if (blame_marked(c, ASSAY_HANG_DEADLOCK, marked, c->size / 2))
        return;
    memset(stop, 0xff, w->ranks * sizeof *stop); /* e */
    vote(c, stop);
    uint32_t most = 0;
    for (uint32_t i = 0; i < c->size; i++)
        most = s->votes[c->rank[i]] > most ? s->votes[c->rank[i]] : most;
    for (uint32_t i = 0; i < c->size; i++)
        marked[c->rank[i]] = most > 0 && s->votes[c->rank[i]] == most;
    if (blame_at_stop(c, marked, c->size - 1, stop))
        return;
    for (uint32_t i = 0; i < c->size; i++) /* f */
        marked[c->rank[i]] = true;
    blame_marked(c, ASSAY_HANG_DEADLOCK, marked, c->size);
}

/* ---- single ranks ---- */

/* A rank that waits for nobody: it is absent, stuck in an operation that all have reached, or behind. */
static void blame_single(search *s, uint32_t rank)
{
    const hang_rank *r = &s->w->rank[rank];
    if (r->known == HANG_ABSENT && s->reached[rank])
        blame(s, ASSAY_HANG_ABSENT, rank);
    else if (r->known == HANG_KNOWN && r->front.member != HANG_NONE)
        hang_find_stuck(s->w, rank);
    else if (r->known == HANG_KNOWN && ((s->reached[rank] & (BY_N | BY_S)) || r->awaited))
        blame(s, ASSAY_HANG_BEHIND, rank);
}

/* ---- ahead (5.4, 4) ---- */

static hang_cause *behind_of(const hang_world *w, uint32_t rank)
{
    for (size_t i = 0; i < w->cause.count; i++)
        if (w->cause.list[i].rank == rank && w->cause.list[i].test == ASSAY_HANG_BEHIND && !w->cause.list[i].dropped)
            return &w->cause.list[i];
    return NULL;
}

/* Tells whether anybody waits for one of `missing` who is not among `came`. */
static bool others_wait(const hang_world *w, const bool *came, const bool *missing)
{
    for (uint32_t i = 0; i < w->stops; i++) {
        const hang_stop *stop = &w->stop[i];
        const hang_list *lists[] = {&stop->not_called, &stop->before, &stop->unknown};
        bool waited = false, other = false;
        for (int k = 0; k < 3; k++)
            for (uint32_t n = 0; n < lists[k]->count; n++)
                waited = waited || missing[lists[k]->rank[n]];
        for (uint32_t n = 0; n < stop->standing.count; n++)
            other = other || !came[stop->standing.rank[n]];
        if (waited && other)
            return true;
    }
    for (size_t i = 0; i < w->wait.count; i++)
        if (missing[w->wait.list[i].to] && !came[w->wait.list[i].from])
            return true;
    return false;
}

/* Most of a group has not called what few stand at, and nobody else waits for them: the few have gone ahead. */
static void find_ahead(hang_world *w, uint32_t stop)
{
    const hang_stop *s = &w->stop[stop];
    const hang_group *g = &w->group[s->group];
    if (s->not_called.count < 2 || s->unknown.count > 0 || s->not_called.count * 2 <= g->members)
        return;
    bool *came = hang_take(w, w->ranks, sizeof *came), *missing = hang_take(w, w->ranks, sizeof *missing);
    if (w->no_memory)
        return;
    for (uint32_t i = 0; i < s->not_called.count; i++) {
        const uint32_t r = s->not_called.rank[i];
        if (!behind_of(w, r) || w->rank[r].front.member != HANG_NONE)
            return;
        missing[r] = true;
    }
    for (uint32_t m = g->member; m < g->member + g->members; m++)
        came[w->member[m].rank] = !missing[w->member[m].rank];
    if (others_wait(w, came, missing))
        return;
    for (uint32_t i = 0; i < s->not_called.count; i++)
        behind_of(w, s->not_called.rank[i])->dropped = true;
    for (uint32_t m = g->member; m < g->member + g->members; m++)
        if (came[w->member[m].rank])
            hang_add_cause(
                w, (hang_cause){.test = ASSAY_HANG_AHEAD, .rank = w->member[m].rank, .stop = stop, .wait = HANG_NONE});
}

/* ---- all ---- */

static void blame_devices(hang_world *w)
{
    for (uint32_t r = 0; r < w->ranks; r++)
        if (w->rank[r].known == HANG_DEVICE)
            hang_add_cause(w, (hang_cause){.test = ASSAY_HANG_DEVICE, .rank = r, .stop = HANG_NONE, .wait = HANG_NONE});
}

/* Drops what is held back where something else was found: it most likely waits for that. */
static void drop_held_back(hang_world *w)
{
    bool other = false;
    for (size_t i = 0; i < w->cause.count; i++)
        other = other || (!w->cause.list[i].dropped && !w->cause.list[i].held_back);
    for (size_t i = 0; i < w->cause.count; i++)
        w->cause.list[i].dropped = w->cause.list[i].dropped || (other && w->cause.list[i].held_back);
}

/* The order matters: components first, then blame by component, then devices; ranks ahead replace causes that were
 * found before. */
void hang_find_causes(hang_world *w)
{
    const size_t nodes = (size_t)w->ranks + w->stops;
    search s = {.w = w,
                .reached = hang_take(w, w->ranks, sizeof *s.reached),
                .leaves = hang_take(w, nodes, sizeof *s.leaves),
                .size = hang_take(w, nodes, sizeof *s.size),
                .inside = hang_take(w, w->ranks, sizeof *s.inside),
                .strong = hang_take(w, w->ranks, sizeof *s.strong),
                .votes = hang_take(w, w->ranks, sizeof *s.votes)};
    if (!w->no_memory)
        hang_find_components(w, s.leaves, s.size);
    if (!w->no_memory)
        order_ranks(&s);
    if (w->no_memory)
        return;
    mark_all(&s);
    for (uint32_t r = 0; r < w->ranks && !w->no_memory; r++) { /* a component by its lowest rank */
        const uint32_t number = w->rank[r].component;
        const uint32_t *ranks = s.order + s.first[number];
        if (s.leaves[number] || ranks[0] != r)
            continue;
        if (s.size[number] == 1)
            blame_single(&s, r);
        else
            blame_cycle(&(component){&s, number, s.size[number], ranks});
    }
    blame_devices(w);
    for (uint32_t i = 0; i < w->stops && !w->no_memory; i++)
        find_ahead(w, i);
    drop_held_back(w);
}
