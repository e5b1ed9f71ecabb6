/* topology.h - which worker has which piece of a tensor: topology.json, schema assay-topology/1 (docs/topology.md).
 *
 * A mesh lays the workers out along axes: data, tensor, pipeline parallel and so on. An entry says of the tensors that
 * it matches what the workers along each axis have of them: copies, pieces, partial sums, or data of their own.
 *
 * Nothing here knows formats or rules. Layouts of tensors are in layout.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/pack.h>
#include <assay/status.h>

#include "base/regex.h"

enum {
    ASSAY_MESH_AXES = 8,            /* of a mesh, at most */
    ASSAY_TOPOLOGY_MOST = 16 << 20, /* bytes of the JSON */
    ASSAY_TOPOLOGY_MESHES_MOST = 1024,
    ASSAY_TOPOLOGY_LIST_MOST = 1 << 16 /* entries, workers, parts of a split */
};

typedef enum assay_axis_kind { /* what workers along an axis have of a tensor */
                               ASSAY_AXIS_UNSAID,
                               ASSAY_AXIS_REPLICATE, /* copies that must be equal */
                               ASSAY_AXIS_SPLIT,     /* pieces along a dimension */
                               ASSAY_AXIS_FLAT,      /* stretches of the flattened tensor */
                               ASSAY_AXIS_SUM,       /* addends */
                               ASSAY_AXIS_OWN,       /* data that differ by design */
                               ASSAY_AXIS_PEERS,     /* maybe copies: those that were equal once are */
                               ASSAY_AXIS_SOLE,      /* one of them has it: the axis plays no part */
                               ASSAY_AXIS_UNKNOWN    /* nobody says */
} assay_axis_kind;

/* What an entry says of one axis. */
typedef struct assay_axis_rule {
    uint8_t kind;   /* assay_axis_kind, UNSAID to PEERS */
    bool fractions; /* SPLIT: parts are shares of the local size, not numbers of elements */
    uint8_t depth;  /* SPLIT: which division it is, 0 the outermost */
    int dim;        /* SPLIT: negative: from the end */
    uint32_t parts; /* SPLIT: blocks, each of which is divided by itself; 0: one */
    double *part;   /* [parts], owned */
    int64_t numel;  /* FLAT: elements without padding; -1: not said */
} assay_axis_rule;

/* A number in a tensor's name that counts from the worker's own first one. */
typedef struct assay_renumbering {
    uint32_t group; /* of the entry's pattern */
    struct {
        bool list;
        uint32_t count; /* of `add` */
        int64_t *add;   /* owned; list: by the coordinate; else one number, times the coordinate */
    } axis[ASSAY_MESH_AXES];
} assay_renumbering;

typedef struct assay_topology_entry {
    assay_regex *match;
    uint32_t mesh;
    bool has_mesh;             /* it names one */
    bool next;                 /* the search goes on */
    uint32_t first_rule;       /* its rules are rule[first_rule + axis] */
    assay_renumbering *number; /* [numbers], owned */
    uint32_t numbers;
} assay_topology_entry;

typedef struct assay_mesh {
    char *name;
    uint32_t axes;
    struct {
        char *name;
        uint32_t size;
    } axis[ASSAY_MESH_AXES]; /* outermost first */
} assay_mesh;

/* A coordinate that the file gives a worker. */
typedef struct assay_given_coordinate {
    char *worker;
    uint32_t mesh, axis, at;
} assay_given_coordinate;

typedef struct assay_topology {
    char *text; /* the JSON, terminated */
    size_t size;
    bool derived; /* nobody gave it: it was made of what the trial's files and their names say */
    char *why;    /* how, a line each; NULL: not derived, or not known here; owned */
    assay_mesh *mesh;
    uint32_t meshes;
    uint32_t world;                /* places of each mesh */
    assay_given_coordinate *given; /* in the order of their workers */
    uint32_t givens;
    assay_topology_entry *entry;
    uint32_t entries;
    assay_axis_rule *rule; /* of all entries */
    uint32_t rules;
    uint32_t workers; /* after assay_topology_place() */
    uint32_t *place;  /* [workers][meshes][ASSAY_MESH_AXES] their coordinates, owned */
    uint64_t bytes;   /* that all of this takes, more or less; at most assay_pickle_memory() */
} assay_topology;

/* Reads the JSON. ASSAY_EJOB: `name` and the place in it, what is wrong and what to do. ASSAY_ENOMEM. Free with
 * assay_topology_free(). (parse.c) */
int assay_topology_parse(const char *name, const void *text, size_t size, assay_topology **out, assay_error *err);
void assay_topology_free(assay_topology *t); /* NULL is ignored */

/* Finds the coordinates of a trial's workers: what the file leaves out follows from the last number in the name, row
 * by row. ASSAY_EJOB where a worker has no place in a mesh, or two have one. */
int assay_topology_place(assay_topology *t, const char *name, char *const *worker, uint32_t workers, assay_error *err);

/* The number of an axis of that name; how many there are when there is none. */
uint32_t assay_mesh_axis(const assay_mesh *mesh, const char *name);
/* The last run of digits in a worker's name; UINT64_MAX: there is none, or it is too long. */
uint64_t assay_worker_rank(const char *name);
/* The coordinate of a worker. */
static inline uint32_t assay_topology_at(const assay_topology *t, uint32_t worker, uint32_t mesh, uint32_t axis)
{
    return t->place[((size_t)worker * t->meshes + mesh) * ASSAY_MESH_AXES + axis];
}

/* Does it say no more than who the workers are? */
static inline bool assay_topology_says_nothing(const assay_topology *t)
{
    return t->derived && t->entries == 0 && t->meshes == 1 && t->mesh[0].axes == 1;
}
/* Does another topology, of workers of these names, give one of their axes another size, or a worker another place on
 * it? Appends that as a clause, "the axis tp has 2 places by A, and 4 by B", where `mine` and `theirs` are A and B. */
bool assay_topology_differs(const assay_topology *t, const assay_topology *other, const char *mine, const char *theirs,
                            char *const *worker, assay_buf *out);

/* For the catalog's way between ranks: the JSON, and the topology again. NULL is carried, too. */
void assay_topology_pack(const assay_topology *t, assay_buf *out);
int assay_topology_unpack(assay_cursor *in, char *const *worker, uint32_t workers, assay_topology **out);
