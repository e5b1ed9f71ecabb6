/* watch_internal.h - what the parts of watch.h share. Inside watch only. */
#pragma once

#include "engine/plan/plan.h"
#include "engine/reduce/restart.h"
#include "engine/source/run_view.h"
#include "topology/group_files.h"
#include "watch/watch.h"
#include "watch/stable_ids.h"

/* One unit: its index, and the files that it speaks of. */
typedef struct watched_part {
    int64_t step;
    uint8_t format, mode; /* as its unit has them */
    char *worker;         /* as in file names; owned */
    assay_store_stamp index, event;
    assay_shard shard; /* what the index says: one part, none while it cannot be used */
    double since;      /* when one of the two was last seen to change */
    bool ready;        /* the index can be used, and its files have what it promises */
    bool taken;        /* its step is evaluated */
    bool settled;      /* nothing has changed for long: it is not looked at any more */
    bool suspect;      /* something of its step could not be read: it is looked at for ever */
} watched_part;

/* A directory, or a file of no part, whose change means: list the trial again. */
typedef struct watched_place {
    assay_store_stamp stamp;
    double since;
} watched_place;

/* The result of one step. */
typedef struct kept_node {
    int64_t step;
    uint64_t key;    /* of everything that it depends on */
    uint8_t *packed; /* owned */
    uint64_t size;
} kept_node;

typedef struct watched_source {
    const char *path;                   /* borrowed of watch->sources */
    const char *root;                   /* where it lies, if not there: likewise */
    const assay_trial_options *options; /* borrowed; NULL: none */
    assay_store *store;
    assay_catalog catalog; /* the whole of it */
    bool listed;
    char reason[512]; /* why it was not listed, the last time that it was not */
    bool unlisted;    /* the last listing was refused or broke off */
    bool constant;    /* a storage whose contents never change */
    uint64_t looks;
    bool grown;          /* a worker came since the trial was listed as a whole */
    watched_part **part; /* [catalog.unit_count], in the same order; owned */
    uint8_t *late;       /* [catalog.workers] workers that are not waited for */
    bool unnamed_late;   /* nor workers that the trial announced and that never wrote */
    bool collections_late;
    assay_dict *names;   /* tensors, in order of occurrence: how the parts' shards are numbered */
    watched_ids numbers; /* of the tensors, as evaluations see them */
    uint8_t *train;      /* [train_known] by name: 0 not seen so far, else 1 + whether it was saved in mode TRAIN */
    uint32_t train_known;
    uint64_t train_changes; /* how often that changed of a name that was seen before */
    const char *topology;   /* given by the job; borrowed; NULL: none */
    assay_layouts layouts;  /* of the tensors, where the trial has a topology */
    assay_group_files groups;
    assay_dict *place_names;
    watched_place *places; /* [place_names] */
    size_t place_room;
    uint64_t events;    /* hash of what the event files look like, as it was last looked at */
    double events_at;   /* when that was */
    uint64_t facts;     /* hash of what rules may know besides steps: workers, collections, the end */
    uint64_t evaluated; /* hash of what the last evaluation saw */
    uint64_t view;      /* hash of what the next one will see */
    kept_node *kept;    /* ascending in step */
    size_t kept_count;
} watched_source;

struct assay_watch {
    assay_comm *comm;
    double lag;
    assay_sources sources; /* for their names alone */
    watched_source *list;  /* [sources.count]; rank 0 */
    assay_run_view view;
    /* of the run under way, rank 0 */
    uint64_t *key;   /* [chunks] */
    uint64_t *found; /* [chunks] its number among the kept nodes of its source, UINT64_MAX: to be mapped */
    /* calls */
    bool said;
    uint64_t words; /* to rank 0; on rank 0: those taken */
};

/* Will the next evaluation see the part? (watch.c) */
static inline bool watched_part_seen(const watched_part *part)
{
    return part->ready && part->taken;
}

const struct assay_layouts *assay_watch_layouts(void *context, uint32_t source); /* scan_topology.c */
int assay_watch_recall(void *context, const assay_sources *sources, assay_plan *plan, assay_restart *mine,
                       assay_error *err);
int assay_watch_keep(void *context, const assay_plan *plan, const assay_sources *sources, const assay_buf *mapped,
                     assay_error *err);
