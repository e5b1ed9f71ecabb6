/* guard_rule.c - the ops of a rule, with each function called under the guard.
 *
 * States are wrapped. If a call on a state fails, the wrapper travels on with the reason instead of the rule's state:
 * packed, combined and finalized it keeps the reason. So the failure on one rank becomes the rule's verdict on all. */
#include "rule/guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "rule/params.h"
#include "rule/verdict.h"

enum { STATE_CEILING = 1 << 30 };

typedef struct guarded_rule {
    assay_rule_ops ops; /* first: what is registered */
    const assay_rule_ops *inner;
} guarded_rule;

typedef struct lost_trial { /* a trial on which the rule did not come back; nobody calls it there again */
    const assay_trial *trial;
    struct lost_trial *next;
    assay_error why;
} lost_trial;

typedef struct guarded_data {
    const guarded_rule *rule;
    void *inner;
    lost_trial *lost;
} guarded_data;

typedef struct guarded_state {
    const guarded_rule *rule;
    void *inner;
    bool broken; /* `inner` is left alone; `why` is the reason */
    assay_error why;
} guarded_state;

/* One call under way: what goes in and comes out. */
typedef struct call {
    const assay_rule_ops *ops;
    assay_rule rule;
    const assay_params *params;
    assay_need *need;
    void *state;
    const void *later;
    const assay_step_view *view;
    assay_cursor *in;
    assay_buf *out;
    assay_verdict *verdict;
    assay_error err;
    int status;
} call;

static const guarded_rule *guarded(const assay_rule_ops *ops)
{
    return (const guarded_rule *)ops;
}

/* The rule as its own functions know it. */
static call call_of(const assay_rule *rule)
{
    const guarded_data *data = rule->data;
    call c = {.ops = guarded(rule->ops)->inner, .rule = *rule, .err = {""}};
    c.rule.ops = c.ops;
    c.rule.data = data->inner;
    return c;
}

static const lost_trial *find_lost(const assay_rule *rule)
{
    const guarded_data *data = rule->data;
    const lost_trial *lost = data->lost;
    while (lost && lost->trial != rule->trial)
        lost = lost->next;
    return lost;
}

/* Notes that the rule is not to be called on this trial again. Without memory for the note it will be, which is no
 * harm. */
static void note_lost(const assay_rule *rule, const assay_error *why)
{
    guarded_data *data = (guarded_data *)(uintptr_t)rule->data;
    lost_trial *lost = find_lost(rule) ? NULL : assay_alloc(sizeof *lost);
    if (!lost)
        return;
    *lost = (lost_trial){.trial = rule->trial, .next = data->lost, .why = *why};
    data->lost = lost;
}

/* Runs one function of the rule. ASSAY_EINTERNAL when it did not come back; `what` is in the text then. */
static int guard(const char *what, void (*function)(void *), call *c, assay_error *why)
{
    assay_error reason = {""};
    if (assay_guard_call(function, c, &reason) == ASSAY_OK)
        return ASSAY_OK;
    return assay_fail(why, ASSAY_EINTERNAL, "%s: %s %.200s", c->ops->name, what, reason.text);
}

static int break_state(const assay_rule *rule, guarded_state *s)
{
    s->broken = true;
    note_lost(rule, &s->why);
    return ASSAY_EINTERNAL;
}

static int say_why(const guarded_state *s, assay_error *err)
{
    return assay_fail(err, ASSAY_EINTERNAL, "%s", s->why.text);
}

/* ---- setup ---- */

static void call_setup(void *context)
{
    call *c = context;
    c->status = c->ops->setup(c->params, c->need, &c->state, &c->err);
}

static int setup(const assay_params *params, assay_need *need, void **data, assay_error *err)
{
    const guarded_rule *rule = guarded(params->ops);
    call c = {.ops = rule->inner, .params = params, .need = need, .err = {""}};
    guarded_data *made = assay_alloc_zeroed(1, sizeof *made);
    if (!made)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    int status = guard("setup", call_setup, &c, err);
    if (status == ASSAY_OK && c.status != ASSAY_OK) {
        status = c.status;
        if (err)
            *err = c.err;
    }
    if (status != ASSAY_OK) {
        free(made);
        return status;
    }
    *made = (guarded_data){.rule = rule, .inner = c.state};
    *data = made;
    return ASSAY_OK;
}

static void call_data_free(void *context)
{
    call *c = context;
    c->ops->data_free(c->state);
}

static void data_free(void *data)
{
    guarded_data *d = data;
    call c = {.ops = d->rule->inner, .state = d->inner};
    if (d->inner && !d->lost && c.ops->data_free)
        (void)guard("data_free", call_data_free, &c, NULL);
    while (d->lost) {
        lost_trial *next = d->lost->next;
        free(d->lost);
        d->lost = next;
    }
    free(d);
}

/* ---- states ---- */

static void call_state_new(void *context)
{
    call *c = context;
    c->state = c->ops->state_new(&c->rule);
}

static void *state_new(const assay_rule *rule)
{
    call c = call_of(rule);
    const lost_trial *lost = find_lost(rule);
    guarded_state *s = assay_alloc_zeroed(1, sizeof *s);
    if (!s)
        return NULL;
    s->rule = guarded(rule->ops);
    if (lost) {
        s->broken = true;
        s->why = lost->why;
    } else if (guard("state_new", call_state_new, &c, &s->why) != ASSAY_OK) {
        break_state(rule, s);
    } else if (!(s->inner = c.state)) {
        free(s);
        return NULL;
    }
    return s;
}

static void call_state_free(void *context)
{
    call *c = context;
    c->ops->state_free(c->state);
}

static void state_free(void *state)
{
    guarded_state *s = state;
    if (!s)
        return;
    call c = {.ops = s->rule->inner, .state = s->inner};
    if (s->inner && !s->broken)
        (void)guard("state_free", call_state_free, &c, NULL);
    free(s);
}

static void call_map(void *context)
{
    call *c = context;
    c->status = c->ops->map(&c->rule, c->state, c->view, &c->err);
}

/* What a function that came back said; its message goes on. */
static int answer(const call *c, assay_error *err)
{
    if (c->status != ASSAY_OK && err)
        *err = c->err;
    return c->status;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    guarded_state *s = state;
    call c = call_of(rule);
    char what[64];
    c.state = s->inner;
    c.view = view;
    snprintf(what, sizeof what, "map of step %lld", (long long)view->step);
    if (!s->broken && guard(what, call_map, &c, &s->why) == ASSAY_OK)
        return answer(&c, err);
    if (!s->broken)
        break_state(rule, s);
    return say_why(s, err);
}

static void call_combine(void *context)
{
    call *c = context;
    c->status = c->ops->combine(&c->rule, c->state, c->later, &c->err);
}

static int combine(const assay_rule *rule, void *earlier, const void *later, assay_error *err)
{
    guarded_state *a = earlier;
    const guarded_state *b = later;
    call c = call_of(rule);
    c.state = a->inner;
    c.later = b->inner;
    if (a->broken || b->broken)
        return say_why(a->broken ? a : b, err);
    if (guard("combine", call_combine, &c, &a->why) == ASSAY_OK)
        return answer(&c, err);
    break_state(rule, a);
    return say_why(a, err);
}

static void call_pack(void *context)
{
    call *c = context;
    c->status = c->ops->pack(&c->rule, c->state, c->out);
}

/* Packing goes into a buffer of its own, which is left alone when the rule does not come back. A state that cannot be
 * packed travels as a broken one: its rank must not stop the run. */
static int pack(const assay_rule *rule, const void *state, assay_buf *out)
{
    const guarded_state *s = state;
    assay_error why = s->why;
    bool broken = s->broken;
    call c = call_of(rule);
    assay_buf *own = broken ? NULL : assay_alloc(sizeof *own);
    if (!broken && !own)
        return ASSAY_ENOMEM;
    if (own) {
        assay_buf_init(own, STATE_CEILING);
        c.out = own;
        c.state = s->inner;
        if (guard("pack", call_pack, &c, &why) != ASSAY_OK) {
            broken = true;
            own = NULL;
        } else if (c.status != ASSAY_OK || assay_buf_status(own) != ASSAY_OK) {
            int status = c.status != ASSAY_OK ? c.status : assay_buf_status(own);
            assay_fail(&why, status, "%s: pack failed: %s", c.ops->name, assay_status_text(status));
            broken = true;
        }
    }
    assay_put_u8(out, broken);
    if (broken)
        assay_put_text(out, why.text);
    else
        assay_put_bytes(out, own->data, own->size);
    if (own)
        assay_buf_release(own);
    free(own);
    return assay_buf_status(out);
}

static void call_unpack(void *context)
{
    call *c = context;
    c->status = c->ops->unpack(&c->rule, c->in, &c->state, &c->err);
}

static int unpack_broken(assay_cursor *in, guarded_state *s, assay_error *err)
{
    size_t length = 0;
    const char *text = assay_get_text(in, &length);
    if (assay_cursor_bad(in))
        return assay_fail(err, ASSAY_EFORMAT, "%s: its packed state is damaged", s->rule->inner->name);
    s->broken = true;
    return assay_fail(&s->why, ASSAY_OK, "%.*s", (int)(length < ASSAY_ERROR_TEXT ? length : ASSAY_ERROR_TEXT), text);
}

static int unpack(const assay_rule *rule, assay_cursor *in, void **state, assay_error *err)
{
    call c = call_of(rule);
    guarded_state *s = assay_alloc_zeroed(1, sizeof *s);
    if (!s)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    s->rule = guarded(rule->ops);
    uint8_t broken = assay_get_u8(in);
    c.in = in;
    int status = in->failed || broken > 1
                     ? assay_fail(err, ASSAY_EFORMAT, "%s: its packed state is damaged", c.ops->name)
                     : ASSAY_OK;
    if (status == ASSAY_OK && broken)
        status = unpack_broken(in, s, err);
    else if (status == ASSAY_OK && guard("unpack", call_unpack, &c, &s->why) != ASSAY_OK)
        break_state(rule, s);
    else if (status == ASSAY_OK && (status = answer(&c, err)) == ASSAY_OK)
        s->inner = c.state;
    if (status != ASSAY_OK && status != ASSAY_ENOMEM && !broken && !in->failed) {
        /* The bytes are what its own pack wrote: that the rule refuses them is its failure, not that of the run. */
        assay_fail(&s->why, status, "%s: unpack failed: %.200s", c.ops->name, c.err.text);
        s->broken = true;
        status = ASSAY_OK;
    }
    if (status != ASSAY_OK)
        free(s);
    else
        *state = s;
    return status;
}

static void call_finalize(void *context)
{
    call *c = context;
    c->status = c->ops->finalize(&c->rule, c->later, c->verdict, &c->err);
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const guarded_state *s = state;
    call c = call_of(rule);
    if (s->broken)
        return say_why(s, err);
    if (c.ops->state_free == assay_common_free) { /* as assay_verdict_reach() does, which sees a wrapped state here */
        int status = assay_findings_append(verdict->findings, ((const assay_common_state *)s->inner)->findings);
        if (status != ASSAY_OK)
            return status;
    }
    if (!c.ops->finalize)
        return ASSAY_OK;
    c.later = s->inner;
    c.verdict = verdict;
    return guard("finalize", call_finalize, &c, err) == ASSAY_OK ? answer(&c, err) : ASSAY_EINTERNAL;
}

int assay_guard_rule(const assay_rule_ops *inner, const assay_rule_ops **out, assay_error *err)
{
    guarded_rule *rule = assay_alloc(sizeof *rule);
    if (!rule)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    *rule = (guarded_rule){.ops = *inner, .inner = inner};
    rule->ops.setup = setup;
    rule->ops.data_free = data_free;
    rule->ops.state_new = state_new;
    rule->ops.state_free = state_free;
    rule->ops.map = map;
    rule->ops.combine = combine;
    rule->ops.pack = pack;
    rule->ops.unpack = unpack;
    rule->ops.finalize = finalize;
    *out = &rule->ops;
    return ASSAY_OK;
}
