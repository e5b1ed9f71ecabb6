/* fault.h - failures on demand, for tests.
 *
 * ASSAY_FAULT=KIND:N[@rankR][,...] makes the N-th (from 1) call of that kind fail once, on rank R or on every rank;
 * `KIND:N+` makes it fail from then on. Kinds that fail: alloc, read, write. Four more change how files are read but no
 * result: `cold` treats the bytes as not in memory, `short` reads half of what was asked for, `nowait` hides what is in
 * memory, `ahead` treats a small tensor as a large one (engine/map/lookahead.h). `slow:N[@rankR]` makes every chunk
 * take N milliseconds longer. `die:POINT[@rankR]` kills the process at that point by SIGKILL; docs/pilot.md has the
 * points. Without the variable a check costs one comparison. */
#pragma once

#include <assay/pack.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum assay_fault_kind {
    ASSAY_FAULT_ALLOC,
    ASSAY_FAULT_READ,
    ASSAY_FAULT_WRITE,
    ASSAY_FAULT_SLOW,
    ASSAY_FAULT_COLD,
    ASSAY_FAULT_SHORT,
    ASSAY_FAULT_NOWAIT,
    ASSAY_FAULT_AHEAD,
    ASSAY_FAULT_KINDS
} assay_fault_kind;

/* Reads ASSAY_FAULT for this rank, and forgets refusals of memory. Called once by main, before threads start. */
void assay_fault_arm(int rank);
/* True when this call has to fail. Thread-safe. */
bool assay_fault_now(assay_fault_kind kind);
/* Waits as slow:N asks for; a signal ends the wait. */
void assay_fault_wait(void);

/* Ends the process by SIGKILL, after a line on standard error, when a test asks for the death at this point. */
void assay_fault_die(const char *point);

/* malloc, calloc and realloc through the fault counter. Sizes of arrays are checked for overflow: NULL then.
 * A request of 0 bytes gives a valid pointer. Free with free(). */
void *assay_alloc(size_t size);
void *assay_alloc_zeroed(size_t count, size_t size);
void *assay_realloc_array(void *old, size_t count, size_t size);
/* True when one of these, or a mapping of heap.h, was ever refused to this process. A text that was made of many pieces
 * may then lack one: what writes files and standard output asks, and writes nothing. Thread-safe. */
bool assay_alloc_refused(void);
/* Notes the refusal when `memory` is NULL, and returns it: for memory that comes from elsewhere. */
void *assay_alloc_note(void *memory);
/* A copy that the caller frees; NULL without memory. */
char *assay_copy_text(const char *text);
char *assay_copy_bytes_as_text(const char *bytes, size_t length);
/* A copy of the text that assay_get_text() gives, which the caller frees: an empty one where the cursor has failed; NULL
 * without memory. */
char *assay_get_copy(assay_cursor *in);
