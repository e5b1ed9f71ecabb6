/* arena.c - blocks that grow geometrically, and separate blocks for loans. */
#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/heap.h"

enum {
    ALIGNMENT = 16,
    FIRST_BLOCK = 64 * 1024,
    /* `kept` may be a quarter of the ceiling: more would be memory that lies idle between steps. */
    KEPT_OF_CEILING = 4,
    BLOCKS_OF_CEILING = 256, /* a block for small pieces is at most such a part of the ceiling, but for the first */
    OWN_BLOCK_OF = 64,       /* a piece of more than such a part of the next block gets a block of its own: what */
    OWN_BLOCK_LEAST = 1024,  /* the block before has left when it is given up is less than that */
    WASTE_OF = 32,           /* of a ceiling: a sixty-fourth in each block, and at most two blocks not full */
    SMALL_LOAN = 2048,       /* small loans that were given back are kept for the next ones: each record takes a few */
    LOAN_CLASSES = SMALL_LOAN / ALIGNMENT + 1, /* by size */
    KEPT_OF_CLASS = 4
};

/* Before the bytes of a block or a loan. */
typedef struct arena_block {
    struct arena_block *next, *before; /* `before` only of loans */
    size_t size, used;                 /* bytes behind this head */
} arena_block;

enum { HEAD = (sizeof(arena_block) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT };

struct assay_arena {
    size_t ceiling;
    size_t held; /* of all blocks and loans, heads included */
    size_t used; /* handed out */
    /* Invariant: held is the sum of size + HEAD over `blocks` and `loans`, and is at most `ceiling`; `kept` and
     * `small` are outside it, so that what can be taken never depends on earlier steps. */
    size_t grow;         /* size of the next block, head included */
    arena_block *blocks; /* bytes are taken from the first */
    arena_block *loans;
    arena_block *kept; /* from before the arena was cleared: what it is worth is the time that malloc takes */
    arena_block *small[LOAN_CLASSES]; /* small loans that were given back */
    uint8_t small_count[LOAN_CLASSES];
    size_t small_bytes; /* heads included */
};

assay_arena *assay_arena_new(size_t ceiling)
{
    assay_arena *arena = assay_alloc_zeroed(1, sizeof *arena);
    if (!arena)
        return NULL;
    arena->ceiling = ceiling;
    arena->grow = FIRST_BLOCK;
    return arena;
}

static void free_list(arena_block *block)
{
    while (block) {
        arena_block *next = block->next;
        free(block);
        block = next;
    }
}

void assay_arena_free(assay_arena *arena)
{
    if (!arena)
        return;
    free_list(arena->blocks);
    free_list(arena->loans);
    free(arena->kept);
    for (size_t i = 0; i < LOAN_CLASSES; i++)
        free_list(arena->small[i]);
    free(arena);
}

static uint8_t *bytes_of(arena_block *block)
{
    return (uint8_t *)block + HEAD;
}

/* Rounds up to the alignment; 0 counts as 1, so that every pointer is one of its own. False when that overflows. */
static bool round_up(size_t size, size_t *out)
{
    if (size > SIZE_MAX - HEAD - ALIGNMENT)
        return false;
    *out = (size ? size + ALIGNMENT - 1 : ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    return true;
}

/* A block with room for `size` bytes; NULL beyond the ceiling or without memory. `kept` is reused only for exactly
 * its size: cutting a larger one up would make what fits depend on earlier steps. */
static arena_block *new_block(assay_arena *arena, size_t size)
{
    size_t room = arena->ceiling - arena->held;
    if (size + HEAD > room)
        return NULL;
    arena_block *block = arena->kept;
    if (block && block->size == size) {
        arena->kept = NULL;
    } else {
        if (block && block->size + HEAD > room - (size + HEAD)) { /* both would be beyond the ceiling */
            free(block);
            arena->kept = NULL;
        }
        block = assay_alloc(size + HEAD);
        assay_heap_want_large(block, size + HEAD);
    }
    if (!block)
        return NULL;
    *block = (arena_block){.size = size};
    arena->held += size + HEAD;
    return block;
}

/* Makes a block for `size` bytes the first, unless what the present first one has left is worth more. */
static arena_block *add_block(assay_arena *arena, size_t size)
{
    size_t room = arena->ceiling - arena->held, most = arena->ceiling / BLOCKS_OF_CEILING, wish = arena->grow;
    most = most > FIRST_BLOCK ? most : FIRST_BLOCK;
    wish = wish < most ? wish : most;
    wish = wish < room ? wish : room;
    wish = wish / ALIGNMENT * ALIGNMENT;
    bool own = size > OWN_BLOCK_LEAST && size > wish / OWN_BLOCK_OF;
    size_t usable = !own && wish > HEAD + size ? wish - HEAD : size;
    arena_block *block = new_block(arena, usable);
    if (!block)
        return NULL;
    if (!own && arena->grow <= SIZE_MAX / 2)
        arena->grow *= 2;
    arena_block *first = arena->blocks;
    /* Small pieces are taken from the first block only, so the one with more left has to be there. */
    if (first && first->size - first->used > block->size - size) {
        block->next = first->next;
        first->next = block;
    } else {
        block->next = first;
        arena->blocks = block;
    }
    return block;
}

void *assay_arena_take(assay_arena *arena, size_t size)
{
    size_t rounded;
    if (!round_up(size, &rounded))
        return NULL;
    arena_block *block = arena->blocks;
    if (!block || block->size - block->used < rounded)
        block = add_block(arena, rounded);
    if (!block)
        return NULL;
    void *bytes = bytes_of(block) + block->used;
    block->used += rounded;
    arena->used += rounded;
    return bytes;
}

void *assay_arena_take_zeroed(assay_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    void *taken = assay_arena_take(arena, bytes);
    return taken ? memset(taken, 0, bytes) : NULL;
}

/* A returned loan of that size; NULL when there is none, or no room for it. */
static arena_block *take_small(assay_arena *arena, size_t size)
{
    size_t class = size / ALIGNMENT;
    if (size > SMALL_LOAN || !arena->small[class] || size + HEAD > arena->ceiling - arena->held)
        return NULL;
    arena_block *loan = arena->small[class];
    arena->small[class] = loan->next;
    arena->small_count[class]--;
    arena->small_bytes -= size + HEAD;
    arena->held += size + HEAD;
    *loan = (arena_block){.size = size};
    return loan;
}

/* Keeps what was given back, or frees it. */
static void put_small(assay_arena *arena, arena_block *loan)
{
    size_t class = loan->size / ALIGNMENT;
    if (loan->size > SMALL_LOAN || arena->small_count[class] == KEPT_OF_CLASS) {
        free(loan);
        return;
    }
    loan->next = arena->small[class];
    arena->small[class] = loan;
    arena->small_count[class]++;
    arena->small_bytes += loan->size + HEAD;
}

void *assay_arena_borrow(assay_arena *arena, size_t size)
{
    size_t rounded;
    if (!round_up(size, &rounded))
        return NULL;
    arena_block *loan = take_small(arena, rounded);
    if (!loan)
        loan = new_block(arena, rounded);
    if (!loan)
        return NULL;
    loan->used = rounded;
    loan->next = arena->loans;
    if (loan->next)
        loan->next->before = loan;
    arena->loans = loan;
    arena->used += rounded;
    return bytes_of(loan);
}

/* A loan is found from its bytes, so returning it costs no search; bytes that are no loan of this arena are not
 * detected. */
void assay_arena_return(assay_arena *arena, void *borrowed)
{
    if (!borrowed)
        return;
    arena_block *loan = (void *)((uint8_t *)borrowed - HEAD);
    if (loan->before)
        loan->before->next = loan->next;
    else
        arena->loans = loan->next;
    if (loan->next)
        loan->next->before = loan->before;
    arena->used -= loan->size;
    arena->held -= loan->size + HEAD;
    put_small(arena, loan);
}

/* Small loans stay where they are: their bytes are outside `held` already. */
void assay_arena_clear(assay_arena *arena)
{
    arena_block *largest = arena->kept;
    if (largest && largest->size > arena->ceiling / KEPT_OF_CEILING)
        largest = NULL;
    for (arena_block *block = arena->blocks; block; block = block->next) {
        if (block->size <= arena->ceiling / KEPT_OF_CEILING && (!largest || block->size > largest->size))
            largest = block;
    }
    while (arena->blocks) {
        arena_block *next = arena->blocks->next;
        if (arena->blocks != largest)
            free(arena->blocks);
        arena->blocks = next;
    }
    free_list(arena->loans);
    if (largest != arena->kept)
        free(arena->kept);
    arena->kept = largest;
    arena->loans = NULL;
    arena->used = arena->held = 0;
    arena->grow = FIRST_BLOCK;
}

void assay_arena_clear_to(assay_arena *arena, size_t ceiling)
{
    arena->ceiling = ceiling;
    assay_arena_clear(arena);
}

size_t assay_arena_used(const assay_arena *arena)
{
    return arena->used;
}

size_t assay_arena_lendable(const assay_arena *arena)
{
    size_t room = arena->ceiling - arena->held;
    return room > HEAD ? (room - HEAD) / ALIGNMENT * ALIGNMENT : 0;
}

size_t assay_arena_idle(const assay_arena *arena)
{
    size_t held = arena->held + (arena->kept ? arena->kept->size + HEAD : 0) + arena->small_bytes;
    return held < arena->ceiling ? arena->ceiling - held : 0;
}

size_t assay_arena_left(const assay_arena *arena)
{
    size_t in_new = assay_arena_lendable(arena);
    size_t in_first = arena->blocks ? arena->blocks->size - arena->blocks->used : 0;
    return in_new > in_first ? in_new : in_first;
}

size_t assay_arena_piece_cost(size_t size)
{
    size_t rounded;
    if (!round_up(size, &rounded))
        return SIZE_MAX;
    return rounded > OWN_BLOCK_LEAST ? rounded + HEAD : rounded;
}

size_t assay_arena_ceiling_for(size_t cost)
{
    size_t waste = cost / WASTE_OF + 2 * FIRST_BLOCK;
    return cost < SIZE_MAX - waste ? cost + waste : SIZE_MAX;
}

size_t assay_arena_loan_cost(size_t size)
{
    size_t rounded;
    return round_up(size, &rounded) ? rounded + HEAD : SIZE_MAX;
}
