/* chart_grid.c - charts of rows and steps, of links between nodes, and of bars, as SVG and HTML. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <assay/status.h>

#include "base/fault.h"
#include "report/document/chart_svg.h"
#include "report/document/markup.h"

enum { COLUMNS = 250, ROW = 10, MOST_ROWS = 128, MOST_LINKS = 200, SHADES = 9, MOST_BARS = 60 };
/* As in chart_svg.c: bytes that one cell or link takes at the most, and lengths in the units of the drawing. */
enum { CELL_BYTES = 24, LINK_BYTES = 260, NODE = 24, PAIRS_WIDTH = 640, BOX = 220 };

static void put_caption(const doc_chart *c, assay_buf *out)
{
    if (!c->title[0])
        return;
    markup_put(out, "<figcaption>");
    markup_text_n(out, c->title, strlen(c->title), MARKUP_TITLE);
    markup_put(out, "</figcaption>");
    if (!c->remark)
        return;
    markup_put(out, "<p class=\"remark\">");
    markup_text(out, c->remark);
    markup_put(out, "</p>");
}

static void put_left(size_t left, const char *what, assay_buf *out)
{
    if (left > 0)
        markup_put(out, "<p class=\"more\">\u2026 and %zu more %s: see report.json.</p>", left, what);
}

/* ---- rows by steps ---- */

typedef struct range {
    double least, most;
} range;

static void widen(range *r, double value)
{
    r->least = fmin(r->least, value);
    r->most = fmax(r->most, value);
}

/* Takes the darkest value of each column: what stands out must not be averaged away. 0: nothing, 1 to SHADES: a
 * shade. x has every point, so no column lies outside. */
static void shade_row(const doc_series *s, const range *x, const range *y, int columns, uint8_t *shade)
{
    memset(shade, 0, (size_t)columns);
    for (size_t i = 0; i < s->count; i++) {
        const double at = x->most > x->least ? (s->x[i] - x->least) / (x->most - x->least) : 0;
        const double part = !isfinite(s->y[i])   ? 1
                            : y->most > y->least ? (s->y[i] - y->least) / (y->most - y->least)
                                                 : 0;
        const int column = (int)(at * (columns - 1) + 0.5), dark = 1 + (int)(part * (SHADES - 1) + 0.5);
        if (dark > shade[column])
            shade[column] = (uint8_t)dark;
    }
}

/* Neighbours of one shade are one path. */
static void put_shades(const uint8_t *shade, int columns, assay_buf *out)
{
    for (int from = 0, to; from < columns; from = to) {
        for (to = from + 1; to < columns && shade[to] == shade[from]; to++)
            ;
        if (shade[from] > 0)
            markup_put(out, "<path class=\"h%d\" d=\"M%d 0H%dV%dH%dZ\"/>", shade[from], from, to, ROW, from);
    }
}

/* With shares a row has a scale of its own: 0 to the sum of the row. */
static void put_heat_row(const doc_series *s, const range *x, range y, bool shares, int columns, assay_buf *out)
{
    uint8_t shade[COLUMNS];
    for (size_t i = 0; shares && i < s->count; i++)
        y = (range){0, i == 0 ? s->y[0] : y.most + s->y[i]};
    shade_row(s, x, &y, columns, shade);
    range own = {INFINITY, -INFINITY};
    for (size_t i = 0; i < s->count; i++)
        if (isfinite(s->y[i]))
            widen(&own, s->y[i]);
    markup_put(out, "<div class=\"lane\"><span class=\"lane-name\">");
    markup_name(out, s->name);
    markup_put(out,
               "</span><svg class=\"strip heat-strip bad\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" "
               "role=\"img\"><title>",
               columns, ROW);
    markup_short_name(out, s->name, MARKUP_NAME);
    if (own.least <= own.most)
        markup_put(out, ": %.6g to %.6g", own.least, own.most);
    markup_put(out, "</title>");
    markup_put(out, "<path class=\"track\" d=\"M0 5H%d\"/>", columns);
    put_shades(shade, columns, out);
    markup_put(out, "</svg><span class=\"lane-count\">");
    if (own.least <= own.most)
        markup_put(out, "%.4g", own.most);
    markup_put(out, "</span></div>\n");
}

void chart_put_heat(const doc_chart *c, size_t most, assay_buf *out)
{
    const size_t end = out->size + most;
    range x = {INFINITY, -INFINITY}, y = {INFINITY, -INFINITY};
    if (c->x_least < c->x_most)
        x = (range){c->x_least, c->x_most};
    size_t points = 1, row = 0;
    for (size_t s = 0; s < c->count; s++) {
        points = c->series[s].count > points ? c->series[s].count : points;
        for (size_t i = 0; i < c->series[s].count; i++) {
            widen(&x, c->series[s].x[i]);
            if (isfinite(c->series[s].y[i]))
                widen(&y, c->series[s].y[i]);
        }
    }
    if (y.least > 0)
        y.least = 0; /* a scale that starts at nothing is not misread */
    /* A row is drawn in as many columns as there are points, where the ends are not given from outside. */
    size_t columns = points < COLUMNS && c->x_least >= c->x_most ? points : COLUMNS,
           fits = most / (c->count + 1) / CELL_BYTES;
    columns = fits < columns ? fits : columns;
    columns = columns < 2 ? 2 : columns;
    markup_put(out, "<figure class=\"chart\">");
    put_caption(c, out);
    markup_put(out, "<p class=\"unit\">");
    markup_text(out, c->y_label);
    if (c->shares)
        markup_put(out, ": darker by the share of the row");
    else if (y.least < y.most)
        markup_put(out, ": %.4g (light) to %.4g (dark)", y.least, y.most);
    markup_put(out, "</p>");
    markup_put(out, "<div class=\"lanes\">\n");
    for (; row < c->count && row < MOST_ROWS && out->size < end; row++)
        put_heat_row(&c->series[row], &x, y, c->shares, (int)columns, out);
    markup_put(out, "<div class=\"lane foot\"><span class=\"lane-name dim\">");
    markup_text(out, c->x_label);
    markup_put(out, "</span><span class=\"axis\" aria-hidden=\"true\">");
    if (x.least <= x.most)
        markup_put(out, "<span>%.15g</span><span>%.15g</span>", x.least, x.most);
    markup_put(out, "</span><span class=\"lane-count\"></span></div></div>");
    put_left(c->count - row, "rows", out);
    markup_put(out, "</figure>\n");
}

/* ---- pairs ---- */

/* The nodes of one side in the order in which links name them; borrowed from the chart. */
typedef struct side {
    const char **name;
    size_t count;
} side;

/* Linear, as links are at most MOST_LINKS. */
static size_t node_of(side *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->name[i], name) == 0)
            return i;
    s->name[s->count] = name;
    return s->count++;
}

static void put_nodes(const side *s, bool right, assay_buf *out)
{
    for (size_t i = 0; i < s->count; i++) {
        markup_put(out, "<text x=\"%d\" y=\"%zu\"%s>", right ? PAIRS_WIDTH - BOX + 8 : BOX - 8, i * NODE + NODE / 2 + 5,
                   right ? "" : " text-anchor=\"end\"");
        markup_short_name(out, s->name[i], 28);
        markup_put(out, "</text>");
    }
}

static void put_link(const doc_link *l, size_t from, size_t to, double heaviest, assay_buf *out)
{
    const size_t y0 = from * NODE + NODE / 2, y1 = to * NODE + NODE / 2;
    const double width = isfinite(l->weight) && heaviest > 0 ? 1 + 5 * fmax(l->weight, 0) / heaviest : 1.5;
    markup_put(out, "<path class=\"pair %s\" stroke-width=\"%.2g\" d=\"M%d %zuC%d %zu %d %zu %d %zu\"><title>",
               l->tone == DOC_BAD || l->tone == DOC_BROKEN ? "bad" : "", width, BOX, y0, PAIRS_WIDTH / 2, y0,
               PAIRS_WIDTH / 2, y1, PAIRS_WIDTH - BOX, y1);
    markup_short_name(out, l->from, MARKUP_NAME);
    markup_put(out, " \u2013 ");
    markup_short_name(out, l->to, MARKUP_NAME);
    if (isfinite(l->weight))
        markup_put(out, ": %.6g", l->weight);
    markup_put(out, "</title></path>");
}

/* Nodes are named before links are drawn, so that a link which is cut leaves its nodes. */
void chart_put_pairs(const doc_chart *c, size_t most, assay_buf *out)
{
    const size_t end = out->size + most;
    size_t shown = c->links < MOST_LINKS ? c->links : MOST_LINKS, done = 0;
    side left = {assay_alloc_zeroed(shown + 1, sizeof(char *)), 0};
    side right = {assay_alloc_zeroed(shown + 1, sizeof(char *)), 0};
    if (!left.name || !right.name) {
        out->status = out->status == ASSAY_OK ? ASSAY_ENOMEM : out->status;
        free(left.name);
        free(right.name);
        return;
    }
    double heaviest = 0;
    for (size_t i = 0; i < shown; i++) {
        node_of(&left, c->link[i].from);
        node_of(&right, c->link[i].to);
        heaviest = isfinite(c->link[i].weight) ? fmax(heaviest, c->link[i].weight) : heaviest;
    }
    markup_put(out, "<figure class=\"chart\">");
    put_caption(c, out);
    markup_put(out, "<p class=\"unit\">");
    markup_text(out, c->x_label);
    markup_put(out, " \u2192 ");
    markup_text(out, c->y_label);
    markup_put(out, "</p><svg class=\"pairs-plot\" viewBox=\"0 0 %d %zu\" role=\"img\"><title>", PAIRS_WIDTH,
               (left.count > right.count ? left.count : right.count) * NODE);
    markup_text_n(out, c->title, strlen(c->title), MARKUP_TITLE);
    markup_put(out, "</title>");
    for (; done < shown && out->size + LINK_BYTES < end; done++)
        put_link(&c->link[done], node_of(&left, c->link[done].from), node_of(&right, c->link[done].to), heaviest, out);
    put_nodes(&left, false, out);
    put_nodes(&right, true, out);
    markup_put(out, "</svg>");
    put_left(c->links - done, "links", out);
    markup_put(out, "</figure>\n");
    free(left.name);
    free(right.name);
}

/* ---- bars ---- */

/* The widest bar takes 70 %, as its number stands beside it. */
static void put_bar_row(const doc_chart *c, size_t i, double largest, assay_buf *out)
{
    markup_put(out, "<tr><th scope=\"row\">");
    if (c->label)
        markup_name(out, c->label[i]);
    else
        markup_put(out, "%.15g", c->series[0].x[i]);
    markup_put(out, "</th><td>");
    for (size_t s = 0; s < c->count; s++) {
        if (i >= c->series[s].count)
            continue;
        const double y = c->series[s].y[i];
        markup_put(
            out,
            "<div class=\"bar\"><span class=\"fill b%zu\" style=\"width:%.3g%%\"></span><span class=\"value\">%.6g</span></div>",
            s % 6, isfinite(y) && largest > 0 ? 70 * fmax(y, 0) / largest : 0, y);
    }
    markup_put(out, "</td></tr>\n");
}

void chart_put_bars(const doc_chart *c, size_t most, assay_buf *out)
{
    const size_t end = out->size + most;
    double largest = 0;
    size_t i = 0;
    for (size_t s = 0; s < c->count; s++)
        for (size_t k = 0; k < c->series[s].count; k++)
            largest = isfinite(c->series[s].y[k]) ? fmax(largest, c->series[s].y[k]) : largest;
    const size_t rows = c->count ? c->series[0].count : 0;
    markup_put(out, "<figure class=\"chart\">");
    put_caption(c, out);
    if (c->count > 1) {
        markup_put(out, "<ul class=\"legend\">");
        for (size_t s = 0; s < c->count; s++) {
            markup_put(out, "<li><span class=\"swatch b%zu\"></span>", s % 6);
            markup_name(out, c->series[s].name);
            markup_put(out, "</li>");
        }
        markup_put(out, "</ul>");
    }
    markup_put(out, "<table class=\"bars\"><thead><tr><th>");
    markup_text(out, c->x_label);
    markup_put(out, "</th><th>");
    markup_text(out, c->y_label);
    markup_put(out, "</th></tr></thead><tbody>\n");
    for (; i < rows && i < MOST_BARS && out->size < end; i++)
        put_bar_row(c, i, largest, out);
    markup_put(out, "</tbody></table>");
    put_left(rows - i, "bars", out);
    markup_put(out, "</figure>\n");
}
