/* storage_no_hdf5.c - stands in for storage_hdf5.c in builds without parallel HDF5. */
#include "trial/storage_backend.h"

const assay_store_ops assay_store_hdf5 = {.scheme = "hdf5://"};
