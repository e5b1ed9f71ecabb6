/* npy.h - what the files of this format share: trees of NumPy files (docs/format.md). Inside this folder only. */
#pragma once

#include "container/npy_head.h"
#include "trial/trial_format.h"

/* Directories below a worker's: deeper ones are named, and not looked into. Links may lead round. */
enum { ASSAY_NPY_DEEPEST = 16 };

/* The step in the name of a directory; false when it has none. */
bool assay_npy_step_name(const char *name, int64_t *step);
/* True for the name of a worker's directory. */
bool assay_npy_worker_name(const char *name);

/* npy.c */
extern const assay_trial_format assay_format_npy;

/* layout.c */
bool assay_npy_probe(const assay_names *top);
int assay_npy_list(assay_lister *lister);
int assay_npy_conclude(assay_lister *lister);
void assay_npy_remark(assay_catalog *catalog, const assay_unit *unit, const assay_unit *used);
/* The directory of the unit's step; NULL: there is no such place. */
const char *assay_npy_directory(const assay_catalog *catalog, const assay_unit *unit);
uint32_t assay_npy_place_of(const assay_catalog *catalog, const assay_unit *unit);
int assay_npy_index_path(const assay_catalog *catalog, const assay_unit *unit, char *out, size_t room);
int assay_npy_file_path(const assay_catalog *catalog, const assay_part *part, uint32_t file, char *out, size_t room);

/* The places of the trial as a whole: trial_format.h, places. */
int assay_npy_places(assay_store *store, assay_place_visit *visit, void *context);

/* index.c */
int assay_npy_unit_places(assay_store *store, const assay_catalog *catalog, const assay_unit *unit,
                          assay_place_visit *visit, void *context);
int assay_npy_index(assay_store *store, const assay_catalog *catalog, const assay_unit *units, size_t count,
                    const assay_index_sink *into);
