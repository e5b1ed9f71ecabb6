/* test_common_state.c - findings, series and counter: order, maximum, joining, packing and damage. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rule/common_state.h"
#include "rule/verdict.h"

enum { CEILING = 1 << 24 };

static assay_finding at(int64_t step, uint32_t tensor, uint32_t worker, uint32_t test)
{
    return (assay_finding){.step = step, .tensor = tensor, .worker = worker, .test = test, .value = (double)step};
}

static void findings_are_ordered(void)
{
    const assay_finding in[] = {at(5, 2, 1, 0),
                                at(5, 2, ASSAY_ALL_WORKERS, 0),
                                at(5, ASSAY_NO_TENSOR, 7, 1),
                                at(5, ASSAY_NO_TENSOR, 7, 0),
                                at(1, 9, 9, 0),
                                at(5, 1, 2, 0),
                                at(5, 1, 1, 3)};
    const int expected[] = {4, 3, 2, 6, 5, 1, 0};
    assay_findings *f = assay_findings_new(100);
    for (size_t i = 0; i < 7; i++)
        CU_ASSERT_EQUAL(assay_findings_add(f, &in[i]), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(f->kept, 7);
    for (size_t i = 0; i < 7; i++) {
        const assay_finding *want = &in[expected[i]], *got = &f->list[i];
        CU_ASSERT_TRUE(got->step == want->step && got->tensor == want->tensor && got->worker == want->worker &&
                       got->test == want->test);
    }
    CU_ASSERT_EQUAL(f->step_count, 2);
    CU_ASSERT_TRUE(f->steps[0] == 1 && f->steps[1] == 5);
    assay_findings_free(f);
}

static void the_first_are_kept_whatever_the_order(void)
{
    assay_findings *up = assay_findings_new(3), *down = assay_findings_new(3);
    for (int64_t i = 0; i < 10; i++) {
        assay_finding low = at(i, 0, 0, 0), high = at(9 - i, 0, 0, 0);
        assay_findings_test(up, true, &low);
        assay_findings_test(up, false, &low);
        assay_findings_add(down, &high);
    }
    CU_ASSERT_EQUAL(up->total, 10);
    CU_ASSERT_EQUAL(up->datapoints, 20);
    CU_ASSERT_EQUAL(down->total, 10);
    CU_ASSERT_EQUAL_FATAL(up->kept, 3);
    CU_ASSERT_EQUAL_FATAL(down->kept, 3);
    for (int64_t i = 0; i < 3; i++)
        CU_ASSERT_TRUE(up->list[i].step == i && down->list[i].step == i);
    CU_ASSERT_EQUAL(down->step_count, 10);
    CU_ASSERT_EQUAL(down->steps[9], 9);
    assay_findings_free(up);
    assay_findings_free(down);
}

/* Two jobs in one process may keep different numbers. */
static void each_rule_has_its_own_maximum(void)
{
    static const assay_rule_ops ops = {.name = "Sample"};
    const assay_rule few = {.ops = &ops, .max_findings = 2}, many = {.ops = &ops, .max_findings = 7},
                     unsaid = {.ops = &ops};
    assay_common_state *a = assay_common_new(&few), *b = assay_common_new(&many), *c = assay_common_new(&unsaid);
    CU_ASSERT_FATAL(a && b && c);
    for (int64_t i = 0; i < 10; i++) {
        const assay_finding x = at(i, 0, 0, 0);
        assay_findings_add(a->findings, &x);
        assay_findings_add(b->findings, &x);
        assay_findings_add(c->findings, &x);
    }
    CU_ASSERT_EQUAL(a->findings->kept, 2);
    CU_ASSERT_EQUAL(b->findings->kept, 7);
    CU_ASSERT_EQUAL(c->findings->kept, 10);
    assay_common_free(a);
    assay_common_free(b);
    assay_common_free(c);
}

static void nothing_is_kept_of_a_maximum_of_none(void)
{
    assay_findings *f = assay_findings_new(0);
    assay_finding x = at(1, 1, 1, 0);
    CU_ASSERT_EQUAL(assay_findings_add(f, &x), ASSAY_OK);
    CU_ASSERT_TRUE(f->kept == 0 && f->total == 1 && f->step_count == 1);
    assay_findings_free(f);
}

static void appending_copies_cells_and_notes(void)
{
    int64_t cells[] = {1, 2, 3, 4};
    char note[] = "indirect";
    assay_findings *a = assay_findings_new(10), *b = assay_findings_new(10);
    assay_finding x = at(4, 1, 0, 0), y = at(2, 1, 0, 0);
    x.cells = cells;
    x.cell_count = 2;
    x.note = note;
    assay_findings_add(b, &x);
    assay_findings_add(b, &y);
    memset(cells, 0, sizeof cells);
    memset(note, 'x', sizeof note - 1);
    CU_ASSERT_EQUAL(assay_findings_append(a, b), ASSAY_OK);
    assay_findings_free(b);
    CU_ASSERT_EQUAL_FATAL(a->kept, 2);
    CU_ASSERT_EQUAL(a->list[0].step, 2);
    CU_ASSERT_PTR_NULL(a->list[0].note);
    CU_ASSERT_STRING_EQUAL(a->list[1].note, "indirect");
    CU_ASSERT_TRUE(a->list[1].cell_count == 2 && a->list[1].cells[0] == 1 && a->list[1].cells[3] == 4);
    assay_findings_free(a);
}

static int unpack_findings(const assay_buf *bytes, size_t size, size_t most, assay_findings **out)
{
    assay_cursor in = assay_cursor_over(bytes->data, size);
    return assay_findings_unpack(&in, most, NULL, out, NULL);
}

static void findings_survive_packing(void)
{
    int64_t cells[] = {7, 8};
    assay_findings *f = assay_findings_new(4), *g = NULL;
    for (int64_t i = 0; i < 6; i++) {
        assay_finding x = at(i / 2, (uint32_t)(i % 2), 0, 0);
        x.value = i == 1 ? NAN : -INFINITY;
        x.note = i == 0 ? "a note" : NULL;
        x.cells = i == 2 ? cells : NULL;
        x.cell_count = i == 2;
        assay_findings_test(f, true, &x);
    }
    assay_buf bytes;
    assay_buf_init(&bytes, CEILING);
    assay_findings_pack(f, &bytes);
    CU_ASSERT_EQUAL_FATAL(unpack_findings(&bytes, bytes.size, 4, &g), ASSAY_OK);
    CU_ASSERT_TRUE(g->total == 6 && g->datapoints == 6 && g->kept == 4 && g->step_count == 3);
    CU_ASSERT_STRING_EQUAL(g->list[0].note, "a note");
    CU_ASSERT_TRUE(isnan(g->list[1].value) && g->list[2].cell_count == 1 && g->list[2].cells[1] == 8);
    assay_findings_free(g);
    for (size_t size = 0; size < bytes.size; size++) {
        g = NULL;
        CU_ASSERT_EQUAL(unpack_findings(&bytes, size, 4, &g), ASSAY_EFORMAT);
        CU_ASSERT_PTR_NULL(g);
    }
    /* Another maximum than that of the sender would not keep the right ones. */
    CU_ASSERT_EQUAL(unpack_findings(&bytes, bytes.size, 5, &g), ASSAY_EFORMAT);
    CU_ASSERT_EQUAL(unpack_findings(&bytes, bytes.size, 3, &g), ASSAY_EFORMAT);
    assay_buf_release(&bytes);
    assay_findings_free(f);
}

static void huge_counts_are_refused(void)
{
    assay_buf bytes;
    assay_buf_init(&bytes, CEILING);
    assay_put_u64(&bytes, 1);
    assay_put_u64(&bytes, UINT64_MAX);
    assay_put_u64(&bytes, UINT64_MAX / 8); /* steps */
    assay_findings *f = NULL;
    CU_ASSERT_EQUAL(unpack_findings(&bytes, bytes.size, 1000, &f), ASSAY_EFORMAT);
    assay_buf_clear(&bytes);
    assay_put_u32(&bytes, 1);
    assay_put_u64(&bytes, UINT64_MAX / 24);
    assay_cursor in = assay_cursor_over(bytes.data, bytes.size);
    assay_series *s = NULL;
    CU_ASSERT_EQUAL(assay_series_unpack(&in, 1, &s, NULL), ASSAY_EFORMAT);
    assay_buf_clear(&bytes);
    assay_put_u64(&bytes, UINT64_MAX / 24 + 1);
    in = assay_cursor_over(bytes.data, bytes.size);
    assay_counter *c = NULL;
    CU_ASSERT_EQUAL(assay_counter_unpack(&in, &c, NULL), ASSAY_EFORMAT);
    assay_buf_release(&bytes);
}

static assay_series *some_series(void)
{
    static const uint32_t tensor[] = {2, 0, 2, 0, 1}, worker[] = {0, 1, 0, 0, 0};
    assay_series *s = assay_series_new(2);
    for (int i = 0; i < 5; i++) {
        double value[] = {i, -i};
        CU_ASSERT_EQUAL(assay_series_add(s, i / 2, tensor[i], worker[i], value), ASSAY_OK);
    }
    return s;
}

static void series_are_walked_by_tensor(void)
{
    assay_series *s = some_series(), *empty = assay_series_new(2);
    uint64_t *order = assay_series_by_tensor(s);
    static const uint64_t expected[] = {3, 1, 4, 0, 2};
    CU_ASSERT_PTR_NOT_NULL_FATAL(order);
    CU_ASSERT_EQUAL(memcmp(order, expected, sizeof expected), 0);
    CU_ASSERT_PTR_NULL(assay_series_by_tensor(empty));
    free(order);
    CU_ASSERT_EQUAL(assay_series_append(empty, s), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_series_append(empty, s), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_series_count(empty), 10);
    assay_row row = assay_series_row(empty, 9);
    CU_ASSERT_TRUE(row.step == 2 && row.tensor == 1 && row.worker == 0 && row.value[0] == 4 && row.value[1] == -4);
    assay_series_free(s);
    assay_series_free(empty);
}

/* By tensor, then worker, then as they came: counted or compared, of one worker, of all, of both, and of tensors far apart. */
static void series_are_walked_however_they_are_numbered(void)
{
    static const uint32_t workers[][2] = {{0, 1},
                                          {7, 9},
                                          {ASSAY_ALL_WORKERS, ASSAY_ALL_WORKERS},
                                          {3, ASSAY_ALL_WORKERS}},
                          apart[] = {1, 100, 10000000};
    enum { ROWS = 60 };
    for (size_t k = 0; k < 12; k++) {
        assay_series *s = assay_series_new(1);
        for (uint32_t i = 0; i < ROWS; i++) {
            const double value = i;
            CU_ASSERT_EQUAL(
                assay_series_add(s, i / 9, i * 7 % 5 * apart[k / 4], workers[k % 4][i * 5 % 3 == 0], &value), ASSAY_OK);
        }
        uint64_t *order = assay_series_by_tensor(s), seen = 0;
        CU_ASSERT_PTR_NOT_NULL_FATAL(order);
        int wrong = 0;
        for (int i = 0; i < ROWS; i++)
            seen |= UINT64_C(1) << order[i];
        for (int i = 1; i < ROWS; i++) {
            const assay_row a = assay_series_row(s, order[i - 1]), b = assay_series_row(s, order[i]);
            const bool same = a.tensor == b.tensor && a.worker == b.worker;
            wrong +=
                same ? order[i - 1] > order[i] : a.tensor > b.tensor || (a.tensor == b.tensor && a.worker > b.worker);
        }
        CU_ASSERT_EQUAL(wrong, 0);
        CU_ASSERT_EQUAL(seen, (UINT64_C(1) << ROWS) - 1);
        free(order);
        assay_series_free(s);
    }
}

/* Many enough that their memory changes its kind. */
static void series_grow(void)
{
    enum { ROWS = 100000 };
    assay_series *s = assay_series_new(1), *t = assay_series_new(1);
    for (int i = 0; i < ROWS; i++) {
        double value = i;
        CU_ASSERT_EQUAL(assay_series_add(i < ROWS / 3 ? s : t, i, (uint32_t)i, 7, &value), ASSAY_OK);
    }
    CU_ASSERT_EQUAL(assay_series_append(s, t), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_series_count(s), ROWS);
    int wrong = 0;
    for (int i = 0; i < ROWS; i++) {
        assay_row row = assay_series_row(s, (uint64_t)i);
        wrong += row.step != i || row.tensor != (uint32_t)i || row.worker != 7 || row.value[0] != i;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    assay_series_free(s);
    assay_series_free(t);
}

static void expect_rows(const assay_series *s, int64_t from, int64_t to)
{
    CU_ASSERT_EQUAL_FATAL(assay_series_count(s), (uint64_t)(to - from));
    for (int64_t i = from; i < to; i++) {
        const assay_row row = assay_series_row(s, (uint64_t)(i - from));
        CU_ASSERT_TRUE(row.step == i && row.tensor == (uint32_t)(i % 5) && row.value[0] == (double)i);
    }
}

static assay_series *series_of(int64_t from, int64_t to)
{
    assay_series *s = assay_series_new(1);
    for (int64_t i = from; i < to; i++) {
        const double value = (double)i;
        CU_ASSERT_EQUAL(assay_series_add(s, i, (uint32_t)(i % 5), 0, &value), ASSAY_OK);
    }
    return s;
}

/* Joined in pairs of all sizes, some of them large enough to be shared: whoever ends first, each keeps its own rows, in
 * one array or many, and both have the same bytes. */
static void series_share_what_was_appended(void)
{
    static const int64_t ends[] = {0, 3, 2003, 2010, 9000, 9001, 30000, 30001, 30002};
    enum { PARTS = sizeof ends / sizeof *ends - 1 };
    for (int settles = 0; settles < 2; settles++) {
        assay_series *part[PARTS];
        for (int i = 0; i < PARTS; i++)
            part[i] = series_of(ends[i], ends[i + 1]);
        for (int apart = 1; apart < PARTS; apart *= 2)
            for (int i = 0; i + apart < PARTS; i += 2 * apart) {
                CU_ASSERT_EQUAL(assay_series_append(part[i], part[i + apart]), ASSAY_OK);
                if (apart == 2) /* what others hold is not written to */
                    expect_rows(part[i + apart], ends[i + apart], ends[i + 2 * apart]);
                const double value = -1;
                CU_ASSERT_EQUAL(assay_series_add(part[i + apart], 99999, 0, 0, &value), ASSAY_OK);
                assay_series_free(part[i + apart]);
            }
        expect_rows(part[0], 0, ends[PARTS]);
        assay_buf before = ASSAY_BUF(CEILING), after = ASSAY_BUF(CEILING);
        assay_series_pack(part[0], &before);
        if (settles)
            CU_ASSERT_EQUAL(assay_series_settle(part[0]), ASSAY_OK);
        expect_rows(part[0], 0, ends[PARTS]);
        assay_series_pack(part[0], &after);
        CU_ASSERT_TRUE(before.size == after.size && memcmp(before.data, after.data, after.size) == 0);
        const double value = (double)ends[PARTS];
        CU_ASSERT_EQUAL(assay_series_add(part[0], ends[PARTS], (uint32_t)(ends[PARTS] % 5), 0, &value), ASSAY_OK);
        expect_rows(part[0], 0, ends[PARTS] + 1);
        assay_buf_release(&before);
        assay_buf_release(&after);
        assay_series_free(part[0]);
    }
    assay_series *empty = assay_series_new(1);
    CU_ASSERT_EQUAL(assay_series_settle(empty), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_series_count(empty), 0);
    assay_series_free(empty);
}

static void damaged_series_are_refused(void)
{
    assay_series *s = some_series(), *t = NULL;
    assay_buf bytes;
    assay_buf_init(&bytes, CEILING);
    assay_series_pack(s, &bytes);
    assay_cursor in = assay_cursor_over(bytes.data, bytes.size);
    CU_ASSERT_EQUAL(assay_series_unpack(&in, 1, &t, NULL), ASSAY_EFORMAT); /* another width */
    in = assay_cursor_over(bytes.data, bytes.size);
    CU_ASSERT_EQUAL_FATAL(assay_series_unpack(&in, 2, &t, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_series_count(t), 5);
    CU_ASSERT_EQUAL(assay_series_row(t, 4).value[1], -4);
    assay_series_free(t);
    t = NULL;
    bytes.data[12] = 9; /* the first row's step: steps would go down */
    in = assay_cursor_over(bytes.data, bytes.size);
    CU_ASSERT_EQUAL(assay_series_unpack(&in, 2, &t, NULL), ASSAY_EFORMAT);
    CU_ASSERT_PTR_NULL(t);
    assay_buf_release(&bytes);
    assay_series_free(s);
}

static uint64_t counted(const assay_counter *c, int64_t a, int64_t b)
{
    for (uint64_t i = 0; i < assay_counter_size(c); i++) {
        int64_t x, y;
        uint64_t count;
        assay_counter_get(c, i, &x, &y, &count);
        if (x == a && y == b)
            return count;
    }
    return 0;
}

static void counters_count(void)
{
    assay_counter *c = assay_counter_new(), *d = assay_counter_new();
    for (int64_t i = 0; i < 5000; i++) {
        CU_ASSERT_EQUAL(assay_counter_add(c, i % 700, -(i % 3), 2), ASSAY_OK);
        assay_counter_add(d, 5, 5, 0);
    }
    CU_ASSERT_EQUAL(assay_counter_size(c), 2100);
    CU_ASSERT_EQUAL(assay_counter_size(d), 0);
    uint64_t sum = 0, count;
    int64_t a, b, before_a = INT64_MIN, before_b = INT64_MIN;
    for (uint64_t i = 0; i < 2100; i++) {
        assay_counter_get(c, i, &a, &b, &count);
        CU_ASSERT_TRUE(a > before_a || (a == before_a && b > before_b));
        before_a = a;
        before_b = b;
        sum += count;
    }
    CU_ASSERT_EQUAL(sum, 10000);
    CU_ASSERT_EQUAL(assay_counter_add(d, 0, 0, 7), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_counter_join(d, c), ASSAY_OK);
    CU_ASSERT_EQUAL(counted(d, 0, 0), 7 + counted(c, 0, 0));
    CU_ASSERT_EQUAL(counted(d, 699, -2), counted(c, 699, -2));
    assay_counter_free(c);
    assay_counter_free(d);
}

/* However often the pairs were counted, and in whatever order they came. */
static void counters_fit(void)
{
    assay_counter *c = assay_counter_new();
    for (int64_t i = 0; i < 3000; i++)
        assay_counter_add(c, i * 7 % 1000, 0, 1);
    CU_ASSERT_TRUE(assay_counter_fits(c, 1000 * 24));
    CU_ASSERT_FALSE(assay_counter_fits(c, 1000 * 24 - 1));
    assay_counter_free(c);
}

static void damaged_counters_are_refused(void)
{
    static const struct {
        int64_t a[2], b[2];
        uint64_t count[2];
        int status;
    } cases[] = {{{1, 2}, {0, 0}, {1, 1}, ASSAY_OK},
                 {{1, 1}, {0, 1}, {1, 1}, ASSAY_OK},
                 {{2, 1}, {0, 0}, {1, 1}, ASSAY_EFORMAT},
                 {{1, 1}, {0, 0}, {1, 1}, ASSAY_EFORMAT},
                 {{1, 2}, {0, 0}, {1, 0}, ASSAY_EFORMAT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assay_buf bytes;
        assay_buf_init(&bytes, CEILING);
        assay_put_u64(&bytes, 2);
        for (int k = 0; k < 2; k++) {
            assay_put_i64(&bytes, cases[i].a[k]);
            assay_put_i64(&bytes, cases[i].b[k]);
            assay_put_u64(&bytes, cases[i].count[k]);
        }
        assay_cursor in = assay_cursor_over(bytes.data, bytes.size);
        assay_counter *c = NULL;
        CU_ASSERT_EQUAL(assay_counter_unpack(&in, &c, NULL), cases[i].status);
        assay_counter_free(c);
        assay_buf_release(&bytes);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"findings are ordered", findings_are_ordered},
                           {"the first are kept whatever the order", the_first_are_kept_whatever_the_order},
                           {"each rule has its own maximum", each_rule_has_its_own_maximum},
                           {"nothing is kept of a maximum of none", nothing_is_kept_of_a_maximum_of_none},
                           {"appending copies cells and notes", appending_copies_cells_and_notes},
                           {"findings survive packing", findings_survive_packing},
                           {"huge counts are refused", huge_counts_are_refused},
                           {"series are walked by tensor", series_are_walked_by_tensor},
                           {"series are walked however they are numbered", series_are_walked_however_they_are_numbered},
                           {"series grow", series_grow},
                           {"series share what was appended", series_share_what_was_appended},
                           {"damaged series are refused", damaged_series_are_refused},
                           {"counters count", counters_count},
                           {"counters fit", counters_fit},
                           {"damaged counters are refused", damaged_counters_are_refused},
                           CU_TEST_INFO_NULL};
    return unit_main("common state", tests);
}
