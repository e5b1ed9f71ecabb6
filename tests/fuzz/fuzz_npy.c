/* Any bytes as a .npy file, which is one record, read to its end. */
#include <sys/mman.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "read_record.h"
#include "trial/trial_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    read_record(file, 0, size, 0, size);
    read_record(file, 0, size, 48, size);
    if (size > 0) /* what is cut short is refused, or reads as less */
        read_record(file, 0, size - 1, 16, size);
    assay_reader_close(file);
    close(fd);
    return 0;
}
