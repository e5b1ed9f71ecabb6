/* wait.h - what keeps the hook from stopping a training: waits that end, children that are left alone, signals of
 * writing. */
#ifndef ASSAY_HOOK_WAIT_H
#define ASSAY_HOOK_WAIT_H

#include <signal.h>
#include <stdbool.h>

#include <assay/hook.h>

/* Makes hook->done, whose waits have a limit. */
void hook_wait_init(assay_hook *hook);
/* Waits until the writer has done something. False when it did nothing for `stall_seconds`: the disk does not answer.
 * That is noted once, and tensors are dropped until it does. The caller holds the lock. */
bool hook_wait(assay_hook *hook);

/* True in a child of the process that opened the hook, which has no writer: nothing is done there. */
bool hook_forked(const assay_hook *hook);

/* Holds back SIGXFSZ in this thread while it writes, so that a limit of file sizes is a failure like others. The second
 * puts back what the first has found. */
void hook_hold_signals(sigset_t *before);
void hook_release_signals(const sigset_t *before);

#endif
