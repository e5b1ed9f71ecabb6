/* json_scan.c - the grammar of RFC 8259 without recursion.
 *
 * cJSON recurses, accepts control characters, broken UTF-8 and numbers like 01, and reports no line. So every document
 * is checked here first. Nesting is a depth and one bit per level (object or array); a state says what may come next.
 * If allowed, comments count as white space, and a comma may precede a closing bracket.
 */
#include "base/json_scan.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"

enum { NUMBER_DIGITS = 63 }; /* what cJSON's number buffer takes */

typedef enum expectation {
    WANT_VALUE,
    WANT_VALUE_OR_END, /* just behind [, or a comma that may be the last */
    WANT_KEY,
    WANT_KEY_OR_END, /* just behind {, or a comma that may be the last */
    WANT_COLON,
    WANT_COMMA_OR_END,
    WANT_NOTHING
} expectation;

typedef struct scan {
    const char *name, *text;
    size_t size, at;
    unsigned depth;
    uint64_t objects; /* bit d: level d is an object */
    char *plain;      /* a copy without comments and commas at the end; NULL: neither is allowed */
    size_t comma;     /* the last one, when `want` is WANT_..._OR_END behind it; else SIZE_MAX */
    expectation want;
    assay_error *err;
} scan;

_Static_assert(ASSAY_JSON_DEPTH <= 64, "one bit a level");

static int refuse(const scan *s, const char *what)
{
    size_t line = 1, column = 1;
    for (size_t i = 0; i < s->at && i < s->size; i++) {
        if (s->text[i] == '\n') {
            line++;
            column = 1;
        } else {
            column += ((unsigned char)s->text[i] & 0xc0) != 0x80;
        }
    }
    return assay_fail(s->err, ASSAY_EFORMAT, "%s: line %zu, column %zu: %s", s->name, line, column, what);
}

/* The byte under the cursor; 0 at the end, which no rule below accepts. */
static char here(const scan *s)
{
    return s->at < s->size ? s->text[s->at] : '\0';
}

static bool hex4(const scan *s, size_t at, unsigned *out)
{
    unsigned value = 0;
    if (s->size - at < 4)
        return false;
    for (size_t i = at; i < at + 4; i++) {
        char c = s->text[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 16;
        if (digit == 16)
            return false;
        value = value * 16 + digit;
    }
    *out = value;
    return true;
}

/* The cursor is on the backslash; moves behind the escape. */
static int scan_escape(scan *s)
{
    unsigned unit = 0, low = 0;
    if (s->size - s->at < 2)
        return refuse(s, "the string does not end");
    char c = s->text[s->at + 1];
    if (c != '\0' && strchr("\"\\/bfnrt", c)) {
        s->at += 2;
        return ASSAY_OK;
    }
    if (c != 'u' || !hex4(s, s->at + 2, &unit))
        return refuse(s, "unknown escape in a string");
    if (unit == 0)
        return refuse(s, "\\u0000 is not allowed in a string");
    bool pair = unit >= 0xd800 && unit <= 0xdbff;
    if (pair && (s->size - s->at < 12 || memcmp(s->text + s->at + 6, "\\u", 2) != 0 || !hex4(s, s->at + 8, &low) ||
                 low < 0xdc00 || low > 0xdfff))
        return refuse(s, "half of a surrogate pair in a string");
    if (unit >= 0xdc00 && unit <= 0xdfff)
        return refuse(s, "half of a surrogate pair in a string");
    s->at += pair ? 12 : 6;
    return ASSAY_OK;
}

static int scan_string(scan *s)
{
    s->at++;
    while (s->at < s->size) {
        unsigned char c = (unsigned char)s->text[s->at];
        int status = ASSAY_OK;
        if (c == '"') {
            s->at++;
            return ASSAY_OK;
        }
        if (c < 0x20)
            return refuse(s, "control character in a string (write it as an escape, or is a quote missing?)");
        if (c == '\\') {
            status = scan_escape(s);
        } else {
            size_t length = assay_utf8_length(s->text + s->at, s->size - s->at);
            if (length == 0)
                return refuse(s, "not UTF-8");
            s->at += length;
        }
        if (status != ASSAY_OK)
            return status;
    }
    return refuse(s, "the string does not end");
}

static bool scan_digits(scan *s)
{
    size_t from = s->at;
    while (here(s) >= '0' && here(s) <= '9')
        s->at++;
    return s->at > from;
}

static int scan_number(scan *s)
{
    size_t from = s->at;
    s->at += here(s) == '-';
    bool leading_zero = here(s) == '0', good = scan_digits(s);
    if (leading_zero && s->at - from > 1U + (s->text[from] == '-'))
        good = false;
    if (good && here(s) == '.') {
        s->at++;
        good = scan_digits(s);
    }
    if (good && (here(s) == 'e' || here(s) == 'E')) {
        s->at++;
        s->at += here(s) == '+' || here(s) == '-';
        good = scan_digits(s);
    }
    size_t length = s->at - from;
    char digits[NUMBER_DIGITS + 1] = "";
    if (good && length <= NUMBER_DIGITS) {
        memcpy(digits, s->text + from, length);
        if (isfinite(strtod(digits, NULL)))
            return ASSAY_OK;
    }
    s->at = from;
    return refuse(s, good ? "number too large or too long" : "malformed number");
}

static int scan_word(scan *s)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t length = strlen(words[i]);
        if (s->size - s->at >= length && memcmp(s->text + s->at, words[i], length) == 0) {
            s->at += length;
            return ASSAY_OK;
        }
    }
    return refuse(s, here(s) == 'N' || here(s) == 'I' ? "expected a value (NaN and Infinity are not JSON)"
                                                      : "expected a value");
}

static void after_value(scan *s)
{
    s->want = s->depth > 0 ? WANT_COMMA_OR_END : WANT_NOTHING;
}

static bool in_object(const scan *s)
{
    return s->depth > 0 && (s->objects >> (s->depth - 1) & 1);
}

static int open_level(scan *s, bool object)
{
    if (s->depth == ASSAY_JSON_DEPTH)
        return refuse(s, "nested too deeply (64 levels are allowed)");
    uint64_t bit = (uint64_t)1 << s->depth++;
    s->objects = object ? s->objects | bit : s->objects & ~bit;
    s->want = object ? WANT_KEY_OR_END : WANT_VALUE_OR_END;
    s->comma = SIZE_MAX;
    s->at++;
    return ASSAY_OK;
}

static int scan_value(scan *s)
{
    char c = here(s);
    if (c == '{' || c == '[')
        return open_level(s, c == '{');
    int status = c == '"' ? scan_string(s) : c == '-' || (c >= '0' && c <= '9') ? scan_number(s) : scan_word(s);
    after_value(s);
    return status;
}

static void close_level(scan *s)
{
    bool behind_comma = s->want != WANT_COMMA_OR_END && s->comma != SIZE_MAX;
    if (behind_comma)
        s->plain[s->comma] = ' ';
    s->depth--;
    s->at++;
    after_value(s);
}

static void take_comma(scan *s)
{
    s->comma = s->plain ? s->at : SIZE_MAX;
    if (s->plain)
        s->want = in_object(s) ? WANT_KEY_OR_END : WANT_VALUE_OR_END;
    else
        s->want = in_object(s) ? WANT_KEY : WANT_VALUE;
    s->at++;
}

/* Reads the next token, which is there. */
static int scan_token(scan *s)
{
    char c = here(s), end = in_object(s) ? '}' : ']';
    switch (s->want) {
    case WANT_VALUE_OR_END:
    case WANT_KEY_OR_END:
        if (c == end) {
            close_level(s);
            return ASSAY_OK;
        }
        if (s->want == WANT_VALUE_OR_END)
            return scan_value(s);
        /* fall through */
    case WANT_KEY:
        if (c != '"')
            return refuse(s, "expected a key in double quotes");
        s->want = WANT_COLON;
        return scan_string(s);
    case WANT_COLON:
        if (c != ':')
            return refuse(s, "expected : behind the key");
        s->want = WANT_VALUE;
        s->at++;
        return ASSAY_OK;
    case WANT_COMMA_OR_END:
        if (c == end) {
            close_level(s);
            return ASSAY_OK;
        }
        if (c != ',')
            return refuse(s, in_object(s) ? "expected , or }" : "expected , or ]");
        take_comma(s);
        return ASSAY_OK;
    case WANT_NOTHING:
        return refuse(s, "there is more text behind the end of the document");
    case WANT_VALUE:
        break;
    }
    return scan_value(s);
}

/* The cursor is on the first of two characters that begin a comment; moves behind it. */
static int scan_comment(scan *s)
{
    size_t from = s->at;
    const char *end = s->text[from + 1] == '*' ? memmem(s->text + from + 2, s->size - from - 2, "*/", 2)
                                               : memchr(s->text + from, '\n', s->size - from);
    if (!end && s->text[from + 1] == '*')
        return refuse(s, "the comment does not end (*/)");
    s->at = !end ? s->size : *end == '*' ? (size_t)(end - s->text) + 2 : (size_t)(end - s->text);
    for (size_t i = from; i < s->at; i++)
        s->plain[i] = s->plain[i] == '\n' ? '\n' : ' ';
    return ASSAY_OK;
}

/* Moves to the next token, or to the end. */
static int skip_space(scan *s)
{
    for (;;) {
        while (here(s) == ' ' || here(s) == '\t' || here(s) == '\n' || here(s) == '\r')
            s->at++;
        if (here(s) != '/' || s->size - s->at < 2 || !strchr("/*", s->text[s->at + 1]) || s->text[s->at + 1] == '\0')
            return ASSAY_OK;
        if (!s->plain)
            return refuse(s, "comments are not allowed here");
        int status = scan_comment(s);
        if (status != ASSAY_OK)
            return status;
    }
}

int assay_json_scan(const char *name, const char *text, size_t size, char *plain, assay_error *err)
{
    scan s = {
        .name = name, .text = text, .size = size, .want = WANT_VALUE, .plain = plain, .comma = SIZE_MAX, .err = err};
    for (;;) {
        int status = skip_space(&s);
        if (status == ASSAY_OK && s.at == size)
            break;
        if (status == ASSAY_OK)
            status = text[s.at] == '\0' ? refuse(&s, "NUL byte (is this a text file?)") : scan_token(&s);
        if (status != ASSAY_OK)
            return status;
    }
    if (s.want == WANT_NOTHING)
        return ASSAY_OK;
    return refuse(&s, s.depth == 0 ? "the document is empty" : "the document ends early (an open { or [)");
}
