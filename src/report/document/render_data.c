/* render_data.c - a document for programs: as JSON, and a table of it as CSV. Nothing is cut or left out. */
#include <string.h>

#include <assay/status.h>

#include "base/json_writer.h"
#include "report/document/block.h"
#include "report/document/render.h"
#include "report/text/csv.h"

static const char *const TONES[DOC_TONES] = {"plain", "good", "bad", "broken", "none"};
static const char *const TYPES[] = {"text", "name", "count", "step", "real", "share", "seconds", "bytes"};
static const char *const KINDS[BLOCK_KINDS] = {"document",  "section", "details", "card",  "verdict",
                                               "paragraph", "note",    "alert",   "lines", "list",
                                               "facts",     "advice",  "table",   "chart"};

static void put_plain(assay_jw *w, const char *key, const doc_inline *text)
{
    assay_buf plain = ASSAY_BUF(w->out->ceiling);
    doc_inline_plain(text, &plain);
    assay_jw_text_n(w, key, (const char *)plain.data, plain.size);
    if (w->out->status == ASSAY_OK)
        w->out->status = assay_buf_status(&plain);
    assay_buf_release(&plain);
}

/* A text, or a range as people read it. */
static void put_cell_plain(assay_jw *w, const doc_column *column, const doc_cell_data *cell)
{
    assay_buf plain = ASSAY_BUF(w->out->ceiling);
    doc_cell_plain(column, cell, &plain);
    assay_jw_text_n(w, NULL, (const char *)plain.data, plain.size);
    if (w->out->status == ASSAY_OK)
        w->out->status = assay_buf_status(&plain);
    assay_buf_release(&plain);
}

static void put_cell(assay_jw *w, const doc_column *column, const doc_cell_data *cell)
{
    if (!cell || cell->kind == CELL_NONE)
        assay_jw_null(w, NULL);
    else if (cell->kind == CELL_WHOLE)
        assay_jw_i64(w, NULL, cell->whole);
    else if (cell->kind == CELL_REAL)
        assay_jw_number(w, NULL, cell->real);
    else
        put_cell_plain(w, column, cell);
}

static void put_table(assay_jw *w, const doc_table_data *t)
{
    assay_jw_array(w, "columns");
    for (size_t c = 0; c < t->columns; c++) {
        assay_jw_object(w, NULL);
        ASSAY_JW(w, "name", t->column[c].name, "type", TYPES[t->column[c].type]);
        if (t->column[c].unit)
            assay_jw_text(w, "unit", t->column[c].unit);
        assay_jw_end(w);
    }
    assay_jw_end(w);
    assay_jw_array(w, "rows");
    for (const doc_row_data *row = t->first; row; row = row->next) {
        assay_jw_array(w, NULL);
        const doc_cell_data *cell = row->first;
        for (size_t c = 0; c < t->columns; c++, cell = cell ? cell->next : NULL)
            put_cell(w, &t->column[c], cell);
        assay_jw_end(w);
    }
    assay_jw_end(w);
    if (t->left_out > 0)
        assay_jw_u64(w, "left_out", t->left_out);
}

static void put_blocks(assay_jw *w, const char *key, const doc_block *parent);

static void put_block(assay_jw *w, const doc_block *b)
{
    assay_jw_object(w, NULL);
    assay_jw_text(w, "kind", KINDS[b->kind]);
    if (b->id)
        assay_jw_text(w, "id", b->id);
    if (b->tone != DOC_PLAIN)
        assay_jw_text(w, "tone", TONES[b->tone]);
    if (b->text.first)
        put_plain(w, "text", &b->text);
    if (b->same)
        assay_jw_text(w, "same", b->same->id);
    if (b->items) {
        assay_jw_array(w, "items");
        for (const doc_item_data *i = b->items; i; i = i->next) {
            assay_jw_object(w, NULL);
            if (i->name)
                assay_jw_text(w, "name", i->name);
            put_plain(w, "text", &i->text);
            assay_jw_end(w);
        }
        assay_jw_end(w);
    }
    if (b->table)
        put_table(w, b->table);
    if (b->chart) {
        assay_jw_text(w, "title", b->chart->title);
        doc *numbers = doc_of_chart(b->chart, false);
        if (numbers && doc_status(numbers) == ASSAY_OK)
            put_table(w, numbers->root.first->table);
        else if (w->out->status == ASSAY_OK)
            w->out->status = ASSAY_ENOMEM;
        doc_free(numbers);
    }
    if (b->first)
        put_blocks(w, "blocks", b);
    assay_jw_end(w);
}

static void put_blocks(assay_jw *w, const char *key, const doc_block *parent)
{
    assay_jw_array(w, key);
    for (const doc_block *b = doc_next(parent, NULL, DOC_JSON); b; b = doc_next(parent, b, DOC_JSON))
        put_block(w, b);
    assay_jw_end(w);
}

void doc_render_json(const doc *d, assay_buf *out)
{
    assay_jw w = assay_jw_over(out);
    if (d->status == ASSAY_OK)
        put_blocks(&w, NULL, &d->root);
    else if (out->status == ASSAY_OK)
        out->status = d->status;
}

/* ---- CSV ---- */

static const doc_block *find_table(const doc_block *parent, const char *id)
{
    for (const doc_block *b = doc_next(parent, NULL, DOC_CSV); b; b = doc_next(parent, b, DOC_CSV)) {
        const doc_block *found = b->table && b->id && strcmp(b->id, id) == 0 ? b : find_table(b, id);
        if (found)
            return found;
    }
    return NULL;
}

static void put_csv_text(assay_buf *out, const doc_column *column, const doc_cell_data *cell)
{
    assay_buf plain = ASSAY_BUF(out->ceiling);
    doc_cell_plain(column, cell, &plain);
    assay_put_u8(&plain, '\0');
    if (assay_buf_status(&plain) == ASSAY_OK)
        assay_csv_put_text(out, (const char *)plain.data);
    else if (out->status == ASSAY_OK)
        out->status = assay_buf_status(&plain);
    assay_buf_release(&plain);
}

void doc_render_csv(const doc *d, const char *id, assay_buf *out)
{
    const doc_block *b = d->status == ASSAY_OK ? find_table(&d->root, id) : NULL;
    if (d->status != ASSAY_OK && out->status == ASSAY_OK)
        out->status = d->status;
    if (!b)
        return;
    for (size_t c = 0; c < b->table->columns; c++) {
        assay_put_bytes(out, ",", c > 0);
        assay_csv_put_text(out, b->table->column[c].name);
    }
    assay_put_u8(out, '\n');
    for (const doc_row_data *row = b->table->first; row; row = row->next) {
        const doc_cell_data *cell = row->first;
        for (size_t c = 0; c < b->table->columns; c++, cell = cell ? cell->next : NULL) {
            assay_put_bytes(out, ",", c > 0);
            if (cell && cell->kind == CELL_WHOLE)
                assay_put_format(out, "%lld", (long long)cell->whole);
            else if (cell && cell->kind == CELL_REAL)
                assay_csv_put_real(out, cell->real);
            else if (cell)
                put_csv_text(out, &b->table->column[c], cell);
        }
        assay_put_u8(out, '\n');
    }
}
