/* worker_names.h - names for the workers that a trial expects, including those that never wrote. */
#pragma once

#include "trial/catalog.h"

typedef struct assay_worker_names {
    const assay_catalog *catalog; /* borrowed */
    uint32_t *taken;              /* the K of every known "worker_K", ascending; owned */
    size_t taken_count;
} assay_worker_names;

enum { ASSAY_WORKER_ROOM = 24 };

/* Returns 0 or ASSAY_ENOMEM. */
int assay_worker_names_init(assay_worker_names *names, const assay_catalog *catalog);
void assay_worker_names_release(assay_worker_names *names);
/* The name of a worker number below catalog->expected_workers: those behind the known ones are called "worker_K", K in
 * ascending order over the numbers that no known worker has. The text lies in the catalog or in `room`. */
const char *assay_worker_name(const assay_worker_names *names, uint32_t worker, char room[ASSAY_WORKER_ROOM]);
/* K of "worker_K", written without leading zeros; -1 for other names. */
int64_t assay_worker_number(const char *name);
