/* late_rank.c - LateRank: a rank came last to collectives, by time that it lost itself.
 *
 * Per step, group and rank: of each operation that all members have, the rank with the shortest kernel came last; it
 * alone cost the others what the second shortest is longer. Of that counts what the rank lost itself since its previous
 * operation in the group; the rest it inherited from others. Fires when the sum over the step exceeds `share` of the
 * step, and min_seconds. */
#include "traced.h"

static const assay_param_def params[] = {
    ASSAY_REAL_PARAM("share", "0.02", 0, 1e308, "A rank is late if it cost its group this share of a step."),
    ASSAY_REAL_PARAM("min_seconds", "0.0005", 0, 1e308,
                     "A rank that cost no more than these seconds of a step is not late."),
    {0},
};

static void evaluate(traced *t)
{
    const assay_trace_data *data = t->data;
    const double share = assay_param_real(t->rule->params, "share");
    const double least = assay_param_real(t->rule->params, "min_seconds") * 1e9;
    for (size_t i = 0; i < data->lates; i++) {
        const assay_trace_late *late = &data->late[i];
        const int64_t step = data->step[late->step];
        const double duration = (double)data->step_duration[late->step], own = (double)late->own;
        if (!traced_sees_step(t, step) || !traced_sees_rank(t, late->rank))
            continue;
        const bool fired = own > share * duration && own > least;
        traced_extra(t);
        char note[256] = "";
        if (fired) {
            traced_group_in_words(t, late->group, note, sizeof note);
            traced_put_group(t, late->group);
            traced_put_integer(t, "own_ns", late->own);
            traced_put_integer(t, "lost_ns", late->lost);
            traced_put_integer(t, "last", (int64_t)late->last);
            traced_put_integer(t, "operations", (int64_t)late->operations);
        }
        traced_test(t, fired,
                    &(traced_finding){.step = step,
                                      .rank = late->rank,
                                      .value = duration > 0 ? own / duration : 0,
                                      .threshold = share,
                                      .note = note});
    }
    if (t->datapoints == 0)
        assay_verdict_no_data(t->verdict, "no collective of the traces could be matched between two ranks.");
}

TRACED_FINALIZE(evaluate)

const assay_rule_ops assay_rule_late_rank = {
    ASSAY_RULE_HEAD,
    .name = "LateRank",
    .summary = "A rank came last to collectives, by time that it lost itself.",
    .advice = "Find what the rank does between collectives that the others do faster.",
    .remedies = ASSAY_TEXTS(
        "See what SlowRank says of the same rank: whether it computed, loaded data, or launched too slowly.",
        "Compare clocks, temperatures and clock rates of its GPU with another's: throttling is common.",
        "Balance the work: longer samples, more tokens or experts on that rank, logging and checkpoints."),
    .value_units = ASSAY_TEXTS("of the step"),
    .sentences = ASSAY_TEXTS("{worker} came last to collectives and cost the others {percent} of {when}{note}"),
    .params = params,
    TRACED_RULE_STATE,
    .finalize = finalize,
};
