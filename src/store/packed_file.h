/* packed_file.h - the file that packed trials lie in: one of the system's, or an object in S3 that is read by ranges.
 * Inside storage only. */
#ifndef ASSAY_STORE_PACKED_FILE_H
#define ASSAY_STORE_PACKED_FILE_H

#include "store/backend.h"
#include "store/hdf5/file.h"

typedef struct packed_file {
    int number;               /* the system's; -1: none */
    assay_store *under;       /* of an object: the storage that it lies in, */
    assay_store_file *object; /* and the object as a file of that */
    const char *where;        /* the trial's location, for messages; borrowed */
} packed_file;

/* Opens the file or object of that name, and fills the reader that *h5 opens with. Close it also after a failure:
 * ASSAY_EIO, ASSAY_ENOMEM, and those of a storage. */
typedef int packed_file_open(packed_file *file, const char *name, assay_h5 *h5, assay_error *err);
packed_file_open packed_file_of_system;
/* The name is "BUCKET/KEY". ASSAY_ENOTFOUND without a text: there is no such object. */
packed_file_open packed_file_of_s3;
void packed_file_close(packed_file *file);

#endif
