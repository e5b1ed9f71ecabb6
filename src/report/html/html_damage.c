/* html_damage.c - what a trial lacks: the map of steps that workers never wrote, and damaged files. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "report/html/html.h"
#include "report/text/layout.h"

enum { LANES_SHOWN = 40, PROBLEMS_SHOWN = 60 };

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The lane of one worker: its missing steps. */
static void put_worker(html_page *page, const assay_trial_outcome *trial, const assay_worker_names *names,
                       uint32_t worker, int64_t *steps)
{
    char room[ASSAY_WORKER_ROOM];
    html_strip strip;
    assay_buf what;
    size_t count = 0;
    html_strip_init(&strip, assay_trial_steps(trial->info));
    for (size_t i = 0; i < trial->incomplete_count; i++) {
        const assay_incomplete *step = &trial->incomplete[i];
        if (!bsearch(&worker, step->missing, step->missing_count, sizeof worker, compare_numbers))
            continue;
        html_strip_mark(&strip, assay_trial_find_step(trial->info, step->step));
        steps[count++] = step->step;
    }
    assay_buf_init(&what, 4096);
    assay_put_format(&what, "missing: step%s ", assay_plural(count));
    report_put_steps(trial->info, steps, count, REPORT_RUNS_OF_STEPS, &what);
    assay_put_u8(&what, '\0');
    html_put(page, "<div class=\"lane\"><span class=\"lane-name\">");
    html_name(page, assay_worker_name(names, worker, room));
    html_put(page, "</span>");
    html_put_strip(page, &strip, "missing", assay_buf_status(&what) == ASSAY_OK ? (const char *)what.data : "");
    html_put(page, "<span class=\"lane-count\">%zu missing</span></div>\n", count);
    assay_buf_release(&what);
}

/* Workers by whether they lack a step; NULL without memory. The caller frees it. */
static uint8_t *lacking(const assay_trial_outcome *trial, uint32_t *count)
{
    const uint32_t workers = assay_named_workers(&trial->catalog);
    uint8_t *lacks = assay_alloc_zeroed(workers + (size_t)1, 1);
    *count = 0;
    for (size_t i = 0; lacks && i < trial->incomplete_count; i++) {
        const assay_incomplete *step = &trial->incomplete[i];
        for (uint32_t w = 0; w < step->missing_count; w++) {
            *count += step->missing[w] < workers && !lacks[step->missing[w]];
            if (step->missing[w] < workers)
                lacks[step->missing[w]] = 1;
        }
    }
    return lacks;
}

static void put_complete_lane(html_page *page, const assay_trial_outcome *trial, const assay_worker_names *names,
                              const uint8_t *lacks, uint32_t lacking_count)
{
    uint32_t all = assay_named_workers(&trial->catalog), count = 0;
    uint32_t *complete = assay_alloc_zeroed(all + (size_t)1, sizeof *complete);
    html_strip strip;
    assay_buf who;
    html_fail(page, complete ? ASSAY_OK : ASSAY_ENOMEM);
    if (all <= lacking_count || !complete) {
        free(complete);
        return;
    }
    for (uint32_t w = 0; w < all; w++) {
        if (!lacks[w])
            complete[count++] = w;
    }
    assay_buf_init(&who, 1 << 20);
    assay_worker_names_put(names, complete, count, &who);
    html_strip_init(&strip, assay_trial_steps(trial->info));
    html_put(page, "<div class=\"lane\"><span class=\"lane-name\">");
    html_put(page, "<span class=\"name\">");
    html_text_n(page, (const char *)who.data, who.size, HTML_NAME);
    html_put(page, "</span></span>");
    html_put_strip(page, &strip, "missing", "every step is there");
    html_put(page, "<span class=\"lane-count\">complete</span></div>\n");
    assay_buf_release(&who);
    free(complete);
}

static void put_lanes(html_page *page, const assay_trial_outcome *trial, const assay_worker_names *names)
{
    uint32_t count = 0, shown = 0;
    uint8_t *lacks = lacking(trial, &count);
    int64_t *steps = assay_alloc_zeroed(trial->incomplete_count + 1, sizeof *steps);
    if (!lacks || !steps) {
        html_fail(page, ASSAY_ENOMEM);
        free(lacks);
        free(steps);
        return;
    }
    html_put(page, "<div class=\"lanes\">\n");
    put_complete_lane(page, trial, names, lacks, count);
    for (uint32_t w = 0; w < assay_named_workers(&trial->catalog) && shown < LANES_SHOWN && !html_full(page); w++) {
        if (lacks[w]) {
            put_worker(page, trial, names, w, steps);
            shown++;
        }
    }
    html_put(page, "<div class=\"lane foot\"><span class=\"lane-name dim\">global step</span>");
    html_put_step_axis(page, trial->info);
    html_put(page, "<span class=\"lane-count\"></span></div></div>\n");
    html_more(page, count - shown, "workers with missing steps");
    free(lacks);
    free(steps);
}

static void put_trial_completeness(html_page *page, size_t t)
{
    const assay_trial_outcome *trial = &page->outcome->trials[t];
    assay_worker_names names;
    int status = assay_worker_names_init(&names, &trial->catalog);
    if (status != ASSAY_OK) {
        html_fail(page, status);
        return;
    }
    bool empty = assay_trial_steps(trial->info) == 0;
    html_trial_begin(page, t, trial->incomplete_count ? "steps are missing" : empty ? "no steps" : "complete");
    if (empty || trial->incomplete_count == 0) {
        html_put(page, "<p>%s</p>\n", report_steps_in_words(trial));
    } else {
        html_put(page, "<p>%zu of %" PRIu64 " steps %s not complete.</p>\n", trial->incomplete_count,
                 assay_trial_steps(trial->info), trial->incomplete_count == 1 ? "is" : "are");
        put_lanes(page, trial, &names);
    }
    html_trial_end(page);
    assay_worker_names_release(&names);
}

void html_completeness(html_page *page)
{
    const assay_outcome *outcome = page->outcome;
    size_t shown = html_shown_trials(page), done = 0;
    if (shown == 0)
        return;
    html_section(page, "completeness", "Completeness", HTML_BUDGET_COMPLETENESS);
    html_put(page, "<p class=\"note\">Saved steps from left to right, one lane a worker: a line where the worker "
                   "wrote, a gap with a "
                   "block in it where its files were never written.</p>\n");
    size_t end = page->end;
    for (size_t t = 0; t < outcome->trial_count && page->out->size < end; t++) {
        if (html_is_usual(page, t))
            continue;
        page->end = html_share(page, end, done++, shown);
        if (html_read(&outcome->trials[t]))
            put_trial_completeness(page, t);
    }
    page->end = end;
    html_more(page, shown - done, "trials");
    html_section_end(page);
}

static void put_problem(html_page *page, const assay_problem *p)
{
    html_put(page, "<tr><td>%s</td><td>", assay_problem_word(p->kind));
    html_name(page, p->file ? p->file : "");
    html_put(page, "</td><td class=\"n\">");
    if (p->offset >= 0)
        html_put(page, "%" PRId64, p->offset);
    html_put(page, "</td><td class=\"n\">");
    if (p->step >= 0)
        html_put(page, "%" PRId64, p->step);
    html_put(page, "</td><td>");
    html_text_n(page, p->text, strlen(p->text), HTML_TITLE);
    html_put(page, "</td></tr>\n");
}

static void put_trial_problems(html_page *page, size_t t)
{
    const assay_trial_outcome *trial = &page->outcome->trials[t];
    const assay_problems *list = &trial->problems;
    size_t i = 0;
    html_trial_begin(page, t, NULL);
    if (trial->status != ASSAY_OK) {
        html_put(page, "<p class=\"alert\">");
        html_text(page, trial->error.text);
        html_put(page, "</p>\n");
    }
    if (list->total > 0) {
        html_put(page, "<p>%" PRIu64 " found, %" PRIu64 " of them damage or loss.</p>\n", list->total, list->losses);
        html_put(page,
                 "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                 "aria-label=\"Problems\"><table><thead><tr><th>Kind</th>"
                 "<th>File</th><th class=\"n\">Byte</th><th class=\"n\">Step</th><th>What</th></tr></thead><tbody>\n");
        for (; i < list->kept && i < PROBLEMS_SHOWN && !html_full(page); i++)
            put_problem(page, &list->list[i]);
        html_put(page, "</tbody></table></div>\n");
        html_more(page, list->total - i, "problems");
    }
    html_trial_end(page);
}

void html_problems(html_page *page)
{
    const assay_outcome *outcome = page->outcome;
    size_t with = 0, done = 0;
    for (size_t t = 0; t < outcome->trial_count; t++)
        with += outcome->trials[t].status != ASSAY_OK || outcome->trials[t].problems.total > 0;
    html_section(page, "problems", "Problems", HTML_BUDGET_PROBLEMS);
    if (with == 0)
        html_put(page, "<p>None: everything that the trials list could be read.</p>\n");
    uint64_t unsummed = 0;
    for (size_t t = 0; t < outcome->trial_count; t++)
        unsummed += outcome->trials[t].unsummed;
    if (unsummed > 0) {
        html_put(page, "<p>");
        assay_text_put_bytes(page->out, unsummed);
        html_put(page, " of the values read have no checksum; <code>assay pack</code> gives them one.</p>\n");
    }
    size_t end = page->end;
    for (size_t t = 0; t < outcome->trial_count && page->out->size < end; t++) {
        if (outcome->trials[t].status == ASSAY_OK && outcome->trials[t].problems.total == 0)
            continue;
        page->end = html_share(page, end, done++, with);
        put_trial_problems(page, t);
    }
    page->end = end;
    html_more(page, with - done, "trials");
    html_section_end(page);
}
