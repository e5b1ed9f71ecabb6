/* law_violated.c - LawViolated: equations between recorded tensors that hold elsewhere, and not here.
 * docs/rules/LawViolated.md; the laws and their bounds: docs/laws.md, rules/laws/.
 *
 * map() adds a row for each equation of each step and worker, with how far apart its sides are in units of what rounding
 * may do. finalize() decides which equations hold of which tensor: names and shapes only say which may. A law is one of
 * a tensor when, in a mode, one worker keeps it at three steps or more and at half of them, or at its first four
 * without a gap. Of the forms of a law that one counts which most rows keep. value = how far apart the sides are, where
 * that is worst by the bound; fires above the bound. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/search.h>

#include "laws/loss.h"
#include "laws/regression.h"
#include "laws/statistics.h"
#include "laws/sums.h"

static const char *const tests[] = {[LAW_ACTIVATION] = "activation",
                                    [LAW_AVERAGE] = "average",
                                    [LAW_DROPOUT] = "dropout",
                                    [LAW_EMBEDDING] = "embedding",
                                    [LAW_GRADIENT] = "gradient",
                                    [LAW_LINEAR] = "linear",
                                    [LAW_LOSS] = "loss",
                                    [LAW_MOMENTS] = "moments",
                                    [LAW_NORMALISATION] = "normalisation",
                                    [LAW_POOLING] = "pooling",
                                    [LAW_REDUCE] = "reduce",
                                    [LAW_REPLICAS] = "replicas",
                                    [LAW_ROWS_ONE] = "rows",
                                    [LAW_STATISTICS] = "statistics",
                                    [LAW_SUMS] = "sums",
                                    [LAW_UPDATE] = "update",
                                    NULL};
static law_map *const MAPS[LAWS] = {
    [LAW_ACTIVATION] = law_activation, [LAW_AVERAGE] = law_averages,
    [LAW_DROPOUT] = law_dropout,       [LAW_EMBEDDING] = law_embedding,
    [LAW_LINEAR] = law_linear,         [LAW_LOSS] = law_loss,
    [LAW_MOMENTS] = law_moments,       [LAW_NORMALISATION] = law_normalisation,
    [LAW_POOLING] = law_pooling,       [LAW_REDUCE] = law_projections, /* and what else the hook projects */
    [LAW_REPLICAS] = law_replicas,     [LAW_ROWS_ONE] = law_rows,
    [LAW_STATISTICS] = law_statistics, [LAW_SUMS] = law_sums,
    [LAW_UPDATE] = law_update};

/* Of these names say little: that one does not hold of a tensor is not worth a word. */
static const bool GUESSED[LAWS] = {
    [LAW_ACTIVATION] = true, [LAW_AVERAGE] = true,  [LAW_DROPOUT] = true,  [LAW_GRADIENT] = true,
    [LAW_REDUCE] = true,     [LAW_REPLICAS] = true, [LAW_ROWS_ONE] = true, [LAW_SUMS] = true};

/* Factors of these are inferred. */
static const bool INFERRED[LAWS] = {
    [LAW_AVERAGE] = true, [LAW_MOMENTS] = true, [LAW_REDUCE] = true, [LAW_UPDATE] = true};

/* The forms of these are one for the whole trial. */
static const bool COMMON[LAWS] = {[LAW_GRADIENT] = true, [LAW_LINEAR] = true, [LAW_UPDATE] = true};

static const assay_param_def params[] = {{0}};

typedef struct law_measure {
    int slot;
    assay_measure measure;
} law_measure;

#define AVERAGED "(.*[/._])?(ema|shadow|averaged?|averagedmodel|swa)[/._]"

static const char *const PATTERNS[LAW_SLOTS] = {
    [LAW_INPUTS] = "^(?!state/).*_input_\\d+$",
    [LAW_OUTPUTS] = "^(?!state/).*_output_\\d+$",
    [LAW_WEIGHTS] =
        "^(?!gradient/|optimizer/|scalar/|state/|assay/|(?i:" AVERAGED ")).*(weight|bias)(_[ih]h_l\\d+(_reverse)?)?$",
    [LAW_GRADIENTS] = "^gradient/.*",
    [LAW_FIRST_MOMENTS] = "^optimizer/.*/exp_avg$",
    [LAW_CRITERIA] = "(?i)(loss|criterion)\\w*_input_\\d+$",
    [LAW_EMBEDDINGS] =
        "(?i)^(?!gradient/|optimizer/|state/).*(emb|wte|wpe|token)[^/]*(_input_\\d+|_output_\\d+|weight)$",
    [LAW_AVERAGES] =
        "(?i)^(?!gradient/|optimizer/|scalar/|state/|assay/)(.*running_(mean|var)|" AVERAGED ".*(weight|bias))$",
    [LAW_POOLED] = "(?i)^(?!gradient/|optimizer/|state/).*pool[^/]*_(input|output)_\\d+$",
    [LAW_PROJECTIONS] = "^state/laws/(function|gradient|linear|moments|norm|pooling|reduce|update)/",
    [LAW_LOSSES] = "(?i)(loss|criterion)\\w*_output_\\d+$",
    [LAW_STATES] = "^optimizer/.*/(exp_avg|momentum_buffer)$",
    [LAW_SECOND_MOMENTS] = "^optimizer/.*/exp_avg_sq$",
};

enum { MOST_SCORES = 1 << 18, MOST_POOLED = 1 << 20 };
#define ROWS(axes)                                                                                                     \
    .kind = ASSAY_MEASURE_SKETCH, .axis = (axes), .numbers = ASSAY_SKETCH_NUMBERS, .number = {32, 8192, 1e-5}
#define ELEMENTS(from)                                                                                                 \
    .kind = ASSAY_MEASURE_SKETCH, .axis = ASSAY_SKETCH_FLAT, .numbers = ASSAY_SKETCH_NUMBERS, .number = {256, 256},    \
    .steps = (from), .train_only = 1
static const law_measure MEASURES[LAW_MEASURES] = {
    [OF_INPUT] = {LAW_INPUTS, {ROWS(-1), .form = ASSAY_SKETCH_ROWS}},
    [OF_OUTPUT] = {LAW_OUTPUTS, {ROWS(-1), .form = ASSAY_SKETCH_ROWS}},
    [OF_WHOLE] = {LAW_INPUTS, {ELEMENTS(0), .form = ASSAY_SKETCH_WHOLE}},
    [OF_WHOLE_OUT] = {LAW_OUTPUTS, {ELEMENTS(0), .form = ASSAY_SKETCH_WHOLE}},
    [OF_IMAGES] = {LAW_INPUTS, {ROWS(1), .form = ASSAY_SKETCH_IMAGES}},
    [OF_IMAGES_OUT] = {LAW_OUTPUTS, {ROWS(1), .form = ASSAY_SKETCH_IMAGES}},
    [OF_NORMALISED] = {LAW_INPUTS, {ROWS(-1), .form = ASSAY_SKETCH_NORMALISED}},
    [OF_CHANNELS] = {LAW_INPUTS, {.kind = ASSAY_MEASURE_CHANNELS, .form = ASSAY_CHANNELS_NORMALISED, .axis = 1}},
    [OF_VECTOR] = {LAW_WEIGHTS, {ROWS(0)}},
    [OF_SCORES] = {LAW_CRITERIA, {.kind = ASSAY_MEASURE_VALUES, .numbers = 1, .number = {MOST_SCORES}}},
    [OF_LOSS] = {LAW_LOSSES, {.kind = ASSAY_MEASURE_VALUES, .numbers = 1, .number = {1}}},
    [OF_EMBEDDING] = {LAW_EMBEDDINGS, {.kind = ASSAY_MEASURE_VALUES, .numbers = 1, .number = {MOST_SCORES}}},
    [OF_POOLED] = {LAW_POOLED, {.kind = ASSAY_MEASURE_VALUES, .numbers = 1, .number = {MOST_POOLED}}},
    [OF_PROJECTION] = {LAW_PROJECTIONS, {.kind = ASSAY_MEASURE_VALUES, .numbers = 1, .number = {MOST_SCORES}}},
    [OF_FUNCTION] = {LAW_OUTPUTS, {.kind = ASSAY_MEASURE_FUNCTION, .reference = ASSAY_REFERENCE_INPUT}},
    [OF_WEIGHT] = {LAW_WEIGHTS, {ROWS(1)}},
    [OF_KERNELS] = {LAW_WEIGHTS,
                    {.kind = ASSAY_MEASURE_SKETCH,
                     .form = ASSAY_SKETCH_IMAGES,
                     .axis = 1,
                     .numbers = ASSAY_SKETCH_NUMBERS,
                     .number = {0x1p16, 0x1p16}}},
    [OF_UPDATE] = {LAW_WEIGHTS, {ELEMENTS(1)}},
    [OF_GRADIENT] = {LAW_GRADIENTS, {ELEMENTS(1)}},
    [OF_AVERAGE] = {LAW_AVERAGES, {ELEMENTS(1)}},
    [OF_STATE] = {LAW_STATES, {ELEMENTS(1)}},
    [OF_SECOND] = {LAW_SECOND_MOMENTS, {ELEMENTS(1), .form = ASSAY_SKETCH_UNSIGNED}},
    [OF_FIRST_PRODUCT] = {LAW_FIRST_MOMENTS, {ELEMENTS(1), .form = ASSAY_SKETCH_PRODUCT}},
    [OF_ADAM] = {LAW_FIRST_MOMENTS,
                 {.kind = ASSAY_MEASURE_SKETCH,
                  .form = ASSAY_SKETCH_ADAM,
                  .reference = ASSAY_REFERENCE_SECOND_MOMENT,
                  .axis = ASSAY_SKETCH_FLAT,
                  .numbers = ASSAY_SKETCH_NUMBERS,
                  .number = {256, 256, 1e-8}}},
};

enum { ROWS_A_TENSOR = 3 /* about: forms of a law */ };

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int status = ASSAY_OK;
    for (int slot = 0; status >= 0 && slot < LAW_SLOTS; slot++)
        status = assay_need_slot(need, &(assay_slot){.pattern = PATTERNS[slot], .flags = ASSAY_SLOT_NO_STRINGS}, err);
    for (int i = 0; status >= 0 && i < LAW_MEASURES; i++)
        status = assay_need_measure(need, MEASURES[i].slot, &MEASURES[i].measure, err);
    for (int slot = 0; status >= 0 && slot < LAW_SLOTS; slot++)
        status = assay_need_rows(need, slot, &(assay_rows){.width = ROWS_A_TENSOR * LAW_WIDTH}, err);
    return status < 0 ? status : ASSAY_OK;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    const law_step step = {rule, view, ((assay_common_state *)state)->series};
    int status = ASSAY_OK;
    for (int law = 0; status == ASSAY_OK && law < LAWS; law++)
        status = MAPS[law] ? MAPS[law](&step) : ASSAY_OK;
    return status;
}

/* ---- which laws hold ---- */

/* A row, in the order in which they are judged. */
typedef struct judged {
    uint64_t number;
    uint32_t law, variant, tensor, worker;
    int mode;
    int64_t step;
    double ratio;
    bool keeps;
    bool undecided; /* it does not, nor do most others of its step (regression.h) */
    bool anew;      /* likewise: the whole tensor was written anew */
} judged;

static int compare_judged(const void *a, const void *b)
{
    const judged *x = a, *y = b;
    const int64_t keys[][2] = {{x->law, y->law},         {x->tensor, y->tensor}, {x->mode, y->mode},
                               {x->variant, y->variant}, {x->worker, y->worker}, {x->step, y->step}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

enum { MOST_FORMS = 16 };

/* Is the row one that map() makes? A state comes from other ranks. */
static bool is_sound(const double *row)
{
    return row[LAW_OF] >= 0 && row[LAW_OF] < LAWS && row[LAW_VARIANT] >= 0 &&
           (row[LAW_VARIANT] < MOST_FORMS || row[LAW_OF] == LAW_LOSS) &&
           (row[LAW_OF] != LAW_ACTIVATION || row[LAW_VARIANT] < ASSAY_FUNCTIONS) &&
           (row[LAW_OF] != LAW_LOSS || loss_is_form(row[LAW_VARIANT]));
}

static judged *list_rows(const assay_rule *rule, const assay_series *series, uint64_t *count)
{
    const uint64_t rows = assay_series_count(series);
    judged *list = malloc((rows + 1) * sizeof *list);
    *count = 0;
    for (uint64_t i = 0; list && i < rows; i++) {
        const assay_row row = assay_series_row(series, i);
        if (is_sound(row.value) && row.value[LAW_OF] != LAW_SUMS && row.value[LAW_OF] != LAW_STATISTICS)
            list[(*count)++] =
                (judged){.number = i,
                         .law = (uint32_t)row.value[LAW_OF],
                         .variant = (uint32_t)row.value[LAW_VARIANT],
                         .tensor = row.tensor,
                         .worker = row.worker,
                         .mode = law_mode_at(rule->trial, row.step),
                         .step = row.step,
                         .ratio = row.value[LAW_RATIO],
                         .keeps = row.value[LAW_RATIO] <= 1,
                         .undecided = INFERRED[(int)row.value[LAW_OF]] && row.value[LAW_ROWS] == 0,
                         .anew = row.value[LAW_OF] == LAW_UPDATE && row.value[LAW_ROWS] == REGRESSION_ANEW};
    }
    if (list && *count > 0)
        qsort(list, *count, sizeof *list, compare_judged);
    return list;
}

/* Rows of single classes, from `i` on, become one of each step: how far it is from the weights that fit the others.
 * Returns how many there are then, or UINT64_MAX without memory. */
static uint64_t join_classes(const assay_series *series, judged *list, uint64_t n)
{
    const double classes = assay_series_row(series, list->number).value[LAW_ROWS];
    loss_classes *steps = calloc(n, sizeof *steps);
    double *ratio = calloc(n, sizeof *ratio);
    uint64_t count = 0;
    for (uint64_t i = 0; steps && ratio && i < n; i++) {
        const double *row = assay_series_row(series, list[i].number).value;
        if (i == 0 || list[i].worker != list[i - 1].worker || list[i].step != list[i - 1].step)
            list[count++] = list[i];
        if (row[LAW_ROW] >= 0 && row[LAW_ROW] < LOSS_CLASSES) {
            steps[count - 1].term[(int)row[LAW_ROW]] = row[LAW_APART];
            steps[count - 1].bound[(int)row[LAW_ROW]] = row[LAW_BOUND];
        }
    }
    if (count > 0)
        loss_weights(steps, count, classes >= 1 && classes <= LOSS_CLASSES ? (int)classes : 1, ratio);
    for (uint64_t i = 0; i < count; i++) {
        list[i].ratio = ratio[i];
        list[i].keeps = ratio[i] <= 1;
    }
    count = steps && ratio ? count : UINT64_MAX;
    free(ratio);
    free(steps);
    return count;
}

/* Rows from `i` on that agree in law, tensor and mode, with `deep` also in the form. */
static uint64_t same(const judged *list, uint64_t i, uint64_t count, bool deep)
{
    uint64_t n = 1;
    while (i + n < count && list[i + n].law == list[i].law && list[i + n].tensor == list[i].tensor &&
           list[i + n].mode == list[i].mode && (!deep || list[i + n].variant == list[i].variant))
        n++;
    return n;
}

/* The same of all tensors. */
static int join_all_classes(const assay_series *series, judged *list, uint64_t *count)
{
    uint64_t kept = 0;
    for (uint64_t i = 0, n, some; i < *count; i += n, kept += some) {
        some = n = same(list, i, *count, true);
        if (list[i].law == LAW_LOSS && list[i].variant == LOSS_WEIGHTED)
            some = join_classes(series, list + i, n);
        if (some == UINT64_MAX)
            return ASSAY_ENOMEM;
        memmove(list + kept, list + i, some * sizeof *list);
    }
    *count = kept;
    return ASSAY_OK;
}

/* Is a form of a law one of the tensor, by n rows? Where factors are inferred, half of those that keep it have to be far
 * from its bound: else something is missing in it that is too small to be seen. */
static bool holds(const judged *list, uint64_t n)
{
    enum { LEAST = 3, WITHOUT_GAP = 4 };
    for (uint64_t i = 0, of; i < n; i += of) {
        uint64_t keeps = 0, clear = 0, first = 0;
        for (of = 0; i + of < n && list[i + of].worker == list[i].worker; of++) {
            first += first == of && list[i + of].keeps;
            keeps += list[i + of].keeps;
            clear += list[i + of].ratio <= 0.5;
        }
        if (list->law == LAW_REPLICAS) /* workers that meet now and then only (local SGD) keep it often */
            first = 4 * keeps >= 3 * of ? keeps : 0, keeps = 0;
        if ((2 * clear >= keeps || !INFERRED[list->law]) &&
            ((keeps >= LEAST && 2 * keeps >= of) || first >= WITHOUT_GAP))
            return true;
    }
    return false;
}

/* Do nearly all of n rows keep it? */
static bool holds_everywhere(const judged *list, uint64_t n)
{
    uint64_t keeps = 0;
    for (uint64_t i = 0; i < n; i++)
        keeps += list[i].keeps;
    return 10 * keeps >= 9 * n;
}

/* The same of an eighth, or of one of a few. */
static bool holds_but_for_few(const judged *list, uint64_t n)
{
    uint64_t broken = 0;
    for (uint64_t i = 0; i < n; i++)
        broken += !list[i].keeps;
    return 8 * broken <= n || (broken == 1 && n >= 6);
}

/* Of how many tensors each form of a law holds. */
typedef struct form_counts {
    uint64_t of[LAWS][MOST_FORMS];
} form_counts;

static void count_forms(const judged *list, uint64_t count, form_counts *counts)
{
    memset(counts, 0, sizeof *counts);
    for (uint64_t i = 0, n; i < count; i += n) {
        n = same(list, i, count, true);
        if (COMMON[list[i].law])
            counts->of[list[i].law][list[i].variant] += holds(list + i, n);
    }
}

/* The form of the whole trial: the first that holds of half as many tensors as any. */
static uint32_t common_form(const form_counts *counts, int law)
{
    uint64_t most = 0;
    uint32_t v = 0;
    for (uint32_t k = 0; k < MOST_FORMS; k++)
        most = counts->of[law][k] > most ? counts->of[law][k] : most;
    while (2 * counts->of[law][v] < most)
        v++;
    return v;
}

/* Of n rows of one tensor, where those of a form begin; *some: how many they are. */
static uint64_t find_form(const judged *list, uint64_t n, uint32_t variant, uint64_t *some)
{
    for (uint64_t k = 0; k < n; k += *some) {
        *some = same(list, k, n, true);
        if (list[k].variant == variant)
            return k;
    }
    *some = 0;
    return 0;
}

/* Of the forms of a loss that are looked at only where the usual ones do not hold, one that most of its rows keep, and
 * half of the workers; 0: none. */
static uint32_t unusual_form(const judged *list, uint64_t n)
{
    enum { LEAST = 3 };
    uint64_t workers = 0;
    for (uint64_t i = 0; i < n; i++)
        workers = list[i].worker >= workers ? list[i].worker + (uint64_t)1 : workers;
    for (uint64_t k = 0, some; k < n; k += some) {
        uint64_t keeps = 0, keeping = 0, last = UINT64_MAX;
        some = same(list, k, n, true);
        for (uint64_t i = k; i < k + some; i++) {
            keeps += list[i].keeps;
            keeping += list[i].keeps && list[i].worker != last;
            last = list[i].keeps ? list[i].worker : last;
        }
        if (list[k].variant >= LOSS_USUAL && keeps >= LEAST && 4 * keeps >= 3 * some && 2 * keeping >= workers)
            return list[k].variant;
    }
    return 0;
}

/* The form of one tensor, by n rows: that which most of them keep. */
static uint32_t own_form(const judged *list, uint64_t n)
{
    uint64_t most = 0;
    uint32_t best = list[0].variant;
    if (list->law == LAW_DROPOUT && holds_but_for_few(list, same(list, 0, n, true)))
        return best;
    if (list->law == LAW_LOSS && unusual_form(list, n) > 0)
        return unusual_form(list, n);
    for (uint64_t k = 0, some; k < n; k += some) {
        uint64_t keeps = 0;
        some = same(list, k, n, true);
        for (uint64_t i = 0; i < some; i++)
            keeps += list[k + i].keeps;
        if (keeps >= most + (list->law != LAW_DROPOUT)) {
            most = keeps;
            best = list[k].variant;
        }
    }
    return best;
}

/* Where forms are one for the whole trial, and the earlier the tighter: a tighter one that nearly all rows keep; that
 * of the trial, if it holds; else a looser one. */
static uint32_t form_of(const judged *list, uint64_t n, const form_counts *counts)
{
    const uint32_t common = common_form(counts, (int)list[0].law);
    uint64_t some;
    if (!COMMON[list[0].law])
        return own_form(list, n);
    const uint64_t at = find_form(list, n, common, &some);
    const bool is_common = holds(list + at, some);
    for (uint64_t k = 0; k < n; k += some) {
        some = same(list, k, n, true);
        if (holds_everywhere(list + k, some) && (list[k].variant < common || !is_common))
            return list[k].variant;
    }
    return common;
}

/* Of n rows of one tensor, those of the form that counts; none where only others have it. */
static judged *rows_that_count(judged *list, uint64_t n, const form_counts *counts, uint64_t *some)
{
    return list + find_form(list, n, form_of(list, n, counts), some);
}

/* Of n rows of one form of a tensor: what all workers wrote anew at a step was done on purpose, and is no error of one. */
static void excuse_anew(judged *list, uint64_t n)
{
    enum { MOST = 1024 /* more often it is not done on purpose */ };
    uint64_t count = 0;
    for (uint64_t i = 0; i < n; i++)
        count += list[i].anew;
    for (uint64_t i = 0; count > 0 && count <= MOST && i < n; i++) {
        bool all = list[i].anew;
        for (uint64_t k = 0; all && k < n; k++)
            all = list[k].step != list[i].step || list[k].anew;
        list[i].undecided = list[i].undecided || all;
    }
}

/* Averages are tested only of workers that keep them themselves: DistributedDataParallel gives worker 0's running figures
 * to the others before each pass, so that theirs do not follow from what they recorded. */
static void excuse_averages(judged *list, uint64_t n)
{
    for (uint64_t i = 0, of; i < n; i += of) {
        for (of = 1; i + of < n && list[i + of].worker == list[i].worker;)
            of++;
        const bool holding = holds(list + i, of);
        for (uint64_t k = i; !holding && k < i + of; k++)
            list[k].undecided = true;
    }
}

/* ---- moments that are off ---- */

/* Where they are, and which of these are of one parameter. An update that is made of one says no more than that. */
typedef struct moments_off {
    judged *all, *some;
    uint64_t count, some_count;
} moments_off;

ASSAY_ORDER_BY(compare_places, judged, worker, step)

static void note_moments(moments_off *off, const judged *list, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (!list[i].keeps && !list[i].undecided)
            off->all[off->count++] = list[i];
}

/* Is it optimizer/P/KEY, of the parameter ROOT_P or P? */
static bool is_moment_of(const char *moment, const char *parameter)
{
    static const char START[] = "optimizer/";
    const char *end = strrchr(moment, '/');
    if (strncmp(moment, START, sizeof START - 1) != 0 || end < moment + sizeof START)
        return false;
    moment += sizeof START - 1;
    const size_t length = (size_t)(end - moment), whole = strlen(parameter);
    return whole >= length && strncmp(parameter + whole - length, moment, length) == 0 &&
           (whole == length || parameter[whole - length - 1] == '_');
}

static void choose_moments(const assay_trial *trial, uint32_t parameter, moments_off *off)
{
    off->some_count = 0;
    for (uint64_t i = 0, n; i < off->count; i += n) {
        for (n = 1; i + n < off->count && off->all[i + n].tensor == off->all[i].tensor;)
            n++;
        if (is_moment_of(assay_trial_tensor(trial, off->all[i].tensor), assay_trial_tensor(trial, parameter))) {
            memcpy(off->some + off->some_count, off->all + i, n * sizeof *off->all);
            off->some_count += n;
        }
    }
    if (off->some_count > 1)
        qsort(off->some, off->some_count, sizeof *off->some, compare_places);
}

static bool is_of_moment(const moments_off *off, const judged *row)
{
    return row->law == LAW_UPDATE && off->some_count > 0 &&
           bsearch(row, off->some, off->some_count, sizeof *row, compare_places);
}

/* The datapoints of a form that holds. */
static int add_findings(const assay_series *series, const judged *list, uint64_t n, const moments_off *off,
                        assay_findings *findings)
{
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < n; i++) {
        if (is_of_moment(off, &list[i]) || list[i].undecided)
            continue;
        char note[512] = "";
        const assay_row row = assay_series_row(series, list[i].number);
        const bool weighted = list[i].law == LAW_LOSS && list[i].variant == LOSS_WEIGHTED;
        if (!list[i].keeps)
            law_put_note(row.value, note, sizeof note);
        const assay_finding finding = {.step = row.step,
                                       .tensor = row.tensor,
                                       .worker = row.worker,
                                       .test = list[i].law,
                                       .value = weighted ? list[i].ratio : row.value[LAW_APART],
                                       .threshold = weighted ? 1 : row.value[LAW_BOUND],
                                       .note = note};
        status = assay_findings_test(findings, !list[i].keeps, &finding);
    }
    return status;
}

/* ---- verdict ---- */

/* Of a loss that is no plain mean: what it is. */
static void say_form(const assay_trial *trial, uint32_t tensor, int form, assay_verdict *verdict)
{
    char name[128];
    loss_put_form(form, name, sizeof name);
    if (form >= LOSS_USUAL || form % 2 == 1)
        assay_verdict_message(verdict, "%s is the %s.", assay_trial_tensor(trial, tensor), name);
}

/* How a worker keeps a form of the law of updates. */
typedef struct form_sums {
    uint64_t rows, broken, tensors, tensors_broken;
} form_sums;

/* Where half of the tensors of a worker and an eighth of their rows do not keep a form, the optimizer goes by another one,
 * which is near enough to it now and then. All workers have one optimizer: it goes by the forms that half of them keep. */
static int find_optimizer(const judged *list, uint64_t count, uint32_t workers, bool goes_by[MOST_FORMS])
{
    form_sums *sums = calloc((size_t)workers * MOST_FORMS + 1, sizeof *sums);
    if (!sums)
        return ASSAY_ENOMEM;
    for (uint64_t i = 0, n; i < count; i += n) {
        bool broken = false; /* this tensor, of this worker */
        n = same(list, i, count, true);
        for (uint64_t k = i; list[i].law == LAW_UPDATE && k < i + n; k++) {
            if (list[k].worker >= workers)
                continue;
            form_sums *of = &sums[(size_t)list[k].worker * MOST_FORMS + list[k].variant];
            const bool begins = k == i || list[k].worker != list[k - 1].worker;
            broken = !begins && broken;
            of->rows++;
            of->tensors += begins;
            of->broken += !list[k].keeps;
            of->tensors_broken += !list[k].keeps && !broken;
            broken = broken || !list[k].keeps;
        }
    }
    for (uint32_t v = 0; v < MOST_FORMS; v++) {
        uint32_t have = 0, keep = 0;
        for (uint32_t w = 0; w < workers; w++) {
            const form_sums *of = &sums[(size_t)w * MOST_FORMS + v];
            have += of->rows > 0;
            keep += of->rows > 0 && (8 * of->broken < of->rows || 2 * of->tensors_broken < of->tensors);
        }
        goes_by[v] = 2 * keep >= have;
    }
    free(sums);
    return ASSAY_OK;
}

/* The first step at which all of a worker's n rows, by their steps, keep it, if most of a step did not before; else the
 * first. */
static int64_t begin_of(const judged *rows, uint64_t n)
{
    bool undecided = false;
    for (uint64_t i = 0, of; i < n; i += of) {
        bool keep = true;
        for (of = 0; i + of < n && rows[i + of].step == rows[i].step; of++) {
            keep = keep && rows[i + of].keeps;
            undecided = undecided || rows[i + of].undecided;
        }
        if (keep)
            return undecided ? rows[i].step : rows->step;
    }
    return rows->step;
}

/* Some optimizers begin by another form than they go by later: RAdam's first steps do not divide, and where m / (sqrt(v) + e)
 * is near enough it is not at first. What is off before is no error. `room` is for as many rows. */
static void excuse_begin(judged *list, uint64_t count, const form_counts *counts, const bool goes_by[MOST_FORMS],
                         judged *room)
{
    uint64_t n = 0, first = count;
    for (uint64_t i = 0, of, some; i < count; i += of) {
        of = same(list, i, count, false);
        if (list[i].law != LAW_UPDATE)
            continue;
        first = first < i ? first : i;
        const judged *rows = rows_that_count(list + i, of, counts, &some);
        if (!holds(rows, some) || !goes_by[rows->variant])
            continue;
        memcpy(room + n, rows, some * sizeof *rows);
        n += some;
    }
    if (n > 1)
        qsort(room, n, sizeof *room, compare_places);
    for (uint64_t i = 0, of; i < n; i += of) {
        for (of = 1; i + of < n && room[i + of].worker == room[i].worker;)
            of++;
        const int64_t begin = begin_of(room + i, of);
        for (uint64_t k = first; begin > room[i].step && k < count; k++)
            if (list[k].law == LAW_UPDATE && list[k].worker == room[i].worker && list[k].step < begin)
                list[k].undecided = true;
    }
}

/* Rows that are not tested, though their law holds of their tensor. */
typedef struct law_excused {
    uint64_t count;
    const judged *first; /* by its step */
} law_excused;

/* Of the tensors of a law. */
typedef struct law_tally {
    uint64_t holding, open; /* open: no form of it holds */
    uint64_t near;          /* of these, it holds often enough, but is not what the optimizer does */
    law_excused anew;       /* all workers wrote these anew */
    law_excused undecided;  /* most of their step do not keep it either, or not until later */
} law_tally;

static void count_excused(const judged *rows, uint64_t n, law_tally *tally)
{
    for (uint64_t i = 0; i < n; i++) {
        law_excused *of = rows[i].anew ? &tally->anew : &tally->undecided;
        of->count += rows[i].undecided;
        if (rows[i].undecided && (!of->first || rows[i].step < of->first->step))
            of->first = &rows[i];
    }
}

static void say_excused(const assay_trial *trial, const char *law, const law_excused *of, const char *why,
                        assay_verdict *verdict)
{
    if (of->count > 0)
        assay_verdict_message(
            verdict, "The law '%s' is not tested of %" PRIu64 " values, first %s of %s at step %" PRId64 ": %s.", law,
            of->count, assay_trial_tensor(trial, of->first->tensor), assay_trial_worker(trial, of->first->worker),
            of->first->step, why);
}

static void say_tally(const assay_trial *trial, const char *law, bool guessed, const law_tally *n,
                      assay_verdict *verdict)
{
    if (n->holding > 0 && !guessed && n->open > 0)
        assay_verdict_message(verdict,
                              "The law '%s' holds of %" PRIu64 " tensors; %" PRIu64
                              " whose names and shapes fit keep to no form of it and are not tested.",
                              law, n->holding, n->open);
    else if (n->holding > 0)
        assay_verdict_message(verdict, "The law '%s' holds of %" PRIu64 " tensors.", law, n->holding);
    else if (n->near > 0)
        assay_verdict_message(verdict,
                              "The law '%s' is not tested: %" PRIu64
                              " tensors keep it at most steps and not at others, "
                              "as if it was not what the optimizer does.",
                              law, n->near);
    say_excused(trial, law, &n->anew, "all workers wrote them anew as a whole", verdict);
    say_excused(trial, law, &n->undecided,
                "most others of their worker, at that step or at all, do not keep it either, or not until later",
                verdict);
}

static int judge(const assay_rule *rule, const assay_series *series, judged *list, uint64_t count, moments_off *off,
                 assay_verdict *verdict)
{
    law_tally tally[LAWS] = {{0}};
    form_counts counts;
    bool goes_by[MOST_FORMS];
    int status = find_optimizer(list, count, assay_trial_workers(rule->trial), goes_by);
    count_forms(list, count, &counts);
    if (status == ASSAY_OK)
        excuse_begin(list, count, &counts, goes_by, off->some);
    for (uint64_t i = 0, n; status == ASSAY_OK && i < count; i += n) {
        const uint32_t law = list[i].law;
        uint64_t some;
        n = same(list, i, count, false);
        judged *rows = rows_that_count(list + i, n, &counts, &some);
        excuse_anew(rows, some);
        const bool is_near = holds(rows, some), is_held = is_near && (law != LAW_UPDATE || goes_by[rows->variant]);
        tally[law].holding += is_held;
        tally[law].open += !is_held;
        tally[law].near += is_near && !is_held;
        if (is_held && law == LAW_AVERAGE)
            excuse_averages(rows, some);
        if (is_held)
            count_excused(rows, some, &tally[law]);
        if (is_held && law == LAW_LOSS)
            say_form(rule->trial, list[i].tensor, (int)rows->variant, verdict);
        if (is_held && law == LAW_UPDATE) /* behind the moments */
            choose_moments(rule->trial, list[i].tensor, off);
        if (is_held && law == LAW_MOMENTS)
            note_moments(off, rows, some);
        if (is_held)
            status = add_findings(series, rows, some, off, assay_verdict_findings(verdict));
    }
    for (int law = 0; law < LAWS; law++)
        say_tally(rule->trial, tests[law], GUESSED[law], &tally[law], verdict);
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_series *series = ((const assay_common_state *)state)->series;
    uint64_t count;
    judged *list = list_rows(rule, series, &count);
    moments_off off = {.all = malloc((count + 1) * sizeof *list), .some = malloc((count + 1) * sizeof *list)};
    int status = list && off.all && off.some ? join_all_classes(series, list, &count)
                                             : assay_fail(err, ASSAY_ENOMEM, "out of memory");
    ASSAY_THEN(status, judge(rule, series, list, count, &off, verdict));
    free(off.some);
    free(off.all);
    free(list);
    ASSAY_THEN(status, sums_judge(rule, series, verdict));
    ASSAY_THEN(status, statistics_judge(rule, series, verdict));
    assay_verdict_no_data(verdict, "no equation between recorded tensors holds at three steps: weights, inputs and "
                                   "outputs of modules, gradients or an optimizer's state are needed, of steps that "
                                   "follow one another.");
    return status;
}

const assay_rule_ops assay_rule_law_violated = {
    ASSAY_RULE_HEAD,
    .name = "LawViolated",
    .summary = "Tensors that are not what the recorded inputs of their computation give.",
    .advice = "The equation holds elsewhere, beyond doubt by rounding it does not here: a silent error of hardware, or "
              "code that changes the tensor.",
    .remedies = ASSAY_TEXTS(
        "Take the worker named out of service and test its device and memory, if others compute the same thing correctly.",
        "Go back to the checkpoint before: what was computed wrongly has been learned from since.",
        "Look for code that changes the tensor between its module and the recording, if all workers are named."),
    .params = params,
    .tests = tests,
    .series_width = LAW_WIDTH,
    .sentences = ASSAY_TEXTS([LAW_ACTIVATION] = "{tensor}{of} is not what its module computes at {when}: {said}",
                             [LAW_AVERAGE] = "{tensor}{of} does not follow from what it averages at {when}: {said}",
                             [LAW_DROPOUT] = "{tensor}{of} is not what its module computes at {when}: {said}",
                             [LAW_EMBEDDING] = "{tensor}{of} is not what its module computes at {when}: {said}",
                             [LAW_GRADIENT] = "{tensor}{of} is not what backward should give at {when}: {said}",
                             [LAW_LINEAR] = "{tensor}{of} is not what its module computes at {when}: {said}",
                             [LAW_LOSS] = "{tensor}{of} is not the loss of its inputs at {when}: {said}",
                             [LAW_MOMENTS] = "{tensor}{of} does not follow from its gradient at {when}: {said}",
                             [LAW_NORMALISATION] = "{tensor}{of} is not what its module computes at {when}: {said}",
                             [LAW_POOLING] = "{tensor}{of} is not what its module computes at {when}: {said}",
                             [LAW_REDUCE] = "{tensor}{of} is not what backward gave at {when}: {said}",
                             [LAW_REPLICAS] = "{tensor}{of} is not what other workers have at {when}: {said}",
                             [LAW_ROWS_ONE] = "{tensor}{of} is not what its module computes at {when}: {said}",
                             [LAW_STATISTICS] = "{tensor}{of} is not distributed as on other workers at {when}: {said}",
                             [LAW_SUMS] = "{tensor}{of} is not what the modules before it gave at {when}: {said}",
                             [LAW_UPDATE] = "{tensor}{of} was not updated as the others at {when}: {said}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
