/* projections.c - equations of which the hook has kept sums of both sides (laws=True, assay_recording/laws.py): products of
 * linear layers, their gradients dW = dyt x, normalisations, updates, moments, and the gradients that workers have averaged;
 * and what it has found of functions and poolings, element by element.
 *
 * The bounds are those of the same laws elsewhere. What a float32 of a sum rounds is less than what the sum was rounded by. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "laws/regression.h"

static const assay_values *values_of(const law_step *step, const assay_tensor_view *item)
{
    const assay_result *result =
        item && assay_view_has_values(item) ? assay_view_result(step->view, OF_PROJECTION, item) : NULL;
    return result ? &result->of.values : NULL;
}

static bool is_named(const assay_tensor_view *item, const char *law)
{
    return strncmp(item->name, law, strlen(law)) == 0;
}

/* Is it a number of things? What is recorded may be anything. */
static bool is_count(double x, double most)
{
    return x >= 1 && x <= most && x == floor(x);
}

/* Squares that are kept as floats: what is less than the least of these may have been anything up to it. */
static double squares_of(double kept)
{
    return fmax(kept, 0x1p-126);
}

/* ---- linear layers, and their gradients ---- */

enum { L_INPUTS, L_ROWS, L_COLUMNS, L_GROUPS, L_TILES, L_CONVOLVES, L_X, L_W, L_Y, L_HEAD };

static int add_products(const law_step *step, const assay_tensor_view *item, int law, const assay_values *v)
{
    const double *head = v->value;
    linear_rounding rounding;
    if (v->count < L_HEAD || !is_count(head[L_INPUTS], 0x1p31) || !is_count(head[L_ROWS], 0x1p40) ||
        !is_count(head[L_COLUMNS], 0x1p31) || !is_count(head[L_GROUPS], 0x1p9) || !is_count(head[L_TILES], 0x1p9) ||
        !is_count(head[L_X], 63) || !is_count(head[L_W], 63) || !is_count(head[L_Y], 63) ||
        !linear_set_rounding(&rounding, (int)head[L_X], (int)head[L_W], (int)head[L_Y], head[L_INPUTS],
                             head[L_ROWS] * head[L_COLUMNS]))
        return ASSAY_OK;
    rounding.sums *= head[L_CONVOLVES] != 0 ? CONVOLVED : 1;
    if (law == LAW_LINEAR && !linear_says_something(&rounding))
        return ASSAY_OK;
    const uint64_t groups = (uint64_t)head[L_GROUPS], tiles = (uint64_t)head[L_TILES], cells = groups * tiles;
    const double elements = head[L_ROWS] * head[L_COLUMNS] / (double)cells;
    if (v->count != L_HEAD + 3 * cells)
        return ASSAY_OK;
    const double *apart = head + L_HEAD, *products = apart + cells, *outputs = products + cells;
    int status = ASSAY_OK;
    for (int form = 0; status == ASSAY_OK && form < LINEAR_FORMS; form++) {
        double row[LAW_WIDTH] = {[LAW_OF] = law, [LAW_VARIANT] = form};
        uint64_t off = 0;
        for (uint64_t i = 0; i < cells; i++) {
            double bounds[LINEAR_FORMS];
            linear_bounds(&rounding, squares_of(products[i]), squares_of(outputs[i]), elements, bounds);
            const double bound = bounds[form], ratio = fabs(apart[i]) / bound;
            if (!isfinite(products[i]) || !isfinite(outputs[i]))
                return ASSAY_OK;
            off += ratio > 1;
            if (!(ratio > row[LAW_RATIO]))
                continue;
            row[LAW_RATIO] = ratio;
            row[LAW_APART] = fabs(apart[i]);
            row[LAW_BOUND] = bound;
            row[LAW_ROW] = (double)assay_sketch_first_row(i / tiles, (uint64_t)head[L_ROWS], groups);
            row[LAW_ROW_END] = (double)assay_sketch_first_row(i / tiles + 1, (uint64_t)head[L_ROWS], groups);
            row[LAW_COLUMN] = (double)assay_sketch_first_row(i % tiles, (uint64_t)head[L_COLUMNS], tiles);
            row[LAW_COLUMN_END] = (double)assay_sketch_first_row(i % tiles + 1, (uint64_t)head[L_COLUMNS], tiles);
        }
        row[LAW_ROWS_OFF] = (double)off;
        row[LAW_ROWS] = (double)cells; /* and no columns */
        status = assay_series_add(step->series, step->view->step, item->tensor, item->worker, row);
    }
    return status;
}

/* ---- normalisations ---- */

enum { N_ROWS, N_COLUMNS, N_GROUPS, N_TILES, N_Y, N_HEAD };

/* One form of it: of each cell how far it is off, the squares of what came out, and those of its terms. */
static int add_norm_form(const law_step *step, const assay_tensor_view *item, const double *head, const double *form)
{
    const uint64_t groups = (uint64_t)head[N_GROUPS], tiles = (uint64_t)head[N_TILES], cells = groups * tiles;
    const double *apart = form + 1, *outputs = apart + cells, *terms = outputs + cells;
    double row[LAW_WIDTH] = {[LAW_OF] = LAW_NORMALISATION, [LAW_VARIANT] = *form};
    uint64_t off = 0;
    for (uint64_t i = 0; i < cells; i++) {
        const double bound = norm_bound((int)head[N_Y], squares_of(outputs[i]), squares_of(terms[i])),
                     ratio = fabs(apart[i]) / bound;
        if (!isfinite(outputs[i]) || !isfinite(terms[i]))
            return ASSAY_OK;
        off += ratio > 1;
        if (!(ratio > row[LAW_RATIO]))
            continue;
        row[LAW_RATIO] = ratio;
        row[LAW_APART] = fabs(apart[i]);
        row[LAW_BOUND] = bound;
        row[LAW_ROW] = (double)assay_sketch_first_row(i / tiles, (uint64_t)head[N_ROWS], groups);
        row[LAW_ROW_END] = (double)assay_sketch_first_row(i / tiles + 1, (uint64_t)head[N_ROWS], groups);
        row[LAW_COLUMN] = (double)assay_sketch_first_row(i % tiles, (uint64_t)head[N_COLUMNS], tiles);
        row[LAW_COLUMN_END] = (double)assay_sketch_first_row(i % tiles + 1, (uint64_t)head[N_COLUMNS], tiles);
    }
    row[LAW_ROWS_OFF] = (double)off;
    row[LAW_ROWS] = (double)cells; /* and no columns */
    return assay_series_add(step->series, step->view->step, item->tensor, item->worker, row);
}

static int add_norms(const law_step *step, const assay_tensor_view *item, const assay_values *v)
{
    const double *head = v->value;
    int status = ASSAY_OK;
    if (v->count < N_HEAD || !is_count(head[N_ROWS], 0x1p40) || !is_count(head[N_COLUMNS], 0x1p31) ||
        !is_count(head[N_GROUPS], 0x1p9) || !is_count(head[N_TILES], 0x1p9) || !is_count(head[N_Y], 63) ||
        law_rounding((int)head[N_Y]) == 0)
        return ASSAY_OK;
    const uint64_t size = 1 + 3 * (uint64_t)(head[N_GROUPS] * head[N_TILES]);
    for (uint64_t at = N_HEAD; status == ASSAY_OK && at + size <= v->count; at += size)
        if (v->value[at] == 0 || is_count(v->value[at], NORMALISED_BY_ROOTS_PLUS))
            status = add_norm_form(step, item, head, v->value + at);
    return status;
}

/* ---- functions, and poolings ---- */

enum { F_ELEMENTS, F_FIRST, F_UNLIKELY, F_HEAD, F_FIT = 5, F_POOLING = F_FIT + 1 };

/* What the hook has written of one; false: it is none. */
static bool set_fit(const double *of, double first, assay_function_fit *fit)
{
    *fit = (assay_function_fit){
        .broken = UINT64_MAX, .index = UINT64_MAX, .apart = of[2], .bound = of[3], .largest = of[4]};
    if (of[0] >= 0 && of[0] < 0x1p53)
        fit->broken = (uint64_t)of[0];
    if (of[4] > 0 && of[1] >= 0 && first + of[1] < 0x1p53)
        fit->index = (uint64_t)(first + of[1]);
    return of[2] >= 0 && of[3] >= 0 && of[4] >= 0;
}

static int add_functions(const law_step *step, const assay_tensor_view *item, const assay_values *v)
{
    const double *head = v->value;
    assay_function_fit fit[ASSAY_FUNCTIONS];
    const assay_function function = {.found = true, .fit = fit, .unlikely = v->count > F_HEAD ? head[F_UNLIKELY] : 0};
    if (v->count != F_HEAD + F_FIT * ASSAY_FUNCTIONS || !is_count(head[F_ELEMENTS], 0x1p53) || !(head[F_FIRST] >= 0) ||
        !(head[F_UNLIKELY] >= 0))
        return ASSAY_OK;
    for (size_t f = 0; f < ASSAY_FUNCTIONS; f++)
        if (!set_fit(head + F_HEAD + F_FIT * f, head[F_FIRST], &fit[f]))
            return ASSAY_OK;
    int status = law_add_activation(step, item, head[F_ELEMENTS], &function);
    ASSAY_THEN(status, law_add_dropout(step, item, head[F_ELEMENTS], &function));
    return status;
}

static int add_poolings(const law_step *step, const assay_tensor_view *item, const assay_values *v)
{
    const double *head = v->value;
    int status = ASSAY_OK;
    if (v->count < F_HEAD || !is_count(head[F_ELEMENTS], 0x1p53) || !(head[F_FIRST] >= 0))
        return ASSAY_OK;
    for (uint64_t at = F_HEAD; status == ASSAY_OK && at + F_POOLING <= v->count; at += F_POOLING) {
        const double form = head[at];
        assay_function_fit fit;
        if ((form == 0 || is_count(form, POOLING_FORMS - 1)) && set_fit(head + at + 1, head[F_FIRST], &fit))
            status = law_add_fit(step, item, head[F_ELEMENTS], LAW_POOLING, (int)form, &fit);
    }
    return status;
}

/* ---- parameters ---- */

enum { P_ELEMENTS, P_CELLS, P_DTYPE, P_FORM, P_HEAD };

/* Adds pairs of sums and squares to a term. */
static void add_term(regression_case *c, int term, const double *pairs, double share)
{
    for (uint32_t i = 0; i < c->cells; i++) {
        c->term[term][i] += share * pairs[i];
        c->squares[term][i] += share * squares_of(pairs[c->cells + i]);
    }
}

static bool set_case(const law_step *step, const assay_tensor_view *item, int law, regression_case *c, int *form)
{
    const assay_values *v = values_of(step, item);
    if (!v || v->count < P_HEAD || !is_count(v->value[P_ELEMENTS], 0x1p53) ||
        !is_count(v->value[P_CELLS], REGRESSION_CELLS) || !is_count(v->value[P_DTYPE], 63))
        return false;
    const double rounding = law_rounding((int)v->value[P_DTYPE]), *pairs = v->value + P_HEAD;
    const uint64_t cells = (uint64_t)v->value[P_CELLS], terms = (v->count - P_HEAD) / (2 * cells) - 1;
    if (rounding == 0 || (law == LAW_UPDATE && rounding > 1e-4) || terms < 1 || terms > 3 ||
        v->count != P_HEAD + 2 * cells * (terms + 1))
        return false;
    for (uint64_t i = 0; i < v->count; i++)
        if (!isfinite(v->value[i]))
            return false;
    regression_begin(c, item, (uint64_t)v->value[P_ELEMENTS], (uint32_t)cells);
    c->noise = 11 * rounding;
    for (uint64_t i = 0; i < cells; i++) {
        c->target[i] = pairs[i];
        c->rounding[i] = law_written((int)v->value[P_DTYPE], squares_of(fabs(pairs[cells + i])),
                                     v->value[P_ELEMENTS] / (double)cells);
    }
    for (uint64_t t = 0; t < terms; t++)
        add_term(c, (int)t, pairs + 2 * cells * (t + 1), 1);
    for (uint64_t i = 0; law == LAW_UPDATE && terms == 3 && i < cells; i++) { /* what depends on e */
        c->vague[i] = c->squares[2][i] > 1e-6 * c->squares[0][i];
        c->squares[2][i] *= 4 / (c->noise * c->noise);
    }
    *form = (int)terms;
    return true;
}

/* The gradients of all workers before they were averaged. */
static bool set_mean(const law_step *step, regression_case *c)
{
    const uint32_t workers = assay_trial_workers(step->rule->trial);
    memset(c->term[0], 0, sizeof c->term[0]);
    memset(c->squares[0], 0, sizeof c->squares[0]);
    for (uint32_t w = 0; w < workers; w++) {
        const assay_values *v = values_of(step, law_item(step, LAW_PROJECTIONS, c->item->tensor, w));
        if (!v || v->count != P_HEAD + 4 * c->cells || v->value[P_CELLS] != c->cells)
            return false;
        add_term(c, 0, v->value + P_HEAD + 2 * c->cells, 1.0 / workers);
    }
    return true;
}

typedef struct projected {
    const char *prefix, *suffix;
    int law, variant;
    int terms; /* so many: another form of the law has another number */
    bool mean; /* over the workers */
} projected;

static const projected PROJECTED[] = {
    {"state/laws/update/", "", LAW_UPDATE, UPDATE_SGD, 2, false},
    {"state/laws/update/", "", LAW_UPDATE, UPDATE_ADAM, 3, false},
    {"state/laws/moments/", "/exp_avg", LAW_MOMENTS, MOMENTS_OWN, 3, false},
    {"state/laws/moments/", "/exp_avg_sq", LAW_MOMENTS, MOMENTS_OWN, 2, false},
    {"state/laws/moments/", "/momentum_buffer", LAW_MOMENTS, MOMENTS_OWN, 3, false},
    {"state/laws/reduce/", "", LAW_REDUCE, 0, 1, false},
    {"state/laws/reduce/", "", LAW_REDUCE, 1, 1, true},
};

static bool ends_with(const char *name, const char *suffix)
{
    const size_t length = strlen(name), size = strlen(suffix);
    return length >= size && strcmp(name + length - size, suffix) == 0;
}

static int test_worker(const law_step *step, uint32_t worker, const projected *p, regression_case *cases)
{
    const assay_slot_view *items = &step->view->slot[LAW_PROJECTIONS];
    size_t count = 0;
    for (uint32_t i = 0; i < items->count; i++) {
        const assay_tensor_view *item = items->items[i];
        int terms;
        if (item->worker == worker && is_named(item, p->prefix) && ends_with(item->name, p->suffix) &&
            set_case(step, item, p->law, &cases[count], &terms) && terms == p->terms &&
            (!p->mean || set_mean(step, &cases[count])))
            count++;
    }
    return regression_add(step, p->law, p->variant, cases, count, p->terms, NULL);
}

int law_projections(const law_step *step)
{
    const assay_slot_view *items = &step->view->slot[LAW_PROJECTIONS];
    const uint32_t workers = assay_trial_workers(step->rule->trial);
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < items->count; i++) {
        const assay_tensor_view *item = items->items[i];
        const assay_values *v = values_of(step, item);
        if (v && is_named(item, "state/laws/linear/"))
            status = add_products(step, item, LAW_LINEAR, v);
        else if (v && is_named(item, "state/laws/gradient/"))
            status = add_products(step, item, LAW_GRADIENT, v);
        else if (v && is_named(item, "state/laws/norm/"))
            status = add_norms(step, item, v);
        else if (v && is_named(item, "state/laws/function/"))
            status = add_functions(step, item, v);
        else if (v && is_named(item, "state/laws/pooling/"))
            status = add_poolings(step, item, v);
    }
    regression_case *cases = items->count > 0 ? malloc(items->count * sizeof *cases) : NULL;
    if (status == ASSAY_OK && items->count > 0 && !cases)
        status = ASSAY_ENOMEM;
    for (uint32_t w = 0; cases && w < workers; w++)
        for (size_t k = 0; status == ASSAY_OK && k < sizeof PROJECTED / sizeof *PROJECTED; k++)
            if (workers > 1 || !PROJECTED[k].mean)
                status = test_worker(step, w, &PROJECTED[k], cases);
    free(cases);
    return status;
}
