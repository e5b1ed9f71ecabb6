/* settings.c - the part of a state file that people write: what to launch, how to check it, what to try next. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pilot/pilot_internal.h"
#include "base/fault.h"

static const char NAME_CHARACTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
static const char KEY_CHARACTERS[] = "abcdefghijklmnopqrstuvwxyz0123456789_";

/* The object under `key`, or NULL where it is missing; a missing one that is needed, and anything else, is a failure.
 */
static int section(const job_reader *r, const assay_pilot *pilot, const char *key, const char *const *known,
                   bool needed, const cJSON **out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(pilot->document, key);
    *out = item;
    if (!item)
        return needed ? job_fail(r, "", "\"%s\" is missing", key) : ASSAY_OK;
    return job_known_keys(r, key, item, known);
}

static int needed_text(const job_reader *r, const char *place, const cJSON *object, const char *key, const char **out)
{
    int status = job_text(r, place, object, key, out);
    return status == ASSAY_OK && !*out ? job_fail(r, place, "\"%s\" is missing", key) : status;
}

static int whole(const job_reader *r, const char *place, const cJSON *object, const char *key, double least,
                 double most, uint64_t *out)
{
    double value = (double)*out;
    int status = job_number(r, place, object, key, least, most, &value);
    if (status == ASSAY_OK && value != trunc(value))
        return job_fail(r, place, "\"%s\" has to be a whole number", key);
    *out = status == ASSAY_OK ? (uint64_t)value : *out;
    return status;
}

/* A list of texts as argv; NULL where the key is missing. The texts stay the document's. */
static int words(const job_reader *r, const char *place, const cJSON *object, const char *key, const char ***out)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, key), *item;
    size_t used = 0;
    if (!list)
        return ASSAY_OK;
    int count = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : -1;
    if (count < 0 || count > PILOT_WORDS)
        return job_fail(r, place, "\"%s\" has to be a list of at most %d texts", key, PILOT_WORDS);
    *out = assay_realloc_array(NULL, (size_t)count + 1, sizeof **out);
    if (!*out)
        return job_no_memory(r);
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsString(item) || item->valuestring[0] == '\0')
            return job_fail(r, place, "\"%s\" has to be a list of texts that are not empty", key);
        (*out)[used++] = item->valuestring;
        (*out)[used] = NULL;
    }
    (*out)[used] = NULL;
    return ASSAY_OK;
}

/* Options of sbatch that would take away what the pilot relies on: the name, the hold, one job a launch, an answer at
 * once, the cluster that is asked afterwards. sbatch takes long ones that are cut short, and short ones behind each
 * other. */
static bool is_reserved(const char *option)
{
    static const char *const longs[] = {"--job-name", "--hold",      "--array",    "--wait", "--wrap",
                                        "--parsable", "--test-only", "--clusters", NULL};
    size_t length = strcspn(option, "=");
    for (size_t i = 0; length > 2 && longs[i]; i++) {
        if (strncmp(option, longs[i], length) == 0)
            return true;
    }
    const char *letter = option + 1;
    if (*letter != '-') /* those that have no value */
        letter += strspn(letter, "hIkOQsvVX");
    return *letter != '\0' && strchr("JHaWM", *letter) != NULL;
}

static int read_launch(const job_reader *r, assay_pilot *pilot)
{
    static const char *const known[] = {"script", "sbatch_options", "runs", NULL};
    const cJSON *object;
    int status = section(r, pilot, "launch", known, true, &object);
    if (status == ASSAY_OK)
        status = needed_text(r, "launch", object, "script", &pilot->script);
    if (status == ASSAY_OK)
        status = job_text(r, "launch", object, "runs", &pilot->runs);
    if (status == ASSAY_OK)
        status = words(r, "launch", object, "sbatch_options", &pilot->options);
    for (size_t i = 0; status == ASSAY_OK && pilot->options && pilot->options[i]; i++) {
        if (pilot->options[i][0] != '-')
            status =
                job_fail(r, "launch", "sbatch_options[%zu]: expected an option such as \"--time=60\", got \"%.60s\"", i,
                         pilot->options[i]);
        else if (is_reserved(pilot->options[i]))
            status = job_fail(r, "launch", "sbatch_options[%zu]: \"%.60s\" is the pilot's own to decide", i,
                              pilot->options[i]);
    }
    pilot->runs = pilot->runs ? pilot->runs : "runs";
    return status;
}

static int read_monitor(const job_reader *r, assay_pilot *pilot)
{
    static const char *const known[] = {"job", "command", "reports", "poll_seconds", "time_limit", "fail_on", NULL};
    const cJSON *object;
    const char *level = NULL;
    pilot->poll_seconds = 30;
    pilot->time_limit = 3600;
    int status = section(r, pilot, "monitor", known, true, &object);
    if (status == ASSAY_OK)
        status = needed_text(r, "monitor", object, "job", &pilot->job);
    if (status == ASSAY_OK)
        status = job_text(r, "monitor", object, "reports", &pilot->reports);
    if (status == ASSAY_OK && pilot->reports && strstr(pilot->reports, "://"))
        status = job_fail(r, "monitor", "\"reports\" is not a directory: the pilot reads the reports there itself");
    if (status == ASSAY_OK)
        status = words(r, "monitor", object, "command", &pilot->command);
    if (status == ASSAY_OK && pilot->command && !pilot->command[0])
        status =
            job_fail(r, "monitor",
                     "\"command\" is empty: it is what starts assay, such as [\"mpirun\", \"-n\", \"4\", \"assay\"]");
    if (status == ASSAY_OK)
        status = job_number(r, "monitor", object, "poll_seconds", 0.1, 86400, &pilot->poll_seconds);
    if (status == ASSAY_OK)
        status = job_number(r, "monitor", object, "time_limit", 1, 1e6, &pilot->time_limit);
    if (status == ASSAY_OK)
        status = job_text(r, "monitor", object, "fail_on", &level);
    pilot->reports = pilot->reports ? pilot->reports : "reports";
    pilot->fail_on = ASSAY_WARNING;
    for (int s = ASSAY_INFO; status == ASSAY_OK && level && s <= ASSAY_ERROR; s++) {
        if (strcmp(level, assay_severity_name(s)) == 0) {
            pilot->fail_on = s;
            return ASSAY_OK;
        }
    }
    return status == ASSAY_OK && level
               ? job_fail(r, "monitor", "unknown \"fail_on\" \"%.40s\"; known: info, warning, error", level)
               : status;
}

/* Names become variables of the environment, values their text. */
static int read_spec(const job_reader *r, assay_pilot *pilot)
{
    cJSON *spec = cJSON_GetObjectItemCaseSensitive(pilot->document, "run_spec"), *item;
    size_t count = 0;
    if (!cJSON_IsObject(spec))
        return job_fail(r, "", "\"run_spec\" has to be an object: the parameters of the training");
    pilot->run_spec = spec;
    cJSON_ArrayForEach(item, spec)
    {
        const char *key = item->string;
        size_t length = strlen(key);
        if (length == 0 || length > 60 || strspn(key, KEY_CHARACTERS) != length || (key[0] >= '0' && key[0] <= '9'))
            return job_fail(r, "run_spec", "\"%.60s\": a parameter's name has small letters, digits and _ (at most 60)",
                            key);
        if (!cJSON_IsString(item) && !cJSON_IsNumber(item) && !cJSON_IsBool(item))
            return job_fail(r, "run_spec", "\"%s\" has to be a number, a text, true or false", key);
        if (cJSON_IsNumber(item) && !isfinite(item->valuedouble))
            return job_fail(r, "run_spec", "\"%s\" is too large", key);
        for (const cJSON *other = spec->child; other != item; other = other->next) {
            if (strcmp(other->string, key) == 0)
                return job_fail(r, "run_spec", "the key \"%s\" is there twice", key);
        }
        if (++count > PILOT_SPEC)
            return job_fail(r, "run_spec", "more than %d parameters", PILOT_SPEC);
    }
    int status = needed_text(r, "run_spec", spec, "base_job_name", &pilot->base);
    if (status != ASSAY_OK)
        return status;
    size_t length = strlen(pilot->base);
    if (length > PILOT_BASE || strspn(pilot->base, NAME_CHARACTERS) != length || pilot->base[0] == '.' ||
        pilot->base[0] == '-')
        return job_fail(
            r, "run_spec",
            "\"base_job_name\" has letters, digits, '.', '_' and '-' (at most %d), and begins with none of '.' and '-'",
            PILOT_BASE);
    return ASSAY_OK;
}

static int read_multiply(const job_reader *r, const char *place, const cJSON *item, const cJSON *parameter,
                         pilot_strategy *s)
{
    s->multiplies = true;
    s->factor = 1;
    s->least = -INFINITY;
    s->most = INFINITY;
    if (!cJSON_IsNumber(parameter))
        return job_fail(r, place, "run_spec's \"%s\" is not a number: it cannot be multiplied", s->parameter);
    int status = job_number(r, place, item, "multiply", 1e-6, 1e6, &s->factor);
    if (status == ASSAY_OK && s->factor == 1)
        status = job_fail(r, place, "\"multiply\" by 1 changes nothing");
    if (status == ASSAY_OK)
        status = job_number(r, place, item, "at_least", -1e300, 1e300, &s->least);
    return status == ASSAY_OK ? job_number(r, place, item, "at_most", -1e300, 1e300, &s->most) : status;
}

static int read_set(const job_reader *r, const char *place, const cJSON *item, pilot_strategy *s)
{
    s->value = cJSON_GetObjectItemCaseSensitive(item, "set");
    bool number_set = cJSON_IsNumber(s->value) && isfinite(s->value->valuedouble);
    if (!cJSON_IsString(s->value) && !number_set && !cJSON_IsBool(s->value))
        return job_fail(r, place, "\"set\" has to be a number, a text, true or false");
    if (cJSON_GetObjectItemCaseSensitive(item, "at_least") || cJSON_GetObjectItemCaseSensitive(item, "at_most"))
        return job_fail(r, place, "\"at_least\" and \"at_most\" go with \"multiply\"");
    return ASSAY_OK;
}

/* "num_..._adjustments": a strategy's own place in history. */
static bool is_counter(const char *name)
{
    static const char head[] = "num_", tail[] = "_adjustments";
    size_t length = strlen(name);
    return length > sizeof head + sizeof tail - 2 && length <= 60 && strspn(name, KEY_CHARACTERS) == length &&
           strncmp(name, head, sizeof head - 1) == 0 && strcmp(name + length - (sizeof tail - 1), tail) == 0;
}

static int read_strategy(const job_reader *r, assay_pilot *pilot, const char *place, const cJSON *item)
{
    static const char *const known[] = {"parameter", "multiply", "set",     "times",
                                        "at_least",  "at_most",  "counter", NULL};
    pilot_strategy *s = &pilot->strategy[pilot->strategies];
    *s = (pilot_strategy){.times = 1};
    int status = job_known_keys(r, place, item, known);
    if (status == ASSAY_OK)
        status = needed_text(r, place, item, "parameter", &s->parameter);
    if (status == ASSAY_OK)
        status = needed_text(r, place, item, "counter", &s->counter);
    if (status == ASSAY_OK)
        status = whole(r, place, item, "times", 1, 1000, &s->times);
    if (status != ASSAY_OK)
        return status;
    const cJSON *parameter = cJSON_GetObjectItemCaseSensitive(pilot->run_spec, s->parameter);
    bool multiply = cJSON_GetObjectItemCaseSensitive(item, "multiply") != NULL;
    if (!parameter || strcmp(s->parameter, "base_job_name") == 0)
        return job_fail(r, place, "\"%.60s\" is not a parameter of run_spec that can be changed", s->parameter);
    if (multiply == (cJSON_GetObjectItemCaseSensitive(item, "set") != NULL))
        return job_fail(r, place, "expected either \"multiply\" or \"set\"");
    if (!is_counter(s->counter))
        return job_fail(r, place, "\"counter\" has to be a name like \"num_warmup_adjustments\"");
    for (size_t i = 0; i < pilot->strategies; i++) {
        if (strcmp(pilot->strategy[i].counter, s->counter) == 0)
            return job_fail(r, place, "the counter \"%s\" belongs to strategies[%zu]", s->counter, i);
    }
    status = multiply ? read_multiply(r, place, item, parameter, s) : read_set(r, place, item, s);
    pilot->strategies += status == ASSAY_OK;
    return status;
}

static int read_strategies(const job_reader *r, assay_pilot *pilot)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(pilot->document, "strategies"), *item;
    int status = ASSAY_OK;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > PILOT_STRATEGIES)
        return job_fail(r, "", "\"strategies\" has to be a list of at most %d strategies", PILOT_STRATEGIES);
    cJSON_ArrayForEach(item, list)
    {
        char place[ASSAY_JOB_PLACE];
        snprintf(place, sizeof place, "strategies[%zu]", pilot->strategies);
        status = read_strategy(r, pilot, place, item);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

static int read_caps(const job_reader *r, assay_pilot *pilot)
{
    static const char *const known[] = {"num_retraining", "num_monitor_transitions", NULL};
    const cJSON *object;
    pilot->most_retraining = 20;
    int status = section(r, pilot, "caps", known, false, &object);
    if (status == ASSAY_OK && object)
        status = whole(r, "caps", object, "num_retraining", 1, 10000, &pilot->most_retraining);
    if (status == ASSAY_OK && object)
        status = whole(r, "caps", object, "num_monitor_transitions", 0, 1e9, &pilot->most_monitor);
    return status;
}

static int read_target(const job_reader *r, assay_pilot *pilot, const cJSON *item)
{
    static const char *const known[] = {"notify", "mail", NULL};
    char place[ASSAY_JOB_PLACE];
    snprintf(place, sizeof place, "notify[%zu]", pilot->targets);
    int status = job_known_keys(r, place, item, known);
    if (status != ASSAY_OK)
        return status;
    const cJSON *webhook = cJSON_GetObjectItemCaseSensitive(item, "notify"),
                *mail = cJSON_GetObjectItemCaseSensitive(item, "mail");
    if (!webhook == !mail)
        return job_fail(r, place, "expected either \"notify\" or \"mail\"");
    snprintf(place, sizeof place, "notify[%zu].%s", pilot->targets, mail ? "mail" : "notify");
    status = assay_notify_parse(r->file, place, mail ? ASSAY_NOTIFY_MAIL : ASSAY_NOTIFY_WEBHOOK, mail ? mail : webhook,
                                &pilot->target[pilot->targets], r->err);
    pilot->targets += status == ASSAY_OK;
    return status;
}

static int read_targets(const job_reader *r, assay_pilot *pilot)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(pilot->document, "notify"), *item;
    int status = ASSAY_OK;
    if (!list)
        return ASSAY_OK;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > PILOT_TARGETS)
        return job_fail(r, "", "\"notify\" has to be a list of at most %d targets", PILOT_TARGETS);
    for (item = list->child; item && status == ASSAY_OK; item = item->next)
        status = read_target(r, pilot, item);
    return status;
}

int pilot_read_settings(const job_reader *r, assay_pilot *pilot)
{
    int status = read_spec(r, pilot);
    if (status == ASSAY_OK)
        status = read_launch(r, pilot);
    if (status == ASSAY_OK)
        status = read_monitor(r, pilot);
    if (status == ASSAY_OK)
        status = read_strategies(r, pilot);
    if (status == ASSAY_OK)
        status = read_caps(r, pilot);
    return status == ASSAY_OK ? read_targets(r, pilot) : status;
}
