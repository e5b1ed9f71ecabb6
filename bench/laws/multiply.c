/* multiply.c - y = x wT of two square matrices of floats, in files one behind the other: where NumPy has no fast product.
 *
 * Usage: multiply N < X_AND_W > Y
 *
 * Sums of products are of floats, in an order of their own for each element: element k in lane k % 16 of it, and then the lanes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LANES = 16, HIGH = 4, WIDE = 4, TILE = 64 };
typedef float lanes __attribute__((vector_size(4 * LANES)));

/* HIGH rows of x by WIDE rows of w. */
static inline __attribute__((always_inline)) void multiply_few(const lanes *x, const lanes *w, size_t n, float *y,
                                                               size_t stride)
{
    lanes sum[HIGH][WIDE] = {{{0}}};
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < HIGH; i++)
            for (size_t j = 0; j < WIDE; j++)
                sum[i][j] += x[i * n + k] * w[j * n + k];
    for (size_t i = 0; i < HIGH; i++)
        for (size_t j = 0; j < WIDE; j++) {
            float all = 0;
            for (size_t lane = 0; lane < LANES; lane++)
                all += sum[i][j][lane];
            y[i * stride + j] = all;
        }
}

#if defined(__x86_64__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static void
multiply(const float *x, const float *w, size_t n, float *y)
{
    for (size_t column = 0; column < n; column += TILE) /* of w so many rows stay in the cache */
        for (size_t i = 0; i < n; i += HIGH)
            for (size_t j = column; j < column + TILE && j < n; j += WIDE)
                multiply_few((const lanes *)(const void *)(x + i * n), (const lanes *)(const void *)(w + j * n),
                             n / LANES, y + i * n + j, n);
}

int main(int argc, char **argv)
{
    const size_t n = argc == 2 ? (size_t)strtoul(argv[1], NULL, 10) : 0;
    if (n == 0 || n > 1 << 14 || n % LANES != 0) {
        fprintf(stderr, "usage: multiply N < X_AND_W > Y, with N a multiple of %d\n", LANES);
        return 1;
    }
    float *of = aligned_alloc(4 * LANES, 3 * n * n * sizeof *of);
    const int is_done = of && fread(of, sizeof *of, 2 * n * n, stdin) == 2 * n * n;
    if (is_done)
        multiply(of, of + n * n, n, of + 2 * n * n);
    const int is_written = is_done && fwrite(of + 2 * n * n, sizeof *of, n * n, stdout) == n * n && fflush(stdout) == 0;
    free(of);
    return !is_written;
}
