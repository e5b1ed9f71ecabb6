/* Tables of settings: what is taken from texts and from JSON, with which defaults, and what is refused with which words. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/settings.h"

typedef struct options {
    bool on;
    const char *name;
    char *copy;
    size_t count, bytes;
    uint32_t narrow;
    double share;
    int word;
    assay_setting_integer step;
    assay_setting_range range;
    const cJSON *texts;
} options;

#define AT(member) ASSAY_SETTING_AT(options, member)
static const assay_setting table[] = {
    {.name = "on", .kind = ASSAY_SETTING_SWITCH, AT(on)},
    {.name = "name", .kind = ASSAY_SETTING_TEXT, AT(name), .required = true, .help = "its name"},
    {.name = "copy", .kind = ASSAY_SETTING_COPY, AT(copy), .initial = "c"},
    {.name = "count", .kind = ASSAY_SETTING_COUNT, AT(count), .initial = "5"},
    {.name = "narrow", .kind = ASSAY_SETTING_COUNT, AT(narrow), .most = 10},
    {.name = "share", .kind = ASSAY_SETTING_REAL, AT(share), .least = -1, .most = 1, .initial = "0.5"},
    {.name = "word", .kind = ASSAY_SETTING_WORD, AT(word), .words = "info|warning|error", .initial = "warning"},
    {.name = "texts", .kind = ASSAY_SETTING_TEXTS, AT(texts), .most = 2},
    {0}};
static const assay_setting step = {.name = "step", .kind = ASSAY_SETTING_INTEGER};
static const assay_setting range = {.name = "range", .kind = ASSAY_SETTING_RANGE};
static const assay_setting bytes = {.name = "bytes", .kind = ASSAY_SETTING_SIZE};

static int read_json(const char *text, options *out, assay_error *err)
{
    cJSON *tree = NULL;
    CU_ASSERT_EQUAL(assay_json_parse("t", text, strlen(text), &tree, NULL), ASSAY_OK);
    const int status = assay_settings_read(table, "place", tree, out, err);
    out->texts = NULL; /* the tree goes */
    if (status == ASSAY_OK)
        CU_ASSERT_STRING_EQUAL(out->name, "n");
    cJSON_Delete(tree);
    return status;
}

static void test_read(void)
{
    options o = {.copy = NULL};
    CU_ASSERT_EQUAL(read_json("{\"name\": \"n\"}", &o, NULL), ASSAY_OK);
    CU_ASSERT(!o.on && o.count == 5 && o.narrow == 0 && o.share == 0.5 && o.word == 1 && strcmp(o.copy, "c") == 0);
    CU_ASSERT_EQUAL(
        read_json("{\"name\": \"n\", \"on\": true, \"copy\": \"d\", \"count\": 7, \"narrow\": 10, \"share\": -1, "
                  "\"word\": \"error\", \"texts\": [\"a\", \"b\"]}",
                  &o, NULL),
        ASSAY_OK);
    CU_ASSERT(o.on && o.count == 7 && o.narrow == 10 && o.share == -1 && o.word == 2 && strcmp(o.copy, "d") == 0);
    free(o.copy);
    options none = {.count = 1};
    CU_ASSERT_EQUAL(assay_settings_read(table, "place", NULL, &none, NULL), ASSAY_OK); /* all are missing */
    CU_ASSERT(!none.name && none.count == 5);
    free(none.copy);
}

static void test_refused(void)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"[]", "place: expected an object"},
        {"{}", "place: \"name\" is missing: its name"},
        {"{\"name\": \"\"}", "place: \"name\" has to be a text that is not empty"},
        {"{\"name\": \"n\", \"nam\": 1}", "unknown key \"nam\" (did you mean \"name\"?)"},
        {"{\"name\": \"n\", \"on\": 1}", "\"on\" has to be true or false"},
        {"{\"name\": \"n\", \"count\": 0}", "\"count\" has to be a whole number from 1"},
        {"{\"name\": \"n\", \"count\": 1.5}", "\"count\" has to be a whole number"},
        {"{\"name\": \"n\", \"narrow\": 11}", "\"narrow\" has to be a whole number from 0 to 10"},
        {"{\"name\": \"n\", \"share\": 2}", "\"share\" has to be a number from -1 to 1"},
        {"{\"name\": \"n\", \"word\": \"eror\"}",
         "unknown word \"eror\" (did you mean \"error\"?); known: info, warning or error"},
        {"{\"name\": \"n\", \"word\": 3}", "\"word\" has to be info, warning or error"},
        {"{\"name\": \"n\", \"texts\": [\"a\", \"b\", \"c\"]}", "\"texts\" has to be a list of at most 2 texts"},
        {"{\"name\": \"n\", \"texts\": [\"\"]}", "\"texts\" has to be a list"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        options o = {.copy = NULL};
        assay_error err = {""};
        CU_ASSERT_EQUAL(read_json(cases[i].text, &o, &err), ASSAY_EFORMAT);
        if (!strstr(err.text, cases[i].words))
            fprintf(stderr, "%s: %s\n", cases[i].text, err.text);
        CU_ASSERT(strstr(err.text, cases[i].words) != NULL);
        free(o.copy);
    }
}

static void test_texts(void)
{
    options o = {.copy = NULL};
    CU_ASSERT(assay_setting_take(&step, "-3", &o.step) == ASSAY_OK && o.step.given && o.step.value == -3);
    CU_ASSERT_EQUAL(assay_setting_take(&step, "3x", &o.step), ASSAY_EPARAM);
    CU_ASSERT_EQUAL(assay_setting_take(&step, " 3", &o.step), ASSAY_EPARAM);
    CU_ASSERT(assay_setting_take(&range, "5:", &o.range) == ASSAY_OK && o.range.from == 5 && o.range.to == INT64_MAX);
    CU_ASSERT_EQUAL(assay_setting_take(&range, "7:5", &o.range), ASSAY_EPARAM);
    CU_ASSERT_EQUAL(o.range.from, 5);
    CU_ASSERT(assay_setting_take(&bytes, "2GiB", &o.bytes) == ASSAY_OK && o.bytes == (size_t)2 << 30);
    CU_ASSERT_EQUAL(assay_setting_take(&bytes, "99999999999999G", &o.bytes), ASSAY_EPARAM);
    CU_ASSERT_EQUAL(assay_setting_take(&bytes, "0", &o.bytes), ASSAY_EPARAM);
    CU_ASSERT_EQUAL(assay_setting_take(&table[0], "yes", &o.on), ASSAY_EPARAM);
    CU_ASSERT_PTR_EQUAL(assay_setting_find(table, "count", 5), &table[3]);
    CU_ASSERT_PTR_NULL(assay_setting_find(table, "counter", 7));
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"from JSON", test_read}, {"refused", test_refused}, {"from texts", test_texts}, CU_TEST_INFO_NULL};
    return unit_main("settings", tests);
}
