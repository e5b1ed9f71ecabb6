/* report_losses.c - what a trial lacks, as text: incomplete steps, and damage. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "report/forms/forms.h"
#include "report/text/layout.h"

enum { PROBLEMS_SHOWN = 20 };

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

/* One line: the steps of sorted[from, to), which lack the same workers. */
static void put_same_missing(const assay_trial_outcome *trial, const assay_worker_names *names,
                             const assay_incomplete *const *sorted, size_t count, int64_t *steps,
                             const assay_draw *draw, assay_buf *out)
{
    assay_buf line;
    assay_buf_init(&line, ASSAY_REPORT_CEILING);
    for (size_t i = 0; i < count; i++)
        steps[i] = sorted[i]->step;
    assay_worker_names_put(names, sorted[0]->missing, sorted[0]->missing_count, &line);
    if (sorted[0]->unnamed > 0)
        assay_put_format(&line, " and %" PRIu32 " others", sorted[0]->unnamed);
    assay_put_format(&line, ": step%s ", assay_plural(count));
    report_put_steps(trial->info, steps, count, REPORT_RUNS_OF_STEPS, &line);
    assay_text_put_wrapped(out, draw, 4, "  ", (const char *)line.data, line.size);
    assay_buf_release(&line);
}

/* What was left out by choice. */
static void put_choice(const assay_trial_outcome *trial, const assay_draw *draw, assay_buf *out)
{
    assay_buf line;
    assay_buf_init(&line, ASSAY_REPORT_CEILING);
    assay_put_format(&line, "Recorded by choice: ");
    if (report_put_choice(trial, &line)) {
        assay_put_format(&line, ". Nothing here judges the rest.");
        assay_text_put_wrapped(out, draw, 0, NULL, (const char *)line.data, line.size);
    }
    assay_buf_release(&line);
}

void assay_report_put_completeness(const assay_trial_outcome *trial, const assay_worker_names *names,
                                   const assay_draw *draw, assay_buf *out)
{
    size_t count = trial->incomplete_count;
    assay_report_put_heading(out, "Completeness");
    put_choice(trial, draw, out);
    if (count == 0) {
        assay_put_format(out, "%s\n", report_steps_in_words(trial));
        return;
    }
    const assay_incomplete **sorted = assay_alloc_zeroed(count, sizeof *sorted);
    int64_t *steps = assay_alloc_zeroed(count, sizeof *steps);
    if (sorted && steps) {
        for (size_t i = 0; i < count; i++)
            sorted[i] = &trial->incomplete[i];
        qsort(sorted, count, sizeof *sorted, compare_incomplete);
        assay_put_format(out, "%zu of %" PRIu64 " steps %s not complete. These were never written:\n", count,
                         assay_trial_steps(trial->info), count == 1 ? "is" : "are");
        for (size_t from = 0, to; from < count; from = to) {
            for (to = from + 1; to < count && compare_missing(sorted[from], sorted[to]) == 0; to++)
                ;
            put_same_missing(trial, names, sorted + from, to - from, steps, draw, out);
        }
    } else if (out->status == ASSAY_OK) {
        out->status = ASSAY_ENOMEM;
    }
    free(sorted);
    free(steps);
}

static void put_problem(const assay_problem *p, const assay_draw *draw, assay_buf *out)
{
    assay_buf line;
    size_t file = p->file ? strlen(p->file) : 0;
    bool said = file > 0 && strncmp(p->text, p->file, file) == 0; /* then the text gives the place itself */
    assay_buf_init(&line, ASSAY_REPORT_CEILING);
    assay_put_format(&line, "%s", assay_problem_word(p->kind));
    if (file > 0 && !said)
        assay_put_format(&line, " %s", p->file);
    if (p->offset >= 0 && !said)
        assay_put_format(&line, " at byte %" PRId64, p->offset);
    if (p->step >= 0)
        assay_put_format(&line, " (step %" PRId64 ")", p->step);
    assay_put_format(&line, ": %s", p->text);
    assay_text_put_wrapped(out, draw, 4, "  ", (const char *)line.data, line.size);
    assay_buf_release(&line);
}

/* Without checksums damage goes unnoticed, so an empty list of problems would promise too much. */
static void put_unsummed(const assay_trial_outcome *trial, const assay_draw *draw, assay_buf *out)
{
    assay_buf line;
    assay_buf_init(&line, ASSAY_REPORT_CEILING);
    if (trial->unsummed > 0) {
        assay_text_put_bytes(&line, trial->unsummed);
        assay_put_format(&line, " of the values read have no checksum; `assay pack` gives them one.");
        assay_text_put_wrapped(out, draw, 0, NULL, (const char *)line.data, line.size);
    }
    assay_buf_release(&line);
}

void assay_report_put_problems(const assay_trial_outcome *trial, const assay_draw *draw, assay_buf *out)
{
    const assay_problems *list = &trial->problems;
    assay_report_put_heading(out, "Problems");
    if (list->total == 0) {
        assay_put_format(out, "None: everything the trial lists could be read.\n");
        put_unsummed(trial, draw, out);
        return;
    }
    assay_put_format(out, "%" PRIu64 " found, %" PRIu64 " of them damage or loss:\n", list->total, list->losses);
    size_t shown = list->kept < PROBLEMS_SHOWN ? list->kept : PROBLEMS_SHOWN;
    for (size_t i = 0; i < shown; i++)
        put_problem(&list->list[i], draw, out);
    if (list->total > shown)
        assay_put_format(out, "  ... and %" PRIu64 " more.\n", list->total - shown);
    put_unsummed(trial, draw, out);
}
