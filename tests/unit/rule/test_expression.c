/* test_expression.c - conditions of the job file: what they find on a small hand-made trial, and how wrong ones are
 * refused.
 *
 * The trial: steps 0, 10, ... 40; "a.weight" is 1, 2, 4, 8, 16 on worker 0, the same on worker 1 but -16 at the end;
 * "gradient/a.weight" is 0.5 everywhere, and missing on worker 1 at step 20. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rule/expression.h"
#include "rule/params.h"
#include "rule/verdict.h"

enum { STEPS = 5, WORKERS = 2, TENSORS = 2, WEIGHT = 0, GRADIENT = 1 };
static const char *const NAMES[TENSORS] = {"a.weight", "gradient/a.weight"};
static const double WEIGHTS[WORKERS][STEPS] = {{1, 2, 4, 8, 16}, {1, 2, 4, 8, -16}};

typedef struct moment { /* one step in the making */
    assay_stats stats[TENSORS][WORKERS];
    double reduction[TENSORS][WORKERS][ASSAY_KINDS];
    assay_tensor_view item[TENSORS][WORKERS];
    const assay_tensor_view *items[8][TENSORS * WORKERS];
    assay_slot_view slot[8];
} moment;

static bool slot_takes(const assay_slot_need *slot, int tensor)
{
    bool takes = slot->name && strcmp(slot->name, NAMES[tensor]) == 0;
    for (size_t i = 0; i < slot->collections; i++)
        takes = takes || strcmp(slot->collection[i], tensor == WEIGHT ? "weights" : "gradients") == 0;
    for (size_t i = 0; i < slot->regexes; i++)
        takes = takes || assay_regex_search(slot->regex[i], NAMES[tensor], strlen(NAMES[tensor])) > 0;
    return takes;
}

/* One element x, or with `reduced` only its saved reductions. */
static void make_item(moment *m, int tensor, int worker, double x, bool reduced)
{
    m->stats[tensor][worker] = (assay_stats){.count = 1,
                                             .nan = isnan(x),
                                             .zeros = x == 0,
                                             .min = x,
                                             .max = x,
                                             .sum = x,
                                             .squares = x * x,
                                             .magnitudes = fabs(x)};
    for (int kind = 0; kind < ASSAY_KINDS; kind++)
        m->reduction[tensor][worker][kind] = kind >= ASSAY_ABS || kind == ASSAY_L1 || kind == ASSAY_L2 ? fabs(x) : x;
    m->item[tensor][worker] = (assay_tensor_view){.tensor = (uint32_t)tensor,
                                                  .worker = (uint32_t)worker,
                                                  .name = NAMES[tensor],
                                                  .dtype = reduced ? -1 : ASSAY_FLOAT64,
                                                  .stats = reduced ? NULL : &m->stats[tensor][worker],
                                                  .reductions = reduced ? UINT32_MAX & ~1u : 0,
                                                  .reduction = m->reduction[tensor][worker]};
}

static void make_moment(moment *m, const assay_need *need, int step, bool reduced)
{
    memset(m, 0, sizeof *m);
    for (int worker = 0; worker < WORKERS; worker++) {
        make_item(m, WEIGHT, worker, WEIGHTS[worker][step], reduced);
        make_item(m, GRADIENT, worker, 0.5, reduced);
    }
    for (uint32_t s = 0; s < need->slot_count; s++) {
        m->slot[s].items = m->items[s];
        for (int tensor = 0; tensor < TENSORS; tensor++)
            for (int worker = 0; worker < WORKERS; worker++)
                if (slot_takes(&need->slots[s], tensor) && !(tensor == GRADIENT && worker == 1 && step == 2))
                    m->items[s][m->slot[s].count++] = &m->item[tensor][worker];
    }
}

static assay_instance *configured(const char *when, int for_steps, int start_step)
{
    assay_instance *instance = NULL;
    cJSON *parameters = cJSON_CreateObject();
    cJSON_AddStringToObject(parameters, "when", when);
    if (for_steps > 1)
        cJSON_AddNumberToObject(parameters, "for_steps", for_steps);
    if (start_step > 0)
        cJSON_AddNumberToObject(parameters, "start_step", start_step);
    CU_ASSERT_EQUAL_FATAL(assay_instance_new("e", "Expression", ASSAY_WARNING, parameters, &instance), ASSAY_OK);
    cJSON_Delete(parameters);
    return instance;
}

/* Runs a condition over the trial. The verdict is the caller's. */
static void evaluate(const char *when, int for_steps, int start_step, bool reduced, assay_verdict *verdict)
{
    moment m;
    assay_instance *instance = configured(when, for_steps, start_step);
    if (instance->status != ASSAY_OK)
        printf("\n%s: %s\n", when, instance->error.text);
    CU_ASSERT_EQUAL_FATAL(instance->status, ASSAY_OK);
    assay_rule rule = {.ops = instance->ops,
                       .params = instance->params,
                       .data = instance->data,
                       .start_step = instance->start_step,
                       .end_step = instance->end_step};
    void *state = rule.ops->state_new(&rule);
    CU_ASSERT_PTR_NOT_NULL_FATAL(state);
    for (int step = 0; step < STEPS; step++) {
        make_moment(&m, instance->need, step, reduced);
        assay_step_view view = {
            .step = step * 10, .mode = ASSAY_MODE_TRAIN, .slots = instance->need->slot_count, .slot = m.slot};
        CU_ASSERT_EQUAL(rule.ops->map(&rule, state, &view, NULL), ASSAY_OK);
    }
    CU_ASSERT_EQUAL_FATAL(assay_verdict_init(verdict, ASSAY_MAX_FINDINGS), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_verdict_reach(&rule, state, verdict), ASSAY_OK);
    rule.ops->state_free(state);
    assay_instance_free(instance);
}

static void expect(const char *when, int for_steps, int start_step, bool reduced, uint64_t found, uint64_t of)
{
    assay_verdict v;
    evaluate(when, for_steps, start_step, reduced, &v);
    if (v.findings->total != found || v.findings->datapoints != of)
        printf("\n%s: %d of %d\n", when, (int)v.findings->total, (int)v.findings->datapoints);
    CU_ASSERT_EQUAL(v.findings->total, found);
    CU_ASSERT_EQUAL(v.findings->datapoints, of);
    assay_verdict_release(&v);
}

static void conditions_find_what_they_say(void)
{
    static const struct {
        const char *when;
        uint64_t found, of;
    } cases[] = {
        {"mean(weights) > 3", 5, 10},
        {"mean(/^a\\./) >= 4", 5, 10},
        {"mean('a.weight') <= 2", 5, 10},
        {"count(all) > 0", 0, 0}, /* nothing is in that collection: no datapoint, which is not a pass */
        {"not mean(weights) < 16", 1, 10},
        {"not (mean(weights) < 16 and mean(weights) > -16)", 2, 10},
        {"1 + 2 * 3 == 7 and mean(weights) == 1", 2, 10},
        {"(1 + 2) * 3 == 9 and 8 - 4 - 2 == 2 and 8 / 4 / 2 == 1 and mean(weights) == 1", 2, 10},
        {"mean(weights) == 1 or mean(weights) == 2 and mean(weights) == 3", 2, 10},
        {"-2 * -mean(weights) == 2", 2, 10},
        {"abs(mean(weights)) == 16 and min(mean(weights), 0, 5) < 0", 1, 10},
        {"max(2, mean(weights), 1) == max(weights)", 7, 10},
        {"sqrt(l2(weights) * l2(weights)) == 4 or log(l1(weights)) == 0", 4, 10},
        {"sum(weights) == mean(weights) and abs_max(weights) == abs_mean(weights) and zeros(weights) + inf(weights) == "
         "0",
         10, 10},
        {"mean(weights) / 0 > 1", 9, 10},
        {"0 / (mean(weights) - 1) != 0", 2, 10},
        {"0 / (mean(weights) - 1) == 0", 8, 10},
        {"1.5e1 < mean(weights) and .5 < 1 and 2. > 1", 1, 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i].when, 1, 0, false, cases[i].found, cases[i].of);
}

static void the_step_before_counts(void)
{
    expect("previous(mean(weights)) == 4", 1, 0, false, 2, 8);
    expect("change(mean(weights)) >= 4", 1, 0, false, 3, 8);
    expect("ratio(mean(weights)) == 2", 1, 0, false, 7, 8);
    expect("change(2 * mean(weights) + 1) == 2", 1, 0, false, 2, 8);
    expect("previous(workers_spread(mean(weights))) == 0", 1, 0, false, 4, 4);
    expect("mean(weights) > 3", 2, 0, false, 3, 10);
    expect("mean(weights) > 3", 4, 0, false, 0, 10);
    expect("change(mean(weights)) == 2", 1, 20, false, 2, 6);
    expect("mean(weights) > 0", 3, 20, false, 5, 6);
    /* A step that cannot be tested, here 20 on worker 1, ends the run. */
    expect("mean(weights) > -100 * mean(\"gradient/{}\")", 3, 0, false, 3, 9);
}

static void other_tensors_and_workers_count(void)
{
    expect("mean(weights) * mean(\"gradient/{}\") >= 4", 1, 0, false, 3, 9);
    expect("mean(gradients) * mean(\"a.weight\") >= 4", 1, 0, false, 3, 9);
    expect("mean(weights) > mean(\"not saved\")", 1, 0, false, 0, 0);
    expect("workers_spread(mean(weights)) > 0", 1, 0, false, 1, 5);
    expect("workers_count(mean(gradients)) < 2", 1, 0, false, 1, 5);
    expect(
        "workers_max(mean(weights)) == 16 and workers_min(mean(weights)) == -16 and workers_mean(mean(weights)) == 0",
        1, 0, false, 1, 5);
    expect("workers_max(mean(weights) * mean(\"gradient/{}\")) == 8", 1, 0, false, 1, 5);
    expect("mean(weights) < workers_max(mean(weights))", 1, 0, false, 1, 10);
    expect("workers_max(abs(mean(weights) - 2)) == 1", 1, 0, false, 1, 5);
}

static void reductions_stand_in(void)
{
    expect("mean(weights) > 3", 1, 0, true, 5, 10);
    expect("l2(weights) == 16 and abs_mean(weights) == 16 and max(weights) < 0", 1, 0, true, 1, 10);
    expect("nan(weights) == 0", 1, 0, true, 0, 0); /* there is no such reduction */
    expect("change(l1(weights)) == 8", 1, 0, true, 2, 8);
}

static void findings_show_both_sides(void)
{
    assay_verdict v;
    evaluate("mean(weights) < -100 or mean(weights) > 3", 1, 0, false, &v);
    CU_ASSERT_EQUAL_FATAL(v.findings->total, 5);
    CU_ASSERT_EQUAL(v.findings->list[0].step, 20);
    CU_ASSERT_EQUAL(v.findings->list[0].tensor, WEIGHT);
    CU_ASSERT_EQUAL(v.findings->list[0].value, 4);
    CU_ASSERT_EQUAL(v.findings->list[0].threshold, 3);
    assay_verdict_release(&v);
    evaluate("workers_spread(mean(weights)) > 0", 1, 0, false, &v);
    CU_ASSERT_EQUAL_FATAL(v.findings->total, 1);
    CU_ASSERT_EQUAL(v.findings->list[0].worker, ASSAY_ALL_WORKERS);
    CU_ASSERT_EQUAL(v.findings->list[0].value, 32);
    assay_verdict_release(&v);
}

static void wrong_ones_point_at_the_column(void)
{
    static const struct {
        const char *when;
        int column;
        const char *said;
    } cases[] = {
        {"abs_men(gradients) < 1e-6", 1, "\"abs_men\""},
        {"l2(weights) > 1 and foo(weights) > 2", 21, "\"foo\""},
        {"l2(weights)", 1, "a condition compares"},
        {"1 < 2", 1, "no tensor"},
        {"l2(weights) >", 14, "ends here"},
        {"l2(weights) > > 1", 15, "is expected here"},
        {"l2(weights) 5", 13, "operator"},
        {"(l2(weights) > 1", 1, "never closed"},
        {"l2(weights) > 1)", 16, "no parenthesis is open"},
        {"l2 weights > 1", 4, "parenthesis"},
        {"l2(weights > 1", 12, ") is expected"},
        {"l2() > 1", 4, "is expected here"},
        {"l2(\"weights) > 1", 4, "closing"},
        {"l2(\"\") > 1", 4, "empty"},
        {"l2(weights) > 1 and 5", 17, "this is a number"},
        {"(l2(weights) > 1) + 1 > 2", 19, "this is a condition"},
        {"l2(weights) < 1 < 2", 17, "this is a condition"},
        {"abs(l2(weights) > 1) > 2", 1, "takes numbers"},
        {"l2(weights) = 1", 13, "=="},
        {"l2(weights) > 1 && 2 > 1", 17, "and, or, not"},
        {"l2(weights) > 1e", 15, "no number"},
        {"l2(weights) > 1.2.3", 15, "no number"},
        {"l2(weights) > 1 not 2 > 1", 17, "stands before"},
        {"l2(weights) > l2(gradients)", 18, "only the first selector"},
        {"l2(weights) > l2(/grad/)", 18, "only the first selector"},
        {"l2(\"gradient/{}\") > 1", 4, "this is the first"},
        {"previous(change(l2(weights))) > 1", 10, "do not nest"},
        {"workers_max(previous(l2(weights))) > 1", 13, "other way round"},
        {"workers_max(workers_min(l2(weights))) > 1", 13, "other way round"},
        {"l2(weights) > 1 or workers_max(5) > 1", 20, "no tensor in it"},
        {"l2(weights) > 1 or change(5) > 1", 20, "no tensor in it"},
        {"max(l2(weights)) > 1", 1, "two numbers or more"},
        {"abs(l2(weights), 2) > 1", 16, "comma"},
        {"(l2(weights), 2) > 1", 13, "comma"},
        {"l2(weights) > #", 15, "no meaning"},
        {"\"weights\" > 1", 1, "inside a statistic"},
        {"\xC3\xA4 > 1", 1, "no meaning"},
        {"l2(\"\xC3\xA4\") > !", 11, "and, or, not"},
        {"", 1, "ends here"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assay_expression *e = NULL;
        assay_error err = {""};
        char place[64];
        snprintf(place, sizeof place, "parameter when, column %d: ", cases[i].column);
        int status = assay_expression_compile(cases[i].when, &e, &err);
        bool right =
            status == ASSAY_EPARAM && strncmp(err.text, place, strlen(place)) == 0 && strstr(err.text, cases[i].said);
        if (!right)
            printf("\n%s: %s\n", cases[i].when, err.text);
        CU_ASSERT_TRUE(right);
        assay_expression_free(e);
    }
}

static void the_caret_stands_below_the_place(void)
{
    assay_expression *e = NULL;
    assay_error err = {""};
    char text[400] = "";
    CU_ASSERT_EQUAL(assay_expression_compile("l2(w) >\n? 1", &e, &err), ASSAY_EPARAM);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "\n    l2(w) > ? 1\n            ^"));
    while (strlen(text) < 300)
        strcat(text, "l2(w) > 1 and ");
    size_t at = strlen(text);
    strcat(text, "oops(w) > 1 and l2(w) > 1 and l2(w) > 1");
    CU_ASSERT_EQUAL(assay_expression_compile(text, &e, &err), ASSAY_EPARAM);
    const char *shown = strchr(err.text, '\n'), *caret = shown ? strchr(shown + 1, '\n') : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(caret);
    CU_ASSERT_EQUAL(strncmp(shown + strlen(caret) - 1, "oops", 4), 0);
    CU_ASSERT_TRUE(at > 300);
}

static void limits_are_refused_cleanly(void)
{
    static char text[8192];
    assay_expression *e = NULL;
    assay_error err = {""};
    for (int i = 0; i < 200; i++)
        text[i] = '(';
    CU_ASSERT_EQUAL(assay_expression_compile(text, &e, &err), ASSAY_EPARAM);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "too deeply"));
    text[0] = '\0';
    for (int i = 0; i < 40; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "l2(\"t%d\") > 1 or ", i);
    CU_ASSERT_EQUAL(assay_expression_compile(text, &e, &err), ASSAY_EPARAM);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "different tensors"));
    snprintf(text, sizeof text, "l2(w) > 1");
    for (int i = 0; i < 300; i++)
        strcat(text, "+1");
    CU_ASSERT_EQUAL(assay_expression_compile(text, &e, &err), ASSAY_EPARAM);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "too long"));
    memset(text, ' ', sizeof text - 1);
    CU_ASSERT_EQUAL(assay_expression_compile(text, &e, &err), ASSAY_EPARAM);
}

/* The examples are what the law tests run: one that does not compile would be left out there in silence. */
static void every_example_compiles(void)
{
    const assay_param_def *when = assay_params_def(&assay_rule_expression, 0);
    const char *at = when->choices;
    int count = 0;
    while (*at) {
        char one[200] = "";
        size_t length = strcspn(at, "|");
        CU_ASSERT_TRUE_FATAL(length < sizeof one);
        memcpy(one, at, length);
        assay_instance *instance = configured(one, 1, 0);
        CU_ASSERT_EQUAL(instance->status, ASSAY_OK);
        assay_instance_free(instance);
        at += length + (at[length] == '|');
        count++;
    }
    CU_ASSERT_TRUE(count >= 5);
}

int main(void)
{
    assay_error err = {""};
    if (assay_rule_register(&assay_rule_expression, &err) != ASSAY_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    CU_TestInfo tests[] = {{"conditions find what they say", conditions_find_what_they_say},
                           {"the step before counts", the_step_before_counts},
                           {"other tensors and workers count", other_tensors_and_workers_count},
                           {"reductions stand in", reductions_stand_in},
                           {"findings show both sides", findings_show_both_sides},
                           {"wrong ones point at the column", wrong_ones_point_at_the_column},
                           {"the caret stands below the place", the_caret_stands_below_the_place},
                           {"limits are refused cleanly", limits_are_refused_cleanly},
                           {"every example compiles", every_example_compiles},
                           CU_TEST_INFO_NULL};
    return unit_main("expression", tests);
}
