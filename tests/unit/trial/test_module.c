/* test_module.c - what the texts about modules say: the kind, numbers, words. */
#include <assay/module.h>

#include "unit.h"

static void test_kinds(void)
{
    static const struct {
        const char *what;
        int kind;
    } cases[] = {
        {NULL, ASSAY_MODULE_UNKNOWN},
        {"Net", ASSAY_MODULE_UNKNOWN},
        {"torch.Linear", ASSAY_MODULE_LINEAR},
        {"torch.Conv2d stride=2,2", ASSAY_MODULE_CONVOLUTION},
        {"torch.ConvTranspose2d", ASSAY_MODULE_OTHER},
        {"torch.LayerNorm eps=1e-05", ASSAY_MODULE_NORM_ROWS},
        {"torch.RMSNorm eps=1e-06", ASSAY_MODULE_NORM_ROOT},
        {"torch.RMSNorm", ASSAY_MODULE_OTHER}, /* nobody says its eps */
        {"RMSNorm", ASSAY_MODULE_NORM_ROOT},
        {"LlamaRMSNorm variance_epsilon=1e-06", ASSAY_MODULE_NORM_ROOT},
        {"T5RmsNorm", ASSAY_MODULE_NORM_ROOT},
        {"rms_norm", ASSAY_MODULE_NORM_ROOT},
        {"my_rms_norm", ASSAY_MODULE_NORM_ROOT},
        {"LayerNormSimple", ASSAY_MODULE_UNKNOWN},
        {"NormScale", ASSAY_MODULE_UNKNOWN},
        {"TransformSelfAttention", ASSAY_MODULE_UNKNOWN},
        {"Terms eps=1", ASSAY_MODULE_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CU_ASSERT_EQUAL(assay_module_kind_of(cases[i].what), cases[i].kind);
    }
}

static void test_numbers(void)
{
    static const char *const none[] = {"X eps=1e999", "X eps=-inf", "X eps=nan", "X eps=3x",
                                       "X eps=",      "X eps",      "X steps=3", "X"};
    double number = 7;
    CU_ASSERT_TRUE(assay_module_number("torch.Conv2d stride=2,3 eps=0.5", "stride", 1, &number) && number == 3);
    CU_ASSERT_TRUE(assay_module_number("torch.Conv2d stride=2,3 eps=0.5", "eps", 0, &number) && number == 0.5);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        CU_ASSERT_FALSE(assay_module_number(none[i], "eps", 0, &number));
        CU_ASSERT_EQUAL(number, 0.5); /* what is no number leaves the one before */
    }
    CU_ASSERT_FALSE(assay_module_number("X stride=2,3", "stride", 2, &number));
    CU_ASSERT_TRUE(assay_module_says("X padding=same groups=2", "padding", "same"));
    CU_ASSERT_FALSE(assay_module_says("X padding=samesame", "padding", "same"));
}

int main(void)
{
    CU_TestInfo tests[] = {{"kinds", test_kinds}, {"numbers and words", test_numbers}, CU_TEST_INFO_NULL};
    return unit_main("trial/module", tests);
}
