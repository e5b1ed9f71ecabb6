/* The bytes that the writer makes, and the mistakes in nesting that it finds. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <assay/status.h>

#include "base/json.h"
#include "base/json_writer.h"

static bool is(const assay_buf *out, const char *wanted)
{
    const bool same = out->size == strlen(wanted) && memcmp(out->data, wanted, out->size) == 0;
    if (!same)
        fprintf(stderr, "%.*s\n", (int)out->size, (const char *)out->data);
    return same;
}

static void test_bytes(void)
{
    assay_buf out;
    assay_buf_init(&out, SIZE_MAX);
    assay_jw w = assay_jw_over(&out);
    assay_jw_object(&w, NULL);
    assay_jw_i64(&w, "step", -3);
    assay_jw_u64(&w, "bytes", UINT64_MAX);
    assay_jw_line(&w, 1);
    assay_jw_array(&w, "values");
    assay_jw_number(&w, NULL, 0.1);
    assay_jw_number(&w, NULL, (double)NAN);
    assay_jw_bool(&w, NULL, true);
    assay_jw_null(&w, NULL);
    assay_jw_text(&w, NULL, NULL);
    assay_jw_array(&w, NULL);
    assay_jw_end(&w);
    assay_jw_end(&w);
    assay_jw_object(&w, "of \"it\"");
    assay_jw_end(&w);
    assay_jw_array(&w, "lines");
    assay_jw_line(&w, 4);
    assay_jw_text(&w, NULL, "a\nb");
    assay_jw_line(&w, 4);
    assay_jw_text_n(&w, NULL, "cd", 1);
    assay_jw_line(&w, 2);
    assay_jw_end(&w);
    assay_jw_format(&w, "share", "%d %%", 50);
    assay_put_format(assay_jw_value(&w, "raw"), "[1]");
    assay_jw_line(&w, 0);
    assay_jw_end(&w);
    CU_ASSERT(assay_jw_done(&w));
    CU_ASSERT(is(&out,
                 "{\"step\": -3, \"bytes\": 18446744073709551615,\n \"values\": [0.1, \"nan\", true, null, null, []], "
                 "\"of \\\"it\\\"\": {}, \"lines\": [\n    \"a\\nb\",\n    \"c\"\n  ], \"share\": \"50 %\", "
                 "\"raw\": [1]\n}"));
    CU_ASSERT_EQUAL(assay_json_check("out", out.data, out.size, NULL), ASSAY_OK);
    assay_buf_release(&out);
}

/* Each kind of value finds its call. */
static void test_kinds(void)
{
    assay_buf out = ASSAY_BUF(SIZE_MAX);
    assay_jw w = assay_jw_over(&out);
    const char letters[] = "x";
    const uint32_t most = UINT32_MAX;
    const float half = 0.5F;
    const bool yes = true;
    ASSAY_JW_OBJECT(&w, NULL, "a", -1, "b", most, "c", UINT64_MAX, "d", INT64_MIN, "e", half, "f", yes, "g", letters,
                    "h", (const char *)NULL);
    CU_ASSERT(assay_jw_done(&w));
    CU_ASSERT(is(&out, "{\"a\": -1, \"b\": 4294967295, \"c\": 18446744073709551615, \"d\": -9223372036854775808, "
                       "\"e\": 0.5, \"f\": true, \"g\": \"x\", \"h\": null}"));
    assay_buf_release(&out);
}

static void test_members(void)
{
    assay_buf out;
    assay_buf_init(&out, SIZE_MAX);
    assay_put_format(&out, "{");
    assay_jw w = assay_jw_members_of(&out, false);
    assay_jw_u64(&w, "a", 1);
    CU_ASSERT(assay_jw_done(&w));
    w = assay_jw_members_of(&out, true);
    CU_ASSERT(assay_jw_done(&w));
    assay_jw_u64(&w, "b", 2);
    CU_ASSERT(assay_jw_done(&w));
    assay_put_format(&out, "}");
    CU_ASSERT(is(&out, "{\"a\": 1, \"b\": 2}"));
    assay_buf_release(&out);
}

enum { NO_KEY, A_KEY_IN_A_LIST, TWO_ROOTS, NOTHING, NOT_CLOSED, CLOSED_TWICE, TOO_DEEP, TOO_LONG, MISTAKES };

static void make(int mistake, assay_jw *w)
{
    char text[2000];
    switch (mistake) {
    case NO_KEY:
        assay_jw_object(w, NULL);
        assay_jw_u64(w, NULL, 1);
        assay_jw_end(w);
        break;
    case A_KEY_IN_A_LIST:
        assay_jw_array(w, NULL);
        assay_jw_u64(w, "key", 1);
        assay_jw_end(w);
        break;
    case TWO_ROOTS:
        assay_jw_u64(w, NULL, 1);
        assay_jw_u64(w, NULL, 1);
        break;
    case NOT_CLOSED:
        assay_jw_object(w, NULL);
        break;
    case CLOSED_TWICE:
        assay_jw_array(w, NULL);
        assay_jw_end(w);
        assay_jw_end(w);
        break;
    case TOO_DEEP:
        for (int i = 0; i < ASSAY_JW_DEPTH + 1; i++)
            assay_jw_array(w, NULL);
        for (int i = 0; i < ASSAY_JW_DEPTH + 1; i++)
            assay_jw_end(w);
        break;
    case TOO_LONG:
        memset(text, 'x', sizeof text);
        text[sizeof text - 1] = '\0';
        assay_jw_format(w, NULL, "%s", text);
        break;
    default: /* nothing is written */
        break;
    }
}

static void test_mistakes(void)
{
    for (int mistake = 0; mistake < MISTAKES; mistake++) {
        assay_buf out;
        assay_buf_init(&out, SIZE_MAX);
        assay_jw w = assay_jw_over(&out);
        make(mistake, &w);
        CU_ASSERT_FALSE(assay_jw_done(&w));
        CU_ASSERT_EQUAL(assay_buf_status(&out), ASSAY_EINTERNAL);
        assay_buf_release(&out);
    }
}

static void test_ceiling(void)
{
    assay_buf out;
    assay_buf_init(&out, 10);
    assay_jw w = assay_jw_over(&out);
    assay_jw_array(&w, NULL);
    for (int i = 0; i < 100; i++)
        assay_jw_u64(&w, NULL, 1);
    assay_jw_end(&w);
    CU_ASSERT_FALSE(assay_jw_done(&w));
    CU_ASSERT_EQUAL(assay_buf_status(&out), ASSAY_EBUDGET);
    assay_buf_release(&out);
}

static int add(void *all, const void *bytes, size_t size)
{
    assay_put_bytes(all, bytes, size);
    return ((assay_buf *)all)->size > (3u << 20) ? ASSAY_EIO : ASSAY_OK;
}

/* What is drained, and what stays in the buffer behind it, is what is written without a drain; a drain that fails ends it. */
static void test_drain(void)
{
    static const unsigned sizes[] = {10, 20000, 200000};
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        const unsigned rows = sizes[n];
        assay_buf whole = ASSAY_BUF(SIZE_MAX), part = ASSAY_BUF(SIZE_MAX), all = ASSAY_BUF(SIZE_MAX);
        const assay_taker drain = {add, &all};
        assay_buf *const out[] = {&whole, &part};
        for (int k = 0; k < 2; k++) {
            assay_jw w = assay_jw_over(out[k]);
            w.drain = k ? &drain : NULL;
            assay_jw_array(&w, NULL);
            for (unsigned i = 0; i < rows; i++) {
                assay_jw_line(&w, 1);
                ASSAY_JW_OBJECT(&w, NULL, "row", i, "of", rows, "name", "a name that takes some place, as most have");
            }
            assay_jw_end(&w);
            (void)assay_jw_done(&w);
        }
        CU_ASSERT_EQUAL(assay_buf_status(&part), rows > 100000 ? ASSAY_EIO : ASSAY_OK);
        CU_ASSERT(rows < 1000 || all.size >= 1 << 20);
        assay_put_bytes(&all, part.data, part.size);
        CU_ASSERT(rows > 100000 || (all.size == whole.size && memcmp(all.data, whole.data, all.size) == 0));
        assay_buf_release(&whole);
        assay_buf_release(&part);
        assay_buf_release(&all);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"bytes", test_bytes},     {"kinds", test_kinds}, {"members", test_members}, {"mistakes", test_mistakes},
        {"ceiling", test_ceiling}, {"drain", test_drain}, CU_TEST_INFO_NULL};
    return unit_main("json_writer", tests);
}
