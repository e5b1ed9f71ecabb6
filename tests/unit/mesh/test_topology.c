/* topology.json: what is refused, where workers are, what tensors are called and made of, and how pieces are joined. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/join.h"
#include "mesh/relations.h"
#include "unit.h"

#define HEAD "{\"schema\": \"assay-topology/1\", \"meshes\": {\"d\": {\"axes\": [[\"dp\", 2], [\"tp\", 2]]}}"

static assay_topology *parse(const char *text)
{
    assay_topology *t = NULL;
    assay_error err = {""};
    if (assay_topology_parse("f", text, strlen(text), &t, &err) != ASSAY_OK)
        printf("%s\n", err.text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    return t;
}

static void test_refused(void)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"[", "f: "},
        {"{}", "f: schema: expected \"assay-topology/1\""},
        {"{\"schema\": \"assay-topology/1\"}", "f: meshes: expected an object"},
        {"{\"schema\": \"assay-topology/1\", \"meshes\": {}}", "f: meshes: at least one"},
        {"{\"schema\": \"assay-topology/1\", \"meshes\": {\"d\": {\"axes\": []}}}", "f: meshes.d: \"axes\" must be"},
        {"{\"schema\": \"assay-topology/1\", \"meshes\": {\"d\": {\"axes\": [[\"TP\", 2]]}}}",
         "f: meshes.d.axes[0]: \"TP\" is not a name"},
        {"{\"schema\": \"assay-topology/1\", \"meshes\": {\"d\": {\"axes\": [[\"tp\", 0]]}}}",
         "f: meshes.d.axes[0]: the size"},
        {"{\"schema\": \"assay-topology/1\", \"meshes\": {\"d\": {\"axes\": [[\"a\", 65536], [\"b\", 65536]]}}}",
         "f: meshes.d.axes[1]: the sizes of the axes multiply"},
        {"{\"schema\": \"assay-topology/1\", \"meshes\": {\"d\": {\"axes\": [[\"a\", 4]]}, \"e\": {\"axes\": [[\"b\", "
         "2]]}}}",
         "f: meshes.e: its axes multiply to 2 workers, those of the first mesh to 4"},
        {HEAD ", \"tensor\": []}", "f: the file: unknown key \"tensor\""},
        {HEAD ", \"workers\": {\"w\": {\"d\": {\"tp\": 2}}}}", "f: workers.w.d.tp: the coordinate"},
        {HEAD ", \"tensors\": [{\"match\": \"(\"}]}", "f: tensors[0]: match: "},
        {HEAD ", \"tensors\": [{\"match\": \"x\"}, {\"match\": \"x\", \"own\": [\"ep\"]}]}",
         "f: tensors[1].own: the mesh \"d\" has no axis"},
        {HEAD ", \"tensors\": [{\"match\": \"x\", \"own\": [\"tp\"], \"sum\": [\"tp\"]}]}",
         "f: tensors[0].own: the axis \"tp\" is in \"sum\""},
        {HEAD ", \"tensors\": [{\"match\": \"x\", \"split\": {\"tp\": {\"axis\": 0.5}}}]}",
         "f: tensors[0].split.tp.axis: expected"},
        {HEAD ", \"tensors\": [{\"match\": \"x\", \"split\": {\"tp\": {\"axis\": 0, \"parts\": [0.5, 0.6]}}}]}",
         "f: tensors[0].split.tp.parts: the shares add up to 1.1"},
        {HEAD ", \"tensors\": [{\"match\": \"x\", \"number\": {\"group\": 1, \"add\": {\"tp\": 2}}}]}",
         "f: tensors[0].number: \"group\" must"},
        {HEAD ", \"tensors\": [{\"match\": \"(x)\", \"number\": {\"group\": 1, \"add\": {\"tp\": [1]}}}]}",
         "f: tensors[0].number: 1 numbers"},
        {HEAD ", \"tensors\": [{\"match\": \"x\", \"then\": \"stop\"}]}", "f: tensors[0]: \"then\" can only be"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assay_topology *t = NULL;
        assay_error err = {""};
        CU_ASSERT_EQUAL(assay_topology_parse("f", cases[i].text, strlen(cases[i].text), &t, &err), ASSAY_EJOB);
        if (strncmp(err.text, cases[i].said, strlen(cases[i].said)) != 0)
            printf("%s: %s\n", cases[i].said, err.text);
        CU_ASSERT(strncmp(err.text, cases[i].said, strlen(cases[i].said)) == 0);
        CU_ASSERT_PTR_NULL(t);
    }
}

static void test_places(void)
{
    char *const workers[] = {(char[]){"rank_0"}, (char[]){"rank_3"}, (char[]){"rank_2"}};
    char *const five[] = {(char[]){"rank_5"}}, *const none[] = {(char[]){"chief"}};
    assay_error err = {""};
    assay_topology *t = parse(HEAD ", \"workers\": {\"rank_2\": {\"d\": {\"dp\": 0, \"tp\": 1}}}}");
    CU_ASSERT_EQUAL_FATAL(assay_topology_place(t, "f", workers, 3, &err), 0);
    CU_ASSERT_EQUAL(assay_topology_at(t, 1, 0, 0), 1);
    CU_ASSERT_EQUAL(assay_topology_at(t, 1, 0, 1), 1);
    CU_ASSERT_EQUAL(assay_topology_at(t, 2, 0, 0), 0);
    CU_ASSERT_EQUAL(assay_topology_at(t, 2, 0, 1), 1);
    CU_ASSERT_EQUAL(assay_topology_place(t, "f", five, 1, &err), ASSAY_EJOB);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "rank_5"));
    CU_ASSERT_EQUAL(assay_topology_place(t, "f", none, 1, &err), ASSAY_EJOB);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "ends in no number"));
    assay_topology_free(t);
    t = parse(HEAD ", \"workers\": {\"rank_2\": {\"d\": {\"dp\": 1, \"tp\": 1}}}}");
    CU_ASSERT_EQUAL(assay_topology_place(t, "f", workers, 3, &err), ASSAY_EJOB);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "rank_3 and rank_2 are at one place"));
    assay_topology_free(t);
}

/* What a worker's tensor is called, and its layout. */
static const assay_layout *meet(assay_layouts *l, const assay_topology *t, uint32_t worker, const char *recorded,
                                const char *own)
{
    assay_buf name;
    int status;
    assay_buf_init(&name, SIZE_MAX);
    const uint32_t id = assay_layouts_meet(l, t, worker, recorded, strlen(recorded), &name, &status, NULL);
    CU_ASSERT_EQUAL_FATAL(status, 0);
    CU_ASSERT(name.size == strlen(own) && memcmp(name.data, own, name.size) == 0);
    assay_buf_release(&name);
    return &l->list[id];
}

static void test_layouts(void)
{
    char *const workers[] = {(char[]){"rank_0"}, (char[]){"rank_1"}, (char[]){"rank_2"}, (char[]){"rank_3"}};
    static const char text[] =
        "{\"schema\": \"assay-topology/1\", \"meshes\": {\"d\": {\"axes\": [[\"pp\", 2], [\"tp\", 2]]}}, \"tensors\": ["
        "{\"match\": \"layers\\\\.(\\\\d+)\\\\.\", \"number\": {\"group\": 1, \"add\": {\"pp\": [0, 3]}}, \"then\": "
        "\"next\"},"
        "{\"match\": \"norm\", \"replicate\": [\"tp\"]}, {\"match\": \"fc\", \"split\": {\"tp\": {\"axis\": -1}}},"
        "{\"match\": \"loss\", \"own\": [\"tp\"]}, {\"match\": \"maybe\", \"replicate\": [\"pp\"], \"peers\": [\"tp\"]}]}";
    assay_layouts l;
    assay_relations *r = NULL;
    assay_topology *t = parse(text);
    CU_ASSERT_EQUAL_FATAL(assay_topology_place(t, "f", workers, 4, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(assay_layouts_init(&l), 0);
    for (uint32_t w = 0; w < 4; w++) { /* pp is w / 2 */
        meet(&l, t, w, "layers.1.fc", w < 2 ? "layers.1.fc" : "layers.4.fc");
        meet(&l, t, w, "optimizer/0.layers.1.fc/exp_avg",
             w < 2 ? "optimizer/0.layers.1.fc/exp_avg" : "optimizer/0.layers.4.fc/exp_avg");
        meet(&l, t, w, "norm", "norm");
        meet(&l, t, w, "other", "other");
        meet(&l, t, w, "maybe", "maybe");
    }
    meet(&l, t, 0, "loss", "loss");
    meet(&l, t, 1, "loss", "loss");
    const assay_layout *fc = &l.list[assay_dict_find(l.names, "layers.4.fc", 11)];
    CU_ASSERT_EQUAL(assay_layout_kind(fc, t, 0), ASSAY_AXIS_SOLE); /* one stage has it */
    CU_ASSERT_EQUAL(assay_layout_kind(fc, t, 1), ASSAY_AXIS_SPLIT);
    CU_ASSERT(assay_layout_is_split(fc, t));
    const assay_layout *norm = &l.list[assay_dict_find(l.names, "norm", 4)];
    CU_ASSERT_EQUAL(assay_layout_kind(norm, t, 0), ASSAY_AXIS_UNKNOWN); /* both stages have it */
    CU_ASSERT_EQUAL(assay_layout_kind(norm, t, 1), ASSAY_AXIS_REPLICATE);
    CU_ASSERT(!assay_layout_is_split(norm, t));
    CU_ASSERT_EQUAL_FATAL(assay_relations_new(t, &l, l.names, &r), 0);
    const assay_relation_class *c = assay_relation_of(r, assay_dict_find(l.names, "norm", 4));
    CU_ASSERT(c->replicas[0] == 0 && c->replicas[1] == 0 && c->replicas[2] == 2 && c->replicas[3] == 2 && c->unknown);
    c = assay_relation_of(r, assay_dict_find(l.names, "loss", 4));
    CU_ASSERT(c->relatives[0] == 0 && c->relatives[1] == 0 && !c->unknown && !c->single);
    c = assay_relation_of(r, assay_dict_find(l.names, "maybe", 5)); /* compared, and not known to be copies */
    CU_ASSERT(c->replicas[2] == 0 && c->replicas[3] == 1 && c->peers[3] == 0 && c->unknown && !c->split);
    c = assay_relation_of(r, assay_dict_find(l.names, "layers.1.fc", 11));
    CU_ASSERT(c->single && c->split && c->replicas[1] == 1);
    assay_buf bytes;
    assay_relations *copy = NULL;
    assay_buf_init(&bytes, SIZE_MAX);
    assay_relations_pack(r, &bytes);
    for (size_t cut = 0; cut < bytes.size; cut++) {
        assay_cursor in = assay_cursor_over(bytes.data, cut);
        CU_ASSERT_EQUAL(assay_relations_unpack(&in, r->tensors, r->workers, &copy), ASSAY_EFORMAT);
    }
    assay_cursor in = assay_cursor_over(bytes.data, bytes.size);
    CU_ASSERT_EQUAL_FATAL(assay_relations_unpack(&in, r->tensors, r->workers, &copy), 0);
    CU_ASSERT(assay_relation_of(copy, 0)->replicas[3] == assay_relation_of(r, 0)->replicas[3] &&
              !assay_cursor_bad(&in));
    assay_relations_free(copy);
    assay_buf_release(&bytes);
    assay_relations_free(r);
    assay_layouts_release(&l);
    assay_topology_free(t);
}

/* Expects what the last worker of the mesh calls a tensor to become `own`; NULL: to be refused with what is `said`. */
static void expect_number(const char *text, char *last, const char *recorded, const char *own, const char *said)
{
    assay_layouts l;
    assay_buf name;
    assay_error err = {""};
    int status = ASSAY_OK;
    assay_topology *t = parse(text);
    assay_buf_init(&name, SIZE_MAX);
    CU_ASSERT_EQUAL_FATAL(assay_topology_place(t, "f", &last, 1, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(assay_layouts_init(&l), 0);
    const uint32_t id = assay_layouts_meet(&l, t, 0, recorded, strlen(recorded), &name, &status, &err);
    CU_ASSERT_EQUAL(status, own ? ASSAY_OK : ASSAY_EFORMAT);
    CU_ASSERT_EQUAL(id, own ? 0 : ASSAY_NO_ID);
    if (own)
        CU_ASSERT(name.size == strlen(own) && memcmp(name.data, own, name.size) == 0);
    CU_ASSERT_STRING_EQUAL(err.text, said);
    assay_buf_release(&name);
    assay_layouts_release(&l);
    assay_topology_free(t);
}

#define MATCH(pattern)         "{\"match\": \"" pattern "\", \"number\": "
#define ADD(group, axis, more) "{\"group\": " group ", \"add\": {\"" axis "\": " more "}}"

static void test_numbers(void)
{
    static const char common[] = "two groups of patterns have some digits in common, and not all",
                      large[] = "one is too large";
    static const struct {
        const char *tensors, *recorded, *own, *said;
    } cases[] = {
        {MATCH("block(\\\\d*)\\\\.") ADD("1", "tp", "8") "}", "block3.w", "block11.w", ""},
        {MATCH("block(\\\\d*)\\\\.") ADD("1", "tp", "8") "}", "block.w", "block.w", ""},
        {MATCH("b(\\\\d+)c(\\\\d+)") "[" ADD("2", "tp", "8") "," ADD("1", "tp", "1") "]}", "b3c4", "b4c12", ""},
        {MATCH("(\\\\d+)$") ADD("1", "tp", "8") ", \"then\": \"next\"}," MATCH("b(\\\\d+)") ADD("1", "dp", "20") "}",
         "b789", "b817", ""},
        {MATCH("b(\\\\d(\\\\d+))") "[" ADD("1", "tp", "8") "," ADD("2", "tp", "8") "]}", "b789", NULL, common},
        {MATCH("b(\\\\d(\\\\d+))") "[" ADD("2", "tp", "8") "," ADD("1", "tp", "8") "]}", "b789", NULL, common},
        {MATCH("b((\\\\d)\\\\d+)") "[" ADD("1", "tp", "8") "," ADD("2", "tp", "8") "]}", "b789", NULL, common},
        {MATCH("b(\\\\d\\\\d)") ADD("1", "tp", "8") ", \"then\": \"next\"}," MATCH("(\\\\d\\\\d)$")
             ADD("1", "tp", "8") "}",
         "b789", NULL, common},
        {MATCH("b(\\\\d+)") ADD("1", "tp", "8") "}", "b1234567890123456", NULL, large},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        snprintf(text, sizeof text, "%s, \"tensors\": [%s]}", HEAD, cases[i].tensors);
        expect_number(text, (char[]){"rank_3"}, cases[i].recorded, cases[i].own, cases[i].said);
    }
    expect_number("{\"schema\": \"assay-topology/1\", \"meshes\": {\"d\": {\"axes\": [[\"pp\", 2147483647]]}}, "
                  "\"tensors\": [" MATCH("b(\\\\d+)") ADD("1", "pp", "1099511627776") "}]}",
                  (char[]){"rank_2147483646"}, "b7", NULL, large);
}

/* The walk over the pieces in which element i of piece p is the tensor's `wanted`: goes through it in C order. */
static void expect_walk(const assay_join_level *level, uint32_t levels, const assay_join_piece *piece, uint32_t pieces,
                        const int *wanted, size_t elements)
{
    assay_join join = {0};
    assay_join_walk walk;
    assay_error err = {""};
    size_t next[8] = {0}, at = 0;
    uint32_t p;
    uint64_t run;
    CU_ASSERT_EQUAL_FATAL(assay_join_pieces(level, levels, piece, pieces, &join, &err), 0);
    CU_ASSERT_EQUAL_FATAL(assay_join_walk_begin(&walk, &join), 0);
    while (assay_join_walk_next(&walk, &p, &run))
        for (uint64_t i = 0; i < run; i++, at++) {
            CU_ASSERT_FATAL(at < elements);
            CU_ASSERT_EQUAL(wanted[at], (int)(100 * p + next[p]++)); /* pieces are streams */
        }
    CU_ASSERT_EQUAL(at, elements);
    assay_join_walk_end(&walk);
    assay_join_release(&join);
}

static void test_join(void)
{
    const assay_join_piece rows[] = {{{0}, 2, {2, 2}}, {{1}, 2, {1, 2}}};
    const assay_join_level along_rows = {.dim = 0}, along_columns = {.dim = -1};
    expect_walk(&along_rows, 1, rows, 2, (const int[]){0, 1, 2, 3, 100, 101}, 6);
    const assay_join_piece columns[] = {{{0}, 2, {2, 2}}, {{1}, 2, {2, 1}}};
    expect_walk(&along_columns, 1, columns, 2, (const int[]){0, 1, 100, 2, 3, 101}, 6);
    const double halves[] = {0.5, 0.5}, three[] = {2, 1};
    const assay_join_level gated = {.dim = 0, .fractions = true, .parts = 2, .part = halves},
                           groups = {.dim = 0, .parts = 2, .part = three};
    const assay_join_piece two[] = {{{0}, 1, {4}}, {{1}, 1, {2}}}, same[] = {{{0}, 1, {3}}, {{1}, 1, {3}}};
    expect_walk(&gated, 1, two, 2, (const int[]){0, 1, 100, 2, 3, 101}, 6);
    expect_walk(&groups, 1, same, 2, (const int[]){0, 1, 100, 101, 2, 102}, 6);
    const assay_join_level flat = {.flat = true, .numel = 4};
    expect_walk(&flat, 1, same, 2, (const int[]){0, 1, 2, 100}, 4);
    const assay_join_level grid[] = {{.dim = 1}, {.dim = 0}}, strided[] = {{.dim = 0}, {.dim = 0}};
    const assay_join_piece four[] = {
        {{0, 0}, 2, {1, 2}}, {{0, 1}, 2, {1, 2}}, {{1, 0}, 2, {1, 2}}, {{1, 1}, 2, {1, 2}}};
    expect_walk(grid, 2, four, 4, (const int[]){0, 1, 200, 201, 100, 101, 300, 301}, 8);
    expect_walk(strided, 2, four, 4, (const int[]){0, 1, 100, 101, 200, 201, 300, 301}, 8);
}

static void test_no_join(void)
{
    const assay_join_piece odd[] = {{{0}, 2, {2, 2}}, {{1}, 2, {2, 3}}}, three[] = {{{0}, 1, {3}}, {{1}, 1, {3}}};
    const double halves[] = {0.5, 0.5}, large[] = {2, 2};
    const struct {
        assay_join_level level;
        const assay_join_piece *piece;
        const char *said;
    } cases[] = {
        {{.dim = 0}, odd, "differ in a dimension other than 0"},
        {{.dim = 2}, odd, "is to be split along 2"},
        {{.dim = -2}, three, "is to be split along -2"},
        {{.flat = true, .numel = -1}, odd, "2 dimensions"},
        {{.flat = true, .numel = 7}, three, "the pieces have 6 elements, and the tensor 7"},
        {{.dim = 0, .fractions = true, .parts = 2, .part = halves}, three, "not a whole number"},
        {{.dim = 0, .parts = 2, .part = large}, three, "more than the 3 elements"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assay_join join = {0};
        assay_error err = {""};
        CU_ASSERT_EQUAL(assay_join_pieces(&cases[i].level, 1, cases[i].piece, 2, &join, &err), ASSAY_EFORMAT);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].said));
        CU_ASSERT_PTR_NULL(join.box);
    }
}

/* Blocks of a level look at all boxes of the levels below: a short file must not ask for hours. */
static void test_too_fine(void)
{
    enum { BLOCKS = 1 << 14 };
    double *ones = malloc(2 * BLOCKS * sizeof *ones);
    CU_ASSERT_PTR_NOT_NULL_FATAL(ones);
    for (size_t i = 0; i < 2 * BLOCKS; i++)
        ones[i] = 1;
    const assay_join_level levels[] = {{.dim = 0, .parts = 2 * BLOCKS, .part = ones},
                                       {.dim = 0, .parts = BLOCKS, .part = ones}};
    const assay_join_piece pieces[] = {{{0, 0}, 1, {BLOCKS}}, {{0, 1}, 1, {BLOCKS}}};
    assay_join join = {0};
    assay_error err = {""};
    CU_ASSERT_EQUAL(assay_join_pieces(levels, 2, pieces, 2, &join, &err), ASSAY_EFORMAT);
    CU_ASSERT_STRING_EQUAL(err.text, "its parts divide it too finely");
    CU_ASSERT_PTR_NULL(join.box);
    CU_ASSERT_EQUAL_FATAL(assay_join_pieces(levels + 1, 1, &(assay_join_piece){{0}, 1, {BLOCKS}}, 1, &join, &err), 0);
    CU_ASSERT_EQUAL(join.boxes, BLOCKS);
    assay_join_release(&join);
    free(ones);
}

int main(void)
{
    CU_TestInfo tests[] = {{"what is wrong in a file is refused with its place", test_refused},
                           {"workers are placed by the file, else by their names", test_places},
                           {"tensors are named and laid out as the file says", test_layouts},
                           {"numbers in names are counted on, or it is said why not", test_numbers},
                           {"pieces are joined, and each is read in its own order", test_join},
                           {"pieces that do not fit together are refused", test_no_join},
                           {"parts that divide a tensor too finely are refused", test_too_fine},
                           CU_TEST_INFO_NULL};
    return unit_main("trial/topology", tests);
}
