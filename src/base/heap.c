/* heap.c - the allocator of glibc, and /proc of Linux; on other systems only the peak so far is known. */
#include "base/heap.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/fault.h"

enum {
    /* LARGE_PAGE is the size of large pages of x86-64, and of most ARM kernels; a wrong guess costs time, no memory. */
    LARGE_PAGE = 2 << 20,
    SMALL = 256 << 10, /* less is left to malloc, whatever it is for */
    LARGE = 32 << 20   /* where glibc comes to by itself when large blocks are freed */
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

/* Set by the main thread between phases; nothing else in this file is kept between calls. */
static size_t kept; /* free bytes that are not returned */

void assay_heap_keep(size_t bytes)
{
    kept = bytes;
}

/* Versions of the library that do not tell how much is free are asked to return all of it. */
void assay_heap_trim(void)
{
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 33)
    if (kept > 0 && mallinfo2().fordblks <= kept)
        return;
#endif
    malloc_trim(0);
#endif
}

static size_t in_whole_pages(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) / page * page;
}

/* So many bytes of a block lie in large pages. Its end does where the rest of that page is at most an eighth of the
 * block: to take the end in small ones would cost more time, and more of the rest too much memory. */
static size_t in_large_pages(size_t size)
{
    if (size > SIZE_MAX / 2)
        return 0;
    const size_t over = size % LARGE_PAGE, rest = over > 0 ? LARGE_PAGE - over : 0;
    return rest <= size / 8 ? size + rest : size - over;
}

static size_t mapped_size(size_t size)
{
    const size_t large = in_large_pages(size), small = in_whole_pages(size);
    return large > small ? large : small;
}

size_t assay_heap_cost_of_large(size_t size)
{
    if (size > SIZE_MAX / 2)
        return SIZE_MAX;
    return size < LARGE_PAGE ? size + 2 * sizeof(size_t) : mapped_size(size);
}

/* A block of malloc would begin anywhere, or leave what its alignment costs behind it. */
static void *map_aligned(size_t size)
{
    /* One large page more is mapped than needed, so that an aligned part lies in it; the rest is given back at once. */
    size_t all = size + LARGE_PAGE;
    uint8_t *bytes = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        return NULL;
    size_t skip = (LARGE_PAGE - (uintptr_t)bytes % LARGE_PAGE) % LARGE_PAGE;
    if (skip > 0)
        munmap(bytes, skip);
    munmap(bytes + skip + size, all - skip - size);
#ifdef MADV_HUGEPAGE
    madvise(bytes + skip, size, MADV_HUGEPAGE); /* a wish: without it the pages are small */
#endif
    return bytes + skip;
}

void *assay_heap_take_large(size_t size)
{
    if (size < LARGE_PAGE)
        return assay_alloc(size);
    bool no = assay_fault_now(ASSAY_FAULT_ALLOC) || size > SIZE_MAX / 2;
    return assay_alloc_note(no ? NULL : map_aligned(mapped_size(size)));
}

void assay_heap_want_large(void *bytes, size_t size)
{
#ifdef MADV_HUGEPAGE
    const size_t page = (size_t)sysconf(_SC_PAGESIZE),
                 before = (uintptr_t)bytes % page; /* a head of malloc's, most often */
    if (bytes && size >= LARGE_PAGE)
        madvise((uint8_t *)bytes - before, (size + before + page - 1) / page * page, MADV_HUGEPAGE);
#else
#endif
}

void *assay_heap_alloc_large(size_t size)
{
    const size_t large = in_large_pages(size);
    void *bytes = NULL;
    /* Too small for a large page, or too large for any block: malloc decides. */
    if (large == 0)
        return assay_alloc(size);
    if (!assay_fault_now(ASSAY_FAULT_ALLOC) && posix_memalign(&bytes, LARGE_PAGE, large > size ? large : size) != 0)
        bytes = NULL;
    assay_heap_want_large(bytes, large);
    return assay_alloc_note(bytes);
}

void *assay_heap_grow_large(void *old, size_t used, size_t size)
{
    /* Nothing to keep: a new block at a large page's begin is better than an old one that grows anywhere. */
    if (used == 0 && in_large_pages(size) > 0) {
        void *bytes = assay_heap_alloc_large(size);
        if (bytes)
            free(old);
        return bytes;
    }
    uint8_t *grown = assay_realloc_array(old, size, 1); /* which copies nothing where it can move pages */
    if (grown)
        assay_heap_want_large(grown + used, size - used);
    return grown;
}

void assay_heap_give_large(void *bytes, size_t size)
{
    if (size < LARGE_PAGE)
        free(bytes);
    else if (bytes)
        munmap(bytes, mapped_size(size));
}

static bool is_mapped(size_t size)
{
#ifdef MREMAP_MAYMOVE
    return size >= SMALL;
#else
    return false;
#endif
}

/* One of the two sizes is that of a mapping. mremap moves pages, not bytes. The other way copies: the list comes out
 * of malloc, or goes back into it. */
static void *resize_mapping(void *list, size_t old_size, size_t size)
{
#ifdef MREMAP_MAYMOVE
    if (is_mapped(old_size) && is_mapped(size)) {
        void *moved = mremap(list, in_whole_pages(old_size), in_whole_pages(size), MREMAP_MAYMOVE);
        if (moved == MAP_FAILED)
            return NULL;
        assay_heap_want_large(moved, size);
        return moved;
    }
#endif
    void *other = is_mapped(size)
                      ? mmap(NULL, in_whole_pages(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                      : malloc(size);
    if (other == MAP_FAILED || !other)
        return NULL;
    assay_heap_want_large(other, size);
    if (list)
        memcpy(other, list, old_size < size ? old_size : size);
    assay_heap_drop_list(list, old_size);
    return other;
}

void *assay_heap_resize_list(void *list, size_t old_size, size_t size)
{
    if (!is_mapped(list ? old_size : 0) && !is_mapped(size))
        return assay_realloc_array(list, size, 1);
    bool no = assay_fault_now(ASSAY_FAULT_ALLOC) || size > SIZE_MAX / 2;
    return assay_alloc_note(no ? NULL : resize_mapping(list, list ? old_size : 0, size));
}

void assay_heap_drop_list(void *list, size_t size)
{
    if (list && is_mapped(size))
        munmap(list, in_whole_pages(size));
    else
        free(list);
}

void assay_heap_forget(void *bytes, size_t size)
{
#ifdef MADV_DONTNEED
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), skip = (page - (uintptr_t)bytes % page) % page;
    if (size >= skip + page)
        madvise((uint8_t *)bytes + skip, (size - skip) / page * page, MADV_DONTNEED);
#else
#endif
}

size_t assay_heap_most_resident(void)
{
    char line[128];
    size_t most = 0;
    FILE *file = fopen("/proc/self/status", "r");
    /* VmHWM starts anew with exec, unlike ru_maxrss; the latter is what other systems have. */
    while (file && most == 0 && fgets(line, sizeof line, file))
        most = strncmp(line, "VmHWM:", 6) == 0 ? strtoull(line + 6, NULL, 10) * 1024 : 0;
    if (file)
        fclose(file);
    struct rusage usage;
    if (most == 0 && getrusage(RUSAGE_SELF, &usage) == 0)
        most = (size_t)usage.ru_maxrss * 1024;
    return most;
}

size_t assay_heap_resident(void)
{
    unsigned long size, resident;
    FILE *file = fopen("/proc/self/statm", "r");
    int got = file ? fscanf(file, "%lu %lu", &size, &resident) : 0;
    if (file)
        fclose(file);
    return got == 2 ? resident * (size_t)sysconf(_SC_PAGESIZE) : assay_heap_most_resident();
}
