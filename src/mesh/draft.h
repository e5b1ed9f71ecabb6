/* draft.h - writes a topology.json: of what is known of a trial, and what kinds of trainings have in common. */
#pragma once

#include "mesh/topology.h"

typedef struct assay_topology_draft { /* all borrowed */
    const char *mesh;                 /* its name */
    struct {
        const char *name;
        uint32_t size;
    } axis[ASSAY_MESH_AXES]; /* outermost first */
    uint32_t axes;
    const char *preset;     /* of assay_topology_presets(), or NULL: nothing is said of tensors */
    bool gated;             /* the first matrix of a feed-forward block is two, one behind the other */
    const uint64_t *before; /* [size of the axis pp] layers of the stages before; NULL: names count from the first */
    char *const *worker;    /* whose places are written down; NULL: they follow from their names */
    uint32_t workers;
    const uint32_t *at; /* [workers][axes] */
} assay_topology_draft;

/* Appends the JSON, which people may edit. The buffer remembers failures. */
void assay_topology_put_draft(const assay_topology_draft *draft, assay_buf *out);
/* Appends the entries of the draft's preset alone, each with a comma behind it; returns how many. */
uint32_t assay_topology_put_preset(const assay_topology_draft *draft, assay_buf *out);
/* Appends the JSON for workers of which nothing is known: one axis, and not a word on tensors. 0 or ASSAY_ENOMEM. */
int assay_topology_put_unknown(char *const *worker, uint32_t workers, assay_buf *out);
/* Is there such a preset? And their names, separated by commas. */
bool assay_topology_has_preset(const char *name);
const char *assay_topology_presets(void);
