/* test_partial.c - partial results of chunks: joined in order, packed and unpacked, damage refused. */
#include "unit.h"

#include "engine/reduce/partial.h"
#include "pieces_rule.h"

enum { RULES = 4, MAPPED = 0, EMPTY = 1, FAILED = 2, ALSO = 3 };
static const assay_rule rules[RULES] = {
    {.ops = &pieces_ops}, {.ops = &pieces_ops}, {.ops = &pieces_ops}, {.ops = &pieces_ops}};

static assay_partial partial_of(const char *mapped, const char *also)
{
    assay_partial p;
    CU_ASSERT_EQUAL_FATAL(assay_partial_init(&p, RULES), ASSAY_OK);
    if (mapped)
        p.rule[MAPPED].state = pieces_of(mapped);
    if (also)
        p.rule[ALSO].state = pieces_of(also);
    return p;
}

static const char *text_of(const assay_partial *p, int rule)
{
    return p->rule[rule].state ? ((const pieces *)p->rule[rule].state)->text : "nothing";
}

/* One with everything that a node can hold. */
static assay_partial full(void)
{
    assay_partial p = partial_of("some pieces", "");
    CU_ASSERT_EQUAL(assay_partial_fail(&p, FAILED, ASSAY_EUNSUPPORTED, "no such dtype"), ASSAY_OK);
    p.rule[FAILED].unreadable = 3;
    p.rule[EMPTY].unreadable = (uint64_t)1 << 40;
    assay_problems_add(&p.problems, 0, 17, "events/a", 4096, "%s is damaged", "it");
    assay_problems_add(&p.problems, 1, -1, "", -1, "nothing more is known");
    return p;
}

static assay_buf packed(const assay_partial *p)
{
    assay_buf out;
    assay_buf_init(&out, SIZE_MAX);
    CU_ASSERT_EQUAL(assay_partial_pack(p, rules, &out), ASSAY_OK);
    return out;
}

/* Unpacks the bytes; *p is initialised either way. */
static int unpack(const void *bytes, size_t size, assay_partial *p, assay_error *err)
{
    assay_cursor in = assay_cursor_over(bytes, size);
    CU_ASSERT_EQUAL_FATAL(assay_partial_init(p, RULES), ASSAY_OK);
    *err = (assay_error){""};
    int status = assay_partial_unpack(&in, p, rules, err);
    return status == ASSAY_OK && assay_cursor_bad(&in) ? ASSAY_EINTERNAL : status;
}

static void test_round_trip(void)
{
    assay_partial p = full(), q;
    assay_error err;
    assay_buf bytes = packed(&p);
    CU_ASSERT_EQUAL(unpack(bytes.data, bytes.size, &q, &err), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(text_of(&q, MAPPED), "some pieces");
    CU_ASSERT_STRING_EQUAL(text_of(&q, ALSO), "");
    CU_ASSERT_PTR_NULL(q.rule[EMPTY].state);
    CU_ASSERT_EQUAL(q.rule[EMPTY].unreadable, (uint64_t)1 << 40);
    CU_ASSERT_EQUAL(q.rule[FAILED].status, ASSAY_EUNSUPPORTED);
    CU_ASSERT_STRING_EQUAL(q.rule[FAILED].error, "no such dtype");
    CU_ASSERT_EQUAL(q.rule[FAILED].unreadable, 3);
    CU_ASSERT_EQUAL_FATAL(q.problems.total, 2);
    CU_ASSERT_EQUAL(q.problems.list[0].step, 17);
    CU_ASSERT_EQUAL(q.problems.list[0].offset, 4096);
    CU_ASSERT_STRING_EQUAL(q.problems.list[0].text, "it is damaged");
    CU_ASSERT_EQUAL(q.problems.losses, p.problems.losses);
    assay_buf again = packed(&q);
    CU_ASSERT(again.size == bytes.size && memcmp(again.data, bytes.data, bytes.size) == 0);
    assay_buf_release(&again);
    assay_buf_release(&bytes);
    assay_partial_release(&p, rules);
    assay_partial_release(&q, rules);
}

static void expect_refused(const void *bytes, size_t size)
{
    assay_partial q;
    assay_error err;
    CU_ASSERT_EQUAL(unpack(bytes, size, &q, &err), ASSAY_EFORMAT);
    CU_ASSERT_NOT_EQUAL(err.text[0], 0);
    assay_partial_release(&q, rules);
}

/* Each cut in memory of just its size, so that a sanitizer sees a read behind it. */
static void test_every_cut(void)
{
    assay_partial p = full();
    assay_buf bytes = packed(&p);
    for (size_t size = 0; size < bytes.size; size++) {
        uint8_t *cut = malloc(size + 1);
        memcpy(cut, bytes.data, size);
        expect_refused(cut, size);
        free(cut);
    }
    assay_buf_release(&bytes);
    assay_partial_release(&p, rules);
}

/* The length of a packed state is what the rule's own unpack gets, neither more nor less. */
static void test_length_of_a_state(void)
{
    assay_partial p = partial_of("some pieces", NULL);
    assay_buf bytes = packed(&p);
    const size_t at = 1 + 8; /* behind the flags and the unreadable records of the first rule */
    const uint64_t lengths[] = {0, 14, 16, 1000, UINT64_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        assay_buf_set_u64(&bytes, at, lengths[i]);
        expect_refused(bytes.data, bytes.size);
    }
    assay_buf_release(&bytes);
    assay_partial_release(&p, rules);
}

static void test_joined_in_order(void)
{
    assay_partial a = partial_of("a", NULL), b = partial_of("b", "x"), c = partial_of(NULL, "y");
    a.rule[FAILED].unreadable = 2;
    c.rule[FAILED].unreadable = 5;
    assay_problems_add(&a.problems, 0, 1, "", -1, "first");
    assay_problems_add(&c.problems, 0, 3, "", -1, "second");
    CU_ASSERT_EQUAL(assay_partial_combine(&a, &b, rules), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_partial_combine(&a, &c, rules), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(text_of(&a, MAPPED), "(ab)"); /* nothing is neutral, on either side */
    CU_ASSERT_STRING_EQUAL(text_of(&a, ALSO), "(xy)");
    CU_ASSERT_STRING_EQUAL(text_of(&a, EMPTY), "nothing");
    CU_ASSERT_EQUAL(a.rule[FAILED].unreadable, 7);
    CU_ASSERT_EQUAL_FATAL(a.problems.total, 2);
    CU_ASSERT_STRING_EQUAL(a.problems.list[0].text, "first");
    CU_ASSERT_STRING_EQUAL(a.problems.list[1].text, "second");
    for (int i = 0; i < RULES; i++) /* states are used up as they are joined */
        CU_ASSERT(!b.rule[i].state && !c.rule[i].state);
    assay_partial_release(&a, rules);
    assay_partial_release(&b, rules);
    assay_partial_release(&c, rules);
}

static void test_first_failure_stays(void)
{
    assay_partial a = partial_of("a", "x"), b = partial_of("!", "y"), c = partial_of("c", "z");
    CU_ASSERT_EQUAL(assay_partial_fail(&c, MAPPED, ASSAY_EFORMAT, "too late"), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_partial_fail(&c, FAILED, ASSAY_EFORMAT, "its first"), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_partial_fail(&c, FAILED, ASSAY_EPARAM, "its second"), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_partial_combine(&a, &b, rules), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_partial_combine(&a, &c, rules), ASSAY_OK);
    CU_ASSERT_EQUAL(a.rule[MAPPED].status, ASSAY_EUNSUPPORTED);
    CU_ASSERT_STRING_EQUAL(a.rule[MAPPED].error, "will not join !");
    CU_ASSERT_EQUAL(a.rule[FAILED].status, ASSAY_EFORMAT);
    CU_ASSERT_STRING_EQUAL(a.rule[FAILED].error, "its first");
    CU_ASSERT_STRING_EQUAL(text_of(&a, ALSO), "((xy)z)"); /* the other rules go on */
    assay_partial_release(&a, rules);
    assay_partial_release(&b, rules);
    assay_partial_release(&c, rules);
}

int main(void)
{
    CU_TestInfo tests[] = {{"round trip", test_round_trip},
                           {"every cut is refused", test_every_cut},
                           {"the length of a state", test_length_of_a_state},
                           {"joined in order", test_joined_in_order},
                           {"the first failure stays", test_first_failure_stays},
                           CU_TEST_INFO_NULL};
    return unit_main("partial results", tests);
}
