/* process_view.h - one step as a rule's map sees it, laid out in the memory that the program shares with the rule's
 * process: written once there, and read in place. */
#pragma once

#include <assay/rule.h>

/* Measures of a rule, as it declared them: `count` of them. */
typedef struct assay_view_measures {
    const assay_measure *list;
    uint32_t count;
} assay_view_measures;

/* Lays out a view from `to` on, which has room for `room` bytes and is aligned to 8. Returns the bytes that it takes:
 * where they are more than `room`, nothing can be read from what was written. */
size_t assay_view_put(const assay_step_view *view, const assay_view_measures *measures, uint8_t *to, size_t room);

/* Room for the lists of a view that is read; zeroed before the first. */
typedef struct assay_view_lists {
    assay_slot_view *slot;
    assay_tensor_view *view;
    const assay_tensor_view **item;
    const assay_result **result; /* for each view, one for each measure and a NULL before them */
    assay_result *result_of;     /* all that there are */
    const char **text;           /* of results that are texts */
    uint32_t *number;            /* [measures + 1] 0, 1, 2, ... */
    size_t slots, items, views, results, measures, results_of, texts; /* rooms of the lists */
} assay_view_lists;

/* The view that lies at `from`, which it points into, as into the lists. Names are those of `trial`. 0 or ASSAY_ENOMEM.
 */
int assay_view_get(const uint8_t *from, const assay_trial *trial, const assay_view_measures *measures,
                   assay_view_lists *lists, assay_step_view *out);
/* Frees the lists: views that point into them are gone. */
void assay_view_lists_release(assay_view_lists *lists);
