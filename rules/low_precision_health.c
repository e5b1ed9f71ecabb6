/* low_precision_health.c - LowPrecisionHealth: FP8 and FP4 layers that lose values, or whose scales part.
 *
 * Statistics that a training logs by name: <layer>_<tensor>_[<recipe>_]<stat>[_columnwise]. Each has its test; a test
 * fires only if it would for every value that the printed one can stand for (r, the resolution of the log).
 *
 *   underflow  u - r > underflow_percent at num_steps saved steps in a row; overflow likewise
 *   spread     (largest inverse scale - r) / (smallest + r) > spread
 *   mse        (median of the last window - r) / (median of the first + r) > mse_growth
 *   scales     a worker's scale differs from that of most workers by more than scale_rtol of it and 2 r
 *
 * A figure that is not finite fires at once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <assay/search.h>

#include "selection.h"

enum { VALUE, MODE, WIDTH }; /* of a row */
enum { MSE, OVERFLOW_TEST, SCALES, SPREAD, UNDERFLOW_TEST };
enum { NAME_MOST = 1024, WINDOW_MOST = 1000 };
static const char *const tests[] = {"mse", "overflow", "scales", "spread", "underflow", NULL};

static const assay_param_def params[] = {
    ASSAY_LIST_PARAM("collection_names", "lowprecision",
                     "Collections of tensors to test, in addition to tensor_regex."),
    ASSAY_REGEX_PARAM("tensor_regex", NULL,
                      "Patterns (re.search) for names of tensors to test, in addition to collection_names."),
    ASSAY_REAL_PARAM("underflow_percent", "10", 0, 100,
                     "Percentage of values that became zero above which a tensor fires."),
    ASSAY_REAL_PARAM("underflow_percent_fp4", "30", 0, 100, "The same for nvfp4, which has 15 values."),
    ASSAY_REAL_PARAM("overflow_percent", "0.1", 0, 100,
                     "Percentage of values that were clipped above which a tensor fires."),
    ASSAY_INT_PARAM("num_steps", "3", 1, 1000000, "Saved steps in a row at which values are lost before that fires."),
    ASSAY_REAL_PARAM("spread", "16777216", 1, 0x1p1000,
                     "Ratio of the largest to the smallest inverse scale of a tensor above which it fires."),
    ASSAY_INT_PARAM("window", "10", 1, WINDOW_MOST,
                    "Saved steps whose median error is compared: the last ones with the first ones."),
    ASSAY_REAL_PARAM("mse_growth", "4", 1, 0x1p1000, "Ratio of those medians above which the error has grown."),
    ASSAY_REAL_PARAM("scale_rtol", "0.01", 0, 1000,
                     "Relative difference from the scale of most workers above which a worker fires."),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int slot = selection_slot(given, need, 0, true, err);
    return slot < 0 ? slot : assay_need_rows(need, slot, &(assay_rows){.width = WIDTH}, err);
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        if (!assay_view_has_values(item))
            continue;
        double row[WIDTH] = {assay_stats_mean(item->stats), view->mode};
        status = assay_series_add(((assay_common_state *)state)->series, view->step, item->tensor, item->worker, row);
    }
    return status;
}

/* ---- names ---- */

typedef enum stat { UNDERFLOWS, OVERFLOWS, SCALE_MIN, SCALE_MAX, ERROR, NO_STAT } stat;
typedef struct meaning {
    stat stat;
    size_t at;           /* where the statistic's name begins */
    bool fp4, one_scale; /* nvfp4; one scale a tensor: delayed scaling, or no recipe */
} meaning;

static bool ends_with(const char *name, size_t length, const char *end)
{
    const size_t size = strlen(end);
    return length >= size && memcmp(name + length - size, end, size) == 0;
}

/* What the name of a tensor says. */
static meaning meaning_of(const char *name)
{
    static const char *const stats[] = {"_underflows%", "_overflows%", "_scale_inv_min", "_scale_inv_max", "_mse"};
    static const char *const recipes[] = {"_fp8_delayed_scaling", "_fp8_current_scaling", "_fp8_block_scaling",
                                          "_mxfp8", "_nvfp4"};
    meaning m = {.stat = NO_STAT, .one_scale = true};
    size_t length = strlen(name);
    length -= ends_with(name, length, "_columnwise") ? strlen("_columnwise") : 0;
    for (int i = 0; i < NO_STAT && m.stat == NO_STAT; i++)
        if (ends_with(name, length, stats[i])) {
            m.stat = (stat)i;
            length -= strlen(stats[i]);
        }
    m.at = length;
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        if (ends_with(name, length, recipes[i])) {
            m.one_scale = i == 0;
            m.fp4 = i == 4;
            length -= strlen(recipes[i]);
            break;
        }
    const size_t whole = length;
    while (length > 0 && name[length - 1] >= 'a' && name[length - 1] <= 'z')
        length--;
    if (length == whole || length < 2 || name[length - 1] != '_')
        m.stat = NO_STAT;
    return m;
}

/* ---- tests ---- */

typedef struct judge {
    const assay_rule *rule;
    const assay_series *series;
    const uint64_t *order; /* rows by (tensor, worker, step) */
    uint64_t count;
    double r;
    assay_findings *findings;
} judge;

static assay_row row_at(const judge *j, uint64_t i)
{
    return assay_series_row(j->series, j->order[i]);
}

static int test_row(const judge *j, const assay_row *row, unsigned test, double value, double threshold, bool fires)
{
    const assay_finding finding = {.step = row->step,
                                   .tensor = row->tensor,
                                   .worker = row->worker,
                                   .test = test,
                                   .value = value,
                                   .threshold = threshold,
                                   .note = isfinite(value) ? NULL : "for its figure is not finite"};
    return row->step < j->rule->start_step ? ASSAY_OK : assay_findings_test(j->findings, fires, &finding);
}

/* A percentage of lost values: [from, to) are the rows of a tensor and worker. */
static int test_lost(const judge *j, uint64_t from, uint64_t to, unsigned test, double limit)
{
    const int64_t needed = assay_param_int(j->rule->params, "num_steps");
    int64_t in_a_row = 0;
    int status = ASSAY_OK;
    for (uint64_t i = from; i < to && status == ASSAY_OK; i++) {
        const assay_row row = row_at(j, i);
        const double value = row.value[VALUE];
        in_a_row = value - j->r > limit || !isfinite(value) ? in_a_row + 1 : 0;
        status = test_row(j, &row, test, value, limit, !isfinite(value) || in_a_row >= needed);
    }
    return status;
}

/* The lower median of the finite values of rows; NaN: none is. */
static double median_of(const judge *j, uint64_t from, uint64_t to)
{
    double copy[WINDOW_MOST];
    size_t count = 0;
    for (uint64_t i = from; i < to; i++) {
        const double value = row_at(j, i).value[VALUE];
        if (isfinite(value))
            copy[count++] = value;
    }
    if (count == 0)
        return NAN;
    qsort(copy, count, sizeof *copy, assay_order_f64);
    return copy[(count - 1) / 2];
}

static int test_error(const judge *j, uint64_t from, uint64_t to)
{
    const uint64_t window = (uint64_t)assay_param_int(j->rule->params, "window");
    const double limit = assay_param_real(j->rule->params, "mse_growth");
    const double first = to - from >= window ? median_of(j, from, from + window) : NAN;
    int status = ASSAY_OK;
    for (uint64_t i = from; i < to && status == ASSAY_OK; i++) {
        const assay_row row = row_at(j, i);
        if (!isfinite(row.value[VALUE])) {
            status = test_row(j, &row, MSE, row.value[VALUE], limit, true);
            continue;
        }
        if (i - from + 1 < 2 * window)
            continue;
        const double last = median_of(j, i + 1 - window, i + 1);
        if (!(last - j->r > 0) || isnan(first))
            continue;
        const double growth = (last - j->r) / (first + j->r);
        status = test_row(j, &row, MSE, growth, limit, growth > limit);
    }
    return status;
}

static bool is_before(assay_row row, uint32_t tensor, uint32_t worker)
{
    return row.tensor < tensor || (row.tensor == tensor && row.worker < worker);
}

/* The rows of another tensor of the same worker; an empty range when there are none. */
static void find_rows(const judge *j, uint32_t tensor, uint32_t worker, uint64_t *from, uint64_t *to)
{
    uint64_t low = 0;
    ASSAY_SEARCH(low, j->count, is_before(row_at(j, low), tensor, worker));
    *from = *to = low;
    while (*to < j->count && row_at(j, *to).tensor == tensor && row_at(j, *to).worker == worker)
        ++*to;
}

/* The tensor with the smallest inverse scales beside one with the largest. */
static uint32_t smallest_beside(const judge *j, uint32_t tensor, const meaning *m)
{
    char name[NAME_MOST];
    const char *own = assay_trial_tensor(j->rule->trial, tensor);
    const size_t length = strlen(own);
    if (length >= sizeof name)
        return ASSAY_NO_TENSOR;
    memcpy(name, own, length + 1);
    memcpy(name + m->at, "_scale_inv_min", strlen("_scale_inv_min"));
    return assay_trial_find_tensor(j->rule->trial, name);
}

static int test_spread(const judge *j, uint64_t from, uint64_t to, const meaning *m)
{
    const double limit = assay_param_real(j->rule->params, "spread");
    const assay_row first = row_at(j, from);
    const uint32_t smallest = smallest_beside(j, first.tensor, m);
    uint64_t at = 0, end = 0;
    int status = ASSAY_OK;
    if (smallest == ASSAY_NO_TENSOR)
        return ASSAY_OK;
    find_rows(j, smallest, first.worker, &at, &end);
    for (uint64_t i = from; i < to && status == ASSAY_OK; i++) {
        const assay_row row = row_at(j, i);
        while (at < end && row_at(j, at).step < row.step)
            at++;
        if (at == end || row_at(j, at).step != row.step)
            continue;
        const double most = row.value[VALUE], least = row_at(j, at).value[VALUE];
        const double ratio = (most - j->r) / (least + j->r);
        const bool finite = isfinite(most) && isfinite(least);
        if (finite && !(most - j->r > 0))
            continue;
        status = test_row(j, &row, SPREAD, ratio, limit, !finite || ratio > limit);
    }
    return status;
}

/* The value that more than half of the workers printed; false: there is none. `values` is sorted. */
static bool majority(const double *values, size_t count, double *out)
{
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && values[next] == values[i]; next++)
            ;
        if (2 * (next - i) > count) {
            *out = values[i];
            return true;
        }
    }
    return false;
}

static size_t different(const double *values, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += i == 0 || values[i] != values[i - 1];
    return found;
}

ASSAY_ORDER_BY(compare_steps, assay_row, step, worker)

/* [from, to) are the rows of a tensor, of all workers. */
static int test_scales(const judge *j, uint64_t from, uint64_t to)
{
    const double rtol = assay_param_real(j->rule->params, "scale_rtol");
    assay_row *rows = malloc((size_t)(to - from) * sizeof *rows);
    double *values = malloc((size_t)(to - from) * sizeof *values);
    int status = rows && values ? ASSAY_OK : ASSAY_ENOMEM;
    bool begun = false;
    for (uint64_t i = from; rows && i < to; i++)
        rows[i - from] = row_at(j, i);
    if (status == ASSAY_OK)
        qsort(rows, (size_t)(to - from), sizeof *rows, compare_steps);
    for (size_t i = 0, next; status == ASSAY_OK && i < to - from; i = next) {
        double most = 0;
        for (next = i; next < to - from && rows[next].step == rows[i].step; next++)
            values[next - i] = rows[next].value[VALUE];
        const size_t workers = next - i;
        if (workers < 2)
            continue;
        qsort(values, workers, sizeof *values, assay_order_f64);
        const bool agree = majority(values, workers, &most);
        begun = begun || agree;
        if (!begun)
            continue;
        if (!agree) {
            const assay_row all = {.step = rows[i].step, .tensor = rows[i].tensor, .worker = ASSAY_ALL_WORKERS};
            status = test_row(j, &all, SCALES, (double)different(values, workers), 1, true);
        }
        for (size_t k = i; k < next && agree && status == ASSAY_OK; k++) {
            const double value = rows[k].value[VALUE];
            const bool leaves = !(fabs(value - most) <= rtol * fabs(most) + 2 * j->r);
            status = test_row(j, &rows[k], SCALES, value, most, leaves);
        }
    }
    free(rows);
    free(values);
    return status;
}

/* The rows of one tensor and worker. */
static int test_worker(const judge *j, uint64_t from, uint64_t to, const meaning *m)
{
    const char *const limit = m->fp4 ? "underflow_percent_fp4" : "underflow_percent";
    switch (m->stat) {
    case UNDERFLOWS:
        return test_lost(j, from, to, UNDERFLOW_TEST, assay_param_real(j->rule->params, limit));
    case OVERFLOWS:
        return test_lost(j, from, to, OVERFLOW_TEST, assay_param_real(j->rule->params, "overflow_percent"));
    case SCALE_MAX:
        return test_spread(j, from, to, m);
    case ERROR:
        return test_error(j, from, to);
    default:
        return ASSAY_OK;
    }
}

static int test_tensor(const judge *j, uint64_t from, uint64_t to)
{
    const meaning m = meaning_of(assay_trial_tensor(j->rule->trial, row_at(j, from).tensor));
    int status = ASSAY_OK;
    if (m.stat == NO_STAT)
        return ASSAY_OK;
    for (uint64_t i = from, next; i < to && status == ASSAY_OK; i = next) {
        for (next = i + 1; next < to && row_at(j, next).worker == row_at(j, i).worker; next++)
            ;
        status = test_worker(j, i, next, &m);
    }
    if (status == ASSAY_OK && m.one_scale && (m.stat == SCALE_MIN || m.stat == SCALE_MAX))
        status = test_scales(j, from, to);
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_series *series = ((const assay_common_state *)state)->series;
    uint64_t *order = assay_series_by_tensor(series);
    const judge j = {.rule = rule,
                     .series = series,
                     .order = order,
                     .count = assay_series_count(series),
                     .r = assay_trial_resolution(rule->trial),
                     .findings = assay_verdict_findings(verdict)};
    int status = order || j.count == 0 ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t i = 0, next; i < j.count && status == ASSAY_OK; i = next) {
        for (next = i + 1; next < j.count && row_at(&j, next).tensor == row_at(&j, i).tensor; next++)
            ;
        status = test_tensor(&j, i, next);
    }
    free(order);
    return status;
}

const assay_rule_ops assay_rule_low_precision_health = {
    ASSAY_RULE_HEAD,
    .name = "LowPrecisionHealth",
    .summary = "FP8 and FP4 layers that lose values, or whose scales part.",
    .advice =
        "Keep the layers named in higher precision until their statistics are sound, and look at what scales them.",
    .remedies = ASSAY_TEXTS("Keep the layer named in higher precision.",
                            "Shorten the amax history, so that scales follow the values sooner.",
                            "Check the amax reduction group: ranks that share a tensor must share its scale.",
                            "Compare with the what-if statistics of other recipes before choosing one."),
    .params = params,
    .tests = tests,
    .traits = ASSAY_RULE_LOOKS_BACK,
    .series_width = WIDTH,
    .sentences = ASSAY_TEXTS(
        "the error of {tensor}{of} had grown by {when}{note}", "values of {tensor}{of} were clipped at {when}{note}",
        "{tensor}{of} left the scale of the other workers at {when}",
        "scales of {tensor}{of} lay far apart at {when}{note}", "values of {tensor}{of} underflowed by {when}{note}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
