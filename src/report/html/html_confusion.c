/* html_confusion.c - confusion matrices as heat maps, with the pairs that are confused most. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "report/html/html.h"

/* CELL_BYTES: what a cell takes in the page at most, so that a matrix is drawn whole or not at all. */
enum {
    CELLS_WITH_NUMBERS = 24,
    CLASSES_AS_TABLE = 40,
    BINS = 40,
    PAIRS_SHOWN = 8,
    CLASSES_SHOWN = 60,
    CELL_BYTES = 90
};

typedef struct pair {
    int64_t label, prediction;
    double count;
} pair;

typedef struct matrix {
    const cJSON *dense, *cells; /* one of them is there */
    int64_t classes;
    double samples;
    double *row; /* [classes] samples of each label; NULL: there are too many */
} matrix;

/* Calls `each` for every cell that is not 0; of a sparse matrix those that are listed. */
static void walk(const matrix *m, void (*each)(void *context, const matrix *m, pair cell), void *context)
{
    int64_t label = 0;
    for (const cJSON *line = m->dense ? m->dense->child : NULL; line; line = line->next, label++) {
        int64_t prediction = 0;
        for (const cJSON *cell = line->child; cell; cell = cell->next, prediction++) {
            if (cJSON_IsNumber(cell) && cell->valuedouble > 0)
                each(context, m, (pair){label, prediction, cell->valuedouble});
        }
    }
    for (const cJSON *cell = m->cells ? m->cells->child : NULL; cell; cell = cell->next) {
        const cJSON *l = cell->child, *p = l ? l->next : NULL, *n = p ? p->next : NULL;
        if (cJSON_IsNumber(l) && cJSON_IsNumber(p) && cJSON_IsNumber(n))
            each(context, m, (pair){(int64_t)l->valuedouble, (int64_t)p->valuedouble, n->valuedouble});
    }
}

static void add_to_row(void *context, const matrix *m, pair cell)
{
    double *row = context;
    if (cell.label >= 0 && cell.label < m->classes)
        row[cell.label] += cell.count;
}

static bool take(html_page *page, const cJSON *members, matrix *m)
{
    const cJSON *dense = cJSON_GetObjectItemCaseSensitive(members, "matrix");
    const cJSON *cells = cJSON_GetObjectItemCaseSensitive(members, "cells");
    const cJSON *samples = cJSON_GetObjectItemCaseSensitive(members, "samples");
    *m = (matrix){.dense = cJSON_IsArray(dense) && dense->child ? dense : NULL,
                  .cells = cJSON_IsArray(cells) && cells->child ? cells : NULL};
    if (!m->dense && !m->cells)
        return false;
    m->samples = cJSON_IsNumber(samples) ? samples->valuedouble : 0;
    m->classes = m->dense ? cJSON_GetArraySize(m->dense) : 0;
    m->row = m->dense ? assay_alloc_zeroed((size_t)m->classes, sizeof *m->row) : NULL;
    html_fail(page, m->row || !m->dense ? ASSAY_OK : ASSAY_ENOMEM);
    if (m->row)
        walk(m, add_to_row, m->row);
    return true;
}

/* ---- the pairs ---- */

typedef struct worst {
    pair list[PAIRS_SHOWN];
    size_t count;
} worst;

/* Kept in order, largest first. */
static void note_pair(void *context, const matrix *m, pair cell)
{
    worst *w = context;
    if (cell.label == cell.prediction)
        return;
    size_t at = w->count;
    while (at > 0 && w->list[at - 1].count < cell.count)
        at--;
    if (at == PAIRS_SHOWN)
        return;
    w->count += w->count < PAIRS_SHOWN;
    memmove(&w->list[at + 1], &w->list[at], (w->count - at - 1) * sizeof *w->list);
    w->list[at] = cell;
}

static void put_pairs(html_page *page, const matrix *m)
{
    worst w = {.count = 0};
    walk(m, note_pair, &w);
    if (w.count == 0) {
        html_put(page, "<p>No class was taken for another.</p>\n");
        return;
    }
    html_put(page, "<h5>Confused most</h5><ol class=\"pairs\">\n");
    for (size_t i = 0; i < w.count; i++) {
        const pair *p = &w.list[i];
        html_put(page, "<li><strong>");
        html_class_number(page, p->label);
        html_put(page, "</strong> taken for <strong>");
        html_class_number(page, p->prediction);
        html_put(page, "</strong>: %.0f time%s", p->count, p->count == 1 ? "" : "s");
        if (m->row && m->row[p->label] > 0)
            html_put(page, " <span class=\"dim\">(%.1f\u202f%% of its samples)</span>",
                     100 * p->count / m->row[p->label]);
        html_put(page, "</li>\n");
    }
    html_put(page, "</ol>\n");
}

/* ---- the heat map ---- */

/* The class of the style has 9 shades, and 0 for nothing. */
static void put_cell(html_page *page, double count, double row, bool diagonal, bool number)
{
    double share = row > 0 ? count / row : 0;
    html_put(page, "<td class=\"h%d%s\">", count > 0 ? 1 + (int)(share * 8.999) : 0, diagonal ? " d" : "");
    if (number && count > 0)
        html_put(page, "%.0f", count);
    html_put(page, "</td>");
}

static void put_table(html_page *page, const matrix *m)
{
    bool numbers = m->classes <= CELLS_WITH_NUMBERS;
    html_put(page,
             "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Confusion matrix\"><table "
             "class=\"heat%s\"><thead>"
             "<tr><td class=\"corner\"></td><th colspan=\"%" PRId64 "\" class=\"over\">predicted</th></tr>"
             "<tr><th class=\"corner\">label</th>",
             numbers ? "" : " small", m->classes);
    for (int64_t c = 0; c < m->classes; c++)
        html_put(page, "<th scope=\"col\">%" PRId64 "</th>", c);
    html_put(page, "</tr></thead><tbody>\n");
    int64_t label = 0;
    for (const cJSON *line = m->dense->child; line; line = line->next, label++) {
        int64_t prediction = 0;
        html_put(page, "<tr><th scope=\"row\">");
        html_class_number(page, label);
        html_put(page, "</th>");
        for (const cJSON *cell = line->child; cell && prediction < m->classes; cell = cell->next, prediction++)
            put_cell(page, cJSON_IsNumber(cell) ? cell->valuedouble : 0, m->row ? m->row[label] : 0,
                     label == prediction, numbers);
        html_put(page, "</tr>\n");
    }
    html_put(page, "</tbody></table></div>\n");
}

typedef struct bins {
    double cell[BINS][BINS], row[BINS];
} bins;

static void add_to_bin(void *context, const matrix *m, pair cell)
{
    bins *b = context;
    size_t l = (size_t)(cell.label * BINS / m->classes), p = (size_t)(cell.prediction * BINS / m->classes);
    if (l < BINS && p < BINS) {
        b->cell[l][p] += cell.count;
        b->row[l] += cell.count;
    }
}

/* Draws bins: with too many classes for a cell each, neighbours share one. */
static void put_binned(html_page *page, const matrix *m)
{
    bins *b = assay_alloc_zeroed(1, sizeof *b);
    if (!b) {
        html_fail(page, ASSAY_ENOMEM);
        return;
    }
    walk(m, add_to_bin, b);
    html_put(page,
             "<svg class=\"heatmap\" viewBox=\"0 0 %d %d\" role=\"img\"><title>Confusion matrix of %" PRId64
             " classes, labels down, predictions across, %.1f classes a cell</title>",
             BINS, BINS, m->classes, (double)m->classes / BINS);
    for (int l = 0; l < BINS; l++) {
        for (int p = 0; p < BINS; p++) {
            if (b->cell[l][p] > 0)
                html_put(page, "<path class=\"h%d\" d=\"M%d %dh1v1h-1z\"/>",
                         1 + (int)(b->cell[l][p] / b->row[l] * 8.999), p, l);
        }
    }
    html_put(page, "</svg><p class=\"note\">Labels down, predictions across; neighbouring classes share a cell.</p>\n");
    free(b);
}

static void put_share(html_page *page, const cJSON *number)
{
    if (cJSON_IsNumber(number))
        html_put(page, "<td class=\"n\">%.3f</td>", number->valuedouble);
    else
        html_put(page, "<td class=\"n\">\u2013</td>"); /* nothing to divide by */
}

static void put_per_class(html_page *page, const cJSON *list)
{
    int shown = 0;
    html_put(page, "<details><summary>Precision, recall and F1 of each class</summary><div class=\"scroll\" "
                   "tabindex=\"0\" role=\"region\" aria-label=\"Classes\"><table><thead><tr><th>Class</th><th "
                   "class=\"n\">Precision</th><th class=\"n\">Recall</th><th class=\"n\">F1</th><th "
                   "class=\"n\">Samples</th></tr></thead><tbody>\n");
    for (const cJSON *item = list->child; item && shown < CLASSES_SHOWN && !html_full(page);
         item = item->next, shown++) {
        const cJSON *class = cJSON_GetObjectItemCaseSensitive(item, "class");
        const cJSON *support = cJSON_GetObjectItemCaseSensitive(item, "support");
        html_put(page, "<tr><th scope=\"row\">");
        html_class_number(page, cJSON_IsNumber(class) ? (int64_t) class->valuedouble : -1);
        html_put(page, "</th>");
        put_share(page, cJSON_GetObjectItemCaseSensitive(item, "precision"));
        put_share(page, cJSON_GetObjectItemCaseSensitive(item, "recall"));
        put_share(page, cJSON_GetObjectItemCaseSensitive(item, "f1"));
        html_put(page, "<td class=\"n\">%.0f</td></tr>\n", cJSON_IsNumber(support) ? support->valuedouble : 0);
    }
    html_put(page, "</tbody></table></div>");
    html_more(page, (uint64_t)(cJSON_GetArraySize(list) - shown), "classes");
    html_put(page, "</details>\n");
}

static void put_matrix(html_page *page, const matrix *m, const cJSON *members, const char *trial)
{
    const cJSON *accuracy = cJSON_GetObjectItemCaseSensitive(members, "accuracy");
    const cJSON *per_class = cJSON_GetObjectItemCaseSensitive(members, "per_class");
    size_t left = page->end > page->out->size ? page->end - page->out->size : 0;
    int64_t drawn = m->classes <= CLASSES_AS_TABLE ? m->classes : BINS;
    bool fits = left > (size_t)(drawn * drawn) * CELL_BYTES;
    html_put(page, "<figure class=\"chart matrix\"><figcaption>");
    html_name(page, trial);
    html_put(page, "</figcaption><p class=\"remark\">%.0f samples", m->samples);
    if (cJSON_IsNumber(accuracy))
        html_put(page, ", <strong>%.1f\u202f%%</strong> of them predicted right", 100 * accuracy->valuedouble);
    html_put(page, "</p>\n");
    if (m->dense && fits && m->classes <= CLASSES_AS_TABLE)
        put_table(page, m);
    else if (m->dense && fits)
        put_binned(page, m);
    else
        html_put(page, "<p class=\"note\">The matrix itself is in report.json.</p>\n");
    put_pairs(page, m);
    if (cJSON_IsArray(per_class) && per_class->child)
        put_per_class(page, per_class);
    html_put(page, "</figure>\n");
}

/* Puts aggregation i of each trial, side by side. */
static bool put_aggregation(html_page *page, size_t i, bool open)
{
    bool any = false;
    size_t end = page->end, left = 0;
    for (size_t t = 0; t < page->outcome->trial_count; t++) {
        report_rule rule = report_rule_of(page->outcome, &page->outcome->trials[t], i, true);
        cJSON *members = NULL;
        matrix m;
        if (html_is_usual(page, t))
            continue;
        if (any && page->out->size >= end)
            left++;
        else if (html_read(&page->outcome->trials[t]))
            members = html_members(page, &rule);
        if (members && take(page, members, &m)) {
            if (!any && !open) {
                html_section(page, "confusion", "Confusion: what was taken for what", HTML_BUDGET_CONFUSION);
                html_put(page, "<p class=\"note\">The stronger the colour of a cell, the larger its share of the "
                               "label's samples; right predictions are on the framed diagonal.</p>\n");
                end = page->end;
            }
            if (!any) {
                html_put(page, "<h3>");
                html_name(page, page->outcome->job->aggregations[i]->name);
                html_put(page, "</h3><div class=\"beside\">\n");
            }
            any = true;
            put_matrix(page, &m, members, page->outcome->trials[t].trial->name);
            free(m.row);
        }
        cJSON_Delete(members);
    }
    html_put(page, any ? "</div>\n" : "");
    html_more(page, left, "trials");
    return any;
}

void html_confusions(html_page *page)
{
    html_each_aggregation(page, put_aggregation);
}
