/* test_saved_order.c - one order of all tensors from what each step saves. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "engine/source/saved_order.h"

/* Each text is what one step saves, a letter a tensor; the order of all of them is expected. */
static const char *const CASES[][4] = {
    {"abc", NULL, NULL, "abc"},   {"c", "abcd", NULL, "abcd"},      {"ac", "abc", NULL, "abc"},
    {"abcd", "x", NULL, "xabcd"}, {"ad", "abd", "acd", "acbd"},     {"cba", "abc", NULL, "cba"},
    {"aab", "b", NULL, "ab"},     {"ae", "abcde", "bxe", "abxcde"},
};

static void orders_are_joined(void)
{
    for (size_t c = 0; c < sizeof CASES / sizeof *CASES; c++) {
        char names[27] = "";
        assay_part part[3];
        assay_entry entry[64];
        assay_shard shard = {.parts = part, .entries = entry};
        for (int s = 0; s < 3 && CASES[c][s]; s++) {
            part[shard.count++] =
                (assay_part){.step = s, .first = (uint32_t)shard.entry_count, .count = (uint32_t)strlen(CASES[c][s])};
            for (const char *letter = CASES[c][s]; *letter; letter++) {
                size_t known = strcspn(names, (char[]){*letter, 0});
                names[known] = *letter;
                entry[shard.entry_count++] = (assay_entry){.tensor = (uint32_t)known};
            }
        }
        uint32_t count = (uint32_t)strlen(names);
        uint32_t *before = saved_order_of(&shard, count + 1);
        CU_ASSERT_PTR_NOT_NULL_FATAL(before);
        CU_ASSERT_EQUAL(before[count], SAVED_NEVER);
        uint32_t *position = saved_order_positions(before, count + 1);
        CU_ASSERT_PTR_NOT_NULL_FATAL(position);
        CU_ASSERT_EQUAL(position[count], count);
        char found[27] = "";
        for (uint32_t t = 0; t < count; t++)
            found[position[t]] = names[t];
        if (strcmp(found, CASES[c][3]) != 0)
            printf("\ncase %zu: %s instead of %s\n", c, found, CASES[c][3]);
        CU_ASSERT_STRING_EQUAL(found, CASES[c][3]);
        free(before);
        free(position);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"orders are joined", orders_are_joined}, CU_TEST_INFO_NULL};
    return unit_main("saved order", tests);
}
