/* zero.h - parameters that ZeRO flattened and cut into a partition for each rank, while they are put together. Inside
 * this folder only.
 *
 * Parameters are in groups, and lie flattened behind one another. What is kept of a group ("fp32", "exp_avg") is one
 * flat tensor, of which every rank has a partition:
 *   stages 1 and 2   the flat tensor is cut into one stretch a rank
 *   stage 3          every parameter is: each rank has ceil(elements / ranks) of it, the last ones padding */
#pragma once

#include "format/checkpoint/contents.h"

typedef struct assay_zero assay_zero;

/* NULL without memory. */
assay_zero *assay_zero_new(assay_contents *c);
void assay_zero_free(assay_zero *z); /* NULL is ignored */

/* Adds a parameter behind those of its group; groups are added in order. 0, ASSAY_EFORMAT when its elements cannot be
 * counted, ASSAY_ENOMEM. */
int assay_zero_add_parameter(assay_zero *z, uint32_t group, const char *name, size_t length, const int64_t *shape,
                             int dims);
uint32_t assay_zero_parameters(const assay_zero *z);

/* What one rank has of a group. */
typedef struct assay_zero_part {
    uint32_t rank, group;
} assay_zero_part;
/* Adds a tensor that is such a part under a key. One without dimensions is every parameter's of the group. Ranks are
 * added in order. 0 or ASSAY_ENOMEM. */
int assay_zero_add_flat(assay_zero *z, assay_zero_part of, const char *key, size_t key_length,
                        const assay_ckpt_place *place, const assay_ckpt_stretch *at);
/* A group of stage 3 may have fewer partitions than there are ranks. 0 or ASSAY_ENOMEM. */
int assay_zero_set_partitions(assay_zero *z, uint32_t group, uint32_t partitions);

typedef enum assay_zero_cut {
    ASSAY_ZERO_BY_GROUP,    /* stages 1 and 2 */
    ASSAY_ZERO_BY_PARAMETER /* stage 3 */
} assay_zero_cut;
/* Promises (contents.h) what assay_zero_finish() would add. 0 or ASSAY_ENOMEM. */
int assay_zero_promise(assay_zero *z, bool masters);
/* Adds optimizer/NAME/KEY for all of them, of `ranks` partitions; fp32 is NAME itself where the model has nothing of
 * that name and `masters` says so. With key "" tensors are NAME, and padding is not looked at. Groups that do not fit
 * their parameters become problems of `path`, and are promised. 0 or ASSAY_ENOMEM. */
int assay_zero_finish(assay_zero *z, assay_zero_cut cut, uint32_t ranks, bool masters, const char *path);
