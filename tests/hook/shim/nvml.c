/* nvml.c - stands in for NVIDIA's library on a machine without GPUs: two, busy by 37 and 38 percent, a quarter of their
 * memory in use. */
int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetUtilizationRates(void *device, unsigned *rates);
int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory);

static unsigned busy[2] = {37, 38};

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 2;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = &busy[index];
    return 0;
}

int nvmlDeviceGetUtilizationRates(void *device, unsigned *rates)
{
    rates[0] = *(unsigned *)device;
    rates[1] = 5;
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory)
{
    (void)device;
    memory[0] = 1000;
    memory[1] = 750;
    memory[2] = 250;
    return 0;
}
