/* The account of an object's keys. */
#include "unit.h"

#include <string.h>

#include "base/keys.h"

static const char *const KNOWN[] = {"tensor_payload", "meta", "dur", NULL};

static const char *damaged(const char *first, const char *second)
{
    assay_keys keys = {.known = KNOWN};
    assay_keys_find(&keys, first, strlen(first));
    assay_keys_find(&keys, second, strlen(second));
    return assay_keys_damaged(&keys);
}

/* Each bit of each known key, flipped, stands where the key should. */
static void test_flips(void)
{
    for (unsigned i = 0; KNOWN[i]; i++)
        for (size_t at = 0; at < strlen(KNOWN[i]); at++)
            for (int bit = 0; bit < 8; bit++) {
                char key[32];
                assay_keys keys = {.known = KNOWN};
                strcpy(key, KNOWN[i]);
                key[at] = (char)(key[at] ^ 1 << bit);
                CU_ASSERT_EQUAL(assay_keys_find(&keys, key, strlen(KNOWN[i])), -1);
                CU_ASSERT_PTR_EQUAL(assay_keys_damaged(&keys), KNOWN[i]);
                CU_ASSERT_PTR_EQUAL(keys.odd, key);
            }
}

static void test_others(void)
{
    assay_keys keys = {.known = KNOWN};
    CU_ASSERT_PTR_NULL(damaged("meta", "dur"));
    CU_ASSERT_PTR_NULL(damaged("meta", "a_later_version"));
    CU_ASSERT_PTR_NULL(damaged("meta", "mete")); /* a key of its own: "meta" is there */
    CU_ASSERT_PTR_NULL(damaged("mete", "meta"));
    CU_ASSERT_PTR_EQUAL(damaged("a_later_version", "mete"), KNOWN[1]);
    CU_ASSERT_EQUAL(assay_keys_find(&keys, "dur", 3), 2);
    CU_ASSERT_EQUAL(keys.twice, 0);
    CU_ASSERT_EQUAL(assay_keys_find(&keys, "dur", 3), 2);
    CU_ASSERT_EQUAL(keys.twice, 1 << 2);
    CU_ASSERT_PTR_NULL(keys.odd);
}

int main(void)
{
    CU_TestInfo tests[] = {{"flipped bits", test_flips}, {"others", test_others}, CU_TEST_INFO_NULL};
    return unit_main("base/keys", tests);
}
