/* test_diagnose.c - the order of causes, what they fold, how sure they are, and their sentences, on made evidence. */
#include "evidence.h"

#include <stdio.h>

/* A jump of one worker's gradient leads, though what follows is severer. */
static void test_time_before_severity(void)
{
    assay_evidence list[] = {evidence_of(0, "ExplodingTensor", "", 210, ASSAY_ROLE_WEIGHT),
                             evidence_of(1, "LossSpike", "", 208, ASSAY_ROLE_LOSS),
                             evidence_of(2, "NormSpike", "workers", 206, ASSAY_ROLE_GRADIENT)};
    assay_diagnosis d;
    list[0].severity = 2;
    list[2].workers = "worker_2";
    list[2].tensor = "gradient/fc.weight";
    diagnose(list, 3, &NO_FACTS, &d);
    CU_ASSERT_EQUAL_FATAL(d.causes, 1);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "worker-gradient-jumped");
    CU_ASSERT_STRING_EQUAL(d.cause[0].sentence, "gradient/fc.weight of worker_2 alone jumped at TRAIN step 206");
    CU_ASSERT_EQUAL(d.cause[0].explained, 3);
    CU_ASSERT_EQUAL(d.cause[0].evidence[0], 2);
    assay_diagnosis_release(&d);
}

/* Numbers that nobody told are in no sentence: the rule's own words are taken. */
static void test_course_unknown(void)
{
    const assay_evidence hardly = evidence_of(0, "LossNotDecreasing", "", 5, ASSAY_ROLE_LOSS);
    assay_course_facts facts = NO_FACTS;
    assay_diagnosis d;
    for (int known = 0; known < 2; known++) {
        facts.loss_first = known ? 1.5 : NAN;
        facts.loss_least = facts.loss_last = known ? 1.49 : NAN;
        diagnose(&hardly, 1, &facts, &d);
        CU_ASSERT_EQUAL_FATAL(d.causes, 1);
        CU_ASSERT_PTR_NULL(strstr(d.cause[0].sentence, "NaN"));
        CU_ASSERT_EQUAL(strcmp(d.cause[0].sentence, "said by the rule") == 0, !known);
        assay_diagnosis_release(&d);
    }
}

/* All gradients that were there are gone, and nothing is learned: that is no matter of depth. It is where a part is gone,
 * where they never were, or where the loss came down. */
static void test_gradients_died(void)
{
    assay_course_facts facts = NO_FACTS;
    assay_evidence list[] = {evidence_of(0, "VanishingGradient", "", 7, ASSAY_ROLE_GRADIENT)};
    assay_diagnosis d;
    facts.loss_first = 3.2;
    facts.loss_last = 3.1;
    for (int turn = 0; turn < 4; turn++) {
        list[0].tensors = turn == 1 ? 2 : 3;
        list[0].began.first = turn == 2;
        facts.loss_last = turn == 3 ? 0.1 : 3.1;
        diagnose(list, 1, &facts, &d);
        CU_ASSERT_STRING_EQUAL(d.cause[0].name, turn == 0 ? "gradients-died" : "gradient-vanished");
        assay_diagnosis_release(&d);
    }
}

/* A gradient that jumps once and leaves no trace is not why evaluation is bad; it is where the loss jumps behind it, or
 * where nothing else was found. */
static void test_jump_that_passes(void)
{
    assay_evidence list[] = {evidence_of(0, "NormSpike", "history", 40, ASSAY_ROLE_GRADIENT),
                             evidence_of(1, "Overfit", "", 200, ASSAY_ROLE_LOSS),
                             evidence_of(2, "LossSpike", "", 41, ASSAY_ROLE_LOSS)};
    assay_diagnosis d;
    for (size_t count = 1; count <= 3; count++) {
        diagnose(list, count, &NO_FACTS, &d);
        CU_ASSERT_STRING_EQUAL(d.cause[0].name, count == 2 ? "overfits" : "gradient-jumped");
        assay_diagnosis_release(&d);
    }
}

/* Weights that stand for want of a gradient: nobody forgot to move them, and the cause lies further up. */
static void test_weights_without_gradient(void)
{
    assay_evidence list[] = {evidence_of(0, "UnchangedTensor", "", 0, ASSAY_ROLE_WEIGHT)};
    assay_diagnosis d;
    for (int turn = 0; turn < 3; turn++) {
        list[0].tensors = turn == 1 ? 2 : 3;
        list[0].note = turn == 2 ? "" : "its gradient is exactly zero";
        diagnose(list, 1, &NO_FACTS, &d);
        CU_ASSERT_STRING_EQUAL(d.cause[0].name, turn == 0   ? "weights-without-gradient"
                                                : turn == 1 ? "weight-untrained"
                                                            : "no-weight-moves");
        CU_ASSERT_EQUAL(d.cause[0].certainty, ASSAY_LIKELY);
        assay_diagnosis_release(&d);
    }
}

/* What jumps where the data changed comes of that; what jumps elsewhere does not. */
static void test_changed_data(void)
{
    assay_course_facts facts = NO_FACTS;
    assay_evidence list[] = {evidence_of(0, "LossSpike", "", 121, ASSAY_ROLE_LOSS)};
    assay_diagnosis d;
    list[0].tensor = "loss";
    facts.changed = (assay_data_change){.what = "the mean of the inputs is 3, 0 before (x)",
                                        .began = {.mode = ASSAY_MODE_TRAIN, .from = 120, .to = 120, .step = 120},
                                        .close = 124,
                                        .late = 140};
    diagnose(list, 1, &facts, &d);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "data-changed");
    CU_ASSERT_STRING_EQUAL(d.cause[0].sentence,
                           "what training is fed changed at TRAIN step 120: the mean of the inputs "
                           "is 3, 0 before (x); there loss left the usual course");
    assay_diagnosis_release(&d);
    facts.changed.began.step = facts.changed.began.to = 122;
    diagnose(list, 1, &facts, &d);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "loss-jumped");
    assay_diagnosis_release(&d);
}

/* At one step what is fed comes before what it does to units. */
static void test_computation_order(void)
{
    assay_evidence list[] = {evidence_of(0, "DeadRelu", "", 60, ASSAY_ROLE_ACTIVATION),
                             evidence_of(1, "InputData", "constant", 60, ASSAY_ROLE_INPUT)};
    assay_diagnosis d;
    list[1].note = "all zero";
    list[1].tensor = "Net_input_0";
    list[1].lasts = true;
    diagnose(list, 2, &NO_FACTS, &d);
    CU_ASSERT_EQUAL_FATAL(d.causes, 1);
    CU_ASSERT_STRING_EQUAL(d.cause[0].sentence, "inputs were all zero since TRAIN step 60 (Net_input_0)");
    CU_ASSERT_EQUAL(d.cause[0].certainty, ASSAY_CERTAIN);
    assay_diagnosis_release(&d);
}

/* Steps that were not recorded before it are named, and nothing is certain any more. */
static void test_unrecorded_steps(void)
{
    assay_evidence e = evidence_of(0, "InputData", "scale", 310, ASSAY_ROLE_INPUT);
    assay_diagnosis d;
    e.began.from = 301;
    e.began.step = 332;
    e.lasts = true;
    diagnose(&e, 1, &NO_FACTS, &d);
    CU_ASSERT_EQUAL(d.cause[0].certainty, ASSAY_LIKELY);
    CU_ASSERT_PTR_NOT_NULL(strstr(d.cause[0].sentence, "since TRAIN steps 301 to 310 (step 332 of the trial)"));
    assay_diagnosis_release(&d);
}

/* The course of the loss tells which of three sentences is true. */
static void test_facts_decide(void)
{
    static const struct {
        double first, least, last;
        const char *name;
    } cases[] = {{2.3, 2.29, 9.0, "loss-rises"},
                 {2.3, 0.4, 2.2, "loss-came-back"},
                 {2.3, 2.2, 2.25, "loss-stands"},
                 {NAN, NAN, NAN, "loss-stands"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const assay_course_facts facts = {
            .loss = "", .loss_first = cases[i].first, .loss_least = cases[i].least, .loss_last = cases[i].last};
        const assay_evidence e = evidence_of(0, "LossNotDecreasing", "", 23, ASSAY_ROLE_LOSS);
        assay_diagnosis d;
        diagnose(&e, 1, &facts, &d);
        CU_ASSERT_STRING_EQUAL(d.cause[0].name, cases[i].name);
        assay_diagnosis_release(&d);
    }
}

/* A rise within the noise is none; a loss that stands while weights hardly move is told by them; and an evaluation that
 * gained nothing is no overfitting. */
static void test_more_facts(void)
{
    assay_course_facts facts = {
        .loss = "", .loss_first = 0.49, .loss_least = 0.48, .loss_last = 0.53, .loss_error = 0.05};
    const assay_evidence e = evidence_of(0, "LossNotDecreasing", "", 23, ASSAY_ROLE_LOSS),
                         overfit = evidence_of(1, "Overfit", "", 23, -1);
    assay_diagnosis d;
    diagnose(&e, 1, &facts, &d);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "loss-stands");
    CU_ASSERT_PTR_NOT_NULL(strstr(d.cause[0].sentence, "did not fall, from 0.49 to 0.53"));
    assay_diagnosis_release(&d);
    facts.moved = 0.012;
    diagnose(&e, 1, &facts, &d);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "updates-too-small");
    CU_ASSERT_PTR_NOT_NULL(strstr(d.cause[0].sentence, "by 1.2 % of their norm at most"));
    assay_diagnosis_release(&d);
    const assay_evidence collapse = evidence_of(1, "PredictionCollapse", "", 9, -1), both[] = {collapse, e};
    diagnose(both, 2, &facts, &d);
    CU_ASSERT_EQUAL_FATAL(d.causes, 1); /* they hardly moved before anything that comes of it */
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "updates-too-small");
    assay_diagnosis_release(&d);
    diagnose(&overfit, 1, &facts, &d);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "overfits");
    assay_diagnosis_release(&d);
    facts.never_gained = true;
    diagnose(&overfit, 1, &facts, &d);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "evaluation-never-gained");
    assay_diagnosis_release(&d);
}

/* What came before a cause stays apart from it; what costs time alone comes last. */
static void test_apart(void)
{
    const assay_evidence list[] = {evidence_of(0, "StragglerWorker", "", 3, -1),
                                   evidence_of(1, "LossSpike", "", 50, ASSAY_ROLE_LOSS),
                                   evidence_of(2, "InputData", "repeated", 90, ASSAY_ROLE_INPUT)};
    assay_diagnosis d;
    diagnose(list, 3, &NO_FACTS, &d);
    CU_ASSERT_EQUAL_FATAL(d.causes, 3);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "loss-jumped");
    CU_ASSERT_STRING_EQUAL(d.cause[1].name, "batch-repeated");
    CU_ASSERT_STRING_EQUAL(d.cause[2].name, "worker-late");
    CU_ASSERT_TRUE(d.cause[0].wrong && d.cause[1].wrong);
    assay_diagnosis_release(&d);
}

/* Updates that are too large have another cause where the inputs are; and a loss that never came down did so before one
 * class was predicted. */
static void test_upstream(void)
{
    const assay_evidence large = evidence_of(0, "WeightCourse", "large", 1, ASSAY_ROLE_WEIGHT),
                         stands[] = {evidence_of(0, "PredictionCollapse", "", 41, -1),
                                     evidence_of(1, "LossNotDecreasing", "", 60, ASSAY_ROLE_LOSS)};
    assay_course_facts facts = NO_FACTS;
    assay_diagnosis d;
    for (int i = 0; i < 2; i++) {
        facts.inputs = i ? 120 : 1;
        diagnose(&large, 1, &facts, &d);
        CU_ASSERT_STRING_EQUAL(d.cause[0].name, i ? "inputs-too-large" : "rate-too-high");
        CU_ASSERT_EQUAL(strstr(d.cause[0].sentence, "they are about 120") != NULL, i > 0);
        assay_diagnosis_release(&d);
    }
    const assay_evidence grow[] = {evidence_of(0, "DeadRelu", "", 20, ASSAY_ROLE_ACTIVATION),
                                   evidence_of(1, "WeightCourse", "grown", 24, ASSAY_ROLE_WEIGHT)};
    diagnose(grow, 2, &NO_FACTS, &d); /* they grew before there were enough of it to tell */
    CU_ASSERT_EQUAL_FATAL(d.causes, 1);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "weights-grow");
    assay_diagnosis_release(&d);
    diagnose(stands, 2, &NO_FACTS, &d);
    CU_ASSERT_EQUAL_FATAL(d.causes, 1);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "loss-stands");
    assay_diagnosis_release(&d);
}

/* Where one worker leaves those that agree, the others do exchange their gradients. */
static void test_odd_worker(void)
{
    assay_evidence list[] = {evidence_of(0, "GradientNotSynchronized", "gradients", 0, ASSAY_ROLE_GRADIENT),
                             evidence_of(1, "ReplicaDivergence", "", 1, ASSAY_ROLE_WEIGHT)};
    assay_diagnosis d;
    list[0].began.first = true;
    list[1].workers = "worker_2";
    diagnose(list, 2, &NO_FACTS, &d);
    CU_ASSERT_EQUAL_FATAL(d.causes, 1);
    CU_ASSERT_STRING_EQUAL(d.cause[0].sentence, "the weights of worker_2 leave those of the other workers, which stay "
                                                "alike, from the first step on: it is updated otherwise");
    assay_diagnosis_release(&d);
    list[1].workers = "worker_1 and worker_2";
    diagnose(list, 2, &NO_FACTS, &d);
    CU_ASSERT_EQUAL_FATAL(d.causes, 1);
    CU_ASSERT_STRING_EQUAL(d.cause[0].sentence,
                           "gradients are not averaged over the workers from the first step on: fc.weight");
    assay_diagnosis_release(&d);
}

/* Of two workers that differ none is odd. */
static void test_two_workers(void)
{
    assay_evidence list[] = {evidence_of(0, "GradientNotSynchronized", "gradients", 80, ASSAY_ROLE_GRADIENT),
                             evidence_of(1, "ReplicaDivergence", "", 81, ASSAY_ROLE_WEIGHT)};
    assay_course_facts facts = NO_FACTS;
    assay_diagnosis d;
    facts.workers = 2;
    list[1].workers = "worker_1";
    diagnose(list, 2, &facts, &d);
    CU_ASSERT_EQUAL_FATAL(d.causes, 1);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "gradients-not-exchanged");
    assay_diagnosis_release(&d);
    diagnose(&list[1], 1, &facts, &d);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "two-replicas-apart");
    CU_ASSERT_PTR_NULL(strstr(d.cause[0].sentence, "worker_1"));
    assay_diagnosis_release(&d);
    list[1].tensors = 7;
    list[1].alike = 9;
    diagnose(&list[1], 1, &facts, &d);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "two-updates-apart");
    assay_diagnosis_release(&d);
    /* of four workers: most weights of three are updates, those of one or few are not told from a fault of its memory */
    facts.workers = 4;
    list[1].workers = "worker_1, worker_2 and worker_3";
    diagnose(&list[1], 1, &facts, &d);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "updates-apart");
    assay_diagnosis_release(&d);
    list[1].workers = "worker_1";
    diagnose(&list[1], 1, &facts, &d);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "replicas-apart");
    assay_diagnosis_release(&d);
    list[1].workers = "worker_1 and worker_3";
    list[1].tensors = 2;
    diagnose(&list[1], 1, &facts, &d);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "replicas-apart");
    assay_diagnosis_release(&d);
    facts.workers = 2;
    list[1].workers = "worker_1";
    list[1].tensors = 5;
    diagnose(&list[1], 1, &facts, &d);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "two-replicas-apart");
    assay_diagnosis_release(&d);
    list[1].tensors = 9;
    list[1].began.first = true;
    diagnose(&list[1], 1, &facts, &d);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "two-replicas-apart");
    assay_diagnosis_release(&d);
}

/* Only biases have a gradient: weights that stand follow from it. */
static void test_nothing_comes_through(void)
{
    assay_evidence list[] = {evidence_of(0, "UnchangedTensor", "", 0, ASSAY_ROLE_WEIGHT),
                             evidence_of(1, "GradientUnderflow", "weights", 0, ASSAY_ROLE_GRADIENT)};
    assay_diagnosis d;
    list[0].tensors = list[0].alike = 3;
    diagnose(list, 2, &NO_FACTS, &d);
    CU_ASSERT_EQUAL_FATAL(d.causes, 1);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "nothing-comes-through");
    assay_diagnosis_release(&d);
}

/* What lies upstream comes first where it may have begun before: in steps that were not saved, or by building up. A
 * loss that rose from the start did so before what was seen meanwhile. */
static void test_beginnings(void)
{
    assay_evidence list[] = {evidence_of(0, "DeadRelu", "", 50, ASSAY_ROLE_ACTIVATION),
                             evidence_of(1, "WeightCourse", "large", 100, ASSAY_ROLE_WEIGHT)};
    assay_diagnosis d;
    diagnose(list, 2, &NO_FACTS, &d);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "units-dead");
    assay_diagnosis_release(&d);
    list[1].began.from = 1;
    diagnose(list, 2, &NO_FACTS, &d);
    CU_ASSERT_EQUAL_FATAL(d.causes, 1);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "rate-too-high");
    assay_diagnosis_release(&d);

    const assay_evidence early[] = {evidence_of(0, "LossSpike", "", 5, ASSAY_ROLE_LOSS),
                                    evidence_of(1, "WeightCourse", "large", 9, ASSAY_ROLE_WEIGHT)},
                         late[] = {evidence_of(0, "LossSpike", "", 205, ASSAY_ROLE_LOSS),
                                   evidence_of(1, "WeightCourse", "large", 209, ASSAY_ROLE_WEIGHT)};
    diagnose(early, 2, &NO_FACTS, &d);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "rate-too-high");
    assay_diagnosis_release(&d);
    diagnose(late, 2, &NO_FACTS, &d);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "loss-jumped");
    assay_diagnosis_release(&d);

    const assay_course_facts rose = {.loss = "", .loss_first = 1.8, .loss_least = 1.8, .loss_last = 700};
    const assay_evidence course[] = {evidence_of(0, "PredictionCollapse", "", 150, ASSAY_ROLE_LOSS),
                                     evidence_of(1, "LossNotDecreasing", "", 230, ASSAY_ROLE_LOSS)};
    diagnose(course, 2, &rose, &d);
    CU_ASSERT_EQUAL_FATAL(d.causes, 1);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "loss-rises");
    assay_diagnosis_release(&d);
}

/* Weights that are not a number on one worker are why its copy differs, and not the other way round. */
static void test_not_finite_on_one(void)
{
    assay_evidence list[] = {evidence_of(0, "ReplicaDivergence", "", 50, ASSAY_ROLE_WEIGHT),
                             evidence_of(1, "ExplodingTensor", "", 50, ASSAY_ROLE_WEIGHT)};
    assay_diagnosis d;
    list[0].workers = list[1].workers = "worker_1";
    diagnose(list, 2, &NO_FACTS, &d);
    CU_ASSERT_EQUAL_FATAL(d.causes, 1);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "worker-weights-not-finite");
    assay_diagnosis_release(&d);
}

/* The same causes whatever the order in which evidence is given. */
static void test_any_order(void)
{
    enum { COUNT = 4 };
    const assay_evidence list[COUNT] = {evidence_of(0, "ExplodingTensor", "", 12, ASSAY_ROLE_LOSS),
                                        evidence_of(1, "NormSpike", "history", 11, ASSAY_ROLE_GRADIENT),
                                        evidence_of(2, "WeightCourse", "large", 1, ASSAY_ROLE_WEIGHT),
                                        evidence_of(3, "PredictionCollapse", "", 14, ASSAY_ROLE_ACTIVATION)};
    for (size_t turn = 0; turn < COUNT; turn++) {
        assay_evidence turned[COUNT];
        assay_diagnosis d;
        for (size_t i = 0; i < COUNT; i++)
            turned[i] = list[(i + turn) % COUNT];
        diagnose(turned, COUNT, &NO_FACTS, &d);
        CU_ASSERT_EQUAL(d.causes, 1);
        CU_ASSERT_STRING_EQUAL(d.cause[0].name, "rate-too-high");
        CU_ASSERT_EQUAL(d.cause[0].explained, COUNT);
        assay_diagnosis_release(&d);
    }
}

static void test_rules_own_words(void)
{
    const assay_evidence e = evidence_of(0, "rule of my own", "", 5, ASSAY_ROLE_WEIGHT);
    assay_diagnosis d;
    diagnose(&e, 1, &NO_FACTS, &d);
    CU_ASSERT_STRING_EQUAL(d.cause[0].sentence, "said by the rule");
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "");
    assay_diagnosis_release(&d);
    diagnose(NULL, 0, &NO_FACTS, &d);
    CU_ASSERT_EQUAL(d.causes, 0);
    assay_diagnosis_release(&d);
}

/* Every cause has a page that says its evidence and what to do, and no name comes twice. */
static void test_pages(void)
{
    size_t count;
    const assay_cause_kind *table = assay_cause_table(&count);
    for (size_t i = 0; i + 1 < count; i++) {
        char path[512], page[8192] = "";
        snprintf(path, sizeof path, "%s/../../docs/causes/%s.md", ASSAY_TEST_DATA, table[i].name);
        FILE *file = fopen(path, "r");
        CU_ASSERT_PTR_NOT_NULL(file);
        if (!file) {
            printf("\nno page %s\n", path);
            continue;
        }
        page[fread(page, 1, sizeof page - 1, file)] = '\0';
        fclose(file);
        CU_ASSERT_PTR_NOT_NULL(strstr(page, table[i].advice));
        CU_ASSERT_TRUE(!table[i].sentence || strstr(page, table[i].sentence));
        for (size_t k = 0; k < ASSAY_CAUSE_KINDS && table[i].needs[k].kind; k++)
            CU_ASSERT_PTR_NOT_NULL(strstr(page, table[i].needs[k].kind));
        for (size_t k = 0; k < i; k++)
            CU_ASSERT_STRING_NOT_EQUAL(table[k].name, table[i].name);
    }
}

/* Steps are those of the mode that the loss has; of a trial without modes they are plain. */
static void test_mode_of_the_course(void)
{
    static const char *const wanted[] = {"rose again behind step 122, from 0.5 to 1.8",
                                         "rose again behind TRAIN step 122, from 0.5 to 1.8"};
    for (int modes = 0; modes < 2; modes++) {
        const assay_course_facts facts = {
            .loss = "", .loss_first = 2, .loss_least = 0.5, .loss_last = 1.8, .least_at = 122};
        assay_evidence back = evidence_of(0, "LossNotDecreasing", "", 148, ASSAY_ROLE_LOSS);
        assay_diagnosis d;
        back.began.mode = modes ? ASSAY_MODE_TRAIN : ASSAY_MODE_GLOBAL;
        diagnose(&back, 1, &facts, &d);
        CU_ASSERT_EQUAL_FATAL(d.causes, 1);
        CU_ASSERT_PTR_NOT_NULL(strstr(d.cause[0].sentence, wanted[modes]));
        assay_diagnosis_release(&d);
    }
}

/* A loss that ends far above that of a guess: by inputs that are too large, if they are; one that rose from the start did that. */
static void test_beyond_a_guess(void)
{
    static const char *const names[] = {"worse-than-a-guess", "outputs-too-large", "loss-rises"};
    for (int turn = 0; turn < 3; turn++) {
        assay_course_facts facts = NO_FACTS;
        const assay_evidence list[] = {evidence_of(0, "LossNotDecreasing", "", 90, ASSAY_ROLE_LOSS),
                                       evidence_of(1, "PredictionCollapse", "", 40, ASSAY_ROLE_LABEL)};
        assay_diagnosis d;
        facts.loss_first = turn == 2 ? 2 : 13000;
        facts.loss_least = turn == 2 ? 2 : 839;
        facts.loss_last = 917;
        facts.loss_guess = 1.79;
        facts.inputs = turn == 1 ? 17400 : 1;
        diagnose(list, 2, &facts, &d);
        CU_ASSERT_EQUAL_FATAL(d.causes, 1);
        CU_ASSERT_STRING_EQUAL(d.cause[0].name, names[turn]);
        assay_diagnosis_release(&d);
    }
}

/* All weights that change by thousands of times their norm are updated so; one of them was set. */
static void test_all_explode(void)
{
    for (int turn = 0; turn < 2; turn++) {
        assay_evidence list[] = {evidence_of(0, "WeightCourse", "large", 1, ASSAY_ROLE_WEIGHT)};
        assay_diagnosis d;
        list[0].value = 1e6;
        list[0].tensors = turn ? 3 : 1;
        diagnose(list, 1, &NO_FACTS, &d);
        CU_ASSERT_STRING_EQUAL(d.cause[0].name, turn ? "rate-too-high" : "weights-jumped");
        assay_diagnosis_release(&d);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"course unknown", test_course_unknown},
                           {"mode of the course", test_mode_of_the_course},
                           {"time before severity", test_time_before_severity},
                           {"gradients died", test_gradients_died},
                           {"jump that passes", test_jump_that_passes},
                           {"weights without a gradient", test_weights_without_gradient},
                           {"changed data", test_changed_data},
                           {"computation order", test_computation_order},
                           {"unrecorded steps", test_unrecorded_steps},
                           {"facts decide", test_facts_decide},
                           {"more facts", test_more_facts},
                           {"apart", test_apart},
                           {"upstream", test_upstream},
                           {"odd worker", test_odd_worker},
                           {"two workers", test_two_workers},
                           {"nothing comes through", test_nothing_comes_through},
                           {"beginnings", test_beginnings},
                           {"not finite on one", test_not_finite_on_one},
                           {"any order", test_any_order},
                           {"rules' own words", test_rules_own_words},
                           {"beyond a guess", test_beyond_a_guess},
                           {"all explode", test_all_explode},
                           {"pages", test_pages},
                           CU_TEST_INFO_NULL};
    return unit_main("diagnose", tests);
}
