/* s3_pace.c - see s3_pace.h. */
#include "trial/storage/s3_pace.h"

enum {
    FEWEST = 8,
    MEASURED = 2, /* widths that a measure takes: fewer pieces come all at once, or not at all */
    REST = 16     /* widths until more are tried again */
};
static const double WORTH_IT = 1.25;

static void set_width(s3_pace *pace, uint64_t width, double rate, bool rest)
{
    *pace = (s3_pace){.width = width, .rate = rate, .rest = rest};
}

void s3_pace_start(s3_pace *pace)
{
    set_width(pace, FEWEST, 0, false);
}

void s3_pace_break(s3_pace *pace)
{
    pace->count = 0;
}

void s3_pace_take(s3_pace *pace, double now, uint64_t most)
{
    /* The first ones were asked for while fewer, or more, were under way. */
    const uint64_t before = pace->rest ? REST * pace->width : pace->width;
    pace->count++;
    if (pace->count == before)
        pace->since = now;
    if (pace->count < before + MEASURED * pace->width)
        return;
    const double seconds = now - pace->since, rate = seconds > 0 ? (double)(MEASURED * pace->width) / seconds : 0;
    if (pace->rate > 0 && rate < WORTH_IT * pace->rate) /* in vain */
        set_width(pace, pace->width / 2, 0, true);
    else if (2 * pace->width <= most && rate > 0)
        set_width(pace, 2 * pace->width, rate, false);
    else
        set_width(pace, pace->width, 0, true);
}
