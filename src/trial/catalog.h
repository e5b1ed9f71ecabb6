/* catalog.h - the names in a trial: what rank 0 lists and everyone gets. No index file is opened for it.
 *
 * Cost: one directory read an index bucket (1000 steps), one for events/, one collections file a worker. */
#ifndef ASSAY_TRIAL_CATALOG_H
#define ASSAY_TRIAL_CATALOG_H

#include "trial/collections.h"
#include "trial/names.h"
#include "trial/problem.h"
#include "trial/run_facts.h"
#include "trial/storage/storage.h"

enum { ASSAY_STEPS_A_BUCKET = 1000 };

typedef struct assay_unit { /* what one worker wrote at one step */
    int64_t step;
    uint32_t worker; /* into assay_catalog.workers */
    uint32_t place;  /* where its index lies, as the format counts */
} assay_unit;

typedef struct assay_catalog {
    assay_unit *units; /* sorted by (step, worker); a (step, worker) occurs once: doubles are problems */
    size_t unit_count;
    char **worker_key;         /* worker names as in file names, natural order */
    char **worker;             /* as people read them, same order */
    uint32_t workers;          /* those that wrote an index or a collections file */
    uint32_t expected_workers; /* the larger of `workers` and _meta.num_workers */
    bool ended;                /* training_job_end.ts is there */
    assay_collections collections;
    assay_run_facts facts;
    assay_problems problems;
} assay_catalog;

/* Lists a trial. Fails (ASSAY_EFORMAT) for a directory that is no trial: neither index/ nor collections/ nor events/.
 * Everything less is a problem in the listing: foreign files, doubles, steps under events/ without any index file,
 * no step at all. Release with assay_catalog_release(). Not collective. */
int assay_catalog_read(assay_store *store, assay_catalog *out, assay_error *err);
void assay_catalog_release(assay_catalog *catalog);
void assay_catalog_pack(const assay_catalog *catalog, assay_buf *out);
int assay_catalog_unpack(assay_cursor *in, assay_catalog *out, assay_error *err);
/* Packs so many of a listing's files; unpack appends them to those of `listing`, whose workers they are. 0,
 * ASSAY_EFORMAT or ASSAY_ENOMEM. Not collective. */
void assay_units_pack(const assay_unit *files, size_t count, assay_buf *out);
int assay_units_unpack(assay_cursor *in, assay_catalog *catalog);

/* The path of an index file, and of the event file that belongs to a step of a worker unless the index says otherwise.
 * Both write at most `room` bytes with a terminator and return the length that was needed. */
int assay_index_path(const assay_catalog *catalog, const assay_unit *name, char *out, size_t room);
int assay_event_path(const assay_catalog *catalog, int64_t step, uint32_t worker, char *out, size_t room);

#endif
