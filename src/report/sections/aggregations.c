/* aggregations.c - what aggregations counted: bars of classes, a shaded confusion matrix with its figures, curves; other
 * kinds bring their own lines. The members are those of report.json, of this run or of a report that is read again. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "report/sections/members.h"
#include "report/sections/sections.h"

/* Bounds of what is drawn: report.json has everything, a page that nobody can read has nothing. */
enum { PAIRS_SHOWN = 5, ROWS_MOST = 512, CURVES_MOST = 50 };

static const cJSON *member(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *item = member(object, key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

/* Reads a number; those that are not finite are words in JSON. */
static double number_of(const cJSON *item)
{
    if (cJSON_IsNumber(item))
        return item->valuedouble;
    return cJSON_IsString(item) ? strtod(item->valuestring, NULL) : NAN;
}

static void put_samples(const cJSON *members, doc *d)
{
    const cJSON *samples = member(members, "samples"), *accuracy = member(members, "accuracy");
    doc_paragraph(d);
    if (cJSON_IsNumber(samples))
        doc_put(d, "%.0f samples%s", samples->valuedouble,
                samples->valuedouble > 0 ? "" : ": nothing in the trial fitted it");
    if (cJSON_IsNumber(accuracy))
        doc_put(d, ", accuracy %.3f", accuracy->valuedouble);
}

/* ---- classes ---- */

static void put_classes(const cJSON *members, const cJSON *classes, doc *d)
{
    const size_t count = (size_t)cJSON_GetArraySize(classes);
    double *x = assay_alloc_zeroed(2 * count, sizeof *x), *y = x ? x + count : NULL;
    const char **label = assay_alloc_zeroed(count, sizeof *label);
    size_t i = 0;
    put_samples(members, d);
    doc_fail(d, x && label ? ASSAY_OK : ASSAY_ENOMEM);
    for (const cJSON *item = x && label ? classes->child : NULL; item; item = item->next, i++) {
        x[i] = (double)i;
        y[i] = cJSON_IsNumber(item) ? item->valuedouble : 0;
        label[i] = item->string;
    }
    const doc_series series = {"samples", x, y, count, 0};
    if (i > 0)
        doc_put_chart(d, NULL,
                      &(doc_chart){.kind = DOC_BARS,
                                   .x_label = "class",
                                   .y_label = "samples",
                                   .series = &series,
                                   .count = 1,
                                   .shares = true,
                                   .label = label});
    free(x);
    free(label);
}

/* ---- confusion ---- */

typedef struct confused {
    size_t label, prediction;
    double count, of;
} confused;

/* Keeps the pairs with the largest counts, the first of equals. The list is full of pairs without counts at first. */
static void note_pair(confused *list, confused pair)
{
    for (size_t i = 0; i < PAIRS_SHOWN && pair.count > 0; i++) {
        if (pair.count <= list[i].count)
            continue;
        const confused moved = list[i];
        list[i] = pair;
        pair = moved;
    }
}

/* The matrix with runs of labels and of predictions added up: at most ROWS_MOST rows and columns. Members may come
 * from a report that is read again, so a row may be longer than the matrix. */
typedef struct cells {
    double *x, *y; /* x[size]; y[size][size] */
    char (*name)[24];
    size_t size, run;
} cells;

static void add_up(const cJSON *matrix, cells *s, confused *pairs)
{
    size_t label = 0;
    for (const cJSON *row = matrix->child; row; row = row->next, label++) {
        size_t prediction = 0;
        double all = 0;
        for (const cJSON *cell = row->child; cell; cell = cell->next)
            all += cJSON_IsNumber(cell) ? cell->valuedouble : 0;
        for (const cJSON *cell = row->child; cell; cell = cell->next, prediction++) {
            const double count = cJSON_IsNumber(cell) ? cell->valuedouble : 0;
            if (prediction / s->run < s->size)
                s->y[label / s->run * s->size + prediction / s->run] += count;
            if (label != prediction)
                note_pair(pairs, (confused){label, prediction, count, all});
        }
    }
}

static void put_matrix(const cJSON *matrix, doc *d)
{
    const size_t classes = (size_t)cJSON_GetArraySize(matrix);
    confused pairs[PAIRS_SHOWN] = {{0}};
    cells s = {.run = (classes + ROWS_MOST - 1) / ROWS_MOST};
    s.size = (classes + s.run - 1) / s.run;
    s.x = assay_alloc_zeroed(s.size, sizeof *s.x);
    s.y = assay_alloc_zeroed(s.size * s.size, sizeof *s.y);
    s.name = assay_alloc_zeroed(s.size, sizeof *s.name);
    doc_series *series = assay_alloc_zeroed(s.size, sizeof *series);
    if (s.x && s.y && s.name && series) {
        add_up(matrix, &s, pairs);
        for (size_t i = 0; i < s.size; i++) {
            s.x[i] = (double)(i * s.run);
            snprintf(s.name[i], sizeof s.name[i], "%zu", i * s.run);
            series[i] = (doc_series){s.name[i], s.x, s.y + i * s.size, s.size, 0};
        }
        doc_put_chart(d, NULL,
                      &(doc_chart){.kind = DOC_HEAT,
                                   .x_label = "predicted",
                                   .y_label = "label",
                                   .shares = true,
                                   .series = series,
                                   .count = s.size});
    } else
        doc_fail(d, ASSAY_ENOMEM);
    if (pairs[0].count > 0) {
        doc_paragraph(d);
        doc_put(d, "most confused:");
    }
    for (size_t i = 0; i < PAIRS_SHOWN && pairs[i].count > 0; i++) {
        doc_paragraph(d);
        doc_put(d, "%zu taken for %zu: %.0f of %.0f", pairs[i].label, pairs[i].prediction, pairs[i].count, pairs[i].of);
    }
    free(s.x);
    free(s.y);
    free(s.name);
    free(series);
}

static void put_share(const cJSON *item, const char *key, doc *d)
{
    const cJSON *share = member(item, key);
    if (cJSON_IsNumber(share))
        doc_cell_real(d, round(share->valuedouble * 1000) / 1000);
    else
        doc_cell_none(d); /* nothing to divide by */
}

static void put_per_class(const cJSON *list, doc *d)
{
    static const doc_column columns[] = {{"class", DOC_OF_REALS, NULL, DOC_KEEP},
                                         {"precision", DOC_OF_REALS, NULL, DOC_KEEP},
                                         {"recall", DOC_OF_REALS, NULL, DOC_KEEP},
                                         {"f1", DOC_OF_REALS, NULL, DOC_KEEP},
                                         {"samples", DOC_OF_REALS, NULL, DOC_KEEP}};
    doc_table(d, &(doc_table_def){NULL, "classes", columns, sizeof columns / sizeof *columns, false});
    for (const cJSON *item = list->child; item; item = item->next) {
        doc_row(d, DOC_PLAIN);
        doc_cell_real(d, number_of(member(item, "class")));
        put_share(item, "precision", d);
        put_share(item, "recall", d);
        put_share(item, "f1", d);
        doc_cell_real(d, number_of(member(item, "support")));
    }
}

/* ---- curves ---- */

/* False where the list is shorter: what is left keeps its zeros. */
static bool take_numbers(const cJSON *list, double *out, size_t count)
{
    size_t i = 0;
    for (const cJSON *item = cJSON_IsArray(list) ? list->child : NULL; item && i < count; item = item->next)
        out[i++] = number_of(item);
    return i == count;
}

static void put_curves(const cJSON *list, const char *key, doc *d)
{
    doc_series series[CURVES_MOST];
    assay_buf name[CURVES_MOST];
    double *room[CURVES_MOST];
    size_t count = 0, left = 0;
    for (const cJSON *curve = list->child; curve; curve = curve->next) {
        const cJSON *values = member(curve, key);
        const size_t points = cJSON_IsArray(values) ? (size_t)cJSON_GetArraySize(values) : 0;
        if (count == CURVES_MOST) {
            left++;
            continue;
        }
        room[count] = assay_alloc_zeroed(2 * points, sizeof **room);
        assay_buf_init(&name[count], 1 << 20);
        assay_put_format(&name[count], "%s %s", text_of(curve, "mode"), text_of(curve, "tensor"));
        assay_put_u8(&name[count], '\0');
        const bool good = room[count] && assay_buf_status(&name[count]) == ASSAY_OK;
        doc_fail(d, good ? ASSAY_OK : ASSAY_ENOMEM);
        if (good) {
            take_numbers(values, room[count] + points, points);
            /* Reports of older versions have no steps. */
            if (!take_numbers(member(curve, "steps"), room[count], points))
                for (size_t i = 0; i < points; i++)
                    room[count][i] = (double)i;
        }
        series[count] = (doc_series){good ? (const char *)name[count].data : "", room[count],
                                     good ? room[count] + points : NULL, good ? points : 0, (int)(count % DOC_STYLES)};
        count++;
    }
    if (count > 0)
        doc_put_chart(
            d, NULL,
            &(doc_chart){.kind = DOC_LINES, .x_label = "step", .y_label = key, .series = series, .count = count});
    if (left > 0) {
        doc_note(d);
        doc_put(d, "... and %zu more curve%s; report.json has all of them.", left, assay_plural(left));
    }
    while (count-- > 0) {
        free(room[count]);
        assay_buf_release(&name[count]);
    }
}

/* ---- quantiles ---- */

/* Puts a row for the first and the last step of each histogram. */
static void put_histograms(const cJSON *members, const cJSON *list, doc *d)
{
    static const double shown[] = {0, 0.05, 0.5, 0.95, 1};
    static const doc_column columns[] = {
        {"tensor", DOC_OF_NAMES, NULL, DOC_CUT}, {"mode", DOC_OF_WORDS, NULL, DOC_KEEP},
        {"step", DOC_OF_STEPS, NULL, DOC_KEEP},  {"least", DOC_OF_REALS, NULL, DOC_KEEP},
        {"5 %", DOC_OF_REALS, NULL, DOC_KEEP},   {"median", DOC_OF_REALS, NULL, DOC_KEEP},
        {"95 %", DOC_OF_REALS, NULL, DOC_KEEP},  {"most", DOC_OF_REALS, NULL, DOC_KEEP}};
    doc_table(d, &(doc_table_def){NULL, "histograms", columns, sizeof columns / sizeof *columns, false});
    for (const cJSON *h = list->child; h; h = h->next) {
        const cJSON *steps = member(h, "steps"), *rows = member(h, "quantiles");
        const int last = cJSON_IsArray(rows) ? cJSON_GetArraySize(rows) - 1 : -1;
        for (int end = 0; end <= last; end += last > 0 ? last : 1) {
            doc_row(d, DOC_PLAIN);
            doc_cell_name(d, text_of(h, "tensor"));
            doc_cell_words(d, text_of(h, "mode"));
            doc_cell_real(d, number_of(cJSON_GetArrayItem(steps, end)));
            const cJSON *row = cJSON_GetArrayItem(rows, end);
            /* Levels are found by their values, as their number may change. */
            for (size_t k = 0; k < sizeof shown / sizeof *shown; k++) {
                const cJSON *level = member(members, "levels"), *value = row ? row->child : NULL;
                level = cJSON_IsArray(level) ? level->child : NULL;
                for (; level && value && !(cJSON_IsNumber(level) && level->valuedouble == shown[k]);
                     level = level->next)
                    value = value->next;
                doc_cell_real(d, level && value ? number_of(value) : NAN);
            }
        }
    }
}

/* Called for this run's aggregations, and by `assay report` for those that it reads. False: none of the kinds that
 * are known. */
bool sections_put_members(const cJSON *members, doc *d)
{
    const cJSON *classes = member(members, "classes"), *matrix = member(members, "matrix");
    const cJSON *per_class = member(members, "per_class"), *histograms = member(members, "histograms");
    if (cJSON_IsArray(member(members, "losses")))
        put_curves(member(members, "losses"), "values", d);
    else if (cJSON_IsArray(member(members, "curves")))
        put_curves(member(members, "curves"), "norm", d);
    else if (cJSON_IsObject(classes))
        put_classes(members, classes, d);
    else if (cJSON_IsArray(histograms))
        put_histograms(members, histograms, d);
    else if (cJSON_IsArray(matrix) && cJSON_IsArray(per_class)) {
        put_samples(members, d);
        if (matrix->child) {
            put_matrix(matrix, d);
            put_per_class(per_class, d);
        }
    } else
        return false;
    return true;
}

static void put_aggregation(const assay_report *report, size_t t, size_t i, doc *d)
{
    const assay_trial_outcome *trial = &report->outcome->trials[t];
    const report_rule rule = report_rule_of(report->outcome, trial, i, true);
    cJSON *members = NULL;
    doc_card(d, NULL, rule.status == ASSAY_RULE_ERROR ? DOC_BROKEN : DOC_PLAIN);
    doc_put_name(d, rule.instance->name);
    if (strcmp(rule.instance->name, report_kind(&rule)) != 0) {
        doc_put(d, " (");
        doc_put_name(d, report_kind(&rule));
        doc_put(d, ")");
    }
    if (rule.status == ASSAY_RULE_ERROR) {
        doc_put(d, " ");
        doc_put_badge(d, DOC_BROKEN, "could not run");
        doc_lines(d, rule.message ? rule.message : "", rule.message_size);
        doc_end(d);
        return;
    }
    if (rule.message_size > 0) {
        doc_paragraph(d);
        doc_put_text(d, rule.message, rule.message_size);
    }
    /* Members that cannot be parsed leave the rule's own lines. */
    doc_fail(d, report_members(&rule, &members) == ASSAY_ENOMEM ? ASSAY_ENOMEM : ASSAY_OK);
    if ((!members || !sections_put_members(members, d)) && rule.text)
        doc_lines(d, (const char *)rule.text->data, rule.text->size);
    cJSON_Delete(members);
    doc_end(d);
}

static bool shows(const assay_report *report, size_t t, size_t i)
{
    const report_rule rule = report_rule_of(report->outcome, &report->outcome->trials[t], i, true);
    return sections_read(&report->outcome->trials[t]) &&
           (rule.status == ASSAY_RULE_ERROR || !(rule.instance->optional && report_counts_nothing(&rule)));
}

/* Puts the section. The page draws aggregations with pictures of their own (report/html): there only what could not
 * run stands here. */
void section_aggregations(const assay_report *report, doc *d)
{
    const assay_outcome *outcome = report->outcome;
    const size_t count = outcome->job->aggregation_count;
    bool open = false;
    for (size_t t = 0; t < outcome->trial_count; t++) {
        size_t shown = 0;
        for (size_t i = 0; i < count && sections_shows(report, t); i++)
            shown += shows(report, t, i);
        if (shown == 0)
            continue;
        if (!open) {
            doc_only(d, DOC_TEXT | DOC_JSON);
            doc_section(d, "aggregations", "Aggregations");
        }
        open = true;
        sections_begin_trial(report, d, t);
        for (size_t i = 0; i < count; i++)
            if (shows(report, t, i))
                put_aggregation(report, t, i, d);
        sections_end_trial(report, d);
    }
    if (open)
        doc_end(d);
}
