/* html_elements.c - reads tensors of findings once more, so that the page shows how their elements are distributed. Which
 * tensors these are is only known when the run has ended. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <assay/trial.h>

#include "rules/shared/histograms.h"

#include "base/fault.h"
#include "base/search.h"
#include "report/compare/noise.h"
#include "report/html/html.h"
#include "report/model/curves.h"

enum {
    STEPS = 24,
    LEAST_STEPS = 3,
    LEAST_ELEMENTS = 16,  /* fewer are no distribution */
    MOST_READ = 1 << 23,  /* elements of a tensor, in all */
    SAMPLE = 1 << 16,     /* of a step: quantiles of so many elements at even distances */
    MOST_UNITS = 1 << 14, /* index files of the trial: more take too long to open once more */
    MOST_RECORDS = 1 << 20
};

/* Fails the page. The run read all that there is without a fault; so what cannot be read now has failed since: or it
 * is being written, in a training that has not ended. */
static void fail(html_page *page, int status)
{
    html_fail(page, status == ASSAY_ENOMEM ? status : ASSAY_EIO);
}

/* NULL: the trial is not read again, because it is far away, being written, damaged or too large. No page waits for
 * that. */
assay_recording *html_read_again(html_page *page, const assay_trial_outcome *trial)
{
    assay_recording *recording = NULL;
    assay_error err = {""};
    assay_recorded_problem problem;
    if (page->so_far || strncmp(trial->trial->path, "s3://", 5) == 0 || trial->trial->options ||
        trial->problems.losses > 0 || trial->catalog.unit_count > MOST_UNITS ||
        trial->info->step_count * assay_trial_tensors(trial->info) > MOST_RECORDS)
        return NULL;
    const int status = assay_recording_open(trial->trial->path, &recording, &err);
    if (status != ASSAY_OK) {
        fail(page, status);
        return NULL;
    }
    bool lost = false;
    for (uint64_t i = 0; assay_recording_problem(recording, i, &problem) == ASSAY_OK; i++)
        lost = lost || problem.is_loss;
    if (!lost)
        return recording;
    if (trial->catalog.ended)
        fail(page, ASSAY_EIO);
    assay_recording_close(recording);
    return NULL;
}

/* The rows of a tensor, those of one step behind one another. */
typedef struct saved_rows {
    assay_recording *from;
    uint32_t tensor;
    const assay_saved *row;
    size_t count;
    int64_t first, last; /* steps that the run looked at */
} saved_rows;

/* The elements of all workers at the step of row `at`: SAMPLE of them at most, and the least and the largest of all. */
typedef struct elements {
    double *value, *sample; /* [room], [2 * SAMPLE] */
    size_t room, count;
    double least, most;
} elements;

static bool has_value(const saved_rows *rows, size_t row)
{
    return rows->row[row].kinds & 1u << ASSAY_RAW;
}

static size_t end_of_step(const saved_rows *rows, size_t at)
{
    size_t end = at + 1;
    while (end < rows->count && rows->row[end].step == rows->row[at].step)
        end++;
    return end;
}

/* The stride is of the step with most elements, so samples of all steps are alike. */
static int take_step(const saved_rows *rows, size_t at, size_t of_step, elements *e)
{
    const size_t end = end_of_step(rows, at), stride = 1 + of_step / SAMPLE;
    e->count = 0;
    e->least = INFINITY;
    e->most = -INFINITY;
    for (size_t r = at; r < end; r++) {
        assay_recorded_head head;
        if (!has_value(rows, r))
            continue;
        const int status = assay_recording_read(rows->from, rows->tensor, r, ASSAY_AS_FLOAT64, e->value,
                                                e->room * sizeof *e->value, &head, NULL);
        ASSAY_TRY(status);
        for (size_t i = 0; i < head.elements; i++) {
            const double x = e->value[i];
            e->least = x < e->least ? x : e->least;
            e->most = x > e->most ? x : e->most;
            if (i % stride == 0 && !isnan(x) && e->count < 2 * SAMPLE)
                e->sample[e->count++] = x;
        }
    }
    return ASSAY_OK;
}

/* Chooses the first rows of at most `most` steps of training with values, at even distances, the last one among them.
 * The first pass counts. */
static size_t choose_steps(const saved_rows *rows, size_t most, size_t *chosen)
{
    size_t all = 0, count = 0;
    for (int pass = 0; pass < 2; pass++) {
        size_t number = 0;
        for (size_t at = 0; at < rows->count; at = end_of_step(rows, at)) {
            if (rows->row[at].step < rows->first || rows->row[at].step > rows->last ||
                rows->row[at].mode != ASSAY_MODE_TRAIN || !has_value(rows, at))
                continue;
            if (pass == 1 && count < most && number == (all <= most ? count : (all - 1) * count / (most - 1)))
                chosen[count++] = at;
            number++;
        }
        all = number;
    }
    return count;
}

static void put_quantiles(elements *e, size_t steps, size_t s, html_histogram *out)
{
    qsort(e->sample, e->count, sizeof *e->sample, assay_order_f64);
    for (int k = 0; k < ASSAY_HISTOGRAM_LEVELS; k++)
        out->quantile[(size_t)k * steps + s] =
            k == 0                            ? e->least
            : k + 1 == ASSAY_HISTOGRAM_LEVELS ? e->most
                                              : assay_quantile(e->sample, e->count, e->count, assay_histogram_level[k]);
}

/* Finds the elements of the largest row, and of the step with most of them. */
static int look_at_steps(const saved_rows *rows, const size_t *chosen, size_t count, size_t *widest, size_t *of_step)
{
    *widest = *of_step = 0;
    for (size_t s = 0; s < count; s++) {
        size_t all = 0;
        for (size_t r = chosen[s]; r < end_of_step(rows, chosen[s]); r++) {
            assay_recorded_head head;
            if (!has_value(rows, r))
                continue;
            ASSAY_TRY(assay_recording_head(rows->from, rows->tensor, r, &head, NULL));
            *widest = head.elements > *widest ? head.elements : *widest;
            all += head.elements;
        }
        *of_step = all > *of_step ? all : *of_step;
    }
    return *of_step < LEAST_ELEMENTS || *of_step > MOST_READ / LEAST_STEPS ? ASSAY_EUNSUPPORTED : ASSAY_OK;
}

/* Reads the steps; ASSAY_EUNSUPPORTED where there is nothing to draw. */
static int read_steps(const saved_rows *rows, elements *e, html_histogram *out)
{
    size_t chosen[STEPS], widest, of_step;
    size_t count = choose_steps(rows, STEPS, chosen);
    ASSAY_TRY(look_at_steps(rows, chosen, count, &widest, &of_step));
    if (MOST_READ / of_step < count) { /* others than before, which may have more elements */
        count = choose_steps(rows, MOST_READ / of_step, chosen);
        ASSAY_TRY(look_at_steps(rows, chosen, count, &widest, &of_step));
    }
    if (count < LEAST_STEPS)
        return ASSAY_EUNSUPPORTED;
    e->room = widest;
    e->value = assay_alloc(widest * sizeof *e->value);
    e->sample = assay_alloc((size_t)2 * SAMPLE * sizeof *e->sample);
    out->step = assay_alloc_zeroed(count * (1 + ASSAY_HISTOGRAM_LEVELS), sizeof *out->step);
    ASSAY_HAVE(e->value && e->sample && out->step);
    out->quantile = out->step + count;
    for (size_t s = 0; s < count; s++) {
        ASSAY_TRY(take_step(rows, chosen[s], of_step, e));
        if (e->count == 0) /* NaN alone */
            continue;
        out->step[out->count] = (double)rows->row[chosen[s]].step;
        put_quantiles(e, count, out->count++, out);
    }
    return out->count == count ? ASSAY_OK : ASSAY_EUNSUPPORTED;
}

/* out->step is to be freed on true alone. */
bool html_read_elements(html_page *page, assay_recording *recording, const char *tensor,
                        const assay_tensor_curve *curve, html_histogram *out)
{
    saved_rows rows = {.from = recording,
                       .tensor = assay_recording_find(recording, tensor, strlen(tensor)),
                       .first = curve->point[0].step,
                       .last = curve->point[curve->count - 1].step};
    elements e = {.value = NULL};
    *out = (html_histogram){.tensor = tensor, .mode = assay_mode_name(ASSAY_MODE_TRAIN)};
    if (rows.tensor == (uint32_t)ASSAY_RECORDING_NONE)
        return false;
    int status = assay_recording_saved(recording, rows.tensor, &rows.row, &rows.count, NULL);
    ASSAY_THEN(status, read_steps(&rows, &e, out));
    free(e.value);
    free(e.sample);
    if (status == ASSAY_OK)
        return true;
    if (status != ASSAY_EUNSUPPORTED)
        fail(page, status);
    free(out->step);
    return false;
}
