/* slow_rank.c - SlowRank: a rank needs more time of its own than ranks with the same role.
 *
 * Per step and rank with a peer: own time is that in which the rank does not only wait for communication, from the end
 * of its last kernel of communication in the step before to that of this one. Fires when it exceeds the lower median
 * over the peers by more than `ratio` of it, and min_seconds, in num_steps steps in a row. Peers have the same
 * operations in the step, and the same places in groups where they send or receive. */
#include <stdlib.h>

#include <assay/search.h>

#include "traced.h"

static const assay_param_def params[] = {
    ASSAY_REAL_PARAM("ratio", "0.1", 0, 1e308,
                     "A rank is slow if its own time exceeds the median of its peers by this share of it."),
    ASSAY_REAL_PARAM("min_seconds", "0.0005", 0, 1e308,
                     "A rank that needs no more than these seconds more is not slow."),
    ASSAY_INT_PARAM("num_steps", "2", 1, 1000000, "Steps in a row in which a rank must be slow."),
    {0},
};

/* Steps in a row so far. */
typedef struct streak {
    int64_t steps;
    uint32_t last;
} streak;

static int64_t above(int64_t value, int64_t median)
{
    return value > median ? value - median : 0;
}

static streak *streak_of(const traced *t, streak *list, int32_t rank)
{
    size_t low = 0; /* there is a rank: the one of the work */
    ASSAY_SEARCH(low, t->data->ranks - 1, t->data->rank[low].rank < rank);
    return &list[low];
}

/* Returns the cause in words. */
static const char *put_evidence(traced *t, const assay_trace_work *work)
{
    const int64_t excess = work->own - work->own_median;
    const int64_t input = above(work->input, work->input_median), busy = above(work->busy, work->busy_median);
    const char *cause = input >= excess - input ? "input" : busy >= excess - busy ? "compute" : "host";
    traced_extra(t);
    traced_put_integer(t, "own_ns", work->own);
    traced_put_integer(t, "median_ns", work->own_median);
    traced_put_integer(t, "input_excess_ns", input);
    traced_put_integer(t, "compute_excess_ns", busy);
    traced_put_text(t, "cause", cause);
    traced_put_integer(t, "peers", work->peers);
    return *cause == 'i' ? "in the data loader" : *cause == 'c' ? "in computation" : "on the host";
}

static void evaluate(traced *t)
{
    const assay_trace_data *data = t->data;
    const double ratio = assay_param_real(t->rule->params, "ratio");
    const double least = assay_param_real(t->rule->params, "min_seconds") * 1e9;
    const int64_t steps = assay_param_int(t->rule->params, "num_steps");
    streak *streaks = calloc(data->ranks + 1, sizeof *streaks);
    if (!streaks) {
        t->status = ASSAY_ENOMEM;
        return;
    }
    for (size_t i = 0; i < data->works; i++) {
        const assay_trace_work *work = &data->work[i];
        const int64_t step = data->step[work->step];
        if (work->peers < 2 || !traced_sees_step(t, step) || !traced_sees_rank(t, work->rank))
            continue;
        streak *s = streak_of(t, streaks, work->rank);
        const double excess = (double)(work->own - work->own_median);
        const bool slow = excess > ratio * (double)work->own_median && excess > least;
        s->steps = !slow ? 0 : s->steps > 0 && s->last + 1 == work->step ? s->steps + 1 : 1;
        s->last = work->step;
        const bool fired = s->steps >= steps;
        const char *note = fired ? put_evidence(t, work) : NULL;
        traced_test(t, fired,
                    &(traced_finding){.step = step,
                                      .rank = work->rank,
                                      .value = work->own_median > 0 ? excess / (double)work->own_median : 0,
                                      .threshold = ratio,
                                      .note = note});
    }
    free(streaks);
    if (t->datapoints == 0)
        assay_verdict_no_data(t->verdict,
                              "no two ranks of the traces have the same role: the same collectives, and the "
                              "same places where they send or receive.");
}

TRACED_FINALIZE(evaluate)

const assay_rule_ops assay_rule_slow_rank = {
    ASSAY_RULE_HEAD,
    .name = "SlowRank",
    .summary = "A rank needs more time of its own than ranks with the same role.",
    .advice = "The finding's cause says where the time goes: input, compute or host.",
    .remedies = ASSAY_TEXTS(
        "Cause input: look at the rank's data loader, its shard of the data, and the storage of its node.",
        "Cause compute: compare clock rates, temperatures and device errors of its GPU; then the work that it has.",
        "Cause host: look for another process on its node, for garbage collection, logging or checkpoints on that rank."),
    .value_units = ASSAY_TEXTS("of the peers' median"),
    .sentences =
        ASSAY_TEXTS("{worker} needed {percent} more time of its own than ranks with the same role at {when}{note}"),
    .params = params,
    TRACED_RULE_STATE,
    .finalize = finalize,
};
