/* Any bytes as a timeline of a framework (src/format/profiler/timeline.c). */
#include "read_events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_events(data, size, ASSAY_EVENTS_PYTHON);
    return 0;
}
