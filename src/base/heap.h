/* heap.h - keeps the process's resident memory close to what it allocated, and reports how much that was. */
#pragma once

#include <stddef.h>

/* From now on each large block is a mapping of its own: it grows in place, and freeing it returns it to the system. A
 * growing array would otherwise leave holes as large as itself. Use it while growing arrays; call assay_heap_reuse()
 * before phases that allocate and free often. Without glibc this and the next two calls do nothing. */
void assay_heap_grow_in_place(void);
/* Ends that: freed blocks are reused. Returns free memory to the system. */
void assay_heap_reuse(void);
/* Returns free memory to the system. */
void assay_heap_trim(void);
/* From now on the two calls above let free memory be, where there is no more of it than so many bytes: for work in parts that
 * take the same memory again, since it takes longer to get pages from the system than to fill them. 0 ends that. */
void assay_heap_keep(size_t bytes);

/* `size` bytes that are gone through again and again: of 2 MiB on from the system itself, in large pages where it has
 * them. NULL without memory. Give them back with assay_heap_give_large() and the same size; NULL is ignored. */
void *assay_heap_take_large(size_t size);
void assay_heap_give_large(void *bytes, size_t size);
/* The bytes that such a block takes: at most an eighth more than `size`, and a page or what the allocator adds.
 * SIZE_MAX: there is no block of that size. */
size_t assay_heap_cost_of_large(size_t size);

/* Asks for large pages under a block that is about to be written: taking small ones for it costs as much as writing
 * does. */
void assay_heap_want_large(void *bytes, size_t size);
/* `size` bytes for free(), which begin at a large page and lie in large ones where the system has them; the end lies in
 * small ones where a large one would take more than an eighth of the block besides. NULL without memory. */
void *assay_heap_alloc_large(size_t size);
/* A block for free(), or NULL, made `size` bytes long as realloc() does it; its first `used` bytes are kept. It lies as
 * assay_heap_alloc_large() has it. NULL without memory, and then the block is as it was. */
void *assay_heap_grow_large(void *old, size_t used, size_t size);

/* A list of `old_size` bytes made `size` bytes long, as realloc() does it. Of 256 KiB on it lies in a mapping of its
 * own, which grows without a copy, leaves no hole behind, and takes no memory for room that was never used. NULL
 * without memory, and then the list is as it was. Give it back with assay_heap_drop_list() and its size; NULL is
 * ignored. */
void *assay_heap_resize_list(void *list, size_t old_size, size_t size);
void assay_heap_drop_list(void *list, size_t size);

/* What lies in the bytes is needed no more: whole pages of them go back to the system, though the block they are of is
 * still the caller's. They may hold anything until they are written again. */
void assay_heap_forget(void *bytes, size_t size);

/* The most bytes that were resident at once. Unlike getrusage(), it does not include the parent's peak before
 * exec. */
size_t assay_heap_most_resident(void);
/* Bytes resident now; the most so far where the system does not tell. */
size_t assay_heap_resident(void);
