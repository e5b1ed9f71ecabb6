/* machine.h - what this machine does at one instant, from /proc and the GPUs' library: as lines of a profiler's file of
 * system metrics (docs/profiler.md). */
#pragma once

#include <stdint.h>

#include <assay/pack.h>

#include "hook/gpus.h"

enum { MACHINE_CORES_MOST = 4096 };

/* Counters as they were at the last instant: use is what they grew by. */
typedef struct hook_machine {
    hook_gpus *gpus;  /* NULL: none; borrowed */
    const char *proc; /* directory of the kernel's counters; NULL: /proc; borrowed */
    bool before;      /* there was an instant before */
    double time;      /* of it, seconds since 1970 */
    struct {
        uint64_t all, idle, waiting;
    } core[MACHINE_CORES_MOST];
    uint64_t received, sent;            /* bytes */
    uint64_t reads, writes, operations; /* bytes, bytes, requests of all disks */
} hook_machine;

/* Appends the lines of this instant; the first one has no rates. */
void hook_machine_sample(hook_machine *machine, const char *node, double time, assay_buf *out);
