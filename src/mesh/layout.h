/* layout.h - what a topology makes of the tensors of a trial: names without the workers' own numbering, what each axis
 * means, which workers together have one copy, and which have copies of the same. */
#pragma once

#include "base/dict.h"
#include "mesh/topology.h"

enum { ASSAY_SEEN_NOWHERE = UINT32_MAX - 1, ASSAY_SEEN_OFTEN = UINT32_MAX };

/* Of one tensor. */
typedef struct assay_layout {
    uint32_t mesh;
    uint32_t rule[ASSAY_MESH_AXES]; /* 1 + number of the topology's rule; 0: nothing is said of the axis */
    uint32_t seen[ASSAY_MESH_AXES]; /* the one coordinate at which the tensor is; or NOWHERE, OFTEN */
} assay_layout;

/* Of all tensors of a trial, by their names. */
typedef struct assay_layouts {
    assay_dict *names; /* without the workers' numbering */
    assay_layout *list;
    size_t room;
    assay_dict *recorded; /* as workers have them */
    void *said;           /* of each of those: what entries say of it */
    size_t said_room;
} assay_layouts;

int assay_layouts_init(assay_layouts *layouts); /* 0 or ASSAY_ENOMEM */
void assay_layouts_release(assay_layouts *layouts);
/* The layout of a tensor that a worker has, by the name it has there; `name` (cleared first) gets the tensor's own.
 * Adds it when it is new, and notes where it was seen. Returns its number, or ASSAY_NO_ID with *status: ASSAY_ENOMEM;
 * ASSAY_EFORMAT: the numbers in the name cannot be counted on; err says why. */
uint32_t assay_layouts_meet(assay_layouts *layouts, const assay_topology *t, uint32_t worker, const char *recorded,
                            size_t length, assay_buf *name, int *status, assay_error *err);
/* What ranks know together: the earlier ranks' layouts count. For parallel/rank_reduce.h. */
void assay_layouts_pack(const assay_layouts *layouts, assay_buf *out);
int assay_layouts_join(assay_layouts *layouts, assay_cursor *later, const assay_topology *t);

/* What an axis of the mesh means for a tensor. */
assay_axis_kind assay_layout_kind(const assay_layout *layout, const assay_topology *t, uint32_t axis);
/* The rule of an axis, or NULL. */
const assay_axis_rule *assay_layout_rule(const assay_layout *layout, const assay_topology *t, uint32_t axis);
/* Has the tensor pieces that can be put together: an axis that splits it, and none that is unknown or a sum? */
bool assay_layout_is_split(const assay_layout *layout, const assay_topology *t);
/* Do workers agree on all axes of a layout but those of some kinds (bit 1 << assay_axis_kind)? */
bool assay_layout_agree(const assay_layout *layout, const assay_topology *t, uint32_t a, uint32_t b, unsigned kinds);
/* The part of a name that patterns look at: optimizer/P/KEY, optimizer/0.P/KEY, ema/P and gradient/P are P. Sets *from
 * and *length within `name`. */
void assay_parameter_of(const char *name, size_t length, size_t *from, size_t *parameter_length);
