/* document.h - what a report says, before it has a form: blocks in a tree. Sections build a document, forms render it.
 *
 * A section opens containers (section, card, details), puts blocks into them (paragraph, facts, list, table, chart,
 * advice, lines) and says nothing of fonts, widths or markup. Text goes to what was opened last: a title, a paragraph,
 * an item, a cell. Every text is copied and may hold any bytes: a form escapes, cleans and cuts it. What comes from a
 * trial or a job goes through doc_put_name() or doc_put_text(), never into the format of doc_put().
 *
 *     doc_section(d, "stuck", "Ranks that wait");
 *     doc_paragraph(d);
 *     doc_put(d, "%zu ranks wait for ", count);
 *     doc_put_name(d, worker);
 *     doc_table(d, &(doc_table_def){.id = "waits", .columns = COLUMNS, .count = 3});
 *     for each rank: doc_row(d, DOC_BAD); doc_cell_name(d, worker); doc_cell_count(d, sequence); doc_cell_real(d,
 * seconds); doc_end(d);
 *
 * How many rows, points and bytes a form shows is the form's own matter (render.h): a section hands over all it has. No
 * call fails: the first failure stays in the document, and doc_status() tells it. No call is collective. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct doc doc;

/* Makes an empty document; NULL without memory. Free it with doc_free(), which accepts NULL. */
doc *doc_new(void);
void doc_free(doc *d);
/* ASSAY_OK, ASSAY_ENOMEM, or ASSAY_EINTERNAL after calls in an impossible order. */
int doc_status(const doc *d);
/* Remembers a failure of whoever builds the document; ASSAY_OK and later ones are ignored. */
void doc_fail(doc *d, int status);

/* What a reader should feel; forms give it a shape and a word beside a colour. */
typedef enum doc_tone { DOC_PLAIN, DOC_GOOD, DOC_BAD, DOC_BROKEN, DOC_NONE, DOC_TONES } doc_tone;

/* The forms, for doc_only(). */
enum { DOC_TEXT = 1, DOC_HTML = 2, DOC_MARKDOWN = 4, DOC_JSON = 8, DOC_CSV = 16 };
/* The next block, with all that is in it, appears in these forms only. */
void doc_only(doc *d, unsigned forms);
/* The document will be rendered in these forms alone. What would appear in others need not be made: doc_can_be() is false for
 * these. */
void doc_will_be(doc *d, unsigned forms);
bool doc_can_be(const doc *d, unsigned forms);

/* ---- containers: each ends with doc_end() ---- */

/* A part with a heading. `id` is its permanent link, unique in the document, of letters, digits and "-"; NULL: none.
 * The heading may go on with doc_put...(). */
void doc_section(doc *d, const char *id, const char *title);
/* The section that was just begun is one to look things up in: the page shows its heading, and the rest on demand. */
void doc_fold(doc *d);
/* A part that a reader opens on demand: the text that follows is its summary. In HTML and JSON it is whole; text prints
 * it, Markdown leaves it out unless doc_only() asks for it. */
void doc_details(doc *d, const char *id);
/* One finding, one rank, one run: the text that follows is its title. The tone is that of its mark. */
void doc_card(doc *d, const char *id, doc_tone tone);
void doc_end(doc *d);

/* ---- blocks: each ends where the next one begins ---- */

/* What everything comes to, in a sentence that follows: the first line of the report. */
void doc_verdict(doc *d, doc_tone tone);
/* A paragraph, and one that is less important than those around it. */
void doc_paragraph(doc *d);
void doc_note(doc *d);
/* Something that may not be missed, such as what could not be read. */
void doc_alert(doc *d);
/* Lines that stay as they are, such as commands and stacks. */
void doc_lines(doc *d, const char *text, size_t length);
/* A list; each item is the text behind doc_item(). */
void doc_list(doc *d, bool numbered);
void doc_item(doc *d);
/* Names and what they are: each fact is the text behind doc_fact(). */
void doc_facts(doc *d);
void doc_fact(doc *d, const char *name);
/* What to do: a sentence (NULL: none) and steps (NULL: none; else ended by NULL). A document says the same advice once:
 * a second one becomes a link to the first. Nothing is added where there is neither. */
void doc_advice(doc *d, const char *text, const char *const *steps);

/* ---- text ---- */

/* Words of assay's own, in printf form. */
void doc_put(doc *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same of a text that is there already. */
void doc_put_words(doc *d, const char *text, size_t length);
/* Words that others wrote, or in which names stand: messages, notes, verdicts. */
void doc_put_text(doc *d, const char *text, size_t length);
/* A name out of a trial or a job: a worker, a tensor, a file. Forms set it off, and may cut it in its middle. */
void doc_put_name(doc *d, const char *name);
void doc_put_strong(doc *d, const char *text);
/* Something beside the point: a unit, a mode, a count of others. */
void doc_put_dim(doc *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A word with a mark of the tone. */
void doc_put_badge(doc *d, doc_tone tone, const char *word);

/* ---- tables ---- */

typedef enum doc_type {
    DOC_OF_WORDS,
    DOC_OF_NAMES,
    DOC_OF_COUNTS,  /* whole numbers from 0 on */
    DOC_OF_STEPS,   /* whole numbers, or a time */
    DOC_OF_REALS,   /* six digits for people, all of them in CSV and JSON; NaN and infinities are values */
    DOC_OF_SHARES,  /* 0 to 1, as per cent for people */
    DOC_OF_SECONDS, /* real */
    DOC_OF_BYTES    /* whole; "1.5 MB" for people */
} doc_type;

/* Where a line is too long for its form. */
typedef enum doc_fit { DOC_KEEP, DOC_CUT, DOC_DROP, DOC_CUT_LAST } doc_fit;

typedef struct doc_column {
    const char *name; /* as people read it, lower case */
    doc_type type;
    const char *unit; /* NULL: none, or that of the type */
    doc_fit fit;      /* of words and names: keep them, cut them in the middle, leave the column out, cut it at last */
} doc_column;

typedef struct doc_table_def {
    const char *id;    /* names the table in CSV and JSON; NULL: none */
    const char *label; /* what the rows are, for a screen reader and for "and 12 more findings"; NULL: "rows" */
    const doc_column *columns;
    size_t count;
    bool sample; /* the first rows say it, such as evidence: forms may show few of them */
} doc_table_def;

/* Begins a table. Columns that no cell fills are left out. */
void doc_table(doc *d, const doc_table_def *def);
void doc_row(doc *d, doc_tone tone);
/* The row leads to the block with the id. */
void doc_row_link(doc *d, const char *id);
/* Cells, from left to right. What is put behind a number (doc_put...) is its unit or remark. A missing cell is empty.
 */
void doc_cell(doc *d); /* of text that follows */
void doc_cell_words(doc *d, const char *text);
void doc_cell_name(doc *d, const char *name);
void doc_cell_count(doc *d, uint64_t value);
void doc_cell_step(doc *d, int64_t value);
void doc_cell_real(doc *d, double value); /* reals, shares, seconds */
/* The reals from least to most, and NaN among them; one real where they are the same. */
void doc_cell_range(doc *d, double least, double most, bool nan);
void doc_cell_none(doc *d);
/* Rows beyond those that were added, which report.json has. */
void doc_left_out(doc *d, uint64_t rows);

/* ---- charts ---- */

typedef enum doc_chart_kind {
    DOC_LINES, /* series over steps */
    DOC_HEAT,  /* a row for each series, a column for each x, darker for larger y */
    DOC_BARS,  /* a bar for each label, of the first series' y; further series beside it */
    DOC_PAIRS  /* two columns of nodes and links between them */
} doc_chart_kind;

typedef struct doc_series {
    const char *name;
    const double *x, *y; /* ascending in x; y may be nan or infinite, which is marked */
    size_t count;
    int style; /* 0 .. DOC_STYLES - 1: colour and dashes */
} doc_series;
enum { DOC_STYLES = 8, DOC_SERIES = 8 /* that one chart of lines shows */ };

/* An area between two lines. */
typedef struct doc_band {
    const char *name;
    const double *x, *low, *high; /* ascending in x; finite */
    size_t count;
} doc_band;

/* A link from a node of the left column to one of the right. */
typedef struct doc_link {
    const char *from, *to;
    double weight; /* for its width and its number; NaN: none */
    doc_tone tone;
} doc_link;

typedef struct doc_chart {
    doc_chart_kind kind;
    const char *title, *x_label, *y_label; /* of pairs: what is on the left and on the right */
    const char *remark;                    /* NULL: none; below the title */
    double x_least, x_most;                /* of heat: from where to where; equal: those of the series */
    const doc_series *series;
    size_t count;
    bool shares;              /* of bars: beside the number its share of all of the series */
    const char *const *label; /* [series[0].count] of bars: what each is; NULL: the x */
    const doc_band *band;     /* behind lines; NULL: none */
    const doc_series *pale;   /* behind lines, thin and all alike, with no name in the legend; NULL: none */
    size_t pales;
    const char *pale_word; /* what they are */
    const double *mark;    /* ascending in x: short bars at the lower edge; NULL: none */
    size_t marks;
    const char *mark_word; /* what they are */
    const doc_link *link;  /* of pairs */
    size_t links;
} doc_chart;

/* Adds a chart; everything in it is copied. HTML draws it, a terminal draws lines, bars and heat in characters, the
 * other forms have its numbers as a table. */
void doc_put_chart(doc *d, const char *id, const doc_chart *chart);
