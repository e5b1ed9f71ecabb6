/* traced.c - see traced.h. */
#include "traced.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A finding names its ranks; of a group of thousands the number is enough. */
enum { RANKS_LISTED = 1024 };

/* Traces are read at the start, and evaluated in finalize. */
int traced_setup(const assay_params *params, assay_need *need, void **data, assay_error *err)
{
    return ASSAY_OK;
}

int traced_map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    return ASSAY_OK;
}

bool traced_sees_step(const traced *t, int64_t step)
{
    return step >= t->from && (t->to == ASSAY_NO_TIME || step < t->to);
}

bool traced_sees_rank(const traced *t, int32_t rank)
{
    char name[32];
    snprintf(name, sizeof name, "worker_%d", (int)rank);
    return !t->worker || strcmp(name, t->worker) == 0;
}

/* Called before the details of a finding are put; traced_test() ends them. */
void traced_extra(traced *t)
{
    assay_buf_clear(&t->extra);
}

static void put_key(traced *t, const char *key)
{
    assay_put_format(&t->extra, ", \"%s\": ", key);
}

void traced_put_integer(traced *t, const char *key, int64_t value)
{
    put_key(t, key);
    assay_put_format(&t->extra, "%" PRId64, value);
}

void traced_put_number(traced *t, const char *key, double value)
{
    put_key(t, key);
    if (isnan(value))
        assay_put_format(&t->extra, "null");
    else
        assay_json_put_number(&t->extra, value);
}

void traced_put_text(traced *t, const char *key, const char *text)
{
    put_key(t, key);
    assay_json_put_text(&t->extra, text);
}

void traced_put_group(traced *t, uint32_t group)
{
    const assay_trace_group *g = &t->data->group[group];
    traced_put_text(t, "group", g->name);
    put_key(t, "ranks");
    for (uint32_t i = 0; i < g->members && i < RANKS_LISTED; i++)
        assay_put_format(&t->extra, "%s%" PRId32, i ? ", " : "[", g->member[i]);
    assay_put_format(&t->extra, g->members > 0 ? "]" : "[]");
    if (g->members > RANKS_LISTED)
        traced_put_integer(t, "members", g->members);
}

const char *traced_group_in_words(const traced *t, uint32_t group, char *room, size_t size)
{
    enum { NAMED = 4 };
    const assay_trace_group *g = &t->data->group[group];
    size_t used = (size_t)snprintf(room, size, "group %.60s, ranks ", g->name);
    for (uint32_t i = 0; i < g->members && i < NAMED && used < size; i++)
        used += (size_t)snprintf(room + used, size - used, "%s%d", i ? ", " : "", (int)g->member[i]);
    if (g->members > NAMED && used < size)
        snprintf(room + used, size - used, " and %u more", (unsigned)(g->members - NAMED));
    return room;
}

/* `order` counts findings over the rule: it sorts them as they were found, as no step tells them apart. */
void traced_test(traced *t, bool fired, const traced_finding *f)
{
    char worker[32] = "*";
    t->datapoints++;
    if (!fired || t->status != ASSAY_OK)
        return;
    assay_put_u8(&t->extra, 0);
    t->status = assay_buf_status(&t->extra);
    if (f->rank >= 0)
        snprintf(worker, sizeof worker, "worker_%d", (int)f->rank);
    const assay_time_place place = {
        .slice = ASSAY_NO_TIME, .worker = worker, .unit = "", .extra = (const char *)t->extra.data};
    const assay_finding finding = {.step = f->step,
                                   .tensor = ASSAY_NO_TENSOR,
                                   .worker = t->order++,
                                   .test = f->test,
                                   .value = f->value,
                                   .threshold = f->threshold,
                                   .note = f->note,
                                   .time = &place};
    if (t->status == ASSAY_OK)
        t->status = assay_findings_add(t->findings, &finding);
}

/* Without traces the rule has no data, which the caller says. */
int traced_finalize(const assay_rule *rule, assay_verdict *verdict, traced_evaluate *evaluate, assay_error *err)
{
    traced t = {.rule = rule,
                .data = assay_trial_traces(rule->trial),
                .verdict = verdict,
                .findings = assay_verdict_findings(verdict),
                .worker = assay_param_text(rule->params, "worker"),
                .from = assay_param_int(rule->params, "start_step"),
                .to = ASSAY_NO_TIME};
    if (assay_param_has(rule->params, "end_step"))
        t.to = assay_param_int(rule->params, "end_step");
    if (!t.data)
        return ASSAY_OK;
    assay_buf_init(&t.extra, (size_t)1 << 24);
    evaluate(&t);
    assay_findings_datapoints(t.findings, t.datapoints);
    assay_buf_release(&t.extra);
    return t.status == ASSAY_OK ? t.status : assay_fail(err, t.status, "out of memory");
}
