/* Collections: union over workers, membership, damage. */
#include "format/smdebug/collections_json.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

static assay_collections c;
static assay_collections_reader reader;
static assay_problems problems;

static void start(void)
{
    c = (assay_collections){0};
    reader = (assay_collections_reader){.collections = &c};
    assay_problems_init(&problems);
}

static void stop(void)
{
    assay_collections_reader_release(&reader);
    assay_collections_release(&c);
    assay_problems_release(&problems);
}

static void add(const char *text)
{
    CU_ASSERT_EQUAL(assay_collections_read(&reader, "collections/000000000/worker_0_collections.json", text,
                                           strlen(text), &problems),
                    0);
}

/* One letter of a name, of a pattern, of the number of workers. */
static void test_different(void)
{
    static const char right[] = "{\"collections\": {\"losses\": {\"include_regex\": [\"loss\", \"nll\"]}}, "
                                "\"_meta\": {\"num_workers\": 2}}";
    static const struct {
        const char *of, *to;
        uint64_t remarks;
    } flips[] = {{"losses", "losres", 2}, {"\"nll\"", "\"nil\"", 1}, {": 2}", ": 6}", 1}, {"\"loss\", ", "", 1}};
    for (size_t i = 0; i < sizeof flips / sizeof *flips; i++) {
        char text[sizeof right];
        const char *at = strstr(right, flips[i].of);
        CU_ASSERT_PTR_NOT_NULL_FATAL(at);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - right), right, flips[i].to, at + strlen(flips[i].of));
        for (int first = 0; first < 2; first++) {
            start();
            add(first ? text : right);
            add(right);
            add(first ? right : text);
            CU_ASSERT(first ? problems.total > flips[i].remarks : problems.total == flips[i].remarks);
            CU_ASSERT_EQUAL(problems.losses, 0);
            CU_ASSERT_EQUAL(problems.list[0].kind, ASSAY_PROBLEM_DIFFERENT);
            stop();
        }
    }
    start();
    add(right);
    add("{\"_meta\": {\"num_workers\": 2}, \"collections\": {\"losses\": {\"tensor_names\": [\"of this worker\"], "
        "\"include_regex\": [\"nll\", \"loss\"]}}}");
    CU_ASSERT_EQUAL(problems.total, 0); /* another order, and names of tensors that only it has */
    stop();
}

static void test_union(void)
{
    start();
    add("{\"collections\": {\"weights\": {\"include_regex\": [\"^(?!gradient).*weight\"], \"tensor_names\": [\"b\", "
        "\"a\", \"b\"]},"
        " \"all\": {\"include_regex\": null}}, \"_meta\": {\"num_workers\": 2}}");
    add("{\"_meta\": {\"num_workers\": 4}, \"collections\": {\"weights\": {\"tensor_names\": [\"c\", \"a\"]}, "
        "\"bias\": {}}}");
    add("{\"_meta\": {\"num_workers\": 3}, \"collections\": {}}");
    CU_ASSERT_EQUAL(problems.total, 7); /* the second file differs in four ways, the third in three */
    CU_ASSERT_EQUAL(problems.losses, 0);
    CU_ASSERT_EQUAL(c.num_workers, 4);
    CU_ASSERT_EQUAL_FATAL(c.count, 3);
    CU_ASSERT_STRING_EQUAL(c.list[0].name, "all");
    CU_ASSERT_STRING_EQUAL(c.list[1].name, "bias");
    const assay_collection *w = assay_collections_find(&c, "weights");
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    CU_ASSERT_EQUAL_FATAL(w->tensors, 3);
    CU_ASSERT_STRING_EQUAL(w->tensor[0], "a");
    CU_ASSERT_STRING_EQUAL(w->tensor[2], "c");
    CU_ASSERT_PTR_NULL(assay_collections_find(&c, "weight"));
    assay_matcher *m = NULL;
    CU_ASSERT_EQUAL_FATAL(assay_matcher_new(&c, (size_t)(w - c.list), &m, &problems), 0);
    CU_ASSERT_TRUE(assay_matcher_has(m, "a", 1, NULL));
    CU_ASSERT_FALSE(assay_matcher_has(m, "d", 1, NULL));
    CU_ASSERT_FALSE(assay_matcher_has(m, "a\0", 2, NULL));
    CU_ASSERT_FALSE(assay_matcher_has(m, "", 0, NULL));
    CU_ASSERT_TRUE(assay_matcher_has(m, "net.weight", 10, NULL));
    CU_ASSERT_FALSE(assay_matcher_has(m, "gradient/net.weight", 19, NULL));
    assay_matcher_free(m);
    stop();
}

/* Escapes in keys and names, members in any order, and the first of those that are there twice. */
static void test_forms(void)
{
    start();
    add("\xef\xbb\xbf{\"x\": [{\"collections\": 1}], \"_meta\": {\"a\": {}, \"num_workers\": 0.2e1, \"num_workers\": "
        "9},"
        " \"collections\": {\"\\u0061\": {\"save_config\": {\"tensor_names\": [\"no\"]}, \"tensor\\u005fnames\": "
        "[\"\\u00e9\", 7,"
        " \"b\\/c\", \"\xc3\xa9\", \"\", [\"no\"]], \"include_regex\": [\"r\"], \"tensor_names\": [\"no\"]}},"
        " \"collections\": {\"no\": {}}, \"_meta\": 1}");
    /* 7 and a list are no names, and five keys are there twice or are not known. */
    CU_ASSERT_EQUAL(problems.total, 2 + 5);
    CU_ASSERT_EQUAL(c.num_workers, 2);
    CU_ASSERT_EQUAL_FATAL(c.count, 1);
    CU_ASSERT_STRING_EQUAL(c.list[0].name, "a");
    CU_ASSERT(c.list[0].regexes == 1 && strcmp(c.list[0].regex[0], "r") == 0);
    CU_ASSERT_EQUAL_FATAL(c.list[0].tensors, 3);
    CU_ASSERT_STRING_EQUAL(c.list[0].tensor[0], "");
    CU_ASSERT_STRING_EQUAL(c.list[0].tensor[1], "b/c");
    CU_ASSERT_STRING_EQUAL(c.list[0].tensor[2], "\xc3\xa9");
    add("{\"collections\": {\"a\": {\"tensor_names\": [\"\", \"b/\", \"b\\/c\", \"b/cd\"]}}}");
    CU_ASSERT_EQUAL(c.list[0].tensors, 5);
    stop();
}

static void test_damage(void)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"", "collections.json"},
        {"{\"collections\": {", "collections.json"},
        {"[]", "no object \"collections\""},
        {"{\"collections\": []}", "no object \"collections\""},
        {"{\"collections\": {\"a\": 3}}", "\"a\": expected an object"},
        {"{\"collections\": {\"a\": {\"include_regex\": \"x\"}}}", "include_regex is no list"},
        {"{\"collections\": {\"a\": {\"tensor_names\": {}}}}", "tensor_names is no list"},
        {"{\"collections\": {\"a\": {\"tensor_names\": [1]}}}", "item of tensor_names is not a string"},
        {"{\"collections\": {}, \"_meta\": {\"num_workers\": 0}}", "num_workers"},
        {"{\"collections\": {}, \"_meta\": {\"num_workers\": 1e300}}", "num_workers"},
        {"{\"collections\": {}, \"_meta\": {\"num_workers\": \"4\"}}", "num_workers"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        start();
        add(rows[i].text);
        CU_ASSERT_EQUAL(problems.total, 1);
        CU_ASSERT_EQUAL(problems.losses, 1);
        CU_ASSERT(problems.total > 0 && strstr(problems.list[0].text, rows[i].words) != NULL);
        CU_ASSERT_EQUAL(c.num_workers, 0);
        stop();
    }
}

static void test_bad_regex(void)
{
    start();
    add("{\"collections\": {\"a\": {\"include_regex\": [\"(\", \"loss\"]}}}");
    assay_matcher *m = NULL;
    CU_ASSERT_EQUAL_FATAL(assay_matcher_new(&c, 0, &m, &problems), 0);
    CU_ASSERT_EQUAL_FATAL(problems.total, 1);
    CU_ASSERT_EQUAL(problems.list[0].kind, ASSAY_PROBLEM_COLLECTIONS);
    CU_ASSERT_PTR_NOT_NULL(strstr(problems.list[0].text, "\"a\""));
    CU_ASSERT_TRUE(assay_matcher_has(m, "my_loss", 7, NULL)); /* the sound one counts */
    assay_matcher_free(m);
    stop();
}

/* A name that a regex gives up on is no match, and the first such name a problem. */
static void test_regex_that_gives_up(void)
{
    static const char name[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!";
    start();
    add("{\"collections\": {\"slow\": {\"include_regex\": [\"^(a+)+$\", \"b!\"]}}}");
    assay_matcher *m = NULL;
    CU_ASSERT_EQUAL_FATAL(assay_matcher_new(&c, 0, &m, &problems), 0);
    CU_ASSERT_EQUAL(assay_matcher_has(m, "aaa", 3, &problems), 1);
    CU_ASSERT_EQUAL(assay_matcher_has(m, name, sizeof name - 1, NULL), 0);
    CU_ASSERT_EQUAL(problems.total, 0);
    for (int again = 0; again < 2; again++)
        CU_ASSERT_EQUAL(assay_matcher_has(m, name, sizeof name - 1, &problems), 0);
    CU_ASSERT_EQUAL_FATAL(problems.total, 1);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(problems.list[0].text, "\"slow\": include_regex \"^(a+)+$\" takes too long on tensor \"aaaa"));
    assay_matcher_free(m);
    stop();
}

static void test_pack(void)
{
    start();
    add("{\"collections\": {\"a\": {\"include_regex\": [\"r\"], \"tensor_names\": [\"x\", \"y\"]}, \"b\": {}},"
        " \"_meta\": {\"num_workers\": 2}}");
    assay_buf out, again;
    assay_collections copy = {0};
    assay_buf_init(&out, 1 << 20), assay_buf_init(&again, 1 << 20);
    assay_collections_pack(&c, &out);
    for (size_t size = 0; size < out.size; size++) {
        assay_cursor in = assay_cursor_over(out.data, size);
        CU_ASSERT_EQUAL(assay_collections_unpack(&in, &copy, NULL), ASSAY_EFORMAT);
    }
    assay_cursor in = assay_cursor_over(out.data, out.size);
    CU_ASSERT_EQUAL_FATAL(assay_collections_unpack(&in, &copy, NULL), 0);
    assay_collections_pack(&copy, &again);
    CU_ASSERT(out.size == again.size && memcmp(out.data, again.data, out.size) == 0);
    assay_collections_release(&copy);
    assay_buf_release(&out), assay_buf_release(&again);
    stop();
}

int main(void)
{
    CU_TestInfo tests[] = {{"union and membership", test_union},
                           {"files that differ", test_different},
                           {"forms of files", test_forms},
                           {"damaged files", test_damage},
                           {"a bad regular expression", test_bad_regex},
                           {"a regex that gives up", test_regex_that_gives_up},
                           {"packing", test_pack},
                           CU_TEST_INFO_NULL};
    return unit_main("trial/collections", tests);
}
