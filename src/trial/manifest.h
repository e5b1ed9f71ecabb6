/* manifest.h - what the index of a trial says of its steps beside where records lie: names that belong to a step and
 * cannot be read, second names, decay rates of optimizers. Formats that know of such things add them as they read the
 * index. */
#pragma once

#include <assay/rule.h>

typedef struct assay_manifest {
    assay_claim *list;
    size_t count, room;
} assay_manifest;

/* Adds one. 0 or ASSAY_ENOMEM. */
int assay_manifest_add(assay_manifest *claims, const assay_claim *claim);
/* Appends the later ones, whose tensors get the numbers new_id[tensor] (NULL: they have them). 0 or ASSAY_ENOMEM. */
int assay_manifest_append(assay_manifest *claims, const assay_manifest *later, const uint32_t *new_id);
/* Do they promise a tensor that cannot be read, ASSAY_CLAIM_PROMISED? O(claims). */
bool assay_manifest_promise(const assay_manifest *claims, int64_t step, uint32_t worker, uint32_t tensor);
/* Their tensors get the numbers new_id[tensor]. */
void assay_manifest_renumber(assay_manifest *claims, const uint32_t *new_id);
/* Brings them into the order of (step, worker, kind, tensor, first). */
void assay_manifest_sort(assay_manifest *claims);
void assay_manifest_release(assay_manifest *claims);
/* Unpacks into an empty list. ASSAY_EFORMAT, also where a tensor is not below `tensors`; ASSAY_ENOMEM. */
void assay_manifest_pack(const assay_manifest *claims, assay_buf *out);
int assay_manifest_unpack(assay_cursor *in, uint64_t tensors, assay_manifest *claims);
