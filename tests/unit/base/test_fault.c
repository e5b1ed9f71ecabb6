/* Failures on demand, the allocators they pass through, and the log. */
#include "unit.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/log.h"
#include "catch_stderr.h"

static void arm(const char *text, int rank)
{
    if (text)
        setenv("ASSAY_FAULT", text, 1);
    else
        unsetenv("ASSAY_FAULT");
    assay_fault_arm(rank);
}

/* The calls that fail, as bits: bit 0 is the first call. */
static unsigned failing(assay_fault_kind kind)
{
    unsigned calls = 0;
    for (int i = 0; i < 8; i++)
        calls |= (unsigned)assay_fault_now(kind) << i;
    return calls;
}

static void test_counters(void)
{
    arm("alloc:3,read:2+,write:1@rank1", 0);
    CU_ASSERT_EQUAL(failing(ASSAY_FAULT_ALLOC), 0x04);
    CU_ASSERT_EQUAL(failing(ASSAY_FAULT_READ), 0xfe);
    CU_ASSERT_EQUAL(failing(ASSAY_FAULT_WRITE), 0);
    arm("alloc:3,read:2+,write:1@rank1", 1);
    CU_ASSERT_EQUAL(failing(ASSAY_FAULT_WRITE), 0x01);
    arm("cold:1,short:2,nowait:3+", 0);
    CU_ASSERT_EQUAL(failing(ASSAY_FAULT_COLD), 0x01);
    CU_ASSERT_EQUAL(failing(ASSAY_FAULT_SHORT), 0x02);
    CU_ASSERT_EQUAL(failing(ASSAY_FAULT_NOWAIT), 0xfc);
    arm("write:2+@rank12", 12);
    CU_ASSERT_EQUAL(failing(ASSAY_FAULT_WRITE), 0xfe);
    CU_ASSERT_EQUAL(failing(ASSAY_FAULT_READ), 0);
    arm("write:2+@rank12", 1);
    CU_ASSERT_EQUAL(failing(ASSAY_FAULT_WRITE), 0);
    arm(NULL, 0);
    CU_ASSERT_EQUAL(failing(ASSAY_FAULT_ALLOC), 0);
}

/* A mistake in the variable is told, and no part of it counts. */
static void test_mistakes(void)
{
    static const char *const wrong[] = {
        "alloc",     "alloc:",         "alloc:0",   "alloc:x",  "reads:1",
        "alloc:1+2", "alloc:1@rank",   "alloc:1@2", "alloc:1 ", "alloc:99999999999999999999999",
        ",alloc:1",  "alloc:1,write:x"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[400];
        catch_stderr();
        arm(wrong[i], 0);
        release_stderr(text, sizeof text);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, "ASSAY_FAULT is ignored"));
        CU_ASSERT_EQUAL(failing(ASSAY_FAULT_ALLOC), 0);
    }
    arm(NULL, 0);
}

static void test_allocators(void)
{
    void *empty = assay_alloc(0), *zeroed = assay_alloc_zeroed(0, 8), *moved = assay_realloc_array(NULL, 0, 8);
    CU_ASSERT_TRUE(empty && zeroed && moved);
    moved = assay_realloc_array(moved, 3, 8);
    CU_ASSERT_PTR_NOT_NULL(moved);
    CU_ASSERT_PTR_NULL(assay_realloc_array(moved, SIZE_MAX / 4, 8));
    volatile size_t many = SIZE_MAX / 4; /* a constant would be a compiler warning */
    CU_ASSERT_PTR_NULL(assay_alloc_zeroed(many, 8));
    CU_ASSERT_PTR_NULL(assay_copy_bytes_as_text("", SIZE_MAX));
    free(empty);
    free(zeroed);
    free(moved);
    char *copy = assay_copy_text("text"), *part = assay_copy_bytes_as_text("abcdef", 3);
    char *none = assay_copy_bytes_as_text(NULL, 0);
    CU_ASSERT_STRING_EQUAL(copy, "text");
    CU_ASSERT_STRING_EQUAL(part, "abc");
    CU_ASSERT_STRING_EQUAL(none, "");
    free(copy);
    free(part);
    free(none);
    arm("alloc:1+", 0);
    CU_ASSERT_PTR_NULL(assay_alloc(1));
    CU_ASSERT_PTR_NULL(assay_alloc_zeroed(1, 1));
    CU_ASSERT_PTR_NULL(assay_realloc_array(NULL, 1, 1));
    CU_ASSERT_PTR_NULL(assay_copy_text("text"));
    arm(NULL, 0);
}

static void say_all(int rank, bool all_ranks, bool quiet, char *text, size_t room)
{
    catch_stderr();
    assay_log_init(rank);
    if (quiet)
        assay_log_quiet();
    assay_log_all_ranks(all_ranks);
    assay_log_note("n%d", 1);
    assay_log_warn("w%d", 2);
    assay_log_error("e%d", 3);
    release_stderr(text, room);
    assay_log_init(0);
    assay_log_all_ranks(false);
}

static void test_log(void)
{
    char text[400];
    say_all(0, false, false, text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "assay: n1\nassay: warning: w2\nassay: error: e3\n");
    say_all(0, false, true, text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "assay: error: e3\n");
    say_all(2, false, false, text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "");
    say_all(2, true, false, text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "assay: rank 2: n1\nassay: rank 2: warning: w2\nassay: rank 2: error: e3\n");
}

/* One line each, whatever names hold and however long they are. */
static void test_log_line(void)
{
    char text[9000], longest[6000];
    catch_stderr();
    assay_log_note("a\nb\tc\x1b[31m");
    release_stderr(text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "assay: a b c\\x1b[31m\n");
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    catch_stderr();
    assay_log_note("%s", longest);
    release_stderr(text, sizeof text);
    CU_ASSERT_EQUAL(strlen(text), 4096);
    CU_ASSERT_STRING_EQUAL(text + 4091, "x...\n");
}

/* How a process ends that passes this point. */
static int end_at(const char *point)
{
    int how = 0;
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(3);
        assay_fault_die(point);
        _exit(0);
    }
    CU_ASSERT(child > 0 && waitpid(child, &how, 0) == child);
    return WIFSIGNALED(how) ? WTERMSIG(how) : 0;
}

static void test_deaths(void)
{
    arm("die:one-point,alloc:7,die:other@rank1", 0);
    CU_ASSERT_EQUAL(end_at("one-point"), SIGKILL);
    CU_ASSERT_EQUAL(end_at("other"), 0); /* rank 1's */
    CU_ASSERT_EQUAL(end_at("one"), 0);
    arm(NULL, 0);
    CU_ASSERT_EQUAL(end_at("one-point"), 0);
}

int main(void)
{
    CU_TestInfo tests[] = {{"counters", test_counters},
                           {"mistakes", test_mistakes},
                           {"allocators", test_allocators},
                           {"who speaks", test_log},
                           {"one line", test_log_line},
                           {"deaths", test_deaths},
                           CU_TEST_INFO_NULL};
    return unit_main("fault", tests);
}
