/* timeouts.c - see wait.h. */
#include "hook/wait.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "hook/internal.h"

static _Atomic unsigned forks; /* how often the process that this one came from was forked */

static void count_fork(void)
{
    atomic_fetch_add(&forks, 1);
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, count_fork);
}

void hook_wait_init(assay_hook *hook)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_condattr_t attributes;
    pthread_once(&once, watch_forks);
    hook->forks = atomic_load(&forks);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC); /* dates may jump */
    pthread_cond_init(&hook->done, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool hook_forked(const assay_hook *hook)
{
    return hook->forks != atomic_load_explicit(&forks, memory_order_relaxed);
}

bool hook_wait(assay_hook *hook)
{
    uint64_t before = hook->pulse;
    struct timespec until;
    char text[120];
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)hook->config.stall;
    if (pthread_cond_timedwait(&hook->done, &hook->lock, &until) != ETIMEDOUT || hook->pulse != before)
        return true;
    if (!hook->stalled) {
        hook->stalled = true;
        snprintf(text, sizeof text, "the disk took nothing for %lld s: tensors are dropped until it does",
                 (long long)hook->config.stall);
        hook_failed(hook, ASSAY_EIO, text);
    }
    return false;
}

void hook_hold_signals(sigset_t *before)
{
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &held, before);
}

void hook_release_signals(const sigset_t *before)
{
    static const struct timespec at_once;
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGXFSZ);
    if (!sigismember(before, SIGXFSZ))
        while (sigtimedwait(&held, NULL, &at_once) > 0) {
        }
    pthread_sigmask(SIG_SETMASK, before, NULL);
}
