/* topology_groups.h - a topology of process groups, for assay topology. */
#ifndef ASSAY_CLI_TOPOLOGY_GROUPS_H
#define ASSAY_CLI_TOPOLOGY_GROUPS_H

#include <assay/pack.h>
#include <assay/status.h>
#include <stdint.h>

/* Looks for groups in files (topology/group_files.h) at `place`: the path of a directory; else, when that is
 * NULL, in the trial and in what lies beside it under such names as "traces". Appends a topology.json for the workers,
 * or for all ranks that the groups have where `workers` is 0; with `preset`, or that of Megatron-LM where the names of
 * the groups are its own, also entries for tensors. *made is false where no group tells an axis. `why` gets a line for
 * each thing found. ASSAY_ENOTFOUND: `place` is not there; ASSAY_ENOMEM. */
int cli_topology_of_groups(const char *location, const char *place, char *const *worker, uint32_t workers,
                           const char *preset, assay_buf *out, assay_buf *why, bool *made, assay_error *err);

#endif
