/* groups.h - lays ranks out along axes by the groups in which they communicate: tensor, data, pipeline parallel and so
 * on, as their names say (docs/topology.md). */
#pragma once

#include "base/dict.h"
#include "mesh/topology.h"

enum {
    ASSAY_GROUPS_MOST = 1 << 20,     /* groups, and ranks in all of them a hundred times as many */
    ASSAY_GROUP_RANK_MOST = 1 << 20, /* a rank is below it */
    ASSAY_GROUP_AXIS_NAME = 32
};

typedef struct assay_group {
    char *name;     /* owned; what it is for: "TENSOR_MODEL_PARALLEL_GROUP" */
    uint32_t *rank; /* owned; in the order that they have in it */
    uint32_t ranks;
} assay_group;

typedef struct assay_groups {
    assay_group *list; /* no two are equal */
    size_t count, room;
    uint64_t ranks; /* of all */
    assay_dict *seen;
} assay_groups;

/* Where ranks are. */
typedef struct assay_rank_mesh {
    const char *name; /* "dense" or "expert" */
    struct {
        char name[ASSAY_GROUP_AXIS_NAME];
        uint32_t size;
    } axis[ASSAY_MESH_AXES]; /* outermost first */
    uint32_t axes;
    uint32_t *at; /* [ranks][ASSAY_MESH_AXES]; owned */
} assay_rank_mesh;

enum { ASSAY_RANK_MESHES = 2 };

typedef struct assay_rank_layout {
    uint32_t ranks; /* numbers from 0 */
    assay_rank_mesh mesh[ASSAY_RANK_MESHES];
    uint32_t meshes; /* 0: the groups do not tell */
    bool megatron;   /* the names are those of Megatron-LM */
} assay_rank_layout;

int assay_groups_init(assay_groups *groups); /* 0 or ASSAY_ENOMEM */
void assay_groups_release(assay_groups *groups);
/* Adds a group unless it is there. ASSAY_EFORMAT: a rank is out of range or there twice, or there are too many;
 * ASSAY_ENOMEM. */
int assay_groups_add(assay_groups *groups, const char *name, size_t length, const int64_t *rank, size_t ranks);
int assay_groups_add_all(assay_groups *groups, const assay_groups *from); /* 0 or ASSAY_ENOMEM */
/* Finds axes. What it makes of each kind of group, and why one is no axis, is appended to `why`, a line each. 0 or
 * ASSAY_ENOMEM; release with assay_rank_layout_release(). */
int assay_groups_lay_out(const assay_groups *groups, assay_rank_layout *out, assay_buf *why);
void assay_rank_layout_release(assay_rank_layout *layout);
