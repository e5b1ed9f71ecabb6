/* metric.c - the metrics that rules look at: their names in files, and for people. */
#include <string.h>

#include "timeline/internal.h"

static const struct {
    const char *word, *name; /* for people; the name of its samples */
} METRICS[ASSAY_METRICS] = {[ASSAY_METRIC_CPU] = {"cpu", "CPUUtilization"},
                            [ASSAY_METRIC_MEMORY] = {"cpu_memory", "MemoryUsedPercent"},
                            [ASSAY_METRIC_GPU] = {"gpu", "GPUUtilization"},
                            [ASSAY_METRIC_GPU_MEMORY] = {"gpu_memory", "GPUMemoryUtilization"},
                            [ASSAY_METRIC_IO_WAIT] = {"io", "I/OWaitPercentage"},
                            [ASSAY_METRIC_NETWORK] = {"network", "Algorithm"}};

const char *assay_metric_word(int metric)
{
    return metric >= 0 && metric < ASSAY_METRICS ? METRICS[metric].word : "";
}

int assay_metric_find(const char *word)
{
    for (int m = 0; m < ASSAY_METRICS; m++)
        if (strcmp(METRICS[m].word, word) == 0 || strcmp(METRICS[m].name, word) == 0)
            return m;
    return ASSAY_METRIC_OTHER;
}

static bool is(const assay_text *text, const char *word)
{
    return text->length == strlen(word) && memcmp(text->bytes, word, text->length) == 0;
}

uint8_t collector_metric(const assay_event_sample *s)
{
    if (is(&s->unit, METRICS[ASSAY_METRIC_MEMORY].name)) /* memory has its metric in place of a unit */
        return ASSAY_METRIC_MEMORY;
    for (int m = 0; m < ASSAY_METRICS; m++)
        if (m != ASSAY_METRIC_MEMORY && is(&s->metric, METRICS[m].name))
            return (uint8_t)m;
    return ASSAY_METRIC_OTHER;
}
