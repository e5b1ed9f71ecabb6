/* html.h - report.html: the page while it is written, and what its sections share. Inside report only.
 *
 * The file stays below HTML_MOST for any outcome: every section has a budget of bytes and asks html_full() before each
 * item, and items are bounded because names and messages are cut. Each section counts what it left out. */
#pragma once

#include "base/json.h"
#include "report/document/chart_svg.h"
#include "report/document/markup.h"
#include "report/model/report_model.h"
#include "report/report.h"

enum { HTML_MOST = 5000000 };

/* Bytes of each section. What a section writes beyond, its last item and its end, fits into the rest. */
enum {
    HTML_BUDGET_CLASSES = 250000,
    HTML_BUDGET_CONFUSION = 350000,
    HTML_BUDGET_IMAGES = 400000,
    HTML_BUDGET_TENSORS = 400000,
    HTML_BUDGET_HISTOGRAMS = 150000,
    HTML_BUDGET_RUN = 60000,
    HTML_BUDGET_DOCUMENT = 3000000,
};
_Static_assert(HTML_BUDGET_DOCUMENT + HTML_BUDGET_CLASSES + HTML_BUDGET_CONFUSION + HTML_BUDGET_IMAGES +
                       HTML_BUDGET_TENSORS + HTML_BUDGET_RUN + HTML_BUDGET_HISTOGRAMS <=
                   HTML_MOST - 300000,
               "the sections fit into the file");

enum {
    HTML_NAME = MARKUP_NAME,
    HTML_TITLE = MARKUP_TITLE,
    HTML_MESSAGE = MARKUP_MESSAGE,
    HTML_COLUMNS = 500,  /* columns that a strip or a curve is drawn in: more steps share one */
    HTML_OPEN_TRIALS = 6 /* more trials than that: the parts about single ones are closed at first */
};

typedef struct html_page {
    const assay_outcome *outcome;
    const struct assay_comparison *comparison; /* NULL: not compared */
    bool only_odd; /* of single trials, those alone that are unlike the others are shown by themselves */
    bool so_far;   /* the trials are being written */
    const assay_report_origin *origin;
    assay_buf *out;              /* of the sections */
    assay_buf *nav;              /* the list of links to them */
    size_t end;                  /* out->size at which the part that is being written takes no more items */
    const assay_params *classes; /* of the aggregation that names the classes; NULL: nobody does */
} html_page;

/* ---- text: document/markup.h, into the page ---- */

#define html_put(page, ...) markup_put((page)->out, __VA_ARGS__)
static inline void html_text_n(html_page *page, const char *text, size_t length, size_t most)
{
    markup_text_n(page->out, text, length, most);
}
static inline void html_text(html_page *page, const char *text)
{
    markup_text(page->out, text);
}
static inline void html_name(html_page *page, const char *name)
{
    markup_name(page->out, name);
}
static inline void html_short_name(html_page *page, const char *name, size_t most)
{
    markup_short_name(page->out, name, most);
}
static inline void html_lines(html_page *page, const char *text, size_t length)
{
    markup_lines(page->out, text, length);
}
static inline void html_message(html_page *page, const char *text, size_t length)
{
    markup_message(page->out, text, length);
}
/* A class: its number, and its name where an aggregation wrong_predictions of the job says it. */
void html_class(html_page *page, const char *number);
void html_class_number(html_page *page, int64_t number);

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
/* Ends what html_trial_begin() opened: nothing where there is one trial. */
void html_trial_end(html_page *page);
/* "... and 12 more rules; report.json has all of them." in an element of its own; nothing when there are none. */
void html_more(html_page *page, uint64_t left, const char *what);

/* True for a trial that is like the others, where only those that are not are shown by themselves. */
bool html_is_usual(const html_page *page, size_t trial);
/* How many trials are shown by themselves. */
size_t html_shown_trials(const html_page *page);

/* True for a trial that could be opened. */
static inline bool html_read(const assay_trial_outcome *trial)
{
    return trial->status == ASSAY_OK && trial->info;
}

/* ---- how the elements of a tensor are distributed over the steps of a mode ---- */
typedef struct html_histogram {
    const char *tensor, *mode;
    size_t count;     /* steps */
    double *step;     /* [count] */
    double *quantile; /* [ASSAY_HISTOGRAM_LEVELS][count], all in one allocation with `step` */
} html_histogram;
/* Its quantiles as lines, and a histogram a step. (html_histograms.c) */
void html_put_histogram(html_page *page, const html_histogram *h);

/* A trial whose tensors are read once more, for the histograms of a few of them: no larger than that takes a moment, and on
 * this machine's disks. NULL where it is not. (html_elements.c) */
struct assay_recording *html_read_again(html_page *page, const assay_trial_outcome *trial);
struct assay_tensor_curve;
/* Reads the elements of a tensor at some of the steps of training that its curve spans; false where they were not saved, or
 * are too many. out->step is to be freed. What cannot be read though the run could fails the page. */
bool html_read_elements(html_page *page, struct assay_recording *recording, const char *tensor,
                        const struct assay_tensor_curve *curve, html_histogram *out);

/* ---- sections with pictures of their own, in their order on the page ---- */
void html_tensors(html_page *page);      /* html_curves.c */
void html_class_counts(html_page *page); /* html_classes.c */
void html_confusions(html_page *page);   /* html_confusion.c */
void html_images(html_page *page);       /* html_images.c */
void html_histograms(html_page *page);   /* html_histograms.c */

/* What an aggregation put into report.json, parsed; NULL when there is nothing or no memory. The caller frees it. */
cJSON *html_members(html_page *page, const report_rule *rule);

/* Appends report.html (docs/report-html.md). Returns the buffer's status or ASSAY_ENOMEM. */
int report_put_html(const assay_report *report, const assay_report_origin *origin, assay_buf *out);
