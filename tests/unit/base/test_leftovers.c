/* test_leftovers.c - what is noted is removed, what was dropped or has content stays. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/leftovers.h"

static void make(const char *path)
{
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fclose(file);
}

static void test_remove(void)
{
    char room[] = "/tmp/assay-leftovers-XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(room));
    CU_ASSERT_EQUAL_FATAL(chdir(room), 0);
    make("half");
    make("whole");
    mkdir("empty", 0777);
    mkdir("full", 0777);
    make("full/file");
    const int half = assay_leftover_add("half"), whole = assay_leftover_add("whole");
    const int empty = assay_leftover_add("empty"), full = assay_leftover_add("full");
    CU_ASSERT(half >= 0 && whole >= 0 && empty >= 0 && full >= 0);
    assay_leftover_drop(whole);
    assay_leftover_drop(-1);
    assay_leftovers_remove();
    CU_ASSERT_NOT_EQUAL(access("half", F_OK), 0);
    CU_ASSERT_EQUAL(access("whole", F_OK), 0);
    CU_ASSERT_NOT_EQUAL(access("empty", F_OK), 0);
    CU_ASSERT_EQUAL(access("full/file", F_OK), 0);
    assay_leftover_drop(half);
    assay_leftover_drop(empty);
    assay_leftover_drop(full);
    make("half");
    assay_leftovers_remove(); /* nothing is noted any more */
    CU_ASSERT_EQUAL(access("half", F_OK), 0);
    unlink("half");
    unlink("whole");
    unlink("full/file");
    rmdir("full");
    CU_ASSERT_EQUAL(chdir("/"), 0);
    CU_ASSERT_EQUAL(rmdir(room), 0);
}

static void test_room(void)
{
    int number[64], taken = 0;
    while (taken < 64 && (number[taken] = assay_leftover_add("/nowhere/at/all")) >= 0)
        taken++;
    CU_ASSERT(taken >= 8 && taken < 64); /* there is an end, and no harm in it */
    while (taken > 0)
        assay_leftover_drop(number[--taken]);
    const int again = assay_leftover_add("/nowhere/at/all");
    CU_ASSERT_EQUAL(again, 0);
    assay_leftover_drop(again);
}

int main(void)
{
    CU_TestInfo tests[] = {{"remove", test_remove}, {"room", test_room}, CU_TEST_INFO_NULL};
    return unit_main("leftovers", tests);
}
