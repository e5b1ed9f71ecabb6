/* place.h - where a record's content lies on this machine, and its file in memory without a copy. */
#pragma once

#include "source/trial_files.h"

typedef struct recording_mapped { /* a file of a trial; zeroed: none */
    const uint8_t *bytes;
    size_t size;
} recording_mapped;

/* Sets `path` and *offset to where the content of the record that is open in the reader begins. False: it is not one
 * stretch of a file here; with `lasting` also where a mapping is not as good as a read (assay_recording_place()). */
bool recording_place(const assay_trial_reader *reader, const assay_record *record, bool lasting, char *path,
                     size_t room, uint64_t *offset);

/* Maps the whole file of the record that is open in the reader. False: its place does not last, or the system has no
 * mapping to give. */
bool recording_map(const assay_trial_reader *reader, const assay_record *record, recording_mapped *out);
void recording_unmap(recording_mapped *mapped);
