/* test_harm.c - which causes are a warning: what harm, or what proof of a mistake, has to be seen; and how sure they are. */
#include "evidence.h"

/* What healthy trainings have as well is no warning where the losses came down and no loss stands higher behind it. It is
 * one where losses did not come down, where one was set back there or where it began again, where too few losses follow, where
 * somebody asked for the rule, where something that proves itself may come of it, and where nobody knows when it began. */
static void test_harm(void)
{
    enum {
        WELL,
        UNKNOWN,
        SET_BACK,
        ELSEWHERE,
        TOO_LATE,
        ASKED,
        PROVEN,
        BEFORE,
        AGAIN,
        UNLISTED,
        LISTED,
        NO_STEP,
        TURNS
    };
    static const bool wrong[TURNS] = {[UNKNOWN] = true, [SET_BACK] = true, [TOO_LATE] = true, [ASKED] = true,
                                      [PROVEN] = true,  [AGAIN] = true,    [UNLISTED] = true, [NO_STEP] = true};
    for (int turn = 0; turn < TURNS; turn++) {
        const assay_onset_steps onset[] = {{49, 50}, {turn == AGAIN ? 89 : 199, turn == AGAIN ? 90 : 200}};
        assay_evidence list[] = {evidence_of(0, "WeightCourse", "jump", 50, ASSAY_ROLE_WEIGHT),
                                 turn == BEFORE
                                     ? evidence_of(1, "WeightFrozenDespiteGradient", "", 40, ASSAY_ROLE_WEIGHT)
                                     : evidence_of(1, "ExplodingTensor", "", 60, ASSAY_ROLE_LOSS)};
        assay_course_facts facts = NO_FACTS;
        assay_diagnosis d;
        list[0].unasked = turn != ASKED;
        list[0].onset = onset;
        list[0].onsets = turn == NO_STEP ? 0 : 2;
        list[0].listed_to = turn == UNLISTED ? 210 : turn == LISTED ? 250 : INT64_MAX;
        facts.harm = (assay_course_harm){.well = turn != UNKNOWN,
                                         .seen = turn == TOO_LATE ? 199 : 300,
                                         .setback = {{51, 60}, {90, 99}, {211, 220}},
                                         .setbacks = 3};
        if (turn == SET_BACK)
            facts.harm.setback[0].from = 50;
        diagnose(list, turn == PROVEN || turn == BEFORE ? 2 : 1, &facts, &d);
        size_t at = 0;
        while (at + 1 < d.causes && strcmp(d.cause[at].name, "weights-jumped") != 0)
            at++;
        CU_ASSERT_STRING_EQUAL(d.cause[at].name, "weights-jumped");
        CU_ASSERT_EQUAL(d.cause[at].wrong, wrong[turn]);
        CU_ASSERT_EQUAL(d.cause[at].harmless, !wrong[turn]);
        CU_ASSERT_EQUAL(at, turn == BEFORE);
        assay_diagnosis_release(&d);
    }
}

/* Of classes that are mistaken no step is asked for; what proves itself asks for no harm; harm is told by the trial's own
 * steps, whatever the mode. */
static void test_harm_of_courses(void)
{
    assay_course_facts facts = NO_FACTS;
    assay_evidence list[] = {evidence_of(0, "ClassImbalance", "misprediction", 290, ASSAY_ROLE_LABEL),
                             evidence_of(1, "WeightFrozenDespiteGradient", "", 50, ASSAY_ROLE_WEIGHT),
                             evidence_of(2, "LossSpike", "", 290, ASSAY_ROLE_LOSS)};
    assay_diagnosis d;
    for (size_t i = 0; i < 3; i++)
        list[i].unasked = true;
    const assay_onset_steps onset = {39, 40};
    list[2].began.step = 40;
    begin_once(&list[2], &onset);
    list[1].lasts = true;
    facts.harm = (assay_course_harm){.well = true, .seen = 280, .setback = {{285, 295}}, .setbacks = 1};
    diagnose(list, 3, &facts, &d);
    CU_ASSERT_EQUAL_FATAL(d.causes, 3);
    CU_ASSERT_STRING_EQUAL(d.cause[0].name, "weight-not-updated");
    CU_ASSERT_TRUE(d.cause[0].wrong);
    CU_ASSERT_EQUAL(d.cause[0].explained, 1);
    CU_ASSERT_TRUE(d.cause[1].harmless && d.cause[2].harmless);
    assay_diagnosis_release(&d);
}

/* Weights that stand for some steps, as where updates are left out since a scale was too large, and move again. */
static void test_lasting(void)
{
    for (int turn = 0; turn < 4; turn++) {
        assay_course_facts facts = NO_FACTS;
        assay_evidence list[] = {evidence_of(0, "WeightFrozenDespiteGradient", "", 50, ASSAY_ROLE_WEIGHT)};
        assay_diagnosis d;
        list[0].tensors = 3;
        const assay_onset_steps onset = {49, 50};
        begin_once(&list[0], &onset);
        list[0].lasts = turn == 1;
        list[0].steps = turn == 2 ? 5 : 1;
        facts.harm = (assay_course_harm){.well = turn < 3, .seen = 300};
        diagnose(list, 1, &facts, &d);
        CU_ASSERT_STRING_EQUAL(d.cause[0].name, "no-weight-moves");
        CU_ASSERT_EQUAL(d.cause[0].wrong, turn > 0);
        assay_diagnosis_release(&d);
    }
}

/* A loss that jumps and comes back is worth knowing; where gradients that jump at its step are a warning it leads all the
 * same, as they come of it, and where they jump elsewhere it does not. */
static void test_harm_that_follows(void)
{
    for (int turn = 0; turn < 3; turn++) {
        const assay_onset_steps onset[] = {{49, 50}, {turn == 2 ? 59 : 49, turn == 2 ? 60 : 50}};
        assay_course_facts facts = NO_FACTS;
        assay_evidence list[] = {evidence_of(0, "LossSpike", "", 50, ASSAY_ROLE_LOSS),
                                 evidence_of(1, "NormSpike", "history", turn == 2 ? 60 : 50, ASSAY_ROLE_GRADIENT)};
        assay_diagnosis d;
        for (int i = 0; i < 2; i++)
            begin_once(&list[i], &onset[i]);
        facts.harm = (assay_course_harm){.well = true, .seen = 300, .setback = {{45, 65}}, .setbacks = 1};
        diagnose(list, turn == 0 ? 1 : 2, &facts, &d);
        CU_ASSERT_STRING_EQUAL(d.cause[0].name, turn == 2 ? "gradient-jumped" : "loss-jumped");
        CU_ASSERT_EQUAL(d.cause[0].wrong, turn > 0);
        assay_diagnosis_release(&d);
    }
}

/* A weight that stands is a fault where it stands to the end, or the losses are not known to be well. One that moves
 * again and stands again is trained by turns, whatever the losses do. */
static void test_standing(void)
{
    static const struct {
        bool lasts, well, asked;
        uint64_t times;
        bool wrong;
    } turns[] = {{true, true, false, 1, true},  {false, true, false, 1, false}, {false, false, false, 1, true},
                 {true, true, false, 2, false}, {true, false, false, 3, false}, {true, true, true, 2, true}};
    for (size_t turn = 0; turn < sizeof turns / sizeof *turns; turn++) {
        assay_course_facts facts = NO_FACTS;
        assay_evidence list[] = {evidence_of(0, "UnchangedTensor", "", 50, ASSAY_ROLE_WEIGHT)};
        assay_diagnosis d;
        list[0].unasked = !turns[turn].asked;
        list[0].lasts = turns[turn].lasts;
        list[0].times = turns[turn].times;
        facts.harm = (assay_course_harm){.well = turns[turn].well, .seen = 300};
        diagnose(list, 1, &facts, &d);
        CU_ASSERT_STRING_EQUAL(d.cause[0].name, "weight-untrained");
        CU_ASSERT_EQUAL(d.cause[0].wrong, turns[turn].wrong);
        assay_diagnosis_release(&d);
    }
}

/* A jump that did harm is a warning once and twice; of what comes three times and more the losses come down each time. */
static void test_again(void)
{
    for (uint64_t times = 1; times < 5; times++) {
        const assay_onset_steps onset = {49, 50};
        assay_course_facts facts = NO_FACTS;
        assay_evidence list[] = {evidence_of(0, "WeightCourse", "jump", 50, ASSAY_ROLE_WEIGHT)};
        assay_diagnosis d;
        begin_once(&list[0], &onset);
        list[0].times = times;
        facts.harm = (assay_course_harm){.well = true, .seen = 300, .setback = {{45, 60}}, .setbacks = 1};
        diagnose(list, 1, &facts, &d);
        CU_ASSERT_EQUAL(d.cause[0].wrong, times < 3);
        assay_diagnosis_release(&d);
    }
}

/* A worker with fewer steps than others is no fault, and what differs between its steps and theirs proves nothing; what
 * another one has is a fault all the same. */
static void test_away(void)
{
    static const struct {
        const char *away, *workers;
        bool wrong;
    } turns[] = {{NULL, "worker_2", true},
                 {", worker_2, ", "worker_2", false},
                 {", worker_2, ", "worker_1", true},
                 {", worker_21, worker_12, ", "worker_2", true},
                 {", worker_2, ", "", false},
                 {", worker_2, ", "worker_0 and worker_1", true},
                 {", worker_0, worker_1, worker_2, ", "worker_3 and worker_4", false}};
    for (size_t turn = 0; turn < sizeof turns / sizeof *turns; turn++) {
        assay_course_facts facts = NO_FACTS;
        assay_evidence list[] = {evidence_of(0, "MissingWorker", "away", 140, -1),
                                 evidence_of(1, "ReplicaDivergence", "", 70, ASSAY_ROLE_WEIGHT)};
        assay_diagnosis d;
        list[0].unasked = list[1].unasked = true;
        list[1].workers = turns[turn].workers;
        facts.workers = 5;
        facts.away = turns[turn].away;
        diagnose(list, 2, &facts, &d);
        CU_ASSERT_EQUAL_FATAL(d.causes, 2);
        CU_ASSERT_EQUAL(d.cause[0].wrong, turns[turn].wrong);
        CU_ASSERT_FALSE(d.cause[1].wrong);
        assay_diagnosis_release(&d);
    }
}

/* Workers that have one batch and one loss, and were never equal, hold parts of one network; with losses of their own they are
 * copies that nobody exchanges. One batch alone is a fault; other weights alone are one where losses did not come down. */
static void test_parts(void)
{
    static const bool wrong[] = {false, false, true, true, true, true};
    for (int turn = 0; turn < 6; turn++) {
        assay_course_facts facts = NO_FACTS;
        assay_evidence list[] = {evidence_of(0, "InputData", "shared", 0, ASSAY_ROLE_INPUT),
                                 evidence_of(1, "GradientNotSynchronized", "never", 0, ASSAY_ROLE_WEIGHT)};
        assay_diagnosis d;
        list[0].unasked = list[1].unasked = true;
        list[0].workers = "worker_1";
        facts.harm = (assay_course_harm){.well = turn != 3 && turn != 5, .one_loss = turn != 4, .seen = 300};
        if (!facts.harm.well)
            facts.loss_first = facts.loss_last = 2;
        diagnose(list + (turn == 1 || turn == 5), turn == 0 || turn == 3 || turn == 4 ? 2 : 1, &facts, &d);
        CU_ASSERT_EQUAL(d.cause[0].wrong, wrong[turn]);
        CU_ASSERT_EQUAL(d.cause[0].certainty, ASSAY_LIKELY);
        assay_diagnosis_release(&d);
    }
}

/* What differs from the first update on, on half of the workers, shows no copies: harm does. Nor does what heals again and again. */
static void test_replicas(void)
{
    static const struct {
        const char *workers;
        int64_t step;
        uint64_t met;
        uint32_t tensors;
        bool falls, wrong;
    } turns[] = {{"worker_2", 1, 0, 2, true, true},
                 {"worker_2 and worker_3", 1, 0, 2, true, false},
                 {"worker_2 and worker_3", 1, 0, 2, false, true},
                 {"worker_2 and worker_3", 2, 0, 2, true, true},
                 {"worker_2", 70, 2, 2, true, true},
                 {"worker_2", 70, 3, 2, true, false},
                 {"worker_2", 70, 3, 2, false, true},
                 {"worker_2 and worker_3", 1, 0, 1, true, true}};
    for (size_t turn = 0; turn < sizeof turns / sizeof *turns; turn++) {
        assay_course_facts facts = NO_FACTS;
        assay_evidence list[] = {evidence_of(0, "ReplicaDivergence", "", turns[turn].step, ASSAY_ROLE_WEIGHT)};
        assay_diagnosis d;
        list[0].unasked = true;
        list[0].workers = turns[turn].workers;
        list[0].met = turns[turn].met;
        list[0].tensors = turns[turn].tensors;
        list[0].alike = 2;
        facts.workers = 4;
        facts.loss_first = 2;
        facts.loss_last = turns[turn].falls ? 1 : 1.9;
        diagnose(list, 1, &facts, &d);
        CU_ASSERT_STRING_EQUAL(d.cause[0].name, "replicas-apart");
        CU_ASSERT_EQUAL(d.cause[0].wrong, turns[turn].wrong);
        assay_diagnosis_release(&d);
    }
}

/* A loss that stands is a warning where a guess on classes has that level, where it rose tenfold, or where another finding proves
 * that nothing is learned. */
static void test_levels(void)
{
    static const struct {
        const char *loss;
        double first, last;
        bool asked, witness, wrong;
    } turns[] = {{"CrossEntropyLoss_output_0", 2, 2, false, false, true},
                 {"BCEWithLogitsLoss_output_0", 2, 2, false, false, true},
                 {"energy_loss", 2, 2, false, false, false},
                 {"energy_loss", 2, 19, false, false, false},
                 {"energy_loss", 2, 21, false, false, true},
                 {"energy_loss", 2, 2, true, false, true},
                 {"energy_loss", 2, 2, false, true, true},
                 {"objective_loss", -10, 27, false, false, true},
                 {"objective_loss", -10, 15, false, false, false},
                 {"objective_loss", 0, 15, false, false, false},
                 {"objective_loss", -1.5, 15, false, false, false}};
    for (size_t turn = 0; turn < sizeof turns / sizeof *turns; turn++) {
        assay_course_facts facts = NO_FACTS;
        assay_evidence list[] = {evidence_of(0, "LossNotDecreasing", "", 90, ASSAY_ROLE_LOSS),
                                 evidence_of(1, "InputData", "answer", 20, ASSAY_ROLE_ACTIVATION)};
        assay_diagnosis d;
        list[0].tensor = turns[turn].loss;
        list[0].unasked = list[1].unasked = !turns[turn].asked;
        facts.loss_first = facts.loss_least = turns[turn].first;
        facts.loss_last = turns[turn].last;
        facts.loss_error = 0.5;
        diagnose(list, turns[turn].witness ? 2 : 1, &facts, &d);
        CU_ASSERT_EQUAL(d.cause[0].wrong, turns[turn].wrong);
        assay_diagnosis_release(&d);
    }
}

/* What people do on purpose as well is never certain: at any time, or where it was so from the beginning. */
static void test_choices(void)
{
    static const struct {
        const char *kind, *test;
        int64_t from;
        assay_certainty sure;
    } turns[] = {{"InputData", "repeated", 0, ASSAY_LIKELY},   {"InputData", "repeated", 60, ASSAY_CERTAIN},
                 {"InputData", "evaluated", 60, ASSAY_LIKELY}, {"UnchangedTensor", "", 60, ASSAY_LIKELY},
                 {"InputData", "scale", 60, ASSAY_LIKELY},     {"InputData", "shape", 0, ASSAY_CERTAIN},
                 {"LabelOutOfRange", "", 0, ASSAY_CERTAIN}};
    for (size_t turn = 0; turn < sizeof turns / sizeof *turns; turn++) {
        assay_evidence list[] = {
            evidence_of(0, turns[turn].kind, turns[turn].test, turns[turn].from, ASSAY_ROLE_WEIGHT)};
        assay_diagnosis d;
        list[0].began.first = turns[turn].from == 0;
        diagnose(list, 1, &NO_FACTS, &d);
        CU_ASSERT_TRUE(d.cause[0].wrong);
        CU_ASSERT_EQUAL(d.cause[0].certainty, turns[turn].sure);
        assay_diagnosis_release(&d);
    }
}

/* The copy of one of four is proven to be odd; of two against two nobody knows which are right. */
static void test_split(void)
{
    static const struct {
        const char *workers;
        uint32_t of;
        assay_certainty sure;
    } turns[] = {{"worker_2", 4, ASSAY_CERTAIN},
                 {"worker_2 and worker_3", 4, ASSAY_LIKELY},
                 {"worker_2 and worker_3", 5, ASSAY_CERTAIN},
                 {"worker_1, worker_2 and worker_3", 6, ASSAY_LIKELY},
                 {"4 of 9 workers", 9, ASSAY_CERTAIN},
                 {"5 of 9 workers", 9, ASSAY_LIKELY}};
    for (size_t turn = 0; turn < sizeof turns / sizeof *turns; turn++) {
        assay_course_facts facts = NO_FACTS;
        assay_evidence list[] = {evidence_of(0, "ReplicaDivergence", "", 70, ASSAY_ROLE_WEIGHT)};
        assay_diagnosis d;
        list[0].workers = turns[turn].workers;
        facts.workers = turns[turn].of;
        diagnose(list, 1, &facts, &d);
        CU_ASSERT_STRING_EQUAL(d.cause[0].name, "replicas-apart");
        CU_ASSERT_EQUAL(d.cause[0].certainty, turns[turn].sure);
        assay_diagnosis_release(&d);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"harm", test_harm},
                           {"harm of courses", test_harm_of_courses},
                           {"lasting", test_lasting},
                           {"harm that follows", test_harm_that_follows},
                           {"standing", test_standing},
                           {"again", test_again},
                           {"away", test_away},
                           {"parts", test_parts},
                           {"replicas", test_replicas},
                           {"levels", test_levels},
                           {"choices", test_choices},
                           {"split", test_split},
                           CU_TEST_INFO_NULL};
    return unit_main("harm", tests);
}
