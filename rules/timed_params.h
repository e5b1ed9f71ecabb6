/* timed_params.h - the parameters of the rules that look at time, for each rule and once more, with its name in front,
 * for ProfilerReport.
 *
 * P(rule, name, type, default, least, most, flags, choices, help) */
#pragma once

#include <assay/rule.h>

#define TIMED_PERCENT(P, r, name, initial, help)      P(r, name, ASSAY_PARAM_REAL, initial, 0, 100, 0, NULL, help)
#define TIMED_COUNT(P, r, name, initial, least, help) P(r, name, ASSAY_PARAM_INT, initial, least, 0x1p53, 0, NULL, help)
#define TIMED_PATIENCE(P, r, initial)                                                                                  \
    TIMED_COUNT(P, r, "patience", initial, 0, "Nothing is tested before there are more values than this.")

#define TIMED_SKIP(P, r)                                                                                               \
    P(r, "skip_initialization", ASSAY_PARAM_BOOL, "False", 0, 0, ASSAY_PARAM_QUIET, NULL,                              \
      "Only what is at or after the first step; where steps are missing or begin above number 1, after the first use " \
      "of a GPU if that is earlier.")

#define BATCH_SIZE_PARAMS(P)                                                                                           \
    TIMED_PERCENT(P, "BatchSize", "cpu_threshold_p95", "70", "Fires when the 95 % quantile of the CPU is below this.") \
    TIMED_PERCENT(P, "BatchSize", "gpu_threshold_p95", "70", "And that of the GPU below this.")                        \
    TIMED_PERCENT(P, "BatchSize", "gpu_memory_threshold_p95", "70", "And that of the GPU's memory below this.")        \
    TIMED_PATIENCE(P, "BatchSize", "1000")                                                                             \
    TIMED_COUNT(P, "BatchSize", "window", "500", 1, "How many of the last values the quantiles are taken of.")         \
    TIMED_SKIP(P, "BatchSize")

#define CPU_BOTTLENECK_PARAMS(P)                                                                                       \
    TIMED_PERCENT(P, "CPUBottleneck", "threshold", "50",                                                               \
                  "Fires when more than this share of the time is a bottleneck.")                                      \
    TIMED_PERCENT(P, "CPUBottleneck", "gpu_threshold", "10", "A GPU below this is idle.")                              \
    TIMED_PERCENT(P, "CPUBottleneck", "cpu_threshold", "90", "A core above this is saturated.")                        \
    TIMED_PATIENCE(P, "CPUBottleneck", "1000")                                                                         \
    TIMED_SKIP(P, "CPUBottleneck")

#define IO_BOTTLENECK_PARAMS(P)                                                                                        \
    TIMED_PERCENT(P, "IOBottleneck", "threshold", "50",                                                                \
                  "Fires when more than this share of the time is a bottleneck.")                                      \
    TIMED_PERCENT(P, "IOBottleneck", "gpu_threshold", "10", "A GPU below this is idle.")                               \
    TIMED_PERCENT(P, "IOBottleneck", "io_threshold", "50", "A core that waits for I/O for more than this is held up.") \
    TIMED_PATIENCE(P, "IOBottleneck", "1000")                                                                          \
    TIMED_SKIP(P, "IOBottleneck")

#define GPU_MEMORY_INCREASE_PARAMS(P)                                                                                  \
    P("GPUMemoryIncrease", "increase", ASSAY_PARAM_REAL, "5", 0, 1e15, 0, NULL,                                        \
      "Fires when the moving average rises by more than this many percentage points.")                                 \
    TIMED_PATIENCE(P, "GPUMemoryIncrease", "1000")                                                                     \
    TIMED_COUNT(P, "GPUMemoryIncrease", "window", "10", 1, "How many values the average is taken of.")                 \
    TIMED_COUNT(P, "GPUMemoryIncrease", "lag", "1", 1,                                                                 \
                "How many values earlier the other average ends; as many as the window: no overlap, finds leaks.")     \
    TIMED_SKIP(P, "GPUMemoryIncrease")

#define LOW_GPU_UTILIZATION_PARAMS(P)                                                                                  \
    TIMED_PERCENT(P, "LowGPUUtilization", "threshold_p95", "70", "Fires when the 95 % quantile is below this.")        \
    TIMED_PERCENT(P, "LowGPUUtilization", "threshold_p5", "10",                                                        \
                  "Or when that is above, and the 5 % quantile is below this.")                                        \
    TIMED_COUNT(P, "LowGPUUtilization", "window", "500", 1, "How many of the last values the quantiles are taken of.") \
    TIMED_PATIENCE(P, "LowGPUUtilization", "1000")                                                                     \
    TIMED_SKIP(P, "LowGPUUtilization")

#define LOAD_BALANCING_PARAMS(P)                                                                                       \
    P("LoadBalancing", "threshold", ASSAY_PARAM_REAL, "0.5", 0, 1e15, 0, NULL,                                         \
      "Fires when the distance of two GPUs' loads, at most 0.8326, is above this.")                                    \
    TIMED_PATIENCE(P, "LoadBalancing", "1000")                                                                         \
    TIMED_SKIP(P, "LoadBalancing")

#define MAX_INITIALIZATION_TIME_PARAMS(P)                                                                              \
    P("MaxInitializationTime", "threshold", ASSAY_PARAM_REAL, "20", 0, 1e15, 0, NULL,                                  \
      "Fires when the first step comes later than this many minutes.")

#define STEP_OUTLIER_PARAMS(P)                                                                                         \
    P("StepOutlier", "stddev", ASSAY_PARAM_REAL, "3", 0, 1e15, ASSAY_PARAM_ABOVE, NULL,                                \
      "A step that lasts longer than the mean by more than so many standard deviations is an outlier.")                \
    P("StepOutlier", "mode", ASSAY_PARAM_CHOICE, NULL, 0, 0, ASSAY_PARAM_OR_NONE | ASSAY_PARAM_MODE_KEY,               \
      "TRAIN|EVAL|PREDICT|GLOBAL", "Only steps of this mode; without it each mode by itself.")                         \
    TIMED_COUNT(P, "StepOutlier", "n_outliers", "10", 0, "Fires when there are more outliers than this.")

#define DATALOADER_PARAMS(P)                                                                                           \
    TIMED_COUNT(P, "Dataloader", "min_threshold", "70", 1,                                                             \
                "Fires when the loaders are fewer than this percentage of the cores.")                                 \
    TIMED_COUNT(P, "Dataloader", "max_threshold", "200", 1, "Or more than this percentage.")                           \
    TIMED_COUNT(P, "Dataloader", "patience", "10", 0, "Nothing is tested before there are more seconds than this.")

/* A rule's own table. */
#define TIMED_OWN(rule_, name_, type_, initial_, least_, most_, flags_, choices_, help_)                               \
    {.name = name_,                                                                                                    \
     .type = type_,                                                                                                    \
     .initial = initial_,                                                                                              \
     .least = least_,                                                                                                  \
     .most = most_,                                                                                                    \
     .flags = flags_,                                                                                                  \
     .choices = choices_,                                                                                              \
     .help = help_},

/* In ProfilerReport's: without a default, which is the rule's. */
#define TIMED_OTHERS(rule_, name_, type_, initial_, least_, most_, flags_, choices_, help_)                            \
    {.name = rule_ "_" name_,                                                                                          \
     .type = type_,                                                                                                    \
     .least = least_,                                                                                                  \
     .most = most_,                                                                                                    \
     .flags = (flags_) | ASSAY_PARAM_QUIET,                                                                            \
     .choices = choices_,                                                                                              \
     .help = help_},
