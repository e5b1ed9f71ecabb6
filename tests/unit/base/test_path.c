/* Paths as texts: what is joined, what a path ends in, and which paths stay inside. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"

static void join_is(const char *directory, const char *name, const char *wanted)
{
    char *joined = assay_path_join(directory, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(joined);
    CU_ASSERT_STRING_EQUAL(joined, wanted);
    free(joined);
}

static void test_join(void)
{
    join_is("a", "b", "a/b");
    join_is("a/", "b", "a/b");
    join_is("", "b", "b");
    join_is("/", "b", "/b");
}

static void test_parts(void)
{
    CU_ASSERT_STRING_EQUAL(assay_path_name("a/b.json"), "b.json");
    CU_ASSERT_STRING_EQUAL(assay_path_name("b.json"), "b.json");
    CU_ASSERT_STRING_EQUAL(assay_path_name("a/"), "");
    CU_ASSERT(assay_path_ends("b.json", ".json") && assay_path_ends(".json", ".json") && assay_path_ends("", ""));
    CU_ASSERT_FALSE(assay_path_ends("json", ".json"));
    CU_ASSERT_FALSE(assay_path_ends("b.JSON", ".json"));
    CU_ASSERT(assay_path_ends_n("b.json.gz", 6, ".json"));
    CU_ASSERT(assay_is_digit('0') && assay_is_digit('9') && !assay_is_digit('/') && !assay_is_digit(':'));
}

static bool inside(const char *path)
{
    return assay_path_is_inside(path, strlen(path));
}

static void test_inside(void)
{
    static const char *const good[] = {"a", "a/b", "...", "..a/b..", ".a", "a/.b", " ", "a\\..\\b"};
    static const char *const bad[] = {"",       "/",   "/a",   ".",    "..",   "a/..", "../a",
                                      "a/../b", "./a", "a/./", "a/b/", "a//b", "a/./b"};
    char longest[ASSAY_PATH_MOST + 1];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CU_ASSERT(inside(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CU_ASSERT_FALSE(inside(bad[i]));
    CU_ASSERT_FALSE(assay_path_is_inside("a\0b", 3));
    CU_ASSERT(assay_path_is_inside("a/../b", 1)); /* of what is given, no more is looked at */
    memset(longest, 'a', sizeof longest);
    CU_ASSERT(assay_path_is_inside(longest, ASSAY_PATH_MOST));
    CU_ASSERT_FALSE(assay_path_is_inside(longest, ASSAY_PATH_MOST + 1));
    CU_ASSERT(assay_path_is_name("a", 1) && !assay_path_is_name("a/b", 3) && !assay_path_is_name("..", 2));
}

static void test_aside(void)
{
    static const char *const aside[] = {"a.b.bak",  "a.b~",       "a.b ",   "a.b.old",    "a.b.orig",
                                        "a.b.save", "a.b.backup", "a.b.12", "a.b.bak.1~ "};
    static const char *const whole[] = {"a.b", "bak", ".bak", ".1", "12", "~", " ", "", "a1", "a.bakery"};
    for (size_t i = 0; i < sizeof aside / sizeof *aside; i++)
        CU_ASSERT_EQUAL(assay_path_before_aside(aside[i]), 3);
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        CU_ASSERT_EQUAL(assay_path_before_aside(whole[i]), 0);
}

static bool is_series(const char *path, const char *expected)
{
    assay_buf text = ASSAY_BUF(SIZE_MAX);
    assay_path_put_series(path, &text);
    const bool is = text.size == strlen(expected) && memcmp(text.data, expected, text.size) == 0;
    assay_buf_release(&text);
    return is;
}

static void test_looks_like(void)
{
    static const char *const like[] = {"System",        "SYSTEM",         "systen",        ".system",
                                       "syst\xc3\xa9m", "syste\xcc\x81m", "\xd1\x81ystem", "syste\xcc"};
    static const char *const other[] = {"system", "systems", "syste", "sistan", "", ".", "s", "\xc3\xa9"};
    for (size_t i = 0; i < sizeof like / sizeof *like; i++)
        CU_ASSERT_TRUE(assay_path_looks_like(like[i], "system"));
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        CU_ASSERT_FALSE(assay_path_looks_like(other[i], "system"));
}

static void test_series(void)
{
    CU_ASSERT(is_series("step-1/rank_0", "/step-/rank_") && is_series("step-20/rank_3", "/step-/rank_"));
    CU_ASSERT(is_series("12", "/") && is_series("mlruns/1/0a1b/meta.yaml", "/mlruns///meta.yaml"));
    CU_ASSERT(is_series("123e4567-e89b-12d3", "/") && is_series("dead", "/dead"));
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"looks like", test_looks_like}, {"join", test_join},     {"parts", test_parts}, {"inside", test_inside},
        {"aside", test_aside},           {"series", test_series}, CU_TEST_INFO_NULL};
    return unit_main("path", tests);
}
