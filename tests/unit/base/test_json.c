/* JSON: what is refused and where, what comes through, and what is written. */
#include "random.h"
#include "unit.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/json.h"
#include "base/utf8.h"

static int parse_bytes(const char *text, size_t size, cJSON **out, assay_error *err)
{
    char *copy = malloc(size + !size); /* of this size exactly, so that sanitizers see reads behind it */
    memcpy(copy, text, size);
    int status = assay_json_parse("job.json", copy, size, out, err);
    free(copy);
    return status;
}

/* Checks that `text` is refused with a message that starts with the place and holds `what`. */
static void refuse(const char *text, size_t size, const char *place, const char *what)
{
    cJSON *parsed = NULL;
    assay_error err = {""};
    CU_ASSERT_EQUAL(parse_bytes(text, size, &parsed, &err), ASSAY_EFORMAT);
    CU_ASSERT_PTR_NULL(parsed);
    bool found = strncmp(err.text, "job.json: ", 10) == 0 && strncmp(err.text + 10, place, strlen(place)) == 0 &&
                 strstr(err.text, what);
    if (!found)
        printf("%s: %s\n", text, err.text);
    CU_ASSERT_TRUE(found);
    cJSON_Delete(parsed);
}

static void test_refused(void)
{
    static const struct {
        const char *text, *place, *what;
    } cases[] = {
        {"", "line 1, column 1: ", "empty"},
        {" \n ", "line 2, column 2: ", "empty"},
        {"{", "line 1, column 2: ", "ends too early"},
        {"{\"a\"", "line 1, column 5: ", "ends too early"},
        {"{\"a\":", "line 1, column 6: ", "ends too early"},
        {"[1,", "line 1, column 4: ", "ends too early"},
        {"[1 2]", "line 1, column 4: ", "expected , or ]"},
        {"{\"a\":1 \"b\":2}", "line 1, column 8: ", "expected , or }"},
        {"[1}", "line 1, column 3: ", "expected , or ]"},
        {"{]", "line 1, column 2: ", "expected a key"},
        {"[1,]", "line 1, column 4: ", "expected a value"},
        {"{\"a\":1,}", "line 1, column 8: ", "expected a key"},
        {"{a:1}", "line 1, column 2: ", "expected a key"},
        {"{\"a\" 1}", "line 1, column 6: ", "expected :"},
        {"{}\n{}", "line 2, column 1: ", "more text"},
        {"1 2", "line 1, column 3: ", "more text"},
        {"]", "line 1, column 1: ", "expected a value"},
        {"nul", "line 1, column 1: ", "expected a value"},
        {"truer", "line 1, column 5: ", "more text"},
        {"[NaN]", "line 1, column 2: ", "NaN and Infinity are not JSON"},
        {"-Infinity", "line 1, column 2: ", "NaN and Infinity are not JSON"},
        {"01", "line 1, column 1: ", "leading zero"},
        {"-01", "line 1, column 1: ", "leading zero"},
        {"-", "line 1, column 2: ", "ends too early"},
        {"1.", "line 1, column 3: ", "behind the decimal point"},
        {".5", "line 1, column 1: ", "expected a value"},
        {"1e", "line 1, column 1: ", "exponent has no digits"},
        {"+1", "line 1, column 1: ", "expected a value"},
        {"[1e999]", "line 1, column 2: ", "too large"},
        {"\"abc", "line 1, column 5: ", "ends within a string"},
        {"\"abc\\", "line 1, column 5: ", "an escape"},
        {"\"a\nb\"", "line 1, column 3: ", "control character"},
        {"\"\\x\"", "line 1, column 2: ", "an escape that JSON does not have"},
        {"\"\\u12g4\"", "line 1, column 2: ", "an escape that JSON does not have"},
        {"\"\\u12", "line 1, column 2: ", "an escape that JSON does not have"},
        {"\"\\u0000\"", "line 1, column 1: ", "\\u0000"},
        {"\"\\ud800\"", "line 1, column 1: ", "surrogate"},
        {"\"\\ud800\\u0041\"", "line 1, column 1: ", "surrogate"},
        {"\"\\udc00\"", "line 1, column 1: ", "surrogate"},
        {"\"\xff\"", "line 1, column 1: ", "UTF-8"},
        {"\"\xc3\"", "line 1, column 1: ", "UTF-8"},
        {"\"\xc3\xa9\" x", "line 1, column 5: ", "more text"}, /* columns are characters */
        {"\xef\xbb\xbf[", "line 1, column 2: ", "ends too early"},
        {"[\n  1,\r\n  oops]", "line 3, column 3: ", "expected a value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refuse(cases[i].text, strlen(cases[i].text), cases[i].place, cases[i].what);
    refuse("[1,\0 2]", 7, "line 1, column 4: ", "NUL");
    refuse("[1]\0", 4, "line 1, column 4: ", "NUL");
    refuse("[\"a\0b\"]", 7, "line 1, column 4: ", "control character");
}

static void test_accepted(void)
{
    static const char *const texts[] = {"{}",
                                        "[]",
                                        " [ ] ",
                                        "0",
                                        "-0.5e+10",
                                        "\"\"",
                                        "true",
                                        "null",
                                        "{\"a\":{\"b\":[1,2,{\"c\":false}]},\"d\":\"\\u00e9\\ud83d\\ude00\\n\"}",
                                        "1111111111222222222233333333334444444444555555555566666666667777",
                                        "\t[\r\n1 , \"\xf0\x9f\x98\x80\" ]\n",
                                        "\xef\xbb\xbf{\"a\":1}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        cJSON *parsed = NULL;
        assay_error err = {""};
        CU_ASSERT_EQUAL(parse_bytes(texts[i], strlen(texts[i]), &parsed, &err), ASSAY_OK);
        CU_ASSERT_PTR_NOT_NULL(parsed);
        cJSON_Delete(parsed);
    }
    cJSON *parsed = NULL;
    CU_ASSERT_EQUAL(parse_bytes(texts[8], strlen(texts[8]), &parsed, NULL), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItemCaseSensitive(parsed, "d")->valuestring, "\xc3\xa9\xf0\x9f\x98\x80\n");
    cJSON_Delete(parsed);
}

/* Files of people: comments and a comma at the end are read over, and messages keep the places of the text. */
static void test_commented(void)
{
    static const struct {
        const char *text, *plain; /* or the place and cause of a refusal */
    } cases[] = {
        {"// a job\n{\"a\": 1, /* one */ \"b\": [1, 2, /* \xc3\xa9 */ ], // two\n}", "{\"a\":1,\"b\":[1,2]}"},
        {"[1,[2,],{\"a\":{},},]//", "[1,[2],{\"a\":{}}]"},
        {"/**/[/***/]/* * / */", "[]"},
        {"\"// no /* comment */\"", "\"// no /* comment */\""},
        {"[\"a\\\\\", \"\\\"//\"] // \"", "[\"a\\\\\",\"\\\"//\"]"},
        {"\xef\xbb\xbf// mark\r\n1", "1"},
        {"[,]", "line 1, column 2: expected a value"},
        {"[1,,]", "line 1, column 4: expected a value"},
        {"{,}", "line 1, column 2: expected a key"},
        {"{\"a\":,}", "line 1, column 6: expected a value"},
        {"1,", "line 1, column 2: more text"},
        {"/* \xc3\xa9 */ [1 2]", "line 1, column 12: expected , or ]"},
        {"// one\n/* two\n three */ nul", "line 3, column 11: expected a value"},
        {"[1, /* open ]", "line 1, column 5: the comment does not end"},
        {"[1] /*/", "line 1, column 5: the comment does not end"},
        {"[1] /", "line 1, column 5: more text"},
        {"/ [1]", "line 1, column 1: expected a value"},
        {"[1/2]", "line 1, column 3: expected , or ]"},
        {"// nothing else", "line 1, column 16: the document is empty"},
        {"[1, // ]", "line 1, column 9: the text ends too early"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t size = strlen(cases[i].text);
        char *copy = malloc(size);
        cJSON *parsed = NULL;
        assay_error err = {""};
        memcpy(copy, cases[i].text, size);
        int status = assay_json_parse_commented("job.json", copy, size, &parsed, &err);
        CU_ASSERT_EQUAL(memcmp(copy, cases[i].text, size), 0);
        char *plain = parsed ? cJSON_PrintUnformatted(parsed) : NULL;
        bool right = plain ? strcmp(plain, cases[i].plain) == 0 : strstr(err.text, cases[i].plain) != NULL;
        if (!right)
            printf("%s: %s %s\n", cases[i].text, plain ? plain : "", err.text);
        CU_ASSERT_TRUE(right && (status == ASSAY_OK) == (plain != NULL));
        cJSON_free(plain);
        cJSON_Delete(parsed);
        free(copy);
    }
    refuse("[1, // one\n2]", 13, "line 1, column 5: ", "comments are not allowed here");
}

/* Every part of a document is refused, whatever it ends in. */
static void test_truncated(void)
{
    static const char text[] = "{\"a\": [1.5e3, true, {\"b\": null}], \"c\": \"\\u00e9\xc3\xa9\"}";
    for (size_t size = 0; size < sizeof text - 1; size++) {
        cJSON *parsed = NULL;
        CU_ASSERT_EQUAL(parse_bytes(text, size, &parsed, NULL), ASSAY_EFORMAT);
        cJSON_Delete(parsed);
    }
}

static void nested(size_t levels, bool objects, int expected)
{
    size_t size = 0;
    char *text = malloc(levels * 6 + 1);
    cJSON *parsed = NULL;
    assay_error err = {""};
    for (size_t i = 0; i < levels; i++, size += objects ? 5 : 1)
        memcpy(text + size, objects ? "{\"a\":" : "[", objects ? 5 : 1);
    text[size++] = '1';
    for (size_t i = 0; i < levels; i++)
        text[size++] = objects ? '}' : ']';
    CU_ASSERT_EQUAL(parse_bytes(text, size, &parsed, &err), expected);
    if (expected != ASSAY_OK)
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "nested too deeply"));
    cJSON_Delete(parsed);
    free(text);
}

static void test_depth(void)
{
    nested(ASSAY_JSON_DEPTH, false, ASSAY_OK);
    nested(ASSAY_JSON_DEPTH, true, ASSAY_OK);
    nested(ASSAY_JSON_DEPTH + 1, false, ASSAY_EFORMAT);
    nested(ASSAY_JSON_DEPTH + 1, true, ASSAY_EFORMAT);
    nested(2000000, false, ASSAY_EFORMAT);
    cJSON *parsed = NULL; /* brackets in strings do not count */
    static const char quoted[] = "\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"";
    CU_ASSERT_EQUAL(parse_bytes(quoted, strlen(quoted), &parsed, NULL), ASSAY_OK);
    cJSON_Delete(parsed);
}

static void test_no_memory(void)
{
    static const char text[] = "{\"a\": [1, \"two\"]}";
    int status = ASSAY_ENOMEM, tries = 0;
    for (; status != ASSAY_OK && tries < 50; tries++) {
        cJSON *parsed = NULL;
        char fault[32];
        snprintf(fault, sizeof fault, "alloc:%d", tries + 1);
        setenv("ASSAY_FAULT", fault, 1);
        assay_fault_arm(0);
        status = assay_json_parse("job.json", text, strlen(text), &parsed, NULL);
        CU_ASSERT_TRUE(status == ASSAY_OK || status == ASSAY_ENOMEM);
        CU_ASSERT_EQUAL(status == ASSAY_OK, parsed != NULL);
        cJSON_Delete(parsed);
    }
    unsetenv("ASSAY_FAULT");
    assay_fault_arm(0);
    CU_ASSERT_TRUE(tries > 5 && tries < 50);
}

static void known(const char *text, int expected, const char *what)
{
    static const char *const keys[] = {"rule", "name", "severity", NULL};
    cJSON *parsed = NULL;
    assay_error err = {""};
    CU_ASSERT_EQUAL(parse_bytes(text, strlen(text), &parsed, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_json_known_keys(parsed, "rules[2]", keys, &err), expected);
    CU_ASSERT_STRING_EQUAL(err.text, what);
    cJSON_Delete(parsed);
}

static void test_known_keys(void)
{
    known("{\"name\": 1, \"rule\": 2}", ASSAY_OK, "");
    known("{}", ASSAY_OK, "");
    known("[1]", ASSAY_EFORMAT, "rules[2]: expected an object in braces");
    known("{\"nam\": 1}", ASSAY_EFORMAT,
          "rules[2]: unknown key \"nam\" (did you mean \"name\"?); known keys: rule, name, severity");
    known("{\"Name\": 1}", ASSAY_EFORMAT,
          "rules[2]: unknown key \"Name\" (did you mean \"name\"?); known keys: rule, name, severity");
    known("{\"name\": 1, \"rule\": 2, \"name\": 3}", ASSAY_EFORMAT, "rules[2]: the key \"name\" is there twice");
    static const char *const none[] = {NULL};
    char names[80][16];
    const char *many[81] = {NULL};
    cJSON *object = cJSON_Parse("{\"x\": 1}");
    assay_error err = {""};
    for (int i = 0; i < 80; i++) {
        snprintf(names[i], sizeof names[i], "parameter%d", i);
        many[i] = names[i];
    }
    CU_ASSERT_EQUAL(assay_json_known_keys(object, "p", none, &err), ASSAY_EFORMAT);
    CU_ASSERT_STRING_EQUAL(err.text, "p: unknown key \"x\"; known keys: (none)");
    CU_ASSERT_EQUAL(assay_json_known_keys(object, "p", many, &err), ASSAY_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "parameter0, parameter1, "));
    CU_ASSERT_STRING_EQUAL(err.text + strlen(err.text) - 4, " ...");
    CU_ASSERT_EQUAL(assay_json_known_keys(NULL, "p", none, NULL), ASSAY_EFORMAT);
    cJSON_Delete(object);
}

static bool i64(const char *text, int64_t *out)
{
    cJSON *parsed = NULL;
    CU_ASSERT_EQUAL(parse_bytes(text, strlen(text), &parsed, NULL), ASSAY_OK);
    bool taken = assay_json_i64(parsed, out);
    cJSON_Delete(parsed);
    return taken;
}

static void test_places(void)
{
    static const char text[] =
        "// head\n{\n \"rules\": [{\"a\": 1},\n  {\"parameters\": {\"\\u00e4\": 2, \"b\": [3, 4,]}}],\n \"x y\": 5\n}";
    static const struct {
        const char *path, *member;
        size_t line, column;
    } cases[] = {{"", NULL, 2, 1},
                 {"", "x y", 5, 2},
                 {"", "nowhere", 2, 1},
                 {"rules", NULL, 3, 11},
                 {"rules[0]", "a", 3, 13},
                 {"rules[1]", NULL, 4, 3},
                 {"rules[1].parameters", "b", 4, 32},
                 {"rules[1].parameters", "\xc3\xa4", 4, 19},
                 {"rules[1].parameters.b[1]", NULL, 4, 41},
                 {"rules[7].parameters", "b", 3, 11},
                 {"rules[1].nowhere.b", NULL, 4, 3},
                 {"rules.a", NULL, 3, 11},
                 {"[2]", NULL, 2, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const assay_json_place at = assay_json_find(text, sizeof text - 1, cases[i].path, cases[i].member);
        if (at.line != cases[i].line || at.column != cases[i].column)
            printf("%s %s: %zu, %zu\n", cases[i].path, cases[i].member ? cases[i].member : "", at.line, at.column);
        CU_ASSERT_TRUE(at.line == cases[i].line && at.column == cases[i].column);
    }
    CU_ASSERT_EQUAL(assay_json_find("", 0, "a", NULL).line, 1);
}

static void test_i64(void)
{
    int64_t n = 7;
    CU_ASSERT_TRUE(i64("12", &n) && n == 12);
    CU_ASSERT_TRUE(i64("-3e2", &n) && n == -300);
    CU_ASSERT_TRUE(i64("9007199254740992", &n) && n == INT64_C(9007199254740992));
    n = 7;
    CU_ASSERT_FALSE(i64("9007199254740994", &n) || i64("1e300", &n) || i64("1.5", &n) || i64("\"1\"", &n) ||
                    i64("true", &n));
    CU_ASSERT_FALSE(assay_json_i64(NULL, &n));
    CU_ASSERT_EQUAL(n, 7);
}

static void written(assay_buf *out, const char *expected)
{
    CU_ASSERT_TRUE(out->size == strlen(expected) && memcmp(out->data, expected, out->size) == 0);
    if (out->size != strlen(expected) || memcmp(out->data, expected, out->size) != 0)
        printf("%.*s instead of %s\n", (int)out->size, (const char *)out->data, expected);
    assay_buf_clear(out);
}

static void test_numbers(void)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},
                 {-0.0, "-0"},
                 {0.1, "0.1"},
                 {1.0 / 3, "0.3333333333333333"},
                 {5e-324, "4.94065645841247e-324"},
                 {DBL_MAX, "1.7976931348623157e+308"},
                 {123456789012345, "123456789012345"},
                 {1e22, "1e+22"},
                 {0.1 + 0.2, "0.30000000000000004"},
                 {NAN, "\"nan\""},
                 {INFINITY, "\"inf\""},
                 {-INFINITY, "\"-inf\""}};
    assay_buf out;
    assay_buf_init(&out, 1000);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assay_json_put_number(&out, cases[i].value);
        written(&out, cases[i].text);
    }
    uint64_t state = 1;
    for (int i = 0; i < 20000; i++) {
        double value, back;
        uint64_t bits = random_next(&state);
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        assay_json_put_number(&out, value);
        assay_put_u8(&out, 0);
        back = strtod((const char *)out.data, NULL);
        CU_ASSERT_EQUAL(memcmp(&back, &value, sizeof back), 0);
        assay_buf_clear(&out);
    }
    assay_buf_release(&out);
}

static void test_texts(void)
{
    assay_buf out;
    assay_buf_init(&out, 1000);
    assay_json_put_text(&out, "");
    written(&out, "\"\"");
    assay_json_put_text(&out, "a\"b\\c/\b\f\n\r\t\x01\x7f\xc3\xa9");
    written(&out, "\"a\\\"b\\\\c/\\b\\f\\n\\r\\t\\u0001\\u007f\xc3\xa9\"");
    assay_json_put_text_n(&out, "a\0b", 3);
    written(&out, "\"a\\u0000b\"");
    assay_json_put_text(&out, "\xff"
                              "a\xc3(\xe2\x82");
    written(&out, "\"\xef\xbf\xbd"
                  "a\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\"");
    assay_buf_release(&out);
}

/* What is written can be read back: all pairs of bytes but those with a NUL or that are no UTF-8. */
static void test_texts_back(void)
{
    assay_buf out;
    unsigned wrong = 0;
    assay_buf_init(&out, 1000);
    for (unsigned i = 0; i < 65536; i++) {
        char text[3] = {(char)(i >> 8), (char)i, '\0'};
        cJSON *parsed = NULL;
        assay_buf_clear(&out);
        assay_json_put_text_n(&out, text, 2);
        bool nul = text[0] == '\0' || text[1] == '\0';
        size_t first = assay_utf8_length(text, 2);
        bool plain = first == 2 || (first == 1 && assay_utf8_length(text + 1, 1) == 1);
        int status = assay_json_parse("text", out.data, out.size, &parsed, NULL);
        wrong += nul ? status != ASSAY_EFORMAT : status != ASSAY_OK;
        wrong += parsed && plain != (strcmp(parsed->valuestring, text) == 0);
        cJSON_Delete(parsed);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    assay_buf_release(&out);
}

static void test_utf8(void)
{
    static const struct {
        const char *bytes;
        size_t left, length;
    } cases[] = {{"a", 1, 1},
                 {"\0", 1, 1},
                 {"", 0, 0},
                 {"\x80", 1, 0},
                 {"\xc2\x80", 2, 2},
                 {"\xc2\x80", 1, 0},
                 {"\xc1\xbf", 2, 0},
                 {"\xe0\xa0\x80", 3, 3},
                 {"\xe0\x9f\xbf", 3, 0},
                 {"\xed\x9f\xbf", 3, 3},
                 {"\xed\xa0\x80", 3, 0},
                 {"\xef\xbf\xbf", 3, 3},
                 {"\xf0\x90\x80\x80", 4, 4},
                 {"\xf0\x8f\xbf\xbf", 4, 0},
                 {"\xf4\x8f\xbf\xbf", 4, 4},
                 {"\xf4\x90\x80\x80", 4, 0},
                 {"\xf5\x80\x80\x80", 4, 0},
                 {"\xe2\x82", 2, 0},
                 {"\xe2\x82\x41", 3, 0},
                 {"\xf0\x90\x80\xc0", 4, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CU_ASSERT_EQUAL(assay_utf8_length(cases[i].bytes, cases[i].left), cases[i].length);
}

/* An object says the checksum of what it had before; each byte of that is another one. */
static void test_sum(void)
{
    static const char *const plain[] = {"{\"a\": [1, 2]}\n", "{\"a\": [1, 2]}"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        assay_buf text = ASSAY_BUF(1000);
        assay_put_format(&text, "%s", plain[i]);
        const size_t before = strlen("{\"a\": [1, 2]");
        CU_ASSERT_FALSE(assay_json_is_changed(text.data, text.size)); /* it says none */
        assay_json_put_sum(&text);
        CU_ASSERT_EQUAL(assay_json_check("a", text.data, text.size, NULL), ASSAY_OK);
        CU_ASSERT_EQUAL(text.data[text.size - 1], plain[i][strlen(plain[i]) - 1]);
        CU_ASSERT_FALSE(assay_json_is_changed(text.data, text.size));
        for (size_t at = 0; at < before + 21; at++) {
            const bool sum = at >= before + 13;
            text.data[at] ^= 1;
            CU_ASSERT_EQUAL(assay_json_is_changed(text.data, text.size), at < before || sum);
            text.data[at] ^= 1;
        }
        for (size_t size = 0; size < text.size - (i == 0); size++)
            CU_ASSERT_FALSE(assay_json_is_changed(text.data, size));
        assay_buf_release(&text);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"refused, with the place", test_refused},
                           {"accepted", test_accepted},
                           {"comments", test_commented},
                           {"truncated at every byte", test_truncated},
                           {"depth", test_depth},
                           {"no memory", test_no_memory},
                           {"known keys", test_known_keys},
                           {"places", test_places},
                           {"integers", test_i64},
                           {"numbers written", test_numbers},
                           {"texts written", test_texts},
                           {"texts read back", test_texts_back},
                           {"UTF-8", test_utf8},
                           {"a checksum", test_sum},
                           CU_TEST_INFO_NULL};
    return unit_main("json", tests);
}
