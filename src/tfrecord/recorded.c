/* recorded.c - see recorded.h. */
#include "tfrecord/recorded.h"

#include <string.h>

/* Names such as "000000000010_worker_0.tfevents", as smdebug's hook writes them: at least 12 digits, zeros in front. */
bool assay_recorded_event_name(const char *path, size_t length, int64_t *step, const char **worker, size_t *name)
{
    static const char ending[] = ".tfevents";
    enum { DIGITS = 12, DIGITS_MOST = 18, ENDING = sizeof ending - 1 };
    const char *slash = memrchr(path, '/', length);
    const char *at = slash ? slash + 1 : path, *end = path + length;
    int64_t number = 0;
    int digits = 0;
    /* 18 digits fit 63 bits. */
    for (; at < end && *at >= '0' && *at <= '9' && digits < DIGITS_MOST; at++, digits++)
        number = 10 * number + (*at - '0');
    if (digits < DIGITS || end - at < ENDING + 2 || *at != '_' || memcmp(end - ENDING, ending, ENDING) != 0)
        return false;
    *step = number;
    *worker = at + 1;
    *name = (size_t)(end - ENDING - *worker);
    return true;
}
