/* The raw records of a step by their tensors. */
#include "trial/step_lookup.h"

#include <assay/rule.h>

#include "trial/shard.h"
#include "unit.h"

enum { TENSORS = 5 };

/* A part of raw records of these tensors, in this order, and one saved reduction. */
static void add_part(assay_shard *s, int64_t step, uint32_t worker, const uint32_t *tensors, uint32_t count)
{
    CU_ASSERT_EQUAL_FATAL(assay_shard_reserve(s, 1, count + 1, 0), 0);
    assay_part part = {.step = step, .worker = worker, .first = (uint32_t)s->entry_count, .count = count + 1};
    for (uint32_t i = 0; i < count; i++)
        s->entries[s->entry_count++] = (assay_entry){.offset = 100 * i, .length = 100, .tensor = tensors[i]};
    s->entries[s->entry_count++] =
        (assay_entry){.offset = 100 * count, .length = 100, .tensor = TENSORS - 1, .kind = ASSAY_MEAN};
    s->parts[s->count++] = part;
}

static void expect(const assay_step_lookup *l, uint32_t tensor, const assay_part *part)
{
    assay_place place = {NULL, NULL};
    CU_ASSERT_EQUAL(assay_step_lookup_find(l, tensor, &place), part != NULL);
    CU_ASSERT_PTR_EQUAL(place.part, part);
    CU_ASSERT(!part || (place.entry->tensor == tensor && place.entry->kind == ASSAY_RAW));
}

static void test_first_part_counts(void)
{
    assay_shard s;
    assay_step_lookup l = {0};
    assay_shard_init(&s);
    add_part(&s, 1, 0, (const uint32_t[]){3, 1}, 2);
    add_part(&s, 1, 1, (const uint32_t[]){0, 1, 3}, 3);
    add_part(&s, 2, 0, (const uint32_t[]){2}, 1);
    CU_ASSERT_EQUAL_FATAL(assay_step_lookup_turn(&l, &s, 0, 2, TENSORS), 0);
    expect(&l, 3, &s.parts[0]);
    expect(&l, 1, &s.parts[0]);
    expect(&l, 0, &s.parts[1]);
    expect(&l, 2, NULL);
    expect(&l, 4, NULL); /* a reduction is no value */
    expect(&l, TENSORS, NULL);
    CU_ASSERT_EQUAL_FATAL(assay_step_lookup_turn(&l, &s, 2, 3, TENSORS), 0);
    expect(&l, 2, &s.parts[2]);
    expect(&l, 1, NULL);
    CU_ASSERT_EQUAL_FATAL(assay_step_lookup_turn(&l, &s, 1, 1, TENSORS), 0);
    expect(&l, 1, NULL);
    assay_step_lookup_release(&l);
    assay_shard_release(&s);
}

/* Parts that came from an earlier rank are in front, and their entries behind. */
static void test_parts_of_two_ranks(void)
{
    assay_shard s;
    assay_step_lookup l = {0};
    assay_shard_init(&s);
    add_part(&s, 1, 1, (const uint32_t[]){0, 1, 3}, 3);
    add_part(&s, 1, 0, (const uint32_t[]){3, 1}, 2);
    assay_shard_turn(&s, 1);
    CU_ASSERT_EQUAL_FATAL(assay_step_lookup_turn(&l, &s, 0, 2, TENSORS), 0);
    expect(&l, 3, &s.parts[0]);
    expect(&l, 1, &s.parts[0]);
    expect(&l, 0, &s.parts[1]);
    assay_step_lookup_release(&l);
    assay_shard_release(&s);
}

int main(void)
{
    CU_TestInfo tests[] = {{"the first part that has a tensor counts", test_first_part_counts},
                           {"entries of two ranks lie in any order", test_parts_of_two_ranks},
                           CU_TEST_INFO_NULL};
    return unit_main("trial/step_lookup", tests);
}
