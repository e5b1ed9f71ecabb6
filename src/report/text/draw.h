/* draw.h - small drawings in lines of text: sparklines, bars, shades. */
#pragma once

#include <stddef.h>

#include <assay/pack.h>

/* What the terminal can show. */
typedef struct assay_draw {
    unsigned columns; /* of a line */
    bool utf8;        /* block characters; else ASCII */
    bool colour;      /* by ANSI sequences; the characters say the same without them */
} assay_draw;

/* Blue, yellow and magenta: different for any common colour blindness. */
typedef enum assay_draw_colour {
    ASSAY_DRAW_PLAIN,
    ASSAY_DRAW_GOOD,
    ASSAY_DRAW_BAD,
    ASSAY_DRAW_ALARM,
    ASSAY_DRAW_HEAD /* bold */
} assay_draw_colour;

/* Appends what begins and ends a colour, where the terminal (NULL: none) takes it. */
void assay_draw_begin(const assay_draw *draw, assay_draw_colour colour, assay_buf *out);
void assay_draw_end(const assay_draw *draw, assay_draw_colour colour, assay_buf *out);

/* Appends a sparkline of at most `columns` characters, low to high between the least and the largest finite value; more
 * values are averaged. A value that is not finite is a cross. */
void assay_draw_sparkline(const assay_draw *draw, const double *value, size_t count, unsigned columns, assay_buf *out);

/* Appends a bar of `share` (0 to 1) of `columns` characters, and nothing behind it. A share above 0 is never empty. */
void assay_draw_bar(const assay_draw *draw, double share, unsigned columns, assay_buf *out);

/* Appends one character, `times` over, the darker the larger the share (0 to 1); a share above 0 is never blank. */
void assay_draw_shade(const assay_draw *draw, double share, assay_draw_colour colour, unsigned times, assay_buf *out);

/* Appends a strip of `columns` characters, dots but where one of the places (0 to 1) lies. */
void assay_draw_marks(const assay_draw *draw, const double *place, size_t count, unsigned columns, assay_buf *out);

/* How many columns labels get in a list of series, the longest of which has `longest`. */
unsigned assay_draw_label_columns(const assay_draw *draw, size_t longest);
/* Appends a line "    label  sparkline  least .. most, last x" of at least one value: the label, a cleaned text, in
 * `width` columns (6 or more), cut to fit; in narrow lines the last value only. */
void assay_draw_series(const assay_draw *draw, const char *label, unsigned width, const double *value, size_t count,
                       assay_buf *out);
