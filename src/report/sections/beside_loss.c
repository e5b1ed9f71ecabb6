/* beside_loss.c - what is looked at beside the loss: the learning rate and the norm of the gradients, by their names in logs
 * and recordings, and where no norm was recorded that of the gradients themselves. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "report/sections/sections.h"

enum { MOST_LINES = DOC_SERIES };

/* Tells whether the name has "lr" as a word: "train/lr", "lr-AdamW" and "lr_1", not "already". */
static bool has_word_lr(const char *name)
{
    for (const char *at = name; (at = strcasestr(at, "lr")); at += 2)
        if ((at == name || !isalnum((unsigned char)at[-1])) && !isalpha((unsigned char)at[2]))
            return true;
    return false;
}

static bool is_rate(const char *name)
{
    return strcasestr(name, "learning_rate") || strcasestr(name, "learning-rate") || strcasestr(name, "learningrate") ||
           has_word_lr(name);
}

static bool is_norm(const char *name)
{
    return strcasestr(name, "grad") && strcasestr(name, "norm") && !strcasestr(name, "layernorm") &&
           !strcasestr(name, "batchnorm");
}

/* Tells whether the tensor is one number a worker at every step, as what is logged is. */
static bool is_number(const assay_tensor_curve *curve)
{
    for (size_t i = 0; i < curve->count; i++)
        if (curve->point[i].elements != curve->point[i].workers)
            return false;
    return true;
}

static void put_chart(const char *title, const char *unit, const doc_series *series, size_t count, doc *d)
{
    if (count > 0)
        doc_put_chart(d, NULL,
                      &(doc_chart){.kind = DOC_LINES,
                                   .title = title,
                                   .x_label = "global step",
                                   .y_label = unit,
                                   .series = series,
                                   .count = count});
}

/* Puts numbers of training whose names say that they are it. Returns how many. */
static size_t put_numbers(const assay_trial *trial, const assay_curves *curves, bool (*is)(const char *name),
                          const char *title, doc *d)
{
    doc_series series[MOST_LINES];
    size_t count = 0;
    for (size_t c = 0; c < curves->tensor_count && count < MOST_LINES; c++) {
        const assay_tensor_curve *curve = &curves->tensors[c];
        const char *name = assay_trial_tensor(trial, curve->tensor);
        if (curve->mode != ASSAY_MODE_TRAIN || curve->count < 2 || !is(name) || !is_number(curve))
            continue;
        double *x = assay_alloc(2 * curve->count * sizeof *x);
        if (!x) {
            doc_fail(d, ASSAY_ENOMEM);
            break;
        }
        for (size_t i = 0; i < curve->count; i++) {
            x[i] = (double)curve->point[i].step;
            x[curve->count + i] = curve->point[i].mean;
        }
        series[count] = (doc_series){name, x, x + curve->count, curve->count, (int)count};
        count++;
    }
    put_chart(title, "value", series, count, d);
    for (size_t s = 0; s < count; s++)
        free((double *)(uintptr_t)series[s].x);
    return count;
}

static bool is_gradient(const assay_trial *trial, const assay_tensor_curve *curve)
{
    return curve->mode == ASSAY_MODE_TRAIN && assay_trial_role(trial, curve->tensor) == ASSAY_ROLE_GRADIENT;
}

/* Puts the norm over all gradients, at the steps that all of them have. With tensors left out it would be too small,
 * so there is none. */
static void put_gradients(const assay_trial *trial, const assay_curves *curves, doc *d)
{
    const assay_tensor_curve *first = NULL;
    double *x = NULL, *y = NULL;
    size_t count = 0;
    for (size_t c = 0; c < curves->tensor_count; c++)
        if (is_gradient(trial, &curves->tensors[c]) && (!first || curves->tensors[c].count < first->count))
            first = &curves->tensors[c];
    if (!first || first->count < 2 || curves->tensors_left_out > 0)
        return;
    x = assay_alloc(2 * first->count * sizeof *x);
    if (!x) {
        doc_fail(d, ASSAY_ENOMEM);
        return;
    }
    y = x + first->count;
    for (size_t i = 0; i < first->count; i++) {
        double squares = 0;
        bool all = true;
        for (size_t c = 0; c < curves->tensor_count && all; c++) {
            const assay_tensor_curve *curve = &curves->tensors[c];
            size_t at = 0;
            if (!is_gradient(trial, curve))
                continue;
            ASSAY_SEARCH(at, curve->count, curve->point[at].step < first->point[i].step);
            all = at < curve->count && curve->point[at].step == first->point[i].step;
            squares += all ? curve->point[at].norm * curve->point[at].norm : 0;
        }
        x[count] = (double)first->point[i].step;
        y[count] = sqrt(squares);
        count += all;
    }
    put_chart("Norm of the gradients", "L2 norm", &(doc_series){"all gradients", x, y, count, 0}, count > 1, d);
    free(x);
}

void sections_put_beside_loss(const assay_trial_outcome *trial, const assay_curves *curves, doc *d)
{
    put_numbers(trial->info, curves, is_rate, "Learning rate", d);
    if (put_numbers(trial->info, curves, is_norm, "Norm of the gradients", d) == 0)
        put_gradients(trial->info, curves, d);
}
