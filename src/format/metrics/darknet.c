/* darknet.c - see darknet.h. */
#include "format/metrics/darknet.h"

#include <string.h>

#include "base/path.h"
#include "format/metrics/printed.h"

/* The next part, up to a comma or the end; false where there is none. */
static bool next_part(const char **at, const char *end, const char **part, size_t *length)
{
    if (*at >= end)
        return false;
    const char *comma = memchr(*at, ',', (size_t)(end - *at));
    *part = *at;
    *length = (size_t)((comma ? comma : end) - *at);
    *at = comma ? comma + 1 : end;
    metrics_trim(part, length);
    return true;
}

bool metrics_darknet_take(metrics_pairs *pairs, const char *line, size_t length)
{
    static const char *const averages[] = {"avg", "avg loss"}, *const left[] = {"hours left", "hours", "minutes left"};
    const char *at = line, *end = line + length, *part = NULL;
    size_t size = 0, parts = 0;
    int64_t step = 0;
    metrics_pair pair = {.of = -1, .set = true};
    if (!metrics_take_digits(&at, end, &step) || step < 0 || end - at < 2 || at[0] != ':' || at[1] != ' ' ||
        !memmem(at, (size_t)(end - at), " avg", 4))
        return false;
    at++;
    metrics_pairs_clear(pairs);
    pair.name = "step";
    pair.length = 4;
    pair.value = (double)step;
    metrics_pairs_add(pairs, &pair);
    for (; next_part(&at, end, &part, &size); parts++) {
        const char *blank = memchr(part, ' ', size);
        const size_t number = blank ? (size_t)(blank - part) : size;
        if (!metrics_number(part, number, &pair.value))
            return false;
        pair.name = blank ? blank + 1 : "loss";
        pair.length = blank ? size - number - 1 : 4;
        if ((parts == 0) != !blank || (parts == 1 && !metrics_is_among(averages, 2, pair.name, pair.length)))
            return false;
        if (parts == 1) {
            pair.name = "avg loss";
            pair.length = 8;
        }
        if (!metrics_is_among(left, sizeof left / sizeof *left, pair.name, pair.length))
            metrics_pairs_add(pairs, &pair);
    }
    return parts > 2;
}
