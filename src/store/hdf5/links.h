/* links.h - the links of a group that has many. */
#ifndef ASSAY_STORE_HDF5_LINKS_H
#define ASSAY_STORE_HDF5_LINKS_H

#include "store/hdf5/object.h"

/* Visits the links that lie in the fractal heap at `heap`, as the B-tree at `tree` lists them. */
int assay_h5_dense_links(const assay_h5 *file, uint64_t heap, uint64_t tree, assay_h5_link_visit *visit, void *context,
                         assay_error *err);

#endif
