/* test_html.c - report.html of outcomes made by hand: the largest and most hostile ones stay below its limit, and
 * whatever allocation fails, it says so. What the page looks like is for tests/e2e/report_html.py. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules/shared/curves.h"
#include "rules/shared/wrong_predictions.h"

#include "base/fault.h"
#include "base/utf8.h"
#include "report/compare/comparison.h"
#include "report/html/html.h"
#include "random.h"
#include "unit.h"

enum { LIMIT = 5000000, RULES = 40, TENSORS = 300, WORKERS = 70 };
enum { MODES = 1 << ASSAY_MODE_TRAIN | 1 << ASSAY_MODE_EVAL };

static const assay_report_origin origin = {
    .version = "9.9", .library = "serial", .command = "assay run <script>alert(1)</script>", .host = "<b>node</b>"};

/* Names and notes, in bytes: the longest are for few trials, since hundreds of them fill a page with less. */
enum { LONGEST = 10000, LONG = 1000 };

/* One trial that all trials of the outcome share, so that hundreds of large ones take the memory of one. */
typedef struct made {
    size_t trials, steps, name; /* its size */
    uint32_t findings;          /* a rule */
    assay_job job;
    assay_trial info;
    assay_catalog catalog;
    assay_trial_outcome *trial;
    assay_rule_outcome rules[RULES], aggregations[4];
    assay_implicit_outcome implicit[ASSAY_IMPLICITS];
    assay_problems problems;
    assay_outcome outcome;
    assay_report report;
    assay_comparison *comparison;
    assay_step_info *step;
    uint32_t *rank;
    assay_incomplete *incomplete;
    uint32_t missing[WORKERS];
    uint8_t tensor_modes[TENSORS];
    char *workers[WORKERS];
} made;

static const char *const TROUBLE[] = {
    "<script>alert(1)</script>", "\" onload=\"alert(2)",         "'&amp;<b>",
    "\n\r\t\x01\x1b[31m",        "\xff\xfe\xc0\xaf\xed\xa0\x80", "\xe2\x80\xae backwards \xe2\x81\xa6",
    "</style></title>"};

/* A name of `size` characters that begins and ends in trouble; the caller frees it. */
static char *hostile_name(size_t number, size_t size)
{
    const char *trouble = TROUBLE[number % (sizeof TROUBLE / sizeof *TROUBLE)];
    size_t length = strlen(trouble);
    char *name = malloc(size + 1);
    memset(name, '"', size); /* what grows most when it is escaped */
    memcpy(name, trouble, length);
    snprintf(name + length, 16, "%zu", number);
    name[strlen(name)] = '&';
    memcpy(name + size - length, trouble, length);
    name[size] = '\0';
    return name;
}

static void put_name(assay_buf *out, size_t number, size_t size)
{
    char *name = hostile_name(number, size);
    assay_json_put_text(out, name);
    free(name);
}

static void make_job(made *m)
{
    assay_buf text;
    assay_error err = {""};
    assay_buf_init(&text, 1 << 26);
    assay_put_format(&text, "{\"trials\": [");
    for (size_t i = 0; i < m->trials; i++) {
        assay_put_format(&text, "%s{\"path\": \"p%zu\", \"name\": ", i ? ", " : "", i);
        put_name(&text, i, m->name);
        assay_put_format(&text, "}");
    }
    assay_put_format(&text, "], \"rules\": [");
    for (size_t i = 0; i < RULES; i++) {
        assay_put_format(&text, "%s{\"rule\": \"ExplodingTensor\", \"name\": ", i ? ", " : "");
        put_name(&text, i, m->name);
        assay_put_format(&text, "}");
    }
    assay_put_format(
        &text,
        "], \"aggregations\": [{\"kind\": \"class_counts\", \"labels\": \"l\"}, {\"kind\": \"confusion\", "
        "\"labels\": \"l\", \"predictions\": \"p\"}, {\"name\": \"wide\", \"kind\": \"confusion\", \"labels\": \"l\", "
        "\"predictions\": \"p\"}], \"images\": {\"tensor\": \"i\", \"most\": 100, \"classes\": [");
    for (size_t i = 0; i < 50; i++) {
        assay_put_format(&text, i ? ", " : "");
        put_name(&text, i, m->name);
    }
    assay_put_format(&text, "]}, \"output\": {\"formats\": [\"html\"]}}");
    int status = assay_job_parse("j", text.data, text.size, &assay_report_forms, &m->job, &err);
    if (status != ASSAY_OK)
        printf("%s\n", err.text);
    CU_ASSERT_EQUAL_FATAL(status, ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_job_add_implicit(&m->job), ASSAY_OK);
    assay_buf_release(&text);
}

static void make_trial(made *m)
{
    m->step = calloc(m->steps, sizeof *m->step);
    m->rank = calloc(m->steps, sizeof *m->rank);
    m->incomplete = calloc(m->steps, sizeof *m->incomplete);
    for (size_t i = 0; i < m->steps; i++)
        m->step[i] = (assay_step_info){(int64_t)i, (int64_t)i, i % 10 == 9 ? ASSAY_MODE_EVAL : ASSAY_MODE_TRAIN};
    for (uint32_t w = 0; w < WORKERS; w++) {
        m->workers[w] = hostile_name(w, 3000);
        m->missing[w] = w;
    }
    m->catalog = (assay_catalog){.worker = m->workers, .workers = WORKERS, .expected_workers = WORKERS};
    static char name[] = "t", path[] = "p";
    m->info = (assay_trial){.name = name,
                            .path = path,
                            .catalog = &m->catalog,
                            .tensors = assay_dict_new(),
                            .steps = m->step,
                            .mode_rank = m->rank,
                            .step_count = m->steps,
                            .modes = MODES,
                            .tensor_modes = m->tensor_modes};
    memset(m->tensor_modes, MODES, sizeof m->tensor_modes);
    for (uint32_t i = 0; i < TENSORS; i++) {
        char *tensor = hostile_name(i, m->name);
        assay_dict_add(m->info.tensors, tensor, m->name);
        free(tensor);
    }
    for (size_t i = 0; i < m->steps; i += 2)
        m->incomplete[i / 2] = (assay_incomplete){(int64_t)i, m->missing, WORKERS, 0};
    assay_problems_init(&m->problems);
    for (int i = 0; i < ASSAY_PROBLEMS_KEPT; i++) {
        char *file = hostile_name((size_t)i, 2000);
        assay_problems_add(&m->problems, i % ASSAY_PROBLEM_KINDS, i, file, i, "%s", file);
        free(file);
    }
}

static void make_rules(made *m)
{
    char *note = hostile_name(3, m->name);
    for (size_t i = 0; i < RULES; i++) {
        m->rules[i].instance = m->job.rules[i];
        CU_ASSERT_FATAL(assay_verdict_init(&m->rules[i].verdict, ASSAY_MAX_FINDINGS) == ASSAY_OK);
        for (uint32_t k = 0; k < m->findings; k++)
            assay_findings_add(assay_verdict_findings(&m->rules[i].verdict),
                               &(assay_finding){.step = (int64_t)(k * 7 % m->steps),
                                                .tensor = k % TENSORS,
                                                .worker = k % WORKERS,
                                                .value = k % 2 ? NAN : -1.23456789e300,
                                                .threshold = INFINITY,
                                                .note = note});
        assay_verdict_message(&m->rules[i].verdict, "%s\n%s", note, note);
        assay_put_bytes(assay_verdict_text(&m->rules[i].verdict), note, m->name);
        m->rules[i].verdict.status = ASSAY_ISSUES_FOUND;
    }
    free(note);
}

static void put_matrix(assay_buf *json, int classes)
{
    assay_put_format(json, "\"samples\": 1000000, \"accuracy\": 0.5, \"per_class\": [");
    for (int c = 0; c < classes; c++)
        assay_put_format(json,
                         "%s{\"class\": %d, \"precision\": null, \"recall\": 0.5, \"f1\": 0.25, \"support\": 1e9}",
                         c ? ", " : "", c);
    assay_put_format(json, "], \"matrix\": [");
    for (int l = 0; l < classes; l++) {
        for (int p = 0; p < classes; p++)
            assay_put_format(json, "%s%d", p ? ", " : l ? "], [" : "[", 100000 + l * p);
    }
    assay_put_format(json, "]]");
}

static void make_pictures(made *m)
{
    assay_wrong_predictions *wrong = calloc(1, sizeof *wrong);
    uint64_t bits = 1;
    *wrong = (assay_wrong_predictions){.list = calloc(ASSAY_PICTURES_MOST, sizeof *wrong->list),
                                       .count = ASSAY_PICTURES_MOST,
                                       .samples = 1000,
                                       .wrong = 500,
                                       .unfit = 3};
    for (uint32_t i = 0; i < wrong->count; i++) {
        size_t size = 3 * ASSAY_PICTURE_SIDE * ASSAY_PICTURE_SIDE;
        assay_picture *p = &wrong->list[i];
        *p = (assay_picture){.step = i,
                             .label = i,
                             .prediction = -1,
                             .sample = i,
                             .worker = i % WORKERS,
                             .channels = 3,
                             .height = ASSAY_PICTURE_SIDE,
                             .width = ASSAY_PICTURE_SIDE,
                             .pixel = malloc(size)};
        for (size_t k = 0; k < size; k++)
            p->pixel[k] = (uint8_t)(random_next(&bits) >> 56); /* noise, which does not compress */
    }
    m->aggregations[3].state = wrong;
}

static void make_aggregations(made *m)
{
    for (size_t i = 0; i < 4; i++) {
        m->aggregations[i].instance = m->job.aggregations[i];
        CU_ASSERT_FATAL(assay_verdict_init(&m->aggregations[i].verdict, ASSAY_MAX_FINDINGS) == ASSAY_OK);
        m->aggregations[i].verdict.status = ASSAY_NO_ISSUES_FOUND;
    }
    assay_buf *json = assay_verdict_json(&m->aggregations[0].verdict);
    assay_put_format(json, "\"samples\": 1000000, \"classes\": {");
    for (int c = 0; c < 2000; c++)
        assay_put_format(json, "%s\"%d\": %d", c ? ", " : "", c - 1000, c * 100000);
    assay_put_format(json, "}");
    put_matrix(assay_verdict_json(&m->aggregations[1].verdict), 40);
    put_matrix(assay_verdict_json(&m->aggregations[2].verdict), 200);
    make_pictures(m);
}

/* Curves of the first tensors, and a loss of every tensor, at some of the steps. */
static void make_curves(made *m)
{
    for (int i = 0; i < ASSAY_IMPLICITS; i++) {
        const assay_rule rule = {.ops = m->job.implicit[i]->ops,
                                 .params = m->job.implicit[i]->params,
                                 .trial = &m->info,
                                 .end_step = INT64_MAX};
        m->implicit[i].state = rule.ops->state_new(&rule);
        assay_common_state *state = m->implicit[i].state;
        for (size_t s = 0; s < m->steps; s += m->steps / 100 + 1) {
            for (uint32_t t = 0; t < 30; t++) {
                double x = s % 3 ? 1.23456e-5 * (double)(s + t) : s % 2 ? NAN : -1e300;
                const double row[ASSAY_CURVE_WIDTH] = {x, WORKERS, x, x, x, x, x, ASSAY_FLOAT32, 0};
                CU_ASSERT_FATAL(assay_series_add(state->series, (int64_t)s, t, ASSAY_ALL_WORKERS, row) == ASSAY_OK);
            }
        }
    }
}

static void make(made *m, size_t trials, size_t steps, size_t name)
{
    *m = (made){.trials = trials, .steps = steps, .name = name, .findings = trials > 6 ? 30 : 300};
    make_job(m);
    make_trial(m);
    make_rules(m);
    make_aggregations(m);
    make_curves(m);
    m->trial = calloc(trials, sizeof *m->trial);
    for (size_t t = 0; t < trials; t++)
        m->trial[t] = (assay_trial_outcome){.trial = &m->job.trials[t],
                                            .info = &m->info,
                                            .catalog = m->catalog,
                                            .problems = m->problems,
                                            .incomplete = m->incomplete,
                                            .incomplete_count = (steps + 1) / 2,
                                            .rules = m->rules,
                                            .aggregations = m->aggregations,
                                            .implicit = m->implicit};
    m->outcome =
        (assay_outcome){.job = &m->job, .trials = m->trial, .trial_count = trials, .run = {.ranks = 3, .nodes = 1}};
    CU_ASSERT_FATAL(assay_comparison_make(&m->outcome, &m->comparison) == ASSAY_OK);
    m->report = (assay_report){.outcome = &m->outcome, .comparison = m->comparison};
}

static void release(made *m)
{
    assay_comparison_free(m->comparison);
    for (size_t i = 0; i < RULES; i++)
        assay_verdict_release(&m->rules[i].verdict);
    for (size_t i = 0; i < 4; i++) {
        assay_verdict_release(&m->aggregations[i].verdict);
        if (m->aggregations[i].state)
            m->aggregations[i].instance->ops->state_free(m->aggregations[i].state);
    }
    for (int i = 0; i < ASSAY_IMPLICITS; i++)
        m->job.implicit[i]->ops->state_free(m->implicit[i].state);
    for (uint32_t w = 0; w < WORKERS; w++)
        free(m->workers[w]);
    assay_problems_release(&m->problems);
    assay_dict_free(m->info.tensors);
    assay_job_release(&m->job);
    free(m->step);
    free(m->rank);
    free(m->incomplete);
    free(m->trial);
}

/* Not by strstr(), which under sanitizers looks at the whole page for every hit. */
static size_t count_of(const assay_buf *page, const char *what)
{
    size_t count = 0, length = strlen(what);
    for (size_t at = 0; at + length <= page->size; at++) {
        if (page->data[at] == (uint8_t)what[0])
            count += memcmp(page->data + at, what, length) == 0;
    }
    return count;
}

/* Elements are closed, bytes are UTF-8, and of names nothing but text is left. */
static void check_page(const assay_buf *page)
{
    static const char *const elements[] = {"section", "details", "div",     "table", "tr",   "ul",     "ol",
                                           "svg",     "figure",  "article", "p",     "span", "a",      "li",
                                           "td",      "th",      "h3",      "h4",    "pre",  "strong", "summary"};
    static const char *const never[] = {"<script ", "onload=\"", "<b>", "\x1b", "\xe2\x80\xae", "</style></title>"};
    size_t bad = 0, step;
    for (size_t at = 0; at < page->size; at += step) {
        step = assay_utf8_length(page->data + at, page->size - at);
        bad += step == 0;
        step += step == 0;
    }
    CU_ASSERT_EQUAL(bad, 0);
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        char plain[32], with[32], end[32];
        snprintf(plain, sizeof plain, "<%s>", elements[i]);
        snprintf(with, sizeof with, "<%s ", elements[i]);
        snprintf(end, sizeof end, "</%s>", elements[i]);
        if (count_of(page, plain) + count_of(page, with) != count_of(page, end))
            printf("<%s> is not closed\n", elements[i]);
        CU_ASSERT_EQUAL(count_of(page, plain) + count_of(page, with), count_of(page, end));
    }
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        CU_ASSERT_EQUAL(count_of(page, never[i]), 0);
}

static void check_size(size_t trials, size_t steps, size_t name, size_t least)
{
    made m;
    assay_buf page;
    make(&m, trials, steps, name);
    assay_buf_init(&page, ASSAY_REPORT_CEILING);
    CU_ASSERT_EQUAL(report_put_html(&m.report, &origin, &page), ASSAY_OK);
    printf("%zu trials: %zu bytes ", trials, page.size);
    CU_ASSERT_TRUE(page.size < LIMIT);
    CU_ASSERT_TRUE(page.size > least);
    check_page(&page);
    assay_buf_release(&page);
    release(&m);
}

static void one_huge_trial(void)
{
    check_size(1, UNIT_SANITIZED ? 1000 : 20000, LONGEST, 500000);
}

static void several_huge_trials(void)
{
    check_size(UNIT_SANITIZED ? 2 : 6, UNIT_SANITIZED ? 100 : 4000, UNIT_SANITIZED ? LONG : LONGEST, 1000000);
}

static void hundreds_of_huge_trials(void)
{
    check_size(UNIT_SANITIZED ? 8 : 200, UNIT_SANITIZED ? 50 : 100, LONG, 1000000);
}

/* Nothing to say is a page too. */
static void nothing_to_show(void)
{
    static const char text[] = "{\"trials\": [\"gone\"]}";
    assay_error err = {""};
    assay_job job;
    assay_buf page;
    CU_ASSERT_EQUAL_FATAL(assay_job_parse("j", text, strlen(text), &assay_report_forms, &job, &err), ASSAY_OK);
    assay_trial_outcome trial = {
        .trial = &job.trials[0], .status = ASSAY_ENOTFOUND, .error = {"gone: no <such> directory"}};
    const assay_outcome outcome = {.job = &job, .trials = &trial, .trial_count = 1};
    assay_buf_init(&page, ASSAY_REPORT_CEILING);
    CU_ASSERT_EQUAL(report_put_html(&(assay_report){.outcome = &outcome}, &origin, &page), ASSAY_OK);
    assay_put_u8(&page, '\0');
    page.size--;
    check_page(&page);
    CU_ASSERT_PTR_NOT_NULL(strstr((const char *)page.data, "gone: no &lt;such&gt; directory"));
    assay_buf_release(&page);
    assay_job_release(&job);
}

/* One allocation after the other, in growing strides: either the page is whole, or there is a status. */
static void failing_allocations(void)
{
    made m;
    assay_buf whole;
    int status = ASSAY_ENOMEM;
    make(&m, 2, 20, LONG);
    assay_buf_init(&whole, ASSAY_REPORT_CEILING);
    CU_ASSERT_EQUAL(report_put_html(&m.report, &origin, &whole), ASSAY_OK);
    for (int call = 1; status != ASSAY_OK && call < 10000000; call += 2 * call + 1) {
        char fault[32];
        assay_buf page;
        assay_buf_init(&page, ASSAY_REPORT_CEILING);
        snprintf(fault, sizeof fault, "alloc:%d", call);
        setenv("ASSAY_FAULT", fault, 1);
        assay_fault_arm(0);
        status = report_put_html(&m.report, &origin, &page);
        unsetenv("ASSAY_FAULT");
        assay_fault_arm(0);
        CU_ASSERT_TRUE(status == ASSAY_ENOMEM || (status == ASSAY_OK && page.size == whole.size &&
                                                  memcmp(page.data, whole.data, page.size) == 0));
        assay_buf_release(&page);
    }
    CU_ASSERT_EQUAL(status, ASSAY_OK);
    assay_buf_release(&whole);
    release(&m);
}

int main(void)
{
    assay_error err = {""};
    CU_TestInfo tests[] = {{"one huge trial", one_huge_trial},
                           {"several huge trials", several_huge_trials},
                           {"hundreds of huge trials", hundreds_of_huge_trials},
                           {"nothing to show", nothing_to_show},
                           {"failing allocations", failing_allocations},
                           CU_TEST_INFO_NULL};
    return assay_rule_register_builtin(&err) == ASSAY_OK ? unit_main("report.html", tests) : 2;
}
