/* traces.c - where the time of the ranks went, out of their traces: steps by rank, top operators, communication by group. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fault.h"
#include "report/sections/sections.h"
#include "rule/trial_info.h"
#include "trace/before_after.h"

enum { ROWS_OF_RANKS = 64 /* more of them are columns */, NAME_ROOM = 48, TOP = 10 };

#define TABLE(d, id, label, columns)                                                                                   \
    doc_table(d, &(doc_table_def){id, label, columns, sizeof(columns) / sizeof *(columns), false})

static double in_ms(int64_t ns)
{
    return (double)ns / 1e6;
}

/* ---- steps by rank ---- */

typedef double of_work(const assay_trace_work *work);

static double excess_of(const assay_trace_work *work)
{
    return work->own > work->own_median ? in_ms(work->own - work->own_median) : 0;
}

static double exposed_of(const assay_trace_work *work)
{
    return in_ms(work->exposed);
}

/* A strip for each rank, or, where those are many, for each step. */
static void put_strips(const assay_trace_data *data, const char *title, const char *remark, of_work *value, doc *d)
{
    const bool by_rank = data->ranks <= ROWS_OF_RANKS;
    const size_t rows = by_rank ? data->ranks : data->steps;
    doc_series *series = assay_alloc_zeroed(rows + 1, sizeof *series);
    char(*name)[NAME_ROOM] = assay_alloc_zeroed(rows + 1, sizeof *name);
    double *room = assay_alloc_zeroed(2 * data->works + 1, sizeof *room), *x = room;
    const bool there = series && name && room;
    doc_fail(d, there ? ASSAY_OK : ASSAY_ENOMEM);
    for (size_t r = 0; r < rows && there; r++) {
        size_t n = 0;
        double *y = x;
        for (size_t i = 0; i < data->works; i++)
            n += by_rank ? data->work[i].rank == data->rank[r].rank : data->work[i].step == r;
        y = x + n;
        n = 0;
        for (size_t i = 0; i < data->works; i++) {
            const assay_trace_work *work = &data->work[i];
            if (by_rank ? work->rank != data->rank[r].rank : work->step != r)
                continue;
            x[n] = by_rank ? (double)data->step[work->step] : (double)work->rank;
            y[n++] = value(work);
        }
        if (by_rank)
            snprintf(name[r], sizeof name[r], "rank %d", (int)data->rank[r].rank);
        else
            snprintf(name[r], sizeof name[r], "step %" PRId64, data->step[r]);
        series[r] = (doc_series){name[r], x, y, n, 0};
        x = y + n;
    }
    if (there)
        doc_put_chart(d, NULL,
                      &(doc_chart){.kind = DOC_HEAT,
                                   .title = title,
                                   .remark = remark,
                                   .x_label = by_rank ? "step" : "rank",
                                   .y_label = "milliseconds",
                                   .series = series,
                                   .count = rows});
    free(series);
    free(name);
    free(room);
}

/* ---- tables ---- */

static void put_heading(const char *title, const char *remark, doc *d)
{
    doc_paragraph(d);
    doc_put_strong(d, title);
    doc_put(d, ": %s.", remark);
}

static void put_ranks(const assay_trace_data *data, doc *d)
{
    static const doc_column columns[] = {
        {"rank", DOC_OF_NAMES, NULL, DOC_KEEP},           {"total", DOC_OF_REALS, "ms", DOC_KEEP},
        {"computation", DOC_OF_REALS, "ms", DOC_KEEP},    {"exposed communication", DOC_OF_REALS, "ms", DOC_KEEP},
        {"exposed copies", DOC_OF_REALS, "ms", DOC_DROP}, {"idle", DOC_OF_REALS, "ms", DOC_KEEP},
        {"most of it", DOC_OF_WORDS, NULL, DOC_KEEP}};
    bool any = false;
    for (size_t i = 0; i < data->ranks; i++)
        any = any || data->rank[i].alone.activities > 0;
    if (!any)
        return;
    put_heading("Each rank alone", "from its first activity on the device to the end of the last one", d);
    TABLE(d, "trace-ranks", "ranks", columns);
    for (size_t i = 0; i < data->ranks; i++) {
        const assay_trace_alone *alone = &data->rank[i].alone;
        const assay_trace_figures *f = &alone->figures;
        char name[NAME_ROOM];
        int most = 0;
        if (alone->activities == 0)
            continue;
        for (int k = 1; k < ASSAY_CAUSES; k++)
            most = alone->idle[k] > alone->idle[most] ? k : most;
        snprintf(name, sizeof name, "worker_%d", (int)data->rank[i].rank);
        doc_row(d, DOC_PLAIN);
        doc_cell_name(d, name);
        doc_cell_real(d, in_ms(f->total));
        doc_cell_real(d, in_ms(f->computation));
        doc_cell_real(d, in_ms(f->exposed_communication));
        doc_cell_real(d, in_ms(f->exposed_copy));
        doc_cell_real(d, in_ms(f->idle));
        doc_cell_words(d, f->idle > 0 ? assay_trace_cause_word(most) : "");
    }
}

static void put_top(const assay_trace_data *data, assay_trace_sum_kind kind, const char *what, doc *d)
{
    const doc_column columns[] = {{what, DOC_OF_NAMES, NULL, DOC_CUT_LAST},
                                  {"time", DOC_OF_REALS, "ms", DOC_KEEP},
                                  {"calls", DOC_OF_COUNTS, NULL, DOC_KEEP}};
    assay_trace_change top[TOP];
    uint32_t count = 0;
    doc_fail(d, assay_trace_top(data, kind, top, TOP, &count));
    if (count == 0)
        return;
    put_heading("Most time", "of all ranks together", d);
    TABLE(d, NULL, what, columns);
    for (uint32_t i = 0; i < count; i++) {
        doc_row(d, DOC_PLAIN);
        doc_cell_name(d, top[i].name);
        doc_cell_real(d, top[i].time[0] / 1e6);
        doc_cell_count(d, top[i].count[0]);
    }
}

static int compare_classes(const void *a, const void *b)
{
    const assay_trace_class *x = *(const assay_trace_class *const *)a, *y = *(const assay_trace_class *const *)b;
    const double of_x = (double)x->median * (double)x->operations, of_y = (double)y->median * (double)y->operations;
    return of_x != of_y ? (of_x > of_y ? -1 : 1) : (x > y) - (x < y);
}

/* What was transferred in each group, the most time first: the shortest kernel of each operation, waiting left out. */
static void put_groups(const assay_trace_data *data, doc *d)
{
    static const doc_column columns[] = {
        {"group", DOC_OF_NAMES, NULL, DOC_CUT},      {"ranks", DOC_OF_WORDS, NULL, DOC_KEEP},
        {"operation", DOC_OF_NAMES, NULL, DOC_KEEP}, {"dtype", DOC_OF_NAMES, NULL, DOC_DROP},
        {"elements", DOC_OF_COUNTS, NULL, DOC_DROP}, {"operations", DOC_OF_COUNTS, NULL, DOC_KEEP},
        {"median", DOC_OF_REALS, "ms", DOC_KEEP},    {"other groups", DOC_OF_REALS, "ms", DOC_KEEP}};
    const assay_trace_class **order = assay_alloc((data->classes + 1) * sizeof *order);
    doc_fail(d, order ? ASSAY_OK : ASSAY_ENOMEM);
    if (order && data->classes > 0) {
        for (size_t i = 0; i < data->classes; i++)
            order[i] = &data->kind[i];
        qsort(order, data->classes, sizeof *order, compare_classes);
        put_heading("Communication by group", "the shortest kernel of each operation, so that waiting is left out", d);
        TABLE(d, "trace-groups", "operations", columns);
    }
    for (size_t i = 0; i < data->classes && order; i++) {
        const assay_trace_class *c = order[i];
        const assay_trace_group *g = &data->group[c->group];
        const int64_t elements = c->in > c->out ? c->in : c->out;
        doc_row(d, DOC_PLAIN);
        doc_cell_name(d, c->description[0] ? c->description : g->name);
        doc_cell(d);
        for (uint32_t m = 0; m < g->members && m < 4; m++)
            doc_put(d, "%s%d", m ? ", " : "", (int)g->member[m]);
        if (g->members > 4)
            doc_put(d, " ... (%u)", g->members);
        doc_cell_name(d, c->operation);
        doc_cell_name(d, c->dtype);
        if (elements >= 0)
            doc_cell_count(d, (uint64_t)elements);
        else
            doc_cell_none(d);
        doc_cell_count(d, c->operations);
        doc_cell_real(d, in_ms(c->median));
        if (c->others >= 0)
            doc_cell_real(d, in_ms(c->others));
        else
            doc_cell_none(d);
    }
    free(order);
}

static void put_what_if(const assay_trace_data *data, doc *d)
{
    static const doc_column columns[] = {{"without", DOC_OF_NAMES, NULL, DOC_KEEP},
                                         {"saved", DOC_OF_SHARES, NULL, DOC_KEEP}};
    const assay_trace_what_if *what = &data->what_if;
    char name[NAME_ROOM];
    if (!what->known)
        return;
    doc_paragraph(d);
    doc_put(d, "Replayed from what each rank needed itself, the steps take %.4g ms (measured: %.4g ms%s), and %.4g ms",
            1e3 * what->simulated, 1e3 * what->measured, what->rough ? "; a rough estimate" : "", 1e3 * what->ideal);
    doc_put(d, " without excess and slow groups: they are %.3g times as long. What would be saved:",
            what->simulated / what->ideal);
    TABLE(d, "what-if", "changes", columns);
    const struct {
        const char *name;
        double share;
    } rows[] = {{"own time above the median", what->without_own},
                {"slow groups", what->without_slow_groups},
                {"late input", what->without_late_input}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        doc_row(d, DOC_PLAIN);
        doc_cell_words(d, rows[i].name);
        doc_cell_real(d, rows[i].share);
    }
    for (uint32_t i = 0; i < what->ranks; i++) {
        if (what->rank[i].share <= 0)
            continue;
        snprintf(name, sizeof name, "that of worker_%d", (int)what->rank[i].rank);
        doc_row(d, DOC_PLAIN);
        doc_cell_words(d, name);
        doc_cell_real(d, what->rank[i].share);
    }
}

static void put_trial(const assay_report *report, size_t t, doc *d)
{
    const assay_trace_data *data = assay_trial_traces(report->outcome->trials[t].info);
    sections_begin_trial(report, d, t);
    if (data->works > 0 && data->ranks > 1) {
        put_strips(data, "Own time above the median of ranks with the same role",
                   "darker: the rank that others waited for", excess_of, d);
        put_strips(data, "Communication beyond computation", "darker: the rank that waited, or transferred", exposed_of,
                   d);
    }
    put_what_if(data, d);
    put_ranks(data, d);
    put_top(data, ASSAY_SUM_OPERATORS, "operators on GPUs", d);
    put_top(data, ASSAY_SUM_KERNELS, "kernels", d);
    put_top(data, ASSAY_SUM_HOST_OPERATORS, "operators on CPUs", d);
    put_groups(data, d);
    sections_end_trial(report, d);
}

static const assay_trace_data *traces_of(const assay_trial_outcome *trial)
{
    return sections_read(trial) ? assay_trial_traces(trial->info) : NULL;
}

void section_traces(const assay_report *report, doc *d)
{
    const assay_outcome *outcome = report->outcome;
    bool any = false;
    for (size_t t = 0; t < outcome->trial_count; t++)
        any = any || (traces_of(&outcome->trials[t]) && sections_shows(report, t));
    if (!any)
        return;
    doc_only(d, DOC_TEXT | DOC_HTML | DOC_JSON);
    doc_section(d, "traces", "Where the time went");
    for (size_t t = 0; t < outcome->trial_count; t++)
        if (traces_of(&outcome->trials[t]) && sections_shows(report, t))
            put_trial(report, t, d);
    doc_end(d);
}
