/* Arrays that grow: every item stays, what is added is zeroed, and what cannot be had leaves the list as it was. */
#include "unit.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/vec.h"

static void test_growth(void)
{
    ASSAY_VEC(uint32_t) v = {0};
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t *item = ASSAY_VEC_ADD(&v);
        CU_ASSERT_FATAL(item != NULL);
        CU_ASSERT_EQUAL(*item, 0);
        *item = i;
    }
    CU_ASSERT_EQUAL(v.count, 1000);
    CU_ASSERT(v.room >= 1000 && v.room <= 2000);
    for (uint32_t i = 0; i < 1000; i++)
        CU_ASSERT_EQUAL(v.list[i], i);
    const uint32_t *before = v.list;
    CU_ASSERT(ASSAY_VEC_RESERVE(&v, v.room - v.count));
    CU_ASSERT_PTR_EQUAL(v.list, before);
    CU_ASSERT(ASSAY_VEC_RESERVE(&v, 5000));
    CU_ASSERT_EQUAL(v.count, 1000);
    CU_ASSERT(v.room >= 6000);
    free(v.list);
}

static void test_fit(void)
{
    ASSAY_VEC(int) v = {0};
    ASSAY_VEC_FIT(&v);
    CU_ASSERT_PTR_NULL(v.list);
    for (int i = 0; i < 3; i++) {
        int *added = ASSAY_VEC_ADD(&v);
        CU_ASSERT_PTR_NOT_NULL_FATAL(added);
        *added = i;
    }
    CU_ASSERT(v.room > 3);
    ASSAY_VEC_FIT(&v);
    CU_ASSERT(v.room == 3 && v.count == 3 && v.list[0] == 0 && v.list[2] == 2);
    CU_ASSERT_PTR_NOT_NULL(ASSAY_VEC_ADD(&v));
    CU_ASSERT(v.count == 4 && v.room >= 4 && v.list[2] == 2 && v.list[3] == 0);
    free(v.list);
}

static void test_refusals(void)
{
    ASSAY_VEC(uint64_t) v = {0};
    *(uint64_t *)ASSAY_VEC_ADD(&v) = 7;
    const size_t room = v.room;
    CU_ASSERT_FALSE(ASSAY_VEC_RESERVE(&v, SIZE_MAX));     /* the sum of counts */
    CU_ASSERT_FALSE(ASSAY_VEC_RESERVE(&v, SIZE_MAX / 8)); /* the product */
    setenv("ASSAY_FAULT", "alloc:1+", 1);
    assay_fault_arm(0);
    CU_ASSERT_FALSE(ASSAY_VEC_RESERVE(&v, room));
    while (v.count < room)
        CU_ASSERT_PTR_NOT_NULL(ASSAY_VEC_ADD(&v));
    CU_ASSERT_PTR_NULL(ASSAY_VEC_ADD(&v));
    unsetenv("ASSAY_FAULT");
    assay_fault_arm(0);
    CU_ASSERT(v.room == room && v.count == room && v.list[0] == 7);
    free(v.list);
}

int main(void)
{
    CU_TestInfo tests[] = {{"growth", test_growth}, {"fit", test_fit}, {"refusals", test_refusals}, CU_TEST_INFO_NULL};
    return unit_main("vec", tests);
}
