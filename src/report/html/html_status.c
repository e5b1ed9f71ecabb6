/* html_status.c - the first thing on the page: each trial's rules with their status and first finding. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/html/html.h"

/* By assay_verdict_status: a class, a shape that differs without colour, and a word. */
static const struct {
    const char *class, *shape, *word;
} STATUS[] = {
    [ASSAY_ISSUES_FOUND] = {"bad", "\u25b2", "Issues found"},
    [ASSAY_NO_ISSUES_FOUND] = {"good", "\u2713", "No issues found"},
    [ASSAY_NO_DATA] = {"none", "\u25cb", "No data"},
    [ASSAY_RULE_ERROR] = {"broken", "\u2715", "Error"},
};

void html_status(html_page *page, int status)
{
    html_put(page, "<span class=\"status %s\"><span aria-hidden=\"true\">%s</span> %s</span>", STATUS[status].class,
             STATUS[status].shape, STATUS[status].word);
}

void html_status_mark(html_page *page, int status)
{
    html_put(page, "<span class=\"status %s\" title=\"%s\" role=\"img\" aria-label=\"%s\">%s</span>",
             STATUS[status].class, STATUS[status].word, STATUS[status].word, STATUS[status].shape);
}

void html_status_cell(html_page *page, int status)
{
    html_put(page, "<td class=\"%s\">%s</td>", STATUS[status].class, STATUS[status].shape);
}

static void put_first(html_page *page, const assay_trial *info, const report_origin *origin)
{
    const assay_finding *first = origin->finding;
    const assay_step_info *step = report_finding_step(info, first);
    const char *tensor = origin->tensor, *worker = origin->worker;
    char when[REPORT_WHEN_ROOM];
    html_put(page, "%s", report_finding_when_in_words(first, when));
    if (step)
        html_put(page, " <span class=\"dim\">(%s %" PRId64 ")</span>", assay_mode_name(step->mode), step->mode_step);
    if (strcmp(worker, "*") != 0) {
        html_put(page, ", ");
        html_name(page, worker);
    }
    if (tensor[0]) {
        html_put(page, "<br>");
        html_name(page, tensor);
    }
    if (origin->cause.size > 0) {
        html_put(page, "<br><span class=\"dim\">");
        html_text_n(page, (const char *)origin->cause.data, origin->cause.size, HTML_TITLE);
        html_put(page, "</span>");
    }
}

static void put_row(html_page *page, size_t trial, size_t i)
{
    const assay_trial_outcome *t = &page->outcome->trials[trial];
    report_rule rule = report_rule_of(page->outcome, t, i, false);
    report_origin origin;
    report_find_origin(t->info, &rule, &origin);
    bool linked = rule.status == ASSAY_ISSUES_FOUND || rule.message_size > 0;
    html_put(page, "<tr role=\"row\" class=\"is-%s\"><td role=\"cell\" data-head=\"Status\">",
             STATUS[rule.status].class);
    html_status(page, rule.status);
    html_put(page, "</td><th role=\"rowheader\" scope=\"row\" data-head=\"Rule\">");
    if (linked)
        html_put(page, "<a href=\"#t%zur%zu\">", trial, i);
    html_name(page, rule.instance->name);
    html_put(
        page,
        "%s</th><td role=\"cell\" data-head=\"Severity\">%s</td><td role=\"cell\" class=\"n\" data-head=\"Findings\">",
        linked ? "</a>" : "", assay_severity_name(rule.instance->severity));
    if (report_datapoints(&rule) > 0)
        html_put(page, "%" PRIu64 " <span class=\"dim\">of %" PRIu64 "</span>", report_findings_total(&rule),
                 report_datapoints(&rule));
    else
        html_put(page, "\u2013");
    html_put(page, "</td><td role=\"cell\" data-head=\"First finding\">");
    if (origin.finding)
        put_first(page, t->info, &origin);
    else
        html_put(page, "\u2013");
    html_put(page, "</td></tr>\n");
    report_origin_release(&origin);
}

/* The rows of the rules that found nothing, or of all others, in the order of every form. */
static size_t put_rows(html_page *page, size_t trial, const size_t *order, bool passed)
{
    size_t done = 0;
    for (size_t i = 0; i < page->outcome->job->rule_count && !html_full(page); i++) {
        report_rule rule = report_rule_of(page->outcome, &page->outcome->trials[trial], order[i], false);
        if ((rule.status == ASSAY_NO_ISSUES_FOUND) != passed)
            continue;
        put_row(page, trial, order[i]);
        done++;
    }
    return done;
}

static void begin_rows(html_page *page)
{
    html_put(page, "<table role=\"table\" class=\"stack\"><thead role=\"rowgroup\"><tr role=\"row\">"
                   "<th role=\"columnheader\">Status</th><th role=\"columnheader\">Rule</th>");
    html_put(page, "<th role=\"columnheader\">Severity</th><th role=\"columnheader\" class=\"n\">Findings</th>"
                   "<th role=\"columnheader\">First finding</th></tr></thead><tbody role=\"rowgroup\">\n");
}

/* Rules that found nothing are folded, where others come before them. */
static void put_table(html_page *page, size_t trial)
{
    size_t count = page->outcome->job->rule_count, passed = 0, done = 0, *order;
    int status = report_order_rules(page->outcome, &page->outcome->trials[trial], &order);
    if (status != ASSAY_OK) {
        page->out->status = page->out->status == ASSAY_OK ? status : page->out->status;
        return;
    }
    for (size_t i = 0; i < count; i++)
        passed +=
            report_rule_of(page->outcome, &page->outcome->trials[trial], i, false).status == ASSAY_NO_ISSUES_FOUND;
    bool fold = passed > 0 && passed < count;
    if (passed < count) {
        begin_rows(page);
        done += put_rows(page, trial, order, false);
        html_put(page, "</tbody></table>\n");
    }
    if (fold)
        html_put(page, "<details><summary>%zu rule%s found nothing</summary>\n", passed, assay_plural(passed));
    if (passed > 0) {
        begin_rows(page);
        done += put_rows(page, trial, order, true);
        html_put(page, "</tbody></table>\n");
    }
    if (fold)
        html_put(page, "</details>\n");
    free(order);
    html_more(page, count - done, "rules");
}

static const char *end_of(const assay_trial_outcome *trial)
{
    return trial->catalog.ended ? "training has ended" : "no end marker: still running, or stopped";
}

/* One line about the trial: workers, steps by mode, tensors, whether it has ended. */
static void put_facts(html_page *page, const assay_trial_outcome *trial)
{
    report_mode mode[ASSAY_MODES];
    report_count_modes(trial->info, mode);
    html_put(page, "<p class=\"facts\"><span>");
    html_text_n(page, trial->trial->path, strlen(trial->trial->path), HTML_TITLE);
    html_put(page, "</span>");
    if (trial->catalog.format_count == 0) { /* events alone: nothing of a training's steps */
        html_put(page, "<span>%zu event file%s</span><span>%s</span></p>\n", trial->catalog.events.count,
                 assay_plural(trial->catalog.events.count), end_of(trial));
        return;
    }
    html_put(page, "<span>%" PRIu32 " worker%s", trial->catalog.workers, assay_plural(trial->catalog.workers));
    if (trial->catalog.expected_workers > trial->catalog.workers)
        html_put(page, " of %" PRIu32 " expected", trial->catalog.expected_workers);
    html_put(page, "</span><span>%" PRIu64 " step%s", assay_trial_steps(trial->info),
             assay_plural(assay_trial_steps(trial->info)));
    for (int m = ASSAY_MODE_TRAIN; m < ASSAY_MODES; m++) {
        if (mode[m].steps > 0)
            html_put(page, ", %s %" PRIu64, assay_mode_name(m), mode[m].steps);
    }
    html_put(page, "</span><span>%" PRIu32 " tensor%s</span><span>%s</span></p>\n", assay_trial_tensors(trial->info),
             assay_plural(assay_trial_tensors(trial->info)), end_of(trial));
}

/* "3 rules found issues, 1 has no data". */
static const char *summary(html_page *page, const assay_trial_outcome *trial, char *room, size_t size)
{
    size_t count[4] = {0};
    for (size_t i = 0; i < page->outcome->job->rule_count; i++)
        count[report_rule_of(page->outcome, trial, i, false).status]++;
    snprintf(room, size, "%zu found issues, %zu did not, %zu without data, %zu in error", count[ASSAY_ISSUES_FOUND],
             count[ASSAY_NO_ISSUES_FOUND], count[ASSAY_NO_DATA], count[ASSAY_RULE_ERROR]);
    return room;
}

static void put_trial(html_page *page, size_t t)
{
    const assay_trial_outcome *trial = &page->outcome->trials[t];
    char room[160];
    html_trial_begin(page, t, html_read(trial) ? summary(page, trial, room, sizeof room) : "not read");
    if (html_read(trial)) {
        put_facts(page, trial);
        if (page->outcome->job->rule_count > 0)
            put_table(page, t);
        else
            html_put(page, "<p>The job has no rules.</p>\n");
    } else {
        html_put(page, "<p class=\"alert\">");
        html_text(page, trial->error.text);
        html_put(page, "</p>\n");
    }
    html_trial_end(page);
}

static bool has_no_data(const assay_outcome *outcome)
{
    for (size_t t = 0; t < outcome->trial_count; t++)
        for (size_t i = 0; html_read(&outcome->trials[t]) && i < outcome->job->rule_count; i++)
            if (report_rule_of(outcome, &outcome->trials[t], i, false).status == ASSAY_NO_DATA)
                return true;
    return false;
}

void html_statuses(html_page *page)
{
    const assay_outcome *outcome = page->outcome;
    size_t shown = html_shown_trials(page), done = 0;
    html_section(page, "rules", "What the rules found", HTML_BUDGET_RULES);
    size_t end = page->end;
    for (size_t t = 0; t < outcome->trial_count && page->out->size < end; t++) {
        if (html_is_usual(page, t))
            continue;
        page->end = html_share(page, end, done++, shown);
        put_trial(page, t);
    }
    page->end = end;
    html_more(page, shown - done, "trials");
    if (shown < outcome->trial_count)
        html_put(
            page,
            "<p class=\"note\">Trials that are like the others, and not reported here: %zu (--all shows them).</p>\n",
            outcome->trial_count - shown);
    if (has_no_data(outcome))
        html_put(page, "<p class=\"note\">No data is not a pass: the rule's card says what was missing.</p>\n");
    html_section_end(page);
}
