/* chart_svg.c - a chart of lines as inline SVG.
 *
 * The plot stretches to the available width and keeps its stroke width. All text is HTML around it and keeps its size,
 * so a chart reads the same on a telephone and on a wide screen. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <assay/status.h>

#include "base/fault.h"
#include "report/document/chart_svg.h"
#include "report/document/markup.h"

/* Bytes of a chart: a page has a ceiling, and a chart a share of it. POINT_BYTES and the like are what one takes at
 * the most, so that the detail is chosen before anything is written. */
enum { WIDTH = 1000, HEIGHT = 400, TICKS = 5, POINTS_WITH_DOTS = 60, MOST_COLUMNS = 500, LEAST_COLUMNS = 12 };
enum { POINT_BYTES = 14, DOT_BYTES = 130, ROW_BYTES = 110, FRAME_BYTES = 2500, ROWS_MOST = 60, ROWS_LEAST = 3 };

/* How much of a chart its room allows. */
typedef struct detail {
    int columns, pale_columns; /* in which lines are drawn */
    bool dots;
    size_t rows; /* of numbers, for each line */
} detail;

static detail detail_of(const doc_chart *chart, size_t bytes)
{
    size_t series = chart->count ? chart->count : 1, points = 0;
    size_t room =
        bytes > FRAME_BYTES ? (bytes - FRAME_BYTES) / series : 0; /* half for the lines, the rest for numbers */
    detail d = {.columns = (int)fmin(MOST_COLUMNS, fmax(30, (double)room / 2 / (4 * POINT_BYTES)))};
    d.pale_columns =
        (int)fmin(d.columns, fmax(LEAST_COLUMNS, (double)bytes / 2 / (POINT_BYTES * (double)(chart->pales + 1))));
    for (size_t s = 0; s < chart->count; s++)
        points = chart->series[s].count > points ? chart->series[s].count : points;
    d.dots = points <= POINTS_WITH_DOTS && points * DOT_BYTES < room / 2;
    d.rows = room / 4 / ROW_BYTES;
    d.rows = d.rows > ROWS_MOST / series ? ROWS_MOST / series : d.rows;
    d.rows = d.rows < ROWS_LEAST ? ROWS_LEAST : d.rows;
    return d;
}

/* Finds the column of a value of x. */
static int column_of(double pixel, int columns)
{
    return (int)(pixel * columns / WIDTH);
}

/* Values of an axis, mapped to 0..1. */
typedef struct axis {
    double least, most; /* after the logarithm where there is one */
    bool logarithmic;
    double tick[2 * TICKS + 2];
    int ticks;
} axis;

static double on_axis(const axis *a, double value)
{
    double at = a->logarithmic ? log10(value) : value;
    /* in halves, so that no difference of finite numbers overflows */
    return a->most > a->least ? fmin(fmax((at / 2 - a->least / 2) / (a->most / 2 - a->least / 2), 0), 1) : 0.5;
}

static void widen(axis *a, double value)
{
    a->least = value < a->least ? value : a->least;
    a->most = value > a->most ? value : a->most;
}

#define LEAST_SPAN   1e-300
#define MOST_ROUNDED 1e300

/* Sets ticks at multiples of 1, 2 or 5 times a power of ten; an axis of values begins and ends at one. */
static void set_ticks(axis *a, bool round_out)
{
    double span = a->most - a->least;
    if (!(span > LEAST_SPAN) ||
        !(fmax(fabs(a->least), fabs(a->most)) < MOST_ROUNDED)) { /* too small or large to round */
        a->tick[a->ticks++] = a->logarithmic ? pow(10, a->least) : a->least;
        if (a->most > a->least)
            a->tick[a->ticks++] = a->logarithmic ? pow(10, a->most) : a->most;
        return;
    }
    double unit = pow(10, floor(log10(span / TICKS))), ratio = span / TICKS / unit;
    double step = unit * (ratio <= 1 ? 1 : ratio <= 2 ? 2 : ratio <= 5 ? 5 : 10);
    if (a->logarithmic && step < 1)
        step = 1;
    double first = round_out ? floor(a->least / step) : ceil(a->least / step);
    double last = round_out ? ceil(a->most / step) : floor(a->most / step);
    if (round_out) {
        a->least = first * step;
        a->most = last * step;
    }
    for (double k = first; k <= last && a->ticks < 2 * TICKS + 2; k++)
        a->tick[a->ticks++] = a->logarithmic ? pow(10, k * step) : k * step;
}

/* Widens the axes by one line. */
static void take_line(const doc_series *series, axis *x, axis *y, bool *positive, double *least_positive)
{
    for (size_t i = 0; i < series->count; i++) {
        widen(x, series->x[i]);
        if (!isfinite(series->y[i]))
            continue;
        widen(y, series->y[i]);
        *positive = *positive && series->y[i] > 0;
        *least_positive = fmin(*least_positive, series->y[i]);
    }
}

/* On an axis from 0 the band would lie in less than a twelfth of the height, and what leaves it by half were not seen. */
enum { FLAT = 12 };

/* Logarithmic where all values are above 0 and reach over more than 500 times the least, or where the band would be
 * FLAT. */
static void find_axes(const doc_chart *chart, axis *x, axis *y)
{
    double least_positive = DBL_MAX, band_most = DBL_MAX;
    bool positive = true;
    *x = *y = (axis){.least = DBL_MAX, .most = -DBL_MAX};
    for (size_t s = 0; s < chart->count; s++)
        take_line(&chart->series[s], x, y, &positive, &least_positive);
    for (size_t s = 0; s < chart->pales; s++)
        take_line(&chart->pale[s], x, y, &positive, &least_positive);
    for (size_t i = 0; chart->band && i < chart->band->count; i++) {
        widen(x, chart->band->x[i]);
        widen(y, chart->band->low[i]);
        widen(y, chart->band->high[i]);
        band_most = i == 0 ? chart->band->high[i] : fmax(band_most, chart->band->high[i]);
        positive = positive && chart->band->low[i] > 0;
        least_positive = fmin(least_positive, chart->band->low[i]);
    }
    if (x->least > x->most)
        *x = (axis){0};
    if (y->least > y->most)
        *y = (axis){0};
    else if (positive && (y->most / least_positive > 500 || y->most / FLAT > band_most))
        *y = (axis){.least = log10(y->least), .most = log10(y->most), .logarithmic = true};
    else if (y->least > 0 && y->least < y->most / 2)
        y->least = 0; /* a scale that starts at nothing is not misread */
    if (y->least == y->most) {
        double pad = y->least != 0 ? fabs(y->least) / 10 : 1;
        y->least -= y->least != 0 ? pad : 0;
        y->most = fmin(y->most + pad, DBL_MAX);
    }
    set_ticks(x, false);
    set_ticks(y, true);
}

static double pixel_x(const axis *x, double value)
{
    return on_axis(x, value) * WIDTH;
}

static double pixel_y(const axis *y, double value)
{
    return HEIGHT - on_axis(y, value) * HEIGHT;
}

static void put_point(assay_buf *out, bool *pen, const axis *x, const axis *y, const doc_series *s, size_t i)
{
    markup_put(out, "%s%.4g %.4g", *pen ? "L" : "M", pixel_x(x, s->x[i]), pixel_y(y, s->y[i]));
    *pen = true;
}

/* Puts the line; of points that share a column the first, least, most and last, in their order: the eye sees no
 * difference. A value that is not finite leaves a gap. */
static void put_path(assay_buf *out, const axis *x, const axis *y, const doc_series *s, int columns)
{
    bool pen = false;
    for (size_t from = 0, to; from < s->count; from = to) {
        int column = column_of(pixel_x(x, s->x[from]), columns);
        size_t least = from, most = from;
        bool gap = false;
        for (to = from; to < s->count && column_of(pixel_x(x, s->x[to]), columns) == column; to++) {
            gap = gap || !isfinite(s->y[to]);
            least = s->y[to] < s->y[least] || !isfinite(s->y[least]) ? to : least;
            most = s->y[to] > s->y[most] || !isfinite(s->y[most]) ? to : most;
        }
        const size_t at[4] = {from, least < most ? least : most, least < most ? most : least, to - 1};
        pen = pen && isfinite(s->y[from]);
        for (int k = 0; k < 4; k++) {
            if ((k == 0 || at[k] != at[k - 1]) && isfinite(s->y[at[k]]))
                put_point(out, &pen, x, y, s, at[k]);
        }
        pen = pen && !gap;
    }
}

static void put_line(assay_buf *out, const axis *x, const axis *y, const doc_series *s, int columns)
{
    markup_put(out, "<path class=\"line s%d\" d=\"", s->style);
    put_path(out, x, y, s, columns);
    markup_put(out, "\"/>");
}

/* Puts all pale lines as one path: each begins where it is moved to. */
static void put_pales(assay_buf *out, const axis *x, const axis *y, const doc_chart *chart, int columns)
{
    markup_put(out, "<path class=\"pale\" d=\"");
    for (size_t s = 0; s < chart->pales; s++)
        put_path(out, x, y, &chart->pale[s], columns);
    markup_put(out, "\"/>");
}

/* Puts short bars at one edge, one a column at most. */
static void put_bars(assay_buf *out, const char *class, double bottom, const double *pixel, size_t count, int columns)
{
    int before = -1;
    for (size_t i = 0; i < count; i++) {
        int column = column_of(pixel[i], columns);
        if (column == before)
            continue;
        if (before < 0)
            markup_put(out, "<path class=\"%s\" d=\"", class);
        markup_put(out, "M%.4g %gv-18", pixel[i], bottom);
        before = column;
    }
    markup_put(out, before < 0 ? "" : "\"/>");
}

/* Marks where the values are nan or infinite: bars at the upper edge. */
static void put_lost(assay_buf *out, const axis *x, const doc_series *s, int columns)
{
    double *pixel = assay_alloc_zeroed(s->count, sizeof *pixel);
    out->status = pixel || out->status != ASSAY_OK ? out->status : ASSAY_ENOMEM;
    size_t lost = 0;
    for (size_t i = 0; pixel && i < s->count; i++) {
        if (!isfinite(s->y[i]))
            pixel[lost++] = pixel_x(x, s->x[i]);
    }
    put_bars(out, "lost", 18, pixel, lost, columns);
    free(pixel);
}

static void put_marks(assay_buf *out, const axis *x, const doc_chart *chart, int columns)
{
    double *pixel = assay_alloc_zeroed(chart->marks, sizeof *pixel);
    out->status = pixel || out->status != ASSAY_OK ? out->status : ASSAY_ENOMEM;
    for (size_t i = 0; pixel && i < chart->marks; i++)
        pixel[i] = fmin(fmax(pixel_x(x, chart->mark[i]), 0), WIDTH);
    put_bars(out, "fired", HEIGHT, pixel, pixel ? chart->marks : 0, columns);
    free(pixel);
}

static void put_dots(assay_buf *out, const axis *x, const axis *y, const doc_series *s)
{
    for (size_t i = 0; i < s->count; i++) {
        if (!isfinite(s->y[i]))
            continue;
        markup_put(out, "<path class=\"dot s%d\" d=\"M%.4g %.4gh0\"><title>", s->style, pixel_x(x, s->x[i]),
                   pixel_y(y, s->y[i]));
        markup_short_name(out, s->name, 40);
        markup_put(out, ": %.6g at %.15g</title></path>", s->y[i], s->x[i]);
    }
}

/* Puts the band: along the upper edge and back along the lower one. */
static void put_band(assay_buf *out, const axis *x, const axis *y, const doc_band *band)
{
    markup_put(out, "<path class=\"band\" d=\"");
    for (size_t i = 0; i < band->count; i++)
        markup_put(out, "%s%.4g %.4g", i ? "L" : "M", pixel_x(x, band->x[i]), pixel_y(y, band->high[i]));
    for (size_t i = band->count; i-- > 0;)
        markup_put(out, "L%.4g %.4g", pixel_x(x, band->x[i]), pixel_y(y, band->low[i]));
    markup_put(out, "Z\"/>");
}

static void put_plot(assay_buf *out, const doc_chart *chart, const axis *x, const axis *y, const detail *d)
{
    const size_t id = out->size; /* a chart begins where no other one does */
    markup_put(out,
               "<svg class=\"plot\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" "
               "aria-labelledby=\"c%zut c%zud\"><title id=\"c%zut\">",
               WIDTH, HEIGHT, id, id, id);
    markup_text_n(out, chart->title, strlen(chart->title), MARKUP_TITLE);
    markup_put(out, "</title><desc id=\"c%zud\">", id);
    for (size_t s = 0; s < chart->count; s++) {
        const doc_series *series = &chart->series[s];
        markup_short_name(out, series->name, MARKUP_NAME);
        markup_put(out, ": %zu point%s", series->count, assay_plural(series->count));
        if (series->count > 0)
            markup_put(out, ", first %.6g, last %.6g. ", series->y[0], series->y[series->count - 1]);
    }
    markup_put(out, "</desc><path class=\"grid\" d=\"");
    for (int i = 0; i < y->ticks; i++)
        markup_put(out, "M0 %.4gH%d", pixel_y(y, y->tick[i]), WIDTH);
    markup_put(out, "\"/>");
    if (chart->band)
        put_band(out, x, y, chart->band);
    if (chart->pales > 0)
        put_pales(out, x, y, chart, d->pale_columns);
    put_marks(out, x, chart, d->columns);
    /* Backward, so that the first line lies on top. */
    for (size_t s = chart->count; s-- > 0;) {
        put_line(out, x, y, &chart->series[s], d->columns);
        put_lost(out, x, &chart->series[s], d->columns);
        if (d->dots)
            put_dots(out, x, y, &chart->series[s]);
    }
    markup_put(out, "</svg>");
}

static void put_ticks(assay_buf *out, const axis *x, const axis *y)
{
    markup_put(out, "<div class=\"ylab\" aria-hidden=\"true\">");
    for (int i = 0; i < y->ticks; i++)
        markup_put(out, "<span style=\"top:%.4g%%\">%.4g</span>", 100 - 100 * on_axis(y, y->tick[i]), y->tick[i]);
    markup_put(out, "</div><div class=\"xlab\" aria-hidden=\"true\">");
    for (int i = 0; i < x->ticks; i++)
        markup_put(out, "<span style=\"left:%.4g%%\">%.7g</span>", 100 * on_axis(x, x->tick[i]), x->tick[i]);
    markup_put(out, "</div>");
}

static void put_legend(assay_buf *out, const doc_chart *chart)
{
    markup_put(out, "<ul class=\"legend\">");
    for (size_t s = 0; s < chart->count; s++) {
        markup_put(out,
                   "<li><svg class=\"key\" viewBox=\"0 0 28 10\" aria-hidden=\"true\"><path class=\"line s%d\" d=\"M0 "
                   "5H28\"/></svg>",
                   chart->series[s].style);
        markup_name(out, chart->series[s].name);
        markup_put(out, "</li>");
    }
    if (chart->band) {
        markup_put(out, "<li><svg class=\"key\" viewBox=\"0 0 28 10\" aria-hidden=\"true\"><path class=\"band\" d=\"M0 "
                        "1H28V9H0Z\"/></svg>");
        markup_text(out, chart->band->name);
        markup_put(out, "</li>");
    }
    if (chart->pales > 0) {
        markup_put(out, "<li><svg class=\"key\" viewBox=\"0 0 28 10\" aria-hidden=\"true\"><path class=\"pale\" d=\"M0 "
                        "3H28M0 7H28\"/></svg>");
        markup_text(out, chart->pale_word);
        markup_put(out, "</li>");
    }
    if (chart->marks > 0)
        markup_put(out,
                   "<li><svg class=\"key\" viewBox=\"0 0 28 10\" aria-hidden=\"true\"><path class=\"fired\" d=\"M14 "
                   "10V0\"/></svg>%s</li>",
                   chart->mark_word);
    markup_put(out, "</ul>");
}

/* Puts the numbers behind the chart: each series by itself, every n-th row so that few are left; the first and the
 * last are. A screen reader has them for the drawing. */
static void put_numbers(assay_buf *out, const doc_chart *chart, size_t rows)
{
    markup_put(
        out,
        "<details class=\"numbers\"><summary>Numbers</summary><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
        "aria-label=\"Numbers\"><table><thead><tr><th>Line</th><th class=\"n\">");
    markup_text(out, chart->x_label);
    markup_put(out, "</th><th class=\"n\">");
    markup_text(out, chart->y_label);
    markup_put(out, "</th></tr></thead><tbody>\n");
    size_t left = 0;
    for (size_t s = 0; s < chart->count; s++) {
        const doc_series *series = &chart->series[s];
        size_t shown = series->count < rows ? series->count : rows;
        for (size_t i = 0; i < shown; i++) {
            size_t at = shown > 1 ? (series->count - 1) * i / (shown - 1) : 0;
            markup_put(out, "<tr><td>");
            markup_short_name(out, series->name, 40);
            markup_put(out, "</td><td class=\"n\">%.15g</td><td class=\"n\">%.6g</td></tr>\n", series->x[at],
                       series->y[at]);
        }
        left += series->count - shown;
    }
    markup_put(out, "</tbody></table></div>");
    if (left > 0)
        markup_put(out, "<p class=\"note\">%zu row%s between these %s left out.</p>", left, assay_plural(left),
                   left == 1 ? "is" : "are");
    markup_put(out, "</details>");
}

static void put_drawing(assay_buf *out, const doc_chart *chart, const detail *d)
{
    axis x, y;
    find_axes(chart, &x, &y);
    put_legend(out, chart);
    markup_put(out, "<p class=\"unit\">");
    markup_text(out, chart->y_label);
    markup_put(out, "%s</p><div class=\"frame\">", y.logarithmic ? ", logarithmic" : "");
    put_plot(out, chart, &x, &y, d);
    put_ticks(out, &x, &y);
    markup_put(out, "</div><p class=\"unit x\">");
    markup_text(out, chart->x_label);
    markup_put(out, "</p>");
}

/* A chart without a finite value has its numbers and no drawing. */
void chart_put_lines(const doc_chart *chart, size_t most, assay_buf *out)
{
    size_t values = 0, lost = 0;
    const detail d = detail_of(chart, most);
    markup_put(out, "<figure class=\"chart\"><figcaption>");
    markup_text_n(out, chart->title, strlen(chart->title), MARKUP_TITLE);
    markup_put(out, "</figcaption>");
    if (chart->remark) {
        markup_put(out, "<p class=\"remark\">");
        markup_text(out, chart->remark);
        markup_put(out, "</p>");
    }
    for (size_t s = 0; s < chart->count; s++) {
        values += chart->series[s].count;
        for (size_t i = 0; i < chart->series[s].count; i++)
            lost += !isfinite(chart->series[s].y[i]);
    }
    if (lost < values || chart->band)
        put_drawing(out, chart, &d);
    if (lost > 0 && (lost < values || chart->band))
        markup_put(out, "<p class=\"note\">%zu value%s not finite: bars at the upper edge.</p>", lost,
                   lost == 1 ? " is" : "s are");
    else if (lost > 0)
        markup_put(out, "<p class=\"note\">Not drawn: of %zu value%s none is finite.</p>", lost, assay_plural(lost));
    put_numbers(out, chart, d.rows);
    markup_put(out, "</figure>\n");
}
