/* trial_info.h - the trial as rules see it (assay_trial of assay/rule.h): built by the engine, same on every rank. */
#pragma once

#include <assay/rule.h>

#include "timeline/collect.h"
#include "timeline/step_times.h"
#include "trace/trace.h"
#include "trial/align.h"
#include "trial/catalog.h"
#include "trial/manifest.h"
#include "base/dict.h"
#include "mesh/relations.h"

struct assay_hang_files; /* hang/collect.h */

struct assay_trial {
    char *name, *path;
    const assay_catalog *catalog; /* borrowed */
    assay_dict *tensors;          /* owned, byte order */
    uint8_t *tensor_modes;        /* [tensors] bit 1 << mode where saved raw */
    uint32_t *position;           /* [tensors] in the order in which they were saved; NULL: not known */
    uint32_t *order;              /* [tensors] in order of computation */
    uint8_t *role;                /* [tensors] assay_role */
    uint8_t *logged;              /* [tensors] bits of assay_trial_logged(); NULL: the trial is no log */
    bool weights_first;           /* weights are saved before the pass that uses them */
    assay_step_info *steps;       /* ascending in step */
    uint32_t *mode_rank;          /* [step_count] */
    uint64_t step_count;
    uint64_t mode_steps[ASSAY_MODES];
    unsigned modes;
    uint8_t *worker_modes; /* [catalog->workers] bit 1 << mode that the worker wrote a step of; NULL: not known */
    assay_manifest claims; /* what the index says beside its records, in order */
    const assay_problems *problems; /* while rules are finalized: all of the trial; borrowed */
    assay_relations *relations;     /* of workers, by tensor; NULL: nobody says; owned */
    assay_step_shifts shifts;       /* where workers count their steps otherwise than the lowest one */
    assay_matcher **matchers;       /* [catalog->collections.count] */
    uint8_t **listed; /* [catalog->collections.count] a bit for each tensor that is listed; NULL: the lists are there */
    assay_timeline_data *timeline;  /* on the rank that finalizes; owned; NULL: the trial recorded none */
    assay_trace_data *traces;       /* likewise: what the traces of its ranks come to */
    struct assay_hang_files *dumps; /* likewise: what was read of flight recorders' dumps */
    assay_step_times *step_times;   /* in a finished run, of a trial with tensors and steps in time; owned; else NULL */
    uint64_t serial; /* of this program's trials: no two have the same, one after the other at one address neither */
};

/* As assay_trial_find_step(), at once where `guess` is right. */
static inline uint64_t assay_trial_find_step_at(const assay_trial *trial, uint64_t guess, int64_t step)
{
    return guess < trial->step_count && trial->steps[guess].step == step ? guess : assay_trial_find_step(trial, step);
}

/* The name of an input or output of a module of PyTorch with the module's type in the place of its name: "Tanh_input_0" of
 * "Net_squash_input_0". False: the type is not known, or there is no room. */
bool assay_trial_typed_name(const assay_trial *trial, const char *tensor, char *out, size_t room);
/* Is an input or output, X_input_N or X_output_N, one of a module that has modules of its own, which the trial says? */
bool assay_trial_is_composite(const assay_trial *trial, const char *tensor);
/* Have several workers pieces of the tensor, which are put together? */
bool assay_trial_is_split(const assay_trial *trial, uint32_t tensor);
/* Fills mode_rank, mode_steps and modes from steps; compiles the matchers. Bad collection regexes become problems. 0 or
 * ASSAY_ENOMEM. */
int assay_trial_info_finish(assay_trial *trial, assay_problems *problems);
/* Bytes that say all that rules may ask of a trial, and a trial made of them, which answers the same: for rules in
 * another process. ASSAY_EFORMAT or ASSAY_ENOMEM; free with assay_trial_unpacked_free(). (trial_pack.c) */
void assay_trial_pack(const assay_trial *trial, assay_buf *out);
int assay_trial_unpack(assay_cursor *in, assay_trial **out, assay_error *err);
void assay_trial_unpacked_free(assay_trial *trial);
/* The first part of assay_trial_info_finish(), all but the order of computation. */
int assay_trial_info_prepare(assay_trial *trial, assay_problems *problems);
/* Holds a bit for each listed tensor in place of the lists of names in `listing`, which is the trial's own. 0 or
 * ASSAY_ENOMEM. */
int assay_trial_info_drop_lists(assay_trial *trial, assay_catalog *catalog);
/* 1 when the tensor belongs to the collection, 0 when not, or ASSAY_ENOMEM. Of a collection's regexes the first name
 * that one gives up on is a problem, unless `problems` is NULL; it counts as no match. */
int assay_trial_is_member(const assay_trial *trial, const char *collection, uint32_t tensor, assay_problems *problems);
/* Fills role and order from names, collections and position. 0 or ASSAY_ENOMEM. (trial_order.c) */
int assay_trial_order_find(assay_trial *trial);
void assay_trial_info_free(assay_trial *trial);
