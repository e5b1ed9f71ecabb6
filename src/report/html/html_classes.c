/* html_classes.c - how many samples of each class, several trials side by side. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "report/html/html.h"

enum { TRIALS_SHOWN = 6, CLASSES_SHOWN = 100 };

/* One trial's counts. */
typedef struct counts {
    const char *trial;
    cJSON *members;
    const cJSON *classes;
    double samples, least, most;
    const char *least_class, *most_class;
} counts;

cJSON *html_members(html_page *page, const report_rule *rule)
{
    cJSON *members = NULL;
    int status = report_members(rule, &members);
    html_fail(page, status == ASSAY_ENOMEM ? status : ASSAY_OK);
    return members;
}

static double number_of(const cJSON *item)
{
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

/* Takes the counts of one trial; false when the aggregation has none there. The caller deletes c->members. */
static bool take(html_page *page, size_t t, size_t i, counts *c)
{
    const assay_trial_outcome *trial = &page->outcome->trials[t];
    report_rule rule = report_rule_of(page->outcome, trial, i, true);
    *c = (counts){.trial = trial->trial->name, .least = INFINITY};
    c->members = rule.json && rule.json->size ? html_members(page, &rule) : NULL;
    c->classes = cJSON_GetObjectItemCaseSensitive(c->members, "classes");
    if (!cJSON_IsObject(c->classes) || !c->classes->child) {
        cJSON_Delete(c->members);
        return false;
    }
    for (const cJSON *item = c->classes->child; item; item = item->next) {
        double n = number_of(item);
        c->samples += n;
        if (n < c->least) {
            c->least = n;
            c->least_class = item->string;
        }
        if (n > c->most) {
            c->most = n;
            c->most_class = item->string;
        }
    }
    return true;
}

/* Classes are numbers in texts, as keys of JSON are. */
static int by_class(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    double left = strtod(x, NULL), right = strtod(y, NULL);
    return left < right ? -1 : left > right ? 1 : strcmp(x, y);
}

/* Lists the classes of all trials, ascending, each once. The caller frees the list; NULL without memory. Texts are
 * borrowed from the trials' members. */
static const char **all_classes(const counts *list, size_t trials, size_t *count)
{
    size_t room = 1, n = 0;
    for (size_t t = 0; t < trials; t++)
        room += (size_t)cJSON_GetArraySize(list[t].classes);
    const char **classes = assay_alloc_zeroed(room, sizeof *classes);
    for (size_t t = 0; classes && t < trials; t++) {
        for (const cJSON *item = list[t].classes->child; item; item = item->next)
            classes[n++] = item->string;
    }
    *count = 0;
    if (!classes)
        return NULL;
    qsort(classes, n, sizeof *classes, by_class);
    for (size_t i = 0; i < n; i++) {
        if (*count == 0 || strcmp(classes[*count - 1], classes[i]) != 0)
            classes[(*count)++] = classes[i];
    }
    return classes;
}

/* The widest bar takes 70 %, as its number stands beside it. */
static void put_class(html_page *page, const counts *list, size_t trials, const char *class, double widest)
{
    html_put(page, "<tr><th scope=\"row\">");
    html_class(page, class);
    html_put(page, "</th><td>");
    for (size_t t = 0; t < trials; t++) {
        double n = number_of(cJSON_GetObjectItemCaseSensitive(list[t].classes, class));
        double share = list[t].samples > 0 ? n / list[t].samples : 0;
        html_put(page,
                 "<span class=\"bar\"><span class=\"fill b%zu\" style=\"width:%.2f%%\"></span><span class=\"value\">",
                 t, widest > 0 ? 70 * share / widest : 0);
        if (trials > 1) {
            html_put(page, "<span class=\"hidden\">");
            html_short_name(page, list[t].trial, 40);
            html_put(page, ": </span>");
        }
        html_put(page, "%.0f <span class=\"dim\">%.1f\u202f%%</span></span></span>", n, 100 * share);
    }
    html_put(page, "</td></tr>\n");
}

static void put_legend(html_page *page, const counts *list, size_t trials)
{
    html_put(page, "<ul class=\"legend tall\">");
    for (size_t t = 0; t < trials; t++) {
        html_put(page, "<li><span class=\"swatch b%zu\"></span><span><strong>", t);
        html_name(page, list[t].trial);
        html_put(page, "</strong>: %.0f samples", list[t].samples);
        if (list[t].least < list[t].most && list[t].least > 0) {
            html_put(page, ", the largest class (");
            html_class(page, list[t].most_class);
            html_put(page, ") is %.3g times the smallest (", list[t].most / list[t].least);
            html_class(page, list[t].least_class);
            html_put(page, ")");
        } else if (list[t].least == list[t].most) {
            html_put(page, ", all classes equally often");
        }
        html_put(page, "</span></li>");
    }
    html_put(page, "</ul>\n");
}

static void put_bars(html_page *page, const counts *list, size_t trials, const char *name)
{
    size_t count = 0, i = 0;
    double widest = 0;
    const char **classes = all_classes(list, trials, &count);
    html_fail(page, classes ? ASSAY_OK : ASSAY_ENOMEM);
    for (size_t t = 0; t < trials; t++)
        widest = fmax(widest, list[t].samples > 0 ? list[t].most / list[t].samples : 0);
    html_put(page, "<figure class=\"chart\"><figcaption>");
    html_name(page, name);
    html_put(page, "</figcaption>\n");
    put_legend(page, list, trials);
    html_put(page, "<table class=\"bars\"><thead><tr><th>Class</th><th>Samples, and their share of the "
                   "trial's</th></tr></thead><tbody>\n");
    for (; classes && i < count && i < CLASSES_SHOWN && !html_full(page); i++)
        put_class(page, list, trials, classes[i], widest);
    html_put(page, "</tbody></table>\n");
    html_more(page, count - i, "classes");
    html_put(page, "</figure>\n");
    free(classes);
}

/* Puts aggregation i over the trials; false when no trial has class counts of it. */
static bool put_aggregation(html_page *page, size_t i, bool open)
{
    counts list[TRIALS_SHOWN];
    size_t shown = 0, left = 0;
    for (size_t t = 0; t < page->outcome->trial_count; t++) {
        if (!html_read(&page->outcome->trials[t]) || html_is_usual(page, t))
            continue;
        if (shown == TRIALS_SHOWN)
            left++;
        else
            shown += take(page, t, i, &list[shown]);
    }
    if (shown > 0 && !open)
        html_section(page, "classes", "Class counts", HTML_BUDGET_CLASSES);
    if (shown > 0) {
        put_bars(page, list, shown, page->outcome->job->aggregations[i]->name);
        html_more(page, left, "trials");
    }
    for (size_t t = 0; t < shown; t++)
        cJSON_Delete(list[t].members);
    return shown > 0;
}

void html_class_counts(html_page *page)
{
    html_each_aggregation(page, put_aggregation);
}
