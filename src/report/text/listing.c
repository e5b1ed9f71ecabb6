/* listing.c - see listing.h. */
#include "report/text/listing.h"

#include <inttypes.h>
#include <string.h>

#include "report/text/csv.h"

static bool is_printed(const assay_listing *r, const assay_listing_column *c)
{
    if (r->form == ASSAY_LISTING_TEXT)
        return c->head != NULL;
    return c->key && !(r->form == ASSAY_LISTING_CSV ? c->json_alone : c->csv_alone);
}

void assay_listing_begin(assay_listing *r, assay_listing_form form, const assay_listing_column *column, size_t columns,
                         assay_buf *out)
{
    *r = (assay_listing){.form = form, .column = column, .columns = columns, .out = out};
    const char *heads[ASSAY_LISTING_COLUMNS];
    size_t shown = 0;
    for (size_t i = 0; i < columns; i++) {
        if (!is_printed(r, &column[i]))
            continue;
        if (form == ASSAY_LISTING_CSV)
            assay_put_format(out, "%s%s", shown > 0 ? "," : "", column[i].key);
        r->align[shown] = column[i].align;
        heads[shown++] = column[i].head;
    }
    if (form == ASSAY_LISTING_CSV)
        assay_put_u8(out, '\n');
    if (form == ASSAY_LISTING_TEXT)
        assay_table_init(&r->table, r->align, heads);
}

void assay_listing_begin_in(assay_listing *r, assay_jw *w, unsigned indent, const assay_listing_column *column,
                            size_t columns)
{
    *r = (assay_listing){
        .form = ASSAY_LISTING_JSON, .column = column, .columns = columns, .out = w->out, .json = w, .indent = indent};
}

static void end_row(assay_listing *r)
{
    while (r->open && r->at < r->columns)
        assay_listing_none(r);
    if (r->open && r->form == ASSAY_LISTING_JSON)
        assay_jw_end(r->json ? r->json : &r->own);
    if (r->open && (r->form == ASSAY_LISTING_CSV || (r->form == ASSAY_LISTING_JSON && !r->json)))
        assay_put_u8(r->out, '\n');
    r->at = r->filled = 0;
    r->open = false;
}

void assay_listing_next(assay_listing *r)
{
    end_row(r);
    r->open = true;
    if (r->form != ASSAY_LISTING_JSON)
        return;
    if (r->json)
        assay_jw_line(r->json, r->indent);
    else
        r->own = assay_jw_over(r->out);
    assay_jw_object(r->json ? r->json : &r->own, NULL);
}

void assay_listing_end(assay_listing *r, unsigned indent, const assay_draw *draw)
{
    end_row(r);
    if (r->form != ASSAY_LISTING_TEXT)
        return;
    assay_table_put(&r->table, indent, draw, r->out);
    assay_table_release(&r->table);
}

/* The column of the next cell, with what stands in front of it; NULL: the form does not have it. */
static const assay_listing_column *next(assay_listing *r)
{
    const assay_listing_column *c = r->at < r->columns ? &r->column[r->at++] : NULL;
    if (!c || !is_printed(r, c))
        return NULL;
    if (r->form == ASSAY_LISTING_CSV && r->filled > 0)
        assay_put_u8(r->out, ',');
    r->filled++;
    return c;
}

static assay_jw *writer(assay_listing *r)
{
    return r->json ? r->json : &r->own;
}

void assay_listing_none(assay_listing *r)
{
    const assay_listing_column *c = next(r);
    if (c && r->form == ASSAY_LISTING_TEXT)
        assay_table_cell(&r->table, c->absent ? c->absent : "");
    else if (c && r->form == ASSAY_LISTING_JSON && !c->optional)
        assay_jw_null(writer(r), c->key);
}

void assay_listing_text_n(assay_listing *r, const char *text, size_t length)
{
    const assay_listing_column *c = next(r);
    if (!c)
        return;
    if (r->form == ASSAY_LISTING_TEXT)
        assay_table_cell_n(&r->table, text, length);
    else if (r->form == ASSAY_LISTING_JSON)
        assay_jw_text_n(writer(r), c->key, text, length);
    else
        assay_csv_put_shown(r->out, text, length);
}

void assay_listing_text(assay_listing *r, const char *text)
{
    if (text)
        assay_listing_text_n(r, text, strlen(text));
    else
        assay_listing_none(r);
}

void assay_listing_take(assay_listing *r, assay_buf *text)
{
    assay_listing_text_n(r, text->data ? (const char *)text->data : "", text->size);
    if (assay_buf_status(text) != ASSAY_OK && r->out->status == ASSAY_OK)
        r->out->status = assay_buf_status(text);
    assay_buf_release(text);
}

void assay_listing_i64(assay_listing *r, int64_t value)
{
    const assay_listing_column *c = next(r);
    if (c && r->form == ASSAY_LISTING_TEXT)
        assay_table_format(&r->table, "%" PRId64, value);
    else if (c && r->form == ASSAY_LISTING_JSON)
        assay_jw_i64(writer(r), c->key, value);
    else if (c)
        assay_put_format(r->out, "%" PRId64, value);
}

void assay_listing_u64(assay_listing *r, uint64_t value)
{
    const assay_listing_column *c = next(r);
    if (c && r->form == ASSAY_LISTING_TEXT)
        assay_table_format(&r->table, "%" PRIu64, value);
    else if (c && r->form == ASSAY_LISTING_JSON)
        assay_jw_u64(writer(r), c->key, value);
    else if (c)
        assay_put_format(r->out, "%" PRIu64, value);
}

static void put_number(assay_listing *r, double value, void put(assay_buf *out, double value))
{
    const assay_listing_column *c = next(r);
    if (c && r->form == ASSAY_LISTING_TEXT)
        assay_table_number(&r->table, value);
    else if (c && r->form == ASSAY_LISTING_JSON)
        assay_jw_number(writer(r), c->key, value);
    else if (c)
        put(r->out, value);
}

void assay_listing_real(assay_listing *r, double value)
{
    put_number(r, value, assay_csv_put_real);
}

void assay_listing_number(assay_listing *r, double value)
{
    put_number(r, value, assay_text_put_full);
}

void assay_listing_flag(assay_listing *r, bool value)
{
    const assay_listing_column *c = next(r);
    if (c && r->form == ASSAY_LISTING_TEXT)
        assay_table_cell(&r->table, value ? "yes" : "no");
    else if (c && r->form == ASSAY_LISTING_JSON)
        assay_jw_bool(writer(r), c->key, value);
    else if (c)
        assay_put_format(r->out, "%s", value ? "true" : "false");
}

void assay_listing_shape(assay_listing *r, const int64_t *dim, int dims)
{
    if (dims < 0) {
        assay_listing_none(r);
        return;
    }
    const assay_listing_column *c = next(r);
    if (c && r->form == ASSAY_LISTING_JSON) {
        assay_jw_i64s(writer(r), c->key, dim, (size_t)dims);
        return;
    }
    assay_buf text = ASSAY_BUF(1 << 16);
    const bool people = r->form == ASSAY_LISTING_TEXT;
    assay_put_format(&text, people ? "[" : "");
    for (int i = 0; i < dims; i++)
        assay_put_format(&text, "%s%" PRId64, i == 0 ? "" : people ? ", " : "x", dim[i]);
    assay_put_format(&text, people ? "]" : "");
    if (c && people)
        assay_table_cell_n(&r->table, (const char *)text.data, text.size);
    else if (c)
        assay_put_bytes(r->out, text.data, text.size);
    assay_buf_release(&text);
}

void assay_listing_texts(assay_listing *r, const char *const *list, size_t count)
{
    if (r->form == ASSAY_LISTING_JSON) {
        const assay_listing_column *c = next(r);
        if (c)
            assay_jw_texts(writer(r), c->key, list, count);
        return;
    }
    assay_buf text = ASSAY_BUF(SIZE_MAX);
    for (size_t i = 0; i < count; i++)
        assay_put_format(&text, "%s%s", i == 0 ? "" : r->form == ASSAY_LISTING_TEXT ? " " : ";", list[i]);
    assay_listing_take(r, &text);
}

assay_buf *assay_listing_value(assay_listing *r)
{
    if (r->form == ASSAY_LISTING_TEXT) {
        assay_listing_none(r);
        return NULL;
    }
    const assay_listing_column *c = next(r);
    return !c ? NULL : r->form == ASSAY_LISTING_JSON ? assay_jw_value(writer(r), c->key) : r->out;
}
