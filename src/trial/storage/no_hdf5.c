/* no_hdf5.c - stands in for storage_hdf5.c in builds without parallel HDF5. */
#include "trial/storage/backend.h"

const assay_store_ops assay_store_hdf5 = {.scheme = "hdf5://"};
