/* dcp_objects.h - what the pickle of a distributed checkpoint's metadata is made of: objects of torch.distributed, and
 * the names of tensors. Inside this folder only. */
#ifndef ASSAY_FORMAT_CHECKPOINT_DCP_OBJECTS_H
#define ASSAY_FORMAT_CHECKPOINT_DCP_OBJECTS_H

#include <assay/pack.h>

#include "container/pickle.h"
#include "base/dict.h"

/* Is the node an object of a class of torch.distributed of that name, in whatever module? */
bool assay_dcp_is_class(const assay_pickle *p, uint32_t node, const char *name);
/* A field of an object; ASSAY_PICKLE_NOTHING when it is none, or has no such field. */
uint32_t assay_dcp_field(const assay_pickle *p, uint32_t node, const char *name);
/* A whole number of 0 or more. False: it is none. */
bool assay_dcp_number(const assay_pickle *p, uint32_t node, uint64_t *out);

/* Under which keys the program knows each tensor, as `planner_data` says it. */
typedef struct assay_dcp_paths {
    assay_dict *keys;
    uint32_t *path; /* by number in `keys`: a list of keys */
} assay_dcp_paths;

/* Reads them; anything but a dictionary says none. 0 or ASSAY_ENOMEM; release either way. */
int assay_dcp_paths_read(const assay_pickle *p, uint32_t planner, assay_dcp_paths *out);
void assay_dcp_paths_release(assay_dcp_paths *paths);

/* The name that rules know, for a text `key` that the metadata has: by the program's keys where they are said. 0 or
 * ASSAY_ENOMEM. */
int assay_dcp_put_name(const assay_pickle *p, uint32_t key, const assay_dcp_paths *paths, assay_buf *out);
/* Do those keys, joined by points as writers do it, make the name? 1 (also where no keys are said); 0, with what they
 * make in `joined`; ASSAY_ENOMEM. Nothing else guards either against damage. */
int assay_dcp_path_agrees(const assay_pickle *p, uint32_t key, const assay_dcp_paths *paths, assay_buf *joined);

#endif
