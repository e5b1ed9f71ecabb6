/* profile_steps.c - durations of steps and of loaders, and how far the clocks of workers are apart. */
#include <math.h>
#include <stdlib.h>

#include "base/fault.h"
#include "report/model/profile.h"
#include "timeline/clock.h"

static const double OUTLIERS = 3; /* standard deviations */

static void fill_histogram(profile_histogram *h, const double *ascending, uint64_t n)
{
    if (n == 0)
        return;
    h->low = (int64_t)ascending[0];
    h->high = (int64_t)ascending[n - 1];
    for (uint64_t i = 0; i < n; i++) {
        const int64_t d = (int64_t)ascending[i];
        /* 128 bits: durations may span years in microseconds, times 100. */
        const int64_t bin = h->high > h->low ? (int64_t)((__int128)100 * (d - h->low) / (h->high - h->low)) : 0;
        h->count[bin < PROFILE_BINS ? bin : PROFILE_BINS - 1]++;
    }
}

/* Describes the steps of one worker and mode: `count` durations below 2^53, which doubles have exactly. Sums are
 * exact, so the deviation of long steps that hardly differ is too. */
static void describe_steps(profile *p, uint32_t worker, uint32_t mode, double *list, uint64_t count)
{
    unsigned __int128 sum = 0, squares = 0;
    for (uint64_t i = 0; i < count; i++) {
        sum += (uint64_t)list[i];
        squares += (unsigned __int128)(uint64_t)list[i] * (uint64_t)list[i];
    }
    profile_steps *row = &p->steps[p->step_rows++];
    *row = (profile_steps){.worker = worker, .mode = mode, .limited = count > PROFILE_OUTLIERS_FROM};
    row->spread = profile_spread_of(list, count, (double)sum / (double)count);
    row->deviation = sqrt((double)(count * squares - sum * sum)) / (double)count;
    row->limit = row->spread.mean + OUTLIERS * row->deviation;
    uint64_t within = count;
    /* Sorted by profile_spread_of(). */
    while (row->limited && within > 0 && list[within - 1] > row->limit)
        within--;
    row->outliers = count - within;
    fill_histogram(&row->histogram, list, within);
}

static void find_step_rows(profile *p)
{
    const assay_timeline *line = p->line;
    double *list = assay_alloc(line->steps * sizeof *list);
    p->steps = assay_alloc_zeroed((size_t)line->workers * line->modes, sizeof *p->steps);
    p->status = list && p->steps ? p->status : ASSAY_ENOMEM;
    for (uint64_t first = 0, end; p->status == ASSAY_OK && first < line->steps; first = end) {
        const uint32_t worker = line->step[first].worker;
        for (end = first; end < line->steps && line->step[end].worker == worker;)
            end++;
        for (uint32_t m = 0; m < line->modes; m++) {
            uint64_t count = 0;
            for (uint64_t i = first; i < end; i++)
                if (line->step[i].mode == m)
                    list[count++] = (double)line->step[i].duration;
            if (count > 0)
                describe_steps(p, worker, m, list, count);
        }
    }
    free(list);
}

/* ---- loaders ---- */

/* Several workers on a node share a row; the latest setting counts. */
static void find_loader_rows(profile *p)
{
    const assay_timeline *line = p->line;
    double *list = assay_alloc(line->loaders * sizeof *list);
    p->loaders = assay_alloc_zeroed(line->nodes, sizeof *p->loaders);
    p->status = list && p->loaders ? p->status : ASSAY_ENOMEM;
    for (uint32_t node = 0; node < line->nodes && p->status == ASSAY_OK; node++) {
        profile_loaders row = {.node = node, .pin_memory = -1, .num_workers = -1};
        uint64_t count = 0;
        bool set_up = false;
        for (uint64_t i = 0; i < line->loaders; i++)
            if (line->worker[line->loader[i].worker].node == node)
                list[count++] = (double)line->loader[i].duration;
        for (uint64_t i = 0; i < line->loader_starts; i++)
            if (line->worker[line->loader_start[i].worker].node == node) {
                row.pin_memory = line->loader_start[i].pin_memory;
                row.num_workers = line->loader_start[i].num_workers;
                set_up = true;
            }
        if (count == 0 && !set_up)
            continue;
        if (count > 0)
            row.spread = profile_spread_of(list, count, 0);
        fill_histogram(&row.histogram, list, count);
        p->loaders[p->loader_rows++] = row;
    }
    free(list);
}

/* ---- clocks ---- */

static void find_clocks(profile *p)
{
    const assay_timeline *line = p->line;
    assay_clock *list = assay_alloc_zeroed(line->workers, sizeof *list);
    p->clock = assay_alloc_zeroed(line->workers, sizeof *p->clock);
    p->status = list && p->clock ? assay_timeline_clocks(line, list) : ASSAY_ENOMEM;
    for (uint32_t w = 0; p->status == ASSAY_OK && w < line->workers; w++)
        p->clock[w] = (profile_clock){w, list[w].known, assay_clock_is_skewed(&list[w]), list[w].offset};
    free(list);
}

void profile_find_steps(profile *p)
{
    if (p->status == ASSAY_OK)
        find_step_rows(p);
    if (p->status == ASSAY_OK)
        find_loader_rows(p);
    if (p->status == ASSAY_OK)
        find_clocks(p);
}
