/* timeouts.c - see wait.h. */
#include "hook/wait.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/fault.h"
#include "base/file.h"
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

void hook_init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC); /* dates may jump */
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

void hook_wait_init(assay_hook *hook)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    hook->forks = atomic_load(&forks);
    hook_init_condition(&hook->done);
    hook_init_condition(&hook->work);
}

bool hook_forked(const assay_hook *hook)
{
    return hook->forks != atomic_load_explicit(&forks, memory_order_relaxed);
}

struct timespec hook_moment_after(int64_t seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)seconds;
    return until;
}

bool hook_wait_for_disk(assay_hook *hook)
{
    const uint64_t before = hook->pulse;
    const struct timespec until = hook_moment_after(hook->config.stall);
    return pthread_cond_timedwait(&hook->done, &hook->lock, &until) != ETIMEDOUT || hook->pulse != before;
}

bool hook_wait(assay_hook *hook)
{
    char text[120];
    if (hook_wait_for_disk(hook))
        return true;
    if (!hook->stalled) {
        hook->stalled = true;
        snprintf(text, sizeof text, "the disk took nothing for %lld s: tensors are dropped until it does",
                 (long long)hook->config.stall);
        hook_failed(hook, ASSAY_EIO, text);
    }
    return false;
}

int hook_start_thread(pthread_t *thread, void *(*run)(void *), void *argument)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

/* A file that is read by a thread of its own. Whoever of the two leaves last frees it. */
typedef struct reading {
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool ended, left; /* by the thread; by who waited for it */
    char *path;
    size_t ceiling;
    assay_buf content;
    assay_error err;
    int status;
} reading;

static void free_reading(reading *r)
{
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->done);
    assay_buf_release(&r->content);
    free(r->path);
    free(r);
}

static void *read_file(void *argument)
{
    reading *r = argument;
    const int status = assay_file_read(r->path, r->ceiling, &r->content, &r->err);
    pthread_mutex_lock(&r->lock);
    r->status = status;
    r->ended = true;
    const bool left = r->left;
    pthread_cond_signal(&r->done);
    pthread_mutex_unlock(&r->lock);
    if (left)
        free_reading(r);
    return NULL;
}

/* Waits for the thread. False: it has not ended, and frees what it reads into when it does. */
static bool has_read(reading *r)
{
    const struct timespec until = hook_moment_after(HOOK_STALL_SECONDS);
    pthread_mutex_lock(&r->lock);
    while (!r->ended && pthread_cond_timedwait(&r->done, &r->lock, &until) != ETIMEDOUT) {
    }
    const bool ended = r->ended;
    r->left = !ended;
    pthread_mutex_unlock(&r->lock);
    return ended;
}

int hook_read_file(const char *path, size_t ceiling, assay_buf *out, assay_error *err)
{
    pthread_t thread;
    reading *r = assay_alloc_zeroed(1, sizeof *r);
    char *copy = assay_copy_text(path);
    if (!r || !copy) {
        free(r);
        free(copy);
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", path);
    }
    pthread_mutex_init(&r->lock, NULL);
    hook_init_condition(&r->done);
    assay_buf_init(&r->content, ceiling);
    r->path = copy;
    r->ceiling = ceiling;
    if (hook_start_thread(&thread, read_file, r) != 0) {
        free_reading(r);
        return assay_fail(err, ASSAY_ENOMEM, "%s: no thread to read it", path);
    }
    if (!has_read(r)) {
        pthread_detach(thread);
        return assay_fail(err, ASSAY_EIO, "%s: its disk did not answer for %d s", path, HOOK_STALL_SECONDS);
    }
    pthread_join(thread, NULL);
    int status = r->status;
    if (status < 0)
        assay_fail(err, status, "%s", r->err.text);
    else if (assay_put_bytes(out, r->content.data, r->content.size), assay_buf_status(out) != ASSAY_OK)
        status = assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", path);
    free_reading(r);
    return status;
}
