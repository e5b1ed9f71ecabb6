/* attach.h - finds the topology of a trial. */
#pragma once

#include "trial/catalog.h"
#include "mesh/topology.h"

/* Sets catalog->topology of a listed trial, and places its workers: from `given`, a path or the JSON itself; else from
 * topology.json in the trial's root; else from what its formats know; else NULL. A topology says how many workers there
 * should be. ASSAY_EJOB: what is wrong in it, with the place; ASSAY_ENOTFOUND, ASSAY_EIO: it cannot be read;
 * ASSAY_ENOMEM. */
int assay_topology_attach(assay_store *store, const char *given, assay_catalog *catalog, assay_error *err);
