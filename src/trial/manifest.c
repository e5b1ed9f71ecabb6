/* manifest.c - see manifest.h. */
#include "trial/manifest.h"

#include <stdlib.h>

#include "base/fields.h"
#include "base/search.h"
#include "base/vec.h"

int assay_manifest_add(assay_manifest *claims, const assay_claim *claim)
{
    ASSAY_HAVE(assay_vec_reserve(&claims->list, &claims->room, claims->count + 1, sizeof *claims->list));
    claims->list[claims->count++] = *claim;
    return ASSAY_OK;
}

static void renumber(assay_claim *claim, const uint32_t *new_id)
{
    claim->tensor = claim->tensor == ASSAY_NO_TENSOR ? ASSAY_NO_TENSOR : new_id[claim->tensor];
    claim->first = claim->first == ASSAY_NO_TENSOR ? ASSAY_NO_TENSOR : new_id[claim->first];
}

void assay_manifest_renumber(assay_manifest *claims, const uint32_t *new_id)
{
    for (size_t i = 0; i < claims->count; i++)
        renumber(&claims->list[i], new_id);
}

int assay_manifest_append(assay_manifest *claims, const assay_manifest *later, const uint32_t *new_id)
{
    int status = ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && i < later->count; i++) {
        assay_claim claim = later->list[i];
        if (new_id)
            renumber(&claim, new_id);
        status = assay_manifest_add(claims, &claim);
    }
    return status;
}

static int compare(const void *a, const void *b)
{
    const assay_claim *x = a, *y = b;
    const int orders[] = {ASSAY_ORDER(x->step, y->step), ASSAY_ORDER(x->worker, y->worker),
                          ASSAY_ORDER(x->kind, y->kind), ASSAY_ORDER(x->tensor, y->tensor)};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (orders[i])
            return orders[i];
    return ASSAY_ORDER(x->first, y->first);
}

/* Linear: asked for single tensors, for a message. */
bool assay_manifest_promise(const assay_manifest *claims, int64_t step, uint32_t worker, uint32_t tensor)
{
    for (size_t i = 0; i < claims->count; i++) {
        const assay_claim *claim = &claims->list[i];
        if (claim->step == step && claim->worker == worker && claim->tensor == tensor &&
            claim->kind == ASSAY_CLAIM_PROMISED)
            return true;
    }
    return false;
}

/* Claims of all ranks come in any order; sorted, messages are the same at any number of ranks. */
void assay_manifest_sort(assay_manifest *claims)
{
    if (claims->count > 0)
        qsort(claims->list, claims->count, sizeof *claims->list, compare);
}

void assay_manifest_release(assay_manifest *claims)
{
    free(claims->list);
    *claims = (assay_manifest){0};
}

static const assay_field claim_fields[] = {ASSAY_FIELD(assay_claim, step),
                                           ASSAY_FIELD(assay_claim, worker),
                                           ASSAY_FIELD(assay_claim, kind),
                                           ASSAY_FIELD(assay_claim, tensor),
                                           ASSAY_FIELD(assay_claim, first),
                                           ASSAY_FIELD_ARRAY(assay_claim, number),
                                           {0}};

void assay_manifest_pack(const assay_manifest *claims, assay_buf *out)
{
    assay_fields_pack_rows(claim_fields, claims->list, claims->count, sizeof *claims->list, out);
}

static bool is_tensor(uint32_t number, uint64_t tensors)
{
    return number == ASSAY_NO_TENSOR || number < tensors;
}

int assay_manifest_unpack(assay_cursor *in, uint64_t tensors, assay_manifest *claims)
{
    const uint64_t count = assay_get_count(in, assay_fields_least(claim_fields));
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i++) {
        assay_claim claim;
        if (assay_fields_unpack(claim_fields, in, &claim) != ASSAY_OK || !is_tensor(claim.tensor, tensors) ||
            !is_tensor(claim.first, tensors))
            return ASSAY_EFORMAT;
        status = assay_manifest_add(claims, &claim);
    }
    return in->failed ? ASSAY_EFORMAT : status;
}
