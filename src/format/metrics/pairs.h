/* pairs.h - names and numbers in a printed line, however the program put them: "loss: 2.5", "loss=2.5", "loss 2.5",
 * "{'loss': 2.5}", "100/600". */
#pragma once

#include "format/metrics/metrics.h"

enum { METRICS_PAIRS_MOST = 256, METRICS_PAIR_NAME_MOST = 200 };

typedef struct metrics_pair {
    const char *name; /* in the line, or in `texts`; never NULL, of no length where the number has no name */
    size_t length;
    double value;
    double rounded; /* of a step "1.2K" 50: it is no farther from the value; 0: it is the value */
    int64_t of;     /* of "100/600" 600; -1: there is none */
    bool set;       /* between name and number stands a colon or an equals sign, and not blanks alone */
    bool bracketed; /* the number stands in brackets behind its name: "Epoch [3/10]" */
    bool share;     /* a percent sign stands behind it */
    bool listed;    /* a comma stands behind it */
    bool round;     /* it is a rank of so many: "(0/4)", "[gpu01:0/2]" */
    int mode; /* what the words before say that lead to no number ("Val: loss 0.6", "| valid | loss 1.2"); 0: nothing */
} metrics_pair;

typedef struct metrics_pairs {
    metrics_pair list[METRICS_PAIRS_MOST];
    size_t count;
    uint64_t left; /* beyond so many */
    uint64_t
        losses_left; /* numbers behind the name of a loss that are none by their units, or are said in a sentence */
    bool object;     /* braces are in it: the line may be a whole row */
    bool data;       /* of a JSON object: a text or a list of it is a sample's */
    int mode;        /* of a JSON object: what a text of it says ("mode": "val"); 0: nothing */
    size_t bar; /* of the pairs, those that stand before a bar of progress, "50%|###"; 0: none, or there is no bar */
    metrics_pair numbered; /* a whole number without a name right before the first pair; its value < 0: none */
    char texts[16 << 10];  /* names that are put together */
    size_t used;           /* of these */
} metrics_pairs;

/* As of a line that has none. */
void metrics_pairs_clear(metrics_pairs *pairs);
/* Takes the pairs out of a line without colour codes. */
void metrics_pairs_take(metrics_pairs *pairs, const char *line, size_t length);
/* Takes those of a line that is one JSON object, names within names joined by a dot. False: it is none. */
bool metrics_pairs_take_json(metrics_pairs *pairs, assay_pull *pull, const char *line, size_t length);
/* Adds a number to the pairs, as far as there is room. */
void metrics_pairs_add(metrics_pairs *pairs, const metrics_pair *pair);
/* The number that a text is, and what it is out of ("1/30"; else -1). False: it is none. */
bool metrics_pair_number(const char *text, size_t length, double *value, int64_t *of);
/* Is the name that of a file of source, whose number is a line? */
bool metrics_pair_is_source(const metrics_pair *pair);
/* Of the words of a name, are all of the first list, or such as say which step or mode is meant, and one at least of the
 * first? */
bool metrics_pair_is_called(const metrics_pair *pair, const char *const *words, size_t count);
/* Do all words of the name say a mode? */
bool metrics_pair_is_mode(const metrics_pair *pair);
