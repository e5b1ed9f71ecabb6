/* simd.h - which instructions the vector code of this module may use. */
#pragma once

#include <stdbool.h>

typedef enum assay_simd { ASSAY_SIMD_SCALAR, ASSAY_SIMD_AVX2, ASSAY_SIMD_AVX512, ASSAY_SIMD_LEVELS } assay_simd;

/* True when this machine and this build have the level. Thread-safe. */
bool assay_simd_has(assay_simd level);
/* The level in use: the highest there is, unless ASSAY_SIMD=scalar|avx2|avx512 asks for another that is there (anything
 * else is ignored). Read once. Results do not depend on it. Thread-safe. */
assay_simd assay_simd_level(void);
/* "scalar", "avx2" or "avx512". */
const char *assay_simd_name(assay_simd level);
