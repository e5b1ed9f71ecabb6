/* audit.c - see audit.h. */
#include "action/audit.h"

#include <assay/pack.h>
#include <assay/status.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/file.h"
#include "base/json.h"
#include "base/redact.h"
#include "s3/s3.h"
#include "trial/names.h"

/* ---- audit log ---- */

/* What the audit log is kept in: a file that lines are appended to, or an object in S3. */

typedef struct audit_log audit_log;

/* The longest log in S3, which is written anew with each line. */
#define AUDIT_LOG_REMOTE_MOST ((size_t)16 << 20)

struct audit_log {
    char *path;
    bool remote;
    int fd;               /* of a file; -1: not open */
    assay_s3_place place; /* of an object: the bucket, and the key with a '/' more */
    assay_buf text;       /* of an object: all of it */
};

/* Prepares a log at that path or place; nothing is read or written yet. NULL without memory. Free with
 * audit_log_free(), which accepts NULL. */
static audit_log *audit_log_new(const char *path)
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

static void audit_log_free(audit_log *log)
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

static const char *audit_log_path(const audit_log *log)
{
    return log->path;
}

/* ---- a file ---- */

static int fail_io(const audit_log *log, const char *what, assay_error *err)
{
    return assay_fail(err, ASSAY_EIO, "%s: %s: %s", log->path, what, strerror(errno));
}

/* Opened when the first line is due: a run without a deed makes no file. */
static int open_file(audit_log *log, assay_error *err)
{
    char *slash = strrchr(log->path, '/');
    int status = ASSAY_OK;
    if (slash && slash != log->path) {
        *slash = '\0';
        status = assay_dir_make(log->path, err);
        *slash = '/';
    }
    ASSAY_TRY(status);
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

/* Appends in one write, so that lines of several runs on one file system do not mix; fsync() before the deed is done,
 * since the line is the promise that nobody else does it. */
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

/* Reads the object as it is now; none is an empty one. Untrusted in size as well, hence the bound. */
static int fetch(audit_log *log, assay_error *err)
{
    assay_s3_bytes bytes;
    assay_error why = {""};
    if (!log->place.bucket) {
        int status = assay_s3_place_parse(log->path, &log->place, err);
        if (status == ASSAY_OK && (status = assay_s3_open(&why)) != ASSAY_OK)
            assay_fail(err, status, "%s: %s", log->path, why.text);
        ASSAY_TRY(status);
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
    ASSAY_THEN(status, assay_buf_status(&log->text));
    return status == ASSAY_OK || status == ASSAY_ENOTFOUND
               ? ASSAY_OK
               : assay_fail(err, status, "%s: %s", log->path, why.text[0] ? why.text : assay_status_text(status));
}

static int append_to_object(audit_log *log, const void *bytes, size_t size, assay_error *err)
{
    const size_t before = log->text.size;
    if (size > AUDIT_LOG_REMOTE_MOST - before)
        return assay_fail(err, ASSAY_EBUDGET, "%s: larger than 16 MiB: move it away to begin a new log", log->path);
    /* Memory first, as the whole object is put; on a failure it is as it was, so that the next try does not put the
     * line twice. */
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

/* Keeps other processes from the log until audit_log_unlock(); opens it, and makes it with its directory when it is
 * new. ASSAY_EIO, ASSAY_EBUDGET: it is too large; ASSAY_ENOMEM. */
static int audit_log_lock(audit_log *log, assay_error *err)
{
    if (log->remote)
        return fetch(log, err);
    int status = log->fd < 0 ? open_file(log, err) : ASSAY_OK;
    if (status == ASSAY_OK)
        (void)flock(log->fd, LOCK_EX); /* a file system without locks does with one process at a time */
    return status;
}

static void audit_log_unlock(audit_log *log)
{
    if (log->fd >= 0)
        (void)flock(log->fd, LOCK_UN);
}

/* Between the two: reads up to `size` bytes at `at`; *got is 0 at the end. ASSAY_EIO. */
static int audit_log_read(audit_log *log, uint64_t at, void *bytes, size_t size, size_t *got, assay_error *err)
{
    if (!log->remote)
        return read_file(log, at, bytes, size, got, err);
    size_t left = at < log->text.size ? log->text.size - (size_t)at : 0;
    *got = size < left ? size : left;
    if (*got > 0)
        memcpy(bytes, log->text.data + at, *got);
    return ASSAY_OK;
}

/* Appends bytes, and sees them safe. ASSAY_EIO, ASSAY_EBUDGET, ASSAY_ENOMEM. */
static int audit_log_append(audit_log *log, const void *bytes, size_t size, assay_error *err)
{
    if (assay_fault_now(ASSAY_FAULT_WRITE)) {
        errno = EIO;
        return fail_io(log, "cannot write", err);
    }
    return log->remote ? append_to_object(log, bytes, size, err) : append_to_file(log, bytes, size, err);
}

/* ---- audit ---- */

/* LARGEST bounds what a run reads at its start; LINE is longer than any line that write_line() makes, whose parts are
 * bounded. */
enum { LARGEST = 256 << 20, PIECE = 64 << 10, LINE = 1 << 20 };

static const char *const WORDS[ASSAY_AUDIT_RESULTS] = {"trying", "attempt failed", "done", "failed", "unknown"};

struct assay_audit {
    audit_log *log;   /* NULL: none */
    assay_dict *keys; /* JSON texts of the keys */
    uint8_t *state;   /* [room] by key: TAKEN, OWN */
    size_t room;
    assay_buf rest; /* the beginning of a line that is not complete */
    uint64_t read;  /* bytes of the log that were taken in */
    uint64_t strangers;
};

/* TAKEN: somebody did it, or began to. OWN: this process did. A failure frees a key for the next run, not for this
 * one, which has it as OWN. */
enum { TAKEN = 1, OWN = 2 };

assay_audit *assay_audit_new(const char *path)
{
    assay_audit *audit = assay_alloc_zeroed(1, sizeof *audit);
    if (!audit)
        return NULL;
    assay_buf_init(&audit->rest, LINE);
    audit->log = path ? audit_log_new(path) : NULL;
    audit->keys = assay_dict_new();
    if (audit->keys && (audit->log || !path))
        return audit;
    assay_audit_free(audit);
    return NULL;
}

void assay_audit_free(assay_audit *audit)
{
    if (!audit)
        return;
    audit_log_free(audit->log);
    assay_dict_free(audit->keys);
    assay_buf_release(&audit->rest);
    free(audit->state);
    free(audit);
}

uint64_t assay_audit_strangers(const assay_audit *audit)
{
    return audit->strangers;
}

static void put_key(const assay_audit_key *key, assay_buf *out)
{
    for (int i = 0; i < key->parts; i++) {
        assay_put_format(out, i ? ", " : "[");
        assay_json_put_text(out, key->part[i]);
    }
    assay_put_u8(out, ']');
}

/* Returns the state of a key, which is added when it is new; NULL without memory. Ids of a dictionary count up by
 * one, so doubling once is enough. */
static uint8_t *state_of(assay_audit *audit, const assay_buf *key)
{
    uint32_t id = ASSAY_NO_ID;
    if (assay_buf_status(key) == ASSAY_OK)
        id = assay_dict_add(audit->keys, (const char *)key->data, key->size);
    if (id == ASSAY_NO_ID)
        return NULL;
    if (id >= audit->room) {
        size_t room = audit->room ? 2 * audit->room : 64;
        uint8_t *more = assay_realloc_array(audit->state, room, 1);
        if (!more)
            return NULL;
        memset(more + audit->room, 0, room - audit->room);
        audit->state = more;
        audit->room = room;
    }
    return &audit->state[id];
}

static int result_of(const cJSON *item)
{
    for (int i = 0; cJSON_IsString(item) && i < ASSAY_AUDIT_RESULTS; i++) {
        if (strcmp(item->valuestring, WORDS[i]) == 0)
            return i;
    }
    return -1;
}

/* The key of a line as put_key() writes it. False when it has none. */
static bool read_key(const cJSON *list, assay_buf *out)
{
    if (!cJSON_IsArray(list) || !list->child)
        return false;
    for (const cJSON *item = list->child; item; item = item->next) {
        if (!cJSON_IsString(item))
            return false;
        assay_put_format(out, item == list->child ? "[" : ", ");
        assay_json_put_text(out, item->valuestring);
    }
    assay_put_u8(out, ']');
    return true;
}

/* Untrusted: people edit the file. A line that is none of ours is counted and left out. */
static int take_line(assay_audit *audit, const char *line, size_t size)
{
    cJSON *object = NULL;
    if (size == 0) /* what sets a new line apart from a cut one */
        return ASSAY_OK;
    int status = assay_json_parse("line", line, size, &object, NULL);
    if (status == ASSAY_ENOMEM)
        return status;
    int result = status == ASSAY_OK ? result_of(cJSON_GetObjectItemCaseSensitive(object, "result")) : -1;
    assay_buf key = ASSAY_BUF(LINE);
    if (result >= 0 && read_key(cJSON_GetObjectItemCaseSensitive(object, "key"), &key)) {
        uint8_t *state = state_of(audit, &key);
        status = state ? ASSAY_OK : ASSAY_ENOMEM;
        if (state)
            *state = (uint8_t)(result == ASSAY_AUDIT_FAILED ? *state & ~TAKEN : *state | TAKEN);
    } else {
        audit->strangers++;
        status = ASSAY_OK;
    }
    assay_buf_release(&key);
    cJSON_Delete(object);
    return status;
}

/* Later lines win over earlier ones of the same key. */
int assay_audit_take(assay_audit *audit, const char *text, size_t size, size_t *taken)
{
    size_t at = 0;
    const char *end;
    int status = ASSAY_OK;
    while (status == ASSAY_OK && at < size && (end = memchr(text + at, '\n', size - at))) {
        status = take_line(audit, text + at, (size_t)(end - text) - at);
        at = (size_t)(end - text) + 1;
    }
    *taken = at;
    return status;
}

bool assay_audit_has(const assay_audit *audit, const assay_audit_key *key)
{
    assay_buf text = ASSAY_BUF(LINE);
    put_key(key, &text);
    uint32_t id = assay_dict_find(audit->keys, (const char *)text.data, text.size);
    assay_buf_release(&text);
    return id != ASSAY_NO_ID && audit->state[id] & TAKEN;
}

/* One piece more of the log is taken in; a line that is longer than any of ours is a stranger. */
static int take_piece(assay_audit *audit, const char *piece, size_t size)
{
    size_t taken = 0;
    assay_put_bytes(&audit->rest, piece, size);
    /* The part before the line's end is dropped; the rest of the piece goes on. */
    if (assay_buf_status(&audit->rest) == ASSAY_EBUDGET) {
        assay_buf_clear(&audit->rest);
        audit->strangers++;
        const char *end = memchr(piece, '\n', size);
        size = end ? size - (size_t)(end + 1 - piece) : 0;
        assay_put_bytes(&audit->rest, end ? end + 1 : piece, size);
    }
    int status = assay_buf_status(&audit->rest);
    ASSAY_THEN(status, assay_audit_take(audit, (const char *)audit->rest.data, audit->rest.size, &taken));
    if (taken > 0) {
        memmove(audit->rest.data, audit->rest.data + taken, audit->rest.size - taken);
        audit->rest.size -= taken;
    }
    return status;
}

/* Takes in what the log has by now. */
static int catch_up(assay_audit *audit, assay_error *err)
{
    const char *path = audit_log_path(audit->log);
    char *piece = assay_alloc(PIECE);
    int status = piece ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t got = 1; status == ASSAY_OK && got > 0;) {
        status = audit_log_read(audit->log, audit->read, piece, PIECE, &got, err);
        if (status == ASSAY_OK && audit->read + got > LARGEST)
            status = assay_fail(err, ASSAY_EBUDGET, "%s: larger than 256 MiB: move it away to begin a new log", path);
        ASSAY_THEN(status, take_piece(audit, piece, got));
        audit->read += got;
    }
    free(piece);
    if (status == ASSAY_ENOMEM)
        assay_fail(err, status, "%s: out of memory while reading the log of actions", path);
    return status;
}

static void put_time(assay_buf *out)
{
    time_t now = time(NULL);
    struct tm t;
    char text[40] = "";
    if (gmtime_r(&now, &t))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &t);
    assay_put_format(out, "\"%s\"", text);
}

/* Appends one line, and sees it safe. */
static int append(assay_audit *audit, const assay_buf *line, assay_error *err)
{
    if (assay_buf_status(line) != ASSAY_OK)
        return assay_fail(err, assay_buf_status(line), "%s: a line cannot be held in memory",
                          audit_log_path(audit->log));
    return audit_log_append(audit->log, line->data, line->size, err);
}

static int write_line(assay_audit *audit, const assay_audit_key *key, const assay_audit_line *said, assay_error *err)
{
    assay_buf line = ASSAY_BUF(LINE);
    /* A newline first closes the cut line, which is then one stranger and does not take this one with it. */
    if (audit->rest.size > 0) /* the line before was cut */
        assay_put_u8(&line, '\n');
    assay_put_format(&line, "{\"time\": ");
    put_time(&line);
    size_t from = line.size;
    assay_put_format(&line, ", %s", said->what);
    /* Redacted from behind the time on: the action's name may hold what looks like a secret of this run. */
    assay_redact_buf(&line, from);
    if (said->attempt > 0)
        assay_put_format(&line, "\"attempt\": %u, ", said->attempt);
    assay_put_format(&line, "\"result\": \"%s\", \"text\": ", WORDS[said->result]);
    from = line.size;
    assay_json_put_text(&line, said->text);
    assay_redact_buf(&line, from);
    assay_put_format(&line, ", \"key\": ");
    put_key(key, &line);
    assay_put_bytes(&line, "}\n", 2);
    int status = append(audit, &line, err);
    assay_buf_release(&line);
    return status;
}

/* Unlike a claim it is written in any case: notes are told by their results, not by their keys. */
int assay_audit_note(assay_audit *audit, const assay_audit_key *key, const assay_audit_line *line, assay_error *err)
{
    ASSAY_TRY(audit_log_lock(audit->log, err));
    int status = catch_up(audit, err);
    ASSAY_THEN(status, write_line(audit, key, line, err));
    audit_log_unlock(audit->log);
    return status;
}

/* Makes the claim, once the memory is up to date. The lock is held from catch_up() to the line's end, so two runs
 * cannot both get ASSAY_AUDIT_MINE. */
static int claim(assay_audit *audit, const assay_audit_key *key, const char *what, assay_audit_claim_result *out,
                 assay_error *err)
{
    assay_buf text = ASSAY_BUF(LINE);
    put_key(key, &text);
    uint8_t *state = state_of(audit, &text);
    assay_buf_release(&text);
    if (!state)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory for the log of actions");
    if (*state) {
        *out = *state & OWN ? ASSAY_AUDIT_OURS : ASSAY_AUDIT_BEFORE;
        return ASSAY_OK;
    }
    const assay_audit_line begun = {.what = what, .result = ASSAY_AUDIT_TRYING, .text = ""};
    int status = audit->log ? write_line(audit, key, &begun, err) : ASSAY_OK;
    if (status == ASSAY_OK) {
        *state |= TAKEN | OWN;
        *out = ASSAY_AUDIT_MINE;
    }
    return status;
}

int assay_audit_claim(assay_audit *audit, const assay_audit_key *key, const char *what, assay_audit_claim_result *out,
                      assay_error *err)
{
    if (!audit->log)
        return claim(audit, key, what, out, err);
    ASSAY_TRY(audit_log_lock(audit->log, err));
    int status = catch_up(audit, err);
    ASSAY_THEN(status, claim(audit, key, what, out, err));
    audit_log_unlock(audit->log);
    return status;
}
