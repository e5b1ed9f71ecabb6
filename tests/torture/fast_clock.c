/* fast_clock.c - a library for LD_PRELOAD: all clocks run FAST_CLOCK times as fast, and sleep is as much shorter, so that a
 * day passes in seconds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static const int64_t SECOND = 1000000000;

static int64_t factor(void)
{
    const char *text = getenv("FAST_CLOCK");
    const long long n = text ? atoll(text) : 1;
    return n > 0 ? n : 1;
}

/* Of processor time a second stays a second. */
static int64_t speed_of(clockid_t clock)
{
    return clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID ? 1 : factor();
}

int clock_gettime(clockid_t clock, struct timespec *to)
{
    static int (*real)(clockid_t, struct timespec *);
    static int64_t first[16]; /* where each clock stood when it was first asked */
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    const int result = real(clock, to);
    if (result != 0 || clock < 0 || (size_t)clock >= sizeof first / sizeof *first)
        return result;
    const int64_t now = to->tv_sec * SECOND + to->tv_nsec;
    if (first[clock] == 0)
        first[clock] = now;
    const int64_t fast = first[clock] + (now - first[clock]) * speed_of(clock);
    *to = (struct timespec){.tv_sec = fast / SECOND, .tv_nsec = fast % SECOND};
    return 0;
}

int gettimeofday(struct timeval *restrict to, void *restrict zone)
{
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    to->tv_sec = now.tv_sec;
    to->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *to)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to)
        *to = now.tv_sec;
    return now.tv_sec;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    static int (*real)(const struct timespec *, struct timespec *);
    if (!real)
        real = (int (*)(const struct timespec *, struct timespec *))dlsym(RTLD_NEXT, "nanosleep");
    const int64_t shorter = (wanted->tv_sec * SECOND + wanted->tv_nsec) / factor();
    const struct timespec real_time = {.tv_sec = shorter / SECOND, .tv_nsec = shorter % SECOND};
    return real(&real_time, left);
}
