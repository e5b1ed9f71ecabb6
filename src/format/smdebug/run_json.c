/* run_json.c - see run_json.h.
 *
 * The files come from anywhere. Every member is optional; one of the wrong type is passed over, for the facts decide
 * nothing: they are shown, and what modules are is one reading of shapes among others. A text that is no JSON at all is a
 * problem. */
#include "format/smdebug/run_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fault.h"
#include "base/json.h"
#include "base/utf8.h"
#include "format/smdebug/smdebug.h"
#include "trial/names.h"

static const char *const mode_names[ASSAY_MODES] = {"", "TRAIN", "EVAL", "PREDICT", "GLOBAL"};

enum {
    PATH_ROOM = 768,
    HOSTS_LENGTH = 400,
    FILES_MOST = 64 /* files that are read: the first ones in natural order */
};

/* ---- one file ---- */

/* "prefix.key", or "key" without a prefix. NULL without memory. */
static char *join_name(const char *prefix, const char *key)
{
    char *name = NULL;
    return assay_alloc_note(asprintf(&name, "%s%s%s", prefix, *prefix ? "." : "", key) < 0 ? NULL : name);
}

/* A scalar as text; NULL without memory, or for what is none. */
static char *value_text(const cJSON *item)
{
    assay_buf out = ASSAY_BUF(256);
    if (cJSON_IsString(item))
        return assay_copy_text(item->valuestring);
    if (cJSON_IsNumber(item))
        assay_json_put_number(&out, item->valuedouble);
    else
        assay_put_format(&out, "%s", cJSON_IsTrue(item) ? "true" : cJSON_IsFalse(item) ? "false" : "null");
    assay_put_u8(&out, '\0');
    char *text = assay_buf_status(&out) == ASSAY_OK ? assay_copy_text((const char *)out.data) : NULL;
    assay_buf_release(&out);
    return text;
}

/* Arguments behind one another, as a shell's line shows them. NULL without memory. */
static char *command_text(const cJSON *list)
{
    assay_buf out = ASSAY_BUF(ASSAY_RUN_JSON_MOST + 1);
    for (const cJSON *item = list->child; item; item = item->next)
        if (cJSON_IsString(item))
            assay_put_format(&out, "%s%s", out.size ? " " : "", item->valuestring);
    assay_put_u8(&out, '\0');
    char *text = assay_buf_status(&out) == ASSAY_OK ? assay_copy_text((const char *)out.data) : NULL;
    assay_buf_release(&out);
    return text;
}

static bool is_scalar(const cJSON *item)
{
    return cJSON_IsString(item) || cJSON_IsNumber(item) || cJSON_IsBool(item) || cJSON_IsNull(item);
}

/* Whose file it is: no fact of the run. */
static bool is_label(const char *key)
{
    static const char *const labels[] = {"schema", "worker", "rank",    "workers",
                                         "closed", "failed", "passing", "crc32c"};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (strcmp(key, labels[i]) == 0)
            return true;
    return false;
}

/* The scalars of an object. */
static int add_scalars(assay_run_facts *facts, const char *prefix, const cJSON *object)
{
    int status = ASSAY_OK;
    for (const cJSON *item = object ? object->child : NULL; status == ASSAY_OK && item; item = item->next)
        if (item->string && is_scalar(item) && (*prefix || !is_label(item->string)))
            status = assay_run_facts_put(facts, join_name(prefix, item->string), value_text(item));
    return status;
}

static uint64_t count_of(const cJSON *object, const char *key)
{
    int64_t value = 0;
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return item && assay_json_i64(item, &value) && value > 0 ? (uint64_t)value : 0;
}

static void take_recorded(assay_run_facts *facts, const cJSON *recorded)
{
    const cJSON *modes = cJSON_GetObjectItemCaseSensitive(recorded, "modes");
    if (facts->run_workers > 0)
        return;
    facts->recorded_workers = count_of(recorded, "workers");
    facts->run_workers = count_of(recorded, "of");
    for (int m = ASSAY_MODE_TRAIN; m < ASSAY_MODES; m++) {
        const cJSON *mode = cJSON_GetObjectItemCaseSensitive(modes, mode_names[m]);
        facts->recorded[m] =
            (assay_run_recorded){count_of(mode, "steps"), count_of(mode, "of"), count_of(mode, "every")};
    }
}

/* What modules are: each worker may have others. Where two differ, nothing is known of the name. */
static int add_modules(assay_run_facts *facts, const char *file, const cJSON *modules, assay_problems *problems)
{
    enum { OTHERS = 64 }; /* facts that come behind: who did not close is one of them */
    const assay_run_facts sorted = *facts;
    uint64_t left = 0;
    int status = ASSAY_OK;
    for (const cJSON *item = modules ? modules->child : NULL; status == ASSAY_OK && item; item = item->next) {
        if (!item->string || !cJSON_IsString(item))
            continue;
        char *name = join_name("module", item->string);
        ASSAY_HAVE(name);
        assay_run_fact *known = assay_run_facts_find(&sorted, name);
        if (!known && facts->count + OTHERS >= ASSAY_RUN_FACTS_MOST) {
            left++;
            free(name);
            continue;
        }
        if (!known) {
            status = assay_run_facts_put(facts, name, assay_copy_text(item->valuestring));
            continue;
        }
        if (strcmp(known->value, item->valuestring) != 0)
            known->value[0] = '\0';
        free(name);
    }
    assay_run_facts_sort(facts);
    if (left > 0)
        assay_problems_add(problems, ASSAY_PROBLEM_KEY, -1, file, -1,
                           "%s: %" PRIu64
                           " of the modules that it describes are too many, and read as if it said nothing of them",
                           file, left);
    return status;
}

/* Another worker's host beside those that are known: "n1, n2". */
static int add_host(assay_run_facts *facts, const cJSON *document)
{
    const cJSON *host = cJSON_GetObjectItemCaseSensitive(document, "host");
    assay_run_fact *known = assay_run_facts_find(facts, "host");
    if (!known || !cJSON_IsString(host) || strlen(known->value) > HOSTS_LENGTH)
        return ASSAY_OK;
    size_t length = strlen(host->valuestring);
    for (const char *at = known->value; (at = strstr(at, host->valuestring)); at++)
        if ((at == known->value || at[-1] == ' ') && (at[length] == ',' || at[length] == '\0'))
            return ASSAY_OK;
    char *joined = NULL;
    if (asprintf(&joined, "%s, %s", known->value, host->valuestring) < 0)
        return ASSAY_ENOMEM;
    free(known->value);
    known->value = joined;
    return ASSAY_OK;
}

/* The facts of the first worker. */
static int take_all(assay_run_facts *facts, const cJSON *document)
{
    const cJSON *command = cJSON_GetObjectItemCaseSensitive(document, "command");
    int status = add_scalars(facts, "", document);
    if (status == ASSAY_OK && cJSON_IsArray(command))
        status = assay_run_facts_put(facts, assay_copy_text("command"), command_text(command));
    ASSAY_THEN(status, add_scalars(facts, "versions", cJSON_GetObjectItemCaseSensitive(document, "versions")));
    ASSAY_THEN(status, add_scalars(facts, "config", cJSON_GetObjectItemCaseSensitive(document, "config")));
    assay_run_facts_sort(facts);
    return status;
}

/* When the worker closed: a number; older files have `ended` alone, to the second. */
static double closed_at(const cJSON *document)
{
    const cJSON *closed = cJSON_GetObjectItemCaseSensitive(document, "closed"),
                *ended = cJSON_GetObjectItemCaseSensitive(document, "ended");
    struct tm parts = {0};
    if (!cJSON_IsString(ended))
        return NAN;
    if (cJSON_IsNumber(closed))
        return closed->valuedouble;
    return strptime(ended->valuestring, "%Y-%m-%dT%H:%M:%SZ", &parts) ? (double)timegm(&parts) : NAN;
}

static uint64_t passed_steps(const cJSON *document)
{
    const cJSON *recorded = cJSON_GetObjectItemCaseSensitive(document, "recorded");
    const cJSON *modes = cJSON_GetObjectItemCaseSensitive(recorded, "modes");
    uint64_t passed = 0;
    for (const cJSON *mode = modes ? modes->child : NULL; mode; mode = mode->next)
        passed += count_of(mode, "of");
    return passed;
}

/* "ValueError: no such file, in TRAIN step 31", on one line; NULL where the process ended in order. *status: ASSAY_ENOMEM
 * without memory. */
static char *failed_text(const cJSON *document, int *status)
{
    enum { TYPE = 100, MESSAGE = 170 };
    const cJSON *failed = cJSON_GetObjectItemCaseSensitive(document, "failed");
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(failed, "type"));
    const char *message = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(failed, "message"));
    const char *mode = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(failed, "mode"));
    const cJSON *step = cJSON_GetObjectItemCaseSensitive(failed, "mode_step");
    int64_t number = 0;
    assay_buf text = ASSAY_BUF(1024);
    if (!type || !*type)
        return NULL;
    assay_put_bytes(&text, type, assay_utf8_cut(type, TYPE));
    if (message && *message) {
        assay_put_format(&text, ": ");
        assay_put_bytes(&text, message, assay_utf8_cut(message, MESSAGE));
    }
    bool known = false;
    for (int m = ASSAY_MODE_TRAIN; mode && m < ASSAY_MODES; m++)
        known = known || strcmp(mode, mode_names[m]) == 0;
    if (known && step && assay_json_i64(step, &number) && number >= 0)
        assay_put_format(&text, ", in %s step %" PRId64, mode, number);
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < 0x20 || text.data[i] == 0x7f)
            text.data[i] = ' ';
    char *made =
        assay_buf_status(&text) == ASSAY_OK ? assay_copy_bytes_as_text((const char *)text.data, text.size) : NULL;
    *status = made ? *status : ASSAY_ENOMEM;
    assay_buf_release(&text);
    return made;
}

int assay_run_json_add(assay_run_facts *facts, const char *file, const void *text, size_t size,
                       assay_problems *problems)
{
    cJSON *document = NULL;
    assay_error why = {""};
    int status = assay_json_parse(file, text, size, &document, &why);
    if (status == ASSAY_ENOMEM)
        return status;
    if (status != ASSAY_OK || !cJSON_IsObject(document)) {
        assay_problems_add(problems, ASSAY_PROBLEM_FACTS, -1, file, -1, "%s; what it says about the run is not shown",
                           status == ASSAY_OK ? "it is not a JSON object" : why.text);
        cJSON_Delete(document);
        return problems->status;
    }
    const char *whose = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(document, "worker"));
    if (assay_smdebug_is_anothers(file, whose))
        assay_problems_add(problems, ASSAY_PROBLEM_FACTS, -1, file, -1,
                           "%s: it says that it is of %.100s: the file is that of another worker", file, whose);
    if (assay_json_is_changed(text, size))
        assay_problems_add(problems, ASSAY_PROBLEM_FACTS, -1, file, -1, "%s: " ASSAY_JSON_CHANGED, file);
    status = facts->files == 0 ? take_all(facts, document) : add_host(facts, document);
    ASSAY_THEN(status, add_modules(facts, file, cJSON_GetObjectItemCaseSensitive(document, "modules"), problems));
    take_recorded(facts, cJSON_GetObjectItemCaseSensitive(document, "recorded"));
    facts->files++;
    facts->closed_at = closed_at(document);
    facts->passed = passed_steps(document);
    free(facts->failed);
    facts->failed = NULL;
    if (status == ASSAY_OK && !isnan(facts->closed_at))
        facts->failed = failed_text(document, &status);
    facts->closed += cJSON_IsString(cJSON_GetObjectItemCaseSensitive(document, "ended"));
    cJSON_Delete(document);
    return status;
}

/* ---- all files ---- */

static bool is_facts_name(const char *name)
{
    size_t length = strlen(name);
    return name[0] != '.' && length > 5 && length < PATH_ROOM / 2 && strcmp(name + length - 5, ".json") == 0;
}

/* Takes the text that assay_run_json_add() left for the caller. */
static char *take_failed(assay_run_facts *facts)
{
    char *failed = facts->failed;
    facts->failed = NULL;
    return failed;
}

static int read_file(assay_store *store, const char *name, assay_run_facts *out, assay_problems *problems)
{
    char path[PATH_ROOM];
    assay_buf text = ASSAY_BUF(ASSAY_RUN_JSON_MOST);
    assay_error why = {""};
    snprintf(path, sizeof path, "run/%s", name);
    int status = assay_store_read(store, path, ASSAY_RUN_JSON_MOST, &text, &why);
    if (status == ASSAY_OK)
        status = assay_run_json_add(out, path, text.data, text.size, problems);
    else if (status != ASSAY_ENOMEM) {
        assay_problems_add(problems, ASSAY_PROBLEM_FACTS, -1, path, -1, "%s; what it says about the run is not shown",
                           why.text);
        status = problems->status;
    }
    assay_buf_release(&text);
    return status;
}

static int by_worker(const void *a, const void *b)
{
    return assay_worker_compare(*(char *const *)a, *(char *const *)b);
}

/* Adds the name of a worker's file to a list. */
static void put_worker(const char *file, assay_buf *list)
{
    assay_put_format(list, "%s%.*s", list->size ? ", " : "", (int)(strlen(file) - strlen(".json")), file);
}

/* Where some workers closed, those that did not were killed, or go on: the fact `unclosed` names them. */
static int put_unclosed(assay_run_facts *facts, assay_buf *list)
{
    int status = ASSAY_OK;
    if (facts->closed > 0 && list->size > 0 && assay_buf_status(list) == ASSAY_OK) {
        status = assay_run_facts_put(facts, assay_copy_text("unclosed"),
                                     assay_copy_bytes_as_text((const char *)list->data, list->size));
        assay_run_facts_sort(facts);
    }
    assay_buf_release(list);
    return status;
}

/* A worker that closed, when, after how many steps, and of what its process ended. */
typedef struct leave {
    const char *file; /* its name; borrowed */
    double at;
    uint64_t passed;
    char *failed; /* owned; NULL: of nothing that is known */
} leave;

static int by_time(const void *a, const void *b)
{
    const leave *x = a, *y = b;
    const bool unknown_x = isnan(x->at), unknown_y = isnan(y->at);
    return unknown_x || unknown_y ? unknown_x - unknown_y : (x->at > y->at) - (x->at < y->at);
}

/* Those whose process ended by an exception, the first one first: the fact `failed`, a line "worker_1 ValueError: ..." of
 * each. Those that somebody interrupted: the fact `interrupted`, "worker_0, worker_1". Brings the list into order. */
static int put_failed(assay_run_facts *facts, leave *list, size_t count)
{
    static const char interrupt[] = "KeyboardInterrupt";
    assay_buf failed = ASSAY_BUF(ASSAY_RUN_JSON_MOST), stopped = ASSAY_BUF(ASSAY_RUN_JSON_MOST);
    int status = ASSAY_OK;
    if (count > 1)
        qsort(list, count, sizeof *list, by_time);
    for (size_t i = 0; i < count; i++) {
        if (!list[i].failed)
            continue;
        if (strncmp(list[i].failed, interrupt, sizeof interrupt - 1) == 0) {
            put_worker(list[i].file, &stopped);
            continue;
        }
        assay_put_format(&failed, "%s%.*s %s", failed.size ? "\n" : "", (int)(strlen(list[i].file) - strlen(".json")),
                         list[i].file, list[i].failed);
    }
    if (failed.size > 0 && assay_buf_status(&failed) == ASSAY_OK)
        status = assay_run_facts_put(facts, assay_copy_text("failed"),
                                     assay_copy_bytes_as_text((const char *)failed.data, failed.size));
    if (status == ASSAY_OK && stopped.size > 0 && assay_buf_status(&stopped) == ASSAY_OK)
        status = assay_run_facts_put(facts, assay_copy_text("interrupted"),
                                     assay_copy_bytes_as_text((const char *)stopped.data, stopped.size));
    assay_run_facts_sort(facts);
    assay_buf_release(&failed);
    assay_buf_release(&stopped);
    return status;
}

/* Those that closed after fewer steps than another: the fact `closed`, "worker_1 1764291930.123, worker_3 ...". */
static int put_closed(assay_run_facts *facts, const leave *list, size_t count)
{
    assay_buf text = ASSAY_BUF(ASSAY_RUN_JSON_MOST);
    uint64_t most = 0;
    int status = ASSAY_OK;
    for (size_t i = 0; i < count; i++)
        most = list[i].passed > most ? list[i].passed : most;
    for (size_t i = 0; i < count; i++) {
        if (isnan(list[i].at) || list[i].passed >= most)
            continue;
        put_worker(list[i].file, &text);
        assay_put_format(&text, " %.3f", list[i].at);
    }
    if (text.size > 0 && assay_buf_status(&text) == ASSAY_OK) {
        status = assay_run_facts_put(facts, assay_copy_text("closed"),
                                     assay_copy_bytes_as_text((const char *)text.data, text.size));
        assay_run_facts_sort(facts);
    }
    assay_buf_release(&text);
    return status;
}

int assay_run_json_read(assay_store *store, assay_run_facts *out, assay_problems *problems)
{
    assay_names names = {0};
    assay_run_facts facts = {0};
    assay_error why = {""};
    int status = assay_store_list(store, "run", &names, &why);
    *out = facts;
    if (status == ASSAY_ENOTFOUND)
        return ASSAY_OK;
    if (status != ASSAY_OK && status != ASSAY_ENOMEM) {
        assay_problems_add(problems, ASSAY_PROBLEM_FACTS, -1, "run", -1, "%s; what it says about the run is not shown",
                           why.text);
        return problems->status;
    }
    assay_problems_name_aside(problems, -1, &names, "run", ".json");
    if (names.count > 1)
        qsort(names.name, names.count, sizeof *names.name, by_worker);
    assay_buf unclosed = ASSAY_BUF(ASSAY_RUN_JSON_MOST);
    leave left[FILES_MOST];
    size_t leaves = 0;
    for (size_t i = 0, files = 0; status == ASSAY_OK && i < names.count && files < FILES_MOST; i++) {
        const uint32_t before = facts.files, closed = facts.closed;
        if (!is_facts_name(names.name[i]))
            continue;
        files++;
        status = read_file(store, names.name[i], &facts, problems);
        if (facts.files > before)
            left[leaves++] = (leave){names.name[i], facts.closed_at, facts.passed, take_failed(&facts)};
        if (facts.files > before && facts.closed == closed)
            put_worker(names.name[i], &unclosed);
    }
    ASSAY_THEN(status, put_closed(&facts, left, leaves));
    ASSAY_THEN(status, put_failed(&facts, left, leaves));
    for (size_t i = 0; i < leaves; i++)
        free(left[i].failed);
    if (status == ASSAY_OK)
        status = put_unclosed(&facts, &unclosed);
    else
        assay_buf_release(&unclosed);
    assay_names_release(&names);
    if (status != ASSAY_OK)
        assay_run_facts_release(&facts);
    *out = facts;
    return status;
}
