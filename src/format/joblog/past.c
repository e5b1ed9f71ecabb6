/* past.c - what stands before an event: a time, and a step. */
#include <math.h>

#include "format/joblog/joblog.h"

enum { LINES_MOST = 400 };

/* The line that ends before `place`, at `lowest` or behind it; what it says is kept for events that ask again. */
static const joblog_past *past_before(const joblog_reader *r, size_t place, size_t lowest)
{
    size_t end = place;
    while (end > lowest && joblog_is_end(r->bytes[end - 1]))
        end--;
    const uint64_t at = r->base + end + 1;
    joblog_past *past = &r->past[at / JOBLOG_PAST_LEAST % JOBLOG_PASTS];
    if (past->end == at)
        return past;
    size_t begin = end;
    while (begin > lowest && !joblog_is_end(r->bytes[begin - 1]))
        begin--;
    const size_t from = end - begin > JOBLOG_LINE_MOST ? end - JOBLOG_LINE_MOST : begin;
    joblog_prefix prefix;
    const size_t length = joblog_clean(r->bytes + from, end - from, r->behind);
    joblog_prefix_of(r->behind, length, r->per_node, &prefix);
    *past = (joblog_past){.end = at,
                          .begin = r->base + begin,
                          .time = prefix.time,
                          .timed = prefix.timed,
                          .rank = prefix.rank,
                          .step = joblog_step_of(r->behind + prefix.length, length - prefix.length)};
    return past;
}

void joblog_look_back(const joblog_reader *r, size_t place, int64_t rank, assay_log_event *e)
{
    int64_t any_step = -1;
    bool any_time = e->timed != ASSAY_LOG_UNTIMED;
    double time = NAN;
    uint8_t timed = ASSAY_LOG_UNTIMED;
    const size_t lowest = place > JOBLOG_LOOK_BACK ? place - JOBLOG_LOOK_BACK : 0;
    for (int lines = 0; place > lowest && lines < LINES_MOST && (e->step < 0 || !any_time); lines++) {
        const joblog_past *past = past_before(r, place, lowest);
        const bool same = rank < 0 || past->rank == rank || !r->tracked;
        if (!any_time && past->timed != ASSAY_LOG_UNTIMED && (same || timed == ASSAY_LOG_UNTIMED)) {
            time = past->time;
            timed = past->timed;
            any_time = same;
        }
        if (e->step < 0 && past->step >= 0 && same)
            e->step = past->step;
        else if (e->step < 0 && past->step >= 0 && any_step < 0)
            any_step = past->step;
        place = past->begin > r->base + lowest ? (size_t)(past->begin - r->base) : lowest;
    }
    if (e->step < 0)
        e->step = any_step;
    if (e->timed == ASSAY_LOG_UNTIMED && timed != ASSAY_LOG_UNTIMED) {
        e->time = time;
        e->timed = timed;
        e->near = true;
    }
}
