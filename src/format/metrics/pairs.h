/* pairs.h - names and numbers in a printed line, however the program put them: "loss: 2.5", "loss=2.5", "loss 2.5",
 * "{'loss': 2.5}", "100/600". */
#pragma once

#include "format/metrics/metrics.h"

enum { METRICS_PAIRS_MOST = 256, METRICS_PAIR_NAME_MOST = 200 };

typedef struct metrics_pair {
    const char *name; /* in the line, or in `texts`; never NULL, of no length where the number has no name */
    size_t length;
    double value;
    int64_t of;     /* of "100/600" 600; -1: there is none */
    bool set;       /* between name and number stands a colon or an equals sign, and not blanks alone */
    bool bracketed; /* the number stands in brackets behind its name: "Epoch [3/10]" */
} metrics_pair;

typedef struct metrics_pairs {
    metrics_pair list[METRICS_PAIRS_MOST];
    size_t count;
    uint64_t left;    /* beyond so many */
    bool object;      /* braces are in it: the line may be a whole row */
    char texts[2048]; /* names that are put together */
    size_t used;      /* of these */
} metrics_pairs;

/* Takes the pairs out of a line without colour codes. */
void metrics_pairs_take(metrics_pairs *pairs, const char *line, size_t length);
/* Of the words of a name, are all of the first list, or such as say which step or mode is meant, and one at least of the
 * first? */
bool metrics_pair_is_called(const metrics_pair *pair, const char *const *words, size_t count);
/* Do all words of the name say a mode? */
bool metrics_pair_is_mode(const metrics_pair *pair);
