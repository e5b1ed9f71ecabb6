/* path.c - paths as texts. */
#include "base/path.h"

#include <ctype.h>
#include <string.h>

#include "base/fault.h"

char *assay_path_join(const char *directory, const char *name)
{
    size_t head = strlen(directory), tail = strlen(name), room;
    bool slash = head > 0 && directory[head - 1] != '/';
    /* Where addresses have 32 bits two texts may be longer together than any block. */
    if (__builtin_add_overflow(head + slash, tail + 1, &room))
        return NULL;
    char *joined = assay_alloc(room);
    if (!joined)
        return NULL;
    memcpy(joined, directory, head);
    if (slash)
        joined[head] = '/';
    memcpy(joined + head + slash, name, tail + 1);
    return joined;
}

const char *assay_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool assay_path_ends(const char *path, const char *suffix)
{
    return assay_path_ends_n(path, strlen(path), suffix);
}

bool assay_path_ends_n(const char *path, size_t length, const char *suffix)
{
    const size_t tail = strlen(suffix);
    return length >= tail && memcmp(path + length - tail, suffix, tail) == 0;
}

/* Every path of foreign data is asked this before it is opened: no empty part, no ".", no "..", no begin at the
 * root. */
bool assay_path_is_inside(const char *path, size_t length)
{
    if (length == 0 || length > ASSAY_PATH_MOST || memchr(path, '\0', length))
        return false;
    for (size_t from = 0; from <= length;) {
        const char *slash = from < length ? memchr(path + from, '/', length - from) : NULL;
        const size_t part = slash ? (size_t)(slash - path) - from : length - from;
        if (part == 0 || (part <= 2 && memcmp(path + from, "..", part) == 0))
            return false;
        from += part + 1;
    }
    return true;
}

bool assay_path_is_name(const char *name, size_t length)
{
    return assay_path_is_inside(name, length) && !memchr(name, '/', length);
}

/* The bytes of such an ending; 0: there is none. */
static size_t aside_ending(const char *name, size_t length)
{
    /* What editors and people append to a copy that they put aside. */
    static const char *const endings[] = {".bak", ".backup", ".old", ".orig", ".save", "~", " ", "\t"};
    size_t digits = 0;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (length > strlen(endings[i]) && assay_path_ends_n(name, length, endings[i]))
            return strlen(endings[i]);
    while (digits + 1 < length && assay_is_digit(name[length - digits - 1]))
        digits++;
    return digits > 0 && digits + 1 < length && name[length - digits - 1] == '.' ? digits + 1 : 0;
}

size_t assay_path_before_aside(const char *name)
{
    const size_t whole = strlen(name);
    size_t length = whole, ending;
    /* Endings come in rows, such as ".bak.1". */
    while ((ending = aside_ending(name, length)) > 0)
        length -= ending;
    return length < whole ? length : 0;
}

/* The bytes of a character of UTF-8 of more than one byte; a byte that begins none counts as one. */
static size_t length_of_character(const char *at)
{
    size_t length = 1;
    while (((unsigned char)at[length] & 0xc0) == 0x80 && length < 4)
        length++;
    return length;
}

/* U+0300 to U+036F: what stands on the letter before it. */
static bool is_mark(const char *at)
{
    const unsigned char first = (unsigned char)at[0];
    if (first != 0xcc && first != 0xcd) /* the end, too: nothing stands behind it */
        return false;
    const unsigned char second = (unsigned char)at[1];
    return second >= 0x80 && (first == 0xcc || second <= 0xaf);
}

bool assay_path_looks_like(const char *name, const char *known)
{
    size_t other = 0, all = 0;
    if (strcmp(name, known) == 0)
        return false;
    const char *a = name + (name[0] == '.' && known[0] != '.'), *b = known;
    for (; *a && *b; b++, all++) {
        if ((unsigned char)*a >= 0x80)
            a += length_of_character(a);
        else if (tolower((unsigned char)*a) == tolower((unsigned char)*b))
            a++;
        else if (a++, ++other > 1)
            return false;
        while (is_mark(a))
            a += 2;
    }
    return *a == '\0' && *b == '\0' && all > other;
}

void assay_path_put_series(const char *path, assay_buf *out)
{
    for (const char *end; *path; path = end + (*end == '/')) {
        end = path + strcspn(path, "/");
        /* Names of hexadecimal digits with a digit in them are ids of runs and commits: they count as a number. */
        const bool number = path + strspn(path, "0123456789abcdef-") == end && path + strcspn(path, "0123456789") < end;
        assay_put_u8(out, '/'); /* of a number nothing else is left */
        for (const char *p = path; p < end && !number; p++)
            if (!assay_is_digit(*p))
                assay_put_u8(out, (uint8_t)*p);
    }
}
