/* workers.c - lists of workers, in few words. */
#include "report/text/workers.h"

#include <inttypes.h>
#include <string.h>

#include "report/text/layout.h"

enum { MOST_NAMES = 8 };

/* How many workers from `i` on are worker_K, worker_K+1, ... */
static size_t run_length(const assay_worker_names *names, const uint32_t *worker, size_t i, size_t count,
                         int64_t *first, int64_t *last)
{
    char room[ASSAY_WORKER_ROOM];
    size_t run = 1;
    *first = *last = assay_worker_number(assay_worker_name(names, worker[i], room));
    while (*first >= 0 && i + run < count) {
        int64_t next = assay_worker_number(assay_worker_name(names, worker[i + run], room));
        if (next != *last + 1)
            break;
        *last = next;
        run++;
    }
    return run;
}

void assay_worker_names_put(const assay_worker_names *names, const uint32_t *worker, size_t count, assay_buf *out)
{
    if (count == names->catalog->expected_workers && count > 1) {
        assay_put_format(out, "all %zu workers", count);
        return;
    }
    size_t shown = 0;
    for (size_t i = 0; i < count; shown++) {
        if (shown == MOST_NAMES) {
            assay_put_format(out, " and %zu more", count - i);
            return;
        }
        int64_t first, last;
        char room[ASSAY_WORKER_ROOM];
        size_t run = run_length(names, worker, i, count, &first, &last);
        const char *name = assay_worker_name(names, worker[i], room);
        assay_put_bytes(out, ", ", i ? 2 : 0);
        assay_text_put_clean(out, name, strlen(name));
        if (run > 1)
            assay_put_format(out, "-%" PRId64, last);
        i += run;
    }
}
