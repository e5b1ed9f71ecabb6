/* confusion.c - Confusion: classes that are taken for one another. RULES.md 3.12, R10.
 *
 * M[label][prediction] counts the pairs of a step over all workers (with accumulate: of all steps of the mode). Each
 * column with any count is divided by its sum. A cell offends when M[i][i] < min_diag, or M[j][i] > max_off_diag for j
 * != i. value = smallest diagonal share. Tensors of the collections go before the tensors of the names. Labels of
 * ignore_labels are left out; scores have their classes on the axis that the labels' shape tells (classes.h). */
#include <math.h>
#include <stdlib.h>

#include "modes.h"
#include "pairs.h"

enum { LABELS_COLLECTION, LABELS_NAME, PREDICTIONS_COLLECTION, PREDICTIONS_NAME }; /* slots */
/* Predictions have two measures. */
static const class_slot SLOTS[] = {
    {LABELS_COLLECTION, 0, 0}, {LABELS_NAME, 1, 0}, {PREDICTIONS_COLLECTION, 2, 3}, {PREDICTIONS_NAME, 4, 5}};

static const assay_param_def params[] = {
    {.name = "category_no",
     .type = ASSAY_PARAM_INT,
     .least = 2,
     .most = 0x1p31,
     .help = "Number of classes; pairs with a class beyond are left out. By default one more than the largest class."},
    {.name = "labels", .type = ASSAY_PARAM_TEXT, .initial = "labels", .help = "Name of the tensor of labels."},
    {.name = "predictions",
     .type = ASSAY_PARAM_TEXT,
     .initial = "predictions",
     .help = "Name of the tensor of predictions."},
    {.name = "labels_collection",
     .type = ASSAY_PARAM_TEXT,
     .initial = "labels",
     .help = "Collection of labels, used instead of the name at steps where it has tensors."},
    {.name = "predictions_collection",
     .type = ASSAY_PARAM_TEXT,
     .initial = "predictions",
     .help = "Collection of predictions, used instead of the name at steps where it has tensors."},
    {.name = "min_diag",
     .type = ASSAY_PARAM_REAL,
     .initial = "0.9",
     .least = 0,
     .most = 1,
     .help = "Smallest share of a predicted class that has to be right."},
    {.name = "max_off_diag",
     .type = ASSAY_PARAM_REAL,
     .initial = "0.1",
     .least = 0,
     .most = 1,
     .help = "Largest share of a predicted class that may belong to one other class."},
    {.name = "mode",
     .type = ASSAY_PARAM_CHOICE,
     .choices = MODE_CHOICES,
     .help = "Only steps of this mode; by default all."},
    {.name = "accumulate",
     .type = ASSAY_PARAM_BOOL,
     .initial = "False",
     .help = "Adds up the steps and tests once, at the last one."},
    IGNORE_LABELS_PARAM,
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    (void)data;
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

/* What is asked of the matrix. */
typedef struct matrix_limits {
    int64_t classes; /* those from here on are left out */
    double min_diag, max_off_diag;
    ignored_labels ignored;
} matrix_limits;

static matrix_limits limits_of(const assay_params *p)
{
    return (matrix_limits){
        .classes = assay_param_has(p, "category_no") ? assay_param_int(p, "category_no") : INT64_MAX,
        .min_diag = assay_param_real(p, "min_diag"),
        .max_off_diag = assay_param_real(p, "max_off_diag"),
        .ignored = ignored_labels_of(p, "ignore_labels"),
    };
}

static bool in_matrix(const matrix_limits *m, int64_t prediction, int64_t label)
{
    return prediction >= 0 && prediction < m->classes && label >= 0 && label < m->classes &&
           !is_ignored_label(&m->ignored, (double)label);
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
    if ((double)c->right / (double)c->sum < m->min_diag)
        status = assay_counter_add(cells, c->prediction, c->prediction, 1);
    for (uint64_t i = c->from; status == ASSAY_OK && i < c->to; i++) {
        int64_t prediction, label;
        uint64_t count;
        assay_counter_get(pairs, i, &prediction, &label, &count);
        if (label != prediction && in_matrix(m, prediction, label) && (double)count / (double)c->sum > m->max_off_diag)
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

/* Tests a matrix, given as a counter of (prediction, label); an empty one gives no datapoint. */
static int test_matrix(const assay_params *p, const assay_counter *pairs, int64_t step, uint32_t tensor,
                       assay_findings *findings)
{
    matrix_limits m = limits_of(p);
    assay_finding finding = {
        .step = step, .tensor = tensor, .worker = ASSAY_ALL_WORKERS, .value = INFINITY, .threshold = m.min_diag};
    assay_counter *cells = assay_counter_new();
    int status = cells ? ASSAY_OK : ASSAY_ENOMEM;
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

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    (void)err;
    assay_common_state *s = state;
    class_slot labels = collection_or_name(view, LABELS_COLLECTION);
    class_slot predictions = collection_or_name(view, PREDICTIONS_COLLECTION);
    assay_counter *pairs = view->slot[labels.slot].count ? assay_counter_new() : NULL;
    if (!pairs)
        return view->slot[labels.slot].count ? ASSAY_ENOMEM : ASSAY_OK;
    uint32_t tensor = view->slot[labels.slot].items[0]->tensor;
    int status = add_pairs(pairs, rule->trial, view, labels, predictions, true);
    if (status == ASSAY_OK && !assay_param_bool(rule->params, "accumulate"))
        status = test_matrix(rule->params, pairs, view->step, tensor, s->findings);
    else if (status == ASSAY_OK && assay_counter_size(pairs))
        status = assay_series_add(s->series, view->step, tensor, ASSAY_ALL_WORKERS, NULL);
    if (status == ASSAY_OK && assay_param_bool(rule->params, "accumulate"))
        status = add_pairs(s->counter, rule->trial, view, labels, predictions, true);
    if (status == ASSAY_OK)
        status = note_ambiguous_axes(s->counter, view, labels, predictions);
    assay_counter_free(pairs);
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    (void)err;
    const assay_common_state *s = state;
    uint64_t steps = assay_series_count(s->series);
    ambiguous_axis_say(rule, s->counter, verdict);
    if (steps == 0)
        return ASSAY_OK;
    assay_row last = assay_series_row(s->series, steps - 1);
    return test_matrix(rule->params, s->counter, last.step, last.tensor, assay_verdict_findings(verdict));
}

const assay_rule_ops assay_rule_confusion = {
    .abi = ASSAY_RULE_ABI,
    .size = sizeof(assay_rule_ops),
    .name = "Confusion",
    .summary = "Predicted classes of which too few are right, or too many belong to one other class.",
    .advice =
        "Read the cells as (label, prediction): look at samples of those pairs for wrong labels or classes that need "
        "merging, "
        "add data for the class that loses, and check that augmentation (mirroring, rotating) does not turn one class "
        "into another.",
    .params = params,
    .traits = ASSAY_RULE_POOLS,
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
