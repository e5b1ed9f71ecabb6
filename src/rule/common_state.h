/* common_state.h - the parts of the common state that rules do not see: creating, joining and packing them. */
#pragma once

#include <assay/rule.h>

/* The memory that a row takes. */
size_t assay_series_row_bytes(uint32_t width);
/* The memory that its rows take, each once. */
uint64_t assay_series_bytes(const assay_series *series);
/* Appends the rows of `later`, which both may hold from then on; nothing is to be added to `later` any more. 0 or
 * ASSAY_ENOMEM. */
int assay_series_append(assay_series *earlier, const assay_series *later);
/* Puts all rows into one array: without that a row is found by going through what was appended. 0 or ASSAY_ENOMEM. */
int assay_series_settle(assay_series *series);
void assay_series_pack(const assay_series *series, assay_buf *out);
/* ASSAY_EFORMAT when the width is another, steps go down, or bytes are missing. */
int assay_series_unpack(assay_cursor *in, uint32_t width, assay_series **out, assay_error *err);

/* Do its pairs, each once, take no more than so many bytes? */
bool assay_counter_fits(const assay_counter *counter, uint64_t bytes);
/* Adds the counts of `later`. 0 or ASSAY_ENOMEM. */
int assay_counter_join(assay_counter *earlier, const assay_counter *later);
/* As bytes for other ranks; the pairs in order, so that equal counters give equal bytes. */
void assay_counter_pack(const assay_counter *counter, assay_buf *out);
/* ASSAY_EFORMAT when pairs are out of order, a count is 0, or bytes are missing. */
int assay_counter_unpack(assay_cursor *in, assay_counter **out, assay_error *err);

/* Empty; free with assay_onsets_free(). NULL without memory. */
assay_onsets *assay_onsets_new(void);
void assay_onsets_free(assay_onsets *onsets);
/* The memory that one takes of a tensor that was never bad. */
size_t assay_onsets_bytes_each(void);
/* Joins those of later steps. 0 or ASSAY_ENOMEM. */
int assay_onsets_join(assay_onsets *earlier, const assay_onsets *later);
void assay_onsets_pack(const assay_onsets *onsets, assay_buf *out);
/* ASSAY_EFORMAT when they are out of order, contradict themselves, or bytes are missing. */
int assay_onsets_unpack(assay_cursor *in, assay_onsets **out, assay_error *err);

/* True for rules that set ASSAY_COMMON_STATE: their states are assay_common_state. A rule of one's own process has another
 * state_new here and there, but what assay_common_free() frees is a common state, whoever made it. */
static inline bool assay_rule_has_common_state(const assay_rule_ops *ops)
{
    return ops->state_free == assay_common_free;
}

/* ASSAY_EBUDGET when the state has outgrown what the rule may keep (most_pairs, most_rows). A joined state is never
 * smaller than those it is made of: whether a trial's states fail so does not depend on how they are joined. */
int assay_common_check(const assay_rule *rule, const void *state, assay_error *err);

/* assay_common_new() and assay_common_unpack() for a rule whose rows differ in width from one configuration to
 * another. */
void *assay_common_new_wide(const assay_rule *rule, uint32_t series_width);
int assay_common_unpack_wide(const assay_rule *rule, uint32_t series_width, assay_cursor *in, void **state,
                             assay_error *err);
