/* expression_scan.c - see expression_scan.h. */
#include "rule/expression_scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

enum { WINDOW = 64 }; /* bytes of the text in a message */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool continues_character(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80; /* UTF-8 */
}

static size_t characters(const char *text, size_t from, size_t to)
{
    size_t count = 0;
    for (size_t i = from; i < to; i++)
        count += !continues_character(text[i]);
    return count;
}

int expression_fail(const char *text, size_t at, assay_error *err, const char *format, ...)
{
    char said[240], shown[WINDOW + 1];
    /* The caret stands at three quarters of the window at most, so that text before the place is seen. */
    size_t from = at > WINDOW * 3 / 4 ? at - WINDOW * 3 / 4 : 0;
    va_list list;
    va_start(list, format);
    vsnprintf(said, sizeof said, format, list);
    va_end(list);
    /* The window begins and ends between characters, or the caret would be off. */
    while (from < at && continues_character(text[from]))
        from++;
    size_t length = strnlen(text + from, WINDOW);
    while (length > 0 && continues_character(text[from + length]))
        length--;
    memcpy(shown, text + from, length);
    shown[length] = '\0';
    for (size_t i = 0; i < length; i++)
        if (is_space(shown[i]))
            shown[i] = ' ';
    return assay_fail(err, ASSAY_EPARAM, "parameter when, column %zu: %s\n    %s\n    %*s^",
                      characters(text, 0, at) + 1, said, shown, (int)characters(text, from, at), "");
}

static int scan_number(const char *text, size_t *at, expression_token *out, assay_error *err)
{
    size_t i = *at;
    char *end;
    while (is_digit(text[i]))
        i++;
    if (text[i] == '.')
        i++;
    while (is_digit(text[i]))
        i++;
    if ((text[i] == 'e' || text[i] == 'E') &&
        (is_digit(text[i + 1]) || ((text[i + 1] == '+' || text[i + 1] == '-') && is_digit(text[i + 2])))) {
        i += 2;
        while (is_digit(text[i]))
            i++;
    }
    out->number = strtod(text + *at, &end);
    /* strtod() must have read exactly what was scanned: no hexadecimal, no "inf". */
    if (end != text + i || is_letter(text[i]) || text[i] == '.')
        return expression_fail(text, *at, err, "this is no number");
    out->kind = TOKEN_NUMBER;
    out->length = i - *at;
    *at = i;
    return ASSAY_OK;
}

static void scan_word(const char *text, size_t *at, expression_token *out)
{
    static const struct {
        const char *word;
        int code;
    } signs[] = {{"and", ASSAY_OP_AND}, {"or", ASSAY_OP_OR}, {"not", ASSAY_OP_NOT}};
    size_t i = *at;
    while (is_letter(text[i]) || is_digit(text[i]))
        i++;
    out->kind = TOKEN_WORD;
    out->length = i - *at;
    for (size_t k = 0; k < sizeof signs / sizeof *signs; k++)
        if (strlen(signs[k].word) == out->length && memcmp(signs[k].word, text + *at, out->length) == 0) {
            out->kind = TOKEN_SIGN;
            out->code = signs[k].code;
        }
    *at = i;
}

/* Signs of two characters first. False when there is none. "<=" has to be tried before "<". */
static bool scan_sign(const char *text, size_t *at, expression_token *out)
{
    static const struct {
        const char *sign;
        expression_token_kind kind;
        int code;
    } signs[] = {
        {"<=", TOKEN_SIGN, ASSAY_OP_AT_MOST},
        {">=", TOKEN_SIGN, ASSAY_OP_AT_LEAST},
        {"==", TOKEN_SIGN, ASSAY_OP_EQUAL},
        {"!=", TOKEN_SIGN, ASSAY_OP_UNEQUAL},
        {"<", TOKEN_SIGN, ASSAY_OP_LESS},
        {">", TOKEN_SIGN, ASSAY_OP_MORE},
        {"+", TOKEN_SIGN, ASSAY_OP_ADD},
        {"-", TOKEN_SIGN, ASSAY_OP_SUBTRACT},
        {"*", TOKEN_SIGN, ASSAY_OP_MULTIPLY},
        {"/", TOKEN_SIGN, ASSAY_OP_DIVIDE},
        {"(", TOKEN_OPEN, 0},
        {")", TOKEN_CLOSE, 0},
        {",", TOKEN_COMMA, 0},
    };
    for (size_t k = 0; k < sizeof signs / sizeof *signs; k++) {
        size_t length = strlen(signs[k].sign);
        if (strncmp(text + *at, signs[k].sign, length) != 0)
            continue;
        out->kind = signs[k].kind;
        out->code = signs[k].code;
        out->length = length;
        *at += length;
        return true;
    }
    return false;
}

int expression_scan(const char *text, size_t *at, expression_token *out, assay_error *err)
{
    while (is_space(text[*at]))
        ++*at;
    *out = (expression_token){.kind = TOKEN_END, .at = *at};
    char c = text[*at];
    if (c == '\0')
        return ASSAY_OK;
    if (is_digit(c) || (c == '.' && is_digit(text[*at + 1])))
        return scan_number(text, at, out, err);
    if (is_letter(c)) {
        scan_word(text, at, out);
        return ASSAY_OK;
    }
    if (scan_sign(text, at, out))
        return ASSAY_OK;
    if (c == '&' || c == '|' || c == '!')
        return expression_fail(text, *at, err, "conditions are joined by the words and, or, not");
    if (c == '=')
        return expression_fail(text, *at, err, "equality is written ==");
    if (c == '"' || c == '\'')
        return expression_fail(text, *at, err, "a tensor's name stands inside a statistic: l2(\"fc.weight\")");
    return expression_fail(text, *at, err, "this character has no meaning here");
}

/* Names of collections may hold more than letters and digits. */
static bool in_collection_name(char c)
{
    return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == ':' || (unsigned char)c >= 0x80;
}

static size_t skip_spaces(const char *text, size_t at)
{
    while (is_space(text[at]))
        at++;
    return at;
}

bool expression_at_selector(const char *text, size_t at)
{
    at = skip_spaces(text, at);
    if (text[at] == '"' || text[at] == '\'' || text[at] == '/')
        return true;
    /* "max(3, l2(w))" begins with a digit, and "min(-1, ...)" with a sign: neither is a collection. */
    if (is_digit(text[at]) || !in_collection_name(text[at]) || text[at] == '-' || text[at] == '.')
        return false;
    while (in_collection_name(text[at]))
        at++;
    /* A name that a closing bracket follows is a selector; "max(a(b), ...)" is not. */
    return text[skip_spaces(text, at)] == ')';
}

/* Up to the closing mark; in patterns a backslash protects it and stays, except before the slash. */
static int scan_quoted(const char *text, size_t *at, bool pattern, char **out, assay_error *err)
{
    size_t from = *at + 1, i = from, used = 0;
    char mark = text[*at];
    while (text[i] && text[i] != mark)
        i += pattern && text[i] == '\\' && text[i + 1] ? 2 : 1;
    if (!text[i])
        return expression_fail(text, *at, err, "the closing %c is missing", mark);
    if (i == from)
        return expression_fail(text, *at, err, pattern ? "the pattern is empty" : "the name is empty");
    char *copy = assay_copy_bytes_as_text(text + from, i - from);
    if (!copy)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    /* "\/" in a pattern is a slash; all other backslashes belong to the pattern. */
    for (size_t k = 0; copy[k]; k++)
        if (!(pattern && copy[k] == '\\' && copy[k + 1] == '/'))
            copy[used++] = copy[k];
    copy[used] = '\0';
    *out = copy;
    *at = i + 1;
    return ASSAY_OK;
}

int expression_scan_selector(const char *text, size_t *at, assay_selector_kind *kind, char **out, assay_error *err)
{
    *at = skip_spaces(text, *at);
    char c = text[*at];
    if (c == '"' || c == '\'' || c == '/') {
        int status = scan_quoted(text, at, c == '/', out, err);
        if (status == ASSAY_OK)
            *kind = c == '/' ? ASSAY_SELECT_REGEX : strstr(*out, "{}") ? ASSAY_SELECT_TEMPLATE : ASSAY_SELECT_NAME;
        return status;
    }
    size_t length = 0;
    while (in_collection_name(text[*at + length]))
        length++;
    if (length == 0)
        return expression_fail(text, *at, err, "a collection, a \"tensor name\" or a /pattern/ is expected here");
    *out = assay_copy_bytes_as_text(text + *at, length);
    *kind = ASSAY_SELECT_COLLECTION;
    *at += length;
    return *out ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "out of memory");
}
