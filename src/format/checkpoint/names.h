/* names.h - gives the tensors of a checkpoint the names that rules and people know. Inside this folder only. */
#pragma once

#include "format/checkpoint/contents.h"

/* Takes out what wrappers of modules put into names, and names the parameters that optimizers number where there is
 * only one way to do so. Names stay distinct. 0 or ASSAY_ENOMEM. */
int assay_ckpt_name(assay_contents *c);
