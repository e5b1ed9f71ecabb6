/* html.h - report.html: the page while it is written, and what its sections share. Inside report only.
 *
 * The file stays below HTML_MOST for any outcome: every section has a budget of bytes and asks html_full() before each
 * item, and items are bounded because names and messages are cut. Each section counts what it left out. */
#ifndef ASSAY_REPORT_HTML_HTML_H
#define ASSAY_REPORT_HTML_HTML_H

#include "base/json.h"
#include "report/model/report_model.h"
#include "report/report.h"

enum { HTML_MOST = 5000000 };

/* Bytes of each section. What a section writes beyond, its last item and its end, fits into the rest. */
enum {
    HTML_BUDGET_RULES = 450000,
    HTML_BUDGET_COMPARISON = 450000,
    HTML_BUDGET_EVIDENCE = 600000,
    HTML_BUDGET_LOSS = 500000,
    HTML_BUDGET_WHEN = 350000,
    HTML_BUDGET_CLASSES = 250000,
    HTML_BUDGET_CONFUSION = 350000,
    HTML_BUDGET_IMAGES = 400000,
    HTML_BUDGET_TENSORS = 400000,
    HTML_BUDGET_HISTOGRAMS = 150000,
    HTML_BUDGET_COMPLETENESS = 200000,
    HTML_BUDGET_PROBLEMS = 180000,
    HTML_BUDGET_PARAMETERS = 200000,
    HTML_BUDGET_RUN = 60000,
    HTML_BUDGET_PROFILE = 300000, /* beside the margin of the others: few trials have one */
};
_Static_assert(HTML_BUDGET_RULES + HTML_BUDGET_COMPARISON + HTML_BUDGET_EVIDENCE + HTML_BUDGET_LOSS + HTML_BUDGET_WHEN +
                       HTML_BUDGET_CLASSES + HTML_BUDGET_CONFUSION + HTML_BUDGET_IMAGES + HTML_BUDGET_TENSORS +
                       HTML_BUDGET_COMPLETENESS + HTML_BUDGET_PROBLEMS + HTML_BUDGET_PARAMETERS + HTML_BUDGET_RUN +
                       HTML_BUDGET_PROFILE + HTML_BUDGET_HISTOGRAMS <=
                   HTML_MOST - 150000,
               "the sections fit into the file");

enum {
    HTML_NAME = 72,      /* characters of a name that are shown; more are cut out of its middle */
    HTML_TITLE = 300,    /* characters of it in the title that shows the whole */
    HTML_MESSAGE = 1500, /* characters of a message or a text of several lines */
    HTML_COLUMNS = 500,  /* columns that a strip or a curve is drawn in: more steps share one */
    HTML_OPEN_TRIALS = 6 /* more trials than that: the parts about single ones are closed at first */
};

typedef struct html_page {
    const assay_outcome *outcome;
    const struct assay_comparison *comparison; /* NULL: not compared */
    bool only_odd; /* of single trials, those alone that are unlike the others are shown by themselves */
    const assay_report_origin *origin;
    assay_buf *out;              /* of the sections */
    assay_buf *nav;              /* the list of links to them */
    size_t end;                  /* out->size at which the part that is being written takes no more items */
    const assay_params *classes; /* of the aggregation that names the classes; NULL: nobody does */
    unsigned next_id;
} html_page;

/* ---- text: html_text.c ---- */

/* Appends markup in printf form: what is put in has to be numbers or constant texts. */
void html_put(html_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends text from a trial or a job, for an element or an attribute in double quotes: the one place that escapes.
 * Control characters and those that turn the direction of writing are shown as \n, \u202e; bytes that are not UTF-8 as
 * U+FFFD. At most `most` characters, then "...". */
void html_text_n(html_page *page, const char *text, size_t length, size_t most);
void html_text(html_page *page, const char *text); /* HTML_MESSAGE characters */
/* A name: <span class="name">, cut in its middle when it is long, the whole in its title. */
void html_name(html_page *page, const char *name);
/* The same as plain text without markup, for attributes and for elements of SVG. */
void html_short_name(html_page *page, const char *name, size_t most);
/* A text of several lines as <pre>. */
void html_lines(html_page *page, const char *text, size_t length);
/* The first line of a message as a paragraph, further ones, which show a place in a text, as <pre>. */
void html_message(html_page *page, const char *text, size_t length);
/* A class: its number, and its name where an aggregation wrong_predictions of the job says it. */
void html_class(html_page *page, const char *number);
/* A number in the six digits that people read. */
void html_number(html_page *page, double value);

/* ---- the page: html.c ---- */

/* Remembers the first failure; ASSAY_OK is none. */
static inline void html_fail(html_page *page, int status)
{
    if (page->out->status == ASSAY_OK)
        page->out->status = status;
}

static inline bool html_full(const html_page *page)
{
    return page->out->size >= page->end;
}

/* Starts a section of the page with at most `budget` bytes, and its link. `id` and `title` are constants. */
void html_section(html_page *page, const char *id, const char *title, size_t budget);
void html_section_end(html_page *page);
/* For loops over trials: the end of the part of trial `i`, which may take its share of what is left before `end`. */
size_t html_share(const html_page *page, size_t end, size_t i, size_t count);
/* A section over the job's aggregations: `put` writes number `i`, and begins the section when it is not `open` yet; it
 * returns false when it had nothing to write. Each takes its share of the section's bytes. */
void html_each_aggregation(html_page *page, bool (*put)(html_page *page, size_t i, bool open));
/* The heading of a trial's part: with several trials an <h3>, and with many of them a <details>. */
void html_trial_begin(html_page *page, size_t trial, const char *remark);
void html_trial_end(html_page *page);
/* "... and 12 more rules; report.json has all of them." in an element of its own; nothing when there are none. */
void html_more(html_page *page, uint64_t left, const char *what);

/* True for a trial that is like the others, where only those that are not are shown by themselves. html_compare.c */
bool html_is_usual(const html_page *page, size_t trial);
/* How many trials are shown by themselves. */
size_t html_shown_trials(const html_page *page);

/* True for a trial that could be opened. */
static inline bool html_read(const assay_trial_outcome *trial)
{
    return trial->status == ASSAY_OK && trial->info;
}

/* A status as a badge: shape, word and colour. */
void html_status(html_page *page, int status);
/* The shape alone as a cell of a large table. */
void html_status_cell(html_page *page, int status);
/* The shape alone, the word in its title and for screen readers. */
void html_status_mark(html_page *page, int status);

/* ---- charts ---- */

typedef struct html_series {
    const char *name;
    const double *x, *y; /* ascending in x; y may be nan or infinite, which is marked */
    size_t count;
    int style; /* 0 .. HTML_STYLES - 1: colour and dashes */
} html_series;
enum { HTML_STYLES = 8, HTML_SERIES = 8 /* that one chart shows */ };

/* An area between two lines. */
typedef struct html_band {
    const char *name;
    const double *x, *low, *high; /* ascending in x; finite */
    size_t count;
} html_band;

typedef struct html_chart {
    const char *title, *x_label, *y_label;
    const char *remark;    /* NULL: none; below the title */
    const html_band *band; /* behind the lines; NULL: none */
    const html_series *series;
    size_t count;
    const html_series *pale; /* behind the lines, thin and all alike, with no name in the legend; NULL: none */
    size_t pales;
    const char *pale_word; /* what they are */
    const double *mark;    /* ascending in x: short bars at the lower edge; NULL: none */
    size_t marks;
    const char *mark_word; /* what they are */
    size_t room;           /* bytes it may take, about: with few of them it is drawn in fewer columns, without dots */
} html_chart;

enum { HTML_CHART_LEAST = 3000 }; /* less room makes no chart */

/* Appends a chart of lines with its legend, description, and the numbers behind it. html_chart.c */
void html_put_chart(html_page *page, const html_chart *chart);

/* Marks over the saved steps of a trial, as one row of a strip: columns of steps, at most HTML_COLUMNS. html_strip.c */
typedef struct html_strip {
    uint64_t steps;
    unsigned columns;
    uint8_t mark[HTML_COLUMNS]; /* 1: some step of the column has the mark */
} html_strip;
void html_strip_init(html_strip *strip, uint64_t steps);
void html_strip_mark(html_strip *strip, uint64_t position);
/* The <svg> of the strip; `what` says what it shows, e.g. "VanishingGradient fired at steps 10-40"; escaped here. */
void html_put_strip(html_page *page, const html_strip *strip, const char *class, const char *what);
/* The axis below strips: the first and the last step and some between. */
void html_put_step_axis(html_page *page, const assay_trial *info);

/* ---- sections, in their order on the page ---- */
void html_statuses(html_page *page);                                 /* html_status.c */
void html_comparison(html_page *page);                               /* html_compare.c */
void html_paces(html_page *page, const struct assay_comparison *c);  /* its part about time: html_pace.c */
void html_matrix(html_page *page, const struct assay_comparison *c); /* rules and trials: html_matrix.c */
/* Tables of a comparison (html_compare.c): the name of a trial, a head cell with it, and what is around the rows.
 * `left` rows of `what` are said to be left out. */
const char *html_trial_name(const struct assay_comparison *c, size_t trial);
void html_trial_head(html_page *page, const struct assay_comparison *c, size_t trial);
void html_table_begin(html_page *page, const char *label, const char *class);
void html_table_end(html_page *page, size_t left, const char *what);
void html_findings(html_page *page);    /* html_findings.c */
void html_rule_strips(html_page *page); /* html_strip.c */
void html_losses(html_page *page);      /* html_curves.c */
void html_tensors(html_page *page);
void html_images(html_page *page);       /* html_images.c */
void html_class_counts(html_page *page); /* html_classes.c */
void html_confusions(html_page *page);   /* html_confusion.c */
void html_histograms(html_page *page);   /* html_histograms.c */
void html_completeness(html_page *page); /* html_damage.c */
void html_problems(html_page *page);
void html_settings(html_page *page); /* html_run.c */
void html_run(html_page *page);
void html_profiles(html_page *page); /* html_profile.c */

/* The losses of the trials that are unlike the others, over the band of those. html_overlay.c */
void html_odd_losses(html_page *page);

/* What an aggregation put into report.json, parsed; NULL when there is nothing or no memory. The caller frees it. */
cJSON *html_members(html_page *page, const report_rule *rule);

/* Appends report.html (docs/report-html.md). Returns the buffer's status or ASSAY_ENOMEM. */
int report_put_html(const assay_report *report, const assay_report_origin *origin, assay_buf *out);

#endif
