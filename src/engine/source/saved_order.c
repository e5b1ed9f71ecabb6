/* saved_order.c - see saved_order.h. */
#include "engine/source/saved_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

uint32_t *saved_order_of(const assay_shard *shard, uint32_t tensors)
{
    uint32_t *predecessor = assay_alloc(tensors * sizeof *predecessor);
    if (!predecessor)
        return NULL;
    memset(predecessor, 0xff, tensors * sizeof *predecessor); /* SAVED_NEVER */
    for (size_t p = 0; p < shard->count; p++) {
        const assay_part *part = &shard->parts[p];
        uint32_t before = SAVED_FIRST;
        for (size_t e = part->first; e < (size_t)part->first + part->count; e++) {
            uint32_t tensor = shard->entries[e].tensor;
            if (predecessor[tensor] == SAVED_NEVER)
                predecessor[tensor] = before;
            before = tensor + 1;
        }
    }
    return predecessor;
}

/* Tensors with one predecessor as a list: the last of them is its head. Slot 0 is SAVED_FIRST's. */
typedef struct followers {
    uint32_t *head; /* [tensors + 1] a tensor + 1, 0: none */
    uint32_t *next; /* [tensors] likewise */
} followers;

/* What was saved first last stands closest behind its predecessor, as if each had been put there in turn. */
static void walk_followers(const followers *f, uint32_t *stack, uint32_t *position)
{
    uint32_t depth = 0, placed = 0;
    if (f->head[0])
        stack[depth++] = f->head[0];
    while (depth > 0) {
        uint32_t tensor = stack[--depth] - 1;
        position[tensor] = placed++;
        if (f->next[tensor])
            stack[depth++] = f->next[tensor];
        if (f->head[tensor + 1])
            stack[depth++] = f->head[tensor + 1];
    }
}

/* Was each tensor saved behind the one before it, as one file lists them? */
static bool is_one_list(const uint32_t *predecessor, uint32_t tensors)
{
    for (uint32_t t = 0; t < tensors; t++)
        if (predecessor[t] != (t == 0 ? SAVED_FIRST : t))
            return false;
    return true;
}

uint32_t *saved_order_positions(const uint32_t *predecessor, uint32_t tensors)
{
    if (is_one_list(predecessor, tensors)) {
        uint32_t *same = assay_alloc(tensors * sizeof *same);
        for (uint32_t t = 0; same && t < tensors; t++)
            same[t] = t;
        return same;
    }
    followers f = {.head = assay_alloc_zeroed((size_t)tensors + 1, sizeof *f.head),
                   .next = assay_alloc_zeroed(tensors, sizeof *f.next)};
    uint32_t *stack = assay_alloc(((size_t)tensors + 1) * sizeof *stack);
    uint32_t *position = assay_alloc(tensors * sizeof *position), last = tensors;
    if (f.head && f.next && stack && position) {
        for (uint32_t t = 0; t < tensors; t++) {
            if (predecessor[t] == SAVED_NEVER)
                continue;
            f.next[t] = f.head[predecessor[t]];
            f.head[predecessor[t]] = t + 1;
        }
        walk_followers(&f, stack, position);
        for (uint32_t t = tensors; t-- > 0;)
            if (predecessor[t] == SAVED_NEVER)
                position[t] = --last;
    } else {
        free(position);
        position = NULL;
    }
    free(f.head);
    free(f.next);
    free(stack);
    return position;
}
