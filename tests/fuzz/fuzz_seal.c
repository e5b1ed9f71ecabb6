/* Any bytes as the seal of a checkpoint (src/verify/seal.c): beside a sound one of 16 bytes, which is held against it.
 * Nothing outside of the checkpoint is read, and a seal that is not the right one is named, but for what it does not
 * say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "verify/seal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/tmp/assay-fuzz-XXXXXX";
static const char *const names[] = {"step-1/model.safetensors", "step-1/assay-seal.json"};
static assay_comm *comm;

static void put(const char *name, const void *data, size_t size)
{
    char path[96];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
}

static void end(void)
{
    char path[96];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", root, names[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/step-1", root);
    rmdir(path);
    rmdir(root);
    assay_comm_close(comm);
}

static void begin(void)
{
    static const char head[] = "{\"w\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}";
    uint8_t file[8 + sizeof head - 1 + 16] = {sizeof head - 1};
    char path[96];
    assay_error err = {{0}};
    memcpy(file + 8, head, sizeof head - 1);
    if (!mkdtemp(root) || assay_comm_open_world(NULL, NULL, false, &comm, &err) != ASSAY_OK || atexit(end) != 0)
        abort();
    snprintf(path, sizeof path, "%s/step-1", root);
    if (mkdir(path, 0777) != 0)
        abort();
    put(names[0], file, sizeof file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    assay_trial_files files;
    assay_problems problems;
    assay_error err = {{0}};
    if (!comm)
        begin();
    put(names[1], data, size);
    if (assay_trial_open(root, &files, &err) != ASSAY_OK)
        abort();
    assay_problems_init(&problems);
    const int status = assay_seal_check(comm, root, &files, INT64_MIN, INT64_MAX, &problems, &err);
    if ((status != ASSAY_OK && err.text[0] == '\0') || (size == 0 && problems.total == 0))
        abort();
    assay_problems_release(&problems);
    assay_trial_release(&files);
    return 0;
}
