/* hdf5_reason.h - HDF5's own words for a failure. Only in builds with HDF5. */
#pragma once

#include <stddef.h>

/* HDF5's own words for the last failure, the innermost one, cut to fit; what it would print by itself is switched off
 * with the first call of assay_hdf5_quiet(). */
const char *assay_hdf5_reason(char *room, size_t size);
void assay_hdf5_quiet(void);
