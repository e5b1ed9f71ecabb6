/* draw.c - see draw.h. */
#include "report/text/draw.h"

#include <math.h>
#include <string.h>

#include "report/text/layout.h"

/* Unicode has eight heights and eighths of a block, and four shades. Fewer than LEAST_SPARK columns show no course:
 * a line then runs over the edge instead. MOST_MARKS is wider than any terminal. */
enum { LEVELS = 8, SHADES = 4, INDENT = 4, LEAST_SPARK = 8, MOST_LABEL = 40, MOST_MARKS = 1024 };
enum { NUMBER_COLUMNS = 10, NARROW = 56, ROOMY = 76 }; /* the text behind a sparkline depends on the width */

void assay_draw_begin(const assay_draw *draw, assay_draw_colour colour, assay_buf *out)
{
    static const char *const codes[] = {[ASSAY_DRAW_GOOD] = "\x1b[34m",
                                        [ASSAY_DRAW_BAD] = "\x1b[33m",
                                        [ASSAY_DRAW_ALARM] = "\x1b[35m",
                                        [ASSAY_DRAW_HEAD] = "\x1b[1m"};
    if (draw && draw->colour && colour != ASSAY_DRAW_PLAIN)
        assay_put_format(out, "%s", codes[colour]);
}

void assay_draw_end(const assay_draw *draw, assay_draw_colour colour, assay_buf *out)
{
    if (draw && draw->colour && colour != ASSAY_DRAW_PLAIN)
        assay_put_format(out, "\x1b[0m");
}

/* One of the block elements from U+2580 on. */
static void put_block(assay_buf *out, unsigned number)
{
    const uint8_t bytes[] = {0xe2, 0x96, (uint8_t)(0x80 + number)};
    assay_put_bytes(out, bytes, sizeof bytes);
}

static void put_level(const assay_draw *draw, unsigned level, assay_buf *out)
{
    static const char ascii[] = "_.-=+*#@";
    if (draw->utf8)
        put_block(out, 1 + level);
    else
        assay_put_u8(out, (uint8_t)ascii[level]);
}

typedef struct range {
    double least, most;
    bool any; /* finite ones */
} range;

static range range_of(const double *value, size_t count)
{
    range r = {INFINITY, -INFINITY, false};
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(value[i]))
            continue;
        r.any = true;
        r.least = value[i] < r.least ? value[i] : r.least;
        r.most = value[i] > r.most ? value[i] : r.most;
    }
    return r;
}

/* The place of a value in the range, from 0 to 1. Halves, so that the width of the range is finite. */
static double place(const range *r, double value)
{
    double width = r->most / 2 - r->least / 2;
    return width > 0 ? (value / 2 - r->least / 2) / width : 0.5;
}

void assay_draw_sparkline(const assay_draw *draw, const double *value, size_t count, unsigned columns, assay_buf *out)
{
    range r = range_of(value, count);
    size_t shown = count < columns ? count : columns;
    for (size_t c = 0; c < shown; c++) {
        size_t from = c * count / shown, to = (c + 1) * count / shown;
        double sum = 0;
        bool finite = true;
        for (size_t i = from; i < to; i++) {
            finite = finite && isfinite(value[i]);
            sum += isfinite(value[i]) ? place(&r, value[i]) : 0;
        }
        if (!finite) {
            assay_draw_begin(draw, ASSAY_DRAW_ALARM, out);
            assay_put_format(out, draw->utf8 ? "\xc3\x97" : "x");
            assay_draw_end(draw, ASSAY_DRAW_ALARM, out);
            continue;
        }
        unsigned level = (unsigned)(sum / (double)(to - from) * LEVELS);
        put_level(draw, level < LEVELS ? level : LEVELS - 1, out);
    }
}

void assay_draw_bar(const assay_draw *draw, double share, unsigned columns, assay_buf *out)
{
    if (!(share > 0))
        return;
    unsigned eighths = (unsigned)(fmin(share, 1) * columns * LEVELS + 0.5);
    eighths = eighths ? eighths : 1;
    assay_draw_begin(draw, ASSAY_DRAW_GOOD, out);
    for (unsigned i = 0; i < eighths / LEVELS; i++) {
        if (draw->utf8)
            put_block(out, 8);
        else
            assay_put_u8(out, '#');
    }
    if (eighths % LEVELS && draw->utf8)
        put_block(out, 16 - eighths % LEVELS);
    else if (eighths < LEVELS)
        assay_put_u8(out, '.');
    assay_draw_end(draw, ASSAY_DRAW_GOOD, out);
}

void assay_draw_shade(const assay_draw *draw, double share, assay_draw_colour colour, unsigned times, assay_buf *out)
{
    static const char ascii[] = " .+*#";
    unsigned shade = share > 0 ? 1 + (unsigned)(fmin(share, 1) * SHADES) : 0;
    shade = shade < SHADES ? shade : SHADES;
    if (shade > 0)
        assay_draw_begin(draw, colour, out);
    for (unsigned i = 0; i < times; i++) {
        if (draw->utf8 && shade > 0)
            put_block(out, shade == SHADES ? 8 : 16 + shade);
        else
            assay_put_u8(out, (uint8_t)ascii[shade]);
    }
    if (shade > 0)
        assay_draw_end(draw, colour, out);
}

void assay_draw_marks(const assay_draw *draw, const double *place, size_t count, unsigned columns, assay_buf *out)
{
    bool marked[MOST_MARKS] = {false};
    columns = columns < MOST_MARKS ? columns : MOST_MARKS;
    for (size_t i = 0; i < count && columns > 0; i++) {
        double at = place[i] > 0 ? place[i] * columns : 0;
        marked[at < columns ? (unsigned)at : columns - 1] = true;
    }
    for (unsigned c = 0; c < columns; c++) {
        if (!marked[c]) {
            assay_put_format(out, draw->utf8 ? "\xc2\xb7" : ".");
            continue;
        }
        assay_draw_begin(draw, ASSAY_DRAW_BAD, out);
        if (draw->utf8)
            put_block(out, 8);
        else
            assay_put_u8(out, '#');
        assay_draw_end(draw, ASSAY_DRAW_BAD, out);
    }
}

unsigned assay_draw_label_columns(const assay_draw *draw, size_t longest)
{
    unsigned most = draw->columns / 3;
    most = most > MOST_LABEL ? MOST_LABEL : most;
    return longest < most ? (unsigned)longest : most;
}

/* Four digits, so that a number has at most NUMBER_COLUMNS. */
static void put_number(assay_buf *out, double value)
{
    if (isfinite(value))
        assay_put_format(out, "%.4g", value);
    else
        assay_text_put_number(out, value);
}

static void put_figures(const assay_draw *draw, const double *value, size_t count, assay_buf *out)
{
    range r = range_of(value, count);
    bool wide = draw->columns >= NARROW;
    if (wide && r.any) {
        put_number(out, r.least);
        assay_put_format(out, " .. ");
        put_number(out, r.most);
    } else if (wide) {
        assay_put_format(out, "never finite");
    }
    if (wide && draw->columns < ROOMY)
        return;
    assay_put_format(out, wide ? ", last " : "");
    put_number(out, value[count - 1]);
}

void assay_draw_series(const assay_draw *draw, const char *label, unsigned width, const double *value, size_t count,
                       assay_buf *out)
{
    unsigned figures = draw->columns < NARROW  ? NUMBER_COLUMNS
                       : draw->columns < ROOMY ? 2 * NUMBER_COLUMNS + 4
                                               : 3 * NUMBER_COLUMNS + 11;
    unsigned used = INDENT + width + 4 + figures;
    unsigned columns = draw->columns > used + LEAST_SPARK ? draw->columns - used : LEAST_SPARK;
    size_t have = assay_text_columns(label, strlen(label));
    if (count == 0)
        return;
    assay_text_put_blanks(out, INDENT);
    assay_text_put_cut(out, label, strlen(label), width);
    assay_text_put_blanks(out, (have < width ? width - have : 0) + 2);
    assay_draw_sparkline(draw, value, count, columns, out);
    assay_text_put_blanks(out, (count < columns ? columns - count : 0) + 2);
    put_figures(draw, value, count, out);
    assay_put_u8(out, '\n');
}
