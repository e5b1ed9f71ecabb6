/* audit_log.h - what the audit log is kept in: a file that lines are appended to, or an object in S3. Inside action
 * only.
 *
 * S3 cannot append and has no locks. There the whole object is read before each line and written again with it: what
 * runs one after the other knows of each other, and what runs at the same moment may not. */
#ifndef ASSAY_ACTION_AUDIT_LOG_H
#define ASSAY_ACTION_AUDIT_LOG_H

#include <stdint.h>

#include <assay/pack.h>
#include <assay/status.h>

typedef struct audit_log audit_log;

/* The longest log in S3, which is written anew with each line. */
#define AUDIT_LOG_REMOTE_MOST ((size_t)16 << 20)

/* Prepares a log at that path or place; nothing is read or written yet. NULL without memory. Free with
 * audit_log_free(), which accepts NULL. */
audit_log *audit_log_new(const char *path);
void audit_log_free(audit_log *log);
const char *audit_log_path(const audit_log *log);

/* Keeps other processes from the log until audit_log_unlock(); opens it, and makes it with its directory when it is
 * new. ASSAY_EIO, ASSAY_EBUDGET: it is too large; ASSAY_ENOMEM. */
int audit_log_lock(audit_log *log, assay_error *err);
void audit_log_unlock(audit_log *log);
/* Between the two: reads up to `size` bytes at `at`; *got is 0 at the end. ASSAY_EIO. */
int audit_log_read(audit_log *log, uint64_t at, void *bytes, size_t size, size_t *got, assay_error *err);
/* Appends bytes, and sees them safe. ASSAY_EIO, ASSAY_EBUDGET, ASSAY_ENOMEM. */
int audit_log_append(audit_log *log, const void *bytes, size_t size, assay_error *err);

#endif
