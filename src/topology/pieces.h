/* pieces.h - a topology made of what workers say themselves: where they are, and which box of each tensor they have. */
#pragma once

#include <assay/tensor.h>

#include "base/dict.h"
#include "trial/problem.h"
#include "mesh/groups.h"
#include "mesh/topology.h"

enum { ASSAY_SAID_MESHES = 16, ASSAY_NO_PLACE = UINT32_MAX };

typedef struct assay_said_mesh {
    char *name; /* owned */
    uint32_t axes;
    struct {
        char *name; /* owned */
        uint32_t size;
    } axis[ASSAY_MESH_AXES];
    uint32_t *at; /* [workers][ASSAY_MESH_AXES], ASSAY_NO_PLACE: the worker did not say it; owned */
} assay_said_mesh;

/* Frees what it owns. */
void assay_said_mesh_release(assay_said_mesh *mesh);

/* What one worker has of a tensor. */
typedef struct assay_said_piece {
    uint32_t tensor, worker;
    int dims;
    bool partial;
    int64_t replica;
    size_t first; /* of 3 * dims numbers: shape, shape of the whole, offset */
} assay_said_piece;

typedef struct assay_said {
    char *const *worker; /* names, borrowed */
    uint32_t workers;
    uint32_t world; /* how many there should be, at least */
    uint32_t said;  /* how many said which pieces they have */
    assay_said_mesh mesh[ASSAY_SAID_MESHES];
    uint32_t meshes;
    assay_groups groups; /* of the workers' ranks, the last numbers in their names */
    assay_buf entries;   /* JSON entries for tensors, a comma behind each */
    uint32_t entry_count;
    bool mesh_alone; /* emit a topology even if only mesh coordinates are known */
    assay_dict *tensors;
    assay_said_piece *piece; /* in any order; owned */
    size_t pieces, piece_room;
    int64_t *number; /* owned */
    size_t numbers, number_room;
} assay_said;

int assay_said_init(assay_said *said, char *const *worker, uint32_t workers, uint32_t world); /* 0 or ASSAY_ENOMEM */
void assay_said_release(assay_said *said);
/* Adds a piece, whose numbers are copied: 3 * dims of them. 0, ASSAY_ENOMEM, or ASSAY_EBUDGET where
 * all pieces take more than assay_pickle_memory(). */
int assay_said_add_piece(assay_said *said, const assay_said_piece *piece, const char *tensor, size_t length,
                         const int64_t *number);

/* Appends a topology.json, or nothing where what was said does not tell one worker's part from another's; and to `why`
 * how it came about, a line each. Pieces of a tensor that overlap, leave a hole or are of different tensors become a
 * problem that names it. 0 or ASSAY_ENOMEM. */
int assay_said_put_topology(assay_said *said, assay_buf *out, assay_buf *why, assay_problems *problems);
