/* output.h - turns queued items into files: one event file and one index file per step, the collections file,
 * TensorBoard's files. Only the writer thread uses it. */
#pragma once

#include <assay/hook.h>
#include <assay/pack.h>
#include "hook/config.h"
#include "hook/names.h"
#include "hook/queue.h"
#include "hook/stream.h"

typedef struct hook_output {
    const hook_config *config; /* frozen */
    const char *directory, *worker;
    int num_workers;
    const struct hook_topology *topology; /* what the training said of its workers (topology.h); the hook's, frozen */
    uint64_t serial;                      /* of the open step; 0 when none is */
    int64_t step, mode_step;
    int mode;
    bool failed; /* the open step cannot be written any more */
    bool again;  /* it is on disk already, and gets more */
    hook_stream stream;
    char *event_path; /* owned; of the open step */
    assay_buf head, tail, payload, shapes;
    assay_buf board[HOOK_MODES]; /* what TensorBoard is to get when the step closes */
    int board_file[HOOK_MODES];  /* open for appending, or -1 */
    void *buckets;               /* owned; memory for histograms */
    uint64_t collections_version;
    bool collections_written;
    uint64_t records, bytes; /* of the open step, without what was there */
    uint64_t before;         /* bytes that its event file had */
} hook_output;

/* `config`, `directory` and `worker` stay the caller's. */
int hook_output_init(hook_output *out, const hook_config *config, const char *directory, const char *worker,
                     int num_workers);
void hook_output_release(hook_output *out);

/* Writes one item into its step, which it opens when none is open. A failure spoils the step. */
int hook_output_item(hook_output *out, const hook_item *item, assay_error *err);
/* Ends the open step: event file, then (when they changed) the collections, then the index. `known` are the names of
 * `version`. On failure nothing of the step is left. */
int hook_output_close_step(hook_output *out, const hook_name *known, size_t count, uint64_t version, assay_error *err);
/* True when the collections file on disk is not of this version. */
bool hook_output_wants_collections(const hook_output *out, uint64_t version);
/* Writes run/<worker>.json. What a run before this one left there moves to run/earlier/. */
int hook_output_facts(hook_output *out, assay_buf *text, bool again, assay_error *err);
/* Writes the collections file, and what is known of pieces (topology/<worker>.json) where there are some. */
int hook_output_collections(hook_output *out, const hook_name *known, size_t count, uint64_t version, assay_error *err);
