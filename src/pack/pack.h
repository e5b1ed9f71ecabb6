/* pack.h - packs trials into one HDF5 file, and restores them (docs/packed.md). All ranks work together. */
#pragma once

#include "job/job.h"
#include "hdf5/hdf5_file.h"

typedef struct assay_pack_options {
    const char *output;
    bool compress, verify, resume;
    bool follow_links; /* symbolic links out of a trial are packed as what they lead to, not refused */
    assay_hdf5_hints hints;
} assay_pack_options;

typedef struct assay_pack_figures { /* the same on every rank */
    uint64_t trials, files, bytes, records;
    uint64_t unreadable; /* files that could not be read, carried as such */
    uint64_t losses;     /* problems of the trials' index that mean damage or loss, and files that lack records of it */
    uint64_t damaged;    /* records that are not what their own checksum says, carried as they are */
    assay_error first_damaged;
    bool kept; /* --resume: the file was there, complete and of the same trials */
    bool anew; /* --resume: an unfinished file was there, and packing began again */
} assay_pack_figures;

/* Packs the job's trials into options->output. The file has its name only when it is complete (and, with `verify`, was
 * read back and found equal). Errors name the trial or the output and leave nothing behind. Collective. */
int assay_pack(assay_comm *comm, const assay_job *job, const assay_pack_options *options, assay_pack_figures *out,
               assay_error *err);

/* Compares a trial with a packed one: files, their bytes, and the index tables with the index. ASSAY_EFORMAT
 * names the first difference. Collective. */
int assay_pack_compare(assay_comm *comm, const char *trial, const char *packed, assay_error *err);

/* True in *same when the packed file is complete and has the files of the trial, by names and sizes. Collective. */
int assay_pack_matches(assay_comm *comm, const char *trial, const char *packed, bool *same, assay_error *err);

/* Writes a packed trial as a directory, which must not exist or be empty: under another name first. Collective. */
int assay_unpack(assay_comm *comm, const char *packed, const char *directory, assay_pack_figures *out,
                 assay_error *err);
