/* zip.h - the directory of a zip file: which entries it has, and where their bytes lie. Inside this folder only.
 *
 * Writers of checkpoints put sizes in the central directory alone, so local headers are only compared with it. */
#pragma once

#include "base/view.h"
#include "base/dict.h"

typedef enum assay_zip_method { ASSAY_ZIP_STORED = 0, ASSAY_ZIP_DEFLATED = 8, ASSAY_ZIP_ZSTD = 93 } assay_zip_method;

typedef struct assay_zip_entry {
    uint64_t header;     /* offset of its local header in the file */
    uint64_t data;       /* of its bytes */
    uint64_t compressed; /* bytes in the file */
    uint64_t size;       /* bytes once inflated */
    uint32_t crc;        /* CRC-32 of the inflated bytes; 0: its writer did not compute it */
    uint16_t method;     /* assay_zip_method */
} assay_zip_entry;

typedef struct assay_zip {
    assay_dict *names;      /* an entry's number is its name's */
    assay_zip_entry *entry; /* [dict count], in the order of the directory */
    uint64_t behind;        /* bytes of the file behind its end record and the comment of that: no reader needs them */
} assay_zip;

/* Reads the directory of a file of `size` bytes through `read`, and checks every entry against its local header.
 * ASSAY_EFORMAT: the directory cannot be relied on. ASSAY_EUNSUPPORTED: encrypted, or a
 * method that is not read. ASSAY_EIO,
 * ASSAY_ENOMEM. Messages begin with `path` and name the offset. Release `out`, which is empty after a failure. */
int assay_zip_open(assay_view_read *read, void *context, uint64_t size, const char *path, assay_zip *out,
                   assay_error *err);
void assay_zip_release(assay_zip *zip);
