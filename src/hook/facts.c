/* facts.c - see facts.h.
 *
 * Nothing here may stop or slow a training: it starts no program, asks no name service, reads no file beyond a ceiling,
 * and leaves out what it cannot find. */
#include "hook/facts.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/json.h"
#include "base/mask.h"
#include "base/utf8.h"
#include "hook/commit.h"

#ifndef ASSAY_VERSION
#define ASSAY_VERSION ""
#endif

enum { COMMAND_BYTES = 1 << 18 };

static const char *const mode_names[HOOK_MODES] = {"TRAIN", "EVAL", "PREDICT", "GLOBAL"};

void hook_facts_init(hook_facts *facts)
{
    *facts = (hook_facts){.started = time(NULL)};
}

void hook_facts_release(hook_facts *facts)
{
    for (size_t i = 0; i < facts->count; i++) {
        free(facts->list[i].name);
        free(facts->list[i].value);
    }
    free(facts->list);
    hook_facts_forget_end(facts);
    *facts = (hook_facts){0};
}

/* ---- values ---- */

/* A text in JSON without its secrets, cut behind `most` bytes. */
static void put_cut(assay_buf *out, const char *text, size_t most)
{
    assay_buf clean = ASSAY_BUF(HOOK_FACTS_CEILING);
    assay_put_masked(&clean, text);
    size_t whole = clean.size;
    assay_put_u8(&clean, '\0');
    if (assay_buf_status(&clean) != ASSAY_OK) {
        assay_put_format(out, "\"" ASSAY_MASK "\"");
    } else {
        size_t kept = assay_utf8_cut((const char *)clean.data, most);
        if (kept < whole) {
            clean.size = kept;
            assay_put_format(&clean, "...");
            whole = clean.size;
        }
        assay_json_put_text_n(out, (const char *)clean.data, whole);
    }
    assay_buf_release(&clean);
}

static void put_text(assay_buf *out, const char *text)
{
    put_cut(out, text, HOOK_FACT_VALUE);
}

/* A number as JSON writes one, or one of its three words. */
static bool is_json_atom(const char *value)
{
    size_t length = strlen(value);
    bool number = length > 0 && length < 64 && strspn(value, "+-.0123456789eE") == length;
    bool word = strcmp(value, "true") == 0 || strcmp(value, "false") == 0 || strcmp(value, "null") == 0;
    return word || (number && assay_json_check("", value, length, NULL) == ASSAY_OK);
}

static char *value_of(hook_fact_kind kind, const char *name, const char *value)
{
    assay_buf out = ASSAY_BUF(HOOK_FACTS_CEILING);
    if (kind == HOOK_MODULE) /* "token" is an embedding, and none of its arguments is a text */
        assay_json_put_text_n(&out, value, assay_utf8_cut(value, HOOK_MODULE_VALUE));
    else if (assay_name_is_secret(name, strlen(name)))
        assay_put_format(&out, "\"" ASSAY_MASK "\"");
    else if (is_json_atom(value))
        assay_put_format(&out, "%s", value);
    else
        put_text(&out, value);
    assay_put_u8(&out, '\0');
    char *made = assay_buf_status(&out) == ASSAY_OK ? assay_copy_text((const char *)out.data) : NULL;
    assay_buf_release(&out);
    return made;
}

static hook_fact *find(hook_facts *facts, hook_fact_kind kind, const char *name)
{
    for (size_t i = 0; i < facts->count; i++)
        if (facts->list[i].kind == kind && strcmp(facts->list[i].name, name) == 0)
            return &facts->list[i];
    return NULL;
}

int hook_facts_add(hook_facts *facts, hook_fact_kind kind, const char *name, const char *value, assay_error *err)
{
    static const char *const kinds[] = {
        [HOOK_SETTING] = "setting", [HOOK_VERSION] = "version", [HOOK_MODULE] = "module"};
    const char *what = kinds[kind];
    hook_fact *fact = find(facts, kind, name);
    if (name[0] == '\0' || strlen(name) > HOOK_FACT_NAME)
        return assay_fail(err, ASSAY_EPARAM, "%s %.40s: the name has to have 1 to %d bytes", what, name,
                          HOOK_FACT_NAME);
    const int most = kind == HOOK_MODULE ? HOOK_MODULES : HOOK_FACTS;
    if (!fact && (kind == HOOK_MODULE ? facts->modules : facts->count - facts->modules) == (size_t)most)
        return assay_fail(err, ASSAY_EPARAM, "%s %s: a run has at most %d of them", what, name, most);
    if (!facts->list)
        facts->list = assay_alloc_zeroed(HOOK_FACTS + HOOK_MODULES, sizeof *facts->list);
    char *text = value_of(kind, name, value), *copy = fact ? NULL : assay_copy_text(name);
    if (!facts->list || !text || (!fact && !copy)) {
        free(text);
        free(copy);
        return assay_fail(err, ASSAY_ENOMEM, "%s %s: out of memory", what, name);
    }
    if (fact) {
        if (kind == HOOK_MODULE && strcmp(fact->value, text) != 0)
            snprintf(text, strlen(text) + 1, "\"\"");
        free(fact->value);
        fact->value = text;
    } else {
        facts->list[facts->count++] = (hook_fact){kind, copy, text};
        facts->modules += kind == HOOK_MODULE;
    }
    return ASSAY_OK;
}

static char *cut_text(const char *text, size_t most)
{
    assay_buf out = ASSAY_BUF(HOOK_FACTS_CEILING);
    put_cut(&out, text, most);
    assay_put_u8(&out, '\0');
    char *made = assay_buf_status(&out) == ASSAY_OK ? assay_copy_text((const char *)out.data) : NULL;
    assay_buf_release(&out);
    return made;
}

int hook_facts_end(hook_facts *facts, const char *type, const char *message, const hook_end_cause *at, assay_error *err)
{
    hook_end_cause *end = &facts->ended_by;
    char *kind = cut_text(type, HOOK_END_TYPE), *text = cut_text(message, HOOK_END_MESSAGE);
    if (!kind || !text) {
        free(kind);
        free(text);
        return assay_fail(err, ASSAY_ENOMEM, "what ended the process: out of memory");
    }
    hook_facts_forget_end(facts);
    *end = *at;
    end->type = kind;
    end->message = text;
    return ASSAY_OK;
}

void hook_facts_forget_end(hook_facts *facts)
{
    free(facts->ended_by.type);
    free(facts->ended_by.message);
    facts->ended_by = (hook_end_cause){0};
}

/* ---- what the system says ---- */

static void put_key(assay_buf *out, const char *key)
{
    assay_put_format(out, ",\n \"%s\": ", key);
}

static void put_some(assay_buf *out, const char *key, const char *text)
{
    if (!text || !*text)
        return;
    put_key(out, key);
    put_text(out, text);
}

/* "2026-01-31T12:00:00Z" */
static void put_time(assay_buf *out, const char *key, time_t at)
{
    char text[32];
    struct tm parts;
    if (gmtime_r(&at, &parts) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) > 0)
        put_some(out, key, text);
}

static void put_host(assay_buf *out)
{
    char name[256] = "";
    if (gethostname(name, sizeof name - 1) == 0)
        put_some(out, "host", name);
}

/* By the environment: the user database may be a server that takes long to answer. */
static void put_user(assay_buf *out)
{
    char number[32];
    const char *name = getenv("USER");
    name = name && *name ? name : getenv("LOGNAME");
    snprintf(number, sizeof number, "uid %lu", (unsigned long)getuid());
    put_some(out, "user", name && *name ? name : number);
}

static bool is_job_number(const char *text)
{
    return text && *text && strlen(text) < 32 && strspn(text, "0123456789") == strlen(text);
}

/* "1234", or "1200_7" for a task of an array. */
static void put_slurm_job(assay_buf *out)
{
    char text[80];
    const char *job = getenv("SLURM_JOB_ID"), *array = getenv("SLURM_ARRAY_JOB_ID"),
               *task = getenv("SLURM_ARRAY_TASK_ID");
    if (is_job_number(array) && is_job_number(task))
        snprintf(text, sizeof text, "%s_%s", array, task);
    else
        snprintf(text, sizeof text, "%s", is_job_number(job) ? job : "");
    put_some(out, "slurm_job", text);
}

/* The command line of this process: arguments behind one another, each terminated. Empty where /proc has none. */
static void read_command(assay_buf *out)
{
    FILE *file = fopen("/proc/self/cmdline", "re");
    assay_buf_init(out, COMMAND_BYTES + 1);
    if (file && assay_buf_reserve(out, COMMAND_BYTES + 1) == ASSAY_OK) {
        out->size = fread(out->data, 1, COMMAND_BYTES, file);
        assay_put_u8(out, '\0');
    }
    if (file)
        fclose(file);
}

static const char *next_argument(const assay_buf *command, const char *argument)
{
    const char *end = (const char *)command->data + command->size;
    argument += strlen(argument) + 1;
    return argument < end && (argument[0] || argument + 1 < end) ? argument : NULL;
}

static void put_command(assay_buf *out, const assay_buf *command)
{
    bool secret = false;
    int n = 0;
    const char *at = command->size > 1 ? (const char *)command->data : NULL;
    if (!at)
        return;
    put_key(out, "command");
    for (; at && n < HOOK_COMMAND_ARGUMENTS; at = next_argument(command, at), n++) {
        assay_put_format(out, n ? ", " : "[");
        if (secret && strncmp(at, "--", 2) != 0)
            assay_put_format(out, "\"" ASSAY_MASK "\"");
        else
            put_text(out, at);
        secret = assay_option_is_secret(at);
    }
    assay_put_format(out, at ? ", \"...\"]" : "]");
}

/* The commit of the program's own tree, else of the working directory's: a script may run from anywhere. */
static void put_commit(assay_buf *out, const assay_buf *command)
{
    hook_commit commit;
    char folder[PATH_MAX];
    const char *at = command->size > 1 ? (const char *)command->data : NULL;
    bool found = false;
    for (int i = 0; at && i < 3 && !found; at = next_argument(command, at), i++) {
        const char *slash = strrchr(at, '/');
        bool script = strlen(at) < sizeof folder && at[0] != '-' && access(at, F_OK) == 0;
        bool interpreter = i == 0 && strstr(slash ? slash : at, "python");
        if (!script || interpreter || (i == 0 && !slash))
            continue;
        snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - at) + 1 : 1, slash ? at : ".");
        found = hook_find_commit(folder, &commit);
        break;
    }
    if (!found && !hook_find_commit(".", &commit))
        return;
    put_some(out, "commit", commit.hash);
    put_some(out, "branch", commit.branch);
}

/* ---- how much was recorded ---- */

/* The one interval at which all collections save in a mode; 0: they differ, or it is not the whole rule. */
static int64_t interval_of(const hook_config *config, int mode)
{
    int64_t interval = 0;
    for (size_t i = 0; i < config->count; i++) {
        const hook_collection *c = &config->collections[i];
        const hook_steps *rule = &c->rule[mode];
        if (!c->saved)
            continue;
        if (rule->listed > 0 || rule->start > 0 || rule->end >= 0 || (interval && interval != rule->interval))
            return 0;
        interval = rule->interval;
    }
    return interval;
}

static const char *ordinal(int64_t n)
{
    int64_t ten = n % 100;
    return ten >= 11 && ten <= 13 ? "th" : n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
}

void hook_recorded_put(const hook_recorded *recorded, const hook_config *config, int workers, assay_buf *out)
{
    bool any = !config->all_workers && workers > 1;
    if (any)
        assay_put_format(out, "1 of %d workers", workers);
    for (int m = 0; m < HOOK_MODES; m++) {
        int64_t interval = interval_of(config, m);
        if (recorded->passed[m] == 0 || recorded->saved[m] >= recorded->passed[m])
            continue;
        assay_put_format(out, "%s%llu of %llu %s step%s", any ? ", " : "", (unsigned long long)recorded->saved[m],
                         (unsigned long long)recorded->passed[m], mode_names[m], assay_plural(recorded->passed[m]));
        if (interval > 1)
            assay_put_format(out, " (every %lld%s)", (long long)interval, ordinal(interval));
        any = true;
    }
}

static void put_recorded(const hook_recorded *recorded, const hook_config *config, int workers, assay_buf *out)
{
    bool any = false;
    struct timespec now;
    put_time(out, "ended", time(NULL));
    if (clock_gettime(CLOCK_REALTIME, &now) == 0) { /* a worker that leaves early does so between steps of others */
        put_key(out, "closed");
        assay_put_format(out, "%lld.%03ld", (long long)now.tv_sec, now.tv_nsec / 1000000);
    }
    put_key(out, "recorded");
    assay_put_format(out, "{\"workers\": %d, \"of\": %d, \"modes\": {", config->all_workers ? workers : 1, workers);
    for (int m = 0; m < HOOK_MODES; m++) {
        int64_t interval = interval_of(config, m);
        if (recorded->passed[m] == 0)
            continue;
        assay_put_format(out, "%s\"%s\": {\"steps\": %llu, \"of\": %llu", any ? ", " : "", mode_names[m],
                         (unsigned long long)recorded->saved[m], (unsigned long long)recorded->passed[m]);
        if (interval > 0)
            assay_put_format(out, ", \"every\": %lld", (long long)interval);
        assay_put_u8(out, '}');
        any = true;
    }
    assay_put_format(out, "}}");
}

/* `passing` is taken for `failed` once the exception has ended the process (assay_recording/ending.py). */
static void put_end(const hook_end_cause *end, assay_buf *out)
{
    put_key(out, end->passing ? "passing" : "failed");
    assay_put_format(out, "{\"type\": %s, \"message\": %s", end->type, end->message);
    if (end->step >= 0)
        assay_put_format(out, ", \"mode\": \"%s\", \"mode_step\": %lld, \"step\": %lld", mode_names[end->mode],
                         (long long)end->mode_step, (long long)end->step);
    assay_put_u8(out, '}');
}

static void put_pairs(const hook_facts *facts, hook_fact_kind kind, assay_buf *out)
{
    static const char *const keys[] = {
        [HOOK_SETTING] = "config", [HOOK_VERSION] = "versions", [HOOK_MODULE] = "modules"};
    bool any = kind == HOOK_VERSION;
    put_key(out, keys[kind]);
    assay_put_u8(out, '{');
    if (any) {
        assay_put_format(out, "\"assay\": ");
        put_text(out, ASSAY_VERSION);
    }
    for (size_t i = 0; i < facts->count; i++) {
        if (facts->list[i].kind != kind)
            continue;
        if (kind == HOOK_MODULE && out->size > HOOK_FACTS_CEILING / 2) /* laws can do without, the rest has to fit */
            break;
        assay_put_format(out, any ? ", " : "");
        assay_json_put_text(out, facts->list[i].name);
        assay_put_format(out, ": %s", facts->list[i].value);
        any = true;
    }
    assay_put_u8(out, '}');
}

void hook_facts_put(const hook_facts *facts, const hook_config *config, const char *worker, int rank, int workers,
                    const hook_recorded *recorded, assay_buf *out)
{
    char folder[PATH_MAX];
    assay_buf command;
    read_command(&command);
    assay_put_format(out, "{\"schema\": \"assay-run/1\",\n \"worker\": ");
    assay_json_put_text(out, worker);
    assay_put_format(out, ", \"rank\": %d, \"workers\": %d", rank, workers);
    put_time(out, "started", facts->started);
    put_host(out);
    put_user(out);
    put_slurm_job(out);
    put_some(out, "directory", getcwd(folder, sizeof folder));
    put_command(out, &command);
    put_commit(out, &command);
    put_pairs(facts, HOOK_VERSION, out);
    put_pairs(facts, HOOK_SETTING, out);
    if (facts->modules > 0)
        put_pairs(facts, HOOK_MODULE, out);
    if (recorded)
        put_recorded(recorded, config, workers, out);
    if (recorded && facts->ended_by.type)
        put_end(&facts->ended_by, out);
    assay_put_format(out, "}\n");
    assay_buf_release(&command);
}
