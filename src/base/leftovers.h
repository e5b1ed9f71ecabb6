/* leftovers.h - what a process has to remove when a signal ends it: files that are not complete, directories that are still
 * empty. No call is collective. */
#pragma once

/* Notes a path, of which a copy is kept, and returns its number; -1 where there is no room for one more, or no memory. */
int assay_leftover_add(const char *path);
/* It is whole, or gone: it stays as it is. -1 is ignored. */
void assay_leftover_drop(int number);
/* Removes all that were noted: files, and directories that are empty. Safe in a signal handler. */
void assay_leftovers_remove(void);
