/* python_pack.c - see python_pack.h. */
#include "rule/python_pack.h"

#include <math.h>
#include <stdlib.h>

#include "base/fault.h"
#include "rule/trial_info.h"

/* LEAST_FINDING: tensor, worker, value, threshold, and the length of a note without text. A count that asks for more
 * than the bytes left can hold is damage. */
enum { NEEDS_ORDER = 1, LEAST_FINDING = 4 + 4 + 8 + 8 + 4 /* packed bytes */ };

void assay_python_trial_pack(const assay_trial *trial, assay_buf *out)
{
    const assay_catalog *catalog = trial->catalog;
    const uint32_t tensors = assay_trial_tensors(trial);
    assay_put_text(out, trial->name);
    assay_put_text(out, trial->path);
    assay_put_u8(out, catalog->ended);
    assay_put_u8(out, catalog->options != NULL);
    assay_put_u32(out, catalog->workers);
    for (uint32_t w = 0; w < catalog->workers; w++)
        assay_put_text(out, catalog->worker[w]);
    assay_put_u32(out, tensors);
    for (uint32_t t = 0; t < tensors; t++)
        assay_put_text(out, assay_trial_tensor(trial, t));
    assay_put_u64(out, trial->step_count);
    for (uint64_t i = 0; i < trial->step_count; i++)
        assay_put_i64(out, trial->steps[i].step);
}

/* ---- a step ---- */

/* A figure of a tensor: from the pass over it, else as it was saved in its place, else NaN. */
static double figure(const assay_tensor_view *item, double (*derive)(const assay_stats *), int kind)
{
    if (item->stats)
        return derive(item->stats);
    return item->reductions >> kind & 1 ? item->reduction[kind] : (double)NAN;
}

static double sum_of(const assay_stats *stats)
{
    return stats->sum;
}

static void put_item(const assay_tensor_view *item, assay_buf *out)
{
    /* Packed in this order, which rule_process.py unpacks them in. */
    static const assay_stats none;
    static const struct {
        double (*derive)(const assay_stats *);
        int kind;
    } figures[] = {{assay_stats_min, ASSAY_MIN},
                   {assay_stats_max, ASSAY_MAX},
                   {assay_stats_mean, ASSAY_MEAN},
                   {sum_of, ASSAY_SUM},
                   {assay_stats_std, ASSAY_STD},
                   {assay_stats_variance, ASSAY_VARIANCE},
                   {assay_stats_l1, ASSAY_L1},
                   {assay_stats_l2, ASSAY_L2},
                   {assay_stats_abs_mean, ASSAY_ABS_MEAN},
                   {assay_stats_abs_max, ASSAY_ABS + ASSAY_MAX}};
    const assay_stats *stats = item->stats ? item->stats : &none;
    assay_put_u32(out, item->tensor);
    assay_put_u32(out, item->worker);
    assay_put_u64(out, stats->count);
    assay_put_u64(out, stats->nan);
    assay_put_u64(out, stats->pos_inf + stats->neg_inf);
    assay_put_u64(out, stats->zeros);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        assay_put_f64(out, figure(item, figures[i].derive, figures[i].kind));
}

void assay_python_step_pack(const assay_step_view *view, bool in_order, assay_buf *out)
{
    /* A rule in Python has one slot (set_up() of python_rule.c refuses more). */
    const uint32_t count = view->slots > 0 ? view->slot[0].count : 0;
    assay_put_u8(out, in_order);
    assay_put_i64(out, view->step);
    assay_put_i64(out, view->mode_step);
    assay_put_u32(out, (uint32_t)view->mode);
    assay_put_u32(out, count);
    for (uint32_t i = 0; i < count; i++)
        put_item(view->slot[0].items[i], out);
}

/* ---- an answer ---- */

/* Untrusted: tensor and worker index lists of the report later on, so they are checked against the trial here. */
static int read_finding(assay_cursor *in, const assay_trial *trial, int64_t step, assay_findings *findings,
                        assay_error *err)
{
    size_t length = 0;
    assay_finding finding = {.step = step, .tensor = assay_get_u32(in)};
    finding.worker = assay_get_u32(in);
    finding.value = assay_get_f64(in);
    finding.threshold = assay_get_f64(in);
    const char *text = assay_get_text(in, &length);
    if (in->failed)
        return assay_fail(err, ASSAY_EFORMAT, "its answer is cut short");
    if (finding.tensor != ASSAY_NO_TENSOR && finding.tensor >= assay_trial_tensors(trial))
        return assay_fail(err, ASSAY_EFORMAT, "its answer has a tensor that the trial does not have");
    if (finding.worker != ASSAY_ALL_WORKERS && finding.worker >= assay_trial_workers(trial))
        return assay_fail(err, ASSAY_EFORMAT, "its answer has a worker that the trial does not have");
    char *note = length > 0 ? assay_copy_bytes_as_text(text, length) : NULL;
    if (length > 0 && !note)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    finding.note = note;
    int status = assay_findings_test(findings, true, &finding);
    free(note);
    return status == ASSAY_OK ? status : assay_fail(err, status, "out of memory");
}

int assay_python_answer_read(assay_cursor *in, const assay_trial *trial, int64_t step, assay_findings *findings,
                             assay_python_answer *out, assay_error *err)
{
    /* Damage ends the whole answer, and with it the rule: half an answer would be a wrong verdict. */
    const uint8_t flags = assay_get_u8(in);
    const uint64_t quiet = assay_get_u64(in);
    const uint32_t count = assay_get_u32(in);
    if (in->failed || flags > NEEDS_ORDER || quiet > UINT32_MAX || count > ASSAY_PYTHON_FINDINGS ||
        count > assay_cursor_left(in) / LEAST_FINDING)
        return assay_fail(err, ASSAY_EFORMAT, "its answer is damaged");
    *out = (assay_python_answer){.needs_order = flags & NEEDS_ORDER};
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < count; i++)
        status = read_finding(in, trial, step, findings, err);
    if (status == ASSAY_OK && assay_cursor_bad(in))
        status = assay_fail(err, ASSAY_EFORMAT, "its answer is damaged");
    if (status == ASSAY_OK)
        assay_findings_datapoints(findings, quiet);
    return status;
}
