/* class_counts.c - the aggregation class_counts: the number of labels of each class, over all workers.
 *
 * Result: "classes": {"0": n, ...} in ascending order, "samples": their sum, and "ignored": the number of labels in
 * ignore_labels, which are no class. Values are rounded half to even; values that are not finite are left out. */
#include <inttypes.h>

#include "modes.h"
#include "pairs.h"

enum { COUNTED, IGNORED }; /* second number of the counter */

static const assay_param_def params[] = {
    ASSAY_REGEX_PARAM("labels_regex", NULL, "Patterns (re.search) for names of labels."),
    ASSAY_TEXT_PARAM("labels", NULL, "Name of the tensor of labels, in addition to labels_regex."),
    ASSAY_CHOICE_PARAM("mode", NULL, MODE_CHOICES, "Only steps of this mode; by default all."),
    ASSAY_BOOL_PARAM(
        "argmax", "False",
        "The tensors are scores or one-hot: the class is the position of the maximum along the last axis."),
    IGNORE_LABELS_PARAM,
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    if (!assay_param_has(given, "labels_regex") && !assay_param_has(given, "labels"))
        return assay_fail(err, ASSAY_EPARAM, "one of the parameters labels_regex and labels is required");
    assay_slot slot = {.regexes = "labels_regex",
                       .name = assay_param_text(given, "labels"),
                       .modes = chosen_modes(given),
                       .flags = ASSAY_SLOT_NO_STRINGS};
    uint32_t form = assay_param_bool(given, "argmax") ? ASSAY_CLASS_ARGMAX : ASSAY_CLASS_ROUND;
    assay_measure measure = {.kind = ASSAY_MEASURE_CLASSES, .form = form};
    int status = ignored_labels_check(given, "ignore_labels", err);
    int number = status ? status : assay_need_slot(need, &slot, err);
    status = number < 0 ? number : assay_need_measure(need, number, &measure, err);
    return status < 0 ? status : ASSAY_OK;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    class_slot labels = {0, 0, 0};
    ignored_labels ignored = ignored_labels_of(rule->params, "ignore_labels");
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[0].count; i++) {
        const assay_classes *classes = classes_of(view, labels, i);
        for (uint64_t k = 0; classes && status == ASSAY_OK && k < classes->count; k++)
            if (classes->value[k] != ASSAY_NO_CLASS)
                status =
                    assay_counter_add(s->counter, classes->value[k],
                                      is_ignored_label(&ignored, (double)classes->value[k]) ? IGNORED : COUNTED, 1);
    }
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_counter *counter = ((const assay_common_state *)state)->counter;
    assay_buf *json = assay_verdict_json(verdict), *text = assay_verdict_text(verdict);
    uint64_t samples = 0, ignored = 0, classes = 0;
    assay_put_format(json, "\"classes\": {");
    for (uint64_t i = 0; i < assay_counter_size(counter); i++) {
        int64_t class, what;
        uint64_t count;
        assay_counter_get(counter, i, &class, &what, &count);
        if (what == IGNORED) {
            ignored += count;
            continue;
        }
        assay_put_format(json, "%s\"%" PRId64 "\": %" PRIu64, classes++ ? ", " : "", class, count);
        assay_put_format(text, "  class %" PRId64 ": %" PRIu64 "\n", class, count);
        samples += count;
    }
    assay_put_format(json, "}, \"samples\": %" PRIu64, samples);
    assay_put_format(text, "  samples: %" PRIu64 "\n", samples);
    if (ignored > 0) {
        assay_put_format(json, ", \"ignored\": %" PRIu64, ignored);
        assay_put_format(text, "  ignored labels, which are not a class: %" PRIu64 "\n", ignored);
    }
    return ASSAY_OK;
}

const assay_rule_ops assay_rule_class_counts = {
    ASSAY_RULE_HEAD,
    .name = "class_counts",
    .summary = "How many labels of each class there are, over all workers.",
    .params = params,
    .traits = ASSAY_RULE_AGGREGATION | ASSAY_RULE_POOLS | ASSAY_RULE_COUNTS,
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
