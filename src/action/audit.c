/* audit.c - see audit.h. */
#include "action/audit.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "action/audit_log.h"
#include "base/fault.h"
#include "base/json.h"
#include "base/redact.h"
#include "trial/names.h"

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

/* The state of a key, which is added when it is new; NULL without memory. */
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

static int take_line(assay_audit *audit, const char *line, size_t size)
{
    cJSON *object = NULL;
    if (size == 0) /* what sets a new line apart from a cut one */
        return ASSAY_OK;
    int status = assay_json_parse("line", line, size, &object, NULL);
    if (status == ASSAY_ENOMEM)
        return status;
    int result = status == ASSAY_OK ? result_of(cJSON_GetObjectItemCaseSensitive(object, "result")) : -1;
    assay_buf key;
    assay_buf_init(&key, LINE);
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
    assay_buf text;
    assay_buf_init(&text, LINE);
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
    if (assay_buf_status(&audit->rest) == ASSAY_EBUDGET) {
        assay_buf_clear(&audit->rest);
        audit->strangers++;
        const char *end = memchr(piece, '\n', size);
        size = end ? size - (size_t)(end + 1 - piece) : 0;
        assay_put_bytes(&audit->rest, end ? end + 1 : piece, size);
    }
    int status = assay_buf_status(&audit->rest);
    if (status == ASSAY_OK)
        status = assay_audit_take(audit, (const char *)audit->rest.data, audit->rest.size, &taken);
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
        if (status == ASSAY_OK)
            status = take_piece(audit, piece, got);
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

static int write_line(assay_audit *audit, const assay_audit_key *key, const char *what, assay_audit_result result,
                      unsigned attempt, const char *text, assay_error *err)
{
    assay_buf line;
    assay_buf_init(&line, LINE);
    if (audit->rest.size > 0) /* the line before was cut */
        assay_put_u8(&line, '\n');
    assay_put_format(&line, "{\"time\": ");
    put_time(&line);
    size_t from = line.size;
    assay_put_format(&line, ", %s", what);
    assay_redact_buf(&line, from);
    if (attempt > 0)
        assay_put_format(&line, "\"attempt\": %u, ", attempt);
    assay_put_format(&line, "\"result\": \"%s\", \"text\": ", WORDS[result]);
    from = line.size;
    assay_json_put_text(&line, text);
    assay_redact_buf(&line, from);
    assay_put_format(&line, ", \"key\": ");
    put_key(key, &line);
    assay_put_bytes(&line, "}\n", 2);
    int status = append(audit, &line, err);
    assay_buf_release(&line);
    return status;
}

int assay_audit_note(assay_audit *audit, const assay_audit_key *key, const char *what, assay_audit_result result,
                     unsigned attempt, const char *text, assay_error *err)
{
    int status = audit_log_lock(audit->log, err);
    if (status != ASSAY_OK)
        return status;
    status = catch_up(audit, err);
    if (status == ASSAY_OK)
        status = write_line(audit, key, what, result, attempt, text, err);
    audit_log_unlock(audit->log);
    return status;
}

/* The claim, once the memory is up to date. */
static int claim(assay_audit *audit, const assay_audit_key *key, const char *what, assay_audit_claim_result *out,
                 assay_error *err)
{
    assay_buf text;
    assay_buf_init(&text, LINE);
    put_key(key, &text);
    uint8_t *state = state_of(audit, &text);
    assay_buf_release(&text);
    if (!state)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory for the log of actions");
    if (*state) {
        *out = *state & OWN ? ASSAY_AUDIT_OURS : ASSAY_AUDIT_BEFORE;
        return ASSAY_OK;
    }
    int status = audit->log ? write_line(audit, key, what, ASSAY_AUDIT_TRYING, 0, "", err) : ASSAY_OK;
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
    int status = audit_log_lock(audit->log, err);
    if (status != ASSAY_OK)
        return status;
    status = catch_up(audit, err);
    if (status == ASSAY_OK)
        status = claim(audit, key, what, out, err);
    audit_log_unlock(audit->log);
    return status;
}
