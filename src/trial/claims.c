/* claims.c - see claims.h. */
#include "trial/claims.h"

#include <stdlib.h>

#include "base/fault.h"

enum { PACKED = 8 + 4 + 4 + 4 + 4 + 2 * 8 };

int assay_claims_add(assay_claims *claims, const assay_claim *claim)
{
    if (claims->count == claims->room) {
        const size_t room = claims->room ? 2 * claims->room : 16;
        assay_claim *grown = assay_realloc_array(claims->list, room, sizeof *grown);
        if (!grown)
            return ASSAY_ENOMEM;
        claims->list = grown;
        claims->room = room;
    }
    claims->list[claims->count++] = *claim;
    return ASSAY_OK;
}

static void renumber(assay_claim *claim, const uint32_t *new_id)
{
    claim->tensor = claim->tensor == ASSAY_NO_TENSOR ? ASSAY_NO_TENSOR : new_id[claim->tensor];
    claim->first = claim->first == ASSAY_NO_TENSOR ? ASSAY_NO_TENSOR : new_id[claim->first];
}

void assay_claims_renumber(assay_claims *claims, const uint32_t *new_id)
{
    for (size_t i = 0; i < claims->count; i++)
        renumber(&claims->list[i], new_id);
}

int assay_claims_append(assay_claims *claims, const assay_claims *later, const uint32_t *new_id)
{
    int status = ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && i < later->count; i++) {
        assay_claim claim = later->list[i];
        if (new_id)
            renumber(&claim, new_id);
        status = assay_claims_add(claims, &claim);
    }
    return status;
}

static int compare(const void *a, const void *b)
{
    const assay_claim *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->worker != y->worker)
        return x->worker < y->worker ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->tensor != y->tensor)
        return x->tensor < y->tensor ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

bool assay_claims_promise(const assay_claims *claims, int64_t step, uint32_t worker, uint32_t tensor)
{
    for (size_t i = 0; i < claims->count; i++) {
        const assay_claim *claim = &claims->list[i];
        if (claim->step == step && claim->worker == worker && claim->tensor == tensor &&
            claim->kind == ASSAY_CLAIM_PROMISED)
            return true;
    }
    return false;
}

void assay_claims_sort(assay_claims *claims)
{
    if (claims->count > 0)
        qsort(claims->list, claims->count, sizeof *claims->list, compare);
}

void assay_claims_release(assay_claims *claims)
{
    free(claims->list);
    *claims = (assay_claims){0};
}

void assay_claims_pack(const assay_claims *claims, assay_buf *out)
{
    assay_put_u64(out, claims->count);
    for (size_t i = 0; i < claims->count; i++) {
        const assay_claim *claim = &claims->list[i];
        assay_put_i64(out, claim->step);
        assay_put_u32(out, claim->worker);
        assay_put_u32(out, claim->kind);
        assay_put_u32(out, claim->tensor);
        assay_put_u32(out, claim->first);
        assay_put_f64(out, claim->number[0]);
        assay_put_f64(out, claim->number[1]);
    }
}

int assay_claims_unpack(assay_cursor *in, uint64_t tensors, assay_claims *claims)
{
    const uint64_t count = assay_get_count(in, PACKED);
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i++) {
        assay_claim claim = {.step = assay_get_i64(in)};
        claim.worker = assay_get_u32(in);
        claim.kind = assay_get_u32(in);
        claim.tensor = assay_get_u32(in);
        claim.first = assay_get_u32(in);
        claim.number[0] = assay_get_f64(in);
        claim.number[1] = assay_get_f64(in);
        if ((claim.tensor != ASSAY_NO_TENSOR && claim.tensor >= tensors) ||
            (claim.first != ASSAY_NO_TENSOR && claim.first >= tensors))
            return ASSAY_EFORMAT;
        status = assay_claims_add(claims, &claim);
    }
    return in->failed ? ASSAY_EFORMAT : status;
}
