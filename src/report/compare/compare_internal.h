/* compare_internal.h - the parts of a comparison, one file each. */
#pragma once

#include "base/fault.h"
#include "report/compare/comparison.h"
#include "report/model/report_model.h"

/* Fill the parts of a comparison whose `trials`, `baseline`, `tolerance` and `trial` are set. 0 or ASSAY_ENOMEM. */
int compare_groups(assay_comparison *c);
int compare_losses(assay_comparison *c);
int compare_tensors(assay_comparison *c);
int compare_classes(assay_comparison *c);
int compare_outliers(assay_comparison *c); /* after the others */
int compare_odd(assay_comparison *c);      /* after the outliers */
int compare_settings(assay_comparison *c); /* after the odd ones */
int compare_answer(assay_comparison *c);   /* last of all */

/* printf into memory of its own; NULL without memory. */
char *compare_text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Room for one more item in *list of `count` items of `size` bytes; NULL without memory. */
static inline void *compare_one_more(void *list, size_t count, size_t size)
{
    if (count & (count - 1) || (count > 0 && count < 8))
        return list;
    size_t room = count < 8 ? 8 : count * 2;
    return assay_realloc_array(list, room, size);
}
