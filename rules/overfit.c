/* overfit.c - Overfit: a validation loss that stays above the training loss. docs/rules/Overfit.md.
 *
 * The saved TRAIN and EVAL steps are grouped into runs of one mode (phases). For each EVAL phase v, with u the TRAIN
 * phase before it: r = (mean loss of v - mean loss of u) / |mean loss of u|. The rule fires at the last step of v when
 * `patience` consecutive phases had r > ratio_threshold. With rise_threshold a phase counts only if the validation loss
 * has also risen: v > (1 + rise_threshold) * the lowest earlier phase, by more than SCALE of the loss at the beginning,
 * and by more than gain_share of what it had gained from there to that lowest phase. It counts too if the validation
 * loss has not gained NO_GAIN of what the training loss has gained, and training itself gained a quarter of where they began:
 * a gap that a model brings along, tuned from where it was good, says nothing. A gap between
 * both losses is usual; a rising validation loss is not. The member never_gained of the report tells
 * a loss that never gained from one that rose again. Trials without TRAIN and EVAL (XGBoost):
 * every step is such a pair, told apart by names that begin with train, and with validation, eval or test. With
 * rise_threshold, steps of no mode before the first TRAIN step belong to the training. Of a log, each loss of training
 * is held against its own of validation (logged_pairs.h). */
#include <math.h>

#include "logged_pairs.h"
#include "losses.h"
#include "too_few.h"

enum { MODE = PAIR_MODE, LOSS = PAIR_LOSS, WIDTH = PAIR_WIDTH }; /* values of a row */

static const assay_param_def params[] = {
    ASSAY_REGEX_PARAM("tensor_regex", NULL,
                      "Patterns (re.search) for names of losses; by default the collection losses."),
    ASSAY_INT_PARAM("patience", "1", 1, 0x1p31, "Consecutive validation phases that must exceed the threshold."),
    ASSAY_REAL_PARAM("ratio_threshold", "0.1", 0, 0,
                     "How far the validation loss may be above the training loss, as a share of it."),
    ASSAY_REAL_PARAM(
        "rise_threshold", NULL, 0, 1e308,
        "How far it must also have risen above its lowest phase, as a share of that; by default it need not."),
    ASSAY_REAL_PARAM(
        "gain_share", "0", 0, 1e308,
        "With rise_threshold: the share of what it had gained since the training began that it must have lost."),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    bool chosen = assay_param_has(given, "tensor_regex");
    int slot = assay_need_slot(need,
                               &(assay_slot){.collection = chosen ? NULL : "losses",
                                             .regexes = "tensor_regex",
                                             .flags = ASSAY_SLOT_NO_STRINGS},
                               err);
    return slot < 0 ? slot : ASSAY_OK;
}

static bool judges_pairs(const assay_rule *rule)
{
    return assay_trial_is_log(rule->trial) && !assay_param_has(rule->params, "tensor_regex");
}

#define NO_GAIN     0.1 /* of what the training loss has gained */
#define HARDLY_GAIN 0.2 /* of the same, where the report says that it hardly gained */
#define PLAIN_GAIN                                                                                                     \
    0.25           /* of the loss in the beginning: what training has gained, beside one of validation that has not */
#define SCALE 0.05 /* of the first training loss: less is noise of a loss that is next to nothing */

static int add_row(assay_common_state *s, const assay_step_view *view, int mode, double loss)
{
    double row[WIDTH] = {mode, loss};
    return assay_series_add(s->series, view->step, ASSAY_NO_TENSOR, ASSAY_ALL_WORKERS, row);
}

/* A step of a trial without modes becomes a TRAIN phase and an EVAL phase of one step each. */
static int map_by_name(assay_common_state *s, const assay_step_view *view)
{
    static const char *const training[] = {"train", NULL}, *const validation[] = {"validation", "eval", "test", NULL};
    double train, eval;
    if (!step_loss(&view->slot[0], training, &train) || !step_loss(&view->slot[0], validation, &eval))
        return ASSAY_OK;
    int status = add_row(s, view, ASSAY_MODE_TRAIN, train);
    return status ? status : add_row(s, view, ASSAY_MODE_EVAL, eval);
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    double loss;
    if (judges_pairs(rule))
        return logged_pairs_add(rule, ((assay_common_state *)state)->series, view);
    if (!(assay_trial_modes(rule->trial) & (1u << ASSAY_MODE_TRAIN | 1u << ASSAY_MODE_EVAL)))
        return map_by_name(state, view);
    bool counts = view->mode == ASSAY_MODE_TRAIN || view->mode == ASSAY_MODE_EVAL ||
                  (view->mode == ASSAY_MODE_GLOBAL && assay_param_has(rule->params, "rise_threshold"));
    return counts && step_loss(&view->slot[0], NULL, &loss) ? add_row(state, view, view->mode, loss) : ASSAY_OK;
}

/* Has a row no mode? */
static bool has_global_rows(const assay_series *all)
{
    uint64_t i = 0;
    while (i < assay_series_count(all) && assay_series_row(all, i).value[MODE] != ASSAY_MODE_GLOBAL)
        i++;
    return i < assay_series_count(all);
}

/* The rows of TRAIN and EVAL, with those of no mode before the first TRAIN row as TRAIN. NULL without memory. */
static assay_series *phase_rows(const assay_series *all)
{
    assay_series *phases = assay_series_new(WIDTH);
    int status = phases ? ASSAY_OK : ASSAY_ENOMEM;
    bool begun = false;
    for (uint64_t i = 0; status == ASSAY_OK && i < assay_series_count(all); i++) {
        assay_row row = assay_series_row(all, i);
        double mode = row.value[MODE];
        begun = begun || mode == ASSAY_MODE_TRAIN;
        if (mode == ASSAY_MODE_GLOBAL && begun)
            continue;
        status =
            assay_series_add(phases, row.step, row.tensor, row.worker,
                             (double[WIDTH]){mode == ASSAY_MODE_GLOBAL ? ASSAY_MODE_TRAIN : mode, row.value[LOSS]});
    }
    if (status == ASSAY_OK)
        return phases;
    assay_series_free(phases);
    return NULL;
}

/* One finding at most for each phase of validation: of `tensor`, or of no tensor in particular. */
static int walk(const assay_rule *rule, const assay_series *series, uint32_t tensor, assay_verdict *verdict,
                uint64_t *tested, uint64_t *fired)
{
    uint64_t rows = assay_series_count(series);
    int64_t patience = assay_param_int(rule->params, "patience"), above = 0;
    double limit = assay_param_real(rule->params, "ratio_threshold"), train = 0;
    bool trained = false, evaluated = false, must_rise = assay_param_has(rule->params, "rise_threshold");
    double rise = must_rise ? assay_param_real(rule->params, "rise_threshold") : 0, lowest = INFINITY, begin = NAN;
    double trained_from = NAN;
    double gain_share = assay_param_real(rule->params, "gain_share");
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < rows;) {
        double mode = assay_series_row(series, i).value[MODE], sum = 0;
        uint64_t steps = 0;
        assay_row last;
        if (isnan(begin) && mode == ASSAY_MODE_TRAIN)
            begin = trained_from = assay_series_row(series, i).value[LOSS];
        do { /* at least one row, also where a damaged state has no number for its mode */
            last = assay_series_row(series, i++);
            sum += last.value[LOSS];
            steps++;
        } while (i < rows && assay_series_row(series, i).value[MODE] == mode);
        double loss = sum / (double)steps;
        if (mode == ASSAY_MODE_TRAIN) {
            train = loss;
            trained = true;
            continue;
        }
        begin = trained && !evaluated ? fmax(begin, loss) : begin;
        evaluated = evaluated || trained;
        double gained = fmax(begin - lowest, 0);
        const bool never_gained = begin - loss < NO_GAIN * (begin - train) && trained_from - train > PLAIN_GAIN * begin;
        bool rose = loss - lowest > fmax(rise * fabs(lowest), fmax(SCALE * fabs(begin), gain_share * gained));
        lowest = fmin(lowest, loss);
        if (!trained || last.step < rule->start_step)
            continue;
        double ratio = (loss - train) / fabs(train);
        above = ratio > limit && (rose || never_gained || !must_rise) ? above + 1 : 0;
        assay_finding finding = {
            .step = last.step, .tensor = tensor, .worker = ASSAY_ALL_WORKERS, .value = ratio, .threshold = limit};
        ++*tested;
        *fired += above >= patience;
        const bool gained_nothing = trained_from - lowest < HARDLY_GAIN * (trained_from - train);
        if (verdict && above >= patience && gained_nothing && must_rise && assay_verdict_json(verdict)->size == 0)
            assay_put_format(assay_verdict_json(verdict), "\"never_gained\": true");
        if (verdict)
            status = assay_findings_test(assay_verdict_findings(verdict), above >= patience, &finding);
    }
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_series *saved = ((const assay_common_state *)state)->series;
    uint64_t tested = 0, fired = 0;
    if (judges_pairs(rule))
        return logged_pairs_judge(rule, saved, walk, verdict) == ASSAY_OK
                   ? ASSAY_OK
                   : assay_fail(err, ASSAY_ENOMEM, "out of memory");
    assay_series *phases = has_global_rows(saved) ? phase_rows(saved) : NULL;
    if (!phases && has_global_rows(saved))
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    const int status = walk(rule, phases ? phases : saved, ASSAY_NO_TENSOR, verdict, &tested, &fired);
    if (assay_trial_modes(rule->trial) & (1u << ASSAY_MODE_TRAIN | 1u << ASSAY_MODE_EVAL))
        assay_verdict_no_data(verdict, "no loss of EVAL comes after one of TRAIN.");
    else
        assay_verdict_no_data(verdict, "no step has a loss whose name begins with train beside one that begins with "
                                       "validation, eval or test.");
    if (phases)
        assay_series_free(phases);
    return status;
}

/* Is there nothing to hold a loss against? */
static bool reason(const assay_rule *rule, unsigned modes, assay_buf *out)
{
    return reason_no_evaluation(rule, out);
}

const assay_rule_ops assay_rule_overfit = {
    ASSAY_RULE_HEAD,
    .name = "Overfit",
    .summary = "A validation loss that stays above the training loss by more than a given share.",
    .advice = "The model memorises: stop at the best validation loss, add data or augmentation, raise weight decay or "
              "dropout, or take a smaller model; check too that validation data are prepared like training data.",
    .params = params,
    .traits = ASSAY_RULE_LOOKS_BACK | ASSAY_RULE_POOLS,
    .series_width = WIDTH,
    .value_units = ASSAY_TEXTS("times the training loss above it"),
    .sentences = ASSAY_TEXTS("the validation loss rose above the training loss by {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
    .reason = reason,
};
