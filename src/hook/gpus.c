/* gpus.c - see gpus.h. The few calls of NVML are declared here: its headers are not needed to build. */
#include "hook/gpus.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "base/fault.h"

enum { NVML_SUCCESS = 0, GPUS_MOST = 256 };

typedef void *nvml_device;
typedef struct nvml_utilization {
    unsigned gpu, memory;
} nvml_utilization;
typedef struct nvml_memory {
    unsigned long long total, free, used;
} nvml_memory;

struct hook_gpus {
    void *library;
    int (*shutdown)(void);
    int (*utilization)(nvml_device device, nvml_utilization *out);
    int (*memory)(nvml_device device, nvml_memory *out);
    nvml_device device[GPUS_MOST];
    unsigned count;
};

typedef void function(void);

/* ISO C has no way from an object's pointer to a function's but through memory. */
static bool find(void *library, const char *name, void *to)
{
    function **place = to;
    *(void **)place = dlsym(library, name);
    return *place != NULL;
}

static const char *start(hook_gpus *g)
{
    int (*init)(void) = NULL;
    int (*count)(unsigned *) = NULL;
    int (*handle)(unsigned, nvml_device *) = NULL;
    if (!find(g->library, "nvmlInit_v2", &init) || !find(g->library, "nvmlShutdown", &g->shutdown) ||
        !find(g->library, "nvmlDeviceGetCount_v2", &count) ||
        !find(g->library, "nvmlDeviceGetHandleByIndex_v2", &handle) ||
        !find(g->library, "nvmlDeviceGetUtilizationRates", &g->utilization) ||
        !find(g->library, "nvmlDeviceGetMemoryInfo", &g->memory))
        return "libnvidia-ml.so.1 lacks a function";
    if (init() != NVML_SUCCESS) {
        g->shutdown = NULL;
        return "libnvidia-ml.so.1 finds no driver";
    }
    unsigned there = 0;
    if (count(&there) != NVML_SUCCESS)
        there = 0;
    for (unsigned i = 0; i < there && g->count < GPUS_MOST; i++)
        if (handle(i, &g->device[g->count]) == NVML_SUCCESS)
            g->count++;
    return g->count > 0 ? NULL : "the driver has none";
}

hook_gpus *hook_gpus_open(const char **why)
{
    hook_gpus *g = assay_alloc_zeroed(1, sizeof *g);
    *why = "out of memory";
    if (!g)
        return NULL;
    g->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    *why = g->library ? start(g) : "libnvidia-ml.so.1 is not there";
    if (!*why)
        return g;
    hook_gpus_close(g);
    return NULL;
}

void hook_gpus_close(hook_gpus *g)
{
    if (!g)
        return;
    if (g->library && g->shutdown)
        g->shutdown();
    if (g->library)
        dlclose(g->library);
    free(g);
}

unsigned hook_gpus_count(const hook_gpus *g)
{
    return g ? g->count : 0;
}

bool hook_gpus_read(const hook_gpus *g, unsigned gpu, unsigned *busy, unsigned *memory)
{
    nvml_utilization use = {0, 0};
    nvml_memory room = {0, 0, 0};
    if (g->utilization(g->device[gpu], &use) != NVML_SUCCESS || g->memory(g->device[gpu], &room) != NVML_SUCCESS ||
        room.total == 0)
        return false;
    *busy = use.gpu;
    *memory = (unsigned)(100.0 * (double)room.used / (double)room.total + 0.5);
    return true;
}
