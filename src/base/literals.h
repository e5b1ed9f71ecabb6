/* literals.h - finds many fixed texts at once in bytes of any length, at about the speed of finding one.
 *
 * Each text has a window of its rarest bytes. Windows are cut so that a look at every `stride`-th place of the bytes
 * meets each text: a look is four bytes, their hash and one bit. Only where the bit is set the texts themselves are
 * compared. Where few texts are too short for a stride, their windows take a byte beside the text as well, whatever it is.
 * How many texts there are changes how often that is, hardly the speed of the rest. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ASSAY_LITERAL_LEAST = 4 /* bytes of a text */ };

typedef struct assay_literals assay_literals;

/* Of so many terminated texts of ASSAY_LITERAL_LEAST bytes or more, which are copied. NULL without memory, or where a
 * text is shorter. Free with assay_literals_free(), which accepts NULL. */
assay_literals *assay_literals_new(const char *const *text, size_t count);
void assay_literals_free(assay_literals *l);

/* A search in bytes [low, size), which begins with .low and .place at `low`, and all else 0. */
typedef struct assay_literal_search {
    size_t number, at; /* the text that was found, and where it begins */
    size_t low, place; /* where it looks next */
    uint32_t window;
    bool entered; /* some windows of the place were looked at */
} assay_literal_search;

/* Finds the next text; false: there is none. Each is found once at each place where it lies, in the order of the windows
 * that are met, so that another one may begin a little before it. Give the same bytes all the time. */
bool assay_literals_next(const assay_literals *l, const char *bytes, size_t size, assay_literal_search *s);
