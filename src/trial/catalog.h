/* catalog.h - what a trial holds: its workers, steps, end and collections. Rank 0 lists it and everyone gets it; no
 * index is read for it.
 *
 * A unit is what one worker wrote at one step. How units lie in the storage is their format's to know
 * (trial/format/format.h); nobody else asks for names of files but for messages. */
#ifndef ASSAY_TRIAL_CATALOG_H
#define ASSAY_TRIAL_CATALOG_H

#include "trial/collections.h"
#include "trial/names.h"
#include "trial/problem.h"
#include "trial/run_facts.h"
#include "trial/storage/storage.h"

enum { ASSAY_FORMATS_MOST = 8 };

typedef struct assay_unit { /* what one worker wrote at one step, in one format */
    int64_t step;
    uint32_t worker : 24; /* into assay_catalog.workers */
    uint32_t format : 8;  /* number in trial/format/formats.def */
    uint32_t place;       /* where its index lies, as the format counts */
} assay_unit;

typedef struct assay_catalog {
    assay_unit *units; /* sorted by (step, worker, format), each once: doubles are problems */
    size_t unit_count;
    assay_unit
        *strays; /* in the same order: those that do not lie where their format looks for them; nearly always none */
    size_t stray_count;
    uint8_t formats[ASSAY_FORMATS_MOST]; /* those below the trial's root, in the order of formats.def */
    uint32_t format_count;
    assay_dict *places[ASSAY_FORMATS_MOST]; /* by a format's number: what `place` of its units refers to, in names or
                                               any bytes, which every rank gets; NULL: nothing */
    char **worker_key;                      /* workers as the trial names them, natural order */
    char **worker;                          /* as people read them, same order */
    uint32_t workers;                       /* those that wrote something */
    uint32_t expected_workers;              /* the larger of `workers` and what the trial says */
    bool ended;                             /* the trial says that nothing more will come */
    assay_collections collections;
    assay_run_facts facts;
    assay_problems problems;
} assay_catalog;

/* Finds the formats of a trial and lists it. Fails (ASSAY_EFORMAT) for what is no trial in any format. Everything less
 * is a problem in the catalog: foreign files, doubles, no step at all. Release with assay_catalog_release(). */
int assay_catalog_read(assay_store *store, assay_catalog *out, assay_error *err);
void assay_catalog_release(assay_catalog *catalog);
void assay_catalog_pack(const assay_catalog *catalog, assay_buf *out);
int assay_catalog_unpack(assay_cursor *in, assay_catalog *out, assay_error *err);
/* Packs so many units; unpack appends them to those of `catalog`, whose workers they are. 0, ASSAY_EFORMAT or
 * ASSAY_ENOMEM. */
void assay_units_pack(const assay_unit *units, size_t count, assay_buf *out);
int assay_units_unpack(assay_cursor *in, assay_catalog *catalog);

/* The unit of a step and worker in the i-th of catalog->formats, whether the catalog still has its units or not. There
 * need not be anything where it says. O(log n). */
assay_unit assay_catalog_unit(const assay_catalog *catalog, int64_t step, uint32_t worker, uint32_t i);
/* The file that messages about a unit's index name. Returns the length that was needed; terminates. */
int assay_unit_path(const assay_catalog *catalog, const assay_unit *unit, char *out, size_t room);
/* The number of a worker by the name that people read; ASSAY_NO_ID when there is none. */
uint32_t assay_catalog_worker(const assay_catalog *catalog, const char *name);

#endif
