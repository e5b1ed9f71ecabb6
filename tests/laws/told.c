/* told.c - see told.h. */
#include "told.h"

#include <stdlib.h>
#include <string.h>

#include "rule/params.h"
#include "rule/process_pack.h"
#include "rule/process_view.h"

typedef struct told {
    const world *w;
    assay_params *params;
    assay_need *need;
    void *data;
    assay_trial *trial, *other;
    assay_rule rule;
    void *state;
} told;

static bool tell_params(told *t)
{
    const assay_instance *instance = t->w->instance;
    assay_buf bytes;
    assay_buf_init(&bytes, SIZE_MAX);
    assay_params_pack(instance->params, &bytes);
    assay_cursor in = assay_cursor_over(bytes.data, bytes.size);
    bool known = assay_params_unpack(&in, instance->ops, &t->params) == ASSAY_OK && !assay_cursor_bad(&in);
    assay_buf_release(&bytes);
    t->need = known ? assay_need_new(t->params) : NULL;
    return t->need && instance->ops->setup(t->params, t->need, &t->data, NULL) == ASSAY_OK;
}

/* What it declared is what the instance has, also after a way as bytes. */
static bool same_needs(const told *t)
{
    assay_buf mine, theirs, again;
    assay_need *unpacked = assay_need_new(t->params);
    assay_buf_init(&mine, SIZE_MAX);
    assay_buf_init(&theirs, SIZE_MAX);
    assay_buf_init(&again, SIZE_MAX);
    assay_need_pack(t->w->instance->need, &mine);
    assay_need_pack(t->need, &theirs);
    assay_cursor in = assay_cursor_over(mine.data, mine.size);
    bool same = unpacked && assay_need_unpack(&in, unpacked, NULL) == ASSAY_OK;
    if (same)
        assay_need_pack(unpacked, &again);
    same = same && mine.size == theirs.size && memcmp(mine.data, theirs.data, mine.size) == 0;
    same = same && mine.size == again.size && memcmp(mine.data, again.data, mine.size) == 0;
    assay_need_free(unpacked);
    assay_buf_release(&mine);
    assay_buf_release(&theirs);
    assay_buf_release(&again);
    return same;
}

static assay_trial *tell_trial(const assay_trial *trial)
{
    assay_trial *made = NULL;
    assay_buf bytes;
    assay_buf_init(&bytes, SIZE_MAX);
    assay_trial_pack(trial, &bytes);
    assay_cursor in = assay_cursor_over(bytes.data, bytes.size);
    if (assay_trial_unpack(&in, &made, NULL) != ASSAY_OK)
        made = NULL;
    assay_buf_release(&bytes);
    return made;
}

static bool tell_steps(told *t)
{
    const assay_view_measures measures = {t->need->measures, t->need->measure_count};
    assay_view_lists lists = {0};
    bool ok = true;
    for (uint64_t i = 0; ok && i < t->w->view_count; i++) {
        assay_step_view view;
        size_t size = assay_view_put(&t->w->views[i], &measures, NULL, 0);
        uint8_t *bytes = malloc(size); /* just as much, so that reading past the end is found */
        ok = bytes && assay_view_put(&t->w->views[i], &measures, bytes, size) == size &&
             assay_view_get(bytes, t->trial, &measures, &lists, &view) == ASSAY_OK &&
             t->rule.ops->map(&t->rule, t->state, &view, NULL) == ASSAY_OK;
        free(bytes);
    }
    assay_view_lists_release(&lists);
    return ok;
}

static bool tell_verdict(const told *t, assay_verdict *said)
{
    assay_verdict verdict;
    assay_buf bytes;
    assay_buf_init(&bytes, SIZE_MAX);
    bool ok = assay_verdict_init(&verdict, assay_rule_max_findings(&t->rule)) == ASSAY_OK &&
              assay_verdict_reach(&t->rule, t->state, &verdict) == ASSAY_OK;
    if (ok)
        assay_verdict_pack(&verdict, &bytes);
    assay_cursor in = assay_cursor_over(bytes.data, bytes.size);
    assay_findings_order_by(said->findings, t->w->rule.trial);
    ok = ok && assay_verdict_unpack(&in, &t->w->rule, said, NULL) == ASSAY_OK && !assay_cursor_bad(&in);
    said->status = verdict.status;
    assay_verdict_release(&verdict);
    assay_buf_release(&bytes);
    return ok;
}

bool told_all(const world *w, assay_buf *state, assay_verdict *said)
{
    const assay_rule_ops *ops = w->rule.ops;
    told t = {.w = w};
    assay_buf_init(state, SIZE_MAX);
    bool ok =
        assay_verdict_init(said, assay_rule_max_findings(&w->rule)) == ASSAY_OK && tell_params(&t) && same_needs(&t);
    t.trial = ok ? tell_trial(w->rule.trial) : NULL;
    t.other = ok && w->rule.other ? tell_trial(w->rule.other) : NULL;
    t.rule = w->rule;
    t.rule.params = t.params;
    t.rule.data = t.data;
    t.rule.trial = t.trial;
    t.rule.other = t.other;
    t.state = t.trial ? ops->state_new(&t.rule) : NULL;
    ok = t.state && tell_steps(&t) && ops->pack(&t.rule, t.state, state) == ASSAY_OK && tell_verdict(&t, said);
    if (t.state)
        ops->state_free(t.state);
    assay_trial_unpacked_free(t.trial);
    assay_trial_unpacked_free(t.other);
    if (t.data && ops->data_free)
        ops->data_free(t.data);
    assay_need_free(t.need);
    assay_params_free(t.params);
    return ok;
}
