/* hdf5_reason.c - see hdf5_reason.h. */
#include "hdf5/hdf5_reason.h"

#include <hdf5.h>
#include <stdio.h>
#include <string.h>

void assay_hdf5_quiet(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

static herr_t take_reason(unsigned n, const H5E_error2_t *error, void *data)
{
    *(const char **)data = error->desc;
    return 1; /* the first is the innermost */
}

const char *assay_hdf5_reason(char *room, size_t size)
{
    const char *reason = NULL;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_reason, &reason);
    snprintf(room, size, "%s", reason ? reason : "no reason given");
    room[strcspn(room, "\n")] = '\0';
    return room;
}
