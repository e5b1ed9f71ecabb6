/* Any bytes as an event file: records are opened at ranges that the bytes choose, and read to their end. */
#include <sys/mman.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trial/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where a content is put: memory of just its size. NULL: it is given out where it lies. */
static uint8_t *place_of(assay_reader *file, const assay_record *r)
{
    uint8_t *to = r->form == ASSAY_CONTENT_STRINGS ? NULL : malloc(r->elements * assay_dtype_size(r->dtype) + 1);
    if (to)
        assay_reader_put_at(file, to);
    return to;
}

static void read_record(assay_reader *file, uint64_t offset, uint64_t length, size_t most)
{
    assay_record r;
    assay_error err = {{0}};
    const uint8_t *piece = NULL;
    size_t got = 1;
    uint64_t sum = 0, at = 0;
    int status = assay_reader_record(file, offset, length, 1 << 20, &r, &err);
    if (status != ASSAY_OK && err.text[0] == '\0')
        abort();
    for (uint64_t i = 0; status == ASSAY_OK && r.form == ASSAY_CONTENT_STRINGS && i < r.elements; i++) {
        const char *text = assay_reader_string(file, i, &got);
        for (size_t k = 0; k < got; k++)
            sum += (unsigned char)text[k];
    }
    uint8_t *to = status == ASSAY_OK && length % 2 ? place_of(file, &r) : NULL;
    while (status == ASSAY_OK && r.form != ASSAY_CONTENT_STRINGS && got > 0) {
        status = assay_reader_content(file, most, &piece, &got, &err);
        if (status == ASSAY_OK && got > 0)
            sum += got + piece[0] + piece[got - 1];
        if (status == ASSAY_OK && got > 0 && to && piece != to + at)
            abort();
        at += got;
    }
    free(to);
    if (sum == UINT64_MAX)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static assay_store *store;
    if (!store && assay_store_open("/proc/self/fd", &store, NULL) != ASSAY_OK)
        abort();
    int fd = memfd_create("fuzz", 0);
    char path[16];
    snprintf(path, sizeof path, "%d", fd);
    if (fd < 0 || (size && write(fd, data, size) != (ssize_t)size))
        abort();
    assay_reader *file = NULL;
    if (assay_reader_open_path(&file, store, 0, path, 64 << 10, NULL) != ASSAY_OK)
        abort();
    read_record(file, 0, size, 0);
    uint64_t length = 0;
    for (size_t at = 0; at + 8 <= size && at < 4096; at += length + 16) { /* as the length fields say */
        memcpy(&length, data + at, 8);
        if (length > size)
            break;
        read_record(file, at, length + 16, at % 3 ? 5 : 4096);
    }
    assay_reader_close(file);
    close(fd);
    return 0;
}
