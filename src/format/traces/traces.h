/* traces.h - Kineto traces: what torch.profiler writes for each rank, Chrome's trace events as one JSON document
 * (docs/traces.md). Inside format/traces only. */
#pragma once

#include "base/json_pull.h"
#include "base/keys.h"
#include "base/vec.h"
#include "container/unpacked.h"
#include "trial/event_format.h"

enum {
    ASSAY_TRACE_EVENT_MOST = 1 << 20, /* bytes of an event; a larger one is passed over and counted */
    ASSAY_TRACE_HEAD_MOST = 64 << 20, /* bytes of distributedInfo */
    ASSAY_TRACE_RANKS_MOST = 1 << 20  /* ranks of a group */
};

/* The text of a file, of which a window is in memory. */
typedef struct assay_trace_window {
    assay_unpacked *bytes;
    char *text;
    size_t at, size, room; /* at: what comes next */
    uint64_t most;         /* bytes of text; what is behind is not read */
    bool ended;
    int status; /* why no more could be read */
    assay_error why;
} assay_trace_window;

/* Opens a file; release in any case. ASSAY_ENOTFOUND, ASSAY_EIO, ASSAY_ENOMEM. */
int assay_trace_window_open(assay_trace_window *w, assay_store *store, const char *path, assay_error *err);
void assay_trace_window_release(assay_trace_window *w);
/* Makes at least `wanted` bytes lie behind w->at, or all that there are; what lies before w->at goes. False without
 * memory or when reading failed (w->status). */
bool assay_trace_window_fill(assay_trace_window *w, size_t wanted);
/* The next character that is no blank, '\0' at the end. */
char assay_trace_window_peek(assay_trace_window *w);
/* Passes over a value of any length. False: it is damaged or ends early; *fault says why. */
bool assay_trace_window_skip(assay_trace_window *w, const char **fault);

/* Takes an event at the beginning of the pulled text apart. False with a fault. *complete: it is one with phase X.
 * *damaged: the key, a constant, that the event lacks and another one differs from in one bit; NULL: none. */
typedef struct assay_trace_ranks {
    int32_t *list; /* owned */
    size_t count, room;
} assay_trace_ranks;
bool assay_trace_parse_event(assay_pull *p, assay_key_memory *memory, assay_trace_event *event,
                             assay_trace_ranks *ranks, bool *complete, const char **damaged);
/* Appends the whole numbers of a list in brackets, ascending, each once. False: it is none, it is cut, or there is no
 * memory. */
bool assay_trace_parse_ranks(const char *text, size_t length, assay_trace_ranks *ranks);
