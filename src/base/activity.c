/* activity.c - see activity.h.
 *
 * The counters are atomic, everything else is under one lock. The thread draws with the lock held, so that hold()
 * returns only when nothing is being drawn. A child made by fork() has no such thread, and is silent. */
#include "base/activity.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* Seconds. Commands that end sooner than a second and a half show nothing; two lines a second are as many as can be
 * read. */
#define FIRST_AFTER 1.5
#define EVERY       0.5

enum { LEAST = 59, MOST = 79 /* columns of the line: one less than the terminal has, which would break it */ };

/* `on` is what every counting call asks first: without a terminal each costs one relaxed load. The counters have no
 * order among each other, since the line is only to be about right. */
static _Atomic bool on;
static _Atomic uint64_t files, bytes, names;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    pthread_t thread;
    int shown; /* columns of the line that is there; 0: none is */
    /* `knows_end`: `work` is valid, and the line shows it instead of the counters. `forks_safely`: the handlers of
     * fork() are in place; they cannot be taken away again, so they are put there once. */
    bool knows_end, forks_safely;
    /* `held` counts, because messages nest: the pager holds the line back while a warning within it does so too. */
    unsigned held;
    double start, next;
    assay_activity_work work;
} now = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};

/* A number of bytes in the largest unit of which there is one. */
static void put_size(double size, char *text, size_t room)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB"};
    unsigned unit = 0;
    for (size /= 1e3; size >= 999.5 && unit < 4; unit++)
        size /= 1e3;
    snprintf(text, room, "%.3g %s", size, units[unit]);
}

void assay_activity_put_work(const assay_activity_work *work, double time, char *line, size_t columns)
{
    char steps[64] = "", done[32], all[32], rate[32], left[64];
    const uint64_t bytes_done = work->bytes < work->all_bytes ? work->bytes : work->all_bytes; /* some is read twice */
    const double seconds = time - work->start, speed = seconds > 0 ? (double)bytes_done / seconds : 0;
    const double wait = speed > 0 ? (double)(work->all_bytes - bytes_done) / speed : 0;
    if (work->all_steps > 0)
        snprintf(steps, sizeof steps, "%" PRIu64 " of %" PRIu64 " steps, ", work->steps, work->all_steps);
    put_size((double)bytes_done, done, sizeof done);
    put_size((double)work->all_bytes, all, sizeof all);
    put_size(speed, rate, sizeof rate);
    if (speed == 0)
        snprintf(left, sizeof left, "%.0f s so far", seconds);
    else if (wait < 600)
        snprintf(left, sizeof left, "%.0f s left", wait);
    else
        snprintf(left, sizeof left, "%.0f min left", wait / 60);
    char *unit = strchr(done, ' ');
    if (unit && strcmp(unit, strchr(all, ' ')) == 0)
        *unit = '\0'; /* "1.2 of 16 GB" */
    const int full = snprintf(line, columns + 1, "%s%s of %s read, %s/s, %s", steps, done, all, rate, left);
    if (full > (int)columns)
        snprintf(line, columns + 1, "%s%s of %s read, %s", steps, done, all, left);
}

/* The functions from here to in_child() are called with now.lock held, but for draw_on() and before_fork(), which
 * take it. */

static int columns(void)
{
    struct winsize size = {0};
    const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return !known || size.ws_col > MOST ? MOST : size.ws_col <= LEAST ? LEAST : size.ws_col - 1;
}

static void draw(double time)
{
    char line[512], size[32];
    const int wide = columns();
    const double seconds = time - now.start;
    const uint64_t opened = atomic_load(&files), listed = atomic_load(&names);
    int head = snprintf(line, sizeof line, "assay: ");
    if (now.knows_end)
        assay_activity_put_work(&now.work, time, line + head, (size_t)(wide - head));
    else if (opened > 0) {
        put_size((double)atomic_load(&bytes), size, sizeof size);
        snprintf(line + head, sizeof line - (size_t)head, "%" PRIu64 " file%s, %s read in %.0f s", opened,
                 opened == 1 ? "" : "s", size, seconds);
    } else if (listed > 0)
        snprintf(line + head, sizeof line - (size_t)head, "%" PRIu64 " names listed in %.0f s", listed, seconds);
    else
        snprintf(line + head, sizeof line - (size_t)head, "working for %.0f s", seconds);
    /* Padding to the full width wipes what a longer line before has left. */
    fprintf(stderr, "\r%-*.*s", wide, wide, line);
    now.shown = wide;
}

static void clear(void)
{
    if (now.shown > 0)
        fprintf(stderr, "\r%*s\r", now.shown, "");
    now.shown = 0;
}

static void *draw_on(void *unused)
{
    pthread_mutex_lock(&now.lock);
    while (atomic_load(&on)) {
        struct timespec until;
        /* The condition variable waits by the wall clock, its default. A clock that is set back delays one line, no
         * more. */
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += (long)(EVERY * 1e9);
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&now.ended, &now.lock, &until);
        const double time = assay_clock_seconds();
        if (atomic_load(&on) && now.held == 0 && time >= now.next)
            draw(time);
    }
    pthread_mutex_unlock(&now.lock);
    return NULL;
}

/* A child that is made while another thread holds the lock would never get it: fork() waits for the lock. */
static void before_fork(void)
{
    pthread_mutex_lock(&now.lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&now.lock);
}

static void in_child(void)
{
    atomic_store(&on, false);
    now.shown = 0;
    pthread_mutex_unlock(&now.lock);
}

static void start(void)
{
    sigset_t all, before;
    sigfillset(&all); /* signals are for the threads that do the work */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!now.forks_safely)
        now.forks_safely = pthread_atfork(before_fork, after_fork, in_child) == 0;
    atomic_store(&on, now.forks_safely && pthread_create(&now.thread, NULL, draw_on, NULL) == 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void assay_activity_show(bool wanted)
{
    pthread_mutex_lock(&now.lock);
    clear();
    const bool was = atomic_exchange(&on, false);
    pthread_cond_signal(&now.ended);
    pthread_mutex_unlock(&now.lock);
    /* The thread needs the lock to see that `on` is false, so nobody may join it with the lock held. */
    if (was)
        pthread_join(now.thread, NULL);
    if (!wanted || !isatty(STDERR_FILENO))
        return;
    atomic_store(&files, 0);
    atomic_store(&bytes, 0);
    atomic_store(&names, 0);
    pthread_mutex_lock(&now.lock);
    now.knows_end = false;
    now.start = assay_clock_seconds();
    now.next = now.start + FIRST_AFTER;
    start();
    pthread_mutex_unlock(&now.lock);
}

void assay_activity_add(uint64_t more_files, uint64_t more_bytes)
{
    if (!atomic_load_explicit(&on, memory_order_relaxed))
        return;
    atomic_fetch_add_explicit(&files, more_files, memory_order_relaxed);
    atomic_fetch_add_explicit(&bytes, more_bytes, memory_order_relaxed);
}

void assay_activity_list(uint64_t more_names)
{
    if (atomic_load_explicit(&on, memory_order_relaxed))
        atomic_fetch_add_explicit(&names, more_names, memory_order_relaxed);
}

void assay_activity_hold(bool held)
{
    pthread_mutex_lock(&now.lock);
    clear();
    now.held += held ? 1 : 0;
    /* A hold(false) too many leaves the count at 0. */
    now.held -= !held && now.held > 0 ? 1 : 0;
    pthread_mutex_unlock(&now.lock);
}

void assay_activity_tell(const assay_activity_work *work)
{
    pthread_mutex_lock(&now.lock);
    now.knows_end = work != NULL;
    if (work)
        now.work = *work;
    pthread_mutex_unlock(&now.lock);
}
