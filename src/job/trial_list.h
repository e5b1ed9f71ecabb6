/* trial_list.h - the file of --trials-from: one trial per line, as [NAME=]PATH or a pattern. */
#pragma once

#include <stddef.h>

#include <assay/status.h>

typedef struct assay_trial_list {
    const char **line; /* [count] without the blanks around them, none of them empty; owned */
    size_t count;
    char *text; /* that they lie in; owned */
} assay_trial_list;

/* Reads such a file: blank lines and those that begin with # are left out. `name` is for messages. ASSAY_EUSAGE: it is
 * no text; ASSAY_ENOMEM. Release with assay_trial_list_release(), also after a failure. */
int assay_trial_list_read(const char *name, const void *text, size_t size, assay_trial_list *out, assay_error *err);
void assay_trial_list_release(assay_trial_list *list);
