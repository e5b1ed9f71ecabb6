/* Any bytes as the metadata of a distributed checkpoint (src/format/checkpoint/dcp.c), beside a file of 256 bytes that its
 * boxes may lie in: what fuzz_series.c does with a checkpoint of any kind. */
#define LLVMFuzzerTestOneInput fuzz_series
#include "fuzz_series.c"
#undef LLVMFuzzerTestOneInput

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { HEAD = 3, CONTENT = 256, METADATA = 3 };
    static uint8_t input[HEAD + UINT16_MAX + CONTENT];
    if (size > UINT16_MAX)
        return 0;
    input[0] = METADATA;
    input[1] = (uint8_t)size;
    input[2] = (uint8_t)(size >> 8);
    memcpy(input + HEAD, data, size);
    for (int i = 0; i < CONTENT; i++)
        input[HEAD + size + (size_t)i] = (uint8_t)i;
    return fuzz_series(input, HEAD + size + CONTENT);
}
