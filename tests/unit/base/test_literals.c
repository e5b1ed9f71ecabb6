/* Many fixed texts at once: all that are there, wherever they begin, and nothing else. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/literals.h"
#include "random.h"

static const char *const TEXTS[] = {"Error", "CUDA out of memory", "out of memory", "Xid (", "aaaa", "aaaab"};
enum { COUNT = sizeof TEXTS / sizeof *TEXTS };

typedef struct seen {
    size_t count[COUNT], last[COUNT];
} seen;

/* All texts of bytes [low, size). */
static seen see(const assay_literals *l, const char *bytes, size_t low, size_t size)
{
    seen s = {{0}, {0}};
    assay_literal_search search = {.low = low, .place = low};
    while (assay_literals_next(l, bytes, size, &search)) {
        s.count[search.number]++;
        s.last[search.number] = search.at;
    }
    return s;
}

static size_t count_all(const assay_literals *l, const char *bytes, size_t low, size_t size)
{
    const seen s = see(l, bytes, low, size);
    size_t all = 0;
    for (size_t i = 0; i < COUNT; i++)
        all += s.count[i];
    return all;
}

/* How often a text stands in the bytes, by looking at each place. */
static size_t count_of(const char *text, const char *bytes, size_t size)
{
    const size_t length = strlen(text);
    size_t count = 0;
    for (size_t at = 0; at + length <= size; at++)
        count += memcmp(bytes + at, text, length) == 0;
    return count;
}

static void test_places(void)
{
    static const char line[] = "x CUDA out of memory: Error";
    assay_literals *l = assay_literals_new(TEXTS, COUNT);
    const seen s = see(l, line, 0, sizeof line - 1);
    CU_ASSERT(s.count[0] == 1 && s.last[0] == 22);
    CU_ASSERT(s.count[1] == 1 && s.last[1] == 2);
    CU_ASSERT(s.count[2] == 1 && s.last[2] == 7);
    CU_ASSERT(s.count[3] == 0 && s.count[4] == 0);
    CU_ASSERT_EQUAL(see(l, line, 21, sizeof line - 1).last[0], 22);
    CU_ASSERT_EQUAL(count_all(l, line, 23, sizeof line - 1), 0); /* the text began before */
    CU_ASSERT_EQUAL(count_all(l, line, 0, 3), 0);
    assay_literals_free(l);
    CU_ASSERT_PTR_NULL(assay_literals_new((const char *const[]){"abc"}, 1)); /* too short */
}

/* Against a search for each text, over bytes of a small alphabet, in which texts touch and cross. */
static void test_any_bytes(void)
{
    assay_literals *l = assay_literals_new(TEXTS, COUNT);
    char bytes[512];
    uint64_t state = 7;
    for (int round = 0; round < 300; round++) {
        size_t size = 0;
        while (size + 24 < sizeof bytes) {
            const uint32_t r = random_below(&state, 1 << 20);
            if (r % 4 == 0) {
                const char *text = TEXTS[r / 4 % COUNT];
                memcpy(bytes + size, text, strlen(text));
                size += strlen(text);
            } else {
                bytes[size++] = "aErX "[r / 4 % 5];
            }
        }
        const seen s = see(l, bytes, 0, size);
        for (size_t i = 0; i < COUNT; i++)
            CU_ASSERT_EQUAL(s.count[i], count_of(TEXTS[i], bytes, size));
    }
    assay_literals_free(l);
}

/* A text alone, so far from both ends: the short ones are found by bytes beside them, whatever these are. */
static void test_ends(void)
{
    assay_literals *l = assay_literals_new(TEXTS, COUNT);
    char bytes[64];
    for (size_t i = 0; i < COUNT - 1; i++) /* the last one begins with another */
        for (size_t before = 0; before < 10; before++)
            for (size_t behind = 0; behind < 10; behind++) {
                const size_t length = strlen(TEXTS[i]), size = before + length + behind;
                memset(bytes, (int)(31 * before + 17 * behind + 128), sizeof bytes);
                memcpy(bytes + before, TEXTS[i], length);
                CU_ASSERT_EQUAL(see(l, bytes, 0, size).last[i], before);
                CU_ASSERT_EQUAL(see(l, bytes, before, size).count[i],
                                count_of(TEXTS[i], bytes + before, size - before));
                CU_ASSERT_EQUAL(see(l, bytes, before + 1, size).count[i], 0);
                CU_ASSERT_EQUAL(see(l, bytes, 0, before + length - 1).count[i], 0);
            }
    assay_literals_free(l);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"places", test_places}, {"any bytes", test_any_bytes}, {"ends", test_ends}, CU_TEST_INFO_NULL};
    return unit_main("literals", tests);
}
