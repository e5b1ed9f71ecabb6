/* profile.h - profiler data of a training as it runs, in the files that docs/profiler.md describes:
 *   TRIAL/system/incremental/HOUR/SECONDS.NODE.json                    a thread of one hook a machine samples it
 *   TRIAL/framework/ID_pythontimeline.json.tmp, then, each minute,
 *   TRIAL/framework/pevents/HOUR/END_ID_pythontimeline.json            steps and phases of this worker
 * A thread beside the writer of tensors writes them, so that the training never waits for their disk; what cannot be
 * written is noted once. */
#pragma once

#include <stdint.h>

#include <assay/status.h>

typedef struct hook_profile hook_profile;

typedef struct hook_profile_options {
    const char *directory, *node; /* node NULL: the name of the host */
    int rank;
    int64_t interval; /* milliseconds between two samples of the machine; 0: it is not sampled */
    int64_t stall;    /* seconds that its end waits for a disk that takes nothing; 0: HOOK_STALL_SECONDS */
} hook_profile_options;

/* Starts it. NULL after a failure. */
hook_profile *hook_profile_new(const hook_profile_options *options, assay_error *err);
/* Ends it and frees it. The text of the first failure goes to `err`; 0 or its status. NULL is ignored. */
int hook_profile_end(hook_profile *profile, assay_error *err);

/* Microseconds since 1970, by a clock that does not jump. */
int64_t hook_profile_now(const hook_profile *profile);
/* A phase that began and has ended: "data", "forward", "backward" get the names that the reference has for them. */
void hook_profile_phase(hook_profile *profile, const char *name, int64_t begun, int64_t ended);
/* Anything else that had a time, in the row of a phase. */
void hook_profile_event(hook_profile *profile, const char *phase, const char *name, int64_t begun, int64_t ended);
/* A step begins in a mode ("TRAIN") with its number there; what was begun before ends. */
void hook_profile_step(hook_profile *profile, const char *mode, int64_t number);
void hook_profile_step_end(hook_profile *profile);
