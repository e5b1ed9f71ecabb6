/* Index files: what they may look like, what is wrong with them, and shards made of them. */
#include "format/smdebug/smdebug.h"

#include <assay/rule.h>

#include "unit.h"
#include "workspace.h"

#define META                                                                                                           \
    "\"meta\": {\"mode\": \"EVAL\", \"mode_step\": 3, \"event_file_name\": "                                           \
    "\"events/000000000005/000000000005_worker_1.tfevents\"}"

static char worker_0[] = "worker_0", worker_1[] = "worker_1";
static char *worker_files[] = {worker_0, worker_1};
static const assay_catalog catalog = {.worker_key = worker_files, .worker = worker_files, .workers = 2};
static const assay_unit file_name = {.step = 5, .worker = 1, .place = 0};

typedef struct parsed {
    assay_dict *dict;
    assay_shard s;
    assay_problems problems;
} parsed;

static void parse_bytes(parsed *p, const char *text, size_t size)
{
    p->dict = assay_dict_new();
    assay_shard_init(&p->s);
    assay_problems_init(&p->problems);
    char *exact = malloc(size ? size : 1); /* so that a sanitizer sees reads past the end */
    memcpy(exact, text, size);
    CU_ASSERT_EQUAL(
        assay_smdebug_index_parse(&catalog, &file_name, exact, size, &(assay_index_sink){p->dict, &p->s, &p->problems}),
        0);
    free(exact);
}

static void parse(parsed *p, const char *text)
{
    parse_bytes(p, text, strlen(text));
}

static void drop(parsed *p)
{
    assay_dict_free(p->dict);
    assay_shard_release(&p->s);
    assay_problems_release(&p->problems);
}

static void test_sound(void)
{
    parsed p;
    parse(&p, "\xef\xbb\xbf {\n\"later\": [[{}], null, true, -1.5e-3, \"\\u00e9\"], \"tensor_payload\": ["
              "{\"length\": 2e1, \"x\": {\"y\": []}, \"start_idx\": 40.0, \"tensorname\": \"b\\n\\ud83d\\ude00\\/\"},"
              "{\"tensorname\": \"smdebug/reductions/abs_max/a\", \"start_idx\": 20, \"length\": 20},"
              "{\"tensorname\": \"a\", \"start_idx\": 0, \"length\": 20}],"
              "\"shape_payload\": [{\"tensorname\": \"s\", \"originalname\": \"S\", \"shape\": [2, 0, 3]},"
              " {\"tensorname\": \"scalar\", \"shape\": []}], " META "}");
    CU_ASSERT_EQUAL(p.problems.losses, 0);
    CU_ASSERT_EQUAL(p.problems.total, 2); /* "later" and "x" are not known */
    CU_ASSERT_EQUAL_FATAL(p.s.count, 1);
    const assay_part *part = p.s.parts;
    CU_ASSERT(part->step == 5 && part->worker == 1 && part->mode == ASSAY_MODE_EVAL && part->mode_step == 3);
    CU_ASSERT_PTR_NULL(part->files);
    CU_ASSERT_EQUAL_FATAL(part->count, 3);
    const assay_entry *e = p.s.entries;
    CU_ASSERT(e[0].offset == 0 && e[0].length == 20 && e[0].kind == ASSAY_RAW);
    CU_ASSERT(e[1].offset == 20 && e[1].kind == ASSAY_ABS + ASSAY_MAX && e[1].tensor == e[0].tensor);
    CU_ASSERT(e[2].offset == 40 && e[2].length == 20);
    CU_ASSERT_STRING_EQUAL(assay_dict_name(p.dict, e[2].tensor, NULL), "b\n\xf0\x9f\x98\x80/");
    CU_ASSERT_EQUAL_FATAL(part->shapes, 2);
    CU_ASSERT(p.s.shapes[0].dims == 3 && p.s.shapes[0].dim[0] == 2 && p.s.shapes[0].dim[2] == 3);
    CU_ASSERT_EQUAL(p.s.shapes[1].dims, 0);
    drop(&p);
    parse(&p, "{\"meta\": {\"mode\": \"TRAIN\", \"mode_step\": 0, \"event_file_name\": \"other/x\"}, "
              "\"tensor_payload\": []}");
    CU_ASSERT_EQUAL_FATAL(p.s.count, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p.s.parts[0].files);
    CU_ASSERT(p.s.parts[0].files->count == 1 && p.s.entry_count == 0);
    CU_ASSERT_STRING_EQUAL(p.s.parts[0].files->file[0].name, "other/x");
    drop(&p);
}

/* Files of no use: one problem of the index kind, which names the file, and no part. */
static void test_unusable(void)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"", "ends too early"},
        {"{", "ends too early"},
        {"[]", "expected {"},
        {"null", "expected {"},
        {"{}", "no meta"},
        {"{" META "}", "neither tensor_payload nor shape_payload"},
        {"{" META ", \"tensor_payload\": {}}", "tensor_payload: not a list"},
        {"{" META ", \"tensor_payload\": []} x", "more text"},
        {"{" META ", \"tensor_payload\": [], \"tensor_payload\": []}", "a key twice"},
        {"{" META ", \"tensor_payload\": [}", "expected a value"},
        {"{" META ", \"tensor_payload\": [{\"tensorname\": \"a\tb\"}]}", "control character"},
        {"{" META ", \"tensor_payload\": [{\"tensorname\": \"a\\x\"}]}", "an escape"},
        {"{" META ", \"tensor_payload\": [{\"tensorname\": \"a\\u12g4\"}]}", "an escape"},
        {"{" META ", \"tensor_payload\": [{\"start_idx\": 012}]}", "leading zero"},
        {"{" META ", \"tensor_payload\": [{\"start_idx\": 1.}]}", "decimal point"},
        {"{" META ", \"tensor_payload\": [{\"start_idx\": 1e}]}", "exponent"},
        {"{" META ", \"tensor_payload\": [{\"start_idx\": -}]}", "expected a number"},
        {"{" META ", \"tensor_payload\": [{\"start_idx\": 1,}]}", "expected a string"},
        {"{" META ", \"tensor_payload\": [{\"start_idx\" 1}]}", "expected :"},
        {"{" META ", \"tensor_payload\": [], \"x\": NaN}", "expected a value"},
        {"{\"meta\": 3, \"tensor_payload\": []}", "expected {"},
        {"{\"meta\": {\"mode_step\": 1}, \"tensor_payload\": []}", "no mode;"},
        {"{\"meta\": {\"mode\": \"TRAIN\"}, \"tensor_payload\": []}", "no mode_step"},
        {"{\"meta\": {\"mode\": \"train\", \"mode_step\": 1}, \"tensor_payload\": []}", "meta.mode: none of"},
        {"{\"meta\": {\"mode\": 1, \"mode_step\": 1}, \"tensor_payload\": []}", "meta.mode: none of"},
        {"{\"meta\": {\"mode\": \"EVAL\", \"mode_step\": -1}, \"tensor_payload\": []}", "meta.mode_step"},
        {"{\"meta\": {\"mode\": \"EVAL\", \"mode_step\": \"1\"}, \"tensor_payload\": []}", "meta.mode_step"},
        {"{\"meta\": {\"mode\": \"EVAL\", \"mode_step\": 1, \"event_file_name\": 1}, \"tensor_payload\": []}",
         "not a string"},
        {"{\"meta\": {\"mode\": \"EVAL\", \"mode_step\": 1, \"event_file_name\": \"/etc/x\"}, \"tensor_payload\": []}",
         "inside the trial"},
        {"{\"meta\": {\"mode\": \"EVAL\", \"mode_step\": 1, \"event_file_name\": \"a/../../x\"}, \"tensor_payload\": "
         "[]}",
         "inside the trial"},
        {"{\"meta\": {\"mode\": \"EVAL\", \"mode_step\": 1, \"event_file_name\": \"..\"}, \"tensor_payload\": []}",
         "inside the trial"},
        {"{\"meta\": {\"mode\": \"EVAL\", \"mode_step\": 1, \"event_file_name\": \"a\\u0000b\"}, \"tensor_payload\": "
         "[]}",
         "inside the trial"},
        {"{\"meta\": {\"mode\": \"EVAL\", \"mode_step\": 1, \"event_file_name\": \"\"}, \"tensor_payload\": []}",
         "inside the trial"},
        {"{\"meta\": {\"mode\": \"EVAL\", \"mode_step\": 1, \"event_file_name\": "
         "\"events/000000000005/000000000005_worker_0.tfevents\"}, \"tensor_payload\": []}",
         "of another worker or step"},
        {"{\"meta\": {\"mode\": \"EVAL\", \"mode_step\": 1, \"event_file_name\": "
         "\"events/000000000006/000000000006_worker_1.tfevents\"}, \"tensor_payload\": []}",
         "of another worker or step"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        parsed p;
        parse(&p, rows[i].text);
        /* of a step whose file has no name, the step and its mode are known all the same */
        CU_ASSERT_EQUAL(p.s.count, strstr(rows[i].text, "event_file_name\": \"\"") != NULL);
        CU_ASSERT(p.s.entry_count == 0 && p.s.shape_count == 0);
        CU_ASSERT_EQUAL_FATAL(p.problems.total, 1);
        const assay_problem *q = p.problems.list;
        CU_ASSERT(q->kind == ASSAY_PROBLEM_INDEX && q->step == 5);
        CU_ASSERT_STRING_EQUAL(q->file, "index/000000000/000000000005_worker_1.json");
        CU_ASSERT_PTR_NOT_NULL(strstr(q->text, rows[i].words));
        if (!strstr(q->text, rows[i].words))
            fprintf(stderr, "wanted \"%s\" in: %s\n", rows[i].words, q->text);
        drop(&p);
    }
}

/* Cut anywhere, a file gives no part and exactly one problem. */
static void test_cut(void)
{
    static const char text[] =
        "{" META ", \"tensor_payload\": [{\"tensorname\": \"\\u00e9a\", \"start_idx\": 0, \"length\": 20}],"
        " \"shape_payload\": [{\"tensorname\": \"s\", \"shape\": [1, 2]}], \"more\": [true, {\"x\": null}]}";
    for (size_t size = 0; size < sizeof text - 1; size++) {
        parsed p;
        parse_bytes(&p, text, size);
        CU_ASSERT_EQUAL(p.s.count, 0);
        CU_ASSERT_EQUAL(p.problems.total, 1);
        drop(&p);
    }
}

/* One bad entry is named with its offset, and the good ones around it count. */
static void test_bad_entries(void)
{
    static const struct {
        const char *entry, *words;
    } rows[] = {
        {"{\"start_idx\": 0, \"length\": 20}", "no tensorname"},
        {"{\"tensorname\": \"x\", \"length\": 20}", "no start_idx"},
        {"{\"tensorname\": \"x\", \"start_idx\": 0}", "no length"},
        {"{\"tensorname\": \"\", \"start_idx\": 0, \"length\": 20}", "without a name"},
        {"{\"tensorname\": 7, \"start_idx\": 0, \"length\": 20}", "tensorname: not a string"},
        {"{\"tensorname\": \"x\", \"start_idx\": \"0\", \"length\": 20}", "start_idx: not an integer"},
        {"{\"tensorname\": \"x\", \"start_idx\": 0.5, \"length\": 20}", "start_idx: not an integer"},
        {"{\"tensorname\": \"x\", \"start_idx\": 9223372036854775808, \"length\": 20}", "start_idx: not an integer"},
        {"{\"tensorname\": \"x\", \"start_idx\": 1e999999999999999999999, \"length\": 20}",
         "start_idx: not an integer"},
        {"{\"tensorname\": \"x\", \"start_idx\": null, \"length\": 20}", "start_idx: not an integer"},
        {"{\"tensorname\": \"x\", \"start_idx\": -1, \"length\": 20}", "negative"},
        {"{\"tensorname\": \"x\", \"start_idx\": 0, \"length\": -20}", "less than the 16 bytes"},
        {"{\"tensorname\": \"x\", \"start_idx\": 0, \"length\": 15}", "less than the 16 bytes"},
        {"{\"tensorname\": \"x\", \"start_idx\": 9223372036854775807, \"length\": 20}", "beyond 64 bits"},
        {"{\"tensorname\": \"x\", \"tensorname\": \"y\", \"start_idx\": 0, \"length\": 20}", "a key twice"},
        {"[]", "not an object"},
        {"3", "not an object"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        parsed p;
        char text[1024];
        snprintf(text, sizeof text,
                 "{" META ", \"tensor_payload\": [{\"tensorname\": \"good\", \"start_idx\": 0, \"length\": 20}, %s, "
                 "{\"tensorname\": \"fine\", \"start_idx\": 20, \"length\": 30}]}",
                 rows[i].entry);
        parse(&p, text);
        CU_ASSERT_EQUAL_FATAL(p.s.count, 1);
        CU_ASSERT_EQUAL(p.s.parts[0].count, 2);
        CU_ASSERT(p.s.entries[0].length == 20 && p.s.entries[1].length == 30);
        CU_ASSERT_EQUAL_FATAL(p.problems.total, 1);
        CU_ASSERT_PTR_NOT_NULL(strstr(p.problems.list[0].text, rows[i].words));
        if (!strstr(p.problems.list[0].text, rows[i].words))
            fprintf(stderr, "wanted \"%s\" in: %s\n", rows[i].words, p.problems.list[0].text);
        int64_t at = p.problems.list[0].offset, entry = strstr(text, "20}, ") + 5 - text;
        CU_ASSERT(at >= entry && at < entry + (int64_t)strlen(rows[i].entry));
        drop(&p);
    }
}

/* A second backward pass saves gradients again: the last ones count, and a remark names each. */
static void test_saved_again(void)
{
    parsed p;
    parse(&p, "{" META ", \"tensor_payload\": [{\"tensorname\": \"a\", \"start_idx\": 0, \"length\": 20},"
              "{\"tensorname\": \"b\", \"start_idx\": 20, \"length\": 30},"
              "{\"tensorname\": \"smdebug/reductions/min/a\", \"start_idx\": 50, \"length\": 16},"
              "{\"tensorname\": \"a\", \"start_idx\": 66, \"length\": 21},"
              "{\"tensorname\": \"a\", \"start_idx\": 87, \"length\": 22},"
              "{\"tensorname\": \"c\", \"start_idx\": 109, \"length\": 23}],"
              "\"shape_payload\": [{\"tensorname\": \"a\", \"shape\": [1]}]}");
    static const uint64_t offsets[] = {20, 50, 87, 109};
    CU_ASSERT_EQUAL_FATAL(p.s.count, 1);
    CU_ASSERT_EQUAL_FATAL(p.s.parts[0].count, 4);
    CU_ASSERT_EQUAL(p.s.parts[0].shapes, 1);
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(p.s.entries[i].offset, offsets[i]);
    CU_ASSERT(p.problems.total == 2 && p.problems.losses == 0);
    CU_ASSERT_EQUAL(p.problems.list[0].kind, ASSAY_PROBLEM_AGAIN);
    CU_ASSERT_PTR_NOT_NULL(strstr(p.problems.list[0].text, "\"a\" is listed twice"));
    drop(&p);
}

static void test_bad_shapes(void)
{
    parsed p;
    parse(&p,
          "{" META
          ", \"shape_payload\": [{\"tensorname\": \"a\", \"shape\": [1, -1]}, {\"tensorname\": \"b\", \"shape\": 3},"
          "{\"tensorname\": \"\", \"shape\": [7, 8]}, {\"tensorname\": \"c\", \"shape\": [5, 6, 4]}, {\"tensorname\": "
          "\"c\", \"shape\": [9]},"
          "{\"tensorname\": \"d\", \"shape\": [2]}, {\"tensorname\": \"e\"}, {\"shape\": [1]}]}");
    CU_ASSERT_EQUAL(p.problems.total, 6);
    CU_ASSERT_EQUAL_FATAL(p.s.count, 1);
    CU_ASSERT_EQUAL_FATAL(p.s.parts[0].shapes, 2);
    CU_ASSERT(p.s.shapes[0].dims == 3 && p.s.shapes[0].dim[0] == 5 && p.s.shapes[0].dim[2] == 4);
    CU_ASSERT(p.s.shapes[1].dims == 1 && p.s.shapes[1].dim[0] == 2);
    drop(&p);
}

static void test_depth(void)
{
    parsed p;
    char text[256000];
    for (int depth = 62; depth <= 100062; depth += 100000) {
        int n = snprintf(text, sizeof text, "{" META ", \"tensor_payload\": [], \"x\": ");
        memset(text + n, '[', (size_t)depth);
        memset(text + n + depth, ']', (size_t)depth);
        text[n + 2 * depth] = '}';
        parse_bytes(&p, text, (size_t)(n + 2 * depth + 1));
        CU_ASSERT_EQUAL(p.s.count, depth == 62);
        CU_ASSERT_EQUAL(p.problems.losses, depth != 62);
        drop(&p);
    }
}

/* A missing file is a problem, and the others are read. */
static void test_read(void)
{
    workspace w;
    assay_store *store = NULL;
    parsed p = {.dict = assay_dict_new()};
    static assay_unit names[] = {{.step = 1}, {.step = 2}, {.step = 3}};
    assay_catalog three = catalog;
    three.units = names;
    three.unit_count = 3;
    workspace_make(&w);
    workspace_index(&w, 1, "worker_0");
    workspace_index(&w, 3, "worker_0");
    CU_ASSERT_EQUAL_FATAL(assay_store_open(w.root, &store, NULL), 0);
    CU_ASSERT_EQUAL(assay_index_read(store, &three, names, 3, &(assay_index_sink){p.dict, &p.s, &p.problems}), 0);
    CU_ASSERT_EQUAL(p.s.count, 2);
    CU_ASSERT_EQUAL_FATAL(p.problems.total, 1);
    CU_ASSERT(p.problems.list[0].kind == ASSAY_PROBLEM_READ && p.problems.list[0].step == 2);
    drop(&p);
    assay_store_close(store);
    workspace_remove(&w);
}

/* 100 000 items, every 1000th wrong in one of three ways, between shapes on both sides. */
static char *large_text(size_t *size)
{
    enum { ITEMS = 100000, ROOM = 128 };
    char *text = malloc((ITEMS + 10) * (size_t)ROOM);
    int n = sprintf(text, "{\"shape_payload\": [{\"tensorname\": \"first\", \"shape\": [7]}], \"tensor_payload\": [");
    for (int i = 0; i < ITEMS; i++)
        n += sprintf(text + n, "%s{\"tensorname\": \"%s%d\", \"start_idx\": %d, \"length\": %d}", i ? ", " : "",
                     i % 7 || i % 3000 == 1000 ? "layer/" : "\\u00e9", i % 3000 == 1000 ? 1 : i,
                     i % 3000 == 2000 ? -1 : i * 20, i % 3000 ? 20 : 2);
    *size = (size_t)n + (size_t)sprintf(text + n, "], " META "}");
    return text;
}

static bool same_index(const parsed *a, const parsed *b)
{
    bool same = a->s.entry_count == b->s.entry_count && a->s.shape_count == b->s.shape_count &&
                a->problems.total == b->problems.total && assay_dict_count(a->dict) == assay_dict_count(b->dict);
    for (size_t i = 0; same && i < a->s.entry_count; i++) {
        const assay_entry *x = &a->s.entries[i], *y = &b->s.entries[i];
        same = x->offset == y->offset && x->length == y->length && x->tensor == y->tensor && x->kind == y->kind;
    }
    for (uint32_t id = 0; same && id < assay_dict_count(a->dict); id++)
        same = strcmp(assay_dict_name(a->dict, id, NULL), assay_dict_name(b->dict, id, NULL)) == 0;
    for (size_t i = 0; same && i < a->problems.kept; i++)
        same = strcmp(a->problems.list[i].text, b->problems.list[i].text) == 0;
    return same;
}

/* What is read from a store gives its memory back as it goes, and comes to the same. */
static void test_large(void)
{
    workspace w;
    assay_store *store = NULL;
    size_t size;
    char *text = large_text(&size);
    parsed whole, read = {.dict = assay_dict_new()};
    static assay_unit names[] = {{.step = 5, .worker = 1}};
    assay_catalog one = catalog;
    one.units = names;
    one.unit_count = 1;
    parse_bytes(&whole, text, size);
    CU_ASSERT(whole.s.entry_count == 100000 - 100 && whole.problems.total == 100 && whole.s.shape_count == 1);
    workspace_make(&w);
    workspace_write(&w, "index/000000000/000000000005_worker_1.json", text, size);
    CU_ASSERT_EQUAL_FATAL(assay_store_open(w.root, &store, NULL), 0);
    CU_ASSERT_EQUAL(assay_index_read(store, &one, names, 1, &(assay_index_sink){read.dict, &read.s, &read.problems}),
                    0);
    CU_ASSERT_TRUE(same_index(&whole, &read));
    CU_ASSERT_TRUE(read.s.shape_count == 1 && read.s.shapes[0].dim[0] == 7);
    drop(&whole);
    drop(&read);
    free(text);
    assay_store_close(store);
    workspace_remove(&w);
}

int main(void)
{
    CU_TestInfo tests[] = {{"sound files in every form", test_sound},
                           {"files of no use", test_unusable},
                           {"a file cut anywhere", test_cut},
                           {"bad entries", test_bad_entries},
                           {"a tensor that is saved again at its step", test_saved_again},
                           {"bad shapes", test_bad_shapes},
                           {"nesting", test_depth},
                           {"reading", test_read},
                           {"a large file", test_large},
                           CU_TEST_INFO_NULL};
    return unit_main("trial/index", tests);
}
