/* Large blocks: where they begin, that all of their bytes are theirs, and that they go back. */
#include "unit.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

enum { LARGE_PAGE = 2 << 20 };

static void test_sizes(void)
{
    const size_t sizes[] = {
        0, 1, LARGE_PAGE - 1, LARGE_PAGE, LARGE_PAGE + 1, 2 * LARGE_PAGE + 16, 5 * LARGE_PAGE - 4096};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t *a = assay_heap_take_large(sizes[i]), *b = assay_heap_take_large(sizes[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(a);
        CU_ASSERT_PTR_NOT_NULL_FATAL(b);
        CU_ASSERT_TRUE(sizes[i] < LARGE_PAGE || (uintptr_t)a % LARGE_PAGE == 0);
        memset(a, 1, sizes[i]);
        memset(b, 2, sizes[i]);
        size_t wrong = 0;
        for (size_t k = 0; k < sizes[i]; k++)
            wrong += a[k] != 1 || b[k] != 2;
        CU_ASSERT_EQUAL(wrong, 0);
        assay_heap_give_large(a, sizes[i]);
        assay_heap_give_large(b, sizes[i]);
    }
    assay_heap_give_large(NULL, LARGE_PAGE);
}

/* What a block takes is at most an eighth and a page more than was asked for, and never less. */
static void test_cost(void)
{
    for (size_t size = LARGE_PAGE; size < 20 * (size_t)LARGE_PAGE; size += 65537) {
        const size_t cost = assay_heap_cost_of_large(size);
        CU_ASSERT_TRUE(cost >= size && cost <= size + size / 8 + 65536);
    }
    CU_ASSERT_EQUAL(assay_heap_cost_of_large(8 * LARGE_PAGE - 1), 8 * LARGE_PAGE);
    CU_ASSERT_TRUE(assay_heap_cost_of_large(LARGE_PAGE / 4 * 5) < 2 * LARGE_PAGE);
    CU_ASSERT_EQUAL(assay_heap_cost_of_large(SIZE_MAX), SIZE_MAX);
}

/* Nothing of what went back stays resident. */
static void test_goes_back(void)
{
    enum { SIZE = 32 * LARGE_PAGE };
    size_t before = assay_heap_resident();
    for (int i = 0; i < 4; i++) {
        void *bytes = assay_heap_take_large(SIZE);
        CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
        memset(bytes, i, SIZE);
        CU_ASSERT_TRUE(assay_heap_resident() >= before + SIZE / 2);
        assay_heap_give_large(bytes, SIZE);
    }
    CU_ASSERT_TRUE(assay_heap_resident() < before + SIZE / 2);
}

static void test_too_large(void)
{
    CU_ASSERT_PTR_NULL(assay_heap_take_large(SIZE_MAX));
    CU_ASSERT_PTR_NULL(assay_heap_take_large(SIZE_MAX / 2));
}

/* A list keeps what is in it, whichever way it grows or shrinks, and room that was not used is not resident. */
static void test_lists(void)
{
    const size_t sizes[] = {100, 200 << 10, 300 << 10, 64 << 20, 400 << 10, 5000, 1 << 20};
    uint8_t *list = NULL;
    size_t size = 0, filled = 0, wrong = 0, before = assay_heap_resident();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        list = assay_heap_resize_list(list, size, sizes[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(list);
        size = sizes[i];
        filled = filled < size ? filled : size;
        for (size_t k = 0; k < filled; k++)
            wrong += list[k] != k % 251;
        for (; filled < size && filled < 1 << 20; filled++)
            list[filled] = (uint8_t)(filled % 251);
        CU_ASSERT_TRUE(assay_heap_resident() < before + (32 << 20));
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_PTR_NULL(assay_heap_resize_list(list, size, SIZE_MAX));
    CU_ASSERT_EQUAL(list[size - 1], (size - 1) % 251);
    assay_heap_drop_list(list, size);
    assay_heap_drop_list(NULL, size);
}

/* What was forgotten is not resident, and what lies around it is as it was. */
static void test_forget(void)
{
    enum { SIZE = 32 << 20, FROM = 5000, TO = SIZE - 7000 };
    uint8_t *bytes = malloc(SIZE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    size_t before = assay_heap_resident(), wrong = 0;
    memset(bytes, 9, SIZE);
    assay_heap_forget(bytes + FROM, TO - FROM);
    CU_ASSERT_TRUE(assay_heap_resident() < before + SIZE / 2);
    for (size_t i = 0; i < SIZE; i++)
        wrong += (i < FROM || i >= TO) && bytes[i] != 9;
    CU_ASSERT_EQUAL(wrong, 0);
    assay_heap_forget(bytes + 1, 100);
    CU_ASSERT_EQUAL(bytes[1], 9);
    free(bytes);
}

/* Is it known what the allocator returns? What checks memory in its place returns nothing. */
static bool returns_memory(void)
{
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 33)
    return !UNIT_SANITIZED;
#endif
#endif
    return false;
}

static void test_kept(void)
{
    enum { BLOCKS = 512, SIZE = 48 << 10, ALL = BLOCKS * SIZE };
    uint8_t *block[BLOCKS];
    if (!returns_memory())
        return;
    for (size_t i = 0; i < BLOCKS; i++) {
        block[i] = malloc(SIZE);
        CU_ASSERT_PTR_NOT_NULL_FATAL(block[i]);
        memset(block[i], 1, SIZE);
    }
    for (size_t i = 0; i + 1 < BLOCKS; i++) /* the last one stays: the others are no end of the heap */
        free(block[i]);
    const size_t before = assay_heap_resident();
    assay_heap_keep(2 * ALL);
    assay_heap_trim();
    CU_ASSERT_TRUE(assay_heap_resident() + ALL / 4 > before);
    assay_heap_keep(ALL / 2);
    assay_heap_trim();
    CU_ASSERT_TRUE(assay_heap_resident() + ALL / 2 < before);
    assay_heap_keep(0);
    free(block[BLOCKS - 1]);
}

int main(void)
{
    CU_TestInfo tests[] = {{"sizes", test_sizes},
                           {"what a block takes", test_cost},
                           {"what goes back", test_goes_back},
                           {"too large", test_too_large},
                           {"lists", test_lists},
                           {"what is forgotten", test_forget},
                           {"what is kept", test_kept},
                           CU_TEST_INFO_NULL};
    return unit_main("heap", tests);
}
