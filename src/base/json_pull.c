/* json_pull.c - the pull scanner. */
#include "base/json_pull.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

void assay_pull_start(assay_pull *s, const void *text, size_t size)
{
    s->from = s->at = size ? text : "";
    s->end = s->from + size;
    s->decoded_size = 0;
    s->fault = s->fault_at = NULL;
    s->no_memory = false;
    if (size >= 3 && memcmp(s->at, "\xef\xbb\xbf", 3) == 0)
        s->at += 3;
}

void assay_pull_release(assay_pull *s)
{
    free(s->decoded);
    *s = (assay_pull){0};
}

bool assay_pull_fault(assay_pull *s, const char *at, const char *what)
{
    /* Only the first fault counts: later ones follow from it. */
    if (!s->fault) {
        s->fault = what;
        s->fault_at = at;
        s->at = s->end; /* so that nothing more is read */
    }
    return false;
}

bool assay_pull_take_behind(assay_pull *s, char mark)
{
    if (assay_pull_peek(s) == mark && s->at < s->end) {
        s->at++;
        return true;
    }
    const char *what = mark == '{'   ? "expected {"
                       : mark == '[' ? "expected ["
                       : mark == ':' ? "expected : behind a key"
                       : mark == ']' ? "expected , or ]"
                       : mark == '}' ? "expected , or }"
                                     : "expected a string";
    return assay_pull_fault(s, s->at, s->at == s->end ? "the text ends too early" : what);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Reads four hexadecimal digits at `p`, a code unit of UTF-16; -1 where they are none. */
static int32_t read_unit(const char *p, const char *end)
{
    int32_t unit = 0;
    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(p[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static char *put_utf8(char *out, int32_t code)
{
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xc0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *out++ = (char)(0xe0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    } else {
        *out++ = (char)(0xf0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 0x3f));
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    }
    return out;
}

/* Decodes the escape at `p` (behind the backslash); NULL when it is none. No escape is shorter than what it stands for.
 */
static const char *take_escape(const char *p, const char *end, bool loose, char **out)
{
    static const char marks[] = "\"\\/bfnrt", stands[] = "\"\\/\b\f\n\r\t";
    if (p == end)
        return NULL;
    if (*p != 'u') {
        const char *mark = *p ? strchr(marks, *p) : NULL;
        if (!mark && (!loose || (unsigned char)*p < 0x20))
            return NULL;
        *(*out)++ = mark ? stands[mark - marks] : *p;
        return p + 1;
    }
    int32_t code = read_unit(p + 1, end);
    if (code < 0 && loose) {
        *(*out)++ = 'u';
        return p + 1;
    }
    if (code < 0)
        return NULL;
    p += 5;
    if (code >= 0xd800 && code < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
        int32_t low = read_unit(p + 2, end);
        if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            p += 6;
        }
    }
    *out = put_utf8(*out, code);
    return p;
}

/* The room is taken for the whole text at once, so that strings decoded before stay where they are. */
static bool need_decoded(assay_pull *s)
{
    size_t size = (size_t)(s->end - s->from);
    if (s->decoded_size > 0 || s->decoded_room >= size)
        return true;
    char *grown = assay_realloc_array(s->decoded, size, 1);
    if (!grown) {
        s->no_memory = true;
        return assay_pull_fault(s, s->at, "out of memory");
    }
    s->decoded = grown;
    s->decoded_room = size;
    return true;
}

/* The string from `begin`, whose first escape is at `p`. */
static bool decode_string(assay_pull *s, const char *begin, const char *p, const char **text, size_t *length)
{
    if (!need_decoded(s))
        return false;
    char *start = s->decoded + s->decoded_size, *out = start;
    for (;;) {
        memcpy(out, begin, (size_t)(p - begin));
        out += p - begin;
        if (p == s->end || *p != '\\')
            break;
        begin = take_escape(p + 1, s->end, s->loose, &out);
        if (!begin)
            return assay_pull_fault(s, p, "an escape that JSON does not have");
        p = assay_pull_plain_end(begin, s->end);
    }
    s->decoded_size += (size_t)(out - start);
    *text = start;
    *length = (size_t)(out - start);
    s->at = p;
    return true;
}

bool assay_pull_string(assay_pull *s, const char **text, size_t *length)
{
    if (!assay_pull_take(s, '"'))
        return false;
    const char *begin = s->at, *p = assay_pull_plain_end(begin, s->end);
    if (p < s->end && *p == '\\') {
        if (!decode_string(s, begin, p, text, length))
            return false;
        p = s->at;
    } else {
        *text = begin;
        *length = (size_t)(p - begin);
    }
    if (p == s->end)
        return assay_pull_fault(s, p, "the text ends within a string");
    if (*p != '"')
        return assay_pull_fault(s, p, "a control character within a string");
    s->at = p + 1;
    return true;
}

bool assay_pull_key(assay_pull *s, const char **text, size_t *length)
{
    return assay_pull_string(s, text, length) && assay_pull_take(s, ':');
}

bool assay_pull_end(assay_pull *s)
{
    assay_pull_peek(s);
    if (s->fault)
        return false;
    return s->at == s->end || assay_pull_fault(s, s->at, "more text behind the end of the document");
}

bool assay_pull_literal(assay_pull *s, int *value)
{
    enum { STRICT = 3 };
    /* Python writes the last three, though JSON has no such words; loose scanners read them as null. */
    static const char *const words[] = {"null", "false", "true", "NaN", "Infinity", "-Infinity"};
    assay_pull_peek(s);
    for (size_t i = 0; i < (s->loose ? sizeof words / sizeof *words : STRICT); i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(s->end - s->at) >= length && memcmp(s->at, words[i], length) == 0) {
            s->at += length;
            *value = i < STRICT ? (int)i - 1 : -1;
            return true;
        }
    }
    return assay_pull_fault(s, s->at, s->at == s->end ? "the text ends too early" : "expected a value");
}

static bool skip_scalar(assay_pull *s)
{
    const char *text = NULL;
    size_t length = 0;
    int64_t value = 0;
    int literal = 0;
    bool fits = false;
    char c = assay_pull_peek(s);
    if (c == '"')
        return assay_pull_string(s, &text, &length);
    const bool infinite = s->loose && c == '-' && s->end - s->at > 1 && s->at[1] == 'I';
    if ((c == '-' && !infinite) || (c >= '0' && c <= '9'))
        return assay_pull_integer(s, &value, &fits);
    return assay_pull_literal(s, &literal);
}

bool assay_pull_skip(assay_pull *s)
{
    /* A bracket for each level that is open: a stack of fixed size, so hostile nesting ends in a fault. */
    char closing[ASSAY_PULL_DEPTH];
    size_t depth = 0;
    for (;;) {
        const char *key = NULL;
        size_t length = 0;
        char c = assay_pull_peek(s);
        bool opens = false;
        if (c == '{' || c == '[') {
            if (depth == ASSAY_PULL_DEPTH)
                return assay_pull_fault(s, s->at, "nested deeper than 64 levels");
            closing[depth] = c == '{' ? '}' : ']';
            opens = assay_pull_open(s, c, closing[depth]);
            depth += opens;
        } else {
            skip_scalar(s);
        }
        while (!opens && depth > 0 && !s->fault) {
            opens = assay_pull_more(s, closing[depth - 1]);
            depth -= !opens;
        }
        if (s->fault)
            return false;
        if (depth == 0)
            return true;
        if (closing[depth - 1] == '}' && !assay_pull_key(s, &key, &length))
            return false;
    }
}
