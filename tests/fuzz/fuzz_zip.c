/* Any bytes as a zip file: the entries of one that is taken lie inside of it, apart from each other, and inflate to
 * their sizes or not at all. */
#include <stdlib.h>
#include <string.h>

#include "container/inflate.h"
#include "container/zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct bytes {
    const uint8_t *data;
    size_t size;
} bytes;

static int read_bytes(void *context, uint64_t at, void *out, size_t size, assay_error *err)
{
    const bytes *b = context;
    (void)err;
    if (at > b->size || size > b->size - at)
        abort(); /* nothing outside of the file is asked for */
    memcpy(out, b->data + at, size);
    return ASSAY_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bytes b = {data, size};
    assay_zip zip;
    assay_error err = {{0}};
    const int status = assay_zip_open(read_bytes, &b, size, "file", &zip, &err);
    if (status != ASSAY_OK && (err.text[0] == '\0' || zip.names))
        abort();
    for (uint32_t i = 0; status == ASSAY_OK && i < assay_dict_count(zip.names); i++) {
        const assay_zip_entry *e = &zip.entry[i];
        const assay_packed_source source = {read_bytes, &b, "file"};
        const assay_packed_range range = {e->data, e->compressed, e->size, (assay_zip_method)e->method};
        uint8_t *out = NULL;
        if (e->data > size || e->compressed > size - e->data)
            abort();
        if (e->size < 1 << 20 && assay_inflate_whole(&source, &range, &out, &err) == ASSAY_OK)
            assay_crc32(0, out, (size_t)e->size);
        free(out);
    }
    assay_zip_release(&zip);
    return 0;
}
