/* html.c - report.html: one file with everything in it, readable without a network, without scripts, and on paper.
 *
 * Charts are inline SVG rather than a script's work in the reader's browser: the bytes are the same at any number of
 * ranks, the page prints, works where scripts are forbidden, and a screen reader finds titles and tables. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/compare/comparison.h"
#include "report/html/html.h"
#include "report/html/html_style.h"

enum { HEAD_TRIALS = 6 };

static const char CSP[] =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

void html_section(html_page *page, const char *id, const char *title, size_t budget)
{
    assay_put_format(page->nav, "<li><a href=\"#%s\">%s</a></li>\n", id, title);
    html_put(page, "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">%s</h2>\n", id, id, id,
             title);
    page->end = page->out->size + budget;
}

void html_section_end(html_page *page)
{
    html_put(page, "</section>\n");
}

size_t html_share(const html_page *page, size_t end, size_t i, size_t count)
{
    size_t used = page->out->size, left = end > used ? end - used : 0;
    return used + left / (i < count ? count - i : 1);
}

void html_each_aggregation(html_page *page, bool (*put)(html_page *page, size_t i, bool open))
{
    bool open = false;
    size_t end = 0, count = page->outcome->job->aggregation_count;
    for (size_t i = 0; i < count; i++) {
        if (open)
            page->end = html_share(page, end, i, count);
        if (open && page->out->size >= end) {
            html_more(page, count - i, "aggregations");
            break;
        }
        if (!put(page, i, open) || open)
            continue;
        open = true;
        end = page->end;
    }
    if (open)
        html_section_end(page);
}

void html_trial_begin(html_page *page, size_t trial, const char *remark)
{
    const assay_outcome *outcome = page->outcome;
    bool many = html_shown_trials(page) > HTML_OPEN_TRIALS;
    if (outcome->trial_count == 1)
        return;
    html_put(page, many ? "<details class=\"trial\"><summary>" : "<div class=\"trial\"><h3>");
    html_name(page, outcome->trials[trial].trial->name);
    if (remark)
        html_put(page, " <span class=\"dim\">%s</span>", remark);
    html_put(page, many ? "</summary>\n" : "</h3>\n");
}

void html_trial_end(html_page *page)
{
    if (page->outcome->trial_count > 1)
        html_put(page, html_shown_trials(page) > HTML_OPEN_TRIALS ? "</details>\n" : "</div>\n");
}

void html_more(html_page *page, uint64_t left, const char *what)
{
    if (left > 0)
        html_put(page, "<p class=\"more\">\u2026 and %" PRIu64 " more %s: see report.json.</p>\n", left, what);
}

/* ---- the head ---- */

static size_t count_rules(const assay_outcome *outcome, const assay_trial_outcome *trial, int status)
{
    size_t count = 0;
    for (size_t i = 0; i < outcome->job->rule_count; i++)
        count += report_rule_of(outcome, trial, i, false).status == status;
    return count;
}

/* One trial as a tile that leads to its statuses. */
static void put_tile(html_page *page, const assay_trial_outcome *trial)
{
    size_t bad = count_rules(page->outcome, trial, ASSAY_ISSUES_FOUND);
    size_t broken = html_read(trial) ? count_rules(page->outcome, trial, ASSAY_RULE_ERROR) : 0;
    html_put(page, "<li class=\"tile\">");
    html_name(page, trial->trial->name);
    if (!html_read(trial)) {
        html_put(page, "<strong>not read</strong></li>\n");
        return;
    }
    html_put(page, "<strong>%zu of %zu</strong> rules found issues", bad, page->outcome->job->rule_count);
    if (broken > 0)
        html_put(page, ", %zu in error", broken);
    if (trial->incomplete_count > 0)
        html_put(page, "; %zu step%s not complete", trial->incomplete_count,
                 trial->incomplete_count == 1 ? " is" : "s are");
    if (trial->problems.losses > 0)
        html_put(page, "; %" PRIu64 " place%s damaged", trial->problems.losses, assay_plural(trial->problems.losses));
    html_put(page, "</li>\n");
}

/* What was not tested: silence about it is no pass. `silent` and `failed` count rules of trials that were read. */
static void put_untested(html_page *page, size_t silent, size_t failed, size_t unread)
{
    if (silent > 0)
        html_put(page, "; %zu test%s had no data, which is not a pass", silent, assay_plural(silent));
    if (failed > 0)
        html_put(page, "; %zu could not be evaluated", failed);
    if (unread > 0)
        html_put(page, "; %zu trial%s could not be read", unread, assay_plural(unread));
}

static void put_answer(html_page *page)
{
    if (!page->comparison)
        return;
    html_put(page, "<p class=\"lead answer\">");
    html_text(page, page->comparison->answer);
    html_put(page, "</p>\n");
}

static void put_verdict(html_page *page, const assay_report *report)
{
    assay_buf line;
    assay_buf_init(&line, ASSAY_REPORT_CEILING);
    report_put_verdict(report, &line);
    html_put(page, "<p class=\"lead\"><strong>");
    html_text_n(page, (const char *)line.data, line.size, HTML_MESSAGE);
    html_put(page, "</strong></p>\n");
    assay_buf_release(&line);
}

static void put_summary(html_page *page)
{
    const assay_outcome *outcome = page->outcome;
    size_t with = 0, t = 0, silent = 0, failed = 0, unread = 0;
    for (size_t i = 0; i < outcome->trial_count; i++) {
        bool read = html_read(&outcome->trials[i]);
        with += count_rules(outcome, &outcome->trials[i], ASSAY_ISSUES_FOUND) > 0;
        silent += read ? count_rules(outcome, &outcome->trials[i], ASSAY_NO_DATA) : 0;
        failed += read ? count_rules(outcome, &outcome->trials[i], ASSAY_RULE_ERROR) : 0;
        unread += !read;
    }
    html_put(page, "<p class=\"lead\">%zu trial%s, %zu rule%s: ", outcome->trial_count,
             assay_plural(outcome->trial_count), outcome->job->rule_count, assay_plural(outcome->job->rule_count));
    if (outcome->trial_count == 1)
        html_put(page, with ? "issues were found" : "no issues were found");
    else
        html_put(page, "issues were found in %zu of the trials", with);
    put_untested(page, silent, failed, unread);
    html_put(page, ".</p>\n");
    html_put(page, "<ul class=\"tiles\">\n");
    for (; t < outcome->trial_count && t < HEAD_TRIALS; t++)
        put_tile(page, &outcome->trials[t]);
    html_put(page, "</ul>\n");
    if (outcome->trial_count > t)
        html_put(page, "<p class=\"more\">\u2026 and %zu more trial%s below.</p>\n", outcome->trial_count - t,
                 assay_plural(outcome->trial_count - t));
}

static void put_head(html_page *page)
{
    html_put(page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html_put(page, "<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n", CSP);
    html_put(
        page,
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"assay\">\n<title>");
    html_short_name(page, page->outcome->trial_count ? page->outcome->trials[0].trial->name : "", 60);
    if (page->outcome->trial_count > 1)
        html_put(page, " and %zu more", page->outcome->trial_count - 1);
    html_put(page, " \u2013 assay report</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n");
    assay_put_bytes(page->out, html_style, html_style_size);
    html_put(page, "</style>\n</head>\n");
}

/* ---- the page ---- */

static void put_sections(html_page *page)
{
    html_statuses(page);
    html_comparison(page);
    html_findings(page);
    html_profiles(page);
    html_losses(page);
    html_rule_strips(page);
    html_class_counts(page);
    html_confusions(page);
    html_images(page);
    html_tensors(page);
    html_histograms(page);
    html_completeness(page);
    html_problems(page);
    html_settings(page);
    html_put(page, "<!-- run -->\n");
    html_run(page);
}

/* Who names the classes. */
static const assay_params *find_classes(const assay_job *job)
{
    for (size_t i = 0; i < job->aggregation_count; i++) {
        const assay_instance *instance = job->aggregations[i];
        if (instance->params && instance->ops && strcmp(instance->ops->name, "wrong_predictions") == 0 &&
            assay_param_has(instance->params, "classes"))
            return instance->params;
    }
    return NULL;
}

int report_put_html(const assay_report *report, const assay_report_origin *origin, assay_buf *out)
{
    const assay_outcome *outcome = report->outcome;
    assay_buf body, nav;
    assay_buf_init(&body, ASSAY_REPORT_CEILING);
    assay_buf_init(&nav, ASSAY_REPORT_CEILING);
    html_page page = {.outcome = outcome,
                      .comparison = report->comparison,
                      .only_odd = report->only_odd,
                      .origin = origin,
                      .out = &body,
                      .nav = &nav,
                      .classes = find_classes(outcome->job)};
    put_sections(&page);
    page.out = out;
    put_head(&page);
    html_put(&page, "<body>\n<a class=\"skip\" href=\"#main\">To the content</a>\n<header "
                    "class=\"masthead\"><h1>Training report</h1>\n");
    bool answer_leads = page.comparison && compare_answer_leads(page.comparison);
    if (answer_leads)
        put_answer(&page);
    put_verdict(&page, report);
    if (!answer_leads)
        put_answer(&page);
    put_summary(&page);
    html_put(&page, "</header>\n<div class=\"columns\"><nav aria-label=\"Sections\"><ul>\n");
    assay_put_bytes(out, nav.data, nav.size);
    html_put(&page, "</ul></nav>\n<main id=\"main\">\n");
    assay_put_bytes(out, body.data, body.size);
    html_put(&page, "</main></div>\n</body>\n</html>\n");
    if (out->status == ASSAY_OK)
        out->status = body.status != ASSAY_OK ? body.status : nav.status;
    assay_buf_release(&body);
    assay_buf_release(&nav);
    return assay_buf_status(out);
}
