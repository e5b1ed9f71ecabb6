/* adam_moment_bound.c - AdamMomentBound: first moments that are too large for Adam to have made them.
 * docs/rules/AdamMomentBound.md.
 *
 * Per worker. m_t = (1-b1) sum b1^(t-i) g_i and v_t = (1-b2) sum b2^(t-i) g_i^2 give, by Cauchy and Schwarz,
 * |m| <= K sqrt(v) with K = (1-b1) / sqrt((1-b2)(1-b1^2/b2)).
 *
 *   bound    value = the largest |m| / (K sqrt(v + v0)); fires above 1 + tolerance
 *   amsgrad  value = how many elements of max_exp_avg_sq are below those of exp_avg_sq; fires above 0 */
#include "selection.h"

#include <inttypes.h>
#include <stdio.h>

#include "moments.h"

enum { AMSGRAD, BOUND };
/* What Adam keeps. Who keeps more is another optimizer, and need not obey. */
static const char *const of_adam[] = {"step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq", "fp32", NULL};

static const assay_param_def params[] = {
    ASSAY_REGEX_PARAM("tensor_regex", "^optimizer/.*/exp_avg$",
                      "Patterns (re.search) for names of first moments; the second moment is exp_avg_sq beside each."),
    {.name = "beta1",
     .type = ASSAY_PARAM_REAL,
     .least = 0,
     .most = 1,
     .flags = ASSAY_PARAM_BELOW,
     .help = "Adam's first decay rate; default: as the optimizer was saved with, else 0.9."},
    {.name = "beta2",
     .type = ASSAY_PARAM_REAL,
     .least = 0,
     .most = 1,
     .flags = ASSAY_PARAM_BELOW,
     .help = "Adam's second decay rate; default: as the optimizer was saved with, else 0.999."},
    ASSAY_REAL_PARAM("tolerance", NULL, 0, 1e308,
                     "How far beyond the bound a ratio may lie; default: 1e-5, and 0.05 where a moment has 16 bits."),
    {0},
};

static double given_or_nan(const assay_params *given, const char *name)
{
    return assay_param_has(given, name) ? assay_param_real(given, name) : (double)NAN;
}

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    const assay_measure bound = {
        .kind = ASSAY_MEASURE_MOMENTS,
        .form = ASSAY_MOMENTS_BOUND,
        .reference = ASSAY_REFERENCE_SECOND_MOMENT,
        .numbers = 3,
        .number = {given_or_nan(given, "beta1"), given_or_nan(given, "beta2"), given_or_nan(given, "tolerance")}};
    const assay_measure below = {
        .kind = ASSAY_MEASURE_MOMENTS, .form = ASSAY_MOMENTS_BELOW, .reference = ASSAY_REFERENCE_SECOND_MOMENT};
    int first = assay_need_slot(need, &(assay_slot){.regexes = "tensor_regex", .flags = ASSAY_SLOT_NO_STRINGS}, err);
    int status = first < 0 ? first : assay_need_measure(need, first, &bound, err);
    if (status >= 0)
        status = assay_need_rows(need, first, &(assay_rows){.width = 1}, err);
    int largest =
        status < 0
            ? status
            : assay_need_slot(
                  need, &(assay_slot){.pattern = "^optimizer/.*/max_exp_avg_sq$", .flags = ASSAY_SLOT_NO_STRINGS}, err);
    status = largest < 0 ? largest : assay_need_measure(need, largest, &below, err);
    if (status >= 0) /* what the others are compared with */
        status = assay_need_slot(need, &(assay_slot){.pattern = "/exp_avg_sq$", .flags = ASSAY_SLOT_TIME_ONLY}, err);
    return status < 0 ? status : ASSAY_OK;
}

/* The decay rates that the bound is made of. False: there is no bound for them. */
static bool find_betas(const assay_rule *rule, double betas[2])
{
    assay_trial_betas(rule->trial, betas);
    betas[0] = assay_param_has(rule->params, "beta1") ? assay_param_real(rule->params, "beta1") : betas[0];
    betas[1] = assay_param_has(rule->params, "beta2") ? assay_param_real(rule->params, "beta2") : betas[1];
    return betas[0] >= 0 && betas[0] < 1 && betas[1] >= 0 && betas[1] < 1 && betas[0] * betas[0] < betas[1];
}

static const assay_moments *moments_of(const assay_rule *rule, const assay_step_view *view, int measure,
                                       const assay_tensor_view *item)
{
    const assay_result *result = assay_view_has_values(item) ? assay_view_result(view, measure, item) : NULL;
    return result && result->of.moments.found && moments_keeps_only(rule->trial, item->tensor, of_adam)
               ? &result->of.moments
               : NULL;
}

static int test_bound(const assay_rule *rule, const assay_step_view *view, assay_common_state *s)
{
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        const assay_moments *m = moments_of(rule, view, 0, item);
        char note[128];
        if (!m)
            continue;
        snprintf(note, sizeof note, "%" PRIu64 " of %" PRIu64 " elements, the worst is element %" PRIu64, m->beyond,
                 item->stats->count, m->index);
        assay_finding finding = finding_of(view, item, m->largest, m->limit);
        finding.test = finding.value_unit = BOUND;
        finding.note = note;
        status = assay_series_add(s->series, view->step, item->tensor, item->worker, &m->largest);
        ASSAY_THEN(status, assay_findings_test(s->findings, m->largest > m->limit, &finding));
    }
    return status;
}

static int test_amsgrad(const assay_rule *rule, const assay_step_view *view, assay_common_state *s)
{
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[1].count; i++) {
        const assay_tensor_view *item = view->slot[1].items[i];
        const assay_moments *m = moments_of(rule, view, 1, item);
        char note[64];
        if (!m)
            continue;
        snprintf(note, sizeof note, "the first is element %" PRIu64, m->index);
        assay_finding finding = finding_of(view, item, (double)m->beyond, 0);
        finding.test = finding.value_unit = AMSGRAD;
        finding.note = m->beyond > 0 ? note : NULL;
        status = assay_findings_test(s->findings, m->beyond > 0, &finding);
    }
    return status;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    double betas[2];
    if (!find_betas(rule, betas))
        return ASSAY_OK; /* finalize says so */
    const int status = test_bound(rule, view, state);
    return status == ASSAY_OK ? test_amsgrad(rule, view, state) : status;
}

/* Says how near the bound the moments came. */
static void say_largest(const assay_rule *rule, const assay_series *series, assay_verdict *verdict)
{
    assay_row largest = {0};
    for (uint64_t i = 0; i < assay_series_count(series); i++) {
        const assay_row row = assay_series_row(series, i);
        if (i == 0 || row.value[0] > largest.value[0])
            largest = row;
    }
    if (largest.value)
        assay_verdict_message(verdict, "The largest ratio is %.9g, of %s at step %lld.", largest.value[0],
                              assay_trial_tensor(rule->trial, largest.tensor), (long long)largest.step);
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    double betas[2];
    if (!find_betas(rule, betas))
        return assay_fail(err, ASSAY_EPARAM,
                          "no bound for beta1 = %g and beta2 = %g: there is one where beta1^2 < beta2", betas[0],
                          betas[1]);
    say_largest(rule, ((const assay_common_state *)state)->series, verdict);
    return ASSAY_OK;
}

const assay_rule_ops assay_rule_adam_moment_bound = {
    ASSAY_RULE_HEAD,
    .name = "AdamMomentBound",
    .summary = "First moments that are larger than any gradients could have made them, by their second moments.",
    .advice = "Adam cannot have computed this pair of moments from gradients: one of them was damaged or mixed up.",
    .remedies = ASSAY_TEXTS(
        "Resume from the checkpoint before: a moment changed that nothing but its own gradients may change.",
        "Test the device and memory of the rank that wrote it: a flipped bit looks like this.",
        "Look whether the optimizer was resumed with its own moments, all of one checkpoint and of the same parameters.",
        "Leave tensors out of other optimizers, such as ADOPT, LaProp and SOAP: they do not keep to the bound."),
    .params = params,
    .tests = ASSAY_TEXTS([AMSGRAD] = "amsgrad", [BOUND] = "bound"),
    .series_width = 1,
    .value_units = ASSAY_TEXTS([AMSGRAD] = "element(s) below the second moment", [BOUND] = "times the bound"),
    .sentences = ASSAY_TEXTS([AMSGRAD] = "{tensor}{of} is below the average of which it keeps the maximum, at {when}",
                             [BOUND] = "{tensor}{of} is larger than any gradients can have made it at {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
