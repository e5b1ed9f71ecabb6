/* misbehave.c - a rule that crashes, hangs or fails where it is told to; and, by macros, modules that must not load. */
#include <assay/rule.h>

#include <assert.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

#ifndef ABI
#define ABI ASSAY_RULE_ABI
#endif
#ifndef SIZE
#define SIZE sizeof(assay_rule_ops)
#endif
#ifndef NAME
#define NAME "Misbehave"
#endif
#ifndef HELP
#define HELP "What happens there."
#endif

static const assay_param_def params[] = {
    {.name = "how", .type = ASSAY_PARAM_TEXT, .initial = "nowhere", .help = HELP},
    {.name = "where", .type = ASSAY_PARAM_TEXT, .initial = "nowhere", .help = "In which function."},
    {.name = "step", .type = ASSAY_PARAM_INT, .initial = "0", .help = "From which step on, in map."},
    {.name = NULL},
};

static volatile int zero;
static volatile int *volatile nowhere;

static int descend(volatile char *above)
{
    volatile char here[4096];
    here[0] = above[0];
    return zero ? 0 : descend(here) + here[0];
}

/* Changes what belongs to the process: small numbers become zeros, sums are rounded up, files get no permissions,
 * signals do not come, and relative paths lead elsewhere. */
static void change_process(void)
{
    sigset_t all;
#ifdef __SSE__
    _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
    fesetround(FE_UPWARD);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    umask(0777);
    setlocale(LC_ALL, "");
    if (chdir("/") != 0)
        abort();
}

#ifdef CONSTRUCTOR
__attribute__((constructor)) static void begin(void)
{
    change_process();
}
#endif

/* Writes behind the end of what it was given, over whatever lies there. */
static void damage_heap(void)
{
    volatile char *mine = malloc(24);
    for (size_t i = 0; mine && i < 4096; i++)
        mine[i] = 0x7f;
    free((void *)(uintptr_t)mine);
}

static void misbehave(const assay_params *given, const char *where)
{
    const char *how = assay_param_text(given, "how");
    if (strcmp(assay_param_text(given, "where"), where) != 0)
        return;
    if (strcmp(how, "segv") == 0)
        *nowhere = 1;
    if (strcmp(how, "library") == 0)
        memset((void *)(uintptr_t)(8 + (unsigned)zero), 0, 100);
    if (strcmp(how, "call") == 0)
        ((void (*)(void))(uintptr_t)zero)();
    if (strcmp(how, "fpe") == 0)
        zero = 7 / zero;
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "ill") == 0)
        raise(SIGILL);
    if (strcmp(how, "stack") == 0)
        descend((volatile char *)how);
    if (strcmp(how, "parameter") == 0)
        (void)assay_param_int(given, "not_declared");
    if (strcmp(how, "exit") == 0)
        exit(0);
    if (strcmp(how, "heap") == 0)
        damage_heap();
    if (strcmp(how, "close") == 0)
        for (int i = 0; i < 64; i++)
            close(i);
    if (strcmp(how, "write") == 0 && write(3, "this is no answer, and longer than one", 38) < 0)
        abort();
    if (strcmp(how, "process") == 0)
        change_process();
    if (strcmp(how, "print") == 0)
        printf("what a rule prints is no report\n");
    if (strcmp(how, "blocked") == 0)
        change_process();
    while (strcmp(how, "loop") == 0 || strcmp(how, "blocked") == 0)
        zero = 0;
    while (strcmp(how, "allocate") == 0) {
        void *volatile p = malloc(100);
        free(p);
    }
    while (strcmp(how, "sleep") == 0)
        pause();
}

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    const assay_slot all = {.flags = ASSAY_SLOT_NO_STRINGS};
    int slot = assay_need_slot(need, &all, err);
    (void)data;
    misbehave(given, "setup");
    return slot < 0 ? slot : ASSAY_OK;
}

static void *state_new(const assay_rule *rule)
{
    misbehave(rule->params, "state_new");
    return assay_common_new(rule);
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    if (view->step >= assay_param_int(rule->params, "step"))
        misbehave(rule->params, "map");
    if (strcmp(assay_param_text(rule->params, "where"), "own error") == 0)
        return assay_fail(err, ASSAY_EPARAM, "step %d is not to its taste", (int)view->step);
    for (uint32_t i = 0; i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        const assay_finding finding = {.step = view->step, .tensor = item->tensor, .worker = item->worker, .value = 1};
        if (assay_findings_test(s->findings, view->step % 20 == 0, &finding) != ASSAY_OK)
            return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    }
    return ASSAY_OK;
}

static int combine(const assay_rule *rule, void *earlier, const void *later, assay_error *err)
{
    misbehave(rule->params, "combine");
    return assay_common_combine(rule, earlier, later, err);
}

static int pack(const assay_rule *rule, const void *state, assay_buf *out)
{
    misbehave(rule->params, "pack");
    return assay_common_pack(rule, state, out);
}

static int unpack(const assay_rule *rule, assay_cursor *in, void **state, assay_error *err)
{
    misbehave(rule->params, "unpack");
    return assay_common_unpack(rule, in, state, err);
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_common_state *s = state;
    (void)s;
    (void)err;
    misbehave(rule->params, "finalize");
    if (strcmp(assay_param_text(rule->params, "where"), "its json") == 0)
        assay_put_format(assay_verdict_json(verdict), "\"half\": 0,5");
    if (strcmp(assay_param_text(rule->params, "where"), "its test") == 0) {
        const assay_finding finding = {.step = 1, .test = 7};
        return assay_findings_test(assay_verdict_findings(verdict), true, &finding);
    }
    return ASSAY_OK;
}

static const assay_rule_ops ops = {
    .abi = ABI,
    .size = SIZE,
    .name = NAME,
    .summary = "Does as it is told.",
    .advice = "Nothing.",
    .params = params,
    .setup = setup,
    .state_new = state_new,
    .state_free = assay_common_free,
    .map = map,
    .combine = combine,
    .pack = pack,
    .unpack = unpack,
    .finalize = finalize,
};

#ifdef UNRESOLVED
void assay_no_such_function(void);
#endif

#ifndef NO_TABLE
assay_rule_module_fn assay_rule_module_v1;

const assay_rule_ops *const *assay_rule_module_v1(void)
{
#ifdef EMPTY
    static const assay_rule_ops *const table[] = {NULL};
#else
    static const assay_rule_ops *const table[] = {&ops, NULL};
#endif
#ifdef UNRESOLVED
    assay_no_such_function();
#endif
#ifdef CRASH_AT_ONCE
    *nowhere = 1;
#endif
    return table;
}
#endif
