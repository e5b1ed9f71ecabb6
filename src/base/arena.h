/* arena.h - memory of one step: taken piece by piece, given back all at once, with a ceiling. */
#pragma once

#include <stddef.h>

typedef struct assay_arena assay_arena;

/* An arena that never holds more than `ceiling` bytes; NULL without memory. Free with assay_arena_free(). */
assay_arena *assay_arena_new(size_t ceiling);
void assay_arena_free(assay_arena *arena);
/* `size` bytes aligned for any type, zeroed on request; NULL beyond the ceiling or without memory. */
void *assay_arena_take(assay_arena *arena, size_t size);
void *assay_arena_take_zeroed(assay_arena *arena, size_t count, size_t size);
/* `size` bytes as above that can be given back before the rest with assay_arena_return(); those that are not go back
 * with assay_arena_clear(). They count towards the ceiling. NULL beyond the ceiling or without memory. */
void *assay_arena_borrow(assay_arena *arena, size_t size);
/* Gives back what assay_arena_borrow() gave, once; NULL is ignored. */
void assay_arena_return(assay_arena *arena, void *borrowed);
/* Gives everything back; the largest block is kept for the next step, unless it is over a quarter of the ceiling. What
 * can be taken then does not depend on what was taken before. */
void assay_arena_clear(assay_arena *arena);
/* As assay_arena_clear(), and from now on it has another ceiling. */
void assay_arena_clear_to(assay_arena *arena, size_t ceiling);
/* Bytes in use, and the most that could still be taken at once. */
size_t assay_arena_used(const assay_arena *arena);
size_t assay_arena_left(const assay_arena *arena);
/* Bytes below the ceiling that it does not hold, the block that is kept included: another one may hold these
 * meanwhile. */
size_t assay_arena_idle(const assay_arena *arena);
/* The largest size that assay_arena_borrow() can give now; the rest of a block is never lent. */
size_t assay_arena_lendable(const assay_arena *arena);

/* What a piece or a loan costs. With a ceiling of assay_arena_ceiling_for(n) there is room for pieces and loans that
 * together cost n bytes, whatever their sizes and order: that is 3 % more, for what blocks may waste. */
size_t assay_arena_piece_cost(size_t size);
size_t assay_arena_loan_cost(size_t size);
size_t assay_arena_ceiling_for(size_t cost);
