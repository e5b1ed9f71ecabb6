/* Any bytes as a file of a checkpoint, by the first of them a safetensors, torch, .npz or .npy file, the metadata of a
 * distributed checkpoint with a file beside it, or two files of DeepSpeed. The trial is listed, and every record read
 * to its end. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/trial_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/tmp/assay-fuzz-XXXXXX";
enum { KINDS = 6 };
static const struct {
    const char *first, *second; /* names; the second is NULL where one file is all */
} kinds[KINDS] = {{"step-1.safetensors", NULL},
                  {"step-1.pt", NULL},
                  {"step-1.npz", NULL},
                  {"step-1/.metadata", "step-1/__0_0.distcp"},
                  {"step-1/mp_rank_00_model_states.pt", "step-1/zero_pp_rank_0_mp_rank_00_optim_states.pt"},
                  {"step-1.npy", NULL}};

static void end(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/step-1", root);
    rmdir(path);
    rmdir(root);
}

static void write_file(const char *name, const uint8_t *data, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
}

static void read_records(assay_trial_files *t)
{
    assay_trial_reader reader = {.trial = t};
    for (size_t p = 0; p < t->shard.count; p++)
        for (uint32_t i = 0; i < t->shard.parts[p].count; i++) {
            const assay_entry *entry = &t->shard.entries[t->shard.parts[p].first + i];
            assay_reader *file = NULL;
            assay_record record;
            const uint8_t *piece = NULL;
            size_t got = 1;
            assay_error err = {{0}};
            uint64_t all = 0;
            int status = assay_reader_open(&file, t->store, &t->catalog, &t->shard.parts[p], entry->file, &err);
            if (status == ASSAY_OK)
                status = assay_reader_record(file, entry->offset, entry->length, 1 << 20, &record, &err);
            while (status == ASSAY_OK && got > 0 && all < 1 << 24) { /* strides of 0 make much of few bytes */
                status = assay_reader_content(file, 0, &piece, &got, &err);
                all += got;
            }
            if (status != ASSAY_OK && err.text[0] == '\0')
                abort();
            assay_reader_close(file);
        }
    assay_trial_reader_close(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool made;
    char path[128];
    if (size < 3)
        return 0;
    snprintf(path, sizeof path, "%s/step-1", root);
    if (!made && (!mkdtemp(root) || atexit(end) != 0))
        abort();
    snprintf(path, sizeof path, "%s/step-1", root);
    made = true;
    const unsigned kind = data[0] % KINDS;
    const size_t first = (size_t)data[1] | (size_t)data[2] << 8, left = size - 3, cut = first < left ? first : left;
    if (!kinds[kind].second) {
        write_file(kinds[kind].first, data + 3, left);
    } else {
        mkdir(path, 0700);
        write_file(kinds[kind].first, data + 3, cut);
        write_file(kinds[kind].second, data + 3 + cut, left - cut);
    }
    assay_trial_files t;
    assay_error err = {{0}};
    if (assay_trial_open(root, &t, &err) == ASSAY_OK) {
        read_records(&t);
        assay_trial_release(&t);
    } else if (err.text[0] == '\0') {
        abort();
    }
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", root, i && kinds[kind].second ? kinds[kind].second : kinds[kind].first);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/step-1", root);
    rmdir(path);
    return 0;
}
