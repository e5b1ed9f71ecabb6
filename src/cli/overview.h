/* overview.h - what `assay ls` knows about a trial before it prints text or JSON. */
#pragma once

#include "cli/cli.h"
#include "report/text/draw.h"
#include "recording/recording.h"
#include "report/text/workers.h"
#include "rule/trial_info.h"

typedef struct overview_tensor {
    int dtype; /* -1: never saved raw, or its record cannot be read */
    int dims;  /* -1: unknown */
    int64_t shape[ASSAY_MAX_DIMS];
    uint64_t raw;        /* records of the tensor itself */
    uint64_t steps;      /* global steps with any record of it, over all workers */
    int64_t last_step;   /* while counting */
    uint32_t reductions; /* bit 1 << kind */
    uint32_t same_as;    /* the tensor of whose elements it is another name; ASSAY_NO_ID: none */
    bool promised;       /* an index says that it is there, and it cannot be read at some step */
} overview_tensor;

typedef struct overview_writer { /* of profiler data: a machine or a process, and the files of one kind */
    char *name;                  /* owned */
    const assay_event_file *largest;
    size_t files, unfinished;
    uint64_t bytes;
    int64_t from, to; /* times that the files' names say; from > to: all are open still */
} overview_writer;

typedef struct overview {
    assay_recording *recording;      /* owned; what follows borrows from it */
    assay_trial_files *files;        /* its own */
    const assay_worker_names *names; /* its own */
    overview_tensor *tensor;         /* [assay_dict_count(files->tensors)] */
    assay_trial_others others;       /* what is no tensor */
    bool all;                        /* these are listed, not only counted */
    assay_setting_range range;       /* the steps that are looked at */
    uint8_t **member; /* [files->catalog.collections.count][tensors] does the tensor belong to the collection? */
    assay_trial info; /* name, steps and tensors, as the report's writers want them */
    assay_job_trial trial;
    overview_writer *writer; /* in order of their first files; owned */
    size_t writers;
    assay_timeline_data *sampled; /* the largest file of each machine; NULL: none */
    assay_trial_outcome outcome;  /* the same trial with its incomplete steps; borrows from the fields above */
} overview;

/* Its profiler data (ls_events.c). */
int overview_read_events(overview *o, assay_error *err);
void overview_release_events(overview *o);
void overview_put_events(const overview *o, const assay_draw *draw, assay_buf *out);
void overview_put_events_json(const overview *o, assay_jw *w);
