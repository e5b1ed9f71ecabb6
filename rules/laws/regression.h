/* regression.h - a law whose factors nobody recorded: rates, decays, momenta. At one step they are the same for all
 * parameters, so that they are inferred from those, and a parameter that they do not fit is the odd one. */
#pragma once

#include "laws/law.h"

enum { REGRESSION_TERMS = 4, REGRESSION_CELLS = 256, REGRESSION_DECAY = 1 /* term of updates */ };

/* target = sum of factor * term, cell by cell, for one tensor. */
typedef struct regression_case {
    const assay_tensor_view *item; /* that is named */
    uint64_t elements;
    uint32_t cells;
    double target[REGRESSION_CELLS];
    double term[REGRESSION_TERMS][REGRESSION_CELLS];
    double squares[REGRESSION_TERMS]
                  [REGRESSION_CELLS];  /* of the elements of each term; regression_add() takes the roots */
    double rounding[REGRESSION_CELLS]; /* how far the target may be off by its own type, whatever the factors are */
    bool vague[REGRESSION_CELLS];      /* a term is not known well there: it says nothing of the factors */
    double noise;                      /* rounding of each term, relative to it */
    bool skips;                        /* the term that not all have, as found: of this tensor it is not there */
    double normal[REGRESSION_TERMS + 1][REGRESSION_TERMS + 1];
} regression_case;

/* A case of an item with so many elements in so many cells, all 0. */
void regression_begin(regression_case *c, const assay_tensor_view *item, uint64_t elements, uint32_t cells);
/* Finds the factors of all cases of one step and worker, leaving out those that fit least, and adds a row for each
 * case. Of updates, decay is what not all have. Where most cases do not fit, something else was done at that step than
 * the law says, whatever it is: their rows have LAW_ROWS 0, which says that none of them is the odd one. Of a weight that is
 * written anew as a whole it is REGRESSION_ANEW, else 1. `clear`, if not NULL: are there cases, all of which fit by half
 * of what they may be off? */
enum { REGRESSION_ANEW = 2 };
int regression_add(const law_step *step, int law, int variant, regression_case *cases, size_t count, int terms,
                   bool *clear);
