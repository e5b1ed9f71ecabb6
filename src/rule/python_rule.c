/* python_rule.c - see python_rule.h. */
#include "rule/python_rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/file.h"
#include "base/hash.h"
#include "rule/common_state.h"
#include "rule/instance.h"
#include "rule/params.h"
#include "rule/process_pack.h"
#include "rule/python_pack.h"
#include "rule/rule_link.h"
#include "rule/trial_info.h"
#include "rule/verdict.h"

/* LONGEST_CLASS is as long as the registry lets a name be; SOURCE_CEILING is for the file that is hashed, which the
 * interpreter reads by itself. */
enum { SOURCE_CEILING = 1 << 26, LONGEST_CLASS = 63 };

typedef struct python_rule {
    assay_rule_ops ops; /* first: what instances have */
    char *place;        /* "FILE:CLASS" */
    char digest[65];
    bool takes_view;          /* it has at_step(); else invoke_at_step() */
    bool in_order;            /* it says that it wants its steps one after the other */
    assay_rule_process *idle; /* the interpreter that described it, for whoever is configured first; NULL: none */
    struct python_rule *next;
} python_rule;

/* What one configuration has; the first configured rule of a class takes over the interpreter that described it. */
typedef struct python_data {
    assay_rule_link link;
    uint64_t in_order; /* the serial of a trial on which the rule is known to change itself; 0: none */
} python_data;

/* What happened at some step, so that later steps do not count. Of two the earlier one counts: until the first one the
 * rule is as it was made, at any step and on any rank, so what happens there would also happen to whoever evaluates all
 * steps one after the other; and behind it only such a one can tell. */
typedef enum python_event {
    NOTHING_HAPPENED,
    RULE_FAILED,
    RULE_CHANGED, /* it keeps something: all steps are evaluated in finalize, in order */
    PYTHON_EVENTS
} python_event;

typedef struct python_state {
    assay_findings *findings;
    assay_series *steps; /* at which it was to be asked: rows without numbers */
    python_event event;
    assay_error why; /* of a failure */
} python_state;

/* Filled while jobs are read; lives as long as the program. */
static python_rule *loaded;

/* ---- states ---- */

static void state_free(void *state)
{
    python_state *s = state;
    if (!s)
        return;
    assay_findings_free(s->findings);
    assay_series_free(s->steps);
    free(s);
}

static void *state_new(const assay_rule *rule)
{
    python_state *s = assay_alloc_zeroed(1, sizeof *s);
    if (!s)
        return NULL;
    s->findings = assay_findings_new(assay_rule_max_findings(rule));
    s->steps = assay_series_new(0);
    if (!s->findings || !s->steps) {
        state_free(s);
        return NULL;
    }
    assay_findings_order_by(s->findings, rule->trial);
    return s;
}

/* Findings of steps behind an event are kept though they no longer count: finalize drops them all. */
static int combine(const assay_rule *rule, void *earlier, const void *later, assay_error *err)
{
    python_state *a = earlier;
    const python_state *b = later;
    if (a->event == NOTHING_HAPPENED) {
        a->event = b->event;
        a->why = b->why;
    }
    int status = assay_findings_append(a->findings, b->findings);
    ASSAY_THEN(status, assay_series_append(a->steps, b->steps));
    return status == ASSAY_OK ? status : assay_fail(err, status, "%s: out of memory", rule->ops->name);
}

static int pack(const assay_rule *rule, const void *state, assay_buf *out)
{
    const python_state *s = state;
    assay_put_u8(out, s->event);
    assay_put_text(out, s->why.text);
    assay_findings_pack(s->findings, out);
    assay_series_pack(s->steps, out);
    return assay_buf_status(out);
}

/* Comes from another rank of the same run: lengths and the event are checked like any packed state's. */
static int unpack(const assay_rule *rule, assay_cursor *in, void **state, assay_error *err)
{
    python_state *s = assay_alloc_zeroed(1, sizeof *s);
    if (!s)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    size_t length = 0;
    const uint8_t event = assay_get_u8(in);
    const char *why = assay_get_text(in, &length);
    s->event = event < PYTHON_EVENTS ? (python_event)event : NOTHING_HAPPENED;
    assay_fail(&s->why, ASSAY_OK, "%.*s", (int)(length < ASSAY_ERROR_TEXT ? length : ASSAY_ERROR_TEXT), why);
    int status = assay_findings_unpack(in, assay_rule_max_findings(rule), rule->trial, &s->findings, err);
    ASSAY_THEN(status, assay_series_unpack(in, 0, &s->steps, err));
    if (status == ASSAY_OK && (event >= PYTHON_EVENTS || assay_cursor_bad(in)))
        status = assay_fail(err, ASSAY_EFORMAT, "%s: its packed state is damaged", rule->ops->name);
    if (status != ASSAY_OK)
        state_free(s);
    else
        *state = s;
    return status;
}

/* ---- steps ---- */

static python_data *data_of(const assay_rule *rule)
{
    return (python_data *)(uintptr_t)rule->data;
}

static int say_step(const assay_rule *rule, int64_t step, const char *text, assay_error *err)
{
    return assay_fail(err, ASSAY_EINTERNAL, "%s: step %lld: %s", rule->ops->name, (long long)step, text);
}

/* Reads what the rule answered about a step. A damaged answer counts as a failure of the rule, at that step. */
static int take_answer(const assay_rule *rule, int64_t step, const assay_rule_answer *answer, assay_findings *findings,
                       assay_python_answer *out, assay_error *err)
{
    assay_error why = {""};
    if (answer->status != ASSAY_OK)
        return say_step(rule, step, answer->err.text[0] ? answer->err.text : assay_status_text(answer->status), err);
    assay_cursor in = assay_cursor_over(answer->bytes.data, answer->bytes.size);
    int status = assay_python_answer_read(&in, rule->trial, step, findings, out, &why);
    return status == ASSAY_OK || status == ASSAY_ENOMEM ? status : say_step(rule, step, why.text, err);
}

/* Has a step evaluated. ASSAY_EINTERNAL: the rule failed, or its process was lost, as *err says. */
static int evaluate(const assay_rule *rule, const assay_step_view *view, bool in_order, assay_findings *findings,
                    assay_python_answer *out, assay_error *err)
{
    python_data *data = data_of(rule);
    const assay_error *lost = assay_rule_link_lost(&data->link, rule->trial->serial);
    assay_rule_answer answer;
    assay_buf request;
    char what[64];
    if (lost)
        return assay_fail(err, ASSAY_EINTERNAL, "%s", lost->text);
    assay_error why = {""};
    snprintf(what, sizeof what, "step %lld", (long long)view->step);
    int status = assay_rule_link_begin(&data->link, rule, &request, &why);
    assay_python_step_pack(view, in_order, &request);
    ASSAY_THEN(status, assay_rule_link_ask(&data->link, ASSAY_RULE_MAP, what, &request, &answer, &why));
    assay_buf_release(&request);
    if (status == ASSAY_OK) {
        status = take_answer(rule, view->step, &answer, findings, out, err);
        assay_buf_release(&answer.bytes);
        return status;
    }
    if (status == ASSAY_ENOMEM)
        return status;
    assay_rule_link_note_lost(&data->link, rule->trial->serial, &why);
    return assay_fail(err, ASSAY_EINTERNAL, "%s", why.text);
}

/* Returns ASSAY_OK on a failure of the rule as well: the event is noted, since another rank may have an earlier one
 * that counts instead. */
static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    const python_rule *own = (const python_rule *)rule->ops;
    python_data *data = data_of(rule);
    python_state *s = state;
    /* The step is noted in any case: evaluate_in_order() walks the steps that were noted. */
    int status = assay_series_add(s->steps, view->step, 0, 0, NULL);
    if (s->event == NOTHING_HAPPENED && (own->in_order || data->in_order == rule->trial->serial))
        s->event = RULE_CHANGED;
    if (status != ASSAY_OK || s->event != NOTHING_HAPPENED)
        return status == ASSAY_OK ? status : assay_fail(err, status, "out of memory");
    /* A rule with invoke_at_step() reads tensors by itself, so none is sent. */
    assay_step_view bare = *view;
    bare.slots = own->takes_view ? view->slots : 0;
    assay_python_answer answer = {.needs_order = false};
    status = evaluate(rule, &bare, false, s->findings, &answer, &s->why);
    if (status == ASSAY_ENOMEM)
        return assay_fail(err, status, "out of memory");
    if (status != ASSAY_OK) {
        s->event = RULE_FAILED;
    } else if (answer.needs_order) {
        /* Later chunks of this trial on this rank are not evaluated in vain. */
        s->event = RULE_CHANGED;
        data->in_order = rule->trial->serial;
    }
    return ASSAY_OK;
}

/* Evaluates all steps one after the other, by a rule that is made anew. The steps are those of all ranks, as states
 * are combined by then; a failure is the rule's. */
static int evaluate_in_order(const assay_rule *rule, const python_state *s, assay_findings *findings, assay_error *err)
{
    python_data *data = data_of(rule);
    const assay_error *lost = assay_rule_link_lost(&data->link, rule->trial->serial);
    assay_buf request;
    if (lost)
        return assay_fail(err, ASSAY_EINTERNAL, "%s", lost->text);
    data->in_order = rule->trial->serial;
    int status = assay_rule_link_begin(&data->link, rule, &request, err);
    ASSAY_THEN(status, assay_rule_link_do(&data->link, ASSAY_RULE_STATE_NEW, "__init__", &request, err));
    assay_buf_release(&request);
    if (status == ASSAY_OK && assay_series_settle(s->steps) != ASSAY_OK)
        status = assay_fail(err, ASSAY_ENOMEM, "out of memory");
    /* No tensors are sent with these steps: only a rule with invoke_at_step() gets here, which reads them by itself. */
    for (uint64_t i = 0; status == ASSAY_OK && i < assay_series_count(s->steps); i++) {
        const int64_t step = assay_series_row(s->steps, i).step;
        const assay_step_info *info = assay_trial_step(rule->trial, assay_trial_find_step(rule->trial, step));
        assay_python_answer answer;
        if (!info)
            continue;
        const assay_step_view view = {.step = step, .mode_step = info->mode_step, .mode = info->mode};
        status = evaluate(rule, &view, true, findings, &answer, err);
    }
    return status;
}

/* RULE_CHANGED: what single steps found is dropped, and only what the steps found in order counts. */
static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const python_state *s = state;
    if (s->event == RULE_FAILED)
        return assay_fail(err, ASSAY_EINTERNAL, "%s", s->why.text);
    return s->event == RULE_CHANGED ? evaluate_in_order(rule, s, verdict->findings, err)
                                    : assay_findings_append(verdict->findings, s->findings);
}

/* ---- setup ---- */

static void data_free(void *given)
{
    python_data *data = given;
    assay_rule_link_release(&data->link);
    free(data);
}

/* One slot and no measures is all that the other end declares; anything else is damage. */
static int set_up(python_data *data, assay_need *need, assay_error *err)
{
    int status = assay_rule_link_declare(&data->link, need, err);
    if (status == ASSAY_OK && (need->slot_count != 1 || need->measure_count > 0))
        status = ASSAY_EFORMAT;
    if (status == ASSAY_EFORMAT)
        assay_fail(err, status, "%s: which tensors it looks at cannot be told from its answer", data->link.name);
    return status;
}

/* The interpreter that described the class is taken by the first configuration; others start one of their own, with
 * link.process NULL. */
static int setup(const assay_params *params, assay_need *need, void **out, assay_error *err)
{
    python_rule *rule = (python_rule *)(uintptr_t)params->ops;
    const assay_rule_served served = {.module = rule->place, .python = true};
    python_data *data = assay_alloc_zeroed(1, sizeof *data);
    if (!data)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    assay_rule_link_init(&data->link, &served, rule->ops.name);
    data->link.pack_trial = assay_python_trial_pack;
    data->link.process = rule->idle;
    rule->idle = NULL;
    assay_params_pack(params, &data->link.setup);
    int status = set_up(data, need, err);
    if (status != ASSAY_OK)
        data_free(data);
    else
        *out = data;
    return status;
}

/* ---- loading ---- */

const char *assay_python_rule_class(const char *place)
{
    const char *colon = strrchr(place, ':');
    return colon && colon[1] ? colon + 1 : place;
}

/* Finds the rule in Python that has these ops; NULL: they are no rule's in Python. Ops are compared by address, since
 * other rules' ops are no python_rule. */
static const python_rule *find(const assay_rule_ops *ops)
{
    const python_rule *rule = loaded;
    while (rule && &rule->ops != ops)
        rule = rule->next;
    return rule;
}

const char *assay_python_rule_place(const assay_rule_ops *ops)
{
    const python_rule *rule = find(ops);
    return rule ? rule->place : NULL;
}

const char *assay_python_rule_digest(const assay_rule_ops *ops)
{
    const python_rule *rule = find(ops);
    return rule ? rule->digest : NULL;
}

/* Checks that the file is there, and that its class has a name that nobody else has; hashes the file, so that a
 * restart tells another text from the one that was run. */
static int look_at_file(python_rule *rule, assay_error *err)
{
    const char *class = assay_python_rule_class(rule->place);
    if (class == rule->place)
        return assay_fail(err, ASSAY_EPARAM, "%.200s: it names no class: write FILE:CLASS, as my_rules.py:MyRule",
                          rule->place);
    if (strlen(class) > LONGEST_CLASS)
        return assay_fail(err, ASSAY_EPARAM, "%.200s: the name of the class has more than %d bytes", rule->place,
                          LONGEST_CLASS);
    if (assay_rule_find(class))
        return assay_fail(
            err, ASSAY_EPARAM,
            "%.200s: there is a rule %s already: give the class another name, so that a report tells them apart",
            rule->place, class);
    char *file = assay_copy_bytes_as_text(rule->place, (size_t)(class - rule->place) - 1);
    if (!file)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    assay_buf source = ASSAY_BUF(SOURCE_CEILING);
    assay_sha256 hash;
    int status = assay_file_read(file, SOURCE_CEILING, &source, err);
    free(file);
    assay_sha256_init(&hash);
    assay_sha256_add(&hash, source.data, source.size);
    assay_sha256_hex(&hash, rule->digest);
    assay_buf_release(&source);
    return status == ASSAY_OK || status == ASSAY_ENOMEM ? status : ASSAY_EPARAM;
}

/* Takes what an interpreter says of the class. Untrusted: the file's own code runs there, and may have written into
 * the connection. */
static int take_description(python_rule *rule, const assay_rule_answer *answer, assay_error *err)
{
    unsigned has = 0;
    assay_cursor in = assay_cursor_over(answer->bytes.data, answer->bytes.size);
    const uint32_t count = assay_get_u32(&in);
    int status = assay_rule_table_next(&in, &rule->ops, &has);
    const assay_rule_ops *told = &rule->ops;
    if (status == ASSAY_OK &&
        (count != 1 || assay_cursor_bad(&in) || !told->name || !told->summary || !told->summary[0] || !told->advice ||
         !told->advice[0] || strcmp(told->name, assay_python_rule_class(rule->place)) != 0))
        status = ASSAY_EFORMAT;
    if (status != ASSAY_OK)
        return assay_fail(err, status == ASSAY_ENOMEM ? status : ASSAY_EPARAM,
                          "%.200s: what it says of itself is damaged: does it write into descriptor 3?", rule->place);
    rule->takes_view = has & ASSAY_HAS_MAP;
    rule->in_order = has & ASSAY_HAS_FINALIZE;
    /* has told of the class alone what it has: at_step() stands as MAP, "wants its steps in order" as FINALIZE.
     * Functions are those of this file. */
    rule->ops.traits = 0;
    rule->ops.series_width = 0;
    rule->ops.setup = setup;
    rule->ops.data_free = data_free;
    rule->ops.state_new = state_new;
    rule->ops.state_free = state_free;
    rule->ops.map = map;
    rule->ops.combine = combine;
    rule->ops.pack = pack;
    rule->ops.unpack = unpack;
    rule->ops.finalize = finalize;
    return ASSAY_OK;
}

/* Starts an interpreter, and has it describe the class; it stays for whoever configures the rule. */
static int describe(python_rule *rule, assay_error *err)
{
    const assay_rule_served served = {.module = rule->place, .python = true};
    assay_rule_answer answer;
    assay_error why = {""};
    int status = assay_rule_process_start(&served, &rule->idle, &why);
    ASSAY_THEN(status, assay_rule_process_ask(rule->idle, ASSAY_RULE_LOAD, 0, &answer, &why));
    if (status == ASSAY_ENOMEM)
        return assay_fail(err, status, "out of memory");
    if (status == ASSAY_EINTERNAL)
        return assay_fail(err, ASSAY_EPARAM, "%.120s: loading it %.300s", rule->place, why.text);
    if (status != ASSAY_OK)
        return assay_fail(err, ASSAY_EPARAM, "%.120s: %.380s", rule->place, why.text);
    if (answer.status != ASSAY_OK)
        status = assay_fail(err, ASSAY_EPARAM, "%.120s: %.380s", rule->place, answer.err.text);
    else
        status = take_description(rule, &answer, err);
    assay_buf_release(&answer.bytes);
    return status;
}

/* Called for each rule of a job that names a place, before ranks evaluate anything; a class that several rules name
 * is described once. */
int assay_python_rule_load(const char *place, const assay_rule_ops **out, assay_error *err)
{
    for (const python_rule *rule = loaded; rule; rule = rule->next)
        if (strcmp(rule->place, place) == 0) {
            *out = &rule->ops;
            return ASSAY_OK;
        }
    python_rule *rule = assay_alloc_zeroed(1, sizeof *rule);
    if (!rule || !(rule->place = assay_copy_text(place))) {
        free(rule);
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    }
    int status = look_at_file(rule, err);
    ASSAY_THEN(status, describe(rule, err));
    if (status != ASSAY_OK) {
        assay_rule_process_free(rule->idle);
        assay_rule_table_free(&rule->ops);
        free(rule->place);
        free(rule);
        return status;
    }
    rule->next = loaded;
    loaded = rule;
    *out = &rule->ops;
    return ASSAY_OK;
}
