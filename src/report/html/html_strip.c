/* html_strip.c - marks over the saved steps of a trial: when each rule fired. */
#include <inttypes.h>
#include <string.h>

#include "report/html/html.h"

void html_strip_init(html_strip *strip, uint64_t steps)
{
    memset(strip, 0, sizeof *strip);
    strip->steps = steps;
    strip->columns = steps < HTML_COLUMNS ? (unsigned)steps : HTML_COLUMNS;
}

void html_strip_mark(html_strip *strip, uint64_t position)
{
    if (position < strip->steps)
        strip->mark[(unsigned)((double)position * strip->columns / (double)strip->steps)] = 1;
}

void html_put_strip(html_page *page, const html_strip *strip, const char *class, const char *what)
{
    unsigned columns = strip->columns ? strip->columns : 1;
    html_put(page, "<svg class=\"strip %s\" viewBox=\"0 0 %u 10\" preserveAspectRatio=\"none\" role=\"img\"><title>",
             class, columns);
    html_text_n(page, what, strlen(what), HTML_TITLE);
    html_put(page, "</title><path class=\"track\" d=\"M0 5H%u\"/><path class=\"mark\" d=\"", columns);
    for (unsigned from = 0, to; from < strip->columns; from = to) {
        for (to = from + 1; to < strip->columns && strip->mark[to] == strip->mark[from]; to++)
            ;
        if (strip->mark[from])
            html_put(page, "M%u 0H%uV10H%uZ", from, to, from);
    }
    html_put(page, "\"/></svg>");
}

void html_put_step_axis(html_page *page, const assay_trial *info)
{
    uint64_t steps = assay_trial_steps(info);
    html_put(page, "<span class=\"axis\" aria-hidden=\"true\">");
    for (unsigned i = 0; i <= 4 && steps > 0; i++) {
        uint64_t at = (steps - 1) * i / 4;
        if (i == 0 || i == 4 || steps > 4)
            html_put(page, "<span>%" PRId64 "</span>", assay_trial_step(info, at)->step);
    }
    html_put(page, "</span>");
}

static void put_row(html_page *page, const assay_trial_outcome *trial, size_t trial_number, size_t i)
{
    report_rule rule = report_rule_of(page->outcome, trial, i, false);
    const assay_findings *found = rule.findings;
    html_strip strip;
    assay_buf what;
    assay_buf_init(&what, 4096);
    html_strip_init(&strip, assay_trial_steps(trial->info));
    for (size_t k = 0; found && !report_is_in_time(&rule) && k < found->step_count; k++)
        html_strip_mark(&strip, assay_trial_find_step(trial->info, found->steps[k]));
    if (found && found->step_count > 0) {
        assay_put_format(&what, "fired ");
        report_put_found(trial->info, &rule, REPORT_RUNS_OF_STEPS, &what);
    } else {
        assay_put_format(&what, rule.status == ASSAY_NO_DATA      ? "no data"
                                : rule.status == ASSAY_RULE_ERROR ? "error"
                                                                  : "never fired");
    }
    assay_put_u8(&what, '\0');
    if (assay_buf_status(&what) == ASSAY_ENOMEM)
        html_fail(page, ASSAY_ENOMEM);
    html_put(page, "<div class=\"lane\"><span class=\"lane-name\">");
    html_status_mark(page, rule.status);
    html_put(page, " ");
    if (rule.status == ASSAY_ISSUES_FOUND)
        html_put(page, "<a href=\"#t%zur%zu\">", trial_number, i);
    html_name(page, rule.instance->name);
    html_put(page, rule.status == ASSAY_ISSUES_FOUND ? "</a></span>" : "</span>");
    html_put_strip(page, &strip, rule.status == ASSAY_NO_DATA || rule.status == ASSAY_RULE_ERROR ? "void" : "bad",
                   assay_buf_status(&what) == ASSAY_OK ? (const char *)what.data : "");
    html_put(page, "<span class=\"lane-count\">");
    if (found && found->step_count > 0)
        html_put(page, "%zu step%s", found->step_count, assay_plural(found->step_count));
    html_put(page, "</span></div>\n");
    assay_buf_release(&what);
}

static void put_trial(html_page *page, size_t t)
{
    const assay_trial_outcome *trial = &page->outcome->trials[t];
    size_t count = page->outcome->job->rule_count, i = 0;
    html_trial_begin(page, t, NULL);
    if (html_read(trial) && assay_trial_steps(trial->info) > 0) {
        html_put(page, "<div class=\"lanes\">\n");
        for (; i < count && !html_full(page); i++)
            put_row(page, trial, t, i);
        html_put(page, "<div class=\"lane foot\"><span class=\"lane-name dim\">global step</span>");
        html_put_step_axis(page, trial->info);
        html_put(page, "<span class=\"lane-count\"></span></div></div>\n");
        html_more(page, count - i, "rules");
    } else {
        html_put(page, "<p>The trial has no steps to show.</p>\n");
    }
    html_trial_end(page);
}

void html_rule_strips(html_page *page)
{
    const assay_outcome *outcome = page->outcome;
    size_t shown = html_shown_trials(page), done = 0;
    if (outcome->job->rule_count == 0 || shown == 0)
        return;
    html_section(page, "when", "When each rule fired", HTML_BUDGET_WHEN);
    html_put(
        page,
        "<p class=\"note\">A block stands where a rule has findings; a bare line is a step without any, and a dotted "
        "one a rule that had no data. Saved steps from left to right; at most %d columns, so that a column of a long "
        "training holds several steps.</p>\n",
        HTML_COLUMNS);
    size_t end = page->end;
    for (size_t t = 0; t < outcome->trial_count && page->out->size < end; t++) {
        if (html_is_usual(page, t))
            continue;
        page->end = html_share(page, end, done++, shown);
        put_trial(page, t);
    }
    page->end = end;
    html_more(page, shown - done, "trials");
    html_section_end(page);
}
