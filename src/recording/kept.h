/* kept.h - the values of small steps in memory.
 *
 * A script that walks tensor by tensor comes to each file once for every tensor. The second time that a record of a
 * small part is read, all of the part is decoded and kept, as long as there is room; nothing is ever dropped for
 * something else, so that a walk over more than fits does not decode a part again and again. Strings, and records that
 * cannot be read, are left out: they are read as if nothing were kept. A file whose mapping is as good as a read
 * (place.h) is mapped, and its contents are not copied: clearing memory for them takes longer than all else. */
#pragma once

#include <assay/trial.h>

#include "source/trial_files.h"

typedef struct recording_part recording_part; /* of which all records are kept */

typedef struct recording_kept {
    recording_part **parts;  /* [parts of the index] NULL: not kept */
    uint8_t *read;           /* [parts of the index] how often the part was read; 255: it is not to be kept */
    size_t size, most;       /* bytes in use, and how many may be */
    uint8_t **slab;          /* [slabs] what heads and values lie in */
    size_t slabs, slab_used; /* used: of the last one */
    size_t maps;             /* files that are mapped */
} recording_kept;

/* 0 or ASSAY_ENOMEM. */
int recording_kept_init(recording_kept *kept, size_t parts);
/* Unmaps and frees all that is kept, `parts` being those of the start. */
void recording_kept_release(recording_kept *kept, size_t parts);

/* The content of an entry, and its head; NULL: it is not kept. May decode the part that it is in, with `reader`; lack
 * of memory only means that nothing is kept. */
const uint8_t *recording_kept_find(recording_kept *kept, assay_trial_reader *reader, const assay_part *part,
                                   const assay_entry *entry, assay_recorded_head *head);

/* Fills *head from a record. */
void recording_head_of(const assay_record *record, assay_recorded_head *head);
/* Reads all of the content of the open record, of `bytes` bytes, to `to`. Statuses as assay_reader_content(). */
int recording_pull(assay_reader *records, uint8_t *to, uint64_t bytes, assay_error *err);
