/* flight_row.h - what is kept of one dump of a flight recorder: some kilobytes, whatever the dump's length.
 *
 * A dump is the ring buffer of one rank's latest collectives and point-to-point operations (docs/hang.md). The format
 * reads a dump into a row; the rules of hanging see nothing but the rows of all ranks. Ranks are 0 to 10^9 - 1, times
 * nanoseconds since 1970, places count the entries of a dump from 0. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/fields.h"
#include "container/flight_dump.h"

enum {
    ASSAY_FLIGHT_COMPLETED_KEPT = 16,  /* the newest completed collectives of a group */
    ASSAY_FLIGHT_UNFINISHED_KEPT = 64, /* the first and the last unfinished ones, each */
    ASSAY_FLIGHT_NO_STACK = UINT32_MAX
};

/* One call of a region: its operation, and what it was called with. `sizes` are those of the inputs, then of the
 * outputs: how many dimensions, then each of them; -1 dimensions stand for sizes that are none. */
typedef struct assay_flight_part {
    char *name;
    int64_t *sizes;
    uint32_t size_count, inputs;      /* inputs: how many of the numbers in `sizes` belong to inputs */
    char *input_types, *output_types; /* with commas */
} assay_flight_part;

typedef struct assay_flight_signature {
    char *name; /* of the operation */
    assay_flight_part *part;
    uint32_t parts;
} assay_flight_signature;

typedef struct assay_flight_stack {
    char *frames; /* "function file:line", a line each */
} assay_flight_stack;

/* One collective, or one point-to-point operation, which may be a batch of several. */
typedef struct assay_flight_item {
    int64_t number;
    uint32_t place, signature, stack;
    uint8_t state;
    bool open;         /* several entries, and none that ends the region */
    bool batch;        /* of point-to-point operations: several, or one in a region */
    int64_t completed; /* as in assay_flight_entry */
} assay_flight_item;

/* What is unfinished between two ranks: the index-th send to, or receive from, a peer. */
typedef struct assay_flight_half {
    uint32_t peer, index, item; /* item: into assay_flight_group.p2p */
    bool sends;
} assay_flight_half;

typedef struct assay_flight_peer {
    uint32_t peer, sends, recvs; /* all in the dump */
} assay_flight_peer;

/* How often an operation was recorded, or what number came last in a group. */
typedef struct assay_flight_count {
    char *description;
    char *operation; /* NULL in `before` */
    int64_t count;
} assay_flight_count;

typedef struct assay_flight_run { /* first, first + stride, ... */
    uint32_t first, stride, count;
} assay_flight_run;

typedef struct assay_flight_group {
    char *name, *description;
    assay_flight_run *run; /* the members in ascending order */
    uint32_t runs;
    int64_t recorded; /* the largest number of a collective; -1: none */
    bool collectives, any_p2p, batches, has_status;
    int64_t status_enqueued, status_completed;
    assay_flight_item *item; /* the latest completed and the unfinished collectives, by number */
    uint32_t items;
    assay_flight_item *p2p; /* unfinished */
    uint32_t p2ps;
    assay_flight_half *half; /* of those */
    uint32_t halves;
    assay_flight_peer *peer;
    uint32_t peers;
    /* What tells two ranks at the first unfinished collective apart: what was recorded since this group's collective
     * before it (`follows`: there is one), and the latest number in each other group. */
    bool follows;
    assay_flight_count *since, *before;
    uint32_t sinces, befores;
} assay_flight_group;

typedef struct assay_flight_row {
    uint32_t rank, file;
    char *version;
    bool full;          /* record ids run from 0 on: nothing was overwritten */
    bool any_completed; /* else the dump may hold what is under way only */
    bool starts_known;
    uint64_t entries, unread, pending; /* that counted; that could not be read; operations not completed */
    int64_t newest;                    /* INT64_MIN: no entry has a time */
    /* The operation that was recorded last. */
    bool any;
    uint32_t last_group, last_stack; /* last_group: into `group` */
    int64_t last_number;
    char *last_operation;
    uint8_t last_state;
    assay_flight_signature *signature;
    uint32_t signatures;
    assay_flight_stack *stack;
    uint32_t stacks;
    assay_flight_group *group; /* by name */
    uint32_t groups;
} assay_flight_row;

/* For assay_fields_pack(), assay_fields_unpack() and assay_fields_release(). */
extern const assay_field assay_flight_row_fields[];
