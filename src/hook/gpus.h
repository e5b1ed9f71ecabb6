/* gpus.h - how busy the GPUs of this machine are, by NVIDIA's library, which is loaded when it is there. */
#pragma once

#include <stdbool.h>

typedef struct hook_gpus hook_gpus;

/* Loads the library and finds the GPUs. NULL where there is none; *why says why. */
hook_gpus *hook_gpus_open(const char **why);
void hook_gpus_close(hook_gpus *gpus);
unsigned hook_gpus_count(const hook_gpus *gpus);
/* Percent of the time that the GPU computed, and of its memory in use. False when it does not say. */
bool hook_gpus_read(const hook_gpus *gpus, unsigned gpu, unsigned *busy, unsigned *memory);
