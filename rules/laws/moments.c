/* moments.c - what an optimizer keeps of a parameter, from one step to the next:
 *   exp_avg          m' = b1 m + (1 - b1) (g + decay w)        (Kingma and Ba 2015)
 *   exp_avg_sq       v' = b2 v + (1 - b2) g^2, with the recorded g, or with g = (m' - b1 m) / (1 - b1): a sum of m'^2, m' m
 *                    and m^2, which needs no gradient, and knows what g was after the workers' were averaged
 *   momentum_buffer  b' = mu b + (1 - damping) (g + decay w)
 * The factors are inferred (regression.c). A moment is rounded when it is written and its terms before that: 8 u of
 * each. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "laws/regression.h"

static const char *const KEYS[] = {"exp_avg", "exp_avg_sq", "momentum_buffer"};
enum { FIRST_MOMENT, SECOND_MOMENT, BUFFER, KEY_COUNT = 3 };

/* optimizer/PARAMETER/KEY. */
typedef struct moment_name {
    const char *parameter;
    int length, key;
} moment_name;

static bool parse(const char *name, moment_name *out)
{
    const char *slash = strrchr(name, '/'), *first = strchr(name, '/');
    if (!slash || slash == first)
        return false;
    *out = (moment_name){first + 1, (int)(slash - first - 1), 0};
    while (out->key < KEY_COUNT && strcmp(slash + 1, KEYS[out->key]) != 0)
        out->key++;
    return out->key < KEY_COUNT;
}

/* The gradient of a parameter, which the hook names after the network as well. `root` is what the last one had in front
 * of the parameter's name. */
static uint32_t gradient_of(const law_step *step, const moment_name *name, char *root, size_t room)
{
    const assay_slot_view *gradients = &step->view->slot[LAW_GRADIENTS];
    uint32_t tensor = law_tensor(step, "gradient/%s%.*s", root, name->length, name->parameter);
    for (uint32_t i = 0; tensor == ASSAY_NO_TENSOR && i < gradients->count; i++) {
        const char *full = gradients->items[i]->name + strlen("gradient/");
        const size_t size = strlen(full), length = (size_t)name->length;
        if (size < length || memcmp(full + size - length, name->parameter, length) != 0 ||
            (size > length && full[size - length - 1] != '_') || size - length >= room)
            continue;
        tensor = gradients->items[i]->tensor;
        memcpy(root, full, size - length);
        root[size - length] = '\0';
    }
    return tensor;
}

/* The gradient, or its squares: the square of their sum is no less than the sum of theirs. */
static bool add_gradient(const law_step *step, uint32_t tensor, uint32_t worker, bool squared, bool before,
                         double share, regression_case *c)
{
    const assay_sketch *s = law_sketch(step, OF_GRADIENT, law_item(step, LAW_GRADIENTS, tensor, worker));
    if (!s || s->rows != c->elements || (before && (!s->before || !law_follows(step, s->step, 1))))
        return false;
    for (uint32_t i = 0; i < c->cells; i++) {
        const double squares = (before ? s->squares_before : s->squares)[i];
        c->term[1][i] += share * (squared ? squares : (before ? s->before : s->sum)[i]);
        c->squares[1][i] += share * (squared ? squares * squares : squares);
    }
    return true;
}

/* The weight that may decay into the moment. Without it, the moment is tested as one without decay. */
static void add_weight(const law_step *step, uint32_t gradient, uint32_t worker, bool before, regression_case *c)
{
    const char *name = assay_trial_tensor(step->rule->trial, gradient) + strlen("gradient/");
    const uint32_t tensor = law_tensor(step, "%s", name);
    const assay_sketch *s =
        tensor == ASSAY_NO_TENSOR ? NULL : law_sketch(step, OF_UPDATE, law_item(step, LAW_WEIGHTS, tensor, worker));
    if (!s || s->rows != c->elements || (before && (!s->before || !law_follows(step, s->step, 1))))
        return;
    memcpy(c->term[2], before ? s->before : s->sum, c->cells * sizeof *s->sum);
    memcpy(c->squares[2], before ? s->squares_before : s->squares, c->cells * sizeof *s->sum);
}

/* The terms of the gradient that first moments were made of. */
static bool add_first(const law_step *step, const assay_tensor_view *item, const moment_name *name, regression_case *c)
{
    const uint32_t first = law_tensor(step, "optimizer/%.*s/exp_avg", name->length, name->parameter);
    const assay_tensor_view *m =
        first == ASSAY_NO_TENSOR ? NULL : law_item(step, LAW_FIRST_MOMENTS, first, item->worker);
    const assay_sketch *s = law_sketch(step, OF_STATE, law_item(step, LAW_STATES, first, item->worker)),
                       *product = law_sketch(step, OF_FIRST_PRODUCT, m);
    if (!s || !product || !s->before || s->rows != c->elements || !law_follows(step, s->step, 1))
        return false;
    for (uint32_t i = 0; i < c->cells; i++) {
        c->term[1][i] = s->squares[i];
        c->term[2][i] = product->sum[i];
        c->term[3][i] = s->squares_before[i];
        c->squares[1][i] = s->squares[i] * s->squares[i];
        c->squares[2][i] = product->squares[i];
        c->squares[3][i] = s->squares_before[i] * s->squares_before[i];
    }
    return true;
}

static bool set_case(const law_step *step, const assay_tensor_view *item, const moment_name *name, int form,
                     uint32_t gradient, regression_case *c)
{
    const assay_sketch *s = law_sketch(step, name->key == SECOND_MOMENT ? OF_SECOND : OF_STATE, item);
    const double rounding = law_rounding(item->dtype);
    const bool mean = form == MOMENTS_OWN_MEAN || form == MOMENTS_BEFORE_MEAN;
    const uint32_t workers = mean ? assay_trial_workers(step->rule->trial) : 1;
    if (!s || !s->before || rounding == 0 || !law_follows(step, s->step, 1))
        return false;
    regression_begin(c, item, s->rows, (uint32_t)s->groups);
    c->noise = 8 * rounding;
    for (uint32_t i = 0; i < c->cells; i++) {
        c->target[i] = s->sum[i];
        c->rounding[i] =
            law_written(item->dtype, fmax(s->squares[i], s->squares_before[i]), (double)s->rows / (double)s->groups);
        c->term[0][i] = s->before[i];
        c->squares[0][i] = s->squares_before[i];
    }
    if (form == MOMENTS_OF_FIRST)
        return add_first(step, item, name, c);
    for (uint32_t w = 0; w < workers; w++)
        if (!add_gradient(step, gradient, mean ? w : item->worker, name->key == SECOND_MOMENT,
                          form == MOMENTS_BEFORE || form == MOMENTS_BEFORE_MEAN, 1.0 / workers, c))
            return false;
    if (name->key != SECOND_MOMENT)
        add_weight(step, gradient, item->worker, form == MOMENTS_BEFORE || form == MOMENTS_BEFORE_MEAN, c);
    return true;
}

static const assay_slot_view *slot_of(const law_step *step, int key)
{
    return &step->view->slot[key == SECOND_MOMENT ? LAW_SECOND_MOMENTS : LAW_STATES];
}

/* `clear`: all moments of the worker keep to the form, so that no other one has to be tried. */
static int test_worker(const law_step *step, uint32_t worker, int key, int form, regression_case *cases, bool *clear)
{
    const assay_slot_view *states = slot_of(step, key);
    char root[256] = "";
    size_t count = 0, all = 0;
    for (uint32_t i = 0; i < states->count; i++) {
        moment_name name;
        if (states->items[i]->worker != worker || !parse(states->items[i]->name, &name) || name.key != key)
            continue;
        all++;
        const uint32_t gradient = form == MOMENTS_OF_FIRST ? 0 : gradient_of(step, &name, root, sizeof root);
        if (gradient != ASSAY_NO_TENSOR && set_case(step, states->items[i], &name, form, gradient, &cases[count]))
            count++;
    }
    const int terms = form == MOMENTS_OF_FIRST ? 4 : key == SECOND_MOMENT ? 2 : 3;
    const int status = regression_add(step, LAW_MOMENTS, key * MOMENTS_FORMS + form, cases, count, terms, clear);
    *clear = *clear && count == all;
    return status;
}

/* In this order: as the hook records, which saves gradients behind what was made of those of the step before, then as others
 * do. */
static int test_forms(const law_step *step, uint32_t worker, int key, regression_case *cases)
{
    static const int FORMS[MOMENTS_FORMS] = {MOMENTS_BEFORE, MOMENTS_BEFORE_MEAN, MOMENTS_OWN, MOMENTS_OWN_MEAN,
                                             MOMENTS_OF_FIRST};
    const bool alone = assay_trial_workers(step->rule->trial) == 1;
    int status = ASSAY_OK;
    bool clear = false;
    for (int i = 0; status == ASSAY_OK && i < MOMENTS_FORMS && !clear; i++) {
        const int form = FORMS[i];
        const bool mean = form == MOMENTS_OWN_MEAN || form == MOMENTS_BEFORE_MEAN;
        if ((!alone || !mean) && (form != MOMENTS_OF_FIRST || key == SECOND_MOMENT))
            status = test_worker(step, worker, key, form, cases, &clear);
    }
    return status;
}

int law_moments(const law_step *step)
{
    const uint32_t workers = assay_trial_workers(step->rule->trial);
    const size_t first = slot_of(step, FIRST_MOMENT)->count, second = slot_of(step, SECOND_MOMENT)->count;
    const size_t most = first > second ? first : second;
    regression_case *cases = most > 0 ? malloc(most * sizeof *cases) : NULL;
    int status = cases || most == 0 ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint32_t w = 0; cases && w < workers; w++)
        for (int key = 0; status == ASSAY_OK && key < KEY_COUNT; key++)
            status = test_forms(step, w, key, cases);
    free(cases);
    return status;
}
