/* direction_confusion.c - DirectionConfusion: two classes that are mistaken for one another too often, such as the
 * traffic signs "turn left" and "turn right" if a training mirrors its images at random. An example of a custom rule.
 *
 * c(s) = the number of samples, at step s and over all workers, of class_a that were predicted as class_b or vice
 * versa. value = sum of c over the steps so far; fires at every step with labels and predictions at which value > most.
 */
#include <assay/rule.h>

#include <inttypes.h>

enum { LABELS, PREDICTIONS };     /* slots, and the measure of each */
enum { A_FOR_B, B_FOR_A, WIDTH }; /* a row of the series: samples of a that were taken for b, and the other way round */

static const assay_param_def params[] = {
    {.name = "labels",
     .type = ASSAY_PARAM_TEXT,
     .flags = ASSAY_PARAM_REQUIRED,
     .help = "Name of the tensor of labels."},
    {.name = "predictions",
     .type = ASSAY_PARAM_TEXT,
     .flags = ASSAY_PARAM_REQUIRED,
     .help = "Name of the tensor of predictions: class numbers, or scores whose largest is the prediction."},
    {.name = "class_a",
     .type = ASSAY_PARAM_INT,
     .flags = ASSAY_PARAM_REQUIRED,
     .least = 0,
     .most = 0x1p31,
     .help = "One of the two classes."},
    {.name = "class_b",
     .type = ASSAY_PARAM_INT,
     .flags = ASSAY_PARAM_REQUIRED,
     .least = 0,
     .most = 0x1p31,
     .help = "The other class."},
    ASSAY_INT_PARAM("most", "10", 0, 0x1p53, "Largest number of confusions that is not a finding."),
    {.name = NULL},
};

static int add_slot(assay_need *need, const char *name, uint32_t form, assay_error *err)
{
    const assay_slot slot = {.name = name, .flags = ASSAY_SLOT_NO_STRINGS};
    const assay_measure classes = {.kind = ASSAY_MEASURE_CLASSES, .form = form};
    int number = assay_need_slot(need, &slot, err);
    return number < 0 ? number : assay_need_measure(need, number, &classes, err);
}

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    (void)data;
    if (assay_param_int(given, "class_a") == assay_param_int(given, "class_b"))
        return assay_fail(err, ASSAY_EPARAM,
                          "the parameters class_a and class_b are both %" PRId64 ": they have to differ",
                          assay_param_int(given, "class_a"));
    int status = add_slot(need, assay_param_text(given, "labels"), ASSAY_CLASS_ROUND, err);
    if (status >= 0)
        status = add_slot(need, assay_param_text(given, "predictions"), ASSAY_CLASS_AUTO, err);
    return status < 0 ? status : ASSAY_OK;
}

/* The classes that a worker saved in a slot at this step; NULL when it saved none. */
static const assay_classes *classes_of(const assay_step_view *view, int slot, uint32_t worker)
{
    for (uint32_t i = 0; i < view->slot[slot].count; i++) {
        const assay_tensor_view *item = view->slot[slot].items[i];
        const assay_result *result = item->worker == worker ? assay_view_result(view, slot, item) : NULL;
        if (result)
            return &result->of.classes;
    }
    return NULL;
}

/* One row a step, over all workers; map sees the step of all of them at once. */
static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    int64_t a = assay_param_int(rule->params, "class_a"), b = assay_param_int(rule->params, "class_b");
    double row[WIDTH] = {0};
    bool any = false;
    for (uint32_t i = 0; i < view->slot[LABELS].count; i++) {
        uint32_t worker = view->slot[LABELS].items[i]->worker;
        const assay_classes *labels = classes_of(view, LABELS, worker),
                            *predictions = classes_of(view, PREDICTIONS, worker);
        if (!labels || !predictions || labels->count != predictions->count)
            continue;
        any = true;
        for (uint64_t k = 0; k < labels->count; k++) {
            row[A_FOR_B] += labels->value[k] == a && predictions->value[k] == b;
            row[B_FOR_A] += labels->value[k] == b && predictions->value[k] == a;
        }
    }
    if (any && assay_series_add(s->series, view->step, view->slot[LABELS].items[0]->tensor, ASSAY_ALL_WORKERS, row) !=
                   ASSAY_OK)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    return ASSAY_OK;
}

/* The rows of all steps are together now, in their order: the running count is made here. */
static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_series *series = ((const assay_common_state *)state)->series;
    double most = (double)assay_param_int(rule->params, "most"), a_for_b = 0, b_for_a = 0;
    for (uint64_t i = 0; i < assay_series_count(series); i++) {
        assay_row row = assay_series_row(series, i);
        a_for_b += row.value[A_FOR_B];
        b_for_a += row.value[B_FOR_A];
        const assay_finding finding = {.step = row.step,
                                       .tensor = row.tensor,
                                       .worker = row.worker,
                                       .value = a_for_b + b_for_a,
                                       .threshold = most};
        if (assay_findings_test(assay_verdict_findings(verdict), finding.value > most, &finding) != ASSAY_OK)
            return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    }
    assay_put_format(assay_verdict_json(verdict), "\"a_taken_for_b\": %.0f, \"b_taken_for_a\": %.0f", a_for_b, b_for_a);
    assay_verdict_message(verdict, "Class a was taken for b %.0f times, b for a %.0f times.", a_for_b, b_for_a);
    return ASSAY_OK;
}

static const assay_rule_ops direction_confusion = {
    ASSAY_RULE_HEAD,
    .name = "DirectionConfusion",
    .summary = "Two classes, such as turn left and turn right, that are taken for one another.",
    .advice = "Look at samples of the two classes: when one is the mirror image of the other, take random mirroring "
              "out of the augmentation, or mirror the label with the image.",
    .params = params,
    .traits = ASSAY_RULE_POOLS,
    .series_width = WIDTH,
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};

assay_rule_module_fn assay_rule_module_v1;

const assay_rule_ops *const *assay_rule_module_v1(void)
{
    static const assay_rule_ops *const table[] = {&direction_confusion, NULL};
    return table;
}
