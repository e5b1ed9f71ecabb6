/* replica_divergence.c - ReplicaDivergence: tensors that should be equal on all workers and are not.
 *
 * Compares the workers' digests (dtype, shape, bytes) of a tensor at a step. The digest of more than half of the
 * workers is right; without such a majority, that of the first worker. A worker with another digest is odd if some
 * element is not close either: |a - b| > atol + rtol * |b|. value = largest |a - b|; infinite for another shape. A
 * tensor is tested from the first step at which more than half of its workers agreed: one that never was a replica,
 * such as the running statistics of a normalisation, does not diverge. Agreement on a tensor with a single value is no
 * evidence, and if tensors are averaged periodically (averaging.h), the steps between are not tested, nor those at which some workers
 * still agree on one of them while others of them are apart: a few updates may be the same on two workers. Of tensors that
 * were recorded as digests, any difference counts; of those of which all workers recorded statistics alone, any of the
 * least or the largest element.
 *
 * Where the trial has a topology, that says which workers have copies of the same: each such group is compared by
 * itself, from the first step on; where it only says who may have copies, from the first step at which most agreed. */
#include <stdlib.h>
#include <string.h>

#include <assay/search.h>

#include "averaging.h"
#include "workers.h"

enum { DIGEST, CHANGE };                      /* measures */
enum { ODD, LARGEST, AGREED, REMARK, WIDTH }; /* values of a row */
enum { NO_AGREEMENT, MOST_BY_CHANCE, MOST_AGREE, ALL_BY_CHANCE, ALL_AGREE };
enum { PLAIN, OTHER_SHAPE, NO_MAJORITY, FIRST_ODD, BY_DIGEST, BY_STATISTICS, REMARKS };
static const char *const remarks[] = {
    NULL,
    "another shape or type",
    "no majority, so nothing says which copy is right",
    "the first worker is odd too: the value is the difference from it",
    "digests differ: how far apart was not recorded",
    "the least or largest element differs: how far apart the others are was not recorded"};

static const assay_param_def params[] = {
    REPLICA_PARAMS("weights,biases"),
    ASSAY_CHOICE_PARAM("replicated", "seen", "seen|always",
                       "Test a tensor from the first step at which most workers agreed, or always."),
    ASSAY_REAL_PARAM("rtol", "0", 0, 1e308, "Relative tolerance of the comparison."),
    ASSAY_REAL_PARAM("atol", "0", 0, 1e308, "Absolute tolerance of the comparison."),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int slot = refuse_one_worker(given, err);
    slot =
        slot ? slot
             : selection_slot_of(given, need, 1u << ASSAY_RAW | 1u << ASSAY_DIGEST | 1u << ASSAY_MIN | 1u << ASSAY_MAX,
                                 ASSAY_SLOT_WORKERS, true, err);
    if (slot < 0)
        return slot;
    assay_measure digest = {.kind = ASSAY_MEASURE_DIGEST};
    assay_measure change = {.kind = ASSAY_MEASURE_CHANGE,
                            .reference = ASSAY_REFERENCE_FIRST_WORKER,
                            .equal_nan = 1,
                            .rtol = assay_param_real(given, "rtol"),
                            .atol = assay_param_real(given, "atol")};
    int status = assay_need_measure(need, slot, &digest, err);
    if (status >= 0)
        status = assay_need_measure(need, slot, &change, err);
    if (status >= 0)
        status = assay_need_rows(need, slot, &(assay_rows){.width = WIDTH, .compared = true}, err);
    return status < 0 ? status : ASSAY_OK;
}

static const assay_change *change_of(const assay_step_view *view, const assay_tensor_view *item)
{
    const assay_result *result = assay_view_result(view, CHANGE, item);
    return result && result->of.change.found ? &result->of.change : NULL;
}

/* Sets what is known of an odd worker against the majority. `mate` is someone of the majority: where the first worker
 * itself is odd, the difference between the two is its own. */
static void compare(const assay_step_view *view, const assay_tensor_view *item, const assay_tensor_view *mate,
                    const agreement *a, uint64_t digest, double row[WIDTH])
{
    bool first_common = a->first == a->common, is_first = digest == a->first;
    const assay_change *change = change_of(view, first_common || !is_first ? item : mate);
    row[ODD] = 1;
    row[REMARK] = !agreement_has_majority(a) ? NO_MAJORITY : !first_common && !is_first ? FIRST_ODD : PLAIN;
    if (!change || !change->same_shape || !change->same_dtype) {
        row[LARGEST] = INFINITY;
        row[REMARK] = has_digest_alone(item) || has_digest_alone(mate) ? BY_DIGEST
                      : has_range_alone(item)                          ? BY_STATISTICS
                                                                       : OTHER_SHAPE;
        return;
    }
    row[LARGEST] = change->largest;
    if (change->close && (first_common || is_first))
        row[ODD] = 0;
}

static int how_they_agree(const agreement *a, const assay_tensor_view *mate)
{
    bool by_chance = is_one_value(mate);
    if (!agreement_has_majority(a))
        return NO_AGREEMENT;
    return a->agree == a->workers ? (by_chance ? ALL_BY_CHANCE : ALL_AGREE) : by_chance ? MOST_BY_CHANCE : MOST_AGREE;
}

static int add_tensor(assay_series *series, const assay_step_view *view, const assay_tensor_view *const *items,
                      uint32_t count)
{
    int measure = BY_RANGE;
    for (uint32_t i = 0; i < count; i++)
        measure = has_range_alone(items[i]) ? measure : DIGEST;
    agreement a = agreement_of(view, measure, items, count);
    const assay_tensor_view *mate = NULL;
    uint64_t digest;
    int status = ASSAY_OK;
    for (uint32_t i = 0; i < count && !mate; i++)
        if (digest_of(view, measure, items[i], &digest) && digest == a.common)
            mate = items[i];
    for (uint32_t i = 0; status == ASSAY_OK && a.workers > 1 && i < count; i++) {
        double row[WIDTH] = {[AGREED] = how_they_agree(&a, mate)};
        if (!digest_of(view, measure, items[i], &digest))
            continue;
        if (digest != a.common)
            compare(view, items[i], mate, &a, digest, row);
        status = assay_series_add(series, view->step, items[i]->tensor, items[i]->worker, row);
    }
    return status;
}

/* A worker's item, and the first of the workers that have copies of the same. */
typedef struct member {
    const assay_tensor_view *item;
    uint32_t group;
} member;

ASSAY_ORDER_BY(compare_members, member, group, item->worker)

/* The same for each group of workers that have copies of the same, where the trial has a topology. */
static int add_groups(const assay_trial *trial, assay_series *series, const assay_step_view *view,
                      const assay_tensor_view *const *items, uint32_t count, assay_error *err)
{
    member *list = malloc(count * sizeof *list);
    const assay_tensor_view **own = malloc(count * sizeof(const assay_tensor_view *));
    int status = list && own ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "out of memory");
    for (uint32_t i = 0; status == ASSAY_OK && i < count; i++)
        list[i] = (member){items[i], assay_trial_peers(trial, items[i]->tensor, items[i]->worker)};
    if (status == ASSAY_OK)
        qsort(list, count, sizeof *list, compare_members);
    for (uint32_t i = 0, n; status == ASSAY_OK && i < count; i += n) {
        for (n = 0; i + n < count && list[i + n].group == list[i].group; n++)
            own[n] = list[i + n].item;
        status = add_tensor(series, view, own, n);
    }
    free(list);
    free((void *)own);
    return status;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    const assay_slot_view *slot = &view->slot[0];
    assay_series *series = ((assay_common_state *)state)->series;
    int status = ASSAY_OK;
    for (uint32_t i = 0, n; status == ASSAY_OK && i < slot->count; i += n) {
        n = same_tensor(slot, i);
        if (assay_trial_relation(rule->trial, slot->items[i]->tensor, 0).known)
            status = add_groups(rule->trial, series, view, slot->items + i, n, err);
        else
            status = add_tensor(series, view, slot->items + i, n);
    }
    return status;
}

/* The rows order[0 .. count) are one tensor's. The first step at which most workers agreed; INT64_MAX: none. */
static int64_t first_agreed(const assay_series *series, const uint64_t *order, uint64_t count)
{
    int64_t first = INT64_MAX;
    for (uint64_t i = 0; i < count; i++) {
        assay_row row = assay_series_row(series, order[i]);
        if ((row.value[AGREED] == MOST_AGREE || row.value[AGREED] == ALL_AGREE) && row.step < first)
            first = row.step;
    }
    return first;
}

/* Does a topology say that all who were compared have copies? */
static bool are_said(const assay_trial *trial, const assay_series *series, const uint64_t *order, uint64_t count)
{
    bool said = assay_trial_relation(trial, 0, 0).known;
    for (uint64_t i = 0; i < count && said; i++) {
        const assay_row row = assay_series_row(series, order[i]);
        said = assay_trial_peers(trial, row.tensor, row.worker) ==
               assay_trial_relation(trial, row.tensor, row.worker).replicas;
    }
    return said;
}

static bool all_agree(assay_row row)
{
    return row.value[AGREED] >= ALL_BY_CHANCE;
}

static bool are_apart(const assay_counter *apart, int64_t step)
{
    uint64_t i = 0, count = 0;
    int64_t at = 0, other = 0;
    ASSAY_SEARCH(i, assay_counter_size(apart), (assay_counter_get(apart, i, &at, &other, &count), at < step));
    if (i == assay_counter_size(apart))
        return false;
    assay_counter_get(apart, i, &at, &other, &count);
    return at == step;
}

/* Do workers differ as they do between two averagings? A few updates may be the same on most of them. */
static bool is_between(assay_row row, const assay_counter *apart)
{
    return row.value[AGREED] == NO_AGREEMENT || (!all_agree(row) && apart && are_apart(apart, row.step));
}

/* For how many steps in a row the tensor is apart between two averagings; 0: it is not averaged. `apart`: steps at which
 * others are; NULL: nothing is known of them. Every worker's rows
 * say how all of them agreed: those of the first will do. */
static uint64_t averaged_over(const assay_series *series, const uint64_t *order, uint64_t count,
                              const assay_counter *apart)
{
    averaging a = {0};
    uint32_t worker = assay_series_row(series, order[0]).worker;
    for (uint64_t i = 0; i < count; i++) {
        assay_row row = assay_series_row(series, order[i]);
        if (row.worker == worker)
            averaging_take(&a, all_agree(row), !is_between(row, apart));
    }
    return averaging_length(&a);
}

/* Counts steps at which workers do not agree on a tensor that is averaged. */
static int count_apart(const assay_series *series, const uint64_t *order, assay_counter *apart)
{
    const uint64_t count = assay_series_count(series);
    int status = ASSAY_OK;
    for (uint64_t i = 0, n; status == ASSAY_OK && i < count; i += n) {
        const uint32_t tensor = assay_series_row(series, order[i]).tensor;
        for (n = 1; i + n < count && assay_series_row(series, order[i + n]).tensor == tensor; n++)
            ;
        const uint64_t end = averaged_over(series, order + i, n, NULL) > 0 ? i + n : i;
        for (uint64_t k = i; status == ASSAY_OK && k < end; k++) {
            const assay_row row = assay_series_row(series, order[k]);
            if (row.value[AGREED] == NO_AGREEMENT)
                status = assay_counter_add(apart, row.step, 0, 1);
        }
    }
    return status;
}

static int test_row(const assay_rule *rule, assay_verdict *verdict, assay_row row)
{
    uint64_t remark = row.value[REMARK] >= PLAIN && row.value[REMARK] < REMARKS ? (uint64_t)row.value[REMARK] : PLAIN;
    assay_finding finding = {.step = row.step,
                             .tensor = row.tensor,
                             .worker = row.worker,
                             .of_worker = true,
                             .value = row.value[LARGEST],
                             .threshold = assay_param_real(rule->params, "atol"),
                             .note = remarks[remark]};
    return assay_findings_test(assay_verdict_findings(verdict), row.value[ODD] > 0, &finding);
}

/* Tests the rows order[0 .. count), which are one tensor's, from step `from` on. */
static int test_tensor(const assay_rule *rule, const assay_series *series, const uint64_t *order, uint64_t count,
                       int64_t from, uint64_t between, const assay_counter *steps_apart, assay_verdict *verdict)
{
    uint64_t apart = 0;
    int status = ASSAY_OK;
    uint32_t worker = ASSAY_ALL_WORKERS;
    for (uint64_t k = 0; status == ASSAY_OK && k < count; k++) {
        assay_row row = assay_series_row(series, order[k]);
        apart = !is_between(row, between > 0 ? steps_apart : NULL) ? 0 : row.worker != worker ? 1 : apart + 1;
        worker = row.worker;
        if (row.step >= from && row.step >= rule->start_step && (apart == 0 || apart > between))
            status = test_row(rule, verdict, row);
    }
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_series *series = ((const assay_common_state *)state)->series;
    uint64_t count = assay_series_count(series), *order = assay_series_by_tensor(series), left_out = 0, averaged = 0;
    const bool asked = strcmp(assay_param_text(rule->params, "replicated"), "always") == 0;
    if (count && !order)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    assay_counter *apart = assay_counter_new();
    int status = apart ? count_apart(series, order, apart) : ASSAY_ENOMEM;
    for (uint64_t i = 0, n; status == ASSAY_OK && i < count; i += n) {
        uint32_t tensor = assay_series_row(series, order[i]).tensor;
        for (n = 1; i + n < count && assay_series_row(series, order[i + n]).tensor == tensor; n++)
            ;
        const bool always = asked || are_said(rule->trial, series, order + i, n);
        int64_t from = always ? INT64_MIN : first_agreed(series, order + i, n);
        uint64_t between = always ? 0 : averaged_over(series, order + i, n, apart);
        left_out += from == INT64_MAX;
        averaged += between > 0;
        status = test_tensor(rule, series, order + i, n, from, between, apart, verdict);
    }
    assay_counter_free(apart);
    if (left_out > 0)
        assay_verdict_message(verdict,
                              "%llu tensor%s at no step equal on most workers, but for tensors of one value: no "
                              "replicas, so not tested (parameter replicated).",
                              (unsigned long long)left_out, left_out == 1 ? " was" : "s were");
    say_averaged(averaged, verdict);
    if (count == 0)
        say_no_replicas(rule->trial, verdict);
    free(order);
    return status;
}

const assay_rule_ops assay_rule_replica_divergence = {
    ASSAY_RULE_HEAD,
    .name = "ReplicaDivergence",
    .summary = "Tensors that should be equal on all workers and are not.",
    .advice =
        "The workers no longer train one model. If one worker is odd alone, its device is suspect; if all differ, the "
        "parameters were not broadcast or the updates are not the same.",
    .remedies = ASSAY_TEXTS(
        "Take the worker named out of service and test its device and memory if it is odd alone: a silent hardware fault.",
        "Broadcast parameters and buffers from one worker at the start and after loading a checkpoint.",
        "Let every worker run the same update: same optimizer state, learning rate, loss scale and number of steps.",
        "Look for code that changes weights on one rank only, such as rank 0's own clipping or averaging."),
    .params = params,
    .traits = ASSAY_RULE_LOOKS_BACK | ASSAY_RULE_NOT_LOGGED,
    .series_width = WIDTH,
    .value_units = ASSAY_TEXTS("apart"),
    .sentences = ASSAY_TEXTS("{tensor}{of} differed from the other copies at {when}{note}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
