/* vec.c - how arrays grow. */
#include "base/vec.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/heap.h"

enum { FIRST_ROOM = 8 }; /* most lists of a run stay shorter */

/* The list's pointer is copied as bytes: it may be a pointer to any type, which no single type may alias. */
bool assay_vec_reserve(void *list, size_t *room, size_t count, size_t size)
{
    if (count <= *room)
        return true;
    /* Doubling; room never shrinks but by assay_vec_fit(). */
    size_t next = *room > SIZE_MAX / 2 ? SIZE_MAX : 2 * *room;
    if (next < FIRST_ROOM)
        next = FIRST_ROOM;
    if (next < count)
        next = count;
    void *old;
    memcpy(&old, list, sizeof old);
    void *grown = assay_realloc_array(old, next, size);
    if (!grown)
        return false;
    assay_heap_want_large(grown, next * size);
    memcpy(list, &grown, sizeof grown);
    *room = next;
    return true;
}

void *assay_vec_add(void *list, size_t *count, size_t *room, size_t size)
{
    if (!assay_vec_reserve(list, room, assay_vec_sum(*count, 1), size))
        return NULL;
    char *items;
    memcpy(&items, list, sizeof items);
    char *item = items + (*count)++ * size;
    memset(item, 0, size);
    return item;
}

enum { COPIED_MOST = 64 << 10 /* bytes */ };

void assay_vec_fit(void *list, size_t count, size_t *room, size_t size)
{
    void *old;
    memcpy(&old, list, sizeof old);
    if (count == *room || count == 0)
        return;
    /* Where that fails, the list is as it was. A small one is copied: what is left behind one that shrinks where it lies is too
     * small for the next list, and of ten thousand lists more is left than they take. */
    void *fitting = count * size <= COPIED_MOST ? malloc(count * size) : realloc(old, count * size);
    if (!fitting)
        return;
    if (count * size <= COPIED_MOST) {
        memcpy(fitting, old, count * size);
        free(old);
    }
    memcpy(list, &fitting, sizeof fitting);
    *room = count;
}
