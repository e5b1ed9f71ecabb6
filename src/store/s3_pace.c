/* s3_pace.c - see s3_pace.h. */
#include "store/s3_pace.h"

enum {
    /* FEWEST: one that is read and one that is on its way. */
    FEWEST = 2,
    MEASURED = 2, /* rounds that a measure takes: pieces that were asked for at once come at once */
    REST = 16,    /* rounds until more are tried again after a try in vain; twice as many after each one more */
    REST_MOST = 256
};
/* Twice the width is kept only where it brings a quarter more: less is within what a rate changes by itself. Who sleeps
 * less than half of the time is held up by work of its own, which more requests do not speed up. */
static const double WORTH_IT = 1.25, ASLEEP = 0.5;

static void set_width(s3_pace *pace, uint64_t width, double rate, uint64_t rest)
{
    *pace = (s3_pace){.width = width, .rate = rate, .rest = rest};
}

void s3_pace_start(s3_pace *pace)
{
    /* Rate 0: nothing was measured yet. */
    set_width(pace, FEWEST, 0, 0);
}

void s3_pace_break(s3_pace *pace)
{
    pace->count = 0;
}

void s3_pace_take(s3_pace *pace, double now, double slept, uint64_t most)
{
    /* A round is as many pieces as are under way, the one that is waited for included. Those of the first round were
     * asked for while fewer, or more, were. */
    const bool tries = pace->rate > 0;
    /* After a try in vain `rest` rounds pass before the next measure. */
    const uint64_t round = pace->width + 1, before = round * (!tries && pace->rest > 0 ? pace->rest : 1);
    pace->count++;
    if (pace->count == before) {
        pace->since = now;
        pace->slept = slept;
    }
    /* Two rounds: the first answers of a round come together, and would be measured as a burst. */
    if (pace->count < before + MEASURED * round)
        return;
    const double seconds = now - pace->since, rate = seconds > 0 ? (double)(MEASURED * round) / seconds : 0;
    const bool asleep = slept - pace->slept > ASLEEP * seconds;
    /* Twice as many brought too little: back, and a longer rest. */
    if (tries && rate < WORTH_IT * pace->rate)
        set_width(pace, pace->width / 2, 0,
                  pace->rest == 0          ? REST
                  : pace->rest < REST_MOST ? 2 * pace->rest
                                           : REST_MOST);
    else if (2 * pace->width <= most && rate > 0 && asleep)
        set_width(pace, 2 * pace->width, rate, tries ? 0 : pace->rest);
    else
        set_width(pace, pace->width, 0, tries ? 0 : pace->rest);
}
