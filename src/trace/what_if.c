/* what_if.c - what the steps would take without what went wrong: each step is replayed, with and without it.
 *
 * A rank goes along its points, in order of time: it arrives at a kernel of communication, or waits for one to end.
 * Between two points it needs the own time that lies between them. An operation ends when its last member arrived and
 * the transfer is done; a kernel that matches nothing ends after its own duration. A step lasts from the earliest begin
 * of a rank's window to the last end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "trace/side.h"

typedef struct point {
    uint32_t kernel;
    bool waits;        /* for its end; else the rank arrives */
    bool first;        /* up to the step's first arrival */
    int64_t time, own; /* own: ns since the point before */
} point;

typedef struct lane { /* of a rank in a step */
    uint32_t rank;
    size_t first, count; /* points */
    double begin;        /* ns, by the first rank's clock */
    double late_input;   /* ns of the data loader over its peers */
    size_t next;         /* while it is replayed */
    double now;
    uint32_t next_blocked; /* behind it on the list of an operation; ASSAY_NO_ID: none */
} lane;

typedef struct replay {
    const side *s;
    ASSAY_VEC(point) point;
    ASSAY_VEC(lane) lane;
    bool *first_part;   /* [kernels] is it the one by which its rank arrives at the operation? */
    uint32_t *queue;    /* lanes that go on; [lanes] */
    double *end;        /* [kernels] of those that match nothing */
    double *latest;     /* [operations] arrival */
    double *done;       /* [operations] end; NAN: not known */
    uint32_t *missing;  /* [operations] members that have not arrived */
    uint32_t *expected; /* [operations] members in this step */
    uint32_t *blocked;  /* [operations] the first lane that waits */
} replay;

typedef struct variant {
    bool own;        /* own times without excess: */
    int32_t rank;    /* of this rank alone; -1: of all */
    bool transfers;  /* as in sound groups */
    bool late_input; /* without it */
} variant;

/* ---- the points of a step ---- */

/* Where times are equal a wait comes before an arrival: a kernel that ended let the next begin. */
static int compare_points(const void *a, const void *b)
{
    const point *x = a, *y = b;
    int order = ASSAY_ORDER(x->time, y->time);
    order = order ? order : ASSAY_ORDER(y->waits, x->waits);
    return order ? order : ASSAY_ORDER(x->kernel, y->kernel);
}

static bool is_matched(const side *s, uint32_t kernel)
{
    const uint32_t o = s->mark[kernel].operation;
    return o != ASSAY_NO_ID && s->operation.list[o].matched;
}

static bool add_point(replay *r, uint32_t kernel, bool waits, int64_t time, int64_t own)
{
    point *p = ASSAY_VEC_ADD(&r->point);
    if (p)
        *p = (point){.kernel = kernel, .waits = waits, .time = time, .own = own};
    return p != NULL;
}

/* Makes own times between points from own clocks at points. */
static void connect_points(replay *r, const lane *l, int64_t own_from)
{
    point *list = r->point.list + l->first;
    int64_t before = own_from;
    bool first = true;
    for (size_t i = 0; i < l->count; i++) {
        const int64_t own = list[i].own;
        list[i].own = own > before ? (own - before) * ASSAY_TRACE_BIN : 0;
        before = own;
        list[i].first = first;
        first = first && list[i].waits;
    }
}

static int add_lane(replay *r, const assay_trace_work *work, const step_row *row, const side_rank *rank)
{
    const side *s = r->s;
    lane *l = ASSAY_VEC_ADD(&r->lane);
    ASSAY_HAVE(l);
    *l = (lane){.rank = (uint32_t)(rank - s->rank.list), .first = r->point.count, .begin = (double)work->from};
    if (work->input > work->input_median)
        l->late_input = (double)(work->input - work->input_median);
    for (uint64_t p = rank->first_place; p < rank->first_place + rank->kernels; p++) {
        const uint32_t kernel = s->place[p];
        const kernel_row *k = side_kernel(s, kernel);
        if (s->mark[kernel].step != work->step)
            continue;
        if (!add_point(r, kernel, false, k->begin, k->own_begin) ||
            (k->waits && !add_point(r, kernel, true, k->end, k->own_end)))
            return ASSAY_ENOMEM;
        if (is_matched(s, kernel) && r->first_part[kernel])
            r->expected[s->mark[kernel].operation]++;
    }
    l->count = r->point.count - l->first;
    if (l->count > 1)
        qsort(r->point.list + l->first, l->count, sizeof *r->point.list, compare_points);
    connect_points(r, l, row->own_from);
    return ASSAY_OK;
}

/* ---- going along ---- */

/* Only what the points of this step name is set: lists over all kernels would cost each step the whole trace. */
static void prepare(replay *r)
{
    const side *s = r->s;
    for (size_t i = 0; i < r->point.count; i++) {
        const uint32_t kernel = r->point.list[i].kernel;
        r->end[kernel] = NAN;
        if (!is_matched(s, kernel))
            continue;
        const uint32_t o = s->mark[kernel].operation;
        r->latest[o] = -INFINITY;
        r->done[o] = NAN;
        r->missing[o] = r->expected[o];
        r->blocked[o] = ASSAY_NO_ID;
    }
    for (size_t i = 0; i < r->lane.count; i++) {
        r->lane.list[i].next = 0;
        r->lane.list[i].now = r->lane.list[i].begin;
    }
}

/* Excess is taken in proportion off the own time just before an arrival; what the rank did while the kernel before ran
 * stays as it was. */
static double own_time(const replay *r, const lane *l, const point *p, const variant *v)
{
    const side *s = r->s;
    double own = (double)p->own;
    if (v->late_input && p->first)
        own = own > l->late_input ? own - l->late_input : 0;
    if (!v->own || p->waits || (v->rank >= 0 && v->rank != s->rank.list[l->rank].rank))
        return own;
    const kernel_mark *mark = &s->mark[p->kernel];
    if (mark->excess == TRACE_NONE || mark->own <= 0)
        return own;
    return own * ((double)(mark->own - mark->excess) / (double)mark->own);
}

static double transfer_time(const side *s, uint32_t o, const variant *v)
{
    const int64_t transfer = s->operation.list[o].transfer, goal = s->transfer_goal[o];
    return (double)(v->transfers && goal > 0 && goal < transfer ? goal : transfer);
}

/* Notes that a rank arrived at a kernel. Lanes that wait for it go back to the queue, behind `queued`; returns how
 * many are there then. */
static size_t arrive(replay *r, const lane *l, uint32_t kernel, const variant *v, size_t queued)
{
    const side *s = r->s;
    if (!is_matched(s, kernel)) {
        r->end[kernel] = l->now + (double)(side_kernel(s, kernel)->end - side_kernel(s, kernel)->begin);
        return queued;
    }
    if (!r->first_part[kernel])
        return queued;
    const uint32_t o = s->mark[kernel].operation;
    r->latest[o] = l->now > r->latest[o] ? l->now : r->latest[o];
    if (--r->missing[o] > 0)
        return queued;
    r->done[o] = r->latest[o] + transfer_time(s, o, v);
    for (uint32_t i = r->blocked[o]; i != ASSAY_NO_ID; i = r->lane.list[i].next_blocked)
        r->queue[queued++] = i;
    return queued;
}

/* Goes along as far as a lane gets; returns how many lanes are in the queue then. A lane that has to wait is on the
 * list of one operation, and never in the queue at the same time. */
static size_t go_on(replay *r, uint32_t number, const variant *v, size_t queued)
{
    lane *l = &r->lane.list[number];
    for (; l->next < l->count; l->next++) {
        const point *p = &r->point.list[l->first + l->next];
        if (!p->waits) {
            l->now += own_time(r, l, p, v);
            queued = arrive(r, l, p->kernel, v, queued);
            continue;
        }
        double end = r->end[p->kernel];
        if (is_matched(r->s, p->kernel)) {
            const uint32_t o = r->s->mark[p->kernel].operation;
            end = r->done[o];
            if (isnan(end)) {
                l->next_blocked = r->blocked[o];
                r->blocked[o] = number;
                return queued;
            }
        }
        l->now += own_time(r, l, p, v);
        l->now = end > l->now ? end : l->now;
    }
    return queued;
}

/* Returns the ns that the step takes; NAN: some rank waits for ever, the files contradict one another. */
static double simulate(replay *r, const variant *v)
{
    size_t queued = 0;
    double begin = INFINITY, end = -INFINITY;
    prepare(r);
    for (size_t i = r->lane.count; i-- > 0;)
        r->queue[queued++] = (uint32_t)i;
    while (queued > 0) {
        const uint32_t number = r->queue[queued - 1];
        queued = go_on(r, number, v, queued - 1);
    }
    for (size_t i = 0; i < r->lane.count; i++) {
        const lane *l = &r->lane.list[i];
        if (l->next < l->count)
            return NAN;
        begin = l->begin < begin ? l->begin : begin;
        end = l->now > end ? l->now : end;
    }
    for (size_t i = 0; i < r->point.count; i++) {
        const uint32_t kernel = r->point.list[i].kernel;
        const double done = is_matched(r->s, kernel) ? r->done[r->s->mark[kernel].operation] : r->end[kernel];
        end = done > end ? done : end;
    }
    return end - begin;
}

/* ---- all steps ---- */

typedef struct totals {
    double measured, simulated, ideal, own, transfers, late_input;
    double *rank;          /* [ranks] without the own time above the median of one */
    double *most;          /* [ranks] of that, what can be saved at most: all that is taken off it */
    bool *simulated_alone; /* [ranks] */
} totals;

/* `expected` is over all operations, so what the step before counted has to go, by the points that it left. */
static void clear_expected(replay *r)
{
    for (size_t i = 0; i < r->point.count; i++)
        if (r->s->mark[r->point.list[i].kernel].operation != ASSAY_NO_ID)
            r->expected[r->s->mark[r->point.list[i].kernel].operation] = 0;
}

/* Builds a step: the rows [from, to) of the work are those of it. */
static int build_step(replay *r, size_t from, size_t to)
{
    const assay_trace_work *work = r->s->data->work;
    clear_expected(r);
    r->point.count = r->lane.count = 0;
    for (size_t i = from; i < to; i++) {
        const side_rank *rank = side_find_rank(r->s, work[i].rank);
        ASSAY_TRY(add_lane(r, &work[i], trace_window_of(r->s, rank, work[i].step), rank));
    }
    return ASSAY_OK;
}

/* Replays a step as it was, and without what concerns all ranks. */
static void add_step(replay *r, size_t from, size_t to, totals *t)
{
    const assay_trace_work *work = r->s->data->work;
    const variant own = {.rank = -1, .own = true};
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = from; i < to; i++) {
        first = work[i].from < first ? work[i].from : first;
        last = work[i].to > last ? work[i].to : last;
    }
    t->measured += (double)(last - first);
    /* NAN of one step makes the sum NAN: nothing is then said of any, rather than of some. */
    t->simulated += simulate(r, &(variant){.rank = -1});
    t->ideal += simulate(r, &(variant){.rank = -1, .own = true, .transfers = true});
    t->own += simulate(r, &own);
    t->transfers += simulate(r, &(variant){.rank = -1, .transfers = true});
    t->late_input += simulate(r, &(variant){.rank = -1, .late_input = true});
    for (size_t i = 0; i < r->lane.count; i++) {
        const lane *l = &r->lane.list[i];
        for (size_t k = l->first; k < l->first + l->count; k++) {
            const point *p = &r->point.list[k];
            const double less = (double)p->own - own_time(r, l, p, &own);
            t->most[l->rank] += less > 0 ? less : 0;
        }
    }
}

/* Replays a step without what one rank does above the median, for each rank that was chosen. */
static void add_ranks(replay *r, size_t from, size_t to, totals *t)
{
    for (size_t i = from; i < to && !isnan(t->simulated); i++) {
        const side_rank *rank = side_find_rank(r->s, r->s->data->work[i].rank);
        const size_t number = (size_t)(rank - r->s->rank.list);
        if (t->simulated_alone[number])
            t->rank[number] += simulate(r, &(variant){.rank = rank->rank, .own = true});
    }
}

static int replay_steps(replay *r, totals *t, void (*add)(replay *, size_t, size_t, totals *))
{
    const assay_trace_data *data = r->s->data;
    int status = ASSAY_OK;
    for (size_t from = 0, to; from < data->works && status == ASSAY_OK; from = to) {
        for (to = from + 1; to < data->works && data->work[to].step == data->work[from].step;)
            to++;
        status = build_step(r, from, to);
        if (status == ASSAY_OK)
            add(r, from, to, t);
    }
    return status;
}

/* Figures are finite: no NAN is put into `most`. */
static int compare_descending(const void *a, const void *b)
{
    return ASSAY_ORDER(*(const double *)b, *(const double *)a);
}

/* Each rank of a large job is not simulated for itself, which would take the square of them: only those from which most
 * can be taken. No other one can save more than the least of these could. */
static int choose_alone(const side *s, totals *t)
{
    enum { MOST = 64 };
    double *sorted = assay_alloc((s->rank.count + 1) * sizeof *sorted);
    size_t chosen = 0;
    ASSAY_HAVE(sorted);
    memcpy(sorted, t->most, s->rank.count * sizeof *sorted);
    qsort(sorted, s->rank.count, sizeof *sorted, compare_descending);
    const double least = s->rank.count > MOST ? sorted[MOST - 1] : -INFINITY;
    /* First those above the least, then as many equal to it as there is room for. */
    for (int equal = 0; equal < 2; equal++)
        for (size_t i = 0; i < s->rank.count && chosen < (s->rank.count > MOST ? MOST : s->rank.count); i++)
            if (s->rank.list[i].evaluated && (equal ? t->most[i] == least : t->most[i] > least)) {
                t->simulated_alone[i] = true;
                chosen++;
            }
    free(sorted);
    return ASSAY_OK;
}

/* Lists the ranks without which most would be saved. */
static void list_ranks(const side *s, const totals *t, assay_trace_what_if *out)
{
    enum { MOST = sizeof out->rank / sizeof *out->rank };
    for (size_t r = 0; r < s->rank.count; r++) {
        const double share = 1 - t->rank[r] / t->simulated;
        uint32_t at = out->ranks;
        if (!t->simulated_alone[r])
            continue;
        while (at > 0 && out->rank[at - 1].share < share)
            at--;
        if (at == MOST)
            continue;
        out->ranks += out->ranks < MOST;
        for (uint32_t i = out->ranks - 1; i > at; i--)
            out->rank[i] = out->rank[i - 1];
        out->rank[at].rank = s->rank.list[r].rank;
        out->rank[at].share = share;
    }
}

static void release(replay *r)
{
    free(r->point.list);
    free(r->lane.list);
    free(r->queue);
    free(r->end);
    free(r->latest);
    free(r->done);
    free(r->missing);
    free(r->expected);
    free(r->first_part);
    free(r->blocked);
}

/* Two passes over the steps: the first finds what each rank could save, the second simulates the chosen ones. */
int trace_what_if(side *s)
{
    const size_t kernels = s->c->kernel.count + 1, operations = s->operation.count + 1;
    assay_trace_what_if *out = &s->data->what_if;
    totals t = {.rank = assay_alloc_zeroed(s->rank.count + 1, sizeof *t.rank),
                .most = assay_alloc_zeroed(s->rank.count + 1, sizeof *t.most),
                .simulated_alone = assay_alloc_zeroed(s->rank.count + 1, sizeof *t.simulated_alone)};
    replay r = {.s = s,
                .first_part = assay_alloc_zeroed(kernels, sizeof *r.first_part),
                .queue = assay_alloc((s->rank.count + 1) * sizeof *r.queue),
                .end = assay_alloc(kernels * sizeof *r.end),
                .latest = assay_alloc(operations * sizeof *r.latest),
                .done = assay_alloc(operations * sizeof *r.done),
                .missing = assay_alloc(operations * sizeof *r.missing),
                .expected = assay_alloc_zeroed(operations, sizeof *r.expected),
                .blocked = assay_alloc(operations * sizeof *r.blocked)};
    const bool there = t.rank && t.most && t.simulated_alone && r.first_part && r.queue && r.end && r.latest &&
                       r.done && r.missing && r.expected && r.blocked;
    int status = there ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; there && i < s->member.count; i++)
        r.first_part[s->member.list[i].kernel] = true;
    if (status == ASSAY_OK && s->data->matched > 0)
        status = replay_steps(&r, &t, add_step);
    ASSAY_THEN(status, choose_alone(s, &t));
    if (status == ASSAY_OK && s->data->matched > 0)
        status = replay_steps(&r, &t, add_ranks);
    if (status == ASSAY_OK && t.simulated > 0 && t.ideal > 0) {
        *out = (assay_trace_what_if){.known = true,
                                     .measured = t.measured / 1e9,
                                     .simulated = t.simulated / 1e9,
                                     .ideal = t.ideal / 1e9,
                                     .without_own = 1 - t.own / t.simulated,
                                     .without_slow_groups = 1 - t.transfers / t.simulated,
                                     .without_late_input = 1 - t.late_input / t.simulated,
                                     .rough = fabs(t.simulated - t.measured) > 0.1 * t.measured};
        list_ranks(s, &t, out);
    }
    free(t.rank);
    free(t.most);
    free(t.simulated_alone);
    release(&r);
    return status;
}
