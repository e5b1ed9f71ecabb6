/* damage.c - what a trial lacks: steps that some worker never wrote, damaged and missing parts. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "report/sections/sections.h"
#include "rule/trial_info.h"
#include "report/text/layout.h"
#include "report/text/workers.h"

/* ---- completeness ---- */

/* Missing workers ascend, so lists compare as numbers do. */
static int compare_missing(const assay_incomplete *a, const assay_incomplete *b)
{
    size_t common = a->missing_count < b->missing_count ? a->missing_count : b->missing_count;
    for (size_t i = 0; i < common; i++) {
        if (a->missing[i] != b->missing[i])
            return a->missing[i] < b->missing[i] ? -1 : 1;
    }
    return (a->missing_count > b->missing_count) - (a->missing_count < b->missing_count);
}

static int compare_incomplete(const void *a, const void *b)
{
    const assay_incomplete *x = *(const assay_incomplete *const *)a, *y = *(const assay_incomplete *const *)b;
    int order = compare_missing(x, y);
    return order ? order : (x->step > y->step) - (x->step < y->step);
}

/* Puts one item: the steps of sorted[0, count), which lack the same workers. `steps` is room for all of them. */
static void put_same_missing(const assay_trial_outcome *trial, const assay_worker_names *names,
                             const assay_incomplete *const *sorted, size_t count, int64_t *steps, doc *d)
{
    assay_buf line = ASSAY_BUF(ASSAY_REPORT_CEILING);
    for (size_t i = 0; i < count; i++)
        steps[i] = sorted[i]->step;
    assay_worker_names_put(names, sorted[0]->missing, sorted[0]->missing_count, &line);
    if (sorted[0]->unnamed > 0)
        assay_put_format(&line, " and %" PRIu32 " others", sorted[0]->unnamed);
    assay_put_format(&line, ": step%s ", assay_plural(count));
    report_put_steps(trial->info, steps, count, REPORT_RUNS_OF_STEPS, &line);
    doc_item(d);
    doc_put_text(d, (const char *)line.data, line.size);
    doc_fail(d, assay_buf_status(&line));
    assay_buf_release(&line);
}

static void put_incomplete(const assay_trial_outcome *trial, const assay_worker_names *names, doc *d)
{
    const size_t count = trial->incomplete_count;
    const assay_incomplete **sorted = assay_alloc_zeroed(count, sizeof *sorted);
    int64_t *steps = assay_alloc_zeroed(count, sizeof *steps);
    doc_fail(d, sorted && steps ? ASSAY_OK : ASSAY_ENOMEM);
    if (sorted && steps) {
        for (size_t i = 0; i < count; i++)
            sorted[i] = &trial->incomplete[i];
        qsort(sorted, count, sizeof *sorted, compare_incomplete);
        doc_paragraph(d);
        doc_put(d, "%zu of %" PRIu64 " steps %s not complete. These were never written:", count,
                assay_trial_steps(trial->info), count == 1 ? "is" : "are");
        doc_list(d, false);
        for (size_t from = 0, to; from < count; from = to) {
            for (to = from + 1; to < count && compare_missing(sorted[from], sorted[to]) == 0; to++)
                ;
            put_same_missing(trial, names, sorted + from, to - from, steps, d);
        }
    }
    free(sorted);
    free(steps);
}

/* Bisection, as lists of missing workers ascend. */
static bool lacks(const assay_incomplete *step, uint32_t worker)
{
    return bsearch(&worker, step->missing, step->missing_count, sizeof worker, assay_order_u32) != NULL;
}

/* Puts a lane for each worker that lacks steps, dark where it does. Of thousands of steps every so many-th is drawn,
 * as a lane has fewer columns. */
static void put_map(const assay_trial_outcome *trial, const assay_worker_names *names, doc *d)
{
    enum { LANES = 40, POINTS = 500 /* a lane is drawn in fewer columns */ };
    const size_t steps = trial->incomplete_count < POINTS ? trial->incomplete_count : POINTS;
    const size_t every = (trial->incomplete_count + POINTS - 1) / POINTS;
    const uint64_t saved = assay_trial_steps(trial->info);
    doc_series series[LANES];
    char name[LANES][ASSAY_WORKER_ROOM];
    size_t lanes = 0;
    double *room = assay_alloc_zeroed(2 * LANES * steps, sizeof *room);
    doc_fail(d, room ? ASSAY_OK : ASSAY_ENOMEM);
    for (uint32_t w = 0; room && w < assay_named_workers(&trial->catalog) && lanes < LANES; w++) {
        double *x = room + 2 * lanes * steps, *y = x + steps;
        size_t count = 0;
        for (size_t i = 0; i < trial->incomplete_count; i++) {
            if (i / every < count || !lacks(&trial->incomplete[i], w)) /* at most one of so many neighbours */
                continue;
            x[count] = (double)trial->incomplete[i].step;
            y[count++] = 1;
        }
        if (count == 0)
            continue;
        const char *known = assay_worker_name(names, w, name[lanes]);
        series[lanes] = (doc_series){known, x, y, count, 0};
        lanes++;
    }
    if (lanes > 0 && saved > 1) {
        doc_only(d, DOC_HTML);
        doc_put_chart(d, NULL,
                      &(doc_chart){.kind = DOC_HEAT,
                                   .title = "Steps that workers never wrote",
                                   .x_label = "step",
                                   .y_label = "missing",
                                   .x_least = (double)assay_trial_step(trial->info, 0)->step,
                                   .x_most = (double)assay_trial_step(trial->info, saved - 1)->step,
                                   .series = series,
                                   .count = lanes});
    }
    free(room);
}

void sections_put_completeness(const assay_trial_outcome *trial, doc *d)
{
    assay_buf line = ASSAY_BUF(ASSAY_REPORT_CEILING);
    assay_worker_names names;
    const int status = assay_worker_names_init(&names, &trial->catalog);
    doc_fail(d, status);
    if (status != ASSAY_OK)
        return;
    if (report_put_choice(trial, &line)) {
        doc_paragraph(d);
        const bool traced = trial->info && assay_trial_traces(trial->info) != NULL;
        doc_put(d, traced ? "Recorded: " : "Recorded by choice: "); /* a trace may have been lost */
        doc_put_words(d, (const char *)line.data, line.size);
        doc_put(d, ". Nothing here judges the rest.");
    }
    assay_buf_release(&line);
    if (trial->incomplete_count == 0) {
        doc_paragraph(d);
        doc_put(d, "%s", report_steps_in_words(trial));
    } else {
        put_map(trial, &names, d);
        put_incomplete(trial, &names, d);
    }
    assay_buf holes = ASSAY_BUF(ASSAY_REPORT_CEILING);
    if (report_put_holes(trial->info, &holes)) {
        doc_paragraph(d);
        doc_put_words(d, (const char *)holes.data, holes.size);
        doc_put(d, ".");
    }
    assay_buf_release(&holes);
    assay_worker_names_release(&names);
}

/* ---- problems ---- */

static void put_problem(const assay_problem *p, doc *d)
{
    const size_t file = p->file ? strlen(p->file) : 0;
    const bool said = file > 0 && strncmp(p->text, p->file, file) == 0; /* then the text gives the place itself */
    doc_item(d);
    doc_put(d, "%s", assay_problem_word(p->kind));
    if (file > 0 && !said) {
        doc_put(d, " ");
        doc_put_name(d, p->file);
    }
    if (p->offset >= 0 && !said)
        doc_put(d, " at byte %" PRId64, p->offset);
    if (p->step >= 0)
        doc_put(d, " (step %" PRId64 ")", p->step);
    doc_put(d, ": ");
    doc_put_text(d, p->text, strlen(p->text));
}

/* Puts what a log had that could not be used, though it is no damage: ", but for 2 bad rows, 1 growing". Without a
 * document only tells whether there is some. */
static bool put_unused(const assay_log_facts *log, doc *d)
{
    static const char *const unused[] = {"bad rows", "bad steps", "long names", "growing", "unread losses"};
    bool some = false;
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++) {
        const uint64_t count = assay_log_facts_count(log, unused[i]);
        if (count > 0 && d)
            doc_put(d, "%s %" PRIu64 " %s", some ? "," : ", but for", count, unused[i]);
        some = some || count > 0;
    }
    return some;
}

static void put_problems(const assay_trial_outcome *trial, const char *none, doc *d)
{
    enum { PROBLEMS_SHOWN = 20 };
    const assay_problems *list = &trial->problems;
    doc_paragraph(d);
    if (list->total == 0) {
        doc_put(d, "%s", none);
        put_unused(&trial->catalog.log, d);
        doc_put(d, ".");
    } else
        doc_put(d, "%" PRIu64 " found, %" PRIu64 " of them damage or loss:", list->total, list->losses);
    if (list->total > 0)
        doc_list(d, false);
    const size_t shown = list->kept < PROBLEMS_SHOWN ? list->kept : PROBLEMS_SHOWN;
    for (size_t i = 0; i < shown; i++)
        put_problem(&list->list[i], d);
    if (list->total > shown) {
        doc_item(d);
        doc_put(d, "... and %" PRIu64 " more.", list->total - shown);
    }
    /* without checksums damage goes unnoticed, so an empty list of problems would promise too much */
    if (trial->unsummed == 0)
        return;
    assay_buf size = ASSAY_BUF(256);
    assay_text_put_bytes(&size, trial->unsummed);
    doc_paragraph(d);
    doc_put_words(d, (const char *)size.data, size.size);
    doc_put(d, " of the values read have no checksum; `assay pack` gives them one.");
    assay_buf_release(&size);
}

void sections_put_problems(const assay_trial_outcome *trial, doc *d)
{
    put_problems(trial, "Everything that the trial lists could be read", d);
}

void sections_put_problems_of_list(const assay_trial_outcome *trial, doc *d)
{
    put_problems(
        trial, "No damage in what a list looks at: the index, the sizes of files, and the first record of each tensor",
        d);
}

static bool is_whole(const assay_trial_outcome *trial)
{
    return trial->status == ASSAY_OK && trial->incomplete_count == 0 && trial->problems.total == 0 &&
           !put_unused(&trial->catalog.log, NULL) && !report_put_holes(trial->info, NULL);
}

static void put_trial(const assay_report *report, size_t t, doc *d)
{
    const assay_trial_outcome *trial = &report->outcome->trials[t];
    sections_begin_trial(report, d, t);
    if (sections_read(trial)) {
        sections_put_completeness(trial, d);
        sections_put_problems(trial, d);
    } else {
        doc_alert(d);
        doc_put_text(d, trial->error.text, strlen(trial->error.text));
    }
    sections_end_trial(report, d);
}

void section_damage(const assay_report *report, doc *d)
{
    const assay_outcome *outcome = report->outcome;
    size_t broken = 0;
    for (size_t t = 0; t < outcome->trial_count; t++)
        broken += !is_whole(&outcome->trials[t]);
    if (broken == 0 && outcome->trial_count > 1) {
        doc_only(d, DOC_TEXT | DOC_HTML | DOC_JSON);
        doc_section(d, "completeness", "Completeness and damage");
        doc_fold(d);
        doc_paragraph(d);
        doc_put(d, "Of all %zu trials every worker wrote every step, and all that they list could be read.",
                outcome->trial_count);
        doc_end(d);
        return;
    }
    if (broken == 0) /* Markdown takes only what is not whole */
        doc_only(d, DOC_TEXT | DOC_HTML | DOC_JSON);
    doc_section(d, "completeness", "Completeness and damage");
    if (broken == 0)
        doc_fold(d);
    for (size_t t = 0; t < outcome->trial_count; t++)
        if (!is_whole(&outcome->trials[t]) || outcome->trial_count == 1)
            put_trial(report, t, d);
    if (broken < outcome->trial_count && outcome->trial_count > 1) {
        doc_paragraph(d);
        doc_put(d, "%zu other trial%s whole.", outcome->trial_count - broken,
                outcome->trial_count - broken == 1 ? " is" : "s are");
    }
    doc_end(d);
}
