/* dcp.h - distributed checkpoints of torch: .metadata says which box of which tensor lies where in *.distcp files.
 * Inside this folder only. */
#pragma once

#include "format/checkpoint/contents.h"

/* Adds the tensors of a directory with a .metadata; `names` is what lies in it. What is wrong becomes a problem. 0 or
 * ASSAY_ENOMEM. */
int assay_ckpt_add_dcp(assay_contents *c, const char *directory, const assay_names *names);
