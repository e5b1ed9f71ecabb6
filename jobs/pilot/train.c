/* train.c - a deep residual network that is hard to train, recorded by assay's hook.
 *
 *     cc -O2 train.c -o train $(pkg-config --cflags --libs assay-hook) -lm
 *     ./train DIRECTORY warmup_learning_rate=0.4 learning_rate=0.8 add_batch_norm=0 steps=400
 *
 * Points in space get one of four labels from a random teacher; DEPTH residual blocks h + W2 elu(W1 h + b1) + b2 learn
 * them by plain gradient descent in float32. Nothing keeps the sums of so many blocks small: with a high learning rate
 * they explode. add_batch_norm=1 normalises what a block adds. The first WARMUP steps use warmup_learning_rate, the
 * others learning_rate. SIGTERM and SIGUSR1 end the training after its step, with everything recorded. All calls of the
 * hook stand behind "hook:". */
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/hook.h>

enum { IN = 8, WIDTH = 32, DEPTH = 20, CLASSES = 4, BATCH = 128, WARMUP = 100, EVAL_EVERY = 40, HELD_OUT = 8 };

typedef struct dense { /* y = W x + b */
    float w[WIDTH][WIDTH], b[WIDTH];
} dense;

typedef struct parameters {                         /* of the network; of its gradient, too */
    dense in, first[DEPTH], second[DEPTH], out;     /* `in` uses IN columns, `out` CLASSES rows */
    float scale[DEPTH][WIDTH], shift[DEPTH][WIDTH]; /* of the batch normalisation */
} parameters;

typedef float rows[BATCH][WIDTH];

typedef struct batch {
    rows x, h[DEPTH + 1], inner[DEPTH], active[DEPTH], added[DEPTH], p;
    float deviation[DEPTH][WIDTH];
    int64_t label[BATCH];
} batch;

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    stop = number;
}

static uint64_t random_state = 88172645463325252u;

static float uniform(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (float)(random_state >> 40) / (float)(1 << 24);
}

static float normal(void)
{
    return sqrtf(-2 * logf(1 - uniform())) * cosf(6.2831853f * uniform());
}

/* Labels by a fixed random network of one layer. */
static void draw(batch *b, float teacher[CLASSES][IN][2])
{
    for (int i = 0; i < BATCH; i++) {
        float best = -INFINITY;
        for (int k = 0; k < IN; k++)
            b->x[i][k] = normal();
        for (int c = 0; c < CLASSES; c++) {
            float a = 0, d = 0;
            for (int k = 0; k < IN; k++) {
                a += teacher[c][k][0] * b->x[i][k];
                d += teacher[c][k][1] * b->x[i][k];
            }
            if (a + 0.5f * fabsf(d) > best) {
                best = a + 0.5f * fabsf(d);
                b->label[i] = c;
            }
        }
    }
}

static void start(parameters *n)
{
    memset(n, 0, sizeof *n);
    for (int r = 0; r < WIDTH; r++) {
        for (int c = 0; c < WIDTH; c++) {
            n->in.w[r][c] = normal() / sqrtf(IN);
            n->out.w[r][c] = 0.3f * normal() / sqrtf(WIDTH);
            for (int d = 0; d < DEPTH; d++) {
                n->first[d].w[r][c] = normal() / sqrtf(WIDTH);
                n->second[d].w[r][c] = 0.3f * normal() / sqrtf(WIDTH);
            }
        }
        for (int d = 0; d < DEPTH; d++)
            n->scale[d][r] = 0.3f;
    }
}

static void apply(const dense *l, int columns, int height, rows x, rows y)
{
    for (int i = 0; i < BATCH; i++) {
        for (int r = 0; r < height; r++) {
            float sum = l->b[r];
            for (int c = 0; c < columns; c++)
                sum += l->w[r][c] * x[i][c];
            y[i][r] = sum;
        }
    }
}

/* Adds to the gradient of the layer; dx gets the gradient of its input, unless it is NULL. */
static void apply_back(const dense *l, dense *g, int columns, int height, rows x, rows dy, rows dx)
{
    for (int i = 0; i < BATCH; i++) {
        if (dx)
            memset(dx[i], 0, sizeof dx[i]);
        for (int r = 0; r < height; r++) {
            float d = dy[i][r];
            g->b[r] += d;
            for (int c = 0; c < columns; c++)
                g->w[r][c] += d * x[i][c];
            for (int c = 0; dx && c < columns; c++)
                dx[i][c] += d * l->w[r][c];
        }
    }
}

/* y becomes (y - mean) / deviation over the batch; an evaluation takes the figures of its own batch, too. */
static void normalise(rows y, float deviation[WIDTH])
{
    for (int r = 0; r < WIDTH; r++) {
        float mean = 0, square = 0;
        for (int i = 0; i < BATCH; i++)
            mean += y[i][r] / BATCH;
        for (int i = 0; i < BATCH; i++)
            square += (y[i][r] - mean) * (y[i][r] - mean) / BATCH;
        deviation[r] = sqrtf(square + 1e-5f);
        for (int i = 0; i < BATCH; i++)
            y[i][r] = (y[i][r] - mean) / deviation[r];
    }
}

/* d: gradient of scale * y + shift in, gradient of what normalise() was given out. */
static void normalise_back(rows y, const float deviation[WIDTH], const float scale[WIDTH], float d_scale[WIDTH],
                           float d_shift[WIDTH], rows d)
{
    for (int r = 0; r < WIDTH; r++) {
        float sum = 0, product = 0;
        for (int i = 0; i < BATCH; i++) {
            sum += d[i][r];
            product += d[i][r] * y[i][r];
        }
        d_shift[r] += sum;
        d_scale[r] += product;
        for (int i = 0; i < BATCH; i++)
            d[i][r] = scale[r] / deviation[r] * (d[i][r] - sum / BATCH - y[i][r] * product / BATCH);
    }
}

/* Returns the mean cross-entropy; b->p gets the probabilities of the classes. */
static float forward(const parameters *n, batch *b, bool batch_norm)
{
    float loss = 0;
    apply(&n->in, IN, WIDTH, b->x, b->h[0]);
    for (int l = 0; l < DEPTH; l++) {
        apply(&n->first[l], WIDTH, WIDTH, b->h[l], b->inner[l]);
        for (int i = 0; i < BATCH; i++) {
            for (int r = 0; r < WIDTH; r++)
                b->active[l][i][r] = b->inner[l][i][r] > 0 ? b->inner[l][i][r] : expm1f(b->inner[l][i][r]);
        }
        apply(&n->second[l], WIDTH, WIDTH, b->active[l], b->added[l]);
        if (batch_norm)
            normalise(b->added[l], b->deviation[l]);
        for (int i = 0; i < BATCH; i++) {
            for (int r = 0; r < WIDTH; r++)
                b->h[l + 1][i][r] = b->h[l][i][r] + (batch_norm ? n->scale[l][r] * b->added[l][i][r] + n->shift[l][r]
                                                                : b->added[l][i][r]);
        }
    }
    apply(&n->out, WIDTH, CLASSES, b->h[DEPTH], b->p);
    for (int i = 0; i < BATCH; i++) {
        float most = -INFINITY, sum = 0;
        for (int c = 0; c < CLASSES; c++)
            most = fmaxf(most, b->p[i][c]);
        float z = b->p[i][b->label[i]] - most;
        for (int c = 0; c < CLASSES; c++)
            sum += b->p[i][c] = expf(b->p[i][c] - most);
        for (int c = 0; c < CLASSES; c++)
            b->p[i][c] /= sum;
        loss -= (z - logf(sum)) / BATCH;
    }
    return loss;
}

static void backward(const parameters *n, batch *b, bool batch_norm, parameters *g)
{
    static rows d, inside, back;
    memset(g, 0, sizeof *g);
    for (int i = 0; i < BATCH; i++) {
        for (int c = 0; c < CLASSES; c++)
            inside[i][c] = (b->p[i][c] - (float)(c == b->label[i])) / BATCH;
    }
    apply_back(&n->out, &g->out, WIDTH, CLASSES, b->h[DEPTH], inside, d);
    for (int l = DEPTH - 1; l >= 0; l--) {
        memcpy(inside, d, sizeof d);
        if (batch_norm)
            normalise_back(b->added[l], b->deviation[l], n->scale[l], g->scale[l], g->shift[l], inside);
        apply_back(&n->second[l], &g->second[l], WIDTH, WIDTH, b->active[l], inside, back);
        for (int i = 0; i < BATCH; i++) {
            for (int r = 0; r < WIDTH; r++)
                inside[i][r] = back[i][r] * (b->inner[l][i][r] > 0 ? 1 : b->active[l][i][r] + 1);
        }
        apply_back(&n->first[l], &g->first[l], WIDTH, WIDTH, b->h[l], inside, back);
        for (int i = 0; i < BATCH; i++) {
            for (int r = 0; r < WIDTH; r++)
                d[i][r] += back[i][r];
        }
    }
    apply_back(&n->in, &g->in, IN, WIDTH, b->x, d, NULL);
}

static void save(assay_hook *hook, const char *prefix, int block, const char *what, int rank, const float *data)
{
    const int64_t shape[] = {WIDTH, WIDTH};
    char name[80];
    snprintf(name, sizeof name, "%sblock%d_%s", prefix, block, what);
    assay_hook_save(hook, name, ASSAY_FLOAT32, rank, shape, data); /* hook: copied only at steps that save it */
}

/* What takes part: batch normalisation takes the second layer's bias out again, and has its own. */
static void save_parameters(assay_hook *hook, const char *prefix, const parameters *n, bool batch_norm)
{
    for (int l = 0; l < DEPTH; l++) {
        save(hook, prefix, l, "first.weight", 2, n->first[l].w[0]);
        save(hook, prefix, l, "second.weight", 2, n->second[l].w[0]);
        save(hook, prefix, l, batch_norm ? "norm.bias" : "second.bias", 1, batch_norm ? n->shift[l] : n->second[l].b);
    }
}

static double setting(int argc, char **argv, const char *name, double otherwise)
{
    size_t length = strlen(name);
    for (int i = 2; i < argc; i++) {
        if (strncmp(argv[i], name, length) == 0 && argv[i][length] == '=')
            return strtod(argv[i] + length + 1, NULL);
    }
    return otherwise;
}

static assay_hook *open_hook(const char *directory)
{
    assay_hook *hook;
    assay_hook_open(directory, 0, 1, &hook, NULL); /* hook: NULL after a failure is fine */
    assay_hook_set(hook, "train.save_interval", "20");
    assay_hook_set(hook, "eval.save_interval", "1");
    assay_hook_collection(hook, "weights");
    assay_hook_collection(hook, "biases");
    assay_hook_collection(hook, "gradients");
    return hook;
}

int main(int argc, char **argv)
{
    static parameters n, g;
    static batch b, held_out[HELD_OUT]; /* never trained on */
    static float teacher[CLASSES][IN][2];
    if (argc < 2) {
        fprintf(stderr, "usage: train DIRECTORY [NAME=VALUE...]\n");
        return 2;
    }
    double warmup_rate = setting(argc, argv, "warmup_learning_rate", 0.4),
           rate = setting(argc, argv, "learning_rate", 0.8);
    bool batch_norm = setting(argc, argv, "add_batch_norm", 0) != 0;
    int steps = (int)setting(argc, argv, "steps", 400);
    signal(SIGTERM, on_signal);
    signal(SIGUSR1, on_signal);
    assay_hook *hook = open_hook(argv[1]);
    for (int c = 0; c < CLASSES; c++) {
        for (int k = 0; k < IN; k++) {
            teacher[c][k][0] = normal();
            teacher[c][k][1] = normal();
        }
    }
    start(&n);
    for (int i = 0; i < HELD_OUT; i++)
        draw(&held_out[i], teacher);
    for (int step = 0; step <= steps && !stop; step++) {
        if (step % EVAL_EVERY == 0) {
            float loss = 0;
            for (int i = 0; i < HELD_OUT; i++)
                loss += forward(&n, &held_out[i], batch_norm) / HELD_OUT;
            assay_hook_set_mode(hook, ASSAY_HOOK_EVAL);
            assay_hook_step(hook); /* hook: closes the step before, begins this one */
            assay_hook_save(hook, "CrossEntropyLoss_output_0", ASSAY_FLOAT32, 0, NULL, &loss);
            printf("step %d: loss %g on held-out points\n", step, (double)loss);
            fflush(stdout);
        }
        draw(&b, teacher);
        float loss = forward(&n, &b, batch_norm);
        backward(&n, &b, batch_norm, &g);
        assay_hook_set_mode(hook, ASSAY_HOOK_TRAIN);
        assay_hook_step(hook);
        assay_hook_save(hook, "CrossEntropyLoss_output_0", ASSAY_FLOAT32, 0, NULL, &loss);
        save_parameters(hook, "", &n, batch_norm);
        save_parameters(hook, "gradient/", &g, batch_norm);
        float *w = (float *)&n;
        const float *d = (const float *)&g;
        for (size_t i = 0; i < sizeof n / sizeof *w; i++)
            w[i] -= (float)(step < WARMUP ? warmup_rate : rate) * d[i];
    }
    assay_hook_close(hook); /* hook: writes what is left, marks the end */
    return stop ? 128 + stop : 0;
}
