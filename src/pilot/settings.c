/* settings.c - the part of a state file that people write: what to launch, how to check it, what to try next. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pilot/pilot_internal.h"
#include "base/fault.h"

static const char NAME_CHARACTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
static const char KEY_CHARACTERS[] = "abcdefghijklmnopqrstuvwxyz0123456789_";

/* Makes a list of texts argv; NULL where the key is missing. The texts stay the document's. */
static int make_words(const job_reader *r, const cJSON *list, const char ***out)
{
    size_t used = 0;
    if (!list)
        return ASSAY_OK;
    *out = assay_alloc_zeroed((size_t)cJSON_GetArraySize(list) + 1, sizeof **out);
    if (!*out)
        return job_no_memory(r);
    for (const cJSON *item = list->child; item; item = item->next)
        (*out)[used++] = item->valuestring;
    return ASSAY_OK;
}

/* Tells whether an option of sbatch would take away what the pilot relies on: the name, the hold, one job a launch,
 * an answer at once, the cluster that is asked afterwards. sbatch takes long ones that are cut short, and short ones
 * behind each other. */
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

#define AT(member) ASSAY_SETTING_AT(assay_pilot, member)
const assay_setting pilot_launch_settings[] = {
    {.name = "script",
     .kind = ASSAY_SETTING_TEXT,
     AT(script),
     .required = true,
     .help = "the batch script of the training"},
    {.name = "sbatch_options",
     .kind = ASSAY_SETTING_TEXTS,
     AT(words),
     .most = PILOT_WORDS,
     .help = "options of sbatch"},
    {.name = "runs", .kind = ASSAY_SETTING_TEXT, AT(runs), .initial = "runs", .help = "directory of the trials"},
    {0}};
const assay_setting pilot_monitor_settings[] = {{.name = "job",
                                                 .kind = ASSAY_SETTING_TEXT,
                                                 AT(job),
                                                 .required = true,
                                                 .help = "the job file that trials are checked with"},
                                                {.name = "command",
                                                 .kind = ASSAY_SETTING_TEXTS,
                                                 AT(words),
                                                 .most = PILOT_WORDS,
                                                 .help = "what starts assay; this program otherwise"},
                                                {.name = "reports",
                                                 .kind = ASSAY_SETTING_TEXT,
                                                 AT(reports),
                                                 .initial = "reports",
                                                 .help = "directory of the reports"},
                                                {.name = "poll_seconds",
                                                 .kind = ASSAY_SETTING_REAL,
                                                 AT(poll_seconds),
                                                 .least = 0.1,
                                                 .most = 86400,
                                                 .initial = "30",
                                                 .help = "seconds between two looks at the job"},
                                                {.name = "time_limit",
                                                 .kind = ASSAY_SETTING_REAL,
                                                 AT(time_limit),
                                                 .least = 1,
                                                 .most = 1e6,
                                                 .initial = "3600",
                                                 .help = "seconds that one check may take"},
                                                {.name = "fail_on",
                                                 .kind = ASSAY_SETTING_WORD,
                                                 AT(fail_on),
                                                 .words = "info|warning|error",
                                                 .initial = "warning",
                                                 .help = "the least grave findings that end a training"},
                                                {0}};
const assay_setting pilot_caps_settings[] = {{.name = "num_retraining",
                                              .kind = ASSAY_SETTING_COUNT,
                                              AT(most_retraining),
                                              .least = 1,
                                              .most = 10000,
                                              .initial = "20",
                                              .help = "how often the training is launched again"},
                                             {.name = "num_monitor_transitions",
                                              .kind = ASSAY_SETTING_COUNT,
                                              AT(most_monitor),
                                              .most = 1e9,
                                              .initial = "0",
                                              .help = "how often it is looked at; 0: any number of times"},
                                             {0}};
#undef AT

static int read_launch(const job_reader *r, assay_pilot *pilot, const cJSON *object)
{
    int status = job_read(r, "launch", pilot_launch_settings, object, pilot);
    ASSAY_THEN(status, make_words(r, pilot->words, &pilot->options));
    for (size_t i = 0; status == ASSAY_OK && pilot->options && pilot->options[i]; i++) {
        if (pilot->options[i][0] != '-')
            status =
                job_fail(r, "launch", "sbatch_options[%zu]: expected an option such as \"--time=60\", got \"%.60s\"", i,
                         pilot->options[i]);
        else if (is_reserved(pilot->options[i]))
            status = job_fail(r, "launch", "sbatch_options[%zu]: \"%.60s\" is the pilot's own to decide", i,
                              pilot->options[i]);
    }
    return status;
}

/* Reports may not be on a server, though trials may. */
static int read_monitor(const job_reader *r, assay_pilot *pilot, const cJSON *object)
{
    ASSAY_TRY(job_read(r, "monitor", pilot_monitor_settings, object, pilot));
    if (strstr(pilot->reports, "://"))
        return job_fail(r, "monitor", "\"reports\" is not a directory: the pilot reads the reports there itself");
    if (pilot->words && !pilot->words->child)
        return job_fail(
            r, "monitor",
            "\"command\" is empty: it is what starts assay, such as [\"mpirun\", \"-n\", \"4\", \"assay\"]");
    return make_words(r, pilot->words, &pilot->command);
}

/* Reads the parameters. Their names become variables of the environment, values their text: so names are restricted,
 * and each may be there once. */
static int read_spec(const job_reader *r, assay_pilot *pilot, cJSON *spec)
{
    const cJSON *item;
    size_t count = 0;
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
    ASSAY_TRY(job_text(r, "run_spec", spec, "base_job_name", &pilot->base));
    if (!pilot->base)
        return job_fail(r, "run_spec", "\"base_job_name\" is missing");
    /* The base is part of job names, directories and variables, and is put behind an option's "=". */
    size_t length = strlen(pilot->base);
    if (length > PILOT_BASE || strspn(pilot->base, NAME_CHARACTERS) != length || pilot->base[0] == '.' ||
        pilot->base[0] == '-')
        return job_fail(
            r, "run_spec",
            "\"base_job_name\" has letters, digits, '.', '_' and '-' (at most %d), and begins with none of '.' and '-'",
            PILOT_BASE);
    return ASSAY_OK;
}

#define AT(member) ASSAY_SETTING_AT(pilot_strategy, member)
const assay_setting pilot_strategy_settings[] = {
    {.name = "parameter",
     .kind = ASSAY_SETTING_TEXT,
     AT(parameter),
     .required = true,
     .help = "the parameter of run_spec that changes"},
    {.name = "multiply",
     .kind = ASSAY_SETTING_REAL,
     AT(factor),
     .least = 1e-6,
     .most = 1e6,
     .initial = "1",
     .help = "what a number is multiplied by"},
    {.name = "set", .kind = ASSAY_SETTING_ITEM, AT(value), .help = "the new value"},
    {.name = "times",
     .kind = ASSAY_SETTING_COUNT,
     AT(times),
     .least = 1,
     .most = 1000,
     .initial = "1",
     .help = "how often the strategy is used"},
    {.name = "at_least",
     .kind = ASSAY_SETTING_REAL,
     AT(least),
     .least = -1e300,
     .most = 1e300,
     .initial = "-1e300",
     .help = "a product below is not taken"},
    {.name = "at_most",
     .kind = ASSAY_SETTING_REAL,
     AT(most),
     .least = -1e300,
     .most = 1e300,
     .initial = "1e300",
     .help = "a product above is not taken"},
    {.name = "counter",
     .kind = ASSAY_SETTING_TEXT,
     AT(counter),
     .required = true,
     .help = "a name of its own in history, like \"num_warmup_adjustments\""},
    {0}};
#undef AT

/* A strategy that can never change anything would be used up without a word, so it is refused here. */
static int check_multiply(const job_reader *r, const char *place, const cJSON *parameter, const pilot_strategy *s)
{
    if (!cJSON_IsNumber(parameter))
        return job_fail(r, place, "run_spec's \"%s\" is not a number: it cannot be multiplied", s->parameter);
    return s->factor == 1 ? job_fail(r, place, "\"multiply\" by 1 changes nothing") : ASSAY_OK;
}

static int check_set(const job_reader *r, const char *place, const cJSON *item, const pilot_strategy *s)
{
    const bool number_set = cJSON_IsNumber(s->value) && isfinite(s->value->valuedouble);
    if (!cJSON_IsString(s->value) && !number_set && !cJSON_IsBool(s->value))
        return job_fail(r, place, "\"set\" has to be a number, a text, true or false");
    if (cJSON_GetObjectItemCaseSensitive(item, "at_least") || cJSON_GetObjectItemCaseSensitive(item, "at_most"))
        return job_fail(r, place, "\"at_least\" and \"at_most\" go with \"multiply\"");
    return ASSAY_OK;
}

/* Tells whether a name is "num_..._adjustments": a strategy's own place in history, beside what the pilot counts. */
static bool is_counter(const char *name)
{
    static const char head[] = "num_", tail[] = "_adjustments";
    size_t length = strlen(name);
    return length > sizeof head + sizeof tail - 2 && length <= 60 && strspn(name, KEY_CHARACTERS) == length &&
           strncmp(name, head, sizeof head - 1) == 0 && strcmp(name + length - (sizeof tail - 1), tail) == 0;
}

static int read_strategy(const job_reader *r, assay_pilot *pilot, const char *place, const cJSON *item)
{
    pilot_strategy *s = &pilot->strategy[pilot->strategies];
    /* Only counted when it is right, so that a failure leaves no half strategy. */
    *s = (pilot_strategy){.times = 1};
    ASSAY_TRY(job_read(r, place, pilot_strategy_settings, item, s));
    const cJSON *parameter = cJSON_GetObjectItemCaseSensitive(pilot->run_spec, s->parameter);
    s->multiplies = cJSON_GetObjectItemCaseSensitive(item, "multiply") != NULL;
    if (!parameter || strcmp(s->parameter, "base_job_name") == 0)
        return job_fail(r, place, "\"%.60s\" is not a parameter of run_spec that can be changed", s->parameter);
    if (s->multiplies == (s->value != NULL))
        return job_fail(r, place, "expected either \"multiply\" or \"set\"");
    if (!is_counter(s->counter))
        return job_fail(r, place, "\"counter\" has to be a name like \"num_warmup_adjustments\"");
    for (size_t i = 0; i < pilot->strategies; i++) {
        if (strcmp(pilot->strategy[i].counter, s->counter) == 0)
            return job_fail(r, place, "the counter \"%s\" belongs to strategies[%zu]", s->counter, i);
    }
    int status = s->multiplies ? check_multiply(r, place, parameter, s) : check_set(r, place, item, s);
    pilot->strategies += status == ASSAY_OK;
    return status;
}

static int read_strategies(const job_reader *r, assay_pilot *pilot, const cJSON *list)
{
    int status = ASSAY_OK;
    for (const cJSON *item = list->child; item && status == ASSAY_OK; item = item->next) {
        char place[ASSAY_JOB_PLACE];
        snprintf(place, sizeof place, "strategies[%zu]", pilot->strategies);
        status = read_strategy(r, pilot, place, item);
    }
    return status;
}

typedef struct target_entry {
    const cJSON *webhook, *mail;
} target_entry;

const assay_setting pilot_target_settings[] = {
    {.name = "notify",
     .kind = ASSAY_SETTING_ITEM,
     ASSAY_SETTING_AT(target_entry, webhook),
     .help = "a webhook that hears of launches and the end"},
    {.name = "mail", .kind = ASSAY_SETTING_ITEM, ASSAY_SETTING_AT(target_entry, mail), .help = "likewise, by mail"},
    {0}};

static int read_target(const job_reader *r, assay_pilot *pilot, const cJSON *item)
{
    char place[ASSAY_JOB_PLACE];
    target_entry entry;
    snprintf(place, sizeof place, "notify[%zu]", pilot->targets);
    ASSAY_TRY(job_read(r, place, pilot_target_settings, item, &entry));
    if (!entry.webhook == !entry.mail)
        return job_fail(r, place, "expected either \"notify\" or \"mail\"");
    snprintf(place, sizeof place, "notify[%zu].%s", pilot->targets, entry.mail ? "mail" : "notify");
    int status = assay_notify_parse(r, place, entry.mail ? ASSAY_NOTIFY_MAIL : ASSAY_NOTIFY_WEBHOOK,
                                    entry.mail ? entry.mail : entry.webhook, &pilot->target[pilot->targets]);
    pilot->targets += status == ASSAY_OK;
    return status;
}

#define AT(member) ASSAY_SETTING_AT(pilot_document, member)
const assay_setting pilot_settings[] = {
    {.name = "next_action", .kind = ASSAY_SETTING_ITEM, AT(kept), .help = "what the pilot does next"},
    {.name = "job_status", .kind = ASSAY_SETTING_ITEM, AT(kept), .help = "what became of the latest launch"},
    {.name = "rule_status", .kind = ASSAY_SETTING_ITEM, AT(kept), .help = "what its trial came to"},
    {.name = "history", .kind = ASSAY_SETTING_ITEM, AT(kept), .help = "how often the pilot did what"},
    {.name = "run_spec",
     .kind = ASSAY_SETTING_OBJECT,
     AT(run_spec),
     .required = true,
     .help = "the parameters of the training"},
    {.name = "launch",
     .kind = ASSAY_SETTING_OBJECT,
     AT(launch),
     .required = true,
     .help = "how the training is launched"},
    {.name = "monitor",
     .kind = ASSAY_SETTING_OBJECT,
     AT(monitor),
     .required = true,
     .help = "how its trial is checked"},
    {.name = "strategies",
     .kind = ASSAY_SETTING_LIST,
     AT(strategies),
     .most = PILOT_STRATEGIES,
     .required = true,
     .help = "what is changed after findings, one after the other"},
    {.name = "caps", .kind = ASSAY_SETTING_OBJECT, AT(caps), .help = "when the pilot gives up"},
    {.name = "notify", .kind = ASSAY_SETTING_LIST, AT(notify), .most = PILOT_TARGETS, .help = "who hears of it"},
    {.name = "pilot", .kind = ASSAY_SETTING_ITEM, AT(kept), .help = "what the pilot keeps for itself"},
    {.name = "launches",
     .kind = ASSAY_SETTING_ITEM,
     AT(kept),
     .help = "The record of the newest launches; the pilot decides nothing by it"},
    {.name = "$schema", .kind = ASSAY_SETTING_ITEM, AT(kept), .help = "for editors"},
    {0}};
#undef AT

int pilot_read_settings(const job_reader *r, assay_pilot *pilot)
{
    /* Order: strategies name parameters of run_spec, so that goes first; the state's own part is read behind this, as
     * history has the strategies' counters. */
    pilot_document document = {.notify = NULL}; /* as it stays where the state is no object */
    int status = job_read(r, "the state", pilot_settings, pilot->document, &document);
    ASSAY_THEN(status, read_spec(r, pilot, (cJSON *)(uintptr_t)document.run_spec));
    ASSAY_THEN(status, read_launch(r, pilot, document.launch));
    ASSAY_THEN(status, read_monitor(r, pilot, document.monitor));
    ASSAY_THEN(status, read_strategies(r, pilot, document.strategies));
    ASSAY_THEN(status, job_read(r, "caps", pilot_caps_settings, document.caps, pilot));
    const cJSON *target = document.notify ? document.notify->child : NULL;
    for (; target && status == ASSAY_OK; target = target->next)
        status = read_target(r, pilot, target);
    return status;
}
