/* fit.h - what the axes of a mesh mean for a tensor, by the boxes that workers have of it. Part of pieces.h. */
#pragma once

#include "topology/pieces.h"

enum { ASSAY_FIT_PLACES = 1 << 20 /* of a mesh, at most */ };

/* The place of a worker in a mesh, row by row; UINT64_MAX: it did not say it. */
uint64_t assay_said_place(const assay_said_mesh *mesh, uint32_t worker);

/* Appends what an entry says of a tensor whose `count` pieces fit the mesh: `, "split": {..}, "replicate": [..]`. 1; 0:
 * they do not fit it, and nothing is appended; ASSAY_ENOMEM. */
int assay_fit(const assay_said *said, uint32_t mesh, const assay_said_piece *piece, size_t count, assay_buf *body);
/* The same with a mesh of its own, which is added unless there is such a one. */
int assay_fit_alone(assay_said *said, const assay_said_piece *piece, size_t count, assay_buf *body);
/* What is wrong with pieces that fit no mesh: two of them overlap; they do not cover the tensor, though `all` workers
 * said what they have; or they are of different tensors. Appends it, with the workers that it is about, where two are
 * enough to tell; nothing where the pieces show nothing. */
void assay_put_misfit(const assay_said *said, const assay_said_piece *piece, size_t count, bool all, assay_buf *out);
