/* causes.c - see causes.h: each cause with its evidence, what contradicts it, what it explains, and what to do.
 *
 * Of several that ask for the same evidence the one that asks for more stands first. */
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

/* The loss ends well above where it began, and the way up began at its beginning. */
static bool rose_from_the_start(const assay_evidence *e, const assay_course_facts *facts)
{
    (void)e;
    return facts->loss_last - facts->loss_first > 0.05 * fabs(facts->loss_first) + 1e-6 &&
           facts->loss_first - facts->loss_least <= 0.05 * fabs(facts->loss_first);
}

/* It came down first. */
static bool rose_later(const assay_evidence *e, const assay_course_facts *facts)
{
    (void)e;
    return facts->loss_last - facts->loss_least > 0.5 * (facts->loss_first - facts->loss_least) &&
           facts->loss_first - facts->loss_least > 0.05 * fabs(facts->loss_first);
}

static bool labels_are_shifted(const assay_evidence *e, const assay_course_facts *facts)
{
    (void)e;
    return facts->shift != 0;
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

/* A jump of what one worker alone has, at its own step. */
static bool is_of_one_worker(const assay_evidence *e, const assay_course_facts *facts)
{
    (void)facts;
    return strncmp(e->workers, "worker", 6) == 0 && !strstr(e->workers, " and ") && !strstr(e->workers, " of ");
}

static bool is_small_of_one_worker(const assay_evidence *e, const assay_course_facts *facts)
{
    return e->value < 0 && is_of_one_worker(e, facts);
}

/* Far beyond what an update makes of weights: something was set, or is broken. */
static bool is_an_update(const assay_evidence *e, const assay_course_facts *facts)
{
    static const double MOST = 1e3;
    (void)facts;
    return e->value < MOST;
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

static bool is_all_weights(const assay_evidence *e, const assay_course_facts *facts)
{
    (void)facts;
    return e->alike > 1 && e->tensors >= e->alike;
}

/* ---- the table ---- */

static const assay_cause_kind table[] = {
    /* workers that are gone */
    {"worker-killed",
     {{"MissingWorker", "killed", 0}},
     NULL,
     ASSAY_AT_WORKERS,
     ASSAY_CERTAIN,
     ASSAY_X_MISSING | ASSAY_X_LATE | ASSAY_X_APART,
     "{who} stopped without closing its recording: the last step that it wrote is {note}",
     "Read its log and its node's kernel log: killed, out of memory, device lost. Start again from the checkpoint "
     "before.",
     ""},
    {"worker-gone",
     {{"MissingWorker", NULL, 0}},
     NULL,
     ASSAY_AT_WORKERS,
     ASSAY_CERTAIN,
     ASSAY_X_MISSING,
     NULL,
     "Read the worker's log and its node's kernel log from the last step it wrote.",
     ""},

    {"checkpoint-damaged",
     {{"CheckpointStructure", "files", 0}},
     NULL,
     ASSAY_AT_WORKERS,
     ASSAY_CERTAIN,
     0,
     NULL,
     "Take the checkpoint before; look at the disk and at what ended the writing.",
     ""},

    /* what is fed */
    {"evaluation-fed-nan",
     {{"ExplodingTensor", NULL, FED}},
     is_of_evaluation,
     ASSAY_AT_DATA,
     ASSAY_CERTAIN,
     ASSAY_X_NUMBERS,
     NULL,
     "Look at that batch of the evaluation set, and refuse samples that are not finite.",
     RECORD_DATA},
    {"fed-nan",
     {{"ExplodingTensor", NULL, FED}},
     NULL,
     ASSAY_AT_DATA,
     ASSAY_CERTAIN,
     ASSAY_X_NUMBERS | ASSAY_X_APART | ASSAY_X_DATA,
     NULL,
     "Look at the samples of that batch, and refuse those that are not finite where they are read.",
     RECORD_DATA},
    {"labels-out-of-range",
     {{"LabelOutOfRange", NULL, 0}},
     NULL,
     ASSAY_AT_DATA,
     ASSAY_CERTAIN,
     ASSAY_X_NUMBERS | ASSAY_X_DATA,
     "labels{of} were out of range {since}: {tensor}{note}",
     "Look at how classes get their numbers: they count from 0, and -1 or 255 need ignore_index.",
     RECORD_DATA},
    {"inputs-zero",
     {{"InputData", "constant", 0}},
     NULL,
     ASSAY_AT_DATA,
     ASSAY_CERTAIN,
     ASSAY_X_NUMBERS | ASSAY_X_DATA,
     "inputs{of} were {note} {since} ({tensor})",
     "Look at what the loader returns there: an empty buffer, a mask applied twice, a decoder that failed.",
     RECORD_DATA},
    {"inputs-channel-dead",
     {{"InputData", "channel", 0}},
     NULL,
     ASSAY_AT_DATA,
     ASSAY_CERTAIN,
     ASSAY_X_NUMBERS | ASSAY_X_DATA,
     "{note} of the inputs{of} carried nothing {since} ({tensor})",
     "Look at how that channel or column is read and scaled; it says nothing any more.",
     RECORD_DATA},
    {"inputs-rescaled",
     {{"InputData", "scale", 0}},
     NULL,
     ASSAY_AT_DATA,
     ASSAY_CERTAIN,
     ASSAY_X_NUMBERS | ASSAY_X_DATA,
     "inputs{of} changed their scale {since}: {note} ({tensor})",
     "Look for a normalisation that is left out, or done twice: 0..255 for 0..1, another set of statistics.",
     RECORD_DATA},
    {"evaluation-rescaled",
     {{"InputData", "evaluation", 0}},
     NULL,
     ASSAY_AT_DATA,
     ASSAY_CERTAIN,
     ASSAY_X_HELD_OUT | ASSAY_X_PREDICTED,
     "evaluation is fed inputs of another scale than training, {since}: {note} ({tensor})",
     "Give both sets the same normalisation: the same code, with the figures of the training set.",
     RECORD_DATA},
    {"labels-of-one-class",
     {{"InputData", "labels", 0}},
     NULL,
     ASSAY_AT_DATA,
     ASSAY_CERTAIN,
     ASSAY_X_NUMBERS | ASSAY_X_DATA,
     "all labels{of} are one class {since}: {note} ({tensor})",
     "Look at how the loader finds labels there: a file that ends, a join that fails, an index that stands.",
     RECORD_DATA},
    {"batches-sorted",
     {{"InputData", "sorted", 0}},
     NULL,
     ASSAY_AT_DATA,
     ASSAY_CERTAIN,
     ASSAY_X_COURSE | ASSAY_X_LOSS | ASSAY_X_NORM | ASSAY_X_PREDICTED | ASSAY_X_HELD_OUT,
     "batches{of} are sorted by class: {note} ({tensor})",
     "Shuffle the training set before every pass.",
     RECORD_DATA},
    {"targets-rescaled",
     {{"InputData", "targets", 0}},
     NULL,
     ASSAY_AT_DATA,
     ASSAY_CERTAIN,
     ASSAY_X_NUMBERS | ASSAY_X_DATA,
     "targets{of} changed their scale {since}: {note} ({tensor})",
     "Look for targets in other units, or a normalisation that is left out.",
     RECORD_DATA},
    {"batch-repeated",
     {{"InputData", "repeated", 0}},
     NULL,
     ASSAY_AT_DATA,
     ASSAY_CERTAIN,
     ASSAY_X_COURSE | ASSAY_X_HELD_OUT | ASSAY_X_PREDICTED,
     "the same batch was fed{of} again and again {since} ({tensor})",
     "Look at the iterator: it is made anew at every step, or its sampler never goes on.",
     RECORD_DATA},
    {"target-is-input",
     {{"InputData", "target", 0}},
     NULL,
     ASSAY_AT_DATA,
     ASSAY_CERTAIN,
     ASSAY_X_COURSE | ASSAY_X_HELD_OUT,
     "the targets{of} were a copy of the inputs {since} ({tensor})",
     "Shift the targets by one for a model that tells the next token; an autoencoder is meant to have such targets.",
     RECORD_DATA},
    {"evaluated-on-training-data",
     {{"InputData", "evaluated", 0}},
     NULL,
     ASSAY_AT_DATA,
     ASSAY_CERTAIN,
     ASSAY_X_HELD_OUT,
     "evaluation is done on batches of the training data {since}: {note} ({tensor})",
     "Look at how the sets were split; figures of this evaluation say nothing about new data.",
     RECORD_DATA},
    {"evaluation-labels-shifted",
     {{"Confusion", NULL, 0}, {"Overfit", NULL, 0}},
     labels_are_shifted,
     ASSAY_AT_DATA,
     ASSAY_LIKELY,
     ASSAY_X_HELD_OUT | ASSAY_X_PREDICTED,
     "the labels of the evaluation are shifted by {shift}: each class is predicted as another at that distance, "
     "{since}",
     "Compare the class numbers of both sets: one counts from 0, the other from 1.",
     RECORD_DATA},
    {"workers-share-data",
     {{"DuplicateShard", NULL, 0}, {"InputData", "shared", 0}},
     NULL,
     ASSAY_AT_DATA,
     ASSAY_CERTAIN,
     ASSAY_X_HELD_OUT | ASSAY_X_DATA,
     "{who} got the same data as another worker {since}: {note}",
     "Give the sampler of each worker its rank and the number of workers.",
     RECORD_DATA},
    {"loss-of-probabilities",
     {{"InputData", "probabilities", 0}},
     NULL,
     ASSAY_AT_FORWARD,
     ASSAY_CERTAIN,
     ASSAY_X_COURSE | ASSAY_X_PREDICTED | ASSAY_X_GRADIENT,
     "the loss{of} is fed probabilities where it expects scores, {since}: softmax is taken twice ({tensor})",
     "Give the scores (logits) to the cross entropy: it takes the softmax itself.",
     ""},

    /* one worker */
    {"worker-not-updated",
     {{"WeightFrozenDespiteGradient", NULL, 0}, {"UnchangedTensor", NULL, 0}},
     is_of_one_worker,
     ASSAY_AT_ONE_WORKER,
     ASSAY_LIKELY,
     ASSAY_X_APART | ASSAY_X_STILL | ASSAY_X_HELD_OUT,
     "{tensors} of {who} did not move {since}, while those of the other workers did",
     "Look at what that worker does differently: its optimizer, its learning rate, a step that it skips.",
     RECORD_ALL},
    {"worker-gradient-lost",
     {{"NormSpike", "workers", ROLE(GRADIENT)}},
     is_small_of_one_worker,
     ASSAY_AT_ONE_WORKER,
     ASSAY_LIKELY,
     ASSAY_X_NUMBERS | ASSAY_X_APART,
     "{tensors} of {who} are far smaller than those of the other workers {since}{note}",
     "Look at that worker's loss and batches: a loss that is not summed, samples that are masked, a scale that differs.",
     RECORD_ALL},
    {"worker-gradient-jumped",
     {{"NormSpike", "workers", ROLE(GRADIENT)}, {"NormSpike", "history", ROLE(GRADIENT)}},
     is_of_one_worker,
     ASSAY_AT_ONE_WORKER,
     ASSAY_LIKELY,
     ASSAY_X_NUMBERS | ASSAY_X_APART,
     "{tensor} of {who} alone jumped {at}{note}",
     "Look at that worker's batch; if it is like others, test its device and memory, and run without it.",
     RECORD_ALL},
    {"worker-fed-otherwise",
     {{"NormSpike", "workers", ROLE(INPUT)}},
     NULL,
     ASSAY_AT_DATA,
     ASSAY_LIKELY,
     ASSAY_X_NUMBERS | ASSAY_X_APART | ASSAY_X_DATA,
     "inputs of {who} are unlike those of the other workers {since}{note} ({tensor})",
     "Compare how the workers read and normalise their data.",
     RECORD_DATA},
    {"worker-layer-differs",
     {{"NormSpike", "workers", ROLE(ACTIVATION)}},
     NULL,
     ASSAY_AT_ONE_WORKER,
     ASSAY_LIKELY,
     ASSAY_X_NUMBERS | ASSAY_X_APART,
     "{tensor} of {who} was unlike that of the other workers {since}{note}",
     "Compare the worker's code, library versions, mode (train or eval) and device with the others'.",
     RECORD_ALL},
    {"worker-weights-jumped",
     {{"NormSpike", "workers", ROLE(WEIGHT)}},
     is_of_one_worker,
     ASSAY_AT_ONE_WORKER,
     ASSAY_LIKELY,
     ASSAY_X_NUMBERS | ASSAY_X_APART,
     "{tensor} of {who} left that of the other workers {since}{note}",
     "Test that worker's device and memory, and start again from the checkpoint before.",
     RECORD_ALL},
    {"never-synchronised",
     {{"GradientNotSynchronized", "never", 0}},
     NULL,
     ASSAY_AT_ONE_WORKER,
     ASSAY_LIKELY,
     ASSAY_X_APART | ASSAY_X_HELD_OUT,
     "the workers' weights were equal at no step: gradients are not exchanged ({tensors}{note})",
     "Wrap the network (DistributedDataParallel) before the first step, and start from equal weights.",
     RECORD_ALL},
    {"replicas-apart",
     {{"ReplicaDivergence", NULL, 0}},
     NULL,
     ASSAY_AT_ONE_WORKER,
     ASSAY_CERTAIN,
     ASSAY_X_APART | ASSAY_X_NUMBERS,
     "{tensors}{of} differed from the other workers' copies {since}{note}",
     "If one worker alone differs, test its memory; if all do, gradients are no longer exchanged.",
     RECORD_ALL},
    {"gradients-not-exchanged",
     {{"GradientNotSynchronized", NULL, 0}},
     NULL,
     ASSAY_AT_ONE_WORKER,
     ASSAY_LIKELY,
     ASSAY_X_APART | ASSAY_X_HELD_OUT,
     NULL,
     "Look for a pass outside the wrapped network, or no_sync() left on.",
     RECORD_ALL},

    /* weights */
    {"rate-too-high",
     {{"WeightCourse", "large", 0}},
     is_an_update,
     ASSAY_AT_WEIGHTS,
     ASSAY_LIKELY,
     ASSAY_X_NUMBERS,
     "the updates are too large {since}: {tensors}{of} changed by {value} times their norm in a step; the learning "
     "rate "
     "is likely too high",
     "Lower the learning rate by ten, warm it up, clip gradients by norm; look whether gradients are summed over "
     "workers "
     "or steps where the rate was made for their mean.",
     RECORD_FIRST},
    {"weights-jumped",
     {{"WeightCourse", "jump", 0}, {"WeightCourse", "large", 0}, {"NormSpike", "history", ROLE(WEIGHT)}},
     NULL,
     ASSAY_AT_WEIGHTS,
     ASSAY_LIKELY,
     ASSAY_X_NUMBERS,
     "{tensors}{of} changed far more than by any usual update {at}{note}",
     "If one layer alone jumped: was it restored or set from outside? If all did: a learning rate that jumped, or one "
     "bad "
     "batch. Go back to the checkpoint before.",
     RECORD_ALL},
    {"weights-decayed",
     {{"WeightCourse", "shrunk", 0}},
     NULL,
     ASSAY_AT_WEIGHTS,
     ASSAY_LIKELY,
     ASSAY_X_NUMBERS,
     "{tensors}{of} shrank toward zero, {since}{note}: weight decay is likely too large",
     "Lower the weight decay; with SGD it is multiplied by the learning rate, and with Adam use AdamW.",
     RECORD_FIRST},
    {"weights-hardly-move",
     {{"WeightCourse", "slow", 0}},
     NULL,
     ASSAY_AT_UPDATE,
     ASSAY_LIKELY,
     ASSAY_X_STILL | ASSAY_X_COURSE | ASSAY_X_PREDICTED,
     "the weights hardly move, {since}: {tensors}{of} changed {note}; the learning rate is likely too low",
     "Raise the learning rate; look whether gradients are clipped to next to nothing, or divided twice.",
     RECORD_FIRST},
    {"weights-zero",
     {{"AllZero", NULL, 0}},
     NULL,
     ASSAY_AT_WEIGHTS,
     ASSAY_CERTAIN,
     ASSAY_X_NUMBERS,
     NULL,
     "Look at how these weights begin: units that begin alike stay alike.",
     RECORD_FIRST},
    {"average-not-updated",
     {{"UnchangedTensor", NULL, 0}},
     is_average,
     ASSAY_AT_UPDATE,
     ASSAY_CERTAIN,
     ASSAY_X_HELD_OUT,
     "{tensors}{of} never moved while the weights that they are an average of do, {since}",
     "Call the update of the average (EMA, SWA, teacher) behind every step of the optimizer.",
     ""},
    {"no-weight-moves",
     {{"UnchangedTensor", NULL, 0}, {"WeightFrozenDespiteGradient", NULL, 0}},
     is_all_weights,
     ASSAY_AT_UPDATE,
     ASSAY_CERTAIN,
     ASSAY_X_STILL | ASSAY_X_COURSE | ASSAY_X_PREDICTED | ASSAY_X_HELD_OUT,
     "no weight has moved {since} ({tensors})",
     "Look at the learning rate and its schedule, at optimizer.step(), and whether the optimizer has these parameters.",
     RECORD_FIRST},
    {"weight-not-updated",
     {{"WeightFrozenDespiteGradient", NULL, 0}},
     NULL,
     ASSAY_AT_UPDATE,
     ASSAY_CERTAIN,
     ASSAY_X_STILL | ASSAY_X_COURSE,
     "{tensors}{of} did not move {since}, although the gradient was not zero",
     "Give these parameters to the optimizer; look at their learning rate.",
     ""},
    {"weight-untrained",
     {{"UnchangedTensor", NULL, 0}},
     NULL,
     ASSAY_AT_UPDATE,
     ASSAY_CERTAIN,
     ASSAY_X_STILL | ASSAY_X_COURSE,
     "{tensors}{of} did not move {since}",
     "If it was not frozen on purpose: is it behind detach() or no_grad(), and has the optimizer it?",
     ""},

    /* the passes */
    {"not-finite",
     {{"ExplodingTensor", NULL, 0}},
     NULL,
     ASSAY_AT_FORWARD,
     ASSAY_CERTAIN,
     ASSAY_X_NUMBERS | ASSAY_X_APART,
     NULL,
     "Look at the operation that comes before the tensor named: a logarithm or root at 0, a division, an exponential.",
     RECORD_ALL},
    {"units-dead",
     {{"DeadRelu", NULL, 0}},
     NULL,
     ASSAY_AT_FORWARD,
     ASSAY_LIKELY,
     ASSAY_X_ACTIVE | ASSAY_X_COURSE | ASSAY_X_PREDICTED | ASSAY_X_GRADIENT | ASSAY_X_STILL | ASSAY_X_HELD_OUT,
     "units of {tensors}{of} were dead {since}: {value} % of them are never active",
     "Lower the learning rate, look at the biases before it, take a leaky activation.",
     RECORD_ALL},
    {"units-saturated",
     {{"SaturatedActivation", NULL, 0}},
     NULL,
     ASSAY_AT_FORWARD,
     ASSAY_LIKELY,
     ASSAY_X_ACTIVE | ASSAY_X_COURSE | ASSAY_X_PREDICTED | ASSAY_X_GRADIENT | ASSAY_X_STILL,
     "{tensors}{of} was saturated {since}: {value} %",
     "Scale the inputs, begin with smaller weights, normalise before it.",
     RECORD_ALL},
    {"initial-weights",
     {{"PoorWeightInitialization", NULL, 0}},
     NULL,
     ASSAY_AT_SUSPICION,
     ASSAY_POSSIBLE,
     ASSAY_X_NUMBERS,
     NULL,
     "Take the initialisation that fits the activation (Kaiming, Xavier).",
     RECORD_FIRST},
    {"gradient-underflow",
     {{"GradientUnderflow", NULL, 0}},
     NULL,
     ASSAY_AT_BACKWARD,
     ASSAY_LIKELY,
     ASSAY_X_GRADIENT | ASSAY_X_COURSE | ASSAY_X_STILL | ASSAY_X_HALF,
     "ever more elements of {tensors}{of} were exactly zero {since}{note}: gradients underflow",
     "Raise the loss scale (a scaler that adapts), or take bfloat16.",
     RECORD_FIRST},
    {"gradient-vanished",
     {{"VanishingGradient", NULL, 0}},
     NULL,
     ASSAY_AT_BACKWARD,
     ASSAY_LIKELY,
     ASSAY_X_GRADIENT | ASSAY_X_COURSE | ASSAY_X_PREDICTED | ASSAY_X_STILL | ASSAY_X_HALF,
     "{tensors}{of} vanished {since}",
     "Take residual connections or normalisation, another activation or initialisation; fewer layers in a row.",
     RECORD_FIRST},
    {"gradient-jumped",
     {{"NormSpike", NULL, ROLE(GRADIENT)}},
     NULL,
     ASSAY_AT_BACKWARD,
     ASSAY_LIKELY,
     ASSAY_X_NUMBERS,
     "{tensors}{of} jumped {at}{note}",
     "Look at that step's batch; clip gradients by norm, warm the learning rate up.",
     RECORD_ALL},
    {"half-precision",
     {{"HalfPrecisionRisk", NULL, 0}},
     is_half,
     ASSAY_AT_BACKWARD,
     ASSAY_LIKELY,
     ASSAY_X_HALF | ASSAY_X_GRADIENT | ASSAY_X_STILL,
     NULL,
     "Scale the loss, or take bfloat16.",
     ""},
    {"would-not-fit-half",
     {{"HalfPrecisionRisk", NULL, 0}},
     NULL,
     ASSAY_AT_ADVICE,
     ASSAY_POSSIBLE,
     0,
     NULL,
     "Nothing is wrong in the format of this training; before going to half precision, scale the loss.",
     ""},

    /* losses and predictions */
    {"loss-rises",
     {{"LossNotDecreasing", NULL, 0}},
     rose_from_the_start,
     ASSAY_AT_OUTCOME,
     ASSAY_LIKELY,
     ASSAY_X_COURSE | ASSAY_X_PREDICTED | ASSAY_X_LOSS | ASSAY_X_NORM | ASSAY_X_HELD_OUT | ASSAY_X_HALF |
         ASSAY_X_GRADIENT | ASSAY_X_ACTIVE | ASSAY_X_NONFINITE,
     "{tensor}{of} rose from the start, from {first} to {last}",
     "Look at the sign of the loss and of the learning rate; if both are right, the rate is too high.",
     RECORD_FIRST},
    {"loss-came-back",
     {{"LossNotDecreasing", NULL, 0}},
     rose_later,
     ASSAY_AT_OUTCOME,
     ASSAY_LIKELY,
     ASSAY_X_COURSE | ASSAY_X_PREDICTED | ASSAY_X_HELD_OUT,
     "{tensor}{of} rose again behind TRAIN step {least_at}, from {least} to {last}",
     "Look at what changed there: data, learning rate, a restart.",
     RECORD_ALL},
    {"loss-stands",
     {{"LossNotDecreasing", NULL, 0}},
     NULL,
     ASSAY_AT_OUTCOME,
     ASSAY_POSSIBLE,
     ASSAY_X_COURSE | ASSAY_X_PREDICTED | ASSAY_X_HELD_OUT,
     "{tensor}{of} hardly fell, from {first} to {last}: labels that do not belong to the inputs, or a learning rate "
     "that "
     "does not fit",
     "Let the model learn a handful of samples by heart; if it cannot, look at labels, loss and learning rate.",
     RECORD_FIRST},
    {"loss-jumped",
     {{"LossSpike", NULL, 0}},
     NULL,
     ASSAY_AT_OUTCOME,
     ASSAY_LIKELY,
     ASSAY_X_LOSS | ASSAY_X_COURSE | ASSAY_X_NORM,
     "{tensor}{of} jumped {at}",
     "Look at that step's batch.",
     RECORD_DATA},
    {"one-class-predicted",
     {{"PredictionCollapse", NULL, 0}},
     NULL,
     ASSAY_AT_OUTCOME,
     ASSAY_POSSIBLE,
     ASSAY_X_PREDICTED,
     "nearly all predictions are one class {since}",
     "Look at inputs and labels, and at the last layer.",
     RECORD_FIRST},
    {"class-imbalance",
     {{"ClassImbalance", NULL, 0}},
     NULL,
     ASSAY_AT_DATA,
     ASSAY_LIKELY,
     ASSAY_X_PREDICTED,
     NULL,
     "Weigh the classes or draw them evenly.",
     ""},
    {"classes-confused",
     {{"Confusion", NULL, 0}},
     NULL,
     ASSAY_AT_OUTCOME,
     ASSAY_LIKELY,
     ASSAY_X_PREDICTED,
     NULL,
     "Compare the labels of the classes that are taken for one another.",
     ""},
    {"overfits",
     {{"Overfit", NULL, 0}},
     NULL,
     ASSAY_AT_OUTCOME,
     ASSAY_LIKELY,
     ASSAY_X_HELD_OUT,
     "the loss of evaluation{which} rose above that of training {by}",
     "Stop there, or regularise: more data, augmentation, dropout, weight decay.",
     ""},

    {"variance-out-of-range",
     {{"TensorVariance", NULL, 0}},
     NULL,
     ASSAY_AT_SUSPICION,
     ASSAY_POSSIBLE,
     ASSAY_X_STILL | ASSAY_X_COURSE,
     NULL,
     "Look at how this weight begins: units that begin alike stay alike.",
     RECORD_FIRST},

    /* advice */
    {"worker-late",
     {{"StragglerWorker", NULL, 0}},
     NULL,
     ASSAY_AT_ADVICE,
     ASSAY_LIKELY,
     ASSAY_X_LATE,
     "{who} writes its steps later than the others, {since}",
     "Look at that node: its disk, its clock, its neighbours.",
     ""},
    {"losses-stand",
     {{"Overtraining", NULL, 0}},
     NULL,
     ASSAY_AT_ADVICE,
     ASSAY_LIKELY,
     ASSAY_X_COURSE,
     NULL,
     "Nothing is lost by stopping there.",
     ""},
    {"rank-slow",
     {{"SlowRank", NULL, 0}},
     NULL,
     ASSAY_AT_ONE_WORKER,
     ASSAY_LIKELY,
     ASSAY_X_WAITS,
     NULL,
     "Look at what that rank does more of: input, computation or work of the host.",
     "longer traces of the same ranks, and a node's clock rates and temperatures"},
    {"rank-late",
     {{"LateRank", NULL, 0}},
     NULL,
     ASSAY_AT_ONE_WORKER,
     ASSAY_LIKELY,
     ASSAY_X_WAITS,
     NULL,
     "Look at what that rank does between its collectives.",
     "longer traces of the same ranks, and a node's clock rates and temperatures"},
    {"collective-slow",
     {{"CollectiveSlow", NULL, 0}},
     NULL,
     ASSAY_AT_UPDATE,
     ASSAY_LIKELY,
     ASSAY_X_WAITS,
     NULL,
     "Look at the links between the ranks of that group.",
     "counters of the links of those nodes"},
    {"input-bound",
     {{"InputBound", NULL, 0}},
     NULL,
     ASSAY_AT_ADVICE,
     ASSAY_LIKELY,
     ASSAY_X_IDLE,
     NULL,
     "Load data faster: more workers, prefetching, nearer storage.",
     ""},
    {"launch-bound",
     {{"LaunchBound", NULL, 0}},
     NULL,
     ASSAY_AT_ADVICE,
     ASSAY_LIKELY,
     ASSAY_X_IDLE,
     NULL,
     "Launch less: CUDA graphs, torch.compile, larger batches.",
     ""},
    {"communication-exposed",
     {{"ExposedCommunication", NULL, 0}},
     NULL,
     ASSAY_AT_ADVICE,
     ASSAY_LIKELY,
     ASSAY_X_WAITS,
     NULL,
     "Overlap communication with computation, or communicate less.",
     "traces of all ranks"},
    {"gpu-idle",
     {{"GpuIdle", NULL, 0}},
     NULL,
     ASSAY_AT_ADVICE,
     ASSAY_LIKELY,
     ASSAY_X_IDLE,
     NULL,
     "Look at what the GPU waits for: input, launches, calls that wait for it, or kernels before it.",
     ""},
    {"", {{NULL, NULL, 0}}, NULL, ASSAY_AT_FORWARD, ASSAY_POSSIBLE, 0, NULL, "", ""},
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
    } bits[] = {{"ExplodingTensor", ASSAY_X_NONFINITE},
                {"NormSpike", ASSAY_X_NORM},
                {"WeightUpdateRatio", ASSAY_X_NORM},
                {"WeightCourse", ASSAY_X_NORM},
                {"LossSpike", ASSAY_X_LOSS},
                {"LossNotDecreasing", ASSAY_X_COURSE},
                {"Overtraining", ASSAY_X_COURSE},
                {"Overfit", ASSAY_X_HELD_OUT},
                {"PredictionCollapse", ASSAY_X_PREDICTED},
                {"Confusion", ASSAY_X_PREDICTED},
                {"ClassImbalance", ASSAY_X_PREDICTED},
                {"DeadRelu", ASSAY_X_ACTIVE},
                {"SaturatedActivation", ASSAY_X_ACTIVE},
                {"VanishingGradient", ASSAY_X_GRADIENT},
                {"GradientUnderflow", ASSAY_X_GRADIENT},
                {"UnchangedTensor", ASSAY_X_STILL},
                {"WeightFrozenDespiteGradient", ASSAY_X_STILL},
                {"AllZero", ASSAY_X_STILL},
                {"TensorVariance", ASSAY_X_STILL},
                {"PoorWeightInitialization", ASSAY_X_COURSE},
                {"HalfPrecisionRisk", ASSAY_X_HALF},
                {"ReplicaDivergence", ASSAY_X_APART},
                {"GradientNotSynchronized", ASSAY_X_APART},
                {"StragglerWorker", ASSAY_X_LATE},
                {"LateRank", ASSAY_X_WAITS},
                {"ExposedCommunication", ASSAY_X_WAITS},
                {"GpuIdle", ASSAY_X_IDLE},
                {"DuplicateShard", ASSAY_X_DATA},
                {"InputData", ASSAY_X_DATA},
                {"LabelOutOfRange", ASSAY_X_DATA},
                {"MissingWorker", ASSAY_X_MISSING}};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        if (strcmp(bits[i].kind, evidence->kind) == 0)
            return bits[i].bit;
    return 0;
}
