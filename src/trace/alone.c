/* alone.c - what one file tells by itself: when its GPU computed, communicated, copied and stood still, and why.
 *
 * 1. Each activity gets its launch, by the correlation. Activities without one were launched before the file begins,
 *    where others have one.
 * 2. One pass over the activities in order of their begin measures unions of classes, and meets the gaps.
 * 3. Sweeps over the operators of each thread find the innermost one at each launch. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "trace/internal.h"

const char *assay_trace_cause_word(int cause)
{
    static const char *const words[] = {"input", "sync", "host", "queued", "unknown"};
    return cause >= 0 && cause < ASSAY_CAUSES ? words[cause] : "";
}

/* An activity with its launch. */
typedef struct launched {
    const activity *of;
    int64_t launch;          /* TRACE_NONE: not known */
    uint32_t thread, within; /* within: the name of its operator */
} launched;

/* ---- launches ---- */

ASSAY_ORDER_BY(compare_calls, runtime_call, correlation, begin)

static int order_of_correlation(const void *item, const void *key)
{
    return ASSAY_ORDER(((const runtime_call *)item)->correlation, *(const trace_id *)key);
}

/* Gives activities their launches; leaves out those that were launched before the file begins. Returns how many are
 * left. */
static size_t find_launches(trace_file *f, launched *list, file_row *row)
{
    size_t kept = 0;
    if (f->runtime.count > 1)
        qsort(f->runtime.list, f->runtime.count, sizeof *f->runtime.list, compare_calls);
    for (size_t i = 0; i < f->activity.count; i++) {
        const activity *a = &f->activity.list[i];
        list[i] = (launched){.of = a, .launch = TRACE_NONE, .thread = ASSAY_NO_ID, .within = ASSAY_NO_ID};
        if (a->correlation == 0)
            continue;
        const size_t at = assay_lower_bound(f->runtime.list, f->runtime.count, sizeof *f->runtime.list, &a->correlation,
                                            order_of_correlation);
        if (at == f->runtime.count || f->runtime.list[at].correlation != a->correlation)
            continue;
        list[i].launch = f->runtime.list[at].begin;
        list[i].thread = f->runtime.list[at].thread;
        row->has_launches = true;
    }
    for (size_t i = 0; i < f->activity.count; i++)
        if (!row->has_launches || list[i].launch != TRACE_NONE)
            list[kept++] = list[i];
    row->alone.launched_before = f->activity.count - kept;
    row->alone.activities = kept;
    return kept;
}

/* ---- figures ---- */

/* Unions of classes while activities come in order of their begin. */
typedef struct measure {
    int64_t first, last; /* first == TRACE_NONE: nothing came */
    int64_t all_end, all, computation_end, computation, communication_end, communication, copy_end, copy;
    int64_t both_end, both; /* of computation and communication */
} measure;

static void cover(int64_t *end, int64_t *length, const activity *a)
{
    const int64_t from = a->begin > *end ? a->begin : *end;
    if (a->end > from) {
        *length += a->end - from;
        *end = a->end;
    }
}

static void measure_begin(measure *m)
{
    *m = (measure){.first = TRACE_NONE,
                   .all_end = TRACE_NONE,
                   .computation_end = TRACE_NONE,
                   .communication_end = TRACE_NONE,
                   .copy_end = TRACE_NONE,
                   .both_end = TRACE_NONE};
}

static void measure_add(measure *m, const activity *a)
{
    m->last = m->first == TRACE_NONE || a->end > m->last ? a->end : m->last;
    m->first = m->first == TRACE_NONE ? a->begin : m->first;
    cover(&m->all_end, &m->all, a);
    if (a->class == CLASS_COPY) {
        cover(&m->copy_end, &m->copy, a);
        return;
    }
    cover(&m->both_end, &m->both, a);
    if (a->class == CLASS_COMPUTATION)
        cover(&m->computation_end, &m->computation, a);
    else
        cover(&m->communication_end, &m->communication, a);
}

static assay_trace_figures measure_end(const measure *m)
{
    const int64_t total = m->last - m->first;
    return (assay_trace_figures){.total = total,
                                 .computation = m->computation,
                                 .exposed_communication = m->both - m->computation,
                                 .exposed_copy = m->all - m->both,
                                 .busy = m->all,
                                 .idle = total - m->all,
                                 .communication = m->communication,
                                 .copy = m->copy};
}

/* ---- gaps ---- */

typedef struct gap_finder {
    assay_trace_alone *alone;
    bool has_launches;
    int64_t first; /* activity */
    const interval *input, *blocking;
    const int64_t *input_sums;
    size_t inputs, blockings;
} gap_finder;

static void keep_gap(assay_trace_alone *alone, const assay_trace_gap *gap)
{
    uint32_t at = alone->gaps;
    while (at > 0 && alone->gap[at - 1].length < gap->length)
        at--;
    if (at == ASSAY_TRACE_GAPS)
        return;
    alone->gaps += alone->gaps < ASSAY_TRACE_GAPS;
    memmove(&alone->gap[at + 1], &alone->gap[at], (alone->gaps - 1 - at) * sizeof *gap);
    alone->gap[at] = *gap;
}

/* Nothing ran from `from` on until `next` began. */
static void add_gap(gap_finder *g, int64_t from, const launched *next)
{
    const int64_t to = next->of->begin, length = to - from;
    assay_trace_gap gap = {.length = length, .at = from - g->first, .name = next->of->name};
    int64_t input = 0;
    if (!g->has_launches) {
        gap.cause = ASSAY_CAUSE_UNKNOWN;
    } else if (next->launch <= from) {
        gap.cause = ASSAY_CAUSE_QUEUED;
    } else {
        input = trace_length_before(g->input, g->input_sums, g->inputs, to) -
                trace_length_before(g->input, g->input_sums, g->inputs, from);
        gap.cause = trace_holds(g->blocking, g->blockings, from) ? ASSAY_CAUSE_SYNC : ASSAY_CAUSE_HOST;
    }
    g->alone->idle[ASSAY_CAUSE_INPUT] += input;
    g->alone->idle[gap.cause] += length - input;
    if (input >= length - input)
        gap.cause = ASSAY_CAUSE_INPUT;
    keep_gap(g->alone, &gap);
}

ASSAY_ORDER_BY(compare_launched, launched, of->begin, launch, of)

static void find_gaps(gap_finder *g, const launched *list, size_t count)
{
    int64_t end = list[0].of->end;
    g->first = list[0].of->begin;
    for (size_t i = 1; i < count; i++) {
        if (list[i].of->begin > end)
            add_gap(g, end, &list[i]);
        end = list[i].of->end > end ? list[i].of->end : end;
    }
}

/* The calls that wait for the device, as a union. NULL without memory. */
static interval *blocking_calls(const trace_file *f, size_t *count)
{
    interval *list = assay_alloc((f->runtime.count + 1) * sizeof *list);
    *count = 0;
    for (size_t i = 0; list && i < f->runtime.count; i++)
        if (f->runtime.list[i].blocks)
            list[(*count)++] = (interval){f->runtime.list[i].begin, f->runtime.list[i].end};
    *count = list ? trace_union(list, *count) : 0;
    return list;
}

static int explain_idle(trace_file *f, file_row *row, const launched *list, size_t count)
{
    gap_finder g = {.alone = &row->alone, .has_launches = row->has_launches};
    interval *blocking = blocking_calls(f, &g.blockings);
    interval *input = assay_alloc((f->input.count + 1) * sizeof *input);
    int64_t *sums = NULL;
    if (input) {
        if (f->input.count > 0)
            memcpy(input, f->input.list, f->input.count * sizeof *input);
        g.inputs = trace_union(input, f->input.count);
        sums = trace_prefix(input, g.inputs);
    }
    g.input = input;
    g.input_sums = sums;
    g.blocking = blocking;
    if (blocking && sums)
        find_gaps(&g, list, count);
    const int status = blocking && sums ? ASSAY_OK : ASSAY_ENOMEM;
    free(blocking);
    free(input);
    free(sums);
    return status;
}

/* ---- operators ---- */

static int compare_operators(const void *a, const void *b)
{
    const operator_span *x = a, *y = b;
    int order = ASSAY_ORDER(x->thread, y->thread);
    order = order ? order : ASSAY_ORDER(x->begin, y->begin);
    return order ? order : ASSAY_ORDER(y->end, x->end);
}

static int compare_threads(const void *a, const void *b)
{
    const launched *const *x = a, *const *y = b;
    const int order = ASSAY_ORDER((*x)->thread, (*y)->thread);
    return order ? order : ASSAY_ORDER((*x)->launch, (*y)->launch);
}

/* Operators that are open on a thread, innermost last. An ended one goes when all that began behind it have ended. */
typedef struct open_operators {
    uint32_t *list, count;
    size_t next; /* operator that begins next */
} open_operators;

/* Brings the stack to a time on a thread. */
static void open_until(open_operators *o, const trace_file *f, uint32_t thread, int64_t time)
{
    const operator_span *list = f->operators.list;
    for (; o->next < f->operators.count; o->next++) {
        const operator_span *next = &list[o->next];
        if (next->thread > thread || (next->thread == thread && next->begin > time))
            break;
        while (o->count > 0 &&
               (list[o->list[o->count - 1]].thread != next->thread || list[o->list[o->count - 1]].end <= next->begin))
            o->count--;
        o->list[o->count++] = (uint32_t)o->next;
    }
    while (o->count > 0 && (list[o->list[o->count - 1]].thread != thread || list[o->list[o->count - 1]].end <= time))
        o->count--;
}

static int find_operators(trace_file *f, launched *list, size_t count)
{
    open_operators o = {.list = assay_alloc((f->operators.count + 1) * sizeof *o.list)};
    launched **query = assay_alloc((count + 1) * sizeof(launched *));
    size_t queries = 0;
    for (size_t i = 0; query && i < count; i++)
        if (list[i].launch != TRACE_NONE)
            query[queries++] = &list[i];
    if (query && queries > 1)
        qsort(query, queries, sizeof *query, compare_threads);
    for (size_t i = 0; o.list && query && i < queries; i++) {
        open_until(&o, f, query[i]->thread, query[i]->launch);
        query[i]->within = o.count > 0 ? f->operators.list[o.list[o.count - 1]].name : ASSAY_NO_ID;
    }
    const int status = o.list && query ? ASSAY_OK : ASSAY_ENOMEM;
    free(o.list);
    free(query);
    return status;
}

/* ---- sums by name ---- */

typedef struct named_time {
    uint32_t name;
    int64_t time;
} named_time;

ASSAY_ORDER_BY(compare_named, named_time, name)

/* Appends a row of the collector for each name. */
static int add_sums(assay_trace_collector *c, file_row *row, named_time *list, size_t count, int kind)
{
    assay_trace_sum *sum = NULL;
    if (count > 1)
        qsort(list, count, sizeof *list, compare_named);
    for (size_t i = 0; i < count; i++) {
        if (!sum || sum->name != list[i].name) {
            sum = ASSAY_VEC_ADD(&c->sum);
            ASSAY_HAVE(sum);
            sum->name = list[i].name;
            sum->kind = (uint32_t)kind;
            row->sums++;
        }
        sum->count++;
        sum->time = trace_add(sum->time, list[i].time);
    }
    return ASSAY_OK;
}

static int sum_launched(assay_trace_collector *c, file_row *row, const launched *list, size_t count)
{
    named_time *named = assay_alloc((count + 1) * sizeof *named);
    size_t n = 0;
    ASSAY_HAVE(named);
    for (size_t i = 0; i < count; i++)
        named[i] = (named_time){list[i].of->name, list[i].of->end - list[i].of->begin};
    int status = add_sums(c, row, named, count, ASSAY_SUM_KERNELS);
    for (size_t i = 0; i < count; i++)
        if (list[i].within != ASSAY_NO_ID)
            named[n++] = (named_time){list[i].within, list[i].of->end - list[i].of->begin};
    ASSAY_THEN(status, add_sums(c, row, named, n, ASSAY_SUM_OPERATORS));
    free(named);
    return status;
}

/* Of a file without a GPU: operators by their time on the host, without those within them. */
static int sum_host(assay_trace_collector *c, trace_file *f, file_row *row)
{
    const size_t count = f->operators.count;
    named_time *named = assay_alloc((count + 1) * sizeof *named);
    open_operators o = {.list = assay_alloc((count + 1) * sizeof *o.list)};
    int status = named && o.list ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; status == ASSAY_OK && i < count; i++) {
        const operator_span *op = &f->operators.list[i];
        o.next = i; /* closes what ended before it, and opens nothing */
        while (o.count > 0 && (f->operators.list[o.list[o.count - 1]].thread != op->thread ||
                               f->operators.list[o.list[o.count - 1]].end <= op->begin))
            o.count--;
        named[i] = (named_time){op->name, op->end - op->begin};
        if (o.count > 0) {
            const uint32_t outer = o.list[o.count - 1];
            const int64_t end = f->operators.list[outer].end;
            named[outer].time -= (op->end < end ? op->end : end) - op->begin;
        }
        o.list[o.count++] = (uint32_t)i;
    }
    ASSAY_THEN(status, add_sums(c, row, named, count, ASSAY_SUM_HOST_OPERATORS));
    free(named);
    free(o.list);
    return status;
}

/* ---- the file ---- */

/* From the first launch or activity to the end of the last one; of a file without any, of the operators. */
static void find_extent(const trace_file *f, file_row *row, const launched *list, size_t count)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        const int64_t launch = list[i].launch == TRACE_NONE ? list[i].of->begin : list[i].launch;
        const int64_t begin = launch < list[i].of->begin ? launch : list[i].of->begin;
        first = begin < first ? begin : first;
        last = list[i].of->end > last ? list[i].of->end : last;
    }
    for (size_t i = 0; i < f->launch.count && count > 0; i++)
        first = f->launch.list[i].time < first ? f->launch.list[i].time : first;
    for (size_t i = 0; i < f->operators.count && count == 0; i++) {
        const operator_span *op = &f->operators.list[i];
        first = op->begin < first ? op->begin : first;
        last = op->end > last ? op->end : last;
    }
    row->first = first;
    row->last = last;
}

static int measure_steps(file_row *row, step_row *steps, const launched *list, size_t count, int64_t base)
{
    measure *m = assay_alloc((row->steps + 1) * sizeof *m);
    ASSAY_HAVE(m);
    for (uint64_t i = 0; i < row->steps; i++)
        measure_begin(&m[i]);
    for (size_t i = 0; i < count; i++) {
        const int64_t launch = list[i].launch == TRACE_NONE ? list[i].of->begin : list[i].launch;
        const uint32_t step = trace_step_of(steps, row->steps, base + launch);
        if (step != ASSAY_NO_ID)
            measure_add(&m[step], list[i].of);
    }
    for (uint64_t i = 0; i < row->steps; i++) {
        steps[i].has_activities = m[i].first != TRACE_NONE;
        if (steps[i].has_activities)
            steps[i].figures = measure_end(&m[i]);
    }
    free(m);
    return ASSAY_OK;
}

int trace_file_alone(assay_trace_collector *c, trace_file *f, file_row *row, step_row *steps)
{
    launched *list = assay_alloc((f->activity.count + 1) * sizeof *list);
    measure m;
    ASSAY_HAVE(list);
    size_t count = find_launches(f, list, row);
    if (f->operators.count > 1)
        qsort(f->operators.list, f->operators.count, sizeof *f->operators.list, compare_operators);
    int status = count == 0 ? sum_host(c, f, row) : find_operators(f, list, count);
    if (status == ASSAY_OK && count > 0)
        status = sum_launched(c, row, list, count);
    if (status == ASSAY_OK && count > 0) {
        qsort(list, count, sizeof *list, compare_launched);
        measure_begin(&m);
        for (size_t i = 0; i < count; i++)
            measure_add(&m, list[i].of);
        row->alone.figures = measure_end(&m);
        status = explain_idle(f, row, list, count);
    }
    find_extent(f, row, list, count);
    if (status == ASSAY_OK && !row->whole_file)
        status = measure_steps(row, steps, list, count, f->base);
    free(list);
    return status;
}
