/* zeros.h - files whose ends were never written. Inside this folder only. */
#pragma once

#include "verify/judge.h"

/* Adds a remark on each file of the asked steps without checksums that ends in zeros which begin within a row of a
 * tensor: its room was taken and not written. Zeros that are whole tensors or whole rows may be meant. ASSAY_OK,
 * ASSAY_ENOMEM. */
int assay_verify_zeros(const assay_trial_files *trial, const assay_verify_options *options,
                       assay_verify_remarks *remarks, assay_error *err);
