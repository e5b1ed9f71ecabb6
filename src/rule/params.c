/* params.c - parses the parameters of a rule, fills in defaults, and looks them up for the rule. */
#include "rule/params.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fault.h"
#include "base/nearest.h"

static const assay_param_def common[] = {
    {.name = "start_step",
     .type = ASSAY_PARAM_INT,
     .initial = "0",
     .least = 0,
     .most = 0x1p62,
     .help = "First global step to evaluate."},
    {.name = "end_step", .type = ASSAY_PARAM_INT, .least = 0, .most = 0x1p62, .help = "Stop before this global step."},
    {.name = "worker", .type = ASSAY_PARAM_TEXT, .help = "Only this worker."},
};
/* These come behind the rule's own parameters in numbering. */
enum { COMMON = sizeof common / sizeof *common };

/* In place of those where a rule looks at time. */
static const assay_param_def common_in_time[] = {
    {.name = "scan_interval_us",
     .type = ASSAY_PARAM_INT,
     .initial = "60000000",
     .least = 1,
     .most = 0x1p53,
     .help = "Length of a slice of time in microseconds: the rule is tested at the end of each."},
    {.name = "worker", .type = ASSAY_PARAM_TEXT, .flags = ASSAY_PARAM_OR_NONE, .help = "Only this node or worker."},
    {.name = "start_time_us",
     .type = ASSAY_PARAM_INT,
     .flags = ASSAY_PARAM_OR_NONE,
     .help = "Only what is at or after this time, in microseconds since 1970."},
    {.name = "end_time_us",
     .type = ASSAY_PARAM_INT,
     .flags = ASSAY_PARAM_OR_NONE,
     .help = "Only what is before this time, in microseconds since 1970."},
};
enum { COMMON_IN_TIME = sizeof common_in_time / sizeof *common_in_time };

static bool is_in_time(const assay_rule_ops *ops)
{
    return (ops->traits & ASSAY_RULE_TIMELINE) && !(ops->traits & ASSAY_RULE_TRACES);
}

static size_t common_count(const assay_rule_ops *ops)
{
    if (ops->traits & ASSAY_RULE_DUMPS)
        return 0;
    return is_in_time(ops) ? COMMON_IN_TIME : COMMON;
}

static const assay_param_def *common_of(const assay_rule_ops *ops)
{
    return is_in_time(ops) ? common_in_time : common;
}

/* What SageMaker's service adds to every rule's parameters: a job file taken over from there keeps working, and the
 * value is not looked at. */
static const char *const ignored[] = {"base_trial"};

static size_t own_count(const assay_rule_ops *ops)
{
    size_t n = 0;
    while (ops->params && ops->params[n].name)
        n++;
    return n;
}

const assay_param_def *assay_params_def(const assay_rule_ops *ops, size_t i)
{
    size_t own = own_count(ops);
    if (i < own)
        return &ops->params[i];
    return i - own < common_count(ops) ? &common_of(ops)[i - own] : NULL;
}

/* The part of a name before its first `_` may be in any case where it is the name of a rule: it has capitals. QUIET
 * marks parameters under SageMaker's own spelling: RuleName_threshold. */
static bool is_name_of(const assay_param_def *def, const char *name)
{
    /* Rules ask at every step, mostly with the literal of the table itself: a comparison of pointers spares most of
     * those of texts. Only speed depends on it. */
    if (!(def->flags & ASSAY_PARAM_QUIET)) /* rules ask for them at every step: by the same literal, often */
        return def->name == name || (def->name[0] == name[0] && strcmp(def->name, name) == 0);
    const size_t prefix = strcspn(def->name, "_");
    return strncasecmp(def->name, name, prefix) == 0 && strcmp(def->name + prefix, name + prefix) == 0;
}

static const assay_param_def *find_def(const assay_rule_ops *ops, const char *name, size_t *number)
{
    size_t own = 0;
    /* A rule's own parameter goes before a common one of that name. */
    for (; ops->params && ops->params[own].name; own++)
        if (is_name_of(&ops->params[own], name)) {
            *number = own;
            return &ops->params[own];
        }
    const assay_param_def *shared = common_of(ops);
    for (size_t i = 0, all = common_count(ops); i < all; i++)
        if (is_name_of(&shared[i], name)) {
            *number = own + i;
            return &shared[i];
        }
    return NULL;
}

static bool is_ignored(const char *name)
{
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (strcmp(ignored[i], name) == 0)
            return true;
    return false;
}

/* The value as the job gave it, short enough for a message. */
static void show_value(const cJSON *item, char *out, size_t room)
{
    if (cJSON_IsString(item))
        snprintf(out, room, "\"%s\"", item->valuestring);
    else if (cJSON_IsNumber(item))
        snprintf(out, room, "%.15g", item->valuedouble);
    else if (cJSON_IsBool(item))
        snprintf(out, room, "%s", cJSON_IsTrue(item) ? "true" : "false");
    else
        snprintf(out, room, "%s", cJSON_IsArray(item) ? "a list" : cJSON_IsObject(item) ? "an object" : "null");
}

static int unknown_name(const assay_rule_ops *ops, const cJSON *item, assay_error *err)
{
    char shown[64], known[360], hint[ASSAY_NEAREST_ROOM];
    size_t used = 0;
    assay_nearest nearest;
    assay_nearest_begin(&nearest, item->string, strlen(item->string));
    show_value(item, shown, sizeof shown);
    known[0] = '\0';
    const assay_param_def *def;
    for (size_t i = 0; (def = assay_params_def(ops, i)); i++)
        assay_nearest_offer(&nearest, def->name);
    for (size_t i = 0; (def = assay_params_def(ops, i)) && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", def->name);
    return assay_fail(err, ASSAY_EPARAM, "%s: unknown parameter \"%.60s\" (value %s)%s; known are %s", ops->name,
                      item->string, shown, assay_nearest_hint(&nearest, hint), known);
}

/* Does the text say that the parameter has no value? */
static bool is_none(const assay_param_def *def, const cJSON *item)
{
    return (def->flags & ASSAY_PARAM_OR_NONE) && cJSON_IsString(item) &&
           (item->valuestring[0] == '\0' || strcasecmp(item->valuestring, "none") == 0);
}

static int take_one(assay_params *params, const cJSON *item, assay_error *err)
{
    size_t number = 0;
    const assay_param_def *def = find_def(params->ops, item->string, &number);
    if (!def)
        return is_ignored(item->string) ? ASSAY_OK : unknown_name(params->ops, item, err);
    assay_param_value *value = &params->value[number];
    /* Two spellings of one parameter are the same parameter. */
    if (value->given)
        return assay_fail(err, ASSAY_EPARAM, "%s: parameter %s is given twice", params->ops->name, def->name);
    if (cJSON_IsNull(item) || is_none(def, item))
        return ASSAY_OK;
    assay_error detail = {{0}};
    int status = assay_param_from_json(def, item, value, &detail);
    value->given = true;
    if (status == ASSAY_OK)
        return ASSAY_OK;
    char shown[128];
    show_value(item, shown, sizeof shown);
    return assay_fail(err, status, "%s: parameter %s has the value %s: %s", params->ops->name, def->name, shown,
                      detail.text);
}

/* Defaults are texts like the job's, and checked the same way: a wrong default fails in the first test. */
static int fill_default(assay_params *params, size_t i, assay_error *err)
{
    const assay_param_def *def = assay_params_def(params->ops, i);
    assay_param_value *value = &params->value[i];
    if (value->has)
        return ASSAY_OK;
    if (def->flags & ASSAY_PARAM_REQUIRED)
        return assay_fail(err, ASSAY_EPARAM, "%s: parameter %s is required", params->ops->name, def->name);
    if (!def->initial)
        return ASSAY_OK;
    assay_error detail = {{0}};
    int status = assay_param_from_text(def, def->initial, value, &detail);
    return status ? assay_fail(err, status, "%s: parameter %s: default %s: %s", params->ops->name, def->name,
                               def->initial, detail.text)
                  : ASSAY_OK;
}

int assay_params_new(const assay_rule_ops *ops, const cJSON *given, assay_params **out, assay_error *err)
{
    if (given && !cJSON_IsObject(given))
        return assay_fail(err, ASSAY_EPARAM, "%s: parameters must be an object", ops->name);
    assay_params *params = assay_alloc_zeroed(1, sizeof *params);
    if (!params)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    params->ops = ops;
    params->count = own_count(ops) + common_count(ops);
    params->value = assay_alloc_zeroed(params->count, sizeof *params->value);
    int status = params->value ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "out of memory");
    const cJSON *item = given ? given->child : NULL;
    for (; status == ASSAY_OK && item; item = item->next)
        status = take_one(params, item, err);
    for (size_t i = 0; status == ASSAY_OK && i < params->count; i++)
        status = fill_default(params, i, err);
    if (status) {
        assay_params_free(params);
        return status;
    }
    *out = params;
    return ASSAY_OK;
}

void assay_params_free(assay_params *params)
{
    if (!params)
        return;
    for (size_t i = 0; params->value && i < params->count; i++)
        assay_param_release(&params->value[i]);
    free(params->value);
    free(params);
}

static void put_value(const assay_param_def *def, const assay_param_value *value, assay_buf *out)
{
    bool list = def->type == ASSAY_PARAM_LIST || def->type == ASSAY_PARAM_REGEX || def->type == ASSAY_PARAM_REALS;
    if (!value->has) {
        assay_put_format(out, "null");
        return;
    }
    if (def->type == ASSAY_PARAM_BOOL)
        assay_put_format(out, value->truth ? "true" : "false");
    else if (def->type == ASSAY_PARAM_INT)
        assay_put_format(out, "%" PRId64, value->integer);
    else if (def->type == ASSAY_PARAM_REAL)
        assay_json_put_number(out, value->real);
    else if (!list)
        assay_json_put_text(out, value->item[0]);
    if (!list)
        return;
    for (size_t i = 0; i < value->count; i++) {
        assay_put_format(out, i ? ", " : "[");
        if (def->type == ASSAY_PARAM_REALS)
            assay_json_put_number(out, value->number[i]);
        else
            assay_json_put_text(out, value->item[i]);
    }
    assay_put_format(out, "]");
}

/* Quiet parameters are left out unless given: reports would name each parameter twice. */
void assay_params_put(const assay_params *params, assay_buf *out)
{
    bool any = false;
    for (size_t i = 0; i < params->count; i++) {
        const assay_param_def *def = assay_params_def(params->ops, i);
        if ((def->flags & ASSAY_PARAM_QUIET) && !params->value[i].given)
            continue;
        assay_put_format(out, any ? ", " : "{");
        any = true;
        assay_json_put_text(out, def->name);
        assay_put_format(out, ": ");
        put_value(def, &params->value[i], out);
    }
    assay_put_format(out, "}");
}

/* A rule that asks for what it did not declare is a defect in the rule, found by the first test that configures it:
 * so abort() is never seen by users. Foreign rules run in a process of their own. */
static const assay_param_value *look_up(const assay_params *params, const char *name, unsigned types)
{
    size_t number = 0;
    const assay_param_def *def = find_def(params->ops, name, &number);
    if (!def || !(types & (1u << def->type))) {
        fprintf(stderr, "assay: rule %s asks for parameter %s, which it %s\n", params->ops->name, name,
                def ? "declares with another type" : "does not declare");
        abort();
    }
    return &params->value[number];
}

bool assay_param_has(const assay_params *params, const char *name)
{
    return look_up(params, name, ~0u)->has;
}

bool assay_param_given(const assay_params *params, const char *name)
{
    return look_up(params, name, ~0u)->given;
}

bool assay_param_bool(const assay_params *params, const char *name)
{
    return look_up(params, name, 1u << ASSAY_PARAM_BOOL)->truth;
}

int64_t assay_param_int(const assay_params *params, const char *name)
{
    return look_up(params, name, 1u << ASSAY_PARAM_INT)->integer;
}

double assay_param_real(const assay_params *params, const char *name)
{
    return look_up(params, name, 1u << ASSAY_PARAM_REAL)->real;
}

const char *assay_param_text(const assay_params *params, const char *name)
{
    const assay_param_value *value = look_up(params, name, 1u << ASSAY_PARAM_TEXT | 1u << ASSAY_PARAM_CHOICE);
    return value->has ? value->item[0] : NULL;
}

enum { LISTS = 1u << ASSAY_PARAM_LIST | 1u << ASSAY_PARAM_REALS | 1u << ASSAY_PARAM_REGEX };

size_t assay_param_count(const assay_params *params, const char *name)
{
    return look_up(params, name, LISTS)->count;
}

const char *assay_param_item(const assay_params *params, const char *name, size_t i)
{
    const assay_param_value *value = look_up(params, name, 1u << ASSAY_PARAM_LIST | 1u << ASSAY_PARAM_REGEX);
    return i < value->count ? value->item[i] : NULL;
}

double assay_param_number(const assay_params *params, const char *name, size_t i)
{
    const assay_param_value *value = look_up(params, name, 1u << ASSAY_PARAM_REALS);
    return i < value->count ? value->number[i] : 0;
}
