/* own_time.c - steps of a file, and its kernels of communication on the rank's own clock.
 *
 * The own clock counts the bins that are not exposed. It is asked at the beginnings and ends of kernels only, so bins
 * are kept as sorted stretches and their lengths added up: memory grows with kernels, not with time. */
#include <stdlib.h>

#include "base/fault.h"
#include "base/search.h"
#include "trace/internal.h"

/* ---- steps ---- */

ASSAY_ORDER_BY(compare_numbers, step_span, number, order)

ASSAY_ORDER_BY(compare_begins, step_span, begin, number)

/* Steps are sorted by their begin. A launch between two steps belongs to the one before; one behind the last to
 * none. */
uint32_t trace_step_of(const step_row *steps, size_t count, int64_t launch)
{
    size_t low = 0;
    ASSAY_SEARCH(low, count, steps[low].begin <= launch);
    return low == 0 || launch > steps[count - 1].end ? ASSAY_NO_ID : (uint32_t)(low - 1);
}

static int add_step(assay_trace_collector *c, const trace_file *f, file_row *row, const step_span *span)
{
    step_row *step = ASSAY_VEC_ADD(&c->step);
    ASSAY_HAVE(step);
    step->number = span->number;
    step->begin = f->base + span->begin;
    step->end = f->base + span->end;
    row->begin = row->steps == 0 || step->begin < row->begin ? step->begin : row->begin;
    row->end = row->steps == 0 || step->end > row->end ? step->end : row->end;
    row->steps++;
    return ASSAY_OK;
}

int trace_file_steps(assay_trace_collector *c, trace_file *f, file_row *row)
{
    step_span *list = f->step.list;
    size_t kept = 0;
    int status = ASSAY_OK;
    row->whole_file = f->step.count == 0;
    if (row->whole_file)
        return row->first > row->last ? ASSAY_OK : add_step(c, f, row, &(step_span){0, row->first, row->last, 0});
    qsort(list, f->step.count, sizeof *list, compare_numbers);
    /* A number may come more than once, as from several threads: the first in the file counts. */
    for (size_t i = 0; i < f->step.count; i++)
        if (kept == 0 || list[kept - 1].number != list[i].number)
            list[kept++] = list[i];
    qsort(list, kept, sizeof *list, compare_begins);
    for (size_t i = 0; i < kept && status == ASSAY_OK; i++)
        status = add_step(c, f, row, &list[i]);
    return status;
}

/* ---- the own clock ---- */

/* Finds the bin from which on the middles of bins are at or behind a time. */
static int64_t bin_from(int64_t time)
{
    return (time + ASSAY_TRACE_BIN / 2 - 1) / ASSAY_TRACE_BIN;
}

typedef struct own_clock {
    interval *busy, *exposed; /* bins */
    size_t busies, exposes;
    int64_t *busy_sums, *exposed_sums;
} own_clock;

static void release_clock(own_clock *o)
{
    free(o->busy);
    free(o->exposed);
    free(o->busy_sums);
    free(o->exposed_sums);
}

static int make_clock(const trace_file *f, own_clock *o)
{
    const size_t talks = f->communication.count;
    interval *talking = assay_alloc((talks + 1) * sizeof *talking);
    o->busy = assay_alloc((f->activity.count + 1) * sizeof *o->busy);
    /* Exposed stretches are at most as many as those of communication and of computation together, as trace_without
     * needs. */
    o->exposed = assay_alloc((talks + f->activity.count + 1) * sizeof *o->exposed);
    if (!talking || !o->busy || !o->exposed) {
        free(talking);
        return ASSAY_ENOMEM;
    }
    for (size_t i = 0; i < f->activity.count; i++) {
        const activity *a = &f->activity.list[i];
        if (a->computes)
            o->busy[o->busies++] = (interval){bin_from(f->base + a->begin), bin_from(f->base + a->end)};
    }
    for (size_t i = 0; i < talks; i++) {
        const communication *k = &f->communication.list[i];
        talking[i] = (interval){bin_from(f->base + k->begin), bin_from(f->base + k->end)};
    }
    o->busies = trace_union(o->busy, o->busies);
    const size_t talked = trace_union(talking, talks);
    o->exposes = trace_without(talking, talked, o->busy, o->busies, o->exposed);
    free(talking);
    o->busy_sums = trace_prefix(o->busy, o->busies);
    o->exposed_sums = trace_prefix(o->exposed, o->exposes);
    return o->busy_sums && o->exposed_sums ? ASSAY_OK : ASSAY_ENOMEM;
}

static int64_t busy_before(const own_clock *o, int64_t time)
{
    return trace_length_before(o->busy, o->busy_sums, o->busies, time / ASSAY_TRACE_BIN);
}

static int64_t exposed_before(const own_clock *o, int64_t time)
{
    return trace_length_before(o->exposed, o->exposed_sums, o->exposes, time / ASSAY_TRACE_BIN);
}

static int64_t own_at(const own_clock *o, int64_t time)
{
    return time / ASSAY_TRACE_BIN - exposed_before(o, time);
}

/* ---- kernels ---- */

ASSAY_ORDER_BY(compare_kernels, communication, begin, end, order)

ASSAY_ORDER_BY(compare_launches, host_launch, external, time)

static int order_of_external(const void *item, const void *key)
{
    return ASSAY_ORDER(((const host_launch *)item)->external, *(const trace_id *)key);
}

/* Tells when the host launched a kernel; when it began, where the file does not say. */
static int64_t launch_of(const trace_file *f, const communication *k)
{
    const size_t at =
        assay_lower_bound(f->launch.list, f->launch.count, sizeof *f->launch.list, &k->external, order_of_external);
    const bool known = k->external != 0 && at < f->launch.count && f->launch.list[at].external == k->external;
    return known ? f->launch.list[at].time : k->begin;
}

static int add_kernel(assay_trace_collector *c, const trace_file *f, const file_row *row, const step_row *steps,
                      const own_clock *o, const communication *k)
{
    kernel_row *to = ASSAY_VEC_ADD(&c->kernel);
    ASSAY_HAVE(to);
    const int64_t begin = f->base + k->begin, end = f->base + k->end;
    /* The rank waits if nothing computes in the kernel's last bin: then its end let the rank go on. */
    const int64_t last_bin = bin_from(end) - 1;
    *to = (kernel_row){.begin = begin,
                       .end = end,
                       .launch = f->base + launch_of(f, k),
                       .own_begin = own_at(o, begin),
                       .own_end = own_at(o, end),
                       .sequence = k->sequence,
                       .external = k->external,
                       .source = k->source,
                       .destination = k->destination,
                       .group = k->group,
                       .call = k->call,
                       .waits = last_bin >= bin_from(begin) && !trace_holds(o->busy, o->busies, last_bin)};
    to->step = trace_step_of(steps, row->steps, to->launch);
    return ASSAY_OK;
}

/* Finds windows: from the end of the last kernel of the step before, or where the step begins, to that of its own
 * last one. */
static void find_windows(step_row *steps, size_t count, const kernel_row *kernel, size_t kernels, const own_clock *o)
{
    for (size_t i = 0; i < kernels; i++) {
        if (kernel[i].step == ASSAY_NO_ID)
            continue;
        step_row *step = &steps[kernel[i].step];
        step->to = !step->has_window || kernel[i].end > step->to ? kernel[i].end : step->to;
        step->has_window = true;
    }
    for (size_t i = 0; i < count; i++) {
        step_row *step = &steps[i];
        if (!step->has_window)
            continue;
        step->from = i > 0 && steps[i - 1].has_window ? steps[i - 1].to : step->begin;
        /* Kernels of the step before may end behind those of this one. */
        step->from = step->from < step->to ? step->from : step->to;
        step->own_from = own_at(o, step->from);
        step->own = own_at(o, step->to) - step->own_from;
        step->busy = busy_before(o, step->to) - busy_before(o, step->from);
        step->exposed = exposed_before(o, step->to) - exposed_before(o, step->from);
    }
}

static void add_input(const trace_file *f, const file_row *row, step_row *steps)
{
    for (size_t i = 0; i < f->input.count; i++) {
        const interval *span = &f->input.list[i];
        const uint32_t step = trace_step_of(steps, row->steps, f->base + span->begin);
        if (step != ASSAY_NO_ID)
            steps[step].input = trace_add(steps[step].input, span->end - span->begin);
    }
}

int trace_file_kernels(assay_trace_collector *c, trace_file *f, file_row *row, step_row *steps)
{
    own_clock o = {0};
    const size_t first = c->kernel.count;
    int status = make_clock(f, &o);
    if (f->communication.count > 1)
        qsort(f->communication.list, f->communication.count, sizeof *f->communication.list, compare_kernels);
    if (f->launch.count > 1)
        qsort(f->launch.list, f->launch.count, sizeof *f->launch.list, compare_launches);
    for (size_t i = 0; i < f->communication.count && status == ASSAY_OK; i++)
        status = add_kernel(c, f, row, steps, &o, &f->communication.list[i]);
    if (status == ASSAY_OK) {
        row->communications = f->communication.count;
        find_windows(steps, row->steps, c->kernel.list ? c->kernel.list + first : NULL, c->kernel.count - first, &o);
        add_input(f, row, steps);
    }
    release_clock(&o);
    return status;
}
