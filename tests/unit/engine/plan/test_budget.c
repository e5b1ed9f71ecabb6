/* test_budget.c - how --memory is dealt out: the same at any number of ranks, by what the index takes on all of them.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/plan/budget.h"
#include "trial/shard.h"
#include "unit.h"

enum { MIB = 1 << 20 };

static assay_comm *comm;

/* The budget of a job without rules over one trial with so many records, shared out over the ranks. */
static assay_budget deal_out(uint64_t records, size_t memory)
{
    const uint64_t rank = (uint64_t)assay_comm_rank(comm), ranks = (uint64_t)assay_comm_size(comm);
    assay_job job = {.rule_count = 0};
    assay_trial info = {.tensors = assay_dict_new()};
    assay_source source = {.info = &info};
    assay_sources sources = {.list = &source, .count = 1, .job_trials = 1};
    assay_source_plan of = {.class_count = 0};
    assay_plan plan = {.job = &job, .sources = &of, .source_count = 1};
    assay_budget budget;
    source.shard.entry_count = records * (rank + 1) / ranks - records * rank / ranks;
    CU_ASSERT_EQUAL(assay_budget_deal_out(comm, &plan, &sources, memory, &budget), ASSAY_OK);
    assay_dict_free(info.tensors);
    return budget;
}

/* The index of all ranks counts, wherever its rows are. */
static void test_index_of_all_ranks(void)
{
    uint64_t none = deal_out(0, 1024 * (size_t)MIB).index;
    CU_ASSERT_EQUAL(deal_out(1000003, 1024 * (size_t)MIB).index, none + 1000003 * sizeof(assay_entry));
}

/* A quarter is for contents that are kept where there are few records, and the step has what else is left. */
static void test_few_records(void)
{
    assay_budget budget = deal_out(10, 1024 * (size_t)MIB);
    CU_ASSERT_EQUAL(budget.rows, 0);
    CU_ASSERT(budget.step > 700 * (size_t)MIB && budget.step < 768 * (size_t)MIB);
}

/* Four times the index comes off what is kept; the step gains it, as its results need it then. */
static void test_more_records(void)
{
    const size_t memory = 1024 * (size_t)MIB;
    const uint64_t records = 2 * MIB;
    assay_budget few = deal_out(0, memory), more = deal_out(records, memory);
    CU_ASSERT_EQUAL(more.step, few.step + 3 * records * sizeof(assay_entry) < memory - memory / 4
                                   ? few.step + 3 * records * sizeof(assay_entry)
                                   : memory - memory / 4);
}

/* However much the index takes and however little there is, a step has a quarter; and never more than three. */
static void test_bounds(void)
{
    static const size_t MEMORY[] = {8 * MIB, 32 * MIB, 64 * MIB, 256 * MIB, 1024 * (size_t)MIB};
    for (size_t i = 0; i < sizeof MEMORY / sizeof *MEMORY; i++)
        for (uint64_t records = 0; records < 64 * MIB; records = 4 * records + 1000) {
            assay_budget budget = deal_out(records, MEMORY[i]);
            CU_ASSERT(budget.step >= MEMORY[i] / 4 && budget.step <= MEMORY[i] - MEMORY[i] / 4);
            uint64_t same = budget.step, most = same;
            CU_ASSERT_EQUAL(assay_comm_max(comm, &most, 1), ASSAY_OK);
            CU_ASSERT_EQUAL(most, same); /* on every rank */
            CU_ASSERT(assay_budget_keep(&budget, MEMORY[i], 0) <= MEMORY[i] / 4);
            CU_ASSERT_EQUAL(assay_budget_keep(&budget, MEMORY[i], MEMORY[i]), 0);
        }
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {{"the index of all ranks", test_index_of_all_ranks},
                           {"few records", test_few_records},
                           {"more records", test_more_records},
                           {"bounds", test_bounds},
                           CU_TEST_INFO_NULL};
    assay_error err = {""};
    if (assay_comm_open_world(&argc, &argv, true, &comm, &err) != ASSAY_OK)
        return 2;
    int code = unit_main("budget", tests);
    assay_comm_close(comm);
    return code;
}
