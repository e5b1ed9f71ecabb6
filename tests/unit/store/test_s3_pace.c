/* test_s3_pace.c - how many pieces of large objects are under way, on lines that give what the test says. */
#include "store/s3_pace.h"

#include "unit.h"

/* A server that answers after a tenth of a second, and a line of so many pieces a second behind it; the thread that
 * receives is busy for some seconds with each piece. */
typedef struct line {
    double most, busy;
} line;

/* What was measured last goes on with the next run. */
static double now, slept;

/* Takes so many pieces, as they come: those that were asked for together, together. Returns the width then, and in
 * *wide how many pieces came while more than 2 were asked for ahead. */
static uint64_t run(s3_pace *pace, uint64_t pieces, line l, uint64_t most, uint64_t *wide)
{
    *wide = 0;
    for (uint64_t i = 0; i < pieces;) {
        const uint64_t together = pace->width + 1;
        const double fastest = (double)together / l.most, seconds = fastest > 0.1 ? fastest : 0.1;
        now += seconds;
        slept += seconds - l.busy * (double)together;
        for (uint64_t k = 0; k < together; k++, i++) {
            *wide += pace->width > 2;
            s3_pace_take(pace, now, slept, most);
        }
    }
    return pace->width;
}

static void test_widens(void)
{
    const line slow = {.most = 1e9};
    uint64_t wide;
    s3_pace pace;
    s3_pace_start(&pace);
    CU_ASSERT_EQUAL(pace.width, 2);
    CU_ASSERT_EQUAL(run(&pace, 150, slow, 32, &wide), 32); /* the answers are what is slow */
    CU_ASSERT_EQUAL(run(&pace, 5000, slow, 32, &wide), 32);
    s3_pace_start(&pace);
    CU_ASSERT_EQUAL(run(&pace, 5000, slow, 3, &wide), 2); /* there is no room for more */
    CU_ASSERT_EQUAL(wide, 0);
}

static void test_stays(void)
{
    uint64_t wide;
    s3_pace pace;
    s3_pace_start(&pace);
    run(&pace, 5000, (line){.most = 31}, 32, &wide); /* the line is what is slow: more is tried now and then */
    CU_ASSERT(wide > 0 && wide < 500);
    CU_ASSERT_EQUAL(pace.width, 2);
    run(&pace, 5000, (line){.most = 31}, 32, &wide); /* and less and less often */
    CU_ASSERT(wide < 150);
    CU_ASSERT_EQUAL(run(&pace, 2000, (line){.most = 1e9}, 32, &wide), 32); /* and found, when it is another line */
}

/* Who receives has no time for more: none are tried, however fast the server may be. */
static void test_busy(void)
{
    const line server = {.most = 60, .busy = 0.02};
    uint64_t wide;
    s3_pace pace;
    s3_pace_start(&pace);
    CU_ASSERT_EQUAL(run(&pace, 5000, server, 32, &wide), 2);
    CU_ASSERT_EQUAL(wide, 0);
    CU_ASSERT(run(&pace, 300, (line){.most = 1e9, .busy = 0.012}, 32, &wide) == 4); /* asleep at 2, awake at 4 */
}

static void test_break(void)
{
    uint64_t wide;
    s3_pace pace;
    s3_pace_start(&pace);
    for (int i = 0; i < 1000; i++) { /* rows too short to measure */
        now += 1;
        slept += 1;
        s3_pace_take(&pace, now, slept, 32);
        if (i % 8 == 7)
            s3_pace_break(&pace);
    }
    CU_ASSERT_EQUAL(pace.width, 2);
    CU_ASSERT_EQUAL(run(&pace, 150, (line){.most = 1e9}, 32, &wide), 32);
    for (int i = 0; i < 5000; i++) /* a clock that stands still measures nothing */
        s3_pace_take(&pace, now, slept, 64);
    CU_ASSERT_EQUAL(pace.width, 32);
}

int main(void)
{
    CU_TestInfo tests[] = {{"many where answers are slow", test_widens},
                           {"few where the line is", test_stays},
                           {"few where the processor is", test_busy},
                           {"rows that are interrupted", test_break},
                           CU_TEST_INFO_NULL};
    return unit_main("store/s3_pace", tests);
}
