/* alone.c - see alone.h. */
#include "alone.h"

/* Finds the largest cause; of equal ones the first, so that a report is the same each time. */
static int largest_cause(const assay_trace_alone *alone)
{
    int largest = 0;
    for (int cause = 1; cause < ASSAY_CAUSES; cause++)
        if (alone->idle[cause] > alone->idle[largest])
            largest = cause;
    return largest;
}

/* Shared by the rules that differ in which time alone they look at: `time_of` takes it, `cause` says whether findings
 * name the largest cause. Findings have no step: a trace is one window. */
void alone_evaluate(traced *t, alone_time *time_of, bool cause)
{
    const double share = assay_param_real(t->rule->params, "share");
    const double least = assay_param_real(t->rule->params, "min_seconds") * 1e9;
    static const char *const notes[] = {"most of it waiting for input", "most of it behind waits for the device",
                                        "most of it waiting for launches", "most of it with kernels queued",
                                        "for reasons that the file does not say"};
    for (size_t i = 0; i < t->data->ranks; i++) {
        const assay_trace_rank *rank = &t->data->rank[i];
        const assay_trace_alone *alone = &rank->alone;
        const double total = (double)alone->figures.total, time = (double)time_of(alone);
        /* A rank without activity of a GPU is not tested: a share of nothing says nothing. */
        if (alone->activities == 0 || !traced_sees_rank(t, rank->rank))
            continue;
        const bool fired = time > share * total && time > least;
        const int largest = largest_cause(alone);
        if (fired) {
            traced_extra(t);
            traced_put_integer(t, "ns", time_of(alone));
            traced_put_integer(t, "total_ns", alone->figures.total);
            if (cause)
                traced_put_text(t, "cause", assay_trace_cause_word(largest));
        }
        traced_test(t, fired,
                    &(traced_finding){.step = ASSAY_NO_TIME,
                                      .rank = rank->rank,
                                      .value = total > 0 ? time / total : 0,
                                      .threshold = share,
                                      .note = cause ? notes[largest] : NULL});
    }
    if (t->datapoints == 0)
        assay_verdict_no_data(t->verdict, "the traces have no activity of a GPU.");
}
