/* attach.h - finds the topology of a trial. */
#pragma once

#include "trial/catalog.h"
#include "mesh/topology.h"
#include "topology/group_files.h"

/* Sets catalog->topology of a listed trial, and places its workers: from `given`, a path or the JSON itself; else from
 * topology.json in the trial's root; else from what its formats know; else from the process groups in its dumps and
 * traces, which otherwise are held against what counts; else NULL. A topology says how many workers there should be,
 * unless groups tell it. `seen` (zeroed first, NULL: none) keeps groups from one call to the next, which reads their
 * files again where they are others; release it with assay_group_files_release(). ASSAY_EJOB: what is wrong in it, with
 * the place; ASSAY_ENOTFOUND, ASSAY_EIO: it cannot be read; ASSAY_ENOMEM. */
int assay_topology_attach(assay_store *store, const char *given, assay_group_files *seen, assay_catalog *catalog,
                          assay_error *err);
