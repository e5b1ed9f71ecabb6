/* restart.h - the finished part of a run in one file: packed results of chunks, and which job and trials they belong
 * to.
 *
 * The file (docs/checkpoint.md): a magic, the format's version, assay's version, two digests, the number of chunks, the
 * nodes of the combine tree (combine.h) in the order of their chunks, and the SHA-256 of all that. Nodes carry level
 * and index, so any number of ranks can continue, and the tree, and with it the report, stays the same. */
#pragma once

#include "engine/reduce/combine.h"
#include "engine/plan/plan.h"

#define ASSAY_RESTART_MAGIC "assayCKP" /* what the file begins with */

typedef struct assay_restart_identity { /* what a checkpoint belongs to; texts are cut to fit */
    char version[32];
    char job[65];    /* SHA-256, hexadecimal: the job's text and all options that the results depend on */
    char trials[65]; /* of the listing, the index and the chunks */
} assay_restart_identity;

typedef struct assay_restart_node {
    uint32_t source, level;
    uint64_t index;
    uint64_t at, size; /* its packed assay_partial in the file's bytes, or in those that hold the nodes */
} assay_restart_node;

/* The nodes of a checkpoint that lie among a rank's chunks, still packed. */
typedef struct assay_restart {
    assay_restart_node *nodes; /* owned, ascending in chunks */
    size_t count;
    size_t next; /* the first that the loop has not reached */
    assay_buf bytes;
} assay_restart;

/* An empty one, and its end: frees the nodes and their bytes. Not collective. */
void assay_restart_init(assay_restart *c);
void assay_restart_release(assay_restart *c);

/* The first chunk of the plan that a node covers, and the one behind its last. Not collective. */
uint64_t assay_restart_first(const assay_plan *plan, const assay_restart_node *node);
uint64_t assay_restart_end(const assay_plan *plan, const assay_restart_node *node);

/* ---- the file's bytes: not collective ---- */

/* Appends a node: `size` packed bytes. */
void assay_restart_put_node(assay_buf *out, uint32_t source, uint32_t level, uint64_t index, const void *packed,
                            uint64_t size);
/* The whole file around the nodes that were put: `nodes` holds `count` of them. Failures are remembered in `out`. */
void assay_restart_put_file(assay_buf *out, const assay_restart_identity *identity, uint64_t chunks,
                            const assay_buf *nodes, uint64_t count);
/* Reads a file's bytes; the nodes refer into them. ASSAY_EUSAGE with the reason when it is damaged or of another
 * version, job or state of the trials; ASSAY_ENOMEM. On success the caller frees *nodes. `path` is for messages. */
int assay_restart_parse(const char *path, const void *bytes, size_t size, const assay_restart_identity *identity,
                        const assay_plan *plan, assay_restart_node **nodes, size_t *count, assay_error *err);

/* ---- the run ---- */

/* Computes the identity. Before assay_plan_redistribute(), while every rank holds the units that it read.
 * Collective; the same on every rank. */
int assay_restart_identify(assay_comm *comm, const assay_sources *sources, const assay_plan *plan,
                           const assay_engine_options *options, assay_restart_identity *out, assay_error *err);

/* Reads the checkpoint file of the options on rank 0 and hands its nodes to the ranks that own their chunks: marks
 * those as done in the plan and deals the chunks out again. A missing file is no failure: the run starts from the
 * beginning and says so. ASSAY_EUSAGE as assay_restart_parse(). Collective. */
int assay_restart_resume(assay_comm *comm, const assay_engine_options *options, const assay_restart_identity *identity,
                         assay_plan *plan, assay_restart *mine, assay_error *err);

/* Hands nodes that rank 0 has, ascending in chunks, to the ranks that own their chunks: marks these as done in the plan
 * and deals the chunks out again. `all` is looked at on rank 0 alone. ASSAY_ENOMEM, ASSAY_EMPI. Collective. */
int assay_restart_hand_out(assay_comm *comm, const assay_restart *all, assay_plan *plan, assay_restart *mine,
                           assay_error *err);

/* Writes what all ranks hold and what they have not reached of the checkpoint before. *done gets the number of chunks
 * in the file, on rank 0. ASSAY_EIO when it cannot be written, ASSAY_ENOMEM. `status` is how this rank fared so far.
 * Collective. */
int assay_restart_save(assay_comm *comm, const char *path, const assay_restart_identity *identity,
                       const assay_plan *plan, const assay_combiner *combiners, const assay_restart *mine, int status,
                       uint64_t *done, assay_error *err);
