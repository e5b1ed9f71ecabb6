/* html.c - report.html: one file with everything in it, readable without a network, without scripts, and on paper.
 *
 * Charts are inline SVG rather than a script's work in the reader's browser: the bytes are the same at any number of
 * ranks, the page prints, works where scripts are forbidden, and a screen reader finds titles and tables. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/hash.h"
#include "report/compare/comparison.h"
#include "report/document/render.h"
#include "report/form.h"
#include "report/html/html.h"
#include "report/html/html_style.h"
#include "report/sections/sections.h"
#include "report/text/layout.h"

/* Nothing is loaded, and no script runs but the one below, by its digest. The page says all without it: it sorts and
 * filters tables, and opens what a link leads to. */
static const char CSP[] = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action "
                          "'none'; script-src 'sha256-";
static const char SCRIPT[] =
    "document.querySelectorAll('table.filter').forEach(function (t) {\n"
    "  var body = t.tBodies[0], rows = [].slice.call(body.rows), find = document.createElement('input');\n"
    "  find.type = 'search'; find.className = 'find';\n"
    "  find.placeholder = 'filter ' + rows.length + ' rows';\n"
    "  find.setAttribute('aria-label', find.placeholder);\n"
    "  find.addEventListener('input', function () {\n"
    "    var wanted = find.value.toLowerCase();\n"
    "    rows.forEach(function (r) { r.hidden = r.textContent.toLowerCase().indexOf(wanted) < 0; });\n"
    "  });\n"
    "  t.parentNode.parentNode.insertBefore(find, t.parentNode);\n"
    "  [].forEach.call(t.tHead.rows[0].cells, function (head, c) {\n"
    "    var sort = document.createElement('button'), up = false;\n"
    "    sort.type = 'button'; sort.textContent = head.textContent; head.textContent = ''; head.appendChild(sort);\n"
    "    function key(r) {\n"
    "      var cell = r.cells[c], v = cell ? cell.dataset.v || cell.textContent : '', n = parseFloat(v);\n"
    "      return head.className === 'n' && !isNaN(n) ? n : v;\n"
    "    }\n"
    "    sort.addEventListener('click', function () {\n"
    "      up = !up;\n"
    "      rows.sort(function (a, b) {\n"
    "        var x = key(a), y = key(b), less = typeof x === typeof y ? x < y : typeof x === 'number';\n"
    "        return x === y ? 0 : less === up ? -1 : 1;\n"
    "      });\n"
    "      rows.forEach(function (r) { body.appendChild(r); });\n"
    "    });\n"
    "  });\n"
    "});\n"
    "function reveal() {\n"
    "  var e = document.getElementById(decodeURIComponent(location.hash.slice(1)));\n"
    "  for (var up = e; up; up = up.parentElement) if (up.tagName === 'DETAILS') up.open = true;\n"
    "  if (e) e.scrollIntoView();\n"
    "}\n"
    "addEventListener('hashchange', reveal);\n"
    "if (location.hash) reveal();\n";

/* The digest is of the script below, so the policy lets that one through and no other. */
static void put_policy(html_page *page)
{
    uint8_t digest[32];
    assay_sha256 h;
    assay_sha256_init(&h);
    assay_sha256_add(&h, SCRIPT, sizeof SCRIPT - 1);
    assay_sha256_bytes(&h, digest);
    html_put(page, "<meta http-equiv=\"Content-Security-Policy\" content=\"%s", CSP);
    assay_base64_put(page->out, digest, sizeof digest);
    html_put(page, "'\">\n");
}

/* `budget`: bytes that the section may take; html_full() asks for page->end. */
void html_section(html_page *page, const char *id, const char *title, size_t budget)
{
    assay_put_format(page->nav, "<li><a href=\"#%s\">%s</a></li>\n", id, title);
    html_put(
        page,
        "<section id=\"%s\" aria-labelledby=\"%s-title\"><details class=\"fold\"><summary><h2 id=\"%s-title\">%s</h2>"
        "</summary>\n",
        id, id, id, title);
    page->end = page->out->size + budget;
}

void html_section_end(html_page *page)
{
    html_put(page, "</details></section>\n");
}

/* What one does not use is there for those behind it. */
size_t html_share(const html_page *page, size_t end, size_t i, size_t count)
{
    size_t used = page->out->size, left = end > used ? end - used : 0;
    return used + left / (i < count ? count - i : 1);
}

/* Each aggregation gets its share of what the section has left; the section begins with the first that puts
 * something. */
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

/* Names of classes come from the job file, their numbers from the trial: a number without a name stands alone. */
void html_class(html_page *page, const char *number)
{
    char *end;
    long class = strtol(number, &end, 10);
    html_text_n(page, number, strlen(number), HTML_NAME);
    if (!page->classes || *end != '\0' || class < 0 || (size_t) class >= assay_param_count(page->classes, "classes"))
        return;
    html_put(page, " ");
    html_name(page, assay_param_item(page->classes, "classes", (size_t) class));
}

void html_class_number(html_page *page, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, number);
    html_class(page, text);
}

/* ---- the head ---- */

static void put_head(html_page *page)
{
    html_put(page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    put_policy(page);
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

/* Puts the sections of the document; its share of the file is what those with pictures of their own leave. */
static void put_document(html_page *page, doc *d, int status)
{
    html_fail(page, status);
    if (status != ASSAY_OK)
        return;
    doc_render_html(d, HTML_BUDGET_DOCUMENT, page->out);
    doc_render_html_links(d, page->nav);
}

/* In a buffer of its own budget: the run's section comes last and must not be left out. */
static void put_run(html_page *page, const assay_report *report)
{
    doc *d = doc_new();
    html_fail(page, d ? ASSAY_OK : ASSAY_ENOMEM);
    if (d)
        report_add_run(report, page->origin, d);
    html_put(page, "<!-- run -->\n");
    if (d) {
        doc_render_html(d, HTML_BUDGET_RUN, page->out);
        doc_render_html_links(d, page->nav);
    }
    doc_free(d);
}

static void put_sections(html_page *page, const assay_report *report)
{
    doc *d;
    const int status = report_make_document(report, DOC_HTML, &d);
    put_document(page, d, status);
    doc_free(d);
    html_tensors(page);
    html_class_counts(page);
    html_confusions(page);
    html_images(page);
    html_histograms(page);
    put_run(page, report);
}

/* With --only-odd, trials that are like the others are left out. */
bool html_is_usual(const html_page *page, size_t trial)
{
    return page->only_odd && compare_is_usual(page->comparison, trial);
}

size_t html_shown_trials(const html_page *page)
{
    size_t shown = 0;
    for (size_t t = 0; t < page->outcome->trial_count; t++)
        shown += !html_is_usual(page, t);
    return shown;
}

/* Finds who names the classes. */
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

/* The body is made before the head, as the list of sections is known behind it. Whoever wrote names in the trial must
 * not get into the markup: they pass through html_name() and html_text() alone. */
int report_put_html(const assay_report *report, const assay_report_origin *origin, assay_buf *out)
{
    const assay_outcome *outcome = report->outcome;
    assay_buf body = ASSAY_BUF(ASSAY_REPORT_CEILING), nav = ASSAY_BUF(ASSAY_REPORT_CEILING);
    html_page page = {.outcome = outcome,
                      .comparison = report->comparison,
                      .only_odd = report->only_odd,
                      .so_far = report->so_far,
                      .origin = origin,
                      .out = &body,
                      .nav = &nav,
                      .classes = find_classes(outcome->job)};
    put_sections(&page, report);
    page.out = out;
    put_head(&page);
    html_put(&page, "<body>\n<a class=\"skip\" href=\"#main\">To the content</a>\n"
                    "<div class=\"columns\"><nav aria-label=\"Sections\"><ul>\n");
    assay_put_bytes(out, nav.data, nav.size);
    html_put(&page, "</ul></nav>\n<main id=\"main\"><h1>Training report</h1>\n");
    assay_put_bytes(out, body.data, body.size);
    html_put(&page, "</main></div>\n<script>");
    assay_put_bytes(out, SCRIPT, sizeof SCRIPT - 1);
    html_put(&page, "</script>\n</body>\n</html>\n");
    if (out->status == ASSAY_OK)
        out->status = body.status != ASSAY_OK ? body.status : nav.status;
    assay_buf_release(&body);
    assay_buf_release(&nav);
    return assay_buf_status(out);
}

const report_form report_form_html = {.files = {{"report.html", report_put_html}}};
