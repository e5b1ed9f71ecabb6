/* audit_log.c - see audit_log.h. */
#include "action/audit_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/file.h"
#include "s3/s3.h"

struct audit_log {
    char *path;
    bool remote;
    int fd;               /* of a file; -1: not open */
    assay_s3_place place; /* of an object: the bucket, and the key with a '/' more */
    assay_buf text;       /* of an object: all of it */
};

audit_log *audit_log_new(const char *path)
{
    audit_log *log = assay_alloc_zeroed(1, sizeof *log);
    if (!log)
        return NULL;
    log->fd = -1;
    log->path = assay_copy_text(path);
    log->remote = strncmp(path, "s3://", 5) == 0;
    assay_buf_init(&log->text, AUDIT_LOG_REMOTE_MOST);
    if (log->path)
        return log;
    free(log);
    return NULL;
}

void audit_log_free(audit_log *log)
{
    if (!log)
        return;
    if (log->fd >= 0)
        close(log->fd);
    assay_s3_place_release(&log->place);
    assay_buf_release(&log->text);
    free(log->path);
    free(log);
}

const char *audit_log_path(const audit_log *log)
{
    return log->path;
}

/* ---- a file ---- */

static int fail_io(const audit_log *log, const char *what, assay_error *err)
{
    return assay_fail(err, ASSAY_EIO, "%s: %s: %s", log->path, what, strerror(errno));
}

static int open_file(audit_log *log, assay_error *err)
{
    char *slash = strrchr(log->path, '/');
    int status = ASSAY_OK;
    if (slash && slash != log->path) {
        *slash = '\0';
        status = assay_dir_make(log->path, err);
        *slash = '/';
    }
    if (status != ASSAY_OK)
        return status;
    assay_error why = {""};
    const int fd = assay_file_open_append(log->path, &why);
    if (fd < 0)
        return assay_fail(err, fd, "%s; it cannot be the log of actions", why.text);
    log->fd = fd;
    return ASSAY_OK;
}

static int read_file(const audit_log *log, uint64_t at, void *bytes, size_t size, size_t *got, assay_error *err)
{
    ssize_t n;
    do
        n = pread(log->fd, bytes, size, (off_t)at);
    while (n < 0 && errno == EINTR);
    *got = n > 0 ? (size_t)n : 0;
    return n < 0 ? fail_io(log, "cannot read", err) : ASSAY_OK;
}

/* In one write. */
static int append_to_file(const audit_log *log, const void *bytes, size_t size, assay_error *err)
{
    ssize_t put;
    do
        put = write(log->fd, bytes, size);
    while (put < 0 && errno == EINTR);
    if (put >= 0 && (size_t)put < size)
        errno = ENOSPC;
    return put != (ssize_t)size || fsync(log->fd) != 0 ? fail_io(log, "cannot write", err) : ASSAY_OK;
}

/* ---- an object ---- */

/* The object as it is now; none is an empty one. */
static int fetch(audit_log *log, assay_error *err)
{
    assay_s3_bytes bytes;
    assay_error why = {""};
    if (!log->place.bucket) {
        int status = assay_s3_place_parse(log->path, &log->place, err);
        if (status == ASSAY_OK && (status = assay_s3_open(&why)) != ASSAY_OK)
            assay_fail(err, status, "%s: %s", log->path, why.text);
        if (status != ASSAY_OK)
            return status;
        log->place.prefix[strlen(log->place.prefix) - 1] = '\0'; /* a key has no '/' at its end */
    }
    assay_buf_clear(&log->text);
    assay_s3_get *get = assay_s3_get_begin(log->place.bucket, log->place.prefix, 0, AUDIT_LOG_REMOTE_MOST, NULL, true);
    int status = get ? assay_s3_get_wait(get, &bytes, &why) : ASSAY_ENOMEM;
    if (status == ASSAY_OK && bytes.total > AUDIT_LOG_REMOTE_MOST)
        status = assay_fail(&why, ASSAY_EBUDGET, "larger than 16 MiB: move it away to begin a new log");
    if (status == ASSAY_OK && bytes.size > 0)
        assay_put_bytes(&log->text, bytes.data, bytes.size);
    assay_s3_get_end(get);
    if (status == ASSAY_OK)
        status = assay_buf_status(&log->text);
    return status == ASSAY_OK || status == ASSAY_ENOTFOUND
               ? ASSAY_OK
               : assay_fail(err, status, "%s: %s", log->path, why.text[0] ? why.text : assay_status_text(status));
}

static int append_to_object(audit_log *log, const void *bytes, size_t size, assay_error *err)
{
    const size_t before = log->text.size;
    if (size > AUDIT_LOG_REMOTE_MOST - before)
        return assay_fail(err, ASSAY_EBUDGET, "%s: larger than 16 MiB: move it away to begin a new log", log->path);
    assay_put_bytes(&log->text, bytes, size);
    int status = assay_buf_status(&log->text);
    if (status != ASSAY_OK)
        return assay_fail(err, status, "%s: %s", log->path, assay_status_text(status));
    status = assay_s3_put(log->place.bucket, log->place.prefix, log->text.data, log->text.size,
                          "Content-Type: application/jsonl", err);
    if (status != ASSAY_OK)
        log->text.size = before;
    return status == ASSAY_OK || status == ASSAY_ENOMEM ? status : ASSAY_EIO;
}

/* ---- both ---- */

int audit_log_lock(audit_log *log, assay_error *err)
{
    if (log->remote)
        return fetch(log, err);
    int status = log->fd < 0 ? open_file(log, err) : ASSAY_OK;
    if (status == ASSAY_OK)
        (void)flock(log->fd, LOCK_EX); /* a file system without locks does with one process at a time */
    return status;
}

void audit_log_unlock(audit_log *log)
{
    if (log->fd >= 0)
        (void)flock(log->fd, LOCK_UN);
}

int audit_log_read(audit_log *log, uint64_t at, void *bytes, size_t size, size_t *got, assay_error *err)
{
    if (!log->remote)
        return read_file(log, at, bytes, size, got, err);
    size_t left = at < log->text.size ? log->text.size - (size_t)at : 0;
    *got = size < left ? size : left;
    if (*got > 0)
        memcpy(bytes, log->text.data + at, *got);
    return ASSAY_OK;
}

int audit_log_append(audit_log *log, const void *bytes, size_t size, assay_error *err)
{
    if (assay_fault_now(ASSAY_FAULT_WRITE)) {
        errno = EIO;
        return fail_io(log, "cannot write", err);
    }
    return log->remote ? append_to_object(log, bytes, size, err) : append_to_file(log, bytes, size, err);
}
