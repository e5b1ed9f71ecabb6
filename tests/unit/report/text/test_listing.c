/* test_listing.c - rows that are described once: as a table, as CSV and as JSON. */
#include <math.h>
#include <string.h>

#include "report/text/listing.h"
#include "unit.h"

static const assay_listing_column COLUMNS[] = {{"name", "tensor", 'e'},      {"dtype", "dtype", 'l', "-"},
                                               {"shape", "shape", 'e'},      {"steps", "steps", 'r'},
                                               {"loss", "loss", 'r'},        {"kinds"},
                                               {NULL, "remark", 'l'},        {"same_as", .optional = true},
                                               {"more", .json_alone = true}, {"low", .csv_alone = true}};

static void put_rows(assay_listing *rows)
{
    const int64_t shape[] = {2, 3};
    assay_buf remark = ASSAY_BUF(100);
    assay_put_format(&remark, "of %d", 7);
    assay_listing_next(rows);
    assay_listing_text(rows, "a,\"\x1b");
    assay_listing_text(rows, "float32");
    assay_listing_shape(rows, shape, 2);
    assay_listing_u64(rows, 3);
    assay_listing_real(rows, 2);
    assay_listing_texts(rows, (const char *const[]){"min", "max"}, 2);
    assay_listing_take(rows, &remark);
    assay_listing_flag(rows, true);
    assay_buf *value = assay_listing_value(rows);
    if (value)
        assay_put_format(value, "[1]");
    assay_listing_number(rows, 2);
    assay_listing_next(rows); /* cells at its end are missing */
    assay_listing_text(rows, "b");
    assay_listing_text(rows, NULL);
    assay_listing_shape(rows, shape, -1);
    assay_listing_i64(rows, -1);
    assay_listing_real(rows, NAN);
    assay_listing_end(rows, 0, NULL);
}

static void expect(assay_buf *out, const char *wanted)
{
    CU_ASSERT_EQUAL(assay_buf_status(out), ASSAY_OK);
    assay_put_u8(out, '\0');
    CU_ASSERT_STRING_EQUAL((const char *)out->data, wanted);
    assay_buf_release(out);
}

static void test_forms(void)
{
    assay_listing rows;
    assay_buf out = ASSAY_BUF(1 << 16);
    assay_listing_begin(&rows, ASSAY_LISTING_TEXT, ASSAY_LISTED(COLUMNS), &out);
    put_rows(&rows);
    expect(&out, "tensor   dtype    shape   steps  loss  remark\n"
                 "a,\"\\x1b  float32  [2, 3]      3     2  of 7\n"
                 "b        -                   -1   nan\n");
    assay_buf_init(&out, 1 << 16);
    assay_listing_begin(&rows, ASSAY_LISTING_CSV, ASSAY_LISTED(COLUMNS), &out);
    put_rows(&rows);
    expect(&out, "name,dtype,shape,steps,loss,kinds,same_as,low\n"
                 "\"a,\"\"\\x1b\",float32,2x3,3,2.0,min;max,true,2\n"
                 "b,,,-1,nan,,,\n");
    assay_buf_init(&out, 1 << 16);
    assay_listing_begin(&rows, ASSAY_LISTING_JSON, ASSAY_LISTED(COLUMNS), &out);
    put_rows(&rows);
    expect(&out, "{\"name\": \"a,\\\"\\u001b\", \"dtype\": \"float32\", \"shape\": [2, 3], \"steps\": 3, \"loss\": 2, "
                 "\"kinds\": [\"min\", \"max\"], \"same_as\": true, \"more\": [1]}\n"
                 "{\"name\": \"b\", \"dtype\": null, \"shape\": null, \"steps\": -1, \"loss\": \"nan\", "
                 "\"kinds\": null, \"more\": null}\n");
}

static void test_in_json(void)
{
    assay_listing rows;
    assay_buf out = ASSAY_BUF(1 << 16);
    assay_jw w = assay_jw_over(&out);
    assay_jw_array(&w, NULL);
    assay_listing_begin_in(&rows, &w, 1, COLUMNS, 1);
    put_rows(&rows); /* of which only the first cell has a column */
    assay_jw_end(&w);
    CU_ASSERT(assay_jw_done(&w));
    expect(&out, "[\n {\"name\": \"a,\\\"\\u001b\"},\n {\"name\": \"b\"}]");
}

/* A failure to make a cell is the listing's. */
static void test_failure(void)
{
    assay_listing rows;
    assay_buf out = ASSAY_BUF(1 << 16), small = ASSAY_BUF(2);
    assay_put_format(&small, "too long");
    assay_listing_begin(&rows, ASSAY_LISTING_CSV, COLUMNS, 1, &out);
    assay_listing_next(&rows);
    assay_listing_take(&rows, &small);
    assay_listing_end(&rows, 0, NULL);
    CU_ASSERT_NOT_EQUAL(assay_buf_status(&out), ASSAY_OK);
    assay_buf_release(&out);
}

int main(void)
{
    CU_TestInfo tests[] = {{"a table, CSV and JSON", test_forms},
                           {"items of an array", test_in_json},
                           {"a cell that fails", test_failure},
                           CU_TEST_INFO_NULL};
    return unit_main("listing", tests);
}
