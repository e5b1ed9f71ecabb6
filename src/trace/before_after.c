/* before_after.c - see before_after.h. */
#include "trace/before_after.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dict.h"
#include "base/vec.h"
#include <assay/status.h>

typedef struct table {
    assay_dict *names;
    ASSAY_VEC(assay_trace_change) change; /* by number of the name */
} table;

static bool has_kind(const assay_trace_data *data, uint32_t kind)
{
    for (size_t r = 0; r < data->ranks; r++)
        for (size_t i = 0; i < data->rank[r].sums; i++)
            if (data->rank[r].sum[i].kind == kind)
                return true;
    return false;
}

static int add_sums(table *t, const assay_trace_data *data, uint32_t kind, int side)
{
    for (size_t r = 0; r < data->ranks; r++)
        for (size_t i = 0; i < data->rank[r].sums; i++) {
            const assay_trace_sum *sum = &data->rank[r].sum[i];
            const char *name = assay_trace_text(data, sum->name);
            if (sum->kind != kind)
                continue;
            const uint32_t id = assay_dict_add(t->names, name, strlen(name));
            if (id == ASSAY_NO_ID)
                return ASSAY_ENOMEM;
            if (id == t->change.count) {
                assay_trace_change *to = ASSAY_VEC_ADD(&t->change);
                ASSAY_HAVE(to);
                *to = (assay_trace_change){.name = name};
            }
            t->change.list[id].time[side] += (double)sum->time; /* whole numbers: in any order the same below 2^53 */
            t->change.list[id].count[side] += sum->count;
        }
    return ASSAY_OK;
}

static int compare_changes(const void *a, const void *b)
{
    const assay_trace_change *x = a, *y = b;
    const double of_x = fabs(x->time[1] - x->time[0]), of_y = fabs(y->time[1] - y->time[0]);
    return of_x != of_y ? (of_x > of_y ? -1 : 1) : strcmp(x->name, y->name);
}

static int change_sums(const assay_trace_data *const data[2], uint32_t kind, const uint64_t steps[2],
                       assay_trace_changes *out)
{
    table t = {.names = assay_dict_new()};
    int status = t.names ? ASSAY_OK : ASSAY_ENOMEM;
    for (int side = 0; side < 2 && status == ASSAY_OK; side++)
        status = add_sums(&t, data[side], kind, side);
    for (size_t i = 0; i < t.change.count && status == ASSAY_OK; i++) {
        assay_trace_change *c = &t.change.list[i];
        for (int side = 0; side < 2; side++)
            c->time[side] /= (double)steps[side];
        out->common += c->count[0] > 0 && c->count[1] > 0;
    }
    if (status == ASSAY_OK && t.change.count > 0) {
        qsort(t.change.list, t.change.count, sizeof *t.change.list, compare_changes);
        out->names = t.change.count;
        out->count = t.change.count < ASSAY_TRACE_CHANGES ? (uint32_t)t.change.count : ASSAY_TRACE_CHANGES;
        memcpy(out->list, t.change.list, out->count * sizeof *out->list);
    }
    free(t.change.list);
    assay_dict_free(t.names);
    return status;
}

int assay_trace_top(const assay_trace_data *data, assay_trace_sum_kind kind, assay_trace_change *list, uint32_t most,
                    uint32_t *kept)
{
    table t = {.names = assay_dict_new()};
    const int status = t.names ? add_sums(&t, data, kind, 0) : ASSAY_ENOMEM;
    *kept = 0;
    if (status == ASSAY_OK && t.change.count > 0) { /* all of it is a change from nothing */
        qsort(t.change.list, t.change.count, sizeof *t.change.list, compare_changes);
        *kept = t.change.count < most ? (uint32_t)t.change.count : most;
        memcpy(list, t.change.list, *kept * sizeof *list);
    }
    free(t.change.list);
    assay_dict_free(t.names);
    return status;
}

static void add_figures(const assay_trace_data *data, uint64_t steps, int side, assay_trace_change *figure)
{
    static const char *const names[] = {"total_ns",        "computation_ns", "exposed_communication_ns",
                                        "exposed_copy_ns", "idle_ns",        "idle_input",
                                        "idle_sync",       "idle_host",      "idle_queued",
                                        "idle_unknown"};
    _Static_assert(sizeof names / sizeof *names == ASSAY_TRACE_CHANGED_FIGURES, "a name for each figure");
    for (int i = 0; i < ASSAY_TRACE_CHANGED_FIGURES; i++)
        figure[i].name = names[i];
    for (size_t r = 0; r < data->ranks; r++) {
        const assay_trace_alone *alone = &data->rank[r].alone;
        const assay_trace_figures *f = &alone->figures;
        const int64_t own[] = {f->total, f->computation, f->exposed_communication, f->exposed_copy, f->idle};
        for (int i = 0; i < 5; i++)
            figure[i].time[side] += (double)own[i];
        for (int i = 0; i < ASSAY_CAUSES; i++)
            figure[5 + i].time[side] += (double)alone->idle[i];
    }
    for (int i = 0; i < ASSAY_TRACE_CHANGED_FIGURES; i++)
        figure[i].time[side] /= (double)steps;
}

int assay_trace_compare(const assay_trace_data *before, const assay_trace_data *after, assay_trace_before_after *out)
{
    const assay_trace_data *const data[2] = {before, after};
    *out = (assay_trace_before_after){.files = {before->files, after->files}};
    for (int side = 0; side < 2; side++) {
        for (size_t r = 0; r < data[side]->ranks; r++)
            out->steps[side] += data[side]->rank[r].step_count;
        out->steps[side] = out->steps[side] ? out->steps[side] : 1;
        add_figures(data[side], out->steps[side], side, out->figure);
    }
    const bool gpus = has_kind(before, ASSAY_SUM_OPERATORS) || has_kind(after, ASSAY_SUM_OPERATORS) ||
                      has_kind(before, ASSAY_SUM_KERNELS) || has_kind(after, ASSAY_SUM_KERNELS);
    const int status = change_sums(data, ASSAY_SUM_KERNELS, out->steps, &out->kernels);
    return status != ASSAY_OK
               ? status
               : change_sums(data, gpus ? ASSAY_SUM_OPERATORS : ASSAY_SUM_HOST_OPERATORS, out->steps, &out->operators);
}
