/* compare_odd.c - which trials are unlike the others, and how.
 *
 * 1. tensors that never change though they do in most others, or that most trials have and this one lacks
 * 2. a training that ends before most others do
 * 3. numbers far from those of the others: the outliers found before
 * 4. curves that leave the band of the others, if no plainer reason is known (noise.h)
 *
 * "Most" means four of five of the readable trials. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "report/compare/compare_internal.h"

/* Names are told by their families, GROUPS_SAID of them; NAMES_KEPT is enough to find these, and all are counted. A count
 * below RARE may stay at 0 by chance. */
enum { NAMES_KEPT = 64, GROUPS_SAID = 3, STEPS_KEPT = 128, RARE = 10 };

/* Adds a reason. Takes over `text`, also where the trial has enough of them. */
static int add_reason(assay_compared_trial *trial, char *text)
{
    ASSAY_HAVE(text);
    trial->odd = true;
    if (trial->reasons == ASSAY_REASONS)
        free(text);
    else
        trial->reason[trial->reasons++] = text;
    return ASSAY_OK;
}

/* ---- numbers ---- */

/* Makes "last loss", without the tensor's name where there is one loss alone. The words are those that
 * compare_outliers.c wrote. */
static char *outlier_text(const assay_comparison *c, const assay_outlier *o)
{
    size_t names = 0, whole = strlen(o->what), length = whole;
    for (size_t i = 0; i < c->losses; i++)
        names += i == 0 || strcmp(c->loss[i].tensor, c->loss[i - 1].tensor) != 0;
    bool loss = strncmp(o->what, "last loss of ", 13) == 0 || strncmp(o->what, "best loss of ", 13) == 0;
    const char *mode = loss ? strrchr(o->what, ' ') : NULL;
    char number[32];
    if (isnan(o->value))
        snprintf(number, sizeof number, "nan");
    else
        snprintf(number, sizeof number, "%.3g", o->value);
    const size_t half = sizeof "later half of " - 1;
    const char *where = strncmp(o->what, "later half of ", half) == 0 ? strrchr(o->what, ',') : NULL;
    if (where)
        return compare_text_of("%.*s is %s in the later half of%s, median %.3g", (int)(where - o->what - half),
                               o->what + half, number, where + 1, o->median);
    if (!loss || names > 1)
        return compare_text_of("%.*s %s, median %.3g", (int)length, o->what, number, o->median);
    return compare_text_of("%.9s%s%s %s, median %.3g", o->what, mode && strcmp(mode, " TRAIN") != 0 ? " in" : "",
                           mode && strcmp(mode, " TRAIN") != 0 ? mode : "", number, o->median);
}

/* Tells whether an outlier is small: however alike the others are, a few percent make no run odd. */
static bool is_small(const assay_outlier *o)
{
    static const double SMALL = 0.05;
    return fabs(o->value - o->median) <= SMALL * fabs(o->median);
}

/* Tells what an outlier is of, by how much it says. */
static int kind_of(const assay_outlier *o)
{
    return strncmp(o->what, "last loss", 9) == 0 ? 0 : strncmp(o->what, "best loss", 9) == 0 ? 1 : 2;
}

/* Adds of each trial the loss that lies farthest out, and the number that is none: c->outlier is sorted by that. A
 * last loss says more than a best. */
static int add_outliers(assay_comparison *c)
{
    int status = ASSAY_OK;
    bool *said = assay_alloc_zeroed(c->trials, sizeof *said);
    ASSAY_HAVE(said);
    for (int kind = 0; kind < 3; kind++) {
        if (kind == 2)
            memset(said, 0, c->trials * sizeof *said);
        for (size_t i = 0; status == ASSAY_OK && i < c->outliers; i++) {
            const assay_outlier *o = &c->outlier[i];
            if (kind_of(o) != kind || said[o->trial] || is_small(o))
                continue;
            said[o->trial] = true;
            status = add_reason(&c->trial[o->trial], outlier_text(c, o));
        }
    }
    free(said);
    return status;
}

/* ---- tensors ---- */

typedef struct name_list {
    const char *name[NAMES_KEPT]; /* borrowed from the outcome; in byte order within a mode */
    size_t count, all;
} name_list;

typedef struct absence {
    const assay_comparison *c;
    size_t readable;
    name_list *still, *missing; /* [trials] */
    bool any, common;           /* there are tensors, and such as half of the trials or more have */
} absence;

static void note(name_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->name[i], name) == 0)
            return;
    if (list->count < NAMES_KEPT)
        list->name[list->count++] = name;
    list->all++;
}

/* Returns 1: it moves by more than rounding, 0: it is the same at all its steps, -1: neither, or too few steps to
 * tell. */
static int movement(const assay_grid *grid, size_t trial)
{
    static const double ROUNDING = 1e-3;
    double least = INFINITY, most = -INFINITY;
    size_t points = 0;
    for (size_t i = 0; i < grid->steps; i++) {
        double value = grid->value[i * grid->trials + trial];
        if (isnan(value))
            continue;
        least = fmin(least, value);
        most = fmax(most, value);
        points++;
    }
    if (points < 4)
        return -1;
    return most == least ? 0 : most - least > ROUNDING * fmax(fabs(most), fabs(least)) ? 1 : -1;
}

/* Tells whether the mode trains: evaluations of the same data come to the same numbers while nothing is trained in
 * between. */
static bool trains(int mode)
{
    return mode == ASSAY_MODE_TRAIN || mode == ASSAY_MODE_GLOBAL;
}

static int look_for_absence(void *context, const assay_grid *grid)
{
    absence *a = context;
    size_t have = 0, move = 0;
    for (size_t t = 0; t < grid->trials; t++) {
        have += grid->points[t] > 0;
        move += movement(grid, t) == 1;
    }
    a->any = a->any || have > 0;
    a->common = a->common || 2 * have >= a->readable;
    for (size_t t = 0; t < grid->trials; t++) {
        if (a->c->outcome->trials[t].status != ASSAY_OK)
            continue;
        if (grid->points[t] == 0 && 5 * have >= 4 * a->readable)
            note(&a->missing[t], grid->tensor);
        const bool by_chance = grid->number.counts && grid->number.level < RARE;
        if (grid->figure != ASSAY_BAND_LOSS && trains(grid->mode) && 5 * move >= 4 * a->readable && !by_chance &&
            movement(grid, t) == 0)
            note(&a->still[t], grid->tensor);
    }
    return ASSAY_OK;
}

/* Counts the bytes of a name up to behind its last '.' or '/': what its relatives share. */
static size_t family_of(const char *name)
{
    const char *dot = strrchr(name, '.'), *slash = strrchr(name, '/');
    const char *end = dot ? dot : slash;
    return end ? (size_t)(end - name) + 1 : 0;
}

/* Puts "gradient/Net_fc2.*, Net_fc1.weight and 3 more". */
static void put_names(const name_list *list, assay_buf *out)
{
    const char *sorted[NAMES_KEPT];
    size_t said = 0, covered = 0;
    memcpy(sorted, list->name, list->count * sizeof *sorted);
    qsort(sorted, list->count, sizeof *sorted, assay_order_texts);
    for (size_t i = 0, end; i < list->count && said < GROUPS_SAID; i = end, said++) {
        size_t family = family_of(sorted[i]);
        for (end = i + 1; end < list->count && family > 0 && family_of(sorted[end]) == family &&
                          strncmp(sorted[i], sorted[end], family) == 0;
             end++)
            ;
        assay_put_format(out, said ? ", " : "");
        if (end - i > 1)
            assay_put_format(out, "%.*s*", (int)family, sorted[i]);
        else
            assay_put_format(out, "%s", sorted[i]);
        covered += end - i;
    }
    if (list->all > covered)
        assay_put_format(out, " and %zu more", list->all - covered);
}

static int add_names(assay_compared_trial *trial, const name_list *list, const char *what)
{
    assay_buf text = ASSAY_BUF(1 << 20);
    if (list->all == 0)
        return ASSAY_OK;
    put_names(list, &text);
    assay_put_format(&text, " %s", what);
    assay_put_u8(&text, '\0');
    int status = assay_buf_status(&text);
    ASSAY_THEN(status, add_reason(trial, assay_copy_text((const char *)text.data)));
    assay_buf_release(&text);
    return status;
}

static int add_absences(assay_comparison *c, size_t readable)
{
    absence a = {.c = c,
                 .readable = readable,
                 .still = assay_alloc_zeroed(c->trials, sizeof *a.still),
                 .missing = assay_alloc_zeroed(c->trials, sizeof *a.missing)};
    int status = a.still && a.missing ? ASSAY_OK : ASSAY_ENOMEM;
    ASSAY_THEN(status, assay_grids_walk(c->grids, ASSAY_BAND_NORM, STEPS_KEPT, look_for_absence, &a));
    ASSAY_THEN(status, assay_grids_walk(c->grids, ASSAY_BAND_VALUE, STEPS_KEPT, look_for_absence, &a));
    ASSAY_THEN(status, assay_grids_walk(c->grids, ASSAY_BAND_LOSS, STEPS_KEPT, look_for_absence, &a));
    for (size_t t = 0; status == ASSAY_OK && t < c->trials; t++) {
        status = add_names(&c->trial[t], &a.still[t], "never updated");
        ASSAY_THEN(status, add_names(&c->trial[t], &a.missing[t], "missing"));
    }
    /* Trials that have hardly a tensor in common are no runs of one training. */
    c->apart = a.any && !a.common;
    free(a.still);
    free(a.missing);
    return status;
}

/* ---- ends ---- */

static int64_t last_train_step(const assay_trial *info)
{
    for (uint64_t i = info ? assay_trial_steps(info) : 0; i-- > 0;)
        if (assay_trial_step(info, i)->mode == ASSAY_MODE_TRAIN)
            return assay_trial_step(info, i)->mode_step;
    return -1;
}

/* Adds trials that end before nine tenths of the way that most go. */
static int add_ends(assay_comparison *c)
{
    int64_t *last = assay_alloc(c->trials * sizeof *last);
    size_t n = 0, as_far = 0;
    int status = last ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t t = 0; status == ASSAY_OK && t < c->trials; t++) {
        int64_t step = last_train_step(c->outcome->trials[t].info);
        if (step >= 0)
            last[n++] = step;
    }
    if (n >= ASSAY_OUTLIER_TRIALS)
        qsort(last, n, sizeof *last, assay_order_i64);
    int64_t median = n ? last[n / 2] : 0;
    for (size_t i = 0; i < n; i++)
        as_far += last[i] >= median - median / 10;
    for (size_t t = 0; status == ASSAY_OK && n >= ASSAY_OUTLIER_TRIALS && t < c->trials; t++) {
        int64_t step = last_train_step(c->outcome->trials[t].info);
        if (step >= 0 && step < median - median / 10 && 5 * as_far >= 4 * n)
            status = add_reason(&c->trial[t],
                                compare_text_of("%s at TRAIN step %" PRId64 ", median %" PRId64,
                                                c->outcome->trials[t].catalog.ended ? "ends" : "is", step, median));
    }
    free(last);
    return status;
}

/* Says what of a tensor leaves those of the others; "": the tensor itself does. */

/* What of a tensor leaves those of the others; "": the tensor itself does. */
static const char *curve_subject(int figure)
{
    switch (figure) {
    case ASSAY_BAND_LOSS:
    case ASSAY_BAND_VALUE:
        return "";
    case ASSAY_BAND_GAP:
        return "gap between training and evaluation of ";
    case ASSAY_BAND_NORM:
        return "norm of ";
    case ASSAY_BAND_ZEROS:
        return "share of zeros of ";
    case ASSAY_BAND_ELEMENTS:
        return "number of elements of ";
    case ASSAY_BAND_MEAN:
        return "mean of ";
    default:
        return "magnitude of ";
    }
}

static int add_curve(assay_compared_trial *trial, const assay_far_curve *far)
{
    if (!far->tensor)
        return ASSAY_OK;
    return add_reason(trial, compare_text_of("%s%s leaves those of the others from %s step %" PRId64 " on",
                                             curve_subject(far->figure), far->tensor, assay_mode_name(far->mode),
                                             far->mode_step));
}

/* Curves are the least plain reason, so only for trials that have no other. */
static int add_curves(assay_comparison *c)
{
    static const double ONE_TENSOR = 20; /* of many curves one lies far out */
    const double limit = assay_noise_limit_of_curve(c->readable);
    const assay_noise noise = ASSAY_NOISE_DEFAULTS;
    assay_score *score = assay_alloc(c->trials * sizeof *score);
    assay_farthest *far = assay_alloc(c->trials * sizeof *far);
    int status =
        score && far ? assay_noise_leave_one_out(c->grids, &noise, true, STEPS_KEPT, score, far) : ASSAY_ENOMEM;
    for (size_t t = 0; status == ASSAY_OK && t < c->trials; t++) {
        c->trial[t].score = score[t];
        if (c->trial[t].reasons > 0)
            continue;
        if (score[t].losses > limit)
            status = add_curve(&c->trial[t], &far[t].loss);
        else if (score[t].gaps > limit)
            status = add_curve(&c->trial[t], &far[t].gap);
        else if (score[t].tensors > limit || score[t].tensor > ONE_TENSOR * limit)
            status = add_curve(&c->trial[t], &far[t].tensor);
    }
    free(score);
    free(far);
    return status;
}

/* Fewer trials than ASSAY_OUTLIER_TRIALS are not judged: of three nobody can say which is the odd one. One that could
 * not be read is odd in any case. */
int compare_odd(assay_comparison *c)
{
    size_t readable = 0;
    int status = ASSAY_OK;
    for (size_t t = 0; t < c->trials; t++)
        readable += c->outcome->trials[t].status == ASSAY_OK;
    c->readable = readable;
    c->judged = readable >= ASSAY_OUTLIER_TRIALS;
    if (c->judged) {
        status = add_absences(c, readable);
        ASSAY_THEN(status, add_ends(c));
        ASSAY_THEN(status, add_outliers(c));
        ASSAY_THEN(status, add_curves(c));
    }
    for (size_t t = 0; status == ASSAY_OK && t < c->trials; t++) {
        if (c->outcome->trials[t].status != ASSAY_OK)
            status = add_reason(&c->trial[t], compare_text_of("could not be read"));
        c->odd += c->trial[t].odd;
    }
    return status;
}
