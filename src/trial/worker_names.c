/* worker_names.c - see worker_names.h. */
#include "trial/worker_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"

int64_t assay_worker_number(const char *name)
{
    static const char prefix[] = "worker_";
    size_t length = strlen(name), head = sizeof prefix - 1;
    /* "worker_07" is a name of somebody's own: numbers have no zeros in front. */
    if (length <= head || length > head + 9 || memcmp(name, prefix, head) != 0 || (name[head] == '0' && name[head + 1]))
        return -1;
    int64_t number = 0;
    for (const char *at = name + head; *at; at++) {
        if (*at < '0' || *at > '9')
            return -1;
        number = number * 10 + (*at - '0');
    }
    return number;
}

int assay_worker_names_init(assay_worker_names *names, const assay_catalog *catalog)
{
    /* Names of workers that never wrote are made up: "worker_N" with the lowest numbers that nobody has. */
    uint32_t *taken = assay_alloc_zeroed(catalog->workers, sizeof *taken);
    ASSAY_HAVE(taken);
    *names = (assay_worker_names){.catalog = catalog, .taken = taken};
    for (uint32_t w = 0; w < catalog->workers; w++) {
        int64_t number = assay_worker_number(catalog->worker[w]);
        if (number >= 0)
            taken[names->taken_count++] = (uint32_t)number;
    }
    qsort(taken, names->taken_count, sizeof *taken, assay_order_u32);
    return ASSAY_OK;
}

void assay_worker_names_release(assay_worker_names *names)
{
    free(names->taken);
    *names = (assay_worker_names){0};
}

const char *assay_worker_name(const assay_worker_names *names, uint32_t worker, char room[ASSAY_WORKER_ROOM])
{
    if (worker < names->catalog->workers)
        return names->catalog->worker[worker];
    /* taken[i] - i numbers below taken[i] are free: each taken one at or below the answer pushes it up by one. */
    uint64_t free_rank = worker - names->catalog->workers;
    size_t low = 0;
    ASSAY_SEARCH(low, names->taken_count, names->taken[low] - low <= free_rank);
    snprintf(room, ASSAY_WORKER_ROOM, "worker_%" PRIu64, free_rank + low);
    return room;
}
