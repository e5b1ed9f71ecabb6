/* internal.h - what the files of this room share. Inside why only. */
#pragma once

#include "base/vec.h"
#include "trial/job_log.h"
#include "why/why.h"

typedef enum why_kind {
    WHY_OUTPUT,      /* a file of what a program said */
    WHY_SLURM,       /* a file of what Slurm says of the job */
    WHY_DUMPS,       /* a directory of dumps of flight recorders */
    WHY_CHECKPOINTS, /* a directory of checkpoints */
    WHY_METRICS,     /* a log of metrics: a file, or a directory */
    WHY_TRACES,
    WHY_RECORDS, /* a trial of recorded tensors */
    WHY_SYSTEM,  /* what a profiler recorded of hardware */
    WHY_KINDS
} why_kind;
const char *why_kind_name(why_kind kind);

typedef struct why_place {             /* something that was found */
    why_kind kind;                     /* there may be a million: what most do not have takes no room */
    int32_t rank, local_rank, attempt; /* that its name says; -1 */
    int32_t node_number;               /* likewise: "node_2" has 2; -1 */
    int32_t base;                      /* rank of its node's local rank 0, where names tell; -1 */
    int64_t job;                       /* that its name says; -1 */
    char *path;                        /* below the directory, "" for itself; owned */
    char *first;                       /* name of the first file of it there; owned; NULL: it is a file itself */
    char *node;                        /* owned; NULL: none is known */
    char *refused;                     /* why it could not be read; owned; NULL */
    uint64_t bytes;
} why_place;
enum { WHY_NODE_MOST = 63 /* bytes of a name */ };
/* "": none is known. */
static inline const char *why_place_node(const why_place *p)
{
    return p->node ? p->node : "";
}

/* What was passed over. */
typedef struct why_passed {
    uint64_t count;
    char *first; /* by its name; owned; NULL */
} why_passed;

typedef struct why_places {
    ASSAY_VEC(why_place) list; /* in natural order of their paths */
    ASSAY_VEC(char *) problem; /* what could not be listed; owned */
    uint64_t other_jobs;       /* outputs of other jobs, which are left out */
    uint64_t deep;             /* directories that lie too deep: they were not looked into */
    uint64_t beyond;           /* places that there was no room for */
    why_passed unknown;        /* files whose names are those of no source: they were not looked at */
    why_passed outside; /* links to directories or devices outside of the job's directory: they were not followed */
    int64_t job;        /* Slurm's number; -1 */
} why_places;

/* What Slurm says. */
typedef struct why_facts {
    char *node; /* names of nodes, each terminated; owned */
    size_t nodes;
    int64_t *first; /* rank of each node, and behind the last one how many there are; owned; NULL: not known */
    int64_t tasks;  /* -1 */
    bool block;     /* ranks are dealt out in blocks, as it says */
    bool assumed;   /* it says nothing of that, and Slurm's default is blocks */
    char state[32]; /* "TIMEOUT"; "" */
    char exit_code[16];
    char file[256]; /* that said the state */
    uint64_t line;  /* and where */
} why_facts;

/* What another source says of the time before the end. */
typedef struct why_note {
    why_kind kind;
    char *path, *text; /* of the file or directory; what was so; owned */
    uint64_t line;     /* of a file of text; 0: it has none */
    char *entry;       /* where else in it: "record 57", a tensor; owned; NULL */
    int64_t step;      /* -1 */
    double time;       /* seconds since 1970, UTC; NaN */
    bool wrong;        /* it is a fault, and the records say so without much doubt */
} why_note;

/* A row of the timeline over sources: one of the two. */
typedef struct why_entry {
    const struct why_link *link;
    const why_note *note;
} why_entry;

/* A cause, or what followed: events that are one. */
typedef struct why_link {
    const assay_log_event *event; /* the first of them */
    ASSAY_VEC(int64_t) rank;      /* ascending; empty: none is known */
    ASSAY_VEC(char *) node;       /* borrowed from events and facts, in byte order */
    uint64_t count;               /* events */
    bool derived;                 /* its ranks are those that the launcher names, and not said with it */
    double time;                  /* normalised; NaN */
} why_link;

typedef enum why_certainty { WHY_UNKNOWN, WHY_POSSIBLE, WHY_LIKELY, WHY_CERTAIN } why_certainty;

typedef struct why_clock {
    int64_t rank;
    double ahead;         /* seconds, of the clock of the first rank in the list */
    uint32_t collectives; /* of dumps that say so; 0: traces do */
} why_clock;

struct assay_why {
    char *directory;
    why_places places;
    why_facts facts;
    ASSAY_VEC(assay_log_file) file; /* by number of places */
    uint64_t outputs, output_bytes, lines, ranks_seen;
    uint64_t left_out;         /* events that there was no room for */
    ASSAY_VEC(why_link) chain; /* the cause first where there is one */
    bool failed, has_cause;
    const assay_log_event *forgiven; /* at the end of an output, and counts for none; NULL: there is none */
    char *earlier; /* what ended an earlier run in an output, and where that stands; owned; NULL: there is none */
    why_certainty certainty;
    bool by_words;            /* nothing says that the job failed but last words that no signature knows */
    ASSAY_VEC(char *) reason; /* why it is so certain; owned */
    int64_t step;             /* of the cause; -1 */
    int64_t last_step;        /* that any output names */
    char *unknown;            /* the last lines of who stopped first, where nothing explains its end; owned */
    int64_t unknown_rank;
    uint32_t unknown_file;
    /* from other sources; texts owned, NULL: none */
    assay_log_event state_event; /* what Slurm says of the end, as an event of the file that says it */
    char *hang;                  /* who hung, one sentence */
    char *hang_file;             /* the dump that says it */
    assay_log_event
        hang_event; /* what dumps say, as an event whose line is the last entry of a dump; its texts are `hang` */
    ASSAY_VEC(int64_t) hang_ranks;
    char *resume, *resume_state, *verify;
    ASSAY_VEC(why_note) note;   /* in the order of places, of one place as they are found */
    ASSAY_VEC(why_entry) line;  /* the timeline: the chain in its order, and notes between */
    ASSAY_VEC(char *) verdict;  /* what the records say, each */
    ASSAY_VEC(char *) missing;  /* what was not there and would have helped */
    ASSAY_VEC(char *) problem;  /* what could not be read */
    ASSAY_VEC(why_clock) clock; /* as traces have it, else as dumps do, by rank */
    bool losses;
    char *answer;
};

/* find.c: on one rank. */
int why_find(const char *directory, const char *job, why_places *out, assay_error *err);
void why_places_release(why_places *places);
void why_places_pack(const why_places *places, assay_buf *out);
int why_places_unpack(assay_cursor *in, why_places *out);

/* May outputs of a job lie in a directory, or in one of its own that launchers name so? One listing. */
bool why_may_have_outputs(const char *directory);

/* facts.c */
int why_facts_read(assay_store *store, const why_places *places, why_facts *out);
void why_facts_release(why_facts *facts);
/* The node of a rank; NULL. */
const char *why_node_of(const why_facts *facts, int64_t rank);

/* events.c: collective; rank 0 gets all files, with as many events as so much memory has room for. */
int why_read_outputs(assay_comm *comm, const char *directory, const why_places *places, size_t memory, assay_why *why,
                     assay_error *err);

/* other.c: collective. */
int why_ask_others(assay_comm *comm, const why_places *places, const assay_why_options *options, const char *directory,
                   assay_why *why, assay_error *err);

/* combine.c: on rank 0. 0 or ASSAY_ENOMEM. */
int why_combine(assay_why *why);

/* names.c: on rank 0, when outputs were read. Sets ranks and nodes of places that their names tell together. False without
 * memory. */
bool why_name_writers(assay_why *why);

/* Whose lines a row of an output is: of its own rank, else of that of the output; -1. */
int64_t why_rank_of_row(const why_place *place, const assay_log_rank *row);

/* scene.c: whose clock is furthest from the others', where it matters; NULL. */
const why_clock *why_furthest_clock(const assay_why *why);

/* timeline.c: on rank 0. Sets the timeline of a job that failed. False without memory. */
bool why_make_timeline(assay_why *why);
/* A note; it owns copies. False without memory. */
bool why_add_note(assay_why *why, why_note note);
/* The first fault that a source of a kind tells of; NULL. */
const why_note *why_first_fault(const assay_why *why, why_kind kind);

/* answer.c */
int why_put_answer(assay_why *why);
/* "rank 3 on n0123", "ranks 16 to 23 on n0123", "node n0123", "the job" */
void why_put_subject(const why_link *link, assay_buf *out);
/* " ran out of GPU memory", as of one or of several */
void why_put_deed(const why_link *link, assay_buf *out);
/* "2026-11-27 03:12:07", "03:12:07"; false: not known */
bool why_put_time(const assay_log_event *event, assay_buf *out);

/* Adds a text in printf form to a list of texts. False without memory. */
typedef ASSAY_VEC(char *) why_texts;
bool why_add_text(void *texts, const char *format, ...) __attribute__((format(printf, 2, 3)));
