/* nearest.h - the name that a misspelt word was most likely meant to be: "did you mean". */
#pragma once

#include <stddef.h>

enum {
    ASSAY_NEAREST_MOST = 120, /* longer words and names are not compared */
    ASSAY_NEAREST_ROOM = ASSAY_NEAREST_MOST + 32
};

typedef struct assay_nearest {
    const char *word; /* borrowed */
    size_t length;    /* of the word, in bytes */
    const char *best; /* borrowed; NULL: no name so far is near enough */
    size_t distance;  /* of the best: inserted, left out, changed or swapped letters */
    size_t rank;      /* the same, or 1 where the word is short for it */
} assay_nearest;

/* Starts with the word (borrowed, `length` bytes). */
void assay_nearest_begin(assay_nearest *nearest, const char *word, size_t length);

/* Offers a name (borrowed). It becomes the best one if the fewest inserted, left out, changed or swapped letters lead
 * to it, and these are at most a third of the word. The first two letters or more of a name count as one letter left
 * out ("warn"). Case does not count, nor does `-` for `_`. The first of equals wins. */
void assay_nearest_offer(assay_nearest *nearest, const char *name);

/* ` (did you mean "NAME"?)` to stand behind the word in a message, or "". The text lies in `room`. */
const char *assay_nearest_hint(const assay_nearest *nearest, char room[ASSAY_NEAREST_ROOM]);
