/* queue.c - a ring of items of varying size, each in one piece. */
#include "hook/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

enum { ALIGN = 64 };

int hook_queue_init(hook_queue *queue, size_t room)
{
    memset(queue, 0, sizeof *queue);
    queue->ring = assay_alloc(room);
    queue->room = queue->end = room;
    return queue->ring ? ASSAY_OK : ASSAY_ENOMEM;
}

void hook_queue_release(hook_queue *queue)
{
    free(queue->ring);
    memset(queue, 0, sizeof *queue);
}

size_t hook_item_size(int ndim, size_t bytes)
{
    size_t head = sizeof(hook_item) + (size_t)ndim * sizeof(int64_t), size;
    if (__builtin_add_overflow(head, bytes, &size) || size > SIZE_MAX - ALIGN)
        return SIZE_MAX;
    return (size + ALIGN - 1) / ALIGN * ALIGN;
}

/* An offset with `size` free bytes behind it, or SIZE_MAX. */
static size_t find_place(hook_queue *queue, size_t size)
{
    if (queue->items == 0) {
        queue->head = queue->tail = 0;
        queue->end = queue->room;
    }
    if (queue->items > 0 && queue->head <= queue->tail)
        return queue->tail - queue->head >= size ? queue->head : SIZE_MAX;
    if (queue->room - queue->head >= size)
        return queue->head;
    if (queue->tail < size)
        return SIZE_MAX;
    queue->end = queue->head;
    return 0;
}

hook_item *hook_queue_reserve(hook_queue *queue, int ndim, size_t bytes)
{
    size_t size = hook_item_size(ndim, bytes);
    size_t at = find_place(queue, size);
    if (at == SIZE_MAX)
        return NULL;
    queue->head = at + size;
    queue->items++;
    queue->used += size;
    queue->pushed++;
    uint8_t *place = queue->ring + at;
    int64_t *shape = (int64_t *)(void *)(place + sizeof(hook_item));
    hook_item *item = (hook_item *)(void *)place;
    *item =
        (hook_item){.size = size, .ndim = ndim, .bytes = bytes, .shape = shape, .data = bytes ? shape + ndim : NULL};
    return item;
}

hook_item *hook_queue_front(hook_queue *queue)
{
    if (queue->items == 0)
        return NULL;
    if (queue->tail == queue->end) {
        queue->tail = 0;
        queue->end = queue->room;
    }
    return (hook_item *)(void *)(queue->ring + queue->tail);
}

void hook_queue_pop(hook_queue *queue)
{
    hook_item *item = hook_queue_front(queue);
    if (!item)
        return;
    queue->tail += item->size;
    queue->items--;
    queue->used -= item->size;
    queue->popped++;
}
