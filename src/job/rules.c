/* rules.c - the rules and aggregations of a job file, assay's own entries and those of SageMaker. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "job/job_internal.h"
#include "rule/python_rule.h"

/* What an entry of either form comes to. Texts are borrowed from the document, which outlives it. */
typedef struct rule_entry {
    const char *name, *rule;
    const char *python; /* "FILE:CLASS" of a rule in Python; NULL: it is none */
    const cJSON *parameters;
    const cJSON *unused; /* of keys that another table reads, or nobody */
    assay_severity severity;
} rule_entry;

#define SEVERITY(text)                                                                                                 \
    {                                                                                                                  \
        .name = "severity", .kind = ASSAY_SETTING_WORD, ENTRY(severity), .words = "info|warning|error",                \
        .initial = "warning", .help = text                                                                             \
    }
#define ENTRY(member) .at = offsetof(rule_entry, member)
#define NAME(key)                                                                                                      \
    {                                                                                                                  \
        .name = key, .kind = ASSAY_SETTING_TEXT, ENTRY(name), .help = "what reports call it; made up otherwise"        \
    }
#define PASSED_ON(key, text)                                                                                           \
    {                                                                                                                  \
        .name = key, .kind = ASSAY_SETTING_ITEM, ENTRY(unused), .help = text                                           \
    }

const assay_setting job_rule_settings[] = {
    NAME("name"),
    {.name = "rule", .kind = ASSAY_SETTING_TEXT, ENTRY(rule), .help = "a name that `assay rules` lists"},
    {.name = "python",
     .kind = ASSAY_SETTING_TEXT,
     ENTRY(python),
     .help = "FILE:CLASS, a rule in Python (docs/python-rules.md)"},
    {.name = "parameters",
     .kind = ASSAY_SETTING_OBJECT,
     ENTRY(parameters),
     .help = "as `assay rules NAME` lists them: texts as in SageMaker, or numbers, booleans and lists"},
    SEVERITY("how grave findings are"),
    {0}};
/* All but the first two are parameters of the rule Expression, which checks them. */
const assay_setting job_condition_settings[] = {NAME("name"),
                                                SEVERITY("how grave findings are"),
                                                PASSED_ON("when", "a condition (docs/expressions.md)"),
                                                PASSED_ON("for_steps", "steps in a row for which it has to hold"),
                                                PASSED_ON("mode", "only steps of this mode"),
                                                PASSED_ON("worker", "only this worker"),
                                                PASSED_ON("start_step", "first global step to evaluate"),
                                                PASSED_ON("end_step", "stop before this global step"),
                                                {0}};
/* SageMaker's DebugRuleConfiguration. The keys about its machines, images and paths mean nothing here. */
const assay_setting job_sagemaker_settings[] = {NAME("RuleConfigurationName"),
                                                {.name = "RuleParameters",
                                                 .kind = ASSAY_SETTING_OBJECT,
                                                 ENTRY(parameters),
                                                 .required = true,
                                                 .help = "an object with \"rule_to_invoke\" and the rule's parameters"},
                                                PASSED_ON("RuleEvaluatorImage", "ignored"),
                                                PASSED_ON("InstanceType", "ignored"),
                                                PASSED_ON("VolumeSizeInGB", "ignored"),
                                                PASSED_ON("LocalPath", "ignored"),
                                                PASSED_ON("S3OutputPath", "ignored"),
                                                {0}};

/* Reads a condition: its parameters are keys of the entry. `*taken` gets an object that refers to them. */
static int read_condition(const job_reader *r, const char *place, const cJSON *item, rule_entry *out, cJSON **taken)
{
    if (cJSON_GetObjectItemCaseSensitive(item, "rule") || cJSON_GetObjectItemCaseSensitive(item, "parameters"))
        return job_fail(r, place, "\"when\" states the rule itself: take \"rule\" and \"parameters\" away");
    ASSAY_TRY(job_read(r, place, job_condition_settings, item, out));
    *taken = cJSON_CreateObject();
    for (const cJSON *key = item->child; *taken && key; key = key->next)
        if (strcmp(key->string, "name") != 0 && strcmp(key->string, "severity") != 0 &&
            !cJSON_AddItemReferenceToObject(*taken, key->string, (cJSON *)(uintptr_t)key))
            return job_no_memory(r);
    out->rule = "Expression";
    out->parameters = *taken;
    return *taken ? ASSAY_OK : job_no_memory(r);
}

static int read_own_entry(const job_reader *r, const char *place, const cJSON *item, rule_entry *out, cJSON **taken)
{
    if (cJSON_GetObjectItemCaseSensitive(item, "when"))
        return read_condition(r, place, item, out, taken);
    if (!cJSON_IsObject(item))
        return job_fail(r, place, "expected an object in braces");
    ASSAY_TRY(job_read(r, place, job_rule_settings, item, out));
    if (!out->rule && !out->python)
        return job_fail(r, place,
                        "neither \"rule\" nor \"when\" nor \"python\" is there; `assay rules` lists the rules");
    if (out->rule && out->python)
        return job_fail(r, place, "\"python\" names the rule itself: take \"rule\" away");
    if (out->python)
        out->rule = assay_python_rule_class(out->python);
    return ASSAY_OK;
}

/* Reads an entry of SageMaker, whose rule is named inside its parameters. `*taken` gets the item that is no
 * parameter. */
static int read_sagemaker_entry(const job_reader *r, const char *place, const cJSON *item, rule_entry *out,
                                cJSON **taken)
{
    ASSAY_TRY(job_read(r, place, job_sagemaker_settings, item, out));
    cJSON *parameters = (cJSON *)(uintptr_t)out->parameters;
    int status = job_text(r, place, parameters, "rule_to_invoke", &out->rule);
    if (status == ASSAY_OK && !out->rule)
        status = job_fail(r, place, "\"rule_to_invoke\" is missing in \"RuleParameters\"");
    const cJSON *source = cJSON_GetObjectItemCaseSensitive(parameters, "source_s3_uri");
    if (status == ASSAY_OK && source)
        status = job_fail(
            r, place,
            "%s is a rule of one's own, in %s: copy that file here, and list it under \"rules\" as {\"python\": "
            "\"FILE:%s\", \"parameters\": {...}} (docs/python-rules.md)",
            out->rule, cJSON_IsString(source) ? source->valuestring : "\"source_s3_uri\"", out->rule);
    ASSAY_TRY(status);
    *taken = cJSON_DetachItemFromObjectCaseSensitive(parameters, "rule_to_invoke");
    out->severity = ASSAY_WARNING;
    return ASSAY_OK;
}

typedef struct instance_list {
    assay_instance **items;
    size_t count;
} instance_list;

static const char *instance_name_at(const void *list, size_t i)
{
    assay_instance *const *items = list;
    return items[i] ? items[i]->name : NULL;
}

/* One list of the job file, while its entries become instances. It is gone through twice: entries with a name of
 * their own come first, so that made-up names can avoid them wherever they stand. */
typedef struct list_reading {
    const job_reader *r;
    const char *key;  /* of the list, for places in messages */
    bool aggregation; /* else its entries are rules */
    bool named;       /* those with a name are read now, else those without */
    size_t first;     /* the slot of its first entry: several lists share the slots */
    instance_list *list;
} list_reading;

/* Where an entry says what, for messages about an instance that is not as it should be. */
typedef struct entry_places {
    const char *parameters;
    const char *owner, *rule; /* the rule is a key of the owner */
} entry_places;

/* Configures the slot of entry `i`; entry->name is unique or NULL. A rule that cannot be configured keeps its slot
 * with its error, so that the report has it. */
static int configure(const list_reading *in, size_t i, const rule_entry *entry, const entry_places *said)
{
    const job_reader *r = in->r;
    const job_names names = {in->list->items, in->list->count, instance_name_at};
    char *made = entry->name ? NULL : job_name_free(&names, entry->rule);
    const char *name = entry->name ? entry->name : made;
    if (!name)
        return job_no_memory(r);
    assay_instance **out = &in->list->items[in->first + i];
    int status = in->aggregation ? assay_instance_new_aggregation(name, entry->rule, entry->parameters, out)
                 : entry->python
                     ? assay_instance_new_python(name, entry->python, entry->severity, entry->parameters, out)
                     : assay_instance_new(name, entry->rule, entry->severity, entry->parameters, out);
    free(made);
    if (status != ASSAY_OK)
        return job_no_memory(r);
    if ((*out)->status != ASSAY_OK) {
        const assay_json_place wrong =
            (*out)->ops ? job_place(r, said->parameters, (*out)->error.text) : job_place(r, said->owner, said->rule);
        (*out)->line = wrong.line;
        (*out)->column = wrong.column;
    }
    return ASSAY_OK;
}

static int refuse_twin(const job_reader *r, const char *place, const instance_list *list, const char *name)
{
    const job_names names = {list->items, list->count, instance_name_at};
    if (name && job_name_taken(&names, name))
        return job_fail(r, place, "the name \"%.100s\" is there twice; names tell the results apart", name);
    return ASSAY_OK;
}

/* An entry of either form may stand in either list. */
static int read_rule(const list_reading *in, size_t i, const cJSON *item)
{
    const job_reader *r = in->r;
    char place[ASSAY_JOB_PLACE], inner[ASSAY_JOB_PLACE];
    snprintf(place, sizeof place, "%s[%zu]", in->key, i);
    bool sagemaker = cJSON_GetObjectItemCaseSensitive(item, "RuleConfigurationName") ||
                     cJSON_GetObjectItemCaseSensitive(item, "RuleParameters");
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, sagemaker ? "RuleConfigurationName" : "name");
    /* Of the other pass. */
    if (in->list->items[in->first + i] || in->named != (name != NULL))
        return ASSAY_OK;
    rule_entry entry = {0};
    cJSON *taken = NULL;
    int status = sagemaker ? read_sagemaker_entry(r, place, item, &entry, &taken)
                           : read_own_entry(r, place, item, &entry, &taken);
    ASSAY_THEN(status, refuse_twin(r, place, in->list, entry.name));
    snprintf(inner, sizeof inner, "%s[%zu]%s", in->key, i,
             sagemaker                    ? ".RuleParameters"
             : entry.parameters && !taken ? ".parameters"
                                          : "");
    const entry_places said = {inner, sagemaker ? inner : place, sagemaker ? "\"rule_to_invoke\"" : "\"rule\""};
    ASSAY_THEN(status, configure(in, i, &entry, &said));
    cJSON_Delete(taken);
    return status;
}

static int read_aggregation(const list_reading *in, size_t i, cJSON *item)
{
    const job_reader *r = in->r;
    char place[ASSAY_JOB_PLACE];
    snprintf(place, sizeof place, "%s[%zu]", in->key, i);
    if (in->list->items[in->first + i] || in->named != (cJSON_GetObjectItemCaseSensitive(item, "name") != NULL))
        return ASSAY_OK;
    if (!cJSON_IsObject(item))
        return job_fail(r, place, "expected an object in braces");
    rule_entry entry = {0};
    int status = job_text(r, place, item, "name", &entry.name);
    ASSAY_THEN(status, job_text(r, place, item, "kind", &entry.rule));
    if (status == ASSAY_OK && !entry.rule)
        status = job_fail(r, place, "\"kind\" is missing; `assay rules` lists the kinds");
    ASSAY_THEN(status, refuse_twin(r, place, in->list, entry.name));
    ASSAY_TRY(status);
    /* All other keys of the entry are the aggregation's parameters. */
    cJSON *name = cJSON_DetachItemFromObjectCaseSensitive(item, "name");
    cJSON *kind = cJSON_DetachItemFromObjectCaseSensitive(item, "kind");
    entry.parameters = item;
    status = configure(in, i, &entry, &(entry_places){place, place, "\"kind\""});
    cJSON_Delete(name);
    cJSON_Delete(kind);
    return status;
}

static int read_list(const list_reading *in, const cJSON *entries)
{
    int status = ASSAY_OK;
    size_t i = 0;
    for (cJSON *item = entries ? entries->child : NULL; item && status == ASSAY_OK; item = item->next, i++)
        status = in->aggregation ? read_aggregation(in, i, item) : read_rule(in, i, item);
    return status;
}

/* An aggregation that the job has a key of its own for. */
typedef struct short_form {
    const char *key, *kind;
    const char *const *known; /* keys within */
} short_form;

static const char *const IMAGE_KEYS[] = {"tensor", "labels",  "predictions", "mode",       "channels", "mean",
                                         "std",    "classes", "most",        "start_step", "end_step", NULL};
static const char *const HISTOGRAM_KEYS[] = {"collection_names", "tensor_regex", "mode",   "steps",
                                             "start_step",       "end_step",     "worker", NULL};
static const short_form SHORT_FORMS[] = {{"histograms", "tensor_histograms", HISTOGRAM_KEYS},
                                         {"images", "wrong_predictions", IMAGE_KEYS}};
enum { SHORT_FORM_COUNT = sizeof SHORT_FORMS / sizeof *SHORT_FORMS };

static const cJSON *short_form_of(const job_document *document, size_t i)
{
    return i == 0 ? document->histograms : document->images;
}

static size_t count_short_forms(const job_document *document)
{
    size_t count = 0;
    for (size_t i = 0; i < SHORT_FORM_COUNT; i++)
        count += short_form_of(document, i) != NULL;
    return count;
}

/* Reads the short forms. They take the slots from `at` on, which are the last, after all names are known. */
static int read_short_forms(const job_reader *r, const job_document *document, size_t at, instance_list *list)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < SHORT_FORM_COUNT && status == ASSAY_OK; i++) {
        const short_form *form = &SHORT_FORMS[i];
        const cJSON *given = short_form_of(document, i);
        if (!given)
            continue;
        status = job_known_keys(r, form->key, given, form->known);
        const job_names names = {list->items, list->count, instance_name_at};
        char *name = status == ASSAY_OK ? job_name_free(&names, form->key) : NULL;
        if (status == ASSAY_OK &&
            (!name || assay_instance_new_aggregation(name, form->kind, given, &list->items[at++]) != ASSAY_OK))
            status = job_no_memory(r);
        free(name);
    }
    return status;
}

static size_t count_of(const cJSON *list)
{
    return list ? (size_t)cJSON_GetArraySize(list) : 0;
}

/* Rules of one's own, then SageMaker's two lists. */
enum { RULE_LISTS = 3 };
static const char *const rule_lists[RULE_LISTS] = {"rules", "DebugRuleConfigurations", "ProfilerRuleConfigurations"};

static int fill_rules(const job_reader *r, const cJSON *const lists[RULE_LISTS], instance_list *list)
{
    int status = ASSAY_OK;
    for (int named = 1; named >= 0 && status == ASSAY_OK; named--) {
        size_t at = 0;
        for (int i = 0; i < RULE_LISTS && status == ASSAY_OK; i++) {
            const list_reading in = {.r = r, .key = rule_lists[i], .named = named, .first = at, .list = list};
            status = read_list(&in, lists[i]);
            at += count_of(lists[i]);
        }
    }
    return status;
}

int job_read_rules(const job_reader *r, const job_document *document, assay_job *job)
{
    const cJSON *const lists[RULE_LISTS] = {document->rules, document->sagemaker_rules, document->profiler_rules};
    const cJSON *aggregations = document->aggregations;
    const size_t short_forms = count_short_forms(document), aggregation_count = count_of(aggregations) + short_forms;
    size_t rule_count = 0;
    for (int i = 0; i < RULE_LISTS; i++)
        rule_count += count_of(lists[i]);
    instance_list rules = {assay_alloc_zeroed(rule_count, sizeof(assay_instance *)), rule_count};
    instance_list kinds = {assay_alloc_zeroed(aggregation_count, sizeof(assay_instance *)), aggregation_count};
    /* The job owns both from here on, filled or not: releasing it frees what is there. */
    job->rules = rules.items;
    job->rule_count = rules.items ? rules.count : 0;
    job->aggregations = kinds.items;
    job->aggregation_count = kinds.items ? kinds.count : 0;
    if (!rules.items || !kinds.items)
        return job_no_memory(r);
    int status = fill_rules(r, lists, &rules);
    for (int named = 1; named >= 0 && status == ASSAY_OK; named--) {
        const list_reading in = {.r = r, .key = "aggregations", .aggregation = true, .named = named, .list = &kinds};
        status = read_list(&in, aggregations);
    }
    ASSAY_THEN(status, read_short_forms(r, document, aggregation_count - short_forms, &kinds));
    return status;
}

bool assay_job_draws(const assay_job *job)
{
    bool draws = false;
    for (int f = 0; f < job->forms->count; f++)
        draws = draws || ((job->formats >> f & 1) && job->forms->list[f].draws);
    return draws;
}

/* Drawn reports, a comparison and whoever asked for curves need them; nobody else pays for them. */
static bool needs_implicit(const assay_job *job)
{
    return assay_job_draws(job) || job->wants_curves || job->trial_count > 1;
}

/* Adds a trial's share of what all may have; at least what the parameters allow. So memory does not grow with the
 * number of trials. */
static bool add_bound(cJSON *parameters, const char *name, size_t share, size_t most)
{
    size_t bound = share < 2 ? 2 : share < most ? share : most;
    return cJSON_AddNumberToObject(parameters, name, (double)bound) != NULL;
}

/* Called once, when trials and forms are settled. They have no place in the job file and are in no list of its
 * results. */
int assay_job_add_implicit(assay_job *job)
{
    if (job->implicit || !needs_implicit(job))
        return ASSAY_OK;
    size_t trials = job->trial_count > 0 ? job->trial_count : 1;
    cJSON *losses = cJSON_CreateObject(), *tensors = cJSON_CreateObject();
    job->implicit = assay_alloc_zeroed(ASSAY_IMPLICITS, sizeof(assay_instance *));
    int status = job->implicit && add_bound(losses, "steps", ASSAY_LOSS_ROWS / trials, ASSAY_LOSS_ROWS_OF_TRIAL) &&
                         add_bound(tensors, "rows", ASSAY_CURVE_ROWS / trials, ASSAY_CURVE_ROWS_OF_TRIAL) &&
                         /* Comparisons and bands are of what was recorded alike: a curve of one trial is drawn only. */
                         cJSON_AddBoolToObject(tensors, "saved", trials == 1 && !job->wants_curves)
                     ? ASSAY_OK
                     : ASSAY_ENOMEM;
    if (status == ASSAY_OK) {
        job->implicit_count = ASSAY_IMPLICITS;
        status =
            assay_instance_new_aggregation("loss_curve", "loss_curve", losses, &job->implicit[ASSAY_IMPLICIT_LOSSES]);
    }
    ASSAY_THEN(status, assay_instance_new_aggregation("tensor_curves", "tensor_curves", tensors,
                                                      &job->implicit[ASSAY_IMPLICIT_TENSORS]));
    cJSON_Delete(losses);
    cJSON_Delete(tensors);
    return status;
}
