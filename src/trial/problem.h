/* problem.h - damaged or missing parts of a trial. Each is named in the report, and the analysis goes on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <assay/pack.h>
#include <assay/status.h>

/* X(enum, word in the report, true when it is damage or loss (exit code 3), false for a remark) */
#define ASSAY_PROBLEM_LIST(X)                                                                                          \
    X(ASSAY_PROBLEM_INDEX, "damaged-index", true) /* index JSON that cannot be used, or an entry of it */              \
    X(ASSAY_PROBLEM_EVENT_MISSING, "missing-event-file", true)                                                         \
    X(ASSAY_PROBLEM_RECORD, "damaged-record", true) /* frame, checksum, protobuf, shape */                             \
    X(ASSAY_PROBLEM_READ, "unreadable", true)       /* the file system said no */                                      \
    X(ASSAY_PROBLEM_COLLECTIONS, "damaged-collections", true)                                                          \
    X(ASSAY_PROBLEM_TOPOLOGY, "damaged-topology", true) /* what a worker said of its pieces cannot be used */          \
    X(ASSAY_PROBLEM_DUPLICATE, "duplicate-step", true)                                                                 \
    X(ASSAY_PROBLEM_ORPHAN, "events-without-index", true)                                                              \
    X(ASSAY_PROBLEM_BUDGET, "memory-budget", true) /* not evaluated: needs more than --memory */                       \
    X(ASSAY_PROBLEM_WORK, "work-budget", true)     /* not evaluated: reading it takes far more than its bytes */       \
    X(ASSAY_PROBLEM_EMPTY, "empty-trial", true)                                                                        \
    X(ASSAY_PROBLEM_HEADER, "damaged-header", true) /* the directory of a file: what it holds is unknown */            \
    X(ASSAY_PROBLEM_SHORT, "short-file", true)      /* the directory is right, bytes are missing */                    \
    X(ASSAY_PROBLEM_PICKLE, "refused-pickle", true)                                                                    \
    X(ASSAY_PROBLEM_UNSUPPORTED, "unsupported", true) /* understood, and not read by this version */                   \
    X(ASSAY_PROBLEM_MISSING_SHARD, "missing-shard", true)                                                              \
    X(ASSAY_PROBLEM_INDEX_MISMATCH, "index-mismatch", true)                                                            \
    X(ASSAY_PROBLEM_INCOMPLETE_TENSOR, "incomplete-tensor", true)                                                      \
    X(ASSAY_PROBLEM_DUPLICATE_TENSOR, "duplicate-tensor", true)                                                        \
    X(ASSAY_PROBLEM_ABANDONED, "unfinished-checkpoint", true)   /* and a later one was finished */                     \
    X(ASSAY_PROBLEM_UNFINISHED, "unfinished-checkpoint", false) /* the newest */                                       \
    X(ASSAY_PROBLEM_EXTRA_SHARD, "extra-shard", false)                                                                 \
    X(ASSAY_PROBLEM_SET_ASIDE, "set-aside", false)                                                                     \
    X(ASSAY_PROBLEM_EVENTS, "damaged-events", true)         /* lines of an event file */                               \
    X(ASSAY_PROBLEM_EVENTS_LEFT, "unread-events", false)    /* empty, a copy, or its writer has it open */             \
    X(ASSAY_PROBLEM_CLOCK, "clock", false)                  /* of a machine goes back, or of workers differ */         \
    X(ASSAY_PROBLEM_PERCENT, "beyond-percent", false)       /* a share that no machine has: it is kept */              \
    X(ASSAY_PROBLEM_NAME, "foreign-file", false)            /* a file name that is none of ours */                     \
    X(ASSAY_PROBLEM_DIFFERENT, "collections-differ", false) /* between workers */                                      \
    X(ASSAY_PROBLEM_AGAIN, "saved-again", false)            /* a tensor twice in a step: the last one counts */        \
    X(ASSAY_PROBLEM_UNVERIFIED, "no-checksum", false)       /* damage would not be noticed */                          \
    X(ASSAY_PROBLEM_LINK, "outside-link", false)            /* what a symbolic link leads to belongs to the trial */   \
    X(ASSAY_PROBLEM_FACTS, "damaged-facts", false)          /* of the run: they are shown, and decide nothing */       \
    X(ASSAY_PROBLEM_TOTAL_SIZE, "total-size", false)        /* an index gives the set another than its tensors have */ \
    X(ASSAY_PROBLEM_UNSEEN, "unreadable", true)             /* what could not be looked at; each text once */          \
    X(ASSAY_PROBLEM_KEY, "unknown-key", false)              /* a key that no reader knows; each text once */           \
    X(ASSAY_PROBLEM_BEHIND, "bytes-behind", false)          /* the end of what a file holds; nobody needs them */      \
    X(ASSAY_PROBLEM_GROUPS, "process-groups", false)        /* they contradict what else says who has which piece */

typedef enum assay_problem_kind {
#define ASSAY_PROBLEM_ENUM(name, word, loss) name,
    ASSAY_PROBLEM_LIST(ASSAY_PROBLEM_ENUM)
#undef ASSAY_PROBLEM_ENUM
        ASSAY_PROBLEM_KINDS
} assay_problem_kind;

/* The word of a kind of problem in the report, and whether it means that data is lost; "unknown" and no loss for other
 * numbers. */
const char *assay_problem_word(int kind);
bool assay_problem_is_loss(int kind);

struct assay_store;
struct assay_names;

/* In place of a tensor: the problem prevents a comparison at the step, and may lie in another file. */
#define ASSAY_OF_COMPARISON (UINT32_MAX - 1)

typedef struct assay_problem {
    int kind;
    int64_t step;    /* global step, -1: none */
    char *file;      /* relative to the trial; owned */
    int64_t offset;  /* in the file; -1: none */
    char *text;      /* one sentence; owned */
    uint32_t tensor; /* of the damaged record, by the trial's number; ASSAY_NO_TENSOR: it is not about one record */
} assay_problem;

enum { ASSAY_PROBLEMS_KEPT = 1000 }; /* kept in full; later ones are only counted */

/* A list of problems, in the order they were added; the first ASSAY_PROBLEMS_KEPT in full. */
typedef struct assay_problems {
    assay_problem *list;
    size_t kept, room;
    uint64_t total, losses;
    int status; /* ASSAY_ENOMEM when one could not be kept */
} assay_problems;

/* An empty list, and its end. */
void assay_problems_init(assay_problems *p);
void assay_problems_release(assay_problems *p);
/* Adds one; texts are copied. Of the kinds UNSEEN and KEY a text that is there already is not added again, nor is one
 * counted that is not kept. */
void assay_problems_add(assay_problems *p, int kind, int64_t step, const char *file, int64_t offset, const char *format,
                        ...) __attribute__((format(printf, 6, 7)));
/* Adds what was noted in the store (assay_store_note) of the step, or of none (-1); `meaning` says what may be missing
 * without it. Where the store lacked memory, so does the list. */
void assay_problems_take_notes(assay_problems *p, struct assay_store *store, int64_t step, const char *meaning);
/* Names what stands in a directory where a known entry (a list that ends with NULL) should: no entry has its name, and
 * one has it but for a byte, or for what was put behind it (".bak"). */
void assay_problems_name_damaged(assay_problems *p, const struct assay_names *names, const char *directory,
                                 const char *const *known);
/* Names what was put aside in a directory ("x.npy.bak"), or whose ending is that one but for a byte ("x.npx"), and has no
 * other in its place; the name that it had had that ending. */
void assay_problems_name_aside(assay_problems *p, int64_t step, const struct assay_names *names, const char *directory,
                               const char *ending);
/* Names, once, a file that stands where a directory should; what is no file is passed over. */
void assay_problems_name_file(assay_problems *p, struct assay_store *store, int64_t step, const char *path);
/* Names, once, a directory that stands where a file should; what is none is passed over. */
void assay_problems_name_directory(assay_problems *p, struct assay_store *store, const char *path);
/* The text of the first that says that something could not be read; NULL: there is none. */
const char *assay_problems_unread(const assay_problems *p);
/* The text of the first that is damage or loss; NULL: there is none. */
const char *assay_problems_loss(const assay_problems *p);
/* Is there one that says this? */
bool assay_problems_have(const assay_problems *p, const char *text);
/* Sets the tensor of the problem that was added last. */
void assay_problems_set_tensor(assay_problems *p, uint32_t tensor);
/* Appends `later` behind `earlier`. Associative, also beyond the ceiling. Returns 0 or ASSAY_ENOMEM. */
int assay_problems_append(assay_problems *earlier, const assay_problems *later);
void assay_problems_pack(const assay_problems *p, assay_buf *out);
int assay_problems_unpack(assay_cursor *in, assay_problems *p, assay_error *err); /* into an initialised, empty list */
