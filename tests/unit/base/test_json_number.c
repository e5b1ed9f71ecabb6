/* Numbers of JSON as the nearest doubles: the same bits as the C library's strtod(). */
#include "base/json_pull.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

static bool is_same(const char *text)
{
    assay_pull s = {0};
    double value = -1;
    const double wanted = strtod(text, NULL);
    assay_pull_start(&s, text, strlen(text));
    const bool same = assay_pull_number(&s, &value) && assay_pull_end(&s) && memcmp(&value, &wanted, sizeof value) == 0;
    if (!same)
        printf("\n%s reads as %.17g\n", text, value);
    assay_pull_release(&s);
    return same;
}

static void edges(void)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "-0.0",
        "1",
        "9007199254740993",
        "9007199254740993.0",
        "900719925474099.35",
        "1700006411.0018296",
        "1591748169.2323716",
        "0.000000000000000001",
        "18446744073709551615",
        "18446744073709551616",
        "1844674407370955161.5",
        "123456789012345678901234567890",
        "1e22",
        "1e23",
        "8.5e-320",
        "5e-324",
        "2e-324",
        "1.7976931348623157e308",
        "1e309",
        "-1e-9999",
        "0.5000000000000000277555756156289135105907917022705078125",
        "2.00000000000000000000000000000000000000000000000000000000000000000000000000001"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CU_ASSERT_TRUE(is_same(texts[i]));
}

/* Digits by a generator with a fixed seed, with a point at every place. */
static void many(void)
{
    uint64_t state = 1;
    unsigned wrong = 0;
    for (int i = 0; i < 300000; i++) {
        char digits[32], text[40];
        state = state * 6364136223846793005u + 1442695040888963407u;
        const int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)(state >> (state % 40)));
        const int point = 1 + (int)((state >> 50) % (unsigned)length);
        snprintf(text, sizeof text, "%s%.*s%s%s", state & 1 ? "-" : "", point, digits, point < length ? "." : "",
                 digits + point);
        wrong += !is_same(text);
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static void what_is_no_number(void)
{
    static const char *const texts[] = {"", "-", "01", "1.", ".5", "1e", "1e+", "+1", "NaN", "Infinity", "1 2"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assay_pull s = {0};
        double value = 0;
        assay_pull_start(&s, texts[i], strlen(texts[i]));
        CU_ASSERT_FALSE(assay_pull_number(&s, &value) && assay_pull_end(&s));
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"edges of doubles", edges},
                           {"many digits", many},
                           {"what is no number", what_is_no_number},
                           CU_TEST_INFO_NULL};
    return unit_main("json number", tests);
}
