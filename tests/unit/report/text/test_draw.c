/* test_draw.c - drawings in text, cells of tables with commas, names cut in their middle. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "report/text/csv.h"
#include "report/text/draw.h"
#include "report/text/layout.h"
#include "unit.h"

static const assay_draw ascii = {80, false, false}, blocks = {80, true, true};

/* The buffer's text, and empties it; valid until the next call. */
static const char *taken(assay_buf *buf)
{
    static char text[4096];
    CU_ASSERT_FATAL(assay_buf_status(buf) == ASSAY_OK && buf->size < sizeof text);
    memcpy(text, buf->size ? (const char *)buf->data : "", buf->size);
    text[buf->size] = '\0';
    assay_buf_clear(buf);
    return text;
}

static assay_buf out;

static const char *sparkline(const double *value, size_t count, unsigned columns)
{
    assay_draw_sparkline(&ascii, value, count, columns, &out);
    return taken(&out);
}

static void test_sparkline(void)
{
    const double ramp[] = {0, 1, 2, 3, 4, 5, 6, 7}, flat[] = {2, 2}, wide[] = {-DBL_MAX, 0, DBL_MAX};
    const double odd[] = {NAN, 1, INFINITY, 3, -INFINITY}, never[] = {NAN, INFINITY};
    CU_ASSERT_STRING_EQUAL(sparkline(ramp, 8, 20), "_.-=+*#@");
    CU_ASSERT_STRING_EQUAL(sparkline(ramp, 8, 4), "_-*@");
    CU_ASSERT_STRING_EQUAL(sparkline(ramp, 8, 1), "+");
    CU_ASSERT_STRING_EQUAL(sparkline(ramp, 0, 4), "");
    CU_ASSERT_STRING_EQUAL(sparkline(flat, 2, 4), "++");
    CU_ASSERT_STRING_EQUAL(sparkline(wide, 3, 4), "_+@");
    CU_ASSERT_STRING_EQUAL(sparkline(odd, 5, 9), "x_x@x");
    CU_ASSERT_STRING_EQUAL(sparkline(never, 2, 9), "xx");
    assay_draw_sparkline(&blocks, odd + 1, 3, 9, &out);
    CU_ASSERT_STRING_EQUAL(taken(&out), "\xe2\x96\x81\x1b[35m\xc3\x97\x1b[0m\xe2\x96\x88");
}

static const char *bar(const assay_draw *draw, double share, unsigned columns)
{
    assay_draw_bar(draw, share, columns, &out);
    return taken(&out);
}

static void test_bars(void)
{
    const assay_draw plain = {80, true, false};
    CU_ASSERT_STRING_EQUAL(bar(&ascii, 1, 4), "####");
    CU_ASSERT_STRING_EQUAL(bar(&ascii, 0.5, 4), "##");
    CU_ASSERT_STRING_EQUAL(bar(&ascii, 1e-9, 4), ".");
    CU_ASSERT_STRING_EQUAL(bar(&ascii, 0, 4), "");
    CU_ASSERT_STRING_EQUAL(bar(&ascii, -3, 4), "");
    CU_ASSERT_STRING_EQUAL(bar(&ascii, NAN, 4), "");
    CU_ASSERT_STRING_EQUAL(bar(&ascii, 1e300, 4), "####");
    CU_ASSERT_STRING_EQUAL(bar(&plain, 1, 2), "\xe2\x96\x88\xe2\x96\x88");
    CU_ASSERT_STRING_EQUAL(bar(&plain, 0.8125, 2), "\xe2\x96\x88\xe2\x96\x8b"); /* one and five eighths */
    CU_ASSERT_STRING_EQUAL(bar(&blocks, 1e-9, 2), "\x1b[34m\xe2\x96\x8f\x1b[0m");
}

static void test_shades(void)
{
    const double share[] = {0, 1e-9, 0.25, 0.5, 0.75, 1, 7}, place[] = {0, 0.5, 1, -1, 2};
    for (size_t i = 0; i < 7; i++)
        assay_draw_shade(&ascii, share[i], ASSAY_DRAW_GOOD, i == 3 ? 2 : 1, &out);
    CU_ASSERT_STRING_EQUAL(taken(&out), " .+**###");
    assay_draw_shade(&blocks, 0, ASSAY_DRAW_BAD, 2, &out);
    assay_draw_shade(&blocks, 0.1, ASSAY_DRAW_PLAIN, 2, &out);
    CU_ASSERT_STRING_EQUAL(taken(&out), "  \xe2\x96\x91\xe2\x96\x91");
    assay_draw_marks(&ascii, place, 5, 5, &out);
    CU_ASSERT_STRING_EQUAL(taken(&out), "#.#.#");
    assay_draw_marks(&ascii, place, 0, 3, &out);
    CU_ASSERT_STRING_EQUAL(taken(&out), "...");
}

static void test_cells(void)
{
    const double real[] = {3, -0.0, 0.1, 1e22, NAN, -INFINITY};
    static const char *const texts[] = {"plain", "a,b", "say \"so\"", "two\nlines", "cr\r", "\xff caf\xc3\xa9",
                                        "=1+1",  ""};
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        assay_csv_put_real(&out, real[i]);
        assay_put_u8(&out, ' ');
    }
    CU_ASSERT_STRING_EQUAL(taken(&out), "3.0 -0.0 0.1 1e+22 nan -inf ");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assay_csv_put_text(&out, texts[i]);
        assay_put_u8(&out, ';');
    }
    CU_ASSERT_STRING_EQUAL(taken(&out),
                           "plain;\"a,b\";\"say \"\"so\"\"\";\"two\nlines\";\"cr\r\";\xef\xbf\xbd caf\xc3\xa9;=1+1;;");
}

static void test_cut(void)
{
    assay_text_put_cut(&out, "0123456789", 10, 10);
    CU_ASSERT_STRING_EQUAL(taken(&out), "0123456789");
    assay_text_put_cut(&out, "0123456789", 10, 8);
    CU_ASSERT_STRING_EQUAL(taken(&out), "01...789");
    assay_text_put_cut(&out, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 14, 5);
    CU_ASSERT_STRING_EQUAL(taken(&out), "\xc3\xa9...\xc3\xa9");
}

int main(void)
{
    CU_TestInfo tests[] = {{"sparklines", test_sparkline},    {"bars", test_bars},
                           {"shades and marks", test_shades}, {"cells of tables with commas", test_cells},
                           {"cut names", test_cut},           CU_TEST_INFO_NULL};
    assay_buf_init(&out, 1 << 16);
    int code = unit_main("draw", tests);
    assay_buf_release(&out);
    return code;
}
