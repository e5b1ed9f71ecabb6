/* Patterns as Python's re.search takes them. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/regex.h"

static int search(const char *pattern, const char *text, size_t length)
{
    assay_regex *regex = NULL;
    assay_error err = {""};
    if (assay_regex_new(pattern, &regex, &err) != ASSAY_OK) {
        printf("%s\n", err.text);
        return -100;
    }
    int found = assay_regex_search(regex, text, length);
    assay_regex_free(regex);
    return found;
}

static void test_search(void)
{
    static const struct {
        const char *pattern, *text;
        int found;
    } cases[] = {
        {"relu", "layer1/relu_output_0", 1},
        {"Relu", "layer1/relu_output_0", 0},
        {"^relu", "layer1/relu", 0},
        {"", "", 1},
        {"a", "", 0},
        {"[Ll]oss_(?!input).*output", "CrossEntropyLoss_output_0", 1},
        {"[Ll]oss_(?!input).*output", "CrossEntropyLoss_input_0", 0},
        {"[Ll]oss_(?!input).*output", "loss_input_output", 0},
        {"^(?!gradient).*weight", "conv1.weight", 1},
        {"^(?!gradient).*weight", "gradient/conv1.weight", 0},
        {"(?<=conv)[0-9]+", "conv12", 1},
        {"(?<!conv)12", "conv12", 0},
        {"(?P<layer>fc)_(?P=layer)", "fc_fc", 1},
        {"weight$", "weight\n", 1},
        {"^b", "a\nb", 0},
        {"a.b", "a\nb", 0},
        {"a.b", "a\rb", 1},
        {"^.$", "\xc3\xa9", 1}, /* one character of two bytes */
        {"^\\w$", "\xc3\xa9", 1},
        {"(?i)RELU", "relu", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int found = search(cases[i].pattern, cases[i].text, strlen(cases[i].text));
        if (found != cases[i].found)
            printf("%s in %s: %d\n", cases[i].pattern, cases[i].text, found);
        CU_ASSERT_EQUAL(found, cases[i].found);
    }
}

static void test_any_bytes(void)
{
    CU_ASSERT_EQUAL(search("weight", "\xff\xfe/weight\x80", 10), 1);
    CU_ASSERT_EQUAL(search("b", "a\0b", 3), 1);
    CU_ASSERT_EQUAL(search("b", "a\0b", 2), 0); /* the length counts, not the terminator */
    CU_ASSERT_EQUAL(search("x*", NULL, 0), 1);
}

static void test_refused(void)
{
    assay_regex *regex = NULL;
    assay_error err = {""};
    CU_ASSERT_EQUAL(assay_regex_new("abc(def", &regex, &err), ASSAY_EFORMAT);
    CU_ASSERT_PTR_NULL(regex);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "\"abc(def\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "at column 8"));
    CU_ASSERT_EQUAL(assay_regex_new("\xff", &regex, &err), ASSAY_EFORMAT);
    CU_ASSERT_EQUAL(assay_regex_new("*", &regex, NULL), ASSAY_EFORMAT);
    assay_regex_free(NULL);
}

/* Patterns that would take for ever give up; ones that need a deep stack do not. */
static void test_limits(void)
{
    static char text[60000];
    memset(text, 'a', sizeof text);
    CU_ASSERT_TRUE(search("(a+)+(b+)+c(?<!x)$|(a|aa)+$(?!a)b", text, 40) <= 0);
    CU_ASSERT_TRUE(search("^(?:(a+)+)+[^a]$", text, 40) < 0);
    CU_ASSERT_EQUAL(search("^(?:a|ab)+$", text, 20000), 1);
    text[20] = '!'; /* takes more than a million matches, and fewer than PCRE2 itself gives up at */
    CU_ASSERT_TRUE(search("^(a+)+$", text, 21) < 0);
}

static void test_no_memory(void)
{
    assay_error err;
    int status = ASSAY_ENOMEM, tries = 0;
    for (; status != ASSAY_OK && tries < 50; tries++) {
        assay_regex *regex = NULL;
        char fault[32];
        snprintf(fault, sizeof fault, "alloc:%d", tries + 1);
        setenv("ASSAY_FAULT", fault, 1);
        assay_fault_arm(0);
        status = assay_regex_new("(?<=a)(b|c)+", &regex, &err);
        CU_ASSERT_TRUE(status == ASSAY_OK || status == ASSAY_ENOMEM);
        CU_ASSERT_EQUAL(status == ASSAY_OK, regex != NULL);
        unsetenv("ASSAY_FAULT");
        assay_fault_arm(0);
        if (regex)
            CU_ASSERT_EQUAL(assay_regex_search(regex, "ab", 2), 1);
        assay_regex_free(regex);
    }
    CU_ASSERT_TRUE(tries > 4 && tries < 50);
    assay_regex *regex = NULL;
    CU_ASSERT_EQUAL(assay_regex_new("a", &regex, NULL), ASSAY_OK);
    setenv("ASSAY_FAULT", "alloc:1", 1);
    assay_fault_arm(0);
    CU_ASSERT_EQUAL(assay_regex_search(regex, "a", 1), ASSAY_ENOMEM);
    unsetenv("ASSAY_FAULT");
    assay_fault_arm(0);
    assay_regex_free(regex);
}

static void replaced(const char *pattern, const char *text, const char *replacement, const char *wanted)
{
    assay_regex *regex = NULL;
    assay_buf out;
    assay_buf_init(&out, 1 << 16);
    CU_ASSERT_EQUAL_FATAL(assay_regex_new(pattern, &regex, NULL), ASSAY_OK);
    const int found = assay_regex_replace(regex, text, strlen(text), replacement, &out);
    CU_ASSERT_EQUAL(found, wanted != NULL);
    CU_ASSERT_TRUE(out.size == (wanted ? strlen(wanted) : 0) && (!wanted || memcmp(out.data, wanted, out.size) == 0));
    assay_buf_release(&out);
    assay_regex_free(regex);
}

static void test_replace(void)
{
    replaced("b+", "abbc", "X", "aXc");
    replaced("(a)(.)", "abac", "\\2$1-", "ba-ca-");
    replaced("(a)|(b)", "ab", "[\\1\\2\\9]", "[a][b]");
    replaced("x", "abc", "y", NULL);
    replaced("^", "abc", "m.", "m.abc");
    replaced("c*", "ab", "-", "-a-b-");
    replaced(".*", "abc", "$$\\\\\\0", "$\\abc"); /* the empty match behind the text is no second one */
    replaced("\xc3\xa4", "\xff\xc3\xa4\xff", "a",
             "\xff"
             "a\xff");
}

int main(void)
{
    CU_TestInfo tests[] = {{"search", test_search}, {"any bytes", test_any_bytes}, {"refused patterns", test_refused},
                           {"limits", test_limits}, {"no memory", test_no_memory}, {"replace", test_replace},
                           CU_TEST_INFO_NULL};
    return unit_main("regex", tests);
}
