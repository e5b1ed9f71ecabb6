/* process_server.c - see process_server.h.
 *
 * One rule of one module, configured once, at most two states, and as many trials as there are places. Before the
 * module is loaded the process notes what is the process's own (floating point, locale, ...), and puts it back after
 * every call: a rule finds each time what it found the first time, whatever was called before. */
#include "rule/process_server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/process_state.h"
#include "rule/common_state.h"
#include "rule/module_open.h"
#include "rule/process_pack.h"
#include "rule/process_view.h"
#include "rule/rule_process.h"
#include "rule/params.h"
#include "rule/trial_info.h"

enum { STATES = 2, REASON_CEILING = 1 << 16 };

/* Everything below runs in the rule's process and with its memory: requests come from assay and only their form is
 * checked, so that a program whose memory the rule spoilt ends with words. */
typedef struct server {
    const char *module;
    const assay_rule_ops *const *table;
    assay_rule rule; /* ops, params and data from setup on; the rest is of the request */
    assay_params *params;
    assay_need *need;
    void *data;
    assay_trial *trial[ASSAY_RULE_TRIALS];
    void *state[STATES];
    assay_view_lists lists;
    assay_process_state own;
    const uint8_t *area;
    size_t room;
} server;

/* What a request came with, and what is answered. */
typedef struct exchange {
    assay_cursor in;
    assay_buf out;
    assay_error err;
} exchange;

static int fail_damaged(exchange *x)
{
    return assay_fail(&x->err, ASSAY_EINTERNAL, "a request is damaged");
}

/* ---- the module ---- */

static int load(server *s, exchange *x)
{
    int status = assay_module_open(s->module, &s->table, &x->err);
    if (status == ASSAY_OK)
        assay_rule_table_pack(s->table, &x->out);
    return status;
}

/* ASSAY_RULE_SETUP, once in a process. The module is opened anew by every process, and its file may have been
 * replaced since assay read the table: number and name must still agree. */
static int set_up(server *s, exchange *x)
{
    size_t length = 0, count = 0;
    uint32_t number = assay_get_u32(&x->in);
    const char *name = assay_get_text(&x->in, &length);
    while (s->table && s->table[count])
        count++;
    if (number >= count || s->table[number]->abi != ASSAY_RULE_ABI || strlen(s->table[number]->name) != length ||
        memcmp(s->table[number]->name, name, length) != 0)
        return assay_fail(&x->err, ASSAY_EUSAGE, "its module has been changed since the run began");
    const assay_rule_ops *ops = s->table[number];
    int status = assay_params_unpack(&x->in, ops, &s->params);
    if (status == ASSAY_OK && !(s->need = assay_need_new(s->params)))
        status = ASSAY_ENOMEM;
    ASSAY_THEN(status, ops->setup(s->params, s->need, &s->data, &x->err));
    s->rule = (assay_rule){.ops = ops, .params = s->params, .data = s->data};
    if (status == ASSAY_OK)
        assay_need_pack(s->need, &x->out);
    return status;
}

static int take_trial(server *s, exchange *x)
{
    uint32_t place = assay_get_u32(&x->in);
    if (place >= ASSAY_RULE_TRIALS)
        return fail_damaged(x);
    assay_trial_unpacked_free(s->trial[place]);
    s->trial[place] = NULL;
    return assay_trial_unpack(&x->in, &s->trial[place], &x->err);
}

/* Reads the context that assay_rule_link_begin() wrote: the trial that the request is about, and the rest of what a
 * rule is told. */
static int take_context(server *s, exchange *x)
{
    uint32_t trial = assay_get_u32(&x->in), other = assay_get_u32(&x->in);
    s->rule.start_step = assay_get_i64(&x->in);
    s->rule.end_step = assay_get_i64(&x->in);
    s->rule.max_findings = (size_t)assay_get_u64(&x->in);
    s->rule.trial = trial < ASSAY_RULE_TRIALS ? s->trial[trial] : NULL;
    s->rule.other = other < ASSAY_RULE_TRIALS ? s->trial[other] : NULL;
    return x->in.failed || !s->rule.trial || !s->rule.ops ? fail_damaged(x) : ASSAY_OK;
}

/* ---- states ---- */

/* Takes the state out of its place first: a rule that crashes while it frees is not asked again. */
static void free_state(server *s, unsigned place)
{
    void *state = s->state[place];
    s->state[place] = NULL;
    if (state)
        s->rule.ops->state_free(state);
}

static int new_state(server *s, exchange *x)
{
    ASSAY_TRY(take_context(s, x));
    free_state(s, 0);
    s->state[0] = s->rule.ops->state_new(&s->rule);
    return s->state[0] ? ASSAY_OK : assay_fail(&x->err, ASSAY_ENOMEM, "out of memory");
}

/* The rule's own bytes are all that is left of the request. */
static int unpack_state(server *s, exchange *x)
{
    int status = take_context(s, x);
    uint32_t place = assay_get_u32(&x->in);
    if (status != ASSAY_OK || x->in.failed || place >= STATES)
        return status != ASSAY_OK ? status : fail_damaged(x);
    free_state(s, place);
    assay_cursor bytes = assay_cursor_over(x->in.data + x->in.at, assay_cursor_left(&x->in));
    return s->rule.ops->unpack(&s->rule, &bytes, &s->state[place], &x->err);
}

/* The step lies in the area that this process can only read; the view points into it, so a rule that writes into a
 * step ends itself. */
static int map(server *s, exchange *x)
{
    const assay_view_measures measures = {s->need->measures, s->need->measure_count};
    assay_step_view view;
    if (!s->state[0])
        return fail_damaged(x);
    int status = assay_view_get(x->in.data, s->rule.trial, &measures, &s->lists, &view);
    return status == ASSAY_OK ? s->rule.ops->map(&s->rule, s->state[0], &view, &x->err) : status;
}

static int combine(server *s, exchange *x)
{
    if (!s->state[0] || !s->state[1])
        return fail_damaged(x);
    int status = s->rule.ops->combine(&s->rule, s->state[0], s->state[1], &x->err);
    free_state(s, 1);
    return status;
}

static int pack(server *s, exchange *x)
{
    if (!s->state[0])
        return fail_damaged(x);
    int status = s->rule.ops->pack(&s->rule, s->state[0], &x->out);
    return status == ASSAY_OK ? assay_buf_status(&x->out) : status;
}

/* ---- the verdict ---- */

/* Does what assay_verdict_reach() does, but for the status: that is assay's to say. What was found goes back as
 * bytes, and assay checks it as anything untrusted. */
static int finalize(server *s, exchange *x)
{
    const assay_rule *rule = &s->rule;
    assay_verdict verdict;
    if (!s->state[0])
        return fail_damaged(x);
    int status = assay_verdict_init(&verdict, assay_rule_max_findings(rule));
    ASSAY_TRY(status);
    assay_findings_order_by(verdict.findings, rule->trial);
    /* An unpacked series is one run, so there is nothing to settle. */
    if (assay_rule_has_common_state(rule->ops)) /* as assay_verdict_reach() does */
        status = assay_findings_append(verdict.findings, ((const assay_common_state *)s->state[0])->findings);
    if (status == ASSAY_OK && rule->ops->finalize)
        status = rule->ops->finalize(rule, s->state[0], &verdict, &x->err);
    ASSAY_THEN(status, verdict.findings->status);
    if (status == ASSAY_OK && (verdict.json.status == ASSAY_EBUDGET || verdict.text.status == ASSAY_EBUDGET))
        status = assay_fail(&x->err, ASSAY_EBUDGET, "its result is larger than %zu bytes", verdict.json.ceiling);
    if (status == ASSAY_OK)
        assay_verdict_pack(&verdict, &x->out);
    assay_verdict_release(&verdict);
    return status == ASSAY_OK ? assay_buf_status(&x->out) : status;
}

static int reason(server *s, exchange *x)
{
    int status = take_context(s, x);
    unsigned modes = assay_get_u32(&x->in);
    assay_buf text = ASSAY_BUF(REASON_CEILING);
    if (status != ASSAY_OK || !s->rule.ops->reason)
        return status != ASSAY_OK ? status : fail_damaged(x);
    assay_put_u8(&x->out, s->rule.ops->reason(&s->rule, modes, &text));
    assay_put_bytes(&x->out, text.data, text.size);
    status = assay_buf_status(&text);
    assay_buf_release(&text);
    return status;
}

static int do_request(server *s, uint32_t request, exchange *x)
{
    switch (request) {
    case ASSAY_RULE_LOAD:
        return load(s, x);
    case ASSAY_RULE_SETUP:
        return set_up(s, x);
    case ASSAY_RULE_TRIAL:
        return take_trial(s, x);
    case ASSAY_RULE_STATE_NEW:
        return new_state(s, x);
    case ASSAY_RULE_UNPACK:
        return unpack_state(s, x);
    case ASSAY_RULE_MAP:
        return map(s, x);
    case ASSAY_RULE_COMBINE:
        return combine(s, x);
    case ASSAY_RULE_PACK:
        return pack(s, x);
    case ASSAY_RULE_STATE_FREE:
        free_state(s, 0);
        return ASSAY_OK;
    case ASSAY_RULE_FINALIZE:
        return finalize(s, x);
    case ASSAY_RULE_REASON:
        return reason(s, x);
    case ASSAY_RULE_DATA_FREE:
        if (s->data && s->rule.ops->data_free)
            s->rule.ops->data_free(s->data);
        s->data = NULL;
        return ASSAY_OK;
    default:
        return fail_damaged(x);
    }
}

/* ---- the connection: whatever goes wrong with it is the end ---- */

static void receive(void *to, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = recv(ASSAY_RULE_SOCKET, (char *)to + done, size - done, 0);
        if (got == 0 || (got < 0 && errno != EINTR))
            _exit(got == 0 ? EXIT_SUCCESS : ASSAY_RULE_CUT_OFF);
        done += got > 0 ? (size_t)got : 0;
    }
}

/* MSG_NOSIGNAL: assay may have gone, which is no crash of this process. */
static void give(const void *from, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t put = send(ASSAY_RULE_SOCKET, (const char *)from + done, size - done, MSG_NOSIGNAL);
        if (put < 0 && errno != EINTR)
            _exit(ASSAY_RULE_CUT_OFF);
        done += put > 0 ? (size_t)put : 0;
    }
}

/* The request's bytes lie in shared memory, which may have grown, and which nobody writes here. */
static void see_area(server *s, size_t size)
{
    if (size <= s->room)
        return;
    if (s->area)
        munmap((void *)(uintptr_t)s->area, s->room);
    size_t room = (size_t)lseek(ASSAY_RULE_AREA, 0, SEEK_END);
    void *area = room >= size ? mmap(NULL, room, PROT_READ, MAP_SHARED, ASSAY_RULE_AREA, 0) : MAP_FAILED;
    if (area == MAP_FAILED)
        _exit(ASSAY_RULE_CUT_OFF);
    s->area = area;
    s->room = room;
}

/* One request and its answer. Order of the ends: first the process's own state is put back, then the status is looked
 * at; a status above 0 would pass for none of assay's. */
static void serve_one(server *s)
{
    exchange x = {.err = {""}};
    assay_rule_message head;
    receive(&head, sizeof head);
    see_area(s, head.size);
    x.in = assay_cursor_over(s->area, head.size);
    assay_buf_init(&x.out, ASSAY_RULE_ANSWER_CEILING);
    int status = do_request(s, head.request, &x);
    assay_process_state_restore(&s->own);
    if (status > 0)
        status = assay_fail(&x.err, ASSAY_EINTERNAL, "it returned %d, which is not a status", status);
    if (status == ASSAY_OK && assay_buf_status(&x.out) != ASSAY_OK)
        status = assay_buf_status(&x.out);
    head.status = status;
    head.size = status == ASSAY_OK ? x.out.size : strlen(x.err.text);
    give(&head, sizeof head);
    give(status == ASSAY_OK ? (const void *)x.out.data : x.err.text, head.size);
    assay_buf_release(&x.out);
}

/* Called by main() for ASSAY_RULE_PROCESS_WORD, before anything else of the program starts; never returns. */
void assay_rule_process_serve(long parent, const char *module)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    server s = {.module = module};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* The parent may have gone before the line above: then no signal comes any more. */
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) /* a sanitizer would exit instead */
        signal(crashes[i], SIG_DFL);
    assay_rule_process_clean_environment();
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* what rules print, which goes to standard error */
    assay_process_state_save(&s.own);
    for (;;)
        serve_one(&s);
}
