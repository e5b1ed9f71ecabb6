/* claims.h - what the index of a trial says of its steps beside where records lie: names that belong to a step and
 * cannot be read, second names, decay rates of optimizers. Formats that know of such things add them as they read the
 * index. */
#ifndef ASSAY_TRIAL_CLAIMS_H
#define ASSAY_TRIAL_CLAIMS_H

#include <assay/rule.h>

typedef struct assay_claims {
    assay_claim *list;
    size_t count, room;
} assay_claims;

/* Adds one. 0 or ASSAY_ENOMEM. */
int assay_claims_add(assay_claims *claims, const assay_claim *claim);
/* Appends the later ones, whose tensors get the numbers new_id[tensor] (NULL: they have them). 0 or ASSAY_ENOMEM. */
int assay_claims_append(assay_claims *claims, const assay_claims *later, const uint32_t *new_id);
/* Do they promise a tensor that cannot be read, ASSAY_CLAIM_PROMISED? O(claims). */
bool assay_claims_promise(const assay_claims *claims, int64_t step, uint32_t worker, uint32_t tensor);
/* Their tensors get the numbers new_id[tensor]. */
void assay_claims_renumber(assay_claims *claims, const uint32_t *new_id);
/* Brings them into the order of (step, worker, kind, tensor, first). */
void assay_claims_sort(assay_claims *claims);
void assay_claims_release(assay_claims *claims);
/* Unpacks into an empty list. ASSAY_EFORMAT, also where a tensor is not below `tensors`; ASSAY_ENOMEM. */
void assay_claims_pack(const assay_claims *claims, assay_buf *out);
int assay_claims_unpack(assay_cursor *in, uint64_t tensors, assay_claims *claims);

#endif
