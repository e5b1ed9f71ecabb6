/* decode.h - records of event files, for the formats that have some. Inside trial/format only. */
#pragma once

#include "trial/decoded.h"

/* As decode() of a format. The record's name is its whole tag. */
int assay_tfrecord_decode(assay_decoded *d, assay_view *view, size_t budget, assay_record *record, assay_error *err);
