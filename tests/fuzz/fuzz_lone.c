/* Any bytes as the beginning of a file that may be a trial by itself (trial/lone.h): no crash, no look beyond them, and the
 * same answer twice. The first byte says how large the file is beyond them. */
#include <stdlib.h>
#include <string.h>

#include "trial/lone.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > ASSAY_LONE_HEAD + 1)
        return 0;
    const size_t have = size - 1;
    uint8_t *head = malloc(have + 1); /* of that size, so that a look beyond is seen */
    if (!head)
        abort();
    memcpy(head, data + 1, have);
    head[have] = 0;
    for (assay_lone_kind kind = ASSAY_LONE_TENSORS; kind <= ASSAY_LONE_DUMP; kind++) {
        const bool is = assay_lone_has_begun(head, have, have + 64 * data[0], kind);
        if (is != assay_lone_has_begun(head, have, have + 64 * data[0], kind) || (is && have == 0))
            abort();
    }
    free(head);
    return 0;
}
