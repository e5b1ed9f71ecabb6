/* heap.h - how much memory the process holds, and what the allocator is told so that it holds no more than it was asked for. */
#ifndef ASSAY_BASE_HEAP_H
#define ASSAY_BASE_HEAP_H

#include <stddef.h>

/* From now on large blocks come from the system one by one: they grow in place and go back when they are freed. What grows
 * otherwise leaves as much behind it in holes as it takes. For lists that grow, not for work that takes a block and gives it
 * back again and again. Without glibc nothing happens, as in the calls below. Not collective. */
void assay_heap_grow_in_place(void);
/* Large blocks are reused again, and what is free now goes back to the system. Not collective. */
void assay_heap_reuse(void);
/* Gives back what is free. Not collective. */
void assay_heap_trim(void);

/* Bytes resident now; the most so far where the system does not tell. Not collective. */
size_t assay_heap_resident(void);

#endif
