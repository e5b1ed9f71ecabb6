/* cost.c - what the hook costs a training: nanoseconds when it saves nothing, GB/s when it does.
 *
 * Usage: cost DIRECTORY [MEGABYTES]        (writes that much below DIRECTORY, twice, and removes it)
 * Prints one JSON object. "plain write" writes the same bytes with write(2), a file a step as the hook does. */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <assay/hook.h>

enum { TENSOR_BYTES = 4 << 20, TENSORS_A_STEP = 8, CALLS = 2000000 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int forget(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static assay_hook *open_hook(const char *directory, const char *interval, const char *memory)
{
    assay_hook *hook;
    nftw(directory, forget, 16, FTW_DEPTH | FTW_PHYS);
    if (assay_hook_open(directory, 0, 1, &hook, NULL) < 0)
        exit(1);
    assay_hook_set(hook, "save_interval", interval);
    assay_hook_set(hook, "queue_memory", memory);
    assay_hook_collection(hook, "weights");
    return hook;
}

/* Nanoseconds a call, over many calls: tensors of a network with 50 layers, none of which is saved. */
static double unsaved(assay_hook *hook, const char *kind)
{
    static const int64_t shape[2] = {64, 64};
    static float data[64 * 64];
    char names[50][48];
    for (int i = 0; i < 50; i++)
        snprintf(names[i], sizeof names[i], "Transformer_layers.%d.attention.%s", i, kind);
    for (int i = 0; i < 50; i++)
        assay_hook_save(hook, names[i], ASSAY_FLOAT32, 2, shape, data);
    double began = now();
    for (int i = 0; i < CALLS; i++)
        assay_hook_save(hook, names[i % 50], ASSAY_FLOAT32, 2, shape, data);
    return (now() - began) / CALLS * 1e9;
}

static double steps(assay_hook *hook)
{
    double began = now();
    for (int i = 0; i < CALLS; i++)
        assay_hook_step(hook);
    return (now() - began) / CALLS * 1e9;
}

typedef struct speed {
    double training, all; /* GB/s as the training sees it, and until everything is written */
} speed;

static speed save_speed(const char *directory, const char *memory, const float *data, int count)
{
    static const int64_t shape[1] = {TENSOR_BYTES / 4};
    assay_hook *hook = open_hook(directory, "1", memory);
    char name[32];
    double began = now();
    for (int s = 0; s < count; s++) {
        assay_hook_step(hook);
        for (int t = 0; t < TENSORS_A_STEP; t++) {
            snprintf(name, sizeof name, "layer%d.weight", t);
            assay_hook_save(hook, name, ASSAY_FLOAT32, 1, shape, data);
        }
    }
    double seen = now() - began, bytes = (double)count * TENSORS_A_STEP * TENSOR_BYTES;
    if (assay_hook_close(hook) < 0)
        exit(1);
    double all = now() - began;
    nftw(directory, forget, 16, FTW_DEPTH | FTW_PHYS);
    return (speed){bytes / seen * 1e-9, bytes / all * 1e-9};
}

static double copy_speed(float *to, const float *from, int count)
{
    double began = now();
    for (int i = 0; i < count * TENSORS_A_STEP; i++) {
        memcpy(to, from, TENSOR_BYTES);
        __asm__ volatile("" : : "r"(to) : "memory"); /* the copy is not to be left out */
    }
    return (double)count * TENSORS_A_STEP * TENSOR_BYTES / (now() - began) * 1e-9;
}

static double write_speed(const char *directory, const float *data, int count)
{
    char path[4096];
    double began = now();
    for (int s = 0; s < count; s++) {
        snprintf(path, sizeof path, "%s.plain-%d", directory, s);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        for (int t = 0; t < TENSORS_A_STEP; t++) {
            if (fd < 0 || write(fd, data, TENSOR_BYTES) != TENSOR_BYTES)
                die(path);
        }
        close(fd);
    }
    double taken = now() - began;
    for (int s = 0; s < count; s++) {
        snprintf(path, sizeof path, "%s.plain-%d", directory, s);
        unlink(path);
    }
    return (double)count * TENSORS_A_STEP * TENSOR_BYTES / taken * 1e-9;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    char directory[4096];
    snprintf(directory, sizeof directory, "%s/hook-cost", argv[1]);
    int count = (int)(argc > 2 ? strtol(argv[2], NULL, 10) : 1024) / (TENSORS_A_STEP * (TENSOR_BYTES >> 20));
    float *data = malloc(TENSOR_BYTES), *copy = malloc(TENSOR_BYTES);
    if (!data || !copy || count < 1)
        return 1;
    for (int i = 0; i < TENSOR_BYTES / 4; i++)
        data[i] = (float)i * 0.001f;
    assay_hook *hook = open_hook(directory, "1000000000", "67108864");
    assay_hook_set(hook, "train.save_interval", "1");
    assay_hook_step(hook); /* GLOBAL step 0 is saved: the tensors below belong to no collection */
    double other = unsaved(hook, "output");
    assay_hook_step(hook);
    double between = unsaved(hook, "weight"), step = steps(hook);
    assay_hook_close(hook);
    double off = unsaved(NULL, "weight");
    write_speed(directory, data, 1);
    double copied = copy_speed(copy, data, count), written = write_speed(directory, data, count);
    speed queued = save_speed(directory, "67108864", data, count);
    speed large = save_speed(directory, "1073741824", data, count);
    printf(
        "{\"unsaved_ns\": {\"hook off\": %.1f, \"step not saved\": %.1f, \"step saved, tensor not\": %.1f, \"step\": "
        "%.1f}, "
        "\"gigabytes_per_second\": {\"memcpy\": %.2f, \"plain write\": %.2f, \"saved, queue 64 MiB, training\": %.2f, "
        "\"saved, queue 64 MiB, on disk\": %.2f, \"saved, queue 1 GiB, training\": %.2f, "
        "\"saved, queue 1 GiB, on disk\": %.2f}, \"megabytes\": %d}\n",
        off, between, other, step, copied, written, queued.training, queued.all, large.training, large.all,
        count * TENSORS_A_STEP * (TENSOR_BYTES >> 20));
    nftw(directory, forget, 16, FTW_DEPTH | FTW_PHYS);
    free(data);
    free(copy);
    return 0;
}
