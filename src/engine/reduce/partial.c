/* partial.c - see partial.h. */
#include "engine/reduce/partial.h"

#include <stdlib.h>

#include "base/fault.h"
#include "rule/common_state.h"

int assay_partial_init(assay_partial *partial, uint32_t rules)
{
    *partial = (assay_partial){.rules = rules};
    assay_problems_init(&partial->problems);
    partial->rule = assay_alloc_zeroed(rules, sizeof *partial->rule);
    return partial->rule ? ASSAY_OK : ASSAY_ENOMEM;
}

void assay_partial_release(assay_partial *partial, const assay_rule *rules)
{
    for (uint32_t i = 0; partial->rule && i < partial->rules; i++) {
        if (partial->rule[i].state)
            rules[i].ops->state_free(partial->rule[i].state);
        free(partial->rule[i].error);
    }
    free(partial->rule);
    assay_problems_release(&partial->problems);
    *partial = (assay_partial){0};
}

int assay_partial_fail(assay_partial *partial, uint32_t rule, int status, const char *error)
{
    assay_partial_rule *r = &partial->rule[rule];
    if (r->status != ASSAY_OK)
        return ASSAY_OK;
    r->status = status;
    r->error = assay_copy_text(error);
    return r->error ? ASSAY_OK : ASSAY_ENOMEM;
}

int assay_partial_bound(assay_partial *partial, uint32_t rule, const assay_rule *rules)
{
    assay_partial_rule *r = &partial->rule[rule];
    assay_error err;
    err.text[0] = '\0';
    if (r->state && r->status == ASSAY_OK && assay_rule_has_common_state(rules[rule].ops)) {
        int status = assay_common_check(&rules[rule], r->state, &err);
        if (status != ASSAY_OK && assay_partial_fail(partial, rule, status, err.text) != ASSAY_OK)
            return ASSAY_ENOMEM;
    }
    if (r->state && r->status == ASSAY_EBUDGET) { /* nobody asks for it any more */
        rules[rule].ops->state_free(r->state);
        r->state = NULL;
    }
    return ASSAY_OK;
}

/* A combine needs both states: one that is missing is neutral, so the other is the result. */
static int combine_rule(assay_partial *earlier, assay_partial *later, uint32_t i, const assay_rule *rules)
{
    const assay_rule *rule = &rules[i];
    assay_partial_rule *a = &earlier->rule[i], *b = &later->rule[i];
    assay_error err = {""};
    int status = ASSAY_OK;
    a->unreadable += b->unreadable;
    if (b->state && a->state) {
        status = rule->ops->combine(rule, a->state, b->state, &err);
        rule->ops->state_free(b->state);
    } else if (b->state) {
        a->state = b->state;
    }
    b->state = NULL;
    if (status == ASSAY_ENOMEM)
        return status;
    if (status != ASSAY_OK && assay_partial_fail(earlier, i, status, err.text) != ASSAY_OK)
        return ASSAY_ENOMEM;
    if (b->status != ASSAY_OK && assay_partial_fail(earlier, i, b->status, b->error) != ASSAY_OK)
        return ASSAY_ENOMEM;
    return assay_partial_bound(earlier, i, rules);
}

int assay_partial_combine(assay_partial *earlier, assay_partial *later, const assay_rule *rules)
{
    int status = assay_problems_append(&earlier->problems, &later->problems);
    earlier->unsummed += later->unsummed;
    earlier->not_finite += later->not_finite;
    for (uint32_t i = 0; status == ASSAY_OK && i < earlier->rules; i++)
        status = combine_rule(earlier, later, i, rules);
    return status;
}

enum { HAS_STATE = 1, HAS_FAILED = 2 };

int assay_partial_pack(const assay_partial *partial, const assay_rule *rules, assay_buf *out)
{
    for (uint32_t i = 0; i < partial->rules; i++) {
        const assay_partial_rule *r = &partial->rule[i];
        assay_put_u8(out, (uint8_t)((r->state ? HAS_STATE : 0) | (r->status != ASSAY_OK ? HAS_FAILED : 0)));
        assay_put_u64(out, r->unreadable);
        if (r->status != ASSAY_OK) {
            assay_put_i64(out, r->status);
            assay_put_text(out, r->error);
        }
        if (!r->state)
            continue;
        size_t at = out->size;
        assay_put_u64(out, 0);
        ASSAY_TRY(rules[i].ops->pack(&rules[i], r->state, out));
        if (assay_buf_status(out) != ASSAY_OK)
            return assay_buf_status(out);
        assay_buf_set_u64(out, at, out->size - at - 8);
    }
    assay_problems_pack(&partial->problems, out);
    assay_put_u64(out, partial->unsummed);
    assay_put_u64(out, partial->not_finite);
    return assay_buf_status(out);
}

static int unpack_rule(assay_cursor *in, assay_partial_rule *r, const assay_rule *rule, assay_error *err)
{
    uint8_t has = assay_get_u8(in);
    r->unreadable = assay_get_u64(in);
    if (has & HAS_FAILED) {
        r->status = (int)assay_get_i64(in);
        r->error = assay_get_copy(in);
        ASSAY_HAVE(r->error);
    }
    if (!(has & HAS_STATE))
        return ASSAY_OK;
    uint64_t size = assay_get_u64(in);
    const uint8_t *bytes = size <= assay_cursor_left(in) ? assay_get_bytes(in, (size_t)size) : NULL;
    if (!bytes)
        return assay_fail(err, ASSAY_EFORMAT, "the packed state of rule %s is cut short", rule->ops->name);
    assay_cursor state = assay_cursor_over(bytes, (size_t)size);
    return rule->ops->unpack(rule, &state, &r->state, err);
}

int assay_partial_unpack(assay_cursor *in, assay_partial *partial, const assay_rule *rules, assay_error *err)
{
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < partial->rules; i++)
        status = unpack_rule(in, &partial->rule[i], &rules[i], err);
    ASSAY_THEN(status, assay_problems_unpack(in, &partial->problems, err));
    partial->unsummed = assay_get_u64(in);
    partial->not_finite = assay_get_u64(in);
    if (status == ASSAY_OK && in->failed)
        status = assay_fail(err, ASSAY_EFORMAT, "packed partial results are cut short");
    return status;
}
