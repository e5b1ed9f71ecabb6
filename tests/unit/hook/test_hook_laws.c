/* Equations that threads sum up while more are taken come to what the caller alone makes of them, to the bit, however many
 * threads there are. Meant for the thread sanitizer. */
#include "unit.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <assay/hook.h>

enum { LAYERS = 12, STEPS = 4, ROWS = 24, WIDTH = 32, CELLS = 8, MOST = 256 };

/* What a step comes to. */
typedef struct outcome {
    double gradient[LAYERS][2 * CELLS]; /* sums and squares */
    double expected[LAYERS][MOST];      /* what the gradients have to be */
    uint64_t products[LAYERS];
} outcome;

typedef struct training {
    float x[LAYERS + 1][ROWS * WIDTH], weight[LAYERS][WIDTH * WIDTH], back[LAYERS][ROWS * WIDTH],
        gradient[LAYERS][WIDTH * WIDTH];
    char name[LAYERS][2][32];
} training;

static int forget(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

static void fill(float *values, size_t count, unsigned *seed)
{
    for (size_t i = 0; i < count; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        values[i] = (float)((double)*seed / 4294967296.0 - 0.5);
    }
}

static assay_hook_law law_of(training *t, int kind, int layer)
{
    assay_hook_law law = {.kind = kind, .rows = ROWS, .inputs = WIDTH, .outputs = WIDTH, .groups = 4, .tiles = 4};
    law.parameter = layer;
    law.of_bias = -1;
    law.name = t->name[layer][kind == ASSAY_LAW_GRADIENT];
    law.x = (assay_hook_operand){t->x[layer], ASSAY_FLOAT32};
    law.y = (assay_hook_operand){kind == ASSAY_LAW_OUTPUT ? t->back[layer] : t->x[layer + 1], ASSAY_FLOAT32};
    law.weight =
        (assay_hook_operand){kind == ASSAY_LAW_GRADIENT ? t->gradient[layer] : t->weight[layer], ASSAY_FLOAT32};
    return law;
}

static void step(assay_hook_laws *laws, training *t, bool now, outcome *out)
{
    int64_t pass[LAYERS];
    for (int layer = 0; layer < LAYERS; layer++) {
        assay_hook_law law = law_of(t, ASSAY_LAW_LINEAR, layer);
        law.of = 1;
        pass[layer] = assay_hook_laws_take(laws, &law, now);
        CU_ASSERT_TRUE(pass[layer] >= 0);
    }
    for (int layer = LAYERS - 1; layer >= 0; layer--) {
        assay_hook_law law = law_of(t, ASSAY_LAW_OUTPUT, layer);
        law.of = pass[layer];
        CU_ASSERT_TRUE(assay_hook_laws_take(laws, &law, now) >= 0);
        law = law_of(t, ASSAY_LAW_GRADIENT, layer);
        law.sums = out->gradient[layer];
        law.cells = law.stride = CELLS;
        const int64_t number = assay_hook_laws_take(laws, &law, now && layer % 2);
        CU_ASSERT_TRUE(number >= 0);
        if (layer == 1)
            assay_hook_laws_drop(laws, number);
        CU_ASSERT_TRUE(assay_hook_laws_done(laws) <= number + 1);
    }
    assay_hook_laws_wait(laws);
    for (int layer = 0; layer < LAYERS; layer++) {
        int dtypes[2];
        const double *sums;
        out->products[layer] = assay_hook_laws_expected(laws, layer, dtypes, &sums);
        CU_ASSERT_PTR_NOT_NULL_FATAL(sums);
        memcpy(out->expected[layer], sums, 3 * 16 * sizeof *sums);
    }
    CU_ASSERT_EQUAL(assay_hook_laws_finish(laws), 0);
}

static void run(training *t, int threads, bool now, outcome out[STEPS])
{
    char directory[] = "/tmp/assay-laws-XXXXXX";
    assay_hook *hook;
    assay_hook_laws *laws;
    assay_hook_counts counts;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(directory));
    CU_ASSERT_EQUAL_FATAL(assay_hook_open(directory, 0, 1, &hook, NULL), 0);
    assay_hook_set(hook, "save_interval", "1");
    assay_hook_set(hook, "save_all", "true");
    assay_hook_set(hook, "save_raw_tensor", "true");
    CU_ASSERT_EQUAL_FATAL(assay_hook_laws_new(hook, threads, &laws), 0);
    for (int i = 0; i < STEPS; i++) {
        assay_hook_step(hook);
        step(laws, t, now, &out[i]);
    }
    assay_hook_laws_free(laws);
    assay_hook_step(hook); /* closes the last one */
    assay_hook_flush(hook);
    assay_hook_get_counts(hook, &counts);
    CU_ASSERT_EQUAL(counts.tensors, STEPS * (2 * LAYERS - 1)); /* one gradient was dropped */
    CU_ASSERT_EQUAL(counts.dropped + counts.errors, 0);
    CU_ASSERT_EQUAL(assay_hook_close(hook), 0);
    nftw(directory, forget, 16, FTW_DEPTH | FTW_PHYS);
}

static void test_threads(void)
{
    static const struct {
        int threads;
        bool now;
    } forms[] = {{0, true}, {0, false}, {1, false}, {1, true}, {3, false}, {3, true}};
    training *t = calloc(1, sizeof *t);
    outcome *made = calloc(2 * (size_t)STEPS, sizeof *made);
    unsigned seed = 7;
    CU_ASSERT_FATAL(t && made);
    fill(t->x[0], sizeof t->x / sizeof(float), &seed);
    fill(t->weight[0], sizeof t->weight / sizeof(float), &seed);
    fill(t->back[0], sizeof t->back / sizeof(float), &seed);
    fill(t->gradient[0], sizeof t->gradient / sizeof(float), &seed);
    for (int layer = 0; layer < LAYERS; layer++)
        for (int k = 0; k < 2; k++)
            snprintf(t->name[layer][k], sizeof t->name[layer][k], "state/laws/%s_%d", k ? "gradient" : "linear", layer);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        outcome *of = i == 0 ? made : made + STEPS;
        run(t, forms[i].threads, forms[i].now, of);
        CU_ASSERT_EQUAL(memcmp(made, of, STEPS * sizeof *made), 0);
    }
    CU_ASSERT_TRUE(made->products[0] == ROWS && made->gradient[0][0] != 0 && made->expected[0][0] != 0);
    free(made);
    free(t);
}

int main(void)
{
    CU_TestInfo tests[] = {{"threads", test_threads}, CU_TEST_INFO_NULL};
    return unit_main("hook laws", tests);
}
