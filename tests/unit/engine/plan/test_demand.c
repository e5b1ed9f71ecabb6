/* test_demand.c - what rules together want of a tensor: kinds, statistics, each measure once, and the cost. */
#include <string.h>

#include "engine/plan/demand.h"
#include "rule/need.h"
#include "unit.h"

enum { CHANGE, QUANTILES, CLASSES, MEASURES };

/* Two rules, three uses. Rule 0, slot 0 wants raw tensors with CHANGE and QUANTILES; slot 1 only their times. Rule 1
 * wants the saved means with QUANTILES, of worker 1, at TRAIN steps below 10. Tensor 0 is wanted by nobody, tensor 1 by
 * all, tensor 2 by the second slot alone. */
static assay_slot_need slots[] = {{.flags = 0}, {.flags = ASSAY_SLOT_TIME_ONLY}};
static assay_measure measures[MEASURES] = {[CHANGE] = {.kind = ASSAY_MEASURE_CHANGE},
                                           [QUANTILES] = {.kind = ASSAY_MEASURE_QUANTILES},
                                           [CLASSES] = {.kind = ASSAY_MEASURE_CLASSES}};
static uint32_t first_slots[] = {0, 0}, second_slots[] = {0};
static assay_need needs[] = {{.slots = slots, .slot_count = 2, .measure_slot = first_slots, .measure_count = 2},
                             {.slots = slots, .slot_count = 1, .measure_slot = second_slots, .measure_count = 1}};
static assay_instance instances[] = {{.need = &needs[0]}, {.need = &needs[1]}};
static assay_instance *rules[] = {&instances[0], &instances[1]};
static const assay_job job = {.rules = rules, .rule_count = 2};
static assay_use uses[] = {{0, 0}, {0, 1}, {1, 0}};
static uint32_t first_numbers[] = {CHANGE, QUANTILES}, second_numbers[] = {QUANTILES};
static uint32_t *numbers[] = {first_numbers, second_numbers};
static uint32_t of_all[] = {0, 1, 2}, of_second[] = {1}, class_of[] = {0, 1, 2};
static assay_use_class classes[] = {{.uses = 0}, {.use = of_all, .uses = 3}, {.use = of_second, .uses = 1}};

static const assay_use_scope EVERYWHERE = {
    .to = INT64_MAX, .modes = ~0U, .kinds = 1U << ASSAY_RAW, .worker = ASSAY_ALL_WORKERS};
static assay_use_scope scopes[3];
static assay_source_plan source = {.tensor_class = class_of, .classes = classes, .class_count = 3, .scope = scopes};
static const assay_plan plan = {.job = &job,
                                .uses = uses,
                                .use_count = 3,
                                .measures = measures,
                                .measure_count = MEASURES,
                                .measure_number = numbers,
                                .sources = &source,
                                .source_count = 1};

static void begin(assay_demand *w)
{
    scopes[0] = scopes[1] = scopes[2] = EVERYWHERE;
    scopes[2].kinds = 1U << ASSAY_MEAN;
    scopes[2].worker = 1;
    scopes[2].modes = 1U << ASSAY_MODE_TRAIN;
    scopes[2].to = 10;
    CU_ASSERT_EQUAL_FATAL(assay_demand_init(w, &plan, 0), ASSAY_OK);
}

static const assay_record_demand *of(assay_demand *w, int64_t step, int mode, uint32_t worker, uint32_t tensor)
{
    const assay_part part = {.step = step, .mode = (uint8_t)mode, .worker = worker};
    const assay_entry entry = {.tensor = tensor};
    return assay_demand_of(w, &part, mode, &entry);
}

static void test_union(void)
{
    assay_demand w;
    begin(&w);
    const assay_record_demand *d = of(&w, 5, ASSAY_MODE_TRAIN, 1, 1);
    CU_ASSERT_EQUAL(d->kinds, 1U << ASSAY_RAW | 1U << ASSAY_MEAN);
    CU_ASSERT_TRUE(d->statistics);
    CU_ASSERT_EQUAL_FATAL(d->measures, 2); /* both rules want QUANTILES: it is there once */
    CU_ASSERT_EQUAL(d->measure[0], CHANGE);
    CU_ASSERT_EQUAL(d->measure[1], QUANTILES);
    uint32_t both = d->byte_cost;
    d = of(&w, 5, ASSAY_MODE_TRAIN, 1, 2);
    CU_ASSERT_EQUAL(d->kinds, 1U << ASSAY_RAW);
    CU_ASSERT_FALSE(d->statistics); /* only its time is asked for */
    CU_ASSERT_EQUAL(d->measures, 0);
    CU_ASSERT_EQUAL(d->byte_cost, ASSAY_COST_UNIT);
    CU_ASSERT(both > ASSAY_COST_UNIT);
    assay_demand_release(&w);
}

static void test_scopes(void)
{
    const uint32_t raw = 1U << ASSAY_RAW, mean = 1U << ASSAY_MEAN;
    assay_demand w;
    begin(&w);
    CU_ASSERT_EQUAL(of(&w, 5, ASSAY_MODE_TRAIN, 1, 0)->kinds, 0);
    CU_ASSERT_EQUAL(of(&w, 5, ASSAY_MODE_TRAIN, 0, 1)->kinds, raw);  /* another worker */
    CU_ASSERT_EQUAL(of(&w, 5, ASSAY_MODE_EVAL, 1, 1)->kinds, raw);   /* another mode */
    CU_ASSERT_EQUAL(of(&w, 10, ASSAY_MODE_TRAIN, 1, 1)->kinds, raw); /* behind the last step */
    CU_ASSERT_EQUAL(of(&w, 9, ASSAY_MODE_TRAIN, 1, 1)->kinds, raw | mean);
    CU_ASSERT_EQUAL(of(&w, 10, ASSAY_MODE_TRAIN, 1, 1)->kinds, raw); /* each time that it goes over the border */
    CU_ASSERT_EQUAL(of(&w, 9, ASSAY_MODE_TRAIN, 1, 1)->kinds, raw | mean);
    assay_demand_release(&w);
    begin(&w);
    scopes[0].nowhere = scopes[1].nowhere = true;
    const assay_record_demand *d = of(&w, 9, ASSAY_MODE_TRAIN, 1, 1);
    CU_ASSERT_EQUAL(d->kinds, mean);
    CU_ASSERT(d->measures == 1 && d->measure[0] == QUANTILES);
    assay_demand_release(&w);
}

static void test_cost_of_a_record(void)
{
    assay_demand w;
    begin(&w);
    const assay_record_demand *d = of(&w, 5, ASSAY_MODE_TRAIN, 0, 2);
    const assay_entry raw = {.length = 1000, .kind = ASSAY_RAW}, mean = {.length = 1000, .kind = ASSAY_MEAN};
    CU_ASSERT_EQUAL(assay_record_cost(d, &raw), 1000 + ASSAY_COST_OF_RECORD);
    CU_ASSERT_EQUAL(assay_record_cost(d, &mean), 0); /* not wanted */
    assay_demand_release(&w);
}

int main(void)
{
    CU_TestInfo tests[] = {{"what all rules want", test_union},
                           {"where they want it", test_scopes},
                           {"the cost of a record", test_cost_of_a_record},
                           CU_TEST_INFO_NULL};
    return unit_main("demand", tests);
}
