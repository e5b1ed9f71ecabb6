/* config_file.c - the JSON configuration of the reference: LocalPath, HookParameters, CollectionConfigurations. */
#include "hook/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/json.h"
#include "base/log.h"

enum { VALUE_CEILING = 1 << 20 };

typedef struct reader {
    hook_config *config;
    const char *name;
    bool warn;
    assay_error *err;
} reader;

static int wrong(const reader *r, const char *place, const char *expected)
{
    return assay_fail(r->err, ASSAY_EFORMAT, "%s: %s: expected %s", r->name, place, expected);
}

/* A value as the text that hook_config_set() takes; lists become comma-separated. */
static bool put_value(assay_buf *out, const cJSON *item, bool in_list)
{
    int64_t number;
    if (cJSON_IsString(item)) {
        assay_put_bytes(out, item->valuestring, strlen(item->valuestring));
        return true;
    }
    if (cJSON_IsBool(item)) {
        assay_put_format(out, "%s", cJSON_IsTrue(item) ? "true" : "false");
        return true;
    }
    if (assay_json_i64(item, &number)) {
        assay_put_format(out, "%lld", (long long)number);
        return true;
    }
    if (!cJSON_IsArray(item) || in_list)
        return false;
    const cJSON *element;
    cJSON_ArrayForEach(element, item)
    {
        if (element != item->child)
            assay_put_u8(out, ',');
        if (!put_value(out, element, true))
            return false;
    }
    return true;
}

static int set_value(const reader *r, const char *collection, const cJSON *item)
{
    assay_buf text = ASSAY_BUF(VALUE_CEILING);
    assay_error why = {""};
    bool fits = put_value(&text, item, false);
    assay_put_u8(&text, 0);
    int rc = assay_buf_status(&text);
    if (rc < 0)
        rc = assay_fail(r->err, rc, "%s: %s: %s", r->name, item->string, assay_status_text(rc));
    else if (!fits)
        rc = wrong(r, item->string, "a text, a whole number, true or false, or a list of those");
    else if ((rc = hook_config_set(r->config, collection, item->string, (const char *)text.data, &why)) ==
             ASSAY_ENOTFOUND) {
        if (r->warn)
            assay_log_warn("%s: %s; it is passed over", r->name, why.text);
        rc = ASSAY_OK;
    } else if (rc < 0)
        rc = assay_fail(r->err, rc, "%s: %s", r->name, why.text);
    assay_buf_release(&text);
    return rc;
}

static int set_patterns(const reader *r, const char *collection, const cJSON *list)
{
    const cJSON *pattern;
    cJSON_ArrayForEach(pattern, list)
    {
        if (!cJSON_IsString(pattern))
            return wrong(r, "include_regex", "a text or a list of texts");
        assay_error why = {""};
        int rc = hook_config_add_pattern(r->config, collection, pattern->valuestring, &why);
        if (rc < 0)
            return assay_fail(r->err, rc, "%s: %s", r->name, why.text);
    }
    return ASSAY_OK;
}

static int set_all(const reader *r, const char *collection, const char *place, const cJSON *parameters)
{
    if (!parameters || cJSON_IsNull(parameters))
        return ASSAY_OK;
    if (!cJSON_IsObject(parameters))
        return wrong(r, place, "an object of parameters");
    const cJSON *item;
    cJSON_ArrayForEach(item, parameters)
    {
        int rc = ASSAY_OK;
        if (cJSON_IsArray(item) && strcmp(item->string, "include_regex") == 0)
            rc = set_patterns(r, collection, item);
        else if (!cJSON_IsNull(item))
            rc = set_value(r, collection, item);
        if (rc < 0)
            return rc;
    }
    return ASSAY_OK;
}

static int add_collections(const reader *r, const cJSON *list)
{
    if (!list || cJSON_IsNull(list))
        return ASSAY_OK;
    if (!cJSON_IsArray(list))
        return wrong(r, "CollectionConfigurations", "a list");
    int position = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        char place[64];
        assay_error why = {""};
        snprintf(place, sizeof place, "CollectionConfigurations[%d]", position++);
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "CollectionName");
        if (!cJSON_IsString(name))
            return wrong(r, place, "an object with a CollectionName");
        const cJSON *parameters = cJSON_GetObjectItemCaseSensitive(item, "CollectionParameters");
        int rc = cJSON_GetObjectItemCaseSensitive(parameters, "include_regex")
                     ? ASSAY_OK
                     : hook_config_check_name(r->config, name->valuestring, &why);
        ASSAY_THEN(rc, hook_config_declare(r->config, name->valuestring, NULL, &why));
        if (rc < 0)
            return assay_fail(r->err, rc, "%s: %s: %s", r->name, place, why.text);
        rc = set_all(r, name->valuestring, place, parameters);
        if (rc < 0)
            return rc;
    }
    return ASSAY_OK;
}

static int read_document(const reader *r, const cJSON *document)
{
    if (!cJSON_IsObject(document))
        return wrong(r, "the document", "an object");
    const cJSON *path = cJSON_GetObjectItemCaseSensitive(document, "LocalPath");
    if (path && !cJSON_IsNull(path)) {
        if (!cJSON_IsString(path) || !*path->valuestring)
            return wrong(r, "LocalPath", "the path of a directory");
        char *copy = assay_copy_text(path->valuestring);
        if (!copy)
            return assay_fail(r->err, ASSAY_ENOMEM, "%s: out of memory", r->name);
        free(r->config->directory);
        r->config->directory = copy;
    }
    int rc = set_all(r, NULL, "HookParameters", cJSON_GetObjectItemCaseSensitive(document, "HookParameters"));
    if (rc < 0)
        return rc;
    return add_collections(r, cJSON_GetObjectItemCaseSensitive(document, "CollectionConfigurations"));
}

int hook_config_load(hook_config *config, const char *name, const void *text, size_t size, bool warn, assay_error *err)
{
    cJSON *document = NULL;
    int rc = assay_json_parse(name, text, size, &document, err);
    if (rc < 0)
        return rc;
    reader r = {config, name, warn, err};
    rc = read_document(&r, document);
    cJSON_Delete(document);
    return rc;
}
