/* trusted_rule.c - see trusted_rule.h. */
#include "rule/trusted_rule.h"

#include <stdlib.h>

#include "base/fault.h"
#include "base/process_state.h"
#include "rule/module_open.h"
#include "rule/params.h"

typedef struct trusted_rule {
    assay_rule_ops ops; /* first: what is registered */
    const assay_rule_ops *inner;
} trusted_rule;

/* Noted before the first module is loaded, and kept for the program's time. */
static assay_process_state own;
static bool noted;

static void enter(void)
{
    if (!noted)
        assay_process_state_save(&own);
    else
        assay_process_state_note(&own);
    noted = true;
}

static const assay_rule_ops *inner_of(const assay_rule_ops *ops)
{
    return ((const trusted_rule *)ops)->inner;
}

static int setup(const assay_params *params, assay_need *need, void **data, assay_error *err)
{
    enter();
    int status = inner_of(params->ops)->setup(params, need, data, err);
    assay_process_state_restore(&own);
    return status;
}

static void *state_new(const assay_rule *rule)
{
    enter();
    void *state = inner_of(rule->ops)->state_new(rule);
    assay_process_state_restore(&own);
    return state;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    enter();
    int status = inner_of(rule->ops)->map(rule, state, view, err);
    assay_process_state_restore(&own);
    return status;
}

static int combine(const assay_rule *rule, void *earlier, const void *later, assay_error *err)
{
    enter();
    int status = inner_of(rule->ops)->combine(rule, earlier, later, err);
    assay_process_state_restore(&own);
    return status;
}

static int pack(const assay_rule *rule, const void *state, assay_buf *out)
{
    enter();
    int status = inner_of(rule->ops)->pack(rule, state, out);
    assay_process_state_restore(&own);
    return status;
}

static int unpack(const assay_rule *rule, assay_cursor *in, void **state, assay_error *err)
{
    enter();
    int status = inner_of(rule->ops)->unpack(rule, in, state, err);
    assay_process_state_restore(&own);
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    enter();
    int status = inner_of(rule->ops)->finalize(rule, state, verdict, err);
    assay_process_state_restore(&own);
    return status;
}

static bool reason(const assay_rule *rule, unsigned modes, assay_buf *out)
{
    enter();
    bool some = inner_of(rule->ops)->reason(rule, modes, out);
    assay_process_state_restore(&own);
    return some;
}

/* data_free and state_free stay as they are: by state_free assay_rule_has_common_state() knows a state. */
int assay_trusted_rule_new(const assay_rule_ops *inner, const assay_rule_ops **out, assay_error *err)
{
    trusted_rule *rule = assay_alloc(sizeof *rule);
    if (!rule)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    *rule = (trusted_rule){.ops = *inner, .inner = inner};
    rule->ops.setup = inner->setup ? setup : NULL;
    rule->ops.map = inner->map ? map : NULL;
    /* Assay's own functions leave the process as it is. */
    if (inner->state_new != assay_common_new || inner->combine != assay_common_combine) {
        rule->ops.state_new = inner->state_new ? state_new : NULL;
        rule->ops.combine = inner->combine ? combine : NULL;
        rule->ops.pack = inner->pack ? pack : NULL;
        rule->ops.unpack = inner->unpack ? unpack : NULL;
    }
    rule->ops.finalize = inner->finalize ? finalize : NULL;
    rule->ops.reason = inner->reason ? reason : NULL;
    *out = &rule->ops;
    return ASSAY_OK;
}

void assay_trusted_rule_free(const assay_rule_ops *ops)
{
    free((void *)(uintptr_t)ops);
}

int assay_trusted_module_open(const char *path, const assay_rule_ops *const **table, assay_error *err)
{
    enter();
    int status = assay_module_open(path, table, err);
    assay_process_state_restore(&own);
    return status;
}
