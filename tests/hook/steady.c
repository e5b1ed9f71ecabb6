/* steady.c - records steps without end until it is killed, for tests that look at what is left.
 *
 * Usage: steady DIRECTORY STEPS TENSORS ELEMENTS [KEY VALUE]...
 * Tensor t of step s holds ELEMENTS float32 of value s + t/1024. Every tenth step it waits for the files and prints
 * "on disk LAST_CLOSED_STEP". At the end it prints "errors N dropped N steps N status N". Exit 0 whatever the hook met:
 * a training does not stop for it. */
#include <stdio.h>
#include <stdlib.h>

#include <assay/hook.h>

static void save_step(assay_hook *hook, long step, long tensors, int64_t elements, float *data)
{
    char name[64];
    for (long t = 0; t < tensors; t++) {
        for (int64_t i = 0; i < elements; i++)
            data[i] = (float)step + (float)t / 1024;
        snprintf(name, sizeof name, "layer%ld.weight", t);
        assay_hook_save(hook, name, ASSAY_FLOAT32, 1, &elements, data);
    }
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    long steps = atol(argv[2]), tensors = atol(argv[3]);
    int64_t elements = atoll(argv[4]);
    float *data = malloc((size_t)elements * sizeof *data);
    assay_hook *hook;
    assay_hook_counts counts;
    if (!data || assay_hook_open(argv[1], 0, 1, &hook, NULL) < 0)
        return 1;
    assay_hook_set(hook, "save_interval", "1");
    assay_hook_collection(hook, "weights");
    for (int a = 5; a + 1 < argc; a += 2)
        assay_hook_set(hook, argv[a], argv[a + 1]);
    for (long s = 0; s < steps; s++) {
        assay_hook_step(hook);
        if (s > 0 && s % 10 == 0 && assay_hook_flush(hook) == 0) {
            printf("on disk %ld\n", s - 1);
            fflush(stdout);
        }
        save_step(hook, s, tensors, elements, data);
    }
    assay_hook_step(hook);
    assay_hook_flush(hook);
    assay_hook_get_counts(hook, &counts);
    assay_hook_close(hook);
    printf("errors %llu dropped %llu steps %llu status %d\n", (unsigned long long)counts.errors,
           (unsigned long long)counts.dropped, (unsigned long long)counts.steps, counts.status);
    free(data);
    return 0;
}
