/* input_data.c - InputData: inputs, labels and scores that no training is meant to be fed. docs/rules/InputData.md.
 *
 * One row per tensor, worker and step has its figures; finalize walks them. m = mean |x|.
 *
 *   alike          all rows of a TRAIN input are one, at num_steps steps in a row and all later ones
 *   answer         a loss is to the end that of one constant answer (input_answer.h)
 *   bounds         targets of a binary cross entropy outside 0 to 1, or 0 where a loss takes signs; shares of classes that do not sum to 1; a loss
 *                  below 0 of a kind that cannot be, or that falls without end
 *   channel        channels of an input (axis 1) that hold one value, though fewer did at every step before: at PERSIST
 *                  steps in a row and all later ones; or one of two to four channels of images at all steps
 *   constant       all elements of an input are one value; not where all inputs of a tensor ever are
 *   evaluated      an EVAL input has the figures of a TRAIN one: the same rows, in any order; or a tenth of the rows of
 *                  EVAL inputs are rows of TRAIN ones (input_seen.h)
 *   evaluation     m of an EVAL input is `ratio` times that of the TRAIN ones before it, or 1 / ratio; of labels that
 *                  are no whole numbers with the square of the ratio
 *   labels         whole labels are one class at REPEATED steps in a row and all later ones, after steps at which they
 *                  never were; at FEW where there are three classes or more
 *   ordered        targets that are no whole numbers come in their order: see is_ordered() (input_labels.h)
 *   probabilities  what a loss is given is not what it expects: see is_wrong_score()
 *   repeated       a TRAIN input has the rows of the one before, in any order, at REPEATED steps in a row and all later
 *                  ones, after inputs that differed; or at all steps, where a batch of EVAL that is as large has other
 *                  rows, and as many as batches have, or a loss of EVAL that gains next to nothing or loses it again;
 *                  or each batch comes several times in a row (find_echo()); or a few come in a circle, which have fewer
 *                  rows than EVAL, of whose loss next to nothing is gained (find_circle())
 *   scale          m is `ratio` times what it was, or 1 / ratio, and three times as far as it ever was before; or so
 *                  far from that of the other workers at num_steps steps in a row
 *   shape          outputs and targets of a loss that compares element by element are both broadcast, (N, 1) against (N)
 *   shared         a worker has the rows of another one in any order, at the same step or up to LOOK_BACK before
 *   sorted         whole labels are one class at half of the steps or more, now this one, now that
 *   stands         the loss of evaluation stands but for a thousandth, while that of training falls (input_answer.h)
 *   swapped        channels of images stand in another order in EVAL than in TRAIN, or on one worker of three or more
 *                  (input_channels.h)
 *   target         whole labels have the figures and the type of the inputs, at num_steps steps in a row
 *   targets        labels that are no whole numbers: as scale, with the square of the ratio
 *   unseen         classes that EVAL labels have and TRAIN labels lack, though chance would have shown them
 *
 * Two tensors have the same figures when number, least, largest and zeros are equal, and sums of x, |x| and x^2 but for
 * rounding in another order. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "classes.h"
#include "input_answer.h"
#include "input_changed.h"
#include "input_channels.h"
#include "input_labels.h"
#include "input_losses.h"
#include "input_repeated.h"
#include "input_scale.h"
#include "input_seen.h"
#include "workers.h"

#define KINDS_SEEN 0.01

/* Of tensors of which statistics alone were recorded, these are enough for some of the tests. */
enum { STATISTICS = 1u << ASSAY_MIN | 1u << ASSAY_MAX | 1u << ASSAY_MEAN | 1u << ASSAY_STD | 1u << ASSAY_ABS_MEAN };

static const assay_param_def params[] = {
    ASSAY_REGEX_PARAM("inputs_regex", "(^|/)inputs?$,images?$,^(?!\\w*Loss)[A-Z][A-Za-z0-9]*_input_0$",
                      "Patterns (re.search) for names of inputs of the whole model."),
    ASSAY_REGEX_PARAM("labels_regex", "labels?$,[Ll]oss_input_1$", "Patterns for names of labels."),
    ASSAY_REGEX_PARAM("scores_regex",
                      "(^|[^A-Za-z])(CrossEntropy|BCEWithLogits|NLL|KLDiv|MSE|(Smooth)?L1|Huber)Loss_input_0$",
                      "Patterns for names of what losses are given; the name says which loss it is."),
    ASSAY_INT_PARAM("num_steps", "3", 1, 1000000, "Consecutive saved steps at which the same has to be seen."),
    {.name = "ratio",
     .type = ASSAY_PARAM_REAL,
     .initial = "4",
     .least = 1,
     .most = 1e308,
     .flags = ASSAY_PARAM_ABOVE,
     .help = "Change of scale that is too large."},
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    static const char *const regexes[] = {"inputs_regex", "labels_regex", "scores_regex"};
    for (int i = 0; i < 3; i++) {
        const assay_measure digest = {.kind = ASSAY_MEASURE_DIGEST},
                            classes = {.kind = ASSAY_MEASURE_CLASSES, .form = ASSAY_CLASS_ROUND},
                            channels = {.kind = ASSAY_MEASURE_CHANNELS, .axis = 1}, rows = {.kind = ASSAY_MEASURE_ROWS};
        const assay_slot wanted = {.regexes = regexes[i],
                                   .kinds = 1u << ASSAY_RAW | STATISTICS | 1u << ASSAY_L1,
                                   .flags = ASSAY_SLOT_NO_STRINGS};
        int slot = assay_need_slot(need, &wanted, err);
        int status = slot < 0 ? slot : assay_need_rows(need, slot, &(assay_rows){.width = WIDTH}, err);
        if (status == ASSAY_OK && i == INPUT)
            status = assay_need_measure(need, slot, &digest, err);
        if (status >= 0 && i == INPUT)
            status = assay_need_measure(need, slot, &channels, err);
        if (status >= 0 && i == INPUT)
            status = assay_need_measure(need, slot, &rows, err);
        if (status >= 0 && i == LABEL)
            status = assay_need_measure(need, slot, &classes, err);
        if (status < 0)
            return status;
    }
    const assay_measure values = {.kind = ASSAY_MEASURE_VALUES, .number = {ORDERED_MOST}};
    const int of_inputs = assay_need_measure(need, INPUT, &values, err); /* 4 */
    const int of_labels = of_inputs < 0 ? of_inputs : assay_need_measure(need, LABEL, &values, err);
    if (of_labels < 0)
        return of_labels;
    const assay_slot losses = {.collection = "losses", .flags = ASSAY_SLOT_NO_STRINGS};
    const int slot = assay_need_slot(need, &losses, err);
    return slot < 0 ? slot : assay_need_rows(need, slot, &(assay_rows){.width = WIDTH}, err);
}

static int kind_of(uint32_t slot, const char *name)
{
    if (slot < 2)
        return slot == 0 ? INPUT : LABEL;
    return strstr(name, "BCEWithLogits")                           ? BINARY_LOGITS
           : strstr(name, "NLL") || strstr(name, "KLDiv")          ? LOG_LIKELIHOOD
           : strstr(name, "CrossEntropy") || !strstr(name, "Loss") ? CROSS_ENTROPY
                                                                   : ELEMENTWISE;
}

/* Elements of what broadcasting makes of two shapes, over those of the larger; 0: they do not fit. */
static double stretched(const assay_tensor_view *a, const assay_tensor_view *b)
{
    double elements = 1, larger = fmax((double)elements_by_shape(a), (double)elements_by_shape(b));
    for (int d = 1; d <= a->dims || d <= b->dims; d++) {
        const uint64_t x = d <= a->dims ? (uint64_t)a->shape[a->dims - d] : 1;
        const uint64_t y = d <= b->dims ? (uint64_t)b->shape[b->dims - d] : 1;
        if (x != y && x != 1 && y != 1)
            return 0;
        elements *= (double)(x > y ? x : y);
    }
    return larger > 0 ? elements / larger : 0;
}

/* The targets of what a loss is given: LOSS_input_1 of LOSS_input_0. */
static const assay_tensor_view *targets_of(const assay_step_view *view, const assay_tensor_view *scores)
{
    const size_t size = strlen(scores->name);
    for (uint32_t i = 0; i < view->slot[LABEL].count; i++) {
        const assay_tensor_view *item = view->slot[LABEL].items[i];
        if (item->worker == scores->worker && strlen(item->name) == size && item->name[size - 1] == '1' &&
            strncmp(item->name, scores->name, size - 1) == 0)
            return item;
    }
    return NULL;
}

/* How many channels hold one value, and the first of them. */
static void count_dead(const assay_step_view *view, const assay_tensor_view *item, double *row)
{
    const assay_result *result = assay_view_result(view, 1, item);
    row[FIRST_DEAD] = -1;
    for (int i = 0; i < IMAGE_CHANNELS; i++)
        row[CHANNEL_MEAN + i] = NAN;
    if (!result || item->dims < 2)
        return;
    const assay_channels *c = &result->of.channels;
    row[CHANNELS] = item->dims > 2 && c->channels <= IMAGE_CHANNELS ? (double)c->channels : -(double)c->channels;
    for (uint64_t i = 0; c->images >= 4 && i < c->channels; i++) {
        const double mean = c->sum[i] / (double)c->elements;
        if (i < IMAGE_CHANNELS)
            row[CHANNEL_MEAN + i] = mean;
        if (c->squares[i] - mean * c->sum[i] > 1e-12 * c->squares[i])
            continue;
        row[FIRST_DEAD] = row[DEAD] == 0 ? (double)i : row[FIRST_DEAD];
        row[DEAD]++;
    }
}

/* How many rows there are, where all are the same; else, or where not each has a digest, 0. */
static double count_alike(const assay_result *result)
{
    const uint64_t rows = result ? result->of.rows.count : 0;
    for (uint64_t i = 0; i < rows; i++)
        if (result->of.rows.digest[i] == 0 || result->of.rows.digest[i] != result->of.rows.digest[0])
            return 0;
    return rows >= LEAST_ALIKE ? (double)rows : 0;
}

/* A hash of the elements in their order, whatever their shape is; -1: there are too many. */
static double order_of(const assay_result *result)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (uint64_t i = 0; result && i < result->of.values.count; i++) {
        uint64_t bits;
        memcpy(&bits, &result->of.values.value[i], sizeof bits);
        hash = (hash ^ bits ^ bits >> 32) * 1099511628211u;
    }
    return result ? (double)(hash >> 11) : -1;
}

static int add_row(const assay_step_view *view, uint32_t slot, const assay_tensor_view *item, assay_series *series)
{
    const assay_stats *s = item->stats;
    double row[WIDTH] = {[IS] = kind_of(slot, item->name), [MODE] = view->mode};
    uint64_t digest = 0;
    row[COUNT] = (double)s->count;
    row[SUM] = s->sum;
    row[MAGNITUDES] = s->magnitudes;
    row[SQUARES] = s->squares;
    row[LEAST] = s->min;
    row[LARGEST] = s->max;
    row[ZEROS] = (double)s->zeros;
    row[ROWS] = item->dims > 0 ? (double)item->shape[0] : 1;
    row[FLOAT] = assay_dtype_is_float(item->dtype);
    row[CLASSES] = item->dims < 2 ? 0 : (double)item->shape[item->dims > 2 ? 1 : item->dims - 1];
    if (row[IS] == ELEMENTWISE && targets_of(view, item))
        row[STRETCHED] = stretched(item, targets_of(view, item));
    row[ORDER_OF] = slot > LABEL || row[FLOAT] != 0 ? -1 : order_of(assay_view_result(view, 4 + (int)slot, item));
    if (slot == 0) {
        row[DIGEST_OF] = digest_of(view, 0, item, &digest) ? (double)(digest >> 11) : -1;
        count_dead(view, item, row);
        row[ALIKE] = count_alike(assay_view_result(view, 2, item));
        row[DEAD] = row[ALIKE] > 0 ? 0 : row[DEAD]; /* of one row every channel is one value */
    }
    return assay_series_add(series, view->step, item->tensor, item->worker, row);
}

static bool has_statistics(const assay_tensor_view *item)
{
    return item->dtype < 0 && (item->reductions & STATISTICS) == STATISTICS;
}

/* As of one element: what asks for equal elements, or how many there are, says nothing of it. */
static int add_statistics(const assay_step_view *view, uint32_t slot, const assay_tensor_view *item,
                          assay_series *series)
{
    const double *of = item->reduction;
    double row[WIDTH] = {[IS] = kind_of(slot, item->name),
                         [MODE] = view->mode,
                         [COUNT] = 1,
                         [SUM] = of[ASSAY_MEAN],
                         [MAGNITUDES] = of[ASSAY_ABS_MEAN],
                         [SQUARES] = of[ASSAY_STD] * of[ASSAY_STD] + of[ASSAY_MEAN] * of[ASSAY_MEAN],
                         [LEAST] = of[ASSAY_MIN],
                         [LARGEST] = of[ASSAY_MAX],
                         [ZEROS] = -1, /* not known */
                         [ROWS] = 1,
                         [FLOAT] = 1,
                         [DIGEST_OF] = -1,
                         [ORDER_OF] = -1,
                         [FIRST_DEAD] = -1};
    if (item->reductions & 1u << ASSAY_L1 && of[ASSAY_ABS_MEAN] > 0 && isfinite(of[ASSAY_L1]))
        row[ELEMENTS] = rint(of[ASSAY_L1] / of[ASSAY_ABS_MEAN]);
    return assay_series_add(series, view->step, item->tensor, item->worker, row);
}

/* Who evaluates between updates without setting the mode has passes in TRAIN of which no loss is taken. */
static bool is_pass_without_loss(const assay_rule *rule, const assay_step_view *view)
{
    bool has_losses = false;
    if (view->mode != ASSAY_MODE_TRAIN || view->slot[3].count > 0)
        return false;
    for (uint32_t t = 0; !has_losses && t < assay_trial_tensors(rule->trial); t++)
        has_losses = assay_trial_in_collection(rule->trial, "losses", t) &&
                     assay_trial_tensor_modes(rule->trial, t) >> ASSAY_MODE_TRAIN & 1;
    return has_losses;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    int status = ASSAY_OK;
    for (uint32_t slot = 0; slot < 3; slot++)
        for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[slot].count; i++) {
            const assay_tensor_view *item = view->slot[slot].items[i];
            const bool model = slot > 0 || !strstr(item->name, "_input_") ||
                               assay_trial_role(rule->trial, item->tensor) == ASSAY_ROLE_INPUT;
            if (model && assay_view_has_values(item))
                status = add_row(view, slot, item, ((assay_common_state *)state)->series);
            else if (model && has_statistics(item))
                status = add_statistics(view, slot, item, ((assay_common_state *)state)->series);
            if (status == ASSAY_OK && slot == LABEL)
                status = count_labels(view, item, ((assay_common_state *)state)->counter);
            if (status == ASSAY_OK && slot == INPUT && model && !is_pass_without_loss(rule, view))
                status = count_rows(rule->trial, view, item, assay_view_result(view, 2, item),
                                    ((assay_common_state *)state)->counter);
        }
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[3].count; i++) {
        const assay_tensor_view *item = view->slot[3].items[i];
        const double row[WIDTH] = {[IS] = LOSS,
                                   [MODE] = view->mode,
                                   [SUM] = assay_view_has_values(item) ? assay_stats_mean(item->stats) : NAN};
        if (isfinite(row[SUM]))
            status =
                assay_series_add(((assay_common_state *)state)->series, view->step, item->tensor, item->worker, row);
    }
    return status;
}

/* ---- finalize ---- */

/* One input of one worker: rows [from, to). */
static int test_constant(const walk *w, uint64_t from, uint64_t to)
{
    int status = ASSAY_OK;
    double elements = 0; /* of statistics: what is all zero does not say how many it has */
    for (uint64_t i = from; i < to; i++)
        elements = fmax(elements, row_of(w, i)[ELEMENTS]);
    for (uint64_t i = from; status == ASSAY_OK && i < to; i++) {
        const double *row = row_of(w, i);
        char note[NOTE_ROOM];
        snprintf(note, sizeof note, row[LEAST] == 0 ? "all zero" : "all one value, %.6g", row[LEAST]);
        const bool one = is_of_statistics(row) ? elements >= LEAST_ELEMENTS && row[LEAST] == row[LARGEST] : is_one(row);
        status = test(w, i, CONSTANT, one, row[LEAST], 0, note);
    }
    return status;
}

/* The first row from which on all of a mode have more dead channels than any before; `to`: none. */
static uint64_t first_dead(const walk *w, uint64_t from, uint64_t to, int mode)
{
    double most = 0;
    uint64_t begin = to, before = 0, since = 0;
    bool always = true;
    for (uint64_t i = from; i < to; i++) {
        const double *row = row_of(w, i);
        if (!in_mode(w, i, mode) || is_one(row))
            continue;
        if (is_sparse(row)) /* a column that is not set is seldom so, or not any more */
            return to;
        always = always && row[CHANNELS] > 1 && row[DEAD] > 0 && row[DEAD] < row[CHANNELS];
        if (row[DEAD] > most && before >= (row[CHANNELS] > 1 ? 1 : BEFORE)) {
            begin = since++ == 0 ? i : begin;
            continue;
        }
        most = fmax(most, row[DEAD]);
        begin = to;
        before += 1 + since;
        since = 0;
    }
    if (always && before >= IMAGES_PERSIST)
        return from;
    const bool images = begin < to && row_of(w, begin)[CHANNELS] > 1;
    return since >= (images ? IMAGES_PERSIST : PERSIST) ? begin : to;
}

static int test_channels(const walk *w, uint64_t from, uint64_t to, int mode)
{
    const uint64_t begin = first_dead(w, from, to, mode);
    int status = ASSAY_OK;
    for (uint64_t i = from; status == ASSAY_OK && i < to; i++) {
        const double *row = row_of(w, i);
        char note[NOTE_ROOM];
        if (!in_mode(w, i, mode) || row[CHANNELS] == 0)
            continue;
        if (row[DEAD] == 1)
            snprintf(note, sizeof note, "channel %.0f of %.0f", row[FIRST_DEAD], fabs(row[CHANNELS]));
        else
            snprintf(note, sizeof note, "%.0f of %.0f channels", row[DEAD], fabs(row[CHANNELS]));
        status = test(w, i, CHANNEL, i >= begin && row[DEAD] > 0, row[DEAD], 0, note);
    }
    return status;
}

/* ---- workers ---- */

/* The row of the same tensor and step of another worker, or of one of `back` saved steps before; NULL: none. `i` are
 * rows in the order of the series, of which [first, end) have one step and tensor. */
typedef struct crew {
    const walk *w;
    uint64_t *run;   /* [workers] steps in a row with the rows of another */
    uint64_t *apart; /* [workers] steps in a row with another scale */
    uint64_t *begun; /* [workers] the row of the first of them */
    double *by;      /* [rows] the logarithm of how far a row is from the other workers' */
    uint32_t workers;
} crew;

static bool may_differ(const walk *w, uint32_t tensor, uint32_t a, uint32_t b)
{
    const assay_relation x = assay_trial_relation(w->rule->trial, tensor, a);
    return !x.known || x.relatives == assay_trial_relation(w->rule->trial, tensor, b).relatives;
}

/* Another worker with these rows: of a lower number at the same step, of any at one of the steps before. */
static uint32_t twin_of(const crew *c, uint64_t at)
{
    const assay_row row = assay_series_row(c->w->series, at);
    int64_t step = row.step;
    for (uint64_t i = at, back = 0; i-- > 0;) {
        const assay_row other = assay_series_row(c->w->series, i);
        if (other.tensor != row.tensor || other.value[MODE] != row.value[MODE])
            continue;
        back += other.step != step;
        step = other.step;
        if (back > LOOK_BACK)
            break;
        if (other.worker != row.worker && are_same_rows(row.value, other.value) &&
            may_differ(c->w, row.tensor, row.worker, other.worker))
            return other.worker;
    }
    return UINT32_MAX;
}

/* num_steps, or as many TRAIN steps as were saved where they are fewer. */
static int64_t least_steps(const assay_rule *rule)
{
    const int64_t asked = assay_param_int(rule->params, "num_steps"),
                  saved = (int64_t)assay_trial_mode_steps(rule->trial, ASSAY_MODE_TRAIN);
    return saved > 0 && saved < asked ? saved : asked;
}

static int test_shared(const crew *c, uint64_t at)
{
    const int64_t least = least_steps(c->w->rule);
    const assay_row row = assay_series_row(c->w->series, at);
    const uint32_t twin = row.worker < c->workers ? twin_of(c, at) : UINT32_MAX;
    char note[NOTE_ROOM];
    if (row.worker >= c->workers)
        return ASSAY_OK;
    c->run[row.worker] = twin == UINT32_MAX ? 0 : c->run[row.worker] + 1;
    snprintf(note, sizeof note, "the rows of %s, in another order or some steps apart",
             assay_trial_worker(c->w->rule->trial, twin));
    walk one = *c->w;
    one.order = &at;
    return test(&one, 0, SHARED, (int64_t)c->run[row.worker] >= least, (double)c->run[row.worker], (double)least, note);
}

/* The rows of one worker from `from` to `to`, of whose scale is known what it is to the other workers. */
static int put_crew_scale(const crew *c, uint64_t from, uint64_t to, uint32_t which, bool fires, double limit)
{
    const assay_row last = assay_series_row(c->w->series, to);
    int status = ASSAY_OK;
    for (uint64_t i = from; status == ASSAY_OK && i <= to; i++) {
        const assay_row row = assay_series_row(c->w->series, i);
        char note[NOTE_ROOM];
        if (row.tensor != last.tensor || row.worker != last.worker || row.value[MODE] != last.value[MODE])
            continue;
        say_times(c->by[i], "those of the other workers", note);
        walk one = *c->w;
        one.order = &i;
        status = test(&one, 0, which, fires, exp(c->by[i]), exp(limit), note);
    }
    return status;
}

/* Scales of rows [first, end), one tensor's at one step, against their median. */
static int test_crew_scale(const crew *c, uint64_t first, uint64_t end, uint32_t which)
{
    const double limit = (which == TARGETS ? 2 : 1) * log(assay_param_real(c->w->rule->params, "ratio"));
    const int64_t least = assay_param_int(c->w->rule->params, "num_steps");
    const uint64_t saved = assay_trial_mode_steps(c->w->rule->trial, ASSAY_MODE_TRAIN);
    const bool few = saved < (uint64_t)(2 * least); /* then one step is enough of what no chance makes */
    size_t n = 0, far = 0;
    for (uint64_t i = first; i < end; i++) {
        const double scale = scale_of(assay_series_row(c->w->series, i).value);
        if (!isnan(scale))
            c->w->room[n++] = scale;
    }
    const double usual = robust_median(c->w->room, n);
    for (size_t i = 0; i < n; i++)
        far += fabs(c->w->room[i] - usual) > limit / 2;
    int status = ASSAY_OK;
    for (uint64_t i = first; status == ASSAY_OK && n >= 3 && i < end; i++) {
        const assay_row row = assay_series_row(c->w->series, i);
        const double by = c->by[i] = scale_of(row.value) - usual;
        if (isnan(by) || row.worker >= c->workers)
            continue;
        uint64_t *run = &c->apart[row.worker];
        *run = fabs(by) > limit && far == 1 ? *run + 1 : 0;
        c->begun[row.worker] = *run == 1 ? i : c->begun[row.worker];
        const bool plain = few && *run > 0 && fabs(by) > FARTHER * SCALE_UNKNOWN,
                   fires = plain || *run >= (uint64_t)least;
        if (fires || *run == 0) /* what is decided: with the last of `least` steps those before it */
            status = put_crew_scale(c, fires && *run == (uint64_t)least && !few ? c->begun[row.worker] : i, i, which,
                                    fires, limit);
    }
    return status;
}

/* Over the rows as they were added: by step, then tensor and worker. Only what is trained on; `is` INPUT or LABEL. */
static int test_workers(const walk *w, double is)
{
    crew c = {.w = w, .workers = assay_trial_workers(w->rule->trial)};
    c.run = calloc((size_t)c.workers + 1, sizeof *c.run);
    c.apart = calloc((size_t)c.workers + 1, sizeof *c.apart);
    c.begun = calloc((size_t)c.workers + 1, sizeof *c.begun);
    c.by = calloc(w->count + 1, sizeof *c.by);
    int status = c.run && c.apart && c.begun && c.by ? ASSAY_OK : ASSAY_ENOMEM;
    uint32_t tensor = ASSAY_NO_TENSOR; /* the first of its kind alone: runs are counted for it */
    for (uint64_t i = 0, end; status == ASSAY_OK && c.workers > 1 && i < w->count; i = end) {
        const assay_row first = assay_series_row(w->series, i);
        for (end = i + 1; end < w->count; end++) {
            const assay_row row = assay_series_row(w->series, end);
            if (row.step != first.step || row.tensor != first.tensor || row.value[IS] != first.value[IS])
                break;
        }
        if (first.value[IS] != is || first.value[MODE] == ASSAY_MODE_EVAL || first.value[MODE] == ASSAY_MODE_PREDICT)
            continue;
        tensor = tensor == ASSAY_NO_TENSOR ? first.tensor : tensor;
        if (tensor != first.tensor)
            continue;
        status = test_crew_scale(&c, i, end, is == INPUT ? SCALE : TARGETS);
        for (uint64_t k = i; status == ASSAY_OK && is == INPUT && k < end; k++)
            status = test_shared(&c, k);
    }
    free(c.run);
    free(c.apart);
    free(c.begun);
    free(c.by);
    return status;
}

/* ---- evaluation on training rows ---- */

/* Orders rows so that those with the same figures lie together, sums aside. */
static int by_figures(const void *a, const void *b, void *context)
{
    static const int keys[] = {COUNT, LEAST, LARGEST, ZEROS, MAGNITUDES};
    const walk *w = context;
    const double *x = row_of(w, *(const uint64_t *)a), *y = row_of(w, *(const uint64_t *)b);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        if (x[keys[k]] != y[keys[k]])
            return x[keys[k]] < y[keys[k]] ? -1 : 1;
    return 0;
}

/* Rows [from, to) of one tensor and worker: sorted by their figures, an EVAL row beside a TRAIN one of the same. */
static int test_evaluated(const walk *w, uint64_t from, uint64_t to)
{
    uint64_t *sorted = malloc((to - from + 1) * sizeof *sorted), eval = 0, same = 0;
    bool one_set = true; /* all training is on the same rows: on the whole set, as a graph is one */
    uint64_t trained = to;
    double rows_trained = 0, steps = 0, kinds = INFINITY; /* of rows that there can be at all */
    int64_t last = 0;                                     /* the mode step of the last saved one */
    int status = sorted ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t i = from; sorted && i < to; i++)
        sorted[i - from] = i;
    for (uint64_t i = from; i < to; i++)
        if (in_mode(w, i, ASSAY_MODE_TRAIN)) {
            one_set = one_set && (trained == to || are_same_rows(row_of(w, i), row_of(w, trained)));
            trained = i;
            rows_trained += row_of(w, i)[ROWS];
            steps++;
            last = mode_step_of(w, i) > last ? mode_step_of(w, i) : last;
        } else if (is_of_two_values(row_of(w, i)))
            kinds = fmin(kinds, exp2(row_of(w, i)[COUNT] / fmax(row_of(w, i)[ROWS], 1)));
    if (sorted)
        qsort_r(sorted, to - from, sizeof *sorted, by_figures, (void *)w);
    for (uint64_t k = 0; sorted && k < to - from; k++) {
        const double *row = row_of(w, sorted[k]);
        bool known = false;
        if (row[MODE] != ASSAY_MODE_EVAL)
            continue;
        for (int side = -1; side < 2; side += 2)
            for (uint64_t j = k + (uint64_t)side; !known && j < to - from; j += (uint64_t)side) {
                const double *other = row_of(w, sorted[j]);
                if (!is_close(row[MAGNITUDES], other[MAGNITUDES], row[MAGNITUDES]))
                    break;
                known = in_mode(w, sorted[j], ASSAY_MODE_TRAIN) && are_same_rows(row, other);
            }
        eval++;
        same += known;
        w->room[sorted[k]] = known;
    }
    uint64_t rows = 0;
    const double all = fmax(1, (double)(last + 1) / fmax(steps, 1)); /* steps, for one that is saved */
    const bool by_chance = all * rows_trained > KINDS_SEEN * kinds;
    const uint64_t seen = eval > 0 && trained < to && !by_chance
                              ? seen_rows(w, assay_series_row(w->series, w->order[from]).tensor, &rows)
                              : 0;
    for (uint64_t i = from; status == ASSAY_OK && i < to; i++) {
        const bool batches = 2 * same >= eval;
        char note[NOTE_ROOM];
        if (row_of(w, i)[MODE] != ASSAY_MODE_EVAL)
            continue;
        snprintf(note, sizeof note, "%llu of %llu %s", (unsigned long long)(batches ? same : seen),
                 (unsigned long long)(batches ? eval : rows), batches ? "batches" : "rows");
        status = test(w, i, EVALUATED, (batches ? w->room[i] != 0 : are_seen(seen, rows)) && !one_set, 1, 0, note);
    }
    free(sorted);
    return status;
}

/* Labels [from, to) against inputs of the same step and worker. */
static int test_targets(const walk *w, uint64_t from, uint64_t to, uint64_t inputs, uint64_t inputs_end)
{
    const int64_t least = assay_param_int(w->rule->params, "num_steps");
    int64_t run = 0;
    int status = ASSAY_OK;
    for (uint64_t i = from, k = inputs; status == ASSAY_OK && i < to; i++) {
        const assay_row label = assay_series_row(w->series, w->order[i]);
        while (k < inputs_end && assay_series_row(w->series, w->order[k]).step < label.step)
            k++;
        if (k == inputs_end || assay_series_row(w->series, w->order[k]).step != label.step)
            continue;
        const double *input = row_of(w, k);
        if (label.value[FLOAT] != 0 || (input[FLOAT] != 0 && !is_of_statistics(input)))
            continue;
        /* A task may be to reverse the inputs, to shift or to sort them: then they come in another order. */
        const double order = label.value[ORDER_OF], of_input = input[ORDER_OF];
        run = (order < 0 || of_input < 0 || order == of_input) && are_same_rows(label.value, input) ? run + 1 : 0;
        status = test(w, i, TARGET, run >= least, (double)run, (double)least, NULL);
    }
    return status;
}

/* Labels [from, to) of one worker against each input that it has. */
static int test_against_inputs(const walk *w, uint64_t from, uint64_t to)
{
    const uint32_t worker = assay_series_row(w->series, w->order[from]).worker;
    int status = ASSAY_OK;
    for (uint64_t k = 0, end; status == ASSAY_OK && k < w->count; k = end) {
        end = tensor_end(w, k);
        const uint64_t at = row_of(w, k)[IS] == INPUT ? begin_of(w, k, end, worker) : end;
        if (at < end)
            status = test_targets(w, from, to, at, end_of(w, at));
    }
    return status;
}

static int test_input(const walk *w, uint64_t from, uint64_t to)
{
    int status = test_constant(w, from, to);
    ASSAY_THEN(status, test_alike(w, from, to));
    ASSAY_THEN(status, test_repeated(w, from, to));
    for (int mode = ASSAY_MODE_TRAIN; status == ASSAY_OK && mode <= ASSAY_MODE_EVAL; mode++) {
        status = test_channels(w, from, to, mode);
        ASSAY_THEN(status, test_scale(w, from, to, mode, SCALE));
    }
    ASSAY_THEN(status, test_evaluation(w, from, to));
    return status == ASSAY_OK ? test_evaluated(w, from, to) : status;
}

static int test_label(const walk *w, uint64_t from, uint64_t to)
{
    int status = test_classes(w, from, to);
    ASSAY_THEN(status, test_narrowed(w, from, to));
    ASSAY_THEN(status, test_ordered(w, from, to));
    ASSAY_THEN(status, test_empty_targets(w, from, to));
    ASSAY_THEN(status, test_stuck_targets(w, from, to));
    ASSAY_THEN(status, test_evaluated_class(w, from, to));
    ASSAY_THEN(status, test_bounds(w, from, to));
    ASSAY_THEN(status, test_signs(w, from, to));
    ASSAY_THEN(status, test_shares(w, from, to));
    ASSAY_THEN(status, test_logarithms(w, from, to));
    ASSAY_THEN(status, test_unseen(w, from, to));
    ASSAY_THEN(status, test_evaluation(w, from, to));
    return status == ASSAY_OK ? test_scale(w, from, to, ASSAY_MODE_TRAIN, TARGETS) : status;
}

static int test_loss(const walk *w, uint64_t from, uint64_t to)
{
    int status = test_bounds(w, from, to);
    ASSAY_THEN(status, test_answer(w, from, to));
    return status == ASSAY_OK ? test_stands(w, from, to) : status;
}

static int walk_tensors(const walk *w)
{
    int status = ASSAY_OK;
    for (uint64_t from = 0, to; status == ASSAY_OK && from < w->count; from = to) {
        const assay_row first = assay_series_row(w->series, w->order[from]);
        to = end_of(w, from);
        if (first.value[IS] == INPUT)
            status = test_input(w, from, to);
        else if (first.value[IS] == LABEL)
            status = test_label(w, from, to);
        else
            status = first.value[IS] == LOSS ? test_loss(w, from, to) : test_scores(w, from, to);
        if (status == ASSAY_OK && first.value[IS] == LABEL)
            status = test_against_inputs(w, from, to);
    }
    return status;
}

/* The usual m of what TRAIN is fed: of the input of which it is largest. */
static double magnitude_of(const walk *w)
{
    double largest = 0;
    for (uint64_t from = 0, to; from < w->count; from = to) {
        size_t n = 0;
        to = end_of(w, from);
        const double m =
            row_of(w, from)[IS] == INPUT ? exp(usual_scale(w, from, to, ASSAY_MODE_TRAIN, NULL, SIZE_MAX, &n)) : 0;
        largest = n > 0 ? fmax(largest, m) : largest;
    }
    return largest;
}

/* Inputs of which channels are known, over all workers. */
static int walk_channels(const walk *w)
{
    int status = ASSAY_OK;
    for (uint64_t from = 0, to; status == ASSAY_OK && from < w->count; from = to) {
        to = tensor_end(w, from);
        if (row_of(w, from)[IS] == INPUT)
            status = test_orders(w, from, to);
    }
    return status;
}

/* For the diagnosis: the magnitude of what is fed, and where what is fed changed most. */
static void put_facts(const walk *w, assay_buf *out)
{
    const double magnitude = magnitude_of(w);
    const bool known = magnitude > 0 && isfinite(magnitude);
    data_change change = {0};
    for (uint64_t from = 0, to; from < w->count; from = to) {
        to = end_of(w, from);
        if (row_of(w, from)[IS] == INPUT || row_of(w, from)[IS] == LABEL)
            find_change(w, from, to, &change);
    }
    if (known)
        assay_put_format(out, "\"magnitude\": %.3g%s", magnitude, change.t > 0 ? ", " : "");
    if (change.t > 0)
        put_change(w, &change, out);
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_series *series = ((const assay_common_state *)state)->series;
    const uint64_t count = assay_series_count(series);
    uint64_t *order = assay_series_by_tensor(series);
    double *room = calloc(count + 1, sizeof *room);
    int status = room && (order || count == 0) ? ASSAY_OK : ASSAY_ENOMEM;
    const walk w = {rule,
                    series,
                    order,
                    count,
                    assay_verdict_findings(verdict),
                    room,
                    ((const assay_common_state *)state)->counter};
    if (status == ASSAY_OK)
        put_facts(&w, assay_verdict_json(verdict));
    ASSAY_THEN(status, walk_tensors(&w));
    ASSAY_THEN(status, walk_channels(&w));
    ASSAY_THEN(status, test_workers(&w, INPUT));
    ASSAY_THEN(status, test_workers(&w, LABEL));
    free(order);
    free(room);
    return status == ASSAY_OK ? ASSAY_OK : assay_fail(err, status, "out of memory");
}

const assay_rule_ops assay_rule_input_data = {
    ASSAY_RULE_HEAD,
    .name = "InputData",
    .summary = "Inputs, labels and scores that no training is meant to be fed: constant, rescaled, repeated, shared.",
    .advice = "What follows from such data looks like a fault of the model. Look at a batch of the step named before "
              "anything else.",
    .remedies = ASSAY_TEXTS(
        "Save one such batch from the training program and look at it: file, decoding, normalisation, augmentation.",
        "Compare how training and evaluation, and the workers, make their batches."),
    .params = params,
    .tests = ASSAY_TEXTS("alike", "answer", "bounds", "channel", "constant", "evaluated", "evaluation", "labels",
                         "ordered", "probabilities", "repeated", "scale", "shape", "shared", "sorted", "stands",
                         "swapped", "target", "targets", "unseen"),
    .traits = ASSAY_RULE_LOOKS_BACK | ASSAY_RULE_NOT_LOGGED,
    .series_width = WIDTH,
    .value_units = ASSAY_TEXTS(
        [ALIKE_TEST] = "row(s)", [ANSWER] = "of the loss of a constant", [BOUNDS] = "is the value",
        [CHANNEL] = "channel(s) of one value", [CONSTANT] = "is the value", [EVALUATED] = "batch",
        [EVALUATION] = "times that of training", [LABELS] = "is the class", [ORDERED] = "is the mean of the targets",
        [PROBABILITIES] = "saved step(s)", [REPEATED_TEST] = "saved step(s) in a row", [SCALE] = "times the usual",
        [SHAPE] = "times as many pairs as elements", [SHARED] = "saved step(s) in a row", [SORTED] = "is the class",
        [STANDS] = "is the loss", [SWAPPED] = "channels", [TARGET] = "saved step(s) in a row",
        [TARGETS] = "times the usual", [UNSEEN] = "class(es)"),
    .sentences =
        ASSAY_TEXTS([ALIKE_TEST] = "{tensor}{of} had one row in all places at {when}{note}",
                    [ANSWER] = "{tensor}{of} was that of one constant answer at {when}{note}",
                    [BOUNDS] = "what the loss was given does not fit it at {when} ({tensor}{of}{note})",
                    [CHANNEL] = "channels of {tensor}{of} carried nothing at {when}{note}",
                    [CONSTANT] = "{tensor}{of} was one value at {when}{note}",
                    [EVALUATED] = "{tensor}{of} of the evaluation had training data at {when}",
                    [EVALUATION] = "{tensor}{of} of the evaluation had another scale at {when}{note}",
                    [LABELS] = "{tensor}{of} was all alike at {when}{note}",
                    [ORDERED] = "batches come in the order of their targets, as {tensor}{of} at {when}{note}",
                    [PROBABILITIES] = "the loss was given what it does not expect at {when} ({tensor}{of}{note})",
                    [REPEATED_TEST] = "{tensor}{of} was the same batch again at {when}{note}",
                    [SCALE] = "{tensor}{of} had another scale at {when}{note}",
                    [SHAPE] = "the loss stretched outputs and targets at {when} ({tensor}{of}{note})",
                    [SHARED] = "{worker} got the same data as another at {when}{note}",
                    [SORTED] = "batches are sorted by class, as {tensor}{of} at {when}{note}",
                    [STANDS] = "{tensor}{of} of the evaluation was what it had been at {when}{note}",
                    [SWAPPED] = "channels of {tensor}{of} stood in another order at {when}{note}",
                    [TARGET] = "{tensor}{of} was a copy of the inputs at {when}",
                    [TARGETS] = "{tensor}{of} had another scale at {when}{note}",
                    [UNSEEN] = "{tensor}{of} of the evaluation has classes that training lacks at {when}{note}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
