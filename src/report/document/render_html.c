/* render_html.c - a document as elements of HTML: headings, cards, tables that can be filtered, inline SVG.
 *
 * The file that they stand in stays small for any document: each block may take its share of what the ones before it
 * left, tables end where theirs does, and say how much they left out. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <assay/status.h>

#include "report/document/block.h"
#include "report/document/chart_svg.h"
#include "report/document/markup.h"
#include "report/document/render.h"
#include "report/text/layout.h"

/* What a page shows of a list: report.json has all. A table that is seen at a glance needs no filter,
 * ROWS_TO_FILTER. ROW_LEAST: with fewer bytes left of the ceiling no row is begun, which would be cut within. */
enum { ITEMS_SHOWN = 60, ROWS_MOST = 500, ROWS_TO_FILTER = 12, CELL_TEXT_MOST = 300, ROW_LEAST = 200 };

static const struct {
    const char *class, *shape;
} TONE[DOC_TONES] = {[DOC_PLAIN] = {"plain", "\u2022"},
                     [DOC_GOOD] = {"good", "\u2713"},
                     [DOC_BAD] = {"bad", "\u25b2"},
                     [DOC_BROKEN] = {"broken", "\u2715"},
                     [DOC_NONE] = {"none", "\u25cb"}};

static void put_blocks(assay_buf *out, const doc_block *parent, unsigned level, size_t most);

static void put_id(assay_buf *out, const char *id)
{
    if (!id)
        return;
    markup_put(out, " id=\"");
    markup_text_n(out, id, strlen(id), MARKUP_TITLE);
    markup_put(out, "\"");
}

static void put_target(assay_buf *out, const char *id)
{
    markup_put(out, "<a href=\"#");
    markup_text_n(out, id, strlen(id), MARKUP_TITLE);
    markup_put(out, "\">");
}

/* A badge has a shape as well as a colour, for those who do not see that. */
static void put_span(assay_buf *out, const doc_span *s)
{
    switch (s->kind) {
    case SPAN_NAME:
        markup_name(out, s->text);
        break;
    case SPAN_STRONG:
        markup_put(out, "<strong>");
        markup_text_n(out, s->text, s->length, MARKUP_MESSAGE);
        markup_put(out, "</strong>");
        break;
    case SPAN_DIM:
        markup_put(out, "<span class=\"dim\">");
        markup_text_n(out, s->text, s->length, MARKUP_MESSAGE);
        markup_put(out, "</span>");
        break;
    case SPAN_BADGE:
        markup_put(out, "<span class=\"status %s\"><span aria-hidden=\"true\">%s</span> ", TONE[s->tone].class,
                   TONE[s->tone].shape);
        markup_text_n(out, s->text, s->length, MARKUP_NAME);
        markup_put(out, "</span>");
        break;
    default:
        markup_text_n(out, s->text, s->length, MARKUP_MESSAGE);
    }
}

static void put_inline(assay_buf *out, const doc_inline *text)
{
    for (const doc_span *s = text->first; s; s = s->next)
        put_span(out, s);
}

static void put_more(assay_buf *out, uint64_t left, const char *what)
{
    if (left == 0)
        return;
    markup_put(out, "<p class=\"more\">\u2026 and %" PRIu64 " more ", left);
    markup_text_n(out, what, strlen(what), MARKUP_NAME);
    markup_put(out, ": see report.json.</p>\n");
}

/* ---- tables ---- */

/* Puts a cell. Numbers of reals are given in full to the script that sorts: people see six digits. */
static void put_cell(assay_buf *out, const doc_column *column, const doc_cell_data *cell, const char *link)
{
    markup_put(out, "<td role=\"cell\"%s data-head=\"", doc_is_number(column) ? " class=\"n\"" : "");
    assay_buf head = ASSAY_BUF(4096);
    doc_column_plain(column, &head);
    markup_text_n(out, (const char *)head.data, head.size, MARKUP_NAME);
    assay_buf_release(&head);
    markup_put(out, cell && cell->kind == CELL_REAL && isfinite(cell->real) ? "\" data-v=\"%.17g\">" : "\">",
               cell ? cell->real : 0);
    if (!cell || cell->kind == CELL_NONE) {
        markup_put(out, "</td>");
        return;
    }
    if (link)
        put_target(out, link);
    if (cell->kind != CELL_TEXT) {
        doc_cell_data number = *cell;
        number.text = (doc_inline){NULL, NULL};
        doc_cell_plain(column, &number, out); /* digits and words of assay's own: nothing to escape */
        markup_put(out, cell->text.first ? " " : "");
    }
    put_inline(out, &cell->text);
    markup_put(out, link ? "</a></td>" : "</td>");
}

/* The first text of a row is its link, the others are not. */
static void put_row(assay_buf *out, const doc_table_data *t, const doc_row_data *row)
{
    const doc_cell_data *cell = row->first;
    const char *link = row->link;
    markup_put(out, "<tr role=\"row\" class=\"is-%s\">", TONE[row->tone].class);
    for (size_t c = 0; c < t->columns; c++, cell = cell ? cell->next : NULL) {
        if (!t->filled[c])
            continue;
        const bool can = link && cell && cell->kind == CELL_TEXT;
        put_cell(out, &t->column[c], cell, can ? link : NULL);
        link = can ? NULL : link;
    }
    markup_put(out, "</tr>\n");
}

static void put_table(assay_buf *out, const doc_block *b, size_t most)
{
    const doc_table_data *t = b->table;
    const size_t end = out->size + most;
    size_t rows = 0;
    if (t->rows == 0) {
        put_more(out, t->left_out, t->label);
        return;
    }
    markup_put(out, "<div class=\"scroll%s\" tabindex=\"0\" role=\"region\" aria-label=\"",
               t->rows > ROWS_TO_FILTER ? " long" : "");
    markup_text_n(out, t->label, strlen(t->label), MARKUP_NAME);
    markup_put(out, "\"><table role=\"table\" class=\"stack%s\"", t->rows > ROWS_TO_FILTER ? " filter" : "");
    if (b->id) { /* sections have ids of their own */
        markup_put(out, " id=\"rows-");
        markup_text_n(out, b->id, strlen(b->id), MARKUP_TITLE);
        markup_put(out, "\"");
    }
    markup_put(out, "><thead role=\"rowgroup\"><tr role=\"row\">");
    for (size_t c = 0; c < t->columns; c++) {
        if (!t->filled[c])
            continue;
        markup_put(out, "<th role=\"columnheader\" scope=\"col\"%s>",
                   doc_is_number(&t->column[c]) ? " class=\"n\"" : "");
        assay_buf head = ASSAY_BUF(4096);
        doc_column_plain(&t->column[c], &head);
        markup_text_n(out, (const char *)head.data, head.size, MARKUP_NAME);
        assay_buf_release(&head);
        markup_put(out, "</th>");
    }
    markup_put(out, "</tr></thead><tbody role=\"rowgroup\">\n");
    /* A row is written whole or not at all. */
    for (const doc_row_data *row = t->first; row && rows < ROWS_MOST && out->size + ROW_LEAST < end;
         row = row->next, rows++)
        put_row(out, t, row);
    markup_put(out, "</tbody></table></div>\n");
    put_more(out, t->rows - rows + t->left_out, t->label);
}

/* ---- other blocks ---- */

static void put_items(assay_buf *out, const doc_block *b, size_t most)
{
    const size_t end = out->size + most;
    const bool ordered = b->numbered || b->kind == BLOCK_ADVICE;
    size_t shown = 0;
    const doc_item_data *i = b->items;
    markup_put(out, ordered ? "<ol>\n" : "<ul>\n");
    for (; i && shown < ITEMS_SHOWN && out->size < end; i = i->next, shown++) {
        markup_put(out, "<li>");
        put_inline(out, &i->text);
        markup_put(out, "</li>\n");
    }
    markup_put(out, ordered ? "</ol>\n" : "</ul>\n");
    size_t left = 0;
    for (; i; i = i->next)
        left++;
    put_more(out, left, "items");
}

static void put_facts(assay_buf *out, const doc_block *b)
{
    markup_put(out, "<dl class=\"grid\">");
    for (const doc_item_data *i = b->items; i; i = i->next) {
        markup_put(out, "<dt>");
        markup_text_n(out, i->name, strlen(i->name), MARKUP_NAME);
        markup_put(out, "</dt><dd>");
        put_inline(out, &i->text);
        markup_put(out, "</dd>");
    }
    markup_put(out, "</dl>\n");
}

static void put_advice(assay_buf *out, const doc_block *b, size_t most)
{
    if (b->same) {
        markup_put(out, "<p class=\"note\"><a href=\"#%s\">What to do</a></p>\n", b->same->id);
        return;
    }
    markup_put(out, "<div class=\"advice\"");
    put_id(out, b->id);
    markup_put(out, "><p><strong>What to do:</strong> ");
    put_inline(out, &b->text);
    markup_put(out, "</p>\n");
    if (b->items)
        put_items(out, b, most);
    markup_put(out, "</div>\n");
}

static void put_chart(assay_buf *out, const doc_block *b, size_t most)
{
    static void (*const draw[])(const doc_chart *, size_t, assay_buf *) = {[DOC_LINES] = chart_put_lines,
                                                                           [DOC_HEAT] = chart_put_heat,
                                                                           [DOC_BARS] = chart_put_bars,
                                                                           [DOC_PAIRS] = chart_put_pairs};
    if (most < CHART_LEAST) {
        put_more(out, 1, "charts");
        return;
    }
    markup_put(out, "<div");
    put_id(out, b->id);
    markup_put(out, ">");
    draw[b->chart->kind](b->chart, most, out);
    markup_put(out, "</div>\n");
}

static void put_card(assay_buf *out, const doc_block *b, unsigned level, size_t most)
{
    const unsigned heading = level < 6 ? level : 6;
    markup_put(out, "<article class=\"card is-%s\"", TONE[b->tone].class);
    put_id(out, b->id);
    markup_put(out, "><h%u>", heading);
    put_inline(out, &b->text);
    if (b->id) {
        markup_put(out, " <a class=\"link\" title=\"permanent link\" aria-label=\"permanent link\" href=\"#");
        markup_text_n(out, b->id, strlen(b->id), MARKUP_TITLE);
        markup_put(out, "\">#</a>");
    }
    markup_put(out, "</h%u>\n", heading);
    put_blocks(out, b, level + 1, most);
    markup_put(out, "</article>\n");
}

static void put_section(assay_buf *out, const doc_block *b, unsigned level, size_t most)
{
    const unsigned heading = level < 6 ? level : 6;
    markup_put(out, level == 2 ? "<section" : "<div class=\"part\"");
    put_id(out, b->id);
    markup_put(out, b->folded ? "><details class=\"fold\"><summary><h%u>" : "><h%u>", heading);
    put_inline(out, &b->text);
    markup_put(out, b->folded ? "</h%u></summary>\n" : "</h%u>\n", heading);
    put_blocks(out, b, level + 1, most);
    markup_put(out, b->folded ? "</details>\n" : "");
    markup_put(out, level == 2 ? "</section>\n" : "</div>\n");
}

static void put_details(assay_buf *out, const doc_block *b, unsigned level, size_t most)
{
    markup_put(out, "<details");
    put_id(out, b->id);
    markup_put(out, "><summary>");
    put_inline(out, &b->text);
    markup_put(out, "</summary>\n");
    put_blocks(out, b, level, most);
    markup_put(out, "</details>\n");
}

static void put_paragraph(assay_buf *out, const doc_block *b, const char *class)
{
    markup_put(out, "<p%s>", class);
    put_inline(out, &b->text);
    markup_put(out, "</p>\n");
}

static void put_block(assay_buf *out, const doc_block *b, unsigned level, size_t most)
{
    switch (b->kind) {
    case BLOCK_SECTION:
        put_section(out, b, level, most);
        break;
    case BLOCK_DETAILS:
        put_details(out, b, level, most);
        break;
    case BLOCK_CARD:
        put_card(out, b, level, most);
        break;
    case BLOCK_VERDICT:
        markup_put(out, "<p class=\"verdict is-%s\"><strong>", TONE[b->tone].class);
        put_inline(out, &b->text);
        markup_put(out, "</strong></p>\n");
        break;
    case BLOCK_NOTE:
        put_paragraph(out, b, " class=\"note\"");
        break;
    case BLOCK_ALERT:
        put_paragraph(out, b, " class=\"alert\"");
        break;
    case BLOCK_LINES:
        if (b->text.first)
            markup_lines(out, b->text.first->text, b->text.first->length);
        break;
    case BLOCK_LIST:
        put_items(out, b, most);
        break;
    case BLOCK_FACTS:
        put_facts(out, b);
        break;
    case BLOCK_ADVICE:
        put_advice(out, b, most);
        break;
    case BLOCK_TABLE:
        put_table(out, b, most);
        break;
    case BLOCK_CHART:
        put_chart(out, b, most);
        break;
    default:
        put_paragraph(out, b, "");
    }
}

/* `most` is shared out among the blocks that are left; a verdict or an alert is put in any case. */
static void put_blocks(assay_buf *out, const doc_block *parent, unsigned level, size_t most)
{
    const size_t end = out->size + most;
    size_t left = doc_count(parent, DOC_HTML), cut = 0;
    for (const doc_block *b = doc_next(parent, NULL, DOC_HTML); b; b = doc_next(parent, b, DOC_HTML), left--) {
        const size_t room = end > out->size ? (end - out->size) / left : 0;
        if (room < ROW_LEAST && b->kind != BLOCK_VERDICT && b->kind != BLOCK_ALERT)
            cut++;
        else
            put_block(out, b, level, room);
    }
    put_more(out, cut, "parts");
}

/* Blanks the links whose targets were left out: whether they are is known at the end. Text has no "<", it is escaped;
 * rows are few, so that each may search the page. */
static void drop_dangling(uint8_t *page, size_t size)
{
    static const char link[] = "<a href=\"#", id[] = " id=\"";
    enum { LINK = sizeof link - 1, ID = sizeof id - 1, TARGET_MOST = 80 };
    uint8_t *at = page, *const end = page + size;
    while (at < end && (at = memmem(at, (size_t)(end - at), link, LINK))) {
        at += LINK;
        const uint8_t *quote = memchr(at, '"', (size_t)(end - at));
        const size_t length = quote ? (size_t)(quote - at) + 1 : 0;
        char wanted[ID + TARGET_MOST];
        if (length == 0 || length > TARGET_MOST)
            continue;
        memcpy(wanted, id, ID);
        memcpy(wanted + ID, at, length);
        if (!memmem(page, size, wanted, ID + length))
            memset(at - (LINK - 2), ' ', LINK - 2 + length);
    }
}

void doc_render_html(const doc *d, size_t most, assay_buf *out)
{
    const size_t begin = out->size;
    if (d->status == ASSAY_OK)
        put_blocks(out, &d->root, 2, most);
    if (d->status == ASSAY_OK && assay_buf_status(out) == ASSAY_OK && out->size > begin)
        drop_dangling(out->data + begin, out->size - begin);
    if (d->status != ASSAY_OK && out->status == ASSAY_OK)
        out->status = d->status;
}

void doc_render_html_links(const doc *d, assay_buf *out)
{
    for (const doc_block *b = doc_next(&d->root, NULL, DOC_HTML); b; b = doc_next(&d->root, b, DOC_HTML)) {
        if (b->kind != BLOCK_SECTION || !b->id)
            continue;
        markup_put(out, "<li>");
        put_target(out, b->id);
        put_inline(out, &b->text);
        markup_put(out, "</a></li>\n");
    }
}
