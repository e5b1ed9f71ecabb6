/* half_precision_risk.c - HalfPrecisionRisk: values that a smaller floating-point format would flush or overflow.
 *
 * For each worker and floating-point tensor, rounding to nearest, ties to even; n = finite nonzero elements.
 *
 *     flush      value = 100 * #{0 < |x| <= half the smallest subnormal} / n, fires above flush_percent, except where
 *                it makes no difference: flushed elements that together are below NO_LOSS of the sum of |x|, biases
 *                that are rounding noise beside their layer's weights (siblings.h), losses, and steps of a worker whose
 *                losses are all below loss_share of their first values: a loss near zero has gradients near zero; and
 *                tensors of which so much is flushed at no more than step_share of the steps (rare.h)
 *     overflow   value = 100 * #{finite |x| that rounds beyond the largest number} / n, fires above overflow_percent;
 *                with losses_fit not on a worker whose first losses are beyond the format, as large targets of a
 *                regression make them, unless the tensor grows beyond HOLD times the larger of those losses and of what
 *                it was itself at their step
 *
 *     format     largest   rounds beyond it from     smallest subnormal
 *     fp16       65504     65520                     2^-24
 *     bf16       3.39e38   (2 - 2^-8) * 2^127        2^-133
 *     fp8_e4m3   448       above 464                 2^-9
 *     fp8_e5m2   57344     61440                     2^-16 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rare.h"
#include "siblings.h"
#include "workers.h"

#define NO_LOSS 0.01
#define HOLD    100.0

enum { FLUSH, OVERFLOWS };
enum { VALUE, IS, LARGEST, WIDTH };    /* values of a row; LARGEST is the largest |x| */
enum { IS_FLUSHED, IS_LOSS, IS_OVER }; /* a share that is flushed and matters, a loss, a share that overflows */
static const assay_param_def params[] = {
    REPLICA_PARAMS("gradients,weights,biases,losses"),
    ASSAY_CHOICE_PARAM("format", "fp16", "fp16|bf16|fp8_e4m3|fp8_e5m2", "The format in question."),
    {.name = "scale",
     .type = ASSAY_PARAM_REAL,
     .initial = "1",
     .least = 0,
     .most = 1e300,
     .flags = ASSAY_PARAM_ABOVE,
     .help = "Factor by which values are multiplied first, such as a loss scale."},
    ASSAY_REAL_PARAM("flush_percent", "50", 0, 100, "Largest percentage of the nonzero elements that may be flushed."),
    ASSAY_REAL_PARAM("overflow_percent", "0", 0, 100, "Largest percentage of them that may overflow."),
    ASSAY_REAL_PARAM(
        "loss_share", "0", 0, 1,
        "Nothing that is flushed counts where the saved losses are below this share of their first values."),
    ASSAY_BOOL_PARAM(
        "losses_fit", "False",
        "Overflows do not count where the first saved losses of the worker are beyond the format themselves, up to 100 times of what was there at the beginning."),
    RARE_PARAM,
    {0},
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
    const format_limits *format = format_of(given);
    int slot = selection_slot_of(given, need, 0, ASSAY_SLOT_SUMS, true, err);
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

/* Tests one tensor: an overflow is a finding now, or with losses_fit a row, as what is flushed, until the
 * losses are known. */
static int test_item(const assay_rule *rule, assay_common_state *s, const assay_step_view *view,
                     const assay_tensor_view *item, const uint64_t *count)
{
    const assay_stats *stats = item->stats;
    const double flush = format_of(rule->params)->flush / assay_param_real(rule->params, "scale");
    double n = (double)(stats->count - stats->zeros - stats->nan - stats->pos_inf - stats->neg_inf);
    double flushed = n > 0 ? 100.0 * (double)count[0] / n : 0, over = n > 0 ? 100.0 * (double)count[3] / n : 0;
    bool fires =
        flushed > assay_param_real(rule->params, "flush_percent") && flush_matters(rule, view, item, count[0], flush);
    assay_finding finding = finding_of(view, item, over, assay_param_real(rule->params, "overflow_percent"));
    finding.test = OVERFLOWS;
    bool later = assay_param_bool(rule->params, "losses_fit") && over > finding.threshold;
    int status = assay_findings_test(s->findings, over > finding.threshold && !later, &finding);
    assay_findings_datapoints(s->findings, 1);
    if (status == ASSAY_OK && later)
        status = assay_series_add(s->series, view->step, item->tensor, item->worker,
                                  (double[WIDTH]){over, IS_OVER, fmax(fabs(stats->min), fabs(stats->max))});
    ASSAY_THEN(status, rare_count(s->counter, item->tensor, fires));
    if (status == ASSAY_OK && fires)
        status =
            assay_series_add(s->series, view->step, item->tensor, item->worker, (double[WIDTH]){flushed, IS_FLUSHED});
    return status;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    bool by_losses = assay_param_real(rule->params, "loss_share") > 0 || assay_param_bool(rule->params, "losses_fit");
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        const assay_result *result = assay_view_result(view, 0, item);
        if (!result || !assay_view_has_values(item) || !assay_dtype_is_float(item->dtype))
            continue;
        double loss = assay_stats_mean(item->stats);
        if (by_losses && isfinite(loss) && assay_trial_in_collection(rule->trial, "losses", item->tensor))
            status =
                assay_series_add(s->series, view->step, item->tensor, item->worker, (double[WIDTH]){loss, IS_LOSS});
        ASSAY_THEN(status, test_item(rule, s, view, item, result->of.counts.count));
    }
    return status;
}

/* Of each worker: what its losses were first, and at the step under way. */
typedef struct losses {
    double *first;       /* [tensors * workers]; NaN: none yet */
    bool *large;         /* [workers] one is above the share */
    bool *known;         /* [workers] there is one */
    double *large_first; /* [workers] the largest that was beyond the format when it was first saved; 0: none */
    int64_t *begin;      /* [workers] the step of the first such one */
    double *largest;     /* [tensors * workers] what overflowed at that step; NaN: nothing asked yet */
    uint32_t workers;
} losses;

/* Enters the losses of the step whose rows begin at `from`. */
static void enter_step(losses *l, const assay_rule *rule, const assay_series *series, uint64_t from)
{
    double share = assay_param_real(rule->params, "loss_share");
    double most = format_of(rule->params)->most / assay_param_real(rule->params, "scale");
    int64_t step = assay_series_row(series, from).step;
    memset(l->large, 0, l->workers * sizeof *l->large);
    memset(l->known, 0, l->workers * sizeof *l->known);
    for (uint64_t i = from; i < assay_series_count(series); i++) {
        assay_row row = assay_series_row(series, i);
        if (row.step != step)
            break;
        if (row.value[IS] != IS_LOSS || row.worker >= l->workers || row.tensor >= assay_trial_tensors(rule->trial))
            continue;
        double *first = &l->first[(size_t)row.tensor * l->workers + row.worker];
        if (isnan(*first) && fabs(row.value[VALUE]) > most) {
            l->begin[row.worker] = l->large_first[row.worker] > 0 ? l->begin[row.worker] : step;
            l->large_first[row.worker] = fmax(l->large_first[row.worker], fabs(row.value[VALUE]));
        }
        *first = isnan(*first) ? row.value[VALUE] : *first;
        l->known[row.worker] = true;
        l->large[row.worker] = l->large[row.worker] || fabs(row.value[VALUE]) >= share * fabs(*first);
    }
}

/* Is what overflows no larger than such losses, and the tensor at their step, let expect? */
static bool is_large_from_the_beginning(const losses *l, const assay_row *row)
{
    if (row->worker >= l->workers || !(l->large_first[row->worker] > 0))
        return false;
    double *largest = &l->largest[(size_t)row->tensor * l->workers + row->worker];
    if (isnan(*largest))
        *largest = row->step == l->begin[row->worker] ? row->value[LARGEST] : 0;
    return row->value[LARGEST] <= HOLD * fmax(*largest, l->large_first[row->worker]);
}

/* Sets *excused to the number of overflows that do not count. */
static int add_findings(const assay_rule *rule, const assay_series *series, losses *l, const bool *rare,
                        assay_findings *findings, uint64_t *excused)
{
    int status = ASSAY_OK;
    *excused = 0;
    int64_t step = ASSAY_NO_STEP;
    for (uint64_t i = 0; status == ASSAY_OK && i < assay_series_count(series); i++) {
        assay_row row = assay_series_row(series, i);
        if (i == 0 || row.step != step)
            enter_step(l, rule, series, i);
        step = row.step;
        bool converged = row.worker < l->workers && l->known[row.worker] && !l->large[row.worker];
        bool over = row.value[IS] == IS_OVER;
        if (row.value[IS] == IS_LOSS || row.tensor >= assay_trial_tensors(rule->trial))
            continue;
        bool leave_out = over ? is_large_from_the_beginning(l, &row) : converged || is_rare(rule, rare, row.tensor);
        *excused += over && leave_out;
        if (leave_out)
            continue;
        assay_finding finding = {.step = row.step,
                                 .tensor = row.tensor,
                                 .worker = row.worker,
                                 .test = over ? OVERFLOWS : FLUSH,
                                 .value = row.value[VALUE],
                                 .threshold =
                                     assay_param_real(rule->params, over ? "overflow_percent" : "flush_percent")};
        status = assay_findings_add(findings, &finding);
    }
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    assay_verdict_no_data(verdict, "no tensor that matches holds floating-point numbers.");
    const assay_common_state *s = state;
    uint32_t workers = assay_trial_workers(rule->trial);
    size_t places = (size_t)assay_trial_tensors(rule->trial) * workers;
    losses l = {.first = malloc((places + 1) * sizeof *l.first),
                .large = calloc((size_t)workers + 1, sizeof *l.large),
                .known = calloc((size_t)workers + 1, sizeof *l.known),
                .large_first = calloc((size_t)workers + 1, sizeof *l.large_first),
                .begin = calloc((size_t)workers + 1, sizeof *l.begin),
                .largest = malloc((places + 1) * sizeof *l.largest),
                .workers = workers};
    bool *rare = rare_tensors(rule, s->counter);
    bool all = rare && l.first && l.large && l.known && l.large_first && l.begin && l.largest;
    int status = all ? ASSAY_OK : ASSAY_ENOMEM;
    uint64_t excused = 0;
    for (size_t i = 0; all && i < places; i++)
        l.first[i] = l.largest[i] = NAN;
    ASSAY_THEN(status, add_findings(rule, s->series, &l, rare, assay_verdict_findings(verdict), &excused));
    if (status == ASSAY_OK && excused > 0)
        assay_verdict_message(verdict,
                              "%" PRIu64 " overflow%s of %s not counted: the losses were beyond it from the beginning "
                              "(losses_fit).",
                              excused, assay_plural(excused), format_of(rule->params)->name);
    free(rare);
    free(l.first);
    free(l.large);
    free(l.known);
    free(l.large_first);
    free(l.begin);
    free(l.largest);
    return status == ASSAY_OK ? ASSAY_OK : assay_fail(err, status, "out of memory");
}

const assay_rule_ops assay_rule_half_precision_risk = {
    ASSAY_RULE_HEAD,
    .name = "HalfPrecisionRisk",
    .summary = "Values that a smaller floating-point format would flush to zero or overflow.",
    .advice = "Before training in the format, or when it goes wrong there: the tensors named do not fit into its range "
              "as they are.",
    .remedies = ASSAY_TEXTS(
        "Scale the loss (dynamic loss scaling) if gradients are flushed; the parameter scale shows what a factor would do.",
        "Use bf16, which has the range of float32, in place of fp16.",
        "Keep the tensors named in float32: normalisations, softmax, losses and the master weights.",
        "Clip gradients and normalise layers whose values overflow."),
    .params = params,
    .traits = ASSAY_RULE_NOT_LOGGED,
    .tests = ASSAY_TEXTS("flush", "overflow"),
    .series_width = WIDTH,
    .value_units = ASSAY_TEXTS("% of the elements"),
    .sentences = ASSAY_TEXTS([FLUSH] = "{tensor}{of} would underflow in half precision at {when}",
                             [OVERFLOWS] = "{tensor}{of} would overflow in half precision at {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
