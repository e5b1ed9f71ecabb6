/* queue.h - the ring of memory between the training's threads and the writer.
 *
 * A producer reserves a place under the hook's lock, fills it without the lock, and marks it ready under the lock
 * again. The writer takes items in the order of their reservation. All memory is one allocation, which is the bound. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/hook.h>
#include <assay/status.h>

typedef struct hook_item {
    size_t size; /* bytes taken in the ring */
    bool ready;
    uint64_t serial; /* of the step, from 1; a step that is gone back to gets another one */
    int64_t step, mode_step;
    int mode;   /* 0..3 */
    bool again; /* the step may be on disk: this is added to it */
    double wall_time;
    const char *name;         /* in the table of names */
    bool is_piece;            /* of a tensor, as `layout` says */
    assay_hook_layout layout; /* its numbers are behind the shape */
    uint64_t mask;            /* collections that save it now; 0 for a scalar of no collection */
    int dtype, ndim;
    int account;          /* what it costs to write is charged to */
    bool given;           /* `data` is not the tensor, but an assay_hook_statistics of it */
    const int64_t *shape; /* behind this struct */
    const void *data;     /* behind the shape, or the caller's own memory when the tensor is too large for the ring */
    size_t bytes;
} hook_item;

typedef struct hook_queue {
    uint8_t *ring;                /* owned */
    size_t room, head, tail, end; /* end: where the ring wraps at the moment */
    size_t items, used;           /* used: bytes of the items */
    uint64_t pushed, popped;      /* items ever */
} hook_queue;

/* Allocates the ring; pages that were never used take no memory. */
int hook_queue_init(hook_queue *queue, size_t room);
void hook_queue_release(hook_queue *queue);

/* Bytes that an item with so many extents and so much content takes; SIZE_MAX when that overflows. */
size_t hook_item_size(int ndim, size_t bytes);
/* A place for such an item, `size` and pointers set, not ready; NULL while there is no room. `bytes` 0 leaves `data`
 * NULL. The caller holds the lock. */
hook_item *hook_queue_reserve(hook_queue *queue, int ndim, size_t bytes);
/* The oldest item, ready or not; NULL when there is none. The caller holds the lock. */
hook_item *hook_queue_front(hook_queue *queue);
/* Gives the oldest item's place back. The caller holds the lock. */
void hook_queue_pop(hook_queue *queue);
