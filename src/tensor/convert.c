/* convert.c - converts elements with the loads of the statistics kernels. */
#include "tensor/convert.h"

#include <assay/tensor.h>
#include <string.h>

#include "tensor/stats_kernels.h"

void assay_to_double(int dtype, const void *bytes, size_t n, double *out)
{
    size_t size = assay_dtype_size(dtype), groups = n / STATS_LANES, rest = n % STATS_LANES;
    if (size == 0)
        return;
    stats_widen *widen = assay_stats_kernels_of(assay_simd_level())->widen[dtype];
    widen(bytes, groups, out);
    if (rest > 0) {
        uint8_t last[STATS_LANES * 16] = {0};
        double wide[STATS_LANES];
        memcpy(last, (const uint8_t *)bytes + groups * STATS_LANES * size, rest * size);
        widen(last, 1, wide);
        memcpy(out + groups * STATS_LANES, wide, rest * sizeof wide[0]);
    }
}
