/* Numbers in order, of every length around the places where the way of sorting changes. */
#include <assay/timeline.h>
#include <stdlib.h>
#include <string.h>

#include "base/runs.h"
#include "unit.h"

enum { MOST = 5000 };

static uint64_t state = 1;
static uint64_t chance(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ state >> 29;
}

/* Of many sizes and signs, of few, all alike, ascending, descending. */
static int64_t number(int kind, size_t i)
{
    switch (kind) {
    case 0:
        return (int64_t)chance();
    case 1:
        return (int64_t)(chance() % 7) - 3;
    case 2:
        return -5;
    case 3:
        return (int64_t)i * 1000003 - 40;
    case 4:
        return 1700006400000000 - (int64_t)i;
    default:
        return (int64_t)(chance() % 90000) + (chance() % 50 == 0 ? INT64_MIN / 2 : 0);
    }
}
enum { KINDS = 6 };

static int compare_integers(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void as_the_library_does(void)
{
    static const size_t sizes[] = {0, 1, 2, 63, 64, 65, 500, 4095, 4096, 4097, MOST};
    static int64_t list[MOST], wanted[MOST];
    static double reals[MOST];
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            const size_t n = sizes[s];
            bool ascending = true;
            for (size_t i = 0; i < n; i++) {
                wanted[i] = list[i] = number(kind, i);
                reals[i] = (double)list[i] / 1e6;
            }
            if (n > 0)
                qsort(wanted, n, sizeof *wanted, compare_integers);
            assay_sort_integers(list, n);
            assay_sort_reals(reals, n);
            CU_ASSERT(n == 0 || memcmp(list, wanted, n * sizeof *list) == 0);
            for (size_t i = 0; i < n; i++) /* dividing keeps their order */
                ascending = ascending && reals[i] == (double)wanted[i] / 1e6;
            CU_ASSERT(ascending);
        }
}

typedef struct numbered {
    int64_t key;
    size_t place;
} numbered;

static int by_key(const void *a, const void *b)
{
    return compare_integers(&((const numbered *)a)->key, &((const numbered *)b)->key);
}

/* Few runs and many, and items alike, which stay in their order. */
static void runs_are_merged(void)
{
    static const size_t sizes[] = {0, 1, 2, 3, 64, 500, MOST};
    static numbered list[MOST];
    for (size_t runs = 1; runs < 12; runs++)
        for (int kind = 0; kind < KINDS; kind++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                const size_t n = sizes[s], each = n / runs + 1;
                for (size_t i = 0; i < n; i++)
                    list[i] = (numbered){kind == 3 ? (int64_t)(i % each) : number(kind, i), i};
                assay_sort_runs(list, n, sizeof *list, by_key);
                bool sorted = true;
                for (size_t i = 1; i < n; i++)
                    sorted = sorted && (list[i - 1].key < list[i].key ||
                                        (list[i - 1].key == list[i].key && list[i - 1].place < list[i].place));
                CU_ASSERT(sorted);
            }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"as the library does", as_the_library_does}, {"runs are merged", runs_are_merged}, CU_TEST_INFO_NULL};
    return unit_main("sort", tests);
}
