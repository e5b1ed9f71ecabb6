/* history.c - see history.h. */
#include "report/history/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fault.h"
#include "base/json.h"
#include "job/job.h"

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

static history_mark mark_of(const cJSON *rule)
{
    static const struct {
        const char *status;
        history_mark mark;
    } marks[] = {{"IssuesFound", HISTORY_FOUND},
                 {"NoIssuesFound", HISTORY_QUIET},
                 {"NoData", HISTORY_NO_DATA},
                 {"Error", HISTORY_ERROR}};
    const char *status = text_of(rule, "status");
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strcmp(status, marks[i].status) == 0)
            return marks[i].mark;
    return HISTORY_ABSENT;
}

static int severity_of(const cJSON *rule)
{
    for (int s = ASSAY_ERROR; s > ASSAY_INFO; s--)
        if (strcmp(text_of(rule, "severity"), assay_severity_name(s)) == 0)
            return s;
    return ASSAY_INFO;
}

/* "2026-11-22T16:40:07Z" as seconds since 1970. */
static bool read_date(const char *text, int64_t *when)
{
    struct tm t = {.tm_isdst = 0};
    int end = 0;
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2dZ%n", &t.tm_year, &t.tm_mon, &t.tm_mday, &t.tm_hour, &t.tm_min, &t.tm_sec,
               &end) != 6 ||
        end == 0 || text[end] != '\0')
        return false;
    t.tm_year -= 1900;
    t.tm_mon--;
    *when = (int64_t)timegm(&t);
    return true;
}

/* Room for one report more, in the list and in the marks of every rule. False without memory. */
static bool grow(assay_report_history *h)
{
    if (h->reports < h->room)
        return true;
    const size_t room = h->room ? 2 * h->room : 16;
    history_report *report = assay_realloc_array(h->report, room, sizeof *report);
    h->report = report ? report : h->report;
    for (size_t i = 0; report && i < h->rules; i++) {
        uint8_t *mark = assay_realloc_array(h->rule[i].mark, room, sizeof *mark);
        if (!mark)
            return false;
        memset(mark + h->room, HISTORY_ABSENT, room - h->room);
        h->rule[i].mark = mark;
    }
    h->room = report ? room : h->room;
    return report != NULL;
}

/* The rule of that name, made where it is new; NULL without memory. */
static history_rule *rule_named(assay_report_history *h, const char *name)
{
    for (size_t i = 0; i < h->rules; i++)
        if (strcmp(h->rule[i].name, name) == 0)
            return &h->rule[i];
    history_rule *list = assay_realloc_array(h->rule, h->rules + 1, sizeof *list);
    if (!list)
        return NULL;
    h->rule = list;
    history_rule *rule = &list[h->rules];
    *rule = (history_rule){.name = assay_copy_text(name), .mark = assay_alloc_zeroed(h->room, sizeof *rule->mark)};
    if (!rule->name || !rule->mark) {
        free(rule->name);
        free(rule->mark);
        return NULL;
    }
    h->rules++;
    return rule;
}

static int take_trial(assay_report_history *h, const cJSON *trial)
{
    const cJSON *rules = cJSON_GetObjectItemCaseSensitive(trial, "rules");
    for (const cJSON *item = cJSON_IsArray(rules) ? rules->child : NULL; item; item = item->next) {
        const char *name = text_of(item, "name");
        const int severity = severity_of(item);
        const uint8_t mark = (uint8_t)mark_of(item);
        history_rule *rule = name[0] ? rule_named(h, name) : NULL;
        if (!name[0])
            continue;
        if (!rule)
            return ASSAY_ENOMEM;
        uint8_t *at = &rule->mark[h->reports];
        *at = mark > *at ? mark : *at;
        rule->severity = severity > rule->severity ? severity : rule->severity;
    }
    return ASSAY_OK;
}

static int take_report(assay_report_history *h, const char *path, const cJSON *document, int64_t file_time,
                       assay_error *err)
{
    const cJSON *trials = cJSON_GetObjectItemCaseSensitive(document, "trials");
    if (strcmp(text_of(document, "schema"), "assay-report/1") != 0 || !cJSON_IsArray(trials))
        return assay_fail(err, ASSAY_EFORMAT, "%s: this is not a report.json of assay (schema assay-report/1)", path);
    if (!grow(h))
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", path);
    history_report *report = &h->report[h->reports];
    *report = (history_report){.path = assay_copy_text(path),
                               .verdict = assay_copy_text(text_of(document, "verdict")),
                               .when = file_time,
                               .number = h->reports};
    report->dated = read_date(text_of(cJSON_GetObjectItemCaseSensitive(document, "run"), "date"), &report->when);
    int status = report->path && report->verdict ? ASSAY_OK : ASSAY_ENOMEM;
    for (const cJSON *trial = trials->child; trial && status == ASSAY_OK; trial = trial->next)
        status = take_trial(h, trial);
    if (status == ASSAY_OK) {
        h->reports++;
        return ASSAY_OK;
    }
    free(report->path);
    free(report->verdict);
    return assay_fail(err, status, "%s: out of memory", path);
}

int assay_history_add(assay_report_history *history, const char *path, const void *text, size_t size, int64_t file_time,
                      assay_error *err)
{
    cJSON *document = NULL;
    int status = assay_json_parse(path, text, size, &document, err);
    if (status == ASSAY_OK)
        status = take_report(history, path, document, file_time, err);
    cJSON_Delete(document);
    return status;
}

static int by_time(const void *a, const void *b)
{
    const history_report *x = a, *y = b;
    if (x->when != y->when)
        return x->when < y->when ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* The severest first, then by name. */
static int by_severity(const void *a, const void *b)
{
    const history_rule *x = a, *y = b;
    return x->severity != y->severity ? (x->severity > y->severity ? -1 : 1) : strcmp(x->name, y->name);
}

void assay_history_sort(assay_report_history *h)
{
    if (h->reports > 0)
        qsort(h->report, h->reports, sizeof *h->report, by_time);
    if (h->rules > 0)
        qsort(h->rule, h->rules, sizeof *h->rule, by_severity);
}

void assay_history_release(assay_report_history *h)
{
    for (size_t i = 0; i < h->reports; i++) {
        free(h->report[i].path);
        free(h->report[i].verdict);
    }
    for (size_t i = 0; i < h->rules; i++) {
        free(h->rule[i].name);
        free(h->rule[i].mark);
    }
    free(h->report);
    free(h->rule);
    *h = (assay_report_history){.report = NULL};
}

history_mark assay_history_mark(const assay_report_history *h, const history_rule *rule, size_t report)
{
    return (history_mark)rule->mark[h->report[report].number];
}

static bool is_tested(history_mark mark)
{
    return mark == HISTORY_FOUND || mark == HISTORY_QUIET;
}

/* The first report since which every test of the rule came out so. */
static size_t unbroken_since(const assay_report_history *h, const history_rule *rule, history_mark mark)
{
    size_t since = h->reports - 1;
    for (size_t i = h->reports; i-- > 0;) {
        const history_mark was = assay_history_mark(h, rule, i);
        if (was == mark)
            since = i;
        else if (is_tested(was))
            break;
    }
    return since;
}

history_course assay_history_course(const assay_report_history *h, const history_rule *rule)
{
    history_course course = {.since = SIZE_MAX};
    size_t untested_since = SIZE_MAX; /* once it was tested */
    for (size_t i = 0; i < h->reports; i++) {
        course.now = assay_history_mark(h, rule, i);
        course.found += course.now == HISTORY_FOUND;
        untested_since = is_tested(course.now) ? i + 1 : untested_since;
    }
    if (course.now == HISTORY_FOUND || (course.now == HISTORY_QUIET && course.found > 0))
        course.since = unbroken_since(h, rule, course.now);
    else if (!is_tested(course.now))
        course.since = untested_since;
    return course;
}

bool assay_history_is_worse(const assay_report_history *h)
{
    for (size_t i = 0; h->reports > 1 && i < h->rules; i++) {
        const history_course course = assay_history_course(h, &h->rule[i]);
        const bool is_new = course.now == HISTORY_FOUND || !is_tested(course.now);
        if (h->rule[i].severity > ASSAY_INFO && is_new && course.since == h->reports - 1)
            return true;
    }
    return false;
}
