/* render_markdown.c - a document as GitHub's Markdown, short enough for a comment.
 *
 * Names and messages are untrusted: they are cleaned as in text, cut in the middle, and written as code, in which
 * nothing is markup, a link or a mention. A block is written beside the page first and added when it fits. */
#include <string.h>

#include <assay/status.h>

#include "report/document/block.h"
#include "report/document/render.h"
#include "report/text/layout.h"

enum {
    NAME_COLUMNS = 80,
    MESSAGE_COLUMNS = 300,
    VERDICT_COLUMNS = 600,
    ROW_MOST = 50,
    CARDS_SHOWN = 10,
    ITEMS_SHOWN = 20
};
enum { CEILING = 1 << 30, LAST_LINE = 120 /* bytes for the count of what did not fit */ };

typedef struct page {
    assay_buf *out;
    assay_buf piece;    /* written here first */
    assay_buf one, two; /* of one text at a time */
    size_t most;        /* bytes of the page, for the part that is being written */
    uint64_t left_out;
} page;

/* Adds the piece, or counts it. True when it fitted. */
static bool flush(page *p)
{
    const bool fits = p->out->size + p->piece.size <= p->most;
    if (assay_buf_status(&p->piece) != ASSAY_OK && p->out->status == ASSAY_OK)
        p->out->status = assay_buf_status(&p->piece);
    if (fits)
        assay_put_bytes(p->out, p->piece.data, p->piece.size);
    assay_buf_clear(&p->piece);
    p->left_out += !fits;
    return fits;
}

/* Tells whether text can stand in backquotes. Inside them all is literal but a backquote; a table also looks for bars
 * there, and blanks at the ends get lost. */
static bool fits_backquotes(const char *text, size_t length)
{
    return length > 0 && !memchr(text, '`', length) && !memchr(text, '|', length) && text[0] != ' ' &&
           text[length - 1] != ' ';
}

/* Within <code>, where Markdown is still read: each sign as its number is none. */
static void put_references(assay_buf *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        bool plain = c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (plain)
            assay_put_u8(out, c);
        else
            assay_put_format(out, "&#%u;", c);
    }
}

/* Cleans the text and cuts it, into p->two; its bytes. */
static size_t cut(page *p, const char *text, size_t length, size_t columns)
{
    assay_buf_clear(&p->one);
    assay_buf_clear(&p->two);
    assay_text_put_clean(&p->one, text, length);
    assay_text_put_cut(&p->two, (const char *)p->one.data, p->one.size, columns);
    return assay_buf_status(&p->two) == ASSAY_OK ? p->two.size : 0;
}

static void put_code(page *p, const char *text, size_t length, size_t columns)
{
    const size_t size = cut(p, text, length, columns);
    const char *name = (const char *)p->two.data;
    if (size == 0)
        return;
    if (fits_backquotes(name, size)) {
        assay_put_u8(&p->piece, '`');
        assay_put_bytes(&p->piece, name, size);
        assay_put_u8(&p->piece, '`');
        return;
    }
    assay_put_format(&p->piece, "<code>");
    put_references(&p->piece, name, size);
    assay_put_format(&p->piece, "</code>");
}

/* Puts words that are no code: markup in them is none. */
static void put_words(page *p, const char *text, size_t length, size_t columns)
{
    const size_t size = cut(p, text, length, columns);
    for (size_t i = 0; i < size; i++) {
        const char c = (char)p->two.data[i];
        if (strchr("\\`*_[]<>|~&#!", c))
            assay_put_u8(&p->piece, '\\');
        assay_put_u8(&p->piece, (uint8_t)c);
    }
}

/* Tells whether GitHub sees a link or a mention in words, however they are escaped. */
static bool links_itself(const char *text)
{
    return strstr(text, "://") || strstr(text, "www.") || strchr(text, '@');
}

static void put_span(page *p, const doc_span *s, bool as_words)
{
    as_words = as_words && !links_itself(s->text);
    if (s->kind == SPAN_NAME)
        put_code(p, s->text, s->length, NAME_COLUMNS);
    else if (s->kind == SPAN_TEXT && !as_words)
        put_code(p, s->text, s->length, VERDICT_COLUMNS);
    else if (s->kind == SPAN_STRONG) {
        assay_put_bytes(&p->piece, "**", 2);
        put_words(p, s->text, s->length, MESSAGE_COLUMNS);
        assay_put_bytes(&p->piece, "**", 2);
    } else
        put_words(p, s->text, s->length, as_words ? VERDICT_COLUMNS : MESSAGE_COLUMNS);
}

static void put_inline(page *p, const doc_inline *text, bool as_words)
{
    for (const doc_span *s = text->first; s; s = s->next)
        put_span(p, s, as_words);
}

/* ---- tables ---- */

static void put_row(page *p, const doc_table_data *t, const doc_row_data *row)
{
    const doc_cell_data *cell = row->first;
    for (size_t c = 0; c < t->columns; c++, cell = cell ? cell->next : NULL) {
        if (!t->filled[c])
            continue;
        assay_put_format(&p->piece, "| ");
        if (cell && cell->kind > CELL_TEXT) {
            doc_cell_data number = *cell;
            number.text = (doc_inline){NULL, NULL};
            doc_cell_plain(&t->column[c], &number, &p->piece);
            assay_put_format(&p->piece, cell->text.first ? " " : "");
        }
        if (cell)
            put_inline(p, &cell->text, false);
        assay_put_u8(&p->piece, ' ');
    }
    assay_put_format(&p->piece, "|\n");
}

static void put_head(page *p, const doc_table_data *t)
{
    assay_put_u8(&p->piece, '\n');
    for (size_t c = 0; c < t->columns; c++) {
        if (!t->filled[c])
            continue;
        assay_buf name = ASSAY_BUF(CEILING);
        doc_column_plain(&t->column[c], &name);
        assay_put_format(&p->piece, "| ");
        put_words(p, (const char *)name.data, name.size, NAME_COLUMNS);
        assay_put_u8(&p->piece, ' ');
        assay_buf_release(&name);
    }
    assay_put_format(&p->piece, "|\n");
    for (size_t c = 0; c < t->columns; c++)
        if (t->filled[c])
            assay_put_format(&p->piece, doc_is_number(&t->column[c]) ? "|--:" : "|---");
    assay_put_format(&p->piece, "|\n");
}

/* Row by row: what does not fit is counted. */
static void put_table(page *p, const doc_table_data *t)
{
    const size_t most = t->sample ? DOC_MARKDOWN_SAMPLE : ROW_MOST;
    size_t rows = 0;
    if (t->rows == 0)
        return;
    put_head(p, t);
    if (!flush(p))
        return;
    for (const doc_row_data *row = t->first; row && rows < most; row = row->next, rows++) {
        put_row(p, t, row);
        if (!flush(p))
            break;
    }
    const uint64_t left = t->rows - rows + t->left_out;
    if (left > 0)
        assay_put_format(&p->piece, "\nand %llu more %.60s\n", (unsigned long long)left, t->label);
    flush(p);
}

/* ---- blocks ---- */

static void put_blocks(page *p, const doc_block *parent, unsigned depth);

static void put_items(page *p, const doc_block *b)
{
    size_t done = 0;
    assay_put_u8(&p->piece, '\n');
    for (const doc_item_data *i = b->items; i && done < ITEMS_SHOWN; i = i->next, done++) {
        if (b->numbered || b->kind == BLOCK_ADVICE)
            assay_put_format(&p->piece, "%zu. ", done + 1);
        else
            assay_put_format(&p->piece, "- ");
        if (i->name) {
            put_words(p, i->name, strlen(i->name), NAME_COLUMNS);
            assay_put_format(&p->piece, ": ");
        }
        put_inline(p, &i->text, b->kind == BLOCK_ADVICE);
        assay_put_u8(&p->piece, '\n');
    }
    flush(p);
}

static void put_advice(page *p, const doc_block *b)
{
    if (b->same) /* the document is short: the advice stands close by */
        return;
    assay_put_format(&p->piece, "\nWhat to do: ");
    put_inline(p, &b->text, true);
    assay_put_u8(&p->piece, '\n');
    if (b->items)
        put_items(p, b);
    else
        flush(p);
}

/* Puts lines. One of strangers could end a fence: each is code by itself. */
static void put_lines(page *p, const doc_block *b)
{
    const doc_span *s = b->text.first;
    size_t lines = 0;
    assay_put_u8(&p->piece, '\n');
    for (size_t at = 0; s && at < s->length && lines < ITEMS_SHOWN; lines++) {
        const char *end = memchr(s->text + at, '\n', s->length - at);
        const size_t length = end ? (size_t)(end - s->text) - at : s->length - at;
        put_code(p, s->text + at, length, MESSAGE_COLUMNS);
        assay_put_format(&p->piece, "  \n");
        at += length + 1;
    }
    flush(p);
}

static void put_chart(page *p, const doc_chart *c)
{
    assay_put_u8(&p->piece, '\n');
    put_words(p, c->title, strlen(c->title), MESSAGE_COLUMNS);
    assay_put_u8(&p->piece, '\n');
    doc *numbers = doc_of_chart(c, true);
    if (numbers && doc_status(numbers) == ASSAY_OK && flush(p))
        put_table(p, numbers->root.first->table);
    else if ((!numbers || doc_status(numbers) != ASSAY_OK) && p->out->status == ASSAY_OK)
        p->out->status = ASSAY_ENOMEM;
    doc_free(numbers);
}

static void put_heading(page *p, const doc_block *b, unsigned level)
{
    assay_put_u8(&p->piece, '\n');
    for (unsigned i = 0; i < level; i++)
        assay_put_u8(&p->piece, '#');
    assay_put_u8(&p->piece, ' ');
    put_inline(p, &b->text, false);
    assay_put_u8(&p->piece, '\n');
    flush(p);
}

/* Puts a section. What other forms fold away is not written here: a heading with nothing left below it goes with it. */
static void put_section(page *p, const doc_block *b, unsigned depth)
{
    const size_t before = p->out->size;
    put_heading(p, b, depth + 3 < 6 ? depth + 3 : 6);
    const size_t headed = p->out->size;
    const uint64_t left_out = p->left_out;
    put_blocks(p, b, depth + 1);
    if (p->out->size == headed && p->left_out == left_out && b->kind == BLOCK_SECTION)
        p->out->size = before;
}

static void put_block(page *p, const doc_block *b, unsigned depth)
{
    switch (b->kind) {
    case BLOCK_VERDICT:
        assay_put_format(&p->piece, b->tone == DOC_PLAIN ? "\n" : "## "); /* a second sentence is no heading */
        put_inline(p, &b->text, true);
        assay_put_u8(&p->piece, '\n');
        flush(p);
        break;
    case BLOCK_SECTION:
    case BLOCK_CARD:
        put_section(p, b, depth);
        break;
    case BLOCK_DETAILS: /* its title alone */
        if (b->text.first) {
            assay_put_u8(&p->piece, '\n');
            put_inline(p, &b->text, false);
            assay_put_u8(&p->piece, '\n');
            flush(p);
        }
        break;
    case BLOCK_LIST:
    case BLOCK_FACTS:
        put_items(p, b);
        break;
    case BLOCK_ADVICE:
        put_advice(p, b);
        break;
    case BLOCK_LINES:
        put_lines(p, b);
        break;
    case BLOCK_TABLE:
        put_table(p, b->table);
        break;
    case BLOCK_CHART:
        put_chart(p, b->chart);
        break;
    default:
        assay_put_u8(&p->piece, '\n');
        put_inline(p, &b->text, false);
        assay_put_u8(&p->piece, '\n');
        flush(p);
    }
}

/* Puts blocks, each of which may take its share of what the ones before it left, but a third at most. */
static void put_blocks(page *p, const doc_block *parent, unsigned depth)
{
    const size_t end = p->most;
    size_t left = doc_count(parent, DOC_MARKDOWN), cards = 0;
    for (const doc_block *b = doc_next(parent, NULL, DOC_MARKDOWN); b; b = doc_next(parent, b, DOC_MARKDOWN), left--) {
        const size_t used = p->out->size;
        p->most = used + (end > used ? end - used : 0) / (left > 3 ? 3 : left);
        if (b->kind == BLOCK_CARD && cards++ >= CARDS_SHOWN)
            p->left_out++;
        else
            put_block(p, b, depth);
    }
    p->most = end;
}

void doc_render_markdown(const doc *d, size_t most, assay_buf *out)
{
    /* LAST_LINE is kept free from the beginning. */
    page p = {.out = out, .most = most > LAST_LINE ? most - LAST_LINE : 0};
    assay_buf_init(&p.piece, CEILING);
    assay_buf_init(&p.one, CEILING);
    assay_buf_init(&p.two, CEILING);
    if (d->status == ASSAY_OK)
        put_blocks(&p, &d->root, 0);
    if (p.left_out > 0)
        assay_put_format(out, "\n%llu %s did not fit here; report.json has everything.\n",
                         (unsigned long long)p.left_out, p.left_out == 1 ? "part" : "parts");
    int status = d->status != ASSAY_OK ? d->status : assay_buf_status(&p.one);
    status = status != ASSAY_OK ? status : assay_buf_status(&p.two);
    if (out->status == ASSAY_OK)
        out->status = status;
    assay_buf_release(&p.piece);
    assay_buf_release(&p.one);
    assay_buf_release(&p.two);
}
