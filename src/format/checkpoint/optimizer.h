/* optimizer.h - the state of optimizers in torch files. Inside this folder only. */
#pragma once

#include "format/checkpoint/torch.h"

/* Adds the tensors of an optimizer's state_dict, or of a list of them, by assay_torch_add(): optimizer/PARAMETER/KEY,
 * where PARAMETER is #number unless the file has its name. Notes the groups of numbers in the contents. 0 or
 * ASSAY_ENOMEM. */
int assay_optimizer_add(assay_torch *t, uint32_t node, void *context);
/* Notes Adam's decay rates of the first group that has them. */
void assay_optimizer_note_betas(assay_contents *c, const assay_pickle *p, uint32_t groups);
/* torch.c: adds what is below a node, under names that begin with `prefix`. */
void assay_torch_add(void *context, uint32_t node, const char *prefix);
