/* prediction_collapse.c - PredictionCollapse: nearly all predictions are one class.
 *
 * Over all workers' predictions of a tensor at a step: share = predictions of the most frequent class / predictions.
 * `due` is that class's share of the labels, 0 without labels; labels of ignore_labels and their predictions do not
 * count. The labels' shape tells the axis of the classes (classes.h). A step counts when share > threshold and share >
 * excess * due. The rule fires when num_steps consecutive saved steps of the tensor in one mode count, and all later
 * ones in that mode; value = share. Steps with fewer than min_samples predictions, and scores that are not
 * finite, are skipped. An untrained model may
 * well start with one class, and learns the most frequent one first, so a model that recovers has not collapsed.
 * Targets that are not classes, such as those of a regression, are left out (are_classes()); so is a tensor of one
 * number a sample of which none is below 0 at any step and some are above 1, a distance, neither a share nor a score; and
 * one number a sample that goes into a loss without labels, unless it is one of two classes: a critic's judgement; and
 * what is given to a loss of no usual name beside labels that are at all steps below half as many as it has columns: places
 * that are to lie close or apart. */
#include <stdio.h>
#include <stdlib.h>

#include "pairs.h"
#include "workers.h"

enum { PREDICTIONS, LABELS };                                    /* slots */
enum { SHARE, DUE, CLASS, MODE, SIDE, COLUMNS, LARGEST, WIDTH }; /* values of a row; of labels; 0: not known */
/* As SIDE: what one number a sample is like; several are scores. */
enum { SCORES = -1, WITHIN_1, ABOVE_1 };

/* Predictions have two measures. */
static const class_slot PREDICTION_CLASSES = {PREDICTIONS, 0, 1}, LABEL_CLASSES = {LABELS, 2, 0};

static const assay_param_def params[] = {
    ASSAY_REGEX_PARAM("predictions_regex", "predictions?$,[Ll]oss_input_0$",
                      "Patterns (re.search) for names of predictions: scores, or class numbers."),
    ASSAY_REGEX_PARAM("labels_regex", "labels?$,[Ll]oss_input_1$", "Patterns (re.search) for names of labels."),
    ASSAY_REAL_PARAM("threshold", "0.9", 0, 1, "Share of the predictions that one class may have."),
    ASSAY_REAL_PARAM("excess", "1.2", 0, 1e308,
                     "The share must exceed the class's share of the labels by this factor."),
    ASSAY_INT_PARAM("min_samples", "16", 1, 0x1p53,
                    "Steps with fewer predictions than this, over all workers, are skipped."),
    ASSAY_INT_PARAM("num_steps", "10", 1, 1000000, "Consecutive saved steps over which one class must prevail."),
    IGNORE_LABELS_PARAM,
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    assay_slot slot = {.regexes = "predictions_regex", .flags = ASSAY_SLOT_NO_STRINGS};
    int status = ignored_labels_check(given, "ignore_labels", err);
    ASSAY_THEN(status, class_slot_add(need, &slot, ASSAY_CLASS_AUTO, err));
    ASSAY_THEN(status, assay_need_rows(need, PREDICTIONS, &(assay_rows){.width = WIDTH, .pooled = true}, err));
    slot.regexes = "labels_regex";
    return status ? status : class_slot_add(need, &slot, ASSAY_CLASS_ROUND, err);
}

/* The most frequent class among the pairs (what, class), the smallest of several; sets all to the number of them all.
 */
static uint64_t most_frequent(const assay_counter *counter, int64_t what, int64_t *class, uint64_t *all)
{
    uint64_t most = 0;
    *all = 0;
    for (uint64_t i = 0; i < assay_counter_size(counter); i++) {
        int64_t kind, value;
        uint64_t count;
        assay_counter_get(counter, i, &kind, &value, &count);
        if (kind != what)
            continue;
        *all += count;
        if (count > most) {
            most = count;
            *class = value;
        }
    }
    return most;
}

static double share_of(const assay_counter *counter, int64_t what, int64_t class)
{
    uint64_t all = 0, mine = 0;
    for (uint64_t i = 0; i < assay_counter_size(counter); i++) {
        int64_t kind, value;
        uint64_t count;
        assay_counter_get(counter, i, &kind, &value, &count);
        all += kind == what ? count : 0;
        mine += kind == what && value == class ? count : 0;
    }
    return all ? (double)mine / (double)all : 0;
}

/* Counts the predictions of one tensor and worker, and the labels that belong to them (NULL: there are none). A
 * prediction for a label that is ignored counts no more than the label. */
static int count_pairs(assay_counter *counter, const assay_classes *predictions, const assay_classes *labels,
                       const ignored_labels *ignored)
{
    int status = ASSAY_OK;
    for (uint64_t k = 0; predictions && status == ASSAY_OK && k < predictions->count; k++) {
        int64_t label = labels ? labels->value[k] : ASSAY_NO_CLASS;
        if (labels && is_ignored_label(ignored, (double)label))
            continue;
        if (predictions->value[k] != ASSAY_NO_CLASS)
            status = assay_counter_add(counter, PREDICTIONS, predictions->value[k], 1);
        if (status == ASSAY_OK && label != ASSAY_NO_CLASS)
            status = assay_counter_add(counter, LABELS, label, 1);
    }
    return status;
}

/* A row of scores with a NaN has no largest one: what took it for a class would say that all predictions are one. */
static bool is_finite(const assay_tensor_view *item)
{
    return !assay_view_has_values(item) || item->stats->nan + item->stats->pos_inf == 0;
}

/* By the name that PyTorch's losses give their input, where there are no labels to tell. */
static bool is_regression(const char *name)
{
    static const char *const losses[] = {"MSELoss", "L1Loss", "HuberLoss", "PoissonNLLLoss", "GaussianNLLLoss", NULL};
    bool found = false;
    for (int i = 0; losses[i] && !found; i++)
        found = strstr(name, losses[i]) != NULL;
    return found;
}

/* One number a sample that goes into a loss without labels: a critic's judgement, an energy. Only a loss of two classes
 * makes a class of its sign. */
static bool is_judgement(const assay_tensor_view *item, const assay_classes *p)
{
    return p && strstr(item->name, "Loss_input_0") && !strstr(item->name, "BCE") && assay_dtype_is_float(item->dtype) &&
           assay_view_has_values(item) && p->count == item->stats->count;
}

/* Are these class numbers of more than two classes? What is told from one number a sample is 0 or 1. */
static bool has_many(const assay_classes *p)
{
    bool many = false;
    for (uint64_t k = 0; k < p->count && !many; k++)
        many = p->value[k] > 1;
    return many;
}

/* What the numbers of a tensor are like, of all workers together. */
static int side_of(const assay_step_view *view, uint32_t from, uint32_t n)
{
    int side = WITHIN_1;
    for (uint32_t i = from; i < from + n && side != SCORES; i++) {
        const assay_tensor_view *item = view->slot[PREDICTIONS].items[i];
        const assay_classes *p = classes_by(view, PREDICTION_CLASSES.measure, item);
        const bool one = p && assay_dtype_is_float(item->dtype) && p->count == item->stats->count && !has_many(p);
        side = !one || item->stats->min < 0 ? SCORES : item->stats->max > 1 ? ABOVE_1 : side;
    }
    return side;
}

/* By the names of PyTorch's losses of classes. Another one may take vectors, and labels only to tell which belong together. */
static bool is_of_classes(const char *name)
{
    static const char *const losses[] = {"CrossEntropy", "NLLLoss", "BCE", "Margin"};
    bool found = !strstr(name, "Loss_input_0");
    for (size_t i = 0; !found && i < sizeof losses / sizeof *losses; i++)
        found = strstr(name, losses[i]) != NULL;
    return found;
}

/* Columns of the scores beside labels of one axis, and the largest label. */
static void put_columns(const assay_step_view *view, uint32_t at, double *row)
{
    const assay_tensor_view *item = view->slot[PREDICTIONS].items[at];
    const uint32_t k = partner_number(&view->slot[PREDICTIONS], at, &view->slot[LABELS]);
    const assay_tensor_view *mate = k == UINT32_MAX ? NULL : view->slot[LABELS].items[k];
    if (!mate || item->dtype < 0 || item->dims != 2 || mate->dims != 1 || !assay_view_has_values(mate))
        return;
    row[COLUMNS] = (double)item->shape[1];
    row[LARGEST] = mate->stats->max;
}

/* Counts the predictions items[from .. from + n), one tensor's; targets that are no classes have no predictions of any.
 */
static int count_tensor(const assay_rule *rule, const assay_step_view *view, uint32_t from, uint32_t n,
                        assay_counter *counter, assay_counter *axes)
{
    const assay_slot_view *predictions = &view->slot[PREDICTIONS], *labels = &view->slot[LABELS];
    ignored_labels ignored = ignored_labels_of(rule->params, "ignore_labels");
    int status = ASSAY_OK;
    for (uint32_t i = from; status == ASSAY_OK && i < from + n; i++) {
        const assay_tensor_view *item = predictions->items[i];
        uint32_t k = partner_number(predictions, i, labels);
        const assay_tensor_view *mate = k == UINT32_MAX ? NULL : labels->items[k];
        if ((mate ? !are_classes(mate, item) : is_regression(item->name)) || !is_finite(item))
            continue;
        const assay_classes *p = predicted_classes(rule->trial, view, PREDICTION_CLASSES, mate, item);
        const assay_classes *l = mate ? classes_by(view, LABEL_CLASSES.measure, mate) : NULL;
        if (!mate && is_judgement(item, p))
            continue;
        status = count_pairs(counter, p, p && l && p->count == l->count ? l : NULL, &ignored);
        if (status == ASSAY_OK && mate && classes_by(view, PREDICTION_CLASSES.axis_1, item))
            status = ambiguous_axis_add(axes, mate, item);
    }
    return status;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    const assay_slot_view *slot = &view->slot[PREDICTIONS];
    int status = ASSAY_OK;
    for (uint32_t i = 0, n; status == ASSAY_OK && i < slot->count; i += n) {
        assay_counter *counter = assay_counter_new();
        int64_t class = 0;
        uint64_t all = 0;
        n = same_tensor(slot, i);
        status =
            counter ? count_tensor(rule, view, i, n, counter, ((assay_common_state *)state)->counter) : ASSAY_ENOMEM;
        uint64_t most = status == ASSAY_OK ? most_frequent(counter, PREDICTIONS, &class, &all) : 0;
        if (all > 0 && all >= (uint64_t)assay_param_int(rule->params, "min_samples")) {
            double row[WIDTH] = {(double)most / (double)all, share_of(counter, LABELS, class), (double)class,
                                 view->mode, side_of(view, i, n)};
            put_columns(view, i, row);
            status = assay_series_add(((assay_common_state *)state)->series, view->step, slot->items[i]->tensor,
                                      ASSAY_ALL_WORKERS, row);
        }
        assay_counter_free(counter);
    }
    return status;
}

static bool collapsed(const assay_params *given, assay_row row)
{
    return row.value[SHARE] > assay_param_real(given, "threshold") &&
           row.value[SHARE] > assay_param_real(given, "excess") * row.value[DUE];
}

static int mode_of(assay_row row)
{
    return row.value[MODE] >= 0 && row.value[MODE] < ASSAY_MODES ? (int)row.value[MODE] : ASSAY_MODE_NONE;
}

/* Tests the rows order[from .. to) of one tensor. */
static int test_tensor(const assay_rule *rule, const assay_series *series, const uint64_t *order, uint64_t from,
                       uint64_t to, assay_findings *findings)
{
    int64_t num_steps = assay_param_int(rule->params, "num_steps"), run[ASSAY_MODES] = {0};
    uint64_t recovered[ASSAY_MODES] = {0}; /* behind the last row that is no collapse */
    int status = ASSAY_OK;
    bool above = false, scores = false;
    double columns = 0, largest = 0;
    for (uint64_t i = from; i < to; i++) {
        assay_row row = assay_series_row(series, order[i]);
        above = above || row.value[SIDE] == ABOVE_1;
        scores = scores || row.value[SIDE] == SCORES;
        columns = fmax(columns, row.value[COLUMNS]);
        largest = fmax(largest, row.value[LARGEST]);
        if (!collapsed(rule->params, row))
            recovered[mode_of(row)] = i + 1;
    }
    const bool places = 2 * (largest + 1) <= columns && from < to &&
                        !is_of_classes(assay_trial_tensor(rule->trial, assay_series_row(series, order[from]).tensor));
    if (places || (above && !scores))
        return ASSAY_OK;
    for (uint64_t i = from; status == ASSAY_OK && i < to; i++) {
        assay_row row = assay_series_row(series, order[i]);
        int mode = mode_of(row);
        run[mode] = collapsed(rule->params, row) ? run[mode] + 1 : 0;
        char note[96];
        snprintf(note, sizeof note, "class %.0f; of the labels it has %.3g", row.value[CLASS], row.value[DUE]);
        assay_finding finding = {.step = row.step,
                                 .tensor = row.tensor,
                                 .worker = ASSAY_ALL_WORKERS,
                                 .value = row.value[SHARE],
                                 .threshold = assay_param_real(rule->params, "threshold"),
                                 .note = note};
        if (row.step >= rule->start_step)
            status = assay_findings_test(findings, run[mode] >= num_steps && i >= recovered[mode], &finding);
    }
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_series *series = ((const assay_common_state *)state)->series;
    uint64_t count = assay_series_count(series), *order = assay_series_by_tensor(series);
    if (count && !order)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    int status = ASSAY_OK;
    for (uint64_t i = 0, end; status == ASSAY_OK && i < count; i = end) {
        uint32_t tensor = assay_series_row(series, order[i]).tensor;
        for (end = i + 1; end < count && assay_series_row(series, order[end]).tensor == tensor;)
            end++;
        status = test_tensor(rule, series, order, i, end, assay_verdict_findings(verdict));
    }
    free(order);
    if (count == 0)
        assay_verdict_no_data(verdict,
                              "no step has %lld predictions of classes (min_samples): there are fewer, or the "
                              "targets are not classes.",
                              (long long)assay_param_int(rule->params, "min_samples"));
    ambiguous_axis_say(rule, ((const assay_common_state *)state)->counter, verdict);
    return status;
}

const assay_rule_ops assay_rule_prediction_collapse = {
    ASSAY_RULE_HEAD,
    .name = "PredictionCollapse",
    .summary = "Predictions of which nearly all are one class.",
    .advice = "The model ignores its input: it gives the same class for every input, which a low loss or a high "
              "accuracy on unequal classes can hide.",
    .remedies = ASSAY_TEXTS(
        "Compare the class counts of the labels (aggregation class_counts) and weight or resample the classes if they are "
        "unequal.",
        "Look for dead or saturated layers before the output (DeadRelu, SaturatedActivation) and for vanished gradients.",
        "Lower the learning rate if the collapse follows a loss spike, and go back to a checkpoint before it.",
        "Check that evaluation runs with the right preprocessing and with normalisation in its evaluation mode."),
    .params = params,
    .traits = ASSAY_RULE_LOOKS_BACK | ASSAY_RULE_POOLS,
    .series_width = WIDTH,
    .value_units = ASSAY_TEXTS("of the predictions"),
    .sentences = ASSAY_TEXTS("nearly all predictions were one class at {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
