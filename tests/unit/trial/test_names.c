/* The dictionary, reductions in names, workers, and the list of problems. */
#include "trial/names.h"

#include <assay/rule.h>
#include <stdlib.h>
#include <string.h>

#include "format/smdebug/reductions.h"
#include "trial/problem.h"
#include "unit.h"

/* `room`: how many names are made room for beforehand. */
static void try_dict(size_t room)
{
    assay_dict *d = assay_dict_new();
    char name[32];
    CU_ASSERT_EQUAL(assay_dict_reserve(d, room, 3 * room), 0);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 5000; i++)
            CU_ASSERT_EQUAL_FATAL(assay_dict_add(d, name, (size_t)sprintf(name, "n%u", (i * 7919) % 5000)), i);
    CU_ASSERT_EQUAL(assay_dict_count(d), 5000);
    CU_ASSERT_EQUAL(assay_dict_find(d, "n7919", 5), ASSAY_NO_ID);
    CU_ASSERT_EQUAL(assay_dict_add(d, "", 0), 5000);
    CU_ASSERT_EQUAL(assay_dict_add(d, "a\0b", 3), 5001);
    CU_ASSERT_EQUAL(assay_dict_add(d, "a", 1), 5002);
    CU_ASSERT_EQUAL(assay_dict_find(d, "a\0b", 3), 5001);
    size_t length = 0;
    CU_ASSERT(memcmp(assay_dict_name(d, 5001, &length), "a\0b", 4) == 0 && length == 3);
    CU_ASSERT_EQUAL(assay_dict_reserve(d, 10, 10), 0); /* has names: stays as it is */
    CU_ASSERT_EQUAL(assay_dict_find(d, "a\0b", 3), 5001);
    assay_dict_free(d);
}

static void test_dict(void)
{
    static const size_t rooms[] = {0, 1, 31, 32, 5000, 6000};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
        try_dict(rooms[i]);
}

static void test_dict_sort_and_pack(void)
{
    static const char *const names[] = {"b", "abc", "", "ab", "\xff", "a"};
    static const uint32_t places[] = {4, 3, 0, 2, 5, 1};
    assay_dict *d = assay_dict_new();
    uint32_t new_id[6];
    for (int i = 0; i < 6; i++)
        assay_dict_add(d, names[i], strlen(names[i]));
    CU_ASSERT_EQUAL_FATAL(assay_dict_sort(d, new_id), 0);
    for (uint32_t i = 0; i < 6; i++) {
        CU_ASSERT_EQUAL(new_id[i], places[i]);
        CU_ASSERT_EQUAL(assay_dict_find(d, names[i], strlen(names[i])), places[i]);
        CU_ASSERT_STRING_EQUAL(assay_dict_name(d, places[i], NULL), names[i]);
    }
    assay_buf out;
    assay_buf_init(&out, 1 << 20);
    assay_dict_pack(d, &out);
    assay_cursor in = assay_cursor_over(out.data, out.size);
    CU_ASSERT_EQUAL(assay_get_u64(&in), 6);
    for (uint32_t i = 0; i < 6; i++) {
        size_t length = 0, there = 0;
        const char *text = assay_get_text(&in, &length), *name = assay_dict_name(d, i, &there);
        CU_ASSERT(length == there && memcmp(text, name, length) == 0);
    }
    CU_ASSERT(!in.failed && assay_cursor_left(&in) == 0);
    assay_buf_release(&out);
    assay_dict_free(d);
}

/* A name of up to 39 bytes, most of them `a` or zero: many begin alike, and many end within another. */
static size_t make_name(uint32_t seed, char out[40])
{
    const size_t length = seed % 40;
    for (size_t i = 0; i < length; i++) {
        seed = seed * 1664525 + 1013904223;
        out[i] = (seed >> 24) % 8 == 0 ? (char)(seed >> 16) : (seed >> 20) % 4 == 0 ? '\0' : 'a';
    }
    return length;
}

static int compare_names(const assay_dict *d, uint32_t a, uint32_t b)
{
    size_t x = 0, y = 0;
    const char *p = assay_dict_name(d, a, &x), *q = assay_dict_name(d, b, &y);
    const int order = memcmp(p, q, x < y ? x : y);
    return order ? order : (x > y) - (x < y);
}

static void test_dict_sort_many(void)
{
    assay_dict *d = assay_dict_new();
    char name[40];
    for (uint32_t i = 0; i < 20000; i++)
        assay_dict_add(d, name, make_name(i * 2654435761u, name));
    const uint32_t count = assay_dict_count(d);
    CU_ASSERT(count > 5000);
    CU_ASSERT_EQUAL_FATAL(assay_dict_sort(d, NULL), 0);
    for (uint32_t id = 0; id < count; id++) {
        size_t length = 0;
        const char *text = assay_dict_name(d, id, &length);
        if (id > 0 && compare_names(d, id - 1, id) >= 0)
            CU_FAIL_FATAL("names are out of order");
        if (assay_dict_find(d, text, length) != id)
            CU_FAIL_FATAL("a name is not found where it was sorted to");
    }
    assay_dict_free(d);
}

/* Each name is the one before it and a letter: groups of one name and all others. */
static void test_dict_sort_nested(void)
{
    enum { NAMES = 3000 };
    assay_dict *d = assay_dict_new();
    char name[NAMES];
    memset(name, 'a', sizeof name);
    for (uint32_t i = 0; i < NAMES; i++)
        assay_dict_add(d, name, NAMES - 1 - i);
    CU_ASSERT_EQUAL_FATAL(assay_dict_sort(d, NULL), 0);
    for (uint32_t i = 0; i < NAMES; i++) {
        size_t length = 0;
        assay_dict_name(d, i, &length);
        if (length != i)
            CU_FAIL_FATAL("names are out of order");
    }
    assay_dict_free(d);
}

static void test_dict_append(void)
{
    assay_dict *d = assay_dict_new();
    char name[16];
    uint32_t again = 7;
    CU_ASSERT(assay_dict_settle(d, &again) && again == ASSAY_NO_ID);
    CU_ASSERT_EQUAL(assay_dict_add(d, "first", 5), 0);
    for (uint32_t i = 1; i < 1000; i++)
        CU_ASSERT_EQUAL_FATAL(assay_dict_append(d, name, (size_t)sprintf(name, "n%u", i)), i);
    CU_ASSERT(assay_dict_settle(d, &again) && again == ASSAY_NO_ID);
    for (uint32_t i = 1; i < 1000; i++)
        CU_ASSERT_EQUAL_FATAL(assay_dict_find(d, name, (size_t)sprintf(name, "n%u", i)), i);
    CU_ASSERT_EQUAL(assay_dict_add(d, "first", 5), 0);
    CU_ASSERT_EQUAL(assay_dict_add(d, "n999", 4), 999);
    CU_ASSERT_EQUAL(assay_dict_append(d, "new", 3), 1000);
    CU_ASSERT_EQUAL(assay_dict_append(d, "first", 5), 1001);
    CU_ASSERT_EQUAL(assay_dict_append(d, "n5", 2), 1002);
    CU_ASSERT(assay_dict_settle(d, &again) && again == 1001);
    assay_dict_free(d);
}

static void test_reductions(void)
{
    static const struct {
        const char *name;
        int kind;
        const char *base;
    } rows[] = {
        {"smdebug/reductions/min/fc1.weight", ASSAY_MIN, "fc1.weight"},
        {"smdebug/reductions/abs_mean/a/b", ASSAY_ABS_MEAN, "a/b"},
        {"smdebug/reductions/l2/x", ASSAY_L2, "x"},
        {"smdebug/reductions/abs_l1/x", ASSAY_ABS + ASSAY_L1, "x"},
        {"smdebug/reductions/variance/smdebug/reductions/min/x", ASSAY_VARIANCE, "smdebug/reductions/min/x"},
        {"smdebug/reductions/median/x", ASSAY_RAW, "smdebug/reductions/median/x"},
        {"smdebug/reductions/min/", ASSAY_RAW, "smdebug/reductions/min/"},
        {"smdebug/reductions/min", ASSAY_RAW, "smdebug/reductions/min"},
        {"smdebug/reductions/abs_/x", ASSAY_RAW, "smdebug/reductions/abs_/x"},
        {"min/x", ASSAY_RAW, "min/x"},
        {"", ASSAY_RAW, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *base = NULL;
        size_t length = 0;
        CU_ASSERT_EQUAL(assay_reduction_split(rows[i].name, strlen(rows[i].name), &base, &length), rows[i].kind);
        CU_ASSERT(length == strlen(rows[i].base) && memcmp(base, rows[i].base, length) == 0);
    }
}

static void test_workers(void)
{
    static const char *const order[] = {"_job-a",   "worker_0",  "worker_01",   "worker_1",
                                        "worker_2", "worker_10", "worker_10_x", "worker_18446744073709551617",
                                        "worker_x", "x"};
    const int count = sizeof order / sizeof *order;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < count; k++) {
            int sign = assay_worker_compare(order[i], order[k]);
            CU_ASSERT_EQUAL((sign > 0) - (sign < 0), (i > k) - (i < k));
        }
    char out[64];
    assay_worker_display_name("worker_0", 8, out);
    CU_ASSERT_STRING_EQUAL(out, "worker_0");
    const char *device = "_job-worker_replica-0_task-0_device-GPU-0";
    assay_worker_display_name(device, strlen(device), out);
    CU_ASSERT_STRING_EQUAL(out, "/job:worker/replica:0/task:0/device:GPU:0");
}

static void add_numbered(assay_problems *p, int from, int count)
{
    for (int i = from; i < from + count; i++)
        assay_problems_add(p, i % 2 ? ASSAY_PROBLEM_NAME : ASSAY_PROBLEM_RECORD, i, "f", i, "number %d\nof many", i);
}

static void pack(const assay_problems *p, assay_buf *out)
{
    assay_buf_init(out, 1 << 24);
    assay_problems_pack(p, out);
}

static void test_problems(void)
{
    /* (a.b).c and a.(b.c), the ceiling within b */
    assay_problems left, right, b, c;
    assay_problems_init(&left), assay_problems_init(&right), assay_problems_init(&b), assay_problems_init(&c);
    add_numbered(&left, 0, 700);
    add_numbered(&right, 0, 700);
    add_numbered(&b, 700, 600);
    add_numbered(&c, 1300, 200);
    CU_ASSERT_EQUAL(assay_problems_append(&left, &b), 0);
    CU_ASSERT_EQUAL(assay_problems_append(&left, &c), 0);
    CU_ASSERT_EQUAL(assay_problems_append(&b, &c), 0);
    CU_ASSERT_EQUAL(assay_problems_append(&right, &b), 0);
    CU_ASSERT_EQUAL(left.kept, ASSAY_PROBLEMS_KEPT);
    CU_ASSERT_EQUAL(left.total, 1500);
    CU_ASSERT_EQUAL(left.losses, 750);
    CU_ASSERT_STRING_EQUAL(left.list[999].text, "number 999?of many");
    assay_buf x, y;
    pack(&left, &x);
    pack(&right, &y);
    CU_ASSERT(x.size == y.size && memcmp(x.data, y.data, x.size) == 0);
    assay_problems read;
    assay_problems_init(&read);
    assay_cursor in = assay_cursor_over(x.data, x.size);
    CU_ASSERT_EQUAL(assay_problems_unpack(&in, &read, NULL), 0);
    CU_ASSERT_FALSE(assay_cursor_bad(&in));
    assay_buf_release(&y);
    pack(&read, &y);
    CU_ASSERT(x.size == y.size && memcmp(x.data, y.data, x.size) == 0);
    for (size_t size = 0; size < 2000; size++) {
        assay_problems cut;
        assay_problems_init(&cut);
        in = assay_cursor_over(x.data, size);
        CU_ASSERT_EQUAL(assay_problems_unpack(&in, &cut, NULL), ASSAY_EFORMAT);
    }
    assay_buf_release(&x), assay_buf_release(&y);
    assay_problems_release(&left), assay_problems_release(&right), assay_problems_release(&b);
    assay_problems_release(&c), assay_problems_release(&read);
    CU_ASSERT_STRING_EQUAL(assay_problem_word(ASSAY_PROBLEM_ORPHAN), "events-without-index");
    CU_ASSERT_FALSE(assay_problem_is_loss(ASSAY_PROBLEM_NAME));
}

int main(void)
{
    CU_TestInfo tests[] = {{"dictionary", test_dict},
                           {"dictionary, sorted and packed", test_dict_sort_and_pack},
                           {"dictionary, many names sorted", test_dict_sort_many},
                           {"dictionary, names within names sorted", test_dict_sort_nested},
                           {"dictionary, names appended", test_dict_append},
                           {"saved reductions", test_reductions},
                           {"worker names", test_workers},
                           {"problems append and pack", test_problems},
                           CU_TEST_INFO_NULL};
    return unit_main("trial/names", tests);
}
