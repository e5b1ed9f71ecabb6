/* common_state.c - the state that most rules use: findings, a series, a counter, onsets. */
#include "rule/common_state.h"

#include <stdlib.h>

#include "base/fault.h"
#include "rule/verdict.h"

void assay_common_free(void *state)
{
    assay_common_state *s = state;
    if (!s)
        return;
    assay_findings_free(s->findings);
    assay_series_free(s->series);
    assay_counter_free(s->counter);
    assay_onsets_free(s->onsets);
    free(s);
}

void *assay_common_new(const assay_rule *rule)
{
    return assay_common_new_wide(rule, rule->ops->series_width);
}

/* Rules whose rows have a width that only the job tells (expressions) pass their own. */
void *assay_common_new_wide(const assay_rule *rule, uint32_t series_width)
{
    assay_common_state *s = assay_alloc_zeroed(1, sizeof *s);
    if (!s)
        return NULL;
    s->findings = assay_findings_new(assay_rule_max_findings(rule));
    s->series = assay_series_new(series_width);
    s->counter = assay_counter_new();
    s->onsets = assay_onsets_new();
    if (!s->findings || !s->series || !s->counter || !s->onsets) {
        assay_common_free(s);
        return NULL;
    }
    /* Findings are in the trial's order of computation where it is known. */
    assay_findings_order_by(s->findings, rule->trial);
    return s;
}

int assay_common_combine(const assay_rule *rule, void *earlier, const void *later, assay_error *err)
{
    assay_common_state *a = earlier;
    const assay_common_state *b = later;
    int status = assay_findings_append(a->findings, b->findings);
    ASSAY_THEN(status, assay_series_append(a->series, b->series));
    ASSAY_THEN(status, assay_counter_join(a->counter, b->counter));
    ASSAY_THEN(status, assay_onsets_join(a->onsets, b->onsets));
    return status ? assay_fail(err, status, "%s: out of memory", rule->ops->name) : ASSAY_OK;
}

/* After each map() and combine(): what a state may hold is bounded by the job's --memory, the same on any number of
 * ranks, so the same rules fail everywhere. */
int assay_common_check(const assay_rule *rule, const void *state, assay_error *err)
{
    const assay_common_state *s = state;
    const double mebi = 1 << 20;
    const bool many = rule->most_pairs > 0 && !assay_counter_fits(s->counter, rule->most_pairs);
    if (!many && (rule->most_rows == 0 || assay_series_bytes(s->series) <= rule->most_rows))
        return ASSAY_OK;
    return assay_fail(err, ASSAY_EBUDGET,
                      "too many different %s: they take more than the %.1f MiB that --memory leaves for them; do its "
                      "tensors hold classes? select others, or give more --memory",
                      many ? "numbers or pairs of them to count" : "rows to keep",
                      (double)(many ? rule->most_pairs : rule->most_rows) / mebi);
}

int assay_common_pack(const assay_rule *rule, const void *state, assay_buf *out)
{
    const assay_common_state *s = state;
    assay_findings_pack(s->findings, out);
    assay_series_pack(s->series, out);
    assay_counter_pack(s->counter, out);
    assay_onsets_pack(s->onsets, out);
    return assay_buf_status(out);
}

int assay_common_unpack(const assay_rule *rule, assay_cursor *in, void **state, assay_error *err)
{
    return assay_common_unpack_wide(rule, rule->ops->series_width, in, state, err);
}

/* States of other ranks and of restart files come in here; each part checks its own bytes. */
int assay_common_unpack_wide(const assay_rule *rule, uint32_t series_width, assay_cursor *in, void **state,
                             assay_error *err)
{
    assay_common_state *s = assay_alloc_zeroed(1, sizeof *s);
    if (!s)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    int status = assay_findings_unpack(in, assay_rule_max_findings(rule), rule->trial, &s->findings, err);
    ASSAY_THEN(status, assay_series_unpack(in, series_width, &s->series, err));
    ASSAY_THEN(status, assay_counter_unpack(in, &s->counter, err));
    ASSAY_THEN(status, assay_onsets_unpack(in, &s->onsets, err));
    if (status == ASSAY_OK && assay_cursor_bad(in))
        status = assay_fail(err, ASSAY_EFORMAT, "%s: its packed state has bytes left over", rule->ops->name);
    if (status) {
        assay_common_free(s);
        return status;
    }
    *state = s;
    return ASSAY_OK;
}
