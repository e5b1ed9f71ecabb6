/* alike.h - records that look like an earlier one. The files of a training are alike: a record has the bytes that the
 * record of the tensor had at the step before, but for its content, its time and its step. Such a record need not be
 * walked message by message again. Inside trial only. */
#pragma once

#include "format/tfrecord/record.h"

/* As assay_record_walk(), with what is remembered of earlier records. *kept: NULL at first; made here where there is
 * memory, and the caller's to free(). */
int assay_alike_walk(void **kept, assay_view *view, uint64_t at, uint64_t end, assay_record_parts *parts,
                     assay_record *record, assay_error *err);
