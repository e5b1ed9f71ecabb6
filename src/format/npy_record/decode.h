/* decode.h - a .npy file as the record of a tensor, for every format whose records are such files. */
#pragma once

#include "container/npy_head.h"
#include "trial/decoded.h"

/* As decode of trial/trial_format.h. */
int assay_npy_decode(assay_decoded *d, assay_view *view, size_t budget, assay_record *record, assay_error *err);
