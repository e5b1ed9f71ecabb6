/* companions.c - see companions.h. */
#include "format/checkpoint/companions.h"

#include <stdlib.h>

#include "base/fault.h"
#include "base/search.h"

static int compare(const void *a, const void *b)
{
    const assay_companion *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return assay_worker_compare(x->name, y->name);
}

int assay_companions_list(const assay_trial_options *options, const assay_names *names, assay_companions *out)
{
    *out = (assay_companions){.list = assay_alloc((names->count + 1) * sizeof *out->list)};
    if (!out->list)
        return ASSAY_ENOMEM;
    for (size_t i = 0; i < names->count; i++) {
        assay_companion one = {.name = names->name[i]};
        if (assay_ckpt_goes_beside(options, one.name, &one.step))
            out->list[out->count++] = one;
    }
    qsort(out->list, out->count, sizeof *out->list, compare);
    return ASSAY_OK;
}

void assay_companions_release(assay_companions *of)
{
    free(of->list);
    *of = (assay_companions){0};
}

size_t assay_companions_find(const assay_companions *of, int64_t step)
{
    size_t low = 0;
    ASSAY_SEARCH(low, of->count, of->list[low].step < step);
    return low;
}
