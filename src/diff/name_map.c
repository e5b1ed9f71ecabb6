/* name_map.c - see name_map.h. */
#include "diff/name_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

static int refuse(const char *text, const char *what, assay_error *err)
{
    return assay_fail(err, ASSAY_EUSAGE, "--map '%.200s': %s", text, what);
}

/* ---- parsing ---- */

static bool read_number(const char **at, int64_t *out)
{
    char *end = NULL;
    if (**at < '0' || **at > '9')
        return false;
    const long long value = strtoll(*at, &end, 10);
    *at = end;
    *out = value;
    return value >= 0 && value < INT64_MAX;
}

static void skip_blanks(const char **at)
{
    while (**at == ' ')
        (*at)++;
}

/* "a:b", "a:", ":b", ":" or "k/n". */
static bool read_range(const char **at, assay_name_range *out)
{
    *out = (assay_name_range){.to = -1};
    skip_blanks(at);
    int64_t number = 0;
    const bool has = read_number(at, &number);
    if (has && **at == '/') {
        (*at)++;
        out->block = number;
        if (!read_number(at, &out->blocks) || out->blocks == 0 || out->block >= out->blocks)
            return false;
    } else {
        if (**at != ':')
            return false;
        (*at)++;
        out->from = number;
        if (**at >= '0' && **at <= '9' && !read_number(at, &out->to))
            return false;
    }
    skip_blanks(at);
    return out->to < 0 || out->to > out->from;
}

static bool read_ranges(const char *at, assay_name_map *map)
{
    for (;;) {
        if (map->ranges == ASSAY_MAX_DIMS || !read_range(&at, &map->range[map->ranges]))
            return false;
        map->ranges++;
        if (*at == ']')
            return at[1] == '\0';
        if (*at++ != ',')
            return false;
    }
}

/* Takes the part off the end of the replacement. */
static bool take_part(assay_name_map *map)
{
    size_t length = strlen(map->replacement);
    if (length > 2 && strcmp(map->replacement + length - 2, "^T") == 0) {
        map->transposed = true;
        map->replacement[length -= 2] = '\0';
    }
    if (length == 0 || map->replacement[length - 1] != ']')
        return true;
    char *open = strrchr(map->replacement, '[');
    if (!open || !read_ranges(open + 1, map))
        return false;
    *open = '\0';
    return true;
}

int assay_name_map_parse(const char *text, assay_name_map *out, assay_error *err)
{
    *out = (assay_name_map){0};
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text || equals[1] == '\0')
        return refuse(text, "it has to be REGEX=REPLACEMENT, such as 'model\\.(.*)=\\1'", err);
    char *pattern = assay_copy_bytes_as_text(text, (size_t)(equals - text));
    out->replacement = assay_copy_text(equals + 1);
    int status = pattern && out->replacement ? assay_regex_new(pattern, &out->regex, err) : ASSAY_ENOMEM;
    free(pattern);
    if (status == ASSAY_EFORMAT)
        return ASSAY_EUSAGE;
    if (status == ASSAY_OK && !take_part(out))
        return refuse(text, "the part in brackets has to be such as [0:64], [:, 0:64] or [0/3]", err);
    return status;
}

void assay_name_map_release(assay_name_map *map)
{
    assay_regex_free(map->regex);
    free(map->replacement);
    *map = (assay_name_map){0};
}

int assay_name_map_apply(const assay_name_map *map, const char *name, size_t length, assay_buf *out)
{
    return assay_regex_replace(map->regex, name, length, map->replacement, out);
}

bool assay_name_map_part(const assay_name_map *map, const int64_t *shape, int dims, int64_t *first, int64_t *size)
{
    if (map->ranges > dims)
        return false;
    for (int d = 0; d < dims; d++) {
        first[d] = 0;
        size[d] = shape[d];
        if (d >= map->ranges)
            continue;
        const assay_name_range *range = &map->range[d];
        if (range->blocks > 0) {
            if (shape[d] % range->blocks != 0)
                return false;
            size[d] = shape[d] / range->blocks;
            first[d] = range->block * size[d];
        } else {
            const int64_t to = range->to < 0 ? shape[d] : range->to;
            if (to > shape[d] || range->from > to)
                return false;
            first[d] = range->from;
            size[d] = to - range->from;
        }
    }
    return true;
}
