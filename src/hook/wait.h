/* wait.h - what keeps the hook from stopping a training: waits that end, children that are left alone, threads that
 * take no signals. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <assay/hook.h>
#include <assay/pack.h>

enum { HOOK_STALL_SECONDS = 30 };

/* Makes hook->done and hook->work, whose waits have a limit. */
void hook_wait_init(assay_hook *hook);
/* Waits until the writer has done something, and says nothing. False when it did nothing for `stall_seconds`. The caller
 * holds the lock. */
bool hook_wait_for_disk(assay_hook *hook);
/* Waits until the writer has done something. False when it did nothing for `stall_seconds`: the disk does not answer.
 * That is noted once, and tensors are dropped until it does. The caller holds the lock. */
bool hook_wait(assay_hook *hook);

/* True in a child of the process that opened the hook, which has no writer: nothing is done there. */
bool hook_forked(const assay_hook *hook);

/* A condition whose waits with a limit go by a clock that does not jump. */
void hook_init_condition(pthread_cond_t *condition);
/* The moment so many seconds from now, by that clock. */
struct timespec hook_moment_after(int64_t seconds);
/* Starts a thread that takes no signals: they are the training's. 0, or the number of an error. */
int hook_start_thread(pthread_t *thread, void *(*run)(void *), void *argument);

/* Reads a file of at most `ceiling` bytes, and waits for its disk no longer than for any other: before the
 * configuration is known, HOOK_STALL_SECONDS. */
int hook_read_file(const char *path, size_t ceiling, assay_buf *out, assay_error *err);
