/* guard.h - calls foreign code so that a crash or a hang is a failure of that call alone.
 *
 * Caught: SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT (including assert) and stack overflow, in the thread that made the
 * call; and a call that takes longer than the limit. Not caught: exit(), crashes in threads that the code started, and
 * damage to the program's memory that shows later. A crash inside the allocator means that its memory is damaged: the
 * program then ends. */
#ifndef ASSAY_RULE_GUARD_H
#define ASSAY_RULE_GUARD_H

#include <assay/rule.h>

/* Seconds that one guarded call may take, by the clock; 0: any time. 60 unless set. */
void assay_guard_set_seconds(double seconds);

/* Calls function(context). ASSAY_OK when it came back; ASSAY_EINTERNAL when not, with *err like "crashed: segmentation
 * fault (SIGSEGV)" or "did not come back within 60 s". What it had allocated or locked stays so. Only the program's
 * first thread makes guarded calls; one inside another is part of it. */
int assay_guard_call(void (*function)(void *), void *context, assay_error *err);

/* Makes guarded ops out of those of a rule: each function of the rule runs under assay_guard_call(), and one that does
 * not come back gives the rule the status Error on that trial, on every rank alike. *out lives as long as the program,
 * like `inner` has to. ASSAY_ENOMEM. */
int assay_guard_rule(const assay_rule_ops *inner, const assay_rule_ops **out, assay_error *err);

#endif
