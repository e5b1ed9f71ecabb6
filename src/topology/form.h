/* form.h - logical tensors: index rows of pieces become rows of whole tensors.
 *
 * The pieces that workers have of a tensor at a step get the kind ASSAY_PIECE: only rules that compare workers look at
 * them. Those that make up a copy get one row, in a part of the copy's lowest worker that is of the format ASSEMBLED
 * (assembled.h). What is not split stays as it is. So whoever reads rows and records needs to know nothing of
 * topologies. */
#pragma once

#include "trial/index.h"
#include "mesh/layout.h"

/* First: names what a shard has as the tensors are called, and notes where they are. 0 or ASSAY_ENOMEM. */
int assay_form_names(const assay_topology *t, assay_layouts *layouts, assay_dict *tensors, assay_shard *shard,
                     assay_problems *problems);
/* Then, when the layouts of the whole trial are known: forms the logical tensors of a shard that has whole steps. A
 * copy that lacks a piece is not formed: its name is promised (assay/rule.h), and where the worker wrote the step but
 * not the piece that is a problem. 0 or ASSAY_ENOMEM. */
int assay_form_tensors(const assay_catalog *catalog, const assay_topology *t, const assay_layouts *layouts,
                       const assay_dict *tensors, assay_shard *shard, assay_problems *problems);
