/* boxed.c - see boxed.h. */
#include "format/metrics/boxed.h"

#include <ctype.h>
#include <string.h>

#include "format/metrics/printed.h"

bool metrics_is_boxed_border(const char *line, size_t length)
{
    enum { SHORTEST = 5 };
    metrics_trim(&line, &length);
    for (size_t i = 0; i < length; i++)
        if (!strchr("-+=|", line[i]) || line[i] == '\0')
            return false;
    return length >= SHORTEST;
}

void metrics_boxed_clear(metrics_boxed *boxed)
{
    metrics_pairs_clear(&boxed->pairs);
    boxed->group_length = 0;
}

/* A name has letters, and what divides names and numbers elsewhere is not in it. */
static bool is_name(const char *text, size_t length)
{
    bool letters = false;
    for (size_t i = 0; i < length; i++) {
        if (strchr(":={}[]|\"'", text[i]))
            return false;
        letters = letters || isalpha((unsigned char)text[i]);
    }
    return letters && length <= METRICS_PAIR_NAME_MOST;
}

static bool add(metrics_boxed *boxed, const char *name, size_t length, bool below, metrics_pair *pair)
{
    metrics_pairs *pairs = &boxed->pairs;
    const size_t group = below ? boxed->group_length : 0;
    if (group + length > METRICS_PAIR_NAME_MOST || group + length > sizeof pairs->texts - pairs->used)
        return false;
    char *to = pairs->texts + pairs->used;
    memcpy(to, boxed->group, group);
    memcpy(to + group, name, length);
    pairs->used += group + length;
    pair->name = to;
    pair->length = group + length;
    pair->set = true;
    metrics_pairs_add(pairs, pair);
    return true;
}

/* "1.03e+04", as loggers print numbers with three digits: it stands for all that are no farther from it. */
static double rounding(const char *text, size_t length, double value)
{
    enum { DIGITS = 3 };
    const char *exponent = memchr(text, 'e', length);
    return exponent && exponent - text <= DIGITS + 1 ? 0.005 * value : 0;
}

bool metrics_boxed_take(metrics_boxed *boxed, const char *line, size_t length)
{
    metrics_pair pair = {.of = -1};
    metrics_trim(&line, &length);
    if (length < 4 || *line != '|' || line[length - 1] != '|')
        return false;
    const char *name = line + 1, *bar = memchr(name, '|', length - 2), *end = line + length - 1;
    if (!bar || memchr(bar + 1, '|', (size_t)(end - bar - 1)))
        return false;
    const char *value = bar + 1;
    size_t name_length = (size_t)(bar - name), value_length = (size_t)(end - value);
    const bool below = name_length > 2 && memcmp(name, "  ", 2) == 0;
    metrics_trim(&name, &name_length);
    metrics_trim(&value, &value_length);
    if (!is_name(name, name_length))
        return false;
    if (value_length == 0 && name[name_length - 1] == '/') {
        memcpy(boxed->group, name, name_length);
        boxed->group_length = name_length;
        return true;
    }
    if (!metrics_pair_number(value, value_length, &pair.value, &pair.of))
        return false;
    pair.rounded = rounding(value, value_length, pair.value);
    return add(boxed, name, name_length, below, &pair);
}
