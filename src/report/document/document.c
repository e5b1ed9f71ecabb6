/* document.c - builds a document: every call appends to a tree in one arena. */
#include "report/document/document.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/pack.h>
#include <assay/status.h>

#include "base/fault.h"
#include "report/document/block.h"
#include "report/text/layout.h"

/* A document is a fraction of the report model it is made of; the ceiling only keeps a mistake from eating the
 * machine. */
#define DOCUMENT_CEILING ((size_t)1 << 32)
#define ALL_FORMS        ((unsigned)(DOC_TEXT | DOC_HTML | DOC_MARKDOWN | DOC_JSON | DOC_CSV))

doc *doc_new(void)
{
    doc *d = assay_alloc_zeroed(1, sizeof *d);
    if (!d)
        return NULL;
    d->arena = assay_arena_new(DOCUMENT_CEILING);
    if (!d->arena) {
        free(d);
        return NULL;
    }
    d->root.forms = d->forms = ALL_FORMS;
    d->open = &d->root;
    return d;
}

void doc_free(doc *d)
{
    if (!d)
        return;
    assay_arena_free(d->arena);
    free(d);
}

int doc_status(const doc *d)
{
    return d->status;
}

void doc_fail(doc *d, int status)
{
    if (d->status == ASSAY_OK)
        d->status = status;
}

/* Takes zeroed memory that lives as long as the document; NULL with the failure remembered. After the first failure
 * nothing is added any more, and renderers say it. */
static void *take(doc *d, size_t count, size_t size)
{
    void *bytes = d->status == ASSAY_OK ? assay_arena_take_zeroed(d->arena, count ? count : 1, size) : NULL;
    if (!bytes)
        doc_fail(d, ASSAY_ENOMEM);
    return bytes;
}

static const void *copy_bytes(doc *d, const void *bytes, size_t count, size_t size)
{
    void *copy = bytes ? take(d, count, size) : NULL;
    if (copy && count > 0)
        memcpy(copy, bytes, count * size);
    return copy;
}

static const char *copy_text(doc *d, const char *text, size_t length)
{
    char *copy = text ? take(d, length + 1, 1) : NULL;
    if (copy)
        memcpy(copy, text, length);
    return copy;
}

static const char *copy_name(doc *d, const char *text)
{
    return text ? copy_text(d, text, strlen(text)) : NULL;
}

/* ---- blocks ---- */

/* New blocks go into the innermost open container. doc_only() holds for one block. */
static doc_block *add_block(doc *d, doc_kind kind, const char *id)
{
    doc_block *b = take(d, 1, sizeof *b);
    d->text = NULL;
    d->block = NULL;
    if (!b)
        return NULL;
    b->kind = kind;
    b->forms = d->forms;
    b->parent = d->open;
    b->id = copy_name(d, id);
    d->forms = ALL_FORMS;
    if (d->open->last)
        d->open->last->next = b;
    else
        d->open->first = b;
    d->open->last = b;
    d->block = b;
    d->text = &b->text;
    return b;
}

/* For the next block alone. */
void doc_only(doc *d, unsigned forms)
{
    d->forms = forms;
}

void doc_will_be(doc *d, unsigned forms)
{
    d->meant = forms;
}

bool doc_can_be(const doc *d, unsigned forms)
{
    return d->meant == 0 || (d->meant & forms) != 0;
}

static void open_container(doc *d, doc_kind kind, const char *id, doc_tone tone)
{
    doc_block *b = add_block(d, kind, id);
    if (!b)
        return;
    b->tone = tone;
    d->open = b;
}

/* All that begins a container is ended by one doc_end(), in whatever order blocks stand between. */
void doc_section(doc *d, const char *id, const char *title)
{
    open_container(d, BLOCK_SECTION, id, DOC_PLAIN);
    if (title)
        doc_put(d, "%s", title);
}

void doc_fold(doc *d)
{
    if (d->open->kind == BLOCK_SECTION)
        d->open->folded = true;
    else
        doc_fail(d, ASSAY_EINTERNAL);
}

void doc_details(doc *d, const char *id)
{
    open_container(d, BLOCK_DETAILS, id, DOC_PLAIN);
}

void doc_card(doc *d, const char *id, doc_tone tone)
{
    open_container(d, BLOCK_CARD, id, tone);
}

void doc_end(doc *d)
{
    if (d->open->parent)
        d->open = d->open->parent;
    else
        doc_fail(
            d, ASSAY_EINTERNAL); /* more ends than begins, or a begin that failed: then this is not the first failure */
    d->block = NULL;
    d->text = NULL;
}

void doc_verdict(doc *d, doc_tone tone)
{
    doc_block *b = add_block(d, BLOCK_VERDICT, NULL);
    if (b)
        b->tone = tone;
}

void doc_paragraph(doc *d)
{
    add_block(d, BLOCK_PARAGRAPH, NULL);
}

void doc_note(doc *d)
{
    add_block(d, BLOCK_NOTE, NULL);
}

void doc_alert(doc *d)
{
    add_block(d, BLOCK_ALERT, NULL);
}

void doc_lines(doc *d, const char *text, size_t length)
{
    add_block(d, BLOCK_LINES, NULL);
    doc_put_text(d, text, length);
}

void doc_list(doc *d, bool numbered)
{
    doc_block *b = add_block(d, BLOCK_LIST, NULL);
    if (b)
        b->numbered = numbered;
}

/* A mistake of the program's own (an item outside a list) is ASSAY_EINTERNAL, which tests find. */
static void add_item(doc *d, doc_kind kind, const char *name)
{
    doc_item_data *item = take(d, 1, sizeof *item);
    if (!item)
        return;
    if (!d->block || d->block->kind != kind) {
        doc_fail(d, ASSAY_EINTERNAL);
        return;
    }
    item->name = copy_name(d, name);
    if (d->block->last_item)
        d->block->last_item->next = item;
    else
        d->block->items = item;
    d->block->last_item = item;
    d->text = &item->text;
}

void doc_item(doc *d)
{
    add_item(d, BLOCK_LIST, NULL);
}

void doc_facts(doc *d)
{
    add_block(d, BLOCK_FACTS, NULL);
}

void doc_fact(doc *d, const char *name)
{
    add_item(d, BLOCK_FACTS, name);
}

/* Compares the sentence and the steps, as one text. */
static bool says_same(const doc_block *b, const char *text, const char *const *steps)
{
    const doc_span *sentence = b->text.first;
    if (strcmp(sentence ? sentence->text : "", text ? text : "") != 0)
        return false;
    const doc_item_data *item = b->items;
    for (size_t i = 0; steps && steps[i]; i++, item = item->next)
        if (!item || !item->text.first || strcmp(item->text.first->text, steps[i]) != 0)
            return false;
    return item == NULL;
}

/* Advice that not all forms show is no place to point to. */
static const doc_block *find_advice(const doc_block *parent, const char *text, const char *const *steps)
{
    for (const doc_block *b = parent->first; b; b = b->next) {
        if (b->kind == BLOCK_ADVICE && !b->same && b->forms == ALL_FORMS && says_same(b, text, steps))
            return b;
        const doc_block *inner = b->forms == ALL_FORMS ? find_advice(b, text, steps) : NULL;
        if (inner)
            return inner;
    }
    return NULL;
}

/* The same advice of several rules is said once; the later ones point to it. */
void doc_advice(doc *d, const char *text, const char *const *steps)
{
    text = text && text[0] ? text : NULL;
    if (d->status != ASSAY_OK || (!text && !(steps && steps[0])))
        return;
    char id[32];
    const doc_block *same = find_advice(&d->root, text, steps);
    snprintf(id, sizeof id, "todo-%u", d->advices++);
    doc_block *b = add_block(d, BLOCK_ADVICE, same ? NULL : id);
    if (!b)
        return;
    b->same = same;
    if (same)
        return;
    if (text)
        doc_put_text(d, text, strlen(text));
    for (size_t i = 0; steps && steps[i]; i++) {
        add_item(d, BLOCK_ADVICE, NULL);
        doc_put_text(d, steps[i], strlen(steps[i]));
    }
}

/* ---- text ---- */

static doc_span *add_span(doc *d, doc_span_kind kind, const char *text, size_t length)
{
    doc_span *span = take(d, 1, sizeof *span);
    if (!span)
        return NULL;
    if (!d->text) {
        doc_fail(d, ASSAY_EINTERNAL);
        return NULL;
    }
    span->kind = kind;
    span->text = copy_text(d, text, length);
    span->length = span->text ? length : 0;
    if (d->text->last)
        d->text->last->next = span;
    else
        d->text->first = span;
    d->text->last = span;
    return span;
}

/* Twice over the arguments, as most texts fit `small`. */
__attribute__((format(printf, 3, 0))) static void add_format(doc *d, doc_span_kind kind, const char *format,
                                                             va_list args)
{
    char small[512];
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(small, sizeof small, format, args);
    char *large = length >= (int)sizeof small ? assay_alloc((size_t)length + 1) : NULL;
    if (length < 0 || (length >= (int)sizeof small && !large))
        doc_fail(d, ASSAY_ENOMEM);
    else if (large)
        vsnprintf(large, (size_t)length + 1, format, again);
    va_end(again);
    if (d->status == ASSAY_OK && length > 0)
        add_span(d, kind, large ? large : small, (size_t)length);
    free(large);
}

void doc_put(doc *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_format(d, SPAN_WORDS, format, args);
    va_end(args);
}

void doc_put_dim(doc *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_format(d, SPAN_DIM, format, args);
    va_end(args);
}

void doc_put_words(doc *d, const char *text, size_t length)
{
    if (length > 0)
        add_span(d, SPAN_WORDS, text, length);
}

void doc_put_text(doc *d, const char *text, size_t length)
{
    if (length > 0)
        add_span(d, SPAN_TEXT, text, length);
}

void doc_put_name(doc *d, const char *name)
{
    if (name && name[0])
        add_span(d, SPAN_NAME, name, strlen(name));
}

void doc_put_strong(doc *d, const char *text)
{
    add_span(d, SPAN_STRONG, text, strlen(text));
}

void doc_put_badge(doc *d, doc_tone tone, const char *word)
{
    doc_span *span = add_span(d, SPAN_BADGE, word, strlen(word));
    if (span)
        span->tone = tone;
}

/* ---- tables ---- */

/* The definition is copied, but for texts, which are copied as well: callers have it on their stack. */
void doc_table(doc *d, const doc_table_def *def)
{
    doc_block *b = add_block(d, BLOCK_TABLE, def->id);
    doc_table_data *t = take(d, 1, sizeof *t);
    doc_column *column = take(d, def->count, sizeof *column);
    bool *filled = take(d, def->count, sizeof *filled);
    if (!b || !t || !column || !filled)
        return;
    for (size_t i = 0; i < def->count; i++) {
        column[i] = def->columns[i];
        column[i].name = copy_name(d, column[i].name);
        column[i].unit = copy_name(d, column[i].unit);
    }
    *t = (doc_table_data){.label = copy_name(d, def->label ? def->label : "rows"),
                          .column = column,
                          .columns = def->count,
                          .sample = def->sample,
                          .filled = filled};
    b->table = t;
    d->text = NULL;
}

/* Finds the table that rows go to; NULL, and a failure, where none is open. */
static doc_table_data *open_table(doc *d)
{
    if (d->block && d->block->table)
        return d->block->table;
    doc_fail(d, ASSAY_EINTERNAL);
    return NULL;
}

void doc_row(doc *d, doc_tone tone)
{
    doc_table_data *t = open_table(d);
    doc_row_data *row = t ? take(d, 1, sizeof *row) : NULL;
    if (!row)
        return;
    row->tone = tone;
    if (t->last)
        t->last->next = row;
    else
        t->first = row;
    t->last = row;
    t->rows++;
    d->text = NULL;
}

void doc_row_link(doc *d, const char *id)
{
    doc_table_data *t = open_table(d);
    if (t && t->last)
        t->last->link = copy_name(d, id);
}

static doc_cell_data *add_cell(doc *d, doc_cell_kind kind)
{
    doc_table_data *t = open_table(d);
    doc_cell_data *cell = t ? take(d, 1, sizeof *cell) : NULL;
    if (!cell)
        return NULL;
    if (!t->last || t->last->cells == t->columns) {
        doc_fail(d, ASSAY_EINTERNAL);
        return NULL;
    }
    doc_row_data *row = t->last;
    cell->kind = kind;
    if (row->last)
        row->last->next = cell;
    else
        row->first = cell;
    row->last = cell;
    /* A column that no row fills is left out by renderers. */
    t->filled[row->cells] = t->filled[row->cells] || kind != CELL_NONE;
    row->cells++;
    d->text = &cell->text;
    return cell;
}

void doc_cell(doc *d)
{
    add_cell(d, CELL_TEXT);
}

void doc_cell_words(doc *d, const char *text)
{
    if (add_cell(d, text[0] ? CELL_TEXT : CELL_NONE))
        doc_put_words(d, text, strlen(text));
}

void doc_cell_name(doc *d, const char *name)
{
    if (add_cell(d, name && name[0] ? CELL_TEXT : CELL_NONE))
        doc_put_name(d, name);
}

void doc_cell_count(doc *d, uint64_t value)
{
    doc_cell_data *cell = add_cell(d, CELL_WHOLE);
    if (cell)
        cell->whole = value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

void doc_cell_step(doc *d, int64_t value)
{
    doc_cell_data *cell = add_cell(d, CELL_WHOLE);
    if (cell)
        cell->whole = value;
}

void doc_cell_real(doc *d, double value)
{
    doc_cell_data *cell = add_cell(d, CELL_REAL);
    if (cell)
        cell->real = value;
}

void doc_cell_range(doc *d, double least, double most, bool nan)
{
    doc_cell_data *cell = add_cell(d, least < most || nan ? CELL_RANGE : CELL_REAL);
    if (cell) {
        cell->real = least;
        cell->most = most;
        cell->nan = nan;
    }
}

void doc_cell_none(doc *d)
{
    add_cell(d, CELL_NONE);
}

void doc_left_out(doc *d, uint64_t rows)
{
    doc_table_data *t = open_table(d);
    if (t)
        t->left_out += rows;
}

/* ---- charts ---- */

static const doc_series *copy_series(doc *d, const doc_series *series, size_t count)
{
    doc_series *copy = series ? take(d, count, sizeof *copy) : NULL;
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = series[i];
        copy[i].name = copy_name(d, series[i].name ? series[i].name : "");
        copy[i].x = copy_bytes(d, series[i].x, series[i].count, sizeof(double));
        copy[i].y = copy_bytes(d, series[i].y, series[i].count, sizeof(double));
    }
    return copy;
}

static const doc_band *copy_band(doc *d, const doc_band *band)
{
    doc_band *copy = band ? take(d, 1, sizeof *copy) : NULL;
    if (!copy)
        return NULL;
    *copy = *band;
    copy->name = copy_name(d, band->name);
    copy->x = copy_bytes(d, band->x, band->count, sizeof(double));
    copy->low = copy_bytes(d, band->low, band->count, sizeof(double));
    copy->high = copy_bytes(d, band->high, band->count, sizeof(double));
    return copy;
}

static const doc_link *copy_links(doc *d, const doc_link *link, size_t count)
{
    doc_link *copy = link ? take(d, count, sizeof *copy) : NULL;
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = link[i];
        copy[i].from = copy_name(d, link[i].from);
        copy[i].to = copy_name(d, link[i].to);
    }
    return copy;
}

static const char *const *copy_labels(doc *d, const char *const *label, size_t count)
{
    const char **copy = label ? take(d, count, sizeof *copy) : NULL;
    for (size_t i = 0; copy && i < count; i++)
        copy[i] = copy_name(d, label[i]);
    return copy;
}

/* Everything is copied: callers free what they have made as soon as this returns. */
void doc_put_chart(doc *d, const char *id, const doc_chart *chart)
{
    doc_block *b = add_block(d, BLOCK_CHART, id);
    doc_chart *copy = take(d, 1, sizeof *copy);
    if (!b || !copy)
        return;
    *copy = *chart;
    copy->title = copy_name(d, chart->title ? chart->title : "");
    copy->x_label = copy_name(d, chart->x_label ? chart->x_label : "");
    copy->y_label = copy_name(d, chart->y_label ? chart->y_label : "");
    copy->remark = copy_name(d, chart->remark);
    copy->series = copy_series(d, chart->series, chart->count);
    copy->label = copy_labels(d, chart->label, chart->count ? chart->series[0].count : 0);
    copy->band = copy_band(d, chart->band);
    copy->pale = copy_series(d, chart->pale, chart->pales);
    copy->pale_word = copy_name(d, chart->pale_word);
    copy->mark = copy_bytes(d, chart->mark, chart->marks, sizeof(double));
    copy->mark_word = copy_name(d, chart->mark_word);
    copy->link = copy_links(d, chart->link, chart->links);
    b->chart = d->status == ASSAY_OK ? copy : NULL; /* renderers meet whole charts only */
    d->text = NULL;
}

/* ---- for renderers ---- */

/* The only way to walk blocks: what is not for the form, or was not made whole, is passed over. */
const doc_block *doc_next(const doc_block *parent, const doc_block *block, unsigned form)
{
    block = block ? block->next : parent->first;
    while (block && (!(block->forms & form) || (block->kind == BLOCK_CHART && !block->chart) ||
                     (block->kind == BLOCK_TABLE && !block->table)))
        block = block->next;
    return block;
}

size_t doc_count(const doc_block *parent, unsigned form)
{
    size_t count = 0;
    for (const doc_block *b = doc_next(parent, NULL, form); b; b = doc_next(parent, b, form))
        count++;
    return count;
}

void doc_inline_plain(const doc_inline *text, assay_buf *out)
{
    for (const doc_span *s = text->first; s; s = s->next)
        assay_put_bytes(out, s->text, s->length);
}

bool doc_is_number(const doc_column *column)
{
    return column->type != DOC_OF_WORDS && column->type != DOC_OF_NAMES;
}

static void put_real(doc_type type, double value, assay_buf *out)
{
    if (type == DOC_OF_SHARES && isfinite(value))
        assay_put_format(out, "%.3g %%", 100 * value);
    else
        assay_text_put_number(out, value);
}

static void put_range(doc_type type, const doc_cell_data *cell, assay_buf *out)
{
    put_real(type, cell->real, out);
    if (cell->real < cell->most) {
        assay_put_format(out, " .. ");
        put_real(type, cell->most, out);
    }
    assay_put_format(out, cell->nan ? ", nan" : "");
}

void doc_cell_plain(const doc_column *column, const doc_cell_data *cell, assay_buf *out)
{
    const size_t begin = out->size;
    if (cell->kind == CELL_REAL)
        put_real(column->type, cell->real, out);
    else if (cell->kind == CELL_RANGE)
        put_range(column->type, cell, out);
    else if (cell->kind == CELL_WHOLE && column->type == DOC_OF_BYTES && cell->whole >= 0)
        assay_text_put_bytes(out, (uint64_t)cell->whole);
    else if (cell->kind == CELL_WHOLE)
        assay_put_format(out, "%" PRId64, cell->whole);
    if (cell->text.first && out->size > begin)
        assay_put_u8(out, ' ');
    doc_inline_plain(&cell->text, out);
}

void doc_column_plain(const doc_column *column, assay_buf *out)
{
    const char *unit = column->unit ? column->unit : column->type == DOC_OF_SECONDS ? "s" : NULL;
    assay_put_bytes(out, column->name, strlen(column->name));
    if (unit)
        assay_put_format(out, " (%.40s)", unit);
}
