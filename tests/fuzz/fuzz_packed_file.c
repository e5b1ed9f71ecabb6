/* Any bytes as a packed file: refused, or read to the last file and the last row of the index. In a fuzzing build the
 * checksums of HDF5's metadata are not compared (hdf5/file.c), so that mutations get behind them. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "store/storage.h"
#include "source/trial_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_files(assay_store *store, const char *directory, unsigned depth)
{
    assay_names names = {0};
    if (depth > 4 || assay_store_list(store, directory, &names, NULL) != ASSAY_OK)
        return;
    for (size_t i = 0; i < names.count; i++) {
        char *path = assay_path_join(directory, names.name[i]);
        assay_buf bytes;
        assay_buf_init(&bytes, 4 << 20);
        if (!path)
            abort();
        (void)assay_store_read(store, path, 4 << 20, &bytes, NULL);
        assay_buf_release(&bytes);
        read_files(store, path, depth + 1);
        free(path);
    }
    assay_names_release(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int file = -1;
    static char place[64];
    assay_error err = {""};
    assay_trial_files trial;
    assay_store *store = NULL;
    if (file < 0) {
        file = memfd_create("packed", MFD_CLOEXEC);
        snprintf(place, sizeof place, "/proc/self/fd/%d", file);
    }
    if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != (ssize_t)size)
        abort();
    if (size > 8 && assay_store_open(place, &store, &err) == ASSAY_OK) {
        read_files(store, "", 0);
        assay_store_close(store);
    }
    if (size > 8 && assay_trial_open(place, &trial, &err) == ASSAY_OK)
        assay_trial_release(&trial);
    return 0;
}
