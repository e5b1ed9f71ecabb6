/* log_facts.h - what is said of a trial that was read from a log of metrics: which log, and what was met in it. */
#ifndef ASSAY_TRIAL_LOG_FACTS_H
#define ASSAY_TRIAL_LOG_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/pack.h>
#include <assay/status.h>

typedef struct assay_log_count {
    char *what; /* "rows", "superseded", ...; owned */
    uint64_t count;
} assay_log_count;

typedef struct assay_log_range { /* steps whose values a restart discarded */
    int64_t first, last;
    uint64_t values;
    char *worker; /* owned */
} assay_log_range;

typedef struct assay_log_facts {
    char *kind;    /* "hf", "tb", ...; NULL: the trial is none of a log; owned */
    char *also;    /* other kinds at the place, with commas between them; owned */
    char *unknown; /* the first line that was not understood, ""; owned */
    uint64_t files;
    double resolution;       /* a value stands for all numbers that are no farther from it; 0: for itself */
    bool running;            /* the logger says that the run goes on */
    bool workers_known;      /* the log says which workers there are */
    assay_log_count *counts; /* owned */
    size_t count, room;
    assay_log_range *ranges; /* owned */
    size_t range_count, range_room;
} assay_log_facts;

/* Frees what `log` holds. */
void assay_log_facts_release(assay_log_facts *log);
/* Adds a count, and a range; texts are copied. 0 or ASSAY_ENOMEM. */
int assay_log_facts_count(assay_log_facts *log, const char *what, uint64_t count);
int assay_log_facts_range(assay_log_facts *log, const char *worker, int64_t first, int64_t last, uint64_t values);
void assay_log_facts_pack(const assay_log_facts *log, assay_buf *out);
/* 0, ASSAY_EFORMAT or ASSAY_ENOMEM. */
int assay_log_facts_unpack(assay_cursor *in, assay_log_facts *out);

#endif
