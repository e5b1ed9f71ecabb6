/* job.c - the job file as a whole and its output; trials.c reads the trials, rules.c the rules. */
#include "job/job.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/nearest.h"
#include "job/job_internal.h"
#include "rule/module.h"

#define DOCUMENT(key, what, limit, text)                                                                               \
    {                                                                                                                  \
        .name = key, .kind = ASSAY_SETTING_LIST, .at = offsetof(job_document, what), .most = (limit), .help = text     \
    }
#define SECTION(key, what, text)                                                                                       \
    {                                                                                                                  \
        .name = key, .kind = ASSAY_SETTING_OBJECT, .at = offsetof(job_document, what), .help = text                    \
    }
/* Parts of a request to SageMaker that say how a training is recorded. */
#define NOT_FOR_A_JOB(key, what)                                                                                       \
    {                                                                                                                  \
        .name = key, .kind = ASSAY_SETTING_ITEM, .at = offsetof(job_document, what),                                   \
        .help = "ignored, with a note: it is for the training (docs/from-sagemaker-debugger.md)"                       \
    }
const assay_setting job_settings[] = {
    {.name = "$schema", .kind = ASSAY_SETTING_TEXT, .at = offsetof(job_document, schema), .help = "for editors"},
    DOCUMENT("trials", trials, ASSAY_JOB_TRIALS, "trials that are evaluated: paths, or objects"),
    {.name = "modules",
     .kind = ASSAY_SETTING_TEXTS,
     .at = offsetof(job_document, modules),
     .most = ASSAY_JOB_TRIALS,
     .help = "shared objects with rules of one's own"},
    DOCUMENT("rules", rules, ASSAY_JOB_ENTRIES, "rules, each by its name or by a condition"),
    DOCUMENT("DebugRuleConfigurations", sagemaker_rules, ASSAY_JOB_ENTRIES,
             "rules as SageMaker's estimators have them; a file may also be nothing but this list"),
    DOCUMENT("ProfilerRuleConfigurations", profiler_rules, ASSAY_JOB_ENTRIES,
             "rules over profiler data as SageMaker's estimators have them"),
    NOT_FOR_A_JOB("DebugHookConfig", hook_config),
    NOT_FOR_A_JOB("TensorBoardOutputConfig", tensorboard_config),
    NOT_FOR_A_JOB("ProfilerConfig", profiler_config),
    DOCUMENT("aggregations", aggregations, ASSAY_JOB_ENTRIES, "figures over whole trials, by their kind"),
    SECTION("images", images, "shows wrong predictions as pictures: short for the aggregation wrong_predictions"),
    SECTION("histograms", histograms,
            "how the elements of tensors are distributed, by step: short for the aggregation tensor_histograms"),
    SECTION("comparison", comparison, "what the trials are compared with"),
    SECTION("output", output, "where the reports go, and in which forms"),
    {.name = "actions",
     .kind = ASSAY_SETTING_ITEM,
     .at = offsetof(job_document, actions),
     .help = "what is done about findings: messages, mail, calls of Slurm"},
    SECTION("s3", s3, "how trials in S3 are read"),
    {0}};

typedef struct output_settings {
    char *directory;
    const cJSON *formats;
    size_t max_findings;
} output_settings;

const assay_setting job_output_settings[] = {{.name = "directory",
                                              .kind = ASSAY_SETTING_COPY,
                                              .at = offsetof(output_settings, directory),
                                              .help = "directory of the reports"},
                                             {.name = "formats",
                                              .kind = ASSAY_SETTING_ITEM,
                                              .at = offsetof(output_settings, formats),
                                              .help = "forms of the report that are written"},
                                             {.name = "max_findings",
                                              .kind = ASSAY_SETTING_COUNT,
                                              .at = offsetof(output_settings, max_findings),
                                              .least = 1,
                                              .most = 10000000,
                                              .initial = "1000",
                                              .help = "findings of each rule that the report keeps"},
                                             {0}};
const assay_setting job_comparison_settings[] = {{.name = "baseline",
                                                  .kind = ASSAY_SETTING_COPY,
                                                  .at = offsetof(assay_job, baseline_name),
                                                  .help = "name of the trial that the others are compared with"},
                                                 {.name = "tolerance",
                                                  .kind = ASSAY_SETTING_REAL,
                                                  .at = offsetof(assay_job, tolerance),
                                                  .initial = "0.001",
                                                  .help = "relative difference from which on two tensors differ"},
                                                 {0}};
const assay_setting job_s3_settings[] = {{.name = "unsigned",
                                          .kind = ASSAY_SETTING_SWITCH,
                                          .at = offsetof(assay_job, unsigned_s3),
                                          .help = "sends requests without a signature: for public buckets"},
                                         {0}};
/* Finds the key that a message is about, in `room`: what stands behind "parameter", else the first word in double
 * quotes; NULL: there is none. Messages are assay's own, so their form is known. */
static const char *key_of(const char *text, char *room, size_t size)
{
    static const char PARAMETER[] = ": parameter ";
    const char *from = strstr(text, PARAMETER), *quote = strchr(text, '"');
    const bool named = from && (!quote || from < quote);
    from = named ? from + sizeof PARAMETER - 1 : quote ? quote + 1 : text;
    const size_t length = strcspn(from, named ? " ,:" : "\"");
    if (length == 0 || from[length] == '\0' || length >= size)
        return NULL;
    memcpy(room, from, length);
    room[length] = '\0';
    return room;
}

static const char SAGEMAKER_LIST[] = "DebugRuleConfigurations";

/* The document is parsed again for a place: only a job with a fault pays for it. */
assay_json_place job_place(const job_reader *r, const char *place, const char *text)
{
    char word[ASSAY_JOB_PLACE];
    const bool is_path = !strchr(place, ' '); /* "the job" is the whole document */
    const size_t lead = strlen(SAGEMAKER_LIST);
    if (r->is_list && strncmp(place, SAGEMAKER_LIST, lead) == 0)
        place += lead;
    return r->text ? assay_json_find(r->text, r->size, is_path ? place : "", key_of(text, word, sizeof word))
                   : (assay_json_place){0, 0};
}

/* Fails with the file and, where it is known, the line and column of what the text is about. */
static int fail_at(const job_reader *r, int status, const char *place, const char *text)
{
    const assay_json_place at = job_place(r, place, text);
    if (at.line == 0)
        return assay_fail(r->err, status, "%s: %s", r->file, text);
    return assay_fail(r->err, status, "%s: line %zu, column %zu: %s", r->file, at.line, at.column, text);
}

/* For readers of any part of a job: `place` leads the message and is looked up in the text. */
int job_fail(const job_reader *r, const char *place, const char *format, ...)
{
    char text[ASSAY_ERROR_TEXT];
    int lead = snprintf(text, sizeof text, "%s%s", place, place[0] ? ": " : "");
    va_list args;
    va_start(args, format);
    if (lead < 0 || vsnprintf(text + lead, sizeof text - (size_t)lead, format, args) < 0)
        text[0] = '\0';
    va_end(args);
    return fail_at(r, ASSAY_EJOB, place, text);
}

/* For faults that show when the job is read already, such as a baseline that no trial is. */
int assay_job_fail(const assay_job *job, const char *place, const char *member, assay_error *err, const char *format,
                   ...)
{
    char text[ASSAY_ERROR_TEXT];
    const assay_json_place at =
        job->text ? assay_json_find(job->text, job->text_size, place, member) : (assay_json_place){0, 0};
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return at.line == 0
               ? assay_fail(err, ASSAY_EUSAGE, "%s: %s", job->file, text)
               : assay_fail(err, ASSAY_EUSAGE, "%s: line %zu, column %zu: %s", job->file, at.line, at.column, text);
}

int job_no_memory(const job_reader *r)
{
    return assay_fail(r->err, ASSAY_ENOMEM, "%s: out of memory while reading the job", r->file);
}

int job_known_keys(const job_reader *r, const char *place, const cJSON *object, const char *const *known)
{
    assay_error cause = {""};
    int status = assay_json_known_keys(object, place, known, &cause);
    if (status == ASSAY_OK)
        return ASSAY_OK;
    return fail_at(r, status == ASSAY_EFORMAT ? ASSAY_EJOB : status, place, cause.text);
}

int job_read(const job_reader *r, const char *place, const assay_setting *table, const cJSON *object, void *into)
{
    assay_error cause = {""};
    const int status = assay_settings_read(table, place, object, into, &cause);
    if (status == ASSAY_OK)
        return ASSAY_OK;
    return fail_at(r, status == ASSAY_EFORMAT ? ASSAY_EJOB : status, place, cause.text);
}

int job_text(const job_reader *r, const char *place, const cJSON *object, const char *key, const char **out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (item && (!cJSON_IsString(item) || item->valuestring[0] == '\0'))
        return job_fail(r, place, "\"%s\" has to be a text that is not empty", key);
    *out = item ? item->valuestring : NULL;
    return ASSAY_OK;
}

bool job_name_taken(const job_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++) {
        const char *other = names->at(names->list, i);
        if (other && strcmp(other, name) == 0)
            return true;
    }
    return false;
}

char *job_name_free(const job_names *names, const char *base)
{
    size_t length = strlen(base), n = 1;
    char *name = assay_alloc(length + 24);
    if (!name)
        return NULL;
    memcpy(name, base, length + 1);
    if (!job_name_taken(names, name))
        return name;
    /* At least so many numbers are in use: without this start a long list of equal names would take cubic time. */
    for (size_t i = 0; i < names->count; i++) {
        const char *other = names->at(names->list, i);
        n += other && strncmp(other, base, length) == 0 && (other[length] == '\0' || other[length] == '-');
    }
    do
        snprintf(name + length, 24, "-%zu", n++);
    while (job_name_taken(names, name));
    return name;
}

int assay_job_form_find(const assay_job_forms *forms, const char *word, size_t length)
{
    for (int f = 0; f < forms->count; f++)
        if (strlen(forms->list[f].word) == length && memcmp(forms->list[f].word, word, length) == 0)
            return f;
    return -1;
}

const char *assay_job_form_hint(const assay_job_forms *forms, const char *word, size_t length,
                                char room[ASSAY_NEAREST_ROOM])
{
    assay_nearest nearest;
    assay_nearest_begin(&nearest, word, length);
    for (int f = 0; f < forms->count; f++)
        assay_nearest_offer(&nearest, forms->list[f].word);
    return assay_nearest_hint(&nearest, room);
}

/* Fails with `text` and the words of all forms. */
static int fail_with_forms(const job_reader *r, const assay_job_forms *forms, const char *text)
{
    char words[256] = "";
    size_t length = 0;
    for (int f = 0; f < forms->count && length < sizeof words; f++)
        length += (size_t)snprintf(words + length, sizeof words - length, " %s", forms->list[f].word);
    return job_fail(r, "output.formats", "%s:%s", text, words);
}

static int read_formats(const job_reader *r, const cJSON *list, assay_job *job)
{
    char text[64 + ASSAY_NEAREST_ROOM], hint[ASSAY_NEAREST_ROOM];
    if (!list)
        return ASSAY_OK;
    if (!cJSON_IsArray(list) || !list->child)
        return fail_with_forms(r, job->forms, "expected a list of formats, of these");
    /* A list replaces the forms that are written by default. */
    job->formats = 0;
    for (const cJSON *item = list->child; item; item = item->next) {
        const char *word = cJSON_IsString(item) ? item->valuestring : "";
        int form = assay_job_form_find(job->forms, word, strlen(word));
        if (form < 0) {
            snprintf(text, sizeof text, "unknown format \"%.40s\"%s; known", word,
                     assay_job_form_hint(job->forms, word, strlen(word), hint));
            return fail_with_forms(r, job->forms, text);
        }
        job->formats |= 1u << form;
    }
    return ASSAY_OK;
}

static int read_output(const job_reader *r, const cJSON *object, assay_job *job)
{
    output_settings output = {.directory = NULL};
    int status = job_read(r, "output", job_output_settings, object, &output);
    job->output_directory = output.directory;
    job->max_findings = output.max_findings;
    return status == ASSAY_OK ? read_formats(r, output.formats, job) : status;
}

/* Loads shared objects with rules of one's own; those become known here, before any rule is configured. Their code
 * runs from here on, in this process or in one of its own. */
static int read_modules(const job_reader *r, const cJSON *list)
{
    size_t i = 0;
    for (const cJSON *item = list ? list->child : NULL; item; item = item->next, i++) {
        char place[ASSAY_JOB_PLACE];
        assay_error why = {""};
        snprintf(place, sizeof place, "modules[%zu]", i);
        const int status = assay_module_load(item->valuestring, &why);
        if (status != ASSAY_OK)
            return status == ASSAY_ENOMEM ? job_no_memory(r) : job_fail(r, place, "%s", why.text);
    }
    return ASSAY_OK;
}

/* Says once what of a request to SageMaker a job has no use for, and where it belongs. */
static void note_others(const job_reader *r, const job_document *d)
{
    if (d->hook_config)
        assay_log_note("%s: DebugHookConfig is for the training: save it as a file, and name that in ASSAY_HOOK_CONFIG",
                       r->file);
    if (d->tensorboard_config)
        assay_log_note("%s: TensorBoardOutputConfig is for the training: the hook's tensorboard_dir", r->file);
    if (d->profiler_config)
        assay_log_note("%s: ProfilerConfig is for the training: the hook's system_metrics_interval and timeline",
                       r->file);
}

/* Takes out what else a request for a training has (CreateTrainingJob), which says nothing of rules. */
static void drop_training(const job_reader *r, cJSON *tree)
{
    static const char *const members[] = {"TrainingJobName",
                                          "HyperParameters",
                                          "AlgorithmSpecification",
                                          "RoleArn",
                                          "InputDataConfig",
                                          "OutputDataConfig",
                                          "ResourceConfig",
                                          "VpcConfig",
                                          "StoppingCondition",
                                          "Tags",
                                          "EnableNetworkIsolation",
                                          "EnableInterContainerTrafficEncryption",
                                          "EnableManagedSpotTraining",
                                          "CheckpointConfig",
                                          "ExperimentConfig",
                                          "Environment",
                                          "RetryStrategy"};
    size_t dropped = 0;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(tree, members[i]);
        dropped += item != NULL;
        cJSON_Delete(item);
    }
    if (dropped > 0)
        assay_log_note("%s: a request for a training: its rules are taken, and %zu other part%s left out", r->file,
                       dropped, dropped == 1 ? " is" : "s are");
}

static int read_document(const job_reader *r, cJSON *tree, assay_job *job)
{
    if (cJSON_IsObject(tree))
        drop_training(r, tree);
    job_document document;
    int status = job_read(r, "the job", job_settings, tree, &document);
    ASSAY_TRY(status);
    note_others(r, &document);
    /* Actions are kept as they are: assay_actions_parse() reads them where they are done. */
    job->actions = cJSON_DetachItemFromObjectCaseSensitive(tree, "actions");
    /* The text stays for places in later messages. */
    job->text = assay_copy_bytes_as_text(r->text, r->size);
    ASSAY_HAVE(job->text);
    job->text_size = r->size;
    const struct {
        const char *place;
        const assay_setting *table;
        const cJSON *object;
    } sections[] = {{"comparison", job_comparison_settings, document.comparison}, {"s3", job_s3_settings, document.s3}};
    /* Order: rules need the modules, and nothing needs the rules. */
    if ((status = job_read_trials(r, document.trials, job)) != ASSAY_OK)
        return status;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if ((status = job_read(r, sections[i].place, sections[i].table, sections[i].object, job)) != ASSAY_OK)
            return status;
    if ((status = read_output(r, document.output, job)) != ASSAY_OK)
        return status;
    status = read_modules(r, document.modules);
    return status == ASSAY_OK ? job_read_rules(r, &document, job) : status;
}

/* A key that is nearly one counts: a job with a slip should be told of it, not be taken for a log. */
static bool has_known_key(const cJSON *object, const assay_setting *table)
{
    for (const cJSON *item = object ? object->child : NULL; item; item = item->next) {
        char hint[ASSAY_NEAREST_ROOM];
        assay_nearest nearest;
        assay_nearest_begin(&nearest, item->string ? item->string : "", item->string ? strlen(item->string) : 0);
        for (const assay_setting *s = table; s->name; s++) {
            if (item->string && strcmp(item->string, s->name) == 0)
                return true;
            assay_nearest_offer(&nearest, s->name);
        }
        if (*assay_nearest_hint(&nearest, hint))
            return true;
    }
    return false;
}

/* Tells whether a text that is no JSON names a key of a job. Logs are written in brackets and braces as well, and
 * with paths first. */
static bool quotes_known_key(const char *text, size_t size)
{
    for (const assay_setting *s = job_settings; s->name; s++) {
        const size_t length = strlen(s->name);
        const char *end = text + size, *at = memmem(text, size, s->name, length);
        if (at && at > text && at + length < end && at[-1] == '"' && at[length] == '"')
            return true;
    }
    return false;
}

/* Called for a file that may be a job or a log (`assay run FILE`). An empty object is a job. */
bool assay_job_is_text(const char *text, size_t size)
{
    cJSON *tree = NULL, *line = NULL;
    if (size == 0)
        return false;
    if (assay_json_parse_commented("", text, size, &tree, NULL) != ASSAY_OK) {
        const char *end = memchr(text, '\n', size); /* lines of JSON are no job, whatever their keys */
        const bool lines = end && assay_json_parse("", text, (size_t)(end - text), &line, NULL) == ASSAY_OK;
        cJSON_Delete(line);
        return !lines && quotes_known_key(text, size);
    }
    const cJSON *object = cJSON_IsArray(tree) ? tree->child : tree;
    const bool is = !object || (cJSON_IsObject(object) && !object->child) || has_known_key(object, job_settings) ||
                    has_known_key(object, job_sagemaker_settings);
    cJSON_Delete(tree);
    return is;
}

/* Untrusted, like any file that a person writes. *out is set on success only. */
int assay_job_parse(const char *file, const void *text, size_t size, const assay_job_forms *forms, assay_job *out,
                    assay_error *err)
{
    job_reader r = {file, err, text, size, false};
    assay_job job = {.forms = forms};
    for (int f = 0; f < forms->count; f++)
        job.formats |= (unsigned)forms->list[f].by_default << f;
    cJSON *document = NULL;
    int status = assay_json_parse_commented(file, text, size, &document, err);
    if (status != ASSAY_OK)
        return status == ASSAY_EFORMAT ? ASSAY_EJOB : status;
    if (cJSON_IsArray(document)) { /* SageMaker's list of rules by itself */
        cJSON *whole = cJSON_CreateObject();
        if (!whole || !cJSON_AddItemToObject(whole, SAGEMAKER_LIST, document)) {
            cJSON_Delete(whole);
            cJSON_Delete(document);
            return job_no_memory(&r);
        }
        document = whole;
        r.is_list = true;
    }
    job.file = assay_copy_text(file);
    status = job.file ? read_document(&r, document, &job) : job_no_memory(&r);
    cJSON_Delete(document);
    if (status != ASSAY_OK) {
        assay_job_release(&job);
        return status;
    }
    *out = job;
    return ASSAY_OK;
}

static void free_instances(assay_instance **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assay_instance_free(list[i]);
    free(list);
}

void assay_job_release(assay_job *job)
{
    job_release_trials(job);
    free_instances(job->rules, job->rule_count);
    free_instances(job->aggregations, job->aggregation_count);
    free_instances(job->implicit, job->implicit_count);
    free(job->baseline_name);
    cJSON_Delete(job->actions);
    free(job->text);
    free(job->output_directory);
    free(job->file);
    *job = (assay_job){0};
}
