/* heap.c - the allocator of glibc, and /proc of Linux; elsewhere nothing is told and the most so far is what is known. */
#include "base/heap.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum {
    SMALL = 256 << 10,
    LARGE = 32 << 20 /* where glibc comes to by itself when large blocks are freed */
};

void assay_heap_grow_in_place(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, SMALL);
    mallopt(M_TRIM_THRESHOLD, LARGE);
#endif
}

void assay_heap_reuse(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, LARGE);
    mallopt(M_TRIM_THRESHOLD, 2 * LARGE);
#endif
    assay_heap_trim();
}

void assay_heap_trim(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

size_t assay_heap_resident(void)
{
    unsigned long size, resident;
    FILE *file = fopen("/proc/self/statm", "r");
    int got = file ? fscanf(file, "%lu %lu", &size, &resident) : 0;
    if (file)
        fclose(file);
    if (got == 2)
        return resident * (size_t)sysconf(_SC_PAGESIZE);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (size_t)usage.ru_maxrss * 1024;
}
