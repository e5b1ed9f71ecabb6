/* causes.c - see causes.h: what contradicts causes, and the table of them, whose entries are in causes.def. */
#include "diagnosis/causes.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include <assay/rule.h>

#define ROLE(name) (1u << ASSAY_ROLE_##name)
enum { FED = ROLE(INPUT) | ROLE(LABEL), COMPUTED = ROLE(ACTIVATION) | ROLE(LOSS) };

#define RECORD_ALL   "every step around it with save_all, and all workers (include_workers)"
#define RECORD_DATA  "the inputs and labels of every step there, of all workers"
#define RECORD_FIRST "every step from the first on, with weights, gradients and losses"

/* ---- what contradicts a cause ---- */

enum { RISE_ERRORS = 4 };

/* The weights are next to where they began. */
static bool hardly_moved(const assay_evidence *e, const assay_course_facts *facts)
{
    (void)e;
    return facts->moved > 0 && !(facts->loss_last - facts->loss_first > 0.5 * fabs(facts->loss_first));
}

static bool never_gained(const assay_evidence *e, const assay_course_facts *facts)
{
    (void)e;
    return facts->never_gained;
}

/* The loss ends well above where it began, and the way up began at its beginning. */
static bool rose_from_the_start(const assay_evidence *e, const assay_course_facts *facts)
{
    (void)e;
    return facts->loss_last - facts->loss_first > 0.05 * fabs(facts->loss_first) + 1e-6 &&
           facts->loss_last - facts->loss_first > RISE_ERRORS * facts->loss_error &&
           facts->loss_first - facts->loss_least <= 0.05 * fabs(facts->loss_first);
}

/* It came down first, and lost half of that, or as much as makes it half as large again (rules/loss_course.h). */
static bool rose_later(const assay_evidence *e, const assay_course_facts *facts)
{
    const double gained = facts->loss_first - facts->loss_least, lost = facts->loss_last - facts->loss_least;
    (void)e;
    return gained > 0.05 * fabs(facts->loss_first) &&
           (lost > 0.5 * gained || (facts->loss_least > 0 && lost > 0.5 * facts->loss_least && lost > 0.25 * gained));
}

/* What is fed changed just before, and a loss that rises again was lowest before that. */
static bool data_changed(const assay_evidence *e, const assay_course_facts *facts)
{
    const assay_data_change *c = &facts->changed;
    const bool course = strcmp(e->kind, "LossNotDecreasing") == 0;
    return c->what && e->began.mode != ASSAY_MODE_EVAL && e->began.step >= c->began.step &&
           e->began.step <= (course ? c->late : c->close) &&
           (!course || (facts->least_at <= c->began.to && rose_later(e, facts)));
}

static bool labels_are_shifted(const assay_evidence *e, const assay_course_facts *facts)
{
    (void)e;
    return facts->shift != 0;
}

static bool is_of_a_likelihood(const assay_evidence *e, const assay_course_facts *facts)
{
    (void)facts;
    return strstr(e->tensor, "NLLLoss") || strstr(e->tensor, "KLDivLoss");
}

static bool is_over_the_batch(const assay_evidence *e, const assay_course_facts *facts)
{
    (void)facts;
    return strstr(e->note, "of the batch") != NULL;
}

static bool is_half(const assay_evidence *e, const assay_course_facts *facts)
{
    (void)facts;
    return e->half;
}

static bool is_of_evaluation(const assay_evidence *e, const assay_course_facts *facts)
{
    (void)facts;
    return e->began.mode == ASSAY_MODE_EVAL;
}

bool assay_is_of_one_worker(const assay_evidence *e)
{
    return strncmp(e->workers, "worker", 6) == 0 && !strstr(e->workers, " and ") && !strstr(e->workers, " of ");
}

static bool is_of_one_worker(const assay_evidence *e, const assay_course_facts *facts)
{
    (void)facts;
    return assay_is_of_one_worker(e);
}

/* The other workers agree, and so they do exchange their gradients. */
static bool one_worker_is_odd(const assay_evidence *e, const assay_course_facts *facts)
{
    (void)e;
    return facts->odd != NULL;
}

static bool is_of_two_workers(const assay_evidence *e, const assay_course_facts *facts)
{
    (void)e;
    return facts->workers == 2;
}

/* Weights that are hit by a fault are few: the others of both workers still get the same gradients. */
static bool most_weights_of_two_differ(const assay_evidence *e, const assay_course_facts *facts)
{
    return facts->workers == 2 && e->role == ASSAY_ROLE_WEIGHT && !e->began.first && e->alike > 2 &&
           3 * e->tensors >= 2 * e->alike;
}

/* So it is with those of several of many workers: a memory has one worker. */
static bool most_weights_of_several_differ(const assay_evidence *e, const assay_course_facts *facts)
{
    return facts->workers > 2 && e->role == ASSAY_ROLE_WEIGHT && !e->began.first && e->alike > 2 &&
           3 * e->tensors >= 2 * e->alike && *e->workers && !assay_is_of_one_worker(e);
}

static bool is_small_of_one_worker(const assay_evidence *e, const assay_course_facts *facts)
{
    return e->value < 0 && is_of_one_worker(e, facts);
}

static bool is_all_weights(const assay_evidence *e, const assay_course_facts *facts)
{
    (void)facts;
    return e->alike > 1 && e->tensors >= e->alike;
}

/* Far beyond what an update makes of a weight something was set, or is broken; but nobody sets all of them so. */
static bool is_an_update(const assay_evidence *e, const assay_course_facts *facts)
{
    static const double MOST = 1e3;
    return e->value < MOST || is_all_weights(e, facts);
}

/* Inputs are meant to be about 1. */
static bool are_inputs_large(const assay_course_facts *facts)
{
    static const double LARGE = 20;
    return facts->inputs >= LARGE;
}

/* Gradients of the first layer grow with its inputs. */
static bool is_an_update_by_large_inputs(const assay_evidence *e, const assay_course_facts *facts)
{
    return is_an_update(e, facts) && are_inputs_large(facts);
}

static bool ends_beyond_guess(const assay_evidence *e, const assay_course_facts *facts)
{
    (void)e;
    return facts->loss_guess > 0;
}

static bool ends_beyond_guess_by_large_inputs(const assay_evidence *e, const assay_course_facts *facts)
{
    return ends_beyond_guess(e, facts) && are_inputs_large(facts);
}

/* Gradients that were there are gone, that of the last layer among them, before anything was learned: no depth explains
 * that. */
static bool all_died(const assay_evidence *e, const assay_course_facts *facts)
{
    return !e->began.first && e->alike > 1 && e->tensors >= e->alike &&
           facts->loss_last > 0.5 * fabs(facts->loss_first);
}

/* A running mean of other weights, by its name. */
static bool is_average(const assay_evidence *e, const assay_course_facts *facts)
{
    static const char *const words[] = {"ema", "swa", "averaged", "shadow"};
    (void)facts;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *at = strstr(e->tensor, words[i]);
        if (at && (at == e->tensor || !isalpha((unsigned char)at[-1])) && !isalpha((unsigned char)at[strlen(words[i])]))
            return true;
    }
    return false;
}

/* No weight moves, and what would move it is recorded: exactly nothing. */
static bool is_all_weights_without_gradient(const assay_evidence *e, const assay_course_facts *facts)
{
    return is_all_weights(e, facts) && strstr(e->note, "gradient is exactly zero");
}

/* ---- the table ---- */

static const assay_cause_kind table[] = {
#include "diagnosis/causes.def"
};

enum { TABLE = sizeof table / sizeof *table };

static bool asks_for(const assay_clue *clue, const assay_evidence *e)
{
    return strcmp(clue->kind, e->kind) == 0 && (!clue->test || strcmp(clue->test, e->test) == 0) &&
           (!clue->roles || (e->role >= 0 && clue->roles >> e->role & 1));
}

const assay_cause_kind *assay_cause_of(const assay_evidence *evidence, const assay_course_facts *facts)
{
    for (size_t i = 0; i + 1 < TABLE; i++) {
        if (table[i].fits && !table[i].fits(evidence, facts))
            continue;
        for (size_t k = 0; k < ASSAY_CAUSE_KINDS && table[i].needs[k].kind; k++)
            if (asks_for(&table[i].needs[k], evidence))
                return &table[i];
    }
    return &table[TABLE - 1];
}

const assay_cause_kind *assay_cause_table(size_t *count)
{
    *count = TABLE;
    return table;
}

unsigned assay_finding_bit(const assay_evidence *evidence)
{
    static const struct {
        const char *kind;
        unsigned bit;
        const char *test; /* NULL: any */
    } bits[] = {{"InputData", ASSAY_X_COURSE, "answer"},
                {"InputData", ASSAY_X_HELD_OUT, "stands"},
                {"ExplodingTensor", ASSAY_X_NONFINITE, NULL},
                {"NormSpike", ASSAY_X_NORM, NULL},
                {"WeightUpdateRatio", ASSAY_X_NORM, NULL},
                {"WeightCourse", ASSAY_X_NORM, NULL},
                {"LossSpike", ASSAY_X_LOSS, NULL},
                {"LossNotDecreasing", ASSAY_X_COURSE, NULL},
                {"Overtraining", ASSAY_X_COURSE, NULL},
                {"Overfit", ASSAY_X_HELD_OUT, NULL},
                {"PredictionCollapse", ASSAY_X_PREDICTED, NULL},
                {"Confusion", ASSAY_X_PREDICTED, NULL},
                {"ClassImbalance", ASSAY_X_PREDICTED, NULL},
                {"DeadRelu", ASSAY_X_ACTIVE, NULL},
                {"SaturatedActivation", ASSAY_X_ACTIVE, NULL},
                {"VanishingGradient", ASSAY_X_GRADIENT, NULL},
                {"GradientUnderflow", ASSAY_X_GRADIENT, NULL},
                {"UnchangedTensor", ASSAY_X_STILL, NULL},
                {"WeightFrozenDespiteGradient", ASSAY_X_STILL, NULL},
                {"EmbeddingRows", ASSAY_X_STILL, NULL},
                {"AllZero", ASSAY_X_STILL, NULL},
                {"TensorVariance", ASSAY_X_STILL, NULL},
                {"PoorWeightInitialization", ASSAY_X_COURSE, NULL},
                {"HalfPrecisionRisk", ASSAY_X_HALF, NULL},
                {"ReplicaDivergence", ASSAY_X_APART, NULL},
                {"WorkerLoss", ASSAY_X_APART, NULL},
                {"GradientNotSynchronized", ASSAY_X_APART, NULL},
                {"StragglerWorker", ASSAY_X_LATE, NULL},
                {"LateRank", ASSAY_X_WAITS, NULL},
                {"ExposedCommunication", ASSAY_X_WAITS, NULL},
                {"GpuIdle", ASSAY_X_IDLE, NULL},
                {"DuplicateShard", ASSAY_X_DATA, NULL},
                {"InputData", ASSAY_X_DATA, NULL},
                {"LabelOutOfRange", ASSAY_X_DATA, NULL},
                {"LawViolated", ASSAY_X_LAW, NULL},
                {"MissingWorker", ASSAY_X_MISSING, NULL}};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        if (strcmp(bits[i].kind, evidence->kind) == 0 && (!bits[i].test || strcmp(bits[i].test, evidence->test) == 0))
            return bits[i].bit;
    return 0;
}
