/* exploding_tensor.c - ExplodingTensor: NaN and infinite elements. docs/rules/ExplodingTensor.md.
 *
 * For each worker: value = number of such elements, fires when there is one. If only reductions were saved, those that
 * are not finite are counted, with the remark "indirect": a float32 sum can overflow over finite elements. std and
 * variance are left out, because PyTorch gives NaN for a healthy scalar.
 *
 * Only at the end is it known which tensors have such elements on purpose, and which updates were left out because a
 * gradient overflowed (skipped_updates.h). So map keeps a row of every bad datapoint, and finalize makes findings of
 * them. */
#include <inttypes.h>
#include <stdlib.h>

#include "parts/first_cause.h"
#include "saved.h"
#include "selection.h"
#include "skipped_updates.h"

#define FORM(kind) (1u << (kind) | 1u << (ASSAY_ABS + (kind)))
static const uint32_t REDUCTIONS = FORM(ASSAY_MIN) | FORM(ASSAY_MAX) | FORM(ASSAY_MEAN) | FORM(ASSAY_SUM) |
                                   FORM(ASSAY_PROD) | FORM(ASSAY_L1) | FORM(ASSAY_L2);

static const assay_param_def params[] = {
    SELECTION_PARAMS,
    ASSAY_BOOL_PARAM("only_nan", "False", "Only NaN counts, infinities do not."),
    ASSAY_BOOL_PARAM(
        "strict", "True",
        "False: tensors that have such elements at every saved step, as masks, padding and leaf marks do, and gradients of updates that loss scaling left out, cause a remark and no findings."),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int slot = selection_slot_of(given, need, 1u << ASSAY_RAW | REDUCTIONS, ASSAY_SLOT_SUMS, false, err);
    int number =
        slot < 0 ? slot : assay_need_measure(need, slot, &(assay_measure){.kind = ASSAY_MEASURE_FIRST_BAD}, err);
    return number < 0 ? number : assay_need_rows(need, slot, &(assay_rows){.onsets = true}, err);
}

/* The first offending element; NULL where it was not looked for. */
static const assay_first_bad *first_bad(const assay_step_view *view, const assay_tensor_view *item, bool only_nan)
{
    const assay_result *result = assay_view_result(view, 0, item);
    return result && !(only_nan && isinf(result->of.first_bad.value)) ? &result->of.first_bad : NULL;
}

enum { BAD, UNIT, INFINITE, PATTERN, ROW_WIDTH }; /* values of a row, which stands for a datapoint that is bad */
enum {
    VALUES,
    SINGLE,
    MASK,
    TABLE
}; /* PATTERN: one element; infinities of one sign, and zeros alone beside them; the
                                        same of two dimensions or more */
enum { NAN_ONLY, INFINITE_ONLY, BOTH, INDIRECT }; /* what is counted: UNIT, and place in value_units */

/* What is bad in a tensor: elements, or saved reductions. */
typedef struct badness {
    uint64_t count, nan;
    bool whole; /* nothing else is in it */
} badness;

static badness bad_elements(const assay_tensor_view *item, bool only_nan)
{
    const assay_stats *s = item->stats;
    uint64_t bad = s->nan + (only_nan ? 0 : s->pos_inf + s->neg_inf);
    return (badness){bad, s->nan, bad == s->count};
}

static badness bad_reductions(const assay_tensor_view *item, bool only_nan)
{
    badness b = {0, 0, false};
    for (int kind = 0; kind < ASSAY_KINDS; kind++) {
        if (!(item->reductions & REDUCTIONS & 1u << kind))
            continue;
        b.nan += isnan(item->reduction[kind]);
        b.count += only_nan ? isnan(item->reduction[kind]) : !isfinite(item->reduction[kind]);
    }
    return b;
}

static int pattern_of(const assay_tensor_view *item)
{
    const assay_stats *s = item->stats;
    const bool one_sign = s->pos_inf == 0 || s->neg_inf == 0;
    if (s->nan == 0 && one_sign && s->pos_inf + s->neg_inf + s->zeros == s->count)
        return item->dims >= 2 ? TABLE : MASK;
    return s->count == 1 ? SINGLE : VALUES;
}

/* Of a log only losses are tested, unless the job names others: loss scaling skips steps of infinite norm, and a
 * precision is NaN without positives. */
static bool is_tested(const assay_rule *rule, uint32_t tensor)
{
    const unsigned logged = assay_trial_logged(rule->trial, tensor);
    return !(logged & ASSAY_LOGGED) || (logged & ASSAY_LOGGED_LOSS) ||
           assay_param_has(rule->params, "collection_names") || assay_param_has(rule->params, "tensor_regex");
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    bool only_nan = assay_param_bool(rule->params, "only_nan");
    bool trains = view->mode == ASSAY_MODE_TRAIN || view->mode == ASSAY_MODE_GLOBAL;
    uint32_t noted = ASSAY_ALL_WORKERS; /* the worker whose gradients were last counted */
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        bool indirect = item->dtype < 0 && (item->reductions & REDUCTIONS);
        if (!assay_view_has_values(item) && !indirect)
            continue;
        badness b = indirect ? bad_reductions(item, only_nan) : bad_elements(item, only_nan);
        unsigned kind = (b.nan > 0 ? FIRST_CAUSE_NAN : 0u) | (b.count > b.nan ? FIRST_CAUSE_INF : 0u);
        const int unit = indirect ? INDIRECT : b.nan == 0 ? INFINITE_ONLY : b.count > b.nan ? BOTH : NAN_ONLY;
        if (is_tested(rule, item->tensor))
            assay_findings_datapoints(s->findings, 1);
        status = first_cause_judge(s, view, item->tensor, item->worker,
                                   (assay_judgement){.bad = b.count > 0, .whole = b.whole, .kind = kind},
                                   first_bad(view, item, only_nan));
        if (status == ASSAY_OK && b.count > 0)
            status = assay_series_add(s->series, view->step, item->tensor, item->worker,
                                      (double[ROW_WIDTH]){(double)b.count, unit, (double)(b.count - b.nan),
                                                          indirect ? VALUES : pattern_of(item)});
        bool gradient = trains && assay_trial_role(rule->trial, item->tensor) == ASSAY_ROLE_GRADIENT;
        if (status == ASSAY_OK && gradient && item->worker != noted) {
            status = assay_counter_add(s->counter, item->worker, view->step, 1);
            noted = item->worker;
        }
    }
    return status;
}

/* Can such elements be meant in the tensor? Never in weights, gradients and losses. */
static bool may_be_meant(const assay_rule *rule, uint32_t tensor)
{
    assay_role role = assay_trial_role(rule->trial, tensor);
    return role == ASSAY_ROLE_INPUT || role == ASSAY_ROLE_LABEL || role == ASSAY_ROLE_ACTIVATION;
}

/* The first step at which a weight, gradient or loss was bad; ASSAY_NO_STEP: none was. */
static int64_t first_harm(const assay_rule *rule, const assay_onsets *onsets)
{
    int64_t first = ASSAY_NO_STEP;
    for (uint64_t i = 0; i < assay_onsets_count(onsets); i++) {
        assay_onset o = assay_onsets_get(onsets, i);
        bool harm = o.first_bad != ASSAY_NO_STEP && !may_be_meant(rule, o.tensor);
        if (harm && (first == ASSAY_NO_STEP || o.first_bad < first))
            first = o.first_bad;
    }
    return first;
}

/* Fills meant[tensor]: bad on every worker at every saved step from the first on, never as a whole throughout, and
 * without harm to what is computed from it. */
static void find_meant(const assay_rule *rule, const assay_onsets *onsets, bool *meant)
{
    int64_t harm = first_harm(rule, onsets);
    uint64_t count = assay_onsets_count(onsets);
    for (uint64_t i = 0, next; i < count; i = next) {
        uint32_t tensor = assay_onsets_get(onsets, i).tensor;
        uint64_t tested = 0, bad = 0, whole = 0;
        int64_t first = INT64_MAX;
        for (next = i; next < count && assay_onsets_get(onsets, next).tensor == tensor; next++) {
            assay_onset o = assay_onsets_get(onsets, next);
            for (int m = 0; m < ASSAY_MODES; m++)
                tested += o.tested[m];
            bad += o.bad;
            whole += o.whole;
            first = o.first_bad != ASSAY_NO_STEP && o.first_bad < first ? o.first_bad : first;
        }
        if (tensor < assay_trial_tensors(rule->trial))
            meant[tensor] = bad > 0 && bad == tested && whole < bad && may_be_meant(rule, tensor) &&
                            (harm == ASSAY_NO_STEP || harm > first);
    }
}

/* The place of the onset of (tensor, worker), which every row has; count: none. O(log onsets). */
static uint64_t onset_place(const assay_onsets *onsets, uint32_t tensor, uint32_t worker)
{
    uint64_t low = 0, high = assay_onsets_count(onsets);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        assay_onset o = assay_onsets_get(onsets, middle);
        if (o.tensor < tensor || (o.tensor == tensor && o.worker < worker))
            low = middle + 1;
        else
            high = middle;
    }
    const uint64_t count = assay_onsets_count(onsets);
    assay_onset found = low < count ? assay_onsets_get(onsets, low) : (assay_onset){.tensor = ASSAY_NO_TENSOR};
    return found.tensor == tensor && found.worker == worker ? low : count;
}

/* [onsets] For gradients: up to which step the weight was good on the worker. Where that was not recorded, any weight
 * that has a gradient there. A loss that is good shows it of all weights that were never seen otherwise: it is computed
 * from them. ASSAY_NO_STEP: not known. NULL without memory; the caller frees it. */
static int64_t *weights_good_until(const assay_rule *rule, const assay_onsets *onsets)
{
    const uint64_t count = assay_onsets_count(onsets);
    const uint32_t workers = assay_trial_workers(rule->trial);
    int64_t *own = malloc((count + 1) * sizeof *own), *any = malloc((workers + (size_t)1) * 2 * sizeof *any);
    bool made = own && any;
    int64_t *losses = made ? any + workers : NULL;
    for (uint32_t w = 0; made && w < 2 * workers; w++)
        any[w] = ASSAY_NO_STEP;
    for (uint64_t i = 0; made && i < count; i++) {
        const assay_onset o = assay_onsets_get(onsets, i);
        if (o.worker < workers && assay_trial_role(rule->trial, o.tensor) == ASSAY_ROLE_LOSS &&
            o.tested[ASSAY_MODE_TRAIN] > 0 && o.first_bad == ASSAY_NO_STEP && o.last_good != ASSAY_NO_STEP &&
            o.last_good > losses[o.worker])
            losses[o.worker] = o.last_good;
    }
    for (uint64_t i = 0; made && i < count; i++) {
        assay_onset o = assay_onsets_get(onsets, i);
        bool gradient = assay_trial_role(rule->trial, o.tensor) == ASSAY_ROLE_GRADIENT && o.worker < workers;
        uint32_t weight = gradient ? weight_of_gradient(rule->trial, o.tensor) : ASSAY_NO_TENSOR;
        uint64_t place = weight == ASSAY_NO_TENSOR ? count : onset_place(onsets, weight, o.worker);
        const bool seen_bad = place < count && assay_onsets_get(onsets, place).first_bad != ASSAY_NO_STEP;
        own[i] = place < count ? assay_onsets_get(onsets, place).last_good : ASSAY_NO_STEP;
        if (gradient && !seen_bad && losses[o.worker] != ASSAY_NO_STEP && losses[o.worker] > own[i])
            own[i] = losses[o.worker];
        if (own[i] != ASSAY_NO_STEP && own[i] > any[o.worker])
            any[o.worker] = own[i];
    }
    for (uint64_t i = 0; made && i < count; i++) {
        assay_onset o = assay_onsets_get(onsets, i);
        if (own[i] == ASSAY_NO_STEP && o.worker < workers)
            own[i] = any[o.worker];
    }
    free(any);
    if (made)
        return own;
    free(own);
    return NULL;
}

/* The (worker, step) of updates that were left out; NULL without memory. */
static assay_counter *find_left_out(const assay_rule *rule, const assay_common_state *s, const bool *meant)
{
    assay_counter *bad = assay_counter_new(), *left_out = NULL;
    int64_t *good_until = weights_good_until(rule, s->onsets);
    int status = bad && good_until ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t i = 0; status == ASSAY_OK && i < assay_series_count(s->series); i++) {
        assay_row row = assay_series_row(s->series, i);
        uint64_t place = onset_place(s->onsets, row.tensor, row.worker);
        if (row.tensor >= assay_trial_tensors(rule->trial) || row.worker >= assay_trial_workers(rule->trial) ||
            place == assay_onsets_count(s->onsets) || meant[row.tensor])
            continue;
        bool gradient = assay_trial_role(rule->trial, row.tensor) == ASSAY_ROLE_GRADIENT;
        int64_t until = good_until[place];
        bool harm = !gradient || (until != ASSAY_NO_STEP && until <= row.step);
        bool overflow = row.value[INFINITE] > 0 && until != ASSAY_NO_STEP;
        status = assay_counter_add(bad, row.worker, row.step, harm ? SKIPPED_HARM : overflow ? SKIPPED_OVERFLOW : 1);
    }
    if (status == ASSAY_OK)
        left_out = skipped_updates(s->counter, bad);
    free(good_until);
    assay_counter_free(bad);
    return left_out;
}

/* The onsets without what belongs to updates that were left out: each tensor of a worker begins at its first other bad
 * step. NULL without memory; the caller frees them. */
static assay_onset *onsets_without(const assay_common_state *s, const assay_counter *left_out)
{
    const uint64_t count = assay_onsets_count(s->onsets);
    assay_onset *list = malloc((count + 1) * sizeof *list);
    for (uint64_t i = 0; list && i < count; i++) {
        list[i] = assay_onsets_get(s->onsets, i);
        if (list[i].first_bad != ASSAY_NO_STEP && updates_passes(left_out, list[i].worker, list[i].first_bad))
            list[i].first_bad = ASSAY_NO_STEP;
    }
    for (uint64_t i = 0; list && i < assay_series_count(s->series); i++) {
        assay_row row = assay_series_row(s->series, i);
        uint64_t place = onset_place(s->onsets, row.tensor, row.worker);
        assay_onset *o = place < count ? &list[place] : NULL;
        if (!o || (o->first_bad != ASSAY_NO_STEP && o->first_bad <= row.step) ||
            updates_passes(left_out, row.worker, row.step))
            continue;
        uint64_t before = counted_not_before(s->counter, row.worker, row.step);
        uint64_t first = counted_not_before(s->counter, row.worker, INT64_MIN);
        while (before > first && updates_passes(left_out, row.worker, skipped_step(s->counter, before - 1)))
            before--;
        o->first_bad = row.step;
        o->last_good = before > first ? skipped_step(s->counter, before - 1) : ASSAY_NO_STEP;
        o->kind = (row.value[BAD] > row.value[INFINITE] ? FIRST_CAUSE_NAN : 0u) |
                  (row.value[INFINITE] > 0 ? FIRST_CAUSE_INF : 0u);
        o->detail[0] = -1; /* the element is known of the very first bad step only */
    }
    return list;
}

/* In a checkpoint, the elements that are not finite are meant where they are a mask that nobody trains, and in the state
 * of callbacks and schedulers, where a best value begins at infinity. */
static bool is_meant_there(const assay_rule *rule, const assay_row *row)
{
    const char *name = assay_trial_tensor(rule->trial, row->tensor);
    if (is_saved_state(name))
        return row->value[PATTERN] != VALUES || row->value[BAD] == row->value[INFINITE];
    if (row->value[PATTERN] != MASK && row->value[PATTERN] != TABLE)
        return false;
    switch (assay_trial_role(rule->trial, row->tensor)) {
    case ASSAY_ROLE_WEIGHT: /* what is trained under that name has one dimension: attn.bias is a mask in GPT */
        return strstr(name, "mask") || (row->value[PATTERN] == TABLE && !strstr(name, "weight"));
    case ASSAY_ROLE_OPTIMIZER:
        return false;
    default:
        return true;
    }
}

static int add_findings_there(const assay_rule *rule, const assay_series *series, assay_findings *findings)
{
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < assay_series_count(series); i++) {
        const assay_row row = assay_series_row(series, i);
        assay_finding finding = {.step = row.step, .tensor = row.tensor, .worker = row.worker, .value = row.value[BAD]};
        if (is_meant_there(rule, &row))
            continue;
        finding.value_unit = (uint32_t)row.value[UNIT];
        status = assay_findings_add(findings, &finding);
    }
    return status;
}

/* ---- logs ---- */

static int mode_of_step(const assay_trial *trial, int64_t step)
{
    const assay_step_info *info = assay_trial_step(trial, assay_trial_find_step(trial, step));
    return info && info->mode >= 0 && info->mode < ASSAY_MODES ? info->mode : ASSAY_MODE_NONE;
}

/* [onsets][ASSAY_MODES] Has the series several values, and none that is finite? It was never computed, then: where a loss
 * breaks, it had values before. NULL without memory; the caller frees it. */
static bool *never_finite(const assay_rule *rule, const assay_common_state *s)
{
    const uint64_t count = assay_onsets_count(s->onsets);
    uint64_t *bad = calloc((count + 1) * ASSAY_MODES, sizeof *bad);
    bool *never = calloc((count + 1) * ASSAY_MODES, sizeof *never);
    for (uint64_t i = 0; bad && i < assay_series_count(s->series); i++) {
        const assay_row row = assay_series_row(s->series, i);
        const uint64_t place = onset_place(s->onsets, row.tensor, row.worker);
        if (place < count)
            bad[place * ASSAY_MODES + (uint64_t)mode_of_step(rule->trial, row.step)]++;
    }
    for (uint64_t i = 0; bad && never && i < count; i++) {
        const assay_onset o = assay_onsets_get(s->onsets, i);
        for (int m = 0; m < ASSAY_MODES; m++)
            never[i * ASSAY_MODES + (uint64_t)m] = o.tested[m] > 1 && bad[i * ASSAY_MODES + (uint64_t)m] == o.tested[m];
    }
    const bool made = bad && never;
    free(bad);
    if (made)
        return never;
    free(never);
    return NULL;
}

/* Is the row one of a log that is no finding? */
static bool is_remark(const assay_rule *rule, const assay_common_state *s, const bool *never, const assay_row *row)
{
    if (!never || !assay_trial_logged(rule->trial, row->tensor))
        return false;
    const uint64_t place = onset_place(s->onsets, row->tensor, row->worker);
    return !is_tested(rule, row->tensor) ||
           (place < assay_onsets_count(s->onsets) &&
            never[place * ASSAY_MODES + (uint64_t)mode_of_step(rule->trial, row->step)]);
}

/* The onsets without what is a remark. NULL without memory; the caller frees them. */
static assay_onset *onsets_of_log(const assay_rule *rule, const assay_common_state *s, const bool *never)
{
    const uint64_t count = assay_onsets_count(s->onsets);
    assay_onset *list = malloc((count + 1) * sizeof *list);
    for (uint64_t i = 0; list && i < count; i++) {
        list[i] = assay_onsets_get(s->onsets, i);
        const assay_row first = {.step = list[i].first_bad, .tensor = list[i].tensor, .worker = list[i].worker};
        if (first.step != ASSAY_NO_STEP && is_remark(rule, s, never, &first))
            list[i].first_bad = list[i].last_good = ASSAY_NO_STEP;
    }
    for (uint64_t i = 0; list && i < assay_series_count(s->series); i++) {
        const assay_row row = assay_series_row(s->series, i);
        const uint64_t place = onset_place(s->onsets, row.tensor, row.worker);
        if (place < count && list[place].first_bad == ASSAY_NO_STEP && !is_remark(rule, s, never, &row))
            list[place].first_bad = row.step;
    }
    return list;
}

/* Series that were not finite and are no findings. */
static void remark_on_others(const assay_rule *rule, const assay_common_state *s, const bool *never,
                             assay_verdict *verdict)
{
    bool *other = calloc((size_t)assay_trial_tensors(rule->trial) + 1, sizeof *other);
    uint32_t count = 0, first = 0;
    for (uint64_t i = 0; other && i < assay_series_count(s->series); i++) {
        const assay_row row = assay_series_row(s->series, i);
        if (row.tensor < assay_trial_tensors(rule->trial) && is_remark(rule, s, never, &row) && !other[row.tensor]) {
            other[row.tensor] = true;
            first = count++ == 0 ? row.tensor : first;
        }
    }
    free(other);
    if (count > 0)
        assay_verdict_message(verdict,
                              "%u logged series that %s not judged, such as %.200s, %s not finite at some step.",
                              (unsigned)count, count == 1 ? "is" : "are", assay_trial_tensor(rule->trial, first),
                              count == 1 ? "is" : "are");
}

static int add_findings(const assay_rule *rule, const assay_common_state *s, const bool *never, const bool *meant,
                        const assay_counter *left_out, assay_findings *findings)
{
    const assay_series *series = s->series;
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < assay_series_count(series); i++) {
        assay_row row = assay_series_row(series, i);
        if (row.tensor < assay_trial_tensors(rule->trial) && meant[row.tensor])
            continue;
        if (left_out && updates_passes(left_out, row.worker, row.step))
            continue;
        if (is_remark(rule, s, never, &row))
            continue;
        assay_finding finding = {.step = row.step, .tensor = row.tensor, .worker = row.worker, .value = row.value[BAD]};
        while (finding.value_unit < INDIRECT && row.value[UNIT] != finding.value_unit)
            finding.value_unit++;
        finding.note = finding.value_unit == INDIRECT ? "indirect" : NULL;
        status = assay_findings_add(findings, &finding);
    }
    return status;
}

static void remark_on_meant(const assay_rule *rule, const bool *meant, assay_verdict *verdict)
{
    assay_buf *json = assay_verdict_json(verdict);
    uint32_t count = 0, first = 0;
    for (uint32_t t = 0; t < assay_trial_tensors(rule->trial); t++) {
        if (!meant[t])
            continue;
        first = count == 0 ? t : first;
        assay_put_format(json, "%s", count++ ? ", " : json->size ? ", \"meant\": [" : "\"meant\": [");
        assay_json_put_text(json, assay_trial_tensor(rule->trial, t));
    }
    if (count == 0)
        return;
    assay_put_format(json, "]");
    assay_verdict_message(
        verdict,
        "%u tensor%s, such as %.200s, ha%s elements that are not finite at every saved step from the first "
        "on: taken as meant (masks, padding, leaf marks).",
        (unsigned)count, assay_plural(count), assay_trial_tensor(rule->trial, first), count == 1 ? "s" : "ve");
}

/* Says at how many steps updates were left out, and which is the first. */
static void remark_on_left_out(const assay_counter *left_out, assay_verdict *verdict)
{
    uint64_t workers = 0, size = assay_counter_size(left_out), steps = 0, count, of_worker = 0;
    int64_t first = INT64_MAX, worker, step, before = -1;
    for (uint64_t i = 0; i < size; i++) {
        assay_counter_get(left_out, i, &worker, &step, &count);
        workers += worker != before;
        of_worker = worker != before ? 1 : of_worker + 1;
        steps = of_worker > steps ? of_worker : steps;
        first = step < first ? step : first;
        before = worker;
    }
    if (size == 0)
        return;
    assay_buf *json = assay_verdict_json(verdict);
    assay_put_format(json, "%s\"updates_left_out\": %" PRIu64, json->size ? ", " : "", steps);
    assay_verdict_message(verdict,
                          "Gradients overflowed at %" PRIu64 " step%s, the first of them step %" PRId64
                          "%s, and the weights stayed finite: taken as updates that loss scaling left out.",
                          steps, assay_plural(steps), first, workers > 1 ? " (the most of any worker)" : "");
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_common_state *s = state;
    const size_t tensors = assay_trial_tensors(rule->trial);
    const bool strict = assay_param_bool(rule->params, "strict");
    const bool checkpoints = !strict && is_of_checkpoints(rule->trial);
    const bool log = assay_trial_is_log(rule->trial);
    bool *meant = calloc(tensors + 1, sizeof *meant), *none = calloc(tensors + 1, sizeof *none);
    bool *never = log ? never_finite(rule, s) : NULL;
    assay_counter *left_out = NULL;
    assay_onset *onsets = NULL;
    int status = meant && none && (never || !log) ? ASSAY_OK : ASSAY_ENOMEM;
    if (status == ASSAY_OK) {
        if (!checkpoints)
            find_meant(rule, s->onsets, meant);
        left_out = strict || checkpoints ? assay_counter_new() : find_left_out(rule, s, meant);
        status = left_out ? ASSAY_OK : ASSAY_ENOMEM;
    }
    if (status == ASSAY_OK && (log || assay_counter_size(left_out) > 0)) {
        onsets = log ? onsets_of_log(rule, s, never) : onsets_without(s, left_out);
        status = onsets ? ASSAY_OK : ASSAY_ENOMEM;
    }
    if (status == ASSAY_OK && checkpoints)
        status = add_findings_there(rule, s->series, assay_verdict_findings(verdict));
    else if (status == ASSAY_OK)
        status = add_findings(rule, s, never, strict ? none : meant, left_out, assay_verdict_findings(verdict));
    if (status == ASSAY_OK) /* what is meant is no cause, also where it is a finding */
        status = first_cause_put(rule, s, onsets, meant, NULL, verdict, err);
    if (status == ASSAY_OK && log)
        remark_on_others(rule, s, never, verdict);
    if (status == ASSAY_OK && !strict) {
        remark_on_meant(rule, meant, verdict);
        remark_on_left_out(left_out, verdict);
    }
    assay_counter_free(left_out);
    free(onsets);
    free(never);
    free(meant);
    free(none);
    return status == ASSAY_OK ? ASSAY_OK : assay_fail(err, status, "out of memory");
}

static const char *const value_units[] = {"NaN element(s)", "infinite element(s)", "NaN or infinite element(s)",
                                          "not finite", NULL};

const assay_rule_ops assay_rule_exploding_tensor = {
    ASSAY_RULE_HEAD,
    .name = "ExplodingTensor",
    .summary = "Tensors with NaN or infinite elements.",
    .advice =
        "Start at the first finding, later ones spread from it: lower the learning rate or warm it up, clip gradients "
        "by norm, look at the inputs of that step for extreme or missing values, guard divisions, logarithms and "
        "square roots, and in half precision check the loss scale.",
    .remedies = ASSAY_TEXTS(
        "Look at the inputs and labels of the first bad step for extreme, missing or infinite values.",
        "Lower the learning rate, or lengthen its warm-up.", "Clip gradients by norm before the optimizer's step.",
        "Guard divisions, logarithms, square roots and exponentials of the layer named.",
        "In half precision use dynamic loss scaling, or bf16.",
        "If one worker alone begins, test its device and memory."),
    .params = params,
    .series_width = ROW_WIDTH,
    .value_units = value_units,
    .sentences = ASSAY_TEXTS("{tensor}{of} was not finite at {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
