/* generate.c - writes a trial of any size through the recording library, for benchmarks.
 *
 *     generate DIR WORKERS STEPS LAYERS ELEMENTS [EVERY FACTOR]
 *     generate --mixed DIR WORKERS STEPS LAYERS ELEMENTS
 *
 * A step of a worker holds, for each layer, a weight, its gradient and an output of ELEMENTS float32 each, and a loss.
 * With EVERY, each EVERY-th step is an evaluation step whose tensors are FACTOR times as long. Layers are of all kinds
 * in turn (values.h). --mixed: of four layers one has ELEMENTS, and the others a 16th, a 256th and a 4096th of them;
 * some are recorded as float16 and bfloat16.
 *
 * Values are made once and shifted a little from step to step: the files are as large and as dense as real ones, and
 * writing them is not what one waits for. The same arguments give the same trial. */
#include <assay/hook.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "values.h"

enum {
    SHIFTS = 1024,  /* elements by which steps differ at most */
    MANY = 1 << 24, /* elements that are made; longer tensors repeat them */
    HALF_DTYPES = 2 /* of the kinds, those that --mixed records as 16 bits */
};

typedef struct sizes {
    int64_t workers, steps, layers, elements;
    int64_t every, factor; /* every 0: no evaluation */
    bool mixed;
} sizes;

/* What a kind of layer records. */
typedef struct table {
    layer_values values;
    uint16_t *half[3]; /* weight, gradient and output in 16 bits, or NULL */
    int dtype;
} table;

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

static bool is_evaluation(const sizes *size, int64_t step)
{
    return size->every > 0 && step % size->every == size->every - 1;
}

static void save_tensor(assay_hook *hook, const char *name, const table *t, int which, const int64_t shape[2],
                        int64_t from)
{
    const float *const values[] = {t->values.weight, t->values.gradient, t->values.output};
    const void *data = t->half[which] ? (const void *)(t->half[which] + from) : (const void *)(values[which] + from);
    assay_hook_save(hook, name, t->dtype, 2, shape, data);
}

/* Three tensors a layer; slices of its kind's values, moved by the step, so that no two steps are equal. */
static void save_layer(assay_hook *hook, const sizes *size, const table *tables, int64_t step, int64_t layer)
{
    char name[64];
    const table *t = &tables[layer % LAYER_KINDS];
    int64_t elements = size->elements * (is_evaluation(size, step) ? size->factor : 1);
    if (size->mixed)
        elements = elements >> layer % 4 * 4 > 0 ? elements >> layer % 4 * 4 : 1;
    int64_t shape[2] = {elements >= 64 ? 64 : 1, 0}, from = (step * 7 + layer * 3) % SHIFTS;
    shape[1] = elements / shape[0];
    bool moments = layer % LAYER_KINDS == LAYER_MOMENTS;
    snprintf(name, sizeof name, moments ? "adam/net_layer%lld.exp_avg" : "net_layer%lld.weight", (long long)layer);
    save_tensor(hook, name, t, 0, shape, from);
    snprintf(name, sizeof name, moments ? "adam/net_layer%lld.exp_avg_sq" : "gradient/net_layer%lld.weight",
             (long long)layer);
    save_tensor(hook, name, t, 1, shape, from + 1);
    snprintf(name, sizeof name, "net_relu%lld_relu_output", (long long)layer);
    save_tensor(hook, name, t, 2, shape, from);
}

static int write_worker(const char *directory, const sizes *size, int worker, const table *tables)
{
    assay_hook *hook = NULL;
    assay_error err = {""};
    if (assay_hook_open(directory, worker, (int)size->workers, &hook, &err) != ASSAY_OK) {
        fprintf(stderr, "generate: %s\n", err.text);
        return 1;
    }
    assay_hook_set(hook, "checksum", "crc32c"); /* what is damaged on purpose is to be found */
    assay_hook_set(hook, "save_interval", "1");
    assay_hook_set(hook, "include_workers", "all");
    assay_hook_collection_regex(hook, "relu_output", "relu_output$");
    assay_hook_collection_regex(hook, "moments", "^adam/");
    const char *const collections[] = {"weights", "gradients", "losses"};
    for (size_t i = 0; i < sizeof collections / sizeof collections[0]; i++)
        assay_hook_collection(hook, collections[i]);
    for (int64_t step = 0; step < size->steps; step++) {
        float loss = (float)exp(-0.01 * (double)step);
        assay_hook_set_mode(hook, is_evaluation(size, step) ? ASSAY_HOOK_EVAL : ASSAY_HOOK_TRAIN);
        assay_hook_step(hook);
        for (int64_t layer = 0; layer < size->layers; layer++)
            save_layer(hook, size, tables, step, layer);
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

/* 16 bits of each; on a grid of float16 or bfloat16 nothing is lost. */
static uint16_t *make_half(const float *x, size_t count, int dtype)
{
    uint16_t *half = malloc(count * sizeof *half);
    for (size_t i = 0; half && i < count; i++)
        half[i] = dtype == ASSAY_BFLOAT16 ? values_bfloat16(x[i]) : values_float16(x[i]);
    return half;
}

static void release_table(table *t)
{
    for (int k = 0; k < 3; k++)
        free(t->half[k]);
    values_free(&t->values);
}

/* The first `made` of x again and again. */
static float *repeated(float *x, size_t made, size_t count)
{
    float *longer = realloc(x, count * sizeof *x);
    for (size_t at = made; longer && at < count; at += made)
        memcpy(longer + at, longer, (count - at < made ? count - at : made) * sizeof *longer);
    return longer;
}

static int make_table(const sizes *size, layer_kind kind, table *t)
{
    size_t elements = (size_t)(size->elements * size->factor), count = elements + SHIFTS + 1;
    size_t made = count < MANY ? count : MANY;
    *t = (table){.dtype = ASSAY_FLOAT32};
    if (values_make(kind, elements < MANY ? elements : MANY, made, &t->values) != 0)
        return -1;
    float **const values[] = {&t->values.weight, &t->values.gradient, &t->values.output};
    if (size->mixed && (kind == LAYER_HALF || kind == LAYER_ATTENTION))
        t->dtype = kind == LAYER_HALF ? ASSAY_FLOAT16 : ASSAY_BFLOAT16;
    for (int k = 0; k < 3; k++) {
        float *longer = made < count ? repeated(*values[k], made, count) : *values[k];
        if (longer)
            *values[k] = longer;
        if (longer && t->dtype != ASSAY_FLOAT32)
            t->half[k] = make_half(longer, count, t->dtype);
        if (!longer || (t->dtype != ASSAY_FLOAT32 && !t->half[k]))
            return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    bool mixed = argc > 1 && strcmp(argv[1], "--mixed") == 0;
    argv += mixed;
    argc -= mixed;
    if (argc != 6 && (argc != 8 || mixed)) {
        fprintf(stderr, "usage: generate [--mixed] DIR WORKERS STEPS LAYERS ELEMENTS [EVERY FACTOR]\n");
        return 2;
    }
    const sizes size = {.workers = number(argv[2], 10000),
                        .steps = number(argv[3], 100000000),
                        .layers = number(argv[4], 1000000),
                        .elements = number(argv[5], 1 << 30),
                        .every = argc > 6 ? number(argv[6], 100000000) : 0,
                        .factor = argc > 6 ? number(argv[7], 1000) : 1,
                        .mixed = mixed};
    table tables[LAYER_KINDS] = {{.dtype = ASSAY_FLOAT32}};
    int failed = 0;
    for (int kind = 0; kind < LAYER_KINDS && kind < size.layers && !failed; kind++)
        failed = make_table(&size, (layer_kind)kind, &tables[kind]) != 0;
    if (failed)
        fprintf(stderr, "generate: no memory for tensors of %lld elements\n", (long long)(size.elements * size.factor));
    for (int worker = 0; worker < size.workers && !failed; worker++)
        failed = write_worker(argv[1], &size, worker, tables);
    for (int kind = 0; kind < LAYER_KINDS; kind++)
        release_table(&tables[kind]);
    return failed;
}
