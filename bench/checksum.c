/* checksum.c - how fast CRC-32C goes over a buffer in the cache and over one that is not: median of several passes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/crc32c.h"

enum { PASSES = 9, IN_CACHE = 128 << 10, IN_MEMORY = 256 << 20 };

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* GB/s of processor time. */
static double rate(const unsigned char *bytes, size_t size, unsigned *crc)
{
    double seconds[PASSES];
    for (int pass = 0; pass < PASSES; pass++) {
        struct timespec from, to;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
        for (size_t done = 0; done < IN_MEMORY; done += size)
            *crc = assay_crc32c(*crc, bytes, size);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
        seconds[pass] = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    }
    qsort(seconds, PASSES, sizeof seconds[0], compare);
    return 1e-9 * IN_MEMORY / seconds[PASSES / 2];
}

int main(void)
{
    unsigned char *bytes = malloc(IN_MEMORY);
    if (bytes == NULL)
        return 1;
    memset(bytes, 0x5a, IN_MEMORY);
    unsigned crc = 0;
    double cache = rate(bytes, IN_CACHE, &crc), memory = rate(bytes, IN_MEMORY, &crc);
    printf("CRC-32C: %.1f GB/s in the cache, %.1f GB/s from memory (%08x)\n", cache, memory, crc);
    free(bytes);
    return 0;
}
