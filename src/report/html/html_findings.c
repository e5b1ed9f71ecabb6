/* html_findings.c - one card for each rule with findings or remarks: what, where first, what to do, and parameters. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/html/html.h"

enum { OPEN_ROWS = 8, MOST_ROWS = 100, CELLS_SHOWN = 6, RUNS_SHOWN = 8 };

typedef struct card {
    const assay_trial_outcome *trial;
    report_rule rule;
    bool in_time;                              /* findings have a time, not a step */
    bool mode, test, tensor, detail, hardware; /* columns that only some rules fill */
} card;

static void put_detail(html_page *page, const assay_finding *f)
{
    for (uint32_t c = 0; c < f->cell_count && c < CELLS_SHOWN; c++)
        html_put(page, "%s%" PRId64 " as %" PRId64, c ? ", " : "", f->cells[2 * c], f->cells[2 * c + 1]);
    if (f->cell_count > CELLS_SHOWN)
        html_put(page, " and %" PRIu32 " more", f->cell_count - CELLS_SHOWN);
    if (f->note) {
        html_put(page, f->cell_count ? "; " : "");
        html_text_n(page, f->note, strlen(f->note), HTML_TITLE);
    }
}

/* Begins a cell. On a narrow screen a finding is a block of lines, each with its head in front. */
static void put_cell(html_page *page, const char *attribute, const char *head)
{
    html_put(page, "<td role=\"cell\"%s data-head=\"%s\">", attribute, head);
}

static void put_unit(html_page *page, const card *c, const assay_finding *f)
{
    assay_buf unit;
    if (!report_has_unit(&c->rule, f))
        return;
    assay_buf_init(&unit, ASSAY_REPORT_CEILING);
    report_put_unit(c->trial->info, &c->rule, f, f->value == 1, &unit);
    html_put(page, " ");
    html_text_n(page, (const char *)unit.data, unit.size, HTML_NAME);
    html_fail(page, assay_buf_status(&unit));
    assay_buf_release(&unit);
}

static void put_hardware(html_page *page, const assay_trial *info, const assay_finding *f)
{
    assay_step_time at;
    assay_buf words;
    if (!report_find_hardware(info, f, &at))
        return;
    assay_buf_init(&words, 4096);
    report_put_hardware(&at, ASSAY_METRICS, &words);
    html_text_n(page, (const char *)words.data, words.size, HTML_TITLE);
    assay_buf_release(&words);
}

static void put_finding(html_page *page, const card *c, const assay_finding *f)
{
    const assay_trial *info = c->trial->info;
    const assay_step_info *step = report_finding_step(info, f);
    const char *test = report_finding_test(&c->rule, f);
    char when[REPORT_WHEN_ROOM];
    html_put(page, "<tr role=\"row\">");
    put_cell(page, " class=\"n\"", c->in_time ? "Time" : "Step");
    html_put(page, "%s</td>", report_finding_when(f, when));
    if (c->mode) {
        put_cell(page, "", "Mode step");
        if (step)
            html_put(page, "%s %" PRId64, assay_mode_name(step->mode), step->mode_step);
        html_put(page, "</td>");
    }
    put_cell(page, "", "Worker");
    html_name(page, report_finding_worker(info, f));
    html_put(page, "</td>");
    put_cell(page, " class=\"n\"", "Value");
    html_number(page, f->value);
    put_unit(page, c, f);
    html_put(page, "</td>");
    put_cell(page, " class=\"n\"", "Threshold");
    html_number(page, f->threshold);
    html_put(page, "</td>");
    if (c->test) {
        put_cell(page, "", "Test");
        html_name(page, test ? test : "");
        html_put(page, "</td>");
    }
    if (c->tensor) {
        put_cell(page, "", c->in_time ? "Of" : "Tensor");
        html_name(page, report_finding_tensor(info, f));
        html_put(page, "</td>");
    }
    if (c->detail) {
        put_cell(page, "", "Detail");
        put_detail(page, f);
        html_put(page, "</td>");
    }
    if (c->hardware) {
        put_cell(page, "", "Step took, hardware");
        put_hardware(page, info, f);
        html_put(page, "</td>");
    }
    html_put(page, "</tr>\n");
}

/* Rows [from, to) as a table; returns how many there was room for. */
static size_t put_rows(html_page *page, const card *c, size_t from, size_t to)
{
    size_t i = from;
    html_put(page,
             "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Findings\"><table role=\"table\" "
             "class=\"stack\"><thead><tr>"
             "<th class=\"n\">%s</th>%s<th>Worker</th><th class=\"n\">Value</th>",
             c->in_time ? "Time" : "Step", c->mode ? "<th>Mode step</th>" : "");
    html_put(page, "<th class=\"n\">Threshold</th>%s%s%s%s</tr></thead><tbody>\n", c->test ? "<th>Test</th>" : "",
             !c->tensor   ? ""
             : c->in_time ? "<th>Of</th>"
                          : "<th>Tensor</th>",
             c->detail ? "<th>Detail</th>" : "", c->hardware ? "<th>Step took, hardware</th>" : "");
    for (; i < to && !html_full(page); i++)
        put_finding(page, c, &c->rule.findings->list[i]);
    html_put(page, "</tbody></table></div>\n");
    return i - from;
}

static void put_findings(html_page *page, card *c)
{
    const assay_findings *found = c->rule.findings;
    size_t kept = found->kept, open = kept < OPEN_ROWS ? kept : OPEN_ROWS, most = kept < MOST_ROWS ? kept : MOST_ROWS;
    assay_step_time at;
    c->test = c->rule.instance->ops->tests != NULL;
    for (size_t i = 0; i < most && !c->hardware; i++)
        c->hardware = report_find_hardware(c->trial->info, &found->list[i], &at);
    c->in_time = report_is_in_time(&c->rule);
    for (size_t i = 0; i < most; i++) {
        const assay_finding *f = &found->list[i];
        c->detail = c->detail || f->cell_count > 0 || f->note;
        c->mode = c->mode || report_finding_step(c->trial->info, f);
        c->tensor = c->tensor || report_finding_tensor(c->trial->info, f)[0];
    }
    size_t shown = put_rows(page, c, 0, open);
    if (most > open && !html_full(page)) {
        html_put(page, "<details><summary>The next %zu finding%s</summary>\n", most - open, assay_plural(most - open));
        shown += put_rows(page, c, open, most);
        html_put(page, "</details>\n");
    }
    html_more(page, found->total - shown, "findings");
}

static void put_advice(html_page *page, const assay_rule_ops *ops)
{
    bool remedies = ops->remedies && ops->remedies[0];
    if (!(ops->advice && ops->advice[0]) && !remedies)
        return;
    html_put(page, "<div class=\"advice\"><h5>What to do</h5>\n");
    if (ops->advice && ops->advice[0]) {
        html_put(page, "<p>");
        html_text(page, ops->advice);
        html_put(page, "</p>\n");
    }
    if (remedies)
        html_put(page, "<ol>\n");
    for (size_t i = 0; remedies && ops->remedies[i] && !html_full(page); i++) {
        html_put(page, "<li>");
        html_text(page, ops->remedies[i]);
        html_put(page, "</li>\n");
    }
    html_put(page, remedies ? "</ol></div>\n" : "</div>\n");
}

static void put_where(html_page *page, const card *c)
{
    const assay_findings *found = c->rule.findings;
    html_put(page, "<p><strong>%" PRIu64 "</strong> of %" PRIu64 " datapoints fired, ", found->total,
             found->datapoints);
    report_put_found(c->trial->info, &c->rule, RUNS_SHOWN, page->out);
    html_put(page, ".</p>\n");
    assay_slow_step slow;
    assay_buf words;
    if (!report_find_slow_before(c->trial->info, &c->rule, &slow))
        return;
    assay_buf_init(&words, 4096);
    report_put_slow(&slow, &words);
    html_put(page, "<p>Before the findings began, ");
    html_text_n(page, (const char *)words.data, words.size, HTML_TITLE);
    html_put(page, ".</p>\n");
    assay_buf_release(&words);
}

static bool silent(const report_rule *rule)
{
    return rule->status != ASSAY_ISSUES_FOUND && rule->message_size == 0 && !(rule->text && rule->text->size);
}

static void put_card(html_page *page, size_t trial, size_t i)
{
    card c = {.trial = &page->outcome->trials[trial]};
    c.rule = report_rule_of(page->outcome, c.trial, i, false);
    const assay_rule_ops *ops = c.rule.instance->ops;
    html_put(page, "<article class=\"card\" id=\"t%zur%zu\"><h4>", trial, i);
    html_status(page, c.rule.status);
    html_put(page, " ");
    html_name(page, c.rule.instance->name);
    if (ops && strcmp(c.rule.instance->name, ops->name) != 0) {
        html_put(page, " <span class=\"dim\">");
        html_name(page, ops->name);
        html_put(page, "</span>");
    }
    html_put(page, " <span class=\"tag\">%s</span></h4>\n", assay_severity_name(c.rule.instance->severity));
    bool fired = c.rule.status == ASSAY_ISSUES_FOUND && c.rule.findings;
    if (fired)
        put_where(page, &c);
    if (c.rule.message)
        html_message(page, c.rule.message, c.rule.message_size);
    if (c.rule.text && c.rule.text->size > 0)
        html_lines(page, (const char *)c.rule.text->data, c.rule.text->size);
    if (fired && c.rule.findings->kept > 0)
        put_findings(page, &c);
    if (fired)
        put_advice(page, ops);
    html_put(page, "</article>\n");
}

static size_t count_cards(const html_page *page, const assay_trial_outcome *trial)
{
    size_t count = 0;
    for (size_t i = 0; html_read(trial) && i < page->outcome->job->rule_count; i++) {
        report_rule rule = report_rule_of(page->outcome, trial, i, false);
        count += !silent(&rule);
    }
    return count;
}

static void put_trial(html_page *page, size_t t, size_t cards)
{
    const assay_trial_outcome *trial = &page->outcome->trials[t];
    size_t end = page->end, done = 0, *order;
    int status = report_order_rules(page->outcome, trial, &order);
    if (status != ASSAY_OK) {
        page->out->status = page->out->status == ASSAY_OK ? status : page->out->status;
        return;
    }
    html_trial_begin(page, t, NULL);
    for (size_t i = 0; i < page->outcome->job->rule_count && page->out->size < end; i++) {
        report_rule rule = report_rule_of(page->outcome, trial, order[i], false);
        if (silent(&rule))
            continue;
        page->end = html_share(page, end, done++, cards);
        put_card(page, t, order[i]);
    }
    free(order);
    page->end = end;
    html_more(page, cards - done, "rules");
    html_trial_end(page);
}

void html_findings(html_page *page)
{
    const assay_outcome *outcome = page->outcome;
    size_t with = 0, done = 0;
    for (size_t t = 0; t < outcome->trial_count; t++)
        with += !html_is_usual(page, t) && count_cards(page, &outcome->trials[t]) > 0;
    if (with == 0)
        return;
    html_section(page, "evidence", "Evidence and what to do", HTML_BUDGET_EVIDENCE);
    size_t end = page->end;
    for (size_t t = 0; t < outcome->trial_count && page->out->size < end; t++) {
        size_t cards = count_cards(page, &outcome->trials[t]);
        if (cards == 0 || html_is_usual(page, t))
            continue;
        page->end = html_share(page, end, done++, with);
        put_trial(page, t, cards);
    }
    page->end = end;
    html_more(page, with - done, "trials");
    html_section_end(page);
}
