/* places.h - the files and directories by which a watcher notices changes of a trial. */
#pragma once

#include "trial/index.h"

/* Gets the path of a file or directory, which need not exist. Any result other than 0 ends the visit. */
typedef int assay_place_visit(void *context, const char *path);

/* True when some format knows that a directory of that name holds files only. */
bool assay_directory_holds_files(const char *directory);

/* Visits the places whose change means: list the trial again. */
int assay_trial_places(assay_store *store, assay_place_visit *visit, void *context);
/* Visits the places whose change means: read the index of this unit again. */
int assay_unit_places(assay_store *store, const assay_catalog *catalog, const assay_unit *unit,
                      assay_place_visit *visit, void *context);

/* Visits the directories of the root in which a trial grows, and which are worth listing as a whole: with `step` < 0
 * the directory itself, else the path before which, in byte order, all belongs to earlier steps. */
int assay_trial_trees(int64_t step, assay_place_visit *visit, void *context);

/* Does the index of the part list everything that belongs to it? If not, the part is complete when a later unit exists
 * (below), or when nothing has changed for a while. */
bool assay_part_is_promised(const assay_part *part);
/* Has the worker of the catalog's i-th unit a later one, in a format that writes units one behind the other? Then this
 * unit is complete and will not change. */
bool assay_unit_is_behind(const assay_catalog *catalog, size_t i);
/* 1 when the part's files hold every record of its rows, 0 when not yet, or ASSAY_ENOMEM. */
int assay_part_is_whole(assay_store *store, const assay_catalog *catalog, const assay_shard *shard,
                        const assay_part *part);

/* Looks at the size of the file that `first`, the first of its entries in the part, lies in: names it in `problems` where
 * it is not there, cannot be looked at, or ends before a record that the index has. *size gets its bytes, 0 where it is
 * not there. 0 or ASSAY_ENOMEM. No file is opened. */
int assay_part_check_file(assay_store *store, const assay_catalog *catalog, const assay_shard *shard,
                          const assay_part *part, const assay_entry *first, assay_problems *problems, uint64_t *size);
/* The same of each file of the part; records that lie in no file have none. */
int assay_part_check_files(assay_store *store, const assay_catalog *catalog, const assay_shard *shard,
                           const assay_part *part, assay_problems *problems);
