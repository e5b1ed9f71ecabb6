/* chart_table.c - the numbers of a chart as a table, for forms that draw nothing and for readers of a drawing. */
#include <math.h>
#include <stdio.h>

#include "report/document/block.h"

enum { GRID_MOST = 16 };

static void put_brief(doc *d, const doc_chart *c)
{
    static const doc_column columns[] = {{"line", DOC_OF_NAMES, NULL, DOC_CUT_LAST},
                                         {"points", DOC_OF_COUNTS, 0, 0},
                                         {"first", DOC_OF_REALS, 0, 0},
                                         {"least", DOC_OF_REALS, 0, 0},
                                         {"most", DOC_OF_REALS, 0, 0},
                                         {"last", DOC_OF_REALS, 0, 0}};
    doc_table(d, &(doc_table_def){NULL, "lines", columns, sizeof columns / sizeof *columns, false});
    for (size_t s = 0; s < c->count; s++) {
        const doc_series *series = &c->series[s];
        double least = NAN, most = NAN;
        for (size_t i = 0; i < series->count; i++) { /* fmin and fmax leave NaN out */
            least = fmin(least, series->y[i]);
            most = fmax(most, series->y[i]);
        }
        doc_row(d, DOC_PLAIN);
        doc_cell_name(d, series->name);
        doc_cell_count(d, series->count);
        if (series->count == 0)
            continue;
        doc_cell_real(d, series->y[0]);
        doc_cell_real(d, least);
        doc_cell_real(d, most);
        doc_cell_real(d, series->y[series->count - 1]);
    }
}

/* Puts heat of few rows and columns: its numbers, as they lie. */
static void put_grid(doc *d, const doc_chart *c)
{
    char corner[80];
    snprintf(corner, sizeof corner, "%.30s \\ %.30s", c->y_label, c->x_label);
    doc_column columns[GRID_MOST + 1] = {{corner, DOC_OF_NAMES, NULL, DOC_CUT_LAST}};
    char name[GRID_MOST][24];
    const size_t count = c->series[0].count;
    for (size_t i = 0; i < count; i++) {
        snprintf(name[i], sizeof name[i], "%.10g", c->series[0].x[i]);
        columns[i + 1] = (doc_column){name[i], DOC_OF_REALS, NULL, DOC_KEEP};
    }
    doc_table(d, &(doc_table_def){NULL, "rows", columns, count + 1, false});
    for (size_t s = 0; s < c->count; s++) {
        doc_row(d, DOC_PLAIN);
        doc_cell_name(d, c->series[s].name);
        for (size_t i = 0; i < count; i++)
            doc_cell_real(d, c->series[s].y[i]);
    }
}

static bool is_small_grid(const doc_chart *c)
{
    bool small = c->kind == DOC_HEAT && c->x_least >= c->x_most && c->count > 0 && c->count <= GRID_MOST &&
                 c->series[0].count <= GRID_MOST;
    for (size_t s = 0; small && s < c->count; s++)
        small = c->series[s].count == c->series[0].count;
    return small;
}

static double sum_of(const doc_series *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->count; i++)
        sum += isfinite(s->y[i]) ? s->y[i] : 0;
    return sum;
}

static void put_points(doc *d, const doc_chart *c)
{
    const doc_column columns[] = {{"line", DOC_OF_NAMES, NULL, DOC_CUT_LAST},
                                  {c->x_label, c->label ? DOC_OF_NAMES : DOC_OF_REALS, NULL, DOC_CUT},
                                  {c->y_label, DOC_OF_REALS, NULL, DOC_KEEP},
                                  {"share", DOC_OF_SHARES, NULL, DOC_KEEP}};
    const bool one = c->kind == DOC_BARS && c->count == 1;
    doc_table(d, &(doc_table_def){NULL, "points", columns + one, 4 - (size_t)one, false});
    for (size_t s = 0; s < c->count; s++) {
        const doc_series *series = &c->series[s];
        const double all = sum_of(series);
        for (size_t i = 0; i < series->count; i++) {
            doc_row(d, DOC_PLAIN);
            if (!one)
                doc_cell_name(d, series->name);
            if (c->label)
                doc_cell_name(d, i < c->series[0].count ? c->label[i] : "");
            else
                doc_cell_real(d, series->x[i]);
            doc_cell_real(d, series->y[i]);
            if (c->shares && all > 0)
                doc_cell_real(d, series->y[i] / all);
        }
    }
}

static void put_links(doc *d, const doc_chart *c)
{
    const doc_column columns[] = {{c->x_label, DOC_OF_NAMES, NULL, DOC_CUT},
                                  {c->y_label, DOC_OF_NAMES, NULL, DOC_CUT},
                                  {"number", DOC_OF_REALS, NULL, DOC_KEEP}};
    doc_table(d, &(doc_table_def){NULL, "links", columns, sizeof columns / sizeof *columns, false});
    for (size_t i = 0; i < c->links; i++) {
        doc_row(d, c->link[i].tone);
        doc_cell_name(d, c->link[i].from);
        doc_cell_name(d, c->link[i].to);
        if (!isnan(c->link[i].weight))
            doc_cell_real(d, c->link[i].weight);
    }
}

/* `brief`: for forms in which a table of all points would be too long. The document is the caller's to free. */
doc *doc_of_chart(const doc_chart *chart, bool brief)
{
    doc *d = doc_new();
    if (!d)
        return NULL;
    if (chart->kind == DOC_PAIRS)
        put_links(d, chart);
    else if (brief && is_small_grid(chart))
        put_grid(d, chart);
    else if (chart->kind != DOC_BARS && brief)
        put_brief(d, chart);
    else
        put_points(d, chart);
    return d;
}
