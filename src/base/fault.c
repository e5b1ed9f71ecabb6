/* fault.c - failures on demand, and the allocators they pass through. */
#include "base/fault.h"

#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* Counters are armed by main before threads start, and then only `calls` changes. */
typedef struct fault_counter {
    atomic_ullong calls;
    unsigned long long first; /* the call that fails; 0: none */
    bool onwards;             /* all later calls fail as well */
} fault_counter;

static const char *const KIND_NAMES[ASSAY_FAULT_KINDS] = {"alloc", "read",  "write",  "slow",
                                                          "cold",  "short", "nowait", "ahead"};
static fault_counter counters[ASSAY_FAULT_KINDS];
static bool armed;

/* A test of restarts names at most a few points; 32 is plenty, and a longer list is refused as a whole. */
enum { DEATHS = 32, POINT_LENGTH = 32 };
static char death[DEATHS][POINT_LENGTH]; /* points; "" ends the list */

/* Digits at *text as a number; *text moves behind them. False without digits and beyond ULLONG_MAX. */
static bool take_number(const char **text, unsigned long long *out)
{
    unsigned long long value = 0;
    const char *at = *text;
    for (; *at >= '0' && *at <= '9'; at++) {
        unsigned digit = (unsigned)(*at - '0');
        if (value > (ULLONG_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (at == *text)
        return false;
    *text = at;
    *out = value;
    return true;
}

static int take_kind(const char **text)
{
    for (int kind = 0; kind < ASSAY_FAULT_KINDS; kind++) {
        size_t length = strlen(KIND_NAMES[kind]);
        if (strncmp(*text, KIND_NAMES[kind], length) == 0 && (*text)[length] == ':') {
            *text += length + 1;
            return kind;
        }
    }
    return -1;
}

/* Reads the POINT of die:POINT. False when it is empty or too long, or when there are too many. */
static bool take_point(const char **text, char point[POINT_LENGTH])
{
    size_t length = strspn(*text, "abcdefghijklmnopqrstuvwxyz-");
    if (length == 0 || length >= POINT_LENGTH)
        return false;
    memcpy(point, *text, length);
    point[length] = '\0';
    *text += length;
    return true;
}

static bool add_death(const char *point)
{
    size_t i = 0;
    while (i < DEATHS && death[i][0])
        i++;
    if (i == DEATHS)
        return false;
    memcpy(death[i], point, POINT_LENGTH);
    return true;
}

/* Reads one KIND:N[+][@rankR], or die:POINT[@rankR], and moves *text behind it. */
static bool take_fault(const char **text, int rank)
{
    unsigned long long number = 0, only_rank = 0;
    char point[POINT_LENGTH] = "";
    int kind = -1;
    if (strncmp(*text, "die:", 4) == 0) {
        *text += 4;
        if (!take_point(text, point))
            return false;
    } else {
        kind = take_kind(text);
        if (kind < 0 || !take_number(text, &number) || number == 0)
            return false;
    }
    bool onwards = kind >= 0 && **text == '+', here = true;
    *text += onwards;
    if (strncmp(*text, "@rank", 5) == 0) {
        *text += 5;
        if (!take_number(text, &only_rank))
            return false;
        here = rank >= 0 && only_rank == (unsigned long long)rank;
    }
    if (here && kind < 0)
        return add_death(point);
    if (here) {
        counters[kind].first = number;
        counters[kind].onwards = onwards;
        armed = true;
    }
    return true;
}

/* Set once and never cleared but by assay_fault_arm(): a process that was refused memory once writes no more files. */
static atomic_bool refused; /* memory, at any time */

static void disarm(void)
{
    armed = false;
    atomic_store(&refused, false);
    memset(death, 0, sizeof death);
    for (int kind = 0; kind < ASSAY_FAULT_KINDS; kind++) {
        atomic_store(&counters[kind].calls, 0);
        counters[kind].first = 0;
        counters[kind].onwards = false;
    }
}

void assay_fault_arm(int rank)
{
    const char *text = getenv("ASSAY_FAULT");
    disarm();
    while (text && *text) {
        /* One bad item makes all void: a test that believes to inject a fault and does not would prove nothing. */
        if (!take_fault(&text, rank) || (*text != ',' && *text != '\0')) {
            fprintf(
                stderr,
                "assay: warning: ASSAY_FAULT is ignored: expected alloc:N, read:N, write:N, slow:N, cold:N, short:N "
                "or nowait:N, each with an optional + and @rankR, or die:POINT, separated by commas\n");
            disarm();
            return;
        }
        text += *text == ',';
    }
}

bool assay_fault_now(assay_fault_kind kind)
{
    if (!armed)
        return false;
    fault_counter *c = &counters[kind];
    if (c->first == 0)
        return false;
    /* Threads may race for a number; each gets one of its own, so exactly one of them is the N-th. */
    unsigned long long call = atomic_fetch_add(&c->calls, 1) + 1;
    return c->onwards ? call >= c->first : call == c->first;
}

void assay_fault_die(const char *point)
{
    for (size_t i = 0; i < DEATHS && death[i][0]; i++) {
        if (strcmp(death[i], point) == 0) {
            fprintf(stderr, "assay: dies at %s\n", point);
            /* SIGKILL, not exit(): no handler and no buffer may run, as when a node dies. */
            raise(SIGKILL);
        }
    }
}

void assay_fault_wait(void)
{
    unsigned long long milliseconds = armed ? counters[ASSAY_FAULT_SLOW].first : 0;
    if (milliseconds == 0)
        return;
    struct timespec wait = {(time_t)(milliseconds / 1000), (long)(milliseconds % 1000) * 1000000};
    nanosleep(&wait, NULL);
}

bool assay_alloc_refused(void)
{
    return atomic_load_explicit(&refused, memory_order_relaxed);
}

void *assay_alloc_note(void *memory)
{
    if (!memory)
        atomic_store_explicit(&refused, true, memory_order_relaxed);
    return memory;
}

void *assay_alloc(size_t size)
{
    return assay_alloc_note(assay_fault_now(ASSAY_FAULT_ALLOC) ? NULL : malloc(size ? size : 1));
}

void *assay_alloc_zeroed(size_t count, size_t size)
{
    size_t bytes;
    /* An overflow is refused without being noted: the size came from bytes, and memory did not run out. */
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    return assay_alloc_note(assay_fault_now(ASSAY_FAULT_ALLOC) ? NULL : calloc(bytes ? bytes : 1, 1));
}

void *assay_realloc_array(void *old, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    return assay_alloc_note(assay_fault_now(ASSAY_FAULT_ALLOC) ? NULL : realloc(old, bytes ? bytes : 1));
}

char *assay_get_copy(assay_cursor *in)
{
    size_t length;
    const char *text = assay_get_text(in, &length);
    return assay_copy_bytes_as_text(text, length);
}

char *assay_copy_bytes_as_text(const char *bytes, size_t length)
{
    if (length == SIZE_MAX)
        return NULL;
    char *copy = assay_alloc(length + 1);
    if (!copy)
        return NULL;
    if (length)
        memcpy(copy, bytes, length);
    copy[length] = '\0';
    return copy;
}

char *assay_copy_text(const char *text)
{
    return assay_copy_bytes_as_text(text, strlen(text));
}
