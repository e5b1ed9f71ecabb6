/* jump_clock.c - a library for LD_PRELOAD: the clock of the day jumps by up to ten days, back and forth, at every look.
 * The clock that only runs (CLOCK_MONOTONIC) is let be, as it is where somebody sets the time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

static int64_t jump(void)
{
    static _Atomic uint64_t state = 88172645463325252u;
    uint64_t x = atomic_fetch_add(&state, 0x9e3779b97f4a7c15u);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    return (int64_t)((x ^ x >> 27) % 1728000) - 864000;
}

int clock_gettime(clockid_t clock, struct timespec *to)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, to);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        to->tv_sec += jump();
    return result;
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
