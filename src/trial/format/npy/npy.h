/* npy.h - what the files of this format share: trees of NumPy files (docs/format.md). Inside this folder only. */
#ifndef ASSAY_NPY_NPY_H
#define ASSAY_NPY_NPY_H

#include "trial/format/format.h"

typedef struct assay_npy_head { /* what a file's header says */
    int dtype;                  /* assay_dtype */
    bool swapped;               /* the most significant byte comes first */
    bool fortran;               /* the first dimension varies fastest */
    int dims;
    int64_t shape[ASSAY_MAX_DIMS];
} assay_npy_head;

enum { ASSAY_NPY_LEAST = 10 /* magic, version, and the length of a header of version 1 */, ASSAY_NPY_HEADER = 1 << 20 };

/* Reads the text of a header, of so many bytes; `options` (NULL: none) may say what void elements are. What is wrong
 * goes to `what`, a sentence without its subject, and *at tells the offset in the text. ASSAY_EFORMAT, or
 * ASSAY_EUNSUPPORTED for a dtype that is known and not read. */
int assay_npy_head_read(const char *text, size_t size, const assay_trial_options *options, assay_npy_head *out,
                        size_t *at, assay_error *what);

/* Is it the header of an array of Python's objects? Of one that was refused. */
bool assay_npy_is_objects(const char *text, size_t size);

/* The step in the name of a directory; false when it has none. */
bool assay_npy_step_name(const char *name, int64_t *step);
/* True for the name of a worker's directory. */
bool assay_npy_worker_name(const char *name);

/* npy.c */
extern const assay_format assay_format_npy;

/* layout.c */
bool assay_npy_probe(const assay_names *top);
int assay_npy_list(assay_lister *lister);
int assay_npy_conclude(assay_lister *lister);
void assay_npy_remark(assay_catalog *catalog, const assay_unit *unit, const assay_unit *used);
/* The directory of the unit's step; NULL: there is no such place. */
const char *assay_npy_directory(const assay_catalog *catalog, const assay_unit *unit);
uint32_t assay_npy_place_of(const assay_catalog *catalog, const assay_unit *unit);
int assay_npy_index_path(const assay_catalog *catalog, const assay_unit *unit, char *out, size_t room);
int assay_npy_file_path(const assay_catalog *catalog, const assay_part *part, uint32_t file, char *out, size_t room);

/* The places of the trial as a whole: format.h, places. */
int assay_npy_places(assay_store *store, assay_place_visit *visit, void *context);

/* index.c */
int assay_npy_unit_places(assay_store *store, const assay_catalog *catalog, const assay_unit *unit,
                          assay_place_visit *visit, void *context);
int assay_npy_index(assay_store *store, const assay_catalog *catalog, const assay_unit *units, size_t count,
                    assay_dict *tensors, assay_shard *shard, assay_problems *problems);

/* decode.c */
int assay_npy_decode(assay_decoded *d, assay_view *view, size_t budget, assay_record *record, assay_error *err);

#endif
