/* confusion.c - Confusion: classes that are mistaken for one another. docs/rules/Confusion.md.
 *
 * M[label][prediction] counts the pairs of a step over all workers (with accumulate: of all steps of the mode). Each
 * column with a count is divided by its sum. A cell fires when M[i][i] < min_diag, or M[j][i] > max_off_diag for j
 * != i. value = smallest diagonal share. With padding, a label 0 that the loss evidently ignores is left out.
 * Collections take precedence over names. Labels of ignore_labels are left out; the labels' shape tells the axis of the
 * classes (classes.h). */
#include <math.h>
#include <stdlib.h>

#include "evidence.h"
#include "modes.h"
#include "pairs.h"

enum { PREDICTION, LABEL, COUNT, WIDTH }; /* values of a row: a cell of a step */
enum { LABELS_COLLECTION, LABELS_NAME, PREDICTIONS_COLLECTION, PREDICTIONS_NAME }; /* slots */
/* Predictions have two measures. */
static const class_slot SLOTS[] = {
    {LABELS_COLLECTION, 0, 0}, {LABELS_NAME, 1, 0}, {PREDICTIONS_COLLECTION, 2, 3}, {PREDICTIONS_NAME, 4, 5}};

static const assay_param_def params[] = {
    ASSAY_INT_PARAM(
        "category_no", NULL, 2, 0x1p31,
        "Number of classes; pairs with a larger class are left out. By default one more than the largest class."),
    ASSAY_TEXT_PARAM("labels", "labels", "Name of the tensor of labels."),
    ASSAY_TEXT_PARAM("predictions", "predictions", "Name of the tensor of predictions."),
    ASSAY_TEXT_PARAM("labels_collection", "labels",
                     "Collection of labels; replaces the name at steps where it has tensors."),
    ASSAY_TEXT_PARAM("predictions_collection", "predictions",
                     "Collection of predictions; replaces the name at steps where it has tensors."),
    ASSAY_REAL_PARAM("min_diag", "0.9", 0, 1, "Smallest share of a predicted class that must be right."),
    ASSAY_REAL_PARAM("max_off_diag", "0.1", 0, 1,
                     "Largest share of a predicted class that may belong to one other class."),
    ASSAY_CHOICE_PARAM("mode", NULL, MODE_CHOICES, "Only steps of this mode; by default all."),
    ASSAY_BOOL_PARAM("accumulate", "False", "Add up the steps and test once, at the last one."),
    IGNORE_LABELS_PARAM,
    ASSAY_BOOL_PARAM("last_evaluation", "False",
                     "With accumulate: add up only the steps of the mode after the last step of another mode."),
    ASSAY_BOOL_PARAM("only_classes", "False",
                     "Leave out steps whose labels are not class numbers, such as the targets of a regression."),
    EVIDENCE_PARAM,
    ASSAY_BOOL_PARAM(
        "padding", "False",
        "Leave out label 0 where it is by far the most frequent and never predicted, as what rows are padded with."),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    static const char *const roles[] = {"labels_collection", "labels", "predictions_collection", "predictions"};
    int status = ignored_labels_check(given, "ignore_labels", err);
    for (int i = 0; status == ASSAY_OK && i <= PREDICTIONS_NAME; i++) {
        const char *chosen = assay_param_text(given, roles[i]);
        bool by_name = i == LABELS_NAME || i == PREDICTIONS_NAME;
        assay_slot slot = {.collection = by_name ? NULL : chosen,
                           .name = by_name ? chosen : NULL,
                           .modes = chosen_modes(given),
                           .flags = ASSAY_SLOT_NO_STRINGS};
        status = class_slot_add(need, &slot, i < PREDICTIONS_COLLECTION ? ASSAY_CLASS_ROUND : ASSAY_CLASS_AUTO, err);
    }
    return status;
}

static class_slot collection_or_name(const assay_step_view *view, int collection)
{
    return SLOTS[view->slot[collection].count ? collection : collection + 1];
}

/* The entries of one prediction, which lie together in a counter of (prediction, label). */
typedef struct column {
    int64_t prediction;
    uint64_t from, to, sum, right;
} column;

/* What the counter of the state keeps beside ambiguous axes: what the rule found out about label 0. */
enum {
    LEFT_OUT = -1, /* a step at which it was taken for padding */
    WITHIN = -2    /* labels of which a row has it elsewhere than at one end */
};

static bool is_noted(const assay_counter *counter, int64_t what)
{
    for (uint64_t i = 0; i < assay_counter_size(counter); i++) {
        int64_t mark, zero;
        uint64_t count;
        assay_counter_get(counter, i, &mark, &zero, &count);
        if (mark == what)
            return true;
    }
    return false;
}

/* What is asked of the matrix. */
typedef struct matrix_limits {
    int64_t classes; /* those from here on are left out */
    double min_diag, max_off_diag, evidence;
    ignored_labels ignored;
    bool without_0; /* label 0 is padding, and left out as well */
} matrix_limits;

static matrix_limits limits_of(const assay_params *p)
{
    return (matrix_limits){
        .classes = assay_param_has(p, "category_no") ? assay_param_int(p, "category_no") : INT64_MAX,
        .min_diag = assay_param_real(p, "min_diag"),
        .max_off_diag = assay_param_real(p, "max_off_diag"),
        .evidence = assay_param_real(p, "evidence"),
        .ignored = ignored_labels_of(p, "ignore_labels"),
    };
}

static bool in_matrix(const matrix_limits *m, int64_t prediction, int64_t label)
{
    return prediction >= 0 && prediction < m->classes && label >= 0 && label < m->classes &&
           !(m->without_0 && label == 0) && !is_ignored_label(&m->ignored, (double)label);
}

static column next_column(const matrix_limits *m, const assay_counter *pairs, uint64_t from)
{
    column c = {.from = from, .to = from};
    int64_t prediction, label;
    for (uint64_t count; c.to < assay_counter_size(pairs); c.to++) {
        assay_counter_get(pairs, c.to, &prediction, &label, &count);
        if (c.to > from && prediction != c.prediction)
            break;
        c.prediction = prediction;
        if (!in_matrix(m, prediction, label))
            continue;
        c.sum += count;
        c.right += prediction == label ? count : 0;
    }
    return c;
}

/* Adds the offending cells (label, prediction) of a column to the set. */
static int offending_cells(const matrix_limits *m, const assay_counter *pairs, const column *c, assay_counter *cells)
{
    int status = ASSAY_OK;
    bool too_few = m->evidence > 0 ? share_lower_bound(c->sum - c->right, c->sum, m->evidence) > 1 - m->min_diag
                                   : (double)c->right / (double)c->sum < m->min_diag;
    if (too_few)
        status = assay_counter_add(cells, c->prediction, c->prediction, 1);
    for (uint64_t i = c->from; status == ASSAY_OK && i < c->to; i++) {
        int64_t prediction, label;
        uint64_t count;
        assay_counter_get(pairs, i, &prediction, &label, &count);
        if (label != prediction && in_matrix(m, prediction, label) &&
            share_lower_bound(count, c->sum, m->evidence) > m->max_off_diag)
            status = assay_counter_add(cells, label, prediction, 1);
    }
    return status;
}

static int add_finding(assay_findings *findings, assay_finding *finding, const assay_counter *cells)
{
    uint64_t count = assay_counter_size(cells), ignored;
    int64_t *list = count ? calloc(count, 2 * sizeof *list) : NULL;
    if (count && (!list || count > UINT32_MAX)) {
        free(list);
        return ASSAY_ENOMEM;
    }
    for (uint64_t i = 0; i < count; i++)
        assay_counter_get(cells, i, &list[2 * i], &list[2 * i + 1], &ignored);
    finding->cells = list;
    finding->cell_count = (uint32_t)count;
    int status = assay_findings_test(findings, count > 0, finding);
    free(list);
    return status;
}

/* Sums of the labels of a matrix: how many pairs each has. NULL without memory. */
static assay_counter *label_totals(const matrix_limits *m, const assay_counter *pairs)
{
    assay_counter *totals = assay_counter_new();
    int status = totals ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t i = 0; status == ASSAY_OK && i < assay_counter_size(pairs); i++) {
        int64_t prediction, label;
        uint64_t count;
        assay_counter_get(pairs, i, &prediction, &label, &count);
        if (in_matrix(m, prediction, label))
            status = assay_counter_add(totals, label, 0, count);
    }
    if (status == ASSAY_OK)
        return totals;
    assay_counter_free(totals);
    return NULL;
}

/* Is 0 never predicted, though at least LEAST_CLASSES others are, and better than by chance: more of the pairs without
 * it are right than the most frequent of the other labels has? */
static bool is_0_never_learned(const matrix_limits *m, const assay_counter *pairs, uint64_t next)
{
    enum { LEAST_CLASSES = 4 };
    uint64_t classes = 0, right = 0;
    for (uint64_t i = 0; i < assay_counter_size(pairs);) {
        column c = next_column(m, pairs, i);
        i = c.to;
        classes += c.sum > 0;
        right += c.right;
        if (c.sum > 0 && c.prediction == 0)
            return false;
    }
    return classes >= LEAST_CLASSES && right > next;
}

/* Sets *padding: does the loss evidently ignore label 0, with which sequences are padded? It is by far the most
 * frequent one, and never predicted, where others are learned. A class that was lost may look the same: so the message
 * names it, and labels that have it within their rows (is_0_within) are not asked. */
static int find_padding(const matrix_limits *m, const assay_counter *pairs, bool *padding)
{
    assay_counter *totals = label_totals(m, pairs);
    uint64_t zeros = 0, next = 0;
    for (uint64_t i = 0; totals && i < assay_counter_size(totals); i++) {
        int64_t label, zero;
        uint64_t count;
        assay_counter_get(totals, i, &label, &zero, &count);
        if (label == 0)
            zeros = count;
        else
            next = count > next ? count : next;
    }
    *padding = zeros > 0 && 2 * zeros >= 3 * next && is_0_never_learned(m, pairs, next);
    assay_counter_free(totals);
    return totals ? ASSAY_OK : ASSAY_ENOMEM;
}

/* Tests a matrix, given as a counter of (prediction, label); an empty one gives no datapoint. *padding: may label 0 be
 * padding? It is set to whether label 0 was left out. */
static int test_matrix(const assay_params *p, const assay_counter *pairs, int64_t step, uint32_t tensor,
                       assay_findings *findings, bool *padding)
{
    matrix_limits m = limits_of(p);
    int found = *padding ? find_padding(&m, pairs, padding) : ASSAY_OK;
    m.without_0 = *padding;
    assay_finding finding = {
        .step = step, .tensor = tensor, .worker = ASSAY_ALL_WORKERS, .value = INFINITY, .threshold = m.min_diag};
    assay_counter *cells = assay_counter_new();
    int status = cells ? found : ASSAY_ENOMEM;
    uint64_t total = 0;
    for (uint64_t i = 0; status == ASSAY_OK && i < assay_counter_size(pairs);) {
        column c = next_column(&m, pairs, i);
        i = c.to;
        if (c.sum == 0)
            continue;
        total += c.sum;
        double share = (double)c.right / (double)c.sum;
        finding.value = share < finding.value ? share : finding.value;
        status = offending_cells(&m, pairs, &c, cells);
    }
    if (status == ASSAY_OK && total > 0)
        status = add_finding(findings, &finding, cells);
    assay_counter_free(cells);
    return status;
}

/* With accumulate: a row a cell. */
static int add_rows(assay_series *series, const assay_counter *pairs, int64_t step, uint32_t tensor)
{
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < assay_counter_size(pairs); i++) {
        int64_t prediction, label;
        uint64_t count;
        assay_counter_get(pairs, i, &prediction, &label, &count);
        double row[WIDTH] = {(double)prediction, (double)label, (double)count};
        status = assay_series_add(series, step, tensor, ASSAY_ALL_WORKERS, row);
    }
    return status;
}

/* With only_classes: are the labels of the step class numbers? */
static bool labels_are_classes(const assay_rule *rule, const assay_step_view *view, class_slot labels,
                               class_slot predictions)
{
    const assay_slot_view *from = &view->slot[labels.slot], *to = &view->slot[predictions.slot];
    bool all = true;
    for (uint32_t i = 0; assay_param_bool(rule->params, "only_classes") && all && i < from->count; i++) {
        uint32_t k = partner_number(from, i, to);
        all = are_classes(from->items[i], k == UINT32_MAX ? NULL : to->items[k]);
    }
    return all;
}

/* Does each row of the labels along an axis have 0 at one end only? */
static bool has_0_at_one_end(const assay_tensor_view *labels, const assay_classes *classes, int axis)
{
    uint64_t stride = 1, length = (uint64_t)labels->shape[axis];
    for (int d = axis + 1; d < labels->dims; d++)
        stride *= (uint64_t)labels->shape[d];
    for (uint64_t i = 0; i < classes->count; i++) {
        uint64_t changes = 0;
        if (i / stride % length != 0)
            continue; /* not the first of its row */
        for (uint64_t k = 1; k < length; k++)
            changes += (classes->value[i + k * stride] == 0) != (classes->value[i + (k - 1) * stride] == 0);
        if (changes > 1)
            return false;
    }
    return true;
}

/* Do the labels have 0 within their rows, whichever axis these go along? Of flattened labels nothing is known. */
static bool is_0_within(const assay_tensor_view *labels, const assay_classes *classes)
{
    bool known = false;
    if (!classes || elements_by_shape(labels) != classes->count)
        return false;
    for (int d = 0; d < labels->dims; d++) {
        if (labels->shape[d] < 3 || (uint64_t)labels->shape[d] == classes->count)
            continue; /* too short to tell, or the only axis */
        if (has_0_at_one_end(labels, classes, d))
            return false;
        known = true;
    }
    return known;
}

static bool any_0_within(const assay_step_view *view, class_slot labels)
{
    const assay_slot_view *from = &view->slot[labels.slot];
    bool within = false;
    for (uint32_t i = 0; !within && i < from->count; i++)
        within = is_0_within(from->items[i], classes_of(view, labels, i));
    return within;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    class_slot labels = collection_or_name(view, LABELS_COLLECTION);
    class_slot predictions = collection_or_name(view, PREDICTIONS_COLLECTION);
    assay_counter *pairs = view->slot[labels.slot].count ? assay_counter_new() : NULL;
    if (!pairs)
        return view->slot[labels.slot].count ? ASSAY_ENOMEM : ASSAY_OK;
    uint32_t tensor = view->slot[labels.slot].items[0]->tensor;
    bool accumulate = assay_param_bool(rule->params, "accumulate");
    const bool within = assay_param_bool(rule->params, "padding") && any_0_within(view, labels);
    bool padding = assay_param_bool(rule->params, "padding") && !within;
    int status = labels_are_classes(rule, view, labels, predictions)
                     ? add_pairs(pairs, rule->trial, view, labels, predictions, true)
                     : ASSAY_OK;
    if (status == ASSAY_OK && !accumulate)
        status = test_matrix(rule->params, pairs, view->step, tensor, s->findings, &padding);
    if (status == ASSAY_OK && !accumulate && padding)
        status = assay_counter_add(s->counter, LEFT_OUT, 0, 1);
    if (status == ASSAY_OK && accumulate)
        status = add_rows(s->series, pairs, view->step, tensor);
    if (status == ASSAY_OK && accumulate && within)
        status = assay_counter_add(s->counter, WITHIN, 0, 1);
    ASSAY_THEN(status, note_ambiguous_axes(s->counter, view, labels, predictions));
    assay_counter_free(pairs);
    return status;
}

/* Does another mode have a step between these two? */
static bool is_interrupted(const assay_trial *trial, int64_t earlier, int64_t later)
{
    uint64_t at = assay_trial_find_step(trial, earlier), to = assay_trial_find_step(trial, later);
    if (at == UINT64_MAX || to == UINT64_MAX)
        return true;
    const assay_step_info *a = assay_trial_step(trial, at), *b = assay_trial_step(trial, to);
    return a->mode != b->mode || b->step - a->step != b->mode_step - a->mode_step;
}

/* The first row of the last evaluation: of the steps behind the last one of another mode. */
static uint64_t last_evaluation(const assay_rule *rule, const assay_series *series)
{
    uint64_t first = assay_series_count(series) - 1;
    for (; first > 0; first--) {
        int64_t before = assay_series_row(series, first - 1).step, step = assay_series_row(series, first).step;
        if (before != step && is_interrupted(rule->trial, before, step))
            break;
    }
    return first;
}

/* Do more training steps come after this step than before it? Then it shows a beginning, not what was learned. */
static bool is_early(const assay_trial *trial, int64_t step)
{
    uint64_t before = 0, after = 0;
    for (uint64_t i = 0; i < assay_trial_steps(trial); i++) {
        const assay_step_info *info = assay_trial_step(trial, i);
        bool train = info->mode == ASSAY_MODE_TRAIN || info->mode == ASSAY_MODE_GLOBAL;
        before += train && info->step < step;
        after += train && info->step > step;
    }
    return after > before;
}

static void say_padding(assay_verdict *verdict)
{
    assay_verdict_message(verdict, "Label 0, by far the most frequent, is never predicted: taken as one that the loss "
                                   "ignores, such as padding. If it is a class, it is lost: test without padding.");
}

/* Are most predictions the label and one and the same number more, or less? Writes it down: labels of this evaluation
 * are shifted against those that were learned. Pairs are (prediction, label). */
static void put_shift(const assay_counter *pairs, assay_buf *json)
{
    enum { MOST = 2 }; /* counting from 0 or 1, and a class in front of all others */
    static const double SHIFTED = 0.5;
    double all = 0, by[2 * MOST + 1] = {0};
    int64_t classes = 0, prediction, label;
    uint64_t count;
    for (uint64_t i = 0; i < assay_counter_size(pairs); i++) {
        assay_counter_get(pairs, i, &prediction, &label, &count);
        classes = label >= classes ? label + 1 : classes;
    }
    for (uint64_t i = 0; i < assay_counter_size(pairs); i++) {
        assay_counter_get(pairs, i, &prediction, &label, &count);
        all += (double)count;
        for (int64_t d = -MOST; d <= MOST; d++)
            if (label == prediction + d || (classes > 2 * MOST && label == (prediction + d + classes) % classes))
                by[d + MOST] += (double)count;
    }
    for (int d = -MOST; d <= MOST && classes > MOST + 1; d++)
        if (d != 0 && by[d + MOST] > SHIFTED * all && by[MOST] < by[d + MOST] / 4)
            assay_put_format(json, "%s\"shift\": %d", json->size ? ", " : "", d);
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_common_state *s = state;
    uint64_t rows = assay_series_count(s->series);
    ambiguous_axis_say(rule, s->counter, verdict);
    if (is_noted(s->counter, LEFT_OUT))
        say_padding(verdict);
    if (rows == 0)
        assay_verdict_no_data(
            verdict, "no label has a prediction beside it at the same step and worker%s.",
            assay_param_bool(rule->params, "only_classes") ? ", or the labels are not classes (only_classes)" : "");
    bool early = rows > 0 && assay_param_bool(rule->params, "last_evaluation") &&
                 is_early(rule->trial, assay_series_row(s->series, rows - 1).step);
    if (early)
        assay_verdict_no_data(verdict,
                              "the last evaluation that was saved, at step %lld, has more training behind it than "
                              "before it: too early to judge.",
                              (long long)assay_series_row(s->series, rows - 1).step);
    if (rows == 0 || early)
        return ASSAY_OK;
    assay_counter *pairs = assay_counter_new();
    int status = pairs ? ASSAY_OK : ASSAY_ENOMEM;
    uint64_t first = assay_param_bool(rule->params, "last_evaluation") ? last_evaluation(rule, s->series) : 0;
    for (uint64_t i = first; status == ASSAY_OK && i < rows; i++) {
        const double *v = assay_series_row(s->series, i).value;
        if (fabs(v[PREDICTION]) <= 0x1p53 && fabs(v[LABEL]) <= 0x1p53 && v[COUNT] >= 1 && v[COUNT] < 0x1p63)
            status = assay_counter_add(pairs, (int64_t)v[PREDICTION], (int64_t)v[LABEL], (uint64_t)v[COUNT]);
    }
    assay_row last = assay_series_row(s->series, rows - 1);
    bool padding = assay_param_bool(rule->params, "padding") && !is_noted(s->counter, WITHIN);
    ASSAY_THEN(status,
               test_matrix(rule->params, pairs, last.step, last.tensor, assay_verdict_findings(verdict), &padding));
    if (status == ASSAY_OK && padding)
        say_padding(verdict);
    if (status == ASSAY_OK)
        put_shift(pairs, assay_verdict_json(verdict));
    assay_counter_free(pairs);
    return status;
}

const assay_rule_ops assay_rule_confusion = {
    ASSAY_RULE_HEAD,
    .name = "Confusion",
    .summary = "Predicted classes of which too few are right, or too many belong to one other class.",
    .advice =
        "Read the cells as (label, prediction): look at samples of those pairs for wrong labels or classes that need "
        "merging, add data for the class that loses, and check that augmentation (mirroring, rotating) does not turn "
        "one class into another.",
    .params = params,
    .traits = ASSAY_RULE_POOLS | ASSAY_RULE_NOT_LOGGED,
    .series_width = WIDTH,
    .value_units = ASSAY_TEXTS("of a class right"),
    .sentences = ASSAY_TEXTS("too many predictions were wrong at {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
