/* diagnosis.c - see diagnosis.h: makes evidence of findings, and facts of what rules say of the course. */
#include "report/model/diagnosis.h"

#include <assay/module.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/vec.h"
#include "report/model/report_model.h"

enum { WORKERS_NAMED = 3, TEXT_ROOM = 1 << 16 };

/* What is gathered of one test of one rule. */
typedef struct gathering {
    const assay_outcome *outcome;
    const assay_trial_outcome *trial;
    const report_rule *rule;
    report_diagnosis *out;
} gathering;

/* Keeps the text of a buffer, which it releases, as long as the diagnosis. NULL without memory. */
static const char *keep(report_diagnosis *out, assay_buf *text)
{
    assay_put_u8(text, '\0');
    char **place = assay_buf_status(text) == ASSAY_OK
                       ? assay_vec_add(&out->text, &out->texts, &out->text_room, sizeof *place)
                       : NULL;
    if (place)
        *place = strdup((const char *)text->data);
    assay_buf_release(text);
    return place ? *place : NULL;
}

/* ---- when ---- */

/* Finds the saved step of the mode that is `back` saved steps of it before position `at`; `at` where there are not so
 * many. */
static uint64_t step_before(const assay_trial *info, uint64_t at, uint64_t back)
{
    const int mode = assay_trial_step(info, at)->mode;
    uint64_t found = at;
    for (uint64_t i = at; back > 0 && i-- > 0;)
        if (assay_trial_step(info, i)->mode == mode) {
            found = i;
            back--;
        }
    return found;
}

/* Tells how many saved steps before its finding a rule that waits saw it begin: by the unit of the value. Units are
 * the rules' own words, so a rule with new ones waits for nothing here. */
static uint64_t waited(const report_rule *rule, const assay_finding *f)
{
    const char *const *units = rule->instance->ops ? rule->instance->ops->value_units : NULL;
    const char *unit = "";
    for (uint32_t i = 0; units && units[i] && i <= f->value_unit; i++)
        unit = units[i];
    if (strcmp(unit, "of the norm a step") == 0) /* of the update before its step */
        return 1;
    if (!(f->value >= 1 && f->value < 1e9))
        return 0;
    return strstr(unit, "unchanged") ? (uint64_t)f->value : strstr(unit, "in a row") ? (uint64_t)f->value - 1 : 0;
}

/* Tells whether what the finding says of its step is seen at the next saved ones alone: gradients that were not
 * synchronized show there. */
static bool is_seen_behind(const report_rule *rule, const assay_finding *f)
{
    const assay_rule_ops *ops = rule->instance->ops;
    return ops && ops->tests && strcmp(ops->name, "GradientNotSynchronized") == 0 &&
           strcmp(ops->tests[f->test], "gradients") == 0;
}

/* Finds the last step of the mode before the next one that was saved of it; `number` where there is none. */
static int64_t last_unsaved(const assay_trial *info, uint64_t at, bool counted, int64_t number)
{
    const int mode = assay_trial_step(info, at)->mode;
    for (uint64_t i = at + 1; i < assay_trial_steps(info); i++) {
        const assay_step_info *next = assay_trial_step(info, i);
        if (next->mode == mode)
            return (counted ? next->mode_step : next->step) - 1;
    }
    return number;
}

/* The span is in steps of the mode where the mode counts its own, else in steps of the trial: onsets of one mode
 * compare, others by `step`. */
static assay_onset_span span_of(const gathering *g, const assay_finding *f)
{
    const assay_trial *info = g->trial->info;
    uint64_t at = f->time ? UINT64_MAX : assay_trial_find_step(info, f->step);
    if (report_is_in_traces(g->rule)) /* a trace is a window: when in it tells nothing of what came first */
        return (assay_onset_span){ASSAY_MODE_NONE, f->step, f->step, INT64_MAX, false, false};
    if (at == UINT64_MAX)
        return (assay_onset_span){ASSAY_MODE_NONE, f->step, f->step, f->step, false, false};
    at = step_before(info, at, waited(g->rule, f));
    const assay_step_info *step = assay_trial_step(info, at);
    const assay_step_info *before = assay_trial_step(info, step_before(info, at, 1));
    const bool log = assay_trial_is_log(info);
    const bool counted = log || (step->mode > ASSAY_MODE_NONE && step->mode < ASSAY_MODE_GLOBAL);
    const int64_t number = counted ? step->mode_step : step->step;
    assay_onset_span span = {step->mode, number, number, step->step, before == step, log};
    if (is_seen_behind(g->rule, f))
        span.to = last_unsaved(info, at, counted, number);
    else if (before != step)
        span.from = (counted ? before->mode_step : before->step) + 1;
    return span;
}

/* Tells whether finding i is one of what its test found of the same tensor and worker at one of the saved steps of the mode
 * just before: what comes and goes has not begun again. */
static bool goes_on(const gathering *g, size_t i)
{
    enum { AWAY = 5 };
    const assay_trial *info = g->trial->info;
    const assay_finding *list = g->rule->findings->list, *f = &list[i];
    const uint64_t at = assay_trial_find_step(info, f->step);
    if (at == UINT64_MAX)
        return false;
    const int64_t since = assay_trial_step(info, step_before(info, at, AWAY))->step;
    for (size_t k = i; k-- > 0 && list[k].step >= since;) {
        if (list[k].step == f->step || list[k].tensor != f->tensor || list[k].worker != f->worker ||
            list[k].test != f->test)
            continue;
        const assay_step_info *step = assay_trial_step(info, assay_trial_find_step(info, list[k].step));
        if (step && step->mode == assay_trial_step(info, at)->mode)
            return true;
    }
    return false;
}

/* Tells how often what was found of the first tensor and worker began. */
static uint64_t count_times(const gathering *g, const assay_finding *first)
{
    const assay_findings *found = g->rule->findings;
    uint64_t times = 0;
    for (size_t i = 0; !first->time && i < found->kept; i++) {
        const assay_finding *f = &found->list[i];
        times += f->tensor == first->tensor && f->worker == first->worker && f->test == first->test && !goes_on(g, i);
    }
    return times;
}

/* Does a finding of the rule say the same of the same tensor and worker at the step? `from`: where such stand, or before. */
static bool is_found_at(const assay_findings *found, size_t from, const assay_finding *f, int64_t step)
{
    bool is = false;
    for (size_t i = from; !is && i < found->kept && found->list[i].step <= step; i++) {
        const assay_finding *g = &found->list[i];
        is = g->step == step && g->tensor == f->tensor && g->worker == f->worker && g->test == f->test;
    }
    return is;
}

/* Counts the saved steps at which nothing is found any more of a worker of whose first tensor something was found just
 * before, as far as the list goes. */
static uint64_t count_met(const gathering *g, const assay_finding *first)
{
    const assay_trial *info = g->trial->info;
    const assay_findings *found = g->rule->findings;
    int64_t last = INT64_MIN;
    uint64_t met = 0;
    for (size_t i = 0; !first->time && i < found->kept; i++) {
        const assay_finding *f = &found->list[i];
        const uint64_t at = assay_trial_find_step(info, f->step);
        const assay_step_info *step = at == UINT64_MAX ? NULL : assay_trial_step(info, at), *next = step;
        for (uint64_t k = at + 1; step && next == step && k < assay_trial_steps(info); k++)
            if (assay_trial_step(info, k)->mode == step->mode)
                next = assay_trial_step(info, k);
        const bool listed = step && (found->kept == found->total || next->step < found->list[found->kept - 1].step);
        if (f->tensor != first->tensor || f->test != first->test || next == step || !listed || next->step <= last)
            continue;
        if (!is_found_at(found, i, f, next->step)) {
            last = next->step;
            met++;
        }
    }
    return met;
}

/* Puts all steps at which what the test of the first finding found began. ASSAY_ENOMEM. */
static int put_onsets(const gathering *g, const assay_finding *first, assay_evidence *e)
{
    const assay_trial *info = g->trial->info;
    const assay_findings *found = g->rule->findings;
    assay_onset_steps *onset = assay_alloc_zeroed(found->kept, sizeof *onset);
    ASSAY_HAVE(onset);
    e->onset = onset;
    for (size_t i = 0; i < found->kept; i++) {
        const assay_finding *f = &found->list[i];
        const uint64_t seen = f->time || f->test != first->test ? UINT64_MAX : assay_trial_find_step(info, f->step);
        if (seen == UINT64_MAX || goes_on(g, i))
            continue;
        const uint64_t at = step_before(info, seen, waited(g->rule, f)), before = step_before(info, at, 1);
        const int64_t step = assay_trial_step(info, at)->step;
        onset[e->onsets++] = (assay_onset_steps){before == at ? step - 1 : assay_trial_step(info, before)->step, step};
    }
    e->listed_to = found->kept < found->total ? found->list[found->kept - 1].step : INT64_MAX;
    return ASSAY_OK;
}

/* Tells whether the rule finds something up to the last saved steps of the mode. One finding of a rule that waits is
 * of several steps. */
static bool lasts(const gathering *g, const assay_finding *first, int mode)
{
    const assay_findings *found = g->rule->findings;
    const assay_trial *info = g->trial->info;
    uint64_t last = assay_trial_steps(info);
    if (found->step_count < 2 && (first->time || waited(g->rule, first) == 0))
        return false;
    while (last > 0 && assay_trial_step(info, last - 1)->mode != mode)
        last--;
    const uint64_t end = assay_trial_find_step(info, found->steps[found->step_count - 1]);
    return last > 0 && end != UINT64_MAX && step_before(info, last - 1, 1) <= end;
}

/* ---- where ---- */

/* Finds what the parameter is called in its layer: "weight" for "gru.weight_ih_l0" and "attention.in_proj_weight"
 * too; "" where no dot tells. */
static const char *ending_of(const char *name, size_t *size)
{
    static const char *const words[] = {"weight", "bias"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof words / sizeof *words; i++)
        if (strstr(dot, words[i])) {
            *size = strlen(words[i]);
            return words[i];
        }
    *size = dot ? strcspn(dot, "_") : 0;
    return dot ? dot : "";
}

static bool ends_alike(const char *a, const char *b)
{
    size_t of_a, of_b;
    const char *x = ending_of(a, &of_a), *y = ending_of(b, &of_b);
    return of_a == of_b && memcmp(x, y, of_a) == 0;
}

/* Sets how many tensors the test found something of, and how many there are of their kind: one of many points to that
 * layer, all of them to something common. */
static int count_tensors(const gathering *g, const assay_finding *first, assay_evidence *e)
{
    const assay_trial *info = g->trial->info;
    const assay_findings *found = g->rule->findings;
    const uint32_t all = assay_trial_tensors(info);
    if (first->time || first->tensor >= all)
        return ASSAY_OK;
    const assay_role role = assay_trial_role(info, first->tensor);
    const char *name = assay_trial_tensor(info, first->tensor);
    bool *seen = assay_alloc_zeroed(all, sizeof *seen);
    ASSAY_HAVE(seen);
    e->role = (int)role;
    e->order = assay_trial_order(info, first->tensor);
    uint32_t of_kind = 0, of_role = 0; /* that have it and end as the first does; that there are */
    for (size_t i = 0; i < found->kept; i++) {
        const assay_finding *f = &found->list[i];
        if (f->test != first->test || f->time || f->tensor >= all || seen[f->tensor] ||
            assay_trial_role(info, f->tensor) != role)
            continue;
        seen[f->tensor] = true;
        e->tensors++;
        of_kind += ends_alike(assay_trial_tensor(info, f->tensor), name);
    }
    for (uint32_t t = 0; t < all; t++) {
        of_role += assay_trial_role(info, t) == role;
        e->alike += assay_trial_role(info, t) == role && ends_alike(assay_trial_tensor(info, t), name);
    }
    size_t size;
    if (role == ASSAY_ROLE_WEIGHT && strncmp(ending_of(name, &size), "weight", 6) == 0) {
        const uint32_t weighted = assay_trial_weighted_modules(info); /* of another network, which was not recorded */
        e->alike = weighted > e->alike ? weighted : e->alike;
    }
    /* a weight and its bias are not all of two weights, nor does one with a name of its own stand for all */
    if ((of_kind < e->alike || e->alike == 1) && of_role > e->alike)
        e->alike = of_role;
    free(seen);
    return ASSAY_OK;
}

/* Puts who has the first finding's tensor at its step: "worker_2", "worker_0 and worker_1", "all 4 workers"; "" where
 * the trial has one worker or the rule pools them. */
static const char *put_workers(const gathering *g, const assay_finding *first)
{
    const assay_trial *info = g->trial->info;
    const uint32_t workers = assay_trial_expected_workers(info);
    const assay_findings *found = g->rule->findings;
    uint32_t count = 0, last = UINT32_MAX;
    const char *name[WORKERS_NAMED];
    assay_buf text = ASSAY_BUF(TEXT_ROOM);
    if (first->time || first->worker == ASSAY_ALL_WORKERS || workers < 2)
        return "";
    for (size_t i = 0; i < found->kept; i++) {
        const assay_finding *f = &found->list[i];
        if (f->step != first->step || f->tensor != first->tensor || f->test != first->test || f->worker == last)
            continue;
        last = f->worker;
        if (count < WORKERS_NAMED)
            name[count] = report_finding_worker(info, f);
        count++;
    }
    if (count == workers || count > WORKERS_NAMED)
        assay_put_format(&text, count == workers ? "all %" PRIu32 " workers" : "%" PRIu32 " of %" PRIu32 " workers",
                         count, workers);
    else
        for (uint32_t i = 0; i < count; i++)
            assay_put_format(&text, "%s%s", i == 0 ? "" : i + 1 == count ? " and " : ", ", name[i]);
    return keep(g->out, &text);
}

/* ---- evidence ---- */

/* Puts the finding in the words of its rule; the first cause where the rule looks for one. */
static const char *put_words(const gathering *g, const assay_finding *first, assay_evidence *e)
{
    assay_buf text = ASSAY_BUF(TEXT_ROOM);
    report_origin origin;
    report_find_origin(g->trial->info, g->rule, &origin);
    e->proven = origin.certain;
    if (origin.cause.size > 0) {
        report_put_origin(g->trial->info, &origin, &text);
    } else {
        origin.finding = first;
        origin.tensor = report_finding_tensor(g->trial->info, first);
        if (!origin.several)
            origin.worker = report_finding_worker(g->trial->info, first);
        if (!report_put_sentence(g->trial->info, g->rule, &origin, &text)) {
            assay_put_format(&text, "%s found something: ", g->rule->instance->name);
            report_put_origin(g->trial->info, &origin, &text);
        }
    }
    report_origin_release(&origin);
    return keep(g->out, &text);
}

/* Is the list of findings full, so that nobody knows of a test which found nothing before? */
static bool is_cut_short(const report_rule *rule)
{
    const assay_rule_ops *ops = rule->instance->ops;
    return rule->findings->kept < rule->findings->total && ops && ops->tests && ops->tests[0] && ops->tests[1];
}

static int add_evidence(const gathering *g, size_t number, const assay_finding *first)
{
    const char *test = report_finding_test(g->rule, first);
    assay_evidence *e = assay_vec_add(&g->out->evidence, &g->out->count, &g->out->room, sizeof *e);
    ASSAY_HAVE(e);
    *e = (assay_evidence){.rule = number,
                          .kind = report_kind(g->rule),
                          .test = test ? test : "",
                          .name = g->rule->instance->name,
                          .severity = (int)g->rule->instance->severity,
                          .role = -1,
                          .order = UINT32_MAX,
                          .tensor = first->time ? "" : report_finding_tensor(g->trial->info, first),
                          .began = span_of(g, first),
                          .steps = g->rule->findings->step_count,
                          .value = first->value,
                          .unasked = g->rule->instance->optional,
                          .cut = is_cut_short(g->rule),
                          .note = first->note ? first->note : ""};
    if (first->time && !report_is_in_traces(g->rule)) /* what is slow is not wrong */
        e->severity = ASSAY_INFO;
    e->lasts = lasts(g, first, e->began.mode);
    int status = count_tensors(g, first, e);
    if (e->unasked && !e->cut)
        ASSAY_THEN(status, put_onsets(g, first, e));
    e->times = e->unasked ? count_times(g, first) : 1;
    e->met = e->unasked ? count_met(g, first) : 0;
    const char *workers = status == ASSAY_OK ? put_workers(g, first) : NULL;
    const char *words = workers ? put_words(g, first, e) : NULL;
    ASSAY_HAVE(words);
    e->workers = workers;
    e->sentence = words;
    return ASSAY_OK;
}

/* Adds one piece for each test: its first finding stands first in the list, as findings are in order of steps. */
static int add_rule(const gathering *g, size_t number)
{
    const assay_findings *found = g->rule->findings;
    int status = ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && i < found->kept; i++) {
        bool earlier = false;
        for (size_t k = g->out->count; k-- > 0 && g->out->evidence[k].rule == number;) {
            const char *test = report_finding_test(g->rule, &found->list[i]);
            earlier = earlier || strcmp(g->out->evidence[k].test, test ? test : "") == 0;
        }
        status = earlier ? ASSAY_OK : add_evidence(g, number, &found->list[i]);
    }
    return status;
}

/* ---- facts ---- */

static double number_of(const cJSON *object, const char *name)
{
    const cJSON *item = object ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;
    return item && cJSON_IsNumber(item) ? cJSON_GetNumberValue(item) : (double)NAN;
}

/* Rules of one's own may write any number where a step is wanted. */
static int64_t step_of(double number)
{
    return fabs(number) <= 0x1p53 ? (int64_t)number : 0;
}

/* Takes where the data changed, as InputData says it. ASSAY_ENOMEM. */
static int take_change(const cJSON *changed, report_diagnosis *out, assay_data_change *taken)
{
    const char *what = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(changed, "what"));
    assay_buf text = ASSAY_BUF(TEXT_ROOM);
    if (!what)
        return ASSAY_OK;
    assay_put_format(&text, "%s", what);
    *taken = (assay_data_change){.what = keep(out, &text),
                                 .began = {.mode = (int)step_of(number_of(changed, "mode")),
                                           .from = step_of(number_of(changed, "from")),
                                           .to = step_of(number_of(changed, "to")),
                                           .step = step_of(number_of(changed, "step"))},
                                 .close = step_of(number_of(changed, "close")),
                                 .late = step_of(number_of(changed, "late"))};
    return taken->what ? ASSAY_OK : ASSAY_ENOMEM;
}

/* Takes where losses of a training that is well were set back. */
static void take_harm(const cJSON *harm, assay_course_harm *taken)
{
    const double seen = number_of(harm, "seen");
    const cJSON *range;
    if (isnan(seen))
        return;
    *taken = (assay_course_harm){.well = true,
                                 .one_loss = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(harm, "one_loss")),
                                 .seen = step_of(seen)};
    cJSON_ArrayForEach(range, cJSON_GetObjectItemCaseSensitive(harm, "setbacks"))
    {
        const double from = cJSON_GetNumberValue(cJSON_GetArrayItem(range, 0));
        const double to = cJSON_GetNumberValue(cJSON_GetArrayItem(range, 1));
        taken->well = taken->well && !isnan(from) && !isnan(to) && taken->setbacks < ASSAY_SETBACKS;
        if (!taken->well)
            return;
        taken->setback[taken->setbacks].from = step_of(from);
        taken->setback[taken->setbacks++].to = step_of(to);
    }
}

/* Takes the workers that have steps of their own, as MissingWorker says them. ASSAY_ENOMEM. */
static int take_away(const cJSON *away, report_diagnosis *out, const char **taken)
{
    const cJSON *name;
    assay_buf text = ASSAY_BUF(TEXT_ROOM);
    cJSON_ArrayForEach(name, away)
    {
        const char *known = cJSON_GetStringValue(name);
        assay_put_format(&text, "%s%s, ", text.size == 0 ? ", " : "", known ? known : "");
    }
    if (text.size == 0)
        return ASSAY_OK;
    *taken = keep(out, &text);
    return *taken ? ASSAY_OK : ASSAY_ENOMEM;
}

/* Takes what LossNotDecreasing says of the course of the loss, WeightCourse of how far weights moved, Overfit of a
 * loss of evaluation that hardly came down, InputData of the magnitude of inputs and of where they changed,
 * MissingWorker of workers with steps of their own, and Confusion of classes that are taken for others. They come from
 * members of the report, so a number may be anything. */
static int take_facts(const report_rule *rule, report_diagnosis *out, assay_course_facts *facts)
{
    int status = ASSAY_OK;
    cJSON *members = NULL;
    if (report_members(rule, &members) == ASSAY_OK && members) {
        const cJSON *course = cJSON_GetObjectItemCaseSensitive(members, "course");
        const double at = number_of(course, "least_at"), shift = number_of(members, "shift");
        const double moved = number_of(members, "moved"), error = number_of(course, "error");
        const double guess = number_of(course, "guess");
        if (course) {
            facts->loss_first = number_of(course, "first");
            facts->loss_least = number_of(course, "least");
            facts->loss_last = number_of(course, "last");
            facts->least_at = step_of(at);
            facts->loss_error = isnan(error) ? 0 : error;
            facts->loss_guess = guess > 0 ? guess : 0;
        }
        if (strcmp(report_kind(rule), "LossNotDecreasing") == 0 && rule->status != ASSAY_ISSUES_FOUND)
            take_harm(cJSON_GetObjectItemCaseSensitive(members, "harm"), &facts->harm);
        facts->moved = strcmp(report_kind(rule), "WeightCourse") == 0 && moved > 0 ? moved : facts->moved;
        if (number_of(members, "magnitude") > 0)
            facts->inputs = number_of(members, "magnitude");
        facts->never_gained =
            facts->never_gained || cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(members, "never_gained"));
        if (!isnan(shift) && fabs(shift) < 1e6)
            facts->shift = (int)shift;
        if (strcmp(report_kind(rule), "InputData") == 0)
            status = take_change(cJSON_GetObjectItemCaseSensitive(members, "changed"), out, &facts->changed);
        if (strcmp(report_kind(rule), "MissingWorker") == 0)
            ASSAY_THEN(status, take_away(cJSON_GetObjectItemCaseSensitive(members, "away"), out, &facts->away));
    }
    cJSON_Delete(members);
    return status;
}

/* Facts of all rules, evidence of those with findings alone: a rule without findings may still know the course. */
static int make(const assay_outcome *outcome, const assay_trial_outcome *trial, report_diagnosis *out)
{
    *out = (report_diagnosis){0};
    assay_course_facts facts = {.loss = "", .loss_first = NAN, .loss_least = NAN, .loss_last = NAN};
    int status = ASSAY_OK;
    facts.workers = trial->status == ASSAY_OK && trial->info ? assay_trial_workers(trial->info) : 0;
    for (size_t i = 0; status == ASSAY_OK && trial->status == ASSAY_OK && i < outcome->job->rule_count; i++) {
        const report_rule rule = report_rule_undiagnosed(outcome, trial, i, false);
        status = take_facts(&rule, out, &facts);
        if (status != ASSAY_OK || rule.status != ASSAY_ISSUES_FOUND || !rule.findings || rule.findings->kept == 0)
            continue;
        status = add_rule(&(gathering){outcome, trial, &rule, out}, i);
    }
    facts.harm.well = facts.harm.well && trial->problems.losses == 0; /* what is lost may have been a loss that rose */
    ASSAY_THEN(status, assay_diagnose(out->evidence, out->count, &facts, &out->is));
    if (status != ASSAY_OK)
        report_diagnosis_release(out);
    return status;
}

/* A finding that did no harm is told as what it is, and is no warning. */
assay_severity report_severity_of(const assay_outcome *outcome, const assay_trial_outcome *trial,
                                  const report_rule *rule)
{
    assay_severity severity = rule->instance->severity;
    report_diagnosis d;
    if (severity == ASSAY_INFO || !rule->instance->optional || rule->status != ASSAY_ISSUES_FOUND ||
        report_diagnose(outcome, trial, &d) != ASSAY_OK)
        return severity;
    bool told = false, harmless = true;
    for (size_t c = 0; c < d.is.causes; c++)
        for (size_t i = 0; i < d.is.cause[c].explained; i++)
            if (outcome->job->rules[d.evidence[d.is.cause[c].evidence[i]].rule] == rule->instance) {
                told = true;
                harmless = harmless && d.is.cause[c].harmless;
            }
    report_diagnosis_release(&d);
    return told && harmless ? ASSAY_INFO : severity;
}

static void release_kept(void *made)
{
    report_diagnosis_release(made);
    free(made);
}

/* A trial has its diagnosis made once, as several forms of the report show it: the first caller makes it, and others
 * get what points into that. Without a place to keep it, it is the caller's own. */
int report_diagnose(const assay_outcome *outcome, const assay_trial_outcome *trial, report_diagnosis *out)
{
    assay_kept *kept = trial->diagnosis;
    if (!kept)
        return make(outcome, trial, out);
    *out = (report_diagnosis){0};
    if (!kept->made) {
        report_diagnosis *made = assay_alloc_zeroed(1, sizeof *made);
        const int status = made ? make(outcome, trial, made) : ASSAY_ENOMEM;
        if (status != ASSAY_OK) {
            free(made);
            return status;
        }
        *kept = (assay_kept){made, release_kept};
    }
    *out = *(const report_diagnosis *)kept->made;
    out->kept = true;
    return ASSAY_OK;
}

void report_diagnosis_release(report_diagnosis *diagnosis)
{
    if (diagnosis->kept) {
        *diagnosis = (report_diagnosis){0};
        return;
    }
    assay_diagnosis_release(&diagnosis->is);
    for (size_t i = 0; i < diagnosis->texts; i++)
        free(diagnosis->text[i]);
    free(diagnosis->text);
    for (size_t i = 0; i < diagnosis->count; i++)
        free((void *)(uintptr_t)diagnosis->evidence[i].onset);
    free(diagnosis->evidence);
    *diagnosis = (report_diagnosis){0};
}
