/* Any bytes as a .npy file, which is one record, read to its end. */
#include <sys/mman.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trial/format/format.h"
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
    if (status == ASSAY_OK && r.content_bytes > length)
        abort(); /* elements that the file has no bytes for */
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

static unsigned number_of_format(const char *name)
{
    for (unsigned i = 0; i < assay_format_count(); i++)
        if (strcmp(assay_format_of(i)->name, name) == 0)
            return i;
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
    if (assay_reader_open_path(&file, store, number_of_format("npy"), path, 64 << 10, NULL) != ASSAY_OK)
        abort();
    read_record(file, 0, size, 0);
    read_record(file, 0, size, 48);
    if (size > 0) /* what is cut short is refused, or reads as less */
        read_record(file, 0, size - 1, 16);
    assay_reader_close(file);
    close(fd);
    return 0;
}
