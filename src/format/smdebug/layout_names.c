/* layout_names.c - reads the file names of a trial. */
#include "format/smdebug/layout_names.h"

#include <string.h>

enum { STEP_DIGITS = 12 };

/* Reads `digits` digits; what follows is the caller's to look at. */
static bool read_digits(const char *name, unsigned digits, int64_t *out)
{
    int64_t value = 0;
    for (unsigned i = 0; i < digits; i++) {
        if (name[i] < '0' || name[i] > '9') /* a terminator too */
            return false;
        value = value * 10 + (name[i] - '0');
    }
    *out = value;
    return true;
}

bool assay_read_number_name(const char *name, unsigned digits, int64_t *out)
{
    int64_t value = 0;
    if (!read_digits(name, digits, &value) || name[digits] != '\0')
        return false;
    *out = value;
    return true;
}

/* Takes `ending` off; what is left must not be empty. */
static bool cut_ending(const char *name, const char *ending, size_t *length)
{
    size_t size = strlen(name), tail = strlen(ending);
    if (size <= tail || memcmp(name + size - tail, ending, tail) != 0)
        return false;
    *length = size - tail;
    return true;
}

bool assay_read_index_name(const char *name, int64_t *step, const char **worker, size_t *length)
{
    int64_t number = 0;
    if (!read_digits(name, STEP_DIGITS, &number) || name[STEP_DIGITS] != '_' ||
        !cut_ending(name + STEP_DIGITS + 1, ".json", length))
        return false;
    *step = number;
    *worker = name + STEP_DIGITS + 1;
    return true;
}

bool assay_read_collections_name(const char *name, const char **worker, size_t *length)
{
    *worker = name;
    return cut_ending(name, "_collections.json", length);
}

bool assay_is_passing_name(const char *name)
{
    size_t length = 0;
    return name[0] == '.' || cut_ending(name, ".tmp", &length);
}
