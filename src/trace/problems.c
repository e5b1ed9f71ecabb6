/* problems.c - says what is wrong with trace files, and what is missing of them. */
#include <stdlib.h>

#include "trace/internal.h"
#include "trial/problem.h"

/* Puts "1, 2, 5 and 3 more". */
static void put_ranks(const int32_t *list, size_t count, assay_buf *out)
{
    enum { NAMED = 8 };
    for (size_t i = 0; i < count && i < NAMED; i++)
        assay_put_format(out, "%s%d", i ? ", " : "", (int)list[i]);
    if (count > NAMED)
        assay_put_format(out, " and %zu more", count - NAMED);
}

static void name_missing(const assay_trace_data *data, assay_problems *problems)
{
    assay_buf ranks = ASSAY_BUF(4096);
    put_ranks(data->no_file, data->no_files, &ranks);
    assay_put_u8(&ranks, 0);
    assay_problems_add(
        problems, ASSAY_PROBLEM_EVENTS_LEFT, -1, "", -1,
        "no trace of rank%s %s, which %s in groups of the others: operations of those groups are compared "
        "without %s",
        assay_plural(data->no_files), assay_buf_status(&ranks) == ASSAY_OK ? (const char *)ranks.data : "",
        data->no_files == 1 ? "is" : "are", data->no_files == 1 ? "it" : "them");
    assay_buf_release(&ranks);
}

int assay_trace_name_problems(const assay_trace_data *data, const assay_event_files *files, assay_problems *problems)
{
    for (size_t i = 0; i < data->problems; i++) {
        const char *path = files->list[data->problem[i].file].path;
        const bool used = data->problem[i].used;
        assay_problems_add(problems, used ? ASSAY_PROBLEM_EVENTS_LEFT : ASSAY_PROBLEM_EVENTS, -1, path, -1, "%s: %s%s",
                           path, data->problem[i].text, used ? "" : "; nothing of it is used");
    }
    if (data->no_files > 0)
        name_missing(data, problems);
    for (size_t r = 0; r < data->ranks && data->steps > 0; r++)
        if (!data->rank[r].evaluated)
            assay_problems_add(
                problems, ASSAY_PROBLEM_EVENTS_LEFT, -1, "", -1,
                "rank %d was traced at steps %lld to %lld, which the others do not have: it is evaluated "
                "alone",
                (int)data->rank[r].rank, (long long)data->rank[r].first_step, (long long)data->rank[r].last_step);
    if (data->without_time > 0)
        assay_problems_add(problems, ASSAY_PROBLEM_EVENTS, -1, "", -1,
                           "%llu event%s of traces without a time that can be used",
                           (unsigned long long)data->without_time, assay_plural(data->without_time));
    if (data->too_large > 0)
        assay_problems_add(problems, ASSAY_PROBLEM_EVENTS, -1, "", -1,
                           "%llu event%s of traces with more than 1 MiB, passed over",
                           (unsigned long long)data->too_large, assay_plural(data->too_large));
    return problems->status;
}
