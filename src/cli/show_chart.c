/* show_chart.c - the rows of a tensor as sparklines: a line for each mode and figure, and for each group of workers
 * whose figures are the same. */
#include <math.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/search.h"
#include "base/vec.h"
#include "cli/show.h"
#include "report/text/layout.h"

enum { GROUPS_SHOWN = 12, LABEL_ROOM = 1 << 16 };

enum { CHART_MEAN, CHART_NORM, CHART_ZEROS };
static const char *const NAMES[SHOW_FIGURES] = {[CHART_MEAN] = "mean", [CHART_NORM] = "norm", [CHART_ZEROS] = "zeros"};

int show_chart_add(show_chart *chart, const show_row *row)
{
    bool raw = row->raw && row->dtype != ASSAY_STRING && row->elements > 0;
    uint32_t wanted = 1u << ASSAY_MEAN | 1u << ASSAY_L2;
    if (!raw && !(row->reductions & wanted))
        return ASSAY_OK;
    ASSAY_HAVE(assay_vec_reserve(&chart->list, &chart->room, chart->count + 1, sizeof *chart->list));
    show_point *p = &chart->list[chart->count];
    *p = (show_point){.order = chart->count++, .worker = row->worker_number, .mode = row->mode};
    if (raw) {
        p->figure[CHART_MEAN] = assay_stats_mean(&row->stats);
        p->figure[CHART_NORM] = assay_stats_l2(&row->stats);
        p->figure[CHART_ZEROS] = (double)row->stats.zeros / (double)row->elements;
        p->has = row->elements > 1 ? 1u << CHART_MEAN | 1u << CHART_NORM : 1u << CHART_MEAN;
        p->has |= row->stats.zeros > 0 && row->elements > 1 ? 1u << CHART_ZEROS : 0;
        return ASSAY_OK;
    }
    p->figure[CHART_MEAN] = row->reduction[ASSAY_MEAN];
    p->figure[CHART_NORM] = row->reduction[ASSAY_L2];
    p->has = (row->reductions & 1u << ASSAY_MEAN ? 1u << CHART_MEAN : 0) |
             (row->reductions & 1u << ASSAY_L2 ? 1u << CHART_NORM : 0);
    return ASSAY_OK;
}

ASSAY_ORDER_BY(compare_points, show_point, mode, worker, order)

/* One worker's points of one mode. */
typedef struct run_of_points {
    const show_point *first;
    size_t count;
    bool shown; /* with an earlier worker's */
} run_of_points;

static bool same_series(const run_of_points *a, const run_of_points *b, int figure)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        double x = a->first[i].figure[figure], y = b->first[i].figure[figure];
        if (!(x == y || (isnan(x) && isnan(y))))
            return false;
    }
    return true;
}

/* The runs of one mode, while they are drawn. */
typedef struct drawing {
    show_chart *chart;
    run_of_points *run;
    size_t runs;
    uint32_t *worker; /* room for all workers: those of a line */
    double *value;    /* room for all points: those of a line */
    assay_buf *out;   /* NULL: only how wide the labels are */
} drawing;

/* The line of a run, which so many workers share. */
static void put_line(drawing *d, const run_of_points *run, int figure, size_t workers)
{
    show_chart *chart = d->chart;
    assay_buf *out = d->out;
    assay_buf label = ASSAY_BUF(LABEL_ROOM), who = ASSAY_BUF(LABEL_ROOM);
    assay_worker_names_put(chart->names, d->worker, workers, &who);
    assay_put_format(&label, "%s %s ", NAMES[figure], assay_mode_name(run->first->mode));
    assay_text_put_clean(&label, (const char *)who.data, who.size);
    size_t columns = assay_text_columns((const char *)label.data, label.size);
    assay_put_u8(&label, '\0');
    for (size_t i = 0; i < run->count; i++)
        d->value[i] = run->first[i].figure[figure];
    if (!out)
        chart->longest = columns > chart->longest ? columns : chart->longest;
    else if (assay_buf_status(&label) == ASSAY_OK)
        assay_draw_series(chart->draw, (const char *)label.data, assay_draw_label_columns(chart->draw, chart->longest),
                          d->value, run->count, out);
    else if (out->status == ASSAY_OK)
        out->status = assay_buf_status(&label);
    assay_buf_release(&label);
    assay_buf_release(&who);
}

static void put_figure(drawing *d, int figure)
{
    run_of_points *run = d->run;
    const size_t runs = d->runs;
    size_t groups = 0, left = 0;
    for (size_t i = 0; i < runs; i++)
        run[i].shown = false;
    for (size_t i = 0; i < runs; i++) {
        size_t workers = 0;
        uint32_t has = 0;
        for (size_t k = 0; k < run[i].count; k++)
            has |= run[i].first[k].has;
        if (run[i].shown || !(has & 1u << figure))
            continue;
        for (size_t k = i; k < runs; k++) {
            if (k > i && (run[k].shown || !same_series(&run[i], &run[k], figure)))
                continue;
            run[k].shown = true;
            d->worker[workers++] = run[k].first->worker;
        }
        if (groups++ < GROUPS_SHOWN)
            put_line(d, &run[i], figure, workers);
        else
            left += workers;
    }
    if (left > 0 && d->out)
        assay_put_format(d->out, "    ... and %zu more worker%s\n", left, assay_plural(left));
}

static void put_modes(drawing *d)
{
    const show_chart *chart = d->chart;
    for (size_t from = 0, to; from < chart->count; from = to) {
        d->runs = 0;
        for (to = from; to < chart->count && chart->list[to].mode == chart->list[from].mode;) {
            size_t end = to;
            while (end < chart->count && chart->list[end].mode == chart->list[to].mode &&
                   chart->list[end].worker == chart->list[to].worker)
                end++;
            d->run[d->runs++] = (run_of_points){&chart->list[to], end - to, false};
            to = end;
        }
        for (int figure = 0; figure < SHOW_FIGURES; figure++)
            put_figure(d, figure);
    }
}

void show_chart_put(show_chart *chart, assay_buf *out)
{
    size_t workers = chart->names->catalog->workers;
    if (chart->count == 0)
        return;
    drawing d = {.chart = chart};
    d.run = assay_alloc_zeroed(workers, sizeof *d.run);
    d.worker = assay_alloc_zeroed(workers, sizeof *d.worker);
    d.value = assay_alloc_zeroed(chart->count, sizeof *d.value);
    if (d.run && d.worker && d.value) {
        qsort(chart->list, chart->count, sizeof *chart->list, compare_points);
        assay_put_u8(out, '\n');
        chart->longest = 0;
        put_modes(&d); /* for the widest label, which all lines make room for */
        d.out = out;
        put_modes(&d);
    } else if (out->status == ASSAY_OK) {
        out->status = ASSAY_ENOMEM;
    }
    free(d.run);
    free(d.worker);
    free(d.value);
    chart->count = 0;
}

void show_chart_release(show_chart *chart)
{
    free(chart->list);
    chart->list = NULL;
}
