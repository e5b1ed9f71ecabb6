/* layout.c - see layout.h. */
#include "hook/layout.h"

#include <inttypes.h>
#include "base/fault.h"

static int check(const char *tensor, int ndim, const int64_t *shape, const assay_hook_layout *layout, assay_error *err)
{
    if (ndim > 0 && (!layout->global_shape || !layout->offset))
        return assay_fail(err, ASSAY_EUSAGE, "tensor %s: its layout has no global shape or no offset", tensor);
    for (int d = 0; d < ndim; d++) {
        const int64_t whole = layout->global_shape[d], from = layout->offset[d];
        if (from < 0 || from > whole || shape[d] > whole - from)
            return assay_fail(err, ASSAY_EUSAGE,
                              "tensor %s: a piece of %" PRId64 " from %" PRId64 " on leaves dimension %d, which has "
                              "%" PRId64,
                              tensor, shape[d], from, d, whole);
    }
    return layout->replica >= 0
               ? ASSAY_OK
               : assay_fail(err, ASSAY_EUSAGE, "tensor %s: replica %" PRId64 " is negative", tensor, layout->replica);
}

int hook_layout_note(hook_names *names, hook_name *name, int ndim, const int64_t *shape,
                     const assay_hook_layout *layout, assay_error *err)
{
    int status = check(name->text, ndim, shape, layout, err);
    if (status != ASSAY_OK || name->layout)
        return status;
    const size_t dims = (size_t)ndim;
    hook_layout *made = assay_alloc(sizeof *made + 3 * dims * sizeof *made->numbers);
    if (!made)
        return assay_fail(err, ASSAY_ENOMEM, "tensor %s: out of memory", name->text);
    *made = (hook_layout){layout->replica, layout->partial, ndim};
    for (size_t d = 0; d < dims; d++) {
        made->numbers[d] = shape[d];
        made->numbers[dims + d] = layout->global_shape[d];
        made->numbers[2 * dims + d] = layout->offset[d];
    }
    name->layout = made;
    names->version++;
    return ASSAY_OK;
}

static void put_numbers(const char *key, const int64_t *number, int count, assay_buf *out)
{
    assay_put_format(out, ", \"%s\": [", key);
    for (int d = 0; d < count; d++)
        assay_put_format(out, "%s%" PRId64, d ? ", " : "", number[d]);
    assay_put_u8(out, ']');
}

void hook_layout_put(const assay_hook_layout *layout, int ndim, assay_buf *out)
{
    put_numbers("global_shape", layout->global_shape, ndim, out);
    put_numbers("offset", layout->offset, ndim, out);
    assay_put_format(out, ", \"replica\": %" PRId64, layout->replica);
    if (layout->partial)
        assay_put_format(out, ", \"partial\": true");
}
