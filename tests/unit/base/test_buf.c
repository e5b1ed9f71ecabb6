/* Buffers with a ceiling, bounded cursors, and errors as one expression. */
#include "unit.h"

#include <assay/pack.h>
#include <assay/status.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

static void test_round_trip(void)
{
    assay_buf buf;
    double payload_nan;
    uint64_t bits = 0x7ff8000000abcdefU;
    size_t length = 0;
    memcpy(&payload_nan, &bits, sizeof bits);
    assay_buf_init(&buf, 1000);
    assay_put_u8(&buf, 200);
    assay_put_u32(&buf, 0x01020304U);
    assay_put_u64(&buf, UINT64_MAX - 1);
    assay_put_i64(&buf, INT64_MIN);
    assay_put_f64(&buf, -0.0);
    assay_put_f64(&buf, payload_nan);
    assay_put_text(&buf, "tensor");
    assay_put_text(&buf, NULL);
    assay_put_bytes(&buf, "xyz", 3);
    assay_put_bytes(&buf, NULL, 0);
    assay_put_format(&buf, "%d-%s", 42, "end");
    CU_ASSERT_EQUAL(assay_buf_status(&buf), ASSAY_OK);
    CU_ASSERT_EQUAL(buf.size, 1 + 4 + 8 * 4 + 4 + 6 + 4 + 3 + 6);
    CU_ASSERT_EQUAL(memcmp(buf.data, "\xc8\x04\x03\x02\x01\xfe", 6), 0); /* little-endian */
    assay_cursor in = assay_cursor_over(buf.data, buf.size);
    CU_ASSERT_EQUAL(assay_get_u8(&in), 200);
    CU_ASSERT_EQUAL(assay_get_u32(&in), 0x01020304U);
    CU_ASSERT_EQUAL(assay_get_u64(&in), UINT64_MAX - 1);
    CU_ASSERT_EQUAL(assay_get_i64(&in), INT64_MIN);
    CU_ASSERT_TRUE(signbit(assay_get_f64(&in)) != 0);
    double back = assay_get_f64(&in);
    CU_ASSERT_EQUAL(memcmp(&back, &bits, sizeof bits), 0);
    const char *text = assay_get_text(&in, &length);
    CU_ASSERT_TRUE(length == 6 && memcmp(text, "tensor", 6) == 0);
    assay_get_text(&in, &length);
    CU_ASSERT_EQUAL(length, 0);
    CU_ASSERT_EQUAL(assay_cursor_left(&in), 9);
    CU_ASSERT_TRUE(assay_cursor_bad(&in)); /* bytes are left over */
    CU_ASSERT_EQUAL(memcmp(assay_get_bytes(&in, 9), "xyz42-end", 9), 0);
    CU_ASSERT_FALSE(assay_cursor_bad(&in));
    assay_buf_release(&buf);
}

static void test_ceiling(void)
{
    for (size_t ceiling = 0; ceiling < 300; ceiling++) {
        assay_buf buf;
        assay_buf_init(&buf, ceiling);
        for (size_t i = 0; i < ceiling; i++)
            assay_put_u8(&buf, (uint8_t)i);
        CU_ASSERT_TRUE(assay_buf_status(&buf) == ASSAY_OK && buf.size == ceiling);
        assay_put_u8(&buf, 1);
        CU_ASSERT_TRUE(assay_buf_status(&buf) == ASSAY_EBUDGET && buf.size == ceiling);
        assay_buf_clear(&buf);
        CU_ASSERT_TRUE(assay_buf_status(&buf) == ASSAY_OK && buf.size == 0);
        assay_put_format(&buf, "%*d", (int)ceiling, 7); /* at least one digit */
        CU_ASSERT_EQUAL(assay_buf_status(&buf), ceiling ? ASSAY_OK : ASSAY_EBUDGET);
        CU_ASSERT_EQUAL(buf.size, ceiling);
        assay_buf_release(&buf);
    }
}

/* After the first failure nothing more is written, not even what would fit. */
static void test_failure_stays(void)
{
    assay_buf buf;
    assay_buf_init(&buf, 10);
    assay_put_bytes(&buf, "12345678", 8);
    assay_put_u32(&buf, 1);
    assay_put_u8(&buf, 1);
    assay_put_format(&buf, "x");
    CU_ASSERT_TRUE(buf.size == 8 && assay_buf_status(&buf) == ASSAY_EBUDGET);
    assay_put_bytes(&buf, "x", SIZE_MAX); /* no size wraps around */
    CU_ASSERT_EQUAL(buf.size, 8);
    assay_buf_release(&buf);
    assay_buf_init(&buf, SIZE_MAX);
    assay_put_u8(&buf, 1);
    assay_put_bytes(&buf, "x", SIZE_MAX - 1);
    CU_ASSERT_TRUE(buf.size == 1 && assay_buf_status(&buf) == ASSAY_EBUDGET);
    assay_buf_release(&buf);
}

static void test_no_memory(void)
{
    assay_buf buf;
    setenv("ASSAY_FAULT", "alloc:2", 1);
    assay_fault_arm(0);
    assay_buf_init(&buf, 100000);
    assay_put_bytes(&buf, "first", 5);
    CU_ASSERT_EQUAL(assay_buf_status(&buf), ASSAY_OK);
    for (int i = 0; i < 1000; i++)
        assay_put_u64(&buf, 7);
    CU_ASSERT_EQUAL(assay_buf_status(&buf), ASSAY_ENOMEM);
    CU_ASSERT_TRUE(buf.size >= 5 && buf.size < 8000 && memcmp(buf.data, "first", 5) == 0);
    assay_buf_release(&buf);
    unsetenv("ASSAY_FAULT");
    assay_fault_arm(0);
}

/* Reads everything of the record below; says whether the end was right. */
static bool read_record(const uint8_t *bytes, size_t size)
{
    size_t length;
    assay_cursor in = assay_cursor_over(bytes, size);
    assay_get_u8(&in);
    assay_get_text(&in, &length);
    assay_get_u32(&in);
    uint64_t count = assay_get_count(&in, 8);
    for (uint64_t i = 0; i < count; i++)
        assay_get_f64(&in);
    return !assay_cursor_bad(&in);
}

static void test_truncated(void)
{
    assay_buf buf;
    assay_buf_init(&buf, 1000);
    assay_put_u8(&buf, 1);
    assay_put_text(&buf, "name");
    assay_put_u32(&buf, 5);
    assay_put_u64(&buf, 3);
    for (int i = 0; i < 3; i++)
        assay_put_f64(&buf, i);
    for (size_t size = 0; size <= buf.size; size++) {
        uint8_t *copy = malloc(size + !size); /* of this size exactly, so that sanitizers see reads behind it */
        memcpy(copy, buf.data, size);
        CU_ASSERT_EQUAL(read_record(copy, size), size == buf.size);
        free(copy);
    }
    assay_put_u8(&buf, 0);
    CU_ASSERT_FALSE(read_record(buf.data, buf.size));
    assay_buf_release(&buf);
}

static void test_past_end(void)
{
    static const uint8_t bytes[12] = {0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4, 5, 6, 7, 8};
    size_t length = 9;
    assay_cursor in = assay_cursor_over(bytes, sizeof bytes);
    CU_ASSERT_STRING_EQUAL(assay_get_text(&in, &length), "");
    CU_ASSERT_TRUE(length == 0 && in.failed);
    CU_ASSERT_EQUAL(assay_get_u8(&in), 0); /* failed for good: there are bytes, but they are not what is asked for */
    CU_ASSERT_PTR_NULL(assay_get_bytes(&in, 1));
    CU_ASSERT_TRUE(assay_cursor_bad(&in));
    in = assay_cursor_over(NULL, 0);
    CU_ASSERT_PTR_NULL(assay_get_bytes(&in, 0));
    CU_ASSERT_FALSE(assay_cursor_bad(&in));
    in = assay_cursor_over(bytes, 8);
    CU_ASSERT_EQUAL(assay_get_count(&in, SIZE_MAX), 0);
    CU_ASSERT_TRUE(in.failed);
    static const uint8_t two[10] = {2};
    in = assay_cursor_over(two, 10);
    CU_ASSERT_EQUAL(assay_get_count(&in, 1), 2);
    in = assay_cursor_over(two, 10);
    CU_ASSERT_EQUAL(assay_get_count(&in, 2), 0);
    CU_ASSERT_TRUE(in.failed);
    in = assay_cursor_over(two, 9);
    CU_ASSERT_EQUAL(assay_get_count(&in, 0), 0); /* items of no size are counted as of 1 byte */
    CU_ASSERT_TRUE(in.failed);
}

static void test_error(void)
{
    assay_error err = {""};
    CU_ASSERT_EQUAL(assay_fail(&err, ASSAY_EIO, "%s at %d", "inner", 7), ASSAY_EIO);
    CU_ASSERT_STRING_EQUAL(err.text, "inner at 7");
    CU_ASSERT_EQUAL(assay_fail(&err, ASSAY_EFORMAT, "outer: %s", err.text), ASSAY_EFORMAT);
    CU_ASSERT_STRING_EQUAL(err.text, "outer: inner at 7");
    assay_fail(&err, ASSAY_EIO, "%0600d", 1);
    CU_ASSERT_EQUAL(strlen(err.text), ASSAY_ERROR_TEXT - 1);
    CU_ASSERT_STRING_EQUAL(err.text + ASSAY_ERROR_TEXT - 5, "0...");
    CU_ASSERT_EQUAL(assay_fail(NULL, ASSAY_EUSAGE, "nobody listens"), ASSAY_EUSAGE);
    CU_ASSERT_STRING_EQUAL(assay_status_text(ASSAY_EBUDGET), "needs more memory than the budget allows");
    CU_ASSERT_STRING_EQUAL(assay_status_text(ASSAY_OK), "success");
    CU_ASSERT_STRING_EQUAL(assay_status_text(77), "unknown status");
}

int main(void)
{
    CU_TestInfo tests[] = {{"round trip", test_round_trip},
                           {"ceiling", test_ceiling},
                           {"a failure stays", test_failure_stays},
                           {"no memory", test_no_memory},
                           {"truncated at every byte", test_truncated},
                           {"past the end", test_past_end},
                           {"errors", test_error},
                           CU_TEST_INFO_NULL};
    return unit_main("buf", tests);
}
