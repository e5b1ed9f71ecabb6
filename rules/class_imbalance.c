/* class_imbalance.c - ClassImbalance: unequal classes, and classes that are mostly mispredicted.
 * docs/rules/ClassImbalance.md.
 *
 * Over the TRAIN steps (all modes if there is no TRAIN), workers pooled, n_c = labels of class c so far. Once sum n_c
 * >= samples, at every step with labels:
 *   imbalance       max n_c / min n_c over the classes seen > threshold_imbalance
 *   misprediction   max over c of (labels c predicted otherwise) / n_c > threshold_misprediction; needs a pair so far
 * With judge = end there are two tests, at the last step with labels. misprediction fires for a class that is rare (the largest
 * class has more than threshold_imbalance times its labels) and still mispredicted (more than threshold_misprediction
 * of its labels in the second half of the steps, with enough evidence, evidence.h), provided that the model is trained:
 * of the classes that are not rare less than UNSURE are wrong: where those are often mistaken, what is to be told cannot be told
 * for sure, and the best answer leaves rare classes out. Rare words of a language are mispredicted too, which is not a fault: of
 * TAIL_CLASSES or more one with less than TAIL_SHARE of the labels is left out.
 * unlearned fires where a class that is not rare is predicted for none of its labels, though all classes of which any
 * label is predicted have LEARNED of theirs right: not for the first and the last class, which stand for what is ignored.
 * Labels without a prediction count in n_c. Values are rounded half to even; those of ignore_labels are no class. With
 * argmax, the labels' shape tells the axis of the classes (classes.h). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "evidence.h"
#include "pairs.h"

enum { LABELS, PREDICTIONS }; /* slots and measures */
static const class_slot LABEL_CLASSES = {LABELS, LABELS, 0};
enum { CLASS, COUNT, PAIRS, MISSES, WIDTH };  /* values of a row: one class of one step */
enum { IMBALANCE, MISPREDICTION, UNLEARNED }; /* tests */
enum { TAIL_CLASSES = 10 };
static const int64_t LARGEST = INT64_C(1) << 53; /* of a class; beyond, a row's doubles would mix up neighbours */
#define UNSURE     0.15                          /* share of wrong predictions of classes that are not rare */
#define LEARNED    0.5                           /* share of right ones */
#define TAIL_SHARE 0.01 /* of the labels, less than which a class of many is expected to be mistaken */
#define HARDLY     0.5  /* of the labels that classes have on average: a rare one */
static const char *const tests[] = {"imbalance", "misprediction", "unlearned", NULL};

static const assay_param_def params[] = {
    ASSAY_REAL_PARAM("threshold_imbalance", "10", 1, 1e308,
                     "Fires when the largest class has more than this many times the labels of the smallest."),
    ASSAY_REAL_PARAM("threshold_misprediction", "0.7", 0, 1,
                     "Fires when more than this share of a class is predicted wrongly."),
    ASSAY_INT_PARAM("samples", "500", 0, 0x1p53, "Labels to see before the first test."),
    ASSAY_BOOL_PARAM("argmax", "False",
                     "Predictions are scores: the class is the position of the maximum along the axis of classes."),
    ASSAY_REGEX_PARAM("labels_regex", ".*labels", "Patterns (re.search) for names of labels."),
    ASSAY_REGEX_PARAM("predictions_regex", ".*predictions", "Patterns (re.search) for names of predictions."),
    IGNORE_LABELS_PARAM,
    ASSAY_CHOICE_PARAM(
        "judge", "steps", "steps|end",
        "Test all labels so far at every step, or, once at the end, classes that are both rare and mispredicted."),
    ASSAY_BOOL_PARAM("only_classes", "False",
                     "Leave out labels that are not class numbers, such as the targets of a regression."),
    EVIDENCE_PARAM,
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    assay_slot slot = {.regexes = "labels_regex",
                       .modes = 1u << ASSAY_MODE_TRAIN,
                       .flags = ASSAY_SLOT_PREFER_MODES | ASSAY_SLOT_NO_STRINGS};
    int status = ignored_labels_check(given, "ignore_labels", err);
    ASSAY_THEN(status, class_slot_add(need, &slot, ASSAY_CLASS_ROUND, err));
    slot.regexes = "predictions_regex";
    bool argmax = assay_param_bool(given, "argmax");
    return status ? status : class_slot_add(need, &slot, argmax ? ASSAY_CLASS_ARGMAX : ASSAY_CLASS_ROUND, err);
}

static class_slot prediction_classes(const assay_rule *rule)
{
    return (class_slot){PREDICTIONS, PREDICTIONS, assay_param_bool(rule->params, "argmax") ? PREDICTIONS + 1 : 0};
}

static bool labels_fit(const assay_step_view *view, uint32_t i)
{
    uint32_t k = partner_number(&view->slot[LABELS], i, &view->slot[PREDICTIONS]);
    return are_classes(view->slot[LABELS].items[i], k == UINT32_MAX ? NULL : view->slot[PREDICTIONS].items[k]);
}

/* Counts (class, COUNT | PAIRS | MISSES) of the step. */
static int count_step(const assay_rule *rule, const assay_step_view *view, assay_counter *step)
{
    class_slot predictions = prediction_classes(rule);
    ignored_labels ignored = ignored_labels_of(rule->params, "ignore_labels");
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[LABELS].count; i++) {
        const assay_classes *l = classes_of(view, LABEL_CLASSES, i);
        if (assay_param_bool(rule->params, "only_classes") && !labels_fit(view, i))
            continue;
        const assay_classes *p = partner_of(rule->trial, view, LABEL_CLASSES, i, predictions);
        for (uint64_t k = 0; l && status == ASSAY_OK && k < l->count; k++) {
            int64_t class = l->value[k];
            if (class < -LARGEST || class > LARGEST) /* ASSAY_NO_CLASS among them */
                continue;
            if (is_ignored_label(&ignored, (double)class))
                continue;
            bool paired = p && p->value[k] != ASSAY_NO_CLASS;
            status = assay_counter_add(step, class, COUNT, 1);
            if (status == ASSAY_OK && paired)
                status = assay_counter_add(step, class, PAIRS, 1);
            if (status == ASSAY_OK && paired && p->value[k] != class)
                status = assay_counter_add(step, class, MISSES, 1);
        }
    }
    return status;
}

/* One row a class of the counter. */
static int add_rows(const assay_counter *step, const assay_step_view *view, assay_series *series)
{
    int status = ASSAY_OK;
    uint64_t size = assay_counter_size(step);
    for (uint64_t i = 0; status == ASSAY_OK && i < size;) {
        int64_t class, next, what;
        uint64_t count;
        assay_counter_get(step, i, &class, &what, &count);
        double row[WIDTH] = {(double)class, 0, 0, 0};
        for (next = class; i < size && next == class;) {
            row[what] = (double)count;
            if (++i < size)
                assay_counter_get(step, i, &next, &what, &count);
        }
        status = assay_series_add(series, view->step, view->slot[LABELS].items[0]->tensor, ASSAY_ALL_WORKERS, row);
    }
    return status;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    assay_counter *step = assay_counter_new();
    ASSAY_HAVE(step);
    int status = count_step(rule, view, step);
    ASSAY_THEN(status, note_ambiguous_axes(s->counter, view, LABEL_CLASSES, prediction_classes(rule)));
    ASSAY_THEN(status, add_rows(step, view, s->series));
    assay_counter_free(step);
    return status;
}

typedef struct shares {
    uint64_t labels, pairs;
    double most, least, worst; /* labels of the largest and of the smallest class; largest share of misses */
} shares;

typedef struct class_counts {
    int64_t class;
    uint64_t of[WIDTH];
} class_counts;

static shares take_shares(const assay_counter *so_far)
{
    shares s = {0};
    double labels = 0;
    for (uint64_t i = 0; i < assay_counter_size(so_far); i++) {
        int64_t class, what;
        uint64_t count;
        assay_counter_get(so_far, i, &class, &what, &count);
        if (what == COUNT) { /* comes first of its class */
            labels = (double)count;
            s.labels += count;
            s.most = labels > s.most ? labels : s.most;
            s.least = s.least == 0 || labels < s.least ? labels : s.least;
        } else if (what == PAIRS) {
            s.pairs += count;
        } else if ((double)count / labels > s.worst) {
            s.worst = (double)count / labels;
        }
    }
    return s;
}

static int test_step(const assay_rule *rule, const assay_counter *so_far, assay_row row, assay_findings *findings)
{
    shares s = take_shares(so_far);
    if (s.labels < (uint64_t)assay_param_int(rule->params, "samples"))
        return ASSAY_OK;
    assay_finding finding = {.step = row.step,
                             .tensor = row.tensor,
                             .worker = row.worker,
                             .test = IMBALANCE,
                             .value = s.most / s.least,
                             .threshold = assay_param_real(rule->params, "threshold_imbalance")};
    int status = assay_findings_test(findings, finding.value > finding.threshold, &finding);
    if (status || s.pairs == 0)
        return status;
    finding.test = finding.value_unit = MISPREDICTION;
    finding.value = s.worst;
    finding.threshold = assay_param_real(rule->params, "threshold_misprediction");
    return assay_findings_test(findings, finding.value > finding.threshold, &finding);
}

/* Takes a row of the series in. */
static int add_row(assay_counter *counter, assay_row row)
{
    int status = ASSAY_OK;
    for (int what = COUNT; status == ASSAY_OK && what < WIDTH; what++)
        if (fabs(row.value[CLASS]) <= 0x1p53 && row.value[what] >= 0 && row.value[what] < 0x1p63)
            status = assay_counter_add(counter, (int64_t)row.value[CLASS], what, (uint64_t)row.value[what]);
    return status;
}

/* What was counted of a class; moves *i to the next. */
static class_counts next_class(const assay_counter *counter, uint64_t *i)
{
    class_counts c = {0};
    int64_t class, what;
    uint64_t count;
    assay_counter_get(counter, *i, &c.class, &what, &count);
    for (; *i < assay_counter_size(counter); (*i)++) {
        assay_counter_get(counter, *i, &class, &what, &count);
        if (class != c.class)
            break;
        c.of[what] = count;
    }
    return c;
}

/* Judges the counts of the second half: one datapoint, about the rare class that is mistaken most. */
static int test_end(const assay_rule *rule, const assay_counter *late, const shares *all, assay_row last,
                    assay_findings *findings)
{
    const assay_params *p = rule->params;
    double limit = assay_param_real(p, "threshold_misprediction"), rare = assay_param_real(p, "threshold_imbalance");
    shares s = take_shares(late);
    uint64_t misses = 0, pairs = 0; /* of classes that are not rare */
    class_counts worst = {0};
    double most = -1;
    uint64_t classes = 0;
    for (uint64_t i = 0; i < assay_counter_size(late); classes++)
        next_class(late, &i);
    const double tail = classes >= TAIL_CLASSES ? TAIL_SHARE * (double)s.labels : 0;
    for (uint64_t i = 0; i < assay_counter_size(late);) {
        class_counts c = next_class(late, &i);
        const bool is_rare = s.most > rare * (double)c.of[COUNT];
        misses += is_rare ? 0 : c.of[MISSES];
        pairs += is_rare ? 0 : c.of[PAIRS];
        double share = c.of[PAIRS] ? share_lower_bound(c.of[MISSES], c.of[PAIRS], assay_param_real(p, "evidence")) : -1;
        if (is_rare && (double)c.of[COUNT] >= tail && share > most) {
            worst = c;
            most = share;
        }
    }
    if (s.pairs == 0 || all->labels < (uint64_t)assay_param_int(p, "samples"))
        return ASSAY_OK;
    char note[128];
    snprintf(note, sizeof note,
             "class %lld: %llu of its %llu labels were predicted wrongly; the largest class has %.0f",
             (long long)worst.class, (unsigned long long)worst.of[MISSES], (unsigned long long)worst.of[PAIRS], s.most);
    assay_finding finding = {.step = last.step,
                             .tensor = last.tensor,
                             .worker = last.worker,
                             .test = MISPREDICTION,
                             .value_unit = MISPREDICTION,
                             .value = worst.of[PAIRS] ? (double)worst.of[MISSES] / (double)worst.of[PAIRS] : 0,
                             .threshold = limit,
                             .note = note};
    return assay_findings_test(findings, most > limit && (double)misses < UNSURE * (double)pairs, &finding);
}

/* Classes of the second half that have labels enough and are predicted for none of them, where all others are learned. */
static int test_unlearned(const assay_counter *late, assay_row last, assay_findings *findings)
{
    enum { LEAST_LABELS = 50, LEAST_LEARNED = 2 };
    uint64_t labels = 0, classes = 0, learned = 0, lost = 0, unclear = 0;
    class_counts first = {0}, c = {0};
    int64_t least = INT64_MAX;
    for (uint64_t i = 0; i < assay_counter_size(late); classes++) {
        c = next_class(late, &i);
        labels += c.of[PAIRS];
        least = c.class < least ? c.class : least;
    }
    const int64_t most = c.class; /* classes come in order */
    const double enough = classes ? fmax(LEAST_LABELS, HARDLY * (double)labels / (double)classes) : 0;
    for (uint64_t i = 0; i < assay_counter_size(late);) {
        c = next_class(late, &i);
        const uint64_t right = c.of[PAIRS] - c.of[MISSES];
        const bool has_enough = (double)c.of[PAIRS] >= enough;
        if (right > 0) {
            learned += (double)right >= LEARNED * (double)c.of[PAIRS];
            unclear += (double)right < LEARNED * (double)c.of[PAIRS];
        } else if (has_enough && c.class != least && c.class != most) {
            first = lost++ == 0 ? c : first;
        }
    }
    char note[192], more[40] = "";
    if (lost > 1)
        snprintf(more, sizeof more, " (and %llu more)", (unsigned long long)(lost - 1));
    snprintf(note, sizeof note, "class %lld%s is predicted for none of its %llu labels", (long long)first.class, more,
             (unsigned long long)first.of[PAIRS]);
    const assay_finding finding = {.step = last.step,
                                   .tensor = last.tensor,
                                   .worker = last.worker,
                                   .test = UNLEARNED,
                                   .value_unit = UNLEARNED,
                                   .value = (double)lost,
                                   .note = note};
    return labels == 0 ? ASSAY_OK
                       : assay_findings_test(findings, lost > 0 && unclear == 0 && learned >= LEAST_LEARNED, &finding);
}

/* The first row of the second half of the steps. */
static uint64_t second_half(const assay_series *series)
{
    uint64_t rows = assay_series_count(series), steps = 0, at = 0;
    for (uint64_t i = 0; i < rows; i++)
        steps += i == 0 || assay_series_row(series, i).step != assay_series_row(series, i - 1).step;
    for (uint64_t half = steps / 2, seen = 0; at < rows; at++) {
        seen += at == 0 || assay_series_row(series, at).step != assay_series_row(series, at - 1).step;
        if (seen > half)
            break;
    }
    return at;
}

/* "400 labels, and the parameter samples asks for 500." */
static void tell_lack(const assay_rule *rule, const assay_counter *so_far, assay_verdict *verdict)
{
    uint64_t labels = take_shares(so_far).labels, asked = (uint64_t)assay_param_int(rule->params, "samples");
    if (labels < asked)
        assay_verdict_message(verdict, "%" PRIu64 " labels, and the parameter samples asks for %" PRIu64 ".", labels,
                              asked);
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_series *series = ((const assay_common_state *)state)->series;
    bool at_end = strcmp(assay_param_text(rule->params, "judge"), "end") == 0;
    uint64_t rows = assay_series_count(series), half = at_end ? second_half(series) : rows;
    assay_counter *so_far = assay_counter_new(), *late = assay_counter_new();
    int status = so_far && late ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t i = 0; status == ASSAY_OK && i < rows; i++) {
        assay_row row = assay_series_row(series, i);
        bool last_of_step = i + 1 == rows || assay_series_row(series, i + 1).step != row.step;
        status = add_row(so_far, row);
        if (status == ASSAY_OK && i >= half)
            status = add_row(late, row);
        if (status == ASSAY_OK && last_of_step && !at_end)
            status = test_step(rule, so_far, row, assay_verdict_findings(verdict));
    }
    if (status == ASSAY_OK && at_end && rows > 0) {
        shares all = take_shares(so_far);
        const assay_row last = assay_series_row(series, rows - 1);
        status = test_end(rule, late, &all, last, assay_verdict_findings(verdict));
        ASSAY_THEN(status, test_unlearned(late, last, assay_verdict_findings(verdict)));
    }
    assay_counter_free(late);
    if (status == ASSAY_OK && rows > 0)
        tell_lack(rule, so_far, verdict);
    assay_counter_free(so_far);
    ambiguous_axis_say(rule, ((const assay_common_state *)state)->counter, verdict);
    return status;
}

const assay_rule_ops assay_rule_class_imbalance = {
    ASSAY_RULE_HEAD,
    .name = "ClassImbalance",
    .summary = "Classes with far fewer labels than others, or that are mostly predicted wrongly.",
    .advice = "Rare classes are learned last: collect or resample them, weight the loss by inverse class frequency, "
              "and judge the model by recall per class rather than by accuracy; a class that is mostly mistaken "
              "although frequent points to wrong labels.",
    .params = params,
    .tests = tests,
    .traits = ASSAY_RULE_POOLS | ASSAY_RULE_NOT_LOGGED,
    .series_width = WIDTH,
    .value_units = ASSAY_TEXTS([IMBALANCE] = "times the smallest class", [MISPREDICTION] = "of a class wrong",
                               [UNLEARNED] = "class(es) never predicted"),
    .sentences = ASSAY_TEXTS([IMBALANCE] = "classes have far fewer labels than others at {when}",
                             [MISPREDICTION] = "classes were mostly predicted wrongly at {when}",
                             [UNLEARNED] = "classes were never predicted, seen at {when}{note}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
