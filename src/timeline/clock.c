/* clock.c - see clock.h. */
#include "timeline/clock.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"

typedef struct step_start {
    int64_t number, start;
} step_start;

ASSAY_ORDER_BY(compare_starts, step_start, number, start)

/* Finds the first of a worker's steps. */
static uint64_t first_step_of(const assay_timeline *line, uint32_t worker)
{
    uint64_t low = 0;
    ASSAY_SEARCH(low, line->steps, line->step[low].worker < worker);
    return low;
}

/* Finds the first start of each numbered step of a worker in a mode, by number. */
static uint64_t starts_of(const assay_timeline *line, uint32_t worker, uint32_t mode, step_start *out)
{
    uint64_t count = 0, kept = 0;
    bool ascending = true;
    for (uint64_t i = first_step_of(line, worker); i < line->steps && line->step[i].worker == worker; i++) {
        if (line->step[i].mode != mode || line->step[i].number < 0)
            continue;
        ascending = ascending && (count == 0 || out[count - 1].number < line->step[i].number);
        out[count++] = (step_start){line->step[i].number, line->step[i].start};
    }
    if (!ascending)
        qsort(out, (size_t)count, sizeof *out, compare_starts);
    for (uint64_t i = 0; i < count; i++)
        if (kept == 0 || out[kept - 1].number != out[i].number)
            out[kept++] = out[i];
    return kept;
}

/* Finds the lower median of the differences at common numbers; false: there is none. */
static bool compare_clocks(const step_start *a, uint64_t a_count, const step_start *b, uint64_t b_count,
                           int64_t *differences, int64_t *offset)
{
    uint64_t count = 0;
    for (uint64_t i = 0, k = 0; i < a_count && k < b_count;) {
        if (a[i].number == b[k].number)
            differences[count++] = b[k].start - a[i].start;
        const bool first = a[i].number <= b[k].number, second = b[k].number <= a[i].number;
        i += first;
        k += second;
    }
    if (count == 0)
        return false;
    assay_sort_integers(differences, (size_t)count);
    *offset = differences[(count - 1) / 2];
    return true;
}

static bool mode_number(const assay_timeline *line, const char *name, uint32_t *mode)
{
    for (*mode = 0; *mode < line->modes; ++*mode)
        if (strcmp(line->mode[*mode], name) == 0)
            return true;
    return false;
}

bool assay_clock_is_skewed(const assay_clock *clock)
{
    /* Microseconds. */
    enum { SKEWED = 1000000 };
    return clock->known && (clock->offset > SKEWED || clock->offset < -SKEWED);
}

/* All workers are held against the first one; the mode that both have decides, training before all. */
int assay_timeline_clocks(const assay_timeline *line, assay_clock *out)
{
    static const char *const modes[] = {"TRAIN", "GLOBAL", "EVAL", "PREDICT"};
    step_start *own = assay_alloc(line->steps * sizeof *own), *first = assay_alloc(line->steps * sizeof *first);
    int64_t *differences = assay_alloc(line->steps * sizeof *differences);
    const bool have = own && first && differences;
    const uint32_t yardstick = line->steps > 0 ? line->step[0].worker : 0;
    uint32_t mode = 0;
    for (uint32_t w = 0; have && w < line->workers; w++) {
        out[w] = (assay_clock){0};
        for (size_t m = 0; m < sizeof modes / sizeof *modes && !out[w].known && line->steps > 0; m++)
            out[w].known = mode_number(line, modes[m], &mode) &&
                           compare_clocks(first, starts_of(line, yardstick, mode, first), own,
                                          starts_of(line, w, mode, own), differences, &out[w].offset);
    }
    free(own);
    free(first);
    free(differences);
    return have ? ASSAY_OK : ASSAY_ENOMEM;
}
