/* test_outcome.c - outcomes of some trials each, joined to one. */
#include "unit.h"

#include <stdlib.h>

#include "engine/outcome.h"

static assay_outcome part(double cost, double imbalance, assay_trial_outcome *trial)
{
    return (assay_outcome){.trials = trial,
                           .trial_count = 1,
                           .plan = {.chunks = 1,
                                    .records = 2,
                                    .bytes = 3,
                                    .steps = 4,
                                    .cost = cost,
                                    .imbalance = imbalance,
                                    .imbalance_of_16 = 2 * imbalance,
                                    .imbalance_of_64 = 4 * imbalance}};
}

/* Parts run one after another: each counts by what it costs, and not the last or the worst one alone. */
static void plans_are_joined(void)
{
    assay_trial_outcome trial[3] = {0};
    const assay_job job = {.trial_count = 3};
    assay_outcome some[] = {part(300, 0.5, &trial[0]), part(100, 0.1, &trial[1]), part(0, 9, &trial[2])};
    assay_outcome all = {0};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        some[i].job = &job;
        CU_ASSERT_EQUAL_FATAL(assay_outcome_join(&all, &job, &some[i]), ASSAY_OK);
    }
    CU_ASSERT_EQUAL(all.trial_count, 3);
    CU_ASSERT_EQUAL(all.plan.chunks, 3);
    CU_ASSERT_EQUAL(all.plan.bytes, 9);
    CU_ASSERT_DOUBLE_EQUAL(all.plan.cost, 400, 0);
    CU_ASSERT_DOUBLE_EQUAL(all.plan.imbalance, 0.4, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(all.plan.imbalance_of_16, 0.8, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(all.plan.imbalance_of_64, 1.6, 1e-12);
    free(all.trials);
}

/* Where nothing has to be read nobody has more to do than others. */
static void nothing_to_read(void)
{
    assay_trial_outcome trial = {0};
    const assay_job job = {.trial_count = 1};
    assay_outcome none = part(0, 0, &trial), all = {0};
    none.job = &job;
    CU_ASSERT_EQUAL_FATAL(assay_outcome_join(&all, &job, &none), ASSAY_OK);
    CU_ASSERT_DOUBLE_EQUAL(all.plan.imbalance, 0, 0);
    free(all.trials);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"plans are joined", plans_are_joined}, {"nothing to read", nothing_to_read}, CU_TEST_INFO_NULL};
    return unit_main("outcome", tests);
}
