/* test_align.c - workers that count their steps each for itself come into one order of steps. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include <assay/rule.h>

#include "trial/align.h"

enum { T = ASSAY_MODE_TRAIN, E = ASSAY_MODE_EVAL, P = ASSAY_MODE_PREDICT, BY_MODE = 16, MOST = 4096 };

typedef struct one {
    uint32_t worker;
    int64_t own;
    int mode;                /* and BY_MODE */
    int64_t mode_step, step; /* expected */
} one;

static void check(const one *list, size_t count)
{
    assay_worker_step rows[MOST];
    assay_step_shifts shifts = {0};
    for (size_t i = 0; i < count; i++)
        rows[i] = (assay_worker_step){.own = list[i].own,
                                      .mode_step = list[i].mode_step,
                                      .worker = list[i].worker,
                                      .mode = (uint8_t)(list[i].mode & ~BY_MODE),
                                      .by_mode = list[i].mode & BY_MODE};
    CU_ASSERT_EQUAL_FATAL(assay_steps_align(rows, count, &shifts), ASSAY_OK);
    for (size_t i = 0; i < count; i++) {
        CU_ASSERT_EQUAL(rows[i].step, list[i].step);
        CU_ASSERT_EQUAL(assay_step_of_all(&shifts, list[i].worker, list[i].own,
                                          list[i].mode & BY_MODE ? list[i].mode & ~BY_MODE : 0),
                        list[i].step);
        CU_ASSERT_EQUAL(assay_step_own(&shifts, list[i].worker, list[i].step), list[i].own);
    }
    assay_step_shifts_release(&shifts);
}
#define CHECK(list) check(list, sizeof(list) / sizeof *(list))

static void alike_nothing_moves(void)
{
    static const one list[] = {{0, 0, T, 0, 0}, {1, 0, T, 0, 0},   {0, 5, T, 5, 5},
                               {1, 5, T, 5, 5}, {0, 10, E, 0, 10}, {1, 10, E, 0, 10}};
    CHECK(list);
}

static void rank_0_alone_evaluates(void)
{
    static const one list[] = {{0, 0, T, 0, 0}, {1, 0, T, 0, 0}, {0, 1, T, 1, 1}, {1, 1, T, 1, 1}, {0, 2, E, 0, 2},
                               {0, 3, E, 1, 3}, {0, 4, T, 2, 4}, {1, 2, T, 2, 4}, {0, 5, T, 3, 5}, {1, 3, T, 3, 5}};
    CHECK(list);
}

static void saved_now_and_then(void)
{ /* worker_0 has no step at which another one has one */
    static const one list[] = {{0, 0, T, 0, 0},    {1, 0, T, 0, 0},    {0, 8, E, 0, 8},   {0, 11, T, 10, 11},
                               {1, 10, T, 10, 11}, {0, 22, T, 20, 22}, {1, 20, T, 20, 22}};
    CHECK(list);
}

static void the_lowest_worker_dies(void)
{ /* the numbers of the others go on behind its last one */
    static const one list[] = {{0, 0, T, 0, 0}, {1, 0, T, 0, 0}, {0, 1, E, 0, 1}, {0, 2, T, 1, 2},
                               {1, 1, T, 1, 2}, {1, 2, T, 2, 3}, {1, 3, T, 3, 4}, {1, 9, T, 9, 9}};
    CHECK(list);
}

static void the_lowest_worker_starts_late(void)
{
    static const one list[] = {{1, 0, T, 0, 0}, {1, 1, T, 1, 1}, {1, 2, T, 2, 2}, {0, 2, T, 2, 2},
                               {0, 3, E, 0, 3}, {0, 4, T, 3, 4}, {1, 3, T, 3, 4}};
    CHECK(list);
}

static void both_have_steps_of_their_own(void)
{ /* there is no number between 1 and 2: those behind move on */
    static const one list[] = {{0, 0, T, 0, 0}, {1, 0, T, 0, 0}, {0, 1, E, 0, 2},
                               {1, 1, P, 0, 1}, {0, 2, T, 1, 3}, {1, 2, T, 1, 3}};
    CHECK(list);
}

static void mode_steps_begin_again(void)
{ /* the second TRAIN 0 of a worker is that of the other */
    static const one list[] = {{0, 0, T, 0, 0}, {1, 0, T, 0, 0}, {0, 1, T, 1, 1}, {1, 1, T, 1, 1}, {0, 2, E, 0, 2},
                               {0, 3, T, 0, 3}, {1, 2, T, 0, 3}, {0, 4, T, 1, 4}, {1, 3, T, 1, 4}};
    CHECK(list);
}

static void one_step_in_two_formats(void)
{ /* what the first one says goes for both */
    static const one list[] = {{0, 0, T, 0, 0}, {0, 0, E, 7, 0}, {0, 1, T, 1, 1}, {1, 0, T, 0, 0}, {1, 1, T, 1, 1}};
    CHECK(list);
}

static void two_modes_at_one_number(void)
{ /* one worker is enough; mode steps are the format's */
    static const one list[] = {
        {0, 0, T | BY_MODE, 0, 0},     {0, 10, E | BY_MODE, 10, 11}, {0, 10, T | BY_MODE, 10, 10},
        {0, 20, T | BY_MODE, 20, 20},  {0, 30, T | BY_MODE, 30, 30}, {0, 30, E | BY_MODE, 30, 31},
        {0, 30, P | BY_MODE, 30, 32},  {0, 31, T | BY_MODE, 31, 33}, {0, 31, E | BY_MODE, 31, 34},
        {0, 40, E | BY_MODE, 40, 40},  {1, 0, T | BY_MODE, 0, 0},    {1, 10, T | BY_MODE, 10, 10},
        {1, 30, P | BY_MODE, 30, 32},  {1, 31, E | BY_MODE, 31, 34}, {1, 31, T | BY_MODE, 31, 33},
        {1, 41, E | BY_MODE, 100, 42}, {1, 40, E | BY_MODE, 40, 40}, {1, 41, T | BY_MODE, 41, 41}};
    CHECK(list);
}

static void modes_beside_a_number(void)
{ /* a format that counts once, first; what it says of its number goes for the same mode of the other */
    static const one list[] = {{0, 0, T, 0, 0},
                               {0, 0, T | BY_MODE, 0, 0},
                               {0, 0, E | BY_MODE, 0, 1},
                               {0, 10, E, 3, 10},
                               {0, 10, T | BY_MODE, 10, 11},
                               {0, 10, E | BY_MODE, 10, 10},
                               {0, 10, P | BY_MODE, 10, 12},
                               {0, 20, T, 9, 20},
                               {0, 20, ASSAY_MODE_GLOBAL, 20, 20},
                               {0, 20, T | BY_MODE, 20, 20},
                               {0, 30, E | BY_MODE, 30, 30},
                               {0, 30, P | BY_MODE, 30, 31}};
    CHECK(list);
}

static uint64_t state = 1;
static uint32_t random_below(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

/* Whatever workers leave out or put between: steps of all ascend with those of each worker, equal ones are equal, and
 * a list in another order gives the same. */
static void whatever_workers_do(void)
{
    for (int round = 0; round < 300; round++) {
        static assay_worker_step rows[MOST], turned[MOST];
        assay_step_shifts shifts = {0}, again = {0};
        size_t count = 0;
        for (uint32_t w = 0; w < 4; w++) {
            int64_t own = random_below(3), evaluated = 0;
            const bool by_mode = round % 2;
            for (int64_t t = 0; t < 60; t++) {
                if (random_below(10) == 0) {
                    rows[count++] = (assay_worker_step){
                        .own = own, .mode_step = evaluated++, .worker = w, .mode = by_mode ? P : E, .by_mode = by_mode};
                    own += !by_mode;
                }
                if (random_below(8) > 0)
                    rows[count++] = (assay_worker_step){
                        .own = own, .mode_step = t, .worker = w, .mode = by_mode ? E : T, .by_mode = by_mode};
                own += 1 + (random_below(20) == 0);
            }
        }
        for (size_t i = 0; i < count; i++)
            turned[i] = rows[count - 1 - i];
        CU_ASSERT_EQUAL_FATAL(assay_steps_align(rows, count, &shifts), ASSAY_OK);
        CU_ASSERT_EQUAL_FATAL(assay_steps_align(turned, count, &again), ASSAY_OK);
        for (size_t i = 0; i < count; i++) {
            const assay_worker_step *r = &rows[i];
            CU_ASSERT_EQUAL(r->step, turned[count - 1 - i].step);
            CU_ASSERT_EQUAL(assay_step_of_all(&shifts, r->worker, r->own, r->by_mode ? r->mode : 0), r->step);
            for (size_t k = 0; k < i; k++) {
                bool same = rows[k].mode == r->mode && rows[k].mode_step == r->mode_step;
                CU_ASSERT_EQUAL_FATAL(rows[k].step == r->step, same);
            }
        }
        assay_step_shifts_release(&shifts);
        assay_step_shifts_release(&again);
    }
}

static void shifts_survive_packing(void)
{
    assay_step_shift list[] = {{1, 2, 2, 0}, {1, 9, 5, 0}, {3, 0, 1, E}};
    const assay_step_shifts shifts = {list, 3};
    assay_step_shifts out;
    assay_buf bytes;
    assay_buf_init(&bytes, 1 << 20);
    assay_step_shifts_pack(&shifts, &bytes);
    for (size_t size = 0; size <= bytes.size; size++) {
        assay_cursor in = assay_cursor_over(bytes.data, size);
        int status = assay_step_shifts_unpack(&in, &out);
        CU_ASSERT_EQUAL(status == ASSAY_OK && !in.failed, size == bytes.size);
        if (size == bytes.size)
            CU_ASSERT_EQUAL_FATAL(out.count, 3);
        for (size_t i = 0; size == bytes.size && i < 3; i++)
            CU_ASSERT_TRUE(out.list[i].worker == list[i].worker && out.list[i].own == list[i].own &&
                           out.list[i].shift == list[i].shift && out.list[i].mode == list[i].mode);
        assay_step_shifts_release(&out);
    }
    assay_buf_release(&bytes);
    CU_ASSERT_EQUAL(assay_step_of_all(&shifts, 1, 1, ASSAY_MODE_NONE), 1);
    CU_ASSERT_EQUAL(assay_step_of_all(&shifts, 1, 8, ASSAY_MODE_NONE), 10);
    CU_ASSERT_EQUAL(assay_step_own(&shifts, 1, 14), 9);
    CU_ASSERT_EQUAL(assay_step_own(&shifts, 2, 14), 14);
}

static void a_check_finds_the_first_contradiction(void)
{
    assay_step_check c = {0};
    CU_ASSERT_TRUE(assay_step_check_next(&c, 0, T, 0));
    CU_ASSERT_TRUE(assay_step_check_next(&c, 0, T, 0));
    CU_ASSERT_TRUE(assay_step_check_next(&c, 1, E, 0));
    CU_ASSERT_TRUE(assay_step_check_next(&c, 2, T, 5));
    CU_ASSERT_FALSE(assay_step_check_next(&c, 2, E, 1));
    c = (assay_step_check){0};
    CU_ASSERT_TRUE(assay_step_check_next(&c, 10, T, 10));
    CU_ASSERT_FALSE(assay_step_check_next(&c, 11, T, 10));
}

static void one_mode_step_all_along(void)
{ /* time by the number of steps, and not by its square: that would take an hour */
    enum { MANY = 1000000 };
    assay_worker_step *rows = calloc(MANY, sizeof *rows);
    assay_step_shifts shifts = {0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(rows);
    for (size_t i = 0; i < MANY; i++)
        rows[i] = (assay_worker_step){.own = (int64_t)(i / 2), .worker = i % 2, .mode = T};
    CU_ASSERT_EQUAL_FATAL(assay_steps_align(rows, MANY, &shifts), ASSAY_OK);
    size_t moved = 0;
    for (size_t i = 0; i < MANY; i++)
        moved += rows[i].step != rows[i].own;
    CU_ASSERT_EQUAL(moved, 0);
    assay_step_shifts_release(&shifts);
    free(rows);
}

int main(void)
{
    static CU_TestInfo tests[] = {{"alike, nothing moves", alike_nothing_moves},
                                  {"rank 0 alone evaluates", rank_0_alone_evaluates},
                                  {"saved now and then", saved_now_and_then},
                                  {"the lowest worker dies", the_lowest_worker_dies},
                                  {"the lowest worker starts late", the_lowest_worker_starts_late},
                                  {"both have steps of their own", both_have_steps_of_their_own},
                                  {"mode steps begin again", mode_steps_begin_again},
                                  {"one step in two formats", one_step_in_two_formats},
                                  {"two modes at one number", two_modes_at_one_number},
                                  {"modes beside a number", modes_beside_a_number},
                                  {"whatever workers do", whatever_workers_do},
                                  {"one mode step all along", one_mode_step_all_along},
                                  {"shifts survive packing", shifts_survive_packing},
                                  {"a check finds the first contradiction", a_check_finds_the_first_contradiction},
                                  CU_TEST_INFO_NULL};
    return unit_main("align", tests);
}
