/* relations.h - what the workers of a trial are to each other, tensor by tensor, as a topology says: who has copies of
 * the same, whose data differ by design, who together have the tensor. Tensors of one kind share a class. */
#pragma once

#include "mesh/layout.h"

typedef struct assay_relation_class {
    bool split;                    /* several workers have pieces of it, which are put together */
    bool sum;                      /* workers have addends of it */
    bool unknown;                  /* of an axis along which several workers have it nothing is known */
    bool single;                   /* several workers have one copy between them, and there is no other */
    uint32_t mesh;                 /* of the topology */
    uint8_t kind[ASSAY_MESH_AXES]; /* assay_axis_kind of each of its axes */
    uint32_t *replicas;            /* [workers] the lowest of those that have copies of what each has; owned */
    uint32_t *peers;               /* [workers] the lowest of those that have copies, or may have; owned */
    uint32_t *relatives; /* [workers] the lowest of those whose data differ from each one's by design; owned */
    uint32_t *copy;      /* [workers] the lowest of those that have pieces of one copy; owned */
} assay_relation_class;

typedef struct assay_relations {
    uint32_t workers, tensors;
    uint32_t *class_of; /* [tensors] */
    assay_relation_class *list;
    uint32_t count;
    uint32_t *group; /* [workers] the lowest of those that differ along the first mesh's innermost axis alone; owned */
} assay_relations;

/* `names` has the tensors by their ids, all of which are in the layouts. 0 or ASSAY_ENOMEM. */
int assay_relations_new(const assay_topology *t, const assay_layouts *layouts, const assay_dict *names,
                        assay_relations **out);
void assay_relations_free(assay_relations *relations); /* NULL is ignored */
static inline const assay_relation_class *assay_relation_of(const assay_relations *r, uint32_t tensor)
{
    return &r->list[r->class_of[tensor]];
}
/* NULL is carried, too. ASSAY_EFORMAT, also where there are not so many tensors and workers; ASSAY_ENOMEM. */
void assay_relations_pack(const assay_relations *r, assay_buf *out);
int assay_relations_unpack(assay_cursor *in, uint32_t tensors, uint32_t workers, assay_relations **out);
