/* verdict_traces.c - where the time of traces went, in half a sentence, where no rule has more to say of them. */
#include "report/model/verdict_traces.h"

#include "rule/trial_info.h"
#include "trace/before_after.h"

/* Names of operators are the program's own, and may be long. */
static void put_name(const char *name, assay_buf *out)
{
    enum { NAME_MOST = 60 };
    size_t length = 0;
    while (name[length] && length < NAME_MOST && (unsigned char)name[length] >= ' ')
        length++;
    assay_put_bytes(out, name, length);
    assay_put_format(out, name[length] ? "..." : "");
}

/* The part of the time in which GPUs computed: of the rank with the least, and of the one with the most. */
static void put_computation(const assay_trace_data *data, assay_buf *out)
{
    double least = 1, most = 0;
    const assay_trace_rank *only = NULL;
    size_t ranks = 0;
    for (size_t r = 0; r < data->ranks; r++) {
        const assay_trace_figures *f = &data->rank[r].alone.figures;
        if (f->total <= 0)
            continue;
        const double share = (double)f->computation / (double)f->total;
        least = share < least ? share : least;
        most = share > most ? share : most;
        only = &data->rank[r];
        ranks++;
    }
    if (ranks == 1)
        assay_put_format(out, "; the GPU of worker_%d computed for %.3g %% of the time", (int)only->rank, 100 * most);
    else if (ranks > 1)
        assay_put_format(out, "; the GPUs of %zu ranks computed for %.3g to %.3g %% of the time", ranks, 100 * least,
                         100 * most);
}

/* Of traces without activity of a GPU: the operator in which CPUs spent most. */
static void put_operators(const assay_trace_data *data, assay_buf *out)
{
    assay_trace_change top;
    uint32_t count = 0;
    double all = 0;
    for (size_t r = 0; r < data->ranks; r++)
        for (size_t i = 0; i < data->rank[r].sums; i++)
            all += data->rank[r].sum[i].kind == ASSAY_SUM_HOST_OPERATORS ? (double)data->rank[r].sum[i].time : 0;
    if (assay_trace_top(data, ASSAY_SUM_HOST_OPERATORS, &top, 1, &count) != ASSAY_OK || count == 0 || all <= 0)
        return;
    assay_put_format(out, ": no trace has activity of a GPU; of the time of operators on CPUs %.3g %% went to ",
                     100 * top.time[0] / all);
    put_name(top.name, out);
}

void report_put_traces(const assay_trial_outcome *trial, bool tested, assay_buf *out)
{
    const assay_trace_data *data = trial->info ? assay_trial_traces(trial->info) : NULL;
    if (data && tested)
        put_computation(data, out);
    else if (data)
        put_operators(data, out);
}
