/* norm_spike.c - NormSpike: a tensor's norm jumps, compared with its own past or with the other workers.
 *
 * x = Euclidean norm of the tensor, else the saved reduction l2. For the gradient of a bias it is at least the rounding
 * noise expected beside the gradient of its layer's weights (siblings.h), which jumps about; such a step does not fire.
 *
 *   history  x is compared with the earlier saved steps of the same tensor, worker and mode, as history.h says
 *   workers  z = robust score of ln x among all workers at the same step; needs min_workers of them. Fires when z >
 *            threshold, x > ratio * median, and x also exceeds its own past, if it has one: near the end of a training
 *            single batches differ by orders of magnitude, from worker to worker as from step to step. Where a weight or
 *            gradient has another number of elements on some worker, workers hold parts of one network, and none is odd
 *
 * x that is not finite is left out, or fires against workers where only_finite is false. value = z, threshold = the limit of z. A flipped bit of
 * an exponent multiplies a norm by a large power of two, far beyond what a batch does. */
#include <stdlib.h>

#include "history.h"
#include "siblings.h"
#include "too_few.h"
#include "workers.h"

#define FAR          2.0  /* times the threshold */
#define MORE         2.0  /* times the ratio */
#define LINEAR_BELOW 1e-6 /* of the first norms */
#define NEEDED       " of one mode (min_history and one more), or as many workers as min_workers says"

enum { HISTORY, WORKERS };
/* Values of a row: x is what rounding may come to; elements of a weight or gradient, 0: unknown */
enum { ROUNDED = HISTORY_WIDTH, ELEMENTS, WIDTH };
static const char *const tests[] = {"history", "workers", NULL};

static const assay_param_def params[] = {
    REPLICA_PARAMS("gradients,weights,biases"),
    HISTORY_PARAMS("8", "30", "1", "a norm"),
    ASSAY_INT_PARAM("min_workers", "4", 3, 1000000, "Fewest workers that are compared with each other."),
    ASSAY_CHOICE_PARAM("against", "both", "both|history|workers",
                       "What norms are compared with: their own past, the other workers, or both."),
    ASSAY_INT_PARAM(
        "num_steps", "1", 1, 1000000,
        "Consecutive saved steps at which a worker must leave the others; with more than one also by a norm that is too small."),
    ASSAY_BOOL_PARAM("only_finite", "True", "Leave out norms that are not finite, which ExplodingTensor judges."),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int slot = selection_slot(given, need, 1u << ASSAY_RAW | 1u << ASSAY_L2, true, err);
    return slot < 0 ? slot : assay_need_rows(need, slot, &(assay_rows){.width = WIDTH}, err);
}

/* What rounding may come to in a bias's gradient; 0 for any other tensor. */
static double rounding_of(const assay_rule *rule, const assay_slot_view *slot, const assay_tensor_view *item)
{
    uint32_t weights =
        is_gradient(rule->trial, item->tensor) ? weights_beside(rule->trial, item->tensor) : ASSAY_NO_TENSOR;
    const assay_tensor_view *beside = weights == ASSAY_NO_TENSOR ? NULL : item_in(slot, weights, item->worker);
    double mean = beside ? abs_mean_of(beside) : 0;
    return isfinite(mean) ? ROUNDING_SHARE * mean * sqrt((double)item->stats->count) : 0;
}

/* Sets a row's norm. False where neither values nor the reduction were saved. */
static bool set_norm(const assay_rule *rule, const assay_slot_view *slot, const assay_tensor_view *item, double *row)
{
    if (assay_view_has_values(item)) {
        double own = assay_stats_l2(item->stats), rounding = rounding_of(rule, slot, item);
        row[ROUNDED] = own < rounding;
        row[HISTORY_VALUE] = own < rounding ? rounding : own;
        return true;
    }
    bool saved = item->dtype < 0 && item->reductions & 1u << ASSAY_L2;
    row[HISTORY_VALUE] = saved ? item->reduction[ASSAY_L2] : 0;
    return saved;
}

/* The number of elements of a weight or gradient; 0 where it is not known, or of anything else. */
static double elements_of(const assay_rule *rule, const assay_tensor_view *item)
{
    const assay_role role = assay_trial_role(rule->trial, item->tensor);
    double elements = item->dtype >= 0 && (role == ASSAY_ROLE_WEIGHT || role == ASSAY_ROLE_GRADIENT);
    for (int k = 0; k < item->dims; k++)
        elements *= (double)item->shape[k];
    return elements;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    const assay_slot_view *slot = &view->slot[0];
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < slot->count; i++) {
        double row[WIDTH] = {[HISTORY_MODE] = view->mode, [ELEMENTS] = elements_of(rule, slot->items[i])};
        if (!set_norm(rule, slot, slot->items[i], row) ||
            (assay_param_bool(rule->params, "only_finite") && !isfinite(row[HISTORY_VALUE])))
            continue;
        status = assay_series_add(s->series, view->step, slot->items[i]->tensor, slot->items[i]->worker, row);
    }
    return status;
}

typedef struct judge {
    const assay_rule *rule;
    assay_findings *findings;
    bool *usual;  /* of each row: its own past holds norms like this one */
    int8_t *left; /* of each row: enum leaving, negative where it is below the others */
} judge;

enum leaving { STAYS, BY_RATIO, BY_MORE, LEAVES, LEAVES_FAR };

static int test_norm(const judge *j, assay_row row, unsigned test, double z, double median, bool fires)
{
    char note[96] = "";
    const bool found = fires && row.value[ROUNDED] == 0;
    if (row.step < j->rule->start_step)
        return ASSAY_OK;
    if (found)
        snprintf(note, sizeof note, "norm %.4g, median %.4g", row.value[HISTORY_VALUE], median);
    assay_finding finding = {.step = row.step,
                             .tensor = row.tensor,
                             .worker = row.worker,
                             .test = test,
                             .value = z,
                             .threshold = assay_param_real(j->rule->params, "threshold"),
                             .note = note};
    return assay_findings_test(j->findings, found, &finding);
}

static int test_history(void *self, assay_row row, uint64_t number, const history_score *score, bool spike)
{
    judge *j = self;
    j->usual[number] = !spike;
    return test_norm(j, row, HISTORY, score->z, score->level, spike);
}

/* ln x, where x may be 0. */
static double log_of_norm(double x)
{
    return log(fmax(x, 0x1p-1074));
}

/* How far a row lies from the center of its step. */
static double score_of(assay_row row, const robust_center *center)
{
    const double x = row.value[HISTORY_VALUE];
    return isfinite(x) ? robust_score_of(log_of_norm(x), *center).z : INFINITY;
}

/* The center of rows [from, to), one tensor's workers at a step. False where too few are finite. */
static bool center_of(const judge *j, const assay_series *series, uint64_t from, uint64_t to, double *room,
                      robust_center *center)
{
    size_t finite = 0;
    if (to - from < (uint64_t)assay_param_int(j->rule->params, "min_workers"))
        return false;
    for (uint64_t i = from; i < to; i++)
        if (isfinite(assay_series_row(series, i).value[HISTORY_VALUE]))
            room[finite++] = log_of_norm(assay_series_row(series, i).value[HISTORY_VALUE]);
    *center = robust_center_of(room, finite, 0);
    center->spread = fmax(center->spread, HISTORY_FLOOR);
    return finite > 1;
}

/* Marks those of rows [from, to) that left the others, or are at least apart from them by the ratio. */
static void mark_left(const judge *j, const assay_series *series, uint64_t from, uint64_t to,
                      const robust_center *center)
{
    const double threshold = assay_param_real(j->rule->params, "threshold"),
                 ratio = assay_param_real(j->rule->params, "ratio"), median = exp(center->median);
    const bool both = assay_param_int(j->rule->params, "num_steps") > 1;
    for (uint64_t i = from; i < to; i++) {
        const assay_row row = assay_series_row(series, i);
        const double x = row.value[HISTORY_VALUE], z = score_of(row, center);
        const bool above = !(x <= ratio * median), below = both && x * ratio < median;
        const bool more = above ? !(x <= MORE * ratio * median) : x * MORE * ratio < median;
        const bool apart = (above || below) && center->median > -700 && !j->usual[i];
        const int how = !(fabs(z) > threshold)      ? (more ? BY_MORE : BY_RATIO)
                        : fabs(z) > FAR * threshold ? LEAVES_FAR
                                                    : LEAVES;
        j->left[i] = (int8_t)(apart ? (above ? how : -how) : STAYS);
    }
}

/* How many rows in a row from `from` on lie on one side of the others, by the ratio at least; and the most of them in a
 * row that are `least` or more. */
static uint64_t run_from(const judge *j, const uint64_t *order, uint64_t from, uint64_t end, int least, uint64_t *most)
{
    const bool above = j->left[order[from]] > STAYS;
    uint64_t n = 0, strict = 0;
    *most = 0;
    for (; from + n < end; n++) {
        const int left = j->left[order[from + n]];
        if ((left > STAYS) != above || left == STAYS)
            break;
        strict = abs(left) >= least ? strict + 1 : 0;
        *most = strict > *most ? strict : *most;
    }
    return n;
}

/* Of two other workers a spread is hardly known at a step. The row from which on a worker's rows [from, end) lie apart
 * from the others by MORE than the ratio on one side, but for a quarter of those beyond STEADY and two of the first, and
 * at none of the BEFORE rows before on that side; `end`: there is none. */
static uint64_t leaves_for_good(const judge *j, const uint64_t *order, uint64_t from, uint64_t end)
{
    enum { STEADY = 8, BEGINNING = 6 /* of the first of those */, BEFORE = 5 };
    uint64_t good = end;
    for (int side = -1; side < 2; side += 2) {
        uint64_t misses = 0;
        for (uint64_t start = end; start-- > from + BEFORE;) {
            const uint64_t rows = end - start;
            const bool apart = side * j->left[order[start]] >= BY_MORE;
            misses += !apart;
            bool calm = apart && rows >= STEADY && 4 * misses <= rows - STEADY;
            for (uint64_t k = 1; calm && k <= BEFORE; k++)
                calm = side * j->left[order[start - k]] < BY_MORE;
            uint64_t first = 0;
            for (uint64_t k = 0; calm && k < STEADY; k++)
                first += side * j->left[order[start + k]] >= BY_MORE;
            calm = calm && first >= BEGINNING;
            good = calm ? start : good;
        }
    }
    return good;
}

/* Keeps the mark of a worker's rows that lie apart where num_steps of them in a row left the others; the neighbours
 * that are apart by the ratio belong to them, for the spread of a few workers is hardly known. Where few steps were
 * saved fewer in a row are enough, of norms that lie FAR beyond the threshold; but not one of a gradient, which is
 * next to nothing where a batch is known. */
static int keep_lasting(const judge *j, const assay_series *series)
{
    const int64_t asked = assay_param_int(j->rule->params, "num_steps"),
                  saved = (int64_t)assay_trial_mode_steps(j->rule->trial, ASSAY_MODE_TRAIN);
    const int64_t few = saved > 0 && saved < 2 * asked ? (saved + 3) / 4 : asked;
    const uint64_t rows = assay_series_count(series);
    uint64_t *order = asked > 1 ? assay_series_by_tensor(series) : NULL;
    if (asked > 1 && rows > 0 && !order)
        return ASSAY_ENOMEM;
    for (uint64_t i = 0; asked == 1 && i < rows; i++)
        j->left[i] = j->left[i] >= LEAVES;
    for (uint64_t from = 0, to, n; order && from < rows; from = to) {
        const assay_row first = assay_series_row(series, order[from]);
        const int64_t least = few == 1 && is_gradient(j->rule->trial, first.tensor) ? 2 : few;
        for (to = from + 1; to < rows; to++) {
            const assay_row row = assay_series_row(series, order[to]);
            if (row.tensor != first.tensor || row.worker != first.worker)
                break;
        }
        const uint64_t good = leaves_for_good(j, order, from, to);
        for (uint64_t i = from, most; i < to; i += n) {
            n = j->left[order[i]] == STAYS ? 1 : run_from(j, order, i, to, few < asked ? LEAVES_FAR : LEAVES, &most);
            const bool keeps = j->left[order[i]] != STAYS && most >= (uint64_t)least;
            for (uint64_t k = i; k < i + n; k++)
                j->left[order[k]] = keeps || (k >= good && abs(j->left[order[k]]) >= BY_MORE);
        }
    }
    free(order);
    return ASSAY_OK;
}

/* Has each worker what the others have, as far as is known? Rows of one tensor and step stand beside each other. */
static bool have_the_same(const assay_series *series)
{
    for (uint64_t i = 1; i < assay_series_count(series); i++) {
        const assay_row a = assay_series_row(series, i - 1), b = assay_series_row(series, i);
        if (a.step == b.step && a.tensor == b.tensor && a.value[ELEMENTS] > 0 && b.value[ELEMENTS] > 0 &&
            a.value[ELEMENTS] != b.value[ELEMENTS])
            return false;
    }
    return true;
}

/* Walks the groups of rows that are one tensor's workers at a step: first marks, then tests. */
static int test_workers(const judge *j, const assay_series *series, double *room)
{
    const uint64_t rows = assay_series_count(series);
    const uint32_t workers = assay_trial_workers(j->rule->trial);
    int status = ASSAY_OK;
    for (int pass = 0; status == ASSAY_OK && pass < 2; pass++) {
        for (uint64_t from = 0, to; status == ASSAY_OK && from < rows; from = to) {
            const assay_row first = assay_series_row(series, from);
            robust_center center;
            for (to = from + 1; to < rows && to - from < workers; to++) {
                const assay_row row = assay_series_row(series, to);
                if (row.step != first.step || row.tensor != first.tensor)
                    break;
            }
            if (!center_of(j, series, from, to, room, &center))
                continue;
            if (pass == 0)
                mark_left(j, series, from, to, &center);
            for (uint64_t i = from; pass > 0 && status == ASSAY_OK && i < to; i++) {
                const assay_row row = assay_series_row(series, i);
                status = test_norm(j, row, WORKERS, score_of(row, &center), exp(center.median), j->left[i]);
            }
        }
        if (pass == 0)
            status = keep_lasting(j, series);
    }
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_series *series = ((const assay_common_state *)state)->series;
    uint64_t rows = assay_series_count(series);
    uint32_t workers = assay_trial_workers(rule->trial);
    judge j = {.rule = rule,
               .findings = assay_verdict_findings(verdict),
               .usual = calloc(rows + 1, sizeof *j.usual),
               .left = calloc(rows + 1, sizeof *j.left)};
    double *room = calloc((size_t)workers + 1, sizeof *room);
    int status = j.usual && j.left && room ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "out of memory");
    const char against = assay_param_text(rule->params, "against")[0];
    if (status == ASSAY_OK && against != 'w')
        status = history_walk(rule->params, series, LINEAR_BELOW, false, test_history, &j, err);
    const bool parts = against != 'h' && !have_the_same(series);
    if (status == ASSAY_OK && against != 'h' && !parts && test_workers(&j, series, room) != ASSAY_OK)
        status = assay_fail(err, ASSAY_ENOMEM, "out of memory");
    free(room);
    free(j.left);
    free(j.usual);
    if (parts && against == 'w')
        assay_verdict_no_data(verdict,
                              "a weight or gradient has another number of elements on some worker: workers hold "
                              "parts of one network, of which none is odd beside another.");
    else
        ASSAY_THEN(status, say_longest(rule, series, HISTORY_VALUE, history_least(rule->params) + 1, NEEDED, verdict));
    return status;
}

/* Are there neither steps for a past nor workers to be beside? */
static bool reason(const assay_rule *rule, unsigned modes, assay_buf *out)
{
    return assay_trial_workers(rule->trial) < (uint64_t)assay_param_int(rule->params, "min_workers") &&
           reason_few_steps(rule, ASSAY_MODE_NONE, history_least(rule->params) + 1, NEEDED, out);
}

const assay_rule_ops assay_rule_norm_spike = {
    ASSAY_RULE_HEAD,
    .name = "NormSpike",
    .summary = "Tensors whose norm jumps, against their own past or against the other workers.",
    .advice = "A jump on one worker alone is the signature of a silent hardware fault; one on all workers is a bad "
              "batch or an unstable learning rate.",
    .remedies = ASSAY_TEXTS(
        "If one worker alone spikes: test its node's device and memory (ECC counters, a burn-in), and run without it.",
        "If all workers spike at one step: look at that step's batch, clip gradients by norm and lower or warm up the "
        "learning rate.",
        "Go back to the last checkpoint before the step named: what came after it is built on the bad update."),
    .params = params,
    .tests = tests,
    .traits = ASSAY_RULE_LOOKS_BACK,
    .series_width = WIDTH,
    .value_units = ASSAY_TEXTS("deviations"),
    .sentences = ASSAY_TEXTS([HISTORY] = "the norm of {tensor}{of} jumped at {when}",
                             [WORKERS] = "the norm of {tensor}{of} left that of the other workers at {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
    .reason = reason,
};
