/* table.c - tables of text, with columns as wide as their cells.
 *
 * Where the rows do not fit into a terminal, although the columns that may give way did, each row is folded: it goes on
 * in a second line, the same columns in every row, and those that gave way take what room the lines have. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "report/text/layout.h"

enum { GAP = 2, FOLD = 4 /* more indent of a second line */, LEAST_CUT = 16, LEAST_NARROW_CUT = 10, CEILING = 1 << 30 };

void assay_table_init(assay_table *table, const char *align, const char *const *heads)
{
    *table = (assay_table){.align = align, .columns = strlen(align)};
    assay_buf_init(&table->text, CEILING);
    for (size_t i = 0; i < table->columns; i++)
        assay_table_cell(table, heads[i]);
}

void assay_table_release(assay_table *table)
{
    assay_buf_release(&table->text);
}

void assay_table_cell_n(assay_table *table, const char *text, size_t length)
{
    assay_text_put_clean(&table->text, text, length);
    assay_put_u8(&table->text, '\0');
    table->cells++;
}

void assay_table_cell(assay_table *table, const char *text)
{
    assay_table_cell_n(table, text, strlen(text));
}

/* The colour is the cell's first byte: text that has been cleaned holds no control character. */
void assay_table_coloured(assay_table *table, const char *text, assay_draw_colour colour)
{
    if (colour != ASSAY_DRAW_PLAIN)
        assay_put_u8(&table->text, (uint8_t)colour);
    assay_table_cell(table, text);
}

static const char *text_of(const char *cell, assay_draw_colour *colour)
{
    bool has = cell[0] > 0 && cell[0] <= ASSAY_DRAW_ALARM;
    *colour = has ? (assay_draw_colour)cell[0] : ASSAY_DRAW_PLAIN;
    return cell + has;
}

void assay_table_format(assay_table *table, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    if (vsnprintf(text, sizeof text, format, args) < 0)
        text[0] = '\0';
    va_end(args);
    assay_table_cell(table, text);
}

void assay_table_number(assay_table *table, double value)
{
    assay_text_put_number(&table->text, value);
    assay_put_u8(&table->text, '\0');
    table->cells++;
}

/* Numbers and unit are told apart by a character that is in no text that has been cleaned. */
static const char BEFORE_UNIT = '\x1f';

void assay_table_measure(assay_table *table, const char *numbers, const char *unit)
{
    assay_text_put_clean(&table->text, numbers, strlen(numbers));
    if (unit[0])
        assay_put_u8(&table->text, (uint8_t)BEFORE_UNIT);
    assay_table_cell(table, unit);
}

/* The numbers whole, and as much of the unit as there is room for, where that can be read; returns the columns. */
static size_t put_measure(const char *cell, size_t width, assay_buf *out)
{
    enum { LEAST_UNIT = 12 }; /* with less it is no word any more: "s...te" */
    const char *mark = strchr(cell, BEFORE_UNIT);
    const size_t number = mark ? (size_t)(mark - cell) : strlen(cell), have = assay_text_columns(cell, strlen(cell));
    const size_t left = width > number + 1 ? width - number - 1 : 0;
    const bool whole = have <= width, some = mark && (whole || left >= LEAST_UNIT);
    const size_t used = whole ? have : some ? width : number;
    assay_text_put_blanks(out, width > used ? width - used : 0);
    assay_put_bytes(out, cell, number);
    if (some) {
        assay_put_u8(out, ' ');
        assay_text_put_cut(out, mark + 1, strlen(mark + 1), left);
    }
    return used > width ? used : width;
}

static void put_cell(const assay_table *table, size_t column, const char *cell, size_t width, const assay_draw *draw,
                     assay_buf *out)
{
    assay_draw_colour colour;
    cell = text_of(cell, &colour);
    size_t have = assay_text_columns(cell, strlen(cell));
    assay_draw_begin(draw, colour, out);
    bool last = column + 1 == table->columns;
    if (table->align[column] == 'u') {
        have = put_measure(cell, width, out);
    } else if (have > width) {
        assay_text_put_cut(out, cell, strlen(cell), width);
        have = width;
    } else if (table->align[column] == 'r') {
        assay_text_put_blanks(out, width - have);
        assay_put_bytes(out, cell, strlen(cell));
        have = width;
    } else {
        assay_put_bytes(out, cell, strlen(cell));
    }
    assay_draw_end(draw, colour, out);
    if (!last)
        assay_text_put_blanks(out, (width > have ? width - have : 0) + GAP);
}

/* The columns that fit on a line; the others have no width and no gap. */
static size_t line_width(const assay_table *table, unsigned indent, const size_t *width)
{
    size_t total = indent, shown = 0;
    for (size_t c = 0; c < table->columns; c++) {
        bool out = table->align[c] == 'o' && width[c] == 0;
        total += out ? 0 : width[c] + (shown > 0 ? GAP : 0);
        shown += !out;
    }
    return total;
}

/* Takes what is too much from the columns of one kind, the widest first, each down to `least`. */
static void narrow(const assay_table *table, unsigned indent, size_t most, char kind, size_t least, size_t *width)
{
    for (;;) {
        size_t total = line_width(table, indent, width), widest = table->columns;
        for (size_t c = 0; c < table->columns; c++)
            if (table->align[c] == kind && width[c] > least && (widest == table->columns || width[c] > width[widest]))
                widest = c;
        if (total <= most || widest == table->columns)
            return;
        size_t over = total - most, can = width[widest] - least;
        size_t step = over < can ? over : can;
        width[widest] -= step > 4 ? step / 2 : 1;
    }
}

/* Leaves out columns, from the left, while lines are too long even with every 'e' cut to `least`. */
static void leave_out(const assay_table *table, unsigned indent, size_t most, size_t least, size_t *width)
{
    size_t saved = 0;
    for (size_t c = 0; c < table->columns; c++)
        saved += table->align[c] == 'e' && width[c] > least ? width[c] - least : 0;
    for (size_t c = 0; c < table->columns; c++)
        if (table->align[c] == 'o' && line_width(table, indent, width) > most + saved)
            width[c] = 0;
}

/* Makes the lines as short as they have to be. */
static void fit(const assay_table *table, unsigned indent, size_t most, size_t widest_number, size_t *width)
{
    const size_t least = most < ASSAY_TEXT_COLUMNS ? LEAST_NARROW_CUT : LEAST_CUT;
    leave_out(table, indent, most, least, width);
    narrow(table, indent, most, 'e', least, width);
    narrow(table, indent, most, 'u', widest_number, width);
    narrow(table, indent, most, 'k', least, width);
}

/* Begins the column a line, where no line has more than `most` columns unless one alone does? */
static bool folds_before(const assay_table *table, unsigned indent, size_t most, const size_t *width, size_t column,
                         size_t *used)
{
    const bool shown = table->align[column] != 'o' || width[column] > 0;
    if (!shown)
        return false;
    const bool fold = column > 0 && *used + GAP + width[column] > most;
    *used = column == 0 ? indent + width[column] : fold ? indent + FOLD + width[column] : *used + GAP + width[column];
    return fold;
}

static size_t count_lines(const assay_table *table, unsigned indent, size_t most, const size_t *width)
{
    size_t lines = 1, used = 0;
    for (size_t c = 0; c < table->columns; c++)
        lines += folds_before(table, indent, most, width, c, &used);
    return lines;
}

/* Gives columns that gave way in vain, since rows are folded all the same, their width back as far as the lines have room. */
static void regain(const assay_table *table, unsigned indent, size_t most, const size_t *wanted, size_t *width)
{
    const size_t lines = count_lines(table, indent, most, width);
    for (bool any = lines > 1; any;) {
        any = false;
        for (size_t c = 0; c < table->columns; c++) {
            if (width[c] == 0 || width[c] >= wanted[c] || indent + FOLD + width[c] >= most)
                continue;
            width[c]++;
            const bool fits = count_lines(table, indent, most, width) == lines;
            width[c] -= !fits;
            any = any || fits;
        }
    }
}

/* The least columns a line with which rows are folded into no more lines than `most` takes. */
static size_t balance(const assay_table *table, unsigned indent, size_t most, const size_t *width)
{
    const size_t lines = count_lines(table, indent, most, width);
    while (lines > 1 && most > 1 && count_lines(table, indent, most - 1, width) == lines)
        most--;
    return most;
}

static void end_line(assay_buf *out)
{
    while (out->size > 0 && out->data[out->size - 1] == ' ')
        out->size--;
    assay_put_u8(out, '\n');
}

void assay_table_put(assay_table *table, unsigned indent, const assay_draw *draw, assay_buf *out)
{
    size_t *width = assay_alloc_zeroed(2 * table->columns, sizeof *width);
    int status = width ? assay_buf_status(&table->text) : ASSAY_ENOMEM;
    if (status != ASSAY_OK) {
        if (out->status == ASSAY_OK)
            out->status = status;
        free(width);
        return;
    }
    size_t *wanted = width + table->columns;
    const char *cell = (const char *)table->text.data;
    size_t widest_number = 0;
    for (size_t i = 0; i < table->cells; i++, cell += strlen(cell) + 1) {
        assay_draw_colour colour;
        const char *text = text_of(cell, &colour);
        size_t have = assay_text_columns(text, strlen(text)), *most = &width[i % table->columns];
        *most = have > *most ? have : *most;
        const char unit[] = {BEFORE_UNIT, '\0'};
        const size_t number = table->align[i % table->columns] == 'u' ? strcspn(text, unit) : 0;
        widest_number = number > widest_number ? number : widest_number;
    }
    memcpy(wanted, width, table->columns * sizeof *width);
    fit(table, indent, assay_text_line_columns(draw), widest_number, width);
    if (draw)
        regain(table, indent, assay_text_line_columns(draw), wanted, width);
    const size_t most = draw ? balance(table, indent, assay_text_line_columns(draw), width) : SIZE_MAX;
    size_t used = 0;
    cell = (const char *)table->text.data;
    for (size_t i = 0; i < table->cells; i++, cell += strlen(cell) + 1) {
        size_t column = i % table->columns;
        if (folds_before(table, indent, most, width, column, &used)) {
            end_line(out);
            assay_text_put_blanks(out, indent + FOLD);
        } else if (column == 0) {
            assay_text_put_blanks(out, indent);
        }
        if (table->align[column] != 'o' || width[column] > 0)
            put_cell(table, column, cell, width[column], draw, out);
        if (column + 1 == table->columns)
            end_line(out);
    }
    free(width);
}
