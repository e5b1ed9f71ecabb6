/* Tables of members: what is packed comes back, in bytes that are written down here, and bytes that are cut or out of
 * bounds are refused with nothing kept. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/fields.h"

typedef enum state { STATE_A, STATE_B, STATES } state;

typedef struct child {
    char *name;
    double weight;
} child;

typedef struct parent {
    state state;
    uint8_t dims;
    bool known;
    int64_t shape[4];
    char *text;
    uint32_t count;
    child *children;
    size_t step_count;
    int64_t *steps;
    float pair[2];
    int untouched;
} parent;

static const assay_field child_fields[] = {ASSAY_FIELD(child, name), ASSAY_FIELD(child, weight), {0}};
static const assay_field parent_fields[] = {ASSAY_FIELD_MOST(parent, state, STATES - 1),
                                            ASSAY_FIELD_COUNTED(parent, shape, dims),
                                            ASSAY_FIELD(parent, known),
                                            ASSAY_FIELD(parent, text),
                                            ASSAY_FIELD_ROWS(parent, children, count, child_fields),
                                            ASSAY_FIELD_LIST(parent, steps, step_count),
                                            ASSAY_FIELD_ARRAY(parent, pair),
                                            {0}};

static void pack_one(assay_buf *out)
{
    child children[] = {{(char[]){"one"}, 0.25}, {NULL, -INFINITY}};
    int64_t steps[] = {INT64_MIN, 0, 5};
    const parent p = {.state = STATE_B,
                      .dims = 2,
                      .known = true,
                      .shape = {3, -4, 99, 99},
                      .text = (char[]){""},
                      .count = 2,
                      .children = children,
                      .step_count = 3,
                      .steps = steps,
                      .pair = {1, 2}};
    assay_buf_init(out, SIZE_MAX);
    assay_fields_pack(parent_fields, &p, out);
    CU_ASSERT_EQUAL(assay_buf_status(out), ASSAY_OK);
}

static void test_round_trip(void)
{
    assay_buf out;
    parent p = {.untouched = 7};
    pack_one(&out);
    assay_cursor in = assay_cursor_over(out.data, out.size);
    CU_ASSERT_EQUAL(assay_fields_unpack(parent_fields, &in, &p), ASSAY_OK);
    CU_ASSERT_FALSE(assay_cursor_bad(&in));
    CU_ASSERT(p.state == STATE_B && p.dims == 2 && p.known && p.shape[0] == 3 && p.shape[1] == -4 && p.shape[2] == 0);
    CU_ASSERT(p.text && p.text[0] == '\0');
    CU_ASSERT_FATAL(p.count == 2 && p.step_count == 3);
    CU_ASSERT(strcmp(p.children[0].name, "one") == 0 && p.children[0].weight == 0.25);
    CU_ASSERT(!p.children[1].name && p.children[1].weight == -INFINITY);
    CU_ASSERT(p.steps[0] == INT64_MIN && p.steps[2] == 5 && p.pair[1] == 2 && p.untouched == 7);
    assay_fields_release(parent_fields, &p);
    CU_ASSERT(!p.children && p.count == 0 && !p.steps && p.step_count == 0 && !p.text && p.untouched == 7);
    assay_buf_release(&out);
}

static void test_bytes(void)
{
    static const uint8_t wanted[] = {1,    0,    0,    0,                      /* name: 1 byte */
                                     'x',                                      /* */
                                     0,    0,    0,    0,    0, 0, 0xe0, 0x3f, /* 0.5 */
                                     0xff, 0xff, 0xff, 0xff,                   /* no name */
                                     0,    0,    0,    0,    0, 0, 0,    0};
    child list[] = {{(char[]){"x"}, 0.5}, {0}};
    assay_buf out;
    assay_buf_init(&out, SIZE_MAX);
    assay_fields_pack_rows(child_fields, list, 2, sizeof *list, &out);
    CU_ASSERT_EQUAL(out.size, 8 + sizeof wanted);
    CU_ASSERT(out.data[0] == 2 && memcmp(out.data + 8, wanted, sizeof wanted) == 0);
    CU_ASSERT_EQUAL(assay_fields_least(child_fields), 12);
    assay_buf_release(&out);
}

/* Every cut is refused, and every byte changed is refused or read as what it is. */
static void test_damage(void)
{
    assay_buf out;
    pack_one(&out);
    for (size_t size = 0; size < out.size; size++) {
        parent p = {0};
        assay_cursor in = assay_cursor_over(out.data, size);
        CU_ASSERT_EQUAL(assay_fields_unpack(parent_fields, &in, &p), ASSAY_EFORMAT);
        CU_ASSERT(in.failed && !p.text && !p.children && !p.steps && p.count == 0);
    }
    for (size_t i = 0; i < out.size; i++) {
        parent p = {0};
        out.data[i] ^= 0xff;
        assay_cursor in = assay_cursor_over(out.data, out.size);
        const int status = assay_fields_unpack(parent_fields, &in, &p);
        CU_ASSERT(status == ASSAY_OK || status == ASSAY_EFORMAT);
        CU_ASSERT(i >= 4 || status == ASSAY_EFORMAT); /* the state */
        assay_fields_release(parent_fields, &p);
        out.data[i] ^= 0xff;
    }
    assay_buf_release(&out);
}

static void test_no_memory(void)
{
    assay_buf out;
    pack_one(&out);
    for (int call = 1; call <= 4; call++) {
        char fault[16];
        parent p = {0};
        snprintf(fault, sizeof fault, "alloc:%d", call);
        setenv("ASSAY_FAULT", fault, 1);
        assay_fault_arm(0);
        assay_cursor in = assay_cursor_over(out.data, out.size);
        CU_ASSERT_EQUAL(assay_fields_unpack(parent_fields, &in, &p), ASSAY_ENOMEM);
        CU_ASSERT(!p.text && !p.children && !p.steps);
    }
    unsetenv("ASSAY_FAULT");
    assay_fault_arm(0);
    assay_buf_release(&out);
}

static void test_rows(void)
{
    void *list = &list;
    size_t count = 9;
    assay_buf out;
    assay_buf_init(&out, SIZE_MAX);
    assay_put_u64(&out, UINT64_MAX / 2);
    assay_cursor in = assay_cursor_over(out.data, out.size);
    CU_ASSERT_EQUAL(assay_fields_unpack_rows(child_fields, &in, sizeof(child), &list, &count), ASSAY_EFORMAT);
    CU_ASSERT(list == &list && count == 9);
    assay_buf_clear(&out);
    assay_fields_pack_rows(child_fields, NULL, 0, sizeof(child), &out);
    in = assay_cursor_over(out.data, out.size);
    CU_ASSERT_EQUAL(assay_fields_unpack_rows(child_fields, &in, sizeof(child), &list, &count), ASSAY_OK);
    CU_ASSERT(list == NULL && count == 0 && !assay_cursor_bad(&in));
    assay_buf_release(&out);
}

int main(void)
{
    CU_TestInfo tests[] = {{"round trip", test_round_trip}, {"bytes", test_bytes}, {"damage", test_damage},
                           {"no memory", test_no_memory},   {"rows", test_rows},   CU_TEST_INFO_NULL};
    return unit_main("fields", tests);
}
