/* compare_classes.c - class counts side by side, accuracy and recalls, from the results of the aggregations in
 * report.json. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "report/compare/compare_internal.h"

static const cJSON *member(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static double number_of(const cJSON *item)
{
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

/* Reads the class of an item and what it has there: {"7": 12}, or {"class": 7, "recall": 0.5, "support": 20}. */
static bool read_class(const cJSON *item, bool confusion, int64_t *class, double *value)
{
    if (confusion) {
        bool known = assay_json_i64(member(item, "class"), class);
        double support = number_of(member(item, "support"));
        *value = support > 0 ? number_of(member(item, "recall")) : NAN;
        return known;
    }
    char *end = NULL;
    errno = 0;
    *class = strtoll(item->string, &end, 10);
    *value = number_of(item);
    return !errno && *end == '\0';
}

static const cJSON *classes_of(const cJSON *members, bool confusion)
{
    return member(members, confusion ? "per_class" : "classes");
}

/* Appends a class that is not among the first `sorted`. */
static int add_class(assay_compared_classes *list, size_t sorted, int64_t class)
{
    if (sorted > 0 && bsearch(&class, list->class, sorted, sizeof class, assay_order_i64))
        return ASSAY_OK;
    int64_t *more = compare_one_more(list->class, list->classes, sizeof class);
    ASSAY_HAVE(more);
    list->class = more;
    more[list->classes++] = class;
    return ASSAY_OK;
}

/* Gets the members of the aggregation's result in one trial; NULL where there are none. */
static int members_of(const assay_comparison *c, size_t trial, size_t aggregation, cJSON **out)
{
    report_rule rule = report_rule_of(c->outcome, &c->outcome->trials[trial], aggregation, true);
    *out = NULL;
    return rule.status == ASSAY_RULE_ERROR ? ASSAY_OK : report_members(&rule, out);
}

static int list_classes(const assay_comparison *c, assay_compared_classes *list)
{
    int status = ASSAY_OK;
    for (size_t t = 0; status == ASSAY_OK && t < c->trials; t++) {
        cJSON *members = NULL;
        size_t sorted = list->classes; /* a trial has each class once */
        status = members_of(c, t, list->aggregation, &members);
        const cJSON *classes = classes_of(members, list->confusion);
        for (const cJSON *item = classes ? classes->child : NULL; item && status == ASSAY_OK; item = item->next) {
            int64_t class;
            double value;
            if (read_class(item, list->confusion, &class, &value))
                status = add_class(list, sorted, class);
        }
        if (list->classes > sorted)
            qsort(list->class, list->classes, sizeof *list->class, assay_order_i64);
        cJSON_Delete(members);
    }
    if (list->classes > ASSAY_COMPARED_CLASSES) {
        list->classes_left_out = list->classes - ASSAY_COMPARED_CLASSES;
        list->classes = ASSAY_COMPARED_CLASSES;
    }
    return status;
}

/* Divides the largest by the smallest of `all` classes, those that any trial has; `counts` are the trial's own. A
 * class that the trial lacks makes it infinite. */
static double imbalance(const cJSON *counts, size_t all)
{
    double largest = 0, smallest = INFINITY;
    size_t own = 0;
    for (const cJSON *item = counts->child; item; item = item->next, own++) {
        largest = fmax(largest, number_of(item));
        smallest = fmin(smallest, number_of(item));
    }
    return largest > 0 ? largest / (own < all ? 0 : smallest) : NAN;
}

static void take_trial(assay_compared_classes *list, size_t trial, const cJSON *members)
{
    double *row = list->value + trial * list->classes;
    const cJSON *classes = classes_of(members, list->confusion);
    list->samples[trial] = number_of(member(members, "samples"));
    list->figure[trial] = number_of(member(members, "accuracy"));
    if (!classes)
        return;
    /* A class without samples has a count of 0, and no recall. */
    for (size_t i = 0; i < list->classes; i++)
        row[i] = list->confusion ? NAN : 0;
    for (const cJSON *item = classes->child; item; item = item->next) {
        int64_t class;
        double value;
        if (!read_class(item, list->confusion, &class, &value))
            continue;
        const int64_t *at = bsearch(&class, list->class, list->classes, sizeof class, assay_order_i64);
        if (at)
            row[at - list->class] = value;
    }
    if (!list->confusion)
        list->figure[trial] = imbalance(classes, list->classes + list->classes_left_out);
}

static int fill(const assay_comparison *c, assay_compared_classes *list)
{
    int status = list_classes(c, list);
    list->value = assay_alloc(c->trials * list->classes * sizeof *list->value);
    list->samples = assay_alloc(c->trials * sizeof *list->samples);
    list->figure = assay_alloc(c->trials * sizeof *list->figure);
    if (status != ASSAY_OK || !list->value || !list->samples || !list->figure)
        return ASSAY_ENOMEM;
    for (size_t i = 0; i < c->trials * list->classes; i++)
        list->value[i] = NAN;
    /* Members are parsed again: those of all trials at once may take too much memory. */
    for (size_t t = 0; status == ASSAY_OK && t < c->trials; t++) {
        cJSON *members = NULL;
        status = members_of(c, t, list->aggregation, &members);
        take_trial(list, t, members);
        cJSON_Delete(members);
    }
    return status;
}

int compare_classes(assay_comparison *c)
{
    const assay_job *job = c->outcome->job;
    c->classes = assay_alloc_zeroed(job->aggregation_count, sizeof *c->classes);
    int status = c->classes ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t a = 0; status == ASSAY_OK && a < job->aggregation_count; a++) {
        const assay_rule_ops *ops = job->aggregations[a]->ops;
        bool confusion = ops && strcmp(ops->name, "confusion") == 0;
        if (!confusion && !(ops && strcmp(ops->name, "class_counts") == 0))
            continue;
        assay_compared_classes *list = &c->classes[c->class_lists++];
        *list = (assay_compared_classes){.aggregation = a, .confusion = confusion};
        status = fill(c, list);
    }
    return status;
}
