/* generate.c - writes a trial of any size through the recording library, for benchmarks.
 *
 *     generate DIR WORKERS STEPS LAYERS ELEMENTS [EVERY FACTOR]
 *
 * A step of a worker holds, for each layer, a weight, its gradient and a ReLU output of ELEMENTS float32 each, and a
 * loss. With EVERY, each EVERY-th step is an evaluation step whose tensors are FACTOR times as long. Values are drawn
 * once and shifted a little from step to step: the files are as large and as dense as real ones, and writing them is
 * not what one waits for. The same arguments give the same trial. */
#include <assay/hook.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct sizes {
    int64_t workers, steps, layers, elements;
    int64_t every, factor; /* every 0: no evaluation */
} sizes;

static int64_t number(const char *text, int64_t most)
{
    char *end = NULL;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || value < 1 || value > most) {
        fprintf(stderr, "generate: %s is no number in 1..%lld\n", text, (long long)most);
        exit(2);
    }
    return value;
}

/* Marsaglia's xorshift64*, mapped to (-1, 1) */
static float draw(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return (float)((double)((*seed * 0x2545F4914F6CDD1Du) >> 11) * 0x1p-52 - 1.0);
}

static bool is_evaluation(const sizes *size, int64_t step)
{
    return size->every > 0 && step % size->every == size->every - 1;
}

/* Three tensors a layer; slices of one table of values, moved by the step, so that no two steps are equal. */
static void save_layer(assay_hook *hook, const sizes *size, const float *table, const float *outputs, int64_t step,
                       int64_t layer)
{
    char name[64];
    int64_t elements = size->elements * (is_evaluation(size, step) ? size->factor : 1);
    int64_t shape[2] = {elements >= 64 ? 64 : 1, 0};
    shape[1] = elements / shape[0];
    int64_t from = (step * 7 + layer * 3) % 1024;
    snprintf(name, sizeof name, "net_layer%lld.weight", (long long)layer);
    assay_hook_save(hook, name, ASSAY_FLOAT32, 2, shape, table + from);
    snprintf(name, sizeof name, "gradient/net_layer%lld.weight", (long long)layer);
    assay_hook_save(hook, name, ASSAY_FLOAT32, 2, shape, table + from + 1);
    snprintf(name, sizeof name, "net_relu%lld_relu_output", (long long)layer);
    assay_hook_save(hook, name, ASSAY_FLOAT32, 2, shape, outputs + from);
}

static int write_worker(const char *directory, const sizes *size, int worker, const float *table, const float *outputs)
{
    assay_hook *hook = NULL;
    assay_error err = {""};
    if (assay_hook_open(directory, worker, (int)size->workers, &hook, &err) != ASSAY_OK) {
        fprintf(stderr, "generate: %s\n", err.text);
        return 1;
    }
    assay_hook_set(hook, "save_interval", "1");
    assay_hook_set(hook, "include_workers", "all");
    assay_hook_collection_regex(hook, "relu_output", "relu_output$");
    const char *const collections[] = {"weights", "gradients", "losses"};
    for (size_t i = 0; i < sizeof collections / sizeof collections[0]; i++)
        assay_hook_collection(hook, collections[i]);
    for (int64_t step = 0; step < size->steps; step++) {
        float loss = (float)exp(-0.01 * (double)step);
        assay_hook_set_mode(hook, is_evaluation(size, step) ? ASSAY_HOOK_EVAL : ASSAY_HOOK_TRAIN);
        assay_hook_step(hook);
        for (int64_t layer = 0; layer < size->layers; layer++)
            save_layer(hook, size, table, outputs, step, layer);
        assay_hook_save(hook, "CrossEntropyLoss_output_0", ASSAY_FLOAT32, 0, NULL, &loss);
        assay_hook_flush(hook); /* nothing may be dropped because the disk is slower than this loop */
    }
    assay_hook_counts counts;
    assay_hook_get_counts(hook, &counts);
    int status = assay_hook_close(hook);
    if (status != ASSAY_OK || counts.dropped > 0 || counts.errors > 0) {
        fprintf(stderr, "generate: worker %d: %llu tensors dropped, %llu errors: %s\n", worker,
                (unsigned long long)counts.dropped, (unsigned long long)counts.errors, counts.text);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 6 && argc != 8) {
        fprintf(stderr, "usage: generate DIR WORKERS STEPS LAYERS ELEMENTS [EVERY FACTOR]\n");
        return 2;
    }
    const sizes size = {number(argv[2], 10000),
                        number(argv[3], 100000000),
                        number(argv[4], 1000000),
                        number(argv[5], 1 << 30),
                        argc > 6 ? number(argv[6], 100000000) : 0,
                        argc > 6 ? number(argv[7], 1000) : 1};
    size_t count = (size_t)(size.elements * size.factor) + 1025;
    float *table = malloc(count * sizeof *table), *outputs = malloc(count * sizeof *outputs);
    if (table == NULL || outputs == NULL) {
        fprintf(stderr, "generate: no memory for %zu elements\n", count);
        return 1;
    }
    uint64_t seed = 20240229;
    for (size_t i = 0; i < count; i++) {
        table[i] = draw(&seed);
        outputs[i] = table[i] > 0 ? table[i] : 0;
    }
    int failed = 0;
    for (int worker = 0; worker < size.workers && !failed; worker++)
        failed = write_worker(argv[1], &size, worker, table, outputs);
    free(table);
    free(outputs);
    return failed;
}
