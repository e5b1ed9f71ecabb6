/* xgboost_sections.c - writes the sections of CreateXgboostReport from its rows. */
#include "parts/xgboost_sections.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "matrix.h"

enum { TOP = 10 /* features in the text */ };

typedef struct writer {
    const assay_rule *rule;
    const assay_series *series;
    assay_buf *json, *text;
} writer;

static assay_row row_at(const writer *w, uint64_t i)
{
    return assay_series_row(w->series, i);
}

/* Tells whether a number can be a class. Rows may come from a checkpoint: what is used as an index or converted is
 * looked at first. */
static bool is_class(double x)
{
    return x >= -0x1p53 && x <= 0x1p53;
}

/* Finds [*from, *to): the rows of the last step that has any of the section; false when none has. */
static bool last_step_with(const writer *w, int section, uint64_t *from, uint64_t *to)
{
    uint64_t last = assay_series_count(w->series);
    while (last > 0 && row_at(w, last - 1).value[SECTION] != section)
        last--;
    if (last == 0)
        return false;
    int64_t step = row_at(w, last - 1).step;
    for (*from = last; *from > 0 && row_at(w, *from - 1).step == step;)
        --*from;
    for (*to = last; *to < assay_series_count(w->series) && row_at(w, *to).step == step;)
        ++*to;
    return true;
}

/* Puts comma-separated numbers of one column of a section, in brackets. */
static void put_column(const writer *w, const char *name, const uint64_t *rows, uint64_t count, int section, int column)
{
    const char *separator = "";
    assay_put_format(w->json, "\"%s\": [", name);
    for (uint64_t k = 0; k < count; k++) {
        assay_row row = row_at(w, rows[k]);
        if (row.value[SECTION] != section)
            continue;
        assay_put_format(w->json, "%s", separator);
        if (column == SECTION)
            assay_put_format(w->json, "%" PRId64, row.step);
        else
            assay_json_put_number(w->json, row.value[column]);
        separator = ", ";
    }
    assay_put_format(w->json, "]");
}

static int put_metrics(const writer *w)
{
    uint64_t count = assay_series_count(w->series), *order = assay_series_by_tensor(w->series);
    const char *separator = "";
    ASSAY_HAVE(order);
    assay_put_format(w->json, "\"metrics\": [");
    for (uint64_t i = 0, end; i < count; i = end) {
        assay_row first = row_at(w, order[i]), last = first;
        for (end = i; end < count && row_at(w, order[end]).tensor == first.tensor &&
                      row_at(w, order[end]).worker == first.worker;
             end++)
            last = row_at(w, order[end]);
        if (first.value[SECTION] != METRIC)
            continue;
        assay_put_format(w->json, "%s{\"tensor\": ", separator);
        assay_json_put_text(w->json, assay_trial_tensor(w->rule->trial, first.tensor));
        assay_put_format(w->json, ", \"worker\": ");
        assay_json_put_text(w->json, assay_trial_worker(w->rule->trial, first.worker));
        assay_put_format(w->json, ", ");
        put_column(w, "steps", order + i, end - i, METRIC, SECTION);
        assay_put_format(w->json, ", ");
        put_column(w, "values", order + i, end - i, METRIC, A);
        assay_put_format(w->json, "}");
        assay_put_format(w->text, "  %s: %.6g at step %" PRId64 ", %.6g at step %" PRId64 "\n",
                         assay_trial_tensor(w->rule->trial, first.tensor), first.value[A], first.step, last.value[A],
                         last.step);
        separator = ", ";
    }
    assay_put_format(w->json, "]");
    free(order);
    return ASSAY_OK;
}

/* The mean over workers is put; sum and workers are kept until all rows are read. */
typedef struct feature {
    const char *name;
    double sum, workers;
} feature;

static int heavier(const void *a, const void *b)
{
    const feature *x = a, *y = b;
    double left = x->sum / x->workers, right = y->sum / y->workers;
    return left != right ? (left < right) - (left > right) : strcmp(x->name, y->name);
}

static void put_features(const writer *w, const char *type, feature *list, size_t count)
{
    qsort(list, count, sizeof *list, heavier);
    assay_put_format(w->json, ", \"%s\": [", type);
    assay_put_format(w->text, "  features by %s:", type);
    for (size_t i = 0; i < count; i++) {
        assay_put_format(w->json, "%s{\"feature\": ", i ? ", " : "");
        assay_json_put_text(w->json, list[i].name);
        assay_put_format(w->json, ", \"value\": ");
        assay_json_put_number(w->json, list[i].sum / list[i].workers);
        assay_put_format(w->json, "}");
        if (i < TOP)
            assay_put_format(w->text, " %s %.3g", list[i].name, list[i].sum / list[i].workers);
    }
    assay_put_format(w->json, "]");
    assay_put_format(w->text, "%s\n", count > TOP ? " ..." : "");
}

/* Only of the last step: importance grows with the trees. */
static int put_importance(const writer *w)
{
    static const char *const types[] = {"weight", "gain", "cover", "total_gain", "total_cover"};
    uint64_t from, to;
    if (!last_step_with(w, WEIGHT, &from, &to))
        return ASSAY_OK;
    feature *list = calloc(to - from, sizeof *list);
    ASSAY_HAVE(list);
    assay_put_format(w->json, ", \"feature_importance\": {\"step\": %" PRId64, row_at(w, from).step);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        char prefix[64];
        size_t count = 0;
        int length = snprintf(prefix, sizeof prefix, "feature_importance/%s/", types[t]);
        for (uint64_t i = from; i < to; i++) {
            assay_row row = row_at(w, i);
            const char *name = assay_trial_tensor(w->rule->trial, row.tensor);
            if (row.value[SECTION] != WEIGHT || strncmp(name, prefix, (size_t)length) != 0 || isnan(row.value[A]))
                continue;
            name += length; /* rows of one tensor lie together */
            if (count == 0 || strcmp(list[count - 1].name, name) != 0)
                list[count++] = (feature){.name = name};
            list[count - 1].sum += row.value[A];
            list[count - 1].workers++;
        }
        if (count)
            put_features(w, types[t], list, count);
    }
    assay_put_format(w->json, "}");
    free(list);
    return ASSAY_OK;
}

/* 0x1p63: a count of a damaged state must not be converted beyond 64 bits. */
static int cells_of(const writer *w, uint64_t from, uint64_t to, assay_counter *cells)
{
    int status = ASSAY_OK;
    for (uint64_t i = from; status == ASSAY_OK && i < to; i++) {
        assay_row row = row_at(w, i);
        if (row.value[SECTION] == CELL && is_class(row.value[A]) && is_class(row.value[B]) && row.value[C] >= 0 &&
            row.value[C] < 0x1p63)
            status = assay_counter_add(cells, (int64_t)row.value[A], (int64_t)row.value[B], (uint64_t)row.value[C]);
    }
    return status;
}

/* Averages over the classes that occur, undefined shares counting as 0, as is usual. The counter has (class, what) in
 * order, so the three numbers of a class lie together. */
static int put_averages(const writer *w, const matrix *m)
{
    assay_counter *of = assay_counter_new();
    int status = of ? count_classes(m, of) : ASSAY_ENOMEM;
    double macro[3] = {0}, weighted[3] = {0}, classes = 0;
    for (uint64_t i = 0, size = status ? 0 : assay_counter_size(of); i < size; classes++) {
        double n[3] = {0};
        int64_t class, next, what;
        uint64_t count;
        assay_counter_get(of, i, &class, &what, &count);
        for (next = class; i < size && next == class;) {
            n[what] = (double)count;
            if (++i < size)
                assay_counter_get(of, i, &next, &what, &count);
        }
        double share[3] = {n[PREDICTED] > 0 ? n[RIGHT] / n[PREDICTED] : 0, n[SUPPORT] > 0 ? n[RIGHT] / n[SUPPORT] : 0,
                           2 * n[RIGHT] / (n[PREDICTED] + n[SUPPORT])};
        for (int k = 0; k < 3; k++) {
            macro[k] += share[k];
            weighted[k] += share[k] * n[SUPPORT];
        }
    }
    static const char *const names[] = {"precision", "recall", "f1"};
    for (int k = 0; status == ASSAY_OK && k < 3; k++) {
        assay_put_format(w->json, ", \"%s\": {\"micro\": ", names[k]);
        /* Of single labels micro precision, recall and F1 are all the share that is right. */
        assay_json_put_number(w->json, (double)m->right / (double)m->samples);
        assay_put_format(w->json, ", \"macro\": ");
        assay_json_put_number(w->json, macro[k] / classes);
        assay_put_format(w->json, ", \"weighted\": ");
        assay_json_put_number(w->json, weighted[k] / (double)m->samples);
        assay_put_format(w->json, "}");
    }
    assay_counter_free(of);
    return status;
}

static void put_labels(const writer *w, const matrix *m)
{
    assay_put_format(w->json, ", \"labels\": {");
    for (uint64_t i = 0, sum; i < m->cell_count;) {
        int64_t label = m->cells[i].label;
        const char *separator = i ? ", " : "";
        for (sum = 0; i < m->cell_count && m->cells[i].label == label; i++)
            sum += m->cells[i].count;
        assay_put_format(w->json, "%s\"%" PRId64 "\": %" PRIu64, separator, label, sum);
    }
    assay_put_format(w->json, "}");
}

static int put_confusion(const writer *w, uint64_t from, uint64_t to)
{
    matrix m = {0};
    assay_counter *cells = assay_counter_new();
    int status = cells ? cells_of(w, from, to, cells) : ASSAY_ENOMEM;
    ASSAY_THEN(status, take_matrix(cells, INT64_MAX, &(ignored_labels){0}, &m));
    if (status == ASSAY_OK && m.samples) {
        put_labels(w, &m);
        assay_put_format(w->json, ", \"confusion\": {");
        status = put_matrix(&m, w->json, w->text);
        ASSAY_THEN(status, put_averages(w, &m));
        assay_put_format(w->json, "}");
    }
    free(m.cells);
    assay_counter_free(cells);
    return status;
}

/* Puts the share of right predictions of each class of labels, step by step. Cells are in order of step and label. */
static void put_class_accuracy(const writer *w)
{
    uint64_t rows = assay_series_count(w->series);
    const char *separator = "";
    assay_put_format(w->json, ", \"class_accuracy\": [");
    for (uint64_t i = 0; i < rows;) {
        assay_row first = row_at(w, i), row = first;
        double right = 0, sum = 0;
        if (first.value[SECTION] != CELL) {
            i++;
            continue;
        }
        do { /* at least the first row, also where a damaged state has no number for its class */
            right += row.value[A] == row.value[B] ? row.value[C] : 0;
            sum += row.value[C];
            if (++i < rows)
                row = row_at(w, i);
        } while (i < rows && row.step == first.step && row.value[SECTION] == CELL && row.value[A] == first.value[A]);
        assay_put_format(w->json, "%s{\"step\": %" PRId64 ", \"class\": %.0f, \"value\": ", separator, first.step,
                         first.value[A]);
        assay_json_put_number(w->json, right / sum);
        assay_put_format(w->json, "}");
        separator = ", ";
    }
    assay_put_format(w->json, "]");
}

/* Scores are counted in bins: "auc_error" bounds what pairs within one bin may change, which count as half. */
static void put_roc(const writer *w, uint64_t from, uint64_t to)
{
    double count[BINS][2] = {{0}}, all[2] = {0}, seen[2] = {0}, area = 0, unsure = 0;
    for (uint64_t i = from; i < to; i++) {
        assay_row row = row_at(w, i);
        bool known = row.value[A] >= 0 && row.value[A] < BINS && row.value[B] >= 0 && row.value[B] < 2;
        if (row.value[SECTION] != SCORE || !known)
            continue;
        count[(int)row.value[A]][(int)row.value[B]] += row.value[C];
        all[(int)row.value[B]] += row.value[C];
    }
    if (all[0] == 0 || all[1] == 0)
        return;
    assay_put_format(w->json, ", \"roc\": {\"points\": [[0, 0]");
    /* From the highest score down, as a threshold sinks. */
    for (int bin = BINS - 1; bin >= 0; bin--) {
        double negatives = count[bin][0], positives = count[bin][1];
        if (negatives + positives == 0)
            continue;
        area += negatives * (seen[1] + positives / 2);
        unsure += negatives * positives / 2;
        seen[0] += negatives;
        seen[1] += positives;
        assay_put_format(w->json, ", [");
        assay_json_put_number(w->json, seen[0] / all[0]);
        assay_put_format(w->json, ", ");
        assay_json_put_number(w->json, seen[1] / all[1]);
        assay_put_format(w->json, "]");
    }
    assay_put_format(w->json, "], \"auc\": ");
    assay_json_put_number(w->json, area / (all[0] * all[1]));
    assay_put_format(w->json, ", \"auc_error\": ");
    assay_json_put_number(w->json, unsure / (all[0] * all[1]));
    assay_put_format(w->json, "}");
    assay_put_format(w->text, "  area under the ROC curve: %.4f\n", area / (all[0] * all[1]));
}

/* Puts rows of a histogram as objects; with `errors` the mean error of each interval, by step. */
static void put_histogram(const writer *w, const char *name, int section, uint64_t from, uint64_t to, bool errors)
{
    const char *separator = "";
    assay_put_format(w->json, ", \"%s\": [", name);
    for (uint64_t i = from; i < to; i++) {
        assay_row row = row_at(w, i);
        if (row.value[SECTION] != section)
            continue;
        assay_put_format(w->json, "%s{\"step\": %" PRId64 ", \"from\": ", separator, row.step);
        assay_json_put_number(w->json, row.value[A]);
        assay_put_format(w->json, ", \"to\": ");
        assay_json_put_number(w->json, row.value[B]);
        assay_put_format(w->json, ", \"count\": %.0f", row.value[C]);
        if (errors && row.value[C] > 0) {
            assay_put_format(w->json, ", \"value\": ");
            assay_json_put_number(w->json, row.value[D] / row.value[C]);
        }
        assay_put_format(w->json, "}");
        separator = ", ";
    }
    assay_put_format(w->json, "]");
}

/* The task is noted with the predictions, so the newest says what the training is now. */
static int put_task(const writer *w)
{
    static const char *const names[] = {"none", "binary", "multiclass", "regression"};
    uint64_t from, to, rows = assay_series_count(w->series);
    if (!last_step_with(w, TASK, &from, &to))
        return ASSAY_OK;
    int task = NO_TASK;
    for (uint64_t i = from; i < to; i++)
        if (row_at(w, i).value[SECTION] == TASK && row_at(w, i).value[A] >= 0 && row_at(w, i).value[A] < TASKS)
            task = (int)row_at(w, i).value[A];
    assay_put_format(w->json, ", \"task\": \"%s\", \"last_step\": %" PRId64, names[task], row_at(w, from).step);
    assay_put_format(w->text, "  task: %s; predictions of step %" PRId64 "\n", names[task], row_at(w, from).step);
    if (task == REGRESSION) {
        put_histogram(w, "labels", ERROR, from, to, false);
        put_histogram(w, "residuals", RESIDUAL, from, to, false);
        put_histogram(w, "absolute_error", ERROR, 0, rows, true);
        return ASSAY_OK;
    }
    int status = put_confusion(w, from, to);
    put_class_accuracy(w);
    if (task == BINARY)
        put_roc(w, from, to);
    return status;
}

/* Called in finalize, with the rows of all ranks, settled and in order of steps. */
int xgboost_sections_put(const assay_rule *rule, const assay_series *series, assay_buf *json, assay_buf *text)
{
    writer w = {rule, series, json, text};
    int status = put_metrics(&w);
    ASSAY_THEN(status, put_importance(&w));
    return status ? status : put_task(&w);
}
