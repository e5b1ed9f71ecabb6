/* relation.h - what the workers of a trial are to each other, tensor by tensor. */
#ifndef ASSAY_RELATION_H
#define ASSAY_RELATION_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct assay_trial assay_trial; /* assay/rule.h */

/* What workers are to each other, by the trial's topology (docs/topology.md). */
typedef struct assay_relation {
    bool known;        /* the trial has a topology; without one all workers are replicas of the first, of no own data */
    bool sum;          /* workers have addends of the tensor */
    bool unknown;      /* of an axis along which several workers have the tensor nothing is known */
    uint32_t replicas; /* the lowest of the workers that have copies of what this one has */
    uint32_t relatives; /* the lowest of those whose data differ from this one's by design alone */
    bool split;         /* several workers have pieces of the tensor, which are put together */
    uint32_t copy;      /* then: the lowest of those that have the pieces of one copy with this one */
} assay_relation;
assay_relation assay_trial_relation(const assay_trial *trial, uint32_t tensor, uint32_t worker);
/* The lowest of the workers to compare this one's copy with: its replicas, and those along axes of which nothing says
 * that they have copies but that they were equal once ("peers" of a topology). Without a topology the first of all. */
uint32_t assay_trial_peers(const assay_trial *trial, uint32_t tensor, uint32_t worker);
/* The lowest of the workers that differ from this one only along the innermost axis of the first mesh: they are the
 * closest to each other. Without a topology the first of all. */
uint32_t assay_trial_neighbours(const assay_trial *trial, uint32_t worker);
/* Whom findings name: ASSAY_ALL_WORKERS where the only copy of the tensor is several workers'. */
uint32_t assay_trial_copy_worker(const assay_trial *trial, uint32_t tensor, uint32_t worker);

#ifdef __cplusplus
}
#endif

#endif
