/* progress.c - every rank sends its count to rank 0 at each interval; rank 0 adds them up. */
#include "parallel/progress.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/activity.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"

struct assay_progress {
    assay_comm *comm;
    bool rewrite;
    double every, start, next;
    uint64_t total, done, unseen; /* unseen: added since the clock was looked at */
    uint64_t *of_rank;            /* rank 0: what each said last */
    int ended;                    /* rank 0: ranks that are done */
    bool wrote;
};

enum { LOOK_EVERY = 4 << 20 };

assay_progress *assay_progress_new(assay_comm *comm, double every, uint64_t total_bytes)
{
    assay_progress *p = assay_alloc_zeroed(1, sizeof *p);
    if (!p)
        return NULL;
    *p = (assay_progress){.comm = comm, .rewrite = every < 0, .every = every < 0 ? 0.5 : every, .total = total_bytes};
    p->of_rank = assay_alloc_zeroed((size_t)assay_comm_size(comm), sizeof *p->of_rank);
    if (!p->of_rank) {
        free(p);
        return NULL;
    }
    assay_activity_hold(every != 0);
    p->start = assay_clock_seconds();
    p->next = p->start + p->every;
    return p;
}

static void show(assay_progress *p, double time)
{
    uint64_t done = p->done;
    for (int r = 1; r < assay_comm_size(p->comm); r++)
        done += p->of_rank[r];
    done = done < p->total ? done : p->total; /* what is read once more does not count */
    double seconds = time - p->start, rate = seconds > 0 ? (double)done / seconds : 0;
    double left = rate > 0 && p->total > done ? (double)(p->total - done) / rate : 0;
    const bool small = p->total < 1000000000;
    const double unit = small ? 1e6 : 1e9;
    const char *name = small ? "MB" : "GB";
    char line[128];
    snprintf(line, sizeof line, "%.2f of %.2f %s read, %.2f %s/s, %.0f s left", (double)done / unit,
             (double)p->total / unit, name, rate / unit, name, left);
    if (p->rewrite)
        fprintf(stderr, "\rassay: %-51s", line); /* 59 columns: a terminal of 60 does not break it */
    else
        assay_log_note("%s", line);
    p->wrote = true;
}

static void take_pulses(assay_progress *p, bool wait)
{
    int from;
    uint64_t value;
    while (assay_comm_pulse_take(p->comm, wait, &from, &value) > 0) {
        p->of_rank[from] = value >> 1;
        p->ended += (int)(value & 1);
        if (wait)
            return;
    }
}

void assay_progress_add(assay_progress *p, uint64_t bytes)
{
    p->unseen += bytes;
    if (p->unseen >= LOOK_EVERY)
        assay_progress_look(p);
}

void assay_progress_look(assay_progress *p)
{
    if (p->every == 0)
        return;
    p->done += p->unseen;
    p->unseen = 0;
    double time = assay_clock_seconds();
    if (time < p->next)
        return;
    p->next = time + p->every;
    if (assay_comm_rank(p->comm) > 0) {
        assay_comm_pulse(p->comm, p->done << 1);
        return;
    }
    take_pulses(p, false);
    show(p, time);
}

void assay_progress_end(assay_progress *p)
{
    p->done += p->unseen;
    if (p->every > 0 && assay_comm_rank(p->comm) > 0)
        assay_comm_pulse(p->comm, p->done << 1 | 1);
    while (p->every > 0 && assay_comm_rank(p->comm) == 0 && p->ended < assay_comm_size(p->comm) - 1) {
        take_pulses(p, true);
        if (assay_clock_seconds() >= p->next) {
            p->next = assay_clock_seconds() + p->every;
            show(p, assay_clock_seconds());
        }
    }
    if (p->every != 0)
        assay_activity_hold(false);
    if (p->wrote && p->rewrite)
        fputc('\n', stderr);
    free(p->of_rank);
    free(p);
}
