/* Use of the cores from made texts of /proc/stat. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hook/machine.h"

static char proc[] = "/tmp/assay-machine-XXXXXX";

/* The lines of the second of two instants, a second apart. The caller releases them. */
static assay_buf sample_twice(const char *first, const char *second)
{
    static hook_machine machine;
    const char *const text[] = {first, second};
    char path[64];
    assay_buf lines;
    memset(&machine, 0, sizeof machine);
    machine.proc = proc;
    assay_buf_init(&lines, 1 << 20);
    snprintf(path, sizeof path, "%s/stat", proc);
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(path, "w");
        CU_ASSERT_PTR_NOT_NULL_FATAL(file);
        fputs(text[i], file);
        fclose(file);
        assay_buf_clear(&lines);
        hook_machine_sample(&machine, "algo-1", i + 1, &lines);
    }
    assay_put_format(&lines, "%c", '\0');
    remove(path);
    return lines;
}

static bool has(const assay_buf *lines, const char *name, const char *dimension, const char *value)
{
    char text[128];
    snprintf(text, sizeof text, "\"Name\":\"%s\",\"Dimension\":\"%s\",\"Value\":%s,", name, dimension, value);
    return lines->data && strstr((const char *)lines->data, text) != NULL;
}

/* user nice system idle iowait irq softirq steal */
static void test_use(void)
{
    assay_buf lines = sample_twice("cpu0 100 0 0 1000 50 0 0 0 0 0\ncpu1 0 0 0 500 0 0 0 0 0 0\n",
                                   "cpu0 150 0 0 1030 70 0 0 0 0 0\ncpu1 0 0 0 600 0 0 0 0 0 0\n");
    CU_ASSERT(has(&lines, "cpu0", "CPUUtilization", "50.00"));
    CU_ASSERT(has(&lines, "cpu0", "I/OWaitPercentage", "20.00"));
    CU_ASSERT(has(&lines, "cpu1", "CPUUtilization", "0.00"));
    assay_buf_release(&lines);
}

static void test_less_waiting(void)
{
    assay_buf lines = sample_twice("cpu0 100 0 0 1000 50 0 0 0 0 0\n", "cpu0 190 0 0 1010 40 0 0 0 0 0\n");
    CU_ASSERT(has(&lines, "cpu0", "CPUUtilization", "88.89")); /* of 90 ticks 10 were idle */
    CU_ASSERT(has(&lines, "cpu0", "I/OWaitPercentage", "0.00"));
    assay_buf_release(&lines);
}

/* The first line is the sum of all cores. */
static void test_sum_of_cores(void)
{
    assay_buf lines = sample_twice("cpu  7 0 100 1000 50 0 0 0 0 0\ncpu0 7 0 100 1000 50 0 0 0 0 0\n",
                                   "cpu  7 0 140 1060 50 0 0 0 0 0\ncpu0 7 0 140 1060 50 0 0 0 0 0\n");
    CU_ASSERT(has(&lines, "cpu0", "CPUUtilization", "40.00"));
    CU_ASSERT_PTR_NULL(strstr((const char *)lines.data, "cpu7"));
    assay_buf_release(&lines);
}

int main(void)
{
    CU_TestInfo tests[] = {{"use of cores", test_use},
                           {"waiting that becomes less", test_less_waiting},
                           {"the sum of all cores is no core", test_sum_of_cores},
                           CU_TEST_INFO_NULL};
    if (!mkdtemp(proc))
        return 2;
    const int failed = unit_main("hook machine", tests);
    rmdir(proc);
    return failed;
}
