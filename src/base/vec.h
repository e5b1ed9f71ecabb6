/* vec.h - arrays that grow: a list, how many items are in use, how many there is room for.
 *
 * The list is owned and freed with free(); it moves when it grows, so keep numbers of items, not pointers to them.
 * Sizes are checked for overflow, and memory is asked for through the fault counter (base/fault.h). Three members of a
 * struct are a list if they are called so, or use ASSAY_VEC:
 *
 *     ASSAY_VEC(assay_text) words = {0};
 *     assay_text *word = ASSAY_VEC_ADD(&words);
 *     if (!word)
 *         return ASSAY_ENOMEM;
 *     *word = text;
 *     free(words.list); */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define ASSAY_VEC(type)                                                                                                \
    struct {                                                                                                           \
        type *list;                                                                                                    \
        size_t count, room;                                                                                            \
    }

/* One more item at the end, zeroed: its address, NULL without memory (the list is as it was). */
#define ASSAY_VEC_ADD(v) assay_vec_add(&(v)->list, &(v)->count, &(v)->room, sizeof *(v)->list)
/* Makes room for `more` items behind those in use. False without memory: the list is as it was. */
#define ASSAY_VEC_RESERVE(v, more)                                                                                     \
    assay_vec_reserve(&(v)->list, &(v)->room, assay_vec_sum((v)->count, more), sizeof *(v)->list)
/* Gives back the room that is not used, of a list that stays as it is. */
#define ASSAY_VEC_FIT(v) assay_vec_fit(&(v)->list, (v)->count, &(v)->room, sizeof *(v)->list)

/* The calls behind the macros, for members of other names: `list` is the address of the pointer to the items,
 * `size` the bytes of an item. Room grows to twice what it was at least, so that adding takes constant time on average.
 * assay_vec_reserve() makes room for `count` items in all; what is new is not zeroed. */
void *assay_vec_add(void *list, size_t *count, size_t *room, size_t size);
bool assay_vec_reserve(void *list, size_t *room, size_t count, size_t size);
void assay_vec_fit(void *list, size_t count, size_t *room, size_t size);

/* The sum of two counts, SIZE_MAX where it is larger than that: then there is no memory for it either. */
static inline size_t assay_vec_sum(size_t a, size_t b)
{
    return a > (size_t)-1 - b ? (size_t)-1 : a + b;
}
