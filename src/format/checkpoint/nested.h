/* nested.h - a zip file of torch files, as stable-baselines3 saves an agent. Inside this folder only. */
#pragma once

#include "format/checkpoint/contents.h"

/* Has the zip file, which is open, files of torch among its entries, and no pickle of torch of its own? */
bool assay_ckpt_nests(const assay_ckpt_file *f);
/* Adds the tensors of these files, under their names: policy.pth's as "policy.NAME", those of policy.optimizer.pth as
 * "optimizer/policy.NAME". 0 or ASSAY_ENOMEM. */
int assay_ckpt_add_nested(assay_ckpt_file *f);
