/* state.c - the state file: read strictly, locked, and written completely or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "pilot/pilot_internal.h"
#include "base/fault.h"
#include "base/file.h"

#define PILOT_WORD(name, word) word,
const char *const pilot_action_word[] = {PILOT_ACTION_LIST(PILOT_WORD)};
const char *const pilot_job_word[] = {PILOT_JOB_LIST(PILOT_WORD)};
const char *const pilot_rule_word[] = {PILOT_RULE_LIST(PILOT_WORD)};
const char *const pilot_message_word[] = {PILOT_MESSAGE_LIST(PILOT_WORD)};
#undef PILOT_WORD

static const char *const NUMBERS[] = {"num_warmup_adjustments", "num_batch_layer_adjustments",
                                      "num_learning_rate_adjustments", "num_retraining", "num_monitor_transitions"};
enum { NUMBER_COUNT = sizeof NUMBERS / sizeof *NUMBERS };

/* The words that a key may have. */
typedef struct words {
    const char *const *known;
    int count;
} words;

/* Finds a word: *out gets the place of the text under `key` among the words, or 0 where it is missing: before the
 * first launch the file has nothing but settings. */
static int word(const job_reader *r, const char *place, const cJSON *object, const char *key, words may, int *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    *out = 0;
    if (!item)
        return ASSAY_OK;
    for (int i = 0; cJSON_IsString(item) && i < may.count; i++) {
        if (strcmp(item->valuestring, may.known[i]) == 0) {
            *out = i;
            return ASSAY_OK;
        }
    }
    char list[200] = "";
    for (int i = 0; i < may.count; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s\"%s\"", i ? ", " : "", may.known[i]);
    }
    return job_fail(r, place, "\"%s\" has to be one of %s", key, list);
}

/* Reads a text of ours that may be empty or missing. */
static int text(const job_reader *r, const char *place, const cJSON *object, const char *key, char *out, size_t room)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (item && (!cJSON_IsString(item) || strlen(item->valuestring) >= room))
        return job_fail(r, place, "\"%s\" has to be a text of at most %zu bytes", key, room - 1);
    snprintf(out, room, "%s", item ? item->valuestring : "");
    return ASSAY_OK;
}

/* Finds the object under `key`, added to the document where it is missing, so that later writing has a place. */
static int own_object(const job_reader *r, cJSON *document, const char *key, cJSON **out)
{
    *out = cJSON_GetObjectItemCaseSensitive(document, key);
    if (!*out)
        *out = cJSON_AddObjectToObject(document, key);
    if (!*out)
        return job_no_memory(r);
    return cJSON_IsObject(*out) ? ASSAY_OK : job_fail(r, key, "expected an object in braces");
}

/* The bound keeps each number exact in JSON, and pilot_add() from counting beyond it. */
static int history_number(const job_reader *r, cJSON *history, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(history, key);
    int64_t value;
    if (!item)
        return cJSON_AddNumberToObject(history, key, 0) ? ASSAY_OK : job_no_memory(r);
    if (!assay_json_i64(item, &value) || value < 0 || value > PILOT_COUNT)
        return job_fail(r, "history", "\"%s\" has to be a whole number from 0 to %d", key, PILOT_COUNT);
    return ASSAY_OK;
}

static int read_history(const job_reader *r, assay_pilot *pilot)
{
    const char *known[NUMBER_COUNT + PILOT_STRATEGIES + 2];
    size_t count = 0;
    int status = own_object(r, pilot->document, "history", &pilot->history);
    for (; count < NUMBER_COUNT; count++)
        known[count] = NUMBERS[count];
    for (size_t i = 0; i < pilot->strategies; i++)
        known[count++] = pilot->strategy[i].counter;
    known[count] = "latest_job_name";
    known[count + 1] = NULL;
    ASSAY_THEN(status, job_known_keys(r, "history", pilot->history, known));
    for (size_t i = 0; i < count && status == ASSAY_OK; i++)
        status = history_number(r, pilot->history, known[i]);
    return status == ASSAY_OK ? text(r, "history", pilot->history, "latest_job_name", pilot->job_name, PILOT_NAME)
                              : status;
}

static int read_own(const job_reader *r, assay_pilot *pilot)
{
    static const char *const known[] = {"job_id", "message", "reason", NULL};
    cJSON *own;
    char reason[3 * PILOT_REASON]; /* bytes that were no UTF-8 are three in the file */
    int action = 0, job = 0, rule = 0, message = 0;
    int status = own_object(r, pilot->document, "pilot", &own);
    ASSAY_THEN(status, job_known_keys(r, "pilot", own, known));
    ASSAY_THEN(status, text(r, "pilot", own, "job_id", pilot->job_id, sizeof pilot->job_id));
    ASSAY_THEN(status, text(r, "pilot", own, "reason", reason, sizeof reason));
    const words messages = {pilot_message_word, PILOT_MESSAGES}, actions = {pilot_action_word, PILOT_ACTIONS},
                jobs = {pilot_job_word, PILOT_JOBS}, rules = {pilot_rule_word, PILOT_RULES};
    ASSAY_THEN(status, word(r, "pilot", own, "message", messages, &message));
    ASSAY_THEN(status, word(r, "", pilot->document, "next_action", actions, &action));
    ASSAY_THEN(status, word(r, "", pilot->document, "job_status", jobs, &job));
    ASSAY_THEN(status, word(r, "", pilot->document, "rule_status", rules, &rule));
    if (status == ASSAY_OK)
        snprintf(pilot->reason, sizeof pilot->reason, "%.*s", PILOT_REASON - 1, reason);
    pilot->next_action = (pilot_action)action;
    pilot->job_status = (pilot_job)job;
    pilot->rule_status = (pilot_rule)rule;
    pilot->message = (pilot_message)message;
    return status;
}

/* Checks that what belongs together is there together: a state that somebody edited is not guessed at. */
static int check_state(const job_reader *r, const assay_pilot *pilot)
{
    const char *status = pilot_job_word[pilot->job_status];
    bool launching = pilot->job_status == PILOT_JOB_SUBMITTING || pilot->job_status == PILOT_JOB_HELD;
    bool named = launching || pilot->next_action == PILOT_MONITOR || pilot->job_status == PILOT_JOB_STOPPING;
    if (pilot->job_id[0] && !assay_slurm_is_id(pilot->job_id))
        return job_fail(r, "pilot", "\"job_id\" is not a Slurm job id: \"%.40s\"", pilot->job_id);
    if (launching && pilot->next_action != PILOT_LAUNCH_NEW)
        return job_fail(r, "", "\"job_status\" \"%s\" goes with \"next_action\" \"launch_new\" only", status);
    /* The name becomes part of paths and of Slurm's options. */
    if (named && (!pilot->job_name[0] || strspn(pilot->job_name, "./") > 0 || strpbrk(pilot->job_name, "/,\n")))
        return job_fail(r, "history",
                        "\"latest_job_name\" is missing or no name of a launch, and \"job_status\" is \"%s\"", status);
    if (named && pilot->job_status != PILOT_JOB_SUBMITTING && !pilot->job_id[0])
        return job_fail(r, "pilot", "\"job_id\" is missing, and \"job_status\" is \"%s\"", status);
    return ASSAY_OK;
}

static int read_state(const job_reader *r, assay_pilot *pilot, const void *bytes, size_t size)
{
    assay_error cause = {""};
    int status = assay_json_parse(r->file, bytes, size, &pilot->document, &cause);
    if (status != ASSAY_OK)
        return assay_fail(r->err, status == ASSAY_EFORMAT ? ASSAY_EJOB : status, "%s", cause.text);
    status = pilot_read_settings(r, pilot);
    ASSAY_THEN(status, read_history(r, pilot));
    ASSAY_THEN(status, read_own(r, pilot));
    ASSAY_THEN(status, pilot_read_launches(r, pilot));
    return status == ASSAY_OK ? check_state(r, pilot) : status;
}

/* Untrusted: people write settings into the file, and programs of others may. *out is set on success only; no lock is
 * taken. */
int assay_pilot_parse(const char *file, const void *bytes, size_t size, assay_pilot **out, assay_error *err)
{
    const job_reader r = {file, err, NULL, 0};
    assay_pilot *pilot = assay_alloc_zeroed(1, sizeof *pilot);
    if (!pilot)
        return job_no_memory(&r);
    pilot->lock = -1;
    pilot->file = assay_copy_text(file);
    int status = pilot->file ? read_state(&r, pilot, bytes, size) : job_no_memory(&r);
    if (status != ASSAY_OK) {
        assay_pilot_close(pilot);
        return status;
    }
    *out = pilot;
    return ASSAY_OK;
}

/* Takes the lock, which is a file of its own: the state file is another one after each writing. *lock gets its
 * number. It is never removed, as another pilot may be waiting with it open. */
static int take_lock(const char *path, int *lock, assay_error *err)
{
    size_t room = strlen(path) + 6;
    char *name = assay_alloc(room);
    if (!name)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", path);
    snprintf(name, room, "%s.lock", path);
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666), status = ASSAY_OK;
    if (fd < 0)
        status = assay_fail(err, ASSAY_EIO, "%s: cannot open: %s", name, strerror(errno));
    else if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        status = assay_fail(err, ASSAY_EUSAGE,
                            "%s: another pilot is at work on it, or a program that a killed one had started; "
                            "wait until that has ended",
                            path);
    else if (status == ASSAY_OK && flock(fd, LOCK_EX | LOCK_NB) != 0)
        status = assay_fail(err, ASSAY_EIO, "%s: cannot lock: %s", name, strerror(errno));
    free(name);
    if (status != ASSAY_OK && fd >= 0)
        close(fd);
    else if (status == ASSAY_OK)
        *lock = fd;
    return status;
}

/* Links are followed first: a state has one lock, and is written where it is. */
int assay_pilot_open(const char *name, bool lock, assay_pilot **out, assay_error *err)
{
    int fd = -1, status = ASSAY_OK;
    assay_buf bytes = ASSAY_BUF(ASSAY_PILOT_CEILING);
    char *path = realpath(name, NULL);
    if (!path)
        return assay_fail(err, errno == ENOENT ? ASSAY_ENOTFOUND : ASSAY_EIO, "%s: cannot open: %s", name,
                          strerror(errno));
    if (lock)
        status = take_lock(path, &fd, err);
    ASSAY_THEN(status, assay_file_read(path, ASSAY_PILOT_CEILING, &bytes, err));
    ASSAY_THEN(status, assay_pilot_parse(path, bytes.data, bytes.size, out, err));
    assay_buf_release(&bytes);
    free(path);
    if (status == ASSAY_OK)
        (*out)->lock = fd;
    else if (fd >= 0)
        close(fd);
    return status;
}

void assay_pilot_close(assay_pilot *pilot)
{
    if (!pilot)
        return;
    for (size_t i = 0; i < pilot->targets; i++)
        assay_notify_free(pilot->target[i]);
    cJSON_Delete(pilot->document);
    free(pilot->options);
    free(pilot->command);
    free(pilot->program);
    free(pilot->file);
    if (pilot->lock >= 0)
        close(pilot->lock);
    free(pilot);
}

/* Names are those of NUMBERS and of strategies; read_history() has made sure that each is there. */
uint64_t pilot_count(const assay_pilot *pilot, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(pilot->history, name);
    return item ? (uint64_t)item->valuedouble : 0;
}

void pilot_add(assay_pilot *pilot, const char *name)
{
    cJSON *item = cJSON_GetObjectItemCaseSensitive(pilot->history, name);
    if (item && item->valuedouble < PILOT_COUNT)
        cJSON_SetNumberValue(item, item->valuedouble + 1);
}

static bool is_nested(const cJSON *item)
{
    return (cJSON_IsObject(item) || cJSON_IsArray(item)) && item->child;
}

/* `open` levels get lines of their own, what lies deeper stands in one: so the file can be read and edited. */
void pilot_put_json(const cJSON *item, int open, int indent, assay_buf *out)
{
    bool object = cJSON_IsObject(item), lines = false;
    if (cJSON_IsString(item)) {
        assay_json_put_text(out, item->valuestring);
    } else if (cJSON_IsNumber(item)) {
        assay_json_put_number(out, item->valuedouble);
    } else if (!object && !cJSON_IsArray(item)) {
        assay_put_format(out, "%s", cJSON_IsTrue(item) ? "true" : cJSON_IsFalse(item) ? "false" : "null");
    } else {
        for (const cJSON *member = item->child; member && open > 0; member = member->next)
            lines = lines || object || is_nested(member);
        assay_put_u8(out, object ? '{' : '[');
        for (const cJSON *member = item->child; member; member = member->next) {
            const char *between = member == item->child ? "" : lines ? "," : ", ";
            assay_put_format(out, "%s", between);
            if (lines)
                assay_put_format(out, "\n%*s", indent + 2, "");
            if (object) {
                assay_json_put_text(out, member->string);
                assay_put_format(out, ": ");
            }
            pilot_put_json(member, open - 1, indent + 2, out);
        }
        if (lines)
            assay_put_format(out, "\n%*s", indent, "");
        assay_put_u8(out, object ? '}' : ']');
    }
}

bool pilot_set_text(cJSON *object, const char *key, const char *value)
{
    cJSON *item = cJSON_CreateString(value);
    if (!item)
        return false;
    bool done = cJSON_GetObjectItemCaseSensitive(object, key)
                    ? cJSON_ReplaceItemInObjectCaseSensitive(object, key, item)
                    : cJSON_AddItemToObject(object, key, item);
    if (!done)
        cJSON_Delete(item);
    return done;
}

/* The document is what was read, with the pilot's own members set anew: whatever else people wrote stays as it is. */
int assay_pilot_put_state(assay_pilot *pilot, assay_buf *out)
{
    cJSON *own = cJSON_GetObjectItemCaseSensitive(pilot->document, "pilot");
    bool done = pilot_set_text(pilot->document, "next_action", pilot_action_word[pilot->next_action]) &&
                pilot_set_text(pilot->document, "job_status", pilot_job_word[pilot->job_status]) &&
                pilot_set_text(pilot->document, "rule_status", pilot_rule_word[pilot->rule_status]) &&
                pilot_set_text(pilot->history, "latest_job_name", pilot->job_name) &&
                pilot_set_text(own, "job_id", pilot->job_id) &&
                pilot_set_text(own, "message", pilot_message_word[pilot->message]) &&
                pilot_set_text(own, "reason", pilot->reason) && pilot_note_launch(pilot, "job_id", pilot->job_id) &&
                pilot_note_launch(pilot, "job_status", pilot_job_word[pilot->job_status]) &&
                pilot_note_launch(pilot, "rule_status", pilot_rule_word[pilot->rule_status]);
    ASSAY_HAVE(done);
    pilot_put_json(pilot->document, 2, 0, out);
    assay_put_u8(out, '\n');
    return assay_buf_status(out);
}

/* Called at the end of every step. A failure makes the pilot stale: what it holds is not what is written, and it does
 * nothing more. */
int pilot_write(assay_pilot *pilot, assay_error *err)
{
    assay_buf bytes = ASSAY_BUF(ASSAY_PILOT_CEILING);
    int status = assay_pilot_put_state(pilot, &bytes);
    if (status == ASSAY_OK)
        status = assay_file_write(pilot->file, bytes.data, bytes.size, err);
    else
        assay_fail(err, status, "%s: cannot be written: %s", pilot->file, assay_status_text(status));
    assay_buf_release(&bytes);
    pilot->stale = status != ASSAY_OK;
    return status;
}

const char *assay_pilot_reason(const assay_pilot *pilot)
{
    return pilot->reason;
}

double assay_pilot_poll_seconds(const assay_pilot *pilot)
{
    return pilot->poll_seconds;
}
