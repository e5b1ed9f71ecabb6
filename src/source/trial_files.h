/* trial_files.h - a whole trial opened by one process, as the commands ls and show and the tests use it. */
#pragma once

#include "trial/reader.h"
#include "trial/index.h"
#include "trial/catalog.h"
#include "mesh/layout.h"

typedef struct assay_trial_files {
    assay_store *store;
    assay_trial_options *options; /* with which it is read; owned; NULL: none */
    assay_catalog catalog;
    assay_dict *tensors;     /* byte order */
    assay_shard shard;       /* every part; tensors of which workers have pieces are put together (topology/form.h) */
    assay_layouts layouts;   /* of the tensors, where the trial has a topology */
    assay_problems problems; /* those of the listing and of the index */
} assay_trial_files;

/* Lists the trial and reads its whole index. Linear in the number of files. Release with assay_trial_release(). */
int assay_trial_open(const char *location, assay_trial_files *out, assay_error *err);
/* The same with a topology from elsewhere: a path, or its JSON (topology/attach.h). NULL: none. */
int assay_trial_open_laid_out(const char *location, const char *topology, assay_trial_files *out, assay_error *err);
/* The same of a trial that is listed already: reads the index of the catalog, of which it makes a copy. Takes the store
 * over, also when it fails, and shares the options (NULL: none). */
int assay_trial_open_listed(assay_store *store, assay_trial_options *options, const assay_catalog *listed,
                            assay_trial_files *out, assay_error *err);
/* The last part of that, for ranks that have listed it and read its index together: `trial` has all rows, claims and
 * names as the files say, and the problems that reading them showed; those of the listing come before them. Puts
 * tensors together, sorts names, and gives steps a common order. Releases the trial when it fails. */
int assay_trial_finish(assay_trial_files *trial, assay_error *err);
void assay_trial_release(assay_trial_files *trial);
/* Sets *series: is the trial a series of checkpoints? Lists it, and reads no index. Errors as assay_trial_open(), and
 * ASSAY_EIO where part of it cannot be listed. */
int assay_trial_is_series(const char *location, bool *series, assay_error *err);

/* What a trial holds beside tensors, such as the step and the learning rate in a checkpoint. */
typedef struct assay_trial_other {
    char *kind, *value; /* at its last step; terminated */
    uint64_t steps;
    int64_t last_step;
} assay_trial_other;
typedef struct assay_trial_others {
    assay_dict *paths;
    assay_trial_other *list; /* by number in `paths` */
    size_t room;
} assay_trial_others;
/* Gathers it from every unit of a step of [from, to), whose index is read once more. 0 or ASSAY_ENOMEM. Release in any
 * case. */
int assay_trial_list_others(const assay_trial_files *trial, int64_t from, int64_t to, assay_trial_others *out);
void assay_trial_others_release(assay_trial_others *others);

/* Reads records of a trial in any order; keeps a file open while records come from it. Set `trial`, zero the rest. */
typedef struct assay_trial_reader {
    const assay_trial_files *trial; /* borrowed */
    assay_reader *records;
    const assay_part *part; /* whose file is open */
    uint32_t file;
} assay_trial_reader;

/* Opens the record of an entry. Errors as assay_reader_open() and assay_reader_record(). */
int assay_trial_record(assay_trial_reader *reader, const assay_part *part, const assay_entry *entry,
                       assay_record *record, assay_error *err);
void assay_trial_reader_close(assay_trial_reader *reader);
