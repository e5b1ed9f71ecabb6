/* test_layout.c - text for people: escapes, wrapping, tables, names of workers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/text/layout.h"
#include "report/text/workers.h"
#include "unit.h"

/* The buffer's text; valid until the next call. */
static const char *text_of(assay_buf *buf)
{
    static char text[4096];
    size_t size = buf->size < sizeof text - 1 ? buf->size : sizeof text - 1;
    if (size)
        memcpy(text, buf->data, size);
    text[size] = '\0';
    assay_buf_release(buf);
    return text;
}

static const char *clean(const char *text)
{
    assay_buf out;
    assay_buf_init(&out, 4096);
    assay_text_put_clean(&out, text, strlen(text));
    return text_of(&out);
}

static void test_clean(void)
{
    CU_ASSERT_STRING_EQUAL(clean("plain caf\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x99\x82"),
                           "plain caf\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x99\x82");
    CU_ASSERT_STRING_EQUAL(clean("a\nb\tc\rd"), "a\\nb\\tc\\rd");
    CU_ASSERT_STRING_EQUAL(clean("\x1b[31m\x7f\x01"), "\\x1b[31m\\x7f\\x01");
    CU_ASSERT_STRING_EQUAL(clean("\xff\xc3(\xed\xa0\x80"), "\\xff\\xc3(\\xed\\xa0\\x80");
    CU_ASSERT_STRING_EQUAL(clean("\xc2\x9b \xe2\x80\xae \xe2\x81\xa6"), "\\x9b \\u202e \\u2066");
    CU_ASSERT_STRING_EQUAL(clean(""), "");
}

static const char *wrapped_on(const assay_draw *draw, unsigned indent, const char *lead, const char *text)
{
    assay_buf out;
    assay_buf_init(&out, 4096);
    assay_text_put_wrapped(&out, draw, indent, lead, text, strlen(text));
    return text_of(&out);
}

static const char *wrapped(unsigned indent, const char *lead, const char *text)
{
    return wrapped_on(NULL, indent, lead, text);
}

/* A narrow terminal breaks lines earlier, a wide one does not break them later. */
static void test_terminals(void)
{
    const char text[] =
        "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 "
        "0123456789";
    static const struct {
        unsigned columns;
        size_t first; /* bytes of the first line */
    } cases[] = {{20, 32}, {40, 32}, {43, 43}, {60, 54}, {100, 98}, {300, 98}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const assay_draw draw = {cases[i].columns, false, false};
        CU_ASSERT_EQUAL(strcspn(wrapped_on(&draw, 0, NULL, text), "\n"), cases[i].first);
        CU_ASSERT_EQUAL(assay_text_line_columns(&draw), cases[i].columns < 40 ? 40 : cases[i].columns);
    }
    CU_ASSERT_EQUAL(assay_text_line_columns(NULL), 100);
}

static void test_wrapped(void)
{
    CU_ASSERT_STRING_EQUAL(wrapped(4, NULL, "one  two"), "    one two\n");
    CU_ASSERT_STRING_EQUAL(wrapped(8, "key", "value"), "key     value\n");
    CU_ASSERT_STRING_EQUAL(wrapped(2, "a long lead ", "value"), "a long lead value\n");
    char long_text[300];
    for (size_t i = 0; i < sizeof long_text - 1; i++)
        long_text[i] = i % 10 == 9 ? ' ' : 'x';
    long_text[sizeof long_text - 1] = '\0';
    char copy[4096];
    snprintf(copy, sizeof copy, "%s", wrapped(10, NULL, long_text));
    size_t lines = 0;
    for (char *line = copy; *line; lines++) {
        char *end = strchr(line, '\n');
        CU_ASSERT_FATAL(end != NULL);
        CU_ASSERT(end - line <= ASSAY_TEXT_COLUMNS && strncmp(line, "          x", 11) == 0);
        line = end + 1;
    }
    CU_ASSERT(lines == 4);
}

static void test_numbers(void)
{
    assay_buf out;
    assay_buf_init(&out, 4096);
    assay_text_put_number(&out, 0.1);
    assay_put_u8(&out, ' ');
    assay_text_put_number(&out, -INFINITY);
    assay_put_u8(&out, ' ');
    assay_text_put_number(&out, NAN);
    assay_put_u8(&out, ' ');
    assay_text_put_full(&out, 0.1 + 0.2);
    assay_put_u8(&out, ' ');
    assay_text_put_bytes(&out, 999);
    assay_put_u8(&out, ' ');
    assay_text_put_bytes(&out, 1500000);
    CU_ASSERT_STRING_EQUAL(text_of(&out), "0.1 -inf nan 0.30000000000000004 999 bytes 1.5 MB");
}

static void test_table(void)
{
    static const char *const heads[] = {"name", "n", "last"};
    assay_table table;
    assay_buf out;
    assay_buf_init(&out, 4096);
    assay_table_init(&table, "lrl", heads);
    assay_table_cell(&table, "caf\xc3\xa9\n");
    assay_table_format(&table, "%d", 12345);
    assay_table_cell(&table, "");
    assay_table_cell(&table, "x");
    assay_table_number(&table, 0.5);
    assay_table_cell(&table, "end");
    assay_table_put(&table, 1, NULL, &out);
    assay_table_release(&table);
    CU_ASSERT_STRING_EQUAL(text_of(&out), " name        n  last\n caf\xc3\xa9\\n  12345\n x         0.5  end\n");
}

/* The line of a table with two long cells that may be cut. */
static const char *cut_line(const assay_draw *draw)
{
    static const char *const heads[] = {"a", "b"};
    char wide[200];
    memset(wide, 'w', sizeof wide - 1);
    memcpy(wide, "head", 4);
    memcpy(wide + sizeof wide - 5, "tail", 5);
    assay_table table;
    assay_buf out;
    assay_buf_init(&out, 4096);
    assay_table_init(&table, "ee", heads);
    assay_table_cell(&table, wide);
    assay_table_cell(&table, wide);
    assay_table_put(&table, 4, draw, &out);
    assay_table_release(&table);
    return strchr(text_of(&out), '\n') + 1;
}

static void test_table_fits(void)
{
    const assay_draw tiny = {10, false, false}, narrow = {60, false, false}, wide = {150, false, false};
    const struct {
        const assay_draw *draw;
        size_t columns;
    } cases[] = {{NULL, 100}, {&tiny, 40}, {&narrow, 60}, {&wide, 150}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cut_line(cases[i].draw);
        CU_ASSERT(strlen(text) <= cases[i].columns + 1 && strlen(text) > cases[i].columns - 20);
        CU_ASSERT(strncmp(text, "    head", 8) == 0 && strstr(text, "...") != NULL);
        CU_ASSERT(strcmp(text + strlen(text) - 5, "tail\n") == 0);
    }
}

static const char *names_text(const assay_worker_names *names, const uint32_t *worker, size_t count)
{
    assay_buf out;
    assay_buf_init(&out, 4096);
    assay_worker_names_put(names, worker, count, &out);
    return text_of(&out);
}

static void test_workers(void)
{
    static char w1[] = "worker_1", w3[] = "worker_3", w4[] = "worker_4", zed[] = "zed";
    char *known[] = {w1, w3, w4, zed};
    assay_catalog catalog = {.worker = known, .workers = 4, .expected_workers = 8};
    assay_worker_names names;
    char room[ASSAY_WORKER_ROOM];
    CU_ASSERT_FATAL(assay_worker_names_init(&names, &catalog) == ASSAY_OK);
    static const char *const expected[] = {"worker_1", "worker_3", "worker_4", "zed",
                                           "worker_0", "worker_2", "worker_5", "worker_6"};
    for (uint32_t w = 0; w < 8; w++)
        CU_ASSERT_STRING_EQUAL(assay_worker_name(&names, w, room), expected[w]);
    const uint32_t all[] = {0, 1, 2, 3, 4, 5, 6, 7};
    CU_ASSERT_STRING_EQUAL(names_text(&names, all, 8), "all 8 workers");
    CU_ASSERT_STRING_EQUAL(names_text(&names, all, 4), "worker_1, worker_3-4, zed");
    CU_ASSERT_STRING_EQUAL(names_text(&names, all + 6, 2), "worker_5-6");
    CU_ASSERT_STRING_EQUAL(names_text(&names, all, 1), "worker_1");
    assay_worker_names_release(&names);
}

/* A status table: what a row is about stays whole, names behind it are cut, and a column that says little goes. */
static void test_table_keeps(void)
{
    static const char *const heads[] = {"rule", "status", "step", "worker", "tensor"};
    static const char rule[] = "WeightFrozenDespiteGradient",
                      tensor[] = "encoder.layers.11.attention.output.dense.weight";
    static const struct {
        assay_draw draw;
        bool whole, status, uncut; /* the rule's name, the column, the tensor's name */
    } cases[] = {{{150, false, false}, true, true, true},
                 {{100, false, false}, true, true, false},
                 {{80, false, false}, true, true, false},
                 {{60, false, false}, true, false, false},
                 {{40, false, false}, false, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assay_table table;
        assay_buf out;
        assay_buf_init(&out, 4096);
        assay_table_init(&table, "koree", heads);
        for (size_t c = 0; c < 2; c++)
            assay_table_cell(&table, c ? "IssuesFound" : rule);
        assay_table_format(&table, "%d", 12);
        assay_table_cell(&table, "worker_0");
        assay_table_cell(&table, tensor);
        assay_table_put(&table, 0, &cases[i].draw, &out);
        assay_table_release(&table);
        const char *text = text_of(&out), *line = strchr(text, '\n') + 1;
        CU_ASSERT(strlen(line) <= cases[i].draw.columns + 1);
        CU_ASSERT_EQUAL(strstr(line, rule) != NULL, cases[i].whole);
        CU_ASSERT_EQUAL(strstr(text, "status") != NULL && strstr(line, "IssuesFound") != NULL, cases[i].status);
        CU_ASSERT_EQUAL(strstr(line, tensor) != NULL, cases[i].uncut);
        CU_ASSERT(strstr(line, "12  worker_0") != NULL);
    }
}

/* Rows that are too long although nothing can be cut take several lines, of about the same length. */
static void test_table_folds(void)
{
    static const char *const heads[] = {"step", "worker", "shape", "smallest", "largest"};
    static const char *const cells[] = {"10", "worker_12", "[1024, 4096]", "-0.0123456", "0.0123456"};
    const assay_draw narrow = {40, false, false}, wide = {80, false, false};
    assay_table table;
    for (int i = 0; i < 2; i++) {
        assay_buf out;
        assay_buf_init(&out, 4096);
        assay_table_init(&table, "rllrr", heads);
        for (size_t c = 0; c < sizeof cells / sizeof *cells; c++)
            assay_table_cell(&table, cells[c]);
        assay_table_put(&table, 2, i ? &wide : &narrow, &out);
        assay_table_release(&table);
        CU_ASSERT_STRING_EQUAL(text_of(&out), i ? "  step  worker     shape           smallest    largest\n"
                                                  "    10  worker_12  [1024, 4096]  -0.0123456  0.0123456\n"
                                                : "  step  worker     shape\n"
                                                  "        smallest    largest\n"
                                                  "    10  worker_12  [1024, 4096]\n"
                                                  "      -0.0123456  0.0123456\n");
    }
}

/* A column that gave way although the rows are folded all the same takes what room its line has. */
static void test_table_regains(void)
{
    static const char *const heads[] = {"step", "worker", "value", "tensor"};
    static const char *const cells[] = {"100 to 199", "worker_12", "-0.0123456", "Net_layer1_attention.weight"};
    static const struct {
        unsigned columns;
        const char *said;
    } cases[] = {{50, "        step  worker          value  tensor\n"
                      "  100 to 199  worker_12  -0.0123456  Net_l...eight\n"},
                 {40, "        step  worker          value\n"
                      "      tensor\n"
                      "  100 to 199  worker_12  -0.0123456\n"
                      "      Net_layer1_attention.weight\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const assay_draw draw = {cases[i].columns, false, false};
        assay_table table;
        assay_buf out;
        assay_buf_init(&out, 4096);
        assay_table_init(&table, "rlre", heads);
        for (size_t c = 0; c < sizeof cells / sizeof *cells; c++)
            assay_table_cell(&table, cells[c]);
        assay_table_put(&table, 2, &draw, &out);
        assay_table_release(&table);
        CU_ASSERT_STRING_EQUAL(text_of(&out), cases[i].said);
    }
}

/* A number is kept, and what it counts is cut while it can be read, and then left out. */
static void test_table_measures(void)
{
    static const char *const heads[] = {"value", "tensor"};
    static const struct {
        unsigned columns;
        const char *said;
    } cases[] = {{60, "                  value  tensor\n7 elements not a number  Net_layer1_attention.weight\n"},
                 {48, "              value  tensor\n7 element... number  Net_layer1_attention.weight\n"},
                 {40, "      value  tensor\n          7  Net_layer1_attention.weight\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const assay_draw draw = {cases[i].columns, false, false};
        assay_table table;
        assay_buf out;
        assay_buf_init(&out, 4096);
        assay_table_init(&table, "ul", heads);
        assay_table_measure(&table, "7", "elements not a number");
        assay_table_cell(&table, "Net_layer1_attention.weight");
        assay_table_put(&table, 0, &draw, &out);
        assay_table_release(&table);
        CU_ASSERT_STRING_EQUAL(text_of(&out), cases[i].said);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"names are cleaned", test_clean},
                           {"paragraphs are wrapped", test_wrapped},
                           {"as the terminal has columns", test_terminals},
                           {"terminals", test_terminals},
                           {"numbers", test_numbers},
                           {"tables line up", test_table},
                           {"wide tables are cut to fit", test_table_fits},
                           {"rows that do not fit are folded", test_table_folds},
                           {"what gave way in vain takes room", test_table_regains},
                           {"numbers with what they count", test_table_measures},
                           {"tables keep what they are about", test_table_keeps},
                           {"names of workers, seen and unseen", test_workers},
                           CU_TEST_INFO_NULL};
    return unit_main("layout", tests);
}
