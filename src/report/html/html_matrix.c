/* html_matrix.c - several trials side by side: the status of each rule in each of them. */
#include "report/compare/comparison.h"
#include "report/html/html.h"

enum { TRIALS_ACROSS = 8, RULES_ACROSS = 60 };

static report_rule rule_of(const assay_comparison *c, size_t trial, size_t rule)
{
    return report_rule_of(c->outcome, &c->outcome->trials[trial], rule, false);
}

/* How many of the rules from number `from` on have data in a trial. */
static size_t rules_with_data(const assay_comparison *c, size_t from)
{
    size_t rules = 0;
    for (size_t i = from; i < c->outcome->job->rule_count; i++)
        rules += !compare_rule_has_no_data(c, i);
    return rules;
}

/* Few trials: a rule a row, each trial's status with its first step. */
static void put_narrow_matrix(html_page *page, const assay_comparison *c)
{
    size_t rules = c->outcome->job->rule_count, i = 0;
    html_table_begin(page, "Rules and trials", "matrix");
    html_put(page, "<th>Rule</th>");
    for (size_t t = 0; t < c->trials; t++) {
        html_put(page, "<th scope=\"col\">");
        html_name(page, html_trial_name(c, t));
        html_put(page, "</th>");
    }
    html_put(page, "</tr></thead><tbody>\n");
    for (; i < rules && !html_full(page); i++) {
        if (compare_rule_has_no_data(c, i))
            continue;
        html_put(page, "<tr><th scope=\"row\">");
        html_name(page, c->outcome->job->rules[i]->name);
        html_put(page, "</th>");
        for (size_t t = 0; t < c->trials; t++) {
            report_rule rule = rule_of(c, t, i);
            const assay_finding *first = report_first(&rule);
            html_put(page, "<td>");
            html_status_mark(page, rule.status);
            char when[REPORT_WHEN_ROOM];
            if (first)
                html_put(page, " <span class=\"dim\">from %s</span>", report_finding_when_in_words(first, when));
            html_put(page, "</td>");
        }
        html_put(page, "</tr>\n");
    }
    html_table_end(page, rules_with_data(c, i), "rules");
}

/* Many trials: a trial a row, the rules' names upright. */
static void put_tall_matrix(html_page *page, const assay_comparison *c)
{
    size_t all = c->outcome->job->rule_count, rules = all < RULES_ACROSS ? all : RULES_ACROSS, t = 0;
    bool shown[RULES_ACROSS];
    html_table_begin(page, "Rules and trials", "matrix tall");
    html_put(page, "<th>Trial</th>");
    for (size_t i = 0; i < rules; i++) {
        shown[i] = !compare_rule_has_no_data(c, i);
        if (!shown[i])
            continue;
        html_put(page, "<th scope=\"col\"><span>");
        html_short_name(page, c->outcome->job->rules[i]->name, 28);
        html_put(page, "</span></th>");
    }
    html_put(page, "</tr></thead><tbody>\n");
    for (; t < c->trials && !html_full(page); t++) {
        html_put(page, "<tr>");
        html_trial_head(page, c, t);
        for (size_t i = 0; i < rules; i++) {
            if (shown[i])
                html_status_cell(page, rule_of(c, t, i).status);
        }
        html_put(page, "</tr>\n");
    }
    html_table_end(page, c->trials - t, "trials");
    html_more(page, rules_with_data(c, rules), "rules");
}

void html_matrix(html_page *page, const assay_comparison *c)
{
    const size_t rules = c->outcome->job->rule_count;
    const size_t silent = rules - rules_with_data(c, 0);
    if (rules == 0)
        return;
    html_put(page, "<h3>Rules and trials</h3><p class=\"note\">");
    for (int status = ASSAY_ISSUES_FOUND; status <= ASSAY_RULE_ERROR; status++)
        html_status(page, status);
    html_put(page, "</p>\n");
    if (silent < rules && c->trials <= TRIALS_ACROSS)
        put_narrow_matrix(page, c);
    else if (silent < rules)
        put_tall_matrix(page, c);
    if (silent > 0)
        html_put(page, "<p class=\"note\">%zu rule%s had no data in any trial.</p>\n", silent, assay_plural(silent));
}
