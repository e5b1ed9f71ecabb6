/* json.c - parsing by cJSON after a strict check, and queries on the result. */
#include "base/json.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/json_scan.h"
#include "base/nearest.h"

static pthread_once_t hooks_once = PTHREAD_ONCE_INIT;

static void set_hooks(void)
{
    cJSON_Hooks hooks = {assay_alloc, free};
    cJSON_InitHooks(&hooks);
}

/* The text behind a byte order mark. */
static const char *skip_mark(const char *text, size_t *size)
{
    if (*size < 3 || memcmp(text, "\xef\xbb\xbf", 3) != 0)
        return text;
    *size -= 3;
    return text + 3;
}

int assay_json_check(const char *name, const void *text, size_t size, assay_error *err)
{
    const char *from = skip_mark(text, &size);
    return assay_json_scan(name, from, size, NULL, err);
}

static int no_memory(const char *name, assay_error *err)
{
    return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while reading JSON", name);
}

/* `text` was checked: nothing but memory can fail. */
static int parse_checked(const char *name, const char *text, size_t size, cJSON **out, assay_error *err)
{
    pthread_once(&hooks_once, set_hooks);
    cJSON *parsed = cJSON_ParseWithLength(text, size);
    if (!parsed)
        return no_memory(name, err);
    *out = parsed;
    return ASSAY_OK;
}

int assay_json_parse(const char *name, const void *text, size_t size, cJSON **out, assay_error *err)
{
    const char *from = skip_mark(text, &size);
    int status = assay_json_scan(name, from, size, NULL, err);
    return status == ASSAY_OK ? parse_checked(name, from, size, out, err) : status;
}

int assay_json_parse_commented(const char *name, const void *text, size_t size, cJSON **out, assay_error *err)
{
    const char *from = skip_mark(text, &size);
    char *plain = assay_alloc(size + !size);
    if (!plain)
        return no_memory(name, err);
    memcpy(plain, from, size);
    int status = assay_json_scan(name, from, size, plain, err);
    if (status == ASSAY_OK)
        status = parse_checked(name, plain, size, out, err);
    free(plain);
    return status;
}

static bool is_known(const char *key, const char *const *known)
{
    while (*known && strcmp(*known, key) != 0)
        known++;
    return *known != NULL;
}

static int refuse_key(const char *place, const char *key, const char *const *known, assay_error *err)
{
    char list[320] = "", hint[ASSAY_NEAREST_ROOM];
    size_t used = 0;
    assay_nearest nearest;
    assay_nearest_begin(&nearest, key, strlen(key));
    for (const char *const *name = known; *name; name++)
        assay_nearest_offer(&nearest, *name);
    for (; *known; known++) {
        size_t length = strlen(*known);
        if (length + 6 > sizeof list - used) {
            memcpy(list + used, " ...", 5);
            break;
        }
        memcpy(list + used, used ? ", " : "", used ? 2 : 0);
        used += used ? 2 : 0;
        memcpy(list + used, *known, length + 1);
        used += length;
    }
    return assay_fail(err, ASSAY_EFORMAT, "%s: unknown key \"%.60s\"%s; known keys: %s", place, key,
                      assay_nearest_hint(&nearest, hint), list[0] ? list : "(none)");
}

int assay_json_known_keys(const cJSON *object, const char *place, const char *const *known, assay_error *err)
{
    if (!cJSON_IsObject(object))
        return assay_fail(err, ASSAY_EFORMAT, "%s: expected an object in braces", place);
    for (const cJSON *item = object->child; item; item = item->next) {
        if (!is_known(item->string, known))
            return refuse_key(place, item->string, known, err);
        /* Short however long the object is: all keys so far are known ones and differ. */
        for (const cJSON *earlier = object->child; earlier != item; earlier = earlier->next) {
            if (strcmp(earlier->string, item->string) == 0)
                return assay_fail(err, ASSAY_EFORMAT, "%s: the key \"%s\" is there twice", place, item->string);
        }
    }
    return ASSAY_OK;
}

bool assay_json_i64(const cJSON *item, int64_t *out)
{
    if (!cJSON_IsNumber(item))
        return false;
    double value = item->valuedouble;
    if (!(fabs(value) <= 0x1p53) || value != trunc(value))
        return false;
    *out = (int64_t)value;
    return true;
}
