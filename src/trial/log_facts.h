/* log_facts.h - what is said of a trial that was read from a log of metrics: which log, and what was met in it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/pack.h>
#include <assay/status.h>

typedef struct assay_log_count {
    char *what; /* "rows", "superseded", ...; owned */
    uint64_t count;
} assay_log_count;

typedef struct assay_log_counts {
    assay_log_count *list; /* owned */
    size_t count, room;
} assay_log_counts;

typedef struct assay_log_range { /* steps whose values a restart discarded */
    int64_t first, last;
    uint64_t values;
    char *worker;      /* owned texts */
    char *bad, *loss;  /* tensors: a loss that was not finite, and one of TRAIN; "": there was none */
    int64_t bad_step;  /* the first such step */
    int64_t loss_step; /* the last step of a loss of TRAIN, and its value there */
    double last_loss;
} assay_log_range;

typedef struct assay_log_names { /* owned texts, in byte order unless said otherwise */
    char **list;
    size_t count, room;
} assay_log_names;

typedef struct assay_log_bad { /* where a series was first NaN or infinite */
    int64_t step;
    int mode;
    char *worker, *tensor; /* owned */
} assay_log_bad;

/* What the log is judged on: names are those of tensors. */
typedef struct assay_log_judged {
    assay_log_names objective; /* losses of TRAIN that have to fall */
    bool whole;                /* each of them is all that is minimised; else they are parts of a sum */
    bool rewarded;             /* a reward is logged beside them: no loss has to fall */
    assay_log_names pairs;     /* a loss of TRAIN, its fellow of EVAL, the next loss of TRAIN, ... */
    assay_log_names never;     /* losses of which no value is finite, of several */
    assay_log_names others;    /* series that are no losses, or never finite, and not finite somewhere */
    assay_log_bad *bad;        /* losses that became NaN or infinite, by step, mode, worker and name; owned */
    size_t bad_count, bad_room;
    /* Where no loss is logged, some of what is: first what may be a loss by another name, then in byte order. */
    assay_log_names instead;
    uint64_t tags; /* how many tags there are then, and how many of these may be a loss */
    uint64_t maybe;
    uint64_t values; /* of the objective, over all workers */
    uint64_t losses; /* series of TRAIN and EVAL, those of several workers once */
    uint64_t steps;  /* at which one of these has a value */
} assay_log_judged;

typedef struct assay_log_facts {
    char *kind;    /* "hf", "tb", ...; NULL: the trial is none of a log; owned */
    char *also;    /* other kinds at the place, with commas between them; owned */
    char *unknown; /* the first line that was not understood, ""; owned */
    uint64_t files;
    double resolution;  /* a value stands for all numbers that are no farther from it; 0: for itself */
    bool output;        /* lines that a program printed are in it: they may say how its job ended */
    bool running;       /* the logger says that the run goes on */
    bool workers_known; /* the log says which workers there are */
    assay_log_counts counts;
    assay_log_range *ranges; /* owned */
    size_t range_count, range_room;
    assay_log_judged judged;
    /* What belongs to no trial of a place with several runs; said of the first one. */
    assay_log_counts around;
    assay_log_names logged_nothing; /* runs without a value */
    assay_log_names never_started;  /* runs whose files are empty */
} assay_log_facts;

/* Frees what `log` holds. */
void assay_log_facts_release(assay_log_facts *log);
/* How often the log had what is called so ("bad rows"); 0 where it had none. */
uint64_t assay_log_facts_count(const assay_log_facts *log, const char *what);
/* Adds a count, and a range; texts are copied. 0 or ASSAY_ENOMEM. */
int assay_log_counts_add(assay_log_counts *counts, const char *what, uint64_t count);
int assay_log_facts_range(assay_log_facts *log, const assay_log_range *range);
/* Frees the names; one that is all 0 may be released. Then as bytes for other ranks, and back. */
void assay_log_names_release(assay_log_names *names);
void assay_log_names_pack(const assay_log_names *names, assay_buf *out);
int assay_log_names_unpack(assay_cursor *in, assay_log_names *out); /* 0, ASSAY_EFORMAT or ASSAY_ENOMEM */
/* Adds a copy of so many bytes, and a place. 0 or ASSAY_ENOMEM. */
int assay_log_names_add(assay_log_names *names, const char *text, size_t length);
int assay_log_judged_bad(assay_log_judged *judged, int64_t step, int mode, const char *worker, const char *tensor);
void assay_log_facts_pack(const assay_log_facts *log, assay_buf *out);
/* 0, ASSAY_EFORMAT or ASSAY_ENOMEM. */
int assay_log_facts_unpack(assay_cursor *in, assay_log_facts *out);
