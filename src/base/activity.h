/* activity.h - a sign of life on a terminal while something takes long.
 *
 * After a second and a half, one line on standard error says how far the work is. A thread rewrites it twice a second,
 * so it goes on while the program waits for one slow read, a server or a computation. The line makes room for anything
 * else that is said. It is off unless it is switched on: a library says nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Switches it on (where standard error is a terminal) or off, with all counts at 0. From one thread. */
void assay_activity_show(bool on);
/* So many more files were opened, and so many more bytes read. Cheap; from any thread. */
void assay_activity_add(uint64_t files, uint64_t bytes);
/* So many more names came of a listing. Cheap; from any thread. */
void assay_activity_list(uint64_t names);
/* Takes the line away and holds it back until the matching hold(false): something else is said meanwhile. From any
 * thread. */
void assay_activity_hold(bool held);

/* How far work is whose end is known. */
typedef struct assay_activity_work {
    uint64_t steps, all_steps; /* all_steps 0: the work is not counted in steps */
    uint64_t bytes, all_bytes;
    double start; /* by assay_clock_seconds() */
} assay_activity_work;

/* The line tells this until the next call. NULL: the end is not known any more. */
void assay_activity_tell(const assay_activity_work *work);
/* The work as text, such as "3 of 40 steps, 1.2 of 16 GB read, 310 MB/s, 48 s left", in at most `columns` columns.
 * `line` has room for columns + 1. */
void assay_activity_put_work(const assay_activity_work *work, double time, char *line, size_t columns);
