/* test_reference_cache.c - contents kept for comparisons: found by their entry, within a budget, never half filled. */
#include <stdlib.h>
#include <string.h>

#include "engine/map/reference_cache.h"
#include "unit.h"

enum { ELEMENTS = 1000, BYTES = ELEMENTS * 4 };

static const int64_t SHAPE[] = {10, 100};
static const assay_reference_key KEY = {3, 1, 0}, OTHER_TENSOR = {4, 1, 0}, OTHER_WORKER = {3, 2, 0};

static assay_record record_of(uint64_t elements, const int64_t *shape, int dims)
{
    assay_record record;
    memset(&record, 0, sizeof record);
    record.dtype = ASSAY_FLOAT32;
    record.dims = dims;
    record.elements = elements;
    memcpy(record.shape, shape, (size_t)dims * sizeof *shape);
    return record;
}

/* Takes a content in as the reading of a record does; what it was filled with. NULL: there was no room. */
static const uint8_t *put_one(assay_reference_cache *kept, assay_reference_key key, const assay_entry *entry,
                              uint8_t fill, bool passed_by)
{
    assay_record record = record_of(ELEMENTS, SHAPE, 2);
    bool apart = false;
    assay_reference_cache_next(kept);
    uint8_t *to = assay_reference_cache_begin(kept, key, &record, passed_by, &apart);
    if (!to)
        return NULL;
    memset(to, fill, BYTES);
    assay_reference_cache_end(kept, key, entry, &record);
    return to;
}

static const uint8_t *put(assay_reference_cache *kept, assay_reference_key key, const assay_entry *entry, uint8_t fill)
{
    return put_one(kept, key, entry, fill, false);
}

static bool holds(assay_reference_cache *kept, assay_reference_key key, const assay_entry *entry, uint8_t fill)
{
    const assay_cached_reference *found = assay_reference_cache_find(kept, key, entry);
    bool same = found && found->entry == entry && found->dtype == ASSAY_FLOAT32 && found->elements == ELEMENTS &&
                found->size == BYTES && found->dims == 2 && found->shape[0] == 10 && found->shape[1] == 100;
    for (size_t i = 0; same && i < BYTES; i++)
        same = found->bytes[i] == fill;
    return same;
}

static void test_found_by_entry(void)
{
    assay_reference_cache *kept = assay_reference_cache_new(1 << 20);
    assay_entry first = {.offset = 1}, second = {.offset = 2};
    CU_ASSERT_PTR_NULL(assay_reference_cache_find(kept, KEY, &first));
    CU_ASSERT_PTR_NOT_NULL(put(kept, KEY, &first, 1));
    assay_reference_cache_next(kept);
    CU_ASSERT(holds(kept, KEY, &first, 1));
    CU_ASSERT_PTR_NULL(assay_reference_cache_find(kept, KEY, &second));
    CU_ASSERT_PTR_NULL(assay_reference_cache_find(kept, OTHER_TENSOR, &first));
    CU_ASSERT_PTR_NULL(assay_reference_cache_find(kept, OTHER_WORKER, &first));
    CU_ASSERT_PTR_NOT_NULL(put(kept, KEY, &second, 2)); /* the newest takes its place */
    CU_ASSERT_PTR_NULL(assay_reference_cache_find(kept, KEY, &first));
    CU_ASSERT(holds(kept, KEY, &second, 2));
    assay_reference_cache_evict(kept, KEY);
    CU_ASSERT_PTR_NULL(assay_reference_cache_find(kept, KEY, &second));
    CU_ASSERT_PTR_NOT_NULL(put(kept, KEY, &first, 3));
    assay_reference_cache_clear(kept);
    CU_ASSERT_PTR_NULL(assay_reference_cache_find(kept, KEY, &first));
    assay_reference_cache_free(kept);
}

/* A record that turned out damaged was begun and not ended: neither it nor what lay there before is found. */
static void test_begun_and_not_ended(void)
{
    assay_reference_cache *kept = assay_reference_cache_new(1 << 20);
    assay_entry first = {.offset = 1}, second = {.offset = 2};
    assay_record record = record_of(ELEMENTS, SHAPE, 2);
    bool apart = false;
    put(kept, KEY, &first, 1);
    assay_reference_cache_next(kept);
    uint8_t *to = assay_reference_cache_begin(kept, KEY, &record, false, &apart);
    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    memset(to, 2, BYTES / 2);
    assay_reference_cache_next(kept);
    CU_ASSERT_PTR_NULL(assay_reference_cache_find(kept, KEY, &first));
    CU_ASSERT_PTR_NULL(assay_reference_cache_find(kept, KEY, &second));
    assay_reference_cache_free(kept);
}

/* While a tensor is compared with the content that was found for it, its own goes elsewhere. */
static void test_apart(void)
{
    assay_reference_cache *kept = assay_reference_cache_new(1 << 20);
    assay_entry first = {.offset = 1}, second = {.offset = 2};
    assay_record record = record_of(ELEMENTS, SHAPE, 2);
    bool apart = true;
    put(kept, KEY, &first, 1);
    assay_reference_cache_next(kept);
    CU_ASSERT(holds(kept, KEY, &first, 1));
    uint8_t *to = assay_reference_cache_begin(kept, KEY, &record, false, &apart);
    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    CU_ASSERT_TRUE(apart);
    memset(to, 2, BYTES);
    CU_ASSERT(holds(kept, KEY, &first, 1)); /* untouched */
    assay_reference_cache_end(kept, KEY, &second, &record);
    CU_ASSERT(holds(kept, KEY, &second, 2));
    assay_reference_cache_free(kept);
}

/* Over contents that some comparisons pass by, the one before them stays: until the next one that they take. */
static void test_passed_by(void)
{
    assay_reference_cache *kept = assay_reference_cache_new(1 << 20);
    assay_entry before = {.offset = 1}, passed[2] = {{.offset = 2}, {.offset = 3}}, next = {.offset = 4};
    put(kept, KEY, &before, 1);
    for (int i = 0; i < 2; i++) {
        put_one(kept, KEY, &passed[i], (uint8_t)(2 + i), true);
        CU_ASSERT(holds(kept, KEY, &passed[i], (uint8_t)(2 + i)));
        CU_ASSERT(holds(kept, KEY, &before, 1));
    }
    CU_ASSERT_PTR_NULL(assay_reference_cache_find(kept, KEY, &passed[0]));
    put(kept, KEY, &next, 4);
    CU_ASSERT(holds(kept, KEY, &next, 4));
    CU_ASSERT_PTR_NULL(assay_reference_cache_find(kept, KEY, &before));
    put_one(kept, KEY, &passed[0], 5, true);
    assay_reference_cache_evict(kept, KEY);
    CU_ASSERT_PTR_NULL(assay_reference_cache_find(kept, KEY, &next));
    CU_ASSERT_PTR_NULL(assay_reference_cache_find(kept, KEY, &passed[0]));
    assay_reference_cache_free(kept);
}

/* Compares each step with the one before and, a TRAIN step, with the last of those, as long as there is room for so
 * many bytes; `modes` has T for a TRAIN step and E for an evaluation. Writes to `again` at which steps something was
 * missing: once for each content. */
static void walk_modes(const char *modes, size_t budget, char *again)
{
    enum { MANY = 100000 };
    static const int64_t shape[] = {MANY};
    assay_reference_cache *kept = assay_reference_cache_new(budget);
    assay_record record = record_of(MANY, shape, 1);
    assay_entry entries[16];
    int train = -1;
    for (int step = 0; modes[step]; step++) {
        const bool passed_by = modes[step] == 'E';
        const int before[2] = {step - 1, passed_by || train == step - 1 ? -1 : train};
        bool apart = true;
        assay_reference_cache_next(kept);
        for (int i = 0; i < 2; i++) {
            if (before[i] < 0)
                continue;
            const assay_cached_reference *found = assay_reference_cache_find(kept, KEY, &entries[before[i]]);
            CU_ASSERT(!found || (found->bytes[0] == before[i] && found->bytes[found->size - 1] == before[i]));
            if (!found)
                *again++ = (char)('0' + step);
        }
        uint8_t *to = assay_reference_cache_begin(kept, KEY, &record, passed_by, &apart);
        if (to) {
            memset(to, step, 4 * MANY);
            assay_reference_cache_end(kept, KEY, &entries[step], &record);
        }
        train = passed_by ? train : step;
    }
    *again = 0;
    assay_reference_cache_free(kept);
}

/* Where two contents do not fit, the newest one is kept, whatever its step. */
static void test_passed_by_without_room(void)
{
    char again[32];
    walk_modes("TEETTTTET", 500000, again);
    CU_ASSERT_STRING_EQUAL(again, "38");
    walk_modes("TEETTTTET", 900000, again);
    CU_ASSERT_STRING_EQUAL(again, "");
    walk_modes("TEETTTTET", 300000, again);
    CU_ASSERT_STRING_EQUAL(again, "1233456788");
}

/* What a window goes back to again and again is worth keeping from the second time on. */
static void test_oldest_of_a_window(void)
{
    assay_reference_cache *kept = assay_reference_cache_new(1 << 20);
    assay_entry old = {.offset = 1}, now = {.offset = 2}, next = {.offset = 3};
    assay_record record = record_of(ELEMENTS, SHAPE, 2);
    put(kept, KEY, &now, 2);
    assay_reference_cache_next(kept);
    CU_ASSERT_PTR_NULL(assay_reference_cache_oldest(kept, KEY, &old, &record));
    assay_reference_cache_next(kept);
    uint8_t *to = assay_reference_cache_oldest(kept, KEY, &old, &record);
    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    memset(to, 1, BYTES);
    assay_reference_cache_filled(kept, KEY, &old, &record);
    assay_reference_cache_next(kept);
    CU_ASSERT(holds(kept, KEY, &old, 1));
    CU_ASSERT(holds(kept, KEY, &now, 2));
    CU_ASSERT_PTR_NULL(assay_reference_cache_oldest(kept, KEY, &old, &record)); /* it is there */
    put(kept, KEY, &next, 3);
    CU_ASSERT(holds(kept, KEY, &old, 1)); /* stays while the window goes back to it */
    assay_reference_cache_free(kept);
}

/* A window that moves on finds the small contents that it comes to; those behind it go. */
static void test_moving_window(void)
{
    enum { STEPS = 100, BACK = 20 };
    static assay_entry entries[STEPS];
    assay_reference_cache *kept = assay_reference_cache_new(1 << 20);
    assay_record record = record_of(ELEMENTS, SHAPE, 2);
    for (int step = 0; step < STEPS; step++) {
        int back = step < BACK ? 0 : step - BACK;
        assay_reference_cache_next(kept);
        if (step > 0) {
            CU_ASSERT(holds(kept, KEY, &entries[back], (uint8_t)back));
            CU_ASSERT_PTR_NULL(assay_reference_cache_oldest(kept, KEY, &entries[back], &record));
        }
        bool apart = false;
        uint8_t *to = assay_reference_cache_begin(kept, KEY, &record, false, &apart);
        CU_ASSERT_PTR_NOT_NULL_FATAL(to);
        memset(to, step, BYTES);
        CU_ASSERT(step == 0 || back == step - 1 || holds(kept, KEY, &entries[back], (uint8_t)back)); /* untouched */
        assay_reference_cache_end(kept, KEY, &entries[step], &record);
        CU_ASSERT_PTR_NULL(back > 1 ? assay_reference_cache_find(kept, KEY, &entries[back - 2]) : NULL);
    }
    assay_reference_cache_evict(kept, KEY);
    CU_ASSERT_PTR_NULL(assay_reference_cache_find(kept, KEY, &entries[STEPS - 5]));
    assay_reference_cache_free(kept);
}

/* Many tensors within a small budget: what is there stays, what is found is right, and no more is taken. */
static void test_budget(void)
{
    enum { TENSORS = 200, ROUNDS = 5 };
    static assay_entry entries[ROUNDS][TENSORS];
    assay_reference_cache *kept = assay_reference_cache_new(50 * BYTES);
    size_t held[ROUNDS] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t t = 0; t < TENSORS; t++)
            (void)put(kept, (assay_reference_key){t, 0, 0}, &entries[round][t], (uint8_t)(7 * (uint32_t)round + t));
        assay_reference_cache_next(kept);
        for (uint32_t t = 0; t < TENSORS; t++) {
            bool found = assay_reference_cache_find(kept, (assay_reference_key){t, 0, 0}, &entries[round][t]);
            CU_ASSERT(!found || holds(kept, (assay_reference_key){t, 0, 0}, &entries[round][t],
                                      (uint8_t)(7 * (uint32_t)round + t)));
            CU_ASSERT(!found || round == 0 || t < held[0]); /* the same tensors as at the first step */
            held[round] += found;
        }
        CU_ASSERT(held[round] > 20 && held[round] < 50);
        CU_ASSERT_EQUAL(held[round], held[0]);
    }
    assay_reference_cache_free(kept);
    kept = assay_reference_cache_new(0);
    CU_ASSERT_PTR_NULL(put(kept, KEY, &entries[0][0], 1));
    assay_reference_cache_free(kept);
}

static void test_twins(void)
{
    assay_reference_cache *kept = assay_reference_cache_new(1 << 20);
    assay_entry first = {.offset = 1}, second = {.offset = 2}, third = {.offset = 3};
    CU_ASSERT_FALSE(assay_reference_cache_is_twin(kept, KEY, &first, 0));
    CU_ASSERT_PTR_NOT_NULL(put(kept, KEY, &first, 1));
    assay_reference_cache_next(kept);
    assay_reference_cache_set_twin(kept, KEY, &second, 0, false);
    CU_ASSERT_TRUE(assay_reference_cache_is_twin(kept, KEY, &second, 0));
    CU_ASSERT_FALSE(assay_reference_cache_is_twin(kept, KEY, &second, 1)); /* another worker was the first one */
    CU_ASSERT_FALSE(assay_reference_cache_is_twin(kept, KEY, &first, 0));
    CU_ASSERT_PTR_NULL(assay_reference_cache_find(kept, KEY, &first));
    assay_reference_cache_set_twin(kept, KEY, &third, 0, true);
    CU_ASSERT_TRUE(assay_reference_cache_is_twin(kept, KEY, &second, 0));
    CU_ASSERT_TRUE(assay_reference_cache_is_twin(kept, KEY, &third, 0));
    assay_reference_cache_set_twin(kept, KEY, &first, 0, false);
    CU_ASSERT_FALSE(assay_reference_cache_is_twin(kept, KEY, &second, 0));
    assay_reference_cache_free(kept);
}

int main(void)
{
    CU_TestInfo tests[] = {{"found by its entry", test_found_by_entry},
                           {"begun and not ended", test_begun_and_not_ended},
                           {"apart from what it is compared with", test_apart},
                           {"what some comparisons pass by", test_passed_by},
                           {"the same without room for two", test_passed_by_without_room},
                           {"what a window goes back to", test_oldest_of_a_window},
                           {"what a moving window comes to", test_moving_window},
                           {"equal to the first worker's", test_twins},
                           {"a budget", test_budget},
                           CU_TEST_INFO_NULL};
    return unit_main("reference cache", tests);
}
