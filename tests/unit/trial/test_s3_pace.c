/* test_s3_pace.c - how many pieces of large objects are under way, on lines that give what the test says. */
#include "trial/storage/s3_pace.h"

#include "unit.h"

/* Pieces a second with so many under way: each connection gives 10, and the line `most` altogether. */
static double rate_of(uint64_t width, double most)
{
    const double all = 10.0 * (double)width;
    return all < most ? all : most;
}

/* The width after so many pieces, and how many pieces more than 8 were under way for. */
static uint64_t run(s3_pace *pace, uint64_t pieces, double line, uint64_t most, uint64_t *wide)
{
    double now = 100;
    *wide = 0;
    for (uint64_t i = 0; i < pieces; i++) {
        now += 1 / rate_of(pace->width, line);
        *wide += pace->width > 8;
        s3_pace_take(pace, now, most);
    }
    return pace->width;
}

static void test_widens(void)
{
    uint64_t wide;
    s3_pace pace;
    s3_pace_start(&pace);
    CU_ASSERT_EQUAL(pace.width, 8);
    CU_ASSERT_EQUAL(run(&pace, 200, 1e9, 32, &wide), 32); /* the connections are what is slow */
    CU_ASSERT_EQUAL(run(&pace, 5000, 1e9, 32, &wide), 32);
    s3_pace_start(&pace);
    CU_ASSERT_EQUAL(run(&pace, 5000, 1e9, 15, &wide), 8); /* there is no room for more */
    CU_ASSERT_EQUAL(wide, 0);
}

static void test_stays(void)
{
    uint64_t wide;
    s3_pace pace;
    s3_pace_start(&pace);
    run(&pace, 5000, 85, 32, &wide); /* the line is what is slow: more is tried now and then */
    CU_ASSERT(wide > 0 && wide < 5000 / 3);
    run(&pace, 200, 85, 32, &wide);
    CU_ASSERT(pace.width <= 16);
    CU_ASSERT_EQUAL(run(&pace, 1000, 1e9, 32, &wide), 32); /* and found, when it is another line */
}

static void test_break(void)
{
    uint64_t wide;
    double now = 0;
    s3_pace pace;
    s3_pace_start(&pace);
    for (int i = 0; i < 1000; i++) { /* rows too short to measure */
        s3_pace_take(&pace, now += i, 32);
        if (i % 10 == 9)
            s3_pace_break(&pace);
    }
    CU_ASSERT_EQUAL(pace.width, 8);
    CU_ASSERT_EQUAL(run(&pace, 200, 1e9, 32, &wide), 32);
    for (int i = 0; i < 5000; i++) /* a clock that stands still measures nothing */
        s3_pace_take(&pace, 1, 64);
    CU_ASSERT_EQUAL(pace.width, 32);
}

int main(void)
{
    CU_TestInfo tests[] = {{"many where connections are slow", test_widens},
                           {"few where the line is", test_stays},
                           {"rows that are interrupted", test_break},
                           CU_TEST_INFO_NULL};
    return unit_main("trial/storage/s3_pace", tests);
}
