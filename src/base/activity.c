/* activity.c - see activity.h. */
#include "base/activity.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

#define FIRST_AFTER 1.5
#define EVERY       0.5

enum { COLUMNS = 59, LOOK_EVERY = 1 << 20 /* bytes */ };

static _Thread_local struct {
    bool on, shown;
    unsigned held;
    double start, next;
    uint64_t files, bytes, unseen; /* unseen: bytes since the clock was looked at */
} now;

void assay_activity_show(bool on)
{
    assay_activity_clear();
    now.on = on && isatty(STDERR_FILENO);
    now.files = now.bytes = now.unseen = 0;
    now.start = now.on ? assay_clock_seconds() : 0;
    now.next = now.start + FIRST_AFTER;
}

void assay_activity_hold(bool held)
{
    assay_activity_clear();
    now.held += held ? 1 : 0;
    now.held -= !held && now.held > 0 ? 1 : 0;
}

void assay_activity_clear(void)
{
    if (now.shown)
        fprintf(stderr, "\r%*s\r", COLUMNS, "");
    now.shown = false;
}

static void show(double time)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB"};
    char line[COLUMNS + 1];
    double size = (double)now.bytes / 1e3;
    unsigned unit = 0;
    for (; size >= 999.5 && unit < 4; unit++)
        size /= 1e3;
    snprintf(line, sizeof line, "assay: %" PRIu64 " files, %.3g %s read in %.0f s", now.files, size, units[unit],
             time - now.start);
    fprintf(stderr, "\r%-*s", COLUMNS, line);
    now.shown = true;
}

void assay_activity_add(uint64_t files, uint64_t bytes)
{
    if (!now.on)
        return;
    now.files += files;
    now.bytes += bytes;
    now.unseen += bytes;
    if (files == 0 && now.unseen < LOOK_EVERY)
        return;
    now.unseen = 0;
    const double time = assay_clock_seconds();
    if (now.held > 0 || time < now.next)
        return;
    now.next = time + EVERY;
    show(time);
}
