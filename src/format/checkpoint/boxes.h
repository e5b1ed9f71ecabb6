/* boxes.h - tensors that lie in several pieces, while the pieces are gathered. Inside this folder only. */
#pragma once

#include "format/checkpoint/contents.h"

typedef struct assay_boxes assay_boxes;

/* NULL without memory. */
assay_boxes *assay_boxes_new(void);
void assay_boxes_free(assay_boxes *b); /* NULL is ignored */
/* The number of a tensor, added when it is new; ASSAY_NO_ID without memory. */
uint32_t assay_boxes_tensor(assay_boxes *b, const char *name, size_t length);
/* Adds a piece: `place` has its dtype, its own shape and how its elements lie at `at`; `first` its place in the tensor.
 * 0 or ASSAY_ENOMEM. */
int assay_boxes_add(assay_boxes *b, uint32_t tensor, const assay_ckpt_place *place, const int64_t *first,
                    const assay_ckpt_stretch *at);
/* Says how large a tensor is. Without it, it ends where its pieces do. */
int assay_boxes_set_shape(assay_boxes *b, uint32_t tensor, const int64_t *shape, int dims);
/* Some pieces of the tensor cannot be read: the tensor is left out, without further messages. */
void assay_boxes_give_up(assay_boxes *b, uint32_t tensor);

/* The same of all tensors: it is not known which pieces a file had. */
void assay_boxes_give_up_all(assay_boxes *b);

/* Adds the tensors to the contents, in the order in which they were named. Those with holes, with elements in two
 * pieces, or with pieces of different dtypes become problems of `path`. */
int assay_boxes_finish(assay_boxes *b, assay_contents *c, const char *path);
