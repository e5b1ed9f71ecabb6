/* document.h - courses that a file has as one JSON value: Keras' history ({"loss": [...], "val_loss": [...]}), Sacred's
 * metrics ({"loss": {"steps": [...], "values": [...]}}), columns of pandas ({"loss": {"0": 0.5, ...}}), lists of rows
 * ([{"epoch": 1, "loss": 0.5}, ...]), and one series of TensorBoard's page ([[time, step, value], ...] in "run-a-tag-loss.json"). */
#pragma once

#include "format/metrics/printed.h"

/* Is the file, by its first byte, a JSON object or a list? */
bool metrics_may_be_document(assay_store *store, const char *path);
/* Do the brackets and quotes of the value at its beginning match? True also where that cannot be read. */
bool metrics_is_whole_json(assay_store *store, const char *path);
/* Puts the series of the file, and hands the rows of a list to `row`. *losses: how many values losses have, and rows there
 * are. 1; 0: it is no such value, or damaged behind what was put, *err says where; a status. */
int metrics_document_read(metrics_log *log, const char *path, metrics_line_take *row, void *context, uint64_t *losses,
                          assay_error *err);
