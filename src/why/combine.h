/* combine.h - events with their ranks, nodes and times. Inside why only. */
#pragma once

#include "why/internal.h"

enum {
    WHY_CLOCKS = 5,       /* seconds that clocks of nodes may differ by */
    WHY_ALIGNED = 1,      /* the same of clocks that collectives were compared by */
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
    bool named;     /* the launcher names its rank as the first that failed */
    bool survived;  /* the training went on */
    bool old;       /* of an earlier attempt */
    bool explained; /* something else says why */
    bool inside;    /* its program caught it and wrote it out: no traceback of the whole program goes on from it */
    bool last;      /* its rank said hardly anything behind it */
    bool candidate, first; /* it may be a cause; nothing is certainly before it */
    bool told;
    bool words;   /* last words that no signature knows, which count where nothing else says why */
    bool late;    /* its launcher had begun to stop ranks before */
    bool aligned; /* how far its clock is ahead is known, and its times are without that */
    size_t group; /* of its rank */
} why_item;

/* ---- ranks.c ---- */

typedef struct why_member { /* an item, among those of its rank */
    int64_t rank;
    size_t item, end; /* its number; behind the last of the same rank and file */
} why_member;

typedef struct why_group { /* items of one rank; of -1, of those without one */
    int64_t rank;
    size_t first, count; /* in the list of members */
    size_t crashes;      /* by a signal of its own */
    bool killed;         /* by signal 9, before a launcher says that any other ended */
    bool ended;          /* with a code of its own, as the launcher says */
    bool stopped;        /* by its launcher, and not by itself */
    /* of those that ended something, as combine.c sums them up */
    bool speaks; /* one may be why its program aborted itself */
    int least;   /* level of a cause; INT_MAX */
} why_group;

typedef ASSAY_VEC(int64_t) why_numbers;

typedef struct why_ranks {
    why_member *member; /* by rank, then in the order of items */
    ASSAY_VEC(why_group) group;
    why_numbers finished, finished_files, finished_places; /* ranks, numbers in why->file, ranks of places; ascending */
} why_ranks;

typedef struct why_step_at {
    uint64_t at;
    int64_t most; /* the highest last step of all ranks that named theirs here or later */
} why_step_at;

typedef struct why_row {
    int64_t rank;
    const assay_log_rank *log;
} why_row;

typedef struct why_progress { /* of the ranks of an output */
    bool made;
    size_t file;
    uint64_t third_at;           /* where the third last of steps of one rank begins: the latest of all ranks */
    ASSAY_VEC(why_step_at) step; /* by place */
    ASSAY_VEC(why_row) row;      /* by rank */
} why_progress;

typedef struct why_scene {
    assay_why *why;
    ASSAY_VEC(why_item) item; /* in the order of files and lines */
    size_t ranks;             /* that the job has, as far as is known: numbers below it */
    double reference;         /* a time with its date, NaN */
    double last_step_time;    /* NaN */
    why_ranks by_rank;
    why_progress progress; /* of the output that was asked of last */
    bool starts;           /* something that an abort follows from is there, whoever it was; */
    int least;             /* and the level of any cause; INT_MAX */
} why_scene;

/* Fills it in; false without memory. Release it in any case. */
bool why_scene_make(why_scene *s);
void why_scene_release(why_scene *s);
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
/* Is one certainly before the other? */
bool why_is_before(const why_item *a, const why_item *b);
/* Do both say the same, numbers aside? */
bool why_is_alike(const why_item *a, const why_item *b);
/* Is it the end of a process by a signal that its own code raised, and no abort? */
bool why_is_crash_of_own(const assay_log_event *e);
/* How well an event says who failed by itself: 0 to 3. */
int why_how_well_named(const why_item *i);

/* ---- again.c ---- */

/* Marks what stands in an output before the end of another job of Slurm than the last one that ended there as old: that job's output
 * was appended to. False without memory. */
bool why_leave_earlier_jobs(why_scene *s);
/* Marks what torchrun says of processes of an attempt as old where another attempt followed on it, and torchrun did not give up. */
void why_leave_earlier_attempts(why_scene *s);
/* Of outputs that begin anew leaves what their last run said, where what an earlier one said may have ended it. *left: any did.
 * Of `several` ranks one may begin while another one ends: there the scheduler has to have ended the job between. False without
 * memory. */
bool why_leave_earlier_runs(assay_why *why, bool several, bool *left);

/* ---- absent.c: where no output says why. False without memory ---- */

/* Which ranks others waited for: those that waited for nobody, or at another collective. */
bool why_add_absent(why_scene *s);
/* The rank that all others lost, or that the launcher names; else the one that was silent first. */
bool why_add_unknown(why_scene *s);
/* Keeps the last lines of a rank, or of the file that ended first. */
bool why_keep_last_lines(why_scene *s);

/* ---- judge.c ---- */

/* How certain who and why are. False without memory. */
bool why_judge(why_scene *s, const why_item *cause);

/* Is it an exception of which the table knows no more than its name, and whose name does not say why it was raised? */
bool why_is_unread(const assay_log_event *e);

/* ---- ranks.c: what is asked of many events, looked up ---- */

/* Sorts items whose ranks are known. False without memory. */
bool why_ranks_make(why_scene *s);
void why_ranks_release(why_ranks *r);
/* Does the rank say itself, in any of its outputs, that it came to its end? */
bool why_has_finished(const why_scene *s, const why_item *i);
/* Was the exception, or what the rank wrote of an error, caught? One that ends a rank is its last one, and then the rank waits
 * for nobody, and does not crash by a signal of its own. */
bool why_dies_later(const why_scene *s, const why_item *i);
/* Prepares an output, unless it was the last one. False without memory. */
bool why_progress_take(const why_scene *s, size_t file, why_progress *p);
/* The highest last step that a rank names behind that place; -1. */
int64_t why_progress_behind(const why_progress *p, uint64_t at);
/* How far a rank came, or whoever is the only one; NULL. */
const assay_log_rank *why_progress_of(const why_progress *p, int64_t rank);
void why_progress_release(why_progress *p);

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
/* Adds the rank of a cause of which nothing says whose it is: the only one that does not say that it waited for others. False
 * without memory. */
bool why_add_silent(why_scene *s);
