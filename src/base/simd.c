/* simd.c - asks the processor, and the environment, once. */
#include "base/simd.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const char *const NAMES[ASSAY_SIMD_LEVELS] = {"scalar", "avx2", "avx512"};
static assay_simd chosen;
static pthread_once_t chosen_once = PTHREAD_ONCE_INIT;

#if defined(__x86_64__)
static bool has_f16c(void) /* clang's __builtin_cpu_supports does not know the word */
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

bool assay_simd_has(assay_simd level)
{
    /* The kernels of a level use all of its instruction sets, so one that is missing rules the level out. */
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && has_f16c();
    if (level == ASSAY_SIMD_AVX512)
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    return level == ASSAY_SIMD_SCALAR || (level == ASSAY_SIMD_AVX2 && avx2);
}
#else
bool assay_simd_has(assay_simd level)
{
    return level == ASSAY_SIMD_SCALAR;
}
#endif

static void choose(void)
{
    const char *wish = getenv("ASSAY_SIMD");
    /* The highest level that is there wins, unless the wish names a lower one on the way. */
    for (int level = 0; level < ASSAY_SIMD_LEVELS; level++) {
        if (!assay_simd_has((assay_simd)level))
            continue;
        chosen = (assay_simd)level;
        if (wish && strcmp(wish, NAMES[level]) == 0)
            return;
    }
}

assay_simd assay_simd_level(void)
{
    pthread_once(&chosen_once, choose);
    return chosen;
}

const char *assay_simd_name(assay_simd level)
{
    return NAMES[level];
}
