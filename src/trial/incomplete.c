/* incomplete.c - see incomplete.h. */
#include "trial/incomplete.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"

/* `behind` and `writers` are facts of the whole trial, `present` of one step; writers[m] counts workers that ever
 * wrote in mode m. */
typedef struct roll { /* of one step */
    const assay_catalog *catalog;
    const assay_step_info *steps; /* all of the trial's, ascending */
    uint64_t step_count;
    uint64_t next;               /* of the steps, the one that is likely to be asked for */
    const uint8_t *worker_modes; /* NULL: not known */
    uint8_t *present;            /* [expected workers] */
    uint8_t *behind;             /* [expected workers] lacks a step of a mode that it writes in */
    uint32_t writers[ASSAY_MODES];
} roll;

static unsigned modes_of(const roll *r, uint32_t worker)
{
    return r->worker_modes && worker < r->catalog->workers ? r->worker_modes[worker] : 0;
}

static bool is_expected(const roll *r, uint32_t worker, int mode)
{
    unsigned modes = modes_of(r, worker);
    /* A worker that writes in some modes only is not missing in others: rank 0 alone often evaluates. Unless it fell
     * behind: then what it never wrote may be lost. */
    if (modes == 0 || mode <= ASSAY_MODE_NONE || mode >= ASSAY_MODES || modes >> mode & 1)
        return true;
    return r->behind[worker] && r->writers[mode] > 1;
}

static int mode_of(roll *r, int64_t step)
{
    uint64_t low = r->next; /* as a rule units and steps go on alike */
    if (low >= r->step_count || r->steps[low].step != step) {
        low = 0;
        ASSAY_SEARCH(low, r->step_count, r->steps[low].step < step);
    }
    r->next = low + 1;
    return low < r->step_count && r->steps[low].step == step ? r->steps[low].mode : ASSAY_MODE_NONE;
}

/* Marks who wrote the step of units[from]; returns where the next step's begin. */
static size_t call_roll(roll *r, size_t from, int *mode)
{
    const assay_unit *units = r->catalog->units;
    size_t next = from;
    *mode = mode_of(r, units[from].step);
    memset(r->present, 0, r->catalog->workers);
    for (; next < r->catalog->unit_count && units[next].step == units[from].step; next++)
        r->present[units[next].worker] = 1;
    return next;
}

static void find_those_behind(roll *r)
{
    int mode;
    for (uint32_t w = 0; w < r->catalog->workers; w++)
        for (int m = 0; m < ASSAY_MODES; m++)
            r->writers[m] += modes_of(r, w) >> m & 1;
    for (size_t i = 0; i < r->catalog->unit_count;) {
        i = call_roll(r, i, &mode);
        for (uint32_t w = 0; w < r->catalog->workers; w++)
            if (!r->present[w] && mode > ASSAY_MODE_NONE && modes_of(r, w) >> mode & 1)
                r->behind[w] = 1;
    }
}

/* Workers that never wrote anything have no number of the catalog: they come behind the known ones, named as far as
 * the format names them. */
static int note_missing(const roll *r, int64_t step, int mode, assay_incomplete **list, size_t *count, size_t *room)
{
    const uint32_t named = assay_named_workers(r->catalog);
    uint32_t missing = named - r->catalog->workers;
    for (uint32_t w = 0; w < r->catalog->workers; w++)
        missing += !r->present[w] && is_expected(r, w, mode);
    if (missing == 0)
        return ASSAY_OK;
    if (*count == *room) {
        *room = *room ? *room * 2 : 64;
        assay_incomplete *grown = assay_realloc_array(*list, *room, sizeof *grown);
        ASSAY_HAVE(grown);
        *list = grown;
    }
    assay_incomplete *entry = &(*list)[*count];
    *entry = (assay_incomplete){.step = step,
                                .missing = assay_alloc(missing * sizeof *entry->missing),
                                .unnamed = r->catalog->expected_workers - named};
    ASSAY_HAVE(entry->missing);
    for (uint32_t w = 0; w < named; w++)
        if (w >= r->catalog->workers || (!r->present[w] && is_expected(r, w, mode)))
            entry->missing[entry->missing_count++] = w;
    (*count)++;
    return ASSAY_OK;
}

/* Two passes over the units: the first finds who is behind, which the second needs for every step. */
int assay_incomplete_find(const assay_catalog *catalog, const assay_step_info *steps, uint64_t step_count,
                          const uint8_t *worker_modes, assay_incomplete **list, size_t *count)
{
    size_t room = 0;
    *list = NULL;
    *count = 0;
    if (catalog->workers == 1 && assay_named_workers(catalog) == 1 && catalog->expected_workers <= 1)
        return ASSAY_OK; /* it wrote all steps that are known */
    roll r = {.catalog = catalog,
              .steps = steps,
              .step_count = step_count,
              .worker_modes = worker_modes,
              .present = assay_alloc_zeroed(catalog->workers, 1),
              .behind = assay_alloc_zeroed(catalog->workers, 1)};
    int status = r.present && r.behind ? ASSAY_OK : ASSAY_ENOMEM;
    if (status == ASSAY_OK)
        find_those_behind(&r);
    for (size_t i = 0; status == ASSAY_OK && i < catalog->unit_count;) {
        int mode;
        int64_t step = catalog->units[i].step;
        i = call_roll(&r, i, &mode);
        status = note_missing(&r, step, mode, list, count, &room);
    }
    free(r.present);
    free(r.behind);
    return status;
}
