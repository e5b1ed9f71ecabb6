/* update.c - what an optimizer changes weights by: w' - w = a d + c w for all parameters of a step, with d
 *   SGD                     the gradient, of the worker or averaged over all
 *   SGD with momentum       momentum_buffer
 *   Adam, AdamW             m / (sqrt(v) + e), e = 1e-8, and what e / 32 adds to it, with a factor of its own: corrections
 *                           for the first steps are in a, and make e smaller. The update is convex in e, so that it lies
 *                           between the first, and the first with that much of the second
 * a holds the rate, the scale of a loss and what gradients were clipped by, c the decay; the factors are inferred
 * (regression.c).
 *
 * A weight of n elements a cell is rounded when it is written: 6 u sqrt(sum w^2); what is added, by 11 u of it, some of which is that of the sketch. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "laws/regression.h"

static const double COARSE = 1e-4; /* rounding of 16 bits: updates are as small, and are not tested */

/* Adds what a worker's gradient at the step before was, or that of all workers on average. False: there is none. */
static bool set_gradient(const law_step *step, const assay_tensor_view *weight, bool mean, regression_case *c)
{
    const uint32_t tensor = law_tensor(step, "gradient/%s", weight->name);
    const uint32_t workers = mean ? assay_trial_workers(step->rule->trial) : 1;
    for (uint32_t w = 0; w < workers; w++) {
        const assay_tensor_view *item = law_item(step, LAW_GRADIENTS, tensor, mean ? w : weight->worker);
        const assay_sketch *s = tensor == ASSAY_NO_TENSOR ? NULL : law_sketch(step, OF_GRADIENT, item);
        if (!s || !s->before || s->rows != c->elements || !law_follows(step, s->step, 1))
            return false;
        for (uint32_t i = 0; i < c->cells; i++) {
            c->term[0][i] += s->before[i] / workers;
            c->squares[0][i] += s->squares_before[i] / workers;
        }
    }
    return true;
}

static const double VAGUE = 1e-3; /* of an update by Adam, what depends on e: beyond that it tells no factor */

/* Does it go by the largest second moment so far (AMSGrad)? */
static bool goes_by_largest(const law_step *step, uint32_t first_moment)
{
    const char *name = assay_trial_tensor(step->rule->trial, first_moment);
    return law_tensor(step, "%.*smax_exp_avg_sq", (int)(strlen(name) - strlen("exp_avg")), name) != ASSAY_NO_TENSOR;
}

/* What an optimizer keeps of a weight, which the hook names after the network as well. */
static bool set_state(const law_step *step, const assay_tensor_view *weight, int form, regression_case *c)
{
    const bool adam = form == UPDATE_ADAM;
    uint32_t tensor = ASSAY_NO_TENSOR;
    for (const char *name = weight->name; name && tensor == ASSAY_NO_TENSOR;
         name = strchr(name, '_') ? strchr(name, '_') + 1 : NULL)
        tensor = law_tensor(step, "optimizer/%s/%s", name, adam ? "exp_avg" : "momentum_buffer");
    const assay_sketch *s =
        tensor == ASSAY_NO_TENSOR
            ? NULL
            : law_sketch(step, adam ? OF_ADAM : OF_STATE,
                         law_item(step, adam ? LAW_FIRST_MOMENTS : LAW_STATES, tensor, weight->worker));
    if (!s || s->rows != c->elements || (adam && (!s->before || goes_by_largest(step, tensor))))
        return false;
    for (uint32_t i = 0; i < c->cells; i++) {
        c->term[0][i] = s->sum[i];
        c->squares[0][i] = s->squares[i];
        if (!adam)
            continue;
        c->term[2][i] = s->before[i];
        c->squares[2][i] = 4 * s->squares_before[i] / (c->noise * c->noise);
        c->vague[i] = s->squares_before[i] > VAGUE * VAGUE * s->squares[i];
    }
    return true;
}

/* One weight: its change, what it may come of, and what rounding does. False: not all of that is there. */
static bool set_case(const law_step *step, const assay_tensor_view *weight, int form, regression_case *c)
{
    const assay_sketch *now = law_sketch(step, OF_UPDATE, weight);
    const double rounding = law_rounding(weight->dtype);
    if (!now || !now->before || rounding == 0 || rounding > COARSE || !law_follows(step, now->step, 1))
        return false;
    regression_begin(c, weight, now->rows, (uint32_t)now->groups);
    c->noise = 11 * rounding;
    for (uint32_t i = 0; i < c->cells; i++) {
        c->target[i] = now->sum[i] - now->before[i];
        c->rounding[i] = 6 * rounding * sqrt(fmax(now->squares[i], now->squares_before[i])) + 0x1p-149;
        c->term[1][i] = now->before[i];
        c->squares[1][i] = now->squares_before[i];
    }
    if (form == UPDATE_BUFFER || form == UPDATE_ADAM)
        return set_state(step, weight, form, c);
    return set_gradient(step, weight, form == UPDATE_SGD_MEAN, c);
}

/* `clear`: all weights of the worker keep to the form, so that no other one has to be tried. */
static int test_worker(const law_step *step, uint32_t worker, int form, regression_case *cases, bool *clear)
{
    const assay_slot_view *weights = &step->view->slot[LAW_WEIGHTS];
    size_t count = 0, all = 0;
    for (uint32_t i = 0; i < weights->count; i++) {
        all += weights->items[i]->worker == worker;
        if (weights->items[i]->worker == worker && set_case(step, weights->items[i], form, &cases[count]))
            count++;
    }
    const int status = regression_add(step, LAW_UPDATE, form, cases, count, form == UPDATE_ADAM ? 3 : 2, clear);
    *clear = *clear && count == all;
    return status;
}

/* Those of what an optimizer keeps come first: where it keeps something, nothing else explains its updates. */
static int test_forms(const law_step *step, uint32_t worker, regression_case *cases)
{
    const bool alone = assay_trial_workers(step->rule->trial) == 1;
    int status = ASSAY_OK;
    bool clear = false;
    for (int form = UPDATE_FORMS - 1; status == ASSAY_OK && form >= 0 && !clear; form--)
        if (!alone || form != UPDATE_SGD_MEAN)
            status = test_worker(step, worker, form, cases, &clear);
    return status;
}

int law_update(const law_step *step)
{
    const assay_slot_view *weights = &step->view->slot[LAW_WEIGHTS];
    const uint32_t workers = assay_trial_workers(step->rule->trial);
    regression_case *cases = weights->count > 0 ? malloc(weights->count * sizeof *cases) : NULL;
    int status = cases || weights->count == 0 ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint32_t w = 0; status == ASSAY_OK && cases && w < workers; w++)
        status = test_forms(step, w, cases);
    free(cases);
    return status;
}
