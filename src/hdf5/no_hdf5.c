/* no_hdf5.c - replaces hdf5_file.c in builds without parallel HDF5: every request fails and says so. */
#include "hdf5/hdf5_file.h"

bool assay_hdf5_available(void)
{
    return false;
}

const char *assay_hdf5_version(void)
{
    return NULL;
}

void assay_hdf5_prepare(void)
{
}

static int missing(assay_error *err)
{
    return assay_fail(err, ASSAY_EUNSUPPORTED,
                      "this build has no parallel HDF5: build assay with ASSAY_WITH_HDF5 and MPI");
}

int assay_hdf5_create(assay_comm *comm, const char *path, const assay_hdf5_hints *hints, assay_hdf5_file **out,
                      assay_error *err)
{
    return assay_fail(err, ASSAY_EUNSUPPORTED,
                      "%s: this build has no parallel HDF5: build assay with ASSAY_WITH_HDF5 and MPI", path);
}

/* No file can have been created: none of the following is reached. */
const char *assay_hdf5_temporary(const assay_hdf5_file *file)
{
    return "";
}

int assay_hdf5_group(assay_hdf5_file *file, const char *name, assay_error *err)
{
    return missing(err);
}

int assay_hdf5_table_new(assay_hdf5_file *file, const char *name, const assay_hdf5_layout *layout,
                         assay_hdf5_table **out, assay_error *err)
{
    return missing(err);
}

int assay_hdf5_write(assay_hdf5_table *table, int status, uint64_t first, uint64_t count, const void *rows,
                     assay_error *err)
{
    return missing(err);
}

void assay_hdf5_table_close(assay_hdf5_table *table)
{
}

int assay_hdf5_put_text(assay_hdf5_file *file, const char *object, const char *name, const char *text, assay_error *err)
{
    return missing(err);
}

int assay_hdf5_put_number(assay_hdf5_file *file, const char *object, const char *name, uint64_t value, assay_error *err)
{
    return missing(err);
}

int assay_hdf5_finish(assay_hdf5_file *file, assay_error *err)
{
    return missing(err);
}

int assay_hdf5_rename(assay_hdf5_file *file, assay_error *err)
{
    return missing(err);
}

void assay_hdf5_abandon(assay_hdf5_file *file)
{
}
