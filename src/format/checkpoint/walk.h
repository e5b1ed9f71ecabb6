/* walk.h - goes through the dictionaries and lists of a pickle, in their order. Inside this folder only. */
#pragma once

#include <assay/pack.h>

#include "container/pickle.h"

/* Is told of a node below the one where a walk began, by its path: keys and places in lists, joined by points.
 * True: what the node holds is not looked at. */
typedef bool assay_walk_visit(void *context, uint32_t node, const char *path, size_t length);

enum { ASSAY_WALK_PATH_MOST = 64 << 10 /* bytes of a path: a key may be shared by many levels of dictionaries */ };

/* Visits a node and all that it holds. What is held twice is visited once. `path` has what paths begin with. 0; 1: all
 * but what has a longer path than ASSAY_WALK_PATH_MOST; ASSAY_ENOMEM. */
int assay_walk(const assay_pickle *p, uint32_t node, assay_buf *path, assay_walk_visit *visit, void *context);

/* Is it a module of torch that was pickled as a whole? Its parameters, buffers and modules are gone through as if they
 * were in one dictionary. */
bool assay_walk_is_module(const assay_pickle *p, uint32_t node);

/* Is it a dictionary, or what torch saves as one (OrderedDict and its like)? */
bool assay_walk_is_dict(const assay_pickle *p, uint32_t node);
bool assay_walk_is_list(const assay_pickle *p, uint32_t node);
/* The numbers of a list, tuple or torch.Size, none of them negative; their count, or -1 when it is none, or has more
 * than ASSAY_MAX_DIMS (room of `out`). */
int assay_walk_numbers(const assay_pickle *p, uint32_t node, int64_t *out);
/* Appends a key: a text as it is, a number in digits, anything else as "?". */
void assay_walk_put_key(const assay_pickle *p, uint32_t key, assay_buf *out);
