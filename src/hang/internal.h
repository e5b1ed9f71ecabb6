/* internal.h - the ranks of a training, their groups, and who waits for whom. Inside hang only.
 *
 * Ranks are numbered densely in ascending order; a member is one rank in one group. All memory is the arena's. */
#pragma once

#include <assay/hang.h>

#include "base/arena.h"
#include "base/dict.h"
#include "base/vec.h"
#include "hang/hang.h"

enum { HANG_NONE = UINT32_MAX };
#define HANG_NO_NUMBER INT64_MAX

typedef enum hang_known {
    HANG_ABSENT, /* no file that counts */
    HANG_OLDER,  /* its file is from before what others show */
    HANG_KNOWN,
    HANG_DEVICE /* its device stopped: it waits for nobody */
} hang_known;

/* A signature, the same number for equal ones of all ranks; what is compared of it has numbers too. */
typedef struct hang_signature {
    const assay_flight_signature *of;
    uint32_t names, types, sizes; /* in hang_world.texts */
    int64_t put_in, got;          /* elements; saturated */
    bool symmetric, all_to_all;
    bool sized;    /* its sizes have to be alike on all ranks */
    bool compared; /* it has parts */
} hang_signature;

typedef struct hang_member {
    uint32_t rank, group;
    assay_flight_group *of; /* NULL: no file, or the group is not in it */
    int64_t enqueued;       /* E; -1: not known */
    int64_t done;           /* D */
    int64_t first;          /* F; HANG_NO_NUMBER: nothing is unfinished */
    uint32_t first_item;    /* its item */
} hang_member;

typedef struct hang_name { /* what a number of a group is called */
    int64_t number;
    uint32_t signature;
    uint64_t order; /* of ranks */
} hang_name;

typedef struct hang_group {
    const char *name, *description;
    uint32_t member, members;           /* into hang_world.member, by rank */
    bool collectives, any_p2p, batches; /* of any rank */
    const hang_name *named;             /* ascending */
    uint32_t names;
} hang_group;

/* Where a rank stands: its earliest unfinished operation that blocks. */
typedef struct hang_front {
    uint32_t member; /* HANG_NONE: nowhere */
    uint32_t item;   /* in .of->item or .of->p2p */
    uint32_t place;
    bool p2p;
    uint32_t stop; /* of a collective: into hang_world.stop */
} hang_front;

typedef struct hang_rank {
    int64_t number;
    assay_flight_row *row; /* NULL: no file that counts */
    uint32_t *signature;   /* by the row's: the world's */
    hang_known known;
    uint32_t membership, memberships; /* into hang_world.membership */
    hang_front front;
    bool awaited;
    bool is_short; /* its ring has lost what is first under way in some group */
    uint32_t component;
    /* Of a device: where it was found. */
    uint32_t device_member;
    int64_t finished_by, finished_number;
} hang_rank;

typedef struct hang_list {
    uint32_t *rank;
    uint32_t count;
} hang_list;

/* A collective at which ranks stand. */
typedef struct hang_stop {
    uint32_t group;
    int64_t number;
    hang_list standing;
    hang_list not_called, before, unknown; /* N, B, U */
    bool looked_at;                        /* by hang_find_stuck() */
} hang_stop;

/* Somebody waits for somebody in a point-to-point operation. */
typedef struct hang_wait {
    uint32_t from, to, item, member; /* the waiting operation: p2p item of the member `from` */
    char kind;                       /* as assay_hang_edge; '=': both have called it */
} hang_wait;

typedef struct hang_cause {
    assay_hang_test test;
    uint32_t rank; /* HANG_NONE: the group */
    uint32_t stop; /* the operation; HANG_NONE: `wait` or `device_member` has it */
    uint32_t wait;
    bool dropped;
    hang_list members; /* who stands at an operation that all have reached */
    bool held_back;
} hang_cause;

typedef struct hang_world {
    assay_arena *arena;
    bool no_memory;
    assay_dict *texts;
    hang_rank *rank;
    uint32_t ranks;
    hang_member *member;
    uint32_t members;
    uint32_t *membership;
    hang_group *group;
    uint32_t groups;
    hang_signature *signature;
    uint32_t signatures;
    hang_stop *stop;
    uint32_t stops;
    ASSAY_VEC(hang_wait) wait;
    uint32_t components;
    ASSAY_VEC(hang_cause) cause;
    assay_dict *asked;                           /* groups with numbers, */
    ASSAY_VEC(assay_hang_operation) asked_about; /* and who has come to them: many causes may stand at one */
    assay_hang_ranks left_over;
} hang_world;

/* Memory of the arena, zeroed; NULL is noted in the world. */
void *hang_take(hang_world *w, size_t count, size_t size);

/* world.c: ranks, groups and members out of rows; sets aside what is left over from an earlier attempt. */
void hang_build(hang_world *w, assay_flight_row *row, size_t rows, double max_age);
/* The item of that number of a member; NULL: it is not in the row. */
const assay_flight_item *hang_item(const hang_member *m, int64_t number);
/* The member of a rank in a group; NULL. */
hang_member *hang_member_of(const hang_world *w, uint32_t group, uint32_t rank);
/* What a number of a group is called; NULL: no rank shows it. */
const hang_signature *hang_name_of(const hang_world *w, uint32_t group, int64_t number);
static inline const hang_signature *hang_signature_of(const hang_world *w, const hang_member *m,
                                                      const assay_flight_item *item)
{
    return &w->signature[w->rank[m->rank].signature[item->signature]];
}
static inline bool hang_has_file(const hang_rank *r)
{
    return r->known == HANG_KNOWN || r->known == HANG_DEVICE;
}

/* states.c: how far each member is, older files, devices, and where each rank stands. */
void hang_find_states(hang_world *w);

/* waits.c: who waits for whom. */
void hang_find_waits(hang_world *w);
/* A half of a point-to-point operation seen from its peer. */
typedef enum hang_other { HANG_OTHER_MISSING, HANG_OTHER_THERE, HANG_OTHER_FINISHED, HANG_OTHER_UNKNOWN } hang_other;
hang_other hang_find_other(const hang_world *w, const hang_member *m, uint32_t half, const assay_flight_half **other);

/* components.c: strongly connected components of who waits for whom, into rank.component. */
void hang_find_components(hang_world *w, bool *leaves, uint32_t *size);

/* causes.c, stuck.c: the causes : single ranks, cycles; what all have reached. */
void hang_find_causes(hang_world *w);
void hang_add_cause(hang_world *w, hang_cause cause);
void hang_find_stuck(hang_world *w, uint32_t rank);

/* mismatch.c: do ranks call the same? Compares those that show the number; *kind is NULL where they do. `named` has
 * room for all members; returns how many of them are named, by rank. *shown: how many were compared. */
uint32_t hang_compare(const hang_world *w, uint32_t group, int64_t number, const char **kind, uint32_t *named,
                      uint32_t *shown);

/* text.c: a sentence about a cause, a mismatch; kept by the arena. "" without memory. `all`: the ranks of all causes,
 * which the sentence names first; NULL: of this one alone. `few`: most ranks are without a dump, as it says first. */
const char *hang_cause_text(hang_world *w, const assay_hang_cause *cause, const assay_hang_ranks *all,
                            const assay_hang *few);
const char *hang_mismatch_text(hang_world *w, const assay_hang_mismatch *mismatch);
/* "rank 3", "ranks 3 and 4", "ranks 0, 1, ... 9". */
void hang_put_ranks(const assay_hang_ranks *ranks, assay_buf *out);
/* What was called: "all_reduce of [16, 64] Float". */
const char *hang_signature_text(hang_world *w, const hang_signature *signature);
/* A copy of a buffer's text, which is released. */
const char *hang_keep_text(hang_world *w, assay_buf *text);
