/* chart_svg.h - charts as inline SVG with their legends and numbers. Inside report only. */
#pragma once

#include <assay/pack.h>

#include "report/document/document.h"

enum { CHART_LEAST = 3000 }; /* less room makes no chart */

/* Appends a <figure> with the lines, a legend, a description, and the numbers behind them, in about `most` bytes: with
 * few of them it is drawn in fewer columns, without dots. Failures stay in the buffer. */
void chart_put_lines(const doc_chart *chart, size_t most, assay_buf *out);

/* Appends a <figure> of rows by steps, and one of links between two columns of nodes, in the same way. (chart_grid.c)
 */
void chart_put_heat(const doc_chart *chart, size_t most, assay_buf *out);
void chart_put_pairs(const doc_chart *chart, size_t most, assay_buf *out);
/* Appends a table with a bar in each row. */
void chart_put_bars(const doc_chart *chart, size_t most, assay_buf *out);
