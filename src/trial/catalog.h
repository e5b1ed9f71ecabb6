/* catalog.h - what a trial holds: its workers, steps, end and collections. Rank 0 lists it and everyone gets it; no
 * index is read for it.
 *
 * A unit is what one worker wrote at one step. Only its format knows where it lies (trial/trial_format.h); everyone
 * else asks for names of files only to put them into messages.
 *
 * In some formats training and evaluation have the same number: their units have a mode. In the others a number is one
 * step, and the index tells its mode. align.h gives every (number, mode) a step of its own. */
#pragma once

#include <assay/rule.h>

#include "trial/collections.h"
#include "trial/events.h"
#include "trial/log_facts.h"
#include "trial/names.h"
#include "trial/options.h"
#include "trial/problem.h"
#include "trial/run_facts.h"
#include "store/storage.h"

enum {
    ASSAY_FORMATS_MOST = 8,
    ASSAY_FORMAT_ASSEMBLED = ASSAY_FORMATS_MOST /* of parts whose records are put together of others: topology/form.h */
};

/* Numbers of the questions that assay_store_ask_root() is asked: of formats, of formats of events, and of a topology;
 * and that assay_store_ask_files() is: of files that may be dumps. */
enum {
    ASSAY_ASKS_FORMATS,
    ASSAY_ASKS_EVENTS = ASSAY_FORMATS_MOST,
    ASSAY_ASKS_DUMPS = ASSAY_STORE_QUESTIONS - 2,
    ASSAY_ASKS_TOPOLOGY
};

typedef struct assay_unit { /* what one worker wrote at one step, in one format */
    int64_t step;
    uint32_t worker : 24; /* into assay_catalog.workers */
    uint32_t format : 4;  /* number in format/formats.def */
    uint32_t mode : 4;    /* assay_mode of assay/rule.h; ASSAY_MODE_NONE: the number alone says which step it is */
    uint32_t place;       /* where its index lies, as the format counts */
} assay_unit;
_Static_assert(ASSAY_FORMATS_MOST <= 1 << 4 && ASSAY_MODES <= 1 << 4, "a unit has room for its format and mode");
/* By step, worker, format and mode: -1, 0 or 1. Where a unit lies makes no difference. */
int assay_unit_compare(const assay_unit *a, const assay_unit *b);

typedef struct assay_catalog {
    assay_unit *units; /* sorted by assay_unit_compare(), each once: doubles are problems */
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
    assay_log_facts log;
    const assay_trial_options *options; /* how the job wants the trial read; NULL: as usual; borrowed, and not packed */
    assay_event_files events;           /* what the trial recorded in time, beside its steps */
    struct assay_topology *topology; /* which worker has which piece (topology/topology.h); NULL: nobody says; owned */
    assay_problems problems;
} assay_catalog;

/* Adds the collections of trials that bring none; `of_log`: of a log of metrics. 0 or ASSAY_ENOMEM. */
int assay_collections_add_defaults(assay_collections *collections, bool of_log);

/* Finds the formats of a trial and lists it. Fails (ASSAY_EFORMAT) for what is no trial in any format. Everything less
 * is a problem in the catalog: foreign files, doubles, no step at all. `options` (NULL: none) are to stay as long as
 * the catalog. Release with assay_catalog_release(). */
int assay_catalog_read(assay_store *store, const assay_trial_options *options, assay_catalog *out, assay_error *err);
void assay_catalog_release(assay_catalog *catalog);
void assay_catalog_pack(const assay_catalog *catalog, assay_buf *out);
int assay_catalog_unpack(assay_cursor *in, assay_catalog *out, assay_error *err);
/* Packs so many units; unpack appends them to those of `catalog`, whose workers they are. 0, ASSAY_EFORMAT or
 * ASSAY_ENOMEM. */
void assay_units_pack(const assay_unit *units, size_t count, assay_buf *out);
int assay_units_unpack(assay_cursor *in, assay_catalog *catalog);

/* The unit of a step and worker in the i-th of catalog->formats, whether the catalog still has its units or not; `mode`
 * counts for formats whose units have one. There need not be anything where it says. O(log n). */
assay_unit assay_catalog_unit(const assay_catalog *catalog, int64_t step, int mode, uint32_t worker, uint32_t i);
/* Does a format of the trial not show what was written so far? Then it cannot be watched. */
bool assay_catalog_is_unwatched(const assay_catalog *catalog);
/* The file that messages about a unit's index name. Returns the length that was needed; terminates. */
int assay_unit_path(const assay_catalog *catalog, const assay_unit *unit, char *out, size_t room);
/* The number of a worker by the name that people read; ASSAY_NO_ID when there is none. */
uint32_t assay_catalog_worker(const assay_catalog *catalog, const char *name);
