/* render.h - the forms of a document. Each appends to a buffer, which keeps the first failure, the document's included.
 * A form is one file; the same document gives the same bytes on any machine and any number of ranks. */
#pragma once

#include <assay/pack.h>

#include "report/document/document.h"
#include "report/text/draw.h"

/* Text of 100 columns, or of a terminal's (`draw`; NULL: none): sections are underlined, cards indented, of samples the
 * first ten rows stand there. */
void doc_render_text(const doc *d, const assay_draw *draw, assay_buf *out);

/* GitHub's Markdown in at most `most` bytes, counted from the buffer's begin: short enough for a comment on a pull
 * request. Of samples three rows, of cards the first ten; details are left out. What did not fit is counted in a last
 * line. */
void doc_render_markdown(const doc *d, size_t most, assay_buf *out);

/* Elements of HTML, without the page around them, in about `most` bytes: every part gets a share of what the parts
 * before it left, and says how many rows it left out. */
void doc_render_html(const doc *d, size_t most, assay_buf *out);
/* Items of a list of links to the outermost sections. */
void doc_render_html_links(const doc *d, assay_buf *out);
