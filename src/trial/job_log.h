/* job_log.h - what programs said: lines of standard output and error of a job's ranks become events (docs/why.md).
 *
 * A signature says what a line means: a fixed text that it has, and an expression that takes numbers out of it
 * (docs/signatures/). How it works:
 *   1. A file is read in blocks, packed by gzip or not. All fixed texts are looked for at once (base/literals.h); only
 *      lines that have one are looked at by themselves.
 *   2. Such a line loses its escapes for terminals, and what stands in front of it says rank, node and time.
 *   3. A traceback of Python, and torchrun's root cause, go over several lines of one rank; they become one event.
 *   4. Of equal events of a rank in a file the first one is kept, and how many there were. Where there are more than room
 *      is for, the first and the last ones are kept: what began it, and what ended it.
 *   5. A large file is read in pieces, which may be read by different ranks: cut at the end of a line behind each 64 MiB,
 *      and begun a little before, so that tracebacks that go over the cut are whole. Where a cut is does not depend on how
 *      many ranks there are.
 * A file takes the same memory whatever its length is, and the length of its lines. */
#pragma once

#include "base/vec.h"
#include "store/storage.h"

#define ASSAY_ENDING_LIST(X)                                                                                           \
    X(gpu_memory)                                                                                                      \
    X(host_memory)                                                                                                     \
    X(gpu_fault)                                                                                                       \
    X(gpu_code)                                                                                                        \
    X(network)                                                                                                         \
    X(collective_timeout)                                                                                              \
    X(launcher)                                                                                                        \
    X(exception)                                                                                                       \
    X(crash)                                                                                                           \
    X(shared_memory)                                                                                                   \
    X(limits)                                                                                                          \
    X(arguments)                                                                                                       \
    X(worker_killed)                                                                                                   \
    X(disk)                                                                                                            \
    X(missing_file)                                                                                                    \
    X(permission)                                                                                                      \
    X(time_limit)                                                                                                      \
    X(preempted)                                                                                                       \
    X(node_failure)                                                                                                    \
    X(cancelled)                                                                                                       \
    X(nan_stop)                                                                                                        \
    X(checkpoint_load)                                                                                                 \
    X(data)                                                                                                            \
    X(port)                                                                                                            \
    X(rendezvous)                                                                                                      \
    X(import)                                                                                                          \
    X(version)                                                                                                         \
    X(device_assert)                                                                                                   \
    X(requeue)                                                                                                         \
    X(signal)                                                                                                          \
    X(noise)

typedef enum assay_ending { /* what kind of ending a signature speaks of */
#define ASSAY_ENDING_ENUM(name) ASSAY_ENDING_##name,
                            ASSAY_ENDING_LIST(ASSAY_ENDING_ENUM)
#undef ASSAY_ENDING_ENUM
                                ASSAY_ENDINGS
} assay_ending;
const char *assay_ending_name(assay_ending ending); /* "gpu_memory" */

typedef enum assay_log_role {
    ASSAY_LOG_CAUSE,       /* it ends a rank by itself */
    ASSAY_LOG_CONSEQUENCE, /* something else has happened before */
    ASSAY_LOG_EITHER,
    ASSAY_LOG_NOISE /* it looks like an error and is none */
} assay_log_role;

typedef enum assay_log_scope { ASSAY_LOG_RANK, ASSAY_LOG_NODE, ASSAY_LOG_JOB } assay_log_scope;

typedef struct assay_signature {
    const char *id; /* the name of its page in docs/signatures, underscores become hyphens */
    assay_ending ending;
    assay_log_role role;
    assay_log_scope scope;
    const char *literal, *expression, *sentence;
} assay_signature;
const assay_signature *assay_signature_of(size_t number);
/* Does it say how a pod of Kubernetes ended? The node of its events is the pod's name. */
bool assay_signature_is_of_pod(uint32_t signature);

/* Events without a signature of their own have these numbers. */
enum {
    ASSAY_SIGNATURE_EXCEPTION = 1 << 20, /* an exception of Python that no signature knows */
    ASSAY_SIGNATURE_ROOT_CAUSE, /* torchrun's "Root Cause (first observed failure)", where it is before all others */
    ASSAY_SIGNATURE_HANG,       /* who hung, out of dumps: made by who asks them */
    ASSAY_SIGNATURE_STATE,      /* the state of a job, as its scheduler says: likewise */
    ASSAY_SIGNATURE_LISTED,     /* one of its "Failures", or a root cause that is no earlier than others */
    ASSAY_SIGNATURE_WORDS       /* last words of a rank that speak of an error no signature knows */
};

/* What is known of a time: nothing; seconds since midnight; seconds since 1970 as if the year were 2000; since 1970. */
typedef enum assay_log_timed {
    ASSAY_LOG_UNTIMED,
    ASSAY_LOG_CLOCK,
    ASSAY_LOG_YEARLESS,
    ASSAY_LOG_DATED
} assay_log_timed;

typedef struct assay_log_event {
    uint32_t signature;
    assay_ending ending;
    assay_log_role role;
    assay_log_scope scope;
    bool chained;      /* its traceback follows from the one above, and is no new one */
    bool in_traceback; /* it is the last line of one */
    bool ignored;      /* it came up while Python tidied up, and ended nothing */
    bool shown;        /* it stands in a text that a model made, as far as the lines before it say */
    bool guessed;      /* its kind is that of words of its class or its message: no signature knows it */
    bool tail;         /* what stands behind it are errors, stacks, and few lines more */
    bool inside;       /* its traceback does not begin where a process or a thread does: who caught it wrote it out */
    uint32_t file;
    uint64_t line, at;           /* where it stands: the line's number from 1, and the byte it begins at */
    int64_t rank;                /* that wrote it, or that it names; -1: not said */
    int64_t local_rank;          /* on its node; -1 */
    double time;                 /* by the clock that wrote it, whose zone is not known; see timed */
    uint8_t timed;               /* assay_log_timed */
    bool near;                   /* the time is that of the line with a time before it */
    int64_t step;                /* that the same rank, or the file, named last before it; -1 */
    int64_t code;                /* exit code, or the number of an error; -1 */
    int64_t sequence;            /* of the collective it speaks of; -1 */
    int64_t job;                 /* Slurm's number of the job that it says ended; 0: none */
    uint64_t count;              /* equal ones of this rank in the file */
    uint64_t last_at, last_line; /* where the last of them is */
    int64_t of_ranks;            /* how many there are, as it says; 0 */
    uint64_t kind;               /* of an exception: a hash of its class, and of how it was raised; 0 */
    char node[64];               /* that wrote it, or that it names; "": not said */
    char ranks[96];              /* a list of ranks that it names, "0-3,5"; "": none, or as rank */
    char *text;                  /* the sentence, without subject; secrets masked; owned */
    char *quote;                 /* the line; likewise */
    char *place;                 /* "train.py:120": where an exception was raised; NULL; owned */
} assay_log_event;

enum { ASSAY_LOG_TAIL = 12 };

typedef struct assay_log_rank { /* of a file: how far a rank came in it */
    int64_t rank;               /* -1: lines that name none */
    uint64_t lines;             /* 0: not counted, it is the file's only one */
    uint64_t last_at;           /* where its last line begins */
    uint64_t last_line;
    double last_time;  /* the last one in the end of the file */
    int64_t last_step; /* -1 */
    uint64_t last_step_at;
    uint64_t step_at[3]; /* where the last lines begin that name another step than the one before; the last one first */
    double step_time;    /* of the line with the last step, or of the one with a time before it */
    uint64_t beat_at;    /* where the last of several lines that differ in numbers only is; 0: there are none */
    uint8_t timed, step_timed;
    bool finished; /* among its last lines one says that it came to its end */
} assay_log_rank;

typedef struct assay_log_file { /* or a piece of one: numbers of lines count from its beginning */
    uint32_t file, piece;
    uint64_t bytes, lines;
    bool cut;          /* it is damaged, or could not be read to its end */
    char *problem;     /* owned; NULL */
    uint64_t left_out; /* events that there was no room for */
    ASSAY_VEC(assay_log_event) event;
    ASSAY_VEC(assay_log_rank) rank;
} assay_log_file;

typedef struct assay_job_log assay_job_log; /* the signatures, ready to be looked for */

/* Prepares all signatures. ASSAY_ENOMEM; ASSAY_EINTERNAL for one that is wrong. Free with assay_job_log_free(). */
int assay_job_log_new(assay_job_log **out, assay_error *err);
void assay_job_log_free(assay_job_log *log);

/* How many pieces a file of so many bytes is read in. The last one has the rest: it is the longest, and goes on where the
 * file has grown. */
enum { ASSAY_LOG_PIECE = 64 << 20 };
uint32_t assay_log_pieces(uint64_t bytes, uint64_t piece);

typedef struct assay_log_part { /* of a file */
    uint32_t file;              /* the number of the file, which its events have */
    uint32_t number, pieces;    /* of so many */
    uint64_t bytes;             /* of each but the last */
    uint64_t from, lines;       /* what lies before is of other runs, and not looked at: bytes, and lines; 0 */
    size_t events;              /* that are kept at most: ASSAY_LOG_EVENTS_LEAST or more */
} assay_log_part;

/* Reads a part of a file. Damage is its problem. What is packed is in its first part; of its later runs nothing is read.
 * ASSAY_ENOMEM. Release it with assay_log_file_release() in any case. */
enum { ASSAY_LOG_EVENTS_LEAST = 64, ASSAY_LOG_EVENTS_MOST = 400000 };
int assay_job_log_read(assay_job_log *log, assay_store *store, const char *path, const assay_log_part *part,
                       assay_log_file *out, assay_error *err);
/* Makes the first of so many pieces of one file, in their order, the whole; the others are empty then. 0 or ASSAY_ENOMEM. */
int assay_log_file_join(assay_log_file *file, size_t pieces);
/* Gives the last lines of a rank of a file that was read, cleaned and masked, each with a line feed; it reads the file again.
 * *out is owned; NULL only without memory. What opening and reading give; ASSAY_ENOMEM. */
int assay_job_log_tail(assay_store *store, const char *path, const assay_log_rank *row, char **out, assay_error *err);
/* Does the output begin anew: do the lines by which it begins stand there again? Then part->from and part->lines get where it does so
 * for the last time; else 0, as where it has too few lines to tell. It reads the file again. What opening and reading give;
 * ASSAY_ENOMEM. */
int assay_job_log_begins_again(assay_store *store, const char *path, assay_log_part *part, assay_error *err);
/* Leaves out events in the middle, so that so many remain at most. To cut twice is to cut to the smaller number. */
void assay_log_file_cut(assay_log_file *file, size_t most);
/* Frees what a file holds, its events included; and what one event holds. */
void assay_log_file_release(assay_log_file *file);
void assay_log_event_release(assay_log_event *event);

/* For who sends what was read to another rank. */
void assay_log_file_pack(const assay_log_file *file, assay_buf *out);
int assay_log_file_unpack(assay_cursor *in, assay_log_file *out);
