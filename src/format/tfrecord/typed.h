/* typed.h - tensors whose elements lie in the typed fields of TensorProto (float_val, string_val, ...) instead of in
 * tensor_content. Inside trial only. */
#pragma once

#include "trial/decoded.h"
#include "format/tfrecord/record.h"

/* Decodes record->elements numbers. A single value stands for every element. ASSAY_EFORMAT when there is another number
 * of values or one does not fit the dtype; ASSAY_EBUDGET when they take more than `budget` bytes; ASSAY_ENOMEM. */
int assay_typed_numbers(assay_decoded *d, assay_view *view, const assay_record_parts *parts, const assay_record *record,
                        size_t budget, assay_error *err);
/* Decodes record->elements strings, likewise, and sets record->content_bytes to the sum of their lengths. */
int assay_typed_strings(assay_decoded *d, assay_view *view, const assay_record_parts *parts, assay_record *record,
                        size_t budget, assay_error *err);
