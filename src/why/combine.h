/* combine.h - events with their ranks, nodes and times. Inside why only. */
#ifndef ASSAY_WHY_COMBINE_H
#define ASSAY_WHY_COMBINE_H

#include "why/internal.h"

enum {
    WHY_CLOCKS = 5,       /* seconds that clocks of nodes may differ by */
    WHY_GOES_ON = 60,     /* seconds behind which a step says that the training went on */
    WHY_END_LINES = 30,   /* the end of a file */
    WHY_LINES_OF_RANK = 8 /* that each rank may add to it */
};

typedef struct why_item {
    const assay_log_event *event;
    size_t file;      /* in why->file */
    int64_t rank;     /* -1 */
    const char *node; /* NULL */
    double from, to;  /* when it was; NaN: not known */
    int level;
    bool named;            /* the launcher names its rank as the first that failed */
    bool survived;         /* the training went on */
    bool old;              /* of an earlier attempt */
    bool explained;        /* something else says why */
    bool candidate, first; /* it may be a cause; nothing is certainly before it */
    bool told;
} why_item;

typedef struct why_scene {
    assay_why *why;
    ASSAY_VEC(why_item) item; /* in the order of files and lines */
    size_t ranks;             /* that the job has, as far as is known: numbers below it */
    double reference;         /* a time with its date, NaN */
    double last_step_time;    /* NaN */
} why_scene;

/* Fills it in; false without memory. */
bool why_scene_make(why_scene *s);
/* A time with its date; NaN. */
double why_normal_time(const why_scene *s, double time, uint8_t timed);
/* Is it something that somebody outside of the program decided? */
bool why_is_external(assay_ending ending);

#endif
