/* Any bytes as pickles, one behind another or anywhere among them: names are terminated, and offsets lie in what was looked at. */
#include <stdlib.h>
#include <string.h>

#include "verify/loading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST = 1 << 24 };
    static assay_loading found;
    memset(&found, 0, sizeof found);
    if (size > 1 << 20 || assay_loading_scan(data, size, MOST, &found) != 0 ||
        assay_loading_hunt(data, size, MOST, &found) != 0)
        return 0;
    if (found.kept > ASSAY_LOADING_NAMES || found.grade > ASSAY_LOADING_CODE || found.end > size)
        abort();
    for (size_t i = 0; i < found.kept; i++)
        if (!memchr(found.list[i].name, 0, ASSAY_LOADING_NAME) || found.list[i].offset >= size ||
            found.list[i].grade == ASSAY_LOADING_DATA || found.list[i].grade > found.grade)
            abort();
    return 0;
}
