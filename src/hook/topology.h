/* topology.h - what a training says of its workers: meshes, groups, what is true of tensors. It goes into the trial as
 * topology/<worker>.json together with the pieces that the worker saves, which other readers of the format ignore.
 *
 * Each worker writes its own file, as workers do not communicate. It is written again when a tensor comes that was not
 * saved before, always before the index of that step. docs/format.md has the members. */
#pragma once

#include <assay/hook.h>
#include <assay/pack.h>
#include "hook/names.h"

typedef struct hook_topology {
    char **mesh; /* owned; a JSON member of "meshes" each */
    size_t meshes;
    char **group; /* owned; a JSON object each */
    size_t groups;
    char *tensors; /* owned; a JSON list; NULL: not said */
} hook_topology;

/* Frees what was said. */
void hook_topology_release(hook_topology *topology);
/* Appends the file; `known` are names with their layouts. False: there is nothing to say. */
bool hook_topology_put(const hook_topology *topology, const char *worker, const hook_name *known, size_t count,
                       assay_buf *out);
