/* check_input_images.c - CheckInputImages: inputs that are not centred. docs/rules/CheckInputImages.md.
 *
 * For each tensor, workers pooled, over the TRAIN steps (all modes if there is no TRAIN): sums per channel so far. Once
 * threshold_samples images were seen, value = largest |sum / elements| over the channels at every step; fires when it
 * exceeds threshold_mean. With threshold_var it also fires when some channel's |variance - 1| exceeds that (remark
 * "variance"). */
#include <math.h>
#include <stdlib.h>

#include <assay/rule.h>

enum { CHANNEL, IMAGES, ELEMENTS, SUM, SQUARES, WIDTH }; /* values of a row: one channel of one worker at one step */

static const assay_param_def params[] = {
    ASSAY_REAL_PARAM("threshold_mean", "0.2", 0, 1e308, "How far the mean of a channel may be from 0."),
    ASSAY_INT_PARAM("threshold_samples", "500", 0, 0x1p53, "Images to see before the first test."),
    ASSAY_REGEX_PARAM("regex", ".*hybridsequential0_input_0", "Patterns (re.search) for names of inputs."),
    ASSAY_INT_PARAM("channel", "1", 0, 63, "Axis of the colour channel; a tensor without it has one channel."),
    ASSAY_REAL_PARAM("threshold_var", NULL, 0, 1e308,
                     "How far the variance of a channel may be from 1; by default it is not tested."),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int slot = assay_need_slot(need,
                               &(assay_slot){.regexes = "regex",
                                             .modes = 1u << ASSAY_MODE_TRAIN,
                                             .flags = ASSAY_SLOT_PREFER_MODES | ASSAY_SLOT_NO_STRINGS},
                               err);
    if (slot < 0)
        return slot;
    assay_measure measure = {.kind = ASSAY_MEASURE_CHANNELS, .axis = (int32_t)assay_param_int(given, "channel")};
    int number = assay_need_measure(need, slot, &measure, err);
    return number < 0 ? number : ASSAY_OK;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    int status = ASSAY_OK;
    for (uint32_t i = 0; i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        const assay_result *result = assay_view_result(view, 0, item);
        uint64_t channels = result ? result->of.channels.channels : 0;
        for (uint64_t c = 0; status == ASSAY_OK && c < channels; c++) {
            const assay_channels *of = &result->of.channels;
            double row[WIDTH] = {(double)c, c ? 0 : (double)of->images, (double)of->elements, of->sum[c],
                                 of->squares[c]};
            status = assay_series_add(s->series, view->step, item->tensor, ASSAY_ALL_WORKERS, row);
        }
    }
    return status;
}

typedef struct channel {
    double elements, sum, squares;
} channel;

static int test_tensor(const assay_rule *rule, assay_row row, double images, const channel *of, size_t channels,
                       assay_findings *findings)
{
    if (images < (double)assay_param_int(rule->params, "threshold_samples"))
        return ASSAY_OK;
    double mean = 0, off = 0;
    for (size_t c = 0; c < channels; c++) {
        double m = of[c].sum / of[c].elements, v = fabs(of[c].squares / of[c].elements - m * m - 1);
        mean = fabs(m) > mean || isnan(m) ? fabs(m) : mean;
        off = v > off || isnan(v) ? v : off;
    }
    assay_finding finding = {.step = row.step,
                             .tensor = row.tensor,
                             .worker = ASSAY_ALL_WORKERS,
                             .value = mean,
                             .threshold = assay_param_real(rule->params, "threshold_mean")};
    int status = assay_findings_test(findings, mean > finding.threshold, &finding);
    if (status || !assay_param_has(rule->params, "threshold_var"))
        return status;
    finding.value = off;
    finding.threshold = assay_param_real(rule->params, "threshold_var");
    finding.note = "variance";
    finding.value_unit = 1;
    return assay_findings_test(findings, off > finding.threshold, &finding);
}

/* Adds one row to its channel; the array grows as channels appear. */
static int add_row(assay_row row, channel **of, size_t *channels)
{
    size_t c = (size_t)row.value[CHANNEL];
    if (c >= *channels) {
        channel *grown = realloc(*of, (c + 1) * sizeof *grown);
        ASSAY_HAVE(grown);
        for (size_t k = *channels; k <= c; k++)
            grown[k] = (channel){0};
        *of = grown;
        *channels = c + 1;
    }
    (*of)[c].elements += row.value[ELEMENTS];
    (*of)[c].sum += row.value[SUM];
    (*of)[c].squares += row.value[SQUARES];
    return ASSAY_OK;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_series *series = ((const assay_common_state *)state)->series;
    uint64_t rows = assay_series_count(series), *order = assay_series_by_tensor(series);
    int status = rows && !order ? ASSAY_ENOMEM : ASSAY_OK;
    channel *of = NULL;
    size_t channels = 0;
    double images = 0, most = 0;
    for (uint64_t i = 0; status == ASSAY_OK && i < rows; i++) {
        assay_row row = assay_series_row(series, order[i]),
                  next = i + 1 < rows ? assay_series_row(series, order[i + 1]) : row;
        images += row.value[IMAGES];
        most = images > most ? images : most;
        if (row.value[CHANNEL] >= 0 && row.value[CHANNEL] <= (double)rows) /* each channel has a row of its own */
            status = add_row(row, &of, &channels);
        bool last_of_tensor = i + 1 == rows || next.tensor != row.tensor;
        if (status == ASSAY_OK && (last_of_tensor || next.step != row.step))
            status = test_tensor(rule, row, images, of, channels, assay_verdict_findings(verdict));
        if (last_of_tensor) {
            channels = 0;
            images = 0;
        }
    }
    if (status == ASSAY_OK && rows > 0)
        assay_verdict_no_data(verdict, "%.0f images, and the parameter threshold_samples asks for %lld.", most,
                              (long long)assay_param_int(rule->params, "threshold_samples"));
    else
        assay_verdict_no_data(verdict, "no tensor that matches has the shape of images.");
    free(of);
    free(order);
    return status;
}

const assay_rule_ops assay_rule_check_input_images = {
    ASSAY_RULE_HEAD,
    .name = "CheckInputImages",
    .summary = "Inputs whose channels are not centred around zero.",
    .advice = "Subtract the mean and divide by the standard deviation of each channel over the training set, and do "
              "the same at evaluation; values around 100 mean that bytes 0..255 were not scaled at all.",
    .params = params,
    .traits = ASSAY_RULE_POOLS,
    .series_width = WIDTH,
    .value_units = ASSAY_TEXTS("away from mean 0", "away from variance 1"),
    .sentences = ASSAY_TEXTS("{tensor} was not centred around zero at {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
