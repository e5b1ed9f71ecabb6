/* ini.c - see ini.h. */
#include "s3/ini.h"

#include <string.h>
#include <strings.h>

#include "base/fault.h"

typedef struct span {
    const char *at;
    size_t length;
} span;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static span trim(span s)
{
    while (s.length > 0 && is_blank(s.at[0])) {
        s.at++;
        s.length--;
    }
    while (s.length > 0 && is_blank(s.at[s.length - 1]))
        s.length--;
    return s;
}

/* The grammar is that of AWS's own files, with what their tools tolerate. */
static bool span_is(span s, const char *text)
{
    return s.length == strlen(text) && memcmp(s.at, text, s.length) == 0;
}

static bool span_is_nocase(span s, const char *text)
{
    return s.length == strlen(text) && strncasecmp(s.at, text, s.length) == 0;
}

/* Cuts the next line off the rest; false at the end. */
static bool next_line(span *rest, span *line)
{
    if (rest->length == 0)
        return false;
    const char *end = memchr(rest->at, '\n', rest->length);
    line->at = rest->at;
    line->length = end ? (size_t)(end - rest->at) : rest->length;
    size_t taken = line->length + (end != NULL);
    rest->at += taken;
    rest->length -= taken;
    return true;
}

/* "[name]" or "[profile name]": the name; length 0 when the line is no head of a section. */
static span section_name(span line)
{
    line = trim(line);
    const char *end = line.length > 1 && line.at[0] == '[' ? memchr(line.at, ']', line.length) : NULL;
    if (!end)
        return (span){line.at, 0};
    /* Sections of the config file are called "profile NAME", but for "default"; the credentials file has the bare
     * name. */
    span name = trim((span){line.at + 1, (size_t)(end - line.at) - 1});
    if (name.length > 8 && memcmp(name.at, "profile", 7) == 0 && is_blank(name.at[7]))
        name = trim((span){name.at + 8, name.length - 8});
    return name;
}

static bool is_section(span line)
{
    line = trim(line);
    return line.length > 0 && line.at[0] == '[';
}

static bool is_comment(span line)
{
    line = trim(line);
    return line.length == 0 || line.at[0] == '#' || line.at[0] == ';';
}

/* Splits "key = value"; a comment behind a blank is no part of the value. */
static bool split(span line, span *key, span *value)
{
    const char *equals = memchr(line.at, '=', line.length);
    if (!equals)
        return false;
    *key = trim((span){line.at, (size_t)(equals - line.at)});
    *value = (span){equals + 1, line.length - (size_t)(equals - line.at) - 1};
    for (size_t i = 1; i < value->length; i++) {
        if ((value->at[i] == '#' || value->at[i] == ';') && is_blank(value->at[i - 1])) {
            value->length = i;
            break;
        }
    }
    *value = trim(*value);
    return true;
}

int s3_ini_find(const char *text, size_t size, const char *profile, const char *group, const char *key, char **value)
{
    span rest = {text, size}, line, name, found = {NULL, 0}, part = {"", 0};
    bool inside = false;
    while (next_line(&rest, &line)) {
        if (is_comment(line))
            continue;
        bool indented = is_blank(line.at[0]);
        if (!indented && is_section(line)) {
            inside = span_is(section_name(line), profile);
            part = (span){"", 0};
            continue;
        }
        span this = {NULL, 0};
        if (!inside || !split(line, &name, &this))
            continue;
        if (!indented)
            part = name;
        if (group ? indented && span_is_nocase(part, group) && span_is_nocase(name, key)
                  : !indented && span_is_nocase(name, key))
            found = this;
    }
    if (!found.at)
        return 0;
    if (memchr(found.at, '\0', found.length))
        return 0;
    char *copy = assay_copy_bytes_as_text(found.at, found.length);
    ASSAY_HAVE(copy);
    *value = copy;
    return 1;
}

bool s3_ini_has(const char *text, size_t size, const char *profile)
{
    span rest = {text, size}, line;
    while (next_line(&rest, &line))
        if (!is_comment(line) && !is_blank(line.at[0]) && is_section(line) && span_is(section_name(line), profile))
            return true;
    return false;
}
