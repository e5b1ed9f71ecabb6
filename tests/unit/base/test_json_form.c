/* A line of a known form gives what the scanner gives of it, whatever bytes it has. */
#include "base/json_form.h"

#include <stdlib.h>
#include <string.h>

#include <assay/status.h>

#include "unit.h"

enum { A = 1, B, C, INNER = ASSAY_JSON_ENTER | 4, D, E };

static uint8_t field_of(uint8_t outer, const char *key, size_t length)
{
    const char c = length == 1 ? *key : '\0';
    if (outer)
        return c == 'd' ? D : c == 'e' ? E : 0;
    return c == 'a' ? A : c == 'b' ? B : c == 'c' ? C : c == 'i' ? INNER : 0;
}

static const char *const lines[] = {
    "{\"a\":\"gpu0\",\"b\":24.76,\"c\":null,\"x\":1}",
    "{\"a\": \"eight bytes and more\", \"b\": -1591748169.2323716, \"c\": true, \"i\": {\"d\": \"7\", \"y\": \"\"}}",
    "{\"i\":{\"d\":12,\"e\":false,\"z\":[1,{\"d\":2}]},\"b\":0.5,\"b\":1e-3}",
    " {\"a\":\"\\u0041\",\"i\":[],\"c\":{\"a\":1}} ",
    "{}",
    "{\"b\":123456789012345678901234567890,\"i\":{}}",
};
enum { LINES = sizeof lines / sizeof *lines };

/* Do two readers give the same of a text? */
static bool agree(assay_json_forms *knows, assay_json_forms *learns, const char *text, size_t length)
{
    const int a = assay_json_take(knows, text, length), b = assay_json_take(learns, text, length);
    bool same = a == b && (a != ASSAY_OK || knows->members == learns->members);
    for (size_t i = 0; same && a == ASSAY_OK && i < knows->members; i++) {
        const assay_json_member *m = &knows->member[i], *n = &learns->member[i];
        same = m->kind == n->kind && m->field == n->field;
        if (same && (m->kind == ASSAY_JSON_TEXT || m->kind == ASSAY_JSON_NUMBER))
            same = m->length == n->length && memcmp(m->text, n->text, m->length) == 0;
        if (same && m->kind == ASSAY_JSON_NUMBER) {
            const double x = assay_json_real(knows, m), y = assay_json_real(learns, n);
            int64_t p = 0, q = 0;
            same = memcmp(&x, &y, sizeof x) == 0 && assay_json_integer(m, &p) == assay_json_integer(n, &q) && p == q;
        }
    }
    return same;
}

static void any_byte_at_any_place(void)
{
    static const char bytes[] = "\"\\{}[]:, 0189.-+eEtfnabdix\x01\xff\n";
    assay_json_forms knows = {.field_of = field_of};
    unsigned wrong = 0;
    for (size_t i = 0; i < LINES; i++) {
        char *copy = strdup(lines[i]);
        const size_t length = strlen(copy);
        for (size_t at = 0; at < length; at++)
            for (const char *b = bytes; *b; b++) {
                assay_json_forms learns = {.field_of = field_of};
                for (size_t k = 0; k < LINES; k++) /* so that all forms are known */
                    CU_ASSERT_EQUAL(assay_json_take(&knows, lines[k], strlen(lines[k])), ASSAY_OK);
                copy[at] = *b;
                wrong += !agree(&knows, &learns, copy, length);
                copy[at] = lines[i][at];
                assay_json_forms_release(&learns);
            }
        for (size_t cut = 0; cut < length; cut++) {
            assay_json_forms learns = {.field_of = field_of};
            char *part = malloc(cut + 1); /* of its own, so that a read behind its end is seen */
            CU_ASSERT_PTR_NOT_NULL_FATAL(part);
            memcpy(part, lines[i], cut);
            wrong += !agree(&knows, &learns, part, cut);
            free(part);
            assay_json_forms_release(&learns);
        }
        free(copy);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    assay_json_forms_release(&knows);
}

/* Values of every length and kind in the places of one form. */
static void any_value(void)
{
    static const char *const values[] = {"0",
                                         "-0",
                                         "1.5",
                                         "01",
                                         "1.",
                                         "-",
                                         "1e5",
                                         "9007199254740993",
                                         "null",
                                         "\"\"",
                                         "\"x",
                                         "\"a\\n",
                                         "[]",
                                         "\"1234567\"",
                                         "-.5",
                                         "12345678901234567890",
                                         "true",
                                         "\"\\\"\"",
                                         "{}",
                                         "\"12345678\"",
                                         "0.1234567890123456789"};
    enum { VALUES = sizeof values / sizeof *values };
    assay_json_forms knows = {.field_of = field_of};
    unsigned wrong = 0;
    for (size_t i = 0; i < VALUES; i++)
        for (size_t k = 0; k < VALUES; k++)
            for (int times = 0; times < 2; times++) {
                assay_json_forms learns = {.field_of = field_of};
                char text[128];
                const int length = snprintf(text, sizeof text, "{\"a\":%s,\"i\":{\"e\":%s}}", values[i], values[k]);
                wrong += !agree(&knows, &learns, text, (size_t)length);
                assay_json_forms_release(&learns);
            }
    CU_ASSERT_EQUAL(wrong, 0);
    assay_json_forms_release(&knows);
}

/* More forms than are kept, and some that are too long to be. */
static void many_forms(void)
{
    assay_json_forms f = {.field_of = field_of};
    char text[4096];
    for (int i = 0; i < 60; i++) {
        const int keys = i % 40;
        size_t length = 1;
        text[0] = '{';
        for (int k = 0; k < keys; k++)
            length += (size_t)snprintf(text + length, sizeof text - length, "\"%*d\":%d,", i % 50 + 1, k, k);
        length += (size_t)snprintf(text + length, sizeof text - length, "\"b\":%d}", i);
        CU_ASSERT_EQUAL_FATAL(assay_json_take(&f, text, length), ASSAY_OK);
        CU_ASSERT(f.members == 1 && f.member[0].field == B && assay_json_real(&f, &f.member[0]) == i);
    }
    assay_json_forms_release(&f);
}

/* Neither in a known form nor in a new one, and neither in a value that matters nor in another. */
static void no_utf8(void)
{
    static const char good[] = "{\"a\":\"g\xc3\xa4\"}";
    static const char *const bad[] = {"{\"a\":\"g\xff\"}", "{\"x\":\"\xc0\xaf\"}", "{\"a\":\"\xed\xa0\x80\"}",
                                      "{\"\xb5\":1}"};
    assay_json_forms f = {.field_of = field_of};
    CU_ASSERT_EQUAL(assay_json_take(&f, good, strlen(good)), ASSAY_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CU_ASSERT_EQUAL(assay_json_take(&f, bad[i], strlen(bad[i])), ASSAY_EFORMAT);
        CU_ASSERT_STRING_EQUAL(f.pull.fault, "it is no UTF-8");
    }
    assay_json_forms_release(&f);
}

int main(void)
{
    CU_TestInfo tests[] = {{"any byte at any place", any_byte_at_any_place},
                           {"any value", any_value},
                           {"many forms", many_forms},
                           {"bytes that are no UTF-8", no_utf8},
                           CU_TEST_INFO_NULL};
    return unit_main("json_form", tests);
}
