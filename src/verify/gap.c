/* gap.c - see gap.h. */
#include "verify/gap.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "mesh/topology.h"
#include "trial/trial_format.h"
#include "verify/judge.h"

/* The number that a worker's name ends in, behind letters; -1: it has none. */
static int64_t number_of(const char *name, size_t *length)
{
    size_t end = strlen(name);
    int64_t number = 0, scale = 1;
    *length = end;
    while (*length > 0 && assay_is_digit(name[*length - 1]) && end - *length < 9) {
        number += scale * (name[--*length] - '0');
        scale *= 10;
    }
    return *length == end || *length == 0 ? -1 : number;
}

/* The number that is missing among those of the workers; -1: none. */
static int64_t find_gap(const assay_catalog *catalog)
{
    int64_t most = -1, sum = 0;
    size_t length = 0, other = 0;
    if (catalog->workers < 2 || number_of(catalog->worker[0], &length) < 0)
        return -1;
    for (uint32_t w = 0; w < catalog->workers; w++) {
        const int64_t number = number_of(catalog->worker[w], &other);
        if (number < 0 || other != length || strncmp(catalog->worker[w], catalog->worker[0], length) != 0 ||
            memchr(catalog->worker[w], '0', length)) /* of several numbers this is one axis */
            return -1;
        most = number > most ? number : most;
        sum += number;
    }
    const int64_t missing = most * (most + 1) / 2 - sum;
    return most == (int64_t)catalog->workers && missing != 0 ? missing : -1; /* from 0 or from 1 on, without one */
}

/* Of the steps that are asked for MissingWorker says who is missing; where one worker is left at them, only others show
 * that it is not alone. */
static int name_lost(const assay_catalog *catalog, int64_t from, int64_t to, assay_problems *problems)
{
    int64_t *last = malloc((catalog->workers + 1) * sizeof *last); /* step of each worker elsewhere */
    int64_t step = -1;
    uint32_t only = UINT32_MAX;
    bool several = false;
    ASSAY_HAVE(last);
    for (uint32_t w = 0; w < catalog->workers; w++)
        last[w] = -1;
    for (size_t i = 0; i < catalog->unit_count; i++) {
        const assay_unit *unit = &catalog->units[i];
        if (!assay_format_of(unit->format)->checkpoints)
            continue;
        if (unit->step < from || unit->step >= to) {
            last[unit->worker] = unit->step;
            continue;
        }
        several = several || (only != UINT32_MAX && only != unit->worker);
        only = unit->worker;
        step = unit->step;
    }
    for (uint32_t w = 0; w < catalog->workers && !several && step >= 0; w++)
        if (w != only && last[w] >= 0)
            assay_problems_add(problems, ASSAY_PROBLEM_MISSING_SHARD, step, "", -1,
                               "%.200s is missing, which saved its part at other steps; wrote last at step %lld",
                               catalog->worker[w], (long long)last[w]);
    free(last);
    return ASSAY_OK;
}

int assay_verify_gap(const assay_trial_files *trial, int64_t from, int64_t to, assay_problems *problems)
{
    const assay_catalog *catalog = &trial->catalog;
    const int64_t missing = find_gap(catalog);
    for (size_t i = 0; missing >= 0 && i < catalog->unit_count; i++) {
        const assay_unit *unit = &catalog->units[i];
        if (assay_format_of(unit->format)->checkpoints && unit->step >= from && unit->step < to &&
            (i == 0 || catalog->units[i - 1].step != unit->step))
            assay_problems_add(problems, ASSAY_PROBLEM_MISSING_SHARD, unit->step, "", -1,
                               "rank %lld is missing: there are files of %u ranks, up to %.200s", (long long)missing,
                               (unsigned)catalog->workers, catalog->worker[catalog->workers - 1]);
    }
    const uint32_t world = catalog->topology ? catalog->topology->world : 0;
    if (catalog->workers == 1 && world > 1)
        for (size_t i = 0; i < catalog->unit_count; i++) {
            const assay_unit *unit = &catalog->units[i];
            if (assay_format_of(unit->format)->checkpoints && unit->step >= from && unit->step < to)
                assay_problems_add(problems, ASSAY_PROBLEM_MISSING_SHARD, unit->step, "", -1,
                                   "%u of %u ranks %s missing: %.200s says how many saved a part of it",
                                   (unsigned)world - 1, (unsigned)world, world == 2 ? "is" : "are", catalog->worker[0]);
        }
    return name_lost(catalog, from, to, problems);
}
