/* render_text.c - a document as text: for a terminal, a file, a pipe. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/status.h>

#include "base/fault.h"
#include "report/document/block.h"
#include "report/document/render.h"
#include "report/text/layout.h"

enum { INDENT = 4, CEILING = 1 << 30 };

/* `line` is taken anew by each text, so what `plain` gives holds until its next call. */
typedef struct writer {
    const assay_draw *draw; /* NULL: no terminal */
    assay_buf *out;
    assay_buf line; /* of one text at a time */
    unsigned indent;
} writer;

static void put_blocks(writer *w, const doc_block *parent);

/* The text in w->line, terminated: a form has one text in hand at a time. */
static const char *plain(writer *w, const doc_inline *text)
{
    assay_buf_clear(&w->line);
    doc_inline_plain(text, &w->line);
    assay_put_u8(&w->line, '\0');
    return assay_buf_status(&w->line) == ASSAY_OK ? (const char *)w->line.data : "";
}

static void put_wrapped(writer *w, unsigned indent, const char *lead, const doc_inline *text)
{
    const char *words = plain(w, text);
    assay_text_put_wrapped(w->out, w->draw, indent, lead, words, strlen(words));
}

/* Leaves an empty line before a part, but for the first. */
static void leave_line(writer *w)
{
    const assay_buf *out = w->out;
    if (out->size > 1 && !(out->data[out->size - 1] == '\n' && out->data[out->size - 2] == '\n'))
        assay_put_u8(w->out, '\n');
}

static bool has_sections(const doc_block *b)
{
    for (const doc_block *c = doc_next(b, NULL, DOC_TEXT); c; c = doc_next(b, c, DOC_TEXT))
        if (c->kind == BLOCK_SECTION)
            return true;
    return false;
}

/* A heading that is wider than a page of text gets no rule under it. Sections that have sections below get the
 * stronger rule. */
static void put_section(writer *w, const doc_block *b)
{
    leave_line(w);
    const size_t begin = w->out->size;
    assay_text_put_blanks(w->out, w->indent);
    const char *heading = plain(w, &b->text);
    assay_text_put_clean(w->out, heading, strlen(heading));
    size_t columns = assay_text_columns((const char *)w->out->data + begin, w->out->size - begin);
    assay_put_u8(w->out, '\n');
    assay_text_put_blanks(w->out, w->indent);
    for (size_t i = w->indent; i < columns && columns <= ASSAY_TEXT_COLUMNS; i++)
        assay_put_u8(w->out, has_sections(b) ? '=' : '-');
    assay_put_u8(w->out, '\n');
    put_blocks(w, b);
}

/* Puts a card, or details: a title, and the rest indented below it. */
static void put_card(writer *w, const doc_block *b, bool first)
{
    if (!first)
        leave_line(w);
    const char *title = plain(w, &b->text);
    /* Without a terminal there is no width to break a title to: it is one line, however long. */
    if (w->draw) {
        assay_text_put_wrapped(w->out, w->draw, w->indent, NULL, title, strlen(title));
    } else {
        assay_text_put_blanks(w->out, w->indent);
        assay_text_put_clean(w->out, title, strlen(title));
        assay_put_u8(w->out, '\n');
    }
    w->indent += INDENT;
    put_blocks(w, b);
    w->indent -= INDENT;
}

static void put_items(writer *w, const doc_block *b)
{
    unsigned number = 1;
    for (const doc_item_data *i = b->items; i; i = i->next) {
        assay_buf lead = ASSAY_BUF(CEILING);
        assay_text_put_blanks(&lead, w->indent);
        if (b->numbered || b->kind == BLOCK_ADVICE)
            assay_put_format(&lead, "%u. ", number++);
        else
            assay_put_format(&lead, "- ");
        const unsigned indent = (unsigned)lead.size;
        assay_put_u8(&lead, '\0');
        put_wrapped(w, indent, assay_buf_status(&lead) == ASSAY_OK ? (const char *)lead.data : NULL, &i->text);
        assay_buf_release(&lead);
    }
}

/* Puts facts behind their names, in a column. */
static void put_facts(writer *w, const doc_block *b)
{
    size_t longest = 0;
    for (const doc_item_data *i = b->items; i; i = i->next)
        longest = strlen(i->name) > longest ? strlen(i->name) : longest;
    for (const doc_item_data *i = b->items; i; i = i->next) {
        assay_buf lead = ASSAY_BUF(CEILING);
        assay_text_put_blanks(&lead, w->indent);
        assay_text_put_clean(&lead, i->name, strlen(i->name));
        assay_put_u8(&lead, '\0');
        put_wrapped(w, w->indent + (unsigned)longest + 2,
                    assay_buf_status(&lead) == ASSAY_OK ? (const char *)lead.data : NULL, &i->text);
        assay_buf_release(&lead);
    }
}

static void put_advice(writer *w, const doc_block *b)
{
    /* `sizeof` takes the 0 behind the words along, which ends the lead. */
    assay_buf lead = ASSAY_BUF(CEILING);
    assay_text_put_blanks(&lead, w->indent);
    assay_put_bytes(&lead, "What to do: ", sizeof "What to do: ");
    const char *words = assay_buf_status(&lead) == ASSAY_OK ? (const char *)lead.data : NULL;
    if (b->same)
        assay_text_put_wrapped(w->out, w->draw, w->indent, words, "as above.", 9);
    else
        put_wrapped(w, w->indent, words, &b->text);
    assay_buf_release(&lead);
    w->indent += INDENT;
    put_items(w, b);
    w->indent -= INDENT;
}

/* ---- tables ---- */

/* Letters are those of assay_table_init(): 'u' is a number with a unit or remark, which may be cut behind the
 * number. */
static char align_of(const doc_table_data *t, size_t column)
{
    static const char fits[] = {[DOC_KEEP] = 'l', [DOC_CUT] = 'e', [DOC_DROP] = 'o', [DOC_CUT_LAST] = 'k'};
    if (!doc_is_number(&t->column[column]))
        return fits[t->column[column].fit];
    for (const doc_row_data *row = t->first; row; row = row->next) {
        const doc_cell_data *cell = row->first;
        for (size_t c = 0; cell && c < column; c++)
            cell = cell->next;
        if (cell && cell->text.first && cell->kind != CELL_TEXT)
            return 'u';
    }
    return 'r';
}

static assay_draw_colour colour_of_tone(doc_tone tone)
{
    static const assay_draw_colour colours[DOC_TONES] = {
        [DOC_GOOD] = ASSAY_DRAW_GOOD, [DOC_BAD] = ASSAY_DRAW_BAD, [DOC_BROKEN] = ASSAY_DRAW_ALARM};
    return colours[tone];
}

static assay_draw_colour colour_of(const doc_cell_data *cell)
{
    for (const doc_span *s = cell->text.first; s; s = s->next)
        if (s->kind == SPAN_BADGE)
            return colour_of_tone(s->tone);
    return ASSAY_DRAW_PLAIN;
}

/* Puts a cell. Of a column of numbers with remarks the remark may be cut, the number not. */
static void put_cell(writer *w, const doc_column *column, const doc_cell_data *cell, char align, assay_table *table)
{
    assay_buf_clear(&w->line);
    if (align == 'u' && cell && cell->kind != CELL_TEXT) {
        doc_cell_data number = *cell;
        number.text = (doc_inline){NULL, NULL};
        doc_cell_plain(column, &number, &w->line);
        assay_put_u8(&w->line, '\0');
        const size_t remark = w->line.size;
        doc_inline_plain(&cell->text, &w->line);
        assay_put_u8(&w->line, '\0');
        if (assay_buf_status(&w->line) == ASSAY_OK)
            assay_table_measure(table, (const char *)w->line.data, (const char *)w->line.data + remark);
        return;
    }
    if (cell)
        doc_cell_plain(column, cell, &w->line);
    assay_put_u8(&w->line, '\0');
    if (assay_buf_status(&w->line) == ASSAY_OK)
        assay_table_coloured(table, (const char *)w->line.data, cell ? colour_of(cell) : ASSAY_DRAW_PLAIN);
}

static void put_row(writer *w, const doc_table_data *t, const doc_row_data *row, const char *align, assay_table *table)
{
    const doc_cell_data *cell = row->first;
    size_t at = 0;
    for (size_t c = 0; c < t->columns; c++, cell = cell ? cell->next : NULL)
        if (t->filled[c])
            put_cell(w, &t->column[c], cell, align[at++], table);
}

/* Finds the heads of the columns that are filled, terminated one behind another in `names`; `head` points at them. */
static size_t find_heads(const doc_table_data *t, assay_buf *names, const char **head, char *align)
{
    /* `head` is set once all names are there, for the buffer moves while it grows. */
    size_t shown = 0, at = 0;
    for (size_t c = 0; c < t->columns; c++) {
        if (!t->filled[c])
            continue;
        align[shown++] = align_of(t, c);
        doc_column_plain(&t->column[c], names);
        assay_put_u8(names, '\0');
    }
    for (size_t i = 0; i < shown && assay_buf_status(names) == ASSAY_OK; i++) {
        head[i] = (const char *)names->data + at;
        at += strlen(head[i]) + 1;
    }
    return assay_buf_status(names) == ASSAY_OK ? shown : 0;
}

static void put_rest(writer *w, const doc_table_data *t, uint64_t left)
{
    if (left == 0)
        return;
    assay_buf_clear(&w->line);
    assay_put_format(&w->line, "... and %llu more %.60s; report.json has %s.", (unsigned long long)left, t->label,
                     t->left_out > 0 ? "the first of them" : "all of them");
    assay_text_put_wrapped(w->out, w->draw, w->indent, NULL, (const char *)w->line.data, w->line.size);
}

static void put_table(writer *w, const doc_table_data *t)
{
    const char **head = assay_alloc_zeroed(t->columns + 1, sizeof *head);
    char *align = assay_alloc_zeroed(t->columns + 1, 1);
    assay_buf names = ASSAY_BUF(CEILING);
    const size_t shown = head && align ? find_heads(t, &names, head, align) : 0;
    if (!head || !align || assay_buf_status(&names) != ASSAY_OK)
        w->out->status = w->out->status == ASSAY_OK ? ASSAY_ENOMEM : w->out->status;
    size_t rows = 0, most = t->sample ? DOC_TEXT_SAMPLE : DOC_TEXT_ROWS;
    if (shown > 0) {
        assay_table table;
        assay_table_init(&table, align, head);
        for (const doc_row_data *row = t->first; row && rows < most; row = row->next, rows++)
            put_row(w, t, row, align, &table);
        assay_table_put(&table, w->indent, w->draw, w->out);
        assay_table_release(&table);
    }
    put_rest(w, t, t->rows - rows + t->left_out);
    assay_buf_release(&names);
    free(align);
    free(head);
}

/* ---- charts ---- */

static void draw_lines(writer *w, const doc_chart *c)
{
    size_t longest = 6;
    for (size_t s = 0; s < c->count; s++) {
        const size_t columns = assay_text_columns(c->series[s].name, strlen(c->series[s].name));
        longest = columns > longest ? columns : longest;
    }
    const unsigned width = assay_draw_label_columns(w->draw, longest);
    for (size_t s = 0; s < c->count; s++) {
        assay_buf_clear(&w->line);
        assay_text_put_clean(&w->line, c->series[s].name, strlen(c->series[s].name));
        assay_put_u8(&w->line, '\0');
        if (assay_buf_status(&w->line) == ASSAY_OK)
            assay_draw_series(w->draw, (const char *)w->line.data, width, c->series[s].y, c->series[s].count, w->out);
    }
}

/* Puts what a bar stands for. */
static void put_label(writer *w, const doc_chart *c, size_t i)
{
    assay_buf_clear(&w->line);
    if (c->label)
        assay_text_put_clean(&w->line, c->label[i], strlen(c->label[i]));
    else
        assay_text_put_number(&w->line, c->series[0].x[i]);
}

/* Columns of a drawing of bars: the label, which is cut to fit, and the number. */
typedef struct bar_columns {
    size_t label, number;
    double most, all; /* of the numbers */
} bar_columns;

static bar_columns measure_bars(writer *w, const doc_chart *c)
{
    const doc_series *s = &c->series[0];
    bar_columns b = {.label = strlen(c->x_label), .number = strlen(c->y_label)};
    for (size_t i = 0; i < s->count; i++) {
        char number[32];
        b.most = isfinite(s->y[i]) ? fmax(b.most, s->y[i]) : b.most;
        b.all += isfinite(s->y[i]) ? s->y[i] : 0;
        put_label(w, c, i);
        const size_t columns = assay_text_columns((const char *)w->line.data, w->line.size);
        const size_t digits = (size_t)snprintf(number, sizeof number, "%.10g", s->y[i]);
        b.label = columns > b.label ? columns : b.label;
        b.number = digits > b.number ? digits : b.number;
    }
    /* A quarter of the terminal for labels leaves room for bars. */
    b.label = b.label > w->draw->columns / 4 && w->draw->columns > 20 ? w->draw->columns / 4 : b.label;
    return b;
}

/* Draws label, number, share and bar, in columns. */
static void draw_bars(writer *w, const doc_chart *c)
{
    enum { LEAST_BAR = 4, SHARE = 9 };
    const doc_series *s = &c->series[0];
    const bar_columns b = measure_bars(w, c);
    const size_t used = w->indent + b.label + 2 + b.number + 2 + (c->shares ? SHARE : 0);
    size_t i = 0;
    assay_put_format(w->out, "%*s%*s  %*s%s\n", (int)w->indent, "", (int)b.label, c->x_label, (int)b.number, c->y_label,
                     c->shares ? "    share" : "");
    for (; i < s->count && i < DOC_TEXT_ROWS; i++) {
        put_label(w, c, i);
        const size_t have = assay_text_columns((const char *)w->line.data, w->line.size);
        assay_text_put_blanks(w->out, w->indent + (have < b.label ? b.label - have : 0));
        assay_text_put_cut(w->out, (const char *)w->line.data, w->line.size, b.label);
        assay_put_format(w->out, "  %*.10g", (int)b.number, s->y[i]);
        if (c->shares)
            assay_put_format(w->out, "  %5.1f %%", 100 * s->y[i] / (b.all > 0 ? b.all : 1));
        /* A bar of fewer than LEAST_BAR columns tells nothing. */
        if (w->draw->columns >= used + LEAST_BAR && s->y[i] > 0) {
            assay_put_format(w->out, "  ");
            assay_draw_bar(w->draw, s->y[i] / b.most, (unsigned)(w->draw->columns - used), w->out);
        }
        assay_put_u8(w->out, '\n');
    }
    if (s->count > i)
        assay_put_format(w->out, "%*s... and %zu more; report.json has all of them.\n", (int)w->indent, "",
                         s->count - i);
}

/* Rows and columns of a drawing of shades, each of `run` neighbours added up where the terminal is too narrow. */
typedef struct shades {
    size_t width, points, run; /* of labels; of the longest row */
    unsigned cell;             /* characters a value */
    double most;
} shades;

static shades measure_shades(writer *w, const doc_chart *c)
{
    shades h = {.width = 1, .points = 1};
    for (size_t s = 0; s < c->count; s++) {
        const size_t columns = assay_text_columns(c->series[s].name, strlen(c->series[s].name));
        h.width = columns > h.width ? columns : h.width;
        h.points = c->series[s].count > h.points ? c->series[s].count : h.points;
        for (size_t i = 0; i < c->series[s].count; i++)
            h.most = isfinite(c->series[s].y[i]) ? fmax(h.most, c->series[s].y[i]) : h.most;
    }
    h.width = h.width > w->draw->columns / 3 ? w->draw->columns / 3 : h.width;
    const size_t room = w->draw->columns > w->indent + h.width + 2 ? w->draw->columns - w->indent - h.width - 1 : 1;
    /* Two characters a value look square in a terminal. */
    h.cell = h.points * 2 <= room ? 2 : 1;
    h.run = (h.points * h.cell + room - 1) / room;
    return h;
}

static void put_lane_name(writer *w, const char *name, size_t width, bool right)
{
    assay_buf_clear(&w->line);
    assay_text_put_clean(&w->line, name, strlen(name));
    const size_t have = assay_text_columns((const char *)w->line.data, w->line.size);
    const size_t blanks = have < width ? width - have : 0;
    assay_text_put_blanks(w->out, w->indent + (right ? blanks : 0));
    assay_text_put_cut(w->out, (const char *)w->line.data, w->line.size, width > 3 ? width : 3);
    assay_text_put_blanks(w->out, right ? 1 : blanks + 2);
}

/* Finds the value of a cell: a sum of shares, else the largest. */
static double cell_of(const doc_chart *c, const shades *h, size_t row, size_t column)
{
    double value = 0;
    /* Shares are of a square, such as a confusion matrix, so rows are added up as columns are. */
    for (size_t s = row; s < c->count && s < row + (c->shares ? h->run : 1); s++)
        for (size_t i = column; i < c->series[s].count && i < column + h->run; i++)
            value = c->shares ? value + c->series[s].y[i] : fmax(value, c->series[s].y[i]);
    return value;
}

/* Draws a row of shades for each series, of values up to the largest of all or, of shares, to the sum of the row. */
static void draw_heat(writer *w, const doc_chart *c)
{
    const shades h = measure_shades(w, c);
    const size_t down = c->shares ? h.run : 1;
    if (h.run > 1)
        assay_put_format(w->out, "%*s%zu neighbours a cell\n", (int)w->indent, "", h.run);
    for (size_t row = 0; row < c->count; row += down) {
        double all = c->shares ? 0 : h.most;
        for (size_t i = 0; c->shares && i < h.points; i += h.run)
            all += cell_of(c, &h, row, i);
        put_lane_name(w, c->series[row].name, h.width, c->shares);
        for (size_t i = 0; i < c->series[row].count; i += h.run)
            assay_draw_shade(w->draw, all > 0 ? cell_of(c, &h, row, i) / all : 0,
                             c->shares && i == row ? ASSAY_DRAW_GOOD : ASSAY_DRAW_BAD, h.cell, w->out);
        while (w->out->size > 0 && w->out->data[w->out->size - 1] == ' ')
            w->out->size--;
        assay_put_u8(w->out, '\n');
    }
}

/* Draws a strip for each series over a range that is longer than its points: dots, and marks where they lie. */
static void draw_strips(writer *w, const doc_chart *c)
{
    const size_t width = measure_shades(w, c).width;
    const size_t columns = w->draw->columns > w->indent + width + 8 ? w->draw->columns - w->indent - width - 2 : 6;
    for (size_t s = 0; s < c->count; s++) {
        const doc_series *row = &c->series[s];
        double *place = assay_alloc_zeroed(row->count, sizeof *place);
        w->out->status = place || w->out->status != ASSAY_OK ? w->out->status : ASSAY_ENOMEM;
        for (size_t i = 0; place && i < row->count; i++)
            place[i] = (row->x[i] - c->x_least) / (c->x_most - c->x_least);
        put_lane_name(w, row->name, width, false);
        if (place)
            assay_draw_marks(w->draw, place, row->count, (unsigned)columns, w->out);
        assay_put_u8(w->out, '\n');
        free(place);
    }
}

/* What cannot be drawn, here or at all without a terminal, becomes a table of its numbers. */
static void put_chart(writer *w, const doc_chart *c)
{
    if (c->title[0])
        assay_text_put_wrapped(w->out, w->draw, w->indent, NULL, c->title, strlen(c->title));
    if (c->remark)
        assay_text_put_wrapped(w->out, w->draw, w->indent, NULL, c->remark, strlen(c->remark));
    if (w->draw && c->count > 0 && c->kind == DOC_LINES) {
        draw_lines(w, c);
        return;
    }
    if (w->draw && c->count > 0 && c->kind == DOC_HEAT) {
        (c->x_least < c->x_most ? draw_strips : draw_heat)(w, c);
        return;
    }
    if (w->draw && c->count == 1 && c->kind == DOC_BARS) {
        draw_bars(w, c);
        return;
    }
    doc *numbers = doc_of_chart(c, true);
    if (numbers && doc_status(numbers) == ASSAY_OK)
        put_blocks(w, &numbers->root);
    else if (w->out->status == ASSAY_OK)
        w->out->status = ASSAY_ENOMEM;
    doc_free(numbers);
}

/* ---- the document ---- */

/* Puts lines as they are. A terminal breaks them, but for those that are there to be pasted. */
static void put_lines(writer *w, const doc_block *b)
{
    static const char command[] = "To see it: ";
    const char *text = plain(w, &b->text);
    const size_t size = strlen(text);
    for (size_t at = 0; at < size;) {
        const char *line = text + at, *end = strchr(line, '\n');
        const size_t length = end ? (size_t)(end - line) : size - at;
        const bool pasted = line[0] == ' ' || strncmp(line, command, sizeof command - 1) == 0;
        if (w->draw && !pasted)
            assay_text_put_wrapped(w->out, w->draw, w->indent, NULL, line, length);
        else
            assay_text_put_clean_lines(w->out, line, length + (end != NULL), w->indent);
        at += length + 1;
    }
}

static void put_block(writer *w, const doc_block *b, bool first)
{
    switch (b->kind) {
    case BLOCK_SECTION:
        put_section(w, b);
        break;
    case BLOCK_CARD:
    case BLOCK_DETAILS:
        put_card(w, b, first);
        break;
    case BLOCK_VERDICT: {
        const char *words = plain(w, &b->text);
        assay_draw_begin(w->draw, colour_of_tone(b->tone), w->out);
        assay_text_put_sentence(w->out, w->draw, words, strlen(words));
        assay_draw_end(w->draw, colour_of_tone(b->tone), w->out);
        break;
    }
    case BLOCK_LINES:
        put_lines(w, b);
        break;
    case BLOCK_LIST:
        put_items(w, b);
        break;
    case BLOCK_FACTS:
        put_facts(w, b);
        break;
    case BLOCK_ADVICE:
        put_advice(w, b);
        break;
    case BLOCK_TABLE:
        put_table(w, b->table);
        break;
    case BLOCK_CHART:
        put_chart(w, b->chart);
        break;
    default:
        put_wrapped(w, w->indent, NULL, &b->text);
    }
}

static void put_blocks(writer *w, const doc_block *parent)
{
    const doc_block *before = NULL;
    for (const doc_block *b = doc_next(parent, NULL, DOC_TEXT); b; b = doc_next(parent, b, DOC_TEXT)) {
        if (before && (before->first || before->kind == BLOCK_VERDICT) && b->kind != BLOCK_VERDICT)
            leave_line(w);
        put_block(w, b, !before);
        before = b;
    }
}

/* A document that failed still renders nothing, and hands its failure to `out`. */
void doc_render_text(const doc *d, const assay_draw *draw, assay_buf *out)
{
    writer w = {.draw = draw, .out = out};
    assay_buf_init(&w.line, CEILING);
    if (d->status == ASSAY_OK)
        put_blocks(&w, &d->root);
    const int status = d->status != ASSAY_OK ? d->status : assay_buf_status(&w.line);
    if (out->status == ASSAY_OK)
        out->status = status;
    assay_buf_release(&w.line);
}
