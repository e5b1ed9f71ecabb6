/* printed.h - what logs of printed lines share. */
#pragma once

#include "container/lines.h"
#include "format/metrics/metrics.h"

/* .log, .out, .txt and .err, and these packed by gzip (.log.gz). */
bool metrics_is_printed_name(const char *name);
/* Those whose lines are JSON objects, as programs call them: .jsonl, .log.json, metrics.json and scalars.json. */
bool metrics_is_row_name(const char *name);
/* Does the file have a line of which `take` makes something? 1, 0 or a status. */
typedef bool metrics_line_test(const char *line, size_t length);
int metrics_has_line(assay_store *store, const char *path, metrics_line_test *test, assay_error *err);
/* All files of a kind are one run, called ".". 0 or ASSAY_ENOMEM. */
int metrics_divide_whole(metrics_place *place, int kind);
/* Reads the lines of a file: those that `take` returns 1 for are counted as unknown. 0 or a status. */
typedef int metrics_line_take(void *context, const char *line, size_t length);
int metrics_read_lines(metrics_log *log, const char *path, metrics_line_take *take, void *context, assay_error *err);

/* The rank that a file's path has; -1: none. */
typedef int64_t metrics_rank_of(const metrics_file *file);
/* Has a file of the run a rank? Then what has none is no log of worker_0, whose values it would discard. */
bool metrics_is_ranked(const metrics_run *run, metrics_rank_of *rank_of);
/* Names such a file; `lacks` is how the others say it. */
void metrics_name_unranked(metrics_log *log, const char *path, const char *lacks);

/* Blanks and digits at the place; false when there is no digit. *step < 0: no step can be so large. */
bool metrics_take_digits(const char **at, const char *end, int64_t *step);
void metrics_trim(const char **text, size_t *length);
/* Takes colour codes out of a line: then the line is in `plain`. */
void metrics_strip_colours(assay_buf *plain, const char **line, size_t *length);
