/* Any bytes as a file of system metrics (src/format/profiler/system.c). */
#include "read_events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_events(data, size, ASSAY_EVENTS_SYSTEM);
    return 0;
}
