/* smdebug.h - what the files of this format share: trials as the recording library and the reference's hook write them
 * (docs/format.md). Inside this folder only. */
#pragma once

#include "trial/trial_format.h"

/* layout.c */
bool assay_smdebug_probe(const assay_names *top);
bool assay_smdebug_holds_files(const char *directory);
int assay_smdebug_list(assay_lister *lister);
int assay_smdebug_conclude(assay_lister *lister);
void assay_smdebug_remark(assay_catalog *catalog, const assay_unit *unit, const assay_unit *used);
uint32_t assay_smdebug_place_of(const assay_catalog *catalog, const assay_unit *unit);
int assay_smdebug_index_path(const assay_catalog *catalog, const assay_unit *unit, char *out, size_t room);
/* The event file of a step of a worker, unless its index says otherwise. */
int assay_smdebug_event_path(const assay_catalog *catalog, int64_t step, uint32_t worker, char *out, size_t room);
int assay_smdebug_trees(int64_t step, assay_place_visit *visit, void *context);
int assay_smdebug_places(assay_store *store, assay_place_visit *visit, void *context);
int assay_smdebug_unit_places(assay_store *store, const assay_catalog *catalog, const assay_unit *unit,
                              assay_place_visit *visit, void *context);

/* Does a JSON file of a worker ("run/worker_0.json") say that it is another's? `said`: its member "worker", or NULL. */
bool assay_smdebug_is_anothers(const char *file, const char *said);

/* index.c */
int assay_smdebug_index(assay_store *store, const assay_catalog *catalog, const assay_unit *units, size_t count,
                        const assay_index_sink *into);
/* Parses one index file and appends its part (parts must be added in order). Names are in order of
 * occurrence; `shape_payload` keeps shapes of tensors. A file that cannot be used becomes a problem and gives no part;
 * a single bad entry (negative, huge, overflowing range; no name) becomes a problem and the others count. Of a tensor
 * listed twice the last entry counts, which a remark says. event_file_name may not leave the trial. Returns 0 or
 * ASSAY_ENOMEM. */
int assay_smdebug_index_parse(const assay_catalog *catalog, const assay_unit *unit, const void *text, size_t size,
                              const assay_index_sink *into);
