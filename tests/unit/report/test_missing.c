/* What a rule without data says decides what its reader is told to record: sentences as rules say them. */
#include "unit.h"

#include <string.h>

#include "report/model/missing.h"

static report_missing missing_of(const char *message)
{
    return report_find_missing(&(report_rule){.message = message, .message_size = strlen(message)});
}

static void test_sentences(void)
{
    static const struct {
        const char *message;
        report_missing missing;
    } said[] = {
        {"400 labels, and the parameter samples asks for 500.", REPORT_NEEDS_STEPS},
        {"8 images, and the parameter threshold_samples asks for 500.", REPORT_NEEDS_STEPS},
        {"no tensor is in collection gradients", REPORT_NEEDS_GRADIENTS},
        {"no tensor matches ^optimizer/", REPORT_NEEDS_OPTIMIZER},
        {"the trial has no steps of EVAL", REPORT_NEEDS_EVAL},
        {"the rule compares workers, and there is one", REPORT_NEEDS_WORKERS},
        {"", REPORT_NEEDS_OTHER},
        {"of its own kind", REPORT_NEEDS_OTHER},
    };
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        CU_ASSERT_EQUAL(missing_of(said[i].message), said[i].missing);
    CU_ASSERT_STRING_EQUAL(report_missing_words(REPORT_NEEDS_STEPS, false), "need more steps");
}

int main(void)
{
    CU_TestInfo tests[] = {{"sentences", test_sentences}, CU_TEST_INFO_NULL};
    return unit_main("missing", tests);
}
