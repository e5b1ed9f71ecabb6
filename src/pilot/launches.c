/* launches.c - the record of the launches in the state: with which settings, and what became of each. It is for people:
 * the pilot decides nothing by it. */
#include <stdio.h>
#include <string.h>

#include "pilot/pilot_internal.h"
#include "report/text/layout.h"

/* Bounds the state file: a quarter of it is for launches, so settings and history always fit. */
enum { LAUNCHES = 100, LAUNCHES_BYTES = ASSAY_PILOT_CEILING / 4 }; /* the oldest go first */

static const char *const KEYS[] = {"name", "job_id", "job_status", "rule_status", "findings", "log"};
enum { KEY_COUNT = sizeof KEYS / sizeof *KEYS };

/* The list may have been edited, so its form is checked; what it says is not, as nothing depends on it. */
int pilot_read_launches(const job_reader *r, assay_pilot *pilot)
{
    static const char *const known[] = {"name",     "job_id", "job_status", "rule_status",
                                        "findings", "log",    "settings",   NULL};
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(pilot->document, "launches");
    char place[ASSAY_JOB_PLACE];
    size_t i = 0;
    if (!list)
        return ASSAY_OK;
    if (!cJSON_IsArray(list))
        return job_fail(r, "launches", "expected a list");
    for (const cJSON *item = list->child; item; item = item->next) {
        snprintf(place, sizeof place, "launches[%zu]", i++);
        ASSAY_TRY(job_known_keys(r, place, item, known));
        for (int k = 0; k < KEY_COUNT; k++) {
            const cJSON *text = cJSON_GetObjectItemCaseSensitive(item, KEYS[k]);
            if (k == 0 ? !cJSON_IsString(text) : text && !cJSON_IsString(text))
                return job_fail(r, place, "\"%s\" has to be a text", KEYS[k]);
        }
        if (!cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(item, "settings")))
            return job_fail(r, place, "\"settings\" has to be an object in braces");
    }
    return ASSAY_OK;
}

static bool fits(const cJSON *list)
{
    assay_buf text = ASSAY_BUF(LAUNCHES_BYTES);
    pilot_put_json(list, 0, 0, &text);
    bool fits = cJSON_GetArraySize(list) <= LAUNCHES && assay_buf_status(&text) == ASSAY_OK;
    assay_buf_release(&text);
    return fits;
}

/* `made` decides who owns `settings`: the launch once it was added, this function until then. */
int pilot_add_launch(assay_pilot *pilot, assay_error *err)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(pilot->document, "launches");
    if (!list)
        list = cJSON_AddArrayToObject(pilot->document, "launches");
    cJSON *launch = cJSON_CreateObject(), *settings = cJSON_Duplicate(pilot->run_spec, true);
    bool made = list && launch && settings && cJSON_AddStringToObject(launch, "name", pilot->job_name);
    if (settings)
        cJSON_DeleteItemFromObjectCaseSensitive(settings, "base_job_name");
    if (!made || !cJSON_AddItemToObject(launch, "settings", settings))
        cJSON_Delete(settings);
    else if (cJSON_AddItemToArray(list, launch)) {
        while (list->child && !fits(list))
            cJSON_DeleteItemFromArray(list, 0);
        return ASSAY_OK;
    }
    cJSON_Delete(launch);
    return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", pilot->file);
}

/* NULL where the newest entry is of another launch: a state that people wrote may have none. */
static cJSON *latest(const assay_pilot *pilot)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(pilot->document, "launches");
    cJSON *last = list ? cJSON_GetArrayItem(list, cJSON_GetArraySize(list) - 1) : NULL;
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(last, "name");
    return cJSON_IsString(name) && strcmp(name->valuestring, pilot->job_name) == 0 ? last : NULL;
}

/* True also where there is no entry: only a lack of memory is a failure. */
bool pilot_note_launch(assay_pilot *pilot, const char *key, const char *text)
{
    cJSON *launch = latest(pilot);
    return !launch || pilot_set_text(launch, key, text);
}

/* ---- for people ---- */

static const char *text_of(const cJSON *launch, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(launch, key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

/* Puts "learning_rate 0.6, batch 32", all of them, or those that the launch before had otherwise: "learning_rate 0.6,
 * was 2.4". */
static void put_settings(const cJSON *launch, const cJSON *before, assay_buf *out)
{
    const cJSON *settings = cJSON_GetObjectItemCaseSensitive(launch, "settings");
    const cJSON *old = cJSON_GetObjectItemCaseSensitive(before, "settings");
    bool any = false;
    for (const cJSON *item = settings ? settings->child : NULL; item; item = item->next) {
        const cJSON *was = cJSON_GetObjectItemCaseSensitive(old, item->string);
        if (before && cJSON_Compare(was, item, true))
            continue;
        assay_put_format(out, any ? ", " : "");
        assay_put_bytes(out, item->string, strlen(item->string));
        assay_put_u8(out, ' ');
        pilot_put_json(item, 0, 0, out);
        if (was) {
            assay_put_format(out, ", was ");
            pilot_put_json(was, 0, 0, out);
        }
        any = true;
    }
    assay_put_format(out, any ? "" : before ? "as before" : "none");
}

static void put_line(const assay_draw *draw, const char *lead, const assay_buf *text, assay_buf *out)
{
    assay_text_put_wrapped(out, draw, 15, lead, text->data ? (const char *)text->data : "", text->size);
}

static void put_launch(const cJSON *launch, const cJSON *before, const assay_draw *draw, assay_buf *out)
{
    static const char *const leads[][2] = {{"findings", "    findings:  "}, {"log", "    log:       "}};
    assay_buf line = ASSAY_BUF(ASSAY_PILOT_CEILING);
    const char *job = text_of(launch, "job_id");
    assay_put_format(&line, "%.200s: %.40s, %.40s", text_of(launch, "name"), text_of(launch, "job_status"),
                     text_of(launch, "rule_status"));
    assay_put_format(&line, "%s%.40s", job[0] ? ", job " : "", job);
    assay_put_u8(out, '\n');
    assay_text_put_wrapped(out, draw, 4, "", (const char *)line.data, line.size);
    assay_buf_clear(&line);
    put_settings(launch, before, &line);
    put_line(draw, "    settings:  ", &line, out);
    for (size_t i = 0; i < sizeof leads / sizeof *leads; i++) {
        const char *text = text_of(launch, leads[i][0]);
        assay_buf_clear(&line);
        assay_put_bytes(&line, text, strlen(text));
        if (text[0])
            put_line(draw, leads[i][1], &line, out);
    }
    assay_buf_release(&line);
}

/* Called by `assay pilot --status`, without the lock: it reads a state that another pilot may be at work on. */
int assay_pilot_put_status(const assay_pilot *pilot, const assay_draw *draw, assay_buf *out)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(pilot->document, "launches"), *before = NULL;
    const unsigned long long launched = pilot_count(pilot, "num_retraining"),
                             known = (unsigned long long)cJSON_GetArraySize(list);
    assay_buf line = ASSAY_BUF(ASSAY_PILOT_CEILING);
    if (assay_pilot_ended(pilot))
        assay_put_format(&line, "%s after %llu launch%s%s%s", assay_pilot_clean(pilot, NULL) ? "clean run" : "ended",
                         launched, launched == 1 ? "" : "es", pilot->reason[0] ? ": " : "", pilot->reason);
    else if (launched == 0)
        assay_put_format(&line, "nothing was launched yet");
    else
        assay_put_format(&line, "launch %llu of at most %llu: %s, %s%s%s", launched,
                         (unsigned long long)pilot->most_retraining, pilot->job_name, pilot_job_word[pilot->job_status],
                         pilot->reason[0] ? "; before it: " : "", pilot->reason);
    assay_text_put_wrapped(out, draw, 0, NULL, (const char *)line.data, line.size);
    assay_buf_release(&line);
    if (launched > known)
        assay_put_format(out, "\nOf the first %llu launch%s there is no record.\n", launched - known,
                         launched - known == 1 ? "" : "es");
    for (const cJSON *launch = list ? list->child : NULL; launch; before = launch, launch = launch->next)
        put_launch(launch, before, draw, out);
    return assay_buf_status(out);
}
