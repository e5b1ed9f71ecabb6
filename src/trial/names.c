/* names.c - the names of workers and modes. */
#include "trial/names.h"

#include <string.h>

#include <assay/rule.h>

/* smdebug's names of distributed workers have "_" for "/" and "-" for ":", and begin with "_" as a path would with
 * "/"; other names stay. */
void assay_worker_display_name(const char *file_form, size_t length, char *out)
{
    bool serialised = length > 0 && file_form[0] == '_';
    for (size_t i = 0; i < length; i++) {
        char c = file_form[i];
        if (serialised)
            c = c == '_' ? '/' : c == '-' ? ':' : c;
        out[i] = c;
    }
    out[length] = '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Compares two runs of digits as numbers of any length and moves both behind them. */
static int compare_runs(const char **a, const char **b)
{
    while (**a == '0')
        ++*a;
    while (**b == '0')
        ++*b;
    const char *x = *a, *y = *b;
    while (is_digit(**a))
        ++*a;
    while (is_digit(**b))
        ++*b;
    ptrdiff_t m = *a - x, n = *b - y;
    if (m != n)
        return m < n ? -1 : 1;
    return memcmp(x, y, (size_t)m);
}

/* As assay_natural_order(), but byte by byte outside of digits. */
int assay_worker_compare(const char *a, const char *b)
{
    const char *x = a, *y = b;
    while (*x && *y) {
        if (is_digit(*x) && is_digit(*y)) {
            int order = compare_runs(&x, &y);
            if (order)
                return order;
        } else if (*x != *y) {
            return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
        } else {
            x++;
            y++;
        }
    }
    if (*x || *y)
        return *x ? 1 : -1;
    return strcmp(a, b); /* equal numbers written with more zeros */
}

const char *assay_mode_name(int mode)
{
    static const char *const names[] = {"", "TRAIN", "EVAL", "PREDICT", "GLOBAL"};
    return mode > ASSAY_MODE_NONE && mode < ASSAY_MODES ? names[mode] : "";
}

/* Words of smdebug's index files. */
int assay_mode_parse(const char *text, size_t length)
{
    for (int mode = ASSAY_MODE_TRAIN; mode < ASSAY_MODES; mode++)
        if (strlen(assay_mode_name(mode)) == length && memcmp(text, assay_mode_name(mode), length) == 0)
            return mode;
    return ASSAY_MODE_NONE;
}
