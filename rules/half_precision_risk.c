/* half_precision_risk.c - HalfPrecisionRisk: values that a smaller floating-point format would flush or overflow.
 *
 * For each worker and floating-point tensor, rounding to nearest, ties to even; n = finite nonzero elements.
 *
 *     flush      value = 100 * #{0 < |x| <= half the smallest subnormal} / n, fires above flush_percent, except where
 *                it makes no difference: flushed elements that together are below NO_LOSS of the sum of |x|, biases
 *                that are rounding noise beside their layer's weights (siblings.h), losses
 *     overflow   value = 100 * #{finite |x| that rounds beyond the largest number} / n, fires above overflow_percent
 *
 *     format     largest   rounds beyond it from     smallest subnormal
 *     fp16       65504     65520                     2^-24
 *     bf16       3.39e38   (2 - 2^-8) * 2^127        2^-133
 *     fp8_e4m3   448       above 464                 2^-9
 *     fp8_e5m2   57344     61440                     2^-16 */
#include <math.h>
#include <string.h>

#include "siblings.h"
#include "workers.h"

#define NO_LOSS 0.01

enum { FLUSH, OVERFLOWS };
static const char *const tests[] = {"flush", "overflow", NULL};

static const assay_param_def params[] = {
    REPLICA_PARAMS("gradients,weights,biases,losses"),
    {.name = "format",
     .type = ASSAY_PARAM_CHOICE,
     .initial = "fp16",
     .choices = "fp16|bf16|fp8_e4m3|fp8_e5m2",
     .help = "The format in question."},
    {.name = "scale",
     .type = ASSAY_PARAM_REAL,
     .initial = "1",
     .least = 0,
     .most = 1e300,
     .flags = ASSAY_PARAM_ABOVE,
     .help = "Factor by which values are multiplied first, such as a loss scale."},
    {.name = "flush_percent",
     .type = ASSAY_PARAM_REAL,
     .initial = "50",
     .least = 0,
     .most = 100,
     .help = "Largest percentage of the nonzero elements that may be flushed."},
    {.name = "overflow_percent",
     .type = ASSAY_PARAM_REAL,
     .initial = "0",
     .least = 0,
     .most = 100,
     .help = "Largest percentage of them that may overflow."},
    {0},
};

static const char *const remedies[] = {
    "Scale the loss (dynamic loss scaling) if gradients are flushed; the parameter scale shows what a factor would do.",
    "Use bf16, which has the range of float32, in place of fp16.",
    "Keep the tensors named in float32: normalisations, softmax, losses and the master weights.",
    "Clip gradients and normalise layers whose values overflow.",
    NULL,
};

/* Magnitudes up to `flush` become zero, those above `most` infinite. */
typedef struct format_limits {
    const char *name;
    double flush, most;
} format_limits;

static const format_limits formats[] = {
    {"fp16", 0x1p-25, 0x1.ffdffffffffffp+15}, /* the number before 65520 */
    {"bf16", 0x1p-134, 0x1.fefffffffffffp+127},
    {"fp8_e4m3", 0x1p-10, 464},
    {"fp8_e5m2", 0x1p-17, 0x1.dffffffffffffp+15}, /* the number before 61440 */
};

static const format_limits *format_of(const assay_params *given)
{
    const format_limits *format = formats;
    while (strcmp(format->name, assay_param_text(given, "format")) != 0)
        format++;
    return format;
}

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    (void)data;
    const format_limits *format = format_of(given);
    int slot = selection_slot(given, need, 0, true, err);
    double scale = assay_param_real(given, "scale");
    assay_measure below = {.kind = ASSAY_MEASURE_BELOW,
                           .numbers = 2,
                           .number = {nextafter(format->flush / scale, INFINITY), format->most / scale}};
    int number = slot < 0 ? slot : assay_need_measure(need, slot, &below, err);
    return number < 0 ? number : ASSAY_OK;
}

/* Does it matter that so many elements of up to `flush` are lost? A loss that became zero changes no gradient. */
static bool flush_matters(const assay_rule *rule, const assay_step_view *view, const assay_tensor_view *item,
                          uint64_t count, double flush)
{
    if (!((double)count * flush >= NO_LOSS * item->stats->magnitudes))
        return false;
    bool is_loss = assay_trial_in_collection(rule->trial, "losses", item->tensor);
    return !is_loss && !is_rounding(rule->trial, &view->slot[0], item, assay_stats_abs_mean(item->stats));
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    (void)err;
    assay_findings *findings = ((assay_common_state *)state)->findings;
    const double threshold[] = {assay_param_real(rule->params, "flush_percent"),
                                assay_param_real(rule->params, "overflow_percent")};
    const double flush = format_of(rule->params)->flush / assay_param_real(rule->params, "scale");
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        const assay_result *result = assay_view_result(view, 0, item);
        if (!result || !assay_view_has_values(item) || !assay_dtype_is_float(item->dtype))
            continue;
        const assay_stats *s = item->stats;
        double n = (double)(s->count - s->zeros - s->nan - s->pos_inf - s->neg_inf);
        const uint64_t *count = result->of.counts.count;
        const double share[] = {n > 0 ? 100.0 * (double)count[0] / n : 0, n > 0 ? 100.0 * (double)count[3] / n : 0};
        for (uint32_t test = FLUSH; status == ASSAY_OK && test <= OVERFLOWS; test++) {
            bool fired = share[test] > threshold[test] &&
                         (test == OVERFLOWS || flush_matters(rule, view, item, count[0], flush));
            assay_finding finding = finding_of(view, item, share[test], threshold[test]);
            finding.test = test;
            status = assay_findings_test(findings, fired, &finding);
        }
    }
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    (void)state;
    (void)err;
    (void)rule;
    assay_verdict_no_data(verdict, "no tensor that matches holds floating-point numbers.");
    return ASSAY_OK;
}

const assay_rule_ops assay_rule_half_precision_risk = {
    .abi = ASSAY_RULE_ABI,
    .size = sizeof(assay_rule_ops),
    .name = "HalfPrecisionRisk",
    .summary = "Values that a smaller floating-point format would flush to zero or overflow.",
    .advice = "Before training in the format, or when it goes wrong there: the tensors named do not fit into its range "
              "as they are.",
    .remedies = remedies,
    .params = params,
    .tests = tests,
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
