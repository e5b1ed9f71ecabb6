/* evidence.h - what proves a printed file to be the log of a training, and how its lines are numbered: by steps that they say,
 * by the numbers in front of them, or by their order. */
#pragma once

#include "format/metrics/said.h"

/* What proves a file to be a log, and how its lines are numbered. */
typedef struct metrics_proof {
    enum { NO_PROOF, BY_STEP, BY_NUMBER, BY_ORDER } by;
    uint64_t counted; /* the figure whose lines are counted; 0: lines have steps */
    bool epochs;      /* of objects: the epoch is the step */
    bool nested;      /* the iteration is an epoch */
    bool of_epoch;    /* "Batch 3/100": the batch 100 of the epoch 3 */
    bool document;    /* the file is one JSON value, or what a disk has kept of one */
} metrics_proof;

/* A figure that comes again and again. */
typedef struct metrics_recurring {
    uint64_t figure; /* hash of its name */
    double value;    /* that it had last */
    unsigned times, values;
} metrics_recurring;

/* What the lines so far come to. */
typedef struct metrics_evidence {
    struct {
        int64_t last;
        int64_t first;
        unsigned lines, rises;
        bool falls, modes; /* a figure said of what it is: "train-rmse" */
    } in_front;
    struct { /* lines whose step is the epoch alone, and losses without any */
        metrics_recurring in_epoch, without;
        int64_t epoch;
        unsigned once;        /* epochs that were over after one line */
        bool again, any_step; /* a line had a step that is no epoch */
        bool episodes;        /* they were those of games */
    } alone;
    struct {             /* epochs of objects without another step */
        int64_t last[2]; /* of rows of training, and of the others */
        unsigned rows[2], falls;
        bool broken; /* one is not whole, or comes again */
    } rows_of;
    struct { /* lines with an iteration and a step of so many, as in "iteration:1 step:100/1687" */
        int64_t outer, inner;
        unsigned lines, within; /* within: the iteration stood still while the step rose */
        bool broken;            /* both rose */
    } both;
    struct { /* lines with a batch of so many */
        int64_t value, of;
        unsigned lines, within; /* within: what it is of rose alone */
        bool broken;            /* the batch rose alone */
    } batch;
} metrics_evidence;

enum {
    METRICS_ROWS_LOOKED_AT = 100, /* of a file of JSON objects: others have data in them */
    METRICS_FALLS_MOST = 3        /* of steps in so many: a training goes on from a checkpoint now and then */
};

/* As of a file without lines. */
void metrics_evidence_begin(metrics_evidence *e);
/* Notes a line that has these pairs. `aside`: it is none of training; `item`: it is one of a list. */
void metrics_evidence_note(metrics_evidence *e, const metrics_pairs *pairs, const metrics_said *s, bool aside,
                           bool item);
/* Is it decided how lines are numbered? Numbers in front of lines decide it by themselves; else the file has to be
 * `proven` to be a log. */
bool metrics_evidence_decides(const metrics_evidence *e, bool proven);
/* What it all comes to. `proven`: a line came that nothing but a training prints; `json`: lines are objects, whose steps
 * fell so often. */
metrics_proof metrics_evidence_proof(const metrics_evidence *e, bool proven, bool json, unsigned falls);
/* Do the objects have epochs that number them? */
bool metrics_evidence_has_epochs(const metrics_evidence *e);

/* Is the line one of a list: "1. lr=0.1 loss=2.5", "0: final loss = 2", "[3] ..."? */
bool metrics_is_item(const char *line, size_t length);
/* The first loss of a line, else its first figure, as a hash of its name; 0: it has none. */
uint64_t metrics_figure_of(const metrics_pairs *pairs);
/* "train-rmse", "learn": does the figure say that it was measured on what is learned? */
bool metrics_says_train(const metrics_pair *pair);
/* "valid_0's l2": does the figure say what it was measured on? */
bool metrics_names_mode(const metrics_pair *pair);
