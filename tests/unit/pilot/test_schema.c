/* The JSON Schemas of docs/schema have what the tables of settings have: the same keys, kinds, ranges, words, defaults and
 * helps, and the same required ones.
 *
 * `test_schema --write` writes them into the schemas, and leaves there what no table says (items, patterns, unions). */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "action/actions_internal.h"
#include "action/notify_internal.h"
#include "base/file.h"
#include "pilot/pilot_internal.h"

static const struct {
    const char *schema, *place; /* of the object whose "properties" these are */
    const assay_setting *table;
} tables[] = {
    {"job", "", job_settings},
    {"job", "properties/output", job_output_settings},
    {"job", "properties/comparison", job_comparison_settings},
    {"job", "properties/s3", job_s3_settings},
    {"job", "$defs/trial/oneOf/1", job_trial_settings},
    {"job", "$defs/rule", job_rule_settings},
    {"job", "$defs/condition", job_condition_settings},
    {"job", "$defs/sagemaker", job_sagemaker_settings},
    {"job", "$defs/action", action_settings},
    {"job", "$defs/action/properties/cancel", action_cancel_settings},
    {"job", "$defs/action/properties/submit", action_submit_settings},
    {"job", "$defs/notify", notify_webhook_settings},
    {"job", "$defs/mail", notify_mail_settings},
    {"pilot", "", pilot_settings},
    {"pilot", "properties/launch", pilot_launch_settings},
    {"pilot", "properties/monitor", pilot_monitor_settings},
    {"pilot", "properties/caps", pilot_caps_settings},
    {"pilot", "properties/strategies/items", pilot_strategy_settings},
    {"pilot", "properties/notify/items", pilot_target_settings},
    {"pilot", "$defs/notify", notify_webhook_settings},
    {"pilot", "$defs/mail", notify_mail_settings},
};
enum { TABLES = sizeof tables / sizeof *tables };
static const char *const schemas[] = {"job", "pilot"};

static cJSON *load(const char *schema, char path[512])
{
    snprintf(path, 512, ASSAY_TEST_DATA "/../../docs/schema/%s.schema.json", schema);
    assay_buf text;
    assay_error err = {""};
    cJSON *tree = NULL;
    assay_buf_init(&text, 1 << 20);
    if (assay_file_read(path, 1 << 20, &text, &err) != ASSAY_OK ||
        assay_json_parse(path, text.data, text.size, &tree, &err) != ASSAY_OK)
        fprintf(stderr, "%s\n", err.text);
    assay_buf_release(&text);
    return tree;
}

static cJSON *walk(cJSON *at, const char *place)
{
    char copy[200], *rest = copy;
    snprintf(copy, sizeof copy, "%s", place);
    for (const char *part = strsep(&rest, "/"); at && part && *part; part = strsep(&rest, "/"))
        at = cJSON_IsArray(at) ? cJSON_GetArrayItem(at, part[0] - '0') : cJSON_GetObjectItemCaseSensitive(at, part);
    return at;
}

static void set(cJSON *property, const char *key, cJSON *value)
{
    if (cJSON_HasObjectItem(property, key))
        cJSON_ReplaceItemInObjectCaseSensitive(property, key, value);
    else
        cJSON_AddItemToObject(property, key, value);
}

static void set_range(const assay_setting *s, cJSON *property)
{
    const bool any = s->least == 0 && s->most == 0;
    if (s->least > -1e300)
        set(property, "minimum", cJSON_CreateNumber(any && s->kind == ASSAY_SETTING_COUNT ? 1 : s->least));
    if (!any && s->most < 1e300)
        set(property, "maximum", cJSON_CreateNumber(s->most));
}

static void set_words(const assay_setting *s, cJSON *property)
{
    char words[200], *rest = words;
    cJSON *list = cJSON_CreateArray();
    snprintf(words, sizeof words, "%s", s->words);
    for (const char *word = strsep(&rest, "|"); word; word = strsep(&rest, "|"))
        cJSON_AddItemToArray(list, cJSON_CreateString(word));
    set(property, "enum", list);
}

/* What a table says of a key, in the property that the schema has for it. */
static void describe(const assay_setting *s, cJSON *property)
{
    const bool number = s->kind == ASSAY_SETTING_COUNT || s->kind == ASSAY_SETTING_REAL;
    const char *const types[] = {
        [ASSAY_SETTING_SWITCH] = "boolean", [ASSAY_SETTING_TEXT] = "string",   [ASSAY_SETTING_COPY] = "string",
        [ASSAY_SETTING_COUNT] = "integer",  [ASSAY_SETTING_REAL] = "number",   [ASSAY_SETTING_TEXTS] = "array",
        [ASSAY_SETTING_LIST] = "array",     [ASSAY_SETTING_OBJECT] = "object", [ASSAY_SETTING_NAMES] = NULL};
    if (types[s->kind] && !cJSON_HasObjectItem(property, "$ref"))
        set(property, "type", cJSON_CreateString(types[s->kind]));
    if (s->kind == ASSAY_SETTING_TEXT || s->kind == ASSAY_SETTING_COPY)
        set(property, "minLength", cJSON_CreateNumber(1));
    if (number)
        set_range(s, property);
    if (s->kind == ASSAY_SETTING_TEXTS || s->kind == ASSAY_SETTING_LIST)
        set(property, "maxItems", cJSON_CreateNumber(s->most));
    if (s->kind == ASSAY_SETTING_WORD)
        set_words(s, property);
    if (s->initial)
        set(property, "default",
            number ? cJSON_CreateNumber(strtod(s->initial, NULL)) : cJSON_CreateString(s->initial));
    set(property, "description", cJSON_CreateString(s->help));
}

/* Puts what the tables say into the schema; what it had for keys that no table has goes. */
static void apply(const char *schema, cJSON *tree)
{
    for (int t = 0; t < TABLES; t++) {
        if (strcmp(tables[t].schema, schema) != 0)
            continue;
        cJSON *object = walk(tree, tables[t].place),
              *had = cJSON_DetachItemFromObjectCaseSensitive(object, "properties"), *properties = cJSON_CreateObject(),
              *required = cJSON_CreateArray();
        for (const assay_setting *s = tables[t].table; s->name; s++) {
            cJSON *property = cJSON_DetachItemFromObjectCaseSensitive(had, s->name);
            property = property ? property : cJSON_CreateObject();
            describe(s, property);
            cJSON_AddItemToObject(properties, s->name, property);
            if (s->required)
                cJSON_AddItemToArray(required, cJSON_CreateString(s->name));
        }
        cJSON_Delete(had);
        set(object, "properties", properties);
        if (required->child)
            set(object, "required", required);
        else
            cJSON_Delete(required);
    }
}

static void test_schemas(void)
{
    char path[512];
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        cJSON *written = load(schemas[i], path), *said = load(schemas[i], path);
        CU_ASSERT_FATAL(written && said);
        apply(schemas[i], said);
        const bool same = cJSON_Compare(written, said, true);
        if (!same)
            fprintf(stderr, "%s differs from the tables of settings: run build/tests/unit/test_schema --write\n", path);
        CU_ASSERT(same);
        cJSON_Delete(written);
        cJSON_Delete(said);
    }
}

/* Every default is a value of its setting. */
static void test_defaults(void)
{
    for (int t = 0; t < TABLES; t++)
        for (const assay_setting *s = tables[t].table; s->name; s++) {
            uint64_t room[4] = {0};
            CU_ASSERT(s->help && s->help[0]);
            CU_ASSERT(!s->initial || assay_setting_take(s, s->initial, room) == ASSAY_OK);
            if (s->kind == ASSAY_SETTING_COPY) {
                void *copy;
                memcpy(&copy, room, sizeof copy);
                free(copy);
            }
        }
}

static int write_schemas(void)
{
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        char path[512];
        assay_buf out;
        cJSON *tree = load(schemas[i], path);
        if (!tree)
            return 1;
        apply(schemas[i], tree);
        assay_buf_init(&out, 1 << 20);
        char *text = cJSON_Print(tree);
        for (const char *at = text; *at;) { /* one blank for each level, none behind colons but one */
            const size_t line = strcspn(at, "\n"), tabs = strspn(at, "\t");
            for (size_t k = 0; k < tabs; k++)
                assay_put_u8(&out, ' ');
            for (size_t k = tabs; k < line; k++)
                assay_put_u8(&out, (uint8_t)(at[k] == '\t' ? ' ' : at[k]));
            assay_put_u8(&out, '\n');
            at += line + (at[line] == '\n');
        }
        assay_error err = {""};
        if (assay_file_write(path, out.data, out.size, &err) != ASSAY_OK)
            fprintf(stderr, "%s\n", err.text);
        cJSON_free(text);
        cJSON_Delete(tree);
        assay_buf_release(&out);
    }
    return 0;
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {{"schemas", test_schemas}, {"defaults", test_defaults}, CU_TEST_INFO_NULL};
    return argc > 1 && strcmp(argv[1], "--write") == 0 ? write_schemas() : unit_main("schema", tests);
}
