/* progress.c - every rank sends its counts to rank 0 at each interval; rank 0 adds them up. */
#include "parallel/progress.h"

#include <stdlib.h>

#include "base/activity.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"

typedef struct counts {
    uint64_t steps, bytes;
} counts;

struct assay_progress {
    assay_comm *comm;
    bool rewrite;
    double every, next;
    assay_activity_work work; /* its totals and its start */
    counts done;
    uint64_t unseen; /* bytes since the clock was looked at */
    counts *of_rank; /* rank 0: what each said last */
    int ended;       /* rank 0: ranks that are done */
};

/* LOOK_EVERY: bytes between two looks at the clock, so that counting costs nothing. */
enum { LOOK_EVERY = 4 << 20, COLUMNS = 127 };

assay_progress *assay_progress_new(assay_comm *comm, double every, uint64_t total_steps, uint64_t total_bytes)
{
    assay_progress *p = assay_alloc_zeroed(1, sizeof *p);
    if (!p)
        return NULL;
    *p = (assay_progress){.comm = comm,
                          .rewrite = every < 0,
                          .every = every < 0 ? 0.5 : every,
                          .work = {.all_steps = total_steps, .all_bytes = total_bytes}};
    p->of_rank = assay_alloc_zeroed((size_t)assay_comm_size(comm), sizeof *p->of_rank);
    if (!p->of_rank) {
        free(p);
        return NULL;
    }
    if (every > 0)
        assay_activity_hold(true);
    p->work.start = assay_clock_seconds();
    p->next = p->work.start + p->every;
    return p;
}

static void show(assay_progress *p, double time)
{
    p->work.steps = p->done.steps;
    p->work.bytes = p->done.bytes;
    for (int r = 1; r < assay_comm_size(p->comm); r++) {
        p->work.steps += p->of_rank[r].steps;
        p->work.bytes += p->of_rank[r].bytes;
    }
    if (p->rewrite) {
        assay_activity_tell(&p->work);
        return;
    }
    char line[COLUMNS + 1];
    assay_activity_put_work(&p->work, time, line, COLUMNS);
    assay_log_note("%s", line);
}

/* A pulse is one number: whether the rank ended, 23 bits of steps, and its bytes in units of 1 KiB. What does not fit
 * is cut: progress may be wrong by less than a KiB, results never depend on it. */
enum { STEPS_MOST = (1 << 23) - 1, STEPS_AT = 1, BYTES_AT = 24, UNIT = 10 };

static void send(const assay_progress *p, bool ended)
{
    const uint64_t steps = p->done.steps < STEPS_MOST ? p->done.steps : STEPS_MOST;
    const uint64_t value = p->done.bytes >> UNIT << BYTES_AT | steps << STEPS_AT | ended;
    /* 0 says nothing; an end is never 0. */
    if (value > 0)
        assay_comm_pulse(p->comm, value);
}

static void take_pulses(assay_progress *p, bool wait)
{
    int from;
    uint64_t value;
    while (assay_comm_pulse_take(p->comm, wait, &from, &value) > 0) {
        p->of_rank[from] = (counts){value >> STEPS_AT & STEPS_MOST, value >> BYTES_AT << UNIT};
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

void assay_progress_step(assay_progress *p)
{
    p->done.steps++;
    assay_progress_look(p);
}

void assay_progress_look(assay_progress *p)
{
    if (p->every == 0)
        return;
    p->done.bytes += p->unseen;
    p->unseen = 0;
    double time = assay_clock_seconds();
    if (time < p->next)
        return;
    p->next = time + p->every;
    if (assay_comm_rank(p->comm) > 0) {
        send(p, false);
        return;
    }
    take_pulses(p, false);
    show(p, time);
}

void assay_progress_drop(assay_progress *p)
{
    if (!p)
        return;
    if (p->every > 0 && !p->rewrite)
        assay_activity_hold(false);
    free(p->of_rank);
    free(p);
}

/* Rank 0 waits here until all others are done: its line goes on being right while it has nothing to do itself. */
void assay_progress_end(assay_progress *p)
{
    p->done.bytes += p->unseen;
    if (p->every > 0 && assay_comm_rank(p->comm) > 0)
        send(p, true);
    while (p->every > 0 && assay_comm_rank(p->comm) == 0 && p->ended < assay_comm_size(p->comm) - 1) {
        take_pulses(p, true);
        if (assay_clock_seconds() >= p->next) {
            p->next = assay_clock_seconds() + p->every;
            show(p, assay_clock_seconds());
        }
    }
    assay_activity_tell(NULL);
    assay_progress_drop(p);
}
