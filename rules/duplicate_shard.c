/* duplicate_shard.c - DuplicateShard: workers that are fed the same labels or inputs.
 *
 * Compares the workers' digests of a tensor at a step. A worker with the digest of a lower one has a twin. Fires when
 * it has had one at num_steps consecutive saved steps of the tensor; value = that number. Tensors with fewer than
 * min_elements elements, or with a single value, can be equal by chance and are not compared; whole numbers that are the
 * same at all saved steps, as the places of pairs in a batch, are no data. */
#include <math.h>
#include <stdlib.h>

#include "workers.h"

/* Values of a row: number of the lowest worker with the same digest, or -1; of whole numbers so many bits of it as a double
 * holds, else NaN. */
enum { TWIN, IS, WIDTH };
enum { HIDDEN_BITS = 12 };
static const double NONE = -1;

static const assay_param_def params[] = {
    ASSAY_REGEX_PARAM(
        "tensor_regex",
        "labels?$,[Ll]oss_input_1$,inputs?$,images?$,(Net|Model)_input_0$,^(?!\\w*Loss)[A-Z][A-Za-z0-9]*_input_0$",
        "Patterns (re.search) for names of labels and inputs."),
    ASSAY_INT_PARAM("min_elements", "16", 1, 0x1p53, "Tensors with fewer elements are not compared."),
    ASSAY_INT_PARAM("num_steps", "2", 1, 1000000,
                    "Consecutive saved steps at which a worker must have the data of another."),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    const assay_slot inputs = {.regexes = "tensor_regex",
                               .modes = 1u << ASSAY_MODE_TRAIN,
                               .flags = ASSAY_SLOT_PREFER_MODES | ASSAY_SLOT_NO_STRINGS};
    int slot = refuse_one_worker(given, err);
    slot = slot ? slot : assay_need_slot(need, &inputs, err);
    assay_measure digest = {.kind = ASSAY_MEASURE_DIGEST};
    int number = slot < 0 ? slot : assay_need_measure(need, slot, &digest, err);
    return number < 0 ? number : assay_need_rows(need, slot, &(assay_rows){.width = WIDTH, .compared = true}, err);
}

/* False where equality says nothing. One element alone is small, not constant. */
static bool comparable(const assay_rule *rule, const assay_step_view *view, const assay_tensor_view *item,
                       uint64_t *digest)
{
    if (!digest_of(view, 0, item, digest) ||
        item->stats->count < (uint64_t)assay_param_int(rule->params, "min_elements"))
        return false;
    return item->stats->count == 1 || item->stats->min < item->stats->max;
}

/* May two workers be compared? By a topology those that differ in what is each one's own by design. */
static bool are_relatives(const assay_trial *trial, const assay_tensor_view *a, const assay_tensor_view *b)
{
    const assay_relation x = assay_trial_relation(trial, a->tensor, a->worker);
    return a != b && (!x.known || x.relatives == assay_trial_relation(trial, b->tensor, b->worker).relatives);
}

static bool has_relative(const assay_rule *rule, const assay_step_view *view, const assay_tensor_view *const *items,
                         uint32_t count, uint32_t i)
{
    uint64_t digest;
    for (uint32_t k = 0; k < count; k++)
        if (are_relatives(rule->trial, items[i], items[k]) && comparable(rule, view, items[k], &digest))
            return true;
    return false;
}

static int add_tensor(const assay_rule *rule, assay_series *series, const assay_step_view *view,
                      const assay_tensor_view *const *items, uint32_t count)
{
    int status = ASSAY_OK;
    uint32_t compared = 0;
    uint64_t mine, other;
    for (uint32_t i = 0; i < count && compared < 2; i++)
        compared += comparable(rule, view, items[i], &mine);
    for (uint32_t i = 0; status == ASSAY_OK && compared > 1 && i < count; i++) {
        double row[WIDTH] = {[TWIN] = NONE};
        if (!comparable(rule, view, items[i], &mine) || !has_relative(rule, view, items, count, i))
            continue;
        for (uint32_t k = 0; k < i && row[TWIN] < 0; k++)
            if (are_relatives(rule->trial, items[i], items[k]) && comparable(rule, view, items[k], &other) &&
                other == mine)
                row[TWIN] = items[k]->worker;
        row[IS] = assay_dtype_is_float(items[i]->dtype) ? (double)NAN : (double)(mine >> HIDDEN_BITS);
        status = assay_series_add(series, view->step, items[i]->tensor, items[i]->worker, row);
    }
    return status;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    const assay_slot_view *slot = &view->slot[0];
    int status = ASSAY_OK;
    for (uint32_t i = 0, n; status == ASSAY_OK && i < slot->count; i += n) {
        n = same_tensor(slot, i);
        status = add_tensor(rule, ((assay_common_state *)state)->series, view, slot->items + i, n);
    }
    return status;
}

/* Does the tensor whose rows begin at order[i] differ between any two steps of the worker? Of one step, and of what is no
 * whole number, nothing is held against it. */
static bool changes(const assay_series *series, const uint64_t *order, uint64_t i)
{
    const assay_row first = assay_series_row(series, order[i]);
    uint64_t steps = 0;
    for (; i < assay_series_count(series); i++, steps++) {
        const assay_row row = assay_series_row(series, order[i]);
        if (row.tensor != first.tensor || row.worker != first.worker)
            break;
        if (row.value[IS] != first.value[IS])
            return true;
    }
    return steps < 2;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_series *series = ((const assay_common_state *)state)->series;
    uint64_t count = assay_series_count(series), *order = assay_series_by_tensor(series);
    int64_t num_steps = assay_param_int(rule->params, "num_steps"), run = 0;
    if (count && !order)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    int status = ASSAY_OK;
    assay_row before = {0};
    bool data = true;
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i++) {
        assay_row row = assay_series_row(series, order[i]);
        char note[WORKER_NOTE];
        bool same = i > 0 && row.tensor == before.tensor && row.worker == before.worker;
        data = same ? data : changes(series, order, i);
        run = data && row.value[TWIN] >= 0 ? (same ? run : 0) + 1 : 0;
        before = row;
        if (row.step < rule->start_step)
            continue;
        uint32_t twin = run > 0 && row.value[TWIN] < UINT32_MAX ? (uint32_t)row.value[TWIN] : UINT32_MAX;
        snprintf(note, sizeof note, "the same as %s", assay_trial_worker(rule->trial, twin));
        assay_finding finding = {.step = row.step,
                                 .tensor = row.tensor,
                                 .worker = row.worker,
                                 .value = (double)run,
                                 .threshold = (double)num_steps,
                                 .note = note};
        status = assay_findings_test(assay_verdict_findings(verdict), run >= num_steps, &finding);
    }
    free(order);
    assay_verdict_no_data(
        verdict,
        assay_trial_relation(rule->trial, 0, 0).known
            ? "no tensor that matches was saved at one step, with enough elements to compare, by two workers of "
              "which the topology says that each has data of its own (\"own\")."
            : "no tensor that matches was saved by two workers at one step, with enough elements to compare.");
    return status;
}

const assay_rule_ops assay_rule_duplicate_shard = {
    ASSAY_RULE_HEAD,
    .name = "DuplicateShard",
    .summary = "Workers that are fed the same labels or inputs as another.",
    .advice = "Workers that see the same samples add nothing but cost: the shards overlap, and the samples of the "
              "missing shards are never seen.",
    .remedies = ASSAY_TEXTS(
        "Give the sampler of each worker its rank and the number of workers (DistributedSampler, shard, skip).",
        "Seed the shuffling alike on all workers and shard after it, or seed it by rank and shard before.",
        "Tell the sampler the epoch (set_epoch), and check that all workers read the rank from the same launcher."),
    .params = params,
    .traits = ASSAY_RULE_LOOKS_BACK | ASSAY_RULE_NOT_LOGGED,
    .series_width = WIDTH,
    .value_units = ASSAY_TEXTS("saved step(s) in a row"),
    .sentences = ASSAY_TEXTS("{worker} got the same data as another at {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
