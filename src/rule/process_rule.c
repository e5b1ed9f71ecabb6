/* process_rule.c - see process_rule.h. */
#include "rule/process_rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "rule/params.h"
#include "rule/process_pack.h"
#include "rule/process_view.h"
#include "rule/rule_link.h"
#include "rule/trial_info.h"
#include "rule/verdict.h"

/* One rule of a module that is not trusted, as the registry knows it: its ops are what the process said of the rule,
 * with the functions below in place of its own. */
typedef struct process_rule {
    assay_rule_ops ops; /* first: what is registered */
    const char *module;
    uint32_t number;
} process_rule;

typedef struct process_state process_state;

/* What one configuration of the rule has. The process keeps two states: place 0 is where a state lives while it is
 * worked on, place 1 holds the later one of a combine. */
typedef struct process_data {
    const process_rule *rule;
    assay_rule_link link;
    assay_measure *measures; /* what the rule declared */
    uint32_t measure_count;
    process_state *live; /* the state at place 0, newer there than here; NULL: none */
} process_data;

/* A state as assay holds it. Its bytes are the truth unless it is the live one; so a process that is lost loses at
 * most one state's work, and any number of states needs one process. */
struct process_state {
    process_data *data;
    uint64_t trial;  /* serial of the one that it is about */
    assay_buf bytes; /* packed by the rule; out of date while live */
    bool fresh;      /* nothing was added so far: there are no bytes */
    bool broken;     /* nothing is done with it any more; `why` is the reason */
    assay_error why;
};

static process_data *data_of(const assay_rule *rule)
{
    return (process_data *)(uintptr_t)rule->data;
}

/* ---- states ---- */

/* The trial is noted too: states of it that are made later are broken from the start, since its verdict is lost. */
static void break_state(process_state *s, const assay_error *why)
{
    s->broken = true;
    s->why = *why;
    assay_buf_release(&s->bytes);
    assay_buf_init(&s->bytes, SIZE_MAX);
    if (s->data->live == s)
        s->data->live = NULL;
    assay_rule_link_note_lost(&s->data->link, s->trial, why);
}

static int say_why(const process_state *s, assay_error *err)
{
    return assay_fail(err, ASSAY_EINTERNAL, "%s", s->why.text);
}

/* What the rule answered to a request about its states, in words. */
static int say_refusal(const process_data *data, const char *what, const assay_rule_answer *answer, assay_error *err)
{
    return assay_fail(err, ASSAY_EINTERNAL, "%s: %s failed: %.200s", data->rule->ops.name, what,
                      answer->err.text[0] ? answer->err.text : assay_status_text(answer->status));
}

/* Takes the live state's bytes over, and frees it there: what the rule did to its memory shows by then. Failures are
 * that state's. Returns ASSAY_OK or ASSAY_ENOMEM. */
static int settle(process_data *data)
{
    process_state *s = data->live;
    assay_rule_answer answer;
    assay_error why = {""};
    if (!s)
        return ASSAY_OK;
    data->live = NULL;
    int status = assay_rule_link_ask(&data->link, ASSAY_RULE_PACK, "pack", NULL, &answer, &why);
    if (status == ASSAY_OK && answer.status != ASSAY_OK) {
        say_refusal(data, "pack", &answer, &why);
        break_state(s, &why);
        /* The answer to "state_free" does not matter here: the state is broken already, only memory would stop the
         * run. */
        assay_buf_release(&answer.bytes);
        return assay_rule_link_do(&data->link, ASSAY_RULE_STATE_FREE, "state_free", NULL, NULL) == ASSAY_ENOMEM
                   ? ASSAY_ENOMEM
                   : ASSAY_OK;
    }
    if (status == ASSAY_OK) {
        assay_buf_release(&s->bytes);
        s->bytes = answer.bytes;
        s->fresh = false;
        status = assay_rule_link_do(&data->link, ASSAY_RULE_STATE_FREE, "state_free", NULL, &why);
    }
    if (status != ASSAY_OK && status != ASSAY_ENOMEM)
        break_state(s, &why);
    return status == ASSAY_ENOMEM ? status : ASSAY_OK;
}

/* Brings a state's bytes to a place in the process. */
static int send_bytes(const assay_rule *rule, const process_state *s, uint32_t place, assay_error *err)
{
    process_data *data = s->data;
    assay_rule_answer answer;
    assay_buf request;
    int status = assay_rule_link_begin(&data->link, rule, &request, err);
    assay_put_u32(&request, place);
    assay_put_bytes(&request, s->bytes.data, s->bytes.size);
    ASSAY_THEN(status, assay_rule_link_ask(&data->link, ASSAY_RULE_UNPACK, "unpack", &request, &answer, err));
    assay_buf_release(&request);
    ASSAY_TRY(status);
    if (answer.status != ASSAY_OK)
        status = say_refusal(data, "unpack", &answer, err);
    assay_buf_release(&answer.bytes);
    return status;
}

/* Has a new state made at place 0, where the server frees the one that was there. */
static int make_new(const assay_rule *rule, process_data *data, assay_error *err)
{
    assay_buf request;
    int status = assay_rule_link_begin(&data->link, rule, &request, err);
    ASSAY_THEN(status, assay_rule_link_do(&data->link, ASSAY_RULE_STATE_NEW, "state_new", &request, err));
    assay_buf_release(&request);
    return status;
}

/* Makes a state the live one. A failure breaks it; ASSAY_OK, ASSAY_EINTERNAL (it is broken) or ASSAY_ENOMEM. */
static int make_live(const assay_rule *rule, process_state *s)
{
    process_data *data = s->data;
    assay_error why = {""};
    if (s->broken)
        return ASSAY_EINTERNAL;
    if (data->live == s)
        return ASSAY_OK;
    int status = settle(data);
    ASSAY_THEN(status, s->fresh ? make_new(rule, data, &why) : send_bytes(rule, s, 0, &why));
    if (status == ASSAY_OK) {
        data->live = s;
    } else if (status != ASSAY_ENOMEM) {
        break_state(s, &why);
        status = ASSAY_EINTERNAL;
    }
    return status;
}

static void *state_new(const assay_rule *rule)
{
    const assay_error *lost = assay_rule_link_lost(&data_of(rule)->link, rule->trial->serial);
    process_state *s = assay_alloc_zeroed(1, sizeof *s);
    if (!s)
        return NULL;
    s->data = data_of(rule);
    s->trial = rule->trial->serial;
    s->fresh = true;
    assay_buf_init(&s->bytes, SIZE_MAX);
    if (lost)
        break_state(s, lost);
    return s;
}

/* Without a rule to hand, as ops->state_free has none: the state knows its data. */
static void state_free(void *state)
{
    process_state *s = state;
    if (!s)
        return;
    if (!s->broken && s->data->live == s) {
        s->data->live = NULL;
        (void)assay_rule_link_do(&s->data->link, ASSAY_RULE_STATE_FREE, "state_free", NULL, NULL);
    }
    assay_buf_release(&s->bytes);
    free(s);
}

/* Lays out the step in the shared memory, and has it mapped. A step may need laying out twice: assay_view_put() says
 * how much room it takes, and writes nothing past what there is. */
static int ask_to_map(process_data *data, const assay_step_view *view, const char *what, assay_rule_answer *answer,
                      assay_error *err)
{
    static size_t room = 1 << 16; /* what the last step took: the next one is much like it */
    const assay_view_measures measures = {data->measures, data->measure_count};
    uint8_t *area = assay_rule_process_area(room);
    size_t size = area ? assay_view_put(view, &measures, area, room) : 0;
    if (size > room) {
        area = assay_rule_process_area(room = size);
        size = area ? assay_view_put(view, &measures, area, room) : 0;
    }
    if (!area)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    return assay_rule_link_ask_area(&data->link, ASSAY_RULE_MAP, what, size, answer, err);
}

/* A rule that returns a failure ends as its status says, and its state stays; only a loss of the process breaks the
 * state. */
static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    process_state *s = state;
    assay_rule_answer answer;
    assay_error why = {""};
    char what[64];
    int status = make_live(rule, s);
    if (status != ASSAY_OK)
        return status == ASSAY_ENOMEM ? status : say_why(s, err);
    snprintf(what, sizeof what, "map of step %lld", (long long)view->step);
    status = ask_to_map(s->data, view, what, &answer, &why);
    if (status == ASSAY_EINTERNAL) {
        break_state(s, &why);
        return say_why(s, err);
    }
    ASSAY_TRY(status);
    if (answer.status != ASSAY_OK)
        status = assay_rule_link_failure(&s->data->link, what, &answer, err);
    assay_buf_release(&answer.bytes);
    return status;
}

/* Both states are brought over, joined there, and taken back when something else is asked. */
static int combine(const assay_rule *rule, void *earlier, const void *later, assay_error *err)
{
    process_state *a = earlier, *b = (process_state *)(uintptr_t)later;
    process_data *data = a->data;
    assay_rule_answer answer;
    assay_error why = {""};
    /* The later state may be the live one: it is const here, so its bytes are taken before they are sent. */
    ASSAY_TRY(data->live == b ? settle(data) : ASSAY_OK);
    if (a->broken || b->broken)
        return say_why(a->broken ? a : b, err);
    if (b->fresh) /* which is neutral */
        return ASSAY_OK;
    int status = make_live(rule, a);
    if (status != ASSAY_OK)
        return status == ASSAY_ENOMEM ? status : say_why(a, err);
    status = send_bytes(rule, b, 1, &why);
    ASSAY_THEN(status, assay_rule_link_ask(&data->link, ASSAY_RULE_COMBINE, "combine", NULL, &answer, &why));
    if (status == ASSAY_OK) {
        if (answer.status != ASSAY_OK)
            status = assay_rule_link_failure(&data->link, "combine", &answer, err);
        assay_buf_release(&answer.bytes);
        return status;
    }
    if (status == ASSAY_ENOMEM)
        return status;
    break_state(a, &why);
    return say_why(a, err);
}

/* A state that cannot be packed travels as a broken one: its rank must not stop the run. */
static int pack(const assay_rule *rule, const void *state, assay_buf *out)
{
    process_state *s = (process_state *)(uintptr_t)state;
    if (!s->broken && s->fresh && make_live(rule, s) == ASSAY_ENOMEM)
        return ASSAY_ENOMEM;
    if (s->data->live == s && settle(s->data) != ASSAY_OK)
        return ASSAY_ENOMEM;
    assay_put_u8(out, s->broken);
    if (s->broken)
        assay_put_text(out, s->why.text);
    else
        assay_put_bytes(out, s->bytes.data, s->bytes.size);
    return assay_buf_status(out);
}

/* The bytes are kept as they are: the rule sees them when something is done with the state. Called on a rank that
 * joins states of others; the bytes are the rule's own and stay unread here, only the frame around them is checked. */
static int unpack(const assay_rule *rule, assay_cursor *in, void **state, assay_error *err)
{
    size_t length = 0;
    process_state *s = assay_alloc_zeroed(1, sizeof *s);
    if (!s)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    s->data = data_of(rule);
    s->trial = rule->trial->serial;
    assay_buf_init(&s->bytes, SIZE_MAX);
    uint8_t broken = assay_get_u8(in);
    s->broken = broken == 1;
    if (s->broken) {
        const char *text = assay_get_text(in, &length);
        assay_fail(&s->why, ASSAY_OK, "%.*s", (int)(length < ASSAY_ERROR_TEXT ? length : ASSAY_ERROR_TEXT), text);
    } else {
        size_t size = assay_cursor_left(in);
        const uint8_t *bytes = assay_get_bytes(in, size);
        assay_put_bytes(&s->bytes, bytes, size);
    }
    int status = assay_buf_status(&s->bytes);
    if (broken > 1 || assay_cursor_bad(in))
        status = assay_fail(err, ASSAY_EFORMAT, "%s: its packed state is damaged", s->data->rule->ops.name);
    if (status != ASSAY_OK)
        state_free(s);
    else
        *state = s;
    return status;
}

/* ---- the verdict ---- */

static int take_verdict(const assay_rule *rule, const assay_rule_answer *answer, assay_verdict *verdict,
                        assay_error *err)
{
    if (answer->status != ASSAY_OK)
        return assay_rule_link_failure(&data_of(rule)->link, "finalize", answer, err);
    assay_cursor in = assay_cursor_over(answer->bytes.data, answer->bytes.size);
    return assay_verdict_unpack(&in, rule, verdict, err);
}

/* As on any number of ranks: of the packed state. It is packed and unpacked once more than needed, so that a rule
 * whose pack forgets something shows it on one rank too. */
static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    process_state *s = (process_state *)(uintptr_t)state;
    process_data *data = s->data;
    assay_rule_answer answer;
    int status = settle(data);
    ASSAY_THEN(status, make_live(rule, s));
    ASSAY_THEN(status, settle(data));
    ASSAY_THEN(status, make_live(rule, s));
    if (status != ASSAY_OK)
        return status == ASSAY_ENOMEM ? status : say_why(s, err);
    /* The state is the server's to read and to free from here on; the next settle() must not take it back. */
    data->live = NULL;
    ASSAY_TRY(status = assay_rule_link_ask(&data->link, ASSAY_RULE_FINALIZE, "finalize", NULL, &answer, err));
    status = take_verdict(rule, &answer, verdict, err);
    assay_buf_release(&answer.bytes);
    assay_error why = {""};
    int freed = assay_rule_link_do(&data->link, ASSAY_RULE_STATE_FREE, "state_free", NULL, &why);
    return status == ASSAY_OK && freed != ASSAY_OK ? assay_fail(err, freed, "%s", why.text) : status;
}

/* Of the configured rule and not of a state, so what is live is settled first: the server's place 0 stays free. A
 * rule that cannot say why has no reason. */
static bool reason(const assay_rule *rule, unsigned modes, assay_buf *out)
{
    process_data *data = data_of(rule);
    assay_rule_answer answer;
    assay_buf request;
    if (assay_rule_link_lost(&data->link, rule->trial->serial) || settle(data) != ASSAY_OK)
        return false;
    int status = assay_rule_link_begin(&data->link, rule, &request, NULL);
    assay_put_u32(&request, modes);
    ASSAY_THEN(status, assay_rule_link_ask(&data->link, ASSAY_RULE_REASON, "reason", &request, &answer, NULL));
    assay_buf_release(&request);
    if (status != ASSAY_OK)
        return false;
    bool some = answer.status == ASSAY_OK && answer.bytes.size > 1 && answer.bytes.data[0] == 1;
    if (some)
        assay_put_bytes(out, answer.bytes.data + 1, answer.bytes.size - 1);
    assay_buf_release(&answer.bytes);
    return some;
}

/* ---- setup ---- */

static void data_free(void *given)
{
    process_data *data = given;
    if (data->link.process)
        (void)assay_rule_link_do(&data->link, ASSAY_RULE_DATA_FREE, "data_free", NULL, NULL);
    assay_rule_link_release(&data->link);
    free(data->measures);
    free(data);
}

/* Copies the declared measures: assay_view_put() needs how many numbers each has, and the need is gone by then. */
static int keep_measures(process_data *data, const assay_need *need)
{
    data->measures = assay_alloc_zeroed(need->measure_count, sizeof *data->measures);
    ASSAY_HAVE(data->measures);
    if (need->measure_count > 0)
        memcpy(data->measures, need->measures, need->measure_count * sizeof *data->measures);
    data->measure_count = need->measure_count;
    return ASSAY_OK;
}

static int set_up(process_data *data, assay_need *need, assay_error *err)
{
    int status = assay_rule_link_declare(&data->link, need, err);
    if (status == ASSAY_EFORMAT)
        assay_fail(err, status, "%s: what setup declared cannot be", data->rule->ops.name);
    return status == ASSAY_OK ? keep_measures(data, need) : status;
}

/* Configures the rule in a process of its own, started here. What setup got is kept in link.setup, so that a process
 * which was lost is set up the same again. */
static int setup(const assay_params *params, assay_need *need, void **out, assay_error *err)
{
    const process_rule *rule = (const process_rule *)params->ops;
    process_data *data = assay_alloc_zeroed(1, sizeof *data);
    if (!data)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    data->rule = rule;
    assay_rule_link_init(&data->link, &(assay_rule_served){.module = rule->module}, rule->ops.name);
    assay_put_u32(&data->link.setup, rule->number);
    assay_put_text(&data->link.setup, rule->ops.name);
    assay_params_pack(params, &data->link.setup);
    int status = set_up(data, need, err);
    if (status != ASSAY_OK)
        data_free(data);
    else
        *out = data;
    return status;
}

/* `table` is taken over: the texts and lists in it are freed by assay_process_rule_free(). A rule without finalize
 * gets this one all the same, as the server knows what to do. */
int assay_process_rule_new(const char *module, uint32_t number, const assay_rule_ops *table, unsigned has,
                           const assay_rule_ops **out, assay_error *err)
{
    process_rule *rule = assay_alloc(sizeof *rule);
    if (!rule)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    *rule = (process_rule){.ops = *table, .module = module, .number = number};
    rule->ops.setup = has & ASSAY_HAS_SETUP ? setup : NULL;
    rule->ops.data_free = data_free;
    rule->ops.state_new = has & ASSAY_HAS_STATE_NEW ? state_new : NULL;
    rule->ops.state_free = has & ASSAY_HAS_STATE_FREE ? state_free : NULL;
    rule->ops.map = has & ASSAY_HAS_MAP ? map : NULL;
    rule->ops.combine = has & ASSAY_HAS_COMBINE ? combine : NULL;
    rule->ops.pack = has & ASSAY_HAS_PACK ? pack : NULL;
    rule->ops.unpack = has & ASSAY_HAS_UNPACK ? unpack : NULL;
    rule->ops.finalize = finalize;
    rule->ops.reason = has & ASSAY_HAS_REASON ? reason : NULL;
    *out = &rule->ops;
    return ASSAY_OK;
}

void assay_process_rule_free(const assay_rule_ops *ops)
{
    process_rule *rule = (process_rule *)(uintptr_t)ops;
    assay_rule_table_free(&rule->ops);
    free(rule);
}
