/* train_mpi.c - a small network trained by several processes, recorded by assay's hook.
 *
 *     mpicc -O2 train_mpi.c -o train_mpi $(pkg-config --cflags --libs assay-hook) -lm
 *     mpirun -np 4 ./train_mpi runs/mpi
 *     assay run train_mpi.json
 *
 * Points in the plane belong to one of three spirals; two layers with a ReLU learn which. Every process draws its own
 * points, gradients are averaged. All calls of the hook stand behind "hook:". */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/hook.h>

enum { BATCH = 64, IN = 2, HIDDEN = 32, CLASSES = 3, STEPS = 300 };

typedef struct network {
    float w1[HIDDEN][IN], b1[HIDDEN], w2[CLASSES][HIDDEN], b2[CLASSES];
} network;

typedef struct batch {
    float x[BATCH][IN], hidden[BATCH][HIDDEN], p[BATCH][CLASSES];
    int64_t y[BATCH];
} batch;

static float uniform(void)
{
    return (float)rand() / (float)RAND_MAX;
}

static void draw(batch *b)
{
    for (int i = 0; i < BATCH; i++) {
        b->y[i] = rand() % CLASSES;
        float r = 0.2f + 0.8f * uniform(), angle = 2.5f * r + 2.0944f * (float)b->y[i] + 0.15f * uniform();
        b->x[i][0] = r * cosf(angle);
        b->x[i][1] = r * sinf(angle);
    }
}

/* Probabilities of the classes; returns the mean cross-entropy. */
static float forward(const network *n, batch *b)
{
    float loss = 0;
    for (int i = 0; i < BATCH; i++) {
        float sum = 0;
        for (int h = 0; h < HIDDEN; h++)
            b->hidden[i][h] = fmaxf(0, n->w1[h][0] * b->x[i][0] + n->w1[h][1] * b->x[i][1] + n->b1[h]);
        for (int c = 0; c < CLASSES; c++) {
            float z = n->b2[c];
            for (int h = 0; h < HIDDEN; h++)
                z += n->w2[c][h] * b->hidden[i][h];
            sum += b->p[i][c] = expf(z);
        }
        for (int c = 0; c < CLASSES; c++)
            b->p[i][c] /= sum;
        loss -= logf(b->p[i][b->y[i]]) / BATCH;
    }
    return loss;
}

static void backward(const network *n, const batch *b, network *g)
{
    memset(g, 0, sizeof *g);
    for (int i = 0; i < BATCH; i++) {
        for (int c = 0; c < CLASSES; c++) {
            float d = (b->p[i][c] - (float)(c == b->y[i])) / BATCH;
            g->b2[c] += d;
            for (int h = 0; h < HIDDEN; h++) {
                g->w2[c][h] += d * b->hidden[i][h];
                float e = b->hidden[i][h] > 0 ? d * n->w2[c][h] : 0;
                g->b1[h] += e;
                for (int k = 0; k < IN; k++)
                    g->w1[h][k] += e * b->x[i][k];
            }
        }
    }
}

static void save_parameters(assay_hook *hook, const char *prefix, const network *n)
{
    const int64_t w1[] = {HIDDEN, IN}, w2[] = {CLASSES, HIDDEN};
    char name[64];
    snprintf(name, sizeof name, "%sNet_fc1.weight", prefix);
    assay_hook_save(hook, name, ASSAY_FLOAT32, 2, w1, n->w1); /* hook: saved at the steps its collection asks for */
    snprintf(name, sizeof name, "%sNet_fc1.bias", prefix);
    assay_hook_save(hook, name, ASSAY_FLOAT32, 1, w1, n->b1);
    snprintf(name, sizeof name, "%sNet_fc2.weight", prefix);
    assay_hook_save(hook, name, ASSAY_FLOAT32, 2, w2, n->w2);
    snprintf(name, sizeof name, "%sNet_fc2.bias", prefix);
    assay_hook_save(hook, name, ASSAY_FLOAT32, 1, w2, n->b2);
}

static void save_batch(assay_hook *hook, const batch *b, float loss)
{
    const int64_t hidden[] = {BATCH, HIDDEN}, p[] = {BATCH, CLASSES};
    assay_hook_save(hook, "relu_output_0", ASSAY_FLOAT32, 2, hidden, b->hidden);
    assay_hook_save(hook, "predictions", ASSAY_FLOAT32, 2, p, b->p);
    assay_hook_save(hook, "labels", ASSAY_INT64, 1, p, b->y);
    assay_hook_save(hook, "CrossEntropyLoss_output_0", ASSAY_FLOAT32, 0, NULL, &loss);
}

int main(int argc, char **argv)
{
    static const char *const collections[] = {"weights", "biases", "gradients", "labels", "predictions"};
    int rank, ranks;
    network n, g;
    batch b;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    assay_hook *hook;
    assay_hook_open(argc > 1 ? argv[1] : "runs/mpi", rank, ranks, &hook, NULL); /* hook: NULL after a failure is fine */
    assay_hook_set(hook, "include_workers", "all");
    assay_hook_set(hook, "train.save_interval", "10");
    assay_hook_set(hook, "eval.save_interval", "1");
    assay_hook_set(hook, "include_regex", "relu");
    for (int c = 0; c < 5; c++)
        assay_hook_collection(hook, collections[c]);
    srand(1);
    float *w = (float *)&n, *d = (float *)&g;
    for (size_t i = 0; i < sizeof n / sizeof *w; i++)
        w[i] = uniform() - 0.5f;
    srand(100 + (unsigned)rank);
    for (int step = 0; step < STEPS; step++) {
        bool evaluates = step % 50 == 49;
        assay_hook_set_mode(hook, evaluates ? ASSAY_HOOK_EVAL : ASSAY_HOOK_TRAIN);
        assay_hook_step(hook); /* hook: closes the step before, begins this one */
        draw(&b);
        save_parameters(hook, "", &n);
        save_batch(hook, &b, forward(&n, &b));
        if (evaluates)
            continue;
        backward(&n, &b, &g);
        save_parameters(hook, "gradient/", &g);
        MPI_Allreduce(MPI_IN_PLACE, d, sizeof g / sizeof *d, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        for (size_t i = 0; i < sizeof n / sizeof *w; i++)
            w[i] -= 0.5f * d[i] / (float)ranks;
    }
    assay_hook_close(hook); /* hook: writes what is left; the last process to close marks the end */
    MPI_Finalize();
    return 0;
}
