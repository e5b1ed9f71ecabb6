/* Arenas: alignment, ceilings, loans, what clearing keeps, failing allocations. */
#include "random.h"
#include "unit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fault.h"

static uint64_t state = 1;

typedef struct piece {
    uint8_t *at;
    size_t size;
    uint8_t mark;
    bool loan;
} piece;

static bool holds(const piece *p)
{
    for (size_t i = 0; i < p->size; i++) {
        if (p->at[i] != p->mark)
            return false;
    }
    return true;
}

/* Pieces of all sizes keep their bytes, whatever is taken, borrowed and returned between. */
static void pieces_do_not_overlap(void)
{
    enum { PIECES = 600 };
    static piece list[PIECES];
    assay_arena *arena = assay_arena_new(64 << 20);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < PIECES; i++) {
            size_t size = random_below(&state, i % 50 == 0 ? 300000 : 3000);
            bool loan = i % 3 == 0;
            uint8_t *at = loan ? assay_arena_borrow(arena, size) : assay_arena_take(arena, size);
            CU_ASSERT_PTR_NOT_NULL_FATAL(at);
            CU_ASSERT_EQUAL((uintptr_t)at % 16, 0);
            list[i] = (piece){at, size, (uint8_t)random_below(&state, 256), loan};
            memset(at, list[i].mark, size);
            int other = (int)random_below(&state, (uint32_t)(i + 1));
            if (list[other].loan && list[other].at) {
                CU_ASSERT_TRUE(holds(&list[other]));
                assay_arena_return(arena, list[other].at);
                list[other] = (piece){0};
            }
        }
        for (int i = 0; i < PIECES; i++)
            CU_ASSERT_TRUE(holds(&list[i]));
        assay_arena_clear(arena);
        CU_ASSERT_EQUAL(assay_arena_used(arena), 0);
    }
    assay_arena_free(arena);
}

static void empty_pieces(void)
{
    assay_arena *arena = assay_arena_new(1 << 20);
    void *a = assay_arena_take(arena, 0), *b = assay_arena_take_zeroed(arena, 0, 8), *c = assay_arena_borrow(arena, 0);
    CU_ASSERT_TRUE(a && b && c && a != b && b != c);
    assay_arena_return(arena, c);
    assay_arena_return(arena, NULL);
    assay_arena_free(arena);
    assay_arena_free(NULL);
}

static void zeroed(void)
{
    assay_arena *arena = assay_arena_new(1 << 20);
    memset(assay_arena_take(arena, 5000), 0xff, 5000);
    assay_arena_clear(arena);
    const uint8_t *bytes = assay_arena_take_zeroed(arena, 1000, 5);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    for (int i = 0; i < 5000; i++)
        CU_ASSERT_EQUAL(bytes[i], 0);
    assay_arena_free(arena);
}

static void impossible_sizes(void)
{
    assay_arena *arena = assay_arena_new(SIZE_MAX);
    CU_ASSERT_PTR_NULL(assay_arena_take(arena, SIZE_MAX));
    CU_ASSERT_PTR_NULL(assay_arena_take(arena, SIZE_MAX - 20));
    CU_ASSERT_PTR_NULL(assay_arena_borrow(arena, SIZE_MAX));
    CU_ASSERT_PTR_NULL(assay_arena_take_zeroed(arena, SIZE_MAX / 2, 3));
    CU_ASSERT_PTR_NOT_NULL(assay_arena_take(arena, 100));
    assay_arena_free(arena);
}

/* What is left can be taken at once, and nothing more; whatever was taken before. */
static void what_is_left(void)
{
    static const size_t CEILINGS[] = {0, 1, 47, 48, 64, 100, 4096, 65536, 65552, 1 << 20, 5 << 20};
    for (size_t i = 0; i < sizeof CEILINGS / sizeof CEILINGS[0]; i++) {
        for (int before = 0; before < 12; before++) {
            assay_arena *arena = assay_arena_new(CEILINGS[i]);
            size_t sum = 0;
            for (int k = 0; k < before; k++) {
                size_t size = random_below(&state, (uint32_t)(CEILINGS[i] / 8 + 1));
                void *at = k % 4 == 0 ? assay_arena_borrow(arena, size) : assay_arena_take(arena, size);
                sum += at ? size : 0;
                if (k % 5 == 4)
                    assay_arena_clear(arena), sum = 0;
            }
            size_t left = assay_arena_left(arena);
            CU_ASSERT_TRUE(left <= CEILINGS[i] && assay_arena_used(arena) >= sum && sum + left <= CEILINGS[i]);
            CU_ASSERT_PTR_NULL(assay_arena_take(arena, left + 1));
            CU_ASSERT_PTR_NULL(assay_arena_borrow(arena, left + 1));
            size_t lendable = assay_arena_lendable(arena);
            void *lent = lendable > 0 ? assay_arena_borrow(arena, lendable) : NULL;
            CU_ASSERT_TRUE(lendable <= left && (lent != NULL) == (lendable > 0));
            CU_ASSERT_PTR_NULL(assay_arena_borrow(arena, lendable + 1));
            assay_arena_return(arena, lent);
            left = assay_arena_left(arena);
            if (left > 0)
                CU_ASSERT_PTR_NOT_NULL(assay_arena_take(arena, left));
            assay_arena_free(arena);
        }
    }
}

/* A step that needed one large block does not keep the next from another. */
static void cleared_arenas_have_all_their_room(void)
{
    assay_arena *arena = assay_arena_new(1 << 20);
    size_t all = assay_arena_left(arena);
    CU_ASSERT_TRUE(all > (1 << 20) - 100);
    for (size_t size = 1000; size <= all; size += 30000) {
        CU_ASSERT_PTR_NOT_NULL(assay_arena_take(arena, size));
        assay_arena_clear(arena);
        CU_ASSERT_EQUAL(assay_arena_left(arena), all);
        CU_ASSERT_PTR_NOT_NULL(assay_arena_take(arena, all));
        assay_arena_clear(arena);
    }
    assay_arena_free(arena);
}

/* Small pieces get most of the ceiling, not only what doubling blocks reach. */
static void small_pieces_fill_the_ceiling(void)
{
    assay_arena *arena = assay_arena_new(8 << 20);
    size_t count = 0;
    while (assay_arena_take(arena, 1000))
        count++;
    CU_ASSERT_TRUE(count * 1008 > (8 << 20) / 100 * 97);
    assay_arena_free(arena);
}

/* A large piece does not cost what the block before it has left. */
static void large_pieces_waste_nothing(void)
{
    assay_arena *arena = assay_arena_new(1 << 20);
    CU_ASSERT_PTR_NOT_NULL(assay_arena_take(arena, 100));
    CU_ASSERT_PTR_NOT_NULL(assay_arena_take(arena, 950000));
    CU_ASSERT_PTR_NOT_NULL(assay_arena_take(arena, 60000));
    assay_arena_free(arena);
}

/* Cleared to another ceiling, it has that, and what it keeps fits it; what it has not taken another may take. */
static void another_ceiling(void)
{
    assay_arena *arena = assay_arena_new(1 << 10);
    CU_ASSERT_EQUAL(assay_arena_idle(arena), 1 << 10);
    assay_arena_clear_to(arena, 64 << 20);
    CU_ASSERT_PTR_NOT_NULL(assay_arena_take(arena, 15 << 20));
    CU_ASSERT_TRUE(assay_arena_idle(arena) < 49 << 20);
    assay_arena_clear(arena);
    CU_ASSERT_TRUE(assay_arena_idle(arena) < 49 << 20); /* that block is kept */
    assay_arena_clear_to(arena, 1 << 10);
    CU_ASSERT_EQUAL(assay_arena_idle(arena), 1 << 10);
    CU_ASSERT_PTR_NULL(assay_arena_take(arena, 2 << 10));
    assay_arena_free(arena);
}

/* Without an allocation each, and within the ceiling all the same. */
static void small_loans_are_kept(void)
{
    enum { CEILING = 4 << 10, SIZE = 1000 };
    assay_arena *arena = assay_arena_new(CEILING);
    void *first = assay_arena_borrow(arena, SIZE);
    assay_arena_return(arena, first);
    CU_ASSERT_EQUAL(assay_arena_used(arena), 0);
    CU_ASSERT_TRUE(assay_arena_idle(arena) <= CEILING - SIZE);
    CU_ASSERT_TRUE(assay_arena_lendable(arena) > CEILING - SIZE / 2);
    setenv("ASSAY_FAULT", "alloc:1", 1);
    assay_fault_arm(0);
    CU_ASSERT_PTR_EQUAL(assay_arena_borrow(arena, SIZE), first);
    unsetenv("ASSAY_FAULT");
    assay_fault_arm(0);
    void *large = assay_arena_borrow(arena, CEILING - SIZE - 200);
    CU_ASSERT_PTR_NOT_NULL(large);
    assay_arena_return(arena, first);
    CU_ASSERT_PTR_NOT_NULL(assay_arena_take(arena, SIZE)); /* the place of the small one */
    CU_ASSERT_PTR_NULL(assay_arena_borrow(arena, SIZE));   /* it is kept, and beyond the ceiling */
    assay_arena_return(arena, large);
    assay_arena_clear(arena);
    CU_ASSERT_EQUAL(assay_arena_used(arena), 0);
    CU_ASSERT_PTR_NOT_NULL(assay_arena_borrow(arena, SIZE));
    assay_arena_free(arena);
}

/* Pieces and loans that together cost what a ceiling is for always have room, whatever their sizes and order. */
static void costs_promise_room(void)
{
    static const uint32_t MOST[] = {40, 1100, 1100, 9000, 70000, 600000};
    static const size_t BUDGETS[] = {10000, 300000, 1 << 20, 7 << 20, 64 << 20};
    for (size_t b = 0; b < sizeof BUDGETS / sizeof BUDGETS[0]; b++) {
        assay_arena *arena = assay_arena_new(assay_arena_ceiling_for(BUDGETS[b]));
        for (int round = 0; round < 24; round++) {
            uint32_t narrow = MOST[round % 6], wide = round < 12 ? narrow : MOST[random_below(&state, 6)];
            unsigned missing = 0;
            for (size_t used = 0;;) {
                bool loan = random_below(&state, 5) == 0;
                size_t size = narrow / 2 + random_below(&state, random_below(&state, 7) > 0 ? narrow : wide);
                used += loan ? assay_arena_loan_cost(size) : assay_arena_piece_cost(size);
                if (used > BUDGETS[b])
                    break;
                missing += loan ? !assay_arena_borrow(arena, size) : !assay_arena_take(arena, size);
            }
            CU_ASSERT_EQUAL(missing, 0);
            assay_arena_clear(arena);
        }
        assay_arena_free(arena);
    }
    CU_ASSERT_EQUAL(assay_arena_piece_cost(SIZE_MAX), SIZE_MAX);
    CU_ASSERT_EQUAL(assay_arena_loan_cost(SIZE_MAX), SIZE_MAX);
    CU_ASSERT_EQUAL(assay_arena_ceiling_for(SIZE_MAX), SIZE_MAX);
}

static void allocations_of(int steps, const char *fault, unsigned *failed)
{
    assay_arena *arena = assay_arena_new(16 << 20);
    setenv("ASSAY_FAULT", fault, 1);
    assay_fault_arm(0);
    for (int i = 0; i < steps; i++) {
        void *loan = assay_arena_borrow(arena, 2500); /* too large to be kept for the next one */
        *failed += !loan + !assay_arena_take(arena, 3000);
        assay_arena_return(arena, loan);
        if (i % 40 == 39)
            assay_arena_clear(arena);
    }
    unsetenv("ASSAY_FAULT");
    assay_fault_arm(0);
    CU_ASSERT_PTR_NOT_NULL(assay_arena_take(arena, 3000));
    assay_arena_free(arena);
}

static void failing_allocations(void)
{
    for (int call = 1; call < 100; call++) {
        char fault[32];
        unsigned failed = 0;
        snprintf(fault, sizeof fault, "alloc:%d", call);
        allocations_of(100, fault, &failed);
        CU_ASSERT_EQUAL(failed, 1);
    }
    setenv("ASSAY_FAULT", "alloc:1", 1);
    assay_fault_arm(0);
    CU_ASSERT_PTR_NULL(assay_arena_new(100));
    unsetenv("ASSAY_FAULT");
    assay_fault_arm(0);
}

int main(void)
{
    CU_TestInfo tests[] = {{"pieces do not overlap", pieces_do_not_overlap},
                           {"empty pieces", empty_pieces},
                           {"zeroed", zeroed},
                           {"small loans are kept", small_loans_are_kept},
                           {"impossible sizes", impossible_sizes},
                           {"what is left", what_is_left},
                           {"cleared arenas have all their room", cleared_arenas_have_all_their_room},
                           {"small pieces fill the ceiling", small_pieces_fill_the_ceiling},
                           {"large pieces waste nothing", large_pieces_waste_nothing},
                           {"another ceiling", another_ceiling},
                           {"costs promise room", costs_promise_room},
                           {"failing allocations", failing_allocations},
                           CU_TEST_INFO_NULL};
    return unit_main("arenas", tests);
}
