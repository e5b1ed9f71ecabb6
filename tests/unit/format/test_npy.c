/* Names in a tree of .npy files, and headers: what is read, what is refused and why. */
#include "format/npy/npy.h"

#include "unit.h"

static void test_names(void)
{
    static const struct {
        const char *name;
        int64_t step; /* -1: none */
        bool worker;
    } rows[] = {{"7", 7, false},
                {"000100", 100, false},
                {"step_10", 10, false},
                {"Step=3", 3, false},
                {"steps-4", 4, false},
                {"global_step500", 500, false},
                {"iter_0000007", 7, false},
                {"checkpoint-9223372036854775807", INT64_MAX, false},
                {"checkpoint-9223372036854775808", -1, false},
                {"step", -1, false},
                {"step_", -1, false},
                {"step_1a", -1, false},
                {"weights", -1, false},
                {"", -1, false},
                {"-1", -1, false},
                {"rank_3", -1, true},
                {"worker_12", -1, true},
                {"Proc-0", -1, true},
                {"shard7", -1, true},
                {"worker_", -1, false},
                {"worker_x", -1, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t step = -1;
        CU_ASSERT_EQUAL(assay_npy_step_name(rows[i].name, &step), rows[i].step >= 0);
        CU_ASSERT_EQUAL(step, rows[i].step);
        CU_ASSERT_EQUAL(assay_npy_worker_name(rows[i].name), rows[i].worker);
    }
}

static void test_headers(void)
{
    static const struct {
        const char *text;
        int status;
        const char *words; /* of the message */
    } rows[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", ASSAY_OK, ""},
        {"{ \"shape\":(2L,3) ,'fortran_order':False,'descr':'<f4'}\n  ", ASSAY_OK, ""},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", ASSAY_EUNSUPPORTED, "pickled Python objects"},
        {"{'descr': '<U3', 'fortran_order': False, 'shape': (2,), }", ASSAY_EUNSUPPORTED, "texts"},
        {"{'descr': '<M8[s]', 'fortran_order': False, 'shape': (2,), }", ASSAY_EUNSUPPORTED, "dates"},
        {"{'descr': '|V2', 'fortran_order': False, 'shape': (2,), }", ASSAY_EUNSUPPORTED, "raw bytes"},
        {"{'descr': '<f3', 'fortran_order': False, 'shape': (2,), }", ASSAY_EUNSUPPORTED, "no such dtype"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", ASSAY_EUNSUPPORTED, "several fields"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,), }", ASSAY_EFORMAT, "neither True nor False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2), }", ASSAY_EFORMAT, "not a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", ASSAY_EFORMAT, "whole number"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }", ASSAY_EFORMAT, "comma"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", ASSAY_EFORMAT, "64 bits"},
        {"{'descr': '<f4', 'fortran_order': False}", ASSAY_EFORMAT, "missing"},
        {"{'descr': '<f4', 'descr': '<f4', 'shape': (2,)}", ASSAY_EFORMAT, "twice"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}", ASSAY_EFORMAT, "an unknown key"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", ASSAY_EFORMAT, "follows"},
        {"{'descr': '<\\x66', 'fortran_order': False, 'shape': (2,)}", ASSAY_EFORMAT, "backslash"},
        {"{'descr': '<f4", ASSAY_EFORMAT, "without an end"},
        {"{'descr': __import__('os'), 'fortran_order': False, 'shape': (2,)}", ASSAY_EFORMAT, "quotes"},
        {"[]", ASSAY_EFORMAT, "no dictionary"},
        {"", ASSAY_EFORMAT, "no dictionary"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assay_npy_head head = {0};
        assay_error what = {{0}};
        size_t at = 0, size = strlen(rows[i].text);
        CU_ASSERT_EQUAL(assay_npy_head_read(rows[i].text, size, NULL, &head, &at, &what), rows[i].status);
        CU_ASSERT(at <= size && strstr(what.text, rows[i].words) != NULL);
        if (!strstr(what.text, rows[i].words))
            fprintf(stderr, "%s: %s\n", rows[i].text, what.text);
        if (rows[i].status == ASSAY_OK)
            CU_ASSERT(head.dtype == ASSAY_FLOAT32 && head.dims == 2 && head.shape[0] == 2 && head.shape[1] == 3 &&
                      !head.fortran && !head.swapped);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"steps and workers", test_names}, {"headers", test_headers}, CU_TEST_INFO_NULL};
    return unit_main("trial/npy", tests);
}
