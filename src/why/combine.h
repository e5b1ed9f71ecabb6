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

/* Kinds by what others follow from: what has a smaller level may explain what has a larger one. */
enum {
    WHY_LEVEL_SYSTEM = 0,
    WHY_LEVEL_OWN = 2,
    WHY_LEVEL_PROGRAM = 4,
    WHY_LEVEL_OTHERS = 8,
    WHY_LEVEL_LAUNCHER = 10,
    WHY_LEVEL_WEAK = 5 /* to 7 */
};
int why_level_of(assay_ending ending);
/* Do both say the same, numbers aside? */
bool why_is_alike(const why_item *a, const why_item *b);
/* How well an event says who failed by itself: 0 to 3. */
int why_how_well_named(const why_item *i);

/* ---- links.c: false, and NULL, without memory ---- */

/* A new link at the end of the chain, without an event. */
why_link *why_new_link(assay_why *why);
bool why_add_rank(why_link *link, int64_t rank);
/* NULL and "" add nothing. */
bool why_add_node(why_link *link, const char *node);
/* Adds an event with its ranks and its node; the first one is the link's own. */
bool why_add_item(why_link *link, const why_item *i);
/* Ranks and nodes in their order, each once. */
void why_make_unique(why_link *link);
/* Begins the chain with the cause, and all that is the same. */
bool why_add_cause(why_scene *s, why_item *cause);
/* Adds all that is not told yet, equal things as one, in the order of time. */
bool why_add_consequences(why_scene *s);

#endif
