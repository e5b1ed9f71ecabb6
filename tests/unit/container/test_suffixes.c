/* What the ending of a name says. */
#include "container/suffixes.h"

#include <string.h>

#include "unit.h"

static void all_endings_of_a_name_count(void)
{
    CU_ASSERT_EQUAL(assay_suffix_kinds("zero_pp_rank_0_mp_rank_00_optim_states.pt"),
                    ASSAY_SUFFIX_TENSORS | ASSAY_SUFFIX_STATE | ASSAY_SUFFIX_LOADED | ASSAY_SUFFIX_PIECES |
                        ASSAY_SUFFIX_RANK);
    CU_ASSERT_EQUAL(assay_suffix_kinds("a/b.pt/pytorch_model.bin") & ASSAY_SUFFIX_LOADED, ASSAY_SUFFIX_LOADED);
    CU_ASSERT_EQUAL(assay_suffix_kinds("model.safetensors") & ASSAY_SUFFIX_LOADED, 0); /* runs nothing */
    CU_ASSERT_EQUAL(assay_suffix_kinds("model.safetensors.index.json"), ASSAY_SUFFIX_STATE | ASSAY_SUFFIX_DATA);
    CU_ASSERT_EQUAL(assay_suffix_kinds("a.pt/config"), 0);
    CU_ASSERT_EQUAL(assay_suffix_kinds(""), 0);
}

static void a_name_without_its_ending(void)
{
    static const struct {
        const char *name;
        unsigned kinds;
        size_t before;
    } known[] = {
        {"worker0.err", ASSAY_SUFFIX_OUTPUT, 7}, {"worker0.err", ASSAY_SUFFIX_PACKED, 11},
        {"model.pt.gz", ASSAY_SUFFIX_PACKED, 8}, {"x_optim_states.pt", ASSAY_SUFFIX_RANK | ASSAY_SUFFIX_LOADED, 1},
        {".log", ASSAY_SUFFIX_OUTPUT, 0},        {"", ASSAY_SUFFIX_OUTPUT, 0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        CU_ASSERT_EQUAL(assay_suffix_before(known[i].name, strlen(known[i].name), known[i].kinds), known[i].before);
}

int main(void)
{
    CU_TestInfo tests[] = {{"all endings of a name count", all_endings_of_a_name_count},
                           {"a name without its ending", a_name_without_its_ending},
                           CU_TEST_INFO_NULL};
    return unit_main("suffixes", tests);
}
