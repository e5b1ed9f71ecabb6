/* The work of a step: what is granted is there, what is refused follows from what was asked for before, and from
 * nothing else. */
#include "map_trial.h"
#include "random.h"
#include "unit.h"

#include "engine/map/step_work.h"

static uint64_t state = 1;

/* A step of the trial, begun. */
typedef struct fixture {
    map_trial trial;
    assay_step_work work;
    assay_partial partial;
} fixture;

static void begin(fixture *f, size_t budget)
{
    map_trial_make(&f->trial);
    CU_ASSERT_EQUAL_FATAL(assay_step_work_init(&f->work, &f->trial.map, budget), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_partial_init(&f->partial, MAP_RULES), ASSAY_OK);
    f->work.partial = &f->partial;
    CU_ASSERT_EQUAL_FATAL(assay_step_work_enter(&f->work), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_step_work_begin(&f->work, &f->trial.steps[0]), ASSAY_OK);
}

static void end(fixture *f)
{
    assay_step_work_release(&f->work);
    assay_partial_release(&f->partial, NULL);
    map_trial_release(&f->trial);
}

static size_t random_size(void)
{
    static const uint32_t MOST[] = {64, 1100, 5000, 70000, 400000};
    return random_below(&state, MOST[random_below(&state, 5)]);
}

/* Whatever sizes are granted, in whatever order, the arena has them, with the work of each record beside them. */
static void what_is_granted_is_there(void)
{
    static const size_t BUDGETS[] = {64 << 10, 512 << 10, 1 << 20, 5 << 20, 64 << 20};
    for (size_t b = 0; b < sizeof BUDGETS / sizeof BUDGETS[0]; b++) {
        fixture f;
        begin(&f, BUDGETS[b]);
        for (int round = 0; round < 5; round++) {
            unsigned missing = 0, refused = 0;
            CU_ASSERT_EQUAL(assay_step_work_begin(&f.work, &f.trial.steps[round % MAP_STEPS]), ASSAY_OK);
            while (refused < 20) {
                size_t size = random_size(), work = random_size();
                if (assay_arena_loan_cost(work) <= assay_step_work_left(&f.work)) {
                    void *loan = assay_arena_borrow(f.work.arena, work);
                    missing += !loan;
                    assay_arena_return(f.work.arena, loan);
                }
                bool granted = assay_step_work_charge(&f.work, assay_arena_piece_cost(size));
                refused += !granted;
                missing += granted && !assay_arena_take(f.work.arena, size);
            }
            CU_ASSERT_EQUAL(missing, 0);
            CU_ASSERT_TRUE(f.work.charge.held <= BUDGETS[b]);
        }
        end(&f);
    }
}

typedef struct needs {
    size_t held, work;
} needs;

/* One record: work is granted beside what is held, then it holds more. */
static bool grant(assay_step_work *work, const needs *n)
{
    if (n->work > assay_step_work_left(work))
        return false;
    assay_step_work_note(work, n->work);
    return assay_step_work_charge(work, n->held);
}

static bool grant_all(assay_step_work *work, const needs *list, size_t count)
{
    bool granted = true;
    for (size_t k = 0; k < count; k++)
        granted = grant(work, &list[k]) && granted;
    return granted;
}

/* Cut anywhere into two ranges: where both are granted everything, each measured from nothing held, and the step admits
 * the second behind the first, one rank is granted everything, and comes to the same; and the other way round. */
static void ranges_are_admitted_as_one_rank_is_granted(void)
{
    enum { COUNT = 40, CASES = 400 };
    unsigned whole = 0;
    for (int i = 0; i < CASES; i++) {
        fixture f, helper;
        needs list[COUNT];
        size_t cut = random_below(&state, COUNT + 1);
        begin(&f, 1 << 20);
        begin(&helper, 1 << 20);
        uint32_t most = (uint32_t)(2 * assay_step_work_left(&f.work) / COUNT);
        for (int k = 0; k < COUNT; k++)
            list[k] = (needs){random_below(&state, most / 10 * (1 + (uint32_t)i % 10)),
                              random_below(&state, random_below(&state, COUNT) == 0 ? 1 << 20 : 1 << 10)};
        bool alone = grant_all(&f.work, list, COUNT);
        assay_step_charge expected = f.work.charge;
        CU_ASSERT_EQUAL(assay_step_work_begin(&f.work, &f.trial.steps[0]), ASSAY_OK);
        size_t before = helper.work.charge.held;
        bool first = grant_all(&f.work, list, cut), second = grant_all(&helper.work, list + cut, COUNT - cut);
        assay_step_charge sent = {helper.work.charge.held - before, helper.work.charge.peak - before};
        bool together = first && second && assay_step_work_admit(&f.work, sent);
        CU_ASSERT_EQUAL(together, alone);
        CU_ASSERT_TRUE(!alone || (f.work.charge.held == expected.held && f.work.charge.peak == expected.peak));
        whole += alone;
        end(&helper);
        end(&f);
    }
    CU_ASSERT_TRUE(whole > CASES / 20 && whole < CASES - CASES / 20);
}

/* What another rank says cannot make a step hold more than it has. */
static void impossible_charges(void)
{
    fixture f;
    begin(&f, 1 << 20);
    size_t left = assay_step_work_left(&f.work);
    CU_ASSERT_FALSE(assay_step_work_admit(&f.work, (assay_step_charge){left + 1, left + 1}));
    CU_ASSERT_FALSE(assay_step_work_admit(&f.work, (assay_step_charge){SIZE_MAX, SIZE_MAX}));
    CU_ASSERT_FALSE(assay_step_work_admit(&f.work, (assay_step_charge){100, 99}));
    CU_ASSERT_TRUE(assay_step_work_admit(&f.work, (assay_step_charge){0, left}));
    CU_ASSERT_EQUAL(assay_step_work_left(&f.work), left);
    CU_ASSERT_TRUE(assay_step_work_admit(&f.work, (assay_step_charge){left, left}));
    CU_ASSERT_EQUAL(assay_step_work_left(&f.work), 0);
    end(&f);
}

/* What is refused is not charged for: something smaller may still be granted. */
static void refusals_cost_nothing(void)
{
    fixture f;
    begin(&f, 1 << 20);
    size_t left = assay_step_work_left(&f.work);
    CU_ASSERT_FALSE(assay_step_work_charge(&f.work, left + 1));
    CU_ASSERT_FALSE(assay_step_work_charge(&f.work, SIZE_MAX));
    CU_ASSERT_EQUAL(assay_step_work_left(&f.work), left);
    CU_ASSERT_TRUE(assay_step_work_charge(&f.work, left));
    CU_ASSERT_TRUE(assay_step_work_charge(&f.work, 0));
    CU_ASSERT_FALSE(assay_step_work_charge(&f.work, 1));
    end(&f);
}

/* One result a tensor and part, in the order in which they come, until the step has no room for more. */
static void results(void)
{
    fixture f;
    assay_tensor_result *first, *again, *other, *next;
    assay_error err = {""};
    begin(&f, 1 << 20);
    CU_ASSERT_EQUAL(assay_step_work_result(&f.work, &f.trial.parts[0], 1, &first, &err), ASSAY_OK);
    size_t held = f.work.charge.held;
    CU_ASSERT_EQUAL(assay_step_work_result(&f.work, &f.trial.parts[0], 1, &again, &err), ASSAY_OK);
    CU_ASSERT_TRUE(first == again && f.work.charge.held == held);
    CU_ASSERT_EQUAL(assay_step_work_result(&f.work, &f.trial.parts[0], 0, &other, &err), ASSAY_OK);
    f.work.first_result = f.work.count;
    CU_ASSERT_EQUAL(assay_step_work_result(&f.work, &f.trial.parts[1], 1, &next, &err), ASSAY_OK);
    CU_ASSERT_TRUE(next != first && f.work.count == 3 && f.work.results[1] == other && f.work.charge.held > held);
    CU_ASSERT_TRUE(next->view.worker == 1 && next->view.tensor == 1 && next->view.dtype == -1 && next->kinds == 0);
    CU_ASSERT_STRING_EQUAL(next->view.name, "b");
    (void)assay_step_work_charge(&f.work, assay_step_work_left(&f.work));
    CU_ASSERT_EQUAL(assay_step_work_result(&f.work, &f.trial.parts[1], 2, &other, &err), ASSAY_EBUDGET);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "raise --memory"));
    CU_ASSERT_EQUAL(f.work.count, 3);
    end(&f);
}

/* A step whose very lists do not fit refuses everything, and the next one begins anew. */
static void a_budget_for_nothing(void)
{
    fixture f;
    assay_tensor_result *result;
    assay_error err = {""};
    begin(&f, 100);
    CU_ASSERT_EQUAL(assay_step_work_left(&f.work), 0);
    CU_ASSERT_EQUAL(assay_step_work_result(&f.work, &f.trial.parts[0], 0, &result, &err), ASSAY_EBUDGET);
    assay_step_work_limit(&f.work, 1 << 20);
    CU_ASSERT_EQUAL(assay_step_work_begin(&f.work, &f.trial.steps[1]), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_step_work_result(&f.work, &f.trial.parts[2], 0, &result, &err), ASSAY_OK);
    end(&f);
}

static void what_must_be_read_again(void)
{
    static const int KINDS[] = {ASSAY_PROBLEM_RECORD, ASSAY_PROBLEM_READ, ASSAY_PROBLEM_BUDGET};
    fixture f;
    begin(&f, 1 << 20);
    for (int i = 0; i < 3; i++) {
        assay_step_work_problem(&f.work, &f.trial.parts[0], 0, 0, KINDS[i], 7, "something");
        CU_ASSERT_EQUAL(assay_step_work_must_reread(&f.work), KINDS[i] == ASSAY_PROBLEM_BUDGET);
    }
    CU_ASSERT_EQUAL(f.partial.problems.total, 3);
    CU_ASSERT_EQUAL(assay_step_work_begin(&f.work, &f.trial.steps[0]), ASSAY_OK);
    CU_ASSERT_FALSE(assay_step_work_must_reread(&f.work));
    f.work.unopened = &f.trial.parts[0];
    CU_ASSERT_TRUE(assay_step_work_must_reread(&f.work));
    CU_ASSERT_EQUAL(assay_problem_kind_of(ASSAY_EBUDGET), ASSAY_PROBLEM_BUDGET);
    CU_ASSERT_EQUAL(assay_problem_kind_of(ASSAY_EIO), ASSAY_PROBLEM_READ);
    CU_ASSERT_EQUAL(assay_problem_kind_of(ASSAY_EFORMAT), ASSAY_PROBLEM_RECORD);
    end(&f);
}

/* Once a rule, and only for rules that want the record at that step and of that worker. */
static void unreadable_records(void)
{
    fixture f;
    begin(&f, 1 << 20);
    const assay_part *part = f.trial.parts;
    const assay_entry *a = f.trial.entries, *c = a + 2, *b_max = a + 3;
    assay_step_work_unreadable(&f.work, &part[0], a); /* both rules */
    CU_ASSERT_TRUE(f.partial.rule[0].unreadable == 1 && f.partial.rule[1].unreadable == 1);
    assay_step_work_unreadable(&f.work, &part[1], a); /* worker 1: rule 0 */
    CU_ASSERT_TRUE(f.partial.rule[0].unreadable == 2 && f.partial.rule[1].unreadable == 1);
    assay_step_work_unreadable(&f.work, &part[0], c); /* rule 1 */
    assay_step_work_unreadable(&f.work, &part[0], b_max);
    CU_ASSERT_TRUE(f.partial.rule[0].unreadable == 3 && f.partial.rule[1].unreadable == 2);
    end(&f);
}

/* Every entry of the step lies in one of the ranges that it is cut into; other steps are not cut. */
static void ranges(void)
{
    fixture f;
    begin(&f, 1 << 20);
    const assay_part *part = f.trial.parts;
    const assay_entry_range first = {0, 0, 1, 6}, second = {1, 6, 1, 8}, none = {SIZE_MAX, 0, 0, 0};
    CU_ASSERT_TRUE(assay_step_work_first(&f.work, &part[1]) == 4 && assay_step_work_end(&f.work, &part[1]) == 8);
    f.work.range = &first;
    CU_ASSERT_TRUE(assay_step_work_first(&f.work, &part[0]) == 0 && assay_step_work_end(&f.work, &part[0]) == 4);
    CU_ASSERT_TRUE(assay_step_work_first(&f.work, &part[1]) == 4 && assay_step_work_end(&f.work, &part[1]) == 6);
    f.work.range = &second;
    CU_ASSERT_EQUAL(assay_step_work_first(&f.work, &part[0]), assay_step_work_end(&f.work, &part[0]));
    CU_ASSERT_TRUE(assay_step_work_first(&f.work, &part[1]) == 6 && assay_step_work_end(&f.work, &part[1]) == 8);
    CU_ASSERT_TRUE(assay_step_work_first(&f.work, &part[2]) == 8 && assay_step_work_end(&f.work, &part[2]) == 12);
    f.work.range = &none;
    for (int p = 0; p < MAP_WORKERS; p++)
        CU_ASSERT_TRUE(assay_step_work_first(&f.work, &part[p]) >= assay_step_work_end(&f.work, &part[p]));
    end(&f);
}

int main(void)
{
    CU_TestInfo tests[] = {{"what is granted is there", what_is_granted_is_there},
                           {"ranges are admitted as one rank is granted", ranges_are_admitted_as_one_rank_is_granted},
                           {"impossible charges", impossible_charges},
                           {"refusals cost nothing", refusals_cost_nothing},
                           {"results", results},
                           {"a budget for nothing", a_budget_for_nothing},
                           {"what must be read again", what_must_be_read_again},
                           {"unreadable records", unreadable_records},
                           {"ranges", ranges},
                           CU_TEST_INFO_NULL};
    return unit_main("the work of a step", tests);
}
