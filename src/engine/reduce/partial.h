/* partial.h - the partial results of one trial over some contiguous chunks: a state per rule, and the problems met. */
#pragma once

#include <assay/rule.h>

#include "trial/problem.h"

typedef struct assay_partial_rule {
    void *state;         /* NULL: nothing was mapped, which is neutral */
    int status;          /* the first failure in chunk order */
    char *error;         /* its text; owned */
    uint64_t unreadable; /* records that the rule needed and that could not be read */
} assay_partial_rule;

typedef struct assay_partial {
    assay_partial_rule *rule; /* [rules] */
    uint32_t rules;
    assay_problems problems;
    uint64_t unsummed;   /* bytes of values that no checksum covers */
    uint64_t not_finite; /* tensors of a step and worker that rules looked at and that have NaN or infinities */
} assay_partial;

/* `rules` are the trial's configured rules; a partial of the same trial always has the same. */
int assay_partial_init(assay_partial *partial, uint32_t rules);
void assay_partial_release(assay_partial *partial, const assay_rule *rules);
/* Marks a rule as failed unless it failed before. */
int assay_partial_fail(assay_partial *partial, uint32_t rule, int status, const char *error);
/* Marks a rule as failed when its state takes more than it may, and lets go of that. 0 or ASSAY_ENOMEM. */
int assay_partial_bound(assay_partial *partial, uint32_t rule, const assay_rule *rules);
/* Joins a later partial into an earlier one; a rule whose combine fails is marked. The later one's states are used up
 * one after the other, for two partials take as much as their sum: release it then, whatever happened. Returns 0 or
 * ASSAY_ENOMEM. */
int assay_partial_combine(assay_partial *earlier, assay_partial *later, const assay_rule *rules);
int assay_partial_pack(const assay_partial *partial, const assay_rule *rules, assay_buf *out);
/* Into an initialised partial without states. */
int assay_partial_unpack(assay_cursor *in, assay_partial *partial, const assay_rule *rules, assay_error *err);
