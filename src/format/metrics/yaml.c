/* yaml.c - settings in YAML, as far as loggers write them: `key: scalar`, deeper ones by indentation, lists of
 * `- item`. Flow lists and tags stay the texts that they are; nothing is evaluated. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "format/metrics/metrics.h"

enum { DEEP = 32, NAME = 512, VALUE = 4096, FILE_MOST = 1 << 20 };

typedef struct yaml {
    metrics_yaml_visit *visit;
    void *context;
    char name[NAME];     /* of the keys that enclose the line, joined by points */
    size_t length[DEEP]; /* of the name at each depth */
    size_t indent[DEEP]; /* of the keys there */
    unsigned depth;
    char list[VALUE]; /* items of the list under way */
    size_t list_length;
    bool in_list;
} yaml;

static int end_list(yaml *y)
{
    if (!y->in_list)
        return ASSAY_OK;
    y->in_list = false;
    y->list[y->list_length] = '\0';
    return y->visit(y->context, y->name, y->list);
}

/* Hexadecimal digits of an escape; false when there are fewer. */
static bool take_hex(const char **p, const char *end, int count, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < count; i++, (*p)++) {
        if (*p >= end || !isxdigit((unsigned char)**p))
            return false;
        const int c = tolower((unsigned char)**p);
        *code = 16 * *code + (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return true;
}

static size_t put_utf8(char *out, uint32_t code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 63));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 63));
        out[2] = (char)(0x80 | (code & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | (code >> 18 & 7));
    out[1] = (char)(0x80 | (code >> 12 & 63));
    out[2] = (char)(0x80 | (code >> 6 & 63));
    out[3] = (char)(0x80 | (code & 63));
    return 4;
}

/* The text in double quotes behind `p`. Returns what is behind the closing quote; NULL: there is none. */
static const char *take_double(const char *p, const char *end, char *out, size_t *length)
{
    static const char names[] = "n\nt\tr\r0\0a\ab\bf\fv\ve\x1b\"\"\\\\//  ";
    size_t used = 0;
    while (p < end && *p != '"' && used + 4 < VALUE) {
        if (*p != '\\' || p + 1 >= end) {
            out[used++] = *p++;
            continue;
        }
        const char kind = p[1];
        uint32_t code = 0;
        p += 2;
        if (kind == 'x' || kind == 'u' || kind == 'U') {
            if (!take_hex(&p, end, kind == 'x' ? 2 : kind == 'u' ? 4 : 8, &code))
                return NULL;
            used += put_utf8(out + used, code);
            continue;
        }
        for (size_t i = 0; i + 1 < sizeof names; i += 2)
            if (names[i] == kind)
                code = (unsigned char)names[i + 1];
        out[used++] = (char)code;
    }
    *length = used;
    return p < end && *p == '"' ? p + 1 : NULL;
}

static const char *take_single(const char *p, const char *end, char *out, size_t *length)
{
    size_t used = 0;
    while (p < end && used + 1 < VALUE) {
        if (*p == '\'' && (p + 1 == end || p[1] != '\''))
            break;
        p += *p == '\'';
        out[used++] = *p++;
    }
    *length = used;
    return p < end && *p == '\'' ? p + 1 : NULL;
}

/* A scalar up to the line's end; false: it has none (a key of others), or one that is none. */
static bool take_scalar(const char *p, const char *end, char *out, size_t *length, bool *quoted)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    *length = 0;
    *quoted = p < end && (*p == '"' || *p == '\'');
    if (*quoted)
        return (*p == '"' ? take_double(p + 1, end, out, length) : take_single(p + 1, end, out, length)) != NULL;
    if (p < end && *p == '#')
        return false;
    for (const char *q = p; q + 1 < end; q++)
        if (*q == ' ' && q[1] == '#') {
            end = q;
            break;
        }
    while (end > p && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
        end--;
    if (end == p || (size_t)(end - p) >= VALUE)
        return false;
    *length = (size_t)(end - p);
    memcpy(out, p, *length);
    return true;
}

/* Where the key ends: its colon, which a blank or the line's end follows. NULL: the line has no key. */
static const char *find_colon(const char *p, const char *end)
{
    if (p < end && (*p == '"' || *p == '\'')) {
        const char *close = memchr(p + 1, *p, (size_t)(end - p - 1));
        return close && close + 1 < end && close[1] == ':' ? close + 1 : NULL;
    }
    for (; p < end; p++)
        if (*p == ':' && (p + 1 == end || p[1] == ' ' || p[1] == '\t' || p[1] == '\r'))
            return p;
    return NULL;
}

/* null, or a tag alone, whose value follows on other lines. */
static bool is_nothing(const char *text, size_t length)
{
    if (*text == '!' && !memchr(text, ' ', length))
        return true;
    return (length == 4 && (memcmp(text, "null", 4) == 0 || memcmp(text, "Null", 4) == 0)) ||
           (length == 1 && *text == '~');
}

static int take_item(yaml *y, const char *p, const char *end)
{
    char value[VALUE + 1];
    size_t length = 0;
    bool quoted = false;
    if (!take_scalar(p, end, value, &length, &quoted))
        return ASSAY_OK;
    if (!y->in_list)
        y->list_length = 0;
    if (y->list_length + length + 2 < sizeof y->list) {
        if (y->in_list)
            y->list[y->list_length++] = ',';
        memcpy(y->list + y->list_length, value, length);
        y->list_length += length;
    }
    y->in_list = true;
    return ASSAY_OK;
}

static int take_line(yaml *y, const char *p, const char *end)
{
    const char *from = p;
    char value[VALUE + 1];
    size_t length = 0;
    bool quoted = false;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    const size_t indent = (size_t)(p - from);
    if (p == end || *p == '#' || *p == '\r')
        return ASSAY_OK;
    if (*p == '-' && (p + 1 == end || p[1] == ' '))
        return take_item(y, p + 1, end);
    int status = end_list(y);
    const char *colon = find_colon(p, end);
    if (status != ASSAY_OK || !colon)
        return status;
    while (y->depth > 0 && y->indent[y->depth - 1] >= indent)
        y->depth--;
    const size_t before = y->depth > 0 ? y->length[y->depth - 1] : 0;
    const bool in_quotes = *p == '"' || *p == '\'';
    const char *key = p + in_quotes;
    size_t size = (size_t)(colon - key) - in_quotes;
    while (size > 0 && (key[size - 1] == ' ' || key[size - 1] == '\t'))
        size--;
    const size_t dot = before > 0;
    if (size == 0 || before + dot + size >= NAME || y->depth == DEEP)
        return ASSAY_OK;
    if (dot)
        y->name[before] = '.';
    memcpy(y->name + before + dot, key, size);
    y->name[before + dot + size] = '\0';
    y->indent[y->depth] = indent;
    y->length[y->depth++] = before + dot + size;
    if (!take_scalar(colon + 1, end, value, &length, &quoted) || (!quoted && is_nothing(value, length)))
        return ASSAY_OK;
    value[length] = '\0';
    return y->visit(y->context, y->name, value);
}

int metrics_yaml(const char *text, size_t size, metrics_yaml_visit *visit, void *context)
{
    yaml y = {.visit = visit, .context = context};
    int status = ASSAY_OK;
    const char *end = text + size;
    for (const char *p = text; p < end && status == ASSAY_OK;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        const char *line_end = stop ? stop : end;
        status = take_line(&y, p, line_end);
        p = line_end + 1;
    }
    return status == ASSAY_OK ? end_list(&y) : status;
}

static int put_setting(void *context, const char *key, const char *value)
{
    char name[NAME + 8];
    snprintf(name, sizeof name, "config.%s", key);
    return metrics_fact(context, name, value, strlen(value));
}

int metrics_settings_files(metrics_log *log, const char *directory)
{
    static const char *const names[] = {"hparams.yaml", "args.yaml"};
    int status = ASSAY_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names && status == ASSAY_OK && log->facts; i++) {
        char path[ASSAY_PATH_ROOM];
        assay_buf text;
        snprintf(path, sizeof path, "%s%s%s", directory, *directory ? "/" : "", names[i]);
        assay_buf_init(&text, FILE_MOST);
        if (assay_store_exists(log->store, path, NULL) == 1) {
            assay_error why = {{0}};
            if (assay_store_read(log->store, path, FILE_MOST, &text, &why) == ASSAY_OK)
                status = metrics_yaml((const char *)text.data, text.size, put_setting, log);
            else
                assay_problems_add(log->problems, ASSAY_PROBLEM_FACTS, -1, path, -1, "%s", why.text);
        }
        assay_buf_release(&text);
    }
    return status;
}
