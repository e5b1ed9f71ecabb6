/* Dealing out: every chunk has a rank, steps are shared by neighbours that get their records in order, nobody helps
 * twice, and few large steps do not keep the rest waiting. */
#include "random.h"
#include "unit.h"

#include <stdlib.h>

#include "engine/plan/plan.h"

enum { MOST = 300, RECORDS = 50 };

typedef struct made {
    assay_chunk chunks[MOST];
    assay_source_plan source;
    assay_plan plan;
} made;

static uint64_t state = 1;

static void make(made *m, uint64_t count)
{
    *m = (made){.source = {0}};
    m->plan = (assay_plan){.chunks = m->chunks, .chunk_count = count, .sources = &m->source, .source_count = 1};
}

static void set_chunk(assay_chunk *chunk, uint64_t before, uint64_t record)
{
    chunk->steps = before > 0 ? 2 : 1;
    chunk->last_cost = record * RECORDS;
    chunk->largest = record;
    chunk->cost = before + chunk->last_cost;
}

static void release(made *m)
{
    free(m->plan.rank_chunk);
    free(m->plan.helps);
}

/* Adds what each rank of a share has of the step; records go to ranks in order. */
static void add_shared(const assay_share *share, const assay_chunk *chunk, double *load)
{
    int before = share->first;
    load[share->first] += (double)(chunk->cost - chunk->last_cost);
    for (int k = 0; k < RECORDS; k++) {
        int rank = assay_share_rank(share, ((double)k + 0.5) * (double)chunk->largest);
        CU_ASSERT_TRUE(rank >= before && rank <= share->last);
        load[rank] += (double)chunk->largest;
        before = rank;
    }
}

/* Deals out to so many ranks and checks it; returns the steps that are shared. */
static uint64_t check(made *m, int ranks)
{
    static double load[MOST];
    double total = 0, most = 0;
    CU_ASSERT_EQUAL_FATAL(assay_plan_partition(&m->plan, ranks), ASSAY_OK);
    const assay_plan *plan = &m->plan;
    bool sound =
        plan->rank_chunk[0] == 0 && plan->rank_chunk[ranks] == plan->chunk_count && plan->helps[0] == ASSAY_NO_CHUNK;
    for (int r = 0; r < ranks; r++) {
        sound &= plan->rank_chunk[r] <= plan->rank_chunk[r + 1];
        /* a step that a rank helps with lies right before its own chunks */
        sound &= plan->helps[r] == ASSAY_NO_CHUNK || plan->helps[r] + 1 == plan->rank_chunk[r];
        load[r] = 0;
    }
    CU_ASSERT_TRUE_FATAL(sound);
    for (uint64_t c = 0; c < plan->chunk_count; c++) {
        const assay_chunk *chunk = &plan->chunks[c];
        assay_share share = assay_plan_share(plan, ranks, c);
        CU_ASSERT_EQUAL(share.first, assay_plan_owner(plan, ranks, c));
        total += chunk->done ? 0 : (double)chunk->cost;
        if (share.last > share.first)
            add_shared(&share, chunk, load);
        else
            load[share.first] += chunk->done ? 0 : (double)chunk->cost;
        CU_ASSERT_TRUE(share.last == share.first || !chunk->done);
    }
    for (int r = 0; r < ranks; r++)
        most = load[r] > most ? load[r] : most;
    double foreseen = assay_plan_imbalance(plan, ranks);
    CU_ASSERT_TRUE(total == 0 || foreseen >= most / (total / ranks) - 1 - 1e-9);
    return assay_plan_steps_shared(plan, ranks);
}

static void any_costs(void)
{
    static made m;
    uint64_t shared = 0;
    for (int trial = 0; trial < 300; trial++) {
        make(&m, 1 + random_below(&state, 40));
        for (uint64_t c = 0; c < m.plan.chunk_count; c++) {
            uint64_t record = random_below(&state, 5) == 0 ? random_below(&state, 1 << 22) : random_below(&state, 9000);
            set_chunk(&m.chunks[c], random_below(&state, 2) * random_below(&state, 300000), record);
            m.chunks[c].done = random_below(&state, 8) == 0;
        }
        shared += check(&m, 1 + (int)random_below(&state, 100));
        release(&m);
    }
    CU_ASSERT_TRUE(shared > 300);
}

/* 20 steps 50 times as large as 180 others. */
static void few_large_steps(void)
{
    static made m;
    for (int by_step = 0; by_step < 2; by_step++) {
        make(&m, 200);
        m.plan.by_step = by_step;
        for (uint64_t c = 0; c < 200; c++)
            set_chunk(&m.chunks[c], 0, c % 10 == 9 ? 5000000 : 100000);
        for (int ranks = 1; ranks <= 64; ranks++) {
            uint64_t shared = check(&m, ranks);
            CU_ASSERT_TRUE(by_step ? shared == 0 : assay_plan_imbalance(&m.plan, ranks) < 0.1);
            CU_ASSERT_TRUE(by_step || ranks < 64 || shared > 10);
            release(&m);
            m.plan.rank_chunk = m.plan.helps = NULL;
        }
        CU_ASSERT_TRUE(!by_step || assay_plan_imbalance(&m.plan, 64) > 0.5);
    }
}

/* What costs next to nothing is not worth sharing, and only the last step of a chunk is shared. */
static void not_worth_it(void)
{
    static made m;
    make(&m, 3);
    for (uint64_t c = 0; c < 3; c++)
        set_chunk(&m.chunks[c], 0, 1000);
    CU_ASSERT_EQUAL(check(&m, 2), 0);
    release(&m);
    make(&m, 2);
    set_chunk(&m.chunks[0], 8000000, 30000);
    set_chunk(&m.chunks[1], 0, 30000);
    CU_ASSERT_EQUAL(check(&m, 2), 0); /* the border is in the first 8 million */
    release(&m);
    make(&m, 0);
    CU_ASSERT_EQUAL(check(&m, 5), 0);
    release(&m);
}

/* A border close to the beginning or the end of a step leaves the step whole; both ranks have about the same even so.
 */
static void border_close_to_an_end(void)
{
    static made m;
    for (uint64_t last = 0; last <= 2000000; last += 10000) {
        make(&m, 24);
        for (uint64_t c = 0; c < 24; c++)
            set_chunk(&m.chunks[c], 0, c < 23 ? 1000000 : last);
        uint64_t inside = (23000000 + last) / 2 % 1000000, spared = inside < 500000 ? inside : 1000000 - inside;
        CU_ASSERT_EQUAL(check(&m, 2), spared * 64 >= (23000000 + last) / 2);
        release(&m);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"any costs", any_costs},
                           {"few large steps", few_large_steps},
                           {"not worth it", not_worth_it},
                           {"a border close to an end", border_close_to_an_end},
                           CU_TEST_INFO_NULL};
    return unit_main("deal", tests);
}
