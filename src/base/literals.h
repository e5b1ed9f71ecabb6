/* literals.h - finds many fixed texts at once in bytes of any length, at about the speed of finding one.
 *
 * Each text has a window of its rarest bytes. Windows are cut so that a look at every `stride`-th place of the bytes
 * meets each text: a look is four bytes, their hash and one bit. Only where the bit is set the texts themselves are
 * compared. Where few texts are too short for a stride, their windows take a byte beside the text as well, whatever it is.
 * How many texts there are changes how often that is, hardly the speed of the rest. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { ASSAY_LITERAL_LEAST = 4 /* bytes of a text */ };

typedef struct assay_literals assay_literals;

/* Of so many terminated texts of ASSAY_LITERAL_LEAST bytes or more, which are copied. NULL without memory, or where a
 * text is shorter. Free with assay_literals_free(), which accepts NULL. */
assay_literals *assay_literals_new(const char *const *text, size_t count);
void assay_literals_free(assay_literals *l);

/* Bytes of the longest text. */
size_t assay_literals_longest(const assay_literals *l);

/* Where a text lies in bytes [at, size): the one whose window is met first, so that another may begin a little before
 * it; SIZE_MAX when none does. *number gets which it is, where it is not NULL. */
size_t assay_literals_find(const assay_literals *l, const char *bytes, size_t at, size_t size, size_t *number);

/* Calls for each text that lies in the bytes, at every place, in the order of their windows. */
typedef void assay_literal_visit(void *context, size_t number, size_t at);
void assay_literals_all(const assay_literals *l, const char *bytes, size_t size, assay_literal_visit *visit,
                        void *context);
