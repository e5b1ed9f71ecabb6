/* events.h - events of a trial in time, beside its tensors in steps: samples of metrics, and spans of what programs
 * did.
 *
 * An event file is written by one source over some stretch of time. The catalog lists the files with what their names
 * and sizes tell; a file is read from its beginning to its end, and hands each event to a sink. So memory does not grow
 * with its length, and files can be read by several ranks in any order: what they come to is joined in the order of the
 * list. Times are whole microseconds since 1970 by the clock of the machine that wrote them. */
#pragma once

#include <assay/timeline.h> /* assay_natural_order() */

#include "trial/names.h"
#include "store/storage.h"

enum { ASSAY_EVENTS_PROBLEMS_A_FILE = 1000 /* are told in full; all are counted */ };

typedef enum assay_event_kind {                            /* what a file holds */
                                ASSAY_EVENTS_SYSTEM,       /* samples */
                                ASSAY_EVENTS_PYTHON,       /* spans: of the hook in the training process, */
                                ASSAY_EVENTS_MODEL,        /* of the framework, */
                                ASSAY_EVENTS_HOROVOD,      /* of Horovod, */
                                ASSAY_EVENTS_DATAPARALLEL, /* of smdataparallel */
                                ASSAY_EVENTS_TRACE,        /* all that one rank did, in nanoseconds (Kineto) */
                                ASSAY_EVENTS_DUMP,         /* a rank's latest collectives (flight recorder) */
                                ASSAY_EVENT_KINDS
} assay_event_kind;
/* Files of ranks, a bit a kind: each is looked at as a whole (trace/, hang/). Those of other kinds make a timeline. */
enum { ASSAY_EVENTS_OF_RANKS = 1 << ASSAY_EVENTS_TRACE | 1 << ASSAY_EVENTS_DUMP };
/* "system", "python", "model", "horovod", "smdataparallel", "trace", "dump"; "" for other numbers. */
const char *assay_event_kind_name(int kind);

typedef struct assay_event_file {
    char *path;    /* below the trial; owned */
    char *source;  /* who wrote it, by its name: a machine or a process; owned */
    int64_t time;  /* the beginning or end that its name says, microseconds */
    uint64_t size; /* bytes in the storage; 0: not known */
    uint8_t kind, format;
    bool unfinished; /* somebody has it open: it is named, and not read */
} assay_event_file;

/* The event files of a trial, in the order in which they count: by kind, then time, source and path. */
typedef struct assay_event_files {
    assay_event_file *list;
    size_t count, room;
    bool found;  /* the trial has places for events, though there may be no file */
    bool ended;  /* its writers said that nothing more will come */
    bool summed; /* the storage has checksums of them */
} assay_event_files;

/* Lists the event files of a trial, of which `top` are the names in the root. What cannot be listed is a problem.
 * `out` is zeroed by the caller, who releases it in any case. 0 or ASSAY_ENOMEM. */
struct assay_problems;
int assay_event_files_list(assay_store *store, const assay_names *top, assay_event_files *out,
                           struct assay_problems *problems);
/* Bit 1 << kind for each kind (assay_event_kind) that a file is of. */
unsigned assay_event_files_kinds(const assay_event_files *files);
/* Where nothing but traces or dumps of ranks is in the list: what they are, and the command that answers from them, as
 * in "it has traces of ranks alone, which `assay run` answers from"; NULL: there is none of these, or more. */
const char *assay_event_files_of_ranks(const assay_event_files *files);
void assay_event_files_release(assay_event_files *files);
/* Bytes of those files that no checksum covers; gzip brings one along. */
uint64_t assay_event_files_unsummed(const assay_event_files *files);
void assay_event_files_pack(const assay_event_files *files, assay_buf *out);
/* ASSAY_EFORMAT or ASSAY_ENOMEM; `files` is zeroed before, and released by the caller in any case. */
int assay_event_files_unpack(assay_cursor *in, assay_event_files *files);
/* Visits the places whose change means: list the trial again; see assay_trial_places() (trial/places.h). */
int assay_event_places(assay_store *store, int (*visit)(void *context, const char *path), void *context);
/* Appends "directories of profiler data (system/, framework/)" and the like for the message about what is no trial. */
void assay_event_formats_describe(assay_buf *out);

/* ---- what a file hands out ---- */

typedef struct assay_text { /* not terminated; NULL: there is none */
    const char *bytes;
    size_t length;
} assay_text;

/* One value of one metric of one unit of a machine at one time. */
typedef struct assay_event_sample {
    int64_t time;
    int64_t millionths; /* the value times 1e6, to the nearest, half to even */
    assay_text node, unit, metric;
    uint64_t line;
} assay_event_sample;

typedef enum assay_span_part { ASSAY_SPAN_WHOLE, ASSAY_SPAN_BEGIN, ASSAY_SPAN_END } assay_span_part;

enum { ASSAY_ARGUMENT_NONE = -1 };

/* What a program did from a time on, or where that begins or ends. */
typedef struct assay_event_span {
    assay_span_part part;
    int64_t time, duration; /* duration: of whole ones */
    assay_text name, phase; /* phase: of the row that it was drawn in */
    assay_text row;         /* process and thread: what begins and ends there is nested */
    /* Arguments that mean something to somebody. */
    bool has_step;
    int64_t step;        /* -1: not a number */
    assay_text process;  /* that did the work, as text */
    int pin_memory;      /* 1, 0, ASSAY_ARGUMENT_NONE */
    int64_t num_workers; /* ASSAY_ARGUMENT_NONE */
    uint64_t line;
} assay_event_span;

/* One event of a trace. Numbers that it does not say are ASSAY_NO_TIME, names NULL. */
typedef struct assay_trace_event {
    int64_t begin, duration; /* ns, of the file's own base */
    assay_text category, name;
    uint64_t process, thread, external, correlation; /* whole numbers and texts are told apart; 0: none */
    /* Arguments of a call of communication. */
    bool communicates;
    assay_text operation, dtype, group, group_description;
    const int32_t *ranks;  /* of the group, ascending; valid during the call */
    size_t rank_count;     /* 0: not said, or cut */
    int64_t in, out, size; /* elements sent and received; ranks in the group */
    int64_t sequence;
    int32_t source, destination; /* -1: not said */
} assay_trace_event;

/* What stands beside the events of a trace: before them or behind. */
typedef struct assay_trace_head {
    int32_t rank;       /* -1: not said */
    int64_t base;       /* ns since 1970 that times count from; 0: not said */
    uint64_t too_large; /* events of more than 1 MiB, which were passed over */
} assay_trace_head;

typedef enum assay_event_problem {
    ASSAY_EVENT_TRUNCATED_LINE, /* the last line is not whole */
    ASSAY_EVENT_DAMAGED_LINE,
    ASSAY_EVENT_EMPTY_FILE,
    ASSAY_EVENT_NO_BASE, /* times without the time that they count from */
    ASSAY_EVENT_UNFINISHED,
    ASSAY_EVENT_UNREADABLE, /* the storage said no, or a packed stream is damaged */
    ASSAY_EVENT_PROBLEMS
} assay_event_problem;
/* "truncated_line", ...; "" for other numbers. */
const char *assay_event_problem_word(int problem);

struct assay_flight_row;
/* Gets what a file holds. Texts are valid during the call. A negative status, ASSAY_ENOMEM, ends the reading. */
typedef struct assay_event_sink {
    void *context;
    int (*sample)(void *context, const assay_event_sample *sample);
    int (*span)(void *context, const assay_event_span *span);
    void (*other)(void *context); /* an event that means nothing here: it is counted */
    /* What a whole file comes to, where it has a rank: a dump (trial/flight_row.h), which the sink takes over. */
    int (*row)(void *context, struct assay_flight_row *row);
    /* `text` says what is wrong, for people. */
    int (*problem)(void *context, assay_event_problem problem, uint64_t line, const char *text);
    /* Of traces: an event with a beginning and a duration; the ranks of a group, ascending; what stands beside them, at
     * the end. */
    int (*trace_event)(void *context, const assay_trace_event *event);
    int (*trace_group)(void *context, assay_text name, const int32_t *ranks, size_t count);
    int (*trace_head)(void *context, const assay_trace_head *head);
} assay_event_sink;

/* Reads a file to its end. What is wrong with it is told to the sink, and the rest goes on. Adds the bytes that were
 * read to *bytes. 0, ASSAY_ENOMEM, or what the sink returned. */
int assay_events_read(assay_store *store, const assay_event_file *file, const assay_event_sink *sink, uint64_t *bytes,
                      assay_error *err);
