/* Segments: packing, renumbering, and what look-back keeps of them. */
#include "trial/shard.h"

#include <assay/rule.h>

#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "unit.h"

enum { TENSORS = 5, WORKERS = 3 };

static uint64_t random_state;

static uint32_t pick(uint32_t below)
{
    return random_below(&random_state, below);
}

static void add_part(assay_shard *s, int64_t step, uint32_t worker)
{
    CU_ASSERT_EQUAL_FATAL(assay_shard_reserve(s, 1, 2 * TENSORS, 2), 0);
    assay_part part = {.step = step, .mode_step = step / 2, .worker = worker, .mode = (uint8_t)(1 + pick(2))};
    part.first = s->entry_count;
    part.first_shape = s->shape_count;
    if (pick(4) == 0) {
        part.files = assay_files_new((const assay_file[]){{.name = "other/e"}, {.name = "other/f"}}, 2);
        CU_ASSERT_PTR_NOT_NULL_FATAL(part.files);
    }
    for (uint32_t t = 0; t < TENSORS; t++)
        for (uint8_t kind = 0; kind < 2; kind++)
            if (pick(3))
                s->entries[part.first + part.count++] = (assay_entry){.offset = (uint64_t)part.count * 100,
                                                                      .length = 100,
                                                                      .tensor = t,
                                                                      .kind = kind ? ASSAY_MEAN : ASSAY_RAW,
                                                                      .file = part.files && t >= TENSORS / 2};
    if (pick(2)) {
        int64_t *dim = malloc(3 * sizeof *dim);
        memcpy(dim, (int64_t[]){4, step, 6}, 3 * sizeof *dim);
        s->shapes[part.first_shape] = (assay_shape_entry){1, 2, dim};
        s->shapes[part.first_shape + 1] = (assay_shape_entry){2, 1, dim + 2};
        part.shapes = 2;
    }
    s->entry_count += part.count;
    s->shape_count += part.shapes;
    s->parts[s->count++] = part;
}

/* Steps [from, to), of which some workers miss some. */
static void fill(assay_shard *s, int64_t from, int64_t to)
{
    for (int64_t step = from; step < to; step++)
        for (uint32_t worker = 0; worker < WORKERS; worker++)
            if (pick(5))
                add_part(s, step, worker);
}

static void pack(const assay_shard *s, assay_buf *out)
{
    assay_buf_init(out, 1 << 24);
    assay_shard_pack(s, 0, s->count, out);
    CU_ASSERT_EQUAL(assay_buf_status(out), 0);
}

static bool same(const assay_shard *a, const assay_shard *b)
{
    assay_buf x, y;
    pack(a, &x);
    pack(b, &y);
    bool equal = x.size == y.size && memcmp(x.data, y.data, x.size) == 0;
    assay_buf_release(&x);
    assay_buf_release(&y);
    return equal;
}

/* Appends a copy of `from` behind `to`. */
static void append(assay_shard *to, const assay_shard *from)
{
    assay_buf x;
    pack(from, &x);
    assay_cursor in = assay_cursor_over(x.data, x.size);
    CU_ASSERT_EQUAL_FATAL(assay_shard_unpack(&in, to, NULL), 0);
    CU_ASSERT_FALSE(assay_cursor_bad(&in));
    assay_buf_release(&x);
}

static void test_pack(void)
{
    assay_shard s = {0}, copy = {0};
    random_state = 1;
    fill(&s, 0, 6);
    append(&copy, &s);
    CU_ASSERT(same(&s, &copy));
    assay_buf x;
    pack(&s, &x);
    for (size_t size = 0; size < x.size; size++) {
        assay_cursor in = assay_cursor_over(x.data, size);
        CU_ASSERT_EQUAL(assay_shard_unpack(&in, &copy, NULL), ASSAY_EFORMAT);
    }
    CU_ASSERT(same(&s, &copy));              /* what was there is untouched by failures */
    for (size_t at = 0; at < x.size; at++) { /* damage anywhere is refused or read, never worse */
        assay_shard any = {0};
        x.data[at] ^= 0xff;
        assay_cursor in = assay_cursor_over(x.data, x.size);
        int status = assay_shard_unpack(&in, &any, NULL);
        CU_ASSERT(status == 0 || status == ASSAY_EFORMAT);
        x.data[at] ^= 0xff;
        assay_shard_release(&any);
    }
    assay_buf_release(&x);
    CU_ASSERT_EQUAL(assay_shard_find(&s, 0), 0);
    CU_ASSERT_EQUAL(assay_shard_find(&s, 100), s.count);
    size_t at = assay_shard_find(&s, 3);
    CU_ASSERT(s.parts[at].step == 3 && s.parts[at - 1].step == 2);
    for (size_t guess = 0; guess <= s.count + 1; guess++)
        for (int64_t step = 0; step <= 100; step++)
            CU_ASSERT_EQUAL(assay_shard_find_at(&s, guess, step), assay_shard_find(&s, step));
    const uint32_t new_id[TENSORS] = {4, 3, 2, 1, 0};
    assay_shard_renumber(&copy, new_id);
    for (size_t i = 0; i < s.entry_count; i++)
        CU_ASSERT_EQUAL(copy.entries[i].tensor, 4 - s.entries[i].tensor);
    CU_ASSERT_EQUAL(copy.shapes[0].tensor, 3);
    assay_shard_release(&s);
    assay_shard_release(&copy);
}

/* A copy of the parts [first, first + count) behind `to`. */
static void append_some(assay_shard *to, const assay_shard *from, size_t first, size_t count)
{
    assay_buf x;
    assay_buf_init(&x, 1 << 24);
    assay_shard_pack(from, first, count, &x);
    assay_cursor in = assay_cursor_over(x.data, x.size);
    CU_ASSERT_EQUAL_FATAL(assay_shard_unpack(&in, to, NULL), 0);
    assay_buf_release(&x);
}

/* What is let go of and comes back in front and behind makes the same shard again. */
static void test_keep_and_turn(void)
{
    for (uint32_t round = 0; round < 100; round++) {
        assay_shard s = {0}, part = {0};
        random_state = round * 104729u;
        fill(&s, 0, 6);
        size_t first = pick((uint32_t)s.count + 1), count = pick((uint32_t)(s.count - first) + 1);
        append(&part, &s);
        assay_shard_keep(&part, first, count);
        CU_ASSERT_EQUAL(part.count, count);
        append_some(&part, &s, 0, first);
        assay_shard_turn(&part, count);
        append_some(&part, &s, first + count, s.count - first - count);
        CU_ASSERT(same(&s, &part));
        assay_shard_drop_shapes(&part);
        for (size_t i = 0; i < part.count; i++)
            CU_ASSERT_EQUAL(part.parts[i].shapes, 0);
        assay_shard_release(&s);
        assay_shard_release(&part);
    }
}

/* bench/performance.md says what the index takes. */
static void test_sizes(void)
{
    CU_ASSERT_EQUAL(sizeof(assay_entry), 24);
    CU_ASSERT_EQUAL(sizeof(assay_part), 56);
    CU_ASSERT_EQUAL(sizeof(assay_unit), 16);
}

/* tail(A ++ B) == tail(tail(A) ++ B), and the tail is what its definition says. */
static void test_tail(void)
{
    for (uint32_t round = 0; round < 300; round++) {
        assay_shard a = {0}, b = {0}, both = {0}, tail_a = {0}, tail_both = {0}, tail_again = {0};
        uint8_t wanted[TENSORS];
        random_state = round * 7919u;
        for (int t = 0; t < TENSORS; t++)
            wanted[t] = pick(3) > 0;
        int64_t cut = pick(8), end = cut + pick(8), since = pick(3) ? INT64_MAX : pick((uint32_t)end + 1);
        uint32_t back = pick(4);
        fill(&a, 0, cut);
        fill(&b, cut, end);
        append(&both, &a);
        append(&both, &b);
        CU_ASSERT_EQUAL_FATAL(assay_shard_tail(&a, wanted, TENSORS, back, since, &tail_a), 0);
        CU_ASSERT_EQUAL_FATAL(assay_shard_tail(&both, wanted, TENSORS, back, since, &tail_both), 0);
        append(&tail_a, &b);
        CU_ASSERT_EQUAL_FATAL(assay_shard_tail(&tail_a, wanted, TENSORS, back, since, &tail_again), 0);
        CU_ASSERT(same(&tail_both, &tail_again));
        size_t kept = 0;
        for (size_t p = 0; p < both.count; p++)
            for (size_t i = 0; i < both.parts[p].count; i++) {
                const assay_entry *e = &both.entries[both.parts[p].first + i];
                uint32_t later = 0, train = 0; /* of them, those of TRAIN steps */
                for (size_t q = p + 1; q < both.count; q++)
                    for (size_t k = 0; k < both.parts[q].count; k++) {
                        const assay_entry *f = &both.entries[both.parts[q].first + k];
                        bool same_tensor =
                            both.parts[q].worker == both.parts[p].worker && f->kind == 0 && f->tensor == e->tensor;
                        later += same_tensor;
                        train += same_tensor && both.parts[q].mode == ASSAY_MODE_TRAIN;
                    }
                bool is_near = later < back || (both.parts[p].mode == ASSAY_MODE_TRAIN && train < back);
                kept += e->kind == 0 && wanted[e->tensor] && (is_near || both.parts[p].step >= since);
            }
        CU_ASSERT_EQUAL(tail_both.entry_count, kept);
        for (size_t p = 0; p < tail_both.count; p++)
            CU_ASSERT(tail_both.parts[p].before && tail_both.parts[p].count > 0);
        assay_shard_release(&a), assay_shard_release(&b), assay_shard_release(&both);
        assay_shard_release(&tail_a), assay_shard_release(&tail_both), assay_shard_release(&tail_again);
    }
}

static void test_history(void)
{
    assay_shard s = {0};
    assay_record_history *h = NULL;
    const uint8_t wanted[TENSORS] = {1, 1, 0, 1, 1};
    random_state = 5;
    fill(&s, 10, 40);
    CU_ASSERT_EQUAL_FATAL(assay_record_history_new(&s, wanted, TENSORS, &h), 0);
    for (uint32_t tensor = 0; tensor < TENSORS + 1; tensor++)
        for (uint32_t worker = 0; worker < WORKERS + 1; worker++)
            for (int64_t step = 8; step < 44; step++) {
                assay_place found[4], expected[4];
                size_t count = assay_record_history_before(h, tensor, worker, step, found, 4), n = 0;
                for (size_t p = s.count; p-- > 0 && n < 4;)
                    for (size_t i = 0; i < s.parts[p].count; i++) {
                        const assay_entry *e = &s.entries[s.parts[p].first + i];
                        if (tensor < TENSORS && wanted[tensor] && s.parts[p].step < step &&
                            s.parts[p].worker == worker && e->tensor == tensor && e->kind == ASSAY_RAW)
                            expected[n++] = (assay_place){&s.parts[p], e};
                    }
                CU_ASSERT_EQUAL_FATAL(count, n);
                for (size_t i = 0; i < n; i++)
                    CU_ASSERT(found[i].part == expected[i].part && found[i].entry == expected[i].entry);
            }
    assay_record_history_free(h);
    assay_shard_release(&s);
    CU_ASSERT_EQUAL_FATAL(assay_record_history_new(&s, wanted, TENSORS, &h), 0); /* of nothing */
    assay_place place;
    CU_ASSERT_EQUAL(assay_record_history_before(h, 0, 0, 100, &place, 1), 0);
    assay_record_history_free(h);
}

int main(void)
{
    CU_TestInfo tests[] = {{"packing, damage, renumbering", test_pack},
                           {"tails combine", test_tail},
                           {"history", test_history},
                           {"keeping some parts, and putting others in front", test_keep_and_turn},
                           {"sizes", test_sizes},
                           CU_TEST_INFO_NULL};
    return unit_main("trial/shard", tests);
}
