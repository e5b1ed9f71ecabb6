/* Lower bounds in lists of every length, held against a walk, and the order of texts. */
#include "unit.h"

#include "base/search.h"

static int by_key(const void *item, const void *key)
{
    const int64_t a = *(const int64_t *)item, b = *(const int64_t *)key;
    return ASSAY_ORDER(a, b);
}

static void test_lower_bound(void)
{
    int64_t list[40];
    uint64_t numbers[40];
    for (size_t count = 0; count <= 40; count++) {
        for (size_t i = 0; i < count; i++)
            numbers[i] = (uint64_t)(list[i] = (int64_t)(i / 3) * 2); /* each three times */
        for (int64_t key = -1; key < 30; key++) {
            size_t first = 0;
            while (first < count && list[first] < key)
                first++;
            CU_ASSERT_EQUAL(assay_lower_bound(list, count, sizeof *list, &key, by_key), first);
            CU_ASSERT_EQUAL(assay_lower_bound_i64(list, count, key), first);
            if (key >= 0)
                CU_ASSERT_EQUAL(assay_lower_bound_u64(numbers, count, (uint64_t)key), first);
        }
    }
    CU_ASSERT_EQUAL(assay_lower_bound_i64(NULL, 0, 3), 0);
}

static void test_order(void)
{
    CU_ASSERT(ASSAY_ORDER(1u, 2u) < 0 && ASSAY_ORDER(2, 1) > 0 && ASSAY_ORDER(INT64_MIN, INT64_MIN) == 0);
    CU_ASSERT(assay_order_bytes("a", 1, "b", 1) < 0);
    CU_ASSERT(assay_order_bytes("ab", 2, "a", 1) > 0);
    CU_ASSERT(assay_order_bytes("\xff", 1, "a", 1) > 0);
    CU_ASSERT(assay_order_bytes(NULL, 0, "a", 1) < 0);
    CU_ASSERT(assay_order_bytes(NULL, 0, NULL, 0) == 0);
    CU_ASSERT(assay_order_bytes("ab", 2, "abc", 2) == 0);
}

typedef struct keyed {
    int32_t a, b, c, d, e;
} keyed;
ASSAY_ORDER_BY(by_one, keyed, e)
ASSAY_ORDER_BY(by_two, keyed, a, b)
ASSAY_ORDER_BY(by_five, keyed, a, b, c, d, e)

static void test_members(void)
{
    const keyed x = {1, 2, 3, 4, 5}, y = {1, 2, 3, 4, 6}, z = {1, 1, 9, 9, 9};
    CU_ASSERT(by_one(&x, &y) < 0 && by_one(&y, &x) > 0 && by_one(&x, &x) == 0);
    CU_ASSERT(by_two(&x, &y) == 0 && by_two(&x, &z) > 0 && by_two(&z, &x) < 0);
    CU_ASSERT(by_five(&x, &y) < 0 && by_five(&x, &z) > 0 && by_five(&z, &z) == 0);
    const char *texts[] = {"b", "a"};
    CU_ASSERT(assay_order_texts(texts, texts + 1) > 0 && assay_order_texts(texts, texts) == 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"lower bound", test_lower_bound}, {"order", test_order}, {"members", test_members}, CU_TEST_INFO_NULL};
    return unit_main("search", tests);
}
