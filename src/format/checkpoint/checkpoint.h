/* checkpoint.h - what the files of this format share: series of checkpoints (docs/checkpoints-as-trials.md). Inside
 * this folder only. */
#pragma once

#include "trial/trial_format.h"

/* series.c */
bool assay_checkpoint_probe(const assay_names *top);
int assay_checkpoint_list(assay_lister *lister);
int assay_checkpoint_conclude(assay_lister *lister);
void assay_checkpoint_remark(assay_catalog *catalog, const assay_unit *unit, const assay_unit *used);
/* The name of the directory or file at a place, and its step; NULL: there is no such place. */
const char *assay_checkpoint_place(const assay_dict *places, uint32_t place, int64_t *step);
/* The files of the optimizer and of schedulers that lie beside the file at a place, and are of its step: the one behind
 * `before`, which is the place's own name for the first. NULL: there is none. */
const char *assay_checkpoint_beside(const assay_dict *places, uint32_t place, const char *before);

/* index.c */
int assay_checkpoint_index(assay_store *store, const assay_catalog *catalog, const assay_unit *units, size_t count,
                           const assay_index_sink *into);
uint32_t assay_checkpoint_place_of(const assay_catalog *catalog, const assay_unit *unit);
int assay_checkpoint_index_path(const assay_catalog *catalog, const assay_unit *unit, char *out, size_t room);
int assay_checkpoint_file_path(const assay_catalog *catalog, const assay_part *part, uint32_t file, char *out,
                               size_t room);
int assay_checkpoint_places(assay_store *store, assay_place_visit *visit, void *context);
int assay_checkpoint_unit_places(assay_store *store, const assay_catalog *catalog, const assay_unit *unit,
                                 assay_place_visit *visit, void *context);

/* derive.c */
int assay_checkpoint_derive(assay_store *store, const assay_catalog *catalog, assay_buf *out, assay_buf *why,
                            assay_problems *problems);

/* others.c */
int assay_checkpoint_others(assay_store *store, const assay_catalog *catalog, const assay_unit *unit,
                            assay_other_visit *visit, void *context);

/* As the format's table says. */
int assay_checkpoint_archives(assay_store *store, const assay_catalog *catalog, const assay_unit *unit,
                              assay_archive_visit *visit, void *context);

/* files.c: as the format's table says. */
size_t assay_checkpoint_models(const assay_names *names, bool *is_model);

/* decode.c */
bool assay_checkpoint_note_facts(const uint8_t *note, size_t size, assay_note_facts *out);
bool assay_checkpoint_note_reaches(const uint8_t *note, size_t size, uint32_t file, uint64_t from, uint64_t to);
int assay_checkpoint_dims(const uint8_t *note, size_t size);
int assay_checkpoint_decode(assay_decoded *d, assay_view *view, size_t budget, assay_record *record, assay_error *err);
