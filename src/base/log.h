/* log.h - messages to stderr. stdout is for the report.
 *
 * Only rank 0 prints, unless all ranks are asked to (--log=all); then each line names its rank. */
#pragma once

#include <stdbool.h>

/* Said once by main after MPI is up. */
void assay_log_init(int rank);
/* From now on only errors are printed. */
void assay_log_quiet(void);
/* Whether all ranks print from now on. */
void assay_log_all_ranks(bool all);
/* One line "assay: <text>" for people. */
void assay_log_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* One line "assay: warning: <text>". */
void assay_log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* One line "assay: error: <text>". Never silenced by quiet. */
void assay_log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
