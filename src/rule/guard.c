/* guard.c - see guard.h. Handlers are installed at the first call and stay; outside of guarded calls they pass signals
 * on to the previous handler. They run on a separate stack, and leave by siglongjmp(). */
#include "rule/guard.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { STACK_SIZE = 1 << 16, FRAMES = 48, RETRY_NANOSECONDS = 5000000, MOST_RETRIES = 400, TIME_SIGNAL = SIGVTALRM };

static const struct {
    int number;
    const char *text;
} SIGNALS[] = {
    {SIGSEGV, "crashed: segmentation fault (SIGSEGV)"},
    {SIGBUS, "crashed: bus error (SIGBUS)"},
    {SIGFPE, "crashed: arithmetic fault (SIGFPE)"},
    {SIGILL, "crashed: illegal instruction (SIGILL)"},
    {SIGABRT, "gave up: abort() or a failed assertion (SIGABRT)"},
};
enum { SIGNAL_COUNT = sizeof SIGNALS / sizeof *SIGNALS };

static const char *const ALLOCATOR[] = {"malloc",        "calloc",         "realloc",  "reallocarray", "free",
                                        "aligned_alloc", "posix_memalign", "memalign", "valloc"};
enum { ALLOCATOR_COUNT = sizeof ALLOCATOR / sizeof *ALLOCATOR };

/* Of the process: signal handlers are. `active` is only set in the thread that is inside a guarded call. */
static struct {
    bool ready;
    struct sigaction before[SIGNAL_COUNT];
    timer_t timer;
    double seconds;
    void *program, *library;          /* where the program's own code and the C library's are loaded */
    void *allocator[ALLOCATOR_COUNT]; /* addresses of those functions */
} guard = {.seconds = 60};
static _Thread_local sigjmp_buf leave;
static _Thread_local volatile sig_atomic_t active, retries;
static _Alignas(16) char alternative_stack[STACK_SIZE];

void assay_guard_set_seconds(double seconds)
{
    guard.seconds = seconds;
}

typedef enum place { IN_MODULE, IN_PROGRAM, IN_ALLOCATOR } place;

static bool is_allocator(const void *function)
{
    for (size_t i = 0; function && i < ALLOCATOR_COUNT; i++)
        if (guard.allocator[i] == function)
            return true;
    return false;
}

/* Where the signal struck, by the callers from there up to the first function of a module. The frames before are the
 * handler's own. Libraries in between (memcpy, strlen) count as what called them. */
static place place_of(const void *at)
{
    void *frame[FRAMES];
    int count = backtrace(frame, FRAMES), from = 0;
    place found = IN_MODULE;
    while (from < count && frame[from] != at)
        from++;
    for (int i = from < count ? from : 0; i < count; i++) {
        Dl_info info;
        if (!dladdr((char *)frame[i] - (i > from), &info))
            continue;
        if (is_allocator(info.dli_saddr))
            return IN_ALLOCATOR;
        if (info.dli_fbase == guard.program && from < count)
            found = IN_PROGRAM;
        else if (info.dli_fbase != guard.library && from < count)
            return found;
    }
    return found;
}

static const void *address_of(const void *context)
{
#if defined(__x86_64__)
    return (const void *)(uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (const void *)(uintptr_t)((const ucontext_t *)context)->uc_mcontext.pc;
#else
    (void)context;
    return NULL;
#endif
}

static void arm(double seconds)
{
    double whole = seconds < 1e9 ? (double)(time_t)seconds : 1e9;
    struct itimerspec limit = {.it_value = {.tv_sec = (time_t)whole, .tv_nsec = (long)((seconds - whole) * 1e9)}};
    if (seconds >= 1e9)
        limit.it_value.tv_nsec = 0;
    timer_settime(guard.timer, 0, &limit, NULL);
}

static void on_time(int number, siginfo_t *info, void *context)
{
    (void)number;
    if (!active || info->si_code != SI_TIMER)
        return;
    /* Leaving the allocator or the program's own functions half done would damage them: wait until the module is back.
     */
    place where = place_of(address_of(context));
    if (where == IN_ALLOCATOR || (where == IN_PROGRAM && retries < MOST_RETRIES)) {
        retries++;
        arm(RETRY_NANOSECONDS * 1e-9);
        return;
    }
    active = 0;
    siglongjmp(leave, SIGNAL_COUNT + 1);
}

static void pass_on(int i)
{
    sigaction(SIGNALS[i].number, &guard.before[i], NULL);
    if (SIGNALS[i].number == SIGABRT)
        raise(SIGABRT); /* the others come again when the instruction is repeated */
}

static void on_crash(int number, siginfo_t *info, void *context)
{
    static const char damaged[] =
        "assay: error: a rule of a shared object has damaged the allocator's memory: the program "
        "cannot go on\n";
    (void)info;
    int i = 0;
    while (i < SIGNAL_COUNT - 1 && SIGNALS[i].number != number)
        i++;
    if (!active) {
        pass_on(i);
        return;
    }
    active = 0;
    if (place_of(address_of(context)) == IN_ALLOCATOR) {
        if (write(STDERR_FILENO, damaged, sizeof damaged - 1) < 0) {
            /* nothing is left to be said */
        }
        pass_on(i);
        return;
    }
    siglongjmp(leave, i + 1);
}

static int get_ready(assay_error *err)
{
    void *warm[2];
    Dl_info own;
    stack_t stack = {.ss_sp = alternative_stack, .ss_size = sizeof alternative_stack};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = TIME_SIGNAL};
    event.sigev_notify_thread_id = gettid();
    backtrace(warm, 2); /* loads what it needs now: in a handler that would be too late */
    if (dladdr((void *)(uintptr_t)assay_guard_call, &own))
        guard.program = own.dli_fbase;
    for (size_t i = 0; i < ALLOCATOR_COUNT; i++)
        guard.allocator[i] = dlsym(RTLD_DEFAULT, ALLOCATOR[i]);
    if (dladdr(dlsym(RTLD_DEFAULT, "strlen"), &own))
        guard.library = own.dli_fbase;
    /* SA_NODEFER: the handler leaves by a jump, which must not leave the signal blocked. */
    struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    struct sigaction timer = {.sa_sigaction = on_time, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    if (sigaltstack(&stack, NULL) || timer_create(CLOCK_MONOTONIC, &event, &guard.timer) ||
        sigaction(TIME_SIGNAL, &timer, NULL))
        return assay_fail(err, ASSAY_EINTERNAL, "signals of rules of one's own cannot be caught on this system");
    for (int i = 0; i < SIGNAL_COUNT; i++)
        if (sigaction(SIGNALS[i].number, &action, &guard.before[i]))
            return assay_fail(err, ASSAY_EINTERNAL, "signals of rules of one's own cannot be caught on this system");
    guard.ready = true;
    return ASSAY_OK;
}

int assay_guard_call(void (*function)(void *), void *context, assay_error *err)
{
    if (active) {
        function(context);
        return ASSAY_OK;
    }
    int status = guard.ready ? ASSAY_OK : get_ready(err);
    if (status)
        return status;
    int struck = sigsetjmp(leave, 0);
    if (struck == 0) {
        retries = 0;
        active = 1;
        if (guard.seconds > 0)
            arm(guard.seconds);
        function(context);
        active = 0;
    }
    if (guard.seconds > 0)
        arm(0);
    if (struck == 0)
        return ASSAY_OK;
    return struck > SIGNAL_COUNT ? assay_fail(err, ASSAY_EINTERNAL, "did not come back within %g s", guard.seconds)
                                 : assay_fail(err, ASSAY_EINTERNAL, "%s", SIGNALS[struck - 1].text);
}
