/* history.c - see history.h. */
#include "report/history/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fault.h"
#include "base/search.h"
#include "job/job.h"
#include "report/model/report_parse.h"

#include <assay/timeline.h> /* assay_natural_order() */

/* Statuses come from a report.json, which may be of any version or of a stranger: a word that is not known counts as
 * no rule. */
static history_mark mark_of(const cJSON *rule)
{
    static const struct {
        const char *status;
        history_mark mark;
    } marks[] = {{"IssuesFound", HISTORY_FOUND},
                 {"NoIssuesFound", HISTORY_QUIET},
                 {"NoData", HISTORY_NO_DATA},
                 {"Error", HISTORY_ERROR}};
    const char *status = assay_report_text_of(rule, "status");
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strcmp(status, marks[i].status) == 0)
            return marks[i].mark;
    return HISTORY_ABSENT;
}

/* A severity that is missing or not known is the least: such a rule never fails a run. */
static int severity_of(const cJSON *rule)
{
    for (int s = ASSAY_ERROR; s > ASSAY_INFO; s--)
        if (strcmp(assay_report_text_of(rule, "severity"), assay_severity_name(s)) == 0)
            return s;
    return ASSAY_INFO;
}

/* Reads "2026-11-22T16:40:07Z" as seconds since 1970. */
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

static void release_report(history_report *report)
{
    free(report->path);
    free(report->verdict);
    free(report->name);
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
    for (size_t i = 0; report && i < h->figures; i++) {
        history_figure *figure = &h->figure[i];
        double *value = assay_realloc_array(figure->value, room, sizeof *value);
        figure->value = value ? value : figure->value;
        uint8_t *there = value ? assay_realloc_array(figure->there, room, sizeof *there) : NULL;
        if (!there)
            return false;
        memset(there + h->room, 0, room - h->room);
        figure->there = there;
    }
    h->room = report ? room : h->room;
    return report != NULL;
}

/* The list may move: no pointer to a rule outlasts the making of another one. */
history_rule *assay_history_rule(assay_report_history *h, const char *name)
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

/* Several trials of a report put their marks into the same place: the marks are numbered so that the one that counts
 * most is the greatest. */
int assay_history_put_mark(assay_report_history *h, const char *name, int severity, history_mark mark)
{
    history_rule *rule = assay_history_rule(h, name);
    ASSAY_HAVE(rule);
    uint8_t *at = &rule->mark[h->reports];
    mark = mark == HISTORY_FOUND && severity == ASSAY_INFO ? HISTORY_INFO : mark;
    *at = mark > *at ? (uint8_t)mark : *at;
    rule->severity = severity > rule->severity ? severity : rule->severity;
    return ASSAY_OK;
}

/* Where memory fails, the figure already counts, with what there is of it: assay_history_release frees the rest. */
int assay_history_put_figure(assay_report_history *h, const char *name, double value)
{
    size_t i = 0;
    while (i < h->figures && strcmp(h->figure[i].name, name) != 0)
        i++;
    if (i == h->figures) {
        history_figure *list = assay_realloc_array(h->figure, h->figures + 1, sizeof *list);
        ASSAY_HAVE(list);
        h->figure = list;
        list[i] = (history_figure){.name = assay_copy_text(name),
                                   .value = assay_alloc_zeroed(h->room, sizeof *list->value),
                                   .there = assay_alloc_zeroed(h->room, 1)};
        h->figures++;
        ASSAY_HAVE(list[i].name && list[i].value && list[i].there);
    }
    h->figure[i].value[h->reports] = value;
    h->figure[i].there[h->reports] = true;
    return ASSAY_OK;
}

static int take_trial(assay_report_history *h, const cJSON *trial)
{
    const cJSON *rules = cJSON_GetObjectItemCaseSensitive(trial, "rules");
    int status = ASSAY_OK;
    for (const cJSON *item = cJSON_IsArray(rules) ? rules->child : NULL; item && status == ASSAY_OK; item = item->next)
        if (*assay_report_text_of(item, "name"))
            status = assay_history_put_mark(h, assay_report_text_of(item, "name"), severity_of(item), mark_of(item));
    return status;
}

/* The report counts only once its taker adds 1 to `reports`: until then marks go into a column that the next report
 * would take over. */
int assay_history_begin(assay_report_history *h, const char *path, const char *verdict, const char *name,
                        const char *started)
{
    ASSAY_HAVE(grow(h));
    history_report *report = &h->report[h->reports];
    *report = (history_report){.path = assay_copy_text(path),
                               .verdict = assay_copy_text(verdict),
                               .name = name ? assay_copy_text(name) : NULL,
                               .number = h->reports};
    report->dated = started && read_date(started, &report->when);
    if (report->path && report->verdict && (!name || report->name))
        return ASSAY_OK;
    release_report(report);
    return ASSAY_ENOMEM;
}

/* assay_report_parse has made sure that `trials` is a list; all else of the document may be missing or of another
 * type. */
static int take_report(assay_report_history *h, const char *path, const cJSON *document, int64_t file_time,
                       assay_error *err)
{
    const cJSON *trials = cJSON_GetObjectItemCaseSensitive(document, "trials");
    const char *date = assay_report_text_of(cJSON_GetObjectItemCaseSensitive(document, "run"), "date");
    int status = assay_history_begin(h, path, assay_report_text_of(document, "verdict"), NULL, date);
    if (status != ASSAY_OK)
        return assay_fail(err, status, "%s: out of memory", path);
    history_report *report = &h->report[h->reports];
    report->when = report->dated ? report->when : file_time;
    for (const cJSON *trial = trials->child; trial && status == ASSAY_OK; trial = trial->next)
        status = take_trial(h, trial);
    if (status == ASSAY_OK) {
        h->reports++;
        return ASSAY_OK;
    }
    release_report(report);
    return assay_fail(err, status, "%s: out of memory", path);
}

int assay_history_add(assay_report_history *history, const char *path, const void *text, size_t size, int64_t file_time,
                      assay_error *err)
{
    cJSON *document = NULL;
    int status = assay_report_parse(path, text, size, &document, err);
    ASSAY_THEN(status, take_report(history, path, document, file_time, err));
    cJSON_Delete(document);
    return status;
}

ASSAY_ORDER_BY(by_time, history_report, when, number)

static int by_name(const void *a, const void *b)
{
    const history_report *x = a, *y = b;
    const int order = assay_natural_order(x->name, y->name);
    return order ? order : ASSAY_ORDER(x->number, y->number);
}

/* Patterns give trials in byte order of their names, version_10 before version_9: then numbers in them count. */
static void sort_by_name(assay_report_history *h)
{
    bool numbered = false;
    for (size_t i = 1; i < h->reports; i++) {
        const char *before = h->report[i - 1].name, *name = h->report[i].name;
        if (!before || !name || strcmp(before, name) > 0)
            return;
        numbered = numbered || assay_natural_order(before, name) > 0;
    }
    if (numbered)
        qsort(h->report, h->reports, sizeof *h->report, by_name);
    h->by_name = numbered;
}

/* Puts the severest first, then goes by name. */
static int by_severity(const void *a, const void *b)
{
    const history_rule *x = a, *y = b;
    return x->severity != y->severity ? (x->severity > y->severity ? -1 : 1) : strcmp(x->name, y->name);
}

/* Called once all reports are there. Marks stay where they are: each report knows its column, so only the list of
 * reports changes. */
void assay_history_sort(assay_report_history *h)
{
    bool dated = true;
    for (size_t i = 0; i < h->reports; i++)
        dated = dated && (h->report[i].dated || !h->report[i].name);
    for (size_t i = 0; i < h->reports && !dated; i++) { /* trials that say no time stay as they were given */
        h->report[i].dated = false;
        h->report[i].when = 0;
    }
    if (!dated)
        sort_by_name(h);
    else if (h->reports > 0)
        qsort(h->report, h->reports, sizeof *h->report, by_time);
    if (h->rules > 0)
        qsort(h->rule, h->rules, sizeof *h->rule, by_severity);
}

void assay_history_release(assay_report_history *h)
{
    for (size_t i = 0; i < h->reports; i++) {
        release_report(&h->report[i]);
    }
    for (size_t i = 0; i < h->rules; i++) {
        free(h->rule[i].name);
        free(h->rule[i].mark);
    }
    for (size_t i = 0; i < h->figures; i++) {
        free(h->figure[i].name);
        free(h->figure[i].value);
        free(h->figure[i].there);
    }
    free(h->figure);
    free(h->report);
    free(h->rule);
    *h = (assay_report_history){.report = NULL};
}

history_mark assay_history_mark(const assay_report_history *h, const history_rule *rule, size_t report)
{
    return (history_mark)rule->mark[h->report[report].number];
}

bool assay_history_has_findings(history_mark mark)
{
    return mark == HISTORY_FOUND || mark == HISTORY_INFO;
}

static bool is_tested(history_mark mark)
{
    return assay_history_has_findings(mark) || mark == HISTORY_QUIET;
}

/* Finds the first report since which every test of the rule came out so: what was no warning before is one since, what was
 * one has its findings since then. Reports that did not test it break nothing. */
static size_t unbroken_since(const assay_report_history *h, const history_rule *rule, history_mark mark)
{
    size_t since = h->reports - 1;
    for (size_t i = h->reports; i-- > 0;) {
        const history_mark was = assay_history_mark(h, rule, i);
        if (was == mark || (mark == HISTORY_INFO && was == HISTORY_FOUND))
            since = i;
        else if (is_tested(was))
            break;
    }
    return since;
}

history_course assay_history_course(const assay_report_history *h, const history_rule *rule)
{
    history_course course = {.since = SIZE_MAX};
    /* Reports after the last test; stays SIZE_MAX where the rule was never tested. */
    size_t untested_since = SIZE_MAX; /* once it was tested */
    for (size_t i = 0; i < h->reports; i++) {
        course.now = assay_history_mark(h, rule, i);
        course.found += assay_history_has_findings(course.now);
        untested_since = is_tested(course.now) ? i + 1 : untested_since;
    }
    if (assay_history_has_findings(course.now) || (course.now == HISTORY_QUIET && course.found > 0))
        course.since = unbroken_since(h, rule, course.now);
    else if (!is_tested(course.now) && !rule->figure) /* runs of other kinds have figures of other names */
        course.since = untested_since;
    return course;
}

/* Tells what --fail-on asks: a rule above info has findings in the newest report that its last test before had not, or is
 * not tested in it for the first time. Where the newest tested nothing at all, that is worse too. */
bool assay_history_is_worse(const assay_report_history *h)
{
    bool tested = false;
    for (size_t i = 0; h->reports > 1 && i < h->rules; i++) {
        const history_course course = assay_history_course(h, &h->rule[i]);
        tested = tested || is_tested(course.now);
        const bool is_new = course.now == HISTORY_FOUND || (!is_tested(course.now) && !h->rule[i].figure);
        if (h->rule[i].severity > ASSAY_INFO && is_new && course.since == h->reports - 1)
            return true;
    }
    return h->reports > 1 && !tested;
}
