/* activity.h - a sign of life on a terminal while files are read, for work whose end is not known.
 *
 * Once it has taken a second and a half, one line on standard error says how many files and bytes there were so far. It
 * rewrites itself twice a second, and makes room for whatever else is said. Off unless it is switched on, and then in
 * that thread alone: a library says nothing, and neither do threads that read ahead. */
#ifndef ASSAY_BASE_ACTIVITY_H
#define ASSAY_BASE_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

/* Switches it on (where standard error is a terminal) or off, with all counts at 0. */
void assay_activity_show(bool on);
/* So many more files were opened, and so many more bytes read. Cheap. */
void assay_activity_add(uint64_t files, uint64_t bytes);
/* Holds it back for as long as something that knows the end tells how far it is; every hold(true) ends with a
 * hold(false). */
void assay_activity_hold(bool held);
/* Takes the line away: something else is about to be said. */
void assay_activity_clear(void);

#endif
