/* Any bytes as an event file: records are opened at ranges that the bytes choose, and read to their end. */
#include <sys/mman.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "read_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    read_record(file, 0, size, 0, UINT64_MAX);
    uint64_t length = 0;
    for (size_t at = 0; at + 8 <= size && at < 4096; at += length + 16) { /* as the length fields say */
        memcpy(&length, data + at, 8);
        if (length > size)
            break;
        read_record(file, at, length + 16, at % 3 ? 5 : 4096, UINT64_MAX);
    }
    assay_reader_close(file);
    close(fd);
    return 0;
}
