/* signals.c - the ranks' calls to each other between evaluations. A rank that waits in a collective call keeps its
 * processor busy, and a watch waits for most of its life: words are looked for now and then instead. */
#include <time.h>

#include "base/clock.h"
#include "parallel/interrupt.h"
#include "watch/watch_internal.h"

static void pause_for(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL); /* a signal ends it */
}

int assay_watch_tell(assay_watch *watch, assay_watch_call call)
{
    int status = ASSAY_OK, ranks = assay_comm_size(watch->comm);
    for (int r = 1; status == ASSAY_OK && r < ranks; r++)
        status = assay_comm_note(watch->comm, r, call);
    return status;
}

int assay_watch_hear(assay_watch *watch, assay_watch_call *call)
{
    static const double PAUSE = 0.02;
    for (;;) {
        uint64_t word = 0;
        int got = assay_comm_note_take(watch->comm, &word);
        if (got != 0) {
            *call = (assay_watch_call)word;
            return got < 0 ? got : ASSAY_OK;
        }
        if (assay_interrupt_wished() && !watch->said) {
            watch->said = true;
            watch->words++;
            ASSAY_TRY(assay_comm_note(watch->comm, 0, 1));
        }
        pause_for(PAUSE);
    }
}

/* Takes the words that came; on rank 0 each means a signal. */
static int take_words(assay_watch *watch, bool *any)
{
    for (;;) {
        uint64_t word = 0;
        int got = assay_comm_note_take(watch->comm, &word);
        if (got <= 0)
            return got;
        watch->words++;
        *any = true;
    }
}

int assay_watch_sleep(assay_watch *watch, double seconds, bool *signalled)
{
    const double slice = assay_comm_size(watch->comm) > 1 ? 0.1 : seconds, end = assay_clock_seconds() + seconds;
    for (;;) {
        int status = take_words(watch, signalled);
        *signalled = *signalled || assay_interrupt_wished();
        double left = end - assay_clock_seconds();
        if (status != ASSAY_OK || *signalled || left <= 0)
            return status;
        pause_for(left < slice ? left : slice);
    }
}

int assay_watch_close(assay_watch *watch)
{
    bool any = false, first = assay_comm_rank(watch->comm) == 0;
    uint64_t sent = first ? 0 : watch->words;
    int status = assay_comm_sum(watch->comm, &sent, 1);
    while (status == ASSAY_OK && first && watch->words < sent) {
        status = take_words(watch, &any);
        pause_for(0.001);
    }
    return status;
}
