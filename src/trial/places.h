/* places.h - what tells that a trial has changed, for those who watch one while it is written. */
#ifndef ASSAY_TRIAL_PLACES_H
#define ASSAY_TRIAL_PLACES_H

#include "trial/index.h"

/* Is told of a file or directory, which need not be there. Whatever it returns but 0 ends the visit. */
typedef int assay_place_visit(void *context, const char *path);

/* True when all names in a directory of that name are files', by what formats know. */
bool assay_directory_holds_files(const char *directory);

/* Visits the places whose change means that the trial is to be listed again. */
int assay_trial_places(assay_store *store, assay_place_visit *visit, void *context);
/* Those whose change means that the index of a unit is to be read again. */
int assay_unit_places(assay_store *store, const assay_catalog *catalog, const assay_unit *unit,
                      assay_place_visit *visit, void *context);

/* Does the index of the part tell what belongs to it? Else a later unit may tell that nothing more will come to this
 * one (below), or only time. */
bool assay_part_is_promised(const assay_part *part);
/* Has the worker of the catalog's i-th unit a later one, where units are written one behind the other? Then this one is
 * whole, and stays as it is. */
bool assay_unit_is_behind(const assay_catalog *catalog, size_t i);
/* 1 when the part's files have all that its rows say, 0 when not yet, or ASSAY_ENOMEM. */
int assay_part_is_whole(assay_store *store, const assay_catalog *catalog, const assay_shard *shard,
                        const assay_part *part);

#endif
