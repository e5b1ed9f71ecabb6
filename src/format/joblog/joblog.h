/* joblog.h - what the files of this format share. Inside this folder only. */
#pragma once

#include "base/dict.h"
#include "base/regex.h"
#include "trial/job_log.h"

/* ---- prefix.c: what stands in front of a line ---- */

typedef struct joblog_prefix {
    int64_t rank, local_rank; /* -1: not said */
    double time;
    uint8_t timed; /* assay_log_timed */
    char node[64]; /* "" */
    int64_t pid;   /* of the process that Ray says wrote the line, on that node; -1 */
    int64_t agent; /* the launcher on a node that passed the line on, where ranks are counted by local_rank; -1 */
    size_t own;    /* bytes of what launchers put in front: the process wrote the rest */
    size_t length; /* bytes of all of it, times and levels included */
    const char *times[2][2]; /* where the first times begin and end, in the line; NULL */
} joblog_prefix;

/* Takes a line without escapes apart. */
void joblog_prefix_read(const char *line, size_t length, joblog_prefix *out);
/* Reads a time as one that stands in front of a line. False: there is none. */
bool joblog_time_of(const char *line, size_t length, double *time, uint8_t *timed);
/* Does "02:13:40" stand in the first part of a line? Most times have it; that of a bar of progress stands further behind. */
bool joblog_may_have_time(const char *line, size_t length);
/* In place of a number of ranks a node: launchers of nodes are in front of lines, and nothing says of which of their ranks these are. */
enum { JOBLOG_AGENTS = -1 };
/* The same in a file whose lines come from so many ranks a node (0: from no launcher of nodes): "6: [default5]:" is rank 6 *
 * per_node + 5, and "6: " without it is the launcher itself. */
void joblog_prefix_of(const char *line, size_t length, int64_t per_node, joblog_prefix *out);
/* How many ranks a node has, where a line says so by itself ("1: [default1]:[rank9]:"); else 0. *most becomes one more than the
 * local rank of such a line, where it was less. */
int64_t joblog_per_node(const char *line, size_t length, int64_t *most);
/* False: joblog_rank_of() a line is -1, as of most that begin with a time or a word. Quick. */
static inline bool joblog_may_say_rank(const char *line, size_t length)
{
    size_t digits = 0;
    while (digits < length && line[digits] >= '0' && line[digits] <= '9')
        digits++;
    return digits < length && (digits > 0 ? line[digits] == ':' : line[0] == ' ' || line[0] == '[');
}
/* Only the rank at its very beginning, or the local one where there is no other: quick, for every line of a file. -1: there
 * is none. */
int64_t joblog_rank_of(const char *line, size_t length, int64_t per_node);
/* How many bytes of a line say its rank, or its local rank, and nothing else: "[rank3]: ", "[default3]:", "3: ", with one blank at
 * their end; 0: none. Quick. */
size_t joblog_front_of(const char *line, size_t length, int64_t *rank, int64_t *local);
/* May the word of letters, digits and '.' that goes on behind byte `at` be the first one of its line, or of what is behind its
 * prefix? False: it is surely not. */
bool joblog_may_be_first(const char *line, size_t at);

/* ---- clean.c ---- */

/* Does it end a line? */
static inline bool joblog_is_end(char c)
{
    return c == '\n' || c == '\r';
}

/* Where the first control character is; `length`: a line without one is clean as it is. */
size_t joblog_first_control(const char *line, size_t length);
/* Where the last line of the first `length` bytes begins: behind the last end of a line; 0. */
size_t joblog_last_begin(const char *bytes, size_t length);
/* As memmem(), and quicker in lines. */
const char *joblog_find(const char *line, size_t length, const char *word);
/* A hash of a line in which each digit counts as the same one. */
uint64_t joblog_shape(const char *line, size_t length);

/* Copies a line without escapes for terminals and other control characters; tabs become blanks. `to` has room for
 * `length` bytes, and is the line itself or lies apart from it; returns how many were written. */
size_t joblog_clean(const char *line, size_t length, char *to);
/* Is it one that Docker keeps as JSON: {"log":"text\n","stream":"stderr","time":"..."}? */
bool joblog_is_wrapped(const char *line, size_t length);
/* Is the text in it as it stands there, up to its end, "\\n"? */
bool joblog_is_wrapped_plain(const char *line, size_t length);
/* As joblog_clean(), of such a line: it becomes what a container's line is in files of the kubelet, "TIME stderr F text". */
size_t joblog_unwrap(const char *line, size_t length, char *to);

typedef struct joblog_masks joblog_masks;
/* Expressions for secrets. */
int joblog_masks_new(joblog_masks **out, assay_error *err);
void joblog_masks_free(joblog_masks *masks);
/* Appends a text with secrets masked. Where that cannot be done nothing of it is appended but a remark. */
void joblog_mask(const joblog_masks *masks, const char *text, size_t length, assay_buf *out);

/* ---- signatures.c ---- */

enum joblog_group {
    GROUP_size,
    GROUP_free,
    GROUP_rank,
    GROUP_local,
    GROUP_node,
    GROUP_code,
    GROUP_gpu,
    GROUP_step,
    GROUP_pid,
    GROUP_what,
    JOBLOG_GROUPS
};
extern const char *const joblog_group_names[JOBLOG_GROUPS];

typedef struct joblog_match { /* texts of groups, "" for those that took no part; in the line */
    const char *text[JOBLOG_GROUPS];
    size_t length[JOBLOG_GROUPS];
    const char *literal; /* NULL: of no signature */
    size_t signature;    /* and 1, whose groups were not looked for yet; 0: all are there */
} joblog_match;

enum { JOBLOG_NEEDS = 4 };
typedef struct joblog_needs { /* the first letters of words one of which a line has; none: it is not said */
    size_t words;
    char letter[JOBLOG_NEEDS][3];
} joblog_needs;

typedef struct joblog_signatures {
    size_t count;
    assay_regex **regex;         /* NULL: the literal is enough */
    int (*group)[JOBLOG_GROUPS]; /* numbers of groups; -1 */
    bool *first_word;            /* it asks for a first word in which the literal begins */
    bool *always;                /* does it match each line that has the literal? */
    bool *says_more;             /* and are its groups no part of what tells one event from another? */
    bool *by_head; /* of such a one: where ": " stands behind the name, what is behind it does not count */
    joblog_needs *needs;
    assay_regex_room *room;       /* so one thread at a time may look */
    bool *counts;                 /* does it ask which digits there are, beside how many? */
    struct assay_literals *parts; /* the longest parts without digits of literals with digits */
} joblog_signatures;

/* Compiles all expressions. ASSAY_ENOMEM; ASSAY_EINTERNAL for one that is wrong. Release it in any case. */
int joblog_signatures_new(joblog_signatures *out, assay_error *err);
void joblog_signatures_release(joblog_signatures *s);
/* Does a line match that has the literal there? */
bool joblog_signature_match(const joblog_signatures *s, size_t number, const char *line, size_t length,
                            const char *literal, joblog_match *out);
/* The same by the expression, where it is no matter of the literal alone. */
bool joblog_signature_search(const joblog_signatures *s, size_t number, const char *line, size_t length,
                             joblog_match *out);
/* False: a line that has the literal of a signature surely does not match it. Quick. */
bool joblog_may_match(const joblog_signatures *s, size_t number, const char *line, size_t length);
/* May a line of the same shape have a literal that this one does not have, since digits are in it? */
bool joblog_may_have_other(const joblog_signatures *s, const char *line, size_t length);
/* Appends the sentence with groups put in. A part of it (between ", " and the like) that asks for a group that is not
 * there is left out. */
void joblog_put_sentence(const char *sentence, const joblog_match *match, assay_buf *out);

/* ---- steps.c ---- */

/* Does a line say that a text follows that a model made, or was given: "=== sample 3 ===", "prompt: x", "Q: x"? */
bool joblog_shows_text(const char *body, size_t length);
/* The training step that a line of progress names; -1: none. */
int64_t joblog_step_of(const char *line, size_t length);
/* The same, and where its digits begin. */
int64_t joblog_step_at(const char *line, size_t length, size_t *at);
/* The number that stands at that byte, as far as it may be a step; -1. */
int64_t joblog_number_at(const char *line, size_t length, size_t at);

enum { JOBLOG_NUMBERS = 768 /* there is room for */ };

typedef struct joblog_room joblog_room;

struct assay_job_log {
    joblog_signatures signatures;
    size_t blocks;            /* the number of the first joblog_block_kind, behind those of signatures */
    assay_dict *literal_text; /* of all these numbers, each once */
    struct assay_literals *literals;
    uint16_t first[JOBLOG_NUMBERS],
        next[JOBLOG_NUMBERS]; /* numbers that have a literal, and 1; then those of the same one */
    uint16_t searched[JOBLOG_NUMBERS], longer[JOBLOG_NUMBERS]; /* literals that are looked for; then those, and 1, that
                                                                * begin with one of them */
    bool only_first[JOBLOG_NUMBERS];                           /* of a literal: all its numbers ask for a first word */
    joblog_masks *masks;
    joblog_room *room; /* which files share that are read one after the other; NULL: none was read yet */
};

/* ---- room.c, read.c, blocks.c, events.c ---- */

enum {
    JOBLOG_LINE_MOST = 8192, /* bytes of a line that are looked at around what was found in it */
    JOBLOG_ROOM = 4 << 20    /* bytes of a file that are in memory */
};

typedef struct joblog_line { /* that is looked at */
    const char *text;        /* cleaned */
    size_t length;
    const char *own; /* behind what launchers put in front */
    size_t own_length;
    const char *body; /* behind the whole prefix */
    size_t body_length;
    joblog_prefix prefix;
    uint64_t at, number;
    size_t place; /* in the reader's bytes */
} joblog_line;

/* JOBLOG_CHAINED and those behind it are no blocks: the next traceback of the rank belongs to the one before, or to another
 * thread or process. */
typedef enum joblog_block_kind {
    JOBLOG_TRACEBACK,
    JOBLOG_FAILURES,
    JOBLOG_ROOT_CAUSE,
    JOBLOG_CHAINED,
    JOBLOG_IGNORED,
    JOBLOG_THREAD,
    JOBLOG_ORIGINAL,
    JOBLOG_BLOCK_KINDS
} joblog_block_kind;

typedef struct joblog_block { /* several lines of one rank that become one event */
    joblog_block_kind kind;
    uint32_t who;          /* wrote it: of the reader's writers */
    int left;              /* lines of the rank until it is given up */
    bool chained;          /* of a traceback: it belongs to the one before */
    uint64_t until;        /* the last line of the file that may belong to it */
    bool own;              /* the frame is of the training's own code */
    bool ignored;          /* Python ignores what it ends with */
    bool inside;           /* its first frame is not where a process or a thread begins */
    bool absolute;         /* a frame is of a file that is named by its whole path */
    char frame[192];       /* 'train.py", line 120, in step'; "" */
    assay_log_event event; /* a root cause, as far as it was read; texts are not set */
} joblog_block;

typedef enum joblog_part { JOBLOG_NO_PART, JOBLOG_FRAME, JOBLOG_OWN_FRAME, JOBLOG_EXCEPTION } joblog_part;

/* Lines that differ in digits only are of one form. */
typedef struct joblog_form { /* which digits say who wrote the line: those of a time do not */
    uint64_t shape;          /* 0: none */
    uint8_t count, at[23];   /* more than there is room for: nothing is kept of such lines */
} joblog_form;

typedef struct joblog_memo { /* what became of a line: those of its form and writer need no other look */
    uint64_t key;            /* of these; 0: none */
    uint32_t event;          /* the number of its event, and 1; 0: it has none */
    uint32_t who;            /* of the reader's writers */
    uint32_t row;            /* of out->rank, and 1; 0: not known */
    uint16_t name;           /* in the line: where the name of the frame's file begins */
    uint8_t opens;           /* a bit for each kind of block */
    uint8_t part : 4;        /* joblog_part: what it is in a traceback */
    uint8_t way : 4;         /* joblog_way_of() its event */
} joblog_memo;
enum {
    JOBLOG_FORMS_LEAST = 256,
    JOBLOG_FORMS_MOST = 4096,
    JOBLOG_MEMOS_LEAST = 512,
    JOBLOG_MEMOS_MOST = 65536,
    JOBLOG_MEMO_OF = 64 /* bytes of a file */
};

typedef struct joblog_slot { /* of a table of events */
    uint64_t key;
    size_t number; /* and 1; 0: none */
} joblog_slot;

typedef struct joblog_past { /* a line, as far as events behind it want to know */
    uint64_t end, begin;     /* in the file; `end` and 1, with the era of the file; 0: none */
    double time;
    int64_t rank, step;
    uint8_t timed;
    bool shows; /* joblog_shows_text() */
} joblog_past;
enum {
    JOBLOG_LOOK_BACK = 128 << 10,
    JOBLOG_PAST_LEAST = 16, /* bytes of most lines: so far back each has a place of its own */
    JOBLOG_PASTS = JOBLOG_LOOK_BACK / JOBLOG_PAST_LEAST
};

typedef struct joblog_barren { /* lines that say no time and no step, in the file */
    uint64_t begin, end;
    int lines;
} joblog_barren;

typedef struct joblog_process { /* whose lines say "(RayTrainWorker pid=4711, ip=10.0.0.5)" */
    int64_t pid, rank;
    char node[64];
} joblog_process;

typedef struct joblog_shape_count { /* of a line, numbers aside */
    uint64_t hash;
    uint32_t all, since; /* lines of it, and those since the last line that may speak of an error */
} joblog_shape_count;
enum { JOBLOG_SHAPES = 4 };
typedef struct joblog_shapes { /* of the last lines of a rank, the newest first */
    joblog_shape_count list[JOBLOG_SHAPES];
} joblog_shapes;

typedef struct joblog_reader {
    const assay_job_log *log;
    assay_log_file *out;
    size_t events_most;
    char *bytes; /* of the file: some before `at`, to look back at, and all up to `have` that was read */
    size_t have, at;
    uint64_t base; /* where the bytes begin in the file */
    uint64_t line; /* number of the line at `counted` */
    size_t counted;
    bool plain;       /* the file is not packed: what lies before can be read again */
    bool tracked;     /* its lines say their ranks */
    bool says_times;  /* its first lines have what may be times */
    int64_t per_node; /* as of joblog_prefix_of() */
    ASSAY_VEC(joblog_block) block;
    assay_dict *writers;               /* ranks, local ranks, and nodes where there is neither */
    ASSAY_VEC(uint32_t) block_row;     /* by writer: the place of its block, and 1 */
    uint64_t next_look;                /* the line at which blocks of long ago are given up */
    int64_t chained_rank;              /* whose next traceback belongs to the one before; INT64_MIN: nobody's */
    bool ignored;                      /* and what that one ends with is ignored */
    double listed;                     /* the earliest time of those failures that were listed last; infinite: none */
    ASSAY_VEC(int32_t) rank_row;       /* by rank: its place in out->rank, and 1 */
    ASSAY_VEC(uint64_t) row_first;     /* by row of out->rank: where its first line begins in the file */
    ASSAY_VEC(joblog_shapes) shapes;   /* by row of out->rank, while its end is read */
    bool begins;                       /* what is read begins with the file, and so do lines of ranks */
    ASSAY_VEC(joblog_process) process; /* of ranks that Ray started, as it says */
    ASSAY_VEC(joblog_slot) slot;       /* of out->event */
    uint32_t texts[JOBLOG_NUMBERS];    /* how many events a signature has; of those without a number, the last */
    char front[96];        /* of lines, as a traceback showed; numbers are '0'; "": what is known suffices */
    char *clean, *behind;  /* room for a line, and for one behind it */
    joblog_past *past;     /* JOBLOG_PASTS, by where they end */
    uint64_t era;          /* which those of this file have in it: others are of files before */
    uint64_t first_front;  /* where the first line begins that has a rank in front; UINT64_MAX: none was met */
    joblog_barren barren;  /* what was looked through last in vain */
    joblog_form *form;     /* by the lower bits of their shapes */
    joblog_memo *memo;     /* by the lower bits of their keys */
    size_t forms, memos;   /* powers of two: fewer for a small file, since to clear many takes as long as to read it */
    uint32_t asked, known; /* memos of late, and how many there were */
    uint32_t unasked, pause;  /* for how many lines none is asked for still, and were last */
    size_t added;             /* the event that joblog_event_add() added or counted last */
    uint64_t zeros, zeros_at; /* bytes that are NUL, in stretches, and the first of them in the file */
} joblog_reader;

/* ---- room.c ---- */

/* Makes room for a file of so many bytes, or what *kept has of files before; it is the room's, and no other file may be read
 * until this one was. 0 or ASSAY_ENOMEM. */
int joblog_room_take(joblog_room **kept, uint64_t bytes, joblog_reader *r);
void joblog_room_free(joblog_room *room); /* NULL is ignored */

/* Reads the line of the reader's bytes [from, to), which may be clean already: cleans it, then parts it from what stands in
 * front. */
void joblog_line_clean(const joblog_reader *r, size_t from, size_t to, bool plain, joblog_line *out);
void joblog_line_part(const joblog_reader *r, joblog_line *out);
void joblog_line_read(const joblog_reader *r, size_t from, size_t to, bool plain, joblog_line *out);

/* Keeps which rank is where: lines behind it that name the process, with its node or without, are those of the rank. False without
 * memory. */
bool joblog_process_add(joblog_reader *r, int64_t pid, const char *node, int64_t rank);

/* ---- memo.c: what became of lines; `likeness` is what those have in common that become the same ---- */

/* Of the line that begins there; NULL. */
const joblog_memo *joblog_memo_find(const joblog_reader *r, size_t from, uint64_t likeness);
/* Keeps what became of a line, which has so many bytes of the reader's. 0 or ASSAY_ENOMEM. */
int joblog_memo_keep(joblog_reader *r, const joblog_line *line, size_t length, uint64_t likeness, joblog_memo now);

/* ---- read.c, blocks.c, events.c ---- */

/* Counts lines anew from that number on, which becomes 1: blocks that are open stay so. */
void joblog_blocks_renumber(joblog_reader *r, uint64_t line);
/* The number of who wrote a line; ASSAY_NO_ID without memory. */
uint32_t joblog_writer_of(joblog_reader *r, const joblog_line *line);
/* Opens the block that a line of that number begins. 0 or ASSAY_ENOMEM. */
int joblog_block_open(joblog_reader *r, joblog_block_kind kind, uint32_t who, uint64_t number);
/* What a line would be in a traceback; *name gets where the name of a frame's file begins. */
joblog_part joblog_part_of(const char *body, size_t length, size_t *name);
/* Makes the block of an exception that no head of a traceback stands before, of the frames right before its line. False: there is
 * none. */
bool joblog_block_find(const joblog_reader *r, const joblog_line *line, joblog_block *out);
/* Takes the reader's line, in which no literal lies: is it indented behind a rank that stands in front, or behind nothing? Then
 * it means nothing but that the block of its rank has a line more, or a frame. False: it has to be looked at. */
bool joblog_block_pass(joblog_reader *r, const char *line, size_t length, bool plain, int64_t *rank);
/* Offers the reader's line, which is like another one, to the open block of its rank. False: it has to be looked at. */
bool joblog_block_take_again(joblog_reader *r, const joblog_memo *memo, const char *line, size_t length);
/* Offers a line to the open block of its rank. 1 when it ends a traceback: *ended is it, and the line has the exception;
 * 2 when it belongs to another block; 0 when it does not; ASSAY_ENOMEM. */
int joblog_block_take(joblog_reader *r, const joblog_line *line, joblog_block *ended);
/* How an exception was raised: 0 where no traceback ends in it; else whether its first frame is where a process begins, and
 * whether it is ignored. */
static inline uint8_t joblog_way_of(const assay_log_event *e)
{
    return (uint8_t)(e->in_traceback ? 1 + e->inside + 2 * e->ignored : 0);
}
/* The row of a rank in the reader's file, added where there is none; NULL without memory. */
assay_log_rank *joblog_row_add(joblog_reader *r, int64_t rank);
static inline assay_log_rank *joblog_row_of(joblog_reader *r, int64_t rank)
{
    const size_t at = (size_t)(rank + 1); /* asked of each line */
    const int32_t row = at < r->rank_row.count ? r->rank_row.list[at] : 0;
    return row > 0 ? &r->out->rank.list[row - 1] : joblog_row_add(r, rank);
}
/* Makes the table of events anew, with that many slots, a power of two. False without memory. */
bool joblog_make_table(joblog_reader *r, size_t room);
/* Counts another line for an event that is there. */
void joblog_count_again(joblog_reader *r, size_t number, uint64_t at, uint64_t line);
/* Makes a text of the buffer, which it releases; owned; NULL without memory. */
char *joblog_take_text(assay_buf *buf);
/* Adds an event, or counts it. `match` NULL: there are no groups; `traceback` NULL: it ends none. `sentence` as of a
 * signature. 0 or ASSAY_ENOMEM. */
int joblog_event_add(joblog_reader *r, const joblog_line *line, assay_log_event event, const char *sentence,
                     const joblog_match *match, const joblog_block *traceback);
/* Where the block's exception was raised, "train.py:120 in step"; owned; NULL: it is not known, or without memory. */
char *joblog_block_place(const joblog_block *block);
/* The event of an exception that no signature knows. */
int joblog_exception_add(joblog_reader *r, const joblog_line *line, const joblog_block *block);
/* Sets what kind of ending an exception is by its class, where that is known. */
void joblog_exception_class(const char *body, size_t length, assay_log_event *event);
/* Is it the last line of a traceback: "NAME: text", "NAME"? *name gets the length of the name. */
bool joblog_is_exception(const char *body, size_t length, size_t *name);

/* ---- count.c ---- */

/* Counts lines up to byte `to`, and where their ranks were last seen. 0 or ASSAY_ENOMEM. */
int joblog_count_to(joblog_reader *r, size_t to);
/* Counts the line [from, to) of a rank's row where joblog_count_to() has come to it, as that would. */
void joblog_count_line(joblog_reader *r, assay_log_rank *row, size_t from, size_t to);

/* ---- end.c ---- */

/* How many of the last bytes of a file say what its ranks did in the end. */
size_t joblog_tail_of(const joblog_reader *r);
/* Keeps what the last lines of the reader's file say of time and step. 0 or ASSAY_ENOMEM. */
int joblog_read_end(joblog_reader *r);

/* ---- vocabulary.c: words that errors have in common ---- */

/* What it says that a process ended with an exit code, -N or 128 + N where signal N ended it: a crash, or a signal that somebody sent. False:
 * it is the program's own code. */
bool joblog_ending_of_code(int64_t code, assay_ending *ending, assay_log_role *role);
/* Guesses what kind of ending words speak of. False: they do not say. */
bool joblog_guess(const char *text, size_t length, assay_ending *ending, assay_log_role *role);
/* Does a line speak of an error, by its level or by its words, and not of one that was met and passed? */
bool joblog_speaks_of_error(const joblog_line *line);
/* Does a line say that something went well, and so that its program went on behind errors before it? */
bool joblog_speaks_of_success(const joblog_line *line);
/* Copies a text with small letters, `room` bytes at most. How many. */
size_t joblog_lower(const char *text, size_t length, char *to, size_t room);

/* ---- read.c ---- */

/* Does a line match a signature, or belong to a traceback? It takes a while. */
bool joblog_has_signature(const joblog_reader *r, const joblog_line *line);

/* ---- front.c ---- */

/* Learns what stands in front of the head of a traceback, and of its first frame, and is not known; lines are read so from then on. */
void joblog_front_learn(joblog_reader *r, const joblog_line *line);
/* Takes what was learned from a line: how many bytes it has; 0: the line begins otherwise. */
size_t joblog_front_read(const joblog_reader *r, const char *line, size_t length, joblog_prefix *out);
/* The number behind a word that names whose a line is, "rank 3", "worker-3", in small letters, with few bytes between; -1. That of a
 * local rank is none of a rank. */
int64_t joblog_number_behind(const char *low, size_t length, const char *word);
/* Copies the name of a node, up to its first '.', that a line begins with, "n2.cluster.org: ", where it has a digit. */
void joblog_node_in_front(const char *front, size_t length, char *node, size_t room);

/* ---- lastwords.c ---- */

/* Adds an event for each rank whose last lines speak of an error that has none. 0 or ASSAY_ENOMEM. */
int joblog_last_words(joblog_reader *r);

/* ---- pack.c ---- */

/* Gives back what its lists do not use: of ten thousand outputs most have a rank and an event or two. */
void joblog_file_fit(assay_log_file *file);

/* ---- lost.c ---- */

/* Counts zeros among bytes that lie at that place in the file. */
void joblog_count_zeros(joblog_reader *r, const char *bytes, size_t size, uint64_t at);
/* Names them, unless worse is known of the file. 0 or ASSAY_ENOMEM. */
int joblog_name_zeros(joblog_reader *r, const char *path);

/* ---- pods.c ---- */

/* Sets node, and rank or ranks, of an event by which a pod ended, as far as lines around it say which pod it was. */
void joblog_take_pod(const joblog_reader *r, const joblog_line *line, assay_log_event *e);

/* ---- past.c ---- */

/* Finds what a line says that stands before byte `place`: a time, and a step. */
void joblog_look_back(joblog_reader *r, size_t place, int64_t rank, assay_log_event *event);
