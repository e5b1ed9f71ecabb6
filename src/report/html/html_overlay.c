/* html_overlay.c - the losses of all trials: the odd ones drawn out, over the others and their band. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "report/compare/comparison.h"
#include "report/html/html.h"

enum { CHARTS = 6, STEPS = 256, TITLE = 300, MOST_PALE = 200 };

typedef struct overlay {
    html_page *page;
    size_t charts;
    double *sorted; /* [trials] */
} overlay;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The 0.05, 0.5 and 0.95 quantiles at each step over the trials that are not odd; returns at how many steps there are
 * some. */
static size_t take_band(overlay *o, const assay_grid *grid, double *x, double *low, double *middle, double *high)
{
    const assay_comparison *c = o->page->comparison;
    size_t count = 0;
    for (size_t i = 0; i < grid->steps; i++) {
        size_t n = 0;
        for (size_t t = 0; t < grid->trials; t++)
            if (!c->trial[t].odd && isfinite(grid->value[i * grid->trials + t]))
                o->sorted[n++] = grid->value[i * grid->trials + t];
        if (n == 0)
            continue;
        qsort(o->sorted, n, sizeof *o->sorted, by_value);
        x[count] = (double)grid->step[i];
        low[count] = assay_quantile(o->sorted, n, n, 0.05);
        middle[count] = assay_quantile(o->sorted, n, n, 0.5);
        high[count++] = assay_quantile(o->sorted, n, n, 0.95);
    }
    return count;
}

/* The values of one trial; returns how many. */
static size_t take_line(const assay_grid *grid, size_t trial, double *x, double *y)
{
    size_t count = 0;
    for (size_t i = 0; i < grid->steps; i++) {
        if (isnan(grid->value[i * grid->trials + trial]))
            continue;
        x[count] = (double)grid->step[i];
        y[count++] = grid->value[i * grid->trials + trial];
    }
    return count;
}

/* The line of every trial that is not odd, at most MOST_PALE of them; *room gets their values, which the caller frees.
 * Returns how many. */
static size_t take_pale(const overlay *o, const assay_grid *grid, html_series pale[MOST_PALE], double **room)
{
    const assay_comparison *c = o->page->comparison;
    size_t count = 0, n = grid->steps;
    *room = assay_alloc(2 * MOST_PALE * n * sizeof **room);
    for (size_t t = 0; *room && t < c->trials && count < MOST_PALE; t++) {
        double *x = *room + 2 * n * count, *y = x + n;
        const size_t points = c->trial[t].odd ? 0 : take_line(grid, t, x, y);
        if (points > 0)
            pale[count++] = (html_series){c->outcome->trials[t].trial->name, x, y, points, 0};
    }
    return count;
}

static int put_chart(void *context, const assay_grid *grid)
{
    overlay *o = context;
    const assay_comparison *c = o->page->comparison;
    html_series series[HTML_SERIES], pale[MOST_PALE];
    char title[TITLE], word[TITLE];
    size_t lines = 0, n = grid->steps, others = 0;
    if (n < 2 || o->charts == CHARTS || html_full(o->page))
        return ASSAY_OK;
    double *room = assay_alloc((4 + 2 * HTML_SERIES) * n * sizeof *room);
    double *of_others = NULL;
    const size_t pales = take_pale(o, grid, pale, &of_others);
    if (!room || !of_others) {
        free(room);
        free(of_others);
        return ASSAY_ENOMEM;
    }
    for (size_t t = 0; t < c->trials; t++)
        others += !c->trial[t].odd;
    if (pales < others)
        snprintf(word, sizeof word, "%zu of the %zu others, each by itself", pales, others);
    else
        snprintf(word, sizeof word, "the others, each by itself");
    double *x = room, *low = room + n, *middle = room + 2 * n, *high = room + 3 * n, *at = room + 4 * n;
    size_t count = take_band(o, grid, x, low, middle, high);
    const html_band band = {"the others: 90 % of them, and the median", x, low, high, count};
    series[lines++] = (html_series){"median of the others", x, middle, count, HTML_STYLES - 1};
    for (size_t t = 0; t < c->trials && lines < HTML_SERIES; t++) {
        if (!c->trial[t].odd)
            continue;
        size_t points = take_line(grid, t, at, at + n);
        if (points > 0) {
            series[lines] = (html_series){c->outcome->trials[t].trial->name, at, at + n, points, (int)lines - 1};
            lines++;
        }
        at += 2 * n;
    }
    snprintf(title, sizeof title, "%.200s, %s", grid->tensor, assay_mode_name(grid->mode));
    html_put_chart(o->page, &(html_chart){.title = title,
                                          .x_label = "step of the mode",
                                          .y_label = "loss",
                                          .band = count > 0 ? &band : NULL,
                                          .series = series,
                                          .count = lines,
                                          .pale = pale,
                                          .pales = pales,
                                          .pale_word = word,
                                          .room = HTML_BUDGET_LOSS / 8});
    o->charts++;
    free(of_others);
    free(room);
    return ASSAY_OK;
}

void html_odd_losses(html_page *page)
{
    overlay o = {page, 0, assay_alloc((page->outcome->trial_count + 1) * sizeof *o.sorted)};
    int status = o.sorted ? ASSAY_OK : ASSAY_ENOMEM;
    html_put(page, "<div class=\"charts\">\n");
    if (status == ASSAY_OK)
        status = assay_grid_walk(page->outcome, ASSAY_BAND_LOSS, STEPS, put_chart, &o);
    html_put(page, "</div>\n");
    if (page->comparison->odd >= HTML_SERIES)
        html_put(page, "<p class=\"more\">Of %zu trials that are unlike the others the first %d are drawn.</p>\n",
                 page->comparison->odd, HTML_SERIES - 1);
    html_fail(page, status);
    free(o.sorted);
}
